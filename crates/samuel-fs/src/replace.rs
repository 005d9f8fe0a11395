//! Writing whole files, so that readers and crashes see the old or the new one.
//!
//! [`Root::write`] replaces a file, [`Root::write_new`] makes one that is not there yet,
//! [`Root::back_up`] keeps what a file held beside it. A [`Manner`] says whose the file is
//! and what of it a power failure may undo. [`Place::stage`] stores the content under a
//! temporary name, for whoever has something to do before it is
//! [put in place](Replacement::place).

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, BufWriter, Write},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use rustix::{
    fs::{
        AtFlags, Mode, OFlags, RenameFlags, fchmod, fsync, linkat, openat, renameat, renameat_with, unlinkat,
    },
    io::Errno,
};

use super::{
    FileError, LastLink, PRIVATE_DIRECTORY, PRIVATE_FILE, PROJECT_DIRECTORY, PROJECT_FILE, PathKind, Place,
    Root,
    own::{MAX_NAMES, give, hand_over},
    walk::{kind_of, mode_of},
};

/// How a file is made that is not there yet.
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// How much of small pieces is written at a time.
const PIECES_BYTES: usize = 32 << 10;

/// What is left of a file that was written after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// All of it, once the call has returned.
    Synced,
    /// What was there before or what is new, and nothing between.
    Whole,
    /// Perhaps nothing: it is made anew.
    Unsynced,
}

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// What happens to a link in its place.
    link: LastLink,
    /// The permissions of a file that is new. What the mask of the user leaves of them counts.
    file: u32,
    /// Those of directories that are missing.
    directories: u32,
    durability: Durability,
    /// Whether the lock that the caller holds makes one temporary name enough, so
    /// that a crash leaves at most one such file behind.
    is_locked: bool,
}

impl Manner {
    /// A file of a run directory, whose lock is held: no link, the owner's alone, on the
    /// disk once it is written.
    pub const STATE: Self = Self {
        link: LastLink::Keep,
        file: PRIVATE_FILE,
        directories: PROJECT_DIRECTORY,
        durability: Durability::Synced,
        is_locked: true,
    };
    /// A file of Samuel's that several processes may write at once.
    pub const PRIVATE: Self = Self {
        directories: PRIVATE_DIRECTORY,
        durability: Durability::Whole,
        is_locked: false,
        ..Self::STATE
    };
    /// A file of the project: a link stays one, and what it leads to is replaced.
    pub const PROJECT: Self =
        Self { link: LastLink::Follow, file: PROJECT_FILE, is_locked: false, ..Self::STATE };

    /// Returns the same with another durability.
    pub const fn with(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }
}

impl Root {
    /// Replaces a file, or makes it with the directories above it.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the content cannot be stored. The old content stays then.
    #[doc(hidden)]
    pub fn write<'a>(
        &self,
        path: &Path,
        content: impl IntoIterator<Item = &'a [u8]>,
        manner: &Manner,
    ) -> Result<(), FileError> {
        self.replaceable(path, manner)?.write(content, manner)
    }

    /// Stores new content for a file under a temporary name, with the directories above it.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the content cannot be stored.
    #[doc(hidden)]
    pub fn stage<'a>(
        &self,
        path: &Path,
        content: impl IntoIterator<Item = &'a [u8]>,
        manner: &Manner,
    ) -> Result<Replacement, FileError> {
        self.replaceable(path, manner)?.stage(content, manner)
    }

    /// Finds where a file is to be written.
    fn replaceable(&self, path: &Path, manner: &Manner) -> Result<Place, FileError> {
        let place = self.walk(path, manner.link)?;
        match place.kind() {
            Some(kind) if manner.link == LastLink::Follow && kind != PathKind::File => {
                Err(FileError::NotAFile { kind })
            }
            _ => Ok(place),
        }
    }

    /// Makes a file that is not there yet, as a whole or not at all. Its directory is there.
    ///
    /// # Errors
    /// Fails if something is there already, the path leads out of the root, or the content cannot be stored.
    #[doc(hidden)]
    pub fn write_new(&self, path: &Path, content: &[u8], manner: &Manner) -> Result<(), FileError> {
        let place = self.own_place(path)?;
        if place.found.is_some() {
            return Err(Errno::EXIST.into());
        }
        let (replacement, file) = Replacement::begin(place, manner.file)?;
        store(&file, [content], manner.durability)?;
        Ok(replacement.place_new()?)
    }

    /// Keeps what a file holds beside it, as `<name>.bak-<time>`. Returns where.
    ///
    /// # Errors
    /// Fails if the copy cannot be stored.
    #[doc(hidden)]
    pub fn back_up(
        &self,
        path: &Path,
        content: &[u8],
        now: Timestamp,
        manner: &Manner,
    ) -> Result<PathBuf, FileError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(now.strftime(".bak-%Y%m%dT%H%M%SZ").to_string());
        for number in 1..=MAX_NAMES {
            let mut name = name.clone();
            if number > 1 {
                name.push(format!("-{number}"));
            }
            let backup = path.with_file_name(name);
            match self.write_new(&backup, content, &manner.with(Durability::Whole)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                written => return written.map(|()| backup),
            }
        }
        Err(Errno::EXIST.into())
    }
}

