//! The process table of Linux, as far as ending processes needs it.

use super::{SupervisorId, mark::Mark};
use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal, test_kill_process,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    os::fd::OwnedFd,
    time::Duration,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    time::{Instant, sleep, timeout_at},
};

/// How often a process is looked at where the kernel cannot tell of its end
/// (Linux before 5.3).
const FALLBACK_INTERVAL: Duration = Duration::from_millis(5);

/// How often a supervisor that is waited for is looked at, whether somebody
/// has stopped it.
const STUCK_INTERVAL: Duration = Duration::from_millis(200);

/// One process, as `/proc/PID/stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: Pid,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Clock ticks since the machine booted; with the pid it names a process for good.
    pub(super) start_time: u64,
    pub(super) state: State,
}

/// What a process is doing, as far as ending it needs that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At work, or waiting for something.
    Alive,
    /// Stopped by a signal.
    Stopped,
    /// Held by a tracer.
    Traced,
    /// Dead, and only waiting to be reaped.
    Dead,
}

impl Entry {
    /// Reads the entry of one process; `None` if there is none.
    pub(super) fn read(pid: Pid) -> Option<Self> {
        let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        Self::parse(pid, &stat)
    }

    /// The second field is the name of the program in parentheses. It may hold
    /// anything, spaces and parentheses too, so the rest is counted from the
    /// last closing one.
    fn parse(pid: Pid, stat: &[u8]) -> Option<Self> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Fields 7 to 21 lie between the session and the start time.
        let start_time = fields.nth(15)?.parse().ok()?;
        let state = match state {
            "Z" | "X" | "x" => State::Dead,
            "T" => State::Stopped,
            "t" => State::Traced,
            _ => State::Alive,
        };
        Some(Self { pid, parent, group, session, start_time, state })
    }

    /// Tells whether it only waits to be reaped.
    pub(super) fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// Returns what tells it from every other process, earlier or later.
    pub(super) fn key(&self) -> (i32, u64) {
        (self.pid.as_raw_nonzero().get(), self.start_time)
    }

    /// Sends a signal to this process and to no other that took over its pid.
    pub(super) fn signal(&self, signal: Signal) {
        match pidfd_open(self.pid, PidfdFlags::empty()) {
            Ok(handle) => {
                if self.is_current() {
                    // It may die or be another user's: both show in the next look.
                    let _ = pidfd_send_signal(handle, signal);
                }
            }
            Err(Errno::NOSYS) if self.is_current() => {
                let _ = kill_process(self.pid, signal);
            }
            Err(_) => {}
        }
    }

    fn is_current(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.start_time == self.start_time)
    }
}

/// Returns all processes that live below `root`, without `root` itself.
pub(super) fn living_descendants(root: Pid) -> Vec<Entry> {
    let mut children: BTreeMap<i32, Vec<Entry>> = BTreeMap::new();
    for entry in all() {
        children.entry(entry.parent).or_default().push(entry);
    }
    let mut found = Vec::new();
    let mut parents = vec![root.as_raw_nonzero().get()];
    let mut visited = BTreeSet::new();
    while let Some(parent) = parents.pop() {
        // The table changes while it is read, so it could show a circle.
        if !visited.insert(parent) {
            continue;
        }
        for child in children.get(&parent).into_iter().flatten() {
            parents.push(child.pid.as_raw_nonzero().get());
            found.push(*child);
        }
    }
    found.retain(|entry| !entry.is_dead());
    found
}

/// Returns the entry of a process, unless it has ended and another took its pid.
pub(super) fn find(id: SupervisorId) -> Option<Entry> {
    let entry = Entry::read(pid_of(id.pid)?)?;
    (entry.start_time == id.start_time && !entry.is_dead()).then_some(entry)
}

/// Tells whether a process has ended for certain. One that cannot be read may live all the same.
pub(super) fn is_gone(id: SupervisorId) -> bool {
    let Some(pid) = pid_of(id.pid) else { return true };
    match Entry::read(pid) {
        Some(entry) => entry.start_time != id.start_time || entry.is_dead(),
        None => test_kill_process(pid) == Err(Errno::SRCH),
    }
}

/// Returns the identity of a process that is running now.
pub(super) fn identify(pid: u32) -> Option<SupervisorId> {
    let entry = Entry::read(pid_of(pid)?)?;
    Some(SupervisorId { pid, start_time: entry.start_time })
}

/// Waits for the end of a process; returns whether it has ended.
pub(super) async fn wait_until_gone(id: SupervisorId, deadline: Instant) -> bool {
    let Some(pid) = pid_of(id.pid) else { return true };
    // The handle is taken first, so that it belongs to the process looked at then.
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if is_gone(id) {
        return true;
    }
    match handle.map_err(io::Error::from).and_then(watch_end) {
        Ok(watch) => timeout_at(deadline, watch.readable()).await.is_ok(),
        Err(_) => {
            while !is_gone(id) {
                if Instant::now() >= deadline {
                    return false;
                }
                sleep(FALLBACK_INTERVAL).await;
            }
            true
        }
    }
}

