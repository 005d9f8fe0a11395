//! Merging and landing with git, of which no work tree is needed.
//!
//! Merges are made by `git merge-tree` and `git commit-tree` in a repository of Samuel's own, which has
//! the user's objects and nobody's configuration: no merge driver, hook or filter of the project is
//! run, and attributes of the project say nothing. Only the move of a branch happens in the user's
//! repository: by a compare-and-set of the reference, or, where it is checked out there, by a
//! fast-forward of that tree in which what is in no commit stays (`workspace/users_tree.rs`).
//!
//! What work must not bring is found by `inspection`, and what lands of it is made by `commits`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    BranchStanding, Built, Conflict, MergeStrategy, MergedWork, Moved, RefusedSubmission, Submission,
    UnsettledLanding, inspection::Found,
};
use crate::{
    fs::private,
    git::Caller,
    process::{CommandOutput, CommandSpec, ExitStatus, Supervisor},
    workspace::{
        Configured, ControlLook, Git, Landing, NotMoved, UsersTree, WorkspaceError, blocking, check_version,
        shown,
    },
};

/// The oldest git that merges without a work tree.
const LEAST_GIT: (u32, u32) = (2, 38);
/// The oldest git that merges on a base that it is told.
const LEAST_GIT_TO_REBASE: (u32, u32) = (2, 40);
/// How many files in conflict are told.
const MAX_FILES: usize = 100;
/// The exit code of a merge with conflicts.
const CONFLICT: ExitStatus = ExitStatus::Exited(1);

/// What work is merged and landed in.
#[derive(Clone, Debug)]
pub struct RepositorySetup {
    /// The project's root.
    pub root: PathBuf,
    /// Where Samuel's own repository and its notes lie: a directory that is made, and is this user's
    /// alone.
    pub directory: PathBuf,
    /// Whose the project must be.
    pub caller: Caller,
    /// The environment, of which git gets what it needs.
    pub env: Vec<(String, String)>,
    /// Who watches over git.
    pub supervisor: Supervisor,
    /// How work gets onto the branch.
    pub strategy: MergeStrategy,
    /// The files that no work may change.
    pub control: Arc<dyn ControlLook>,
}

/// A repository in which work is merged and landed.
#[derive(Debug)]
pub struct MergeRepository {
    pub(super) setup: RepositorySetup,
    pub(super) git: Git,
    pub(super) users: UsersTree,
    /// Samuel's own repository, and the objects of the user's.
    own: PathBuf,
    objects: PathBuf,
}

/// What a merge came to.
pub(super) enum Merge {
    Tree(String),
    Conflict(Vec<String>),
}

impl MergeRepository {
    /// Opens the repository of a project. A fast-forward of its tree that was cut off is finished.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] for a project without a repository, a shallow one, and a git
    /// that is too old, and other errors where something fails.
    pub async fn open(setup: RepositorySetup) -> Result<Self, WorkspaceError> {
        let directory = setup.directory.clone();
        private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
        let (root, caller) = (setup.root.clone(), setup.caller.clone());
        let users = blocking(move || UsersTree::open(&root, &caller)).await?;
        let git = Git::of(&setup.env, setup.supervisor.clone(), &directory, &users.top)?;
        let least = if setup.strategy == MergeStrategy::Rebase { LEAST_GIT_TO_REBASE } else { LEAST_GIT };
        check_version(&git, &setup.root, least).await?;
        let format = git.line(&users.top, &["rev-parse", "--show-object-format"]).await?;
        let own = directory.join(format!("merge-{format}.git"));
        if !own.join("HEAD").is_file() {
            let (format, path) = (format!("--object-format={format}"), own.display().to_string());
            git.run(&directory, &["init", "--quiet", "--bare", "--template=", &format, &path]).await?;
        }
        let objects = users.common_dir.join("objects");
        let this = Self { setup, git, users, own, objects };
        if this.users.standing().is_ok() {
            this.users.recover(&this.git, &this.note()).await?;
        }
        this.users.recover_move(&this.move_note())?;
        Ok(this)
    }

    /// Where a fast-forward is written down while it is made.
    fn note(&self) -> PathBuf {
        self.setup.directory.join("landing.json")
    }

    /// Where the move of a branch that is checked out nowhere is.
    fn move_note(&self) -> PathBuf {
        self.setup.directory.join("move.json")
    }

    /// Returns the commit that a branch is at; nothing where there is no such branch.
    ///
    /// # Errors
    /// Returns an error where git fails, also for a name that no branch can have.
    pub async fn head(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        let name = reference(branch);
        self.git.run(&self.users.top, &["check-ref-format", &name]).await?;
        // A branch of which the commit is gone is there.
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
        let answer = self.ask(&args).await?;
        Ok(answer.map(|output| output.stdout.text().trim().to_owned()))
    }

