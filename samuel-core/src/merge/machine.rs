//! The machine: what is merged next, and what follows from what came of it.

use std::{
    collections::VecDeque,
    num::{NonZeroU32, NonZeroUsize},
};

use serde::{Deserialize, Serialize};

use super::{
    BranchStanding, Built, ClaimKey, ClaimRefusal, MergeEffect, MergeInput, Moved, Queue, Submission,
    UnsettledLanding,
    batch::{Batch, Group},
    place::Held,
};
use crate::{model::ReleaseReason, state::Mutation};

/// How many trees that have passed are remembered.
const MAX_PASSED: usize = 256;
/// How often the checks must fail with the same work before it is blamed.
const SURE: u32 = 2;
/// Why work goes back that would bring back what the branch lost.
const MOVED_BACK: &str = "the branch no longer has the commit that it began at";

/// What a merge queue is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeSetup {
    /// The token of the claim of the role `@merge`.
    pub role: u64,
    /// The branch that work lands on, without `refs/heads/`.
    pub into: String,
    /// How many submissions are merged and checked together, at most.
    pub batch: NonZeroUsize,
    /// How many attempts a task has before it is blocked; nothing for any number.
    pub max_attempts: Option<NonZeroU32>,
    /// Whether nobody else can move the branch for a landing that was found: whoever began it is gone. One that
    /// something is in the way of is withdrawn then. By default it is left to whoever began it.
    #[serde(default)]
    pub is_alone: bool,
}

/// The merge queue of one branch, as plain data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergeMachine {
    pub(super) setup: MergeSetup,
    pub(super) state: State,
    /// The trees that have passed, oldest first.
    passed: VecDeque<String>,
    /// What is tried before the queue goes on, the last one first.
    pub(super) groups: Vec<Group>,
    /// What has passed its checks, and what is in the way of its landing.
    #[serde(default)]
    pub(super) waits: Option<(Batch, Held)>,
}

/// Where a machine stands: what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum State {
    /// For the first input.
    New,
    Looking,
    /// For how the branch stands to a landing: one that was found, or one of this machine's own, whose
    /// submissions are tried again where it did not come to pass.
    Asking {
        landing: UnsettledLanding,
        own: Option<Batch>,
    },
    Merging {
        group: Group,
        attempts: Vec<(ClaimKey, u32)>,
        /// The trees that passed before they were submitted.
        trees: Vec<String>,
    },
    Checking(Batch),
    /// For the plan to have what is about to land.
    Announcing(Batch),
    /// For the branch to move, also of a landing that somebody else began.
    Moving {
        landing: UnsettledLanding,
        own: Option<Batch>,
    },
    /// For the plan to have how a landing ended.
    Settling {
        again: Option<Batch>,
        held: Option<Held>,
    },
    /// For whether what was in the way of a landing still is.
    Trying(Batch, Held),
    /// For the plan to have what goes back, in turn; then a batch is checked.
    Returning {
        left: VecDeque<Mutation>,
        then: Option<Batch>,
    },
    Waiting(Option<Held>),
    Ended(String),
}

impl MergeMachine {
    /// Makes a machine that begins with [`MergeInput::Wake`].
    pub fn new(setup: MergeSetup) -> Self {
        Self { setup, state: State::New, passed: VecDeque::new(), groups: Vec::new(), waits: None }
    }

    /// Has a machine that was saved go on, perhaps with another claim of its role: with
    /// [`MergeInput::Wake`]. What it waited for may have been done or not; the plan and the branch tell.
    #[must_use]
    pub fn resumed(mut self, role: u64) -> Self {
        self.setup.role = role;
        self.state = State::New;
        self
    }

    /// Takes what came of the last effect, and returns the next one. An answer to what was not
    /// asked begins anew with a look at the plan, which has all that counts.
    pub fn step(&mut self, input: MergeInput) -> MergeEffect {
        let state = std::mem::replace(&mut self.state, State::Looking);
        match (state, input) {
            (State::Ended(reason), _) => self.end(reason),
            (_, MergeInput::Failed { reason }) => self.end(reason),
            (State::Looking, MergeInput::Queue(queue)) => self.begin(queue),
            (State::Asking { landing, own }, MergeInput::Stands(standing)) => {
                self.recover(landing, own, standing)
            }
            (State::Merging { group, attempts, trees }, MergeInput::Built(built)) => {
                self.merged(&group, &attempts, &trees, built)
            }
            (State::Checking(batch), MergeInput::Checked(failures)) if failures.is_empty() => {
                self.passed(batch)
            }
            (State::Checking(batch), MergeInput::Checked(failures)) => self.failed(batch, failures),
            (State::Announcing(batch), MergeInput::Changed(changed)) => self.announced(batch, changed),
            (State::Moving { landing, own }, MergeInput::Moved(moved)) => self.moved(landing, own, moved),
            (State::Settling { .. }, MergeInput::Changed(Err(ClaimRefusal::RoleLost))) => self.lost(),
            (State::Settling { again, held: None }, MergeInput::Changed(_)) => {
                self.groups.extend(again.map(|batch| batch.group()));
                self.look()
            }
            (State::Settling { again, held: Some(held) }, MergeInput::Changed(_)) => self.wait(again, held),
            (State::Trying(batch, _), MergeInput::Way(way)) => self.tried(batch, way),
            // One that somebody else has by now is theirs.
            (State::Returning { left, then }, MergeInput::Changed(_)) => self.give_back(left, then),
            _ => self.look(),
        }
    }

