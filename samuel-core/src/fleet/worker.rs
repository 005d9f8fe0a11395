//! The machine: what a worker does next, by its plan, its lanes and what it hears.

use std::{num::NonZeroU32, num::NonZeroUsize, time::Duration};

use super::{
    AgentWork, Ears, FleetEffect, FleetInput, HeldTask, PlanAnswer, PlanRefusal, Rule,
    lane::{FleetLane, FleetLanes},
    merging::Merging,
};
use crate::{
    merge::{ClaimRefusal, Queue},
    model::{Claim, ClaimPhase, ClaimTarget, Plan, ReleaseReason, Role, Scope, TaskId},
    sched::{Claimant, Overlap, WhyLeftOut, choose},
    state::Mutation,
};

/// How many beats a lease has: an observer that misses two, which it may not notice, still hears the next one in time.
const BEATS: u32 = 4;

/// What a worker is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSetup {
    /// The name of the worker, which stays the same when it starts again.
    pub worker: String,
    /// How many agents work at once.
    pub lanes: usize,
    /// For how long a worker that is not heard keeps what it holds.
    pub lease: Duration,
    /// The branch that work lands on, where this worker may move it; nothing where it may not.
    pub into: Option<String>,
    /// How many submissions are merged and checked together, at most.
    pub batch: NonZeroUsize,
    /// How many attempts a task has before it is blocked; nothing for any number.
    pub max_attempts: Option<NonZeroU32>,
    /// What happens to tasks that declare the same files.
    pub overlap: Overlap,
}

/// A worker of a fleet, as plain data.
#[derive(Clone, Debug)]
pub struct FleetWorker {
    setup: FleetSetup,
    ears: Ears,
    lanes: FleetLanes,
    merging: Option<Merging>,
    /// What the change of the plan is for that is under way.
    changing: Option<ChangeOf>,
    beaten: Option<Duration>,
    is_draining: bool,
    /// Until when it does not take the role again, because what it began with it failed.
    rests_from_merging: Option<Duration>,
    /// Whether something is claimed in its name, by the plan as it was read last, that is to be given back.
    has_left: bool,
}

/// What a change of the plan is for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ChangeOf {
    /// A lane claims a task.
    Claim { lane: usize, task: TaskId },
    /// A lane hands in its work.
    Submit { lane: usize },
    /// A lane gives its task back.
    GiveBack { lane: usize },
    /// The worker takes the role that merges.
    Role,
    /// The merge queue has it.
    Merge,
    /// It is of what somebody else holds, or nobody works on.
    Others,
}

impl FleetWorker {
    /// Makes a worker that has just started, at a moment of its monotonic clock.
    pub fn new(setup: FleetSetup, now: Duration) -> Self {
        let ears = Ears::new(setup.worker.clone(), setup.lease, now);
        let lanes = FleetLanes::new(setup.lanes);
        Self {
            setup,
            ears,
            lanes,
            merging: None,
            changing: None,
            beaten: None,
            is_draining: false,
            rests_from_merging: None,
            has_left: false,
        }
    }

    /// Says whether a worker that drains has nothing under way any more, and gave back what it had; asked after
    /// [`next`](Self::next).
    pub fn is_over(&self) -> bool {
        let is_idle = self.lanes.all().all(|lane| *lane == FleetLane::Idle);
        let is_done = self.changing.is_none() && self.merging.is_none() && !self.has_left;
        self.is_draining && is_idle && is_done
    }

    /// Takes what came of something.
    pub fn input(&mut self, now: Duration, input: FleetInput) {
        match input {
            FleetInput::Heard { worker } => self.ears.hear(now, &worker),
            FleetInput::OutOfTouch => self.ears.out_of_touch(now),
            FleetInput::Changed(answer) => self.changed(answer),
            FleetInput::Worked { lane, token, made } => self.lanes.worked(lane, token, made),
            FleetInput::Pushed { lane, token, failed } => self.lanes.pushed(lane, token, failed),
            FleetInput::Stopped { lane, token } => self.lanes.stopped(lane, token),
            FleetInput::Merged { role, input } => {
                if let Some(merging) = self.merging.as_mut().filter(|merging| merging.role() == role) {
                    merging.answered(input);
                }
            }
            FleetInput::Drain => self.is_draining = true,
        }
    }

