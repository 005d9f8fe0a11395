//! What can go wrong with a log.

use std::{path::PathBuf, time::Duration};

use super::VoidReason;
use crate::Holder;
use samuel_model::{Coded, ErrorCode, Location};

/// An error of a log, of a mirror of it, or of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The log did not answer in time, or nobody can tell whether it did. What was appended may have been stored.
    #[error("the log at {place} cannot be reached: {reason}")]
    Unreachable {
        /// Where the log is.
        place: String,
        /// Why.
        reason: String,
    },
    /// The log refuses for good, such as for want of a permission.
    #[error("the log at {place} refuses: {reason}")]
    Denied {
        /// Where the log is.
        place: String,
        /// Why.
        reason: String,
    },
    /// A record was appended, and until its deadline neither acknowledged nor seen: it may take effect or not.
    #[error("a change of the plan {plan} was not acknowledged within {} s: {reason}", waited.as_secs_f32())]
    Unacknowledged {
        /// The plan.
        plan: String,
        /// How long its writer waited.
        waited: Duration,
        /// What was in the way last.
        reason: String,
    },
    /// The log has no more, or other, records than were read of it before.
    #[error("the log of the plan {plan} has lost records: {}", lost(*folded, *found))]
    Lost {
        /// The plan.
        plan: String,
        /// The number of the last record that was folded.
        folded: u64,
        /// The number of the last record that is there.
        found: u64,
    },
    /// A record is of a format that this version does not know. Nothing after it is folded.
    #[error(
        "record {number} of the plan {plan} has the format {format}, and this version of Samuel reads up to {known}"
    )]
    Format {
        /// The plan.
        plan: String,
        /// The number of the record.
        number: u64,
        /// Its format.
        format: u32,
        /// The newest format that is known.
        known: u32,
    },
    /// A record is larger than a log takes.
    #[error("a record of {what} has {bytes} bytes, and a log takes {max}")]
    TooLarge {
        /// The word for the change.
        what: String,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        max: usize,
    },
    /// The own record is in the log and changes nothing, whatever the plan is.
    #[error("record {number} is void: {why}")]
    Void {
        /// The number of the record.
        number: u64,
        /// Why.
        why: VoidReason,
    },
    /// Somebody else writes in the name of this writer.
    #[error("another process writes to the log as {writer}")]
    WriterTaken {
        /// The name.
        writer: String,
    },
    /// The name of a plan or of a writer cannot be used.
    #[error(
        "\"{name}\" is no name of a {what}: it has 1 to 200 characters, none of them a control character"
    )]
    Name {
        /// `plan` or `writer`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A mirror is not what was written to it.
    #[error("the mirror {} is not what Samuel wrote: {reason}", path.display())]
    Mirror {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A mirror could not be read or written.
    #[error("cannot {action} the mirror {}: {reason}", path.display())]
    MirrorIo {
        /// What was tried, such as `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Another store has a mirror.
    #[error("the mirror {} is in use by {}", path.display(), holder_of(holder.as_deref()))]
    MirrorHeld {
        /// The file.
        path: PathBuf,
        /// Who has it, where that is known.
        holder: Option<Box<Holder>>,
    },
    /// Two histories of one plan went apart, so neither goes on from the other.
    #[error("{what} and {with} have other records of the plan {plan} from the {at}. on")]
    Diverged {
        /// The plan.
        plan: String,
        /// One of them.
        what: String,
        /// The other one.
        with: String,
        /// Which record, from 1, counting none twice.
        at: usize,
    },
}

impl LogError {
    /// Says whether it may pass by itself, because the log is to blame and not what was asked of it.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Unacknowledged { .. })
    }
}

impl Coded for LogError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unreachable { .. } => ErrorCode::FLEET_UNREACHABLE,
            Self::Denied { .. } => ErrorCode::FLEET_DENIED,
            Self::Unacknowledged { .. } => ErrorCode::FLEET_UNACKNOWLEDGED,
            Self::Lost { .. } => ErrorCode::FLEET_LOG_LOST,
            Self::Format { .. } => ErrorCode::FLEET_FORMAT,
            Self::TooLarge { .. } | Self::Void { .. } | Self::Name { .. } => ErrorCode::FLEET_RECORD,
            Self::WriterTaken { .. } | Self::MirrorHeld { .. } => ErrorCode::FLEET_WRITER,
            Self::Mirror { .. } => ErrorCode::FLEET_MIRROR,
            Self::MirrorIo { .. } => ErrorCode::STATE_IO,
            Self::Diverged { .. } => ErrorCode::FLEET_DIVERGED,
        }
    }

    fn location(&self) -> Option<Location> {
        let (path, line) = match self {
            Self::Mirror { path, line, .. } => (path, Some(*line)),
            Self::MirrorIo { path, .. } | Self::MirrorHeld { path, .. } => (path, None),
            _ => return None,
        };
        Some(Location { file: path.clone(), line, column: None })
    }
}

/// Says who has something.
fn holder_of(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), Holder::to_string)
}

/// Says what is not there any more.
fn lost(folded: u64, found: u64) -> String {
    match found < folded {
        true => format!("record {folded} was read before, and it ends with {found}"),
        false => format!("record {folded} is not the one that was read before"),
    }
}
