//! Locks between processes.
//!
//! Two files of the run directory are locked. `lock` is held for the moment
//! of one change ([`FileLock`]), `loop.lock` as long as a loop runs
//! ([`FileLoopLock`](super::loop_lock::FileLoopLock)); they are two because the agent
//! changes state from inside the loop. The system releases a lock with the process that holds it, however
//! that ends. The files say who holds them and are never deleted by Samuel.
//!
//! Others may delete or replace them. Whoever gets `lock` looks whether it is
//! still the file at its path, and else tries again.

use std::{
    fmt,
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::StateError;
use samuel_fs::Root;

/// How long a writer waits for others.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);
/// A lock file holds one short line; more is not read.
const MAX_HOLDER_BYTES: u64 = 4 << 10;

/// Who holds a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// Since when.
    pub since: Timestamp,
    /// What it does: the run's id, or the name of a change.
    pub doing: String,
    /// The methodology it does it for; nothing where it is done for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methodology: Option<String>,
    /// Where a loop listens for other processes; nothing where it does not, or not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
}

impl Holder {
    /// Describes this process.
    pub fn this_process(since: Timestamp, doing: impl Into<String>) -> Self {
        Self { pid: std::process::id(), since, doing: doing.into(), methodology: None, socket: None }
    }

    /// Says for which methodology it is.
    #[must_use]
    pub fn of_methodology(self, name: impl Into<String>) -> Self {
        Self { methodology: Some(name.into()), ..self }
    }

    /// Returns the id of the run that it is; nothing of one that changes something else.
    pub fn run(&self) -> Option<&str> {
        self.doing.strip_prefix("run ")
    }

    /// Says whether it may be at work for a methodology, as far as either is known.
    pub fn works_for(&self, methodology: Option<&str>) -> bool {
        self.methodology.as_deref().zip(methodology).is_none_or(|(own, other)| own == other)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} ({}", self.pid, self.doing)?;
        if let Some(methodology) = &self.methodology {
            write!(f, " of {methodology}")?;
        }
        write!(f, ", since {:.0})", self.since)
    }
}

/// The lock of one change, held until it is dropped.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Waits at most `wait` for the exclusive lock on the file at `path`, and writes `holder` into it. Creates the file
    /// if it is missing. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Locked`] with the present holder if another process keeps the lock that long, and
    /// [`StateError::Io`] if the file cannot be opened or written.
    pub fn exclusive(root: &Root, path: &Path, holder: &Holder, wait: Duration) -> Result<Self, StateError> {
        let taken = take(root, path, Mode::Exclusive, wait)?;
        let mut file = taken.map_err(|mut held| locked(&mut held, path, wait))?;
        write_holder(&mut file, holder).map_err(StateError::io("write", path))?;
        Ok(Self { _file: file })
    }

    /// Takes the lock for reading beside other readers, within a time. Where
    /// there is no lock file nobody has written yet, and there is no lock.
    pub(crate) fn shared(root: &Root, path: &Path, wait: Duration) -> Result<Option<Self>, StateError> {
        if !root.has(path).map_err(StateError::file("look for", path))? {
            return Ok(None);
        }
        let taken = take(root, path, Mode::Shared, wait)?;
        taken.map(|file| Some(Self { _file: file })).map_err(|mut held| locked(&mut held, path, wait))
    }
}

/// Takes the lock of the file that is at a path when it is taken: one that was
/// removed or replaced in the meantime keeps nobody out. Returns the file also
/// where it is held for too long.
pub(super) fn take(
    root: &Root,
    path: &Path,
    mode: Mode,
    wait: Duration,
) -> Result<Result<File, File>, StateError> {
    let deadline = Instant::now() + wait;
    loop {
        let file = open(root, path)?;
        let left = deadline.saturating_duration_since(Instant::now());
        if !wait_for(&file, mode, left).map_err(StateError::io("lock", path))? {
            return Ok(Err(file));
        }
        if root.is_at(&file, path) {
            return Ok(Ok(file));
        }
        if Instant::now() >= deadline {
            return Ok(Err(file));
        }
    }
}

fn locked(file: &mut File, path: &Path, waited: Duration) -> StateError {
    StateError::Locked { path: path.to_owned(), holder: read_holder(file).map(Box::new), waited }
}

#[derive(Clone, Copy)]
pub(super) enum Mode {
    Shared,
    Exclusive,
}

fn open(root: &Root, path: &Path) -> Result<File, StateError> {
    root.open_own(path, OFlags::RDWR | OFlags::CREATE).map_err(StateError::file("open", path))
}