impl Place {
    /// Replaces what is there, with the directories that are missing.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the content cannot be stored. The old content stays then.
    pub fn write<'a>(
        self,
        content: impl IntoIterator<Item = &'a [u8]>,
        manner: &Manner,
    ) -> Result<(), FileError> {
        let placed = self.stage(content, manner)?.place()?;
        match manner.durability {
            Durability::Synced => Ok(placed.sync()?),
            Durability::Whole | Durability::Unsynced => Ok(()),
        }
    }

    /// Stores new content, given in pieces, under a temporary name.
    ///
    /// # Errors
    /// Fails if the path leads out of the root, or the content cannot be stored.
    pub fn stage<'a>(
        mut self,
        content: impl IntoIterator<Item = &'a [u8]>,
        manner: &Manner,
    ) -> Result<Replacement, FileError> {
        self.make_missing(manner.directories)?;
        let (replacement, file) = match manner.is_locked {
            true => {
                let temporary = format!(".{}.tmp", self.name.to_string_lossy());
                Replacement::begin_as(self, temporary.as_ref(), manner.file)?
            }
            false => Replacement::begin(self, manner.file)?,
        };
        store(&file, content, manner.durability)?;
        Ok(replacement)
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
        Durability::Synced | Durability::Whole => file.sync_all(),
        Durability::Unsynced => Ok(()),
    }
}

/// New content for a file, under a temporary name beside it until it is put in
/// place. Readers see the old or the new one.
#[derive(Debug)]
pub struct Replacement {
    dir: OwnedFd,
    name: OsString,
    temporary: OsString,
    is_placed: bool,
}

