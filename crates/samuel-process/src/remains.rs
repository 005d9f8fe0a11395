//! Ending what a command left when its supervisors cannot do it any more.
//!
//! [`Traces`] say what is known of such processes: the mark in their
//! environment, which is the name of their control group too, and the sessions of
//! the supervisors. Whatever descends from one of them belongs to them.
//! A process that lost all of that is only found by a control group. Those of commands that
//! nobody has noted are found too, where all that is known is that whoever ran them is dead.

use super::{
    Process, Remains, SupervisorId,
    cgroup::Cgroup,
    mark::Mark,
    proc_table::{Entry, all, is_gone, ourselves, pid_of, shares_our_pids},
    sweep::stop_until_still,
};
use rustix::process::{Pid, Signal, Uid, geteuid};
use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::MetadataExt,
    path::Path,
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
    /// Whether the commands of everybody who is dead are meant, of this user.
    of_dead: bool,
    /// Pids of those that led their sessions.
    sessions: Vec<i32>,
}

impl Traces {
    /// What one command leaves.
    pub(super) fn of_mark(mark: Mark) -> Self {
        Self { marks: vec![mark], ..Self::default() }
    }

    /// What all commands of dead processes leave: of these, and of any other of this user.
    pub(super) fn of_dead(clients: &[SupervisorId]) -> Self {
        Self { clients: clients.to_vec(), of_dead: true, ..Self::default() }
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
        !self.marks.is_empty() || !self.clients.is_empty() || self.of_dead
    }

    /// Tells whether a mark is among those that are named.
    fn include(&self, mark: &Mark) -> bool {
        self.marks.contains(mark) || self.clients.contains(&mark.client())
    }

    /// Tells whether a mark is of a command that nobody runs any more.
    fn is_abandoned(&self, mark: &Mark, spared: &Spared) -> bool {
        self.of_dead && !spared.marks.contains(mark) && is_gone(mark.client())
    }

    /// Tells whether a control group is that of such a command.
    fn include_group(&self, mark: &Mark, path: &Path, spared: &Spared) -> bool {
        let group = Cgroup { path: path.to_owned() };
        let is_ours = || {
            let processes = group.processes();
            !processes.is_empty()
                && owner(path) == Some(geteuid())
                && processes.into_iter().filter_map(pid_of).all(shares_our_pids)
        };
        self.include(mark) || (self.is_abandoned(mark, spared) && is_ours())
    }

    /// Returns the processes that can be found now.
    fn living(&self, spared: &Spared) -> Vec<Entry> {
        let table: Vec<Entry> = all().into_iter().filter(|entry| !entry.is_dead()).collect();
        let mut found: BTreeSet<i32> = BTreeSet::new();
        let has_trace =
            |entry: &&Entry| self.sessions.contains(&entry.session) || self.is_marked(entry.pid, spared);
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
            .filter(|entry| found.contains(&entry.key().0) && !spared.pids.contains(&entry.key().0))
            .collect()
    }

    fn is_marked(&self, pid: Pid, spared: &Spared) -> bool {
        if !self.seeks_marks() {
            return false;
        }
        let marks = Mark::carried_by(pid);
        marks.iter().any(|mark| self.include(mark))
            || (marks.iter().any(|mark| self.is_abandoned(mark, spared))
                && owner(Path::new(&format!("/proc/{}", pid.as_raw_nonzero()))) == Some(geteuid())
                && shares_our_pids(pid))
    }
}

/// Who is never ended: this process and those above it, which may carry an outer command's mark.
#[derive(Debug)]
struct Spared {
    pids: BTreeSet<i32>,
    /// Their marks. Whoever carries one of them too belongs to where this process was started.
    marks: Vec<Mark>,
}

fn owner(path: &Path) -> Option<Uid> {
    Some(Uid::from_raw(path.metadata().ok()?.uid()))
}

/// Kills everything that the traces lead to, and waits until it is gone.
///
/// Blocks, for `limit` at most.
pub(super) fn sweep(traces: &Traces, limit: Duration) -> Remains {
    if traces.is_empty() {
        return Remains::default();
    }
    let (now, deadline) = (Instant::now(), Instant::now() + limit);
    let spared = spared();
    // The other half of the time is for those that are in no group.
    let groups = match traces.seeks_marks() {
        true => Cgroup::find(|mark, path| traces.include_group(mark, path, &spared), now + limit / 2),
        false => Vec::new(),
    };
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

fn spared() -> Spared {
    let pids = ourselves();
    let marks = pids.iter().filter_map(|pid| Pid::from_raw(*pid)).flat_map(Mark::carried_by).collect();
    Spared { pids, marks }
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
