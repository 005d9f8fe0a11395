//! A world for the machine: a plan that the real [`apply`] changes, a branch, checks, workers, and
//! somebody else who pushes.
//!
//! [`World::run`] drives a machine as a driver would, through JSON after each step, and kills it
//! where it is told to. After every step it holds what must always hold.

use std::{
    collections::{HashMap, HashSet},
    num::{NonZeroU32, NonZeroUsize},
};

use jiff::Timestamp;

use super::super::*;
use crate::{
    model::{ClaimPhase, ClaimTarget, Plan, ReleaseReason, Role, Status, Task, TaskId},
    state::{Mutation, StateError, TaskChange, apply},
    testing::Seeded,
};

/// How many attempts a task has.
pub(super) const MAX_ATTEMPTS: u32 = 3;
/// How many steps a run may take before it counts as endless.
const MAX_STEPS: usize = 3_000;

/// A driver that is wrong, which the campaign must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    None,
    /// What is about to land is not written down.
    NoLanding,
    /// A landing has landed only where the branch is at its commit.
    Equality,
    /// The token of a claim is not compared.
    NoToken,
    /// A batch is landed whatever the checks say.
    NoCheck,
    /// What was stale when it was to be moved has not landed, and nobody asks.
    StaleIsLost,
    /// A landing that was cut off is given up where the branch is as before.
    GivesUp,
    /// The branches of what is about to land are removed, and not those of what has landed.
    BranchFirst,
}

/// What a task's work is like.
#[derive(Clone, Debug, Default)]
pub(super) struct Nature {
    /// The attempts, from 1, with which the checks fail.
    pub(super) bad: HashSet<u32>,
    /// The tasks that it is in conflict with where it did not begin on them.
    pub(super) conflicts: HashSet<usize>,
    /// The tasks with which the checks fail where neither began on the other.
    pub(super) clashes: HashSet<usize>,
}

/// Work of a task as it was submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Work {
    task: usize,
    token: u64,
    attempt: u32,
    /// The tasks whose work it began on.
    knows: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Commit {
    parent: Option<String>,
    /// What it adds to its parent; nothing of what somebody else pushed.
    adds: Option<Work>,
}

pub(super) struct World {
    pub(super) plan: Plan,
    natures: Vec<Nature>,
    commits: HashMap<String, Commit>,
    pub(super) head: String,
    submitted: HashMap<String, Work>,
    /// The commits that a branch of a task is at.
    branches: HashSet<String>,
    mutant: Mutant,
    random: Seeded,
    /// How likely it is, in percent, that a step is the last of its process, and that others meddle.
    pub(super) crashes: u64,
    pub(super) meddling: u64,
    /// Whether whoever had the role before is gone, as with the lock of a loop.
    pub(super) is_alone: bool,
    pub(super) checks: usize,
    pub(super) kills: usize,
    pub(super) late: usize,
    role: u64,
    /// What mergers were about to move that have stalled, and not found out that they lost the role.
    stalled: Vec<UnsettledLanding>,
    was_stale: bool,
    pending_landing: Option<Mutation>,
}

impl World {
    pub(super) fn new(natures: Vec<Nature>, seed: u64, mutant: Mutant) -> Self {
        let task = |number: usize| Task::new(TaskId::new((number + 1).to_string()), "t");
        let tasks = (0..natures.len()).map(task).collect();
        let root = Commit { parent: None, adds: None };
        let head = "00000000".to_owned();
        Self {
            plan: Plan { tasks, revision: 1, ..Plan::default() },
            natures,
            commits: HashMap::from([(head.clone(), root)]),
            head,
            submitted: HashMap::new(),
            branches: HashSet::new(),
            mutant,
            random: Seeded::new(seed),
            crashes: 0,
            meddling: 0,
            is_alone: false,
            checks: 0,
            kills: 0,
            late: 0,
            role: 0,
            stalled: Vec::new(),
            was_stale: false,
            pending_landing: None,
        }
    }

