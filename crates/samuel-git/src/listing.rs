//! What the files of a project are now, and how that differs from a commit.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest, Sha256};

use super::{
    Budget, Entry, GitError, ObjectId, Repository, Stat, Walk, ignores::Walking, index::MAX_PATHS, read,
    state_of,
};
use samuel_model::is_no_work;

/// The largest file whose content is compared; of a larger one, what the system
/// says of it.
const MAX_HASHED: u64 = 16 << 20;
/// How much is read for one look at the project.
const MAX_HASHED_ALTOGETHER: u64 = 128 << 20;
/// How many untracked files are looked at.
const MAX_UNTRACKED: usize = 200_000;
/// The mode of a repository within another one.
const SUBMODULE: u32 = 0o160_000;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Its content has this id, as a blob.
    Id(ObjectId),
    /// A digest: of what the system says of a file that is too large to be read, or
    /// of what a repository within the project holds beside its commit.
    Seen([u8; 16]),
}

/// A file as it is now: its mode and its content.
pub type State = (u32, Content);

/// The files of a project as they are now, by their paths from its root, without those
/// that are no part of the work.
pub type Listing = BTreeMap<Vec<u8>, State>;

/// Computes the id of a file's content as a blob of a kind that `like` has.
pub fn blob_id(repository: &Repository, content: &[u8]) -> ObjectId {
    repository.hash.blob(content)
}

/// Files that changed, by their paths, with what they are now, or `None` for one that is gone.
pub type Differences = BTreeMap<Vec<u8>, Option<State>>;

impl Repository {
    /// Returns what every file of the project is now, tracked or not, within a
    /// time. What looks as it did when it was staged is not read.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read, or not in time.
    #[doc(hidden)]
    pub fn listing(&self, limit: Duration) -> Result<Listing, GitError> {
        self.listing_within(Budget::new(limit))
    }

    pub(super) fn listing_within(&self, budget: Budget) -> Result<Listing, GitError> {
        let mut looking = Looking::new(self, budget);
        let index = self.index()?;
        let prefix = self.prefix();
        let mut tracked = HashMap::new();
        let mut late = false;
        index.for_each(|entry| {
            late = budget.is_over();
            if late {
                return ControlFlow::Break(());
            }
            if let Some(path) = entry.path.strip_prefix(prefix.as_slice()).filter(|path| !is_no_work(path)) {
                looking.entry(&entry, path);
                tracked.insert(path.to_vec(), entry.is_submodule());
            }
            ControlFlow::Continue(())
        })?;
        if late {
            return Err(budget.timed_out());
        }
        let mut untracked = Vec::new();
        let mut left = MAX_PATHS;
        let walk = Walk::of_repository(self).with_repositories();
        let ended = walk.files(
            budget.deadline,
            |path, is_dir| {
                let path = path.as_os_str().as_encoded_bytes();
                // A directory may stand where a file was tracked.
                let is_known = |is_submodule: &bool| !is_dir || *is_submodule;
                is_no_work(path) || tracked.get(path).is_some_and(is_known)
            },
            |file| {
                left = left.saturating_sub(file.path.as_os_str().len());
                untracked.push((file.path.to_owned(), file.is_repository));
                untracked.len() < MAX_UNTRACKED && left > 0
            },
        );
        if ended == Walking::CutShort && budget.is_over() {
            return Err(budget.timed_out());
        }
        for (path, is_repository) in untracked {
            if budget.is_over() {
                return Err(budget.timed_out());
            }
            match is_repository {
                true => looking.repository(&path),
                false => looking.untracked(&path),
            }
        }
        if looking.is_late { Err(budget.timed_out()) } else { Ok(looking.listing) }
    }

