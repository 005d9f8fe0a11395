//! Whether a loop may start.
//!
//! [`check_plan`] is the default of `before:loop`. That the plan could be read
//! at all is decided before, when it is loaded.

use crate::{
    model::{Plan, payload::BeforeLoopOutput},
    state::{Finding, Severity, validate},
};

/// Findings that are named in the reason; more are counted.
const MAX_NAMED: usize = 5;

/// A plan that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCheck {
    /// What `before:loop` answers.
    pub output: BeforeLoopOutput,
    /// What is not as it should be, but does no harm.
    pub warnings: Vec<String>,
}

/// Checks a plan before a loop works on it: ids, titles and dependencies must
/// be sound. An empty plan is.
pub fn check_plan(plan: &Plan) -> PlanCheck {
    let (errors, warnings): (Vec<Finding>, Vec<Finding>) =
        validate(plan).into_iter().partition(|finding| finding.severity() == Severity::Error);
    let reason = (!errors.is_empty()).then(|| describe(&errors));
    let output = BeforeLoopOutput { ok: errors.is_empty(), reason, ..BeforeLoopOutput::default() };
    PlanCheck { output, warnings: warnings.iter().map(ToString::to_string).collect() }
}

fn describe(errors: &[Finding]) -> String {
    let named: Vec<String> = errors.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = errors.len().saturating_sub(MAX_NAMED);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("the plan cannot be worked on: {}{rest}", named.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Task, TaskId};

    fn check(tasks: Vec<Task>) -> PlanCheck {
        check_plan(&Plan { tasks, ..Plan::default() })
    }

    fn waiting(id: &str, dependency: &str) -> Task {
        Task { depends_on: vec![TaskId::new(dependency)], ..Task::new(TaskId::new(id), "Title") }
    }

    #[test]
    fn a_sound_plan_may_be_worked_on() {
        assert!(check(Vec::new()).output.ok);
        let sound = check(vec![Task::new(TaskId::new("1"), "Title"), waiting("2", "1")]);
        assert_eq!(sound, PlanCheck { output: BeforeLoopOutput::default(), warnings: Vec::new() });
    }

    #[test]
    fn a_fault_stops_the_loop_and_is_named() {
        let output = check(vec![waiting("1", "9")]).output;
        assert!(!output.ok);
        let reason = "the plan cannot be worked on: task 1 depends on 9, which does not exist";
        assert_eq!(output.reason.as_deref(), Some(reason));
    }

    #[test]
    fn many_faults_are_counted() {
        let tasks = (0..8).map(|n| waiting(&n.to_string(), "missing")).collect();
        let reason = check(tasks).output.reason.unwrap_or_default();
        assert!(reason.ends_with("; and 3 more"), "{reason}");
    }

    #[test]
    fn what_does_no_harm_is_a_warning() {
        let orphan = Task { parent_id: Some(TaskId::new("7")), ..Task::new(TaskId::new("7.1"), "Title") };
        let checked = check(vec![orphan]);
        assert!(checked.output.ok);
        assert_eq!(checked.warnings, ["task 7.1 is a part of 7, which does not exist"]);
    }
}
