//! Why a command could not be run.
//!
//! A command that ran and failed is no error here: its
//! [`ExitStatus`](super::ExitStatus) and [`End`](super::End) tell.

use super::{Process, listed, startable::shown};
use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// A command that could not be started, or whose supervisor was lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// No such program, neither at the path nor in the `PATH` of the
    /// command's environment.
    #[error("program `{}` was not found{}", program.display(), no_directory(missing_directory.as_deref()))]
    ProgramNotFound {
        /// The program as it was asked for.
        program: PathBuf,
        /// The directory it should be in, if that does not exist.
        missing_directory: Option<PathBuf>,
    },
    /// A directory stands where the program should be.
    #[error("`{}` is a directory, not a program", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The program exists, and we are not permitted to execute it.
    #[error("`{}` is not executable: permission is denied", path.display())]
    NotExecutable {
        /// The file that was found.
        path: PathBuf,
        /// What the system said, if it was asked.
        source: Option<io::Error>,
    },
    /// A directory on the way to the program is closed to us.
    #[error("`{}` cannot be reached: the directory `{}` may not be entered", path.display(), directory.display())]
    ClosedDirectory {
        /// The program.
        path: PathBuf,
        /// The directory.
        directory: PathBuf,
    },
    /// The file is neither a script that names its interpreter nor a program for this machine.
    #[error("`{}` is neither a script that begins with `#!` nor a program for this machine", path.display())]
    UnknownFormat {
        /// The file that was found.
        path: PathBuf,
    },
    /// The program is a script whose first line ends with a carriage return.
    #[error(
        "the first line of `{}` ends with a carriage return, which counts as part of its interpreter's name",
        path.display()
    )]
    CarriageReturn {
        /// The script.
        path: PathBuf,
    },
    /// The program is a script whose interpreter is missing, or its loader is.
    #[error("`{}` {}", path.display(), needs(interpreter.as_deref()))]
    MissingInterpreter {
        /// The script or program.
        path: PathBuf,
        /// The interpreter that a script names.
        interpreter: Option<OsString>,
    },
    /// The program is being written.
    #[error("`{}` is open for writing (text file busy)", path.display())]
    Busy {
        /// The program.
        path: PathBuf,
    },
    /// The working directory is missing, not a directory, or closed to us.
    #[error("cannot run in the directory `{}`: {}", path.display(), why_not_in(source))]
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
    /// The command has not taken what was written to its standard input in time.
    #[error("the command took only {written} bytes of its input within {} s", limit.as_secs_f64())]
    InputTimeout {
        /// How many bytes it has taken.
        written: usize,
        /// The time that it had.
        limit: Duration,
    },
    /// The command takes no more from its standard input: it has closed it or has ended.
    #[error("the command stopped reading its input after {written} bytes")]
    InputClosed {
        /// How many bytes it has taken.
        written: usize,
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

    /// Returns what to do next, one line, where that is known.
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::ProgramNotFound { missing_directory: Some(directory), .. } => {
                format!("Correct the path, or create `{}`.", directory.display())
            }
            Self::ProgramNotFound { program, .. } if program.components().count() > 1 => {
                "Correct the path, or create the file.".to_owned()
            }
            Self::ProgramNotFound { .. } => "Install it, or add its directory to PATH.".to_owned(),
            Self::Directory { .. } => "Name the program, not its directory.".to_owned(),
            Self::NotExecutable { path, .. } => format!("Run `chmod +x {}`.", path.display()),
            Self::ClosedDirectory { directory, .. } => format!("Run `chmod +x {}`.", directory.display()),
            Self::UnknownFormat { .. } => {
                "Begin a script with a line such as `#!/bin/sh`; build a program for this machine.".to_owned()
            }
            Self::CarriageReturn { path } => {
                format!(
                    "Save it with Unix line ends, for instance by `sed -i 's/\\r$//' {}`.",
                    path.display()
                )
            }
            Self::MissingInterpreter { interpreter: Some(_), .. } => {
                "Install that, or correct the first line of the script.".to_owned()
            }
            Self::MissingInterpreter { .. } => "Install a build for this system.".to_owned(),
            Self::Busy { .. } => "Wait until whoever writes it has closed it, then try again.".to_owned(),
            Self::BadWorkingDirectory { .. } => "Create the directory, or correct its path.".to_owned(),
            Self::TooLong { .. } => {
                "Give it fewer or shorter arguments and variables, and what is long as its input.".to_owned()
            }
            _ => return None,
        })
    }

    /// Says what happened, why, and what to do next, for where all of that has to fit into one text.
    pub fn explained(&self) -> String {
        let causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        // What is understood is in the text itself.
        let causes = causes.filter(|_| self.help().is_none());
        let text = causes.fold(self.to_string(), |text, cause| format!("{text}: {cause}"));
        match self.help() {
            Some(help) => format!("{text}. {help}"),
            None => text,
        }
    }
}

fn no_directory(missing: Option<&Path>) -> String {
    missing.map(|directory| format!(": there is no directory `{}`", directory.display())).unwrap_or_default()
}

fn needs(interpreter: Option<&OsStr>) -> String {
    match interpreter {
        Some(interpreter) => format!("is a script for `{}`, which was not found", shown(interpreter)),
        None => "needs a program loader that this system does not have".to_owned(),
    }
}

fn why_not_in(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => "it does not exist".to_owned(),
        io::ErrorKind::NotADirectory => "it is not a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "it may not be entered".to_owned(),
        _ => source.to_string(),
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
