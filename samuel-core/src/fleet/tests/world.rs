//! The world of a fleet: a log, a repository, and processes that are killed, stopped and cut off.
//!
//! [`World::run`] plays one plan to its end. After every step a [`referee`], who reads what the log really has, holds what
//! must always hold.

mod referee;

use std::collections::{HashMap, HashSet};

use super::{
    super::{AgentWork, FleetEffect, FleetInput, HeldTask, PlanAnswer, Rule},
    process::{LEASE, Mode, Process, TICK, at},
    remote::{Made, Remote},
};
use crate::{
    merge::{MergeEffect, MergeInput, UnsettledLanding},
    model::{Plan, Status, Task, TaskId},
    state::{
        Actor, Applied, Existing, FoldRule, LogFold, LogMirror, LogOutcome, LogSetup, LogStore,
        PlanStore as _, StateError,
    },
    testing::{LogFaults, MemoryLog, Seeded, VirtualClock},
};

/// For how long there are faults.
const FAULTY: u64 = 150;
/// By when a plan has ended.
const END: u64 = 900;
/// How long a change is offered before its worker goes on without knowing.
const PATIENCE: u64 = 40;

/// A fleet that is wrong, which the campaign must catch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mutant {
    None,
    /// The fold compares no tokens.
    NoToken,
    /// Whoever was stopped judges at once.
    NoRest,
    /// The plan says that work is done before it can be fetched.
    SubmitFirst,
    /// The branch is moved from wherever it is.
    NoCompare,
    /// What is said of a copy is taken for what the first one came to.
    RepeatedTells,
    /// Nobody looks for claims in its own name.
    NoAudit,
}

/// What happened in a plan, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) tasks: u64,
    pub(super) records: u64,
    pub(super) runs: u64,
    pub(super) kills: u64,
    pub(super) stops: u64,
    pub(super) cuts: u64,
    pub(super) lost: u64,
    pub(super) drained: u64,
    pub(super) failed: u64,
    pub(super) ticks: u64,
}

/// What happens at a moment whether or not a process is there to hear of it.
enum Event {
    /// A push of work ends.
    Pushed { process: usize, lane: usize, token: u64, commit: String },
    /// A push of the branch ends.
    Moved { process: usize, role: u64, landing: UnsettledLanding },
}

pub(super) struct World {
    mutant: Mutant,
    random: Seeded,
    clock: VirtualClock,
    now: u64,
    log: MemoryLog,
    remote: Remote,
    processes: Vec<Process>,
    events: Vec<(u64, Event)>,
    referee: LogFold,
    read: u64,
    /// What each record really came to: the revision of the plan, where it took effect.
    truth: HashMap<(String, u64), Option<u64>>,
    completed: HashSet<TaskId>,
    /// What was looked at last: the number of a record, and the head of the branch.
    held: (u64, String),
    attempts: HashMap<TaskId, u32>,
    pub(super) totals: Totals,
}

impl World {
    pub(super) fn new(seed: u64, mutant: Mutant) -> Self {
        Rule::leave_out(match mutant {
            Mutant::NoRest => Some(Rule::Rest),
            Mutant::SubmitFirst => Some(Rule::PushFirst),
            Mutant::NoAudit => Some(Rule::Audit),
            _ => None,
        });
        let mut random = Seeded::new(seed);
        let rule = match mutant {
            Mutant::NoToken => FoldRule::NoToken,
            Mutant::RepeatedTells => FoldRule::RepeatedTells,
            _ => FoldRule::All,
        };
        let (clock, log) = (VirtualClock::new(), MemoryLog::with_faults(seed ^ 0x10f, LogFaults::default()));
        let tasks = 2 + random.below(4);
        import(&log, &clock, tasks);
        let level = random.below(3) * 6;
        log.set_faults(LogFaults {
            lost_acks: level,
            lost: level / 2,
            twice: level,
            delayed: level,
            gaps: level,
        });
        let processes = 2 + usize::try_from(random.below(2)).unwrap_or_default();
        let processes = (0..processes).map(|number| Process::new(number, &log, &clock, rule)).collect();
        let mut remote = Remote::new();
        remote.compares = mutant != Mutant::NoCompare;
        // A copy that tells changes no plan.
        let referee = match rule {
            FoldRule::NoToken => LogFold::new("p").with_rule(rule),
            _ => LogFold::new("p"),
        };
        Self {
            mutant,
            random,
            clock,
            now: 0,
            log,
            remote,
            processes,
            events: Vec::new(),
            referee,
            read: 0,
            truth: HashMap::new(),
            completed: HashSet::new(),
            held: (0, String::new()),
            attempts: HashMap::new(),
            totals: Totals { tasks, ..Totals::default() },
        }
    }

