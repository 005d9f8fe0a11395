//! What lanes leave in a repository: branches, references of kept work and work trees, and which of it has landed.
//!
//! Work has *landed* where its last commit is on a branch of the user's, or on one that Samuel made for the results of
//! a run; results have once they are on a branch of the user's. What was squashed or made anew is not there as it
//! was submitted; whoever asks says then which commit it landed as. A branch on a remote counts where one of the user's
//! follows it: whatever else is there, anybody may have pushed, and may remove.
//!
//! Which branches are of lanes, their names say (`lane_names`).
//!
//! Looking changes nothing, and a git that fails is an error: what is not known to have landed is never removed.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    WorkspaceError, WorkspaceKind,
    clone::{CLONE, KnownClone, LANDING, LaneClone, RECORD, blocking},
    git::{Configured, Git},
    lane_names::{BRANCHES, KEEPERS, of_lane, result_in},
    pins::{BASES, WORK, refs_of, remove_refs},
    users_tree::UsersTree,
};
use crate::{
    git::{Caller, Repository, program::GitProgramError},
    process::Supervisor,
    text::described,
};

/// What is said of a work tree of a version in which workers had such.
const OF_EARLIER: &str =
    "it is a work tree of an earlier version: look at it, then run `git worktree remove`";
/// Where the branches of lanes are, and the references of kept work.
const OF_RUNS: [&str; 3] = [BRANCHES, "refs/samuel/rescue", "refs/samuel/kept"];
/// What the clone of a single loop is called.
const OF_LOOP: &str = "loop";

/// Where lanes work, and whose project it is.
#[derive(Clone, Debug)]
pub(crate) struct RemainsSetup {
    /// The project's root.
    pub(crate) root: PathBuf,
    /// The directory of the clones of workers, which is in that of the clone of a single loop.
    pub(crate) directory: PathBuf,
    /// Whose the project must be.
    pub(crate) caller: Caller,
    /// The environment, of which git gets what it needs.
    pub(crate) env: Vec<(String, String)>,
    /// Who watches over git.
    pub(crate) supervisor: Supervisor,
    /// What submitted commits landed as, where that is another commit, with the tokens of their claims.
    pub(crate) landed_as: HashMap<String, (u64, String)>,
}

/// The repository of a project in which lanes work.
#[derive(Debug)]
pub(crate) struct LaneRemains {
    git: Git,
    users: UsersTree,
    /// With its links resolved, as git names paths.
    directory: PathBuf,
    /// Tells the project apart from others in the repository.
    key: String,
    /// The references that branches of the user's follow.
    upstreams: HashSet<String>,
    landed_as: HashMap<String, (u64, String)>,
}

/// A branch of a lane, or a reference of kept work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemainingRef {
    /// The whole name, with `refs/`.
    pub(crate) reference: String,
    pub(crate) commit: String,
    /// When the commit was made.
    pub(crate) at: Timestamp,
    /// A branch that has its work.
    pub(crate) landed: Option<String>,
    /// How many of its commits no branch of the user's has.
    pub(crate) ahead: u64,
    /// The work tree in which it is checked out.
    pub(crate) checked_out: Option<PathBuf>,
}

/// A clone of a worker, of the queue or of a single loop, or a work tree of an earlier version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemainingTree {
    /// What it is called: `lane-1`, `queue`, `loop`; of a clone that was moved aside, `lane-1.clone/kept-1`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The branch that is checked out, without `refs/heads/`.
    pub(crate) branch: Option<String>,
    /// A branch that has what is checked out.
    pub(crate) landed: Option<String>,
    /// Why it must not be removed, where that is so. No git is run there to find out.
    pub(crate) holds: Option<&'static str>,
}

/// A work tree as git lists it.
#[derive(Default)]
struct Listed {
    path: PathBuf,
    head: String,
    branch: Option<String>,
}

impl LaneRemains {
    /// Opens the repository of a project; nothing where it is in none.
    ///
    /// # Errors
    /// Returns an error where the repository cannot be read, or there is no git.
    pub(crate) async fn open(setup: RemainsSetup) -> Result<Option<Self>, WorkspaceError> {
        let (root, caller) = (setup.root, setup.caller);
        let key = WorkspaceKind::key_of(&root);
        let users = blocking(move || match Repository::open(&root, &caller)? {
            None => Ok(None),
            Some(_) => UsersTree::open(&root, &caller).map(Some),
        });
        let Some(users) = users.await? else { return Ok(None) };
        let directory = setup.directory.canonicalize().unwrap_or(setup.directory);
        let git = Git::of(&setup.env, setup.supervisor, &directory, &users.top)?;
        let followed =
            git.line(&users.top, &["for-each-ref", "--format=%(refname) %(upstream)", "refs/heads"]);
        let followed = followed.await?;
        let followed = followed.lines().filter_map(|line| line.split_once(' '));
        let upstreams = followed.filter(|(name, upstream)| of_lane(name).is_none() && !upstream.is_empty());
        let upstreams = upstreams.map(|(_, upstream)| upstream.to_owned()).collect();
        Ok(Some(Self { git, users, directory, key, upstreams, landed_as: setup.landed_as }))
    }

