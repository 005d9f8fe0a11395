//! The records of a log.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{LogError, VoidReason};
use crate::{Actor, Asker, Mutation, journal::MAX_REVISION};
use samuel_model::{MAX_OWNER_CHARS, text::excerpt};

/// The newest format of records that this version writes and reads.
pub const LOG_FORMAT: u32 = 1;
/// The largest record of a log, in bytes.
pub const MAX_LOG_RECORD_BYTES: usize = 1_000_000;

/// How much is kept of what a parser says, in bytes.
const MAX_REASON_BYTES: usize = 200;

/// One record of a log: a change that somebody asks for. It is a JSON object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogRecord {
    /// The format, from 1: the lowest that has what the record says.
    pub format: u32,
    /// The plan, 1 to 200 characters.
    pub plan: String,
    /// Who appends it: one process, which has a name of its own each time it starts; 1 to 200 characters.
    pub writer: String,
    /// Its number among the writer's, from 1. Of records with one number the first counts, and no number counts
    /// after a higher one.
    pub n: u64,
    /// When it was made, by the writer's clock.
    pub at: Timestamp,
    /// What kind of caller asks for the change.
    pub actor: Actor,
    /// What tells the caller from others of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The name by which the caller claims tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// When the plan was made that the change is meant for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_at: Option<Timestamp>,
    /// What is asked for.
    #[serde(flatten)]
    pub content: LogContent,
}

/// What a record asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogContent {
    /// A change of the plan.
    Mutation(Mutation),
    /// A part of a whole plan.
    Import(ImportPart),
    /// Lines of the progress log.
    Progress(Vec<String>),
    /// The progress log is cut where it has more lines than this.
    RotateProgress(usize),
}

/// A part of a whole plan. The parts of one have numbers of their writer that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportPart {
    /// Which part it is, from 1.
    pub part: usize,
    /// How many there are.
    pub of: usize,
    /// Whether a plan that exists is replaced.
    pub replace: bool,
    /// A part of the plan as JSON, at most 256 KiB.
    pub text: String,
}

impl LogContent {
    /// Returns the format that has it first.
    fn format(&self) -> u32 {
        match self {
            Self::Mutation(mutation) => first_format(mutation),
            Self::Import(_) | Self::Progress(_) | Self::RotateProgress(_) => 1,
        }
    }

    /// Returns the word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mutation(mutation) => mutation.name(),
            Self::Import(_) => "import",
            Self::Progress(_) => "progress",
            Self::RotateProgress(_) => "rotate_progress",
        }
    }
}

/// Returns the format that has a change first. A change that is new, or comes to mean something else, begins a new
/// format: who reads an older one would come to another plan.
fn first_format(mutation: &Mutation) -> u32 {
    match mutation {
        Mutation::Done { .. }
        | Mutation::Skip { .. }
        | Mutation::Reset { .. }
        | Mutation::Enqueue { .. }
        | Mutation::Add { .. }
        | Mutation::StartTask { .. }
        | Mutation::ReturnToPending { .. }
        | Mutation::TakeBack { .. }
        | Mutation::Block { .. }
        | Mutation::Ask { .. }
        | Mutation::Answer { .. }
        | Mutation::Heard { .. }
        | Mutation::Mark { .. }
        | Mutation::Edit { .. }
        | Mutation::Remove { .. }
        | Mutation::Move { .. }
        | Mutation::Update { .. }
        | Mutation::Undo { .. }
        | Mutation::Claim { .. }
        | Mutation::Release { .. }
        | Mutation::Submit { .. }
        | Mutation::Hold { .. }
        | Mutation::Unhold { .. }
        | Mutation::Landing { .. }
        | Mutation::Land { .. }
        | Mutation::Drop { .. }
        | Mutation::BeginDiscovery { .. }
        | Mutation::CommitIteration { .. }
        | Mutation::AddUsage { .. }
        | Mutation::SetProgressStatus { .. } => 1,
    }
}

impl LogRecord {
    /// Makes a record of the lowest format that has what it says.
    pub fn new(
        plan: impl Into<String>,
        writer: impl Into<String>,
        n: u64,
        at: Timestamp,
        asker: &Asker,
        content: LogContent,
    ) -> Self {
        Self {
            format: content.format(),
            plan: plan.into(),
            writer: writer.into(),
            n,
            at,
            actor: asker.actor,
            by: asker.name.clone(),
            worker: asker.worker.clone(),
            made_at: None,
            content,
        }
    }