    /// Plays the plan to its end, and returns what does not hold.
    pub(super) fn run(&mut self) -> Result<(), String> {
        while self.now < END {
            self.now += 1;
            self.clock.advance(TICK);
            match self.now {
                now if now < FAULTY => self.meddle(),
                FAULTY => self.heal(),
                _ => {}
            }
            self.happen()?;
            let first = usize::try_from(self.random.below(self.processes.len() as u64)).unwrap_or_default();
            for place in 0..self.processes.len() {
                self.turn((first + place) % self.processes.len())?;
            }
            self.judge()?;
            if self.is_over() {
                self.totals.records = self.log.records().len() as u64;
                self.totals.ticks = self.now;
                return Ok(());
            }
        }
        Err(format!("the plan does not end: {}", self.standing()))
    }

    fn standing(&self) -> String {
        let plan = self.referee.plan().expect("it was imported");
        let tasks: Vec<String> =
            plan.tasks.iter().map(|task| format!("{} {}", task.id, task.status)).collect();
        let claims = plan
            .claims
            .iter()
            .map(|claim| format!("{} {} {} {:?}", claim.task, claim.token, claim.phase, claim.worker));
        let drain = self.processes.iter().filter(|process| process.drains).map(|process| &*process.name);
        let (claims, drain): (Vec<_>, Vec<_>) = (claims.collect(), drain.collect());
        format!("{}; {}; {drain:?} drain", tasks.join(", "), claims.join(", "))
    }

    /// Has the world be bad to somebody.
    fn meddle(&mut self) {
        let (now, random) = (self.now, &mut self.random);
        if random.chance(1) {
            self.remote.meddle();
        }
        for process in &mut self.processes {
            if process.mode != Mode::Up {
                continue;
            }
            match random.below(300) {
                // A moment, within which nobody takes it for dead, or longer than a lease.
                0..3 => {
                    let until = now + [2, 4, 30][usize::try_from(random.below(3)).unwrap_or_default()];
                    process.kill(now, until);
                    self.totals.kills += 1;
                }
                3..6 => {
                    let until = now + 3 + random.below(2 * LEASE);
                    process.mode = Mode::Stopped(until);
                    process.outages.push((now, until));
                    self.totals.stops += 1;
                }
                6..9 if !process.is_cut_off(now) => {
                    process.cut = now + 2 + random.below(2 * LEASE);
                    process.client.cut_off(true);
                    process.outages.push((now, process.cut));
                    self.totals.cuts += 1;
                }
                9..11 if !process.drains => {
                    process.drains = true;
                    process.worker.input(at(now), FleetInput::Drain);
                }
                _ => {}
            }
        }
    }

    /// Nothing fails any more.
    fn heal(&mut self) {
        self.log.set_faults(LogFaults::default());
        self.log.deliver();
    }

    /// What happens by itself.
    fn happen(&mut self) -> Result<(), String> {
        for process in &mut self.processes {
            if process.cut == self.now {
                process.client.cut_off(false);
            }
            match process.mode {
                Mode::Down(until) if until <= self.now => process.start(self.now, &self.clock),
                Mode::Stopped(until) if until <= self.now => process.mode = Mode::Up,
                _ => {}
            }
        }
        let (due, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.events).into_iter().partition(|(moment, _)| *moment <= self.now);
        self.events = later;
        for (_, event) in due {
            match event {
                Event::Pushed { process, lane, token, commit } => {
                    if self.processes[process].is_cut_off(self.now) {
                        let again = Event::Pushed { process, lane, token, commit };
                        self.events.push((self.now + 3, again));
                        continue;
                    }
                    self.remote.push(&commit);
                    self.tell(process, 0, FleetInput::Pushed { lane, token, failed: None });
                }
                Event::Moved { process, role, landing } => {
                    let moved = self.remote.advance(&landing);
                    self.tell(process, 1, FleetInput::Merged { role, input: MergeInput::Moved(moved) });
                }
            }
        }
        Ok(())
    }

    /// Has a process know something, unless it is dead.
    fn tell(&mut self, process: usize, after: u64, input: FleetInput) {
        let process = &mut self.processes[process];
        if !matches!(process.mode, Mode::Down(_)) {
            process.inbox.push((self.now + after, input));
        }
    }

