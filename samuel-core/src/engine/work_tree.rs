//! What changed in the project.
//!
//! The repository tells, read without starting anything; without one, names,
//! sizes and times of files. Samuel's own directory is left out, which changes with
//! every iteration, and so are the logs and caches of hooks.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};

use super::credit::{Line, Looks, Seen};
use crate::{
    git::{
        Budget, Content, Differences, GitError, Listing, ObjectId, Repository, Since, Walk, Walking, hash_of,
        state_of,
    },
    model::{hex, is_no_work},
    text::described,
};

/// How long one look at the project may take.
const MAX_TIME: Duration = Duration::from_secs(4);
/// How many commits are read to find those that are new.
const MAX_COMMITS: usize = 10_000;
/// How many files without a repository go into a fingerprint.
const MAX_FILES: usize = 200_000;
/// The beginning of a hash of names, sizes and times of files.
const BY_NAMES: &str = "names ";

/// The work tree of a project.
#[derive(Debug)]
pub(super) struct WorkTree {
    root: PathBuf,
    /// Nothing where the project is in no repository that can be read.
    repository: Option<Repository>,
    /// The commit the run started from.
    run_start: Mutex<Option<ObjectId>>,
    /// The commit the iteration started from.
    start: Mutex<Option<ObjectId>>,
    /// The hash of the last look that was done in time.
    last: Mutex<String>,
    /// How long one look may take.
    limit: Duration,
    /// Whether it was told that a look took too long.
    has_warned: AtomicBool,
    /// Whether it was told that the repository cannot be read any more.
    has_told_of_loss: AtomicBool,
    /// The looks that credits rest on.
    looks: Mutex<Looks>,
    /// Whether one of these was late. There are no more of files until the next iteration then.
    is_late: AtomicBool,
    /// Whether that was told.
    has_told_of_late: AtomicBool,
    /// Whether they compare names, sizes and times of files where there is no repository.
    by_names: bool,
}

impl WorkTree {
    pub(super) fn new(root: PathBuf, repository: Option<Repository>) -> Self {
        Self {
            root,
            repository,
            run_start: Mutex::default(),
            start: Mutex::default(),
            last: Mutex::default(),
            limit: MAX_TIME,
            has_warned: AtomicBool::new(false),
            has_told_of_loss: AtomicBool::new(false),
            looks: Mutex::default(),
            is_late: AtomicBool::new(false),
            has_told_of_late: AtomicBool::new(false),
            by_names: false,
        }
    }

    /// Has a change be seen also without a repository, by names, sizes and times of files.
    #[must_use]
    pub(super) fn comparing_names(self, by_names: bool) -> Self {
        Self { by_names, ..self }
    }

    /// Returns the directory.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Remembers where the run starts: at the commit that it started from before it was cut off,
    /// else where the repository is now.
    pub(super) fn begin_run(&self, before: Option<&str>) {
        let before = before.zip(self.repository.as_ref());
        let before = before.map(|(commit, repository)| repository.id_of(commit));
        *known(&self.run_start) = before.unwrap_or_else(|| self.head());
    }

    /// Returns the commit that the run started from, for whoever takes it up.
    pub(super) fn run_start(&self) -> Option<String> {
        known(&self.run_start).as_ref().map(ToString::to_string)
    }

    /// Remembers where an iteration starts.
    pub(super) fn begin(&self) {
        *known(&self.start) = self.head();
    }

    /// Returns the commit that is checked out, where there is one.
    pub(super) fn commit(&self) -> Option<String> {
        self.head().as_ref().map(ToString::to_string)
    }

    fn head(&self) -> Option<ObjectId> {
        self.repository.as_ref()?.head().ok()?.commit()
    }

    /// Returns whether the project is in a repository that could be read at the start.
    pub(super) fn has_repository(&self) -> bool {
        self.repository.is_some()
    }

