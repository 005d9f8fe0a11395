//! Where a lane works: a work tree of the user's repository, or a clone of it.
//!
//! A [`Worktree`] is quickest, and shares references and objects with the user: it is for agents on the host. A
//! [`LaneClone`] is what an agent gets that a sandbox keeps from all else. To a lane they are alike: each has a branch
//! at a commit, is used again, and what is left in it is kept.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    ControlLook, LaneClone, MadeWork, Making, Preparation, Uncommitted, WorkNote, WorkspaceError,
    WorkspaceLimits, WorkspaceSetup, Worktree, WorktreeSetup, lane_names::rescue_of,
};
use crate::{git::Caller, process::Supervisor};

/// How the directory of a clone ends.
pub(super) const CLONE: &str = ".clone";

/// Which of the two a lane works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneTreeKind {
    /// In a work tree of the user's repository.
    Worktree,
    /// In a clone.
    Clone,
}

/// Where a lane works, and what it gets.
#[derive(Clone, Debug)]
pub struct LaneTreeSetup {
    /// Which of the two it is.
    pub kind: LaneTreeKind,
    /// The lane's name, such as `lane-1`.
    pub name: String,
    /// The directory in which lanes work, which is this user's alone.
    pub directory: PathBuf,
    /// Tells the project apart from others in the repository.
    pub key: String,
    /// The project's root.
    pub root: PathBuf,
    /// Whose the project must be.
    pub caller: Caller,
    /// The environment, of which git gets what it needs.
    pub env: Vec<(String, String)>,
    /// Who watches over git and the commands.
    pub supervisor: Supervisor,
    /// What it gets beside the files of a commit.
    pub preparation: Preparation,
    /// The files that no agent may change in a clone.
    pub control: Arc<dyn ControlLook>,
}

impl LaneTreeSetup {
    /// Returns the top of what is worked in, also before it is there.
    pub fn top(&self) -> PathBuf {
        match self.kind {
            LaneTreeKind::Worktree => self.directory.join(&self.name),
            LaneTreeKind::Clone => LaneClone::tree_in(&self.clone_directory()),
        }
    }

    /// Says whether files were checked out there before.
    pub fn has_files(&self) -> bool {
        let entries = fs::read_dir(self.top()).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name() != ".git")
    }

    fn clone_directory(&self) -> PathBuf {
        self.directory.join(format!("{}{CLONE}", self.name))
    }

    fn of_worktree(self) -> WorktreeSetup {
        WorktreeSetup {
            root: self.root,
            tree: self.directory.join(self.name),
            caller: self.caller,
            env: self.env,
            supervisor: self.supervisor,
            preparation: self.preparation,
        }
    }

    fn of_clone(self) -> (WorkspaceSetup, String) {
        let setup = WorkspaceSetup {
            directory: self.clone_directory(),
            root: self.root,
            caller: self.caller,
            env: self.env,
            supervisor: self.supervisor,
            // What is kept of it has the name of a branch.
            run: String::new(),
            limits: WorkspaceLimits::default(),
            preparation: self.preparation,
            control: self.control,
            on_step: None,
        };
        (setup, format!("{}-{}", self.key, self.name))
    }
}

/// Where a lane works.
#[derive(Debug)]
pub enum LaneTree {
    /// In a work tree of the user's repository.
    Worktree(Box<Worktree>),
    /// In a clone.
    Clone(Box<LaneClone>),
}

impl LaneTree {
    /// Makes it, or takes what is there. A new clone has the files of a commit, a new work tree has none.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] for a project without a repository, and a git that is too old, and other errors
    /// where something fails.
    pub async fn open(setup: LaneTreeSetup, making: &Making, commit: &str) -> Result<Self, WorkspaceError> {
        Ok(match setup.kind {
            LaneTreeKind::Worktree => {
                Self::Worktree(Box::new(Worktree::open(setup.of_worktree(), making).await?))
            }
            LaneTreeKind::Clone => {
                let (setup, key) = setup.of_clone();
                Self::Clone(Box::new(LaneClone::open(setup, key, commit).await?))
            }
        })
    }