    /// Has a process do what is due.
    fn turn(&mut self, place: usize) -> Result<(), String> {
        let (now, log) = (self.now, self.log.head_number());
        let process = &mut self.processes[place];
        let is_due = process.inbox.iter().any(|(moment, _)| *moment <= now);
        let must = is_due || process.changing.is_some() || process.seen != log || process.next_turn <= now;
        if process.mode != Mode::Up || !must {
            return Ok(());
        }
        (process.seen, process.next_turn) = (log, now + LEASE / 4);
        let (due, later) =
            std::mem::take(&mut process.inbox).into_iter().partition(|(moment, _)| *moment <= now);
        process.inbox = later;
        let due: Vec<(u64, FleetInput)> = due;
        // What waited while it was stopped is heard after it looked.
        if let Some(plan) = process.store.folded() {
            let effects = process.worker.next(at(now), &plan);
            self.carry_out(place, effects)?;
        }
        for (_, input) in due {
            self.processes[place].worker.input(at(now), input);
        }
        self.settle_change(place)?;
        self.act(place)?;
        let process = &mut self.processes[place];
        if process.drains && process.mode == Mode::Up && process.worker.is_over() {
            let until = now + 1 + self.random.below(2 * LEASE);
            process.kill(now, until);
            self.totals.drained += 1;
        }
        Ok(())
    }

    /// Has a process look at the plan, and do what follows: one after the other, a change and what follows from it.
    fn act(&mut self, place: usize) -> Result<(), String> {
        let now = self.now;
        for _ in 0..20 {
            let process = &mut self.processes[place];
            if process.mode != Mode::Up {
                return Ok(());
            }
            let loaded = process.store.read_on();
            if loaded.is_err() {
                process.worker.input(at(now), FleetInput::OutOfTouch);
            }
            let Some(plan) = process.store.folded() else { return Ok(()) };
            let effects = process.worker.next(at(now), &plan);
            if effects.is_empty() {
                return Ok(());
            }
            self.carry_out(place, effects)?;
        }
        Ok(())
    }

    /// Offers a change again of which nobody knows.
    fn settle_change(&mut self, place: usize) -> Result<(), String> {
        let process = &mut self.processes[place];
        let Some(since) = process.changing else { return Ok(()) };
        let answer = match process.store.retry() {
            Ok(Some(LogOutcome::Applied(applied))) => Ok(*applied),
            Ok(_) => return Err("a change came to something else".to_owned()),
            Err(error) => Err(error),
        };
        if PlanAnswer::of(&answer).is_none() && self.now - since > PATIENCE {
            process.changing = None;
            process.worker.input(at(self.now), FleetInput::Changed(PlanAnswer::Unknown));
            return Ok(());
        }
        self.answered(place, &answer, since)
    }

    fn answered(
        &mut self,
        place: usize,
        answer: &Result<Applied, StateError>,
        since: u64,
    ) -> Result<(), String> {
        let process = &mut self.processes[place];
        match PlanAnswer::of(answer) {
            Some(told) => {
                process.changing = None;
                process.worker.input(at(self.now), FleetInput::Changed(told));
                let own = process.store.last_own();
                self.holds_truth(&own, answer)
            }
            None => {
                let is_transient = matches!(answer, Err(StateError::Log(error)) if error.is_transient());
                process.changing = Some(since);
                process.worker.input(at(self.now), FleetInput::OutOfTouch);
                if is_transient { Ok(()) } else { Err(format!("{answer:?}")) }
            }
        }
    }

    /// Holds what a worker was told against what the log has.
    fn holds_truth(
        &mut self,
        own: &(String, u64),
        answer: &Result<Applied, StateError>,
    ) -> Result<(), String> {
        self.judge()?;
        let told = answer.as_ref().ok().map(|applied| applied.revision);
        match self.truth.get(own) {
            Some(truth) if *truth == told => Ok(()),
            truth => Err(format!("{own:?} was told {answer:?}, and the log has {truth:?}")),
        }
    }

    fn carry_out(&mut self, place: usize, effects: Vec<FleetEffect>) -> Result<(), String> {
        for effect in effects {
            if self.processes[place].mode != Mode::Up {
                return Ok(());
            }
            let is_faulty = self.now < FAULTY;
            if is_faulty && self.random.chance(1) {
                self.totals.kills += 1;
                let until = self.now + 1 + self.random.below(3);
                self.processes[place].kill(self.now, until);
                return Ok(());
            }
            self.carry_out_one(place, effect)?;
            if is_faulty && self.random.chance(1) {
                self.totals.kills += 1;
                let until = self.now + 1 + self.random.below(3);
                self.processes[place].kill(self.now, until);
                return Ok(());
            }
        }
        Ok(())
    }

    fn carry_out_one(&mut self, place: usize, effect: FleetEffect) -> Result<(), String> {
        match effect {
            FleetEffect::Beat => self.beat(place),
            FleetEffect::Change(change) => {
                let answer = self.processes[place].store.mutate(change, Actor::Runtime);
                self.answered(place, &answer, self.now)?;
            }
            FleetEffect::Work { lane, work } => self.work(place, lane, work),
            FleetEffect::Push { lane, work, made } => {
                let moment = self.now + 1 + self.random.below(3);
                let (token, commit) = (work.token, made.commit);
                self.events.push((moment, Event::Pushed { process: place, lane, token, commit }));
            }
            FleetEffect::Stop { lane, work } => {
                self.processes[place].inbox.retain(
                    |(_, input)| !matches!(input, FleetInput::Worked { token, .. } if *token == work.token),
                );
                self.tell(place, 1, FleetInput::Stopped { lane, token: work.token });
            }
            FleetEffect::MergeEnded { .. } => {}
            FleetEffect::Merge { role, effect } => self.merge(place, role, effect)?,
        }
        Ok(())
    }

