//! What goes on from the process of one hook to that of the next.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{fs::private, model::hex, session::SessionState};

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
    /// The digest of what the session executes.
    pub(super) executes: String,
    pub(super) state: SessionState,
}

/// One session, which no other process touches while this is there.
#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    _lock: File,
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
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
        lock.lock()?;
        Ok(Held { path: self.directory.join(format!("{name}.json")), _lock: lock })
    }

    /// Removes what sessions left that nobody ended.
    pub(super) fn forget_old(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age > LEFT_BEHIND);
        for entry in entries.flatten().take(MAX_LOOKED_AT) {
            if entry.metadata().and_then(|found| found.modified()).is_ok_and(is_old) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

impl Held {
    /// Reads what was kept; nothing of a session that begins, and of what cannot be read.
    pub(super) fn read(&self) -> io::Result<Option<Kept>> {
        let bytes = private::read(&self.path, MAX_BYTES)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Keeps it for the next hook.
    pub(super) fn write(&self, kept: &Kept) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let _ = fs::remove_file(&beside);
        private::write_new(&beside, &serde_json::to_vec(kept)?, 0o600)?;
        fs::rename(&beside, &self.path)
    }

    /// Keeps nothing of it any more. The lock stays: another process may wait for it.
    pub(super) fn forget(&self) -> io::Result<()> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
