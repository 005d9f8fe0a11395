//! Why a task is next, and why the others are not.
//!
//! A [`TaskChoice`] is the explanation of what [`Work::of`](super::Work::of) chooses, made by the
//! same [`Readiness`] and the same order: each task that is left is a [`Candidate`] with its reason.

use serde::Serialize;

use super::{
    Readiness, WorkUnderWay,
    work::{rank, reasons_of_left},
};
use samuel_model::{Plan, Scope, Status, Task, TaskId, words};

/// Which task is next, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskChoice {
    /// The task that is next; nothing where none can be worked on.
    pub next: Option<TaskId>,
    /// The tasks that are left, groups aside: the one that is next, those that could be worked on
    /// in the order in which they would be, then the others in natural order.
    pub candidates: Vec<Candidate>,
}

/// A task that is left, and why it is next or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Where it stands in the choice.
    pub standing: CandidateStanding,
    /// Why, in one line.
    pub reason: String,
}

words! {
    /// Where a task stands in the choice of the next one.
    CandidateStanding ("standing of a candidate") {
        /// It is next.
        Next = "next",
        /// It could be worked on, and another one comes first.
        Later = "later",
        /// It waits for another task.
        Waits = "waits",
        /// It is marked as blocked.
        Blocked = "blocked",
        /// The run is for other tasks.
        NotWanted = "not_wanted",
    }
}

impl TaskChoice {
    /// Explains the choice among the tasks of a plan that a run is for.
    pub fn of(plan: &Plan, scope: &Scope) -> Self {
        Self::among(plan, scope, &WorkUnderWay::default())
    }

    /// Explains the choice with what is known of who works on the plan: of what is free for the next start it says so,
    /// and what waits for files of another task is not next.
    pub fn among(plan: &Plan, scope: &Scope, under_way: &WorkUnderWay) -> Self {
        let freed = under_way.freed(plan);
        let readiness = Readiness::within(&freed, scope);
        let mut ready: Vec<(usize, &Task)> = readiness.ready().collect();
        ready.sort_by(|(_, one), (_, other)| rank(one, other));
        ready.retain(|(_, task)| !under_way.left_out.contains_key(&task.id));
        let first = ready.first().map(|(_, task)| *task);
        let mut candidates: Vec<Candidate> = ready
            .iter()
            .filter_map(|(_, task)| {
                let first = first?;
                let (standing, why) = match task.id == first.id {
                    true => (CandidateStanding::Next, why_first(task, ready.len())),
                    false => (CandidateStanding::Later, why_later(task, first)),
                };
                Some(candidate(task, standing, why + &was_worked_on(plan, task, under_way)))
            })
            .collect();
        let plan = &*freed;
        for (place, reason) in reasons_of_left(plan, &readiness, under_way) {
            let Some(task) = plan.tasks.get(place).filter(|_| !readiness.groups().is_group(place)) else {
                continue;
            };
            let standing = match task.status {
                Status::Blocked => CandidateStanding::Blocked,
                _ => CandidateStanding::Waits,
            };
            candidates.push(candidate(task, standing, reason));
        }
        let is_left = |place: usize| !readiness.is_settled(place) && !readiness.groups().is_group(place);
        let tasks = plan.tasks.iter().enumerate();
        let others = tasks.filter(|(place, _)| is_left(*place) && !readiness.is_wanted(*place));
        let not_wanted = |(_, task): (usize, &Task)| {
            candidate(task, CandidateStanding::NotWanted, "the run is for other tasks".to_owned())
        };
        candidates.extend(others.map(not_wanted));
        Self { next: first.map(|task| task.id.clone()), candidates }
    }

    /// Finds a task among those that are left.
    pub fn candidate(&self, id: &TaskId) -> Option<&Candidate> {
        self.candidates.iter().find(|candidate| candidate.task == *id)
    }
}

fn candidate(task: &Task, standing: CandidateStanding, reason: String) -> Candidate {
    Candidate { task: task.id.clone(), title: task.title.clone(), standing, reason }
}

/// Says which lane was at work on a task that is free, since it is gone.
fn was_worked_on(plan: &Plan, task: &Task, under_way: &WorkUnderWay) -> String {
    let gone = plan.live_claim(&task.id).and_then(|claim| under_way.gone(claim));
    gone.map_or_else(String::new, |gone| format!("; {gone}"))
}

fn why_first(task: &Task, ready: usize) -> String {
    match (task.status, ready) {
        (Status::InProgress, _) => "it is in progress, and what was begun comes first".to_owned(),
        (_, 1) => "it is the only one that can be worked on".to_owned(),
        _ => format!(
            "of {ready} that can be worked on it is the most urgent (priority {}), and of those the first by id",
            task.priority
        ),
    }
}