    fn beat(&mut self, place: usize) {
        if self.processes[place].is_cut_off(self.now) {
            return;
        }
        let worker = self.processes[place].name.clone();
        for other in 0..self.processes.len() {
            let hearer = &self.processes[other];
            // What is sent to somebody who is stopped waits, or is dropped.
            let is_lost = matches!(hearer.mode, Mode::Stopped(_)) && self.random.chance(80);
            if !hearer.is_cut_off(self.now) && !is_lost {
                let after = self.random.below(2);
                self.tell(other, after, FleetInput::Heard { worker: worker.clone() });
            }
        }
    }

    fn work(&mut self, place: usize, lane: usize, HeldTask { task, token }: HeldTask) {
        self.totals.runs += 1;
        let attempt = self.attempts.entry(task.clone()).or_default();
        *attempt += 1;
        let is_bad = *attempt == 1 && self.random.chance(8);
        let base = self.remote.head.clone();
        let commit = self.remote.make(Made { task: task.clone(), token, is_bad });
        let branch = format!("samuel/run/{task}-{token}");
        let made = if self.random.chance(3) {
            Err("there is nothing to merge".to_owned())
        } else {
            Ok(AgentWork { branch, commit, base, tree: None })
        };
        let after = 1 + self.random.below(12);
        self.tell(place, after, FleetInput::Worked { lane, token, made });
    }

    fn merge(&mut self, place: usize, role: u64, effect: MergeEffect) -> Result<(), String> {
        let after = 1 + self.random.below(2);
        if self.now < FAULTY && self.random.chance(5) {
            self.totals.failed += 1;
            let reason = "it ended without an answer".to_owned();
            self.tell(place, after, FleetInput::Merged { role, input: MergeInput::Failed { reason } });
            // Whether it was done is not known.
            return match effect {
                MergeEffect::Move(_) if self.random.chance(50) => self.carry_out_merge(place, role, effect),
                _ => Ok(()),
            };
        }
        self.carry_out_merge(place, role, effect)
    }

    fn carry_out_merge(&mut self, place: usize, role: u64, effect: MergeEffect) -> Result<(), String> {
        let after = 1 + self.random.below(2);
        let input = match effect {
            MergeEffect::Build { submissions, .. } => MergeInput::Built(self.remote.build(&submissions)?),
            MergeEffect::Check { commit, .. } => {
                let failures = if self.remote.is_red(&commit) { vec!["red".to_owned()] } else { Vec::new() };
                MergeInput::Checked(failures)
            }
            MergeEffect::Ask(landing) => MergeInput::Stands(self.remote.stands(&landing)),
            MergeEffect::Move(landing) => {
                // It is on its way, whatever becomes of the process.
                let longest = if self.random.chance(10) { 3 * LEASE } else { 6 };
                let moment = self.now + 1 + self.random.below(longest);
                self.events.push((moment, Event::Moved { process: place, role, landing }));
                return Ok(());
            }
            other => return Err(format!("a worker does {other:?} itself")),
        };
        self.tell(place, after, FleetInput::Merged { role, input });
        Ok(())
    }

    /// Says whether all is settled, and everything that was under way has come to its end.
    fn is_over(&self) -> bool {
        let plan = self.referee.plan().expect("it was imported");
        let is_settled = plan.tasks.iter().all(|task| task.is_settled() || task.status == Status::Blocked);
        let drains = self.processes.iter().any(|process| process.drains);
        is_settled && !drains && self.events.is_empty() && self.mutant_is_through()
    }

    /// A wrong fleet is given the time in which what it does comes out.
    fn mutant_is_through(&self) -> bool {
        self.mutant == Mutant::None || self.now > FAULTY
    }
}

fn import(log: &MemoryLog, clock: &VirtualClock, tasks: u64) {
    let setup = LogSetup::new("p", "user", crate::clock::Clock::now(clock));
    let clock = std::sync::Arc::new(clock.clone());
    let store = LogStore::open(log.client(), setup, LogMirror::in_memory(), clock).expect("it is new");
    let tasks = (1..=tasks).map(|id| Task::new(TaskId::new(id.to_string()), "t")).collect();
    let plan = Plan { tasks, ..Plan::default() };
    store.import(plan, Actor::User, Existing::Refuse).expect("there is none");
}