    pub(super) fn looks(&self) -> MutexGuard<'_, Looks> {
        known(&self.looks)
    }

    /// Looks at the commit that is checked out and at the files. In a clone Samuel commits all that an agent leaves, so
    /// that its files are those of the commit. After a look that was late, files are not looked at in that iteration.
    pub(super) fn see(&self, is_clone: bool) -> Seen {
        let id = self.head();
        let repository = self.repository.as_ref();
        let tree = id.as_ref().and_then(|id| repository?.tree_of(id).ok().flatten());
        let (head, tree) = (id.map(|id| id.to_string()), tree.map(|tree| tree.to_string()));
        if is_clone {
            return Seen { head, files: tree.clone(), tree, listing: None };
        }
        let looks = (self.has_repository() || self.by_names) && !self.is_late.load(Ordering::Relaxed);
        let (files, listing) = if looks { self.look() } else { (None, None) };
        self.is_late.fetch_or(looks && files.is_none(), Ordering::Relaxed);
        Seen { head, tree, files, listing: listing.map(Arc::new) }
    }

    /// Has the files be looked at again after a look that was late.
    pub(super) fn forget_lateness(&self) {
        self.is_late.store(false, Ordering::Relaxed);
    }

    /// Returns what to say, once, of a look for credits that was late.
    pub(super) fn late_look(&self) -> Option<String> {
        let is_new =
            self.is_late.load(Ordering::Relaxed) && !self.has_told_of_late.swap(true, Ordering::Relaxed);
        is_new.then(|| {
            format!(
                "the project's files could not be looked at within {:?}: in such an iteration only commits count as \
                 changes, and the files that its agent leaves uncommitted are not reported",
                self.limit
            )
        })
    }

    /// Returns the files that changed between two looks and differ from the commit that was checked out at the second
    /// one. There are none if a look does not know them.
    pub(super) fn left_between(&self, start: &Seen, now: &Seen) -> Vec<String> {
        let (Some(repository), Some(before), Some(after)) = (&self.repository, &start.listing, &now.listing)
        else {
            return Vec::new();
        };
        let gone = before.keys().filter(|path| !after.contains_key(*path)).map(|path| (path.clone(), None));
        let changed = after.iter().filter(|(path, state)| before.get(*path) != Some(*state));
        let changed: Differences =
            changed.map(|(path, state)| (path.clone(), Some(*state))).chain(gone).collect();
        if changed.is_empty() {
            return Vec::new();
        }
        let head = now.head.as_ref().and_then(|head| repository.id_of(head));
        repository.differing(&changed, head.as_ref(), self.limit).unwrap_or_default()
    }

    /// Returns how a commit relates to an earlier one.
    pub(super) fn line(&self, from: Option<&str>, head: Option<&str>) -> Line {
        if from == head {
            return Line::Same;
        }
        let ids = self.repository.as_ref().and_then(|repository| {
            let start = match from {
                Some(from) => Some(repository.id_of(from)?),
                None => None,
            };
            Some((repository, repository.id_of(head?)?, start))
        });
        let Some((repository, head, start)) = ids else { return Line::Unknown };
        match repository.commits_since(start.as_ref(), &head, MAX_COMMITS, self.limit) {
            Ok(Since::Ahead(commits)) => Line::Ahead(commits.iter().map(ToString::to_string).collect()),
            Ok(Since::Elsewhere) => Line::Elsewhere,
            Ok(Since::Unknown) | Err(_) => Line::Unknown,
        }
    }

    /// Returns the files that were changed since the start of the iteration,
    /// committed or not, sorted; nothing where that is unknown.
    pub(super) fn changed_files(&self) -> Option<Vec<String>> {
        self.changed_since(&self.start)
    }

    /// Returns the files that were changed since the start of the run, committed or not, sorted;
    /// nothing where that is unknown.
    pub(super) fn changed_in_run(&self) -> Option<Vec<String>> {
        self.changed_since(&self.run_start)
    }

    fn changed_since(&self, start: &Mutex<Option<ObjectId>>) -> Option<Vec<String>> {
        let repository = self.repository.as_ref()?;
        let start = (*known(start))?;
        repository.changes_since(&start, self.limit).ok()
    }

    /// Returns a text that stays the same as long as nothing in the project
    /// changes: the commit, and a hash over what its files hold. Where these were
    /// not looked at in time, the hash is that of the last look, and `warn` is told
    /// the first time: another kind of hash would look like a change. So it is of a
    /// repository that is gone, or cannot be read any more. The last look of the iteration under way counts.
    pub(super) fn fingerprint(&self, mut warn: impl FnMut(String)) -> String {
        self.tell_of_loss(&mut warn);
        let looked = self.seen_in_iteration().or_else(|| self.look().0);
        if looked.is_none() && !self.has_warned.swap(true, Ordering::Relaxed) {
            warn(format!(
                "the project's files could not be looked at within {:?}: until they can, only commits count \
                 as changes",
                self.limit
            ));
        }
        let mut last = known(&self.last);
        if let Some(digest) = looked {
            *last = digest;
        }
        let digest = last.clone();
        drop(last);
        let head = self.head().map(|head| head.to_string()).unwrap_or_default();
        format!("{head} {}", digest.get(..32).unwrap_or(&digest))
    }

    /// Warns, once, of a repository that could be read at the start and cannot be any
    /// more.
    pub(super) fn tell_of_loss(&self, warn: impl FnOnce(String)) {
        if self.has_told_of_loss.load(Ordering::Relaxed) {
            return;
        }
        if let Some(error) = self.loss()
            && !self.has_told_of_loss.swap(true, Ordering::Relaxed)
        {
            warn(format!(
                "the repository that the run began in is gone or damaged ({}): until it is back, changes are seen \
                 by names, sizes and times of files alone",
                described(&error)
            ));
        }
    }

    /// Returns why the repository cannot be read that could be at the start.
    fn loss(&self) -> Option<GitError> {
        let repository = self.repository.as_ref()?;
        let read = repository.head().map(drop).and_then(|()| repository.check());
        read.err().filter(|error| !matches!(error, GitError::TimedOut { .. }))
    }

    /// Returns a hash of what the files hold, and what they are in a repository. If that cannot be read, the hash is of
    /// their names, sizes and times. There is no hash if the time did not suffice.
    fn look(&self) -> (Option<String>, Option<Listing>) {
        match self.repository.as_ref().map(|repository| repository.listing(self.limit)) {
            Some(Ok(listing)) => (Some(hex(&hash_of(&listing))), Some(listing)),
            Some(Err(GitError::TimedOut { .. })) => (None, None),
            Some(Err(_)) | None => {
                (self.hash_names().map(|digest| format!("{BY_NAMES}{}", hex(&digest))), None)
            }
        }
    }

    /// Without a repository: names, sizes and times of all files that are not
    /// ignored; nothing where the time did not suffice.
    fn hash_names(&self) -> Option<Vec<u8>> {
        let deadline = Instant::now() + self.limit;
        let mut hash = Sha256::new();
        let mut files = 0;
        let seen = |path: &Path| {
            let metadata = fs::symlink_metadata(self.root.join(path)).ok()?;
            let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            metadata.is_file().then(|| (metadata.len(), changed.unwrap_or_default().as_nanos()))
        };
        let budget = Budget::new(self.limit);
        let ended = Walk::of(&self.root).with_repositories().files(
            deadline,
            |path, _| is_no_work(path.as_os_str().as_encoded_bytes()),
            |file| {
                if file.is_repository {
                    hash.update(file.path.as_os_str().as_encoded_bytes());
                    match state_of(&self.root.join(file.path), budget) {
                        Ok(Some(Content::Id(id))) => hash.update(id.as_bytes()),
                        Ok(Some(Content::Seen(seen))) => hash.update(seen),
                        // Late ones make the walk late as well.
                        Ok(None) | Err(_) => {}
                    }
                } else if let Some((size, changed)) = seen(file.path) {
                    hash.update(file.path.as_os_str().as_encoded_bytes());
                    hash.update(size.to_le_bytes());
                    hash.update(changed.to_le_bytes());
                }
                files += 1;
                files < MAX_FILES
            },
        );
        let is_late = ended == Walking::CutShort && Instant::now() > deadline;
        (!is_late).then(|| hash.finalize().to_vec())
    }
}

