//! Which files a project has.
//!
//! [`Inventory`] holds paths, classes and where the counts of each file come
//! from. In a git work tree it is read from the index, in one pass over the
//! output of `git ls-files` while git is still writing; nothing is looked up
//! in the file system. Elsewhere, the directories are walked, ignore files
//! respected.
//!
//! In repositories of up to [`STATUS_LIMIT`] tracked files git is also asked
//! which of them were changed or deleted and which files are untracked; in
//! larger ones that would cost several times the listing itself, so the index
//! stands for the work tree there, and the snapshot says so.

use std::{collections::HashSet, path::Path, time::Instant};

use super::{
    cache::{BuildIdHasher, Key},
    classify::{Classifier, FileClass, FileKind},
    counts::Counts,
};
use crate::git::{Flow, Git, GitError};

/// The number of tracked files up to which changed and untracked files are
/// looked for.
pub(super) const STATUS_LIMIT: usize = 25_000;

/// The least that an entry takes in git's index. An index of up to so many
/// bytes for each file of the limit is within it without being read.
const INDEX_ENTRY_BYTES: u64 = 62;

/// The most untracked files that are listed beside the tracked ones.
const MAX_UNTRACKED: usize = 100_000;
/// The most files that are listed.
const MAX_FILES: usize = 500_000;

/// The directory of Samuel's own files, which is never listed.
const OWN_DIRECTORY: &str = ".samuel/";

/// The files of a project, sorted by path.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    /// All paths, one after the other.
    paths: String,
    /// The files.
    pub(super) files: Vec<File>,
    classifier: Classifier,
    /// Whether a path came before one that it should follow.
    out_of_order: bool,
    /// Whether changed files are known to be [`Origin::Disk`].
    pub(super) knows_changes: bool,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
}

/// A file of the inventory.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    start: u32,
    end: u32,
    /// What it is, told from its path.
    pub(super) class: FileClass,
    /// Where its text is.
    pub(super) origin: Origin,
    /// What was counted, as far as it was.
    pub(super) counts: Option<Counts>,
}

/// Where the text of a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Origin {
    /// In git's object store: the file is as it was staged.
    Blob(Key),
    /// In the work tree: it was changed, is untracked, or there is no git.
    Disk,
    /// Nowhere: a link.
    Nowhere,
}

impl Inventory {
    /// Returns the path of a file, relative to the project.
    pub(super) fn path(&self, file: &File) -> &str {
        self.paths.get(file.start as usize..file.end as usize).unwrap_or_default()
    }

    fn push(&mut self, path: &str, origin: Origin) {
        let start = u32::try_from(self.paths.len());
        let end = u32::try_from(self.paths.len() + path.len());
        let (Ok(start), Ok(end)) = (start, end) else { return };
        let mut class = self.classifier.classify(path);
        if origin == Origin::Nowhere {
            class.kind = FileKind::Other;
        }
        self.out_of_order |= self.files.last().is_some_and(|last| self.path(last) >= path);
        self.paths.push_str(path);
        self.files.push(File { start, end, class, origin, counts: None });
    }

    fn sort(&mut self) {
        if !self.out_of_order {
            return;
        }
        let paths = std::mem::take(&mut self.paths);
        let path = |file: &File| paths.get(file.start as usize..file.end as usize).unwrap_or_default();
        self.files.sort_by(|left, right| path(left).cmp(path(right)));
        self.files.dedup_by(|right, left| path(right) == path(left));
        self.paths = paths;
    }

    fn position(&self, path: &str) -> Option<usize> {
        self.files.binary_search_by(|file| self.path(file).cmp(path)).ok()
    }

    /// Lists what git tracks below its directory, and what is beside it.
    pub(super) fn from_git(git: &Git) -> Result<Self, GitError> {
        let small = index_bytes(git.directory())
            .is_some_and(|bytes| bytes <= STATUS_LIMIT as u64 * INDEX_ENTRY_BYTES);
        if small {
            return Self::listed(git, Extent::WorkTree);
        }
        let mut inventory = Self::listed(git, Extent::Index)?;
        if inventory.files.len() <= STATUS_LIMIT {
            return Self::listed(git, Extent::WorkTree);
        }
        let note = format!(
            "more than {STATUS_LIMIT} tracked files: untracked files are left out, and uncommitted changes \
             are counted only in the files listed here"
        );
        inventory.notes.push(note);
        Ok(inventory)
    }