    /// Returns the names of the branches of lanes and the references of kept work that what is checked out has, or a
    /// branch.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn merged(&self, into: Option<&str>) -> Result<HashSet<String>, WorkspaceError> {
        let into = into.map(|into| format!("refs/heads/{into}"));
        let into = match into {
            Some(into) if self.users.reference(&self.git, &into).await?.is_some() => into,
            _ => "HEAD".to_owned(),
        };
        let into = format!("--merged={into}");
        let args = ["for-each-ref", "--format=%(refname)", "--merged=HEAD", &into];
        let lines = self.lines(&args.into_iter().chain(OF_RUNS).collect::<Vec<&str>>()).await?;
        Ok(lines.lines().map(str::to_owned).collect())
    }

    /// Returns the branches of lanes and the references of kept work, or only those of some names and those that landed
    /// as another commit. git is asked about each.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn refs(
        &self,
        only: Option<&HashSet<String>>,
    ) -> Result<Vec<RemainingRef>, WorkspaceError> {
        let format = "--format=%(refname) %(objectname) %(committerdate:unix)";
        let args = ["for-each-ref", "--sort=committerdate", format].into_iter().chain(OF_RUNS);
        let lines = self.lines(&args.collect::<Vec<&str>>()).await?;
        let trees = self.listed().await?;
        let mut refs = Vec::new();
        for line in lines.lines() {
            let mut words = line.split(' ');
            let (Some(reference), Some(commit)) = (words.next(), words.next()) else { continue };
            if reference.starts_with(BRANCHES) && of_lane(reference).is_none() {
                continue;
            }
            if only.is_some_and(|only| !only.contains(reference) && !self.landed_as.contains_key(commit)) {
                continue;
            }
            let seconds = words.next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default();
            let landed = self.landed(reference, commit).await?;
            let ahead = match landed {
                Some(_) => 0,
                None => self.ahead(reference, commit).await?,
            };
            let is_it = |tree: &&Listed| tree.branch.as_deref() == Some(reference);
            refs.push(RemainingRef {
                reference: reference.to_owned(),
                commit: commit.to_owned(),
                at: Timestamp::from_second(seconds).unwrap_or_default(),
                landed,
                ahead,
                checked_out: trees.iter().find(is_it).map(|tree| tree.path.clone()),
            });
        }
        Ok(refs)
    }

    /// Returns the clones of workers, of the queue and of a single loop, and work trees of an earlier version.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn trees(&self) -> Result<Vec<RemainingTree>, WorkspaceError> {
        let mut trees = Vec::new();
        for Listed { path, head, branch } in self.listed().await? {
            if !path.starts_with(&self.directory) || !path.is_dir() {
                continue;
            }
            let landed = self.landed("", &head).await?;
            let branch = branch.map(|branch| branch.trim_start_matches("refs/heads/").to_owned());
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            trees.push(RemainingTree { name, path, branch, landed, holds: Some(OF_EARLIER) });
        }
        for (of, path) in clones_in(&self.directory) {
            trees.push(self.known_clone(&of, path).await?);
        }
        trees.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(trees)
    }

    /// Says what is known of a clone.
    async fn known_clone(&self, of: &Path, path: PathBuf) -> Result<RemainingTree, WorkspaceError> {
        let own = match self.is_of_loop(of) {
            true => OF_LOOP.to_owned(),
            false => of.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let name = own.trim_end_matches(CLONE).to_owned();
        let is_aside = path.file_name() != LaneClone::tree_in(of).file_name();
        let known = KnownClone::read(of).filter(|_| !is_aside);
        let Some(KnownClone { branch, tip, holds }) = known else {
            let aside = path.file_name().unwrap_or_default().to_string_lossy();
            let name = if is_aside { format!("{own}/{aside}") } else { name };
            let holds = Some("no git can be run there, and what is in it was not taken out");
            return Ok(RemainingTree { name, path, branch: None, landed: None, holds });
        };
        let commit = format!("{tip}^{{commit}}");
        if !tip.is_empty() && !self.git.says_yes(&self.users.top, &["cat-file", "-e", &commit]).await {
            let holds = holds.or(Some("the repository no longer has the work that was taken out of it"));
            return Ok(RemainingTree { name, path, branch, landed: None, holds });
        }
        let landed = if tip.is_empty() { None } else { self.landed("", &tip).await? };
        if self.is_of_loop(of) {
            let is_cut_off = of.join(LANDING).exists();
            let holds = holds.or_else(|| is_cut_off.then_some("a move of your branch was cut off"));
            return Ok(RemainingTree { name, path, branch, landed, holds });
        }
        // What was taken out of it is put on its task's branch. A kill in between leaves it to the clone.
        if landed.is_some() || tip.is_empty() || !self.is_kept(&tip).await? {
            return Ok(RemainingTree { name, path, branch, landed, holds });
        }
        let landed = branch.clone();
        Ok(RemainingTree { name, path, branch, landed, holds })
    }

    /// Removes a reference, unless it is elsewhere by now. Returns why it did not.
    ///
    /// # Errors
    /// Returns an error where git cannot be run.
    pub(crate) async fn remove_ref(&self, of: &RemainingRef) -> Result<Result<(), String>, WorkspaceError> {
        let args = ["update-ref", "--no-deref", "-d", &of.reference, &of.commit];
        let spec = self.git.call(&self.users.top, Configured::Alone, &args);
        let output = self.git.answer(spec).await?;
        if output.success() {
            return Ok(Ok(()));
        }
        let args = ["for-each-ref", "--format=%(objectname)", &of.reference];
        Ok(Err(match self.git.line(&self.users.top, &args).await? == of.commit {
            true => described(&GitProgramError::of("update-ref", &output)),
            false => "it was moved in this moment".to_owned(),
        }))
    }

    /// Removes what is left of clones whose removal was cut off. No lane is at work meanwhile.
    ///
    /// # Errors
    /// Returns an error where it cannot be removed.
    pub(crate) async fn go_on_removing(&self) -> Result<(), WorkspaceError> {
        let directory = self.directory.clone();
        let left = blocking(move || {
            let left = directories_of_clones(&directory).filter(|of| KnownClone::is_half_removed(of));
            Ok(left.collect::<Vec<PathBuf>>())
        });
        for of in left.await? {
            self.remove_clone(of).await?;
        }
        Ok(())
    }

    /// Removes the clone in a directory, with its references.
    async fn remove_clone(&self, of: PathBuf) -> Result<(), WorkspaceError> {
        let key = match self.is_of_loop(&of) {
            true => self.key.clone(),
            false => format!("{}-{}", self.key, name_of(&of)),
        };
        remove_refs(&self.git, &self.users, &refs_of(&key, &of)).await?;
        blocking(move || KnownClone::remove(&of)).await
    }

    /// Returns whether a directory is that of the clone of a single loop.
    fn is_of_loop(&self, of: &Path) -> bool {
        self.directory.parent() == Some(of)
    }

    /// Removes the references of clones of this project that are gone. A reference of work stays if nothing else has
    /// that work.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn remove_refs_of_gone(&self) -> Result<(), WorkspaceError> {
        let args = ["for-each-ref", "--format=%(refname) %(objectname)", BASES, WORK];
        let lines = self.git.line(&self.users.top, &args).await?;
        let mut gone = Vec::new();
        for line in lines.lines() {
            let Some((name, commit)) = line.split_once(' ') else { continue };
            let of = name.split('/').nth(3).and_then(|key| self.directory_of(key));
            if of.is_none_or(|of| has_clone(&of)) {
                continue;
            }
            // A clone in another state directory may borrow what nothing else keeps.
            if self.is_kept(commit).await? {
                gone.push(name.to_owned());
            }
        }
        // Without a name all references would be listed.
        if gone.is_empty() {
            return Ok(());
        }
        remove_refs(&self.git, &self.users, &gone).await
    }

    /// Returns the directory of the clone of this project that a key tells apart.
    fn directory_of(&self, key: &str) -> Option<PathBuf> {
        let rest = key.strip_prefix(&self.key)?;
        match rest.strip_prefix('-') {
            Some(name) => Some(LaneClone::directory_in(&self.directory, name)),
            None => self.directory.parent().filter(|_| rest.is_empty()).map(Path::to_owned),
        }
    }

    /// Returns whether a reference that stays has a commit.
    async fn is_kept(&self, commit: &str) -> Result<bool, WorkspaceError> {
        let args = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit];
        let args: Vec<&str> = args.into_iter().chain(KEEPERS).collect();
        Ok(!self.git.line(&self.users.top, &args).await?.is_empty())
    }

    /// Removes a clone, with what git ignores in it.
    ///
    /// # Errors
    /// Returns an error where it cannot be removed, or git fails.
    pub(crate) async fn remove_tree(&self, path: &Path) -> Result<(), WorkspaceError> {
        match clones_in(&self.directory).into_iter().find(|(_, clone)| clone == path) {
            Some((of, _)) => self.remove_clone(of).await,
            None => Ok(()),
        }
    }

    /// Returns a branch that has the work of a commit, which a reference names.
    async fn landed(&self, reference: &str, commit: &str) -> Result<Option<String>, WorkspaceError> {
        if let Some(holder) = self.holder(reference, commit).await? {
            return Ok(Some(holder));
        }
        let Some((token, landed)) = self.landed_as.get(commit) else { return Ok(None) };
        // An agent may have written the journal. Only whoever merged the work made the commit, with its claim in the
        // message. `cat-file` verifies no signature: `log` executes `gpg.program` for that.
        if !landed.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let spec = self.git.call(&self.users.top, Configured::Alone, &["cat-file", "commit", landed]);
        let said = self.git.answer(spec).await?;
        let text = said.stdout.text();
        let message = text.split_once("\n\n").map_or("", |(_, message)| message);
        let trailer = format!("Samuel-Claim: {token}");
        match said.success() && message.lines().any(|line| line.trim() == trailer) {
            true => self.holder(reference, landed).await,
            false => Ok(None),
        }
    }

    /// Returns a branch that has a commit and is none of a task.
    async fn holder(&self, reference: &str, commit: &str) -> Result<Option<String>, WorkspaceError> {
        let args =
            ["for-each-ref", "--format=%(refname)", "--contains", commit, "refs/heads", "refs/remotes"];
        let holders = self.git.line(&self.users.top, &args).await?;
        let is_result = |name: &str| result_in(name).is_some();
        let holds = |name: &&str| {
            let is_users = match name.starts_with("refs/heads/") {
                true => of_lane(name).is_none(),
                false => self.upstreams.contains(*name),
            };
            *name != reference && (is_users || is_result(name) && !is_result(reference))
        };
        let holder = holders.lines().find(holds);
        Ok(holder.map(|name| name.trim_start_matches("refs/heads/").trim_start_matches("refs/").to_owned()))
    }

    /// Counts the commits of a reference that are on no branch of the user's, nor on one with the results of a run.
    async fn ahead(&self, reference: &str, commit: &str) -> Result<u64, WorkspaceError> {
        let mut args = vec!["rev-list", "--count", commit, "--not", "--exclude=samuel/*", "--branches"];
        if result_in(reference).is_none() {
            args.push("--glob=refs/heads/samuel/*/result");
        }
        Ok(self.git.line(&self.users.top, &args).await?.parse().unwrap_or(1))
    }

    /// Returns what git lists about the user's repository, however long that is.
    async fn lines(&self, args: &[&str]) -> Result<String, WorkspaceError> {
        let spec = self.git.call(&self.users.top, Configured::Alone, args);
        let listed = self.git.list("for-each-ref", spec).await?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&listed.concat()).into_owned())
    }

    /// Returns all work trees of the repository.
    async fn listed(&self) -> Result<Vec<Listed>, WorkspaceError> {
        let args = ["worktree", "list", "--porcelain"];
        let text = self.git.line(&self.users.top, &args).await?;
        let read = |tree: &str| {
            let value = |key: &str| tree.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
            Listed {
                path: value("worktree ").unwrap_or_default().into(),
                head: value("HEAD ").unwrap_or_default(),
                branch: value("branch "),
            }
        };
        Ok(text.split("\n\n").map(read).collect())
    }
}

