//! Which files a project has.
//!
//! [`Inventory`] holds paths, classes and where the counts of each file come
//! from. In a git work tree it is read from the index, in one pass; nothing is
//! looked up in the file system. Elsewhere, the directories are walked, ignore
//! files respected.
//!
//! In repositories of up to [`STATUS_LIMIT`] tracked files it is also looked at
//! which of them were changed or deleted and which files are untracked; in
//! larger ones that would cost several times the listing itself, so the index
//! stands for the work tree there, and the snapshot says so.

use std::{
    collections::{HashMap, HashSet},
    fs,
    ops::ControlFlow,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    cache::{BuildIdHasher, Key},
    classify::{Classifier, FileClass, FileKind},
    counts::Counts,
};
use crate::{
    git::{Entry, GitError, Index, Parents, Repository, Stat, Walk, Walking},
    text::counted_are,
};

/// The number of tracked files up to which changed and untracked files are
/// looked for.
pub(super) const STATUS_LIMIT: usize = 25_000;

/// The most untracked files that are listed beside the tracked ones.
const MAX_UNTRACKED: usize = 100_000;
/// The most files that are listed.
const MAX_FILES: usize = 500_000;

/// The directory of Samuel's own files, which is never listed.
const OWN_DIRECTORY: &str = ".samuel";

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
    /// What it looked like when it was staged, where that tells whether it still
    /// is as it was.
    pub(super) staged: Option<Stat>,
    /// What was counted, as far as it was.
    pub(super) counts: Option<Counts>,
}

