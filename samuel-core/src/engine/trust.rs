//! Whether what a repository brings may run.
//!
//! Agent commands, quality checks and hooks come with the repository and
//! execute on the user's machine. The library never decides that by itself:
//! the caller gives a [`TrustPolicy`], which is shown the [`Executables`].

use std::{fmt, sync::Arc};

use super::{error::RunError, executables::Executables};

/// A closure that decides.
type Decide = Arc<dyn Fn(&Executables) -> bool + Send + Sync>;

/// Who decides whether what a repository brings may run.
#[derive(Clone, Default)]
pub enum TrustPolicy {
    /// Nothing of it may run; the default.
    #[default]
    Refuse,
    /// All of it may run: the caller knows the repository. What the last run left
    /// changed is not covered, since an agent may have changed it.
    TrustAll,
    /// What has this [digest](Executables::digest) may run, which covers what the
    /// last run left changed.
    Digest(String),
    /// A closure decides, also on what the last run left changed. It may block, for
    /// instance to ask a user.
    Ask(Decide),
}

impl TrustPolicy {
    /// Creates a policy that asks a closure.
    pub fn ask(decide: impl Fn(&Executables) -> bool + Send + Sync + 'static) -> Self {
        Self::Ask(Arc::new(decide))
    }

    /// Says whether somebody is asked.
    pub(super) fn asks(&self) -> bool {
        matches!(self, Self::Ask(_))
    }

    /// Decides whether the executables may run, and says why not.
    pub(super) fn decide(&self, executables: &Executables) -> Result<(), RunError> {
        let boxed = || Box::new(executables.clone());
        match self {
            Self::Refuse | Self::TrustAll if !executables.changes.is_empty() => {
                Err(RunError::Unaccepted { executables: boxed() })
            }
            Self::Refuse => Err(RunError::Untrusted { executables: boxed() }),
            Self::TrustAll => Ok(()),
            Self::Digest(trusted) if *trusted == executables.digest() => Ok(()),
            Self::Digest(_) => Err(RunError::OtherDigest { executables: boxed() }),
            Self::Ask(decide) if decide(executables) => Ok(()),
            Self::Ask(_) => Err(RunError::Declined { executables: boxed() }),
        }
    }
}

impl fmt::Debug for TrustPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::TrustAll => "TrustAll",
            Self::Digest(_) => "Digest",
            Self::Ask(_) => "Ask",
        })
    }
}
