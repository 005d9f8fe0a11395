//! One worker that merges, step by step.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use super::super::{FleetEffect, FleetInput, FleetSetup, FleetWorker, PlanAnswer};
use crate::{
    merge::{Built, MergeEffect, MergeInput},
    model::{Plan, Role, Task, TaskId},
    sched::Overlap,
    state::{Actor, Existing, MemoryStore, Mutation, PlanStore as _},
    testing::VirtualClock,
};

const LEASE: Duration = Duration::from_secs(60);

/// A worker without lanes, beside a plan with work that somebody else has submitted.
struct Merger {
    worker: FleetWorker,
    store: MemoryStore,
    now: Duration,
}

impl Merger {
    fn new() -> Self {
        let store = MemoryStore::new(Arc::new(VirtualClock::new()));
        let tasks = vec![Task::new(TaskId::new("1"), "t")];
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let (task, sha) = (TaskId::new("1"), |digit: &str| digit.repeat(40));
        let claim = Mutation::Claim { task: task.clone().into(), worker: "other".to_owned() };
        let token = store.mutate(claim, Actor::Runtime).unwrap().revision;
        let branch = format!("samuel/run/1-{token}");
        let (commit, base) = (sha("a"), sha("b"));
        let submit = Mutation::Submit { task, token, branch, commit, base, tree: None, iteration: None };
        store.mutate(submit, Actor::Runtime).unwrap();
        let setup = FleetSetup {
            worker: "w".to_owned(),
            lanes: 0,
            lease: LEASE,
            into: Some("main".to_owned()),
            batch: NonZeroUsize::MIN,
            max_attempts: None,
            overlap: Overlap::Wait,
        };
        Self { worker: FleetWorker::new(setup, Duration::ZERO), store, now: Duration::ZERO }
    }

    /// Returns one that has taken the role, with the plan as it was before.
    fn with_the_role() -> (Self, Arc<Plan>) {
        let mut merger = Self::new();
        let before = merger.plan();
        let taken = merger.next(&before);
        let [FleetEffect::Change(claim)] = &taken[..] else { panic!("{taken:?}") };
        merger.change(claim.clone());
        (merger, before)
    }

    fn plan(&self) -> Arc<Plan> {
        self.store.load().unwrap().plan
    }

    fn holds_the_role(&self) -> bool {
        self.plan().claim(&Role::Merge.into()).is_some_and(|claim| claim.worker.is_some())
    }

    fn next(&mut self, plan: &Plan) -> Vec<FleetEffect> {
        let effects = self.worker.next(self.now, plan);
        effects.into_iter().filter(|effect| *effect != FleetEffect::Beat).collect()
    }

    /// Makes the changes that are wanted until nothing else is, and returns what is to be done beside the plan.
    fn turn(&mut self) -> Vec<FleetEffect> {
        let mut others = Vec::new();
        for _ in 0..20 {
            let effects = self.next(&self.plan());
            if effects.is_empty() {
                return others;
            }
            for effect in effects {
                match effect {
                    FleetEffect::Change(change) => self.change(change),
                    other => others.push(other),
                }
            }
        }
        panic!("it wants more and more: {others:?}");
    }

    fn change(&mut self, change: Mutation) {
        let answer = PlanAnswer::of(&self.store.mutate(change, Actor::Runtime)).unwrap();
        self.worker.input(self.now, FleetInput::Changed(answer));
    }

    fn answer(&mut self, role: u64, input: MergeInput) {
        self.worker.input(self.now, FleetInput::Merged { role, input });
    }

    /// Goes on until a batch is to be built, and returns the token of the role.
    fn builds(&mut self) -> u64 {
        match self.turn()[..] {
            [FleetEffect::Merge { role, effect: MergeEffect::Build { .. } }] => role,
            ref other => panic!("{other:?}"),
        }
    }
}

#[test]
fn who_drains_ends_what_is_being_merged_and_gives_the_role_back() {
    let mut merger = Merger::new();
    let role = merger.builds();
    merger.worker.input(merger.now, FleetInput::Drain);
    assert_eq!(merger.turn(), []);
    assert!(!merger.worker.is_over(), "a batch is being built");
    merger.answer(role, MergeInput::Built(Built::default()));
    assert_eq!(merger.turn(), []);
    assert_eq!((merger.worker.is_over(), merger.holds_the_role()), (true, false));
}

#[test]
fn who_drains_while_there_is_nothing_to_merge_gives_the_role_back() {
    let mut merger = Merger::new();
    let role = merger.builds();
    merger.store.mutate(Mutation::Skip { id: TaskId::new("1"), reason: None }, Actor::User).unwrap();
    merger.answer(role, MergeInput::Built(Built::default()));
    assert_eq!(merger.turn(), [], "it waits");
    assert!(merger.holds_the_role());
    merger.worker.input(merger.now, FleetInput::Drain);
    let release = merger.next(&merger.plan());
    let [FleetEffect::Change(release)] = &release[..] else { panic!("{release:?}") };
    // Nobody knows whether it was released, so it is not over yet.
    merger.worker.input(merger.now, FleetInput::Changed(PlanAnswer::Unknown));
    assert!(!merger.worker.is_over());
    assert_eq!(merger.next(&merger.plan()), [FleetEffect::Change(release.clone())]);
    merger.change(release.clone());
    assert_eq!(merger.turn(), []);
    assert_eq!((merger.worker.is_over(), merger.holds_the_role()), (true, false));
}

#[test]
fn who_cannot_merge_says_why_and_tries_again_after_a_lease() {
    let mut merger = Merger::new();
    let (mut told, leases) = (0, 5);
    let records = |merger: &Merger| merger.store.journal_since(0).unwrap().records.len();
    let before = records(&merger);
    for quarter in 0..leases * 4 {
        merger.now = LEASE / 4 * quarter;
        let mut effects = merger.turn();
        while let Some(effect) = effects.pop() {
            match effect {
                FleetEffect::Merge { role, .. } => {
                    let reason = "the disk is full".to_owned();
                    merger.answer(role, MergeInput::Failed { reason });
                    effects.extend(merger.turn());
                    assert!(!merger.holds_the_role(), "others may try");
                }
                FleetEffect::MergeEnded { reason, .. } => {
                    assert_eq!(reason, "the disk is full");
                    told += 1;
                    assert!(told <= leases, "it tries again and again");
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(told, leases, "once a lease");
    assert_eq!(records(&merger) - before, 2 * leases as usize, "the role is taken and given back");
}

#[test]
fn a_plan_that_was_read_before_the_role_was_taken_takes_it_from_nobody() {
    let (mut merger, before) = Merger::with_the_role();
    assert_eq!(merger.next(&before), []);
    merger.worker.input(merger.now, FleetInput::Drain);
    assert_eq!(merger.next(&before), []);
    assert!(!merger.worker.is_over(), "it has the role");
    assert_eq!(merger.turn(), []);
    assert_eq!((merger.worker.is_over(), merger.holds_the_role()), (true, false));
    let (mut other, before) = Merger::with_the_role();
    assert_eq!(other.next(&before), []);
    other.builds();
}