    /// Returns the files that differ from those of a commit, sorted.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read, or not in time.
    #[doc(hidden)]
    pub fn changes_since(&self, commit: &ObjectId, limit: Duration) -> Result<Vec<String>, GitError> {
        let mut now = self.listing(limit)?;
        let mut changed = Vec::new();
        for (path, mode, id) in self.files_of(commit, limit)? {
            if is_no_work(&path) {
                continue;
            }
            if now.remove(&path) != Some((mode, Content::Id(id))) {
                changed.push(path);
            }
        }
        changed.extend(now.into_keys());
        changed.sort_unstable();
        Ok(changed.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    }

    /// Returns which of some files differ from those of a commit, sorted. `None` stands for a file that is gone.
    /// Without a commit there are no files to differ from. Reads only directories that have some of the files.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read, or not in time.
    #[doc(hidden)]
    pub fn differing(
        &self,
        files: &Differences,
        commit: Option<&ObjectId>,
        limit: Duration,
    ) -> Result<Vec<String>, GitError> {
        let among = commit.map_or(Ok(Vec::new()), |commit| self.files_among(files, commit, limit))?;
        let committed: Listing =
            among.into_iter().map(|(path, mode, id)| (path, (mode, Content::Id(id)))).collect();
        let differing = files.iter().filter(|(path, now)| committed.get(*path) != (*now).as_ref());
        Ok(differing.map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect())
    }
}

/// A look at the files of a project.
struct Looking<'a> {
    repository: &'a Repository,
    parents: Parents,
    listing: Listing,
    /// How many bytes may still be read.
    left: u64,
    budget: Budget,
    /// Whether a repository within the project was not looked at in time.
    is_late: bool,
}

impl<'a> Looking<'a> {
    fn new(repository: &'a Repository, budget: Budget) -> Self {
        let parents = Parents::of(&repository.root);
        let (listing, left) = (Listing::new(), MAX_HASHED_ALTOGETHER);
        Self { repository, parents, listing, left, budget, is_late: false }
    }

    fn entry(&mut self, entry: &Entry<'_>, path: &[u8]) {
        let staged = (entry.mode(), Content::Id(ObjectId::of(entry.id)));
        if entry.is_skipped {
            self.listing.insert(path.to_vec(), staged);
            return;
        }
        let Some(on_disk) = self.parents.file(path) else { return };
        let Ok(metadata) = fs::symlink_metadata(&on_disk) else { return };
        if entry.is_submodule() {
            if metadata.is_dir() {
                let content = self.nested(&on_disk).unwrap_or(staged.1);
                self.listing.insert(path.to_vec(), (entry.mode(), content));
            }
            return;
        }
        let Some(mode) = mode_of(&metadata, entry.mode(), self.repository.file_mode) else { return };
        let content = match entry.stat {
            Some(then) if then.is_of(&Stat::of(&metadata)) => Some(staged.1),
            _ => self.content(&on_disk, &metadata),
        };
        if let Some(content) = content {
            self.listing.insert(path.to_vec(), (mode, content));
        }
    }

    /// Returns what a repository within the project holds, if it is one.
    fn nested(&mut self, directory: &Path) -> Option<Content> {
        let state = state_of(directory, self.budget);
        self.is_late |= state.is_err();
        state.ok().flatten()
    }

    fn repository(&mut self, path: &Path) {
        if let Some(content) = self.nested(&self.repository.root.join(path)) {
            let path = path.as_os_str().as_encoded_bytes().to_vec();
            self.listing.insert(path, (SUBMODULE, content));
        }
    }

    fn untracked(&mut self, path: &Path) {
        let on_disk = self.repository.root.join(path);
        let Ok(metadata) = fs::symlink_metadata(&on_disk) else { return };
        let Some(mode) = mode_of(&metadata, 0o100_644, self.repository.file_mode) else { return };
        if let Some(content) = self.content(&on_disk, &metadata) {
            self.listing.insert(path.as_os_str().as_encoded_bytes().to_vec(), (mode, content));
        }
    }

    /// Returns what a file or link holds; nothing if it is gone.
    fn content(&mut self, path: &Path, metadata: &fs::Metadata) -> Option<Content> {
        if metadata.is_symlink() {
            let target = fs::read_link(path).ok()?;
            return Some(Content::Id(blob_id(self.repository, target.as_os_str().as_encoded_bytes())));
        }
        match self.left.checked_sub(metadata.len()).filter(|_| metadata.len() <= MAX_HASHED) {
            Some(left) => {
                self.left = left;
                // One that cannot be read counts as it looks.
                match read::read(path, MAX_HASHED) {
                    Ok(content) => Some(Content::Id(blob_id(self.repository, &content))),
                    Err(_) => Some(seen(metadata)),
                }
            }
            None => Some(seen(metadata)),
        }
    }
}

fn seen(metadata: &fs::Metadata) -> Content {
    let mut digest = Sha256::new();
    digest.update(metadata.len().to_le_bytes());
    digest.update(format!("{:?}", Stat::of(metadata)));
    let digest = digest.finalize();
    Content::Seen(digest.first_chunk::<16>().copied().unwrap_or_default())
}

