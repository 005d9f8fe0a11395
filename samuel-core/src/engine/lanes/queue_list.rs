//! What waits to be landed, and why each of it does: what `samuel run queue` says.

use jiff::Timestamp;
use serde::Serialize;

use crate::{
    merge::Queue,
    model::{Claim, ClaimPhase, ClaimTarget, LiveState, Plan, QueuePlace, Role, TaskId, payload::Actor},
    project::Project,
    state::{JournalEntry, JournalRecord, Mutation, StateError},
};

/// What waits to be landed, in the order in which it is taken.
#[derive(Clone, Debug, Serialize)]
pub struct QueueList {
    /// The branch that it lands on; nothing where that is not known.
    pub into: Option<String>,
    /// Who has the role `@merge`; nothing where nobody merges, as after a run that was killed.
    pub worker: Option<String>,
    /// Whether a loop is at work here.
    pub is_at_work: bool,
    /// What is in the way of all of it, where something is.
    pub held: Option<String>,
    /// The work: what is being landed first, what somebody holds last.
    pub entries: Vec<QueueEntry>,
}

/// Work that waits to be landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QueueEntry {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Where it is.
    pub place: QueuePlace,
    /// Why it waits, in one line.
    pub why: String,
    /// The branch that it is on.
    pub branch: Option<String>,
    /// Its last commit.
    pub commit: Option<String>,
    /// Which attempt at the task it is, from 1.
    pub attempt: u32,
    /// Who submitted it.
    pub worker: Option<String>,
    /// Since when it is as it is.
    pub since: Timestamp,
    /// Who holds it, where a person does and the journal still tells.
    pub held_by: Option<String>,
}

impl QueueList {
    /// Reads it: from the plan and its journal, and from what the run tells of itself that is at work
    /// ([`LiveRun::look`](crate::engine::LiveRun::look)), where one is.
    ///
    /// # Errors
    /// Returns a [`StateError`] where the plan cannot be read.
    pub fn of(project: &Project, live: Option<&LiveState>) -> Result<Self, StateError> {
        let is_at_work = project.lane_store().loop_holder()?.is_some();
        Self::known(project, live, is_at_work)
    }

    /// Reads the same once nobody is at work any more, or by somebody who holds the lock and does nothing further.
    pub(super) fn at_rest(project: &Project) -> Result<Self, StateError> {
        Self::known(project, None, false)
    }

    fn known(project: &Project, live: Option<&LiveState>, is_at_work: bool) -> Result<Self, StateError> {
        let store = project.plan_store();
        let plan = store.load()?.plan;
        let is_held = plan.claims.iter().any(|claim| claim.phase == ClaimPhase::Held);
        let records = if is_held { store.journal_since(0)?.records } else { Vec::new() };
        let landing = Queue::of(&plan).landing;
        let configured = Some(project.settings().parallel.into).filter(|into| !into.is_empty());
        let into = landing.map(|landing| landing.into).or_else(|| live.and_then(|live| live.into.clone()));
        let into = into.or(configured).or_else(|| project.known_into(&plan));
        Ok(Self::read(&plan, &records, live, into, is_at_work))
    }

    fn read(
        plan: &Plan,
        records: &[JournalRecord],
        live: Option<&LiveState>,
        into: Option<String>,
        is_at_work: bool,
    ) -> Self {
        let merges = plan.claim(&ClaimTarget::Role(Role::Merge));
        let worker = merges.and_then(|claim| claim.worker.clone());
        // The queue of a run that was killed has the role until somebody else takes it.
        let worker = worker.filter(|worker| is_at_work || !worker.ends_with("/queue"));
        let asked = Asked { records, live, is_landed_by_somebody: worker.is_some() };
        let mut entries: Vec<QueueEntry> = Vec::new();
        for (task, claim) in plan.claimed_tasks().filter(|(_, claim)| claim.is_landing()) {
            entries.push(asked.entry(task.id.clone(), &task.title, claim, 0));
        }
        for (before, work) in Queue::of(plan).submissions.into_iter().enumerate() {
            let Some(claim) = plan.live_claim(&work.key.task) else { continue };
            let title = plan.task(&work.key.task).map_or("", |task| task.title.as_str());
            entries.push(asked.entry(work.key.task.clone(), title, claim, before));
        }
        for (task, claim) in plan.claimed_tasks().filter(|(_, claim)| claim.phase == ClaimPhase::Held) {
            entries.push(asked.entry(task.id.clone(), &task.title, claim, 0));
        }
        let held = live.and_then(|live| live.held.clone());
        Self { into, worker, is_at_work, held, entries }
    }

