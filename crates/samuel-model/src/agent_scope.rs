//! How far an agent's own changes of the plan may reach.

use super::words;

words! {
    /// Which tasks an agent may settle: complete, skip, block or reset.
    #[derive(Default)]
    AgentScope ("scope of an agent") {
        /// Any of the plan.
        #[default]
        Plan = "plan",
        /// The one that its call is for, and no other.
        Task = "task",
    }
}
