//! Merging and landing with git, of which no work tree is needed.
//!
//! Merges are made by `git merge-tree` and `git commit-tree` in a repository of Samuel's own, which has
//! the user's objects and nobody's configuration: no merge driver, hook or filter of the project is
//! run, and attributes of the project say nothing. Only the move of a branch happens in the user's
//! repository: by a compare-and-set of the reference, or, where it is checked out there, by a
//! fast-forward of that tree in which what is in no commit stays (`workspace/users_tree.rs`).
//!
//! What work must not bring is found by `inspection`, what lands of it is made by `commits`, what is merged together
//! and nothing is wrong with by `at_once`, and what is asked of branches is in `branches`.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::OnceCell;

use super::{
    BranchStanding, Built, Conflict, LandingWay, MergeStrategy, MergedWork, Moved, RefusedSubmission,
    Submission, UnsettledLanding, inspection::Found,
};
use crate::{
    fs::private,
    git::Caller,
    process::{CommandOutput, CommandSpec, ExitStatus, Supervisor},
    workspace::{
        Configured, ControlLook, Git, LEAST_GIT_OF_LANES, Landing, NotMoved, UsersTree, WorkspaceError,
        blocking, check_version,
    },
};

/// The oldest git that merges on a base that it is told.
const LEAST_GIT_TO_REBASE: (u32, u32) = (2, 40);
/// Where a fast-forward is written down while it is made.
const LANDING: &str = "landing.json";
/// Where the move of a branch that is checked out nowhere is.
const MOVE: &str = "move.json";
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
    /// Who commits: name and address.
    pub(super) user: OnceCell<[String; 2]>,
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
    /// Returns [`WorkspaceError::Unfit`] for a project without a repository, and a git that is too old, and other errors
    /// where something fails.
    pub async fn open(setup: RepositorySetup) -> Result<Self, WorkspaceError> {
        let directory = setup.directory.clone();
        private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
        let (root, caller) = (setup.root.clone(), setup.caller.clone());
        let users = blocking(move || UsersTree::open(&root, &caller)).await?;
        let git = Git::of(&setup.env, setup.supervisor.clone(), &directory, &users.top)?;
        let least =
            if setup.strategy == MergeStrategy::Rebase { LEAST_GIT_TO_REBASE } else { LEAST_GIT_OF_LANES };
        check_version(&git, &setup.root, least).await?;
        let format = git.line(&users.top, &["rev-parse", "--show-object-format"]).await?;
        let own = directory.join(format!("merge-{format}.git"));
        if !own.join("HEAD").is_file() {
            let (format, path) = (format!("--object-format={format}"), own.display().to_string());
            git.run(&directory, &["init", "--quiet", "--bare", "--template=", &format, &path]).await?;
        }
        let objects = users.common_dir.join("objects");
        let this = Self { setup, git, users, own, objects, user: OnceCell::new() };
        if this.users.standing().is_ok() {
            this.users.recover(&this.git, &this.note()).await?;
        }
        this.users.recover_move(&this.move_note())?;
        Ok(this)
    }

    /// Returns whether a move of a branch was cut off, in the directory of workers. [`open`](Self::open) finishes it.
    pub(crate) fn is_cut_off(directory: &Path) -> bool {
        [LANDING, MOVE].into_iter().any(|note| directory.join(note).exists())
    }

    fn note(&self) -> PathBuf {
        self.setup.directory.join(LANDING)
    }

    fn move_note(&self) -> PathBuf {
        self.setup.directory.join(MOVE)
    }

    /// Merges work on the head of a branch, each on the one before. Moves nothing. What is on the branch
    /// already is merged, and lands as what it is merged with: whoever landed it could not write that down. Work that
    /// began at a commit that the branch lost is left out.
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
        if self.setup.strategy == MergeStrategy::Merge
            && work.len() > 1
            && let Some(built) = self.built_at_once(&base, work).await?
        {
            return Ok(built);
        }
        let mut built = Built { base: base.clone(), ..Built::default() };
        let mut at = base;
        for submission in work {
            let key = submission.key.clone();
            let commits = match self.found(&built.base, submission).await? {
                Found::New { commits } => commits,
                Found::Landed => {
                    let (commit, landed) = (submission.commit.clone(), at.clone());
                    let tree = self.line(&["rev-parse", "--verify", &format!("{at}^{{tree}}")]).await?;
                    built.merged.push(MergedWork { key, commit, landed, tree });
                    continue;
                }
                Found::MovedBack => {
                    built.moved_back.push(key);
                    continue;
                }
                Found::Unfit { reason } => {
                    built.refused.push(RefusedSubmission { key, reason });
                    continue;
                }
            };
            let tree = match self.merge(&at, &submission.commit).await? {
                Merge::Tree(tree) => tree,
                Merge::Conflict(files) => {
                    let prefix = &self.users.prefix;
                    let files: Vec<String> = files.iter().map(|file| from_project(prefix, file)).collect();
                    let is_first = at == built.base;
                    let is_with_branch = is_first
                        || matches!(self.merge(&built.base, &submission.commit).await?, Merge::Conflict(_));
                    // Nothing was merged since the work began, so its own commits do not follow from there.
                    if is_with_branch && built.base.starts_with(&submission.base) {
                        let reason = format!("it is in conflict with its own base in {}", files.join(", "));
                        built.refused.push(RefusedSubmission { key, reason });
                        continue;
                    }
                    built.conflicts.push(Conflict { key, files, is_with_branch });
                    continue;
                }
            };
            let landed = match self.landed(&at, &tree, submission, commits.as_deref()).await? {
                Ok(landed) => landed,
                Err(refusal) => {
                    built.refused.push(RefusedSubmission { key, reason: refusal.to_string() });
                    continue;
                }
            };
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
        let move_of = Landing { branch: into.clone(), old: old.clone(), new: new.clone() };
        if self.is_checked_out_here(into).await? {
            let moved = self.users.fast_forward(&self.git, &move_of, &self.note(), || {}).await?;
            return Ok(match moved {
                Ok(()) => Moved::Done,
                Err(_) if self.head(into).await?.as_ref() != Some(old) => Moved::Stale,
                Err(reason) => Moved::Held { reason },
            });
        }
        match self.way(landing).await? {
            LandingWay::Free => {}
            LandingWay::Stale => return Ok(Moved::Stale),
            LandingWay::Held { reason } => return Ok(Moved::Held { reason }),
        }
        let Err(why) = self.users.move_branch(&self.git, &move_of, &self.move_note()).await? else {
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

    /// Says whether a branch could be moved now, and moves nothing.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn way(&self, landing: &UnsettledLanding) -> Result<LandingWay, WorkspaceError> {
        let UnsettledLanding { into, old, new } = landing;
        if self.head(into).await?.as_ref() != Some(old) {
            return Ok(LandingWay::Stale);
        }
        if self.is_checked_out_here(into).await? {
            let move_of = Landing { branch: into.clone(), old: old.clone(), new: new.clone() };
            let obstacle = self.users.obstacle(&self.git, &move_of).await?;
            return Ok(obstacle.map_or(LandingWay::Free, |reason| LandingWay::Held { reason }));
        }
        if let Some(elsewhere) = self.checked_out(into).await? {
            return Ok(LandingWay::Held { reason: format!("{into} is checked out in {elsewhere}") });
        }
        let (users, branch) = (self.users.clone(), into.clone());
        if blocking(move || Ok(users.is_being_rebased(&branch))).await? {
            return Ok(LandingWay::Held { reason: format!("{into} is being rebased") });
        }
        Ok(LandingWay::Free)
    }

    /// Says whether a branch is checked out in the project's own work tree.
    async fn is_checked_out_here(&self, branch: &str) -> Result<bool, WorkspaceError> {
        let users = self.users.clone();
        let standing = blocking(move || Ok(users.standing().ok())).await?;
        Ok(standing.is_some_and(|standing| standing.branch == branch))
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

    /// Returns the commits by which a landing has moved its branch, the first one first.
    ///
    /// # Errors
    /// Returns an error where git fails, also where one of its commits is gone.
    pub async fn in_turn(&self, landing: &UnsettledLanding) -> Result<Vec<String>, WorkspaceError> {
        if let Some(line) = self.users.line_between(&landing.old, &landing.new).await {
            return Ok(line);
        }
        let between = format!("{}..{}", landing.old, landing.new);
        let listed = self.ask(&["rev-list", "--first-parent", "--reverse", &between, "--"]).await?;
        let text = listed.map(|output| output.stdout.text()).unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Returns whether two commits have the same files. If that cannot be told, they do not.
    pub async fn have_one_tree(&self, one: &str, other: &str) -> bool {
        let (users, one, other) = (self.users.clone(), one.to_owned(), other.to_owned());
        let trees = blocking(move || Ok((users.tree_of(&one)?, users.tree_of(&other)?))).await;
        trees.is_ok_and(|(one, other)| one == other)
    }

    /// Asks something of git in the user's repository.
    pub(super) async fn ask(&self, args: &[&str]) -> Result<Option<CommandOutput>, WorkspaceError> {
        let name = args.first().copied().unwrap_or_default();
        Ok(self.git.ask(name, self.git.call(&self.users.top, Configured::Alone, args)).await?)
    }

    /// Describes a call in Samuel's own repository, which has the user's objects.
    pub(super) fn within(&self, args: &[&str]) -> CommandSpec {
        let spec = self.git.call(&self.own, Configured::Alone, args);
        // If there is no such file, no history is cut off.
        let shallow = path(&self.users.common_dir.join("shallow"));
        let spec = spec.env("GIT_SHALLOW_FILE", shallow);
        spec.env("GIT_DIR", path(&self.own)).env("GIT_OBJECT_DIRECTORY", path(&self.objects))
    }

    /// Returns how many bytes of objects each new clone gets; nothing if clones share the objects of the repository.
    pub(crate) async fn size_of_copies(&self) -> Result<Option<u64>, WorkspaceError> {
        let users = self.users.clone();
        blocking(move || users.is_shallow().then(|| users.size_of_objects()).transpose()).await
    }

    pub(super) async fn line(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        let name = args.first().copied().unwrap_or_default();
        Ok(self.git.finish(name, self.within(args)).await?.stdout.text().trim().to_owned())
    }

    /// Merges a commit with another one.
    pub(super) async fn merge(&self, at: &str, commit: &str) -> Result<Merge, WorkspaceError> {
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", at, commit];
        self.merge_tree(&args).await
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

pub(super) fn reference(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

/// Returns a path as it is named from the project, which is at `prefix` in the repository.
pub(super) fn from_project(prefix: &str, path: &str) -> String {
    let (mut prefix, mut above) = (prefix.trim_end_matches('/'), String::new());
    while !prefix.is_empty() {
        if let Some(below) = path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')) {
            return above + below;
        }
        above.push_str("../");
        prefix = prefix.rsplit_once('/').map_or("", |(before, _)| before);
    }
    above + path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_conflicts_from_root_of_project() {
        for (prefix, path, named) in [
            ("", "src/a.rs", "src/a.rs"),
            ("app/", "app/src/a.rs", "src/a.rs"),
            ("app/", "apple/a.rs", "../apple/a.rs"),
            ("app/web/", "app/lib/a.rs", "../lib/a.rs"),
            ("app/web/", "a.rs", "../../a.rs"),
        ] {
            assert_eq!(from_project(prefix, path), named, "{prefix} {path}");
        }
    }
}
