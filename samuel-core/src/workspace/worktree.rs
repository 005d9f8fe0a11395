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
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::Mutex as AsyncMutex;

use super::{
    WorkspaceError,
    clone::{NOBODY, blocking, check_version},
    git::{Configured, Git},
    record,
    users_tree::UsersTree,
};
use crate::{
    fs::{Durability, Manner, Root, private, read_anywhere},
    git::Caller,
    process::{self, CommandSpec, OutputLimits, Supervisor},
    text::last_line,
};

/// The oldest git that lanes work with: it merges without a work tree.
const LEAST_GIT: (u32, u32) = (2, 38);
/// The largest file that is copied into a work tree, in bytes.
const MAX_COPIED: u64 = 64 << 20;
/// The largest note of where a work tree is, in bytes.
const MAX_NOTE: u64 = 16 << 10;
/// How much is kept of what a command says that gets a work tree ready, in bytes.
const MAX_TAIL: usize = 4 << 10;

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
    /// Files that git does not track and a new work tree gets, from the project's root.
    pub copy: Vec<String>,
    /// Command lines that get a new work tree ready, run by the shell in the project within it, and how long
    /// each may take.
    pub setup: Vec<(String, Duration)>,
    /// The whole environment of those.
    pub setup_env: Vec<(OsString, OsString)>,
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
}

/// A commit with what a lane made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeWork {
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
}

/// Says that one work tree is made at a time, which is all that git takes.
pub(crate) type Making = Arc<AsyncMutex<()>>;

impl Worktree {
    /// Makes the work tree, or takes one that is there. Nothing is checked out in a new one.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] for a project without a repository, a shallow one, and a git
    /// that is too old, and other errors where something fails.
    pub(crate) async fn open(setup: WorktreeSetup, making: &Making) -> Result<Self, WorkspaceError> {
        let directory = setup.tree.parent().unwrap_or(&setup.tree).to_owned();
        private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
        let (root, caller) = (setup.root.clone(), setup.caller.clone());
        let users = blocking(move || UsersTree::open(&root, &caller)).await?;
        let git = Git::of(&setup.env, setup.supervisor.clone(), &directory, &users.top)?;
        check_version(&git, &setup.root, LEAST_GIT).await?;
        let _alone = making.lock().await;
        let git_dir = match git_dir_of(&users.common_dir, &setup.tree) {
            Some(git_dir) if setup.tree.is_dir() => git_dir,
            _ => make(&git, &users, &setup.tree).await?,
        };
        // What a git left that was killed; none is at work here.
        for lock in ["index.lock", "HEAD.lock", "logs/HEAD.lock"] {
            record::remove(&git_dir.join(lock))?;
        }
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
        Ok(Self { setup, git, users, git_dir, nobody })
    }

    /// Returns the directory in which agents and checks work: the project within the work tree.
    pub fn work_dir(&self) -> PathBuf {
        self.setup.tree.join(&self.users.prefix).components().collect()
    }

