//! What commands of session hooks can be told of.

use super::HookType;

/// A variable of a command, written `{{name}}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// The name of the session.
    Session,
    /// The number of the iteration, from 1.
    Iteration,
    /// The id of the completed task.
    TaskId,
    /// The title of the completed task, and its description below.
    TaskContent,
    /// Why the iteration failed.
    Error,
    /// Why the run ended, such as `completed`.
    ExitReason,
    /// How many tasks were completed in the run.
    Completed,
    /// What the run cost, in US dollars with two digits; empty where no agent says so.
    CostUsd,
}

impl Variable {
    /// All variables.
    pub const ALL: [Self; 8] = [
        Self::Session,
        Self::Iteration,
        Self::TaskId,
        Self::TaskContent,
        Self::Error,
        Self::ExitReason,
        Self::Completed,
        Self::CostUsd,
    ];

    /// Returns the name that commands use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Iteration => "iteration",
            Self::TaskId => "task_id",
            Self::TaskContent => "task_content",
            Self::Error => "error",
            Self::ExitReason => "exit_reason",
            Self::Completed => "completed",
            Self::CostUsd => "cost_usd",
        }
    }

    /// Returns the variable of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }

    /// Says whether hooks of a type know it, in hook files of a version.
    pub fn is_known_at(self, hook_type: HookType, version: u32) -> bool {
        use HookType::{OnError, OnTaskComplete, PostIteration, PreIteration, SessionEnd};
        match self {
            Self::Session => true,
            Self::Iteration => matches!(hook_type, PreIteration | PostIteration | OnError),
            Self::TaskId | Self::TaskContent => hook_type == OnTaskComplete,
            Self::Error => hook_type == OnError,
            Self::ExitReason | Self::Completed | Self::CostUsd => hook_type == SessionEnd && version >= 2,
        }
    }

    /// Says whether its value is a whole number, which means the same wherever it stands.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Iteration | Self::Completed)
    }

    /// Returns the environment variable that has its value for a command.
    pub(super) fn env_name(self) -> &'static str {
        match self {
            Self::Session => "SAMUEL_VAR_SESSION",
            Self::Iteration => "SAMUEL_VAR_ITERATION",
            Self::TaskId => "SAMUEL_VAR_TASK_ID",
            Self::TaskContent => "SAMUEL_VAR_TASK_CONTENT",
            Self::Error => "SAMUEL_VAR_ERROR",
            Self::ExitReason => "SAMUEL_VAR_EXIT_REASON",
            Self::Completed => "SAMUEL_VAR_COMPLETED",
            Self::CostUsd => "SAMUEL_VAR_COST_USD",
        }
    }
}
