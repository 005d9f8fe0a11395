//! How iterations and runs end.

use super::{ErrorCode, payload::AgentFailureClass, words};

words! {
    /// Why a run ended (docs/loop.md).
    ExitReason ("exit reason") {
        /// Every task is completed or skipped, and the last check was ok.
        Completed = "completed",
        /// Tasks are left, and none of them can be worked on.
        Blocked = "blocked",
        /// The iteration cap was reached.
        MaxIterations = "max-iterations",
        /// Too many iterations in a row failed, or too many tasks in a row were blocked.
        ConsecutiveFailures = "consecutive-failures",
        /// A handler of `iteration.gate` said stop.
        GateStop = "gate-stop",
        /// `session.stop` was blocked too often in a row.
        StopBlocked = "stop-blocked",
        /// The same failure with the same work tree three times in a row.
        NoProgress = "no-progress",
        /// The session budget was used up.
        Budget = "budget",
        /// The wall-clock limit was reached.
        WallClock = "wall-clock",
        /// The agent's usage limit lasts longer than the run waits.
        RateLimited = "rate-limited",
        /// Discovery found nothing twice in a row.
        EmptyDiscovery = "empty-discovery",
        /// A handler broke at a point that ends the loop then.
        StrictHook = "strict-hook",
        /// Files that decide what runs were changed during the run.
        ControlFilesChanged = "control-files-changed",
        /// The caller ended it.
        Cancelled = "cancelled",
        /// Samuel itself could not go on.
        Error = "error",
    }
}

impl ExitReason {
    /// Returns the process exit code that goes with the reason. Signals have codes of their own.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Blocked => 3,
            Self::Error => 1,
            Self::Cancelled => 130,
            Self::MaxIterations
            | Self::ConsecutiveFailures
            | Self::GateStop
            | Self::StopBlocked
            | Self::NoProgress
            | Self::Budget
            | Self::WallClock
            | Self::RateLimited
            | Self::EmptyDiscovery
            | Self::StrictHook
            | Self::ControlFilesChanged => 4,
        }
    }

    /// Returns the error code that goes with the reason; nothing for
    /// [`Completed`](Self::Completed).
    pub fn error_code(self) -> Option<ErrorCode> {
        match self.exit_code() {
            0 => None,
            3 => Some(ErrorCode::RUN_BLOCKED),
            4 => Some(ErrorCode::RUN_STOPPED),
            130 => Some(ErrorCode::RUN_CANCELLED),
            _ => Some(ErrorCode::RUN_FAILED),
        }
    }

    /// Says whether pending text is still delivered in a final turn.
    pub fn delivers_pending_text(self) -> bool {
        matches!(
            self,
            Self::Completed
                | Self::Blocked
                | Self::MaxIterations
                | Self::GateStop
                | Self::ConsecutiveFailures
        )
    }
}

words! {
    /// What kind of thing made an iteration fail.
    FailureClass ("failure class") {
        /// The agent could not be started.
        AgentStart = "agent-start",
        /// The agent ended with a code other than 0.
        AgentExit = "agent-exit",
        /// The agent was ended by a clock.
        AgentTimeout = "agent-timeout",
        /// The agent's provider refused because of a usage limit.
        RateLimit = "rate-limit",
        /// A quality check failed.
        QualityCheck = "quality-check",
        /// A handler said no.
        Refused = "refused",
        /// A handler broke.
        HookBroke = "hook-broke",
        /// Samuel was interrupted while the iteration was under way.
        Interrupted = "interrupted",
    }
}

impl From<AgentFailureClass> for FailureClass {
    fn from(class: AgentFailureClass) -> Self {
        match class {
            AgentFailureClass::AgentStart => Self::AgentStart,
            AgentFailureClass::AgentExit => Self::AgentExit,
            AgentFailureClass::AgentTimeout => Self::AgentTimeout,
            AgentFailureClass::RateLimit => Self::RateLimit,
            AgentFailureClass::Interrupted => Self::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_reason_reads_back_from_its_word() {
        for reason in ExitReason::ALL {
            assert_eq!(reason.as_str().parse::<ExitReason>().as_ref(), Ok(reason));
        }
        assert_eq!(ExitReason::ALL.len(), 15);
    }

    #[test]
    fn the_error_code_of_a_reason_has_its_exit_code() {
        for reason in ExitReason::ALL {
            let code = reason.error_code().map_or(0, |code| code.exit_code);
            assert_eq!(code, reason.exit_code(), "{reason}");
        }
    }
}