    fn id(task: usize) -> TaskId {
        TaskId::new((task + 1).to_string())
    }

    fn change(&mut self, mutation: &Mutation) -> Result<TaskChange, StateError> {
        let now = Timestamp::from_second(self.plan.revision.try_into().unwrap()).unwrap();
        let change = apply(&mut self.plan, mutation, now)?;
        self.plan.revision += u64::from(change != TaskChange::Unchanged);
        Ok(change)
    }

    fn commit(&mut self, parent: &str, adds: Option<Work>) -> String {
        let id = format!("{:08x}", self.commits.len());
        self.commits.insert(id.clone(), Commit { parent: Some(parent.to_owned()), adds });
        id
    }

    /// Returns the commits of a line, from a head to the root.
    fn line(&self, head: &str) -> Vec<String> {
        let parent = |id: &String| self.commits.get(id).and_then(|commit| commit.parent.clone());
        std::iter::successors(Some(head.to_owned()), parent).collect()
    }

    fn works(&self, head: &str) -> Vec<Work> {
        self.line(head).iter().filter_map(|id| self.commits[id].adds.clone()).collect()
    }

    /// Says whether the checks fail with some works.
    fn is_red(&self, works: &[Work]) -> bool {
        let knows = |one: &Work, other: &Work| one.knows.contains(&other.task);
        works.iter().any(|work| {
            let nature = &self.natures[work.task];
            let clashes = |other: &Work| {
                nature.clashes.contains(&other.task) && !knows(work, other) && !knows(other, work)
            };
            nature.bad.contains(&work.attempt) || works.iter().any(clashes)
        })
    }

    fn in_conflict(&self, work: &Work, with: &[Work]) -> Vec<String> {
        let clash = |other: &&Work| {
            let theirs = self.natures[other.task].conflicts.contains(&work.task);
            let is_conflict = theirs || self.natures[work.task].conflicts.contains(&other.task);
            other.task != work.task && is_conflict && !work.knows.contains(&other.task)
        };
        with.iter().filter(clash).map(|other| format!("{}.rs", other.task + 1)).collect()
    }

    /// Has workers submit what is pending, some of it or all.
    fn work(&mut self, percent: u64) -> bool {
        let mut has_worked = false;
        for task in 0..self.natures.len() {
            let id = Self::id(task);
            if self.plan.task(&id).unwrap().status != Status::Pending || !self.random.chance(percent) {
                continue;
            }
            let target = ClaimTarget::Task(id.clone());
            let is_used_up = self.plan.claim(&target).is_some_and(|claim| claim.attempt >= MAX_ATTEMPTS);
            assert!(!is_used_up, "task {id} is pending and has no attempt left");
            let knows = self.works(&self.head.clone()).iter().map(|work| work.task).collect();
            self.change(&Mutation::Claim { task: target.clone(), worker: "lane".to_owned() }).unwrap();
            let claim = self.plan.claim(&target).unwrap();
            let (token, attempt) = (claim.token, claim.attempt);
            let commit = format!("abc{:05x}", self.submitted.len());
            self.submitted.insert(commit.clone(), Work { task, token, attempt, knows });
            self.branches.insert(commit.clone());
            let (branch, base) = (format!("samuel/run/{id}-{token}"), self.head.clone());
            self.change(&Mutation::Submit {
                task: id,
                token,
                branch,
                commit,
                base,
                tree: None,
                iteration: None,
            })
            .unwrap();
            has_worked = true;
        }
        has_worked
    }

    /// Has others do something meanwhile: push, release a task, or submit another one.
    fn meddle(&mut self) {
        match self.random.below(3) {
            0 => {
                let head = self.head.clone();
                self.head = self.commit(&head, None);
            }
            1 => {
                let place = self.random.below(self.natures.len() as u64);
                let of = ClaimTarget::Task(Self::id(usize::try_from(place).unwrap()));
                if let Ok(release) = Mutation::release(&self.plan, &of, ReleaseReason::Asked { reason: None })
                {
                    // One that is being landed is refused.
                    let _ = self.change(&release);
                }
                self.work(50);
            }
            _ => drop(self.work(30)),
        }
    }