impl Replacement {
    /// Makes an empty file beside a place whose directory is there, under a
    /// temporary name that nobody else has. It gets the permissions of the file
    /// that it replaces; where there is none, `mode` and the user's mask decide.
    /// With [`PRIVATE_FILE`] the owner can always read and write it.
    ///
    /// # Errors
    /// Fails if the file cannot be created beside its place.
    pub fn begin(place: Place, mode: u32) -> Result<(Self, File), FileError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MAX_NAMES {
            // Another container may have this process's id, so that what has the
            // name is not ours to remove.
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let temporary = format!(".samuel-{}-{count}.tmp", std::process::id());
            match Self::make(&place, temporary.as_ref(), mode) {
                Err(FileError::Io(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return Self::of(place, temporary.into(), made?, mode),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Begins as [`Replacement::begin`] does, under a temporary name that only
    /// the caller uses, over a file with it that was left behind.
    fn begin_as(place: Place, temporary: &OsStr, mode: u32) -> Result<(Self, File), FileError> {
        match unlinkat(place.parent()?, temporary, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                return Err(FileError::Leftover { name: temporary.to_owned(), source: error.into() });
            }
        }
        let file = Self::make(&place, temporary, mode)?;
        Self::of(place, temporary.to_owned(), file, mode)
    }

    fn make(place: &Place, temporary: &OsStr, mode: u32) -> Result<File, FileError> {
        if place.kind() == Some(PathKind::Directory) {
            return Err(FileError::NotAFile { kind: PathKind::Directory });
        }
        Ok(File::from(openat(place.parent()?, temporary, NEW, mode_of(mode))?))
    }

    fn of(place: Place, temporary: OsString, file: File, mode: u32) -> Result<(Self, File), FileError> {
        let kept = place.found.as_ref().filter(|found| kind_of(found) == PathKind::File);
        match kept {
            Some(found) => give(&file, found),
            None => hand_over(&file, place.parent()?),
        }
        // Samuel must be able to read and write a file that only Samuel uses.
        let least = if mode == PRIVATE_FILE { mode_of(PRIVATE_FILE) } else { Mode::empty() };
        // What everybody may write anybody may exchange.
        let kept = kept.map(|found| Mode::from_raw_mode(found.st_mode & 0o7775) | least);
        let (dir, name) = place.into_parts();
        let replacement = Self { dir, name, temporary, is_placed: false };
        if let Some(kept) = kept {
            fchmod(&file, kept)?;
        }
        Ok((replacement, file))
    }

    /// Puts the new content in place, for all to see. A power failure may still
    /// undo it: what is returned makes it last.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed.
    pub fn place(mut self) -> io::Result<Placed> {
        renameat(&self.dir, &*self.temporary, &self.dir, &*self.name)?;
        self.is_placed = true;
        Ok(Placed { dir: self.dir.try_clone()? })
    }

    /// Puts the new content in place, durably.
    ///
    /// # Errors
    /// Fails if the file cannot be renamed or synced.
    pub fn commit(self) -> io::Result<()> {
        self.place()?.sync()
    }

    /// Puts the new content in place where nothing is.
    fn place_new(mut self) -> io::Result<()> {
        let flags = RenameFlags::NOREPLACE;
        match renameat_with(&self.dir, &*self.temporary, &self.dir, &*self.name, flags) {
            // Not every file system knows it; the temporary name goes with this value.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                Ok(linkat(&self.dir, &*self.temporary, &self.dir, &*self.name, AtFlags::empty())?)
            }
            placed => {
                self.is_placed = placed.is_ok();
                Ok(placed?)
            }
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_placed {
            // The error that led here is reported already; whoever is next
            // removes what is left.
            let _ = unlinkat(&self.dir, &*self.temporary, AtFlags::empty());
        }
    }
}

/// A replacement that all see and a power failure may still undo.
#[derive(Debug)]
#[must_use]
pub struct Placed {
    dir: OwnedFd,
}

impl Placed {
    /// Makes the replacement durable.
    pub fn sync(self) -> io::Result<()> {
        Ok(fsync(&self.dir)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    fn write(root: &Root, path: &Path, content: &[u8]) -> Result<(), FileError> {
        root.write(path, [content], &Manner::STATE)
    }

    #[test]
    fn a_replacement_keeps_the_permissions_and_a_new_file_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let path = root.path().join("a/b/file");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        write(&root, &path, b"one").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        write(&root, &path, b"two").unwrap();
        assert_eq!((mode(), fs::read(&path).unwrap().as_slice()), (0o640, b"two".as_slice()));
    }

    #[test]
    fn owner_can_read_and_write_replaced_state_file() {
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (Root::new(dir.path()), dir.path().join("file"));
        for (manner, before, after) in [
            (Manner::STATE, 0o000, 0o600),
            (Manner::STATE, 0o040, 0o640),
            (Manner::PRIVATE, 0o000, 0o600),
            (Manner::PROJECT, 0o444, 0o444),
        ] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(before)).unwrap();
            root.write(&path, [&b"new"[..]], &manner).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, after, "{manner:?}");
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn replacements_at_once_do_not_meet_and_the_name_may_be_long() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        let path = dir.path().join("x".repeat(255));
        let begin = || Replacement::begin(root.walk(&path, LastLink::Keep).unwrap(), PRIVATE_FILE).unwrap();
        let ((one, mut first), (two, mut second)) = (begin(), begin());
        first.write_all(b"one").unwrap();
        second.write_all(b"two").unwrap();
        let _ = one.place().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(first);
        let _ = two.place().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        root.write(&path, [&b"three"[..]], &Manner::PROJECT).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
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
        let place = at.walk(&path, LastLink::Keep).unwrap();
        drop(place.stage([&b"new"[..]], &Manner::STATE).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_takes_the_place_of_nothing_and_backups_get_names_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let (root, path) = (Root::new(dir.path()), dir.path().join("a"));
        let write_new = |content| root.write_new(&path, content, &Manner::PROJECT);
        write_new(b"one").unwrap();
        assert_eq!(write_new(b"two").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let place = root.walk(&dir.path().join("b"), LastLink::Keep).unwrap();
        let (late, _) = Replacement::begin(place, PRIVATE_FILE).unwrap();
        fs::write(dir.path().join("b"), "meanwhile").unwrap();
        assert_eq!(late.place_new().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let back_up =
            |content| root.back_up(&path, content, Timestamp::UNIX_EPOCH, &Manner::PROJECT).unwrap();
        assert_eq!(back_up(b"one"), dir.path().join("a.bak-19700101T000000Z"));
        assert_eq!(back_up(b"two"), dir.path().join("a.bak-19700101T000000Z-2"));
        assert_eq!(fs::read(dir.path().join("a.bak-19700101T000000Z-2")).unwrap(), b"two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }
}
