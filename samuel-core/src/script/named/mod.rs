//! The files of a project that a command line executes, and the programs that it starts.
//!
//! [`Executed`] reads a shell's line, [`in_command_line`] the words of a program: what a command
//! starts, names and can execute, or would look for. Nothing is executed to find out. What follows
//! from it, such as that a file is watched or run from a copy, is left to others.

pub(crate) mod command_words;
mod effort;
mod executed;
mod found;
mod paths;
pub(crate) mod pattern;
mod places;
mod programs;
mod shell_line;
#[cfg(test)]
mod tests;
mod variables;

pub(crate) use executed::{Executed, in_command_line, in_words};
pub(crate) use paths::in_project;
pub(crate) use places::{Start, started_places, starts};
pub(crate) use programs::programs_of_shell;

/// The variable by which a hook finds the project's root.
pub(crate) const PROJECT_ROOT: &str = "SAMUEL_PROJECT_ROOT";
/// The variable with the same value by which everything else that runs in a workspace finds it.
pub(crate) const WORKSPACE: &str = "SAMUEL_WORKSPACE";
