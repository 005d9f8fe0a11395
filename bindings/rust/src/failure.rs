//! What goes wrong: a handler that cannot answer, a host that says no.
//!
//! [`HookFailure`] is what a handler returns instead of an output, and every
//! error becomes one through `?`. [`HostError`] is why the host did not do what
//! it was asked for.

use std::{error::Error, fmt};

use crate::host::bindings::samuel::plugin::{host_types, types};

/// A handler that could not answer.
///
/// A handler that answers "no" does so in its output; this is for a file that is
/// missing or a command that does not start. What follows is the user's to
/// configure: a warning, or the end of the iteration or the loop.
///
/// Every error becomes one through `?`, with further lines and its causes as
/// details. It is no
/// [`Error`] itself, because only then can `?` do that.
///
/// ```
/// use samuel_plugin::HookFailure;
///
/// fn major(version: &str) -> Result<u32, HookFailure> {
///     let (major, _) = version.split_once('.').ok_or_else(|| HookFailure::new("no dot in the version"))?;
///     Ok(major.parse()?)
/// }
/// assert_eq!(major("x.1").unwrap_err().message, "invalid digit found in string");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFailure {
    /// A stable code; `E_HOOK_FAILED` unless it was set.
    pub code: String,
    /// What happened, in one line.
    pub message: String,
    /// Further lines: places, names, what to do next.
    pub details: Vec<String>,
}

impl HookFailure {
    /// Makes one with the code `E_HOOK_FAILED`.
    pub fn new(message: impl Into<String>) -> Self {
        Self { code: "E_HOOK_FAILED".to_owned(), message: message.into(), details: Vec::new() }
    }

    /// Adds a further line.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }
}

impl<E: Error + 'static> From<E> for HookFailure {
    fn from(error: E) -> Self {
        let said = error.to_string();
        let mut lines = said.lines();
        let mut failure = Self::new(lines.next().unwrap_or_default());
        failure.details.extend(lines.map(str::to_owned));
        if let Some(HostError::Denied { .. }) = (&error as &dyn Error).downcast_ref() {
            failure.code = "E_HOOK_DENIED".to_owned();
        }
        let mut cause = error.source();
        while let Some(error) = cause {
            failure.details.push(error.to_string());
            cause = error.source();
        }
        failure
    }
}

impl From<HookFailure> for types::Failure {
    fn from(failure: HookFailure) -> Self {
        let HookFailure { code, message, details } = failure;
        Self { code, message, details }
    }
}

/// Why the host did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostError {
    /// The plugin has no such grant.
    Denied {
        /// The capability, such as `filesystem.read`.
        capability: String,
        /// What it was wanted for: a path, a command, a variable, a host with
        /// its port where that is not 443.
        target: String,
    },
    /// This Samuel does not offer it.
    Unsupported(String),
    /// There is no such thing.
    NotFound(String),
    /// The arguments make no sense.
    Invalid(String),
    /// It is more than the host takes or gives.
    TooLarge {
        /// What is too much, such as `stdin`.
        what: String,
        /// The most there may be, in bytes unless `what` says otherwise.
        limit: u64,
    },
    /// It would be more than the plugin may use in a run.
    Quota {
        /// What is used up, such as `bytes written in a run`.
        what: String,
        /// The most there may be.
        limit: u64,
    },
    /// It did not end in time.
    TimedOut,
    /// The run was stopped meanwhile.
    Cancelled,
    /// Something else.
    Other(String),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied { capability, target } => write!(f, "{capability} is not granted for {target}"),
            Self::Unsupported(what) => write!(f, "{what} is not offered by this Samuel"),
            Self::NotFound(what) => write!(f, "{what} does not exist"),
            Self::Invalid(why) | Self::Other(why) => f.write_str(why),
            Self::TooLarge { what, limit } => write!(f, "{what} is larger than {limit}"),
            Self::Quota { what, limit } => write!(f, "the quota of {limit} {what} is used up"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Cancelled => f.write_str("the run was stopped"),
        }
    }
}

impl Error for HostError {}

impl From<host_types::HostError> for HostError {
    fn from(error: host_types::HostError) -> Self {
        use host_types::{Denial, Excess, HostError as Theirs};
        match error {
            Theirs::Denied(Denial { capability, target }) => Self::Denied { capability, target },
            Theirs::Unsupported(what) => Self::Unsupported(what),
            Theirs::NotFound(what) => Self::NotFound(what),
            Theirs::Invalid(why) => Self::Invalid(why),
            Theirs::TooLarge(Excess { what, limit }) => Self::TooLarge { what, limit },
            Theirs::Quota(Excess { what, limit }) => Self::Quota { what, limit },
            Theirs::TimedOut => Self::TimedOut,
            Theirs::Cancelled => Self::Cancelled,
            Theirs::Other(why) => Self::Other(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the version is unusable\nversion = x")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_error_becomes_a_failure_of_one_line_with_its_causes() {
        let failure = HookFailure::from(Outer("x".parse::<u8>().expect_err("x is no number")));
        assert_eq!(
            (failure.code.as_str(), failure.message.as_str(), failure.details),
            (
                "E_HOOK_FAILED",
                "the version is unusable",
                vec!["version = x".to_owned(), "invalid digit found in string".to_owned()]
            )
        );
    }

    #[test]
    fn a_denial_keeps_its_code_and_says_what_was_denied() {
        let denial = host_types::Denial { capability: "exec".into(), target: "git".into() };
        let error = HostError::from(host_types::HostError::Denied(denial));
        let failure = HookFailure::from(error);
        assert_eq!(
            (failure.code.as_str(), failure.message.as_str()),
            ("E_HOOK_DENIED", "exec is not granted for git")
        );
    }
}