/// Waits for a lock, but no longer than a time; says whether it was taken.
///
/// Who tries again and again can be kept out by a writer that has just let go
/// and is back first. The system wakes those who wait, but knows no deadline:
/// so a thread waits. One that is left behind gets the lock some day and lets go of
/// it at once, since by then nobody else has the file open.
/// Time is the system's own here: a virtual clock does not move others.
pub(super) fn wait_for(file: &File, mode: Mode, wait: Duration) -> io::Result<bool> {
    let tried = match mode {
        Mode::Shared => file.try_lock_shared(),
        Mode::Exclusive => file.try_lock(),
    };
    match tried {
        Ok(()) => return Ok(true),
        Err(TryLockError::Error(error)) => return Err(error),
        Err(TryLockError::WouldBlock) if wait.is_zero() => return Ok(false),
        Err(TryLockError::WouldBlock) => {}
    }
    // The copy stands for the same open file, and so for the same lock.
    let copy = file.try_clone()?;
    let (sender, taken) = mpsc::channel();
    thread::Builder::new().name("samuel-lock".to_owned()).spawn(move || {
        // Nobody listens any more once the time is up.
        let _ = sender.send(block_on(&copy, mode));
    })?;
    match taken.recv_timeout(wait) {
        Ok(taken) => taken.map(|()| true),
        Err(_) => Ok(false),
    }
}

fn block_on(file: &File, mode: Mode) -> io::Result<()> {
    loop {
        let taken = match mode {
            Mode::Shared => file.lock_shared(),
            Mode::Exclusive => file.lock(),
        };
        match taken {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            taken => return taken,
        }
    }
}

/// Replaces the file's line. One write, so that a reader sees one holder.
pub(super) fn write_holder(file: &mut File, holder: &Holder) -> io::Result<()> {
    let mut line = serde_json::to_vec(holder)?;
    line.push(b'\n');
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&line)?;
    file.set_len(line.len() as u64)
}

/// Reads who holds a lock; nothing if the holder has not written it yet.
pub(super) fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(MAX_HOLDER_BYTES).read_to_string(&mut text).ok()?;
    serde_json::from_str(text.lines().next()?).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    fn holder(doing: &str) -> Holder {
        Holder::this_process(Timestamp::UNIX_EPOCH, doing)
    }

    #[test]
    fn whoever_waited_for_a_file_that_was_replaced_waits_for_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let (at, path) = (Root::new(dir.path()), dir.path().join("lock"));
        let first = FileLock::exclusive(&at, &path, &holder("first"), LOCK_WAIT).unwrap();
        std::thread::scope(|scope| {
            let waits =
                scope.spawn(|| FileLock::exclusive(&at, &path, &holder("second"), LOCK_WAIT).unwrap());
            // It is held before anybody else can open it.
            let third = File::create(path.with_extension("new")).unwrap();
            third.lock().unwrap();
            std::fs::rename(path.with_extension("new"), &path).unwrap();
            drop(first);
            drop(third);
            let second = waits.join().unwrap();
            assert!(FileLock::exclusive(&at, &path, &holder("fourth"), Duration::ZERO).is_err());
            drop(second);
        });
    }

    #[test]
    fn a_writer_gives_up_after_the_wait_and_names_the_holder() {
        let root = tempfile::tempdir().unwrap();
        let (at, path) = (Root::new(root.path()), root.path().join("lock"));
        let _first = FileLock::exclusive(&at, &path, &holder("done"), LOCK_WAIT).unwrap();
        let error = FileLock::exclusive(&at, &path, &holder("skip"), Duration::from_millis(20)).unwrap_err();
        let pid = std::process::id();
        let expected = format!(
            "{} is still held by process {pid} (done, since 1970-01-01T00:00:00Z) after 0.02 s",
            path.display()
        );
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_busy_writer_lets_others_in_between() {
        use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
        let dir = tempfile::tempdir().unwrap();
        let (at, path) = (Root::new(dir.path()), dir.path().join("lock"));
        let (turns, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(SeqCst) {
                    let _lock = FileLock::exclusive(&at, &path, &holder("busy"), LOCK_WAIT).unwrap();
                    turns.fetch_add(1, SeqCst);
                    thread::sleep(Duration::from_millis(2));
                }
            });
            while turns.load(SeqCst) == 0 {
                thread::yield_now();
            }
            let mut passed = 0;
            for _ in 0..50 {
                let before = turns.load(SeqCst);
                let _lock = FileLock::exclusive(&at, &path, &holder("patient"), LOCK_WAIT).unwrap();
                passed += turns.load(SeqCst) - before;
            }
            is_over.store(true, SeqCst);
            assert!(passed <= 50 * 3, "the busy writer went first {passed} times in 50 turns");
        });
    }

    #[test]
    fn readers_share_and_keep_writers_out() {
        let root = tempfile::tempdir().unwrap();
        let (at, path) = (Root::new(root.path()), root.path().join("lock"));
        assert!(FileLock::shared(&at, &path, Duration::ZERO).unwrap().is_none(), "nobody has written yet");
        drop(FileLock::exclusive(&at, &path, &holder("done"), LOCK_WAIT).unwrap());
        let _first = FileLock::shared(&at, &path, Duration::ZERO).unwrap().unwrap();
        let _second = FileLock::shared(&at, &path, Duration::ZERO).unwrap().unwrap();
        assert!(FileLock::exclusive(&at, &path, &holder("done"), Duration::ZERO).is_err());
    }

    #[test]
    fn a_lock_file_that_is_a_link_is_not_followed() {
        let root = tempfile::tempdir().unwrap();
        let at = Root::new(root.path());
        let (victim, path) = (root.path().join("victim"), root.path().join("lock"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(FileLock::exclusive(&at, &path, &holder("done"), Duration::ZERO).is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
