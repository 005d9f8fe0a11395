//! The samuel binary.

fn main() -> std::process::ExitCode {
    samuel_cli::main()
}
