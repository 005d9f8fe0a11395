//! A work tree of its own in the user's repository, in which a lane works on the host.
//!
//! git calls it a linked work tree. It lies in a directory that is the user's alone, is made once
//! and reused from task to task, so that what git ignores in it stays warm. Each task has a branch,
//! checked out from the head of the branch that work lands on; what is left there when another one
//! begins is committed below `refs/samuel/rescue/` first.
//!
//! Every git gets the place of the work tree's own files (`GIT_DIR`) from here, and does not
//! believe the file `.git` in it, to which an agent may have written. Whose task it is, and what
//! becomes of the work, is the lane's.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Mutex as AsyncMutex;

use super::{
    WorkspaceError,
    clone::{NOBODY, blocking, check_version},
    copied::OwnPaths,
    detached_head,
    git::{Configured, Filters, Git, LIST_SETTINGS},
    kept_ref::{keep, put_on_or_beside},
    lane_names::KEEPERS,
    preparation::{Preparation, Unprepared},
    record, ref_locks,
    run_files::run_files,
    untracked,
    users_tree::UsersTree,
};
use crate::{
    fs::{private, read_anywhere},
    git::Caller,
    process::{CommandSpec, Supervisor},
};

/// The oldest git that lanes work with: it merges without a work tree.
pub(crate) const LEAST_GIT_OF_LANES: (u32, u32) = (2, 38);
/// The largest note of where a work tree is, in bytes.
const MAX_NOTE: u64 = 16 << 10;
/// The largest file of patterns of the user's, in bytes.
const MAX_PATTERNS: u64 = 1 << 20;
/// Where it is noted, beside what git keeps of a work tree, which commands were run there and what was copied.
const SET_UP: &str = "samuel-setup";
const COPIED: &str = "samuel-copied";
/// The patterns by which git ignores that, and what the user has it ignore everywhere.
const EXCLUDES: &str = "samuel-excludes";

/// Where a lane works, and what its work tree gets.
#[derive(Clone, Debug)]
pub struct WorktreeSetup {
    /// The project's root.
    pub root: PathBuf,
    /// Where the work tree is: a path in a directory that is this user's alone.
    pub tree: PathBuf,
    /// Whose the project must be.
    pub caller: Caller,
    /// The environment, of which git gets what it needs.
    pub env: Vec<(String, String)>,
    /// Who watches over git and the commands.
    pub supervisor: Supervisor,
    /// What it gets beside the files of a commit.
    pub preparation: Preparation,
}

/// A work tree of a lane.
#[derive(Debug)]
pub struct Worktree {
    setup: WorktreeSetup,
    git: Git,
    users: UsersTree,
    git_dir: PathBuf,
    /// Who commits where git does not know the user.
    nobody: Vec<(&'static str, &'static str)>,
    /// Whether what is in no commit is worth nothing.
    is_spent: AtomicBool,
    /// What was copied there beside the files of a commit.
    copied: Mutex<OwnPaths>,
    /// The branch that a task was given last.
    given: Mutex<Option<String>>,
    /// The commit at which that branch began.
    base: Mutex<Option<String>>,
    /// The branch that was left last, once its work was handed in.
    left: Mutex<Option<String>>,
    /// What people should know of where the work went, and were not told yet.
    told: Mutex<Vec<String>>,
}

/// What becomes of what is in no commit when a lane leaves its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncommitted {
    /// It is kept by the next [`rescue`](Worktree::rescue).
    Kept,
    /// It is given up: `rescue` does not keep it, and it goes with the next [`begin`](Worktree::begin), or with
    /// [`settle`](Worktree::settle).
    GivenUp,
}

/// A commit with what a lane made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeWork {
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
}

/// What whoever makes work trees of one repository shares: one is made at a time, which is all that git takes.
pub type Making = Arc<AsyncMutex<Asked>>;

/// What git was asked when the first of them was made.
#[derive(Debug, Default)]
pub struct Asked {
    /// Who commits where git does not know the user.
    nobody: Option<Vec<(&'static str, &'static str)>>,
}

impl Asked {
    /// Returns who commits where git, which has to be new enough, does not know the user.
    async fn nobody(
        &mut self,
        git: &Git,
        users: &UsersTree,
        root: &Path,
    ) -> Result<Vec<(&'static str, &'static str)>, WorkspaceError> {
        if let Some(nobody) = &self.nobody {
            return Ok(nobody.clone());
        }
        check_version(git, root, LEAST_GIT_OF_LANES).await?;
        let mut nobody = Vec::new();
        for ((name, value), variables) in NOBODY
            .into_iter()
            .zip([["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"], ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]])
        {
            let spec = git.call(&users.top, Configured::ByUser, &["config", "--get", name]);
            if !git.answer(spec).await?.success() {
                nobody.extend(variables.map(|variable| (variable, value)));
            }
        }
        Ok(self.nobody.insert(nobody).clone())
    }
}