    /// Returns how many bytes the files of a commit have; nothing where there are too many to look at.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn size_of(&self, commit: &str) -> Result<Option<u64>, WorkspaceError> {
        let args = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit];
        let spec = self.git.call(&self.users.top, Configured::Alone, &args);
        let Some(entries) = self.git.list("ls-tree", spec).await? else { return Ok(None) };
        let size = |entry: &Vec<u8>| {
            let said = String::from_utf8_lossy(entry);
            let (about, _) = said.split_once('\t')?;
            about.split_whitespace().next_back()?.parse::<u64>().ok()
        };
        Ok(Some(entries.iter().filter_map(size).sum()))
    }

    /// Says whether files were checked out there before.
    pub fn has_files(&self) -> bool {
        self.git_dir.join("index").is_file()
    }

    /// Returns how many bytes are free where the work tree is.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Io`] where the file system does not say.
    pub fn free(&self) -> Result<u64, WorkspaceError> {
        let said = rustix::fs::statvfs(&self.setup.tree);
        let said =
            said.map_err(|error| WorkspaceError::io("look at the space of", &self.setup.tree)(error.into()))?;
        Ok(said.f_bavail.saturating_mul(said.f_frsize))
    }

    /// Gives a task its branch at a commit and checks it out. What was there and is in no commit is
    /// gone after that, but for what git ignores.
    ///
    /// # Errors
    /// Returns an error where git fails, a file cannot be copied, or a command of the setup fails.
    pub async fn begin(&self, branch: &str, base: &str) -> Result<(), WorkspaceError> {
        self.run(&["checkout", "--quiet", "--force", "-B", branch, base]).await?;
        self.get_ready().await
    }

    /// Checks a commit out, on no branch. What was there and is in no commit is gone after that, but for
    /// what git ignores.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn check_out(&self, commit: &str) -> Result<(), WorkspaceError> {
        self.run(&["checkout", "--quiet", "--force", "--detach", commit]).await?;
        self.get_ready().await
    }

    async fn get_ready(&self) -> Result<(), WorkspaceError> {
        self.run(&["clean", "-ffdq"]).await?;
        let directory = self.work_dir();
        // A project that is only a part of its repository may not be in it.
        fs::create_dir_all(&directory).map_err(WorkspaceError::io("create", &directory))?;
        for file in &self.setup.copy {
            self.copy(file).await?;
        }
        let done = self.git_dir.join("samuel-setup");
        let lines: Vec<&str> = self.setup.setup.iter().map(|(line, _)| line.as_str()).collect();
        let wanted = lines.join("\n");
        let known = read_anywhere(&done, MAX_NOTE).unwrap_or_default();
        if known == wanted.as_bytes() || wanted.is_empty() {
            return Ok(());
        }
        for (line, timeout) in &self.setup.setup {
            self.set_up(line, *timeout).await?;
        }
        fs::write(&done, wanted).map_err(WorkspaceError::io("write", &done))
    }

    async fn copy(&self, file: &str) -> Result<(), WorkspaceError> {
        let (from, tree, to) =
            (self.setup.root.join(file), self.setup.tree.clone(), self.work_dir().join(file));
        blocking(move || {
            let bytes = match read_anywhere(&from, MAX_COPIED) {
                Ok(bytes) => bytes,
                // What is not there need not be copied.
                Err(error) if error.is_not_found() => return Ok(()),
                Err(error) => return Err(WorkspaceError::file("read", &from)(error)),
            };
            // An agent may have left links there, which lead nowhere out of the work tree.
            let manner = Manner::PRIVATE.with(Durability::Unsynced);
            Root::new(&tree)
                .write(&to, [bytes.as_slice()], &manner)
                .map_err(WorkspaceError::file("write", &to))
        })
        .await
    }

    async fn set_up(&self, line: &str, timeout: Duration) -> Result<(), WorkspaceError> {
        let spec = CommandSpec::shell(line, self.work_dir())
            .envs(self.setup.setup_env.iter().cloned())
            .timeout(timeout)
            .limits(OutputLimits { head: 0, tail: MAX_TAIL, ..OutputLimits::default() })
            .merge_stderr(true);
        let failed = |why: String| WorkspaceError::SetUp { command: line.to_owned(), why };
        let ran = self.git.answer(spec).await.map_err(|error| failed(crate::text::described(&error)))?;
        if ran.success() {
            return Ok(());
        }
        let said = ran.stdout.text();
        let said = last_line(&said).map(|line| format!(": {line}")).unwrap_or_default();
        let how = match (ran.end, ran.status) {
            (process::End::TimedOut, _) => "it took too long".to_owned(),
            (_, process::ExitStatus::Exited(code)) => format!("exit code {code}"),
            (_, process::ExitStatus::Signaled(signal)) => format!("ended by signal {signal}"),
        };
        Err(failed(format!("{how}{said}")))
    }

    /// Commits what is in no commit, on what is checked out, and returns the last commit there.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn commit(&self, title: &str) -> Result<MadeWork, WorkspaceError> {
        if self.is_dirty().await? {
            self.run(&["add", "--all"]).await?;
            let args =
                ["commit", "--quiet", "--no-verify", "--allow-empty", "--cleanup=verbatim", "-m", title];
            self.run(&args).await?;
        }
        let line = self.line(&["log", "-1", "--format=%H %T", "HEAD"]).await?;
        let (commit, tree) = line.split_once(' ').unwrap_or((&line, ""));
        Ok(MadeWork { commit: commit.to_owned(), tree: tree.to_owned() })
    }

    /// Says whether there is anything in no commit that git does not ignore.
    async fn is_dirty(&self) -> Result<bool, WorkspaceError> {
        let args = ["status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"];
        Ok(!self.run(&args).await?.is_empty())
    }

    /// Keeps what would be lost when something else is checked out: what is in no commit, and commits
    /// that are on no branch. Returns the reference, which is the one given; nothing where nothing would
    /// be lost.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn rescue(&self, reference: &str) -> Result<Option<String>, WorkspaceError> {
        // Nothing was ever checked out in a new one.
        if !self.has_files() {
            return Ok(None);
        }
        let head = self.head().await?;
        let kept = if self.is_dirty().await? {
            self.run(&["add", "--all"]).await?;
            let tree = self.line(&["write-tree"]).await?;
            let args = ["commit-tree", "-p", &head, "-m", "Keep what was left uncommitted", &tree];
            Some(self.line(&args).await?)
        } else {
            let args = [
                "for-each-ref",
                "--count=1",
                "--format=%(refname)",
                "--contains",
                &head,
                "refs/heads",
                "refs/samuel",
                "refs/remotes",
                "refs/tags",
            ];
            self.line(&args).await?.is_empty().then_some(head)
        };
        let Some(kept) = kept else { return Ok(None) };
        self.run(&["update-ref", reference, &kept]).await?;
        Ok(Some(reference.to_owned()))
    }

    /// Returns the branch that is checked out; nothing between branches.
    pub async fn branch(&self) -> Option<String> {
        self.line(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.ok().filter(|name| !name.is_empty())
    }

    /// Makes the files those of the commit that is checked out, but for what git ignores.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn discard(&self) -> Result<(), WorkspaceError> {
        self.run(&["reset", "--quiet", "--hard"]).await?;
        self.run(&["clean", "-ffdq"]).await.map(drop)
    }

    /// Leaves the branch that is checked out, at the same commit.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn leave_branch(&self) -> Result<(), WorkspaceError> {
        self.run(&["checkout", "--quiet", "--detach"]).await.map(drop)
    }

    /// Returns the commit that is checked out.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn head(&self) -> Result<String, WorkspaceError> {
        self.line(&["rev-parse", "--verify", "HEAD^{commit}"]).await
    }

    /// Removes the work tree. What is to be kept was rescued before.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn remove(&self) -> Result<(), WorkspaceError> {
        let tree = self.setup.tree.clone();
        let removed = tree.clone();
        blocking(move || record::remove(&removed)).await?;
        self.git.run(&self.users.top, &["worktree", "prune", "--expire=now"]).await?;
        if let Some(directory) = tree.parent() {
            // Others may be there.
            let _ = fs::remove_dir(directory);
        }
        Ok(())
    }

    async fn run(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        let name = args.first().copied().unwrap_or_default();
        let spec = self.git.call(&self.setup.tree, Configured::ByUser, args);
        let mut spec = spec
            .env("GIT_DIR", self.git_dir.display().to_string())
            .env("GIT_WORK_TREE", self.setup.tree.display().to_string());
        for (variable, value) in &self.nobody {
            spec = spec.env(*variable, *value);
        }
        Ok(self.git.finish(name, spec).await?.stdout.text())
    }

    async fn line(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        Ok(self.run(args).await?.trim().to_owned())
    }
}

