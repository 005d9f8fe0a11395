//! The queue of a run with lanes: what was submitted is merged, checked and landed.
//!
//! [`MergeMachine`] decides; here its effects are carried out, but for the checks (`queue_check`). A branch whose work has
//! landed is removed; of what came back it stays.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    lane::LaneFault,
    shared::{CameBack, Lanes},
};
use crate::{
    engine::{error::described, services::Services},
    event::{Event, RunFault},
    merge::{
        ClaimKey, ClaimRefusal, MergeEffect, MergeInput, MergeMachine, MergeSetup, MergeStrategy, Queue,
    },
    model::{ClaimTarget, Mark, Plan, QueuedWork, ReleaseReason, Role, TaskId},
    state::{Actor, Mutation, ProgressKind, StateError},
    workspace::LaneClone,
};

/// How long it takes until a landing is tried again that something is in the way of. Where the same thing still is, it
/// takes twice as long, up to the longest time: each try looks at files.
const TRY_AGAIN: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);

/// The queue, as it is at work.
pub(super) struct QueueDriver {
    pub(super) shared: Arc<Lanes>,
    pub(super) services: Arc<Services>,
    /// Where the checks are made.
    pub(super) tree: Arc<LaneClone>,
    pub(super) batch: NonZeroUsize,
    /// The commands of the checks, as their point is told.
    pub(super) commands: Vec<String>,
}

/// Something that is landed.
struct Landed {
    task: TaskId,
    title: String,
    /// The branch with the work, and the commit that was submitted.
    branch: Option<String>,
    submitted: Option<String>,
    /// The commit with the work on the branch that is moved.
    commit: String,
}

/// What is in the way of a landing, as it was told, and how often it was found there.
#[derive(Default)]
struct InTheWay {
    reason: String,
    found: u32,
}

impl InTheWay {
    /// Takes down what is in the way now, and says whether that is news.
    fn is_new(&mut self, reason: Option<String>) -> bool {
        let reason = reason.unwrap_or_default();
        let is_new = reason != self.reason;
        self.found = if is_new { 1 } else { self.found.saturating_add(1) };
        self.reason = reason;
        is_new && !self.reason.is_empty()
    }

    /// Returns how long it takes until it is tried again.
    fn again(&self) -> Duration {
        let doubled = 1_u32.checked_shl(self.found.saturating_sub(1)).unwrap_or(u32::MAX);
        TRY_AGAIN.saturating_mul(doubled).min(LONGEST)
    }
}

/// What the queue does next.
enum Next {
    Step(MergeInput),
    End,
}

impl QueueDriver {
    /// Lands what is submitted until the lanes have ended.
    pub(super) async fn run(self) {
        let stopped = self.shared.stop_queue.clone();
        let role = match self.claim().await {
            Ok(role) => role,
            Err(error) => return self.give_up(RunFault::of(&error)),
        };
        let mut machine = MergeMachine::new(MergeSetup {
            role,
            into: self.shared.setup.into.clone(),
            batch: self.batch,
            max_attempts: self.shared.setup.max_attempts,
            // This loop has the lock, so whoever began a landing before is gone.
            is_alone: true,
        });
        let (mut told, mut keys) = (InTheWay::default(), Vec::new());
        let mut effect = machine.step(MergeInput::Wake);
        loop {
            let next = match effect {
                MergeEffect::Wait => self.wait(&machine, &mut told, &stopped).await,
                effect => self.carry_out(effect, &machine, &stopped).await,
            };
            match next {
                Next::Step(input) => {
                    if let MergeInput::Queue(queue) = &input {
                        keys = queue.submissions.iter().map(|work| work.key.clone()).collect();
                    }
                    effect = machine.step(input);
                    self.tell_places(&machine, &keys);
                }
                Next::End => break,
            }
        }
        self.services.hub.queue_is(Vec::new(), None, &self.shared.setup.into);
        let release = Mutation::Release {
            task: Role::Merge.into(),
            token: role,
            reason: ReleaseReason::Stopped,
            kept: None,
        };
        // Whoever is next takes it over.
        let _ = self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await;
    }