    /// Asks git once: starting it is most of what that costs.
    fn listed(git: &Git, extent: Extent) -> Result<Self, GitError> {
        let mut args = vec!["ls-files", "--stage", "-t", "-z"];
        if extent == Extent::WorkTree {
            args.extend(["--cached", "--others", "--modified", "--deleted", "--exclude-standard"]);
        }
        let mut inventory = Self { knows_changes: extent == Extent::WorkTree, ..Self::default() };
        let mut reader = IndexReader::default();
        git.stream(&args, Vec::new(), |piece| {
            reader.read(piece, &mut inventory);
            if inventory.files.len() < MAX_FILES { Flow::More } else { Flow::Enough }
        })?;
        reader.note_what_was_skipped(&mut inventory);
        inventory.sort();
        inventory.apply_changes(&reader.changes);
        Ok(inventory)
    }

    /// Lists what an output of `git ls-files --stage -t -z` holds.
    #[cfg(test)]
    pub(super) fn from_index(output: &[u8]) -> Self {
        let (mut inventory, mut reader) =
            (Self { knows_changes: true, ..Self::default() }, IndexReader::default());
        reader.read(output, &mut inventory);
        inventory.sort();
        inventory
    }

    /// Takes over what is known of files that are not as they were staged.
    fn apply_changes(&mut self, changes: &[(Change, String)]) {
        let mut deleted = HashSet::new();
        for (change, path) in changes {
            let Some(position) = self.position(path) else { continue };
            match (change, self.files.get_mut(position)) {
                (Change::Deleted, _) => {
                    deleted.insert(position);
                }
                (Change::Modified, Some(file)) if file.origin != Origin::Nowhere => {
                    file.origin = Origin::Disk
                }
                (Change::Modified, _) => {}
            }
        }
        let mut positions = 0..;
        self.files.retain(|_| positions.next().is_none_or(|position| !deleted.contains(&position)));
    }

    /// Walks a project that has no git, at most until the deadline.
    pub(super) fn from_walk(root: &Path, deadline: Instant) -> Self {
        let mut inventory = Self { knows_changes: true, ..Self::default() };
        let own = OWN_DIRECTORY.trim_end_matches('/');
        let walk = ignore::WalkBuilder::new(root)
            .hidden(false)
            .git_global(false)
            .require_git(false)
            .parents(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(move |entry| {
                let name = entry.file_name();
                name != ".git" && !(entry.depth() == 1 && name == own)
            })
            .build();
        for entry in walk {
            if inventory.files.len() >= MAX_FILES || Instant::now() > deadline {
                inventory.notes.push("not all directories were walked".to_owned());
                break;
            }
            let Ok(entry) = entry else { continue };
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let relative = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
            if let Some(path) = relative.filter(|_| is_file) {
                inventory.push(path, Origin::Disk);
            }
        }
        inventory.sort();
        inventory
    }

    /// Returns the keys of all blobs.
    pub(super) fn blobs(&self) -> HashSet<Key, BuildIdHasher> {
        let key = |file: &File| match file.origin {
            Origin::Blob(key) => Some(key),
            _ => None,
        };
        self.files.iter().filter_map(key).collect()
    }

    /// Returns how many lines were counted in all files.
    pub(super) fn lines(&self) -> u64 {
        self.files.iter().filter_map(|file| file.counts).map(|counts| u64::from(counts.lines)).sum()
    }
}

fn is_listed(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(OWN_DIRECTORY)
}

/// Returns the size of the index of the repository that a directory is in;
/// nothing where that is not plain.
fn index_bytes(directory: &Path) -> Option<u64> {
    let index = directory.ancestors().map(|ancestor| ancestor.join(".git")).find(|git| git.exists())?;
    Some(index.join("index").metadata().ok()?.len())
}

/// How a tracked file differs from what was staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Modified,
    Deleted,
}