    /// Says what is to be done now, by the plan as it was read last. It is called after each input, whenever the plan
    /// may have changed, and no less often than the worker beats, which is four times a lease.
    pub fn next(&mut self, now: Duration, plan: &Plan) -> Vec<FleetEffect> {
        self.ears.look(now);
        let mut effects = Vec::new();
        if self.beaten.is_none_or(|beaten| now.saturating_sub(beaten) >= self.setup.lease / BEATS) {
            self.beaten = Some(now);
            effects.push(FleetEffect::Beat);
        }
        self.lanes.stop_void(plan, &mut effects);
        self.lanes.push_made(&mut effects);
        self.merge(now, plan, &mut effects);
        self.has_left = self.audit(plan).is_some();
        if self.changing.is_none()
            && let Some((of, change)) = self.next_change(now, plan)
        {
            self.changing = Some(of);
            effects.push(FleetEffect::Change(change));
        }
        effects
    }

    /// Goes on with the merge queue, as far as the plan tells and the role is this worker's.
    fn merge(&mut self, now: Duration, plan: &Plan, effects: &mut Vec<FleetEffect>) {
        // A plan that was read before the role was taken says nothing of it.
        let Some(mut merging) = self.merging.take_if(|merging| merging.role() <= plan.revision) else {
            return;
        };
        let role = merging.role();
        // One that has lost its role knows it by the plan, and one that drains begins nothing.
        if plan.claim(&Role::Merge.into()).is_none_or(|claim| claim.token != role)
            || (self.is_draining && merging.rests())
        {
            return;
        }
        merging.advance(plan, effects);
        match merging.end() {
            None => self.merging = Some(merging),
            Some(reason) => {
                self.rests_from_merging = Some(now.saturating_add(self.setup.lease));
                effects.push(FleetEffect::MergeEnded { role, reason: reason.to_owned() });
            }
        }
    }

    /// Returns the next change of the plan: what is done is handed in first, and new work is begun last.
    fn next_change(&mut self, now: Duration, plan: &Plan) -> Option<(ChangeOf, Mutation)> {
        self.hand_in()
            .or_else(|| self.merging.as_mut()?.change().map(|change| (ChangeOf::Merge, change)))
            .or_else(|| self.audit(plan))
            .or_else(|| self.judge(now, plan))
            .or_else(|| self.take_role(now, plan))
            .or_else(|| self.claim(plan))
    }

    fn hand_in(&mut self) -> Option<(ChangeOf, Mutation)> {
        self.lanes.all().enumerate().find_map(|(lane, state)| match state {
            FleetLane::Pushed { work, made } => {
                let HeldTask { task, token } = work.clone();
                let AgentWork { branch, commit, base, tree } = made.clone();
                let submit = Mutation::Submit { task, token, branch, commit, base, tree, iteration: None };
                Some((ChangeOf::Submit { lane }, submit))
            }
            FleetLane::Failed { work, reason } => {
                let reason = ReleaseReason::Failed { reason: reason.clone() };
                Some((ChangeOf::GiveBack { lane }, release(&work.task.clone().into(), work.token, reason)))
            }
            _ => None,
        })
    }

    /// Gives back what is claimed in the own name and nothing works on: what a process that is dead had claimed, or a
    /// claim of which nobody knew whether it was made.
    fn audit(&self, plan: &Plan) -> Option<(ChangeOf, Mutation)> {
        let is_own = |claim: &&Claim| claim.worker.as_deref() == Some(&self.setup.worker);
        let is_worked_on = |claim: &Claim| match &claim.task {
            ClaimTarget::Task(_) => self.lanes.has(claim.token),
            ClaimTarget::Role(_) => {
                self.merging.as_ref().is_some_and(|merging| merging.role() == claim.token)
            }
        };
        let left = held(plan).filter(is_own).find(|claim| !is_worked_on(claim));
        let left = left.filter(|_| Rule::Audit.is_kept())?;
        Some((ChangeOf::Others, release(&left.task, left.token, ReleaseReason::Stopped)))
    }

    /// Gives back what a worker holds that is gone.
    fn judge(&mut self, now: Duration, plan: &Plan) -> Option<(ChangeOf, Mutation)> {
        let (own, ears) = (&self.setup.worker, &mut self.ears);
        // Each is looked at, so that the time of all begins.
        let gone = held(plan).filter(|claim| {
            let holder = claim.worker.as_ref().filter(|worker| *worker != own);
            holder.is_some_and(|worker| ears.is_gone(now, worker))
        });
        let first = gone.fold(None, |first, claim| first.or(Some(claim)))?;
        Some((ChangeOf::Others, release(&first.task, first.token, ReleaseReason::Lost)))
    }

