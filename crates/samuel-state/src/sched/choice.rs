//! Which task a lane is to claim, and why no other one.

use std::{collections::HashSet, fmt, num::NonZeroU32};

use serde::{Deserialize, Serialize};

use super::files::{Declared, overlap};
use crate::plan::Readiness;
use samuel_model::{ClaimPhase, Plan, Scope, Status, Task, TaskId, words};

words! {
    /// What happens to a task that declares files which another one under way declares too.
    #[derive(Default)]
    Overlap ("overlap") {
        /// It waits until that one has landed. The default.
        #[default]
        Wait = "wait",
        /// It is worked on beside it, and may come back with a conflict.
        Allow = "allow",
    }
}

/// Who asks what is next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimant {
    /// The number of the lane, from 0. Lanes with other numbers try other tasks first.
    pub lane: usize,
    /// How many lanes there are.
    pub jobs: usize,
    /// The tasks that the run is for.
    pub scope: Scope,
    /// How many attempts a task has; nothing for any number.
    pub max_attempts: Option<NonZeroU32>,
}

/// What is next for a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimChoice {
    /// The tasks to claim, in the order in which they are to be tried, until one claim takes effect.
    pub tasks: Vec<TaskId>,
    /// The tasks that are ready and left out, in the order in which they would be chosen.
    pub left_out: Vec<LeftOut>,
    /// How many tasks are under way: worked on, submitted or being landed, and held by nobody. While there are any,
    /// a lane without a task waits for them. Where there are none and something is left out, it waits for what a
    /// person holds, or is to be blocked.
    pub under_way: usize,
}

/// A task that is ready and left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The task.
    pub task: TaskId,
    /// Why.
    pub why: WhyLeftOut,
}

/// Why a task is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WhyLeftOut {
    /// Another task that is under way declares a file that it declares too.
    Overlap {
        /// The other task.
        with: TaskId,
        /// The file, as the task that is left out names it.
        file: String,
    },
    /// Its attempts are used up: it is to be blocked.
    Attempts {
        /// How many have failed.
        failed: u32,
    },
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            WhyLeftOut::Overlap { with, file } => {
                write!(f, "{} waits for {with} to land, which declares {file} too", self.task)
            }
            WhyLeftOut::Attempts { failed } => write!(f, "{}: {failed} attempts have failed", self.task),
        }
    }
}

/// Says what a lane is to claim next: of the tasks that are ready, the first `2 * jobs` that nothing keeps back,
/// beginning with one of the lane's own. A task that lost a conflict comes first, then they are ordered by priority and
/// natural id.
pub fn choose(plan: &Plan, asker: &Claimant, overlapping: Overlap) -> ClaimChoice {
    let under_way: Vec<&Task> = plan.claimed_tasks().map(|(task, _)| task).collect();
    // What a person holds does not go on by itself, so nobody waits for it.
    let moves = plan.claimed_tasks().filter(|(_, claim)| claim.phase != ClaimPhase::Held).count();
    let mut choice = ClaimChoice { under_way: moves, ..ClaimChoice::default() };
    let room = asker.jobs.max(1).saturating_mul(2);
    for task in ready(plan, &asker.scope) {
        match why_left_out(plan, asker, overlapping, task, &under_way) {
            Some(why) => choice.left_out.push(LeftOut { task: task.id.clone(), why }),
            None if choice.tasks.len() < room => choice.tasks.push(task.id.clone()),
            None => {}
        }
    }
    if let Some(own) = asker.lane.checked_rem(choice.tasks.len()) {
        choice.tasks.rotate_left(own);
    }
    choice
}

/// Returns the tasks that are ready and wait for files which others that are under way declare too, the most urgent
/// first.
pub fn overlapping(plan: &Plan, overlap: Overlap) -> Vec<LeftOut> {
    choose(plan, &Claimant::default(), overlap).left_out
}

/// Returns the tasks that are pending and wait for nothing, the most urgent first.
fn ready<'a>(plan: &'a Plan, scope: &Scope) -> Vec<&'a Task> {
    let readiness = Readiness::within(plan, scope);
    let is_ready = |(place, task): &(usize, &Task)| {
        task.status == Status::Pending && readiness.is_wanted(*place) && readiness.is_ready(*place)
    };
    let mut ready: Vec<&Task> =
        plan.tasks.iter().enumerate().filter(is_ready).map(|(_, task)| task).collect();
    let lost = plan.claims.iter().filter(|claim| claim.has_lost()).filter_map(|claim| claim.task.task());
    let lost: HashSet<&TaskId> = lost.collect();
    let rank = |task: &Task| (!lost.contains(&task.id), task.priority);
    ready.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id.cmp(&b.id)));
    ready
}