/// Where the text of a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Origin {
    /// As it was staged: its content has this id.
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

    fn push(&mut self, path: &str, origin: Origin, staged: Option<Stat>) {
        let start = u32::try_from(self.paths.len());
        let end = u32::try_from(self.paths.len() + path.len());
        let (Ok(start), Ok(end)) = (start, end) else { return };
        let mut class = self.classifier.classify(path);
        if origin == Origin::Nowhere {
            class.kind = FileKind::Other;
        }
        self.out_of_order |= self.files.last().is_some_and(|last| self.path(last) >= path);
        self.paths.push_str(path);
        self.files.push(File { start, end, class, origin, staged, counts: None });
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

    /// Lists what git tracks below the project's root, and what is beside it,
    /// within a time.
    pub(super) fn from_repository(repository: &Repository, limit: Duration) -> Result<Self, GitError> {
        let deadline = Instant::now() + limit;
        let index = repository.index()?;
        let mut inventory = Self::listed(repository, &index)?;
        if inventory.files.len() > STATUS_LIMIT {
            let note = format!(
                "more than {STATUS_LIMIT} tracked files: untracked files are left out, and uncommitted changes \
                 are counted only in the files listed here"
            );
            inventory.notes.push(note);
            return Ok(inventory);
        }
        match inventory.look_at_work_tree(repository, &index, deadline)? {
            Walking::Complete => Ok(inventory),
            Walking::CutShort => Err(GitError::TimedOut { limit }),
        }
    }

    /// Lists what was staged.
    fn listed(repository: &Repository, index: &Index) -> Result<Self, GitError> {
        let mut inventory = Self::default();
        inventory.files.reserve(index.len().min(MAX_FILES));
        let mut reader = IndexReader::default();
        let prefix = repository.prefix();
        index.for_each(|entry| {
            if let Some(path) = entry.path.strip_prefix(prefix.as_slice()) {
                reader.entry(&entry, path, &mut inventory);
            }
            if inventory.files.len() < MAX_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        reader.note_what_was_skipped(&mut inventory);
        inventory.sort();
        Ok(inventory)
    }

    /// Finds out which tracked files are not as they were staged any more, and
    /// adds those that are not tracked.
    fn look_at_work_tree(
        &mut self,
        repository: &Repository,
        index: &Index,
        deadline: Instant,
    ) -> Result<Walking, GitError> {
        let mut changes = Vec::new();
        let mut known = HashMap::new();
        let mut parents = Parents::of(repository.root());
        let prefix = repository.prefix();
        index.for_each(|entry| {
            let Some(path) = entry.path.strip_prefix(prefix.as_slice()) else {
                return ControlFlow::Continue(());
            };
            known.insert(path.to_vec(), entry.is_submodule());
            if !entry.is_skipped {
                let change = change(&entry, path, &mut parents);
                let path = change.and_then(|_| std::str::from_utf8(path).ok());
                changes.extend(change.zip(path.map(str::to_owned)));
            }
            if Instant::now() > deadline { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        self.apply_changes(&changes);
        let mut beside = Untracked::default();
        let own = Path::new(OWN_DIRECTORY);
        Walk::of_repository(repository).files(
            deadline,
            |path, is_dir| {
                // A directory may stand where a file was tracked.
                let is_known = |is_submodule: &bool| !is_dir || *is_submodule;
                path == own || known.get(path.as_os_str().as_encoded_bytes()).is_some_and(is_known)
            },
            |file| {
                beside.add(file.path, self);
                Instant::now() <= deadline
            },
        );
        beside.note_what_was_skipped(self);
        self.sort();
        self.knows_changes = true;
        // Directories that are too deep are left out, and nothing is said of it.
        Ok(if Instant::now() > deadline { Walking::CutShort } else { Walking::Complete })
    }

    /// Lists files by their paths and the ids of their contents.
    #[cfg(test)]
    pub(super) fn of_blobs<'a>(files: impl IntoIterator<Item = (&'a str, Key)>) -> Self {
        let mut inventory = Self { knows_changes: true, ..Self::default() };
        files.into_iter().for_each(|(path, key)| inventory.push(path, Origin::Blob(key), None));
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
        let own = Path::new(OWN_DIRECTORY);
        let ended = Walk::of(root).files(
            deadline,
            |path, _| path == own,
            |file| {
                if let Some(path) = file.path.to_str().filter(|_| !file.is_link) {
                    inventory.push(path, Origin::Disk, None);
                }
                inventory.files.len() < MAX_FILES
            },
        );
        if ended == Walking::CutShort {
            inventory.notes.push("not all directories were walked".to_owned());
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

/// Says whether a path is one of Samuel's own files.
fn is_own(path: &[u8]) -> bool {
    path.strip_prefix(OWN_DIRECTORY.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'/'))
}

/// How a tracked file differs from what was staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// It may: it does not look as it did.
    Modified,
    Deleted,
}

/// Says how the file of an entry differs from what was staged.
fn change(entry: &Entry<'_>, path: &[u8], parents: &mut Parents) -> Option<Change> {
    if entry.is_submodule() {
        return None;
    }
    let metadata = parents.file(path).and_then(|path| fs::symlink_metadata(path).ok());
    let Some(metadata) = metadata.filter(|found| !found.is_dir()) else { return Some(Change::Deleted) };
    let looks_the_same = metadata.is_symlink() == entry.is_link()
        && entry.stat.is_some_and(|then| then.is_of(&Stat::of(&metadata)));
    (!looks_the_same).then_some(Change::Modified)
}

/// Takes over the entries of an index.
#[derive(Default)]
struct IndexReader {
    not_utf8: usize,
    not_checked_out: usize,
}

impl IndexReader {
    fn entry(&mut self, entry: &Entry<'_>, path: &[u8], inventory: &mut Inventory) {
        if entry.is_submodule() || is_own(path) {
            return;
        }
        let Ok(path) = std::str::from_utf8(path) else {
            self.not_utf8 += 1;
            return;
        };
        if entry.is_skipped {
            self.not_checked_out += 1;
            return;
        }
        let origin = match Key::of_digest(entry.id) {
            _ if entry.is_link() => Origin::Nowhere,
            Some(key) if !entry.is_unmerged => Origin::Blob(key),
            _ => Origin::Disk,
        };
        inventory.push(path, origin, entry.stat);
    }

    fn note_what_was_skipped(&self, inventory: &mut Inventory) {
        note_not_utf8(self.not_utf8, inventory);
        if self.not_checked_out > 0 {
            inventory.notes.push(format!("{} not checked out", counted_are(self.not_checked_out, "file")));
        }
    }
}

fn note_not_utf8(count: usize, inventory: &mut Inventory) {
    if count > 0 {
        inventory
            .notes
            .push(format!("{} left out, because of names that are not UTF-8", counted_are(count, "file")));
    }
}

/// Takes over the files that are not tracked.
#[derive(Default)]
struct Untracked {
    count: usize,
    not_utf8: usize,
}

impl Untracked {
    fn add(&mut self, path: &Path, inventory: &mut Inventory) {
        let Some(path) = path.to_str() else {
            self.not_utf8 += 1;
            return;
        };
        self.count += 1;
        if self.count <= MAX_UNTRACKED {
            inventory.push(path, Origin::Disk, None);
        }
    }

    fn note_what_was_skipped(&self, inventory: &mut Inventory) {
        note_not_utf8(self.not_utf8, inventory);
        if let Some(left_out) = self.count.checked_sub(MAX_UNTRACKED).filter(|count| *count > 0) {
            inventory.notes.push(format!("{left_out} untracked files are left out"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::git::{Caller, testing::Repository};

    const LONG: Duration = Duration::from_secs(60);

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
        let inventory = Inventory::from_repository(&repository.opened(), LONG).unwrap();
        assert_eq!(paths(&inventory), [".gitignore", "new.rs", "src/a.rs", "ü b.rs"]);
        assert_eq!(origin(&inventory, "new.rs"), Origin::Disk);
        assert!(matches!(origin(&inventory, "src/a.rs"), Origin::Blob(_)));
    }

    #[test]
    fn changed_files_are_read_from_disk_and_deleted_ones_are_gone() {
        let repository = Repository::with(&[("a.rs", "a\n"), ("b.rs", "b\n"), ("c.rs", "c\n")]);
        repository.write("a.rs", "changed\n");
        fs::remove_file(repository.path().join("b.rs")).unwrap();
        let inventory = Inventory::from_repository(&repository.opened(), LONG).unwrap();
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
        let opened = repository.opened();
        let index = Inventory::listed(&opened, &opened.index().unwrap()).unwrap();
        assert_eq!(paths(&index), ["a.rs", "b.rs"]);
        assert!(matches!(origin(&index, "a.rs"), Origin::Blob(_)));
        let work_tree = Inventory::from_repository(&opened, LONG).unwrap();
        assert_eq!(paths(&work_tree), ["a.rs", "new\ttab.rs"]);
        assert_eq!(origin(&work_tree, "a.rs"), Origin::Disk);
    }

    #[test]
    fn a_project_inside_a_repository_sees_its_own_files_only() {
        let repository = Repository::with(&[("a.rs", ""), ("inner/b.rs", "")]);
        let root = repository.path().join("inner");
        let inner = crate::git::Repository::open(&root, &Caller::of_process()).unwrap().unwrap();
        assert_eq!(paths(&Inventory::from_repository(&inner, LONG).unwrap()), ["b.rs"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_listed_but_not_followed() {
        let repository = Repository::with(&[("a.rs", "")]);
        std::os::unix::fs::symlink("/etc/passwd", repository.path().join("link.rs")).unwrap();
        repository.commit("Link");
        let inventory = Inventory::from_repository(&repository.opened(), LONG).unwrap();
        assert_eq!(origin(&inventory, "link.rs"), Origin::Nowhere);
        assert_eq!(inventory.files.last().unwrap().class.kind, FileKind::Other);
    }

    #[test]
    fn submodules_and_files_that_are_not_checked_out_are_left_out() {
        let (repository, inner) = (
            Repository::with(&[("a.rs", "a\n"), ("b.rs", "b\n"), ("c.rs", "c\n")]),
            Repository::with(&[("in.rs", "")]),
        );
        let path = inner.path().to_str().unwrap();
        repository.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "sub"]);
        repository.run(&["update-index", "--skip-worktree", "b.rs"]);
        let inventory = Inventory::from_repository(&repository.opened(), LONG).unwrap();
        assert_eq!(paths(&inventory), [".gitmodules", "a.rs", "c.rs"]);
        assert_eq!(inventory.notes, ["1 file is not checked out"]);
    }

    #[test]
    fn a_merge_under_way_lists_each_file_once() {
        let repository = Repository::with(&[("a.rs", "a\n")]);
        repository.run(&["checkout", "--quiet", "-b", "side"]);
        repository.write("a.rs", "b\n");
        repository.commit("Side");
        repository.run(&["checkout", "--quiet", "main"]);
        repository.write("a.rs", "c\n");
        repository.commit("Main");
        repository.tries(&["merge", "--quiet", "side"]);
        let inventory = Inventory::from_repository(&repository.opened(), LONG).unwrap();
        assert_eq!(paths(&inventory), ["a.rs"]);
        assert_eq!(origin(&inventory, "a.rs"), Origin::Disk);
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
