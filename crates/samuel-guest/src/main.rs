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
        arguments => program(arguments).unwrap_or_else(|| {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }),
    }
}

#[cfg(target_os = "linux")]
fn program(arguments: &[std::ffi::OsString]) -> Option<ExitCode> {
    samuel_guest::program_main(arguments).map(ExitCode::from)
}

#[cfg(not(target_os = "linux"))]
fn program(_arguments: &[std::ffi::OsString]) -> Option<ExitCode> {
    None
}
