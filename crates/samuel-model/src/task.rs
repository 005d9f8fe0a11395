//! Tasks: what the loop works on.
//!
//! A [`Task`] is one row of `prd.toon` (docs/prd.md). Its [`TaskId`] is text with a natural order:
//! `2` comes before `10`, and `1.10` is another task than `1.1`.

use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{Complexity, Mark, Priority, Question, claim::MAX_BRANCH_BYTES, words};
use crate::text::excerpt;

/// The longest id a task may have, in characters.
pub const MAX_ID_CHARS: usize = 64;
/// How much is kept of the name of who works on a task, in characters.
pub const MAX_OWNER_CHARS: usize = 200;
/// The longest title a task may have, in characters.
pub const MAX_TITLE_CHARS: usize = 1_000;

/// A task's id: text, unique within a plan, ordered naturally.
///
/// An id starts with a letter or digit and holds letters, digits, `.`, `-` and
/// `_`, at most [`MAX_ID_CHARS`] characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(String);

impl TaskId {
    /// Wraps text that was checked before, such as a stored id.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Says whether a text can be an id.
    #[doc(hidden)]
    pub fn is_legal(text: &str) -> bool {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        text.len() <= MAX_ID_CHARS && starts_well && text.bytes().all(legal)
    }

    /// Refuses a text that cannot be an id.
    fn check(text: &str) -> Result<(), InvalidTask> {
        match Self::is_legal(text) {
            true => Ok(()),
            false => Err(InvalidTask::Id { id: excerpt(text, MAX_ID_CHARS) }),
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the task this one's number places it under: `1` for
    /// `1.2`, nothing for `1`.
    pub fn numbered_parent(&self) -> Option<TaskId> {
        self.0.rsplit_once('.').map(|(parent, _)| TaskId::new(parent))
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for TaskId {
    type Err = InvalidTask;

    fn from_str(text: &str) -> Result<Self, InvalidTask> {
        Self::check(text).map(|()| Self::new(text))
    }
}

impl Ord for TaskId {
    fn cmp(&self, other: &Self) -> Ordering {
        natural_order(&self.0, &other.0).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for TaskId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Reads the hash of a commit, 4 to 64 hexadecimal digits. A blank text is none:
/// it is what a shell makes of a `git` that failed.
///
/// # Errors
/// Returns [`InvalidTask::Commit`] for anything else.
///
/// ```
/// use samuel_model::commit_hash;
///
/// assert_eq!(commit_hash("0a1b2c3\n"), Ok(Some("0a1b2c3")));
/// assert_eq!(commit_hash(" "), Ok(None));
/// assert!(commit_hash("HEAD").is_err());
/// ```
pub fn commit_hash(text: &str) -> Result<Option<&str>, InvalidTask> {
    let hash = text.trim();
    let is_hash = (4..=64).contains(&hash.len()) && hash.chars().all(|c| c.is_ascii_hexdigit());
    match (hash.is_empty(), is_hash) {
        (true, _) => Ok(None),
        (_, true) => Ok(Some(hash)),
        _ => Err(InvalidTask::Commit),
    }
}

/// Compares runs of digits as numbers and everything else as text.
fn natural_order(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        match (left.is_empty(), right.is_empty()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let (left_run, left_rest) = split_run(left);
        let (right_run, right_rest) = split_run(right);
        let order = match (is_number(left_run), is_number(right_run)) {
            (true, true) => compare_numbers(left_run, right_run),
            _ => left_run.cmp(right_run),
        };
        if order != Ordering::Equal {
            return order;
        }
        (left, right) = (left_rest, right_rest);
    }
}

/// Splits off the longest prefix that is all digits or has none.
fn split_run(text: &str) -> (&str, &str) {
    let number = is_number(text);
    let end = text.find(|c: char| c.is_ascii_digit() != number).unwrap_or(text.len());
    text.split_at(end)
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

fn compare_numbers(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.trim_start_matches('0'), right.trim_start_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

words! {
    /// Where a task stands.
    #[derive(Default)]
    Status ("status") {
        /// Waits to be worked on.
        #[default]
        Pending = "pending",
        /// The loop works on it.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Left out on purpose; counts as done for those that depend on it.
        Skipped = "skipped",
        /// Cannot be worked on until someone resets it.
        Blocked = "blocked",
    }
}

words! {
    /// Where a task comes from.
    #[derive(Default)]
    Source ("source") {
        /// Someone added it; the default.
        #[default]
        Manual = "manual",
        /// The conversion of a PRD.
        Prd = "prd",
        /// A discovery iteration of pilot mode.
        PilotDiscovery = "pilot-discovery",
    }
}

/// One task of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The id, unique within the plan.
    pub id: TaskId,
    /// The title: one line, not empty, at most [`MAX_TITLE_CHARS`] characters.
    pub title: String,
    /// The description, any number of lines; may be empty.
    #[serde(default)]
    pub description: String,
    /// Where it stands.
    #[serde(default)]
    pub status: Status,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// How much work it is.
    #[serde(default)]
    pub complexity: Complexity,
    /// The task this one is a part of.
    #[serde(default)]
    pub parent_id: Option<TaskId>,
    /// The tasks that must be completed or skipped first.
    #[serde(default)]
    pub depends_on: Vec<TaskId>,
    /// Files the task creates, relative to the project.
    #[serde(default)]
    pub files_to_create: Vec<String>,
    /// Files the task changes, relative to the project.
    #[serde(default)]
    pub files_to_modify: Vec<String>,
    /// Rules the work must keep to.
    #[serde(default)]
    pub guardrails: Vec<String>,
    /// What must hold for the task to be done.
    #[serde(default)]
    pub acceptance: Vec<String>,
    /// Where it comes from.
    #[serde(default)]
    pub source: Source,
    /// When it was added.
    #[serde(default)]
    pub created_at: Option<jiff::Timestamp>,
    /// When it was completed.
    #[serde(default)]
    pub completed_at: Option<jiff::Timestamp>,
    /// The commit that completed it.
    #[serde(default)]
    pub commit_sha: Option<String>,
    /// The iteration that completed it, from 1.
    #[serde(default)]
    pub iteration: Option<u32>,
    /// Why it was skipped.
    #[serde(default)]
    pub skip_reason: Option<String>,
    /// Who works on it while it is in progress: the id of a run, or what its caller is
    /// called.
    #[serde(default)]
    pub owner: Option<String>,
    /// What was asked about it: open while it is blocked, and answered until its agent was given
    /// the answer. Earlier versions of Samuel do not know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// What is unusual about its completion. Earlier versions of Samuel do not know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
}

impl Task {
    /// Creates a pending task of medium priority and complexity.
    pub fn new(id: TaskId, title: impl Into<String>) -> Self {
        Self {
            id,
            title: title.into(),
            description: String::new(),
            status: Status::default(),
            priority: Priority::default(),
            complexity: Complexity::default(),
            parent_id: None,
            depends_on: Vec::new(),
            files_to_create: Vec::new(),
            files_to_modify: Vec::new(),
            guardrails: Vec::new(),
            acceptance: Vec::new(),
            source: Source::default(),
            created_at: None,
            completed_at: None,
            commit_sha: None,
            iteration: None,
            skip_reason: None,
            owner: None,
            question: None,
            marks: Vec::new(),
        }
    }

    /// Checks what can be checked of one task alone: its id and its title.
    ///
    /// # Errors
    /// Returns [`InvalidTask`] for the first rule that does not hold.
    pub fn validate(&self) -> Result<(), InvalidTask> {
        TaskId::check(self.id.as_str())?;
        if self.title.trim().is_empty() {
            return Err(InvalidTask::EmptyTitle);
        }
        if self.title.contains(['\n', '\r']) {
            return Err(InvalidTask::TitleLines);
        }
        if self.title.chars().count() > MAX_TITLE_CHARS {
            return Err(InvalidTask::TitleLength);
        }
        Ok(())
    }

    /// Returns the question that it waits for an answer to.
    pub fn open_question(&self) -> Option<&Question> {
        self.question.as_ref().filter(|question| self.status == Status::Blocked && question.answer.is_none())
    }

    /// Returns the question whose answer its agent was not given yet.
    pub fn answered_question(&self) -> Option<&Question> {
        self.question.as_ref().filter(|question| !self.is_settled() && question.answer.is_some())
    }

    /// Says whether tasks that depend on this one may go on.
    pub fn is_settled(&self) -> bool {
        matches!(self.status, Status::Completed | Status::Skipped)
    }
}

/// A task that must not be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTask {
    /// The id has characters it must not have, or too many.
    #[error(
        "\"{id}\" cannot be a task id: use letters, digits, \".\", \"-\" and \"_\", at most {MAX_ID_CHARS}, starting with a letter or digit"
    )]
    Id {
        /// The id as it was given; of a long one, its start.
        id: String,
    },
    /// The title is empty.
    #[error("the title of a task must not be empty")]
    EmptyTitle,
    /// The title has several lines.
    #[error("the title of a task must be one line")]
    TitleLines,
    /// The title is too long.
    #[error("the title of a task has at most {MAX_TITLE_CHARS} characters")]
    TitleLength,
    /// What is given as a commit is none.
    #[error("a commit is 4 to 64 hexadecimal digits; leave it out where there is none")]
    Commit,
    /// What is given as a branch is none.
    #[error("a branch has a name of one line and at most {MAX_BRANCH_BYTES} bytes")]
    Branch,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ordered_naturally() {
        let mut ids: Vec<TaskId> = ["10", "2", "1.10", "1.2", "1", "a10", "a9", "02"].map(TaskId::new).into();
        ids.sort();
        let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        assert_eq!(ids, ["1", "1.2", "1.10", "02", "2", "10", "a9", "a10"]);
    }

    #[test]
    fn an_id_is_text_of_a_few_characters() {
        for good in ["1", "1.10", "T-1", "a_b", "007"] {
            assert!(good.parse::<TaskId>().is_ok(), "{good}");
        }
        for bad in ["", ".1", "a b", "é", "a,b", &"1".repeat(65)] {
            assert!(bad.parse::<TaskId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wrong_word_is_refused_with_the_words_that_would_do() {
        let error = "urgent".parse::<Priority>().err().map(|e| e.to_string());
        assert_eq!(
            error.as_deref(),
            Some("unknown priority \"urgent\", expected one of critical, high, medium, low")
        );
    }

    #[test]
    fn a_title_is_one_line_that_is_not_empty() {
        let task = |title: &str| Task::new(TaskId::new("1"), title).validate();
        assert_eq!(task("Fine"), Ok(()));
        assert_eq!(task("  "), Err(InvalidTask::EmptyTitle));
        assert_eq!(task("a\nb"), Err(InvalidTask::TitleLines));
        assert_eq!(task(&"x".repeat(1_001)), Err(InvalidTask::TitleLength));
    }
}
