//! What is wrong with a plan as a whole.
//!
//! [`validate`] looks at ids, titles and references; that statuses and
//! priorities are known words is decided when the file is read.

use std::{collections::HashSet, fmt};

use samuel_model::{InvalidTask, Plan, Severity, TaskId, cycles};

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanProblem {
    /// A task breaks a rule for ids or titles.
    Invalid {
        /// The task.
        task: TaskId,
        /// The rule.
        rule: InvalidTask,
    },
    /// Several tasks have one id.
    DuplicateId {
        /// The id.
        task: TaskId,
    },
    /// Tasks depend on each other in a circle.
    Cycle {
        /// The circle; it starts and ends with the same task.
        path: Vec<TaskId>,
    },
    /// A task depends on one that does not exist.
    UnknownDependency {
        /// The task.
        task: TaskId,
        /// The id that is missing.
        dependency: TaskId,
    },
    /// A task is a part of one that does not exist.
    UnknownParent {
        /// The task.
        task: TaskId,
        /// The id that is missing.
        parent: TaskId,
    },
}

impl PlanProblem {
    /// Says how bad it is: with a warning tasks can be worked on, though perhaps not all of
    /// them; with an error the plan cannot. A dependency that cannot be met keeps only the tasks
    /// behind it from being worked on, which [`Work::of`](crate::plan::Work::of)
    /// says once nothing else is left.
    pub fn severity(&self) -> Severity {
        match self {
            Self::UnknownParent { .. } | Self::UnknownDependency { .. } | Self::Cycle { .. } => {
                Severity::Warning
            }
            Self::Invalid { .. } | Self::DuplicateId { .. } => Severity::Error,
        }
    }

    /// Returns the task it is about; of a circle the first one.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Invalid { task, .. }
            | Self::DuplicateId { task }
            | Self::UnknownDependency { task, .. }
            | Self::UnknownParent { task, .. } => Some(task),
            Self::Cycle { path } => path.first(),
        }
    }
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { task, rule } => write!(f, "task {task}: {rule}"),
            Self::DuplicateId { task } => write!(f, "several tasks have the id {task}"),
            Self::Cycle { path } => {
                let path: Vec<&str> = path.iter().map(TaskId::as_str).collect();
                write!(f, "tasks depend on each other: {}", path.join(" -> "))
            }
            Self::UnknownDependency { task, dependency } => {
                write!(f, "task {task} depends on {dependency}, which does not exist")
            }
            Self::UnknownParent { task, parent } => {
                write!(f, "task {task} is a part of {parent}, which does not exist")
            }
        }
    }
}

/// Looks for everything that is wrong with a plan: first task by task in
/// their order, then circles.
pub fn validate(plan: &Plan) -> Vec<PlanProblem> {
    let known: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    let mut seen = HashSet::new();
    let mut findings = Vec::new();
    for task in &plan.tasks {
        let id = || task.id.clone();
        if let Err(rule) = task.validate() {
            findings.push(PlanProblem::Invalid { task: id(), rule });
        }
        if !seen.insert(&task.id) {
            findings.push(PlanProblem::DuplicateId { task: id() });
        }
        for dependency in task.depends_on.iter().filter(|id| !known.contains(id)) {
            findings.push(PlanProblem::UnknownDependency { task: id(), dependency: dependency.clone() });
        }
        for parent in task.parent_id.iter().filter(|id| !known.contains(id)) {
            findings.push(PlanProblem::UnknownParent { task: id(), parent: parent.clone() });
        }
    }
    findings.extend(cycles(&plan.tasks).into_iter().map(|path| PlanProblem::Cycle { path }));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::Task;

    #[test]
    fn every_kind_of_fault_is_found_and_named() {
        let task = |id: &str, title: &str, depends_on: &[&str]| Task {
            depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
            ..Task::new(TaskId::new(id), title)
        };
        let orphan = Task { parent_id: Some(TaskId::new("8")), ..task("3", "c", &[]) };
        let tasks = vec![
            task("1", "a", &["2"]),
            task("2", "b", &["1", "9"]),
            orphan,
            task("3", "again", &[]),
            task("a b", "d", &[]),
            task("4", " ", &[]),
        ];
        let findings = validate(&Plan { tasks, ..Plan::default() });
        let texts: Vec<String> =
            findings.iter().map(|finding| format!("{:?} {finding}", finding.severity())).collect();
        assert_eq!(
            texts,
            [
                "Warning task 2 depends on 9, which does not exist",
                "Warning task 3 is a part of 8, which does not exist",
                "Error several tasks have the id 3",
                "Error task a b: \"a b\" cannot be a task id: use letters, digits, \".\", \"-\" and \"_\", at most 64, \
                 starting with a letter or digit",
                "Error task 4: the title of a task must not be empty",
                "Warning tasks depend on each other: 1 -> 2 -> 1",
            ]
        );
    }

    #[test]
    fn a_sound_plan_has_no_findings() {
        let tasks = vec![Task::new(TaskId::new("1"), "a"), Task::new(TaskId::new("1.1"), "b")];
        assert_eq!(validate(&Plan { tasks, ..Plan::default() }), []);
    }
}