    /// Returns what waits to be landed and is held by nobody.
    pub fn waiting(&self) -> impl Iterator<Item = &QueueEntry> {
        self.entries.iter().filter(|entry| entry.held_by.is_none() && entry.place != QueuePlace::Held)
    }
}

/// What is known beside the plan.
struct Asked<'a> {
    records: &'a [JournalRecord],
    live: Option<&'a LiveState>,
    is_landed_by_somebody: bool,
}

impl Asked<'_> {
    fn entry(&self, task: TaskId, title: &str, claim: &Claim, before: usize) -> QueueEntry {
        let (place, why, held_by) = self.standing(&task, claim, before);
        QueueEntry {
            task,
            title: title.to_owned(),
            place,
            why,
            branch: claim.branch.clone(),
            commit: claim.commit.clone(),
            attempt: claim.attempt,
            worker: claim.worker.clone(),
            since: claim.since,
            held_by,
        }
    }

    fn standing(&self, task: &TaskId, claim: &Claim, before: usize) -> (QueuePlace, String, Option<String>) {
        match claim.phase {
            ClaimPhase::Held => {
                let (by, reason) = self.holder(task, claim.token);
                let by = by.unwrap_or_else(|| "somebody".to_owned());
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                return (QueuePlace::Held, format!("{by} holds it{reason}"), Some(by));
            }
            ClaimPhase::Landing if !self.is_landed_by_somebody => {
                let why =
                    "its landing was cut off, and whether it is on the branch is not known yet".to_owned();
                return (QueuePlace::Landing, why, None);
            }
            ClaimPhase::Landing => {
                return (QueuePlace::Landing, "the branch is being moved".to_owned(), None);
            }
            _ => {}
        }
        let known = self.live.and_then(|live| live.queue.iter().find(|work| work.task == *task));
        let place = known.map_or(QueuePlace::Waits, |work| work.place);
        let held = self.live.and_then(|live| live.held.as_deref());
        let why = match (place, held) {
            (QueuePlace::Held | QueuePlace::Waits, Some(held)) => format!("the landing waits: {held}"),
            (QueuePlace::Merging, _) => "it is being merged with what is on the branch".to_owned(),
            (QueuePlace::Checking, _) => "the checks run on what it was merged to".to_owned(),
            (QueuePlace::Suspect, _) => {
                "the checks failed with it and others, so they are checked with fewer".to_owned()
            }
            (QueuePlace::Landing, _) => "the branch is about to be moved".to_owned(),
            (QueuePlace::Returning, _) => "it goes back to be worked on again".to_owned(),
            _ if !self.is_landed_by_somebody => "nobody lands what was submitted".to_owned(),
            _ if before == 0 => "it is next".to_owned(),
            _ => format!("{before} before it"),
        };
        // A person holds nothing of it.
        let place = if place == QueuePlace::Held { QueuePlace::Waits } else { place };
        (place, why, None)
    }

    /// Returns who holds a claim, and why, as the journal tells.
    fn holder(&self, task: &TaskId, token: u64) -> (Option<String>, Option<String>) {
        let told = self.records.iter().rev().find_map(|record| match &record.entry {
            JournalEntry::Mutation {
                actor,
                by,
                mutation: Mutation::Hold { task: of, token: at, reason },
                ..
            } if of == task && *at == token => {
                let who = match actor {
                    Actor::User => "the user".to_owned(),
                    actor => actor.as_str().to_owned(),
                };
                let by = by.as_ref().map_or(who.clone(), |by| format!("{who} ({by})"));
                Some((Some(by), reason.clone()))
            }
            _ => None,
        });
        told.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails where these do")]

    use super::*;
    use crate::{
        model::{QueuedWork, Task},
        state::apply,
    };

    const IDS: [&str; 3] = ["1", "2", "3"];

    fn change(plan: &mut Plan, mutation: &Mutation) {
        apply(plan, mutation, Timestamp::UNIX_EPOCH).unwrap();
        plan.revision += 1;
    }

    /// A plan of three tasks, the work of which was submitted.
    fn submitted() -> Plan {
        let tasks = IDS.map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        let mut plan = Plan { tasks, revision: 1, ..Plan::default() };
        for id in IDS {
            let (task, worker) = (TaskId::new(id), format!("r/lane-{id}"));
            change(&mut plan, &Mutation::Claim { task: task.clone().into(), worker });
            let token = plan.live_claim(&task).unwrap().token;
            let (branch, commit) = (format!("samuel/r/{id}-{token}"), format!("abc0000{id}"));
            let base = "0000000".to_owned();
            change(
                &mut plan,
                &Mutation::Submit { task, token, branch, commit, base, tree: None, iteration: None },
            );
        }
        plan
    }

    /// Returns where each task is, and why it waits.
    fn listed(plan: &Plan, live: Option<&LiveState>) -> Vec<(QueuePlace, String)> {
        let list = QueueList::read(plan, &[], live, None, true);
        list.entries.into_iter().map(|entry| (entry.place, entry.why)).collect()
    }

    fn whys(plan: &Plan, live: Option<&LiveState>) -> Vec<String> {
        listed(plan, live).into_iter().map(|(_, why)| why).collect()
    }

    #[test]
    fn each_place_in_the_queue_says_why_work_waits_there() {
        let mut plan = submitted();
        assert_eq!(whys(&plan, None), ["nobody lands what was submitted"; 3]);
        let worker = "r/queue".to_owned();
        change(&mut plan, &Mutation::Claim { task: Role::Merge.into(), worker });
        assert_eq!(whys(&plan, None), ["it is next", "1 before it", "2 before it"]);
        for (place, why) in [
            (QueuePlace::Waits, "1 before it"),
            (QueuePlace::Merging, "it is being merged with what is on the branch"),
            (QueuePlace::Checking, "the checks run on what it was merged to"),
            (QueuePlace::Suspect, "the checks failed with it and others, so they are checked with fewer"),
            (QueuePlace::Landing, "the branch is about to be moved"),
            (QueuePlace::Returning, "it goes back to be worked on again"),
        ] {
            let queue = vec![QueuedWork { task: TaskId::new("2"), place }];
            let live = LiveState { queue, ..LiveState::default() };
            let listed = listed(&plan, Some(&live));
            assert_eq!(listed[1], (place, why.to_owned()));
            assert_eq!([&listed[0].1, &listed[2].1], ["it is next", "2 before it"]);
        }
    }

    #[test]
    fn what_is_in_the_way_of_a_landing_is_said_of_what_waits_for_it_and_not_of_what_is_checked() {
        let mut plan = submitted();
        let worker = "r/queue".to_owned();
        change(&mut plan, &Mutation::Claim { task: Role::Merge.into(), worker });
        let queued = |id: &str, place| QueuedWork { task: TaskId::new(id), place };
        let queue = vec![queued("1", QueuePlace::Held), queued("2", QueuePlace::Checking)];
        let held = Some("a.txt is changed".to_owned());
        let live = LiveState { queue, held, ..LiveState::default() };
        let waits = "the landing waits: a.txt is changed".to_owned();
        assert_eq!(
            listed(&plan, Some(&live)),
            [
                // A person holds nothing of it.
                (QueuePlace::Waits, waits.clone()),
                (QueuePlace::Checking, "the checks run on what it was merged to".to_owned()),
                (QueuePlace::Waits, waits),
            ]
        );
    }
}
