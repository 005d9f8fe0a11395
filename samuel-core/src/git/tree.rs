//! The files of a commit.

use std::time::Duration;

use super::{
    GitError, ObjectId, Repository,
    index::is_plain,
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
        let mut reading = Reading { objects, files: Vec::new(), entries: 0, hash: self.hash.len() };
        reading.tree(&tree, &mut Vec::new(), 0)?.ok_or_else(missing)?;
        Ok(reading.files)
    }
}

fn read_tree(objects: &Objects, id: &ObjectId) -> Result<Option<Vec<u8>>, GitError> {
    let found = objects.read(id)?;
    Ok(found.filter(|(kind, _)| *kind == Kind::Tree).map(|(_, data)| data))
}

struct Reading {
    objects: Objects,
    files: Vec<TreeFile>,
    entries: usize,
    hash: usize,
}

impl Reading {
    /// Reads a tree and those in it; nothing where one is missing, damaged or
    /// more than there may be.
    fn tree(&mut self, id: &ObjectId, path: &mut Vec<u8>, depth: usize) -> Result<Option<()>, GitError> {
        let Some(data) = read_tree(&self.objects, id)?.filter(|_| depth < MAX_DEPTH) else { return Ok(None) };
        let length = path.len();
        for entry in (Entries { left: &data, hash: self.hash }) {
            self.entries += 1;
            if self.entries > MAX_ENTRIES || !is_plain(entry.name) {
                return Ok(None);
            }
            path.extend_from_slice(entry.name);
            if entry.mode == 0o040_000 {
                path.push(b'/');
                if self.tree(&entry.id, path, depth + 1)?.is_none() {
                    return Ok(None);
                }
            } else {
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