    fn begin(&mut self) -> MergeMachine {
        let claim = Mutation::Claim { task: Role::Merge.into(), worker: "merger".to_owned() };
        self.change(&claim).unwrap();
        self.role = self.plan.claim(&Role::Merge.into()).unwrap().token;
        MergeMachine::new(MergeSetup {
            role: self.role,
            into: "main".to_owned(),
            batch: NonZeroUsize::new(4).unwrap(),
            max_attempts: NonZeroU32::new(MAX_ATTEMPTS),
            is_alone: self.is_alone,
        })
    }

    /// The process is killed, and another one takes the role.
    fn killed(&mut self, machine: MergeMachine) -> MergeMachine {
        self.kills += 1;
        self.pending_landing = None;
        let (task, token) = (Role::Merge.into(), self.role);
        self.change(&Mutation::Release { task, token, reason: ReleaseReason::Lost, kept: None }).unwrap();
        if self.random.chance(30) {
            self.meddle();
        }
        let new = self.begin();
        match self.random.chance(50) {
            true => machine.resumed(self.role),
            false => new,
        }
    }

    /// Somebody who stalled goes on where it was, which is with the move of a branch.
    fn goes_on(&mut self) -> Result<(), String> {
        let Some(landing) = self.stalled.pop() else { return Ok(()) };
        if self.moved(&landing)? {
            self.late += 1;
        }
        Ok(())
    }

    /// Moves the branch by compare-and-set, and says whether it did.
    fn moved(&mut self, landing: &UnsettledLanding) -> Result<bool, String> {
        if self.head != landing.old {
            return Ok(false);
        }
        self.head.clone_from(&landing.new);
        match self.is_red(&self.works(&self.head.clone())) {
            true => Err(format!("{} landed and its checks fail", self.head)),
            false => Ok(true),
        }
    }

    /// Drives machines until nothing is left to do.
    ///
    /// Returns what does not hold.
    pub(super) fn run(&mut self) -> Result<(), String> {
        self.work(100);
        let mut machine = self.begin();
        let mut input = MergeInput::Wake;
        for _ in 0..MAX_STEPS {
            let effect = machine.step(input);
            let json = serde_json::to_string(&machine).unwrap();
            assert_eq!(serde_json::from_str::<MergeMachine>(&json).unwrap(), machine);
            if self.random.chance(self.meddling) {
                self.meddle();
            }
            if self.random.chance(25) {
                self.goes_on()?;
                self.holds()?;
            }
            // Somebody may have submitted something after the machine looked.
            if effect == MergeEffect::Wait && !self.work(100) && Queue::of(&self.plan) == Queue::default() {
                while !self.stalled.is_empty() {
                    self.goes_on()?;
                }
                return self.holds_at_the_end();
            }
            let (before, after) = (self.random.chance(self.crashes), self.random.chance(self.crashes));
            if before {
                if let MergeEffect::Move(landing) = effect
                    && self.random.chance(50)
                    && !self.is_alone
                {
                    self.stalled.push(landing);
                }
                machine = self.killed(machine);
                input = MergeInput::Wake;
                continue;
            }
            input = self.carry_out(effect)?;
            self.holds()?;
            if after {
                machine = self.killed(machine);
                input = MergeInput::Wake;
            }
        }
        Err("it does not end".to_owned())
    }

