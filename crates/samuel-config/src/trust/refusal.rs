//! That something may not run, and why.

use std::fmt;

use jiff::Timestamp;
use samuel_model::{Coded, ErrorCode, Remedy};

use super::{Difference, Executables, TrustStoreError};

/// That what would execute may not run.
#[derive(Debug)]
#[non_exhaustive]
pub struct TrustRefusal {
    /// Why not.
    pub reason: RefusalReason,
    /// What would execute.
    pub executables: Executables,
    /// How that differs from what was trusted; absent where nothing was, or nobody
    /// looked.
    pub difference: Option<Difference>,
}

/// Why something may not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RefusalReason {
    /// Nobody has allowed it.
    Untrusted,
    /// It is not what was trusted.
    Changed {
        /// When that was.
        trusted_at: Timestamp,
    },
    /// Whoever was asked said no.
    Declined,
    /// What would execute is allowed, but not what the last run left changed.
    Unaccepted,
    /// Something else is allowed, by its digest.
    OtherDigest,
    /// What was trusted cannot be read.
    Unreadable(TrustStoreError),
    /// What was allowed now cannot be kept.
    NotKept(TrustStoreError),
}

impl TrustRefusal {
    /// Returns what it is about, for reading: what the last run left changed, then how
    /// what would execute differs from what was trusted, or all of it where nothing was.
    pub fn lines(&self) -> Vec<String> {
        let lines = match &self.difference {
            Some(difference) if !difference.is_empty() => difference.lines(),
            _ => self.executables.lines(),
        };
        [self.executables.change_lines(), lines].concat()
    }
}

impl fmt::Display for TrustRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            RefusalReason::Untrusted => f.write_str("nobody has allowed what this project would run"),
            RefusalReason::Changed { trusted_at } => {
                let what = self.difference.as_ref().map(in_numbers).unwrap_or_default();
                write!(f, "what this project would run is not what was trusted on {trusted_at:.0}: {what}")
            }
            RefusalReason::Declined => f.write_str("not started: what this project would run was declined"),
            RefusalReason::Unaccepted => {
                let changes: Vec<String> = self.executables.changes.iter().map(ToString::to_string).collect();
                let changes = changes.join("; ");
                write!(f, "the last run left control files changed, and nobody has accepted that: {changes}")
            }
            RefusalReason::OtherDigest => {
                let digest = self.executables.digest();
                write!(f, "what this project would run is not what was trusted: its digest is {digest}")
            }
            RefusalReason::Unreadable(_) => f.write_str("what was trusted cannot be looked up"),
            RefusalReason::NotKept(_) => f.write_str("what was allowed cannot be kept"),
        }
    }
}

impl std::error::Error for TrustRefusal {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            RefusalReason::Unreadable(error) | RefusalReason::NotKept(error) => Some(error),
            _ => None,
        }
    }
}

impl Coded for TrustRefusal {
    fn code(&self) -> ErrorCode {
        ErrorCode::TRUST_REFUSED
    }

    fn help(&self) -> Remedy {
        match &self.reason {
            RefusalReason::Declined => Remedy::ChangeWhatRuns,
            RefusalReason::Unaccepted => Remedy::AcceptDigest { digest: self.executables.digest() },
            RefusalReason::OtherDigest => Remedy::TrustOtherDigest,
            RefusalReason::Changed { .. } | RefusalReason::Untrusted => Remedy::TrustRun,
            RefusalReason::Unreadable(error) | RefusalReason::NotKept(error) => error.help(),
        }
    }
}

/// Says how much is different.
fn in_numbers(difference: &Difference) -> String {
    let counts = [
        (difference.new.len(), "new"),
        (difference.changed.len(), "changed"),
        (difference.gone.len(), "gone"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let order = difference.reordered.then(|| "in another order".to_owned());
    let parts = counts.map(|(count, how)| format!("{count} {how}")).chain(order);
    parts.collect::<Vec<_>>().join(", ")
}
