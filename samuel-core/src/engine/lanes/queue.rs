//! The queue of a run with lanes: what was submitted is merged, checked and landed.
//!
//! [`MergeMachine`] decides; here its effects are carried out. The checks are those of the run, made in
//! a work tree of the queue's own. A branch whose work has landed is removed; of what came back it stays.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::shared::Lanes;
use crate::{
    engine::{error::described, fire::Place, services::Services},
    event::{Event, PlanChange},
    hook::{BreakClass, HookCall, Outcome},
    machine::{HookReply, ReplyData},
    merge::{ClaimRefusal, MergeEffect, MergeInput, MergeMachine, MergeSetup, MergeStrategy, Queue},
    model::{
        ClaimTarget, ExitReason, Plan, ReleaseReason, Role, TaskId,
        payload::{Actor as ChangedBy, Mode, QualityCheckInput, Turn},
    },
    state::{Actor, Mutation, PlanStore, ProgressKind, StateError},
    workspace::{WorkspaceError, Worktree},
};

/// How long it takes until a landing is tried again that something is in the way of.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// The queue, as it is at work.
pub(super) struct QueueDriver {
    pub(super) shared: Arc<Lanes>,
    pub(super) services: Arc<Services>,
    /// Where the checks are made.
    pub(super) tree: Arc<Worktree>,
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
            Err(error) => return self.give_up(described(&error)),
        };
        let mut machine = MergeMachine::new(MergeSetup {
            role,
            into: self.shared.into.clone(),
            batch: self.batch,
            max_attempts: self.shared.max_attempts,
        });
        let mut told = String::new();
        let mut effect = machine.step(MergeInput::Wake);
        loop {
            let next = match effect {
                MergeEffect::Wait => self.wait(&machine, &mut told, &stopped).await,
                effect => self.carry_out(effect, &stopped).await,
            };
            match next {
                Next::Step(input) => effect = machine.step(input),
                Next::End => break,
            }
        }
        let release = Mutation::Release {
            task: Role::Merge.into(),
            token: role,
            reason: ReleaseReason::Stopped,
            kept: None,
        };
        // Whoever is next takes it over.
        let _ = self.shared.blocking(move |store| store.mutate(release, Actor::Runtime)).await;
    }

    async fn claim(&self) -> Result<u64, StateError> {
        let worker = format!("{}/queue", self.shared.run);
        let claim = Mutation::Claim { task: Role::Merge.into(), worker };
        let claimed = self.shared.blocking(move |store| store.mutate(claim, Actor::Runtime)).await??;
        Ok(claimed.revision)
    }

    fn give_up(&self, reason: String) {
        let detail = format!("what was submitted could not be landed: {reason}");
        self.shared.end(ExitReason::Error, Some(detail));
    }

    async fn carry_out(&self, effect: MergeEffect, stopped: &CancellationToken) -> Next {
        if stopped.is_cancelled() {
            return Next::End;
        }
        let failed = |error: &dyn std::error::Error| MergeInput::Failed { reason: described(error) };
        let repository = &self.shared.repository;
        Next::Step(match effect {
            MergeEffect::Look => match self.caught_up().await {
                Ok(plan) => MergeInput::Queue(self.queue(&plan)),
                Err(error) => failed(&error),
            },
            MergeEffect::Build { into, submissions } => match repository.build(&into, &submissions).await {
                Ok(built) => MergeInput::Built(built),
                Err(error) => failed(&error),
            },
            MergeEffect::Check { commit, .. } => match self.check(&commit, stopped).await {
                Ok(Some(failures)) => MergeInput::Checked(failures),
                Ok(None) => return Next::End,
                Err(error) => failed(&error),
            },
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
            MergeEffect::Ask(landing) => match repository.standing(&landing).await {
                Ok(standing) => MergeInput::Stands(standing),
                Err(error) => failed(&error),
            },
            MergeEffect::Wait => MergeInput::Wake,
            MergeEffect::End { reason } => {
                self.give_up(reason);
                return Next::End;
            }
        })
    }

    /// Waits until there may be something to merge. Where the lanes have ended there is nothing more.
    async fn wait(&self, machine: &MergeMachine, told: &mut String, stopped: &CancellationToken) -> Next {
        let mut changed = self.shared.changes();
        changed.borrow_and_update();
        let held = machine.held().map(|held| held.reason.clone());
        if let Some(reason) = held.as_ref().filter(|reason| *reason != told) {
            let (into, reason) = (self.shared.into.clone(), reason.clone());
            self.services.emit(Event::LandingHeld { into, reason });
        }
        let is_held = held.is_some();
        *told = held.unwrap_or_default();
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
                true => self.services.clock.sleep(TRY_AGAIN).await,
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

    /// Reads the plan once what somebody wrote into it past the store is taken over or put back.
    async fn caught_up(&self) -> Result<Arc<Plan>, StateError> {
        let read = |store: &dyn PlanStore| Ok((store.catch_up(u64::MAX)?.warnings, store.load()?.plan));
        let (warnings, plan) = self.shared.blocking(read).await??;
        warnings.into_iter().for_each(|warning| self.services.warn(warning));
        Ok(plan)
    }

    /// Returns what waits to be merged, with the trees that have passed here.
    fn queue(&self, plan: &Plan) -> Queue {
        let mut queue = Queue::of(plan);
        for submission in &mut queue.submissions {
            submission.tree = self.shared.tree_of(submission.key.token);
        }
        queue
    }

    async fn plan(&self) -> Result<Arc<Plan>, StateError> {
        self.shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await?
    }

    /// Checks a commit, and returns what failed; nothing where the check was cut off.
    async fn check(
        &self,
        commit: &str,
        stopped: &CancellationToken,
    ) -> Result<Option<Vec<String>>, WorkspaceError> {
        self.tree.check_out(commit).await?;
        let place = Place {
            iteration: 0,
            in_iteration: false,
            mode: Mode::Implementation,
            turn: Turn::Main,
            cancel: stopped.child_token(),
        };
        let input = QualityCheckInput { commands: self.commands.clone(), ..Default::default() };
        let reply = self.services.fire(HookCall::QualityCheck(input), &place).await;
        if is_cancelled(&reply.outcome) {
            return Ok(None);
        }
        Ok(Some(failures(reply)))
    }

    /// Changes the plan, and tells what follows.
    async fn change(&self, mutation: Mutation) -> Result<(), StateError> {
        let before = match mutation {
            Mutation::Landing { .. } => self.caught_up().await?,
            _ => self.plan().await?,
        };
        let asked = mutation.clone();
        self.shared.blocking(move |store| store.mutate(asked, Actor::Runtime)).await??;
        match mutation {
            Mutation::Land { .. } => self.landed(&before).await,
            Mutation::Release { task, reason, .. } => self.returned(&before, &task, &reason).await,
            _ => {}
        }
        self.shared.wake();
        Ok(())
    }

    async fn landed(&self, before: &Plan) {
        let landing = before.claim(&ClaimTarget::Role(Role::Merge)).filter(|claim| claim.is_landing());
        let new = landing.and_then(|claim| claim.commit.clone());
        let of_claim = |(task, claim): (&crate::model::Task, &crate::model::Claim)| {
            Some(Landed {
                task: task.id.clone(),
                title: task.title.clone(),
                branch: claim.branch.clone(),
                submitted: claim.commit.clone(),
                commit: claim.landed.clone().filter(|_| claim.is_landing())?,
            })
        };
        let landed: Vec<Landed> = before.claimed_tasks().filter_map(of_claim).collect();
        self.shared.landed(landed.iter().map(|one| one.task.clone()), new);
        for one in landed {
            let into = self.shared.into.clone();
            let text = format!("landed on {into} as {}", one.commit);
            let line = self.services.note(0, Some(one.task.clone()), ProgressKind::Completed, text);
            self.services.log(vec![line]).await;
            self.services.emit(Event::TaskLanded { task: one.task.clone(), into, commit: one.commit });
            let (task, title) = (one.task, one.title);
            self.services.emit(Event::TaskCompleted { task, title, provisional: false });
            // By another strategy the branch has commits that nothing else has.
            if let (Some(branch), Some(submitted), MergeStrategy::Merge) =
                (one.branch, one.submitted, self.shared.strategy)
            {
                let removed = self.shared.repository.remove_branch(&branch, &submitted).await;
                if let Err(error) = removed {
                    self.services.warn(format!("{branch} has landed and stays: {}", described(&error)));
                }
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
        let (attempt, last) = (claim.attempt, last.to_string());
        self.services.emit(Event::TaskReturned { task: task.clone(), attempt, reason: last, kept });
        if blocked.is_some() {
            let title = before.task(task).map(|task| task.title.clone()).unwrap_or_default();
            let (change, actor) = (PlanChange::Blocked, ChangedBy::Runtime);
            let changed = Event::PlanChanged { change, task: task.clone(), title, reason: blocked, actor };
            self.services.emit(changed);
        }
    }
}

/// Returns what failed, one line each.
fn failures(reply: HookReply) -> Vec<String> {
    let Outcome { refused, abort, broken, skipped, .. } = reply.outcome;
    if skipped.is_some() {
        return Vec::new();
    }
    let is_refused = refused.is_some() || abort.is_some() || !broken.is_empty();
    let checks = match reply.data {
        ReplyData::Checks(failures) if is_refused => failures,
        _ => Vec::new(),
    };
    let mut told: Vec<String> =
        checks.into_iter().map(|failed| format!("{}: {}", failed.command, failed.message)).collect();
    if told.is_empty() {
        told.extend(refused);
        told.extend(broken.iter().map(ToString::to_string));
        if told.is_empty() && is_refused {
            told.push("the check was refused".to_owned());
        }
    }
    told
}

fn is_cancelled(outcome: &Outcome) -> bool {
    outcome.broken.iter().any(|broken| broken.failure.class == BreakClass::Cancelled)
}
