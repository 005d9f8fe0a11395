//! Replacing files so that readers and crashes see the old or the new one.
//!
//! [`Staged`] holds the new content, already on the disk under a temporary
//! name; [`Staged::commit`] puts it in place. Whoever stages a file of a run
//! directory holds its lock, so one fixed temporary name is enough, and a crash
//! leaves at most one such file behind.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::StateError;
use crate::fs::{
    Durability, FileError, LastLink, PRIVATE_FILE, PROJECT_DIRECTORY, PROJECT_FILE, Placed, Replacement, Root,
};

/// The largest file of a run directory that is read as a whole.
pub(crate) const MAX_FILE_BYTES: u64 = 64 << 20;

/// How much of small pieces is written at a time.
const PIECES_BYTES: usize = 32 << 10;

/// New content for a file, stored under a temporary name.
#[derive(Debug)]
pub(crate) struct Staged {
    target: PathBuf,
    replacement: Replacement,
}

impl Staged {
    /// Stores content, given in pieces, durably beside its target.
    pub(crate) fn write<'a>(
        root: &Root,
        target: &Path,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, StateError> {
        Self::create(root, target, content, &PRIVATE)
    }

    fn create<'a>(
        root: &Root,
        target: &Path,
        content: impl IntoIterator<Item = &'a [u8]>,
        manner: &Manner,
    ) -> Result<Self, StateError> {
        let found = (|| {
            let mut place = root.walk(target, manner.link)?;
            place.make_missing(PROJECT_DIRECTORY)?;
            Ok::<_, FileError>(place)
        })();
        let place = found.map_err(StateError::file("write", target))?;
        let temporary = manner.has_fixed_name.then(|| format!(".{}.tmp", place.name.to_string_lossy()));
        if let Some(temporary) = &temporary {
            // Where this fails, it is the leftover that is in the way.
            let cleared = Replacement::clear(&place, temporary.as_ref());
            cleared.map_err(StateError::file("remove", target.with_file_name(temporary)))?;
        }
        let staged = (|| {
            let (replacement, file) = match temporary {
                Some(temporary) => Replacement::begin_as(place, temporary.as_ref(), manner.mode)?,
                None => Replacement::begin(place, manner.mode)?,
            };
            store(&file, content, manner.durability)?;
            Ok::<_, FileError>(Self { target: target.to_owned(), replacement })
        })();
        staged.map_err(StateError::file("write", target))
    }

    /// Puts the content in place of the target, for all to see.
    pub(crate) fn replace(self) -> Result<Replaced, StateError> {
        let Self { target, replacement } = self;
        let placed = replacement.place().map_err(StateError::io("replace", &target))?;
        Ok(Replaced { target, placed })
    }

    /// Puts the content in place of the target, durably.
    pub(crate) fn commit(self) -> Result<(), StateError> {
        self.replace()?.sync()
    }
}

fn store<'a>(
    file: &File,
    content: impl IntoIterator<Item = &'a [u8]>,
    durability: Durability,
) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(PIECES_BYTES, file);
    for piece in content {
        writer.write_all(piece)?;
    }
    writer.flush()?;
    match durability {
        // After a failed sync the system may have dropped the data, so
        // there is no second try: the old file stays.
        Durability::Synced => file.sync_all(),
        Durability::Unsynced => Ok(()),
    }
}

/// How a file is replaced.
struct Manner {
    /// What happens to a link in its place.
    link: LastLink,
    /// The permissions of a file that is new.
    mode: u32,
    durability: Durability,
    /// Whether the lock that is held makes one temporary name enough.
    has_fixed_name: bool,
}

/// A file of Samuel's: it is no link, and the owner's alone.
const PRIVATE: Manner =
    Manner { link: LastLink::Keep, mode: PRIVATE_FILE, durability: Durability::Synced, has_fixed_name: true };
/// A file of the project: a link stays one, and what it leads to is replaced.
const PUBLIC: Manner = Manner {
    link: LastLink::Follow,
    mode: PROJECT_FILE,
    durability: Durability::Synced,
    has_fixed_name: false,
};

/// A replacement that all see and a power failure may still undo.
#[derive(Debug)]
#[must_use]
pub(crate) struct Replaced {
    target: PathBuf,
    placed: Placed,
}

impl Replaced {
    /// Makes the replacement durable.
    pub(crate) fn sync(self) -> Result<(), StateError> {
        self.placed.sync().map_err(StateError::io("sync", self.target))
    }
}

/// Replaces a file durably.
pub(crate) fn write(root: &Root, target: &Path, content: &[u8]) -> Result<(), StateError> {
    Staged::write(root, target, [content])?.commit()
}

/// Replaces a file durably that belongs to the project rather than to Samuel: a
/// new one can be read by everybody, and of a link what it leads to is replaced.
pub(crate) fn write_public(root: &Root, target: &Path, content: &[u8]) -> Result<(), StateError> {
    Staged::create(root, target, [content], &PUBLIC)?.commit()
}

/// Replaces a file that is made anew before anybody relies on it. Readers see
/// the old or the new one; after a power failure it may be neither.
pub(crate) fn write_unsynced(root: &Root, target: &Path, content: &[u8]) -> Result<(), StateError> {
    let manner = Manner { durability: Durability::Unsynced, ..PRIVATE };
    let Replaced { .. } = Staged::create(root, target, [content], &manner)?.replace()?;
    Ok(())
}

/// Reads a whole file; nothing if there is none.
pub(crate) fn read(root: &Root, path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    match root.read(path, MAX_FILE_BYTES) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error @ FileError::TooLarge { .. }) => Err(StateError::Corrupt {
            path: path.to_owned(),
            line: None,
            column: None,
            reason: error.to_string(),
        }),
        Err(error) => Err(StateError::file("read", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_is_the_owners_alone_and_an_old_one_keeps_its_mode() {
        let root = tempfile::tempdir().unwrap();
        let at = Root::new(root.path());
        let path = root.path().join("a");
        write(&at, &path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&at, &path, b"two").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap().as_slice()), (0o640, b"two".as_slice()));
    }

    #[test]
    fn a_leftover_of_a_crash_is_replaced_even_if_it_is_a_link() {
        let root = tempfile::tempdir().unwrap();
        let at = Root::new(root.path());
        let (victim, path) = (root.path().join("victim"), root.path().join("a"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, root.path().join(".a.tmp")).unwrap();
        write(&at, &path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!root.path().join(".a.tmp").exists());
    }

    #[test]
    fn what_is_staged_and_not_committed_leaves_no_trace() {
        let root = tempfile::tempdir().unwrap();
        let at = Root::new(root.path());
        let path = root.path().join("a");
        write(&at, &path, b"old").unwrap();
        drop(Staged::write(&at, &path, [&b"new"[..]]).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn something_that_is_no_file_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let at = Root::new(root.path());
        assert!(matches!(read(&at, root.path()), Err(StateError::Io { .. })));
        assert!(read(&at, &root.path().join("none")).unwrap().is_none());
    }
}
