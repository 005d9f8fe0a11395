//! The user's own tree: what a clone is made from, and where checked work arrives.
//!
//! The branch is moved by `git merge --ff-only`, and only where no file is in the way. That
//! is written down before: a fast-forward that was cut off is taken back by the next start, file by
//! file, as far as what it wrote is what is there, and made again. So the tree is old or new, and
//! what the user changed meanwhile is left alone.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    WorkspaceError,
    bundle::{Change, shown},
    copied::OwnPaths,
    git::{self, Configured, Git, LIST_SETTINGS},
    objects::{self, SHALLOW},
    record::{self, Landing},
    ref_locks::{self, INDEX_LOCK},
};
use crate::{
    fs::{Root, open_unlinked, read_anywhere, read_up_to},
    git::{Caller, Content, Head, Listing, ObjectId, Repository, blob_id, program::GitProgramError},
    process::{CommandSpec, End, ExitStatus, OutputLimits},
};

/// How long one look at the tree may take.
const MAX_TIME: Duration = Duration::from_secs(60);
/// The largest note of git that is read, in bytes.
const MAX_NOTE: u64 = 16 << 10;
/// The largest file that is compared, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// What samuel.toml and its neighbours are called, which need not be in a commit.
const OWN_FILES: [&str; 2] = ["samuel.toml", "samuel.lock"];

/// The user's tree.
#[derive(Clone, Debug)]
pub(crate) struct UsersTree {
    root: PathBuf,
    caller: Caller,
    pub(crate) top: PathBuf,
    pub(crate) common_dir: PathBuf,
    git_dir: PathBuf,
    /// The project within the work tree, with a slash at its end.
    pub(crate) prefix: String,
}

/// What a branch is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) branch: String,
    pub(crate) commit: String,
}

/// How a git ended that was to make a fast-forward.
enum Merged {
    Done,
    /// The index has a lock: it begins with that, and had written nothing.
    Locked,
    /// It said why not, and took its locks with it.
    Refused(GitProgramError),
    /// It was ended, wherever it was.
    CutOff(GitProgramError),
}

/// What a file is, measured by the two commits of a fast-forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Old,
    /// As the fast-forward has it, or the beginning of that, or gone.
    Written,
    Other,
}

impl UsersTree {
    /// Opens the tree of a project. Blocks; starts nothing.
    pub(crate) fn open(root: &Path, caller: &Caller) -> Result<Self, WorkspaceError> {
        let unfit = |problem: &str, help: &str| WorkspaceError::Unfit {
            root: root.to_owned(),
            problem: problem.to_owned(),
            help: help.to_owned(),
        };
        let Some(repository) = Repository::open(root, caller)? else {
            let help = "Run `git init` and make a first commit, or, without a sandbox, work in place: set workspace = \"in-place\" below \
                        [sandbox] in samuel.toml.";
            return Err(unfit("it is in no git repository", help));
        };
        if repository.is_partial() {
            // What is missing would be fetched while git works, which it may not.
            return Err(unfit(
                "its repository is a partial clone",
                "Work in a full clone of it, or work in place.",
            ));
        }
        let prefix = String::from_utf8(repository.prefix());
        let prefix =
            prefix.map_err(|_| unfit("its path is not UTF-8", "Rename the directory, or work in place."))?;
        Ok(Self {
            root: root.to_owned(),
            caller: caller.clone(),
            top: repository.top().to_owned(),
            common_dir: repository.common_dir().to_owned(),
            git_dir: repository.git_dir().to_owned(),
            prefix,
        })
    }

    /// Returns whether the repository has only the last commits. Blocks.
    pub(crate) fn is_shallow(&self) -> bool {
        self.common_dir.join(SHALLOW).exists()
    }

    /// Returns how many bytes the repository's objects have. Blocks.
    pub(crate) fn size_of_objects(&self) -> Result<u64, WorkspaceError> {
        Ok(objects::size(&self.repository(&self.top)?.object_stores()?))
    }

    pub(super) fn repository(&self, at: &Path) -> Result<Repository, WorkspaceError> {
        let gone = || WorkspaceError::io("read", at)(std::io::Error::other("the repository is gone"));
        Repository::open(at, &self.caller)?.ok_or_else(gone)
    }