fn why_later(task: &Task, first: &Task) -> String {
    let why = if first.status == Status::InProgress && task.status != Status::InProgress {
        "is in progress".to_owned()
    } else if first.priority != task.priority {
        format!("has priority {}, this one {}", first.priority, task.priority)
    } else {
        "has the same priority, and its id comes first".to_owned()
    };
    format!("it can be worked on, but {} comes first: that one {why}", first.id)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::plan::{LoopAtWork, Work};
    use samuel_model::Priority;

    fn task(id: &str, status: Status, priority: Priority, depends_on: &[&str]) -> Task {
        let depends_on = depends_on.iter().map(|id| TaskId::new(*id)).collect();
        Task { status, priority, depends_on, ..Task::new(TaskId::new(id), "t") }
    }

    fn told(tasks: Vec<Task>, scope: &Scope) -> Vec<String> {
        let plan = Plan { tasks, ..Plan::default() };
        let choice = TaskChoice::of(&plan, scope);
        let next = match Work::of(&plan, &[], scope) {
            Work::Task(brief) => Some(TaskId::new(brief.id)),
            _ => None,
        };
        assert_eq!(choice.next, next, "the explanation is that of the choice");
        let line = |one: &Candidate| format!("{} {}: {}", one.task, one.standing, one.reason);
        choice.candidates.iter().map(line).collect()
    }

    #[test]
    fn every_task_that_is_left_has_its_reason() {
        use Priority::{High, Low, Medium};
        use Status::{Blocked, Completed, Pending};
        let tasks = vec![
            task("1", Completed, Medium, &[]),
            task("2", Pending, Medium, &["1"]),
            task("10", Pending, Medium, &[]),
            task("3", Pending, Low, &[]),
            task("4", Pending, High, &["2"]),
            task("5", Blocked, High, &[]),
            task("6", Pending, High, &["5", "9"]),
        ];
        assert_eq!(
            told(tasks, &Scope::All),
            [
                "2 next: of 3 that can be worked on it is the most urgent (priority medium), and of those the first by id",
                "10 later: it can be worked on, but 2 comes first: that one has the same priority, and its id comes first",
                "3 later: it can be worked on, but 2 comes first: that one has priority medium, this one low",
                "4 waits: 4 depends on 2, which is not done yet",
                "5 blocked: 5 is marked as blocked",
                "6 waits: 6 depends on 9, which does not exist",
            ]
        );
    }

    #[test]
    fn what_a_lane_that_is_gone_was_at_work_on_is_next_and_what_waits_for_files_is_not() {
        let lane = "20260101T000000Z-0a1b2c3d/lane-1";
        let claimed = ["1", "2"].map(|id| {
            let task = TaskId::new(id);
            samuel_model::Claim::begun(task.into(), 1, lane, jiff::Timestamp::UNIX_EPOCH)
        });
        let tasks = ["1", "2", "3"].map(|id| match id {
            "3" => task(id, Status::Pending, Priority::High, &[]),
            id => task(id, Status::InProgress, Priority::Medium, &[]),
        });
        let plan = Plan { tasks: tasks.to_vec(), claims: claimed.to_vec(), ..Plan::default() };
        let told = |under_way: &WorkUnderWay| {
            let choice = TaskChoice::among(&plan, &Scope::All, under_way);
            let line = |one: &Candidate| format!("{} {}: {}", one.task, one.standing, one.reason);
            choice.candidates.iter().map(line).collect::<Vec<_>>()
        };
        let gone = told(&WorkUnderWay { at_work: LoopAtWork::None, ..WorkUnderWay::default() });
        assert!(gone[0].starts_with("3 next: "), "{gone:?}");
        let frees = "; lane-1 of the run 20260101T000000Z-0a1b2c3d was at work on it and is gone, so the next start frees it";
        assert!(gone[1].starts_with("1 later: ") && gone[1].ends_with(frees), "{gone:?}");
        let waits = "3 waits for 1 to land, which declares a.rs too".to_owned();
        let left_out = [(TaskId::new("3"), waits.clone())].into();
        let at_work = told(&WorkUnderWay { at_work: LoopAtWork::WithLanes, left_out });
        assert!(at_work[0].starts_with("1 waits: 1 is claimed by "), "{at_work:?}");
        assert_eq!(at_work[2], format!("3 waits: {waits}"));
    }

    #[test]
    fn what_was_begun_comes_first_and_what_a_run_is_not_for_is_said() {
        let tasks = || {
            vec![
                task("1", Status::Pending, Priority::Critical, &[]),
                task("2", Status::InProgress, Priority::Low, &[]),
            ]
        };
        assert_eq!(
            told(tasks(), &Scope::All),
            [
                "2 next: it is in progress, and what was begun comes first",
                "1 later: it can be worked on, but 2 comes first: that one is in progress",
            ]
        );
        assert_eq!(
            told(tasks(), &vec![TaskId::new("1")].into()),
            ["1 next: it is the only one that can be worked on", "2 not_wanted: the run is for other tasks"]
        );
        assert_eq!(told(Vec::new(), &Scope::All), [""; 0]);
    }
}
