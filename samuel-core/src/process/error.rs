//! Why a command could not be run.
//!
//! A command that ran and failed is no error here: its
//! [`ExitStatus`](super::ExitStatus) and [`End`](super::End) tell.

use super::{Process, listed};
use std::{io, path::PathBuf};

/// A command that could not be started, or whose supervisor was lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// No such program, neither at the path nor in the `PATH` of the
    /// command's environment.
    #[error("program `{}` was not found", program.display())]
    ProgramNotFound {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// The program exists but cannot be executed: no permission, a directory,
    /// or no executable format.
    #[error("`{}` is not executable", path.display())]
    NotExecutable {
        /// The file that was found.
        path: PathBuf,
        /// What the system said, if it was asked.
        source: Option<io::Error>,
    },
    /// The program is a script whose interpreter is missing.
    #[error("the interpreter that `{}` names does not exist", path.display())]
    MissingInterpreter {
        /// The script.
        path: PathBuf,
    },
    /// The working directory is missing, not a directory, or closed to us.
    #[error("cannot run in the directory `{}`", path.display())]
    BadWorkingDirectory {
        /// The working directory as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An environment name that is empty or holds `=` or a NUL, or a value
    /// with a NUL.
    #[error("`{}` cannot be an environment variable", .name.escape_debug())]
    BadVariable {
        /// The name, lossily as text.
        name: String,
    },
    /// An argument that holds a NUL byte.
    #[error("argument {position} of `{}` holds a NUL byte", program.display())]
    BadArgument {
        /// The program as it was asked for.
        program: PathBuf,
        /// Which argument, counted from 1.
        position: usize,
    },
    /// Arguments and environment are longer than the system takes.
    #[error("arguments and environment of `{}` are too long", program.display())]
    TooLong {
        /// The program that was found.
        program: PathBuf,
    },
    /// The file for standard input could not be opened.
    #[error("cannot open `{}` for standard input", path.display())]
    StdinFile {
        /// The file as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file for the raw output could not be created.
    #[error("cannot create the output file `{}`", path.display())]
    SpillFile {
        /// The file as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program could not be started for another reason.
    #[error("cannot start `{}`", program.display())]
    Start {
        /// The program that was found.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program named by [`Supervisor`](super::Supervisor) could not be
    /// started.
    #[error("cannot start the supervisor `{}`", program.display())]
    SupervisorStart {
        /// The supervisor program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The supervisor ran but did not report that it had started the command:
    /// it is another program, another version, or it was too slow.
    #[error("`{}` does not work as a supervisor", program.display())]
    NotASupervisor {
        /// The supervisor program.
        program: PathBuf,
    },
    /// The timeout was over before the program could be started.
    #[error("the timeout was over before `{}` was started", program.display())]
    NoTimeToStart {
        /// The program as it was asked for.
        program: PathBuf,
    },
    /// The supervisor was killed or stopped while the command ran, by the
    /// command perhaps. The command was killed, and so was what could be found of
    /// its processes.
    #[error("the supervisor (pid {pid}) of `{}` was lost{}", program.display(), consequence(*swept, left))]
    SupervisorLost {
        /// The command's program.
        program: PathBuf,
        /// The pid that the supervisor had.
        pid: u32,
        /// Whether everything is gone for certain.
        swept: bool,
        /// Those processes that were found and could not be ended.
        left: Vec<Process>,
    },
    /// The tokio runtime was shut down while the command ran; it was killed.
    #[error("the runtime was shut down while `{}` ran", program.display())]
    RuntimeStopped {
        /// The command's program.
        program: PathBuf,
    },
    /// A pipe or socket to the command could not be made.
    #[error("cannot set up pipes to the command")]
    Pipes {
        /// What the system said.
        #[from]
        source: io::Error,
    },
}

impl ProcessError {
    /// Returns the processes that may be left, those that are known, where it
    /// is not certain that all are gone.
    pub fn left_behind(&self) -> Option<&[Process]> {
        match self {
            Self::SupervisorLost { swept: false, left, .. } => Some(left),
            _ => None,
        }
    }
}

/// Says what the loss of a supervisor has left.
fn consequence(swept: bool, left: &[Process]) -> String {
    match left {
        [] if swept => ", and everything it watched over was ended".to_owned(),
        [] => ", and everything that could be found was ended, but processes may be left".to_owned(),
        left => format!(", and these processes could not be ended: {}", listed(left)),
    }
}
