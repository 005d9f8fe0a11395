//! One-line summaries for the progress log and the terminal.
//!
//! [`agent_summary`] is the default of `after:agent.invoke`, [`loop_summary`]
//! that of `after:loop`. Who writes them down is the engine.

use std::{fmt::Write, time::Duration};

use crate::{
    model::{
        ExitReason, Plan, Task, TaskCounts, Usage,
        payload::{AfterAgentInvokeInput, AfterLoopInput},
    },
    text::{counted, lasting},
};

/// Summarises an agent call: `the agent ended with code 0 after 12.3s, 1200
/// tokens, $0.0400`.
pub fn agent_summary(input: &AfterAgentInvokeInput) -> String {
    let AfterAgentInvokeInput { exit_code, duration_ms, .. } = input;
    let duration = lasting(Duration::from_millis(*duration_ms));
    let mut summary = format!("the agent ended with code {exit_code} after {duration}");
    if let Some(usage) = &input.usage {
        describe_usage(&mut summary, usage);
    }
    summary
}

fn describe_usage(summary: &mut String, usage: &Usage) {
    // Writing to a string cannot fail.
    if usage.tokens() > 0 {
        let _ = write!(summary, ", {}", counted(usage.tokens(), "token"));
    }
    if let Some(cost) = usage.cost_usd {
        let _ = write!(summary, ", ${cost:.4}");
    }
}

/// Summarises a run: `the loop ended after 7 iterations: completed; 12 of 12
/// tasks completed`.
pub fn loop_summary(input: &AfterLoopInput, plan: &Plan) -> String {
    let AfterLoopInput { iterations_run, exit_reason, .. } = input;
    let iterations = counted(u64::from(*iterations_run), "iteration");
    let explained = match exit_reason.parse() {
        Ok(ExitReason::Blocked) if plan.tasks.iter().all(Task::is_settled) => {
            "no quality check has passed since the last task was completed"
        }
        Ok(reason) => explain(reason),
        Err(_) => exit_reason.as_str(),
    };
    let tasks = plan_summary(plan);
    format!("the loop ended after {iterations}: {explained}; {tasks}")
}

/// Says how far a plan is: `3 of 12 tasks completed, 8 pending, 1 blocked`.
pub fn plan_summary(plan: &Plan) -> String {
    let counts = TaskCounts::of(plan);
    let mut summary = format!("{} of {} completed", counts.completed, counted(counts.total, "task"));
    let others = [
        (counts.in_progress, "in progress"),
        (counts.pending, "pending"),
        (counts.blocked, "blocked"),
        (counts.skipped, "skipped"),
    ];
    for (count, word) in others {
        if count > 0 {
            let _ = write!(summary, ", {count} {word}");
        }
    }
    summary
}

fn explain(reason: ExitReason) -> &'static str {
    match reason {
        ExitReason::Completed => "completed",
        ExitReason::Blocked => "the tasks that are left cannot be worked on",
        ExitReason::MaxIterations => "the iteration limit was reached",
        ExitReason::ConsecutiveFailures => {
            "too many iterations failed in a row, or too many tasks were blocked"
        }
        ExitReason::GateStop => "a handler of iteration.gate ended it",
        ExitReason::StopBlocked => "session.stop was blocked too often",
        ExitReason::NoProgress => "the same result came three times in a row, and nothing changed",
        ExitReason::Budget => "the budget is used up",
        ExitReason::WallClock => "the time is used up",
        ExitReason::RateLimited => "the agent's usage limit lasts too long",
        ExitReason::EmptyDiscovery => "discovery found nothing twice in a row",
        ExitReason::StrictHook => "a strict hook failed",
        ExitReason::ControlFilesChanged => "files that decide what runs were changed",
        ExitReason::Cancelled => "it was cancelled",
        ExitReason::Error => "an error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Status, TaskId};

    fn plan(statuses: &[Status]) -> Plan {
        let task = |(n, status): (usize, &Status)| Task {
            status: *status,
            ..Task::new(TaskId::new(n.to_string()), "Title")
        };
        Plan { tasks: statuses.iter().enumerate().map(task).collect(), ..Plan::default() }
    }

    #[test]
    fn an_agent_call_is_one_line() {
        let usage =
            Usage { input_tokens: 1_000, output_tokens: 200, cost_usd: Some(0.04), ..Usage::default() };
        let mut input =
            AfterAgentInvokeInput { duration_ms: 12_345, usage: Some(usage), ..Default::default() };
        assert_eq!(agent_summary(&input), "the agent ended with code 0 after 12.3s, 1200 tokens, $0.0400");
        (input.usage, input.exit_code) = (None, 7);
        assert_eq!(agent_summary(&input), "the agent ended with code 7 after 12.3s");
    }

    #[test]
    fn a_run_is_summed_up_with_its_plan() {
        let plan =
            plan(&[Status::Completed, Status::Pending, Status::Pending, Status::Skipped, Status::Blocked]);
        let input = AfterLoopInput {
            iterations_run: 1,
            exit_reason: "max-iterations".to_owned(),
            ..AfterLoopInput::default()
        };
        assert_eq!(
            loop_summary(&input, &plan),
            "the loop ended after 1 iteration: the iteration limit was reached; 1 of 5 tasks completed, 2 pending, \
             1 blocked, 1 skipped"
        );
    }

    #[test]
    fn a_plan_without_open_tasks_is_blocked_by_its_checks() {
        let input = AfterLoopInput { exit_reason: "blocked".to_owned(), ..AfterLoopInput::default() };
        let summary = |status| loop_summary(&input, &plan(&[status]));
        assert!(summary(Status::Completed).contains(": no quality check has passed since"));
        assert!(summary(Status::Blocked).contains(": the tasks that are left cannot be worked on"));
    }

    #[test]
    fn a_reason_of_a_later_version_is_kept_as_it_is() {
        let input = AfterLoopInput { exit_reason: "moon-phase".to_owned(), ..AfterLoopInput::default() };
        let summary = loop_summary(&input, &plan(&[]));
        assert_eq!(summary, "the loop ended after 0 iterations: moon-phase; 0 of 0 tasks completed");
    }
}
