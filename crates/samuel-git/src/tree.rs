//! The files of a commit.

use std::{collections::BTreeMap, time::Duration};

use super::{
    GitError, ObjectId, Repository,
    index::{MAX_PATH, MAX_PATHS, is_plain},
    lines::{Counting, DifferentLines},
    listing::Differences,
    log::{read_commit, tree_of},
    odb::{Kind, Objects},
};

/// How many entries of trees are read, and how deep trees may lie.
const MAX_ENTRIES: usize = 2_000_000;
const MAX_DEPTH: usize = 256;

/// A file of a commit: its path from the project's root, mode and content.
pub(super) type TreeFile = (Vec<u8>, u32, ObjectId);

impl Repository {
    /// Lists the files of a commit that are below the project's root.
    pub(super) fn files_of(&self, commit: &ObjectId, limit: Duration) -> Result<Vec<TreeFile>, GitError> {
        self.read_files(None, commit, limit)
    }

    /// Lists those of some files that a commit has below the project's root.
    pub(super) fn files_among(
        &self,
        wanted: &Differences,
        commit: &ObjectId,
        limit: Duration,
    ) -> Result<Vec<TreeFile>, GitError> {
        self.read_files(Some(wanted), commit, limit)
    }

    fn read_files(
        &self,
        wanted: Option<&Differences>,
        commit: &ObjectId,
        limit: Duration,
    ) -> Result<Vec<TreeFile>, GitError> {
        let objects = self.objects(limit)?;
        let missing = || GitError::damaged(&self.common_dir.join("objects"), "a commit or tree is not there");
        let commit = read_commit(&objects, commit)?.ok_or_else(missing)?;
        let mut tree = tree_of(&commit, self.hash).ok_or_else(missing)?;
        let prefix = self.prefix();
        for name in prefix.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let entries = read_tree(&objects, &tree)?.ok_or_else(missing)?;
            let below = Entries { left: &entries, hash: self.hash.len() }.find(|entry| entry.name == name);
            match below.filter(|entry| entry.mode == 0o040_000) {
                Some(entry) => tree = entry.id,
                // The commit had no such directory.
                None => return Ok(Vec::new()),
            }
        }
        let (files, hash) = (Vec::new(), self.hash.len());
        let mut reading = Reading { objects, wanted, files, entries: 0, left: MAX_PATHS, hash };
        reading.tree(&tree, &mut Vec::new(), 0)?.ok_or_else(missing)?;
        Ok(reading.files)
    }

    /// Returns the files below the project's root in which two commits differ, sorted, with how many lines differ; none
    /// where either is no commit of this repository. To find the files, and to count the lines, takes so long at most
    /// each; what is not counted by then is not.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read, or not in time.
    #[doc(hidden)]
    pub fn changes_between(
        &self,
        from: &str,
        to: &str,
        limit: Duration,
    ) -> Result<Vec<FileDiffers>, GitError> {
        let (Some(from), Some(to)) = (self.id_of(from), self.id_of(to)) else { return Ok(Vec::new()) };
        type Sides = [Option<(u32, ObjectId)>; 2];
        let mut files: BTreeMap<Vec<u8>, Sides> = BTreeMap::new();
        for (side, commit) in [from, to].iter().enumerate() {
            for (path, mode, id) in self.files_of(commit, limit)? {
                if let Some(file) = files.entry(path).or_default().get_mut(side) {
                    *file = Some((mode, id));
                }
            }
        }
        let differ = files.into_iter().filter(|(_, [before, after])| before != after);
        let mut counting = Counting::begin(self, limit)?;
        let changed = |(path, [before, after]): (Vec<u8>, Sides)| FileDiffers {
            path: String::from_utf8_lossy(&path).into_owned(),
            before: before.is_some(),
            after: after.is_some(),
            lines: counting.count(before.map(|(_, id)| id), after.map(|(_, id)| id)),
        };
        Ok(differ.map(changed).collect())
    }
}

/// A file in which two commits differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiffers {
    /// Its path, from the project's root.
    pub path: String,
    /// Whether the first commit has it.
    pub before: bool,
    /// Whether the second one has it.
    pub after: bool,
    /// How many of its lines differ.
    pub lines: DifferentLines,
}

fn read_tree(objects: &Objects, id: &ObjectId) -> Result<Option<Vec<u8>>, GitError> {
    let found = objects.read(id)?;
    Ok(found.filter(|(kind, _)| *kind == Kind::Tree).map(|(_, data)| data))
}