    pub(super) fn to(&mut self, state: State, effect: MergeEffect) -> MergeEffect {
        self.state = state;
        effect
    }

    pub(super) fn look(&mut self) -> MergeEffect {
        self.to(State::Looking, MergeEffect::Look)
    }

    fn end(&mut self, reason: String) -> MergeEffect {
        self.to(State::Ended(reason.clone()), MergeEffect::End { reason })
    }

    fn lost(&mut self) -> MergeEffect {
        self.end("somebody else has the role @merge by now".to_owned())
    }

    /// Settles what was being landed, or merges what is next.
    fn begin(&mut self, queue: Queue) -> MergeEffect {
        if let Some(landing) = queue.landing {
            return self.ask(landing, None);
        }
        if let Some(effect) = self.try_again(&queue) {
            return effect;
        }
        let Some((group, submissions)) = self.next(queue.submissions) else {
            return self.to(State::Waiting(None), MergeEffect::Wait);
        };
        let attempts = submissions.iter().map(|work| (work.key.clone(), work.attempt)).collect();
        let trees = submissions.iter().filter_map(|work| work.tree.clone()).collect();
        let into = self.setup.into.clone();
        self.to(State::Merging { group, attempts, trees }, MergeEffect::Build { into, submissions })
    }

    /// Returns what is merged together next: what is left of a group, or of the queue.
    fn next(&mut self, queue: Vec<Submission>) -> Option<(Group, Vec<Submission>)> {
        while let Some(mut group) = self.groups.pop() {
            // Somebody may have released one, or settled its task.
            group.keys.retain(|key| queue.iter().any(|work| work.key == *key));
            if !group.keys.is_empty() {
                let is_in = |work: &Submission| group.keys.contains(&work.key);
                return Some((group.clone(), queue.into_iter().filter(is_in).collect()));
            }
        }
        let batch: Vec<Submission> = queue.into_iter().take(self.setup.batch.get()).collect();
        let keys = batch.iter().map(|work| work.key.clone()).collect::<Vec<_>>();
        (!keys.is_empty()).then(|| (Group { keys, ..Group::default() }, batch))
    }

    fn ask(&mut self, landing: UnsettledLanding, own: Option<Batch>) -> MergeEffect {
        self.to(State::Asking { landing: landing.clone(), own }, MergeEffect::Ask(landing))
    }

    fn move_on(&mut self, landing: UnsettledLanding, own: Option<Batch>) -> MergeEffect {
        self.to(State::Moving { landing: landing.clone(), own }, MergeEffect::Move(landing))
    }

    fn recover(
        &mut self,
        landing: UnsettledLanding,
        own: Option<Batch>,
        standing: BranchStanding,
    ) -> MergeEffect {
        match standing {
            BranchStanding::Landed => {
                self.settle(Mutation::Land { role: self.setup.role, unchanged: Vec::new() }, None, None)
            }
            // Whoever began it may only have stalled, and moves the branch yet. So it is moved now rather
            // than given up: of two who move it from the same commit, one is told that it is stale, and asks.
            BranchStanding::Untouched => self.move_on(landing, own),
            BranchStanding::Elsewhere => self.withdraw(own, None, "the branch went elsewhere"),
        }
    }

    fn merged(
        &mut self,
        group: &Group,
        attempts: &[(ClaimKey, u32)],
        trees: &[String],
        built: Built,
    ) -> MergeEffect {
        let attempt = |key: &ClaimKey| {
            let known = attempts.iter().find(|(known, _)| known == key);
            known.map_or(1, |(_, attempt)| *attempt)
        };
        let mut left = VecDeque::new();
        for conflict in built.conflicts.into_iter().filter(|conflict| conflict.is_with_branch) {
            let reason = ReleaseReason::Conflict { files: conflict.files };
            left.push_back(self.returned(&conflict.key, attempt(&conflict.key), reason));
        }
        for refused in built.refused {
            let reason = ReleaseReason::Failed { reason: refused.reason };
            left.push_back(self.returned(&refused.key, attempt(&refused.key), reason));
        }
        for key in built.moved_back {
            let reason = ReleaseReason::Asked { reason: Some(MOVED_BACK.to_owned()) };
            left.push_back(self.returned(&key, attempt(&key), reason));
        }
        trees.iter().for_each(|tree| self.remember(tree));
        let attempts = built.merged.iter().map(|merged| attempt(&merged.key)).collect();
        let Group { is_part, red, .. } = *group;
        let batch = Batch { base: built.base, merged: built.merged, is_part, red, attempts };
        self.give_back(left, (!batch.merged.is_empty()).then_some(batch))
    }