    /// Returns the tree of a commit, as files say. An error is no answer. Blocks.
    pub(crate) fn tree_of(&self, commit: &str) -> Result<String, WorkspaceError> {
        let repository = self.repository(&self.top)?;
        let id = repository.id_of(commit).ok_or_else(|| not_told(&self.top))?;
        Ok(repository.tree_of(&id)?.ok_or_else(|| not_told(&self.top))?.to_string())
    }

    /// Returns the branch and its commit. Blocks.
    pub(crate) fn standing(&self) -> Result<Standing, WorkspaceError> {
        let unfit = |problem: &str, help: &str| WorkspaceError::Unfit {
            root: self.root.clone(),
            problem: problem.to_owned(),
            help: format!(
                "{help}, or, without a sandbox, work in place: set workspace = \"in-place\" below [sandbox] in samuel.toml."
            ),
        };
        match self.repository(&self.root)?.head()? {
            Head::Branch { name, commit: Some(commit) } => {
                Ok(Standing { branch: name, commit: commit.to_string() })
            }
            Head::Branch { commit: None, .. } => Err(unfit("it has no commit yet", "Make a first commit")),
            Head::Detached(_) => {
                Err(unfit("no branch is checked out", "Check out a branch with `git switch`"))
            }
        }
    }

    /// Says whether a branch is being rebased, in this tree or in one that is linked to it: git moves it in the
    /// end from where it was, and from nowhere else. Blocks.
    pub(crate) fn is_being_rebased(&self, branch: &str) -> bool {
        let linked = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten().flatten();
        let mut trees = linked.map(|entry| entry.path()).chain([self.common_dir.clone()]);
        let name = format!("refs/heads/{branch}");
        trees.any(|tree| {
            ["rebase-merge/head-name", "rebase-apply/head-name"].iter().any(|note| {
                let noted = read_anywhere(&tree.join(note), MAX_NOTE).unwrap_or_default();
                String::from_utf8_lossy(&noted).trim() == name
            })
        })
    }

    /// Checks that the tree holds what its commit says, and nothing is under way there. Files
    /// that git ignores, Samuel's own and those that are copied, by paths from the project, do not count. Blocks.
    pub(super) fn check_clean(&self, copied: &OwnPaths) -> Result<(), WorkspaceError> {
        for (name, what) in [
            ("MERGE_HEAD", "a merge"),
            ("CHERRY_PICK_HEAD", "a cherry-pick"),
            ("REVERT_HEAD", "a revert"),
            ("rebase-merge", "a rebase"),
            ("rebase-apply", "a rebase"),
        ] {
            if self.git_dir.join(name).exists() {
                return Err(WorkspaceError::Unfit {
                    root: self.root.clone(),
                    problem: format!("{what} is under way"),
                    help: "Finish or abort it, then start again.".to_owned(),
                });
            }
        }
        let repository = self.repository(&self.root)?;
        let Some(commit) = repository.head()?.commit() else { return Ok(()) };
        let mut files = repository.changes_since(&commit, MAX_TIME)?;
        files.retain(|file| !OWN_FILES.contains(&file.as_str()) && !copied.cover(file.as_bytes()));
        if files.is_empty() { Ok(()) } else { Err(WorkspaceError::Dirty { files }) }
    }

    /// Says what is in the way of a fast-forward, of which `landing` says everything; nothing where nothing is.
    pub(crate) async fn obstacle(
        &self,
        git: &Git,
        landing: &Landing,
    ) -> Result<Option<String>, WorkspaceError> {
        Ok(self.changes_of_free(git, landing).await?.err())
    }