    /// Tells whoever looks from another process where what was submitted is.
    fn tell_places(&self, machine: &MergeMachine, keys: &[ClaimKey]) {
        let work = |key: &ClaimKey| QueuedWork { task: key.task.clone(), place: machine.place(key) };
        let held = machine.held().map(|held| held.reason.clone());
        self.services.hub.queue_is(keys.iter().map(work).collect(), held, &self.shared.setup.into);
    }

    async fn claim(&self) -> Result<u64, StateError> {
        let worker = format!("{}/queue", self.shared.setup.run);
        let claim = Mutation::Claim { task: Role::Merge.into(), worker };
        let claimed = self.shared.blocking(move |store| store.mutate(claim, Actor::Runtime)).await??;
        Ok(claimed.revision)
    }

    fn give_up(&self, fault: RunFault) {
        let message = format!("what was submitted could not be landed: {}", fault.message);
        self.shared.fails(RunFault { message, ..fault });
    }

    async fn carry_out(
        &self,
        effect: MergeEffect,
        machine: &MergeMachine,
        stopped: &CancellationToken,
    ) -> Next {
        if stopped.is_cancelled() {
            return Next::End;
        }
        let failed = |error: &dyn std::error::Error| MergeInput::Failed { reason: described(error) };
        let repository = &self.shared.setup.repository;
        Next::Step(match effect {
            MergeEffect::Look => match self.shared.caught_up(&self.services).await {
                Ok(plan) => MergeInput::Queue(self.queue(&plan)),
                Err(error) => failed(&error),
            },
            MergeEffect::Build { into, submissions } => {
                // What is built on has to have all that was merged before.
                if let Err(error) = self.look_for_lost().await {
                    return Next::Step(failed(&error));
                }
                match repository.build(&into, &submissions).await {
                    Ok(built) => MergeInput::Built(built),
                    Err(error) => failed(&error),
                }
            }
            MergeEffect::Check { commit, .. } => {
                match self.check(commit, machine.checking(), stopped).await {
                    Ok(Some(failures)) => MergeInput::Checked(failures),
                    Ok(None) => return Next::End,
                    Err(error) => failed(&error),
                }
            }
            MergeEffect::Change(mutation) => match self.change(mutation).await {
                Ok(()) => MergeInput::Changed(Ok(())),
                Err(error) => match ClaimRefusal::of(&error) {
                    Some(refusal) => MergeInput::Changed(Err(refusal)),
                    None => failed(&error),
                },
            },
            MergeEffect::Move(landing) => match repository.advance(&landing).await {
                Ok(moved) => MergeInput::Moved(moved),
                Err(error) => failed(&error),
            },
            MergeEffect::Try(landing) => match repository.way(&landing).await {
                Ok(way) => MergeInput::Way(way),
                Err(error) => failed(&error),
            },
            MergeEffect::Ask(landing) => match repository.standing(&landing).await {
                Ok(standing) => MergeInput::Stands(standing),
                Err(error) => failed(&error),
            },
            MergeEffect::Wait => MergeInput::Wake,
            MergeEffect::End { reason } => {
                // A git that fails says that of itself.
                let is_gone = matches!(repository.head(&self.shared.setup.into).await, Ok(None));
                self.give_up(if is_gone { RunFault::of(&self.shared.gone()) } else { reason.into() });
                return Next::End;
            }
        })
    }

    /// Reopens completed tasks whose merged work the branch lost.
    async fn look_for_lost(&self) -> Result<(), LaneFault> {
        let _alone = self.shared.claiming.lock().await;
        let plan = self.plan().await?;
        self.shared.reopen_lost(&self.services, &plan).await.map(drop)
    }