    /// Says whether a tag has this name.
    pub async fn is_tag(&self, name: &str) -> bool {
        let name = format!("refs/tags/{name}");
        self.git.says_yes(&self.users.top, &["show-ref", "--verify", "--quiet", &name]).await
    }

    /// Says whether a commit is another one, or has it among its ancestors.
    pub async fn has(&self, commit: &str, other: &str) -> bool {
        self.git.says_yes(&self.users.top, &["merge-base", "--is-ancestor", other, commit]).await
    }

    /// Says whether a branch is there and has commits that another one has not.
    pub async fn is_beyond(&self, branch: &str, other: &str) -> bool {
        let (branch, other) = (reference(branch), reference(other));
        let args = ["rev-list", "--count", "--end-of-options", &branch, &format!("^{other}")];
        self.git.line(&self.users.top, &args).await.is_ok_and(|count| count != "0")
    }

    /// Makes a branch at a commit, where there is none of the name. Says whether it did.
    ///
    /// # Errors
    /// Returns an error where git fails, also for a name that no branch can have.
    pub async fn make_branch(&self, branch: &str, commit: &str) -> Result<bool, WorkspaceError> {
        if self.head(branch).await?.is_some() {
            return Ok(false);
        }
        // The empty old value says that there must be none.
        let args = ["update-ref", "--no-deref", &reference(branch), commit, ""];
        self.git.run(&self.users.top, &args).await?;
        Ok(true)
    }

