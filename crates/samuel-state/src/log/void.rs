//! Records that change nothing, and why.

use std::fmt;

/// A record of a log that changes nothing, whatever the plan is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VoidRecord {
    /// Its number in the log.
    pub number: u64,
    /// Who wrote it, where it says so.
    pub writer: Option<String>,
    /// Why.
    pub why: VoidReason,
}

impl fmt::Display for VoidRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writer = self.writer.as_deref().unwrap_or("an unknown writer");
        write!(f, "record {} by {writer} changes nothing: {}", self.number, self.why)
    }
}

/// Why a record changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VoidReason {
    /// It is none of Samuel's.
    Garbage {
        /// What the parser says.
        reason: String,
    },
    /// It is larger than a record may be.
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// It is of another plan.
    OtherPlan {
        /// The plan that it names.
        plan: String,
    },
    /// Its writer has no name that a writer can have.
    Writer,
    /// Its number among those of its writer is none.
    Number,
    /// It has a change that its format does not know.
    UnknownChange {
        /// What the parser says.
        reason: String,
    },
    /// It is a part of an imported plan of which others are missing, or which is too large.
    ImportPart,
}

impl fmt::Display for VoidReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Garbage { reason } => write!(f, "it cannot be read ({reason})"),
            Self::TooLarge { bytes } => write!(f, "it has {bytes} bytes"),
            Self::OtherPlan { plan } => write!(f, "it is of the plan {plan:?}"),
            Self::Writer => f.write_str("its writer has no name"),
            Self::Number => f.write_str("it has no number that a writer gives"),
            Self::UnknownChange { reason } => write!(f, "its change is not known ({reason})"),
            Self::ImportPart => f.write_str("it is a part of a plan whose other parts are missing"),
        }
    }
}
