//! What goes on from the process of one hook to that of the next.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    fs::{Durability, Manner, Root, private},
    model::hex,
    session::SessionState,
};

/// The most bytes of a file.
const MAX_BYTES: u64 = 4 << 20;
/// From which age on a session counts as left behind that nobody ended.
const LEFT_BEHIND: Duration = Duration::from_secs(14 * 24 * 60 * 60);
/// How many files are looked at for such ones.
const MAX_LOOKED_AT: usize = 4_096;

/// The sessions of agents that are under way, in a private directory outside of any project: a file
/// each, with what the next hook goes on with.
#[derive(Clone, Debug)]
pub struct KeptSessions {
    directory: PathBuf,
}

/// What is kept of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    /// What goes on; nothing where the user was told that nothing of the project runs.
    pub(super) state: Option<SessionState>,
    /// Whether what the project brings has run in it, so that somebody had trusted that.
    #[serde(default = "yes")]
    pub(super) has_trusted: bool,
}

/// What is not known is taken for what denies more.
fn yes() -> bool {
    true
}

/// One session, which no other process touches while this is there.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    lock: PathBuf,
    _locked: File,
}

impl KeptSessions {
    /// Keeps sessions in a directory, which is made with mode 0700 where it is missing.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Waits until no other process has the session, and returns it. Blocks.
    pub(super) fn hold(&self, root: &Path, agent: &str, session_id: &str) -> io::Result<Held> {
        private::require(&self.directory)?;
        let mut name = Sha256::new();
        for part in [root.as_os_str().as_encoded_bytes(), agent.as_bytes(), session_id.as_bytes()] {
            name.update((part.len() as u64).to_le_bytes());
            name.update(part);
        }
        let name = hex(&name.finalize());
        let lock = self.directory.join(format!("{name}.lock"));
        loop {
            let locked =
                OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock)?;
            locked.lock()?;
            // Whoever had it may have removed it with the session.
            if is_at(&locked, &lock) {
                locked.set_modified(SystemTime::now())?;
                let path = self.directory.join(format!("{name}.json"));
                return Ok(Held { path, lock, _locked: locked });
            }
        }
    }

    /// Removes what sessions left that nobody ended.
    pub(super) fn forget_old(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten().take(MAX_LOOKED_AT) {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "lock") && is_left_behind(&path) {
                let Ok(locked) = OpenOptions::new().write(true).open(&path) else { continue };
                // What a process has is none, however long it takes.
                if locked.try_lock().is_ok() && is_at(&locked, &path) && is_left_behind(&path) {
                    let held = Held { path: path.with_extension("json"), lock: path, _locked: locked };
                    let _ = held.forget();
                }
            }
        }
    }
}

/// Says whether a file still is what its path leads to.
fn is_at(file: &File, path: &Path) -> bool {
    let found = file.metadata().and_then(|ours| Ok((ours.ino(), fs::symlink_metadata(path)?.ino())));
    found.is_ok_and(|(ours, there)| ours == there)
}

/// Says whether a session's lock was last taken so long ago that nobody goes on with it.
fn is_left_behind(lock: &Path) -> bool {
    let taken = fs::symlink_metadata(lock).and_then(|found| found.modified());
    taken.is_ok_and(|taken| taken.elapsed().is_ok_and(|age| age > LEFT_BEHIND))
}

impl Held {
    /// Reads what was kept; nothing of a session that begins, and of what cannot be read.
    pub(super) fn read(&self) -> io::Result<Option<Kept>> {
        let bytes = private::read(&self.path, MAX_BYTES)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Keeps it for the next hook.
    pub(super) fn write(&self, kept: &Kept) -> io::Result<()> {
        let (root, text) = (Root::new(self.path.parent().unwrap_or(&self.path)), serde_json::to_vec(kept)?);
        Ok(root.write(&self.path, [text.as_slice()], &Manner::STATE.with(Durability::Unsynced))?)
    }

    /// Keeps nothing of it any more.
    pub(super) fn forget(self) -> io::Result<()> {
        for path in [&self.path, &self.lock] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn no_two_sessions_meet_and_no_name_leads_out_of_their_directory() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = KeptSessions::new(dir.path().join("s"));
        let long = "x".repeat(100_000);
        let names = [
            ("/p", "claude", "s"),
            ("/p", "claude", "t"),
            ("/p", "codex", "s"),
            ("/q", "claude", "s"),
            ("/p/deep/down", "claude", "s"),
            ("/p/deep/below", "claude", "s"),
            // As one text they would be the first one.
            ("/pc", "laude", "s"),
            ("/p", "claudes", ""),
            ("/p", "claude", "../../s"),
            ("/p", "claude", "/etc/passwd"),
            ("/p", "claude", "s\0"),
            ("/p", "claude", &long),
        ];
        let found = names.map(|(root, agent, id)| {
            let held = sessions.hold(Path::new(root), agent, id).unwrap();
            assert_eq!(
                (held.path.parent(), held.lock.parent()),
                (Some(&*sessions.directory), held.path.parent())
            );
            held.write(&Kept { state: None, has_trusted: false }).unwrap();
            held.path.clone()
        });
        assert_eq!(found.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
        assert_eq!(fs::read_dir(&sessions.directory).unwrap().count(), 2 * names.len(), "each with its lock");
        let again = sessions.hold(Path::new("/p"), "claude", "s").unwrap();
        assert_eq!((again.path.as_path(), again.read().unwrap().is_some()), (found[0].as_path(), true));
    }

    #[test]
    fn sessions_that_nobody_ended_are_forgotten_unless_a_process_has_them() {
        let dir = tempfile::tempdir().unwrap();
        let sessions = KeptSessions::new(dir.path().join("s"));
        let hold = |id: &str| sessions.hold(Path::new("/p"), "claude", id).unwrap();
        let (left, new, had) = (hold("left"), hold("new"), hold("had"));
        let ends = [left.path.clone(), new.path.clone(), had.path.clone()];
        let old = SystemTime::now() - LEFT_BEHIND * 2;
        for held in [&left, &new, &had] {
            held.write(&Kept { state: None, has_trusted: false }).unwrap();
        }
        left._locked.set_modified(old).unwrap();
        had._locked.set_modified(old).unwrap();
        drop((left, new));
        sessions.forget_old();
        assert_eq!(ends.map(|path| path.exists()), [false, true, true]);
        had.forget().unwrap();
        hold("left").forget().unwrap();
        assert_eq!(fs::read_dir(dir.path().join("s")).unwrap().count(), 2, "the new one and its lock");
    }
}