/// Returns whether two hashes of files are of one kind, so that they differ only if files do.
pub(super) fn can_be_compared(one: &str, other: &str) -> bool {
    one.starts_with(BY_NAMES) == other.starts_with(BY_NAMES)
}

/// Reads or changes what is known.
fn known<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::{git::testing::Repository as Made, model::TaskId};

    #[test]
    fn a_fingerprint_changes_with_the_content_and_with_nothing_else() {
        let made = Made::with(&[("a.rs", "a\n"), (".gitignore", "*.log\n")]);
        let tree = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        let mut last = tree.fingerprint(|_| ());
        let mut differs = |what: &str, expected: bool| {
            let now = tree.fingerprint(|_| ());
            assert_eq!(now != last, expected, "{what}");
            last = now;
        };
        differs("nothing", false);
        made.write("a.rs", "b\n");
        differs("a changed file", true);
        made.run(&["add", "a.rs"]);
        differs("staging it", false);
        fs::File::open(made.path().join("a.rs")).unwrap().set_modified(UNIX_EPOCH).unwrap();
        differs("touching it", false);
        made.write("new.rs", "");
        differs("a new file", true);
        made.write("noise.log", "");
        made.write(".samuel/run/x", "");
        made.write(".system/logs/hooks.log", "");
        made.write(".system/cache/usage.json", "");
        differs("what is ignored", false);
        made.commit("A commit");
        differs("a commit", true);
        fs::remove_file(made.path().join("a.rs")).unwrap();
        differs("a removed file", true);
        fs::write(made.path().join(".git/index"), "no index").unwrap();
        differs("an index that cannot be read", true);
        made.write("a.rs", "c\n");
        differs("a file that only names tell of", true);
    }

    #[test]
    fn work_in_a_repository_within_the_project_is_a_change_with_and_without_one_around() {
        let (made, inner) = (Made::with(&[("a.rs", "a\n")]), Made::with(&[("b.rs", "b\n")]));
        made.run(&["clone", "--quiet", inner.path().to_str().unwrap(), "inner"]);
        for repository in [Some(made.opened()), None] {
            let tree = WorkTree::new(made.path().to_owned(), repository);
            let mut last = tree.fingerprint(|warning| panic!("{warning}"));
            for round in 0..2 {
                made.write("inner/b.rs", &format!("{:?} {round}\n", tree.repository.is_some()));
                let now = tree.fingerprint(|warning| panic!("{warning}"));
                assert_ne!(now, last);
                made.run(&["-C", "inner", "commit", "--quiet", "--all", "--message", "More"]);
                let committed = tree.fingerprint(|warning| panic!("{warning}"));
                assert_ne!(committed, now);
                last = committed;
            }
        }
    }

    #[test]
    fn without_a_repository_the_logs_and_caches_of_hooks_are_no_change() {
        let root = tempfile::tempdir().unwrap();
        let tree = WorkTree::new(root.path().to_owned(), None);
        fs::create_dir_all(root.path().join(".system/logs")).unwrap();
        fs::create_dir_all(root.path().join(".system/hooks")).unwrap();
        let before = tree.fingerprint(|warning| panic!("{warning}"));
        fs::write(root.path().join(".system/logs/hooks.log"), "{}").unwrap();
        assert_eq!(tree.fingerprint(|warning| panic!("{warning}")), before);
        fs::write(root.path().join(".system/hooks/a.yaml"), "").unwrap();
        assert_ne!(tree.fingerprint(|warning| panic!("{warning}")), before);
    }

    #[test]
    fn a_repository_that_is_gone_is_told_of_once() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let tree = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        let before = tree.fingerprint(|warning| panic!("{warning}"));
        fs::remove_dir_all(made.path().join(".git")).unwrap();
        let mut warnings = Vec::new();
        let after = tree.fingerprint(|warning| warnings.push(warning));
        assert_ne!(after, before);
        assert_eq!(tree.fingerprint(|warning| warnings.push(warning)), after);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("is gone or damaged (")), "{warnings:?}");
    }

    #[test]
    fn what_is_not_looked_at_in_time_is_as_it_was_last_seen() {
        let made = Made::with(&[("a.rs", "a\n")]);
        for repository in [Some(made.opened()), None] {
            let mut tree = WorkTree::new(made.path().to_owned(), repository);
            let before = tree.fingerprint(|warning| panic!("{warning}"));
            made.write("a.rs", "longer\n");
            tree.limit = Duration::ZERO;
            let mut warnings = Vec::new();
            for _ in 0..3 {
                assert_eq!(tree.fingerprint(|warning| warnings.push(warning)), before);
            }
            assert_eq!(warnings.len(), 1);
            tree.limit = MAX_TIME;
            assert_ne!(tree.fingerprint(|warning| panic!("{warning}")), before);
            made.write("a.rs", "a\n");
        }
    }

    #[test]
    fn shares_the_look_of_the_iteration() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let mut tree = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        let task = TaskId::new("1");
        let print = |tree: &WorkTree| tree.fingerprint(|warning| panic!("{warning}"));
        tree.begin_task(Some(&task), false);
        let before = print(&tree);
        tree.begin_turn(false);
        made.write("a.rs", "b\n");
        tree.end_turn(false);
        let after = print(&tree);
        assert_ne!(before, after);
        // No look would be in time now.
        tree.limit = Duration::ZERO;
        made.write("a.rs", "of a check\n");
        assert_eq!(print(&tree), after);
        tree.end_iteration();
        tree.begin_task(Some(&task), false);
        assert_eq!(
            (print(&tree), tree.late_look()),
            (after, None),
            "it begins with the look at the last end"
        );
        tree.begin_turn(false);
        tree.end_turn(false);
        let late = tree.late_look().unwrap();
        assert!(
            late.contains("could not be looked at within") && late.ends_with("are not reported"),
            "{late}"
        );
        assert_eq!(tree.late_look(), None, "it is told once");
    }

    #[test]
    fn changes_are_told_from_the_start_of_an_iteration_on() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let tree = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        assert_eq!(tree.changed_files(), None);
        tree.begin();
        made.write("a.rs", "b\n");
        made.commit("A commit");
        made.write("new.rs", "");
        assert_eq!(tree.changed_files().unwrap(), ["a.rs", "new.rs"]);
        tree.begin();
        assert_eq!(tree.changed_files().unwrap(), ["new.rs"]);
    }

    #[test]
    fn changes_of_the_run_are_told_from_its_start_on_also_by_whoever_takes_it_up() {
        let made = Made::with(&[("a.rs", "a\n"), ("b.rs", "b\n")]);
        let tree = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        assert_eq!((tree.changed_in_run(), tree.run_start()), (None, None));
        tree.begin_run(None);
        made.write("a.rs", "b\n");
        made.write(".system/cache/usage.json", "{}");
        made.commit("A commit");
        tree.begin();
        let later = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        later.begin_run(tree.run_start().as_deref());
        made.write("b.rs", "c\n");
        for tree in [tree, later] {
            assert_eq!(tree.changed_in_run().unwrap(), ["a.rs", "b.rs"]);
        }
        let lost = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        for unknown in ["no commit", &"a".repeat(40)] {
            lost.begin_run(Some(unknown));
            assert_eq!(lost.changed_in_run(), None, "{unknown}");
        }
    }
}