    /// Removes a branch whose last commit is this one and is on another branch, or under another reference of
    /// Samuel's, as well. Says whether it did.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn remove_branch(&self, branch: &str, commit: &str) -> Result<bool, WorkspaceError> {
        let top = &self.users.top;
        let name = reference(branch);
        let args = [
            "for-each-ref",
            "--count=2",
            "--format=%(refname)",
            "--contains",
            commit,
            "refs/heads",
            "refs/samuel",
        ];
        let holders = self.git.line(top, &args).await?;
        let path = self.checked_out(branch).await?;
        if path.is_some() || !holders.lines().any(|holder| holder != name) {
            return Ok(false);
        }
        // Something may have been committed there since.
        Ok(self.git.says_yes(top, &["update-ref", "--no-deref", "-d", &name, commit]).await)
    }

    /// Merges work on the head of a branch, each on the one before. Moves nothing. What is on the branch
    /// already is merged, and lands as what it is merged with: whoever landed it could not write that down.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] where there is no such branch, and an error where git fails. Work that
    /// cannot be merged by its own fault is none.
    pub async fn build(&self, into: &str, work: &[Submission]) -> Result<Built, WorkspaceError> {
        let base = self.head(into).await?.ok_or_else(|| WorkspaceError::Unfit {
            root: self.setup.root.clone(),
            problem: format!("it has no branch {into}"),
            help: "Name a branch that is there.".to_owned(),
        })?;
        let mut built = Built { base: base.clone(), ..Built::default() };
        let mut at = base;
        for submission in work {
            let key = submission.key.clone();
            match self.found(&built.base, submission).await? {
                Found::New => {}
                Found::Landed => {
                    let (commit, landed) = (submission.commit.clone(), at.clone());
                    let tree = self.line(&["rev-parse", "--verify", &format!("{at}^{{tree}}")]).await?;
                    built.merged.push(MergedWork { key, commit, landed, tree });
                    continue;
                }
                Found::Unfit { reason } => {
                    built.refused.push(RefusedSubmission { key, reason });
                    continue;
                }
            }
            let tree = match self.merge(&at, submission).await? {
                Merge::Tree(tree) => tree,
                Merge::Conflict(files) => {
                    let is_first = at == built.base;
                    let is_with_branch =
                        is_first || matches!(self.merge(&built.base, submission).await?, Merge::Conflict(_));
                    built.conflicts.push(Conflict { key, files, is_with_branch });
                    continue;
                }
            };
            if let Some(refusal) = self.refusal(&at, &tree).await? {
                built.refused.push(RefusedSubmission { key, reason: refusal.to_string() });
                continue;
            }
            let landed = self.landed(&at, &tree, submission).await?;
            at.clone_from(&landed);
            built.merged.push(MergedWork { key, commit: submission.commit.clone(), landed, tree });
        }
        Ok(built)
    }

    /// Moves a branch from a commit, and from no other, to one that follows it.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::CutOff`] where a fast-forward could neither be made nor taken back, and an
    /// error where git fails.
    pub async fn advance(&self, landing: &UnsettledLanding) -> Result<Moved, WorkspaceError> {
        let UnsettledLanding { into, old, new } = landing;
        let users = self.users.clone();
        let standing = blocking(move || Ok(users.standing().ok())).await?;
        let landing = Landing { branch: into.clone(), old: old.clone(), new: new.clone() };
        if let Some(standing) = standing.filter(|standing| standing.branch == *into) {
            if standing.commit != *old {
                return Ok(Moved::Stale);
            }
            let moved = self.users.fast_forward(&self.git, &landing, &self.note(), || {}).await?;
            return Ok(match moved {
                Ok(()) => Moved::Done,
                Err(_) if self.head(into).await?.as_ref() != Some(old) => Moved::Stale,
                Err(reason) => Moved::Held { reason },
            });
        }
        if self.head(into).await?.as_ref() != Some(old) {
            return Ok(Moved::Stale);
        }
        if let Some(elsewhere) = self.checked_out(into).await? {
            return Ok(Moved::Held { reason: format!("{into} is checked out in {elsewhere}") });
        }
        let Err(why) = self.users.move_branch(&self.git, &landing, &self.move_note()).await? else {
            return Ok(Moved::Done);
        };
        // git may have done it and not lived to say so.
        if self.head(into).await?.as_ref() != Some(old) {
            return Ok(Moved::Stale);
        }
        match why {
            NotMoved::Locked { lock } => {
                Ok(Moved::Held { reason: format!("another git is at work there ({})", lock.display()) })
            }
            NotMoved::Failed(error) => Err(error.into()),
        }
    }

    /// Says how a branch stands to a landing.
    ///
    /// # Errors
    /// Returns an error where git fails: whether it has landed is not known then.
    pub async fn standing(&self, landing: &UnsettledLanding) -> Result<BranchStanding, WorkspaceError> {
        let UnsettledLanding { into, old, new } = landing;
        let Some(head) = self.head(into).await? else { return Ok(BranchStanding::Elsewhere) };
        if self.ask(&["cat-file", "-e", new]).await?.is_none() {
            return Ok(BranchStanding::Elsewhere);
        }
        if self.ask(&["merge-base", "--is-ancestor", new, &head]).await?.is_some() {
            return Ok(BranchStanding::Landed);
        }
        Ok(if head == *old { BranchStanding::Untouched } else { BranchStanding::Elsewhere })
    }

    /// Returns the work tree in which a branch is checked out. One whose directory is gone, and that nobody
    /// has locked because it comes back, has none.
    async fn checked_out(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        let args = ["worktree", "list", "--porcelain", "-z"];
        let spec = self.git.call(&self.users.top, Configured::Alone, &args);
        let lines = self.git.list("worktree", spec).await?.unwrap_or_default();
        let has = format!("branch {}", reference(branch));
        let is_there = |tree: &&[Vec<u8>]| {
            let is_gone = tree.iter().any(|line| line.starts_with(b"prunable"));
            !is_gone && tree.iter().any(|line| line == has.as_bytes())
        };
        let tree = lines.split(|line| line.is_empty()).find(is_there);
        let path = tree.and_then(|tree| tree.iter().find_map(|line| line.strip_prefix(b"worktree ")));
        Ok(path.map(shown))
    }

    /// Asks something of git in the user's repository.
    async fn ask(&self, args: &[&str]) -> Result<Option<CommandOutput>, WorkspaceError> {
        let name = args.first().copied().unwrap_or_default();
        Ok(self.git.ask(name, self.git.call(&self.users.top, Configured::Alone, args)).await?)
    }

    /// Describes a call in Samuel's own repository, which has the user's objects.
    pub(super) fn within(&self, args: &[&str]) -> CommandSpec {
        let spec = self.git.call(&self.own, Configured::Alone, args);
        spec.env("GIT_DIR", path(&self.own)).env("GIT_OBJECT_DIRECTORY", path(&self.objects))
    }

    pub(super) async fn line(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        let name = args.first().copied().unwrap_or_default();
        Ok(self.git.finish(name, self.within(args)).await?.stdout.text().trim().to_owned())
    }

    /// Merges the work of a submission with a commit.
    async fn merge(&self, at: &str, work: &Submission) -> Result<Merge, WorkspaceError> {
        self.merge_tree(&[
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
            at,
            &work.commit,
        ])
        .await
    }

    pub(super) async fn merge_tree(&self, args: &[&str]) -> Result<Merge, WorkspaceError> {
        let output = self.git.answer(self.within(args)).await?;
        let mut parts = output.stdout.head.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let tree = parts.next().map(|tree| tree.trim().to_owned()).filter(|tree| !tree.is_empty());
        match (output.success(), output.status == CONFLICT, tree) {
            (true, _, Some(tree)) => Ok(Merge::Tree(tree)),
            (false, true, Some(_)) => {
                let files = parts.filter(|file| !file.is_empty()).map(|file| file.into_owned());
                Ok(Merge::Conflict(files.take(MAX_FILES).collect()))
            }
            // git says what is wrong where it is asked to succeed.
            _ => {
                self.git.finish("merge-tree", self.within(args)).await?;
                Err(WorkspaceError::io("merge in", &self.own)(std::io::Error::other("git says nothing")))
            }
        }
    }
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
