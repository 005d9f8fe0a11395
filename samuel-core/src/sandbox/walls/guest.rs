//! The first process of a sandbox: the program, and where it finds Samuel.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// A program that does what `samuel-guest` does, and a directory for its sockets.
///
/// Commands under bubblewrap begin with it: it lays a filter of system calls over them, hands over to Samuel the ports
/// of their loopback that lead to what they may reach, and ends them with Samuel.
#[derive(Clone, Debug)]
pub struct Guest {
    program: PathBuf,
    arguments: Vec<String>,
    directory: PathBuf,
}

impl Guest {
    /// The argument that makes the command `samuel` such a program.
    pub const SUBCOMMAND: &str = "__guest";

    /// Takes a program; and a directory for sockets, which is made where it is missing, and for this user alone. Its
    /// path has to be short: it has 107 bytes with a socket's, which takes 32 of them.
    pub fn new(program: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), directory: directory.into() }
    }

    /// Adds arguments before those that it is given, such as [`SUBCOMMAND`](Self::SUBCOMMAND).
    #[must_use]
    pub fn with_arguments<A: Into<String>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Does what such a program is asked to do by its arguments, and returns its exit code. It is called before
    /// there are other threads.
    pub fn main(arguments: &[OsString]) -> u8 {
        #[cfg(target_os = "linux")]
        let code = samuel_guest::program_main(arguments);
        #[cfg(not(target_os = "linux"))]
        let code: Option<u8> = None.filter(|_: &u8| arguments.is_empty());
        code.unwrap_or(samuel_guest::NOT_STARTED)
    }

    /// Returns the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn arguments(&self) -> &[String] {
        &self.arguments
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}
