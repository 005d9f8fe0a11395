//! Merging and landing with git, of which no work tree is needed.
//!
//! Merges are made by `git merge-tree` and `git commit-tree` in a repository of Samuel's own, which has
//! the user's objects and nobody's configuration: no merge driver, hook or filter of the project is
//! run, and attributes of the project say nothing. Only the move of a branch happens in the user's
//! repository: by a compare-and-set of the reference, or, where it is checked out there, by a
//! fast-forward of that tree in which what is in no commit stays (`workspace/users_tree.rs`).

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    BranchStanding, Built, Conflict, MergeStrategy, MergedWork, Moved, RefusedSubmission, Submission,
    UnsettledLanding, strategy::with_trailers,
};
use crate::{
    fs::private,
    git::Caller,
    process::{CommandSpec, ExitStatus, Supervisor},
    workspace::{
        Configured, ControlLook, Git, Landing, NOBODY, RefusedWork, UsersTree, WorkspaceError, blocking,
        check_version,
    },
};

/// The oldest git that merges without a work tree.
const LEAST_GIT: (u32, u32) = (2, 38);
/// The oldest git that merges on a base that it is told.
const LEAST_GIT_TO_REBASE: (u32, u32) = (2, 40);
/// How many commits of one submission are made anew.
const MAX_COMMITS: usize = 1_000;
/// How many files in conflict are told.
const MAX_FILES: usize = 100;
/// The exit code of a merge with conflicts.
const CONFLICT: ExitStatus = ExitStatus::Exited(1);
/// The mode of a link to another repository.
const GITLINK: &[u8] = b"160000";

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
    setup: RepositorySetup,
    git: Git,
    users: UsersTree,
    /// Samuel's own repository, and the objects of the user's.
    own: PathBuf,
    objects: PathBuf,
}

