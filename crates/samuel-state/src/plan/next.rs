//! What a run does next.

use std::num::NonZeroU32;

use super::{Discoveries, Work};
use samuel_model::{
    ExitReason, TaskId,
    payload::{Mode, TaskBrief},
    text::{counted, listed},
};

/// How many times in a row a run accepts the same result with the same work tree.
pub const MAX_REPEATS: u32 = 3;

/// How many checks in a row are made for the end of the run alone. A check
/// that completes tasks itself would be asked for ever.
const MAX_END_CHECKS: u32 = 3;

/// How many of the tasks that a run is for are named.
const SHOWN_TASKS: usize = 10;

/// Why a run ends that looks for tasks.
const NOTHING_FOUND: &str = "discovery found nothing twice in a row";

/// The detail of a run that ends with every task settled and without a passed check.
pub const UNCHECKED: &str = "every task is settled, but no check has passed since the last was completed";

/// What a run does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// It makes an iteration: for a task, or without one to look for tasks.
    Iteration {
        /// The task.
        task: Option<TaskBrief>,
    },
    /// It makes the checks: every task is settled, and none has passed since the last
    /// was completed.
    Check,
    /// It ends.
    End {
        /// The exit reason.
        reason: ExitReason,
        /// What led to it, in one line; nothing where the reason says it all.
        detail: Option<String>,
    },
}

impl Next {
    /// Returns an end with a reason and one line of detail.
    #[doc(hidden)]
    pub fn end(reason: ExitReason, detail: impl Into<String>) -> Self {
        Self::End { reason, detail: Some(detail.into()) }
    }
}

/// What the last check says of the work as it stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing is there that could be asked.
    NoChecks,
    /// No check was made, or something was completed since the last one.
    Missing,
    /// It passed, and nothing was completed since.
    Passed,
    /// It failed, and nothing was completed since.
    Failed,
}

/// How a run stands, as far as what is next depends on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// How many iterations it made.
    pub iterations: u32,
    /// How many it may make; nothing sets no limit.
    pub max_iterations: Option<NonZeroU32>,
    /// How many in a row have failed.
    pub consecutive_failures: u32,
    /// How many in a row may fail; 0 is read as 1.
    pub max_consecutive_failures: u32,
    /// How many tasks were blocked in a row, since they had used up what they may, and none was
    /// completed.
    pub parked: u32,
    /// How many times in a row the same came of an iteration, and nothing changed.
    pub repeats: u32,
    /// The task that was worked on then, where what came of it was that the agent
    /// ended well and recorded nothing.
    pub unrecorded: Option<TaskId>,
    /// What the last check says.
    pub evidence: Evidence,
    /// How many checks in a row were made for the end of the run alone.
    pub end_checks: u32,
    /// What its discovery iterations found.
    pub discoveries: Discoveries,
}

impl Standing {
    /// Creates the standing of a run that begins.
    pub fn new(
        max_iterations: Option<NonZeroU32>,
        max_consecutive_failures: u32,
        evidence: Evidence,
    ) -> Self {
        Self {
            iterations: 0,
            max_iterations,
            consecutive_failures: 0,
            max_consecutive_failures,
            parked: 0,
            repeats: 0,
            unrecorded: None,
            evidence,
            end_checks: 0,
            discoveries: Discoveries::default(),
        }
    }

    /// Says what follows where every task is settled; where those of a scope are, in
    /// its words.
    fn settled(&self, scope: Option<String>) -> Next {
        match self.evidence {
            Evidence::NoChecks | Evidence::Passed => {
                Next::End { reason: ExitReason::Completed, detail: scope }
            }
            Evidence::Missing if self.end_checks < MAX_END_CHECKS => Next::Check,
            Evidence::Missing => Next::end(ExitReason::Blocked, UNCHECKED),
            Evidence::Failed => {
                let detail = "every task is settled, but the last quality check failed";
                Next::end(ExitReason::Blocked, detail)
            }
        }
    }

    /// Says what follows where looking for tasks once more is of no use.
    fn nothing_found(&self, work: &Work) -> Next {
        let detail = match work {
            Work::Blocked(reasons) => format!("{NOTHING_FOUND}; {}", listed(reasons)),
            _ => NOTHING_FOUND.to_owned(),
        };
        let over = Next::end(ExitReason::EmptyDiscovery, detail);
        match work {
            Work::AllDone => match self.settled(None) {
                Next::End { reason: ExitReason::Completed, .. } => over,
                // What was done is not checked.
                next => next,
            },
            _ => over,
        }
    }

