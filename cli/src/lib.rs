//! The `samuel` command.
//!
//! It is one client of [`samuel_core`]: it parses arguments, shows what came
//! of them and turns errors into exit codes. It alone reads the environment,
//! the working directory and the home, and it alone handles signals.
//!
//! [`main`] is the whole binary. Each command of `args` is a function in
//! `commands` that returns a `Reply` or a
//! `Failure`; `render` knows what they look like, and `terminal` is the only
//! way to print.

mod args;
mod commands;
mod demo;
mod failure;
mod file_limit;
mod host;
mod input;
mod logging;
mod render;
mod reply;
mod signals;
mod terminal;
mod trust;

use std::{ffi::OsString, process::ExitCode};

use clap::{CommandFactory as _, FromArgMatches as _};
use samuel_core::{
    process::{Supervisor, supervisor_main},
    sandbox::Guest,
};

use crate::{args::Cli, host::Host, reply::Answer};

/// Runs the command that the process was started with, to its exit code.
pub fn main() -> ExitCode {
    terminal::show_panics();
    let words: Vec<OsString> = args::with_pilot(std::env::args_os().collect());
    match words.get(1).and_then(|word| word.to_str()) {
        // These are asked for often, and before anything else is known.
        Some("--version" | "-V") if words.len() == 2 => {
            return Answer::plain(format!("samuel {}\n", env!("CARGO_PKG_VERSION"))).give();
        }
        Some(Supervisor::SUBCOMMAND) if words.len() == 2 => return supervisor_main(),
        Some(Guest::SUBCOMMAND) => return Guest::main(words.get(2..).unwrap_or_default()).into(),
        _ => {}
    }
    file_limit::tell_of_it();
    let parsed = Cli::command().try_get_matches_from(&words);
    match parsed.and_then(|matches| Ok((commands::name(&matches), Cli::from_arg_matches(&matches)?))) {
        Ok((name, cli)) => Answer::to(&name, cli, Host::of_process(&words)).give(),
        Err(error) => Answer::to_usage_error(&args::with_command_meant(error, &words), &words).give(),
    }
}