    fn take_role(&self, now: Duration, plan: &Plan) -> Option<(ChangeOf, Mutation)> {
        let is_taken = plan.claim(&Role::Merge.into()).is_some_and(|claim| claim.worker.is_some());
        let has_work = Queue::of(plan) != Queue::default();
        let rests = self.rests_from_merging.is_some_and(|until| now < until);
        let may = self.setup.into.is_some() && self.merging.is_none() && !self.is_draining;
        (may && has_work && !is_taken && !rests)
            .then(|| (ChangeOf::Role, claim(Role::Merge.into(), &self.setup.worker)))
    }

    fn claim(&self, plan: &Plan) -> Option<(ChangeOf, Mutation)> {
        let lane =
            self.lanes.all().position(|lane| *lane == FleetLane::Idle).filter(|_| !self.is_draining)?;
        let FleetSetup { worker, lanes, max_attempts, overlap, .. } = &self.setup;
        // Whoever has another name tries other tasks first.
        let own = worker.bytes().fold(lane, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let asker = Claimant { lane: own, jobs: *lanes, scope: Scope::All, max_attempts: *max_attempts };
        let choice = choose(plan, &asker, *overlap);
        if let Some(task) = choice.tasks.first() {
            let of = ChangeOf::Claim { lane, task: task.clone() };
            return Some((of, claim(task.clone().into(), worker)));
        }
        // One whose attempts are used up is nobody's until a person resets it.
        let used_up = choice.left_out.iter().find_map(|left| match left.why {
            WhyLeftOut::Attempts { failed } => Some((left.task.clone(), failed)),
            _ => None,
        });
        used_up.map(|(id, failed)| {
            let reason = Some(format!("{failed} attempts did not land"));
            (ChangeOf::Others, Mutation::Block { id, reason })
        })
    }

    fn changed(&mut self, answer: PlanAnswer) {
        let Some(of) = self.changing.take() else { return };
        match (of, answer) {
            (ChangeOf::Claim { lane, task }, PlanAnswer::Made { revision }) => {
                self.lanes.set(lane, FleetLane::Claimed(HeldTask { task, token: revision }));
            }
            (ChangeOf::Role, PlanAnswer::Made { revision }) => {
                let FleetSetup { into, batch, max_attempts, .. } = &self.setup;
                self.merging = into.as_ref().map(|into| Merging::new(revision, into, *batch, *max_attempts));
            }
            // What nobody knows of a submission the plan tells: while the claim is as it was, it is handed in again.
            (ChangeOf::Submit { .. }, PlanAnswer::Unknown) => {}
            (ChangeOf::Submit { lane } | ChangeOf::GiveBack { lane }, _) => {
                self.lanes.set(lane, FleetLane::Idle)
            }
            (ChangeOf::Merge, answer) => {
                if let Some(merging) = &mut self.merging {
                    merging.changed(match answer {
                        PlanAnswer::Made { .. } => Some(Ok(())),
                        PlanAnswer::Refused(PlanRefusal::Claim(refusal)) => Some(Err(refusal)),
                        PlanAnswer::Refused(PlanRefusal::Other) => Some(Err(ClaimRefusal::Void)),
                        PlanAnswer::Unknown => None,
                    });
                }
            }
            (ChangeOf::Claim { .. } | ChangeOf::Role | ChangeOf::Others, _) => {}
        }
    }
}

/// Returns the claims that somebody has to be there for: those that are worked on, and roles.
fn held(plan: &Plan) -> impl Iterator<Item = &Claim> {
    plan.claims.iter().filter(|claim| {
        let is_role = matches!(claim.task, ClaimTarget::Role(_));
        claim.worker.is_some() && (is_role || claim.phase == ClaimPhase::Working)
    })
}

fn claim(task: ClaimTarget, worker: &str) -> Mutation {
    Mutation::Claim { task, worker: worker.to_owned() }
}

fn release(task: &ClaimTarget, token: u64, reason: ReleaseReason) -> Mutation {
    Mutation::Release { task: task.clone(), token, reason, kept: None }
}