    /// Keeps what a lane left in either of the two, where it is there: it may have worked in the other before.
    /// Returns the reference under which something is kept that is on no branch, and what people should know.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn rescue_left(
        setup: LaneTreeSetup,
        making: &Making,
        commit: &str,
        branch: &str,
    ) -> Result<(Option<String>, Vec<String>), WorkspaceError> {
        let (mut kept, mut told) = (None, Vec::new());
        for kind in [LaneTreeKind::Worktree, LaneTreeKind::Clone] {
            let setup = LaneTreeSetup { kind, ..setup.clone() };
            if setup.top().is_dir() {
                let tree = Self::open(setup, making, commit).await?;
                kept = tree.rescue(branch).await?.or(kept);
                if matches!(tree, Self::Worktree(_)) && kept.is_none() {
                    // So that a branch without work can go; one that is gone already is left.
                    let _ = tree.leave_branch(Uncommitted::Kept).await;
                }
                told.extend(tree.take_told());
            }
        }
        Ok((kept, told))
    }

    /// Returns the directory in which agents and checks work: the project within it.
    pub fn work_dir(&self) -> PathBuf {
        match self {
            Self::Worktree(tree) => tree.work_dir(),
            Self::Clone(clone) => clone.work_dir(),
        }
    }

    /// Returns the clone, where it is one.
    pub fn as_clone(&self) -> Option<&LaneClone> {
        match self {
            Self::Worktree(_) => None,
            Self::Clone(clone) => Some(clone),
        }
    }

    /// Returns what people should know since it was asked last.
    pub fn take_told(&self) -> Vec<String> {
        match self {
            Self::Worktree(tree) => tree.take_told(),
            Self::Clone(clone) => clone.take_told(),
        }
    }

    /// Gives a task its branch at a commit and checks it out. What was there and is in no commit is gone after that,
    /// but for what git ignores.
    ///
    /// # Errors
    /// Returns an error where git fails, a file cannot be copied, or a command of the setup fails.
    pub async fn begin(&self, branch: &str, base: &str) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.begin(branch, base).await,
            Self::Clone(clone) => clone.begin(branch, base).await,
        }
    }

    /// Says whether the commands of the setup were run there; also where there are none.
    pub fn is_set_up(&self) -> bool {
        match self {
            Self::Worktree(tree) => tree.is_set_up(),
            Self::Clone(clone) => clone.is_set_up(),
        }
    }

    /// Runs the commands of the setup at a commit, where they were not run yet. What was there and is in no commit is
    /// gone after that, but for what git ignores: what is to be kept was [rescued](Self::rescue) before.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn prepare(&self, commit: &str) -> Result<(), WorkspaceError> {
        match self {
            _ if self.is_set_up() => Ok(()),
            Self::Worktree(tree) => tree.set_up(commit).await,
            Self::Clone(clone) => clone.check_out(commit).await,
        }
    }

    /// Checks a commit out, on no task's branch.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn check_out(&self, commit: &str) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.check_out(commit).await,
            Self::Clone(clone) => clone.check_out(commit).await,
        }
    }

    /// Shows an agent work of an earlier attempt, by its branch or reference. In a work tree it sees all of them.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn show(&self, name: &str) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(_) => Ok(()),
            Self::Clone(clone) => clone.show(name).await,
        }
    }

    /// Takes down that an agent may write from now on.
    ///
    /// # Errors
    /// Returns an error where a clone cannot be made ready.
    pub async fn turn_begins(&self) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.unlock(),
            Self::Clone(clone) => clone.turn_begins().await,
        }
    }

    /// Sees to it that checks find no lock of a git that was stopped with the agent. In a clone it goes as what was
    /// made there is [committed](Self::commit).
    ///
    /// # Errors
    /// Returns an error where one cannot be removed.
    pub fn turn_ended(&self) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.unlock(),
            Self::Clone(_) => Ok(()),
        }
    }

    /// Commits what is in no commit, and returns the last commit there; of a clone, once it is in the user's
    /// repository.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Planted`] and [`WorkspaceError::Refused`] for work that must not come out of a clone,
    /// and other errors where git fails.
    pub async fn commit(&self, note: &WorkNote) -> Result<MadeWork, WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.commit(note.title.as_deref().unwrap_or_default()).await,
            Self::Clone(clone) => clone.collect(note).await,
        }
    }

    /// Keeps what would be lost when something else is checked out. Returns the reference under which something is
    /// kept that is on no branch: it has the name of a branch. What is taken out of a clone is on its task's branch.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn rescue(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.rescue(&rescue_of(branch)).await,
            Self::Clone(clone) => clone.rescue().await.map(|()| None),
        }
    }

    /// Has a branch hold a commit that was perhaps made elsewhere. What the branch has and the commit has not is
    /// kept. Where somebody else has checked the branch out, the commit is kept beside it.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn put_on(&self, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.put_on(branch, commit).await,
            Self::Clone(clone) => clone.put_on(branch, commit).await,
        }
    }

    /// Returns the branch that the work is on; nothing between branches.
    pub async fn branch(&self) -> Option<String> {
        match self {
            Self::Worktree(tree) => tree.branch().await,
            Self::Clone(clone) => clone.branch().await,
        }
    }

    /// Leaves the branch, which can be removed then. What is in no commit of a clone goes when that is used next.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn leave_branch(&self, rest: Uncommitted) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.leave_branch(rest).await,
            Self::Clone(clone) => clone.leave_branch().await,
        }
    }

    /// Removes what was [given up](Uncommitted::GivenUp). What is written there from then on is kept again.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn settle(&self) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.settle().await,
            Self::Clone(_) => Ok(()),
        }
    }

    /// Returns the last commit of the work that the user's repository has.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn head(&self) -> Result<String, WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.head().await,
            Self::Clone(clone) => Ok(clone.head().await),
        }
    }

    /// Removes it. What is to be kept was rescued before; a clone with work that must not come out stays.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn remove(&self) -> Result<(), WorkspaceError> {
        match self {
            Self::Worktree(tree) => tree.remove().await?,
            Self::Clone(clone) => clone.remove().await?,
        }
        Ok(())
    }
}

/// Returns the clones below the directory of lanes, and those that were moved aside: the directory of each with what is
/// known of it, and the clone.
pub(super) fn clones_in(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
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

/// Returns the directories below that of lanes in which there is a clone, or was.
pub(super) fn directories_of_clones(directory: &Path) -> impl Iterator<Item = PathBuf> {
    entries(directory).filter(|path| path.to_string_lossy().ends_with(CLONE) && path.is_dir())
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}
