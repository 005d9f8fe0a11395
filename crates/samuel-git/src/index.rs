//! Git's index: what is staged, and what the files looked like then.
//!
//! An [`Index`] is read from disk once and holds its bytes; its entries are
//! handed out one after the other, without a copy. Versions 2 to 4 are known,
//! with both kinds of ids, also where it is sparse. An index that is split over
//! two files is not.

use std::{ops::ControlFlow, path::PathBuf};

use super::{GitError, Repository, id::HashKind, read};
use samuel_fs::read_up_to;

/// The largest index that is read, in bytes: about two million files.
const MAX_BYTES: u64 = 256 << 20;
/// The longest path, in bytes.
pub(super) const MAX_PATH: usize = 4_096;
/// How long all paths may be together, in bytes: version 4 stores little of each.
pub(super) const MAX_PATHS: usize = 256 << 20;

const MODE_LINK: u32 = 0o120_000;
const MODE_SUBMODULE: u32 = 0o160_000;
const MODE_DIRECTORY: u32 = 0o040_000;

/// What the system said of a file when it was staged. Times are seconds and
/// nanoseconds; all numbers are cut to 32 bits, as git cuts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    changed: (u32, u32),
    modified: (u32, u32),
    inode: u32,
    size: u32,
}

impl Stat {
    /// Takes over what the system says of a file.
    #[cfg(unix)]
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            changed: (metadata.ctime() as u32, metadata.ctime_nsec() as u32),
            modified: (metadata.mtime() as u32, metadata.mtime_nsec() as u32),
            inode: metadata.ino() as u32,
            size: metadata.len() as u32,
        }
    }

    /// Takes over what the system says of a file, as far as it does here.
    #[cfg(not(unix))]
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        let since = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let since = since.unwrap_or_default();
        let modified = (since.as_secs() as u32, since.subsec_nanos());
        Self { changed: modified, modified, inode: 0, size: metadata.len() as u32 }
    }

    /// Says whether a file that looks so now is the one that looked like this
    /// when it was staged. Some writers of an index leave parts out, as zeros.
    pub fn is_of(&self, now: &Self) -> bool {
        let same = |then: (u32, u32), now: (u32, u32)| then.0 == now.0 && (then.1 == now.1 || then.1 == 0);
        same(self.modified, now.modified)
            && (same(self.changed, now.changed) || self.changed == (0, 0))
            && (self.inode == now.inode || self.inode == 0)
            && self.size == now.size
    }

    /// Says whether a file that was written at this time may have been written
    /// again without a new time, as seen from an index written at another.
    fn is_before(&self, index: (u32, u32)) -> bool {
        match self.modified {
            (seconds, 0) => seconds < index.0,
            modified => modified < index,
        }
    }
}

/// An entry of the index.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its path from the top of the work tree, with `/`; a plain one, which
    /// leads nowhere else.
    pub path: &'a [u8],
    mode: u32,
    /// The id of its content.
    pub id: &'a [u8],
    /// What its file looked like, where that can be relied on.
    pub stat: Option<Stat>,
    /// Whether it was left out of the work tree.
    pub is_skipped: bool,
    /// Whether other entries have the same path: a merge is under way.
    pub is_unmerged: bool,
}

impl Entry<'_> {
    /// Says whether it is a link.
    pub fn is_link(&self) -> bool {
        self.mode == MODE_LINK
    }

    /// Says whether it is a repository of its own.
    pub fn is_submodule(&self) -> bool {
        self.mode == MODE_SUBMODULE
    }

    /// Returns the mode.
    pub fn mode(&self) -> u32 {
        self.mode
    }
}

/// The index of a work tree, as its bytes.
#[derive(Debug)]
pub struct Index {
    bytes: Vec<u8>,
    path: PathBuf,
    hash: HashKind,
    version: u32,
    count: usize,
    /// When it was written.
    written: (u32, u32),
}

