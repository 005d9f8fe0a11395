//! An error that was told by whoever keeps the plan for others.
//!
//! A store that asks another process gets its errors as text. A [`ToldError`] says the same as the
//! error did where it arose: its code, its words, its causes, and what to do next.

use std::{error::Error, fmt};

use samuel_model::{ErrorCode, Location, Remedy};

/// An error as it was told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToldError {
    /// Its code.
    pub code: ErrorCode,
    /// What failed, one line.
    pub message: String,
    /// Why, from the nearest cause on.
    pub cause: Option<Box<ToldCause>>,
    /// What to do next.
    pub help: Remedy,
    /// The file that it is about, as it is called there.
    pub location: Option<Location>,
}

impl fmt::Display for ToldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToldError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// Why something failed, as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldCause {
    /// The cause, one line.
    pub message: String,
    /// What is behind it.
    pub cause: Option<Box<ToldCause>>,
}

impl ToldCause {
    /// Puts causes behind each other, the nearest first; nothing where there are none.
    pub fn chain(causes: impl IntoIterator<Item = String>) -> Option<Box<Self>> {
        let mut causes: Vec<String> = causes.into_iter().collect();
        causes.reverse();
        causes.into_iter().fold(None, |cause, message| Some(Box::new(Self { message, cause })))
    }
}

impl fmt::Display for ToldCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToldCause {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
