//! Replacing files so that readers and crashes see the old or the new one.
//!
//! [`Staged`] holds the new content, already on the disk under a temporary
//! name; [`Staged::commit`] puts it in place. Whoever stages a file holds the
//! run directory's lock, so one fixed temporary name is enough, and a crash
//! leaves at most one such file behind.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::StateError;

/// The largest file of a run directory that is read as a whole.
pub(crate) const MAX_FILE_BYTES: u64 = 64 << 20;

/// How much of small pieces is written at a time.
const PIECES_BYTES: usize = 32 << 10;

/// Options to open a file of the run directory: new files are the owner's
/// alone, and links are not followed.
pub(crate) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW));
    options
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

/// New content for a file, stored under a temporary name.
#[derive(Debug)]
pub(crate) struct Staged {
    target: PathBuf,
    temporary: PathBuf,
    committed: bool,
}

impl Staged {
    /// Stores content, given in pieces, durably beside its target.
    pub(crate) fn write<'a>(
        target: &Path,
        content: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, StateError> {
        Self::create(target, content, Durability::Synced)
    }

    fn create<'a>(
        target: &Path,
        content: impl IntoIterator<Item = &'a [u8]>,
        durability: Durability,
    ) -> Result<Self, StateError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.tmp"));
        remove_leftover(&temporary).map_err(StateError::io("remove", &temporary))?;
        let staged = Self { target: target.to_owned(), temporary, committed: false };
        staged.store(content, durability).map_err(StateError::io("write", target))?;
        Ok(staged)
    }

    fn store<'a>(
        &self,
        content: impl IntoIterator<Item = &'a [u8]>,
        durability: Durability,
    ) -> io::Result<()> {
        let file = options().write(true).create_new(true).open(&self.temporary)?;
        if let Some(mode) = mode_of(&self.target)? {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        let mut writer = BufWriter::with_capacity(PIECES_BYTES, &file);
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

    /// Puts the content in place of the target, for all to see.
    pub(crate) fn replace(mut self) -> Result<Replaced, StateError> {
        fs::rename(&self.temporary, &self.target).map_err(StateError::io("replace", &self.target))?;
        self.committed = true;
        Ok(Replaced { target: self.target.clone() })
    }

    /// Puts the content in place of the target, durably.
    pub(crate) fn commit(self) -> Result<(), StateError> {
        self.replace()?.sync()
    }
}

/// Whether content is on the disk before it is put in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    Synced,
    Unsynced,
}

/// A replacement that all see and a power failure may still undo.
#[derive(Debug)]
#[must_use]
pub(crate) struct Replaced {
    target: PathBuf,
}

impl Replaced {
    /// Makes the replacement durable.
    pub(crate) fn sync(self) -> Result<(), StateError> {
        sync_parent(&self.target)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            // The error that led here is reported already; the next writer
            // removes what is left.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Replaces a file durably.
pub(crate) fn write(target: &Path, content: &[u8]) -> Result<(), StateError> {
    Staged::write(target, [content])?.commit()
}

/// Replaces a file durably that belongs to the project rather than to Samuel: a
/// new one can be read by everybody.
pub(crate) fn write_public(target: &Path, content: &[u8]) -> Result<(), StateError> {
    let is_new = mode_of(target).map_err(StateError::io("read", target))?.is_none();
    let staged = Staged::write(target, [content])?;
    if is_new {
        let mode = Permissions::from_mode(0o644);
        fs::set_permissions(&staged.temporary, mode).map_err(StateError::io("write", target))?;
    }
    staged.commit()
}

/// Replaces a file that is made anew before anybody relies on it. Readers see
/// the old or the new one; after a power failure it may be neither.
pub(crate) fn write_unsynced(target: &Path, content: &[u8]) -> Result<(), StateError> {
    let Replaced { .. } = Staged::create(target, [content], Durability::Unsynced)?.replace()?;
    Ok(())
}

/// Makes the entries of a file's directory durable.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StateError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|dir| dir.sync_all()).map_err(StateError::io("sync", parent))
}

/// Reads a whole file; nothing if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, StateError> {
    let file = match OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StateError::io("open", path)(error)),
    };
    let metadata = file.metadata().map_err(StateError::io("read", path))?;
    if !metadata.is_file() {
        return Err(StateError::io("read", path)(io::Error::other("not a file")));
    }
    if metadata.len() > MAX_FILE_BYTES {
        let reason = format!("{} bytes, at most {MAX_FILE_BYTES} are read", metadata.len());
        return Err(StateError::Corrupt { path: path.to_owned(), line: None, column: None, reason });
    }
    let mut content = Vec::with_capacity(metadata.len() as usize);
    file.take(MAX_FILE_BYTES).read_to_end(&mut content).map_err(StateError::io("read", path))?;
    Ok(Some(content))
}

fn remove_leftover(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the permissions of an existing file that is no link.
fn mode_of(path: &Path) -> io::Result<Option<u32>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata.permissions().mode() & 0o7777)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_is_the_owners_alone_and_an_old_one_keeps_its_mode() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        write(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&path, b"two").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap().as_slice()), (0o640, b"two".as_slice()));
    }

    #[test]
    fn a_leftover_of_a_crash_is_replaced_even_if_it_is_a_link() {
        let root = tempfile::tempdir().unwrap();
        let (victim, path) = (root.path().join("victim"), root.path().join("a"));
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, root.path().join(".a.tmp")).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert!(!root.path().join(".a.tmp").exists());
    }

    #[test]
    fn what_is_staged_and_not_committed_leaves_no_trace() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        write(&path, b"old").unwrap();
        drop(Staged::write(&path, [&b"new"[..]]).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn something_that_is_no_file_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(read(root.path()), Err(StateError::Io { .. })));
        assert!(read(&root.path().join("none")).unwrap().is_none());
    }
}