    /// Returns what a fast-forward changes, or what is in its way.
    async fn changes_of_free(
        &self,
        git: &Git,
        landing: &Landing,
    ) -> Result<Result<Vec<Change>, String>, WorkspaceError> {
        let standing = self.standing()?;
        if standing.branch != landing.branch {
            return Ok(Err(format!("{} is checked out meanwhile", standing.branch)));
        }
        if standing.commit != landing.old {
            let was = landing.old.get(..12).unwrap_or(&landing.old);
            return Ok(Err(format!("it has moved on from {was}, which the work is based on")));
        }
        if self.git_dir.join(INDEX_LOCK).exists() {
            return Ok(Err("another git is at work there (index.lock)".to_owned()));
        }
        let changes = self.changes(git, landing).await?;
        let mut in_the_way = self.not(&[State::Old], git, &changes).await?;
        in_the_way.extend(self.staged(git, &[landing.old.as_str()], &changes).await?);
        in_the_way.sort();
        in_the_way.dedup();
        match in_the_way.is_empty() {
            true => Ok(Ok(changes)),
            false => Ok(Err(format!("these files were changed there: {}", in_the_way.join(", ")))),
        }
    }

    /// Moves the branch on to a commit, of which `landing` says everything; `step` is called once that
    /// is written down. Returns why not, where something is in the way.
    pub(crate) async fn fast_forward(
        &self,
        git: &Git,
        landing: &Landing,
        note: &Path,
        step: impl FnOnce(),
    ) -> Result<Result<(), String>, WorkspaceError> {
        let changes = match self.changes_of_free(git, landing).await? {
            Ok(changes) => changes,
            Err(obstacle) => return Ok(Err(obstacle)),
        };
        record::write(note, landing)?;
        step();
        let merged = self.merge(git, &landing.new).await?;
        if matches!(merged, Merged::CutOff(_)) {
            self.remove_locks(landing, note)?;
        }
        let failed = match merged {
            // Its last step is the branch: whatever ended it came after that.
            _ if self.standing()?.commit == landing.new => None,
            Merged::Done => Some("git did not move it".to_owned()),
            // What is there is somebody else's.
            Merged::Locked => {
                record::remove(note)?;
                return Ok(Err("another git is at work there (index.lock)".to_owned()));
            }
            Merged::Refused(error) | Merged::CutOff(error) => Some(error.to_string()),
        };
        if failed.is_some() {
            self.take_back(git, landing, &changes).await?;
        }
        record::remove(note)?;
        Ok(failed.map_or(Ok(()), Err))
    }

    /// Finishes a fast-forward that was cut off; says whether there was one that is done now. Locks that it left
    /// go, wherever it had got to. One of another git is waited for where there is something to be finished.
    pub(crate) async fn recover(&self, git: &Git, note: &Path) -> Result<Option<Landing>, WorkspaceError> {
        let Some(landing) = record::read::<Landing>(note) else {
            record::remove(note)?;
            return Ok(None);
        };
        let standing = self.standing()?;
        self.remove_locks(&landing, note)?;
        if standing.branch == landing.branch && standing.commit == landing.old {
            if let Some(lock) = self.locks(&landing.branch).iter().find(|lock| lock.exists()) {
                return Err(self.is_at_work(lock));
            }
            let changes = self.changes(git, &landing).await?;
            self.take_back(git, &landing, &changes).await?;
            match self.merge(git, &landing.new).await? {
                Merged::Done => {}
                Merged::Locked => return Err(self.is_at_work(&self.git_dir.join(INDEX_LOCK))),
                Merged::Refused(error) | Merged::CutOff(error) => return Err(error.into()),
            }
        }
        // Elsewhere the user went on, which is theirs to decide.
        let is_there = self.standing()?.commit == landing.new;
        record::remove(note)?;
        Ok(is_there.then_some(landing))
    }

    /// Returns the locks without which no fast-forward of a branch is made.
    fn locks(&self, branch: &str) -> [PathBuf; 3] {
        let of_branch = self.common_dir.join(format!("refs/heads/{branch}.lock"));
        [self.git_dir.join(INDEX_LOCK), self.git_dir.join("HEAD.lock"), of_branch]
    }

    /// Removes the locks that a git of Samuel's left which was ended in a fast-forward.
    fn remove_locks(&self, landing: &Landing, note: &Path) -> Result<(), WorkspaceError> {
        let of_tree = ref_locks::OF_TREE.map(|name| self.git_dir.join(name));
        let packed = self.common_dir.join(ref_locks::PACKED);
        let mut locks = self.locks(&landing.branch).into_iter().chain(of_tree).chain([packed]);
        locks.try_for_each(|lock| remove_lock(&lock, note))
    }

