//! The files of a project that a command line executes, and the programs that it starts.
//!
//! [`Executed`] reads a shell's line, [`in_command_line`] the words of a program: what a command
//! starts, names and can execute, or would look for. Nothing is executed to find out. What follows
//! from it, such as that a file is watched or run from a copy, is left to others.

mod command_words;
mod executed;
mod found;
mod paths;
pub(crate) mod pattern;
mod programs;
mod shell_line;
#[cfg(test)]
mod tests;
mod variables;

pub(crate) use executed::{Executed, in_command_line, in_words};
pub(crate) use programs::programs_of_shell;
