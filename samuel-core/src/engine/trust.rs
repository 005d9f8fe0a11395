//! Whether what a repository brings may run.
//!
//! Agent commands, quality checks and hooks come with the repository and
//! execute on the user's machine. The library never decides that by itself:
//! the caller gives a [`TrustPolicy`], which is shown the [`Executables`].

use std::{fmt, sync::Arc};

use super::executables::Executables;

/// A closure that decides.
type Decide = Arc<dyn Fn(&Executables) -> bool + Send + Sync>;

/// Who decides whether what a repository brings may run.
#[derive(Clone, Default)]
pub enum TrustPolicy {
    /// Nothing of it may run; the default.
    #[default]
    Refuse,
    /// All of it may run: the caller knows the repository.
    TrustAll,
    /// A closure decides. It may block, for instance to ask a user.
    Ask(Decide),
}

impl TrustPolicy {
    /// Creates a policy that asks a closure.
    pub fn ask(decide: impl Fn(&Executables) -> bool + Send + Sync + 'static) -> Self {
        Self::Ask(Arc::new(decide))
    }

    /// Says whether the executables may run.
    pub(super) fn allows(&self, executables: &Executables) -> bool {
        match self {
            Self::Refuse => false,
            Self::TrustAll => true,
            Self::Ask(decide) => decide(executables),
        }
    }
}

impl fmt::Debug for TrustPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuse => "Refuse",
            Self::TrustAll => "TrustAll",
            Self::Ask(_) => "Ask",
        })
    }
}