impl Worktree {
    /// Makes the work tree, or takes one that is there. Nothing is checked out in a new one.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] for a project without a repository, and a git
    /// that is too old, and other errors where something fails.
    pub async fn open(setup: WorktreeSetup, making: &Making) -> Result<Self, WorkspaceError> {
        let directory = setup.tree.parent().unwrap_or(&setup.tree).to_owned();
        private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
        let (root, caller) = (setup.root.clone(), setup.caller.clone());
        let users = blocking(move || UsersTree::open(&root, &caller)).await?;
        let git = Git::of(&setup.env, setup.supervisor.clone(), &directory, &users.top)?;
        let mut alone = making.lock().await;
        let nobody = alone.nobody(&git, &users, &setup.root).await?;
        let git_dir = match git_dir_of(&users.common_dir, &setup.tree) {
            Some(git_dir) if setup.tree.is_dir() => git_dir,
            _ => make(&git, &users, &setup.tree).await?,
        };
        unlock(&git_dir)?;
        let copied = OwnPaths::noted(&git_dir.join(COPIED));
        Ok(Self {
            setup,
            git,
            users,
            git_dir,
            nobody,
            is_spent: AtomicBool::default(),
            copied: Mutex::new(copied),
            given: Mutex::default(),
            base: Mutex::default(),
            left: Mutex::default(),
            told: Mutex::default(),
        })
    }

    /// Returns the directory in which agents and checks work: the project within the work tree.
    pub fn work_dir(&self) -> PathBuf {
        self.setup.tree.join(&self.users.prefix).components().collect()
    }

    /// Returns what people should know since it was asked last, such as where work is kept whose branch somebody has
    /// checked out.
    pub fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says whether anything was ever checked out there: git has an index then.
    fn was_used(&self) -> bool {
        self.git_dir.join("index").is_file()
    }

    /// Gives a task its branch at a commit and checks it out. What was there and is in no commit is
    /// gone after that, but for what git ignores.
    ///
    /// # Errors
    /// Returns an error where git fails, a file cannot be copied, or a command of the setup fails.
    pub async fn begin(&self, branch: &str, base: &str) -> Result<(), WorkspaceError> {
        self.unlock()?;
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = Some(branch.to_owned());
        *self.base.lock().unwrap_or_else(PoisonError::into_inner) = Some(base.to_owned());
        self.run(&["checkout", "--quiet", "--force", "-B", branch, base]).await?;
        self.get_ready().await
    }

