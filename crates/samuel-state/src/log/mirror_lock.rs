//! Whoever has a mirror: two who write to one would destroy it.

use std::{
    fs::DirBuilder,
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;

use super::{LogError, LogMirror};
use crate::{FileLock, Holder, StateError};
use samuel_fs::{PRIVATE_DIRECTORY, Root};

/// How long a mirror is waited for: a store that was dropped may have it as long as it takes a process that was being
/// started then to begin.
const HOLD_WAIT: Duration = Duration::from_millis(500);

/// A mirror that nobody else has, until this is dropped.
#[derive(Debug)]
pub(super) struct MirrorLock {
    _file: Option<FileLock>,
}

impl LogMirror {
    /// Takes a mirror, which need not be there yet: by a file beside it whose name ends with `.lock`. One in memory
    /// is known to nobody else.
    ///
    /// # Errors
    /// Returns [`LogError::MirrorHeld`] where another store has it, and [`LogError::MirrorIo`].
    pub(super) fn hold(&self, now: Timestamp) -> Result<MirrorLock, LogError> {
        let Some((root, path)) = self.file() else { return Ok(MirrorLock { _file: None }) };
        let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(root.path());
        made.map_err(|error| self.io("lock", &error))?;
        self.take(root, path, now).map_err(LogError::from)
    }

    /// Takes a mirror that is there, to read it. Where no file can be made beside it, as on a medium that is read-only or
    /// in another user's directory, nobody is kept out.
    ///
    /// # Errors
    /// As [`hold`](Self::hold), and [`LogError::MirrorIo`] where there is no file.
    pub(super) fn hold_present(&self, now: Timestamp) -> Result<MirrorLock, LogError> {
        let Some((root, path)) = self.file() else { return Ok(MirrorLock { _file: None }) };
        // One that is missing has not lost anything, but what it had nobody knows.
        match root.has(path) {
            Ok(true) => match self.take(root, path, now) {
                Err(Untaken::Unwritable(_)) => Ok(MirrorLock { _file: None }),
                taken => taken.map_err(LogError::from),
            },
            Ok(false) => {
                let (action, path) = ("read", path.to_owned());
                Err(LogError::MirrorIo { action, path, reason: "there is no such file".to_owned() })
            }
            Err(error) => Err(self.io("read", &error.into())),
        }
    }

    fn take(&self, root: &Root, path: &Path, now: Timestamp) -> Result<MirrorLock, Untaken> {
        let mut lock = path.as_os_str().to_owned();
        lock.push(".lock");
        let holder = Holder::this_process(now, "mirror");
        let taken = FileLock::exclusive(root, &PathBuf::from(lock), &holder, HOLD_WAIT);
        taken.map(|file| MirrorLock { _file: Some(file) }).map_err(|error| match error {
            StateError::Locked { holder, .. } => {
                Untaken::Refused(LogError::MirrorHeld { path: path.to_owned(), holder })
            }
            other => {
                let is_unwritable = is_unwritable(&other);
                let (action, path) = ("lock", path.to_owned());
                let error = LogError::MirrorIo { action, path, reason: other.to_string() };
                if is_unwritable { Untaken::Unwritable(error) } else { Untaken::Refused(error) }
            }
        })
    }
}

/// Why a mirror could not be taken.
enum Untaken {
    /// No file can be made beside it.
    Unwritable(LogError),
    /// Anything else.
    Refused(LogError),
}

impl From<Untaken> for LogError {
    fn from(untaken: Untaken) -> Self {
        match untaken {
            Untaken::Unwritable(error) | Untaken::Refused(error) => error,
        }
    }
}

fn is_unwritable(error: &StateError) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error, StateError::Io { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
}
