//! The types of session hooks.

use super::Variable;

/// When a session hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookType {
    /// Once, before the first iteration.
    SessionStart,
    /// Before each iteration.
    PreIteration,
    /// After each iteration, also one that failed.
    PostIteration,
    /// Once, when everything else is over.
    SessionEnd,
    /// When a task was completed.
    OnTaskComplete,
    /// When an iteration failed.
    OnError,
}

impl HookType {
    /// All types, in the order in which they first run.
    pub const ALL: [Self; 6] = [
        Self::SessionStart,
        Self::PreIteration,
        Self::PostIteration,
        Self::SessionEnd,
        Self::OnTaskComplete,
        Self::OnError,
    ];

    /// Returns the key that hook files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::PreIteration => "pre_iteration",
            Self::PostIteration => "post_iteration",
            Self::SessionEnd => "session_end",
            Self::OnTaskComplete => "on_task_complete",
            Self::OnError => "on_error",
        }
    }

    /// Lists the variables that a command of such a hook may use.
    pub(super) fn variables(self, version: u32) -> impl Iterator<Item = Variable> {
        Variable::ALL.into_iter().filter(move |variable| variable.is_known_at(self, version))
    }
}
