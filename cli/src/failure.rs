//! Errors as users see them.
//!
//! A [`Failure`] is made of any error of the library that has a code; it is
//! printed once, with its causes, its place and what to do next.

use std::{error::Error, io, ops::Deref, path::Path};

use samuel_core::{
    engine::{LiveError, RunError, socket::RunClientError},
    lifecycle::LifecycleError,
    model::{Coded, ErrorCode, Location},
    plugin::PluginError,
    prd::PrdError,
    project::ProjectError,
    sandbox::SandboxError,
    state::StateError,
    text::causes,
    trust::{RefusalReason, TrustRefusal, TrustStoreError},
};
use serde_json::Value;

use crate::render::{holder_text, remedy_text};

/// An error at the edge. It reads as the [`Fault`] it holds.
#[derive(Clone, Debug)]
pub(crate) struct Failure(Box<Fault>);

/// What a failure says.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
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
    /// What is known in spite of it, for programs.
    pub(crate) data: Value,
    /// What is known in spite of it, for people: whole lines.
    pub(crate) text: String,
    /// The exit code where it is not the code's own.
    pub(crate) exit: Option<u8>,
    /// Whether a question was answered with no: nothing went wrong.
    pub(crate) is_declined: bool,
}

impl Failure {
    /// Makes a failure of a code and a message.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Fault {
            code,
            message: message.into(),
            causes: Vec::new(),
            details: Vec::new(),
            help: remedy_text(code.help),
            location: None,
            data: Value::Null,
            text: String::new(),
            exit: None,
            is_declined: false,
        }))
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
        let mut failure = Self::new(error.code(), error.to_string()).advise(remedy_text(&error.help()));
        failure.0.causes = causes(error);
        failure.0.location = error.location();
        failure
    }

    /// Says what failed in other words.
    pub(crate) fn reword(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Says what to do next in other words.
    pub(crate) fn advise(mut self, help: impl Into<String>) -> Self {
        self.0.help = help.into();
        self
    }

    /// Adds lines about it.
    pub(crate) fn detail(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.0.details.extend(lines);
        self
    }

    /// Says which file it is about.
    pub(crate) fn at(mut self, file: &Path) -> Self {
        self.0.location = Some(Location { file: file.to_owned(), line: None, column: None });
        self
    }

    /// Says which line and column of a file it is about, both from 1; 0 is unknown.
    pub(crate) fn at_place(mut self, file: &Path, line: usize, column: usize) -> Self {
        let known = |number| Some(number).filter(|number| *number > 0);
        self.0.location = Some(Location { file: file.to_owned(), line: known(line), column: known(column) });
        self
    }

    /// Says that a question was answered with no, which is told as what it is.
    pub(crate) fn declined(mut self) -> Self {
        self.0.is_declined = true;
        self
    }

    /// Adds what is known in spite of it.
    pub(crate) fn with_data(mut self, data: Value) -> Self {
        self.0.data = data;
        self
    }

    /// Adds what people can be shown in spite of it.
    pub(crate) fn with_text(mut self, text: String) -> Self {
        self.0.text = text;
        self
    }

    /// Replaces the code's own exit code.
    pub(crate) fn exit_with(mut self, exit: Option<u8>) -> Self {
        self.0.exit = exit;
        self
    }

    /// Names the holder of a lock with the time of the place, where there is one.
    fn held_by(self, error: &StateError) -> Self {
        let (StateError::LoopRunning { holder, .. } | StateError::Locked { holder, .. }) = error else {
            return self;
        };
        let Some(holder) = holder else { return self };
        let message = self.message.replace(&holder.to_string(), &holder_text(holder));
        self.reword(message)
    }

    /// Adds a cause.
    pub(crate) fn because(mut self, cause: &dyn Error) -> Self {
        self.0.causes.push(cause.to_string());
        self
    }
}

impl Deref for Failure {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl Fault {
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
        if let ProjectError::Plugin(error) = error {
            return error.into();
        }
        let failure = Self::of(&error);
        match &error {
            ProjectError::Prd(PrdError::Invalid { errors, .. }) => failure
                .with_data(serde_json::json!({ "findings": errors }))
                .detail(errors.iter().map(ToString::to_string)),
            ProjectError::State(error) => failure.held_by(error),
            _ => failure,
        }
    }
}

impl From<LifecycleError> for Failure {
    fn from(error: LifecycleError) -> Self {
        match error {
            LifecycleError::Plan(error) => error.into(),
            error => Self::of(&error),
        }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        Self::of(&error).held_by(&error)
    }
}

impl From<&TrustRefusal> for Failure {
    fn from(refusal: &TrustRefusal) -> Self {
        let (executables, digest) = (&refusal.executables, refusal.executables.digest());
        let data = serde_json::json!({
            "executables": executables, "digest": digest, "difference": refusal.difference,
        });
        let failure = Self::of(refusal).with_data(data);
        let failure = match refusal.reason {
            // Whoever declined was just shown the list.
            RefusalReason::Declined => return failure.declined(),
            RefusalReason::Unaccepted => {
                failure.reword("the last run left control files changed, and nobody has accepted that")
            }
            _ => failure,
        };
        failure.detail(refusal.lines()).detail([format!("digest of all this: {digest}")])
    }
}

impl From<TrustStoreError> for Failure {
    fn from(error: TrustStoreError) -> Self {
        Self::of(&error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let failure = Self::of(&error);
        match &error {
            RunError::Untrusted(refusal) => Self::from(&**refusal),
            RunError::State(error) => failure.held_by(error),
            _ => failure,
        }
    }
}

impl From<LiveError> for Failure {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::State(error) => error.into(),
            LiveError::Client(RunClientError::Refused(refusal)) => {
                let (code, message) = (RunClientError::Refused(refusal.clone()).code(), refusal.message);
                Self::new(code, message)
            }
            error => Self::of(&error),
        }
    }
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::of(&error)
    }
}

impl From<PluginError> for Failure {
    fn from(error: PluginError) -> Self {
        let failure = Self::of(&error);
        match &error {
            PluginError::Changed { name, changes } => failure
                .with_data(serde_json::json!({ "name": name, "changes": changes }))
                .detail(changes.iter().map(ToString::to_string)),
            _ => failure,
        }
    }
}

/// A step of a command that the file system refused.
pub(crate) fn io_failure(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(ErrorCode::STATE_IO, format!("cannot {action} {}", path.display())).at(path).because(error)
}