impl Repository {
    /// Reads the index. A repository in which nothing was staged yet has an
    /// empty one.
    ///
    /// # Errors
    /// Returns a [`GitError`] where it cannot be read.
    #[doc(hidden)]
    pub fn index(&self) -> Result<Index, GitError> {
        let path = self.git_dir.join("index");
        let empty =
            |path| Index { bytes: Vec::new(), path, hash: self.hash, version: 2, count: 0, written: (0, 0) };
        let (file, metadata) = match read::open(&path) {
            Err(error) if read::is_absent(&error) => return Ok(empty(path)),
            opened => opened.map_err(GitError::read(&path))?,
        };
        let bytes = read_up_to(file, MAX_BYTES).map_err(|error| GitError::read(&path)(error.into()))?;
        let damaged = |problem| Err(GitError::damaged(&path, problem));
        let mut header = Fields(&bytes);
        let (Some(b"DIRC"), Some(version), Some(count)) = (header.take(4), header.number(), header.number())
        else {
            return damaged("it is not an index");
        };
        if !(2..=4).contains(&version) {
            let format = format!("version {version} of an index");
            return Err(GitError::Unsupported { path, format });
        }
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        // Checked before anything is made room for.
        if count > bytes.len() / (40 + self.hash.len()) {
            return damaged("it has fewer entries than it says");
        }
        let Stat { modified: written, .. } = Stat::of(&metadata);
        Ok(Index { bytes, path, hash: self.hash, version, count, written })
    }
}

impl Index {
    /// Returns how many entries it has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Hands out every entry, sorted by path, until the receiver has enough.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the index is damaged or split, or names a
    /// path that an index must not.
    pub fn for_each(&self, receive: impl FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), GitError> {
        self.for_each_within(MAX_PATHS, receive)
    }