fn why_left_out(
    plan: &Plan,
    asker: &Claimant,
    overlapping: Overlap,
    task: &Task,
    under_way: &[&Task],
) -> Option<WhyLeftOut> {
    let earlier = plan.claim(&task.id.clone().into()).filter(|claim| claim.phase == ClaimPhase::Released);
    let failed = earlier.map_or(0, |claim| claim.attempt);
    if asker.max_attempts.is_some_and(|max| failed >= max.get()) {
        return Some(WhyLeftOut::Attempts { failed });
    }
    if overlapping == Overlap::Allow {
        return None;
    }
    let declared = Declared::of(plan, task);
    under_way.iter().find_map(|other| {
        let file = overlap(&declared, &Declared::of(plan, other))?.to_owned();
        Some(WhyLeftOut::Overlap { with: other.id.clone(), file })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use jiff::Timestamp;
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{Mutation, apply};
    use samuel_model::{Priority, ReleaseReason};

    fn task(id: usize, files: &[&str]) -> Task {
        let files_to_modify = files.iter().map(|file| (*file).to_owned()).collect();
        Task { files_to_modify, ..Task::new(TaskId::new(id.to_string()), "t") }
    }

    fn plan(tasks: Vec<Task>) -> Plan {
        Plan { tasks, ..Plan::default() }
    }

    fn change(plan: &mut Plan, mutation: Mutation) {
        apply(plan, &mutation, Timestamp::UNIX_EPOCH).unwrap();
        plan.revision += 1;
    }

    fn claim(plan: &mut Plan, id: &TaskId) -> u64 {
        change(plan, Mutation::Claim { task: id.clone().into(), worker: "lane".to_owned() });
        plan.revision
    }

    fn asker(lane: usize, jobs: usize) -> Claimant {
        Claimant { lane, jobs, ..Claimant::default() }
    }

    fn ids(choice: &ClaimChoice) -> Vec<&str> {
        choice.tasks.iter().map(TaskId::as_str).collect()
    }

    #[test]
    fn lanes_begin_with_tasks_of_their_own_among_the_first_of_the_queue() {
        let mut tasks: Vec<Task> = (1..=9).rev().map(|id| task(id, &[])).collect();
        tasks[0].priority = Priority::Critical;
        let plan = plan(tasks);
        let first = |lane| choose(&plan, &asker(lane, 2), Overlap::Wait);
        assert_eq!(ids(&first(0)), ["9", "1", "2", "3"]);
        assert_eq!(ids(&first(1)), ["1", "2", "3", "9"]);
        assert_eq!(ids(&first(5)), ["1", "2", "3", "9"]);
        assert_eq!(choose(&plan, &asker(0, 0), Overlap::Wait).tasks.len(), 2, "one lane at least");
    }

    #[test]
    fn what_overlaps_work_under_way_waits_until_that_has_landed_and_says_so() {
        let mut plan = plan(vec![task(1, &["src"]), task(2, &["src/a.rs"]), task(3, &["docs"])]);
        let token = claim(&mut plan, &TaskId::new("1"));
        let choice = choose(&plan, &asker(0, 2), Overlap::Wait);
        assert_eq!((ids(&choice), choice.under_way), (vec!["3"], 1));
        assert_eq!(choice.left_out[0].to_string(), "2 waits for 1 to land, which declares src/a.rs too");
        assert_eq!(ids(&choose(&plan, &asker(0, 2), Overlap::Allow)), ["2", "3"]);
        let (task, branch) = (TaskId::new("1"), "b".to_owned());
        let (commit, base) = ("abcd".to_owned(), "0000".to_owned());
        change(
            &mut plan,
            Mutation::Submit { task, token, branch, commit, base, tree: None, iteration: None },
        );
        assert_eq!(ids(&choose(&plan, &asker(0, 2), Overlap::Wait)), ["3"], "submitted is not landed");
        change(&mut plan, Mutation::Done { id: TaskId::new("1"), commit_sha: None, iteration: None });
        assert_eq!(ids(&choose(&plan, &asker(0, 2), Overlap::Wait)), ["2", "3"]);
    }

    #[test]
    fn what_overlaps_held_work_is_left_out_and_nothing_is_under_way() {
        let mut plan = plan(vec![task(1, &["src"]), task(2, &["src/a.rs"])]);
        let token = claim(&mut plan, &TaskId::new("1"));
        let (task, branch) = (TaskId::new("1"), "b".to_owned());
        let (commit, base) = ("abcd".to_owned(), "0000".to_owned());
        change(
            &mut plan,
            Mutation::Submit { task: task.clone(), token, branch, commit, base, tree: None, iteration: None },
        );
        change(&mut plan, Mutation::Hold { task, token, reason: None });
        let choice = choose(&plan, &asker(0, 2), Overlap::Wait);
        assert_eq!((ids(&choice), choice.under_way, choice.left_out.len()), (Vec::new(), 0, 1));
    }

    #[test]
    fn loser_of_a_conflict_is_claimed_first() {
        let mut plan = plan(vec![task(1, &["src/b.rs"]), task(2, &[]), task(3, &[])]);
        plan.tasks[0].priority = Priority::Critical;
        let token = claim(&mut plan, &TaskId::new("3"));
        let files = vec!["src/b.rs".to_owned()];
        let (task, reason) = (TaskId::new("3").into(), ReleaseReason::Conflict { files });
        change(&mut plan, Mutation::Release { task, token, reason, kept: None });
        assert_eq!(ids(&choose(&plan, &asker(0, 2), Overlap::Wait)), ["3", "1", "2"]);
        claim(&mut plan, &TaskId::new("3"));
        let choice = choose(&plan, &asker(0, 2), Overlap::Wait);
        assert_eq!(ids(&choice), ["2"], "its file counts as declared");
        assert_eq!(choice.left_out[0].to_string(), "1 waits for 3 to land, which declares src/b.rs too");
    }

    #[test]
    fn one_whose_attempts_are_used_up_is_not_begun_again() {
        let mut plan = plan(vec![task(1, &[]), task(2, &[])]);
        let asker = Claimant { max_attempts: NonZeroU32::new(2), ..asker(0, 2) };
        for failed in 1..=2 {
            let token = claim(&mut plan, &TaskId::new("1"));
            let (task, reason) = (TaskId::new("1").into(), ReleaseReason::Checks { failures: Vec::new() });
            change(&mut plan, Mutation::Release { task, token, reason, kept: None });
            let choice = choose(&plan, &asker, Overlap::Wait);
            assert_eq!(choice.tasks.len(), 3 - failed);
        }
        let choice = choose(&plan, &asker, Overlap::Wait);
        assert_eq!(choice.left_out[0].why, WhyLeftOut::Attempts { failed: 2 });
    }

    #[test]
    fn a_run_for_some_tasks_has_these_and_what_they_depend_on() {
        let mut plan = plan((1..=4).map(|id| task(id, &[])).collect());
        plan.tasks[2].depends_on = vec![TaskId::new("1")];
        let scope = vec![TaskId::new("3")].into();
        assert_eq!(ids(&choose(&plan, &Claimant { scope, ..asker(0, 4) }, Overlap::Wait)), ["1"]);
    }

    const FILES: [&str; 5] = ["src", "src/a.rs", "src/b.rs", "docs/a.md", "Cargo.toml"];

    proptest! {
        #[test]
        fn two_lanes_never_work_on_files_that_overlap_and_all_is_done_in_the_end(
            tasks in vec((vec(0..FILES.len(), 0..3), any::<bool>()), 1..12), jobs in 1..5usize, seed: u64
        ) {
            let make = |(place, (files, waits)): (usize, &(Vec<usize>, bool))| {
                let files: Vec<&str> = files.iter().map(|file| FILES[*file]).collect();
                let depends_on = if *waits && place > 0 { vec![TaskId::new(place.to_string())] } else { Vec::new() };
                Task { depends_on, ..task(place + 1, &files) }
            };
            let mut plan = plan(tasks.iter().enumerate().map(make).collect());
            let mut at_work: Vec<Option<TaskId>> = vec![None; jobs];
            let mut steps = seed;
            for _ in 0..1_000 {
                steps = steps.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let lane = usize::try_from((steps >> 33) % jobs as u64).unwrap();
                if let Some(id) = at_work[lane].take() {
                    change(&mut plan, Mutation::Done { id, commit_sha: None, iteration: None });
                    continue;
                }
                let choice = choose(&plan, &asker(lane, jobs), Overlap::Wait);
                let Some(id) = choice.tasks.first().cloned() else {
                    prop_assert!(choice.under_way > 0 || plan.tasks.iter().all(Task::is_settled), "{choice:?}");
                    continue;
                };
                claim(&mut plan, &id);
                at_work[lane] = Some(id);
                let under_way: Vec<&Task> = plan.claimed_tasks().map(|(task, _)| task).collect();
                let names: HashSet<&TaskId> = under_way.iter().map(|task| &task.id).collect();
                prop_assert_eq!(names.len(), under_way.len());
                for (place, one) in under_way.iter().enumerate() {
                    for other in &under_way[place + 1..] {
                        prop_assert_eq!(overlap(&Declared::of(&plan, one), &Declared::of(&plan, other)), None);
                    }
                }
            }
            prop_assert!(plan.tasks.iter().all(Task::is_settled) || at_work.iter().any(Option::is_some));
        }
    }
}