    fn carry_out(&mut self, effect: MergeEffect) -> Result<MergeInput, String> {
        Ok(match effect {
            MergeEffect::Look => MergeInput::Queue(Queue::of(&self.plan)),
            MergeEffect::Build { submissions, .. } => MergeInput::Built(self.build(&submissions)),
            MergeEffect::Check { commit, .. } => {
                self.checks += 1;
                let is_red = self.is_red(&self.works(&commit)) && self.mutant != Mutant::NoCheck;
                MergeInput::Checked(if is_red { vec!["tests failed".to_owned()] } else { Vec::new() })
            }
            MergeEffect::Change(mutation) => MergeInput::Changed(self.changed(mutation)),
            MergeEffect::Move(_) if self.random.chance(self.crashes / 2) => {
                MergeInput::Moved(Moved::Held { reason: "a file is in the way".to_owned() })
            }
            MergeEffect::Move(landing) => {
                // git may be said to have failed once it has done it.
                let is_told = self.moved(&landing)? && !self.random.chance(self.crashes / 2);
                self.was_stale = !is_told;
                MergeInput::Moved(if is_told { Moved::Done } else { Moved::Stale })
            }
            MergeEffect::Try(_) if self.random.chance(50) => {
                MergeInput::Way(LandingWay::Held { reason: "a file is in the way".to_owned() })
            }
            MergeEffect::Try(landing) => MergeInput::Way(match self.head == landing.old {
                true => LandingWay::Free,
                false => LandingWay::Stale,
            }),
            MergeEffect::Ask(_) if self.mutant == Mutant::StaleIsLost && self.was_stale => {
                self.was_stale = false;
                MergeInput::Stands(BranchStanding::Elsewhere)
            }
            MergeEffect::Ask(UnsettledLanding { old, new, .. }) => {
                let has_landed = match self.mutant {
                    Mutant::Equality => self.head == new,
                    _ => self.line(&self.head).contains(&new),
                };
                MergeInput::Stands(match has_landed {
                    true => BranchStanding::Landed,
                    false if self.head == old && self.mutant != Mutant::GivesUp => BranchStanding::Untouched,
                    false => BranchStanding::Elsewhere,
                })
            }
            MergeEffect::Wait => MergeInput::Wake,
            MergeEffect::End { reason } => return Err(reason),
        })
    }

    fn build(&mut self, submissions: &[Submission]) -> Built {
        let base = self.head.clone();
        let mut built = Built { base: base.clone(), ..Built::default() };
        let mut at = base;
        for Submission { key, commit, .. } in submissions {
            let work = self.submitted[commit].clone();
            let files = self.in_conflict(&work, &self.works(&at));
            if !files.is_empty() {
                let is_with_branch = !self.in_conflict(&work, &self.works(&built.base)).is_empty();
                built.conflicts.push(Conflict { key: key.clone(), files, is_with_branch });
                continue;
            }
            at = self.commit(&at, Some(work));
            let (landed, tree) = (at.clone(), format!("tree {at}"));
            built.merged.push(MergedWork { key: key.clone(), commit: commit.clone(), landed, tree });
        }
        built
    }

    fn changed(&mut self, mutation: Mutation) -> Result<(), ClaimRefusal> {
        let mutation = match (self.mutant, mutation) {
            (Mutant::NoLanding, landing @ Mutation::Landing { .. }) => {
                self.pending_landing = Some(landing);
                return Ok(());
            }
            (Mutant::NoLanding, land @ Mutation::Land { .. }) => {
                if let Some(landing) = self.pending_landing.take() {
                    let _ = self.change(&landing);
                }
                land
            }
            (Mutant::NoToken, Mutation::Landing { role, into, old, new, mut claims }) => {
                for claim in &mut claims {
                    if let Some(now) = self.plan.claim(&claim.task.clone().into()) {
                        claim.token = now.token;
                        claim.commit = now.commit.clone().unwrap_or_default();
                    }
                }
                Mutation::Landing { role, into, old, new, claims }
            }
            (_, mutation) => mutation,
        };
        let before = self.landing();
        self.change(&mutation)
            .map_err(|error| ClaimRefusal::of(&error).unwrap_or_else(|| panic!("{error}")))?;
        let removed = match (&mutation, self.mutant) {
            (Mutation::Landing { .. }, Mutant::BranchFirst) => self.landing(),
            (Mutation::Land { .. }, _) => before,
            _ => Vec::new(),
        };
        self.branches.retain(|commit| !removed.contains(commit));
        Ok(())
    }