/// Returns the mode that git gives a file; nothing for what git does not keep.
fn mode_of(metadata: &fs::Metadata, staged: u32, file_mode: bool) -> Option<u32> {
    if metadata.is_symlink() {
        return Some(0o120_000);
    }
    if !metadata.is_file() {
        return None;
    }
    #[cfg(unix)]
    let is_executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0;
    #[cfg(not(unix))]
    let is_executable = staged == 0o100_755;
    let keeps_staged = !file_mode && matches!(staged, 0o100_644 | 0o100_755);
    Some(if keeps_staged {
        staged
    } else if is_executable {
        0o100_755
    } else {
        0o100_644
    })
}

/// The directories that tracked files are in: a link in place of one leads out of
/// the project, and nothing behind it is tracked.
#[derive(Debug)]
pub struct Parents {
    root: PathBuf,
    are_real: HashMap<Vec<u8>, bool>,
}

impl Parents {
    /// Looks at directories below a root.
    pub fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), are_real: HashMap::new() }
    }

    /// Returns where a tracked file is; nothing for one behind a link.
    pub fn file(&mut self, path: &[u8]) -> Option<PathBuf> {
        let directory = match memchr::memrchr(b'/', path) {
            Some(end) => path.get(..end)?,
            None => &[],
        };
        self.is_real(directory).then(|| self.root.join(as_path(path)))
    }

    fn is_real(&mut self, directory: &[u8]) -> bool {
        if directory.is_empty() {
            return true;
        }
        if let Some(known) = self.are_real.get(directory) {
            return *known;
        }
        let parent =
            memchr::memrchr(b'/', directory).and_then(|end| directory.get(..end)).unwrap_or_default();
        let on_disk = self.root.join(as_path(directory));
        let is_real = self.is_real(parent) && fs::symlink_metadata(on_disk).is_ok_and(|found| found.is_dir());
        self.are_real.insert(directory.to_vec(), is_real);
        is_real
    }
}

#[cfg(unix)]
fn as_path(path: &[u8]) -> &Path {
    Path::new(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path))
}

