//! Learnings: lines of the progress log that agents record for later iterations.

use jiff::Timestamp;
use samuel_model::{TaskId, redacted, words};
use serde::{Deserialize, Serialize};

use super::{ProgressBody, ProgressEntry, ProgressKind};

/// The most characters of a learning.
pub const MAX_LEARNED_CHARS: usize = 2_000;

words! {
    /// The kinds of lines that agents record in the progress log.
    LearnedKind ("kind of learning") {
        /// A fact that later iterations should know.
        Learning = "learning",
        /// A directory or subject that discovery looked at.
        Explored = "explored",
        /// What discovery found.
        Found = "found",
    }
}

/// A line that an agent records for later iterations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Learned {
    /// The kind.
    pub kind: LearnedKind,
    /// The words: not blank, at most [`MAX_LEARNED_CHARS`] characters.
    pub text: String,
}

impl Learned {
    /// Creates a learning. White space around the text is removed.
    ///
    /// # Errors
    /// Returns [`InvalidLearned`] if the text is blank or too long.
    pub fn new(kind: LearnedKind, text: impl AsRef<str>) -> Result<Self, InvalidLearned> {
        let learned = Self { kind, text: text.as_ref().trim().to_owned() };
        learned.check().map(|()| learned)
    }

    /// Checks a learning that was read.
    ///
    /// # Errors
    /// Returns [`InvalidLearned`] if the text is blank or too long.
    pub fn check(&self) -> Result<(), InvalidLearned> {
        if self.text.trim().is_empty() {
            return Err(InvalidLearned::Blank);
        }
        match self.text.chars().count() > MAX_LEARNED_CHARS {
            true => Err(InvalidLearned::TooLong),
            false => Ok(()),
        }
    }

    /// Returns the line of the progress log. Credentials in URLs are hidden.
    pub fn entry(&self, at: Timestamp, iteration: Option<u32>, task: Option<TaskId>) -> ProgressEntry {
        let kind = match self.kind {
            LearnedKind::Learning => ProgressKind::Learning,
            LearnedKind::Explored => ProgressKind::Explored,
            LearnedKind::Found => ProgressKind::Found,
        };
        let text = redacted(&self.text).into_owned();
        ProgressEntry { at, iteration, task, body: ProgressBody::Note { kind, text } }
    }
}

/// The reason why a text cannot be recorded as a learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLearned {
    /// The text is blank.
    #[error("the text is blank")]
    Blank,
    /// The text is too long.
    #[error("the text has more than {MAX_LEARNED_CHARS} characters")]
    TooLong,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn learnings_are_bounded_and_hide_credentials() {
        let of = |text: &str| Learned::new(LearnedKind::Found, text);
        assert_eq!(of(" \n"), Err(InvalidLearned::Blank));
        assert_eq!(of(&"ü".repeat(MAX_LEARNED_CHARS + 1)), Err(InvalidLearned::TooLong));
        assert!(of(&"ü".repeat(MAX_LEARNED_CHARS)).is_ok());
        let entry = of(" see https://me:pass@host/x\nthere ").unwrap().entry(
            Timestamp::UNIX_EPOCH,
            Some(3),
            Some(TaskId::new("1.2")),
        );
        let line = "[1970-01-01T00:00:00Z] [iteration:3] [task:1.2] FOUND: see https://***@host/x␊there";
        assert_eq!(entry.to_string(), line);
    }
}