    /// Waits until there may be something to merge. Where the lanes have ended there is nothing more.
    async fn wait(&self, machine: &MergeMachine, told: &mut InTheWay, stopped: &CancellationToken) -> Next {
        let mut changed = self.shared.changes();
        changed.borrow_and_update();
        let held = machine.held().map(|held| held.reason.clone());
        let is_held = held.is_some();
        if told.is_new(held) {
            let (into, reason) = (self.shared.setup.into.clone(), told.reason.clone());
            self.services.emit(Event::LandingHeld { into, reason });
        }
        // What was submitted in this moment is seen by the next look.
        let waits = match self.plan().await {
            Ok(plan) => !Queue::of(&plan).submissions.is_empty(),
            Err(_) => false,
        };
        if self.shared.are_lanes_over() && (is_held || !waits) || stopped.is_cancelled() {
            return Next::End;
        }
        if waits && !is_held {
            return Next::Step(MergeInput::Wake);
        }
        let again = async {
            match is_held {
                true => self.services.clock.sleep(told.again()).await,
                false => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = changed.changed() => {}
            () = again => {}
            () = stopped.cancelled() => return Next::End,
        }
        Next::Step(MergeInput::Wake)
    }

    /// Returns what waits to be merged, with the trees that have passed here. Iterations that failed with a task are
    /// attempts at it, too.
    fn queue(&self, plan: &Plan) -> Queue {
        let mut queue = Queue::of(plan);
        for submission in &mut queue.submissions {
            let failed = self.shared.failures_of(&submission.key.task);
            submission.attempt = submission.attempt.saturating_add(failed);
            submission.tree = self.shared.tree_of(submission.key.token);
        }
        queue
    }

    async fn plan(&self) -> Result<Arc<Plan>, StateError> {
        self.shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await?
    }

    /// Changes the plan, and tells what follows.
    async fn change(&self, mutation: Mutation) -> Result<(), StateError> {
        let before = match mutation {
            Mutation::Landing { .. } => self.shared.caught_up(&self.services).await?,
            _ => self.plan().await?,
        };
        let mutation = match mutation {
            Mutation::Land { role, .. } => Mutation::Land { role, unchanged: self.unchanged(&before).await },
            mutation => mutation,
        };
        let asked = mutation.clone();
        // A lane may claim the task as soon as it is free.
        let back = may_merge_later(&before, &mutation);
        let task = back.map(|(task, work)| {
            self.shared.may_merge_later(task.clone(), work);
            task
        });
        let changed = self.shared.blocking(move |store| store.mutate(asked, Actor::Runtime)).await?;
        if let (Err(_), Some(task)) = (&changed, &task) {
            self.shared.take_came_back(task);
        }
        changed?;
        match mutation {
            Mutation::Land { unchanged, .. } => self.landed(&before, &unchanged).await,
            Mutation::Release { task, reason, .. } => self.returned(&before, &task, &reason).await,
            _ => {}
        }
        self.shared.wake();
        Ok(())
    }

    /// Returns the tasks whose merge changed nothing. What cannot be told counts as a change.
    async fn unchanged(&self, before: &Plan) -> Vec<TaskId> {
        let Some(landing) = Queue::of(before).landing else { return Vec::new() };
        let repository = &self.shared.setup.repository;
        let turn = repository.in_turn(&landing).await.unwrap_or_default();
        let landed = before.claimed_tasks().filter(|(_, claim)| claim.is_landing());
        let landed = landed.filter_map(|(task, claim)| Some((&task.id, claim.landed.as_ref()?)));
        let mut landed: Vec<(&TaskId, &String)> = landed.collect();
        landed.sort_by_key(|(_, commit)| turn.iter().position(|other| other == *commit));
        let (mut at, mut unchanged) = (&landing.old, Vec::new());
        for (task, commit) in landed {
            if repository.have_one_tree(at, commit).await {
                unchanged.push(task.clone());
            }
            at = commit;
        }
        unchanged
    }

    async fn landed(&self, before: &Plan, unchanged: &[TaskId]) {
        let landing = Queue::of(before).landing;
        // Without their order they are told by their numbers.
        let turn = match &landing {
            Some(landing) => self.shared.setup.repository.in_turn(landing).await.unwrap_or_default(),
            None => Vec::new(),
        };
        // One that was cut off may have been into another branch.
        let into = landing.as_ref().map_or(&self.shared.setup.into, |landing| &landing.into).clone();
        let of_claim = |(task, claim): (&crate::model::Task, &crate::model::Claim)| {
            Some(Landed {
                task: task.id.clone(),
                title: task.title.clone(),
                branch: claim.branch.clone(),
                submitted: claim.commit.clone(),
                commit: claim.landed.clone().filter(|_| claim.is_landing())?,
            })
        };
        let mut landed: Vec<Landed> = before.claimed_tasks().filter_map(of_claim).collect();
        landed.sort_by_key(|one| turn.iter().position(|commit| *commit == one.commit));
        let merged = landed.iter().map(|one| (one.task.clone(), one.commit.clone())).collect();
        self.shared.landed(merged, landing);
        let line = |one: &Landed| {
            let text = format!("landed on {into} as {}", one.commit);
            self.services.note(0, Some(one.task.clone()), ProgressKind::Completed, text)
        };
        self.services.log(landed.iter().map(line).collect()).await;
        let mut branches = Vec::new();
        for Landed { task, title, branch, submitted, commit } in landed {
            self.services.emit(Event::TaskLanded { task: task.clone(), into: into.clone(), commit });
            let marks = if unchanged.contains(&task) { vec![Mark::NoChange] } else { Vec::new() };
            self.services.emit(Event::TaskCompleted { task, title, provisional: false, marks });
            branches.extend(branch.zip(submitted));
        }
        // By another strategy a branch has commits that nothing else has.
        if self.shared.setup.strategy == MergeStrategy::Merge {
            for (branch, error) in self.shared.setup.repository.remove_landed(&into, &branches).await {
                self.services.warn(format!("{branch} has landed and stays: {}", described(&error)));
            }
        }
    }

    async fn returned(&self, before: &Plan, of: &ClaimTarget, reason: &ReleaseReason) {
        let Some(task) = of.task() else { return };
        let Some(claim) = before.claim(of) else { return };
        let kept = claim.branch.clone();
        let (last, blocked) = match reason {
            ReleaseReason::Exhausted { last, .. } => (&**last, Some(reason.to_string())),
            reason => (reason, None),
        };
        let text = format!("did not land: {last}");
        let line = self.services.note(0, Some(task.clone()), ProgressKind::Error, text);
        self.services.log(vec![line]).await;
        let (attempt, excused, reason) = (claim.attempt, !last.counts(), last.to_string());
        self.services.emit(Event::TaskReturned { task: task.clone(), attempt, reason, kept, excused });
        self.shared.came_back();
        if blocked.is_some() {
            self.shared.tell_blocked(&self.services, before, task, blocked);
        }
    }
}

/// Returns the work that a release gives back because of what the branch has or lost: it may be merged later as it is.
fn may_merge_later(before: &Plan, mutation: &Mutation) -> Option<(TaskId, CameBack)> {
    let Mutation::Release { task: of, reason, .. } = mutation else { return None };
    let is_of_branch = matches!(reason, ReleaseReason::Conflict { .. } | ReleaseReason::Asked { .. });
    let (id, claim) = (of.task()?, before.claim(of).filter(|_| is_of_branch)?);
    let iteration = before.task(id).and_then(|task| task.iteration);
    let work = CameBack { commit: claim.commit.clone()?, base: claim.base.clone()?, iteration };
    Some((id.clone(), work))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_landing_that_waits_is_tried_less_and_less_often_and_what_is_new_is_told_once() {
        let mut told = InTheWay::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            let is_new = told.is_new(Some("a file".to_owned()));
            waits.push((is_new, told.again().as_secs()));
        }
        let seconds: Vec<u64> = waits.iter().map(|(_, seconds)| *seconds).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(waits.iter().filter(|(is_new, _)| *is_new).count(), 1);
        assert!(told.is_new(Some("another file".to_owned())) && told.again() == TRY_AGAIN);
        assert!(!told.is_new(None), "nothing is no news");
        assert!(told.is_new(Some("a file".to_owned())) && told.again() == TRY_AGAIN);
    }
}