    /// Returns the commits that were submitted and are being landed.
    fn landing(&self) -> Vec<String> {
        let landing = self.plan.claimed_tasks().filter(|(_, claim)| claim.is_landing());
        landing.filter_map(|(_, claim)| claim.commit.clone()).collect()
    }

    /// What must always hold.
    fn holds(&self) -> Result<(), String> {
        let works = self.works(&self.head);
        let line = self.line(&self.head);
        for (task, tokens) in tokens_by_task(&works) {
            if tokens.len() > 1 {
                return Err(format!("task {} landed by {tokens:?}", task + 1));
            }
        }
        let is_kept =
            |(commit, work): &(&String, &Work)| self.branches.contains(*commit) || works.contains(work);
        if let Some((commit, _)) = self.submitted.iter().find(|submitted| !is_kept(submitted)) {
            return Err(format!("{commit} is on no branch"));
        }
        for task in self.plan.tasks.iter().filter(|task| task.status == Status::Completed) {
            let commit = task.commit_sha.as_ref().ok_or("completed without a commit")?;
            if !line.contains(commit) {
                return Err(format!("task {} is completed and {commit} has not landed", task.id));
            }
        }
        Ok(())
    }

    /// Returns with how many others a task clashes: each costs it one attempt at most. A conflict costs none.
    fn partners(&self, task: usize) -> usize {
        let of = |nature: &Nature, other: usize| usize::from(nature.clashes.contains(&other));
        let all = self.natures.iter().enumerate();
        all.map(|(other, nature)| of(nature, task) + of(&self.natures[task], other)).sum()
    }

    /// What must hold once nothing is left to do: nothing is lost, and what is no fault of its own landed.
    fn holds_at_the_end(&self) -> Result<(), String> {
        self.holds()?;
        let landed = tokens_by_task(&self.works(&self.head));
        for (place, nature) in self.natures.iter().enumerate() {
            let task = self.plan.task(&Self::id(place)).unwrap();
            let is_hopeless = (1..=MAX_ATTEMPTS).all(|attempt| nature.bad.contains(&attempt));
            match task.status {
                Status::Completed if !landed.contains_key(&place) => {
                    return Err(format!("task {} is completed and lost", task.id));
                }
                Status::Completed if is_hopeless => return Err(format!("task {} fails and landed", task.id)),
                Status::Completed => {}
                Status::Blocked if nature.bad.len() + self.partners(place) >= MAX_ATTEMPTS as usize => {}
                status => return Err(format!("task {} is {status} in the end", task.id)),
            }
            if task.status != Status::Completed && landed.contains_key(&place) {
                return Err(format!("task {} landed and is {}", task.id, task.status));
            }
        }
        // What landed is what was submitted last.
        let tokens: HashMap<usize, u64> = self.submitted.values().fold(HashMap::new(), |mut last, work| {
            let token = last.entry(work.task).or_default();
            *token = work.token.max(*token);
            last
        });
        for (task, landed) in landed {
            if landed != [tokens[&task]] {
                return Err(format!("task {} landed by {landed:?}, an attempt that was void", task + 1));
            }
        }
        let left = self
            .plan
            .claims
            .iter()
            .find(|claim| claim.phase != ClaimPhase::Released && claim.task.task().is_some());
        left.map_or(Ok(()), |claim| Err(format!("{} is still claimed", claim.task)))
    }
}

fn tokens_by_task(works: &[Work]) -> HashMap<usize, Vec<u64>> {
    works.iter().fold(HashMap::new(), |mut all, work| {
        all.entry(work.task).or_insert_with(Vec::new).push(work.token);
        all
    })
}