    fn check(&mut self, batch: Batch) -> MergeEffect {
        let Some(last) = batch.merged.last() else { return self.look() };
        let (commit, tree) = (last.landed.clone(), last.tree.clone());
        if self.passed.contains(&tree) {
            return self.announce(batch);
        }
        self.to(State::Checking(batch), MergeEffect::Check { commit, tree })
    }

    fn passed(&mut self, batch: Batch) -> MergeEffect {
        if let Some(tree) = batch.merged.last().map(|last| last.tree.clone()) {
            self.remember(&tree);
        }
        self.announce(batch)
    }

    fn failed(&mut self, mut batch: Batch, failures: Vec<String>) -> MergeEffect {
        batch.red += 1;
        match (batch.merged.len(), batch.merged.first(), batch.attempts.first()) {
            (1, Some(culprit), Some(attempt)) if batch.red >= SURE => {
                let back = self.returned(&culprit.key, *attempt, ReleaseReason::Checks { failures });
                self.give_back([back].into(), None)
            }
            (1, ..) => self.check(batch),
            _ if batch.red < SURE && !batch.is_part => self.check(batch),
            _ => {
                let [first, second] = batch.halves();
                self.groups.extend([second, first]);
                self.look()
            }
        }
    }

    pub(super) fn announce(&mut self, batch: Batch) -> MergeEffect {
        let landing = batch.landing(&self.setup.into);
        let change = Mutation::Landing {
            role: self.setup.role,
            into: landing.into,
            old: landing.old,
            new: landing.new,
            claims: batch.claims(),
        };
        self.to(State::Announcing(batch), MergeEffect::Change(change))
    }

    fn announced(&mut self, batch: Batch, changed: Result<(), ClaimRefusal>) -> MergeEffect {
        match changed {
            Ok(()) => {
                let landing = batch.landing(&self.setup.into);
                self.move_on(landing, Some(batch))
            }
            Err(ClaimRefusal::RoleLost) => self.lost(),
            // The others are built without what is gone.
            Err(ClaimRefusal::Void) => {
                self.groups.push(batch.group());
                self.look()
            }
        }
    }

    fn moved(&mut self, landing: UnsettledLanding, own: Option<Batch>, moved: Moved) -> MergeEffect {
        match (moved, own) {
            (Moved::Done, _) => {
                self.settle(Mutation::Land { role: self.setup.role, unchanged: Vec::new() }, None, None)
            }
            // Whoever had the role before may have moved it in this moment, or git did and was said to have failed.
            (Moved::Stale, own) => self.ask(landing, own),
            // Nobody else can move it, and the attempt to is over.
            (Moved::Held { reason }, own) if own.is_some() || self.setup.is_alone => {
                let held = Held { reason: reason.clone() };
                self.withdraw(own, Some(held), &reason)
            }
            // Whoever began it may move the branch once nothing is in the way.
            (Moved::Held { reason }, _) => self.to(State::Waiting(Some(Held { reason })), MergeEffect::Wait),
        }
    }

    fn withdraw(&mut self, again: Option<Batch>, held: Option<Held>, reason: &str) -> MergeEffect {
        let change = Mutation::Drop { role: self.setup.role, reason: reason.to_owned() };
        self.settle(change, again, held)
    }

    fn settle(&mut self, change: Mutation, again: Option<Batch>, held: Option<Held>) -> MergeEffect {
        self.to(State::Settling { again, held }, MergeEffect::Change(change))
    }

    /// Returns the change that gives work back: its task is free again, or blocked where its attempts are
    /// used up.
    fn returned(&self, key: &ClaimKey, attempt: u32, reason: ReleaseReason) -> Mutation {
        let is_last = reason.counts() && self.setup.max_attempts.is_some_and(|max| attempt >= max.get());
        let reason = match is_last {
            true => ReleaseReason::Exhausted { attempts: attempt, last: Box::new(reason) },
            false => reason,
        };
        Mutation::Release { task: key.task.clone().into(), token: key.token, reason, kept: None }
    }

    fn give_back(&mut self, mut left: VecDeque<Mutation>, then: Option<Batch>) -> MergeEffect {
        match (left.pop_front(), then) {
            (Some(change), then) => self.to(State::Returning { left, then }, MergeEffect::Change(change)),
            (None, Some(batch)) => self.check(batch),
            (None, None) => self.look(),
        }
    }

    fn remember(&mut self, tree: &str) {
        if !self.passed.iter().any(|known| known == tree) {
            self.passed.push_back(tree.to_owned());
        }
        if self.passed.len() > MAX_PASSED {
            self.passed.pop_front();
        }
    }
}