    fn is_at_work(&self, lock: &Path) -> WorkspaceError {
        WorkspaceError::Unfit {
            root: self.root.clone(),
            problem: format!("another git is at work there ({})", lock.display()),
            help: "Wait until it has ended; where none is at work, remove that file.".to_owned(),
        }
    }

    async fn merge(&self, git: &Git, commit: &str) -> Result<Merged, WorkspaceError> {
        // A signature is verified by a program, which a file of the tree may name.
        let args = [
            "merge",
            "--ff-only",
            "--no-verify-signatures",
            "--no-overwrite-ignore",
            "--no-autostash",
            "--no-stat",
            "--quiet",
            commit,
        ];
        let spec = self.writing(git, Configured::ByUser, &args).await?;
        Ok(match git.answer(spec).await {
            Ok(output) if output.success() => Merged::Done,
            Ok(output) => {
                let error = GitProgramError::of("merge", &output);
                match (output.end, output.status) {
                    (End::Exited, ExitStatus::Exited(_)) if output.stderr.text().contains(INDEX_LOCK) => {
                        Merged::Locked
                    }
                    (End::Exited, ExitStatus::Exited(_)) => Merged::Refused(error),
                    _ => Merged::CutOff(error),
                }
            }
            Err(error) => Merged::CutOff(error),
        })
    }

    /// Returns a call of git that writes files of the tree, without filters: a filter may be a script of the project,
    /// which has just been written.
    async fn writing(
        &self,
        git: &Git,
        configured: Configured,
        args: &[&str],
    ) -> Result<CommandSpec, WorkspaceError> {
        let settings = git.call(&self.top, configured, LIST_SETTINGS);
        let spec = git.call(&self.top, configured, args);
        Ok(git.without_filters(settings, spec).await?)
    }

