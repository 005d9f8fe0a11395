//! A worker's process: its machine, its store, and what happens to it.

use std::{num::NonZeroU32, num::NonZeroUsize, sync::Arc, time::Duration};

use super::super::{FleetInput, FleetSetup, FleetWorker};
use crate::{
    clock::Clock,
    sched::Overlap,
    state::{FoldRule, LogFold, LogMirror, LogSetup, LogStore},
    testing::{MemoryLog, VirtualClock},
};

/// How long one step of the world takes.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// How many steps a lease has.
pub(super) const LEASE: u64 = 16;

/// How a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Up,
    /// It is dead until then.
    Down(u64),
    /// It is stopped until then.
    Stopped(u64),
}

/// A worker's machine, on which one process runs after the other.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) client: MemoryLog,
    mirror: LogMirror,
    rule: FoldRule,
    pub(super) mode: Mode,
    /// Whether it was told to end.
    pub(super) drains: bool,
    /// Until when it is cut off.
    pub(super) cut: u64,
    starts: u32,
    /// What it does next, and when it knows; in the order of arrival.
    pub(super) inbox: Vec<(u64, FleetInput)>,
    pub(super) store: LogStore<MemoryLog>,
    pub(super) worker: FleetWorker,
    /// Since when it waits for what came of a change.
    pub(super) changing: Option<u64>,
    pub(super) seen: u64,
    pub(super) next_turn: u64,
    /// When it was not there, or not in touch: from, to.
    pub(super) outages: Vec<(u64, u64)>,
}

impl Process {
    pub(super) fn new(number: usize, log: &MemoryLog, clock: &VirtualClock, rule: FoldRule) -> Self {
        let name = format!("w{number}");
        let (client, mirror) = (log.client(), LogMirror::in_memory());
        let store = open(&name, 0, &client, &mirror, clock, rule);
        let worker = machine(&name, 0);
        let (mode, inbox, outages) = (Mode::Up, Vec::new(), Vec::new());
        Self {
            name,
            client,
            mirror,
            rule,
            mode,
            drains: false,
            cut: 0,
            starts: 0,
            inbox,
            store,
            worker,
            changing: None,
            seen: u64::MAX,
            next_turn: 0,
            outages,
        }
    }

    /// The process is dead, and what it did not write down is gone.
    pub(super) fn kill(&mut self, now: u64, until: u64) {
        self.mode = Mode::Down(until);
        self.inbox.clear();
        self.drains = false;
        self.changing = None;
        self.outages.push((now, until));
    }

    /// Starts it again: another process in the same name, with the same mirror.
    pub(super) fn start(&mut self, now: u64, clock: &VirtualClock) {
        self.starts += 1;
        self.mode = Mode::Up;
        self.store = open(&self.name, self.starts, &self.client, &self.mirror, clock, self.rule);
        self.worker = machine(&self.name, now);
        self.seen = u64::MAX;
    }

    pub(super) fn is_cut_off(&self, now: u64) -> bool {
        now < self.cut
    }
}

fn open(
    name: &str,
    start: u32,
    client: &MemoryLog,
    mirror: &LogMirror,
    clock: &VirtualClock,
    rule: FoldRule,
) -> LogStore<MemoryLog> {
    let setup = LogSetup {
        plan: "p".to_owned(),
        writer: format!("{name}/{start}"),
        patience: Duration::ZERO,
        trusted_for: Duration::ZERO,
    };
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    let fold = LogFold::new("p").with_rule(rule);
    LogStore::with_fold(client.clone(), setup, mirror.clone(), clock, fold).expect("the mirror is its own")
}

fn machine(name: &str, now: u64) -> FleetWorker {
    let setup = FleetSetup {
        worker: name.to_owned(),
        lanes: 1,
        lease: TICK * u32::try_from(LEASE).unwrap_or_default(),
        into: Some("main".to_owned()),
        batch: NonZeroUsize::new(2).expect("it is not 0"),
        max_attempts: NonZeroU32::new(3),
        overlap: Overlap::Wait,
    };
    FleetWorker::new(setup, at(now))
}

pub(super) fn at(tick: u64) -> Duration {
    TICK * u32::try_from(tick).unwrap_or(u32::MAX)
}