/// Makes a work tree with nothing in it, and returns where git keeps what belongs to it.
async fn make(git: &Git, users: &UsersTree, tree: &Path) -> Result<PathBuf, WorkspaceError> {
    let path = tree.to_owned();
    blocking(move || record::remove(&path)).await?;
    // One that was removed by hand is still listed.
    git.run(&users.top, &["worktree", "prune", "--expire=now"]).await?;
    let path = tree.display().to_string();
    git.run(&users.top, &["worktree", "add", "--quiet", "--no-checkout", "--detach", &path, "HEAD"]).await?;
    git_dir_of(&users.common_dir, tree).ok_or_else(|| {
        WorkspaceError::io("find what git keeps of", tree)(std::io::Error::other("it is not listed"))
    })
}

/// Returns where git keeps what belongs to a work tree, by its own notes.
fn git_dir_of(common_dir: &Path, tree: &Path) -> Option<PathBuf> {
    let noted = tree.join(".git");
    let entries = fs::read_dir(common_dir.join("worktrees")).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|entry| {
        let note = read_anywhere(&entry.join("gitdir"), MAX_NOTE).unwrap_or_default();
        Path::new(String::from_utf8_lossy(&note).trim()) == noted
    })
}

/// Says whether a path of `copy` stays within the project.
pub(crate) fn is_within(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