#[cfg(not(unix))]
fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::new(std::str::from_utf8(path).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::{super::Caller, *};
    use crate::testing::Repository as Made;

    const LONG: Duration = Duration::from_secs(60);

    fn open(root: &Path) -> Repository {
        Repository::open(root, &Caller::of_process()).unwrap().unwrap()
    }

    fn changed(made: &Made) -> Vec<String> {
        let repository = open(made.path());
        let start = repository.head().unwrap().commit().unwrap();
        repository.changes_since(&start, LONG).unwrap()
    }

    #[test]
    fn what_is_changed_added_and_removed_is_told_committed_or_not() {
        let files =
            [("a.rs", "a\n"), ("b/c.rs", "c\n"), ("b/d.rs", "d\n"), (".gitignore", "*.log\n"), ("e", "e\n")];
        let made = Made::with(&files);
        let start = open(made.path()).head().unwrap().commit().unwrap();
        assert_eq!(changed(&made), [""; 0]);
        made.write("b/c.rs", "changed\n");
        made.write("new file.rs", "");
        made.write("noise.log", "");
        made.write(".samuel/run/x", "");
        fs::rename(made.path().join("e"), made.path().join("f")).unwrap();
        fs::remove_file(made.path().join("b/d.rs")).unwrap();
        let expected = ["b/c.rs", "b/d.rs", "e", "f", "new file.rs"];
        assert_eq!(changed(&made), expected);
        made.run(&["add", "b/c.rs"]);
        assert_eq!(changed(&made), expected);
        made.commit("Changes");
        assert_eq!(changed(&made), [""; 0]);
        assert_eq!(
            open(made.path()).changes_since(&start, LONG).unwrap(),
            [&[".samuel/run/x"][..0], &expected].concat()
        );
        made.run(&["gc", "--quiet", "--aggressive", "--prune=now"]);
        assert_eq!(open(made.path()).changes_since(&start, LONG).unwrap(), expected);
    }

    #[test]
    fn compares_only_some_files_with_a_commit() {
        let made = Made::with(&[("a.rs", "a\n"), ("b/c.rs", "c\n"), ("b/d/e.rs", "e\n"), ("gone.rs", "")]);
        made.write("a.rs", "changed\n");
        made.write("b/d/new.rs", "");
        fs::remove_file(made.path().join("gone.rs")).unwrap();
        let repository = open(made.path());
        let (now, head) = (repository.listing(LONG).unwrap(), repository.head().unwrap().commit());
        let paths = ["b", "b/c.rs", "b/d/e.rs", "b/d/new.rs", "gone.rs"];
        let states = paths.map(|path| (path.as_bytes().to_vec(), now.get(path.as_bytes()).copied()));
        let files: Differences = states.into_iter().collect();
        let differing = |commit: Option<&ObjectId>| repository.differing(&files, commit, LONG).unwrap();
        assert_eq!(differing(head.as_ref()), ["b/d/new.rs", "gone.rs"]);
        assert_eq!(differing(None), ["b/c.rs", "b/d/e.rs", "b/d/new.rs"]);
    }

    #[test]
    fn a_file_that_was_only_touched_is_not_changed() {
        let made = Made::with(&[("a.rs", "a\n")]);
        fs::File::open(made.path().join("a.rs"))
            .unwrap()
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        assert_eq!(changed(&made), [""; 0]);
    }

    #[test]
    fn a_project_inside_a_repository_is_told_of_its_own_files() {
        let made = Made::with(&[("a.rs", ""), ("inner/b.rs", ""), ("inner/deep/c.rs", "")]);
        let inner = open(&made.path().join("inner"));
        let start = inner.head().unwrap().commit().unwrap();
        made.write("a.rs", "changed\n");
        made.write("inner/deep/c.rs", "changed\n");
        assert_eq!(inner.changes_since(&start, LONG).unwrap(), ["deep/c.rs"]);
    }

    #[cfg(unix)]
    #[test]
    fn modes_and_links_count_and_nothing_behind_a_link_is_read() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let made = Made::with(&[("a.sh", "a\n"), ("dir/b.rs", "b\n"), ("c.rs", "c\n")]);
        fs::set_permissions(made.path().join("a.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::rename(made.path().join("dir"), elsewhere.path().join("dir")).unwrap();
        symlink(elsewhere.path().join("dir"), made.path().join("dir")).unwrap();
        fs::remove_file(made.path().join("c.rs")).unwrap();
        symlink("a.sh", made.path().join("c.rs")).unwrap();
        assert_eq!(changed(&made), ["a.sh", "c.rs", "dir", "dir/b.rs"]);
    }

    #[test]
    fn a_submodule_counts_by_its_commit() {
        let (made, inner) = (Made::with(&[("a.rs", "")]), Made::with(&[("b.rs", "")]));
        let path = inner.path().to_str().unwrap();
        made.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "sub"]);
        made.commit("Add a submodule");
        assert_eq!(changed(&made), [""; 0]);
        let args = ["-C", "sub", "commit", "--quiet", "--allow-empty", "--message", "More"];
        made.run(&args);
        assert_eq!(changed(&made), ["sub"]);
    }

    #[test]
    fn what_is_not_committed_in_a_submodule_or_another_repository_counts() {
        let (made, inner) = (Made::with(&[("a.rs", "")]), Made::with(&[("b.rs", "")]));
        let path = inner.path().to_str().unwrap();
        made.run(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", path, "sub"]);
        made.commit("Add a submodule");
        made.run(&["clone", "--quiet", path, "other"]);
        let listed = || open(made.path()).listing(LONG).unwrap();
        let mut last = listed();
        let commit = open(inner.path()).head().unwrap().commit().unwrap();
        for name in ["sub", "other"] {
            assert_eq!(last.get(name.as_bytes()), Some(&(SUBMODULE, Content::Id(commit))), "{name}");
        }
        let mut differs = |what: &str, path: &str| {
            let now = listed();
            assert_ne!(now.get(path.as_bytes()), last.get(path.as_bytes()), "{what}");
            last = now;
        };
        for name in ["sub", "other"] {
            made.write(&format!("{name}/b.rs"), "changed\n");
            differs("a changed file", name);
            made.write(&format!("{name}/new.rs"), "");
            differs("a new file", name);
            made.run(&["-C", name, "add", "--all"]);
            made.run(&["-C", name, "commit", "--quiet", "--message", "More"]);
            differs("a commit", name);
        }
        made.run(&["init", "--quiet", "sub/deep"]);
        differs("an empty repository in it", "sub");
        made.write("sub/deep/c.rs", "");
        differs("a file in that", "sub");
        fs::write(made.path().join("other/.git/HEAD"), "nonsense").unwrap();
        differs("one that cannot be read", "other");
        made.write("other/b.rs", "again\n");
        differs("a file in it", "other");
    }
}