/// Returns the entry of a supervisor whose client is dead, this process or one of these.
///
/// Any other process is none that anybody has to wait for, whatever is noted: one without a mark, one
/// of another container, one whose client is somebody else's and lives, and those above this process.
pub(super) fn find_supervisor(id: SupervisorId, clients: &[SupervisorId]) -> Option<Entry> {
    let is_one = |entry: &Entry| {
        let marks = Mark::carried_by(entry.pid);
        let is_ours = |mark: &Mark| clients.contains(&mark.client()) || is_over(mark.client());
        !marks.is_empty()
            && marks.iter().all(is_ours)
            && shares_our_pids(entry.pid)
            && !ourselves().contains(&entry.key().0)
    };
    find(id).filter(is_one)
}

/// Tells whether a process counts processes as we do. A mark of another container names another
/// process than the one that has this pid here.
pub(super) fn shares_our_pids(pid: Pid) -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/pid")).ok();
    let theirs = namespace(&pid.as_raw_nonzero().to_string());
    theirs.is_some() && theirs == namespace("self")
}

/// Returns this process and those above it.
pub(super) fn ourselves() -> BTreeSet<i32> {
    let mut ourselves = BTreeSet::new();
    let mut next = Some(getpid());
    while let Some(pid) = next
        && ourselves.insert(pid.as_raw_nonzero().get())
    {
        next = Entry::read(pid).and_then(|entry| Pid::from_raw(entry.parent));
    }
    ourselves
}

/// Waits for the ends of supervisors, and ends those that are stopped, held by a tracer
/// or not ready by the deadline; returns those that it ended.
///
/// What is no supervisor, and one whose client lives in another process, is left alone; the latter
/// is waited for if its client is one of these. The call takes at most [`STUCK_INTERVAL`] more than until the deadline.
pub(super) async fn end_stuck(
    ids: &[SupervisorId],
    clients: &[SupervisorId],
    deadline: Instant,
) -> Vec<SupervisorId> {
    let mut at_work = ids.to_vec();
    let mut ended = Vec::new();
    loop {
        let is_over = Instant::now() >= deadline;
        at_work.retain(|id| {
            let Some(entry) = find_supervisor(*id, clients) else { return false };
            let is_stuck = is_over || matches!(entry.state, State::Stopped | State::Traced);
            if !is_stuck || !is_abandoned(entry.pid) {
                return true;
            }
            entry.signal(Signal::KILL);
            ended.push(*id);
            false
        });
        if is_over || at_work.is_empty() {
            break;
        }
        wait_until_all_gone(&at_work, deadline.min(Instant::now() + STUCK_INTERVAL)).await;
    }
    wait_until_all_gone(&ended, Instant::now() + STUCK_INTERVAL).await;
    ended
}

/// Tells whether a supervisor's client is dead, or is this process, which asks.
fn is_abandoned(supervisor: Pid) -> bool {
    Mark::carried_by(supervisor).iter().all(|mark| is_over(mark.client()))
}

/// Tells whether a client is dead, or is this process.
fn is_over(client: SupervisorId) -> bool {
    client.pid == std::process::id() || is_gone(client)
}

/// Waits for all of them together.
async fn wait_until_all_gone(ids: &[SupervisorId], deadline: Instant) {
    for id in ids {
        wait_until_gone(*id, deadline).await;
    }
}

/// Registers a process handle, which is readable once the process has ended.
#[expect(
    deprecated,
    reason = "the replacement is unsafe only because of types whose descriptor changes; an `OwnedFd` keeps its own"
)]
pub(super) fn watch_end(handle: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(handle, Interest::READABLE)
}

pub(super) fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Returns all processes of the machine.
pub(super) fn all() -> Vec<Entry> {
    let Ok(table) = fs::read_dir("/proc") else { return Vec::new() };
    table
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Entry::read(Pid::from_raw(pid)?)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;

    #[test]
    fn a_hostile_program_name_does_not_shift_the_fields() {
        let stat = b"42 (a) Z (b c) S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 9 9\n";
        let pid = Pid::from_raw(42).unwrap();
        let expected = Entry { pid, parent: 7, group: 8, session: 9, start_time: 12345, state: State::Alive };
        assert_eq!(Entry::parse(pid, stat), Some(expected));
    }

    #[test]
    fn our_own_entry_can_be_read() {
        let me = rustix::process::getpid();
        let entry = Entry::read(me).unwrap();
        assert_eq!(entry.parent, rustix::process::getppid().unwrap().as_raw_nonzero().get());
        assert!(!entry.is_dead());
    }

    #[tokio::test]
    async fn a_reused_pid_counts_as_gone_and_a_living_one_does_not() {
        let me = identify(std::process::id()).unwrap();
        let soon = || Instant::now() + Duration::from_millis(20);
        assert!(!wait_until_gone(me, soon()).await);
        let other = SupervisorId { start_time: me.start_time + 1, ..me };
        assert!(wait_until_gone(other, soon()).await);
        // No system has as many.
        assert!(is_gone(SupervisorId { pid: i32::MAX.cast_unsigned(), start_time: 1 }));
    }
}