    /// Returns the end of a run that gets no further with the work that is left, if
    /// it is one.
    fn futile(&self) -> Option<Next> {
        let failures = self.consecutive_failures;
        if failures >= self.max_consecutive_failures.max(1) {
            let detail = match failures {
                1 => "an iteration failed, and the limit is 1".to_owned(),
                _ => format!("{} in a row failed", counted(failures, "iteration")),
            };
            return Some(Next::end(ExitReason::ConsecutiveFailures, detail));
        }
        if self.parked >= self.max_consecutive_failures.max(1) {
            let detail = match self.parked {
                1 => "a task was blocked after its attempts, and the limit is 1".to_owned(),
                _ => format!("{} in a row were blocked after their attempts", counted(self.parked, "task")),
            };
            return Some(Next::end(ExitReason::ConsecutiveFailures, detail));
        }
        let count = self.repeats;
        let detail = match &self.unrecorded {
            _ if count < MAX_REPEATS => return None,
            Some(task) => format!(
                "{count} times in a row the agent ended well without recording task {task} as done, and nothing \
                 changed"
            ),
            None => format!("the same result {count} times in a row, and nothing changed"),
        };
        Some(Next::end(ExitReason::NoProgress, detail))
    }
}

/// Says what a run does next with the work that a plan leaves, in an iteration of
/// a mode.
///
/// Where no work is left the run has done all of it, whatever happened on the way.
/// Looking for tasks needs none.
pub fn next(work: &Work, mode: Mode, run: &Standing) -> Next {
    let futile = run.futile();
    let task = match (mode, work) {
        (Mode::Discovery, _) if run.discoveries.are_over(work) => return run.nothing_found(work),
        (Mode::Discovery, _) => None,
        (Mode::Implementation, Work::AllDone) => return run.settled(None),
        (Mode::Implementation, Work::ScopeDone(ids)) => return run.settled(Some(done(ids))),
        (Mode::Implementation, Work::Blocked(reasons)) => {
            return futile.unwrap_or_else(|| Next::end(ExitReason::Blocked, listed(reasons)));
        }
        (Mode::Implementation, Work::Task(task)) => Some(task),
    };
    if let Some(end) = futile {
        return end;
    }
    if let Some(max) = run.max_iterations.filter(|max| run.iterations >= max.get()) {
        let limit = counted(max.get(), "iteration");
        return Next::end(ExitReason::MaxIterations, format!("the limit of {limit} was reached"));
    }
    Next::Iteration { task: task.cloned() }
}

