//! The guards that a run is held by, as a start tells of them.

use std::time::Duration;

use samuel_config::format_duration;
use samuel_model::text::{counted, dollars};

use super::RunLimits;
use crate::event::Guard;

impl RunLimits {
    /// Returns every guard in force, in the order of the settings, of a run with so many workers.
    pub fn guards(&self, jobs: u32) -> Vec<Guard> {
        let time = |ms: u64| format_duration(Duration::from_millis(ms));
        let guard = |setting: &str, words: String| Guard { setting: setting.to_owned(), words };
        let failures = self.max_consecutive_failures.max(1).saturating_mul(jobs.max(1));
        let max_iterations = self.max_iterations.map(|max| counted(max.get(), "iteration"));
        let attempts =
            self.max_task_attempts.map(|max| format!("{} a task", counted(max.get(), "failed attempt")));
        let budgeted = self.max_cost_usd.is_some() || self.max_tokens.is_some() || self.max_wall_ms.is_some();
        let forecast = "no iteration that the rest of the budget would not last for".to_owned();
        let guards = [
            max_iterations.map(|words| guard("max_iterations", words)),
            Some(guard("max_consecutive_failures", format!("{} in a row", counted(failures, "failure")))),
            self.max_cost_usd
                .map(|max| guard("session_budget.max_cost_usd", format!("{} a run", dollars(max)))),
            self.max_tokens
                .map(|max| guard("session_budget.max_tokens", format!("{} a run", counted(max, "token")))),
            self.max_wall_ms.map(|max| guard("session_budget.max_wall_time", format!("{} a run", time(max)))),
            attempts.map(|words| guard("task_budget.max_attempts", words)),
            self.max_task_cost_usd
                .map(|max| guard("task_budget.max_cost_usd", format!("{} a task", dollars(max)))),
            self.max_task_tokens
                .map(|max| guard("task_budget.max_tokens", format!("{} a task", counted(max, "token")))),
            (self.forecast && budgeted).then(|| guard("forecast", forecast)),
            Some(guard("clocks.wall", format!("{} a call of the agent", time(self.max_call_ms)))),
        ];
        guards.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_in_a_row_add_up_over_workers() {
        let limits = RunLimits { max_consecutive_failures: 3, ..RunLimits::default() };
        for (jobs, words) in [(1, "3 failures in a row"), (3, "9 failures in a row")] {
            assert!(limits.guards(jobs).iter().any(|guard| guard.words == words), "{jobs}");
        }
    }
}
