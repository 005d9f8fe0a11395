//! The samuel binary, under a name of its own so that this crate's tests find
//! it however they are started.

fn main() -> std::process::ExitCode {
    samuel_cli::main()
}