/// Returns the name of the lane whose clone is in a directory.
fn name_of(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    name.trim_end_matches(CLONE).to_owned()
}

impl RemainingRef {
    /// Returns the run whose results it has, if it is the branch of a run.
    pub(crate) fn results_of(&self) -> Option<&str> {
        result_in(&self.reference)
    }
}

/// Returns the clones of workers, of the queue and of a single loop, and those that were moved aside: the directory of each
/// with what is known of it, and the clone.
fn clones_in(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let is_clone = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name == "tree" || name.starts_with("kept")) && path.is_dir()
    };
    let within =
        |of: PathBuf| entries(&of).filter(is_clone).map(|clone| (of.clone(), clone)).collect::<Vec<_>>();
    let mut all: Vec<_> = directories_of_clones(directory).flat_map(within).collect();
    all.sort();
    all
}

/// Returns the directories in which there is a clone, or was: those below that of lanes, and the one of a single loop,
/// which that of lanes is in.
fn directories_of_clones(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let of_lanes = entries(directory).filter(|path| path.to_string_lossy().ends_with(CLONE) && path.is_dir());
    directory.parent().map(Path::to_owned).into_iter().chain(of_lanes)
}

/// Returns whether there is a clone in a directory, or something that was moved aside or is half removed.
fn has_clone(directory: &Path) -> bool {
    let is_of_clone = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("tree") || name.starts_with("kept") || name == RECORD
    };
    entries(directory).any(is_of_clone)
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