    /// Returns whether git can miss a change of a file, since it compares times by the second. That is so if a file
    /// changed in the second in which the index was written, and its modification time was set to an earlier one:
    /// whoever does both again in that second leaves the file as the index describes it.
    ///
    /// # Errors
    /// As [`for_each`](Self::for_each).
    pub fn can_miss_changes(&self) -> Result<bool, GitError> {
        let ((written, _), mut can) = (self.written, false);
        self.for_each(|entry| {
            can = entry.stat.is_some_and(|stat| stat.changed.0 >= written && stat.modified.0 < written);
            if can { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(can)
    }

    /// Hands out every entry, as long as their paths have no more bytes.
    fn for_each_within(
        &self,
        mut left: usize,
        mut receive: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), GitError> {
        let mut fields = Fields(self.bytes.get(12..).unwrap_or_default());
        // In version 4, a path is given by how it differs from the one before.
        let mut whole = Vec::new();
        for _ in 0..self.count {
            let damaged = || self.damaged("an entry of it is cut off");
            let before = fields.0.len();
            let raw = fields.entry(self.hash).ok_or_else(damaged)?;
            let path = match self.version {
                4 => {
                    let (removed, added) = fields.suffix().ok_or_else(damaged)?;
                    let kept = whole.len().checked_sub(removed).ok_or_else(damaged)?;
                    whole.truncate(kept);
                    whole.extend_from_slice(added);
                    whole.as_slice()
                }
                _ => {
                    let path = fields.text().ok_or_else(damaged)?;
                    // Entries end at multiples of eight bytes, with at least one zero.
                    let length = before - fields.0.len();
                    fields.take(length.next_multiple_of(8) - length).ok_or_else(damaged)?;
                    path
                }
            };
            let path = path.strip_suffix(b"/").filter(|_| raw.mode == MODE_DIRECTORY).unwrap_or(path);
            if path.is_empty() {
                // It replaces an entry of the other half.
                return Err(self.unsupported(GitError::SPLIT_INDEX));
            }
            if path.len() > MAX_PATH || !is_plain(path) {
                return Err(self.damaged("it names a path that no index may"));
            }
            let too_long = || self.damaged("its paths are too long together");
            left = left.checked_sub(path.len()).ok_or_else(too_long)?;
            if receive(raw.at(path, self.written)).is_break() {
                return Ok(());
            }
        }
        self.check_extensions(fields)
    }

    /// Refuses what changes the meaning of the entries.
    fn check_extensions(&self, mut fields: Fields<'_>) -> Result<(), GitError> {
        while fields.0.len() > self.hash.len() {
            let (Some(name), Some(length)) = (fields.take(4), fields.number()) else { break };
            // What begins with a small letter must be understood.
            let is_needed = name.first().is_some_and(u8::is_ascii_lowercase) && name != b"sdir";
            if is_needed {
                return Err(match name {
                    b"link" => self.unsupported(GitError::SPLIT_INDEX),
                    other => self.unsupported(&format!("the extension {:?}", String::from_utf8_lossy(other))),
                });
            }
            let Some(_) = usize::try_from(length).ok().and_then(|length| fields.take(length)) else { break };
        }
        Ok(())
    }

    fn unsupported(&self, format: &str) -> GitError {
        GitError::Unsupported { path: self.path.clone(), format: format.to_owned() }
    }

    fn damaged(&self, problem: &'static str) -> GitError {
        GitError::damaged(&self.path, problem)
    }
}

/// Says whether a path stays where it is written: no empty, `.`, `..` or `.git`
/// part, no zero byte.
pub(super) fn is_plain(path: &[u8]) -> bool {
    let is_part = |part: &[u8]| match part {
        [] => false,
        [b'.', rest @ ..] => !(rest.is_empty() || rest == b"." || rest.eq_ignore_ascii_case(b"git")),
        _ => true,
    };
    path.split(|byte| *byte == b'/').all(is_part) && !path.contains(&0)
}

/// The parts of an entry before its path.
struct Raw<'a> {
    mode: u32,
    id: &'a [u8],
    stat: Stat,
    flags: u16,
    more_flags: u16,
}

impl<'a> Raw<'a> {
    fn at<'b>(&self, path: &'b [u8], index: (u32, u32)) -> Entry<'b>
    where
        'a: 'b,
    {
        let is_skipped = self.more_flags & 0x4000 != 0 || self.mode == MODE_DIRECTORY;
        let intends_to_add = self.more_flags & 0x2000 != 0;
        let is_unmerged = self.flags & 0x3000 != 0;
        let is_reliable = !intends_to_add && !is_unmerged && self.stat.is_before(index);
        let stat = is_reliable.then_some(self.stat);
        Entry { path, mode: self.mode, id: self.id, stat, is_skipped, is_unmerged }
    }
}

/// Bytes that are taken from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    fn short(&mut self) -> Option<u16> {
        let (number, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*number))
    }

    fn entry(&mut self, hash: HashKind) -> Option<Raw<'a>> {
        let changed = (self.number()?, self.number()?);
        let modified = (self.number()?, self.number()?);
        let (_device, inode, mode) = (self.number()?, self.number()?, self.number()?);
        let (_user, _group, size) = (self.number()?, self.number()?, self.number()?);
        let id = self.take(hash.len())?;
        let flags = self.short()?;
        let more_flags = if flags & 0x4000 == 0 { 0 } else { self.short()? };
        Some(Raw { mode, id, stat: Stat { changed, modified, inode, size }, flags, more_flags })
    }

    /// Takes a text up to its zero byte.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// Takes how many bytes of the path before fall away, and what follows.
    fn suffix(&mut self) -> Option<(usize, &'a [u8])> {
        let mut removed = 0_usize;
        loop {
            let [byte] = *self.take(1)? else { return None };
            removed = removed.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
            if byte & 0x80 == 0 {
                break;
            }
            removed = removed.checked_add(1)?;
        }
        Some((removed, self.text()?))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

    use std::{
        fs,
        time::{Duration, SystemTime},
    };

    use super::*;
    use crate::{Caller, testing::Repository as Made};

    fn open(made: &Made) -> Repository {
        Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap()
    }

    fn paths(made: &Made) -> Result<Vec<String>, GitError> {
        let mut found = Vec::new();
        open(made).index()?.for_each(|entry| {
            found.push(String::from_utf8_lossy(entry.path).into_owned());
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }

    fn many() -> Made {
        let names: Vec<String> =
            (0..40).map(|n| format!("src/{}/file-{}.rs", "deep/".repeat(n % 3), "x".repeat(n))).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x\n")).collect();
        Made::with(&files)
    }

    #[test]
    fn every_version_is_read() {
        let made = many();
        let expected = paths(&made).unwrap();
        assert_eq!(expected.len(), 40);
        for version in ["4", "3", "2"] {
            made.run(&["update-index", "--index-version", version]);
            assert_eq!(paths(&made).unwrap(), expected, "version {version}");
        }
    }

    #[test]
    fn paths_are_not_too_long_together() {
        let made = many();
        made.run(&["update-index", "--index-version", "4"]);
        let all = paths(&made).unwrap().iter().map(String::len).sum();
        let index = open(&made).index().unwrap();
        let read = |limit| index.for_each_within(limit, |_| ControlFlow::Continue(()));
        read(all).unwrap();
        let error = read(all - 1).unwrap_err().to_string();
        assert!(error.ends_with("its paths are too long together"), "{error}");
    }

    #[test]
    fn names_index_that_can_miss_changes() {
        let (made, now) = (Made::with(&[("a.rs", "x\n")]), SystemTime::now());
        let set = |name: &str, time: SystemTime| {
            let file = fs::File::options().write(true).open(made.path().join(name)).unwrap();
            file.set_modified(time).unwrap();
        };
        let can_miss = || open(&made).index().unwrap().can_miss_changes().unwrap();
        assert!(!can_miss());
        set("a.rs", SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
        made.run(&["update-index", "--refresh"]);
        set(".git/index", now);
        assert!(can_miss(), "the file changed after that");
        set(".git/index", now + Duration::from_secs(60));
        assert!(!can_miss(), "a later change has another time");
    }

    #[test]
    fn a_split_index_is_named() {
        let made = many();
        made.run(&["update-index", "--split-index"]);
        let error = paths(&made).unwrap_err().to_string();
        assert!(error.ends_with("a split index is not supported"), "{error}");
    }

    #[test]
    fn an_index_that_is_cut_off_or_damaged_anywhere_is_an_error_or_read() {
        let made = many();
        let path = made.path().join(".git/index");
        let whole = fs::read(&path).unwrap();
        let entries = whole.len() - 20;
        for end in (0..entries).step_by(7) {
            fs::write(&path, &whole[..end]).unwrap();
            let read = paths(&made);
            // Only extensions may be missing.
            assert!(read.is_err() || read.unwrap().len() == 40, "cut at {end}");
        }
        for place in (0..entries).step_by(3) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0xff;
            fs::write(&path, bytes).unwrap();
            drop(paths(&made));
        }
    }

    #[test]
    fn counts_and_paths_that_an_index_must_not_have_are_refused() {
        let made = Made::with(&[("a/bcdefg", "x\n")]);
        let path = made.path().join(".git/index");
        let whole = fs::read(&path).unwrap();
        let place = whole.windows(8).position(|window| window == b"a/bcdefg").unwrap();
        for name in
            [b"/etc/abc", b"../../ab", b"a/../../", b".git/abc", b"a/.GIT/b", b"a//bcdef", b"a/./bcde"]
        {
            let mut bytes = whole.clone();
            bytes[place..place + 8].copy_from_slice(name);
            fs::write(&path, bytes).unwrap();
            let error = paths(&made).unwrap_err().to_string();
            assert!(error.ends_with("it names a path that no index may"), "{error}");
        }
        let mut bytes = whole.clone();
        bytes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        fs::write(&path, bytes).unwrap();
        paths(&made).unwrap_err();
    }

    #[test]
    fn a_file_that_was_only_checked_out_looks_as_it_did() {
        let made = Made::with(&[("a.rs", "x\n")]);
        let stat = || Stat::of(&fs::metadata(made.path().join("a.rs")).unwrap());
        let looks_the_same = |now: Stat| {
            let mut same = false;
            open(&made)
                .index()
                .unwrap()
                .for_each(|entry| {
                    same = entry.stat.is_some_and(|then| then.is_of(&now));
                    ControlFlow::Continue(())
                })
                .unwrap();
            same
        };
        // What is staged right after it was written cannot be told by times.
        let past = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        fs::File::open(made.path().join("a.rs")).unwrap().set_modified(past).unwrap();
        made.run(&["update-index", "--refresh"]);
        assert!(looks_the_same(stat()));
        made.write("a.rs", "y\n");
        assert!(!looks_the_same(stat()));
    }
}