    /// Encodes it as it is appended.
    ///
    /// # Errors
    /// Returns [`LogError::TooLarge`] for one of more than [`MAX_LOG_RECORD_BYTES`], and [`LogError::Name`] for a
    /// plan or writer that has no name.
    pub fn encode(&self) -> Result<Vec<u8>, LogError> {
        check_name("plan", &self.plan)?;
        check_name("writer", &self.writer)?;
        // A record consists of what JSON has; where it did not, nothing would be appended.
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        if bytes.len() > MAX_LOG_RECORD_BYTES || bytes.is_empty() {
            let (what, max) = (self.content.name().to_owned(), MAX_LOG_RECORD_BYTES);
            return Err(LogError::TooLarge { what, bytes: bytes.len(), max });
        }
        Ok(bytes)
    }

    /// Returns who asks.
    pub(super) fn asker(&self) -> Asker {
        Asker { actor: self.actor, name: self.by.clone(), worker: self.worker.clone() }
    }
}

/// Refuses a name that cannot be told from others.
///
/// # Errors
/// Returns [`LogError::Name`].
pub(super) fn check_name(what: &'static str, name: &str) -> Result<(), LogError> {
    match is_name(name) {
        true => Ok(()),
        false => Err(LogError::Name { what, name: excerpt(name, MAX_REASON_BYTES) }),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= MAX_OWNER_CHARS && !name.chars().any(char::is_control)
}

/// What every record of the known formats has.
#[derive(Deserialize)]
pub(super) struct Numbered {
    pub(super) writer: String,
    pub(super) n: u64,
}

/// What every record has, also those of formats to come.
#[derive(Deserialize)]
struct Formatted {
    format: u32,
    plan: String,
}

/// What some bytes are.
pub(super) enum Decoded<'a> {
    /// A record of a format that is not known.
    Newer { format: u32 },
    /// Nothing that counts.
    Void(VoidRecordOf),
    /// A record with a number, and what it asks for, where that is known.
    Numbered { numbered: Numbered, text: &'a str },
}

/// What is void before it has a number, and by whom.
pub(super) struct VoidRecordOf {
    pub(super) writer: Option<String>,
    pub(super) why: VoidReason,
}

/// Reads what a record is, and not yet what it asks for.
pub(super) fn decode<'a>(bytes: &'a [u8], plan: &str) -> Decoded<'a> {
    let void = |why| Decoded::Void(VoidRecordOf { writer: None, why });
    if bytes.len() > MAX_LOG_RECORD_BYTES {
        return void(VoidReason::TooLarge { bytes: bytes.len() });
    }
    let garbage = |error: &dyn fmt::Display| void(VoidReason::Garbage { reason: reason(error) });
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return garbage(&error),
    };
    let formatted = match serde_json::from_str::<Formatted>(text) {
        Ok(formatted) => formatted,
        Err(error) => return garbage(&error),
    };
    if formatted.plan != plan {
        return void(VoidReason::OtherPlan { plan: excerpt(&formatted.plan, MAX_REASON_BYTES) });
    }
    if formatted.format > LOG_FORMAT {
        return Decoded::Newer { format: formatted.format };
    }
    let numbered = match serde_json::from_str::<Numbered>(text) {
        Ok(numbered) => numbered,
        Err(error) => return garbage(&error),
    };
    let by = |why| Decoded::Void(VoidRecordOf { writer: Some(numbered.writer.clone()), why });
    match () {
        () if !is_name(&numbered.writer) => void(VoidReason::Writer),
        () if formatted.format == 0 => by(VoidReason::UnknownChange { reason: "format 0".to_owned() }),
        () if numbered.n == 0 || numbered.n >= MAX_REVISION => by(VoidReason::Number),
        () => Decoded::Numbered { numbered, text },
    }
}

/// Reads the whole of a record that has a number.
pub(super) fn decode_content(text: &str) -> Result<LogRecord, VoidReason> {
    serde_json::from_str(text).map_err(|error| VoidReason::UnknownChange { reason: reason(&error) })
}

/// Returns what a parser says of a record, which may repeat much of it.
pub(super) fn reason(error: &dyn fmt::Display) -> String {
    excerpt(&error.to_string(), MAX_REASON_BYTES)
}
