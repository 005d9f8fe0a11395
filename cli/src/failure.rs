//! Errors as users see them.
//!
//! A [`Failure`] is made of any error of the library that has a code; it is
//! printed once, with its causes, its place and what to do next.

use std::{error::Error, io};

use samuel_core::{
    config::SandboxError,
    engine::RunError,
    model::{Coded, ErrorCode, Location, ParseWordError},
    prd::PrdError,
    project::ProjectError,
    state::StateError,
};
use serde_json::Value;

/// An error at the edge.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    /// What failed, one line.
    pub(crate) message: String,
    /// Why, from the nearest cause to the first.
    pub(crate) causes: Vec<String>,
    /// More lines about it, such as what is wrong in a file.
    pub(crate) details: Vec<String>,
    /// What to do next; several lines at most for a bare command.
    pub(crate) help: String,
    pub(crate) location: Option<Location>,
    /// What is known in spite of it.
    pub(crate) data: Value,
    /// The exit code where it is not the code's own.
    pub(crate) exit: Option<u8>,
}

impl Failure {
    /// Makes a failure of a code and a message.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            causes: Vec::new(),
            details: Vec::new(),
            help: code.help.to_owned(),
            location: None,
            data: Value::Null,
            exit: None,
        }
    }

    /// Makes a failure of a command line that means nothing.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::USAGE, message)
    }

    /// Makes a failure of a fault in Samuel.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INTERNAL, message)
    }

    /// Makes a failure of an error that has a code.
    pub(crate) fn of(error: &dyn Coded) -> Self {
        let mut causes: Vec<String> = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        let (help, location) = (error.help(), error.location());
        Self { causes, help, location, ..Self::new(error.code(), error.to_string()) }
    }

    /// Says what to do next in other words.
    pub(crate) fn advise(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }

    /// Adds a cause.
    pub(crate) fn because(mut self, cause: &dyn Error) -> Self {
        self.causes.push(cause.to_string());
        self
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        self.exit.unwrap_or(self.code.exit_code)
    }

    /// Returns the message with its causes, on one line.
    pub(crate) fn whole_message(&self) -> String {
        let parts = std::iter::once(&self.message).chain(&self.causes);
        parts.map(String::as_str).collect::<Vec<_>>().join(": ")
    }
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let (data, details) = match &error {
            ProjectError::Prd(PrdError::Invalid { errors, .. }) => {
                (serde_json::json!({ "findings": errors }), errors.iter().map(ToString::to_string).collect())
            }
            _ => (Value::Null, Vec::new()),
        };
        Self { data, details, ..Self::of(&error) }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::of(&error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let (details, data) = match &error {
            RunError::Untrusted { executables } => {
                (executables.lines(), serde_json::json!({ "executables": executables }))
            }
            _ => (Vec::new(), Value::Null),
        };
        Self { details, data, ..Self::of(&error) }
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::of(&error)
    }
}

impl From<ParseWordError> for Failure {
    fn from(error: ParseWordError) -> Self {
        Self::usage(error.to_string())
    }
}

/// A step of a command that the file system refused.
pub(crate) fn io_failure(action: &str, path: &std::path::Path, error: &io::Error) -> Failure {
    let location = Some(Location { file: path.to_owned(), line: None, column: None });
    let failure = Failure::new(ErrorCode::STATE_IO, format!("cannot {action} {}", path.display()));
    Failure { location, ..failure }.because(error)
}