struct Reading<'a> {
    objects: Objects,
    /// The files to read; nothing for all.
    wanted: Option<&'a Differences>,
    files: Vec<TreeFile>,
    entries: usize,
    /// How many bytes of paths may still be taken.
    left: usize,
    hash: usize,
}

impl Reading<'_> {
    /// Returns whether a file is wanted, or one in a directory, which has a slash at its end.
    fn wants(&self, path: &[u8]) -> bool {
        let Some(wanted) = self.wanted else { return true };
        let mut from = wanted.range(path.to_vec()..);
        from.next().is_some_and(|(file, _)| match path.ends_with(b"/") {
            true => file.starts_with(path),
            false => file == path,
        })
    }

    /// Reads a tree and those in it; nothing where one is missing, damaged or
    /// more than there may be.
    fn tree(&mut self, id: &ObjectId, path: &mut Vec<u8>, depth: usize) -> Result<Option<()>, GitError> {
        let Some(data) = read_tree(&self.objects, id)?.filter(|_| depth < MAX_DEPTH) else { return Ok(None) };
        let length = path.len();
        for entry in (Entries { left: &data, hash: self.hash }) {
            self.entries += 1;
            let is_too_long = path.len() + entry.name.len() > MAX_PATH;
            if self.entries > MAX_ENTRIES || is_too_long || !is_plain(entry.name) {
                return Ok(None);
            }
            path.extend_from_slice(entry.name);
            if entry.mode == 0o040_000 {
                path.push(b'/');
            }
            if !self.wants(path) {
                path.truncate(length);
                continue;
            }
            if entry.mode == 0o040_000 {
                if self.tree(&entry.id, path, depth + 1)?.is_none() {
                    return Ok(None);
                }
            } else {
                let Some(left) = self.left.checked_sub(path.len()) else { return Ok(None) };
                self.left = left;
                self.files.push((path.clone(), entry.mode, entry.id));
            }
            path.truncate(length);
        }
        Ok(Some(()))
    }
}

/// An entry of a tree.
struct Entry<'a> {
    mode: u32,
    name: &'a [u8],
    id: ObjectId,
}

/// The entries of a tree; they end where it is damaged.
struct Entries<'a> {
    left: &'a [u8],
    hash: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let end = memchr::memchr(0, self.left)?;
        let (head, rest) = self.left.split_at(end);
        let (id, rest) = rest.get(1..)?.split_at_checked(self.hash)?;
        let space = memchr::memchr(b' ', head)?;
        let (mode, name) = head.split_at(space);
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?;
        self.left = rest;
        Some(Entry { mode, name: name.get(1..)?, id: ObjectId::of(id) })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::process::Command;

    use super::*;
    use crate::testing::Repository as Made;

    const LONG: Duration = Duration::from_secs(60);

    /// Makes a commit that has one file, empty, at a path.
    fn commit_of(path: &str) -> (Made, ObjectId) {
        let made = Made::with(&[("empty", "")]);
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"];
            let output = Command::new("git").args(who).args(args).current_dir(made.path()).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let blob = git(&["rev-parse", "HEAD:empty"]);
        git(&["rm", "--quiet", "empty"]);
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")]);
        let commit = git(&["commit-tree", &git(&["write-tree"]), "-m", "One"]);
        let id = ObjectId::from_hex(commit.as_bytes(), made.opened().hash).unwrap();
        (made, id)
    }

    #[test]
    fn a_path_that_no_file_can_have_is_refused() {
        for (path, is_read) in [
            ("x".repeat(MAX_PATH), true),
            ("x".repeat(MAX_PATH + 1), false),
            (format!("{}/y", "x".repeat(MAX_PATH - 2)), true),
            (format!("{}/y", "x".repeat(MAX_PATH)), false),
        ] {
            let (made, commit) = commit_of(&path);
            let files = made.opened().files_of(&commit, LONG);
            assert_eq!(files.as_ref().is_ok_and(|files| files.len() == 1), is_read, "{}", path.len());
        }
    }

    #[test]
    fn paths_are_not_too_long_together() {
        let (made, commit) = commit_of("ab/c");
        let repository = made.opened();
        for (left, is_read) in [(4, true), (3, false)] {
            let (objects, hash) = (repository.objects(LONG).unwrap(), repository.hash);
            let tree = tree_of(&read_commit(&objects, &commit).unwrap().unwrap(), hash).unwrap();
            let (files, hash) = (Vec::new(), hash.len());
            let mut reading = Reading { objects, wanted: None, files, entries: 0, left, hash };
            assert_eq!(reading.tree(&tree, &mut Vec::new(), 0).unwrap().is_some(), is_read);
        }
    }
}
