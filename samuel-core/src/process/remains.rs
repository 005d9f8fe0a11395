//! Ending what a command left when its supervisors cannot do it any more.
//!
//! [`Traces`] say what is known of such processes: the mark in their
//! environment, which is the name of their control group too, and the sessions of
//! the supervisors. Whatever descends from one of them belongs to them.
//! A process that lost all of that is only found by a control group.

use super::{
    Process, Remains, SupervisorId,
    cgroup::Cgroup,
    mark::Mark,
    proc_table::{Entry, all},
    sweep::stop_until_still,
};
use rustix::process::{Pid, Signal, getpid};
use std::{
    collections::{BTreeMap, BTreeSet},
    thread,
    time::Duration,
};
use tokio::time::Instant;

/// How long to wait for deaths before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// How often in a row nobody must be found: a process that is just being
/// executed shows no environment.
const QUIET_LOOKS: usize = 2;

/// By what processes are found.
#[derive(Clone, Debug, Default)]
pub(super) struct Traces {
    /// Their marks.
    marks: Vec<Mark>,
    /// Those whose commands they were.
    clients: Vec<SupervisorId>,
    /// Pids of those that led their sessions.
    sessions: Vec<i32>,
}

impl Traces {
    /// What one command leaves.
    pub(super) fn of_mark(mark: Mark) -> Self {
        Self { marks: vec![mark], ..Self::default() }
    }

    /// What all commands of dead processes leave.
    pub(super) fn of_clients(clients: &[SupervisorId]) -> Self {
        Self { clients: clients.to_vec(), ..Self::default() }
    }

    /// Adds the sessions of supervisors.
    pub(super) fn with_sessions(mut self, leaders: impl IntoIterator<Item = u32>) -> Self {
        // Session 0 is the kernel's.
        self.sessions
            .extend(leaders.into_iter().filter_map(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0));
        self
    }

    fn is_empty(&self) -> bool {
        !self.seeks_marks() && self.sessions.is_empty()
    }

    fn seeks_marks(&self) -> bool {
        !self.marks.is_empty() || !self.clients.is_empty()
    }

    /// Tells whether a mark is among those.
    fn include(&self, mark: &Mark) -> bool {
        self.marks.contains(mark) || self.clients.contains(&mark.client())
    }

    /// Returns the processes that can be found now.
    fn living(&self, spared: &BTreeSet<i32>) -> Vec<Entry> {
        let table: Vec<Entry> = all().into_iter().filter(|entry| !entry.is_dead()).collect();
        let mut found: BTreeSet<i32> = BTreeSet::new();
        let has_trace = |entry: &&Entry| self.sessions.contains(&entry.session) || self.is_marked(entry.pid);
        found.extend(table.iter().filter(has_trace).map(|entry| entry.key().0));
        // Whoever descends from one of them, in whatever order they are listed.
        loop {
            let before = found.len();
            for entry in &table {
                if found.contains(&entry.parent) {
                    found.insert(entry.key().0);
                }
            }
            if found.len() == before {
                break;
            }
        }
        table
            .into_iter()
            .filter(|entry| found.contains(&entry.key().0) && !spared.contains(&entry.key().0))
            .collect()
    }

    fn is_marked(&self, pid: Pid) -> bool {
        self.seeks_marks() && Mark::carried_by(pid).iter().any(|mark| self.include(mark))
    }
}

/// Kills everything that the traces lead to, and waits until it is gone.
///
/// Blocks, for `limit` at most.
pub(super) fn sweep(traces: &Traces, limit: Duration) -> Remains {
    if traces.is_empty() {
        return Remains::default();
    }
    let (now, deadline) = (Instant::now(), Instant::now() + limit);
    // The other half of the time is for those that are in no group.
    let groups = match traces.seeks_marks() {
        true => Cgroup::find(|mark| traces.include(mark), now + limit / 2),
        false => Vec::new(),
    };
    let spared = ourselves();
    let mut names = BTreeMap::new();
    let mut quiet = 0;
    let left = loop {
        note(&mut names, groups.iter().flat_map(Cgroup::processes).filter_map(entry_of));
        groups.iter().for_each(Cgroup::kill);
        let living = stop_until_still(|| traces.living(&spared), deadline);
        note(&mut names, living.iter().copied());
        for entry in &living {
            entry.signal(Signal::KILL);
        }
        let is_quiet = living.is_empty() && !groups.iter().any(Cgroup::is_populated);
        quiet = if is_quiet { quiet + 1 } else { 0 };
        if quiet == QUIET_LOOKS || Instant::now() >= deadline {
            let in_groups = groups.iter().flat_map(Cgroup::processes).filter_map(entry_of);
            break living.into_iter().chain(in_groups).map(|entry| entry.key()).collect::<BTreeSet<_>>();
        }
        thread::sleep(LOOK_AGAIN);
    };
    groups.iter().for_each(Cgroup::remove);
    let (left, ended): (Vec<_>, Vec<_>) = names.into_iter().partition(|(key, _)| left.contains(key));
    let processes = |named: Vec<(_, Process)>| named.into_iter().map(|(_, process)| process).collect();
    Remains { ended: processes(ended), left: processes(left) }
}

/// This process and those above it, which may carry an outer command's mark.
fn ourselves() -> BTreeSet<i32> {
    let mut spared = BTreeSet::new();
    let mut next = Some(getpid());
    while let Some(pid) = next
        && spared.insert(pid.as_raw_nonzero().get())
    {
        next = Entry::read(pid).and_then(|entry| Pid::from_raw(entry.parent));
    }
    spared
}

/// Takes down the names of processes while they have one.
fn note(names: &mut BTreeMap<(i32, u64), Process>, entries: impl Iterator<Item = Entry>) {
    for entry in entries {
        names.entry(entry.key()).or_insert_with(|| Process::of(entry.pid));
    }
}

fn entry_of(pid: u32) -> Option<Entry> {
    Entry::read(Pid::from_raw(i32::try_from(pid).ok()?)?).filter(|entry| !entry.is_dead())
}
