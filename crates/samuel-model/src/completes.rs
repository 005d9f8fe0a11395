//! Which tasks count as completed while an agent is at work.

use super::words;

words! {
    /// The tasks whose completion a check may confirm while an agent is at work.
    #[derive(Default)]
    Completes ("completes") {
        /// Any task of the plan.
        #[default]
        Plan = "plan",
        /// The task that the agent was called for, and those that a person completes by the command. Another
        /// completion reopens its task at once.
        OwnTask = "own-task",
    }
}