/// What a merge came to.
enum Merge {
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
        Ok(this)
    }

    /// Where a fast-forward is written down while it is made.
    fn note(&self) -> PathBuf {
        self.setup.directory.join("landing.json")
    }

    /// Returns the commit that a branch is at; nothing where there is no such branch.
    ///
    /// # Errors
    /// Returns an error where git fails, also for a name that no branch can have.
    pub async fn head(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        let name = reference(branch);
        self.git.run(&self.users.top, &["check-ref-format", &name]).await?;
        let commit = format!("{name}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        let output = self.git.answer(self.git.call(&self.users.top, Configured::Alone, &args)).await?;
        Ok(output.success().then(|| output.stdout.text().trim().to_owned()))
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

    /// Merges work on the head of a branch, each on the one before. Moves nothing.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] where there is no such branch, and an error where git fails.
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
        let (users, top) = (self.users.clone(), self.users.top.clone());
        let standing = blocking(move || Ok(users.standing().ok())).await?;
        if let Some(standing) = standing.filter(|standing| standing.branch == *into) {
            if standing.commit != *old {
                return Ok(Moved::Stale);
            }
            let landing = Landing { branch: into.clone(), old: old.clone(), new: new.clone() };
            let moved = self.users.fast_forward(&self.git, &landing, &self.note(), || {}).await?;
            return Ok(match moved {
                Ok(()) => Moved::Done,
                Err(reason) => Moved::Held { reason },
            });
        }
        if let Some(elsewhere) = self.checked_out(into).await? {
            return Ok(Moved::Held { reason: format!("{into} is checked out in {elsewhere}") });
        }
        let args = ["update-ref", "--no-deref", "-m", "samuel: land", &reference(into), new, old];
        match self.git.run(&top, &args).await {
            Ok(_) => Ok(Moved::Done),
            Err(_) if self.head(into).await?.as_ref() != Some(old) => Ok(Moved::Stale),
            Err(error) => Err(error.into()),
        }
    }

    /// Says how a branch stands to a landing.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn standing(&self, landing: &UnsettledLanding) -> Result<BranchStanding, WorkspaceError> {
        let UnsettledLanding { into, old, new } = landing;
        let Some(head) = self.head(into).await? else { return Ok(BranchStanding::Elsewhere) };
        let top = &self.users.top;
        let commit = format!("{new}^{{commit}}");
        if !self.git.says_yes(top, &["cat-file", "-e", &commit]).await {
            return Ok(BranchStanding::Elsewhere);
        }
        if self.git.says_yes(top, &["merge-base", "--is-ancestor", new, &head]).await {
            return Ok(BranchStanding::Landed);
        }
        Ok(if head == *old { BranchStanding::Untouched } else { BranchStanding::Elsewhere })
    }

    /// Returns the work tree in which a branch is checked out.
    async fn checked_out(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        let args = ["for-each-ref", "--format=%(worktreepath)", &reference(branch)];
        let path = self.git.line(&self.users.top, &args).await?;
        Ok((!path.is_empty()).then_some(path))
    }

    /// Describes a call in Samuel's own repository, which has the user's objects.
    fn within(&self, args: &[&str]) -> CommandSpec {
        let spec = self.git.call(&self.own, Configured::Alone, args);
        spec.env("GIT_DIR", path(&self.own)).env("GIT_OBJECT_DIRECTORY", path(&self.objects))
    }

    async fn line(&self, args: &[&str]) -> Result<String, WorkspaceError> {
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

    async fn merge_tree(&self, args: &[&str]) -> Result<Merge, WorkspaceError> {
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

    /// Says why what a merge changes must not land.
    async fn refusal(&self, at: &str, tree: &str) -> Result<Option<RefusedWork>, WorkspaceError> {
        let args =
            ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-abbrev", at, tree];
        let Some(parts) = self.git.list("diff-tree", self.within(&args)).await? else {
            return Ok(Some(RefusedWork::TooMany { what: "files".to_owned() }));
        };
        let mut control = Vec::new();
        for pair in parts.chunks(2) {
            let [entry, file] = pair else { break };
            let mut modes = entry.strip_prefix(b":").unwrap_or(entry).split(|byte| *byte == b' ').take(2);
            let file = String::from_utf8_lossy(file).into_owned();
            if modes.any(|mode| mode == GITLINK) {
                return Ok(Some(RefusedWork::Gitlink { path: file }));
            }
            let of_project = file.strip_prefix(&self.users.prefix);
            control.extend(of_project.filter(|path| self.setup.control.covers(path)).map(str::to_owned));
        }
        Ok((!control.is_empty()).then_some(RefusedWork::ControlFiles { files: control }))
    }

    /// Makes what lands of a submission: a commit that follows another one.
    async fn landed(&self, at: &str, tree: &str, work: &Submission) -> Result<String, WorkspaceError> {
        match self.setup.strategy {
            MergeStrategy::Merge => {
                let message = with_trailers(&format!("Merge {}", work.branch), &work.key);
                self.commit(&[at, &work.commit], tree, &message, None).await
            }
            MergeStrategy::Squash => {
                let title =
                    self.line(&["log", "-1", "--format=%s", "--end-of-options", &work.commit]).await?;
                let title = if title.is_empty() { format!("Squash {}", work.branch) } else { title };
                self.commit(&[at], tree, &with_trailers(&title, &work.key), None).await
            }
            MergeStrategy::Rebase => match self.rebased(at, work).await? {
                Some(landed) => Ok(landed),
                // What cannot be made anew commit by commit is, all at once, as it was merged.
                None => {
                    let message = with_trailers(&format!("Squash {}", work.branch), &work.key);
                    self.commit(&[at], tree, &message, None).await
                }
            },
        }
    }

    /// Makes the commits of a submission anew on another one; nothing where one is in conflict by itself,
    /// there is none, or there are too many.
    async fn rebased(&self, at: &str, work: &Submission) -> Result<Option<String>, WorkspaceError> {
        let range = format!("{at}..{}", work.commit);
        let commits = self.line(&["rev-list", "--reverse", "--topo-order", "--no-merges", &range]).await?;
        let commits: Vec<&str> = commits.lines().collect();
        if commits.is_empty() || commits.len() > MAX_COMMITS {
            return Ok(None);
        }
        let mut onto = at.to_owned();
        for (place, commit) in commits.iter().enumerate() {
            let base = format!("--merge-base={commit}^");
            let args =
                ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, &onto, commit];
            let Merge::Tree(tree) = self.merge_tree(&args).await? else { return Ok(None) };
            let spec = self.within(&["log", "-1", "--format=%an%x00%ae%x00%aI%x00%B", commit]);
            let told = self.git.finish("log", spec).await?.stdout.head;
            let told = String::from_utf8_lossy(&told);
            let mut told = told.splitn(4, '\0').map(str::to_owned);
            let author = told.next().zip(told.next()).zip(told.next());
            let author = author.map(|((name, email), date)| Author { name, email, date });
            let message = told.next().unwrap_or_default();
            let is_last = place + 1 == commits.len();
            let message = if is_last { with_trailers(&message, &work.key) } else { message };
            onto = self.commit(&[&onto], &tree, &message, author).await?;
        }
        Ok(Some(onto))
    }

    async fn commit(
        &self,
        parents: &[&str],
        tree: &str,
        message: &str,
        author: Option<Author>,
    ) -> Result<String, WorkspaceError> {
        let mut args = vec!["commit-tree", "-F", "-"];
        parents.iter().for_each(|parent| args.extend(["-p", parent]));
        args.push(tree);
        let [name, email] = self.user().await?;
        let author = author.unwrap_or_else(|| Author {
            name: name.clone(),
            email: email.clone(),
            date: String::new(),
        });
        let spec = self.within(&args).stdin(message.as_bytes().to_vec());
        let mut spec = spec
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .env("GIT_AUTHOR_NAME", author.name)
            .env("GIT_AUTHOR_EMAIL", author.email);
        if !author.date.is_empty() {
            spec = spec.env("GIT_AUTHOR_DATE", author.date);
        }
        Ok(self.git.finish("commit-tree", spec).await?.stdout.text().trim().to_owned())
    }

    /// Returns the name and the address of the user, as git knows them.
    async fn user(&self) -> Result<[String; 2], WorkspaceError> {
        let mut known = [String::new(), String::new()];
        for (place, (name, default)) in known.iter_mut().zip(NOBODY) {
            let spec = self.git.call(&self.users.top, Configured::ByUser, &["config", "--get", name]);
            let output = self.git.answer(spec).await?;
            let said = output.stdout.text().trim().to_owned();
            *place = if output.success() && !said.is_empty() { said } else { default.to_owned() };
        }
        Ok(known)
    }
}

/// Who wrote a commit, and when.
struct Author {
    name: String,
    email: String,
    /// As git writes it; empty for now.
    date: String,
}

fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}