/// What is asked of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// Tracked files as they were staged.
    Index,
    /// Also which of them are not so any more, and untracked files.
    WorkTree,
}

/// Reads the output of `git ls-files --stage -t -z` piece by piece.
#[derive(Default)]
struct IndexReader {
    /// A record whose end has not come yet.
    pending: Vec<u8>,
    changes: Vec<(Change, String)>,
    untracked: usize,
    not_utf8: usize,
    not_checked_out: usize,
}

impl IndexReader {
    fn read(&mut self, piece: &[u8], inventory: &mut Inventory) {
        let mut start = 0;
        for end in memchr::memchr_iter(0, piece) {
            let record = piece.get(start..end).unwrap_or_default();
            start = end + 1;
            if self.pending.is_empty() {
                self.record(record, inventory);
            } else {
                let mut whole = std::mem::take(&mut self.pending);
                whole.extend_from_slice(record);
                self.record(&whole, inventory);
            }
        }
        self.pending.extend_from_slice(piece.get(start..).unwrap_or_default());
    }

    /// Takes one record: a tag and the path of an untracked file; or a tag,
    /// mode, object id, stage, a tab and the path of a tracked one.
    fn record(&mut self, record: &[u8], inventory: &mut Inventory) {
        if let Some(path) = record.strip_prefix(b"? ") {
            return self.untracked(path, inventory);
        }
        let Some(tab) = memchr::memchr(b'\t', record) else { return };
        let (facts, path) = record.split_at(tab);
        let mut facts = facts.split(|byte| *byte == b' ');
        let (Some(tag), Some(mode), Some(id)) = (facts.next(), facts.next(), facts.next()) else { return };
        let Ok(path) = std::str::from_utf8(path.get(1..).unwrap_or_default()) else {
            self.not_utf8 += usize::from(!matches!(tag, b"C" | b"R"));
            return;
        };
        match tag {
            b"C" => self.changes.push((Change::Modified, path.to_owned())),
            b"R" => self.changes.push((Change::Deleted, path.to_owned())),
            _ if mode == b"160000" => {}
            b"S" => self.not_checked_out += 1,
            _ if is_listed(path) => {
                let blob = Key::of_blob(id).map_or(Origin::Disk, Origin::Blob);
                inventory.push(path, if mode == b"120000" { Origin::Nowhere } else { blob });
            }
            _ => {}
        }
    }

    fn untracked(&mut self, path: &[u8], inventory: &mut Inventory) {
        let Ok(path) = std::str::from_utf8(path) else {
            self.not_utf8 += 1;
            return;
        };
        // A path that ends with a slash is a repository of its own.
        if is_listed(path) && !path.ends_with('/') {
            self.untracked += 1;
            if self.untracked <= MAX_UNTRACKED {
                inventory.push(path, Origin::Disk);
            }
        }
    }

