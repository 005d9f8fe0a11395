//! The files that decide what a run executes, held against what they were.
//!
//! The agent works in the project and could change samuel.toml, samuel.lock, a
//! prompt template, a plugin, its own script or one that checks its work. What the
//! run was built from stays as it is; the [`ControlFiles`] tell before each
//! iteration, around each check and before a run ends that somebody should look.
//! A [`ControlRecord`] keeps what they were for the next start, which asks about
//! what a run has left changed.

mod command_words;
mod executed;
#[cfg(test)]
mod executed_tests;
mod files;
mod found;
mod of_checks;
mod paths;
mod pattern;
mod programs;
mod record;
mod shell_line;
mod stamp;
mod variables;

pub(super) use executed::{in_command_line, in_words};
pub(crate) use files::ControlFiles;
pub(super) use programs::programs_of_shell;
pub(super) use record::ControlRecord;
pub(super) use stamp::Stamps;
