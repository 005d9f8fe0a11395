//! The program `samuel-guest`.
#![allow(clippy::print_stdout, reason = "a program prints")]

use std::process::ExitCode;

/// What is printed where it was called otherwise than an engine does.
const USAGE: &str = "usage: samuel-guest DIRECTORY\n\nThe first process of a container that Samuel runs a command in. \
                     It is started by Samuel; DIRECTORY holds the lifeline.";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [word] if word == "--version" => {
            println!("samuel-guest {}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        #[cfg(target_os = "linux")]
        [word] if word == "--limits" => {
            print!("{}", samuel_guest::limits_that_are_set());
            ExitCode::from(samuel_guest::LIMITS_TOLD)
        }
        #[cfg(target_os = "linux")]
        [directory] if !directory.to_string_lossy().starts_with('-') => {
            ExitCode::from(samuel_guest::guest_main(directory.as_ref()))
        }
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}
