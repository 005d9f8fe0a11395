//! What the files of a project are now, and how that differs from a commit.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::{
    Caller, Entry, GitError, ObjectId, Repository, Stat, Walk, ignores::Walking, index::MAX_PATHS, read,
};

/// The largest file whose content is compared; of a larger one, what the system
/// says of it.
const MAX_HASHED: u64 = 16 << 20;
/// How much is read for one look at the project.
const MAX_HASHED_ALTOGETHER: u64 = 128 << 20;
/// How many untracked files are looked at.
const MAX_UNTRACKED: usize = 200_000;
/// Samuel's own directory, which is no part of the project's content.
const OWN_DIRECTORY: &[u8] = b".samuel";

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Its content has this id, as a blob.
    Id(ObjectId),
    /// It is too large to be read; it has this size and was changed then.
    Seen([u8; 16]),
}

/// A file as it is now: its mode and its content.
type State = (u32, Content);

/// The files of a project as they are now, by their paths from its root, its own
/// directory left out.
pub(crate) type Listing = BTreeMap<Vec<u8>, State>;

/// Computes the id of a file's content as a blob of a kind that `like` has.
pub(crate) fn blob_id(repository: &Repository, content: &[u8]) -> ObjectId {
    repository.hash.blob(content)
}

impl Repository {
    /// Returns what every file of the project is now, tracked or not, within a
    /// time. What looks as it did when it was staged is not read.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read, or not in time.
    pub(crate) fn listing(&self, limit: Duration) -> Result<Listing, GitError> {
        let timed_out = || GitError::TimedOut { limit };
        let deadline = Instant::now() + limit;
        let mut looking = Looking::new(self);
        let index = self.index()?;
        let prefix = self.prefix();
        let mut tracked = HashMap::new();
        let mut late = false;
        index.for_each(|entry| {
            late = Instant::now() > deadline;
            if late {
                return ControlFlow::Break(());
            }
            if let Some(path) = entry.path.strip_prefix(prefix.as_slice()).filter(|path| !is_own(path)) {
                looking.entry(&entry, path);
                tracked.insert(path.to_vec(), entry.is_submodule());
            }
            ControlFlow::Continue(())
        })?;
        if late {
            return Err(timed_out());
        }
        let mut untracked = Vec::new();
        let mut left = MAX_PATHS;
        let walk = Walk::of_repository(self);
        let ended = walk.files(
            deadline,
            |path, is_dir| {
                let path = path.as_os_str().as_encoded_bytes();
                // A directory may stand where a file was tracked.
                let is_known = |is_submodule: &bool| !is_dir || *is_submodule;
                path == OWN_DIRECTORY || tracked.get(path).is_some_and(is_known)
            },
            |file| {
                left = left.saturating_sub(file.path.as_os_str().len());
                untracked.push(file.path.to_owned());
                untracked.len() < MAX_UNTRACKED && left > 0
            },
        );
        if ended == Walking::CutShort && Instant::now() > deadline {
            return Err(timed_out());
        }
        for path in untracked {
            if Instant::now() > deadline {
                return Err(timed_out());
            }
            looking.untracked(&path);
        }
        Ok(looking.listing)
    }

    /// Returns the files that differ from those of a commit, sorted.
    ///
    /// # Errors
    /// Returns a [`GitError`] where the repository cannot be read, or not in time.
    pub(crate) fn changes_since(&self, commit: &ObjectId, limit: Duration) -> Result<Vec<String>, GitError> {
        let mut now = self.listing(limit)?;
        let mut changed = Vec::new();
        for (path, mode, id) in self.files_of(commit, limit)? {
            if is_own(&path) {
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
}

fn is_own(path: &[u8]) -> bool {
    path.strip_prefix(OWN_DIRECTORY).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// A look at the files of a project.
struct Looking<'a> {
    repository: &'a Repository,
    parents: Parents,
    listing: Listing,
    /// How many bytes may still be read.
    left: u64,
}

impl<'a> Looking<'a> {
    fn new(repository: &'a Repository) -> Self {
        let parents = Parents::of(&repository.root);
        Self { repository, parents, listing: Listing::new(), left: MAX_HASHED_ALTOGETHER }
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
                let content = checked_out(&on_disk).map_or(staged.1, Content::Id);
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

/// Returns the commit that a submodule is at.
fn checked_out(directory: &Path) -> Option<ObjectId> {
    // Owned by whoever owns the project, which has been checked.
    let repository = Repository::open(directory, &Caller::of_anybody()).ok()??;
    let is_its_own = directory.canonicalize().is_ok_and(|real| real == repository.top);
    is_its_own.then(|| repository.head().ok()?.commit())?
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
pub(crate) struct Parents {
    root: PathBuf,
    are_real: HashMap<Vec<u8>, bool>,
}

impl Parents {
    pub(crate) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), are_real: HashMap::new() }
    }

    /// Returns where a tracked file is; nothing for one behind a link.
    pub(crate) fn file(&mut self, path: &[u8]) -> Option<PathBuf> {
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

    use super::*;
    use crate::methodology::ralph::testing::Repository as Made;

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
}