    /// Checks a commit out, on no branch. What was there and is in no commit is gone after that, but for
    /// what git ignores.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn check_out(&self, commit: &str) -> Result<(), WorkspaceError> {
        self.unlock()?;
        self.run(&["checkout", "--quiet", "--force", "--detach", commit]).await?;
        self.get_ready().await
    }

    /// Runs the commands of the setup at a commit. What they leave is nobody's work: it [is given up](Uncommitted::GivenUp).
    pub(crate) async fn set_up(&self, commit: &str) -> Result<(), WorkspaceError> {
        self.check_out(commit).await?;
        self.is_spent.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Says whether the commands of the setup were run there.
    pub(crate) fn is_set_up(&self) -> bool {
        self.setup.preparation.is_set_up(&self.git_dir.join(SET_UP))
    }

    /// Removes the locks of gits that were stopped as they worked here, such as those of an agent: none is at work now.
    pub(super) fn unlock(&self) -> Result<(), WorkspaceError> {
        unlock(&self.git_dir)?;
        match &*self.given.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(branch) => record::remove(&self.users.common_dir.join(format!("refs/heads/{branch}.lock"))),
            None => Ok(()),
        }
    }

    async fn get_ready(&self) -> Result<(), WorkspaceError> {
        self.know_copied().await?;
        if self.may_have_untracked().await {
            self.run(&["clean", "-ffdq"]).await?;
        }
        self.is_spent.store(false, Ordering::Relaxed);
        let to = Unprepared {
            root: &self.setup.root,
            tree: &self.setup.tree,
            work_dir: &self.work_dir(),
            note: &self.git_dir.join(SET_UP),
        };
        self.setup.preparation.apply(&self.git, to).await?;
        Ok(())
    }

    /// Says whether there may be anything that git does not track, as files say; also where they do not tell.
    async fn may_have_untracked(&self) -> bool {
        let (users, git_dir, tree) = (self.users.clone(), self.git_dir.clone(), self.setup.tree.clone());
        let files = run_files(&users.prefix);
        let may = blocking(move || {
            let repository = users.repository(&users.top)?.with_git_dir(&git_dir);
            untracked::may_be_in(&tree, &repository, Path::new(&files))
                .map_err(WorkspaceError::io("look at", &tree))
        });
        may.await.unwrap_or(true)
    }

    /// Takes down what is to be copied, so that git does not take it, and removes what was copied before and is not any
    /// more.
    async fn know_copied(&self) -> Result<(), WorkspaceError> {
        let copied = OwnPaths::of(&self.setup.preparation.copy, &self.users.prefix);
        if copied.is_empty() && self.copied().is_empty() {
            return Ok(());
        }
        let listed = match copied.is_empty() {
            true => String::new(),
            false => self.run(&copied.after(&["ls-files", "-z", "--"])).await?,
        };
        OwnPaths::untracked(&listed)?;
        let excludes = self.git.users_excludes(&self.users.top).await.unwrap_or_default();
        let users = read_anywhere(Path::new(&excludes), MAX_PATTERNS).unwrap_or_default();
        let patterns = [&users, b"\n".as_slice(), copied.patterns().as_bytes()].concat();
        let file = self.git_dir.join(EXCLUDES);
        fs::write(&file, patterns).map_err(WorkspaceError::io("write", &file))?;
        let gone = self.copied().without(&copied);
        if !gone.is_empty() {
            // Git may ignore it.
            self.run(&gone.after(&["clean", "-ffdqx", "--"])).await?;
        }
        copied.write(&self.git_dir.join(COPIED))?;
        *self.copied.lock().unwrap_or_else(PoisonError::into_inner) = copied;
        Ok(())
    }

    fn copied(&self) -> OwnPaths {
        self.copied.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes out of the index what was copied: an agent may have put it there.
    async fn leave_copied(&self) -> Result<(), WorkspaceError> {
        let copied = self.copied();
        if !copied.is_empty() {
            self.run(&copied.after(&["update-index", "--force-remove", "--"])).await?;
        }
        Ok(())
    }

    /// Resets the files of runs in the index to a commit, if there are any: they are no work. The files stay, since the
    /// turns to come read them.
    async fn leave_run_files(&self, commit: &str) -> Result<(), WorkspaceError> {
        let files = run_files(&self.users.prefix);
        if self.setup.tree.join(&files).symlink_metadata().is_ok() {
            self.run(&["reset", "--quiet", commit, "--", &files]).await?;
        }
        Ok(())
    }

    /// Commits what is in no commit, on what is checked out, and returns the last commit there. What was copied is in
    /// none that is made here, and the files of runs are those of the commit at which the branch began.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn commit(&self, title: &str) -> Result<MadeWork, WorkspaceError> {
        self.unlock()?;
        // What is told is what was not staged before. Files of runs may be all of it.
        let (told, files) = (self.run(&["add", "--all", "--verbose"]).await?, run_files(&self.users.prefix));
        let is_staged = told.lines().any(|line| !line.contains(&files));
        self.leave_copied().await?;
        let base = self.base.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.leave_run_files(base.as_deref().unwrap_or("HEAD")).await?;
        if is_staged || self.is_dirty().await? {
            let args =
                ["commit", "--quiet", "--no-verify", "--allow-empty", "--cleanup=verbatim", "-m", title];
            self.run(&args).await?;
        }
        if let Some((_, commit)) = self.checked_out().await {
            let (users, of) = (self.users.clone(), commit.clone());
            if let Ok(tree) = blocking(move || users.tree_of(&of)).await {
                return Ok(MadeWork { commit, tree });
            }
        }
        let line = self.line(&["log", "-1", "--format=%H %T", "HEAD"]).await?;
        let (commit, tree) = line.split_once(' ').unwrap_or((&line, ""));
        Ok(MadeWork { commit: commit.to_owned(), tree: tree.to_owned() })
    }

    /// Returns what is checked out, the branch and the commit, as far as files tell; nothing where git is to be asked.
    async fn checked_out(&self) -> Option<(Option<String>, String)> {
        let (users, git_dir) = (self.users.clone(), self.git_dir.clone());
        blocking(move || users.checked_out_at(&git_dir)).await.ok()
    }

    /// Says whether there is anything in no commit that git does not ignore.
    async fn is_dirty(&self) -> Result<bool, WorkspaceError> {
        let args = ["status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"];
        Ok(!self.run(&args).await?.is_empty())
    }

    /// Keeps what would be lost when something else is checked out: what is in no commit, and commits
    /// that are on no branch. Returns the reference, which is the one given, with a number at its end where
    /// something else is kept as that; nothing where nothing would be lost.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn rescue(&self, reference: &str) -> Result<Option<String>, WorkspaceError> {
        // Nothing was ever checked out in a new one.
        if !self.was_used() {
            return Ok(None);
        }
        self.unlock()?;
        self.leave_copied().await?;
        self.leave_run_files("HEAD").await?;
        let head = self.head().await?;
        let is_worth_nothing = self.is_spent.load(Ordering::Relaxed);
        let kept = if !is_worth_nothing && self.is_dirty().await? {
            self.run(&["add", "--all"]).await?;
            self.leave_copied().await?;
            self.leave_run_files("HEAD").await?;
            // It reads files that changed in the second in which the index was written.
            let tree = self.run(&["write-tree"]).await?;
            let args = ["commit-tree", "-p", &head, "-m", "Keep what was left uncommitted", tree.trim()];
            Some(self.line(&args).await?)
        } else if self.is_last_of_its_branch(&head).await {
            None
        } else {
            let args = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", &head];
            let args: Vec<&str> = args.into_iter().chain(KEEPERS).collect();
            self.line(&args).await?.is_empty().then_some(head)
        };
        match kept {
            Some(kept) => keep(&self.git, &self.users.top, reference, &kept).await.map(Some),
            None => Ok(None),
        }
    }

    /// Says whether a commit is the last one of the branch that is checked out, or of the one that was left where none
    /// is. A no is not certain.
    async fn is_last_of_its_branch(&self, commit: &str) -> bool {
        let Some((branch, _)) = self.checked_out().await else { return false };
        let left = || self.left.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(branch) = branch.or_else(left) else { return false };
        let head = self.users.reference(&self.git, &format!("refs/heads/{branch}")).await;
        head.is_ok_and(|head| head.as_deref() == Some(commit))
    }

    /// Has a branch hold a commit that was perhaps made elsewhere: an agent may have left the branch. What the
    /// branch has and the commit has not is kept below `refs/samuel/rescue/`, by the name of the branch.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn put_on(&self, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
        self.unlock()?;
        let own = Some(self.setup.tree.as_path());
        let told = put_on_or_beside(&self.git, &self.users, branch, commit, own).await?;
        self.told.lock().unwrap_or_else(PoisonError::into_inner).extend(told);
        Ok(())
    }

    /// Returns the branch that is checked out; nothing between branches.
    pub async fn branch(&self) -> Option<String> {
        if let Some((branch, _)) = self.checked_out().await {
            return branch;
        }
        self.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.ok().filter(|name| !name.is_empty())
    }

    /// Leaves the branch that is checked out, at the same commit.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn leave_branch(&self, rest: Uncommitted) -> Result<(), WorkspaceError> {
        if rest == Uncommitted::GivenUp {
            self.is_spent.store(true, Ordering::Relaxed);
        }
        self.unlock()?;
        // From here on the queue may remove the branch, and has its lock then.
        *self.given.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some((branch, commit)) = self.checked_out().await {
            let Some(branch) = branch else { return Ok(()) };
            let git_dir = self.git_dir.clone();
            let is_left = blocking(move || Ok(detached_head::write(&git_dir, &commit).is_ok())).await?;
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(branch);
            if is_left {
                return Ok(());
            }
        }
        self.line(&["update-ref", "--no-deref", "HEAD", "HEAD^{commit}"]).await?;
        Ok(())
    }

    /// Makes the files those of the commit that is checked out, but for what git ignores, where the others were
    /// [given up](Uncommitted::GivenUp). What is written there from then on is kept again.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn settle(&self) -> Result<(), WorkspaceError> {
        if self.is_spent.load(Ordering::Relaxed) {
            self.unlock()?;
            self.run(&["reset", "--quiet", "--hard"]).await?;
            self.run(&["clean", "-ffdq"]).await?;
            self.is_spent.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the commit that is checked out.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn head(&self) -> Result<String, WorkspaceError> {
        if let Some((_, commit)) = self.checked_out().await {
            return Ok(commit);
        }
        self.line(&["rev-parse", "--verify", "HEAD^{commit}"]).await
    }

    /// Removes the work tree. What is to be kept was rescued before.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn remove(&self) -> Result<(), WorkspaceError> {
        remove(&self.git, &self.users, &self.setup.tree).await?;
        if let Some(directory) = self.setup.tree.parent() {
            // Others may be there.
            let _ = fs::remove_dir(directory);
        }
        Ok(())
    }

    /// Runs git where it may read or write files of the tree: without filters of the repository's configuration, which
    /// an agent can write at any time.
    async fn run(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        let (settings, spec) = (self.call(LIST_SETTINGS), self.call(args));
        let spec = self.git.without_filters(Filters::OfRepository, settings, spec).await?;
        self.finish(args, spec).await
    }

    /// Asks git for a line, of which it reads no file of the tree.
    async fn line(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        Ok(self.finish(args, self.call(args)).await?.trim().to_owned())
    }

    fn call(&self, args: &[&str]) -> CommandSpec {
        let excludes = (!self.copied().is_empty()).then(|| excludes_in(&self.git_dir));
        let args: Vec<&str> = match &excludes {
            Some(excludes) => ["-c", excludes].into_iter().chain(args.iter().copied()).collect(),
            None => args.to_vec(),
        };
        let spec = self.git.call(&self.setup.tree, Configured::ByUser, &args);
        let mut spec = spec
            .env("GIT_DIR", self.git_dir.display().to_string())
            .env("GIT_WORK_TREE", self.setup.tree.display().to_string());
        for (variable, value) in &self.nobody {
            spec = spec.env(*variable, *value);
        }
        spec
    }

    async fn finish(&self, args: &[&str], spec: CommandSpec) -> Result<String, WorkspaceError> {
        let name = args.first().copied().unwrap_or_default();
        Ok(self.git.finish(name, spec).await?.stdout.text())
    }
}