/// Says that the tasks are done that a run is for.
fn done(ids: &[TaskId]) -> String {
    let are = if ids.len() == 1 { "is" } else { "are" };
    let shown: Vec<&str> = ids.iter().take(SHOWN_TASKS).map(TaskId::as_str).collect();
    let more = ids.len().saturating_sub(SHOWN_TASKS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}, which the run was for, {are} completed or skipped", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::{Plan, Scope, Status, Task};

    const DONE: [Status; 2] = [Status::Completed, Status::Skipped];
    const OPEN: [Status; 2] = [Status::Completed, Status::Pending];
    const STUCK: [Status; 2] = [Status::Completed, Status::Blocked];

    /// Says in a few words what is next of tasks 1 and 2 in these states.
    fn said(tasks: &[Status], unread: &[&str], mode: Mode, change: fn(&mut Standing)) -> String {
        let task = |(number, status): (u8, &Status)| Task {
            status: *status,
            ..Task::new(TaskId::new(number.to_string()), "t")
        };
        let plan = Plan { tasks: (1..).zip(tasks).map(task).collect(), ..Plan::default() };
        let unread: Vec<String> = unread.iter().map(|line| (*line).to_owned()).collect();
        let mut run = Standing::new(NonZeroU32::new(20), 3, Evidence::NoChecks);
        change(&mut run);
        match next(&Work::of(&plan, &unread, &Scope::All), mode, &run) {
            Next::Iteration { task } => task.map_or("look".to_owned(), |task| format!("task {}", task.id)),
            Next::Check => "check".to_owned(),
            Next::End { reason, detail } => {
                [reason.as_str(), &detail.unwrap_or_default()].join(": ").trim_end_matches(": ").to_owned()
            }
        }
    }

    #[test]
    fn what_is_next_follows_from_plan_unread_rows_mode_and_standing() {
        use Mode::{Discovery, Implementation};
        type Case<'a> = (&'a [Status], &'a [&'a str], Mode, fn(&mut Standing), &'a str);
        let same: fn(&mut Standing) = |_| {};
        let cases: &[Case<'_>] = &[
            // The plan.
            (&[], &[], Implementation, same, "completed"),
            (&DONE, &[], Implementation, same, "completed"),
            (&OPEN, &[], Implementation, same, "task 2"),
            (&[Status::Pending, Status::InProgress], &[], Implementation, same, "task 2"),
            (&STUCK, &[], Implementation, same, "blocked: 2 is marked as blocked"),
            // Rows that cannot be read, or are not there.
            (
                &DONE,
                &["junk"],
                Implementation,
                same,
                "blocked: every task that can be read is settled, but 1 line of prd.toon cannot be read",
            ),
            (
                &[],
                &["junk", "2 of 3 tasks are missing"],
                Implementation,
                same,
                "blocked: every task in prd.toon is settled, but 2 of 3 tasks are missing",
            ),
            (&OPEN, &["junk"], Implementation, same, "task 2"),
            (&STUCK, &["junk"], Implementation, same, "blocked: 2 is marked as blocked"),
            // The mode.
            (&DONE, &[], Discovery, same, "look"),
            (&OPEN, &[], Discovery, same, "look"),
            (&STUCK, &["junk"], Discovery, same, "look"),
            // The checks.
            (&DONE, &[], Implementation, |run| run.evidence = Evidence::Passed, "completed"),
            (&DONE, &[], Implementation, |run| run.evidence = Evidence::Missing, "check"),
            (
                &DONE,
                &[],
                Implementation,
                |run| (run.evidence, run.end_checks) = (Evidence::Missing, 3),
                "blocked: every task is settled, but no check has passed since the last was completed",
            ),
            (
                &DONE,
                &[],
                Implementation,
                |run| run.evidence = Evidence::Failed,
                "blocked: every task is settled, but the last quality check failed",
            ),
            (&OPEN, &[], Implementation, |run| run.evidence = Evidence::Failed, "task 2"),
            // The limits.
            (&OPEN, &[], Implementation, |run| run.iterations = 19, "task 2"),
            (
                &OPEN,
                &[],
                Implementation,
                |run| run.iterations = 20,
                "max-iterations: the limit of 20 iterations was reached",
            ),
            (
                &OPEN,
                &[],
                Discovery,
                |run| run.iterations = 20,
                "max-iterations: the limit of 20 iterations was reached",
            ),
            (&DONE, &[], Implementation, |run| run.iterations = 20, "completed"),
            (
                &OPEN,
                &[],
                Implementation,
                |run| (run.iterations, run.max_iterations) = (u32::MAX, None),
                "task 2",
            ),
            (&OPEN, &[], Implementation, |run| run.consecutive_failures = 2, "task 2"),
            (
                &OPEN,
                &[],
                Implementation,
                |run| run.consecutive_failures = 3,
                "consecutive-failures: 3 iterations in a row failed",
            ),
            (
                &STUCK,
                &[],
                Implementation,
                |run| (run.consecutive_failures, run.max_consecutive_failures) = (1, 0),
                "consecutive-failures: an iteration failed, and the limit is 1",
            ),
            (&DONE, &[], Implementation, |run| run.consecutive_failures = 3, "completed"),
            (&OPEN, &[], Implementation, |run| run.repeats = 2, "task 2"),
            (
                &OPEN,
                &[],
                Implementation,
                |run| run.repeats = 3,
                "no-progress: the same result 3 times in a row, and nothing changed",
            ),
            (
                &OPEN,
                &[],
                Implementation,
                |run| (run.repeats, run.unrecorded) = (3, Some(TaskId::new("2"))),
                "no-progress: 3 times in a row the agent ended well without recording task 2 as done, and \
                 nothing changed",
            ),
        ];
        for (tasks, unread, mode, change, expected) in cases {
            assert_eq!(said(tasks, unread, *mode, *change), *expected, "{tasks:?} {unread:?} {mode:?}");
        }
    }

    #[test]
    fn a_run_for_some_tasks_is_completed_once_they_are_and_a_check_stands_behind_them() {
        let end = |ids: &[&str], evidence| {
            let ids = ids.iter().map(|id| TaskId::new(*id)).collect();
            next(&Work::ScopeDone(ids), Mode::Implementation, &Standing::new(None, 3, evidence))
        };
        let completed = |detail: &str| Next::end(ExitReason::Completed, detail);
        let one = completed("1.2, which the run was for, is completed or skipped");
        assert_eq!(end(&["1.2"], Evidence::NoChecks), one);
        let two = completed("1, 2, which the run was for, are completed or skipped");
        assert_eq!(end(&["1", "2"], Evidence::Passed), two);
        assert_eq!(end(&["1"], Evidence::Missing), Next::Check);
        assert!(matches!(end(&["1"], Evidence::Failed), Next::End { reason: ExitReason::Blocked, .. }));
    }
}
