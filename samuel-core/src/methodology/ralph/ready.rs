//! Whether a loop may start.
//!
//! [`check_plan`] is the default of `before:loop`. That the plan could be read
//! at all is decided before, when it is loaded.

use crate::{
    model::{Plan, Severity, payload::BeforeLoopOutput},
    state::{PlanProblem, validate},
};

/// Findings that are named in the reason, or as warnings; more are counted.
const MAX_NAMED: usize = 5;

/// A plan that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCheck {
    /// What `before:loop` answers.
    pub output: BeforeLoopOutput,
    /// What is not as it should be, but keeps at most some tasks from being
    /// worked on.
    pub warnings: Vec<String>,
}

/// Checks a plan before a loop works on it: ids and titles must be sound. An
/// empty plan is, with a warning unless tasks are looked for. Dependencies that cannot be met are warnings: the loop works
/// on the other tasks, and is blocked when none of them is left.
pub fn check_plan(plan: &Plan, looks_for_tasks: bool) -> PlanCheck {
    let (errors, warnings): (Vec<PlanProblem>, Vec<PlanProblem>) =
        validate(plan).into_iter().partition(|finding| finding.severity() == Severity::Error);
    let reason =
        (!errors.is_empty()).then(|| format!("the plan cannot be worked on: {}", named(&errors).join("; ")));
    let output = BeforeLoopOutput { ok: errors.is_empty(), reason, ..BeforeLoopOutput::default() };
    let empty = (plan.tasks.is_empty() && !looks_for_tasks).then(|| "the plan has no tasks".to_owned());
    PlanCheck { output, warnings: named(&warnings).into_iter().chain(empty).collect() }
}

/// Words the first findings and counts the others.
fn named(findings: &[PlanProblem]) -> Vec<String> {
    let mut named: Vec<String> = findings.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = findings.len().saturating_sub(MAX_NAMED);
    named.extend((more > 0).then(|| format!("and {more} more")));
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Task, TaskId};

    fn check(tasks: Vec<Task>) -> PlanCheck {
        check_plan(&Plan { tasks, ..Plan::default() }, false)
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
        let twice = || Task::new(TaskId::new("1"), "Title");
        let output = check(vec![twice(), twice()]).output;
        assert!(!output.ok);
        let reason = "the plan cannot be worked on: several tasks have the id 1";
        assert_eq!(output.reason.as_deref(), Some(reason));
    }

    #[test]
    fn many_faults_are_counted() {
        let tasks = (0..8).map(|n| Task::new(TaskId::new(n.to_string()), " ")).collect();
        let reason = check(tasks).output.reason.unwrap_or_default();
        assert!(reason.ends_with("; and 3 more"), "{reason}");
    }

    #[test]
    fn a_dependency_that_cannot_be_met_is_a_warning() {
        let free = Task::new(TaskId::new("3"), "Title");
        let checked = check(vec![waiting("1", "2"), waiting("2", "1"), free, waiting("4", "9")]);
        assert!(checked.output.ok);
        assert_eq!(
            checked.warnings,
            ["task 4 depends on 9, which does not exist", "tasks depend on each other: 1 -> 2 -> 1"]
        );
    }

    #[test]
    fn what_does_no_harm_is_a_warning() {
        let orphan = Task { parent_id: Some(TaskId::new("7")), ..Task::new(TaskId::new("7.1"), "Title") };
        let checked = check(vec![orphan]);
        assert!(checked.output.ok);
        assert_eq!(checked.warnings, ["task 7.1 is a part of 7, which does not exist"]);
    }
}