    async fn changes(&self, git: &Git, landing: &Landing) -> Result<Vec<Change>, WorkspaceError> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-abbrev"];
        let args: Vec<&str> = args.into_iter().chain([landing.old.as_str(), &landing.new]).collect();
        let spec = git.call(&self.top, Configured::Alone, &args);
        let parts = git.list("diff-tree", spec).await?.unwrap_or_default();
        Ok(parts.chunks(2).filter_map(Change::read).collect())
    }

    /// Returns the files that are in none of some states.
    async fn not(
        &self,
        states: &[State],
        git: &Git,
        changes: &[Change],
    ) -> Result<Vec<String>, WorkspaceError> {
        let repository = self.repository(&self.top)?;
        let listing = repository.listing(MAX_TIME)?;
        let mut others = Vec::new();
        for change in changes {
            if !states.contains(&self.state(git, &repository, &listing, change).await?) {
                others.push(shown(&change.path));
            }
        }
        Ok(others)
    }

    /// Returns the files that the index has otherwise than each of some commits: what the user has staged.
    async fn staged(
        &self,
        git: &Git,
        commits: &[&str],
        changes: &[Change],
    ) -> Result<Vec<String>, WorkspaceError> {
        let mut staged: Vec<&Change> = changes.iter().collect();
        for &commit in commits {
            let args = ["diff-index", "--cached", "-z", "--name-only", "--no-renames", commit, "--"];
            let spec = git.call(&self.top, Configured::Alone, &args);
            // Of a list that is longer than what is read, any may be among them.
            let Some(paths) = git.list("diff-index", spec).await? else { continue };
            let paths: HashSet<Vec<u8>> = paths.into_iter().collect();
            staged.retain(|change| paths.contains(&change.path));
        }
        Ok(staged.iter().map(|change| shown(&change.path)).collect())
    }

    /// Says what a file is now.
    async fn state(
        &self,
        git: &Git,
        repository: &Repository,
        listing: &Listing,
        change: &Change,
    ) -> Result<State, WorkspaceError> {
        let id = |hex: &[u8]| std::str::from_utf8(hex).ok().and_then(|hex| repository.id_of(hex));
        let was_there = change.old_mode != b"000000";
        let path = self.top.join(path_of(&change.path));
        let Ok(found) = fs::symlink_metadata(&path) else {
            return Ok(if was_there { State::Written } else { State::Old });
        };
        let is = |known: ObjectId, hex: &[u8]| Some(known) == id(hex);
        let by_id = |known: ObjectId| match known {
            known if was_there && is(known, &change.old_id) => Some(State::Old),
            known if is(known, &change.id) => Some(State::Written),
            _ => None,
        };
        if let Some((_, Content::Id(known))) = listing.get(&change.path)
            && let Some(state) = by_id(*known)
        {
            return Ok(state);
        }
        let bytes = if found.is_symlink() {
            fs::read_link(&path).map(|target| target.into_os_string().into_encoded_bytes()).ok()
        } else if found.is_file() {
            open_unlinked(&path).and_then(|file| read_up_to(file, MAX_FILE)).ok()
        } else {
            // A directory stands where a file comes, or the other way round.
            return Ok(if was_there && found.is_dir() { State::Written } else { State::Other });
        };
        let Some(bytes) = bytes else { return Ok(State::Other) };
        if let Some(state) = by_id(blob_id(repository, &bytes)) {
            return Ok(state);
        }
        if change.mode == b"000000" {
            return Ok(State::Other);
        }
        let blob = shown(&change.id);
        let limits = OutputLimits { head: 64 << 20, ..OutputLimits::default() };
        let spec = git.call(&self.top, Configured::Alone, &["cat-file", "blob", &blob]).limits(limits);
        let whole = git.finish("cat-file", spec).await?.stdout.head;
        Ok(if whole.starts_with(&bytes) { State::Written } else { State::Other })
    }

    /// Makes the tree again what it was before a fast-forward.
    async fn take_back(
        &self,
        git: &Git,
        landing: &Landing,
        changes: &[Change],
    ) -> Result<(), WorkspaceError> {
        let mut others = self.not(&[State::Old, State::Written], git, changes).await?;
        others.extend(self.staged(git, &[landing.old.as_str(), &landing.new], changes).await?);
        others.sort();
        others.dedup();
        if !others.is_empty() {
            let (branch, new) = (landing.branch.clone(), landing.new.clone());
            return Err(WorkspaceError::CutOff { branch, new, files: others });
        }
        let root = Root::new(&self.top);
        let mut entries = Vec::new();
        let mut restored = Vec::new();
        for Change { old_mode, old_id, path, .. } in changes {
            entries.extend([old_mode.as_slice(), b" ", old_id, b"\t", path, b"\0"].concat());
            if old_mode != b"000000" {
                restored.extend([path.as_slice(), b"\0"].concat());
            } else if let Err(error) = root.remove_own(&self.top.join(path_of(path)))
                && !error.is_not_found()
            {
                return Err(WorkspaceError::file("remove", &self.top.join(path_of(path)))(error));
            }
        }
        let index = git.call(&self.top, Configured::Alone, &["update-index", "-z", "--index-info"]);
        git.finish("update-index", index.stdin(entries)).await?;
        if !restored.is_empty() {
            let args = ["checkout-index", "--force", "--quiet", "-u", "-z", "--stdin"];
            let spec = self.writing(git, Configured::Alone, &args).await?;
            git.finish("checkout-index", spec.stdin(restored)).await?;
        }
        Ok(())
    }
}

/// Removes a lock that a git of Samuel's left which was killed: one that was made after a note, and within the time
/// that such a git has. What is newer is of another git, which may be at work.
pub(super) fn remove_lock(lock: &Path, note: &Path) -> Result<(), WorkspaceError> {
    let time = |path: &Path| fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let (Some(made), Some(noted)) = (time(lock), time(note)) else { return Ok(()) };
    match made.duration_since(noted) {
        Ok(after) if after <= git::MAX_TIME => record::remove(lock),
        _ => Ok(()),
    }
}

fn not_told(at: &Path) -> WorkspaceError {
    WorkspaceError::io("read", at)(std::io::Error::other("files do not tell"))
}

fn path_of(path: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(path))
}
