//! From a point's id to its type.

/// Evaluates an expression with `$P` as the type of a point.
macro_rules! at_point {
    ($point:expr, $P:ident => $body:expr) => {
        $crate::points::at_point!(@ $point, $P, $body;
            InitBefore InitAfter SyncBefore SyncAfter SessionStart BeforeLoop BeforeIteration IterationGate
            PromptSubmit ContextSnapshot ContextProgress ContextTask ContextExtra BeforeAgentInvoke AgentInvoke
            AfterAgentInvoke QualityCheck AfterIteration IterationError TaskCompleted AbilityBefore AbilityAfter
            SessionStop AfterLoop SessionEnd)
    };
    (@ $point:expr, $P:ident, $body:expr; $($name:ident)+) => {
        match $point {
            $(samuel_core::hook::HookPoint::$name => {
                type $P = samuel_core::hook::points::$name;
                $body
            })+
        }
    };
}

pub(crate) use at_point;