    fn note_what_was_skipped(&self, inventory: &mut Inventory) {
        if self.not_utf8 > 0 {
            inventory.notes.push(format!("{} files whose names are not UTF-8 are left out", self.not_utf8));
        }
        if self.untracked > MAX_UNTRACKED {
            let left_out = self.untracked - MAX_UNTRACKED;
            inventory.notes.push(format!("{left_out} untracked files are left out"));
        }
        if self.not_checked_out > 0 {
            inventory.notes.push(format!("{} files are not checked out", self.not_checked_out));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::methodology::ralph::testing::Repository;
    use std::{fs, time::Duration};

    fn paths(inventory: &Inventory) -> Vec<&str> {
        inventory.files.iter().map(|file| inventory.path(file)).collect()
    }

    fn origin(inventory: &Inventory, path: &str) -> Origin {
        inventory.files.get(inventory.position(path).unwrap()).unwrap().origin
    }

    #[test]
    fn tracked_and_untracked_files_are_listed_ignored_and_own_ones_not() {
        let repository = Repository::with(&[
            ("src/a.rs", "a\n"),
            ("ü b.rs", ""),
            (".gitignore", "*.log\n"),
            (".samuel/x", ""),
        ]);
        repository.write("new.rs", "");
        repository.write("noise.log", "");
        repository.write(".samuel/run/prd.toon", "");
        let inventory = Inventory::from_git(&repository.git()).unwrap();
        assert_eq!(paths(&inventory), [".gitignore", "new.rs", "src/a.rs", "ü b.rs"]);
        assert_eq!(origin(&inventory, "new.rs"), Origin::Disk);
        assert!(matches!(origin(&inventory, "src/a.rs"), Origin::Blob(_)));
    }

    #[test]
    fn changed_files_are_read_from_disk_and_deleted_ones_are_gone() {
        let repository = Repository::with(&[("a.rs", "a\n"), ("b.rs", "b\n"), ("c.rs", "c\n")]);
        repository.write("a.rs", "changed\n");
        fs::remove_file(repository.path().join("b.rs")).unwrap();
        let inventory = Inventory::from_git(&repository.git()).unwrap();
        assert_eq!(paths(&inventory), ["a.rs", "c.rs"]);
        assert_eq!(origin(&inventory, "a.rs"), Origin::Disk);
        assert!(matches!(origin(&inventory, "c.rs"), Origin::Blob(_)));
    }

    #[test]
    fn the_index_alone_is_as_it_was_staged() {
        let repository = Repository::with(&[("a.rs", "a\n"), ("b.rs", "b\n")]);
        repository.write("a.rs", "changed\n");
        repository.write("new\ttab.rs", "");
        fs::remove_file(repository.path().join("b.rs")).unwrap();
        let index = Inventory::listed(&repository.git(), Extent::Index).unwrap();
        assert_eq!(paths(&index), ["a.rs", "b.rs"]);
        assert!(matches!(origin(&index, "a.rs"), Origin::Blob(_)));
        let work_tree = Inventory::listed(&repository.git(), Extent::WorkTree).unwrap();
        assert_eq!(paths(&work_tree), ["a.rs", "new\ttab.rs"]);
        assert_eq!(origin(&work_tree, "a.rs"), Origin::Disk);
    }

    #[test]
    fn a_project_inside_a_repository_sees_its_own_files_only() {
        let repository = Repository::with(&[("a.rs", ""), ("inner/b.rs", "")]);
        let git = Git::new(repository.path().join("inner"), std::env::vars_os(), Duration::from_secs(60));
        assert_eq!(paths(&Inventory::from_git(&git).unwrap()), ["b.rs"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_listed_but_not_followed() {
        let repository = Repository::with(&[("a.rs", "")]);
        std::os::unix::fs::symlink("/etc/passwd", repository.path().join("link.rs")).unwrap();
        repository.commit("Link");
        let inventory = Inventory::from_git(&repository.git()).unwrap();
        assert_eq!(origin(&inventory, "link.rs"), Origin::Nowhere);
        assert_eq!(inventory.files.last().unwrap().class.kind, FileKind::Other);
    }

    #[test]
    fn a_record_may_come_in_any_pieces() {
        let id = "587be6b4c3f93f93c489c0111bba5596147a26cb";
        let output = format!(
            "H 100644 {id} 0\ta.rs\0S 100644 {id} 0\tb.rs\0H 160000 {id} 0\tsub\0H 100644 {id} 0\tc.rs\0"
        );
        for size in 1..output.len() {
            let (mut inventory, mut reader) = (Inventory::default(), IndexReader::default());
            output.as_bytes().chunks(size).for_each(|piece| reader.read(piece, &mut inventory));
            reader.note_what_was_skipped(&mut inventory);
            assert_eq!(paths(&inventory), ["a.rs", "c.rs"], "pieces of {size}");
            assert_eq!(inventory.notes, ["1 files are not checked out"]);
        }
    }

    #[test]
    fn without_git_the_directories_are_walked() {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in
            [("src/b.rs", ""), ("a.rs", ""), ("x.log", ""), (".gitignore", "*.log\n"), (".samuel/run/y", "")]
        {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let inventory = Inventory::from_walk(directory.path(), Instant::now() + Duration::from_secs(60));
        assert_eq!(paths(&inventory), [".gitignore", "a.rs", "src/b.rs"]);
        assert_eq!(inventory.notes, [""; 0]);
    }
}