/// Removes the locks of gits that were stopped, in the directory that git has for a work tree in which none is at work.
fn unlock(git_dir: &Path) -> Result<(), WorkspaceError> {
    let mut locks = ref_locks::OF_TREE.iter().chain(&["logs/HEAD.lock"]);
    locks.try_for_each(|lock| record::remove(&git_dir.join(lock)))
}

/// Returns the setting by which git ignores what was copied into a work tree.
fn excludes_in(git_dir: &Path) -> String {
    format!("core.excludesFile={}", git_dir.join(EXCLUDES).display())
}

/// Returns that setting for whoever looks at a work tree into which something was copied.
pub(super) fn excludes_of(git_dir: &Path) -> Option<String> {
    git_dir.join(EXCLUDES).is_file().then(|| excludes_in(git_dir))
}

/// Makes a work tree with nothing in it, and returns where git keeps what belongs to it.
async fn make(git: &Git, users: &UsersTree, tree: &Path) -> Result<PathBuf, WorkspaceError> {
    let path = tree.to_owned();
    blocking(move || record::remove(&path)).await?;
    let path = tree.display().to_string();
    // One that was removed by hand is still listed: it is taken over.
    let args = ["worktree", "add", "--force", "--quiet", "--no-checkout", "--detach", &path, "HEAD"];
    git.run(&users.top, &args).await?;
    git_dir_of(&users.common_dir, tree).ok_or_else(|| {
        WorkspaceError::io("find what git keeps of", tree)(std::io::Error::other("it is not listed"))
    })
}

/// Removes a work tree, and what git keeps of it. That of others stays, also where their directories are absent at the
/// moment.
pub(super) async fn remove(git: &Git, users: &UsersTree, tree: &Path) -> Result<(), WorkspaceError> {
    let path = tree.to_owned();
    blocking(move || record::remove(&path)).await?;
    if git_dir_of(&users.common_dir, tree).is_some() {
        let path = tree.display().to_string();
        // Twice says: also one that is locked. Its directory is gone.
        git.run(&users.top, &["worktree", "remove", "--force", "--force", &path]).await?;
    }
    Ok(())
}

/// Returns where git keeps what belongs to a work tree, by its own notes.
pub(super) fn git_dir_of(common_dir: &Path, tree: &Path) -> Option<PathBuf> {
    let noted = tree.join(".git");
    let entries = fs::read_dir(common_dir.join("worktrees")).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|entry| {
        let note = read_anywhere(&entry.join("gitdir"), MAX_NOTE).unwrap_or_default();
        Path::new(String::from_utf8_lossy(&note).trim()) == noted
    })
}
