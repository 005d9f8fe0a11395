//! Where agents and checks work: in the user's tree, or in a clone of it.
//!
//! A tree that an agent can write to is dangerous to the git of whoever looks at it next: a
//! planted `.git/commondir`, or any repository within it, starts a program at a mere `git
//! status`. So a [`CloneWorkspace`] gives the agent a clone of its own, and what it made comes
//! back as data:
//!
//! - `clone` makes it from the commit that the user's branch is at, with the objects of the user's
//!   repository, and checks it out alone; what git ignores in it stays from task to task.
//! - `inspect` walks over what the agent left before any git runs there.
//! - `bundle` takes its commits in: checked by git object by object, in a quarantine, and held
//!   against what must not arrive.
//! - `elsewhere` finds what it committed where nobody takes it from, `ref_locks` removes what a git left
//!   that it killed.
//! - `worktree` is a work tree of its own in the user's repository, in which a lane works on the host.
//! - `users_tree` moves the user's branch, by a fast-forward and in no other way, and finishes
//!   or takes back one that was cut off; `branch_move` moves one that is checked out nowhere.
//!
//! Every git that is run here is run by its absolute path, with an environment and a
//! configuration of Samuel's, without hooks, file system monitor, filters and submodules, with
//! a deadline and bounded output ([`git::program`](crate::git::program)).
//!
//! Which of the two it is, [`WorkspaceKind`] says. What a run does with it is the loop's.
//!
//! ```
//! use samuel_core::workspace::{CloneProblem, InspectLimits, inspect};
//!
//! let tree = tempfile::tempdir()?;
//! std::fs::create_dir_all(tree.path().join(".git"))?;
//! std::fs::write(tree.path().join(".git/commondir"), "../elsewhere\n")?;
//! let found = inspect(tree.path(), b"", b"", InspectLimits::default());
//! assert_eq!(found, [CloneProblem::CommonDir]);
//! # Ok::<(), std::io::Error>(())
//! ```

mod branch_move;
mod bundle;
mod clone;
mod elsewhere;
mod error;
mod git;
mod inspect;
mod kind;
mod known_branch;
mod record;
mod ref_locks;
mod users_tree;
mod worktree;

pub(crate) use branch_move::NotMoved;
pub(crate) use bundle::{Change, embedded, shown};
pub use clone::{
    CloneWorkspace, Collected, ControlLook, OnStep, WorkNote, WorkspaceLimits, WorkspaceSetup, WorkspaceStep,
};
pub(crate) use clone::{NOBODY, blocking, check_version};
pub use error::{RefusedWork, WorkspaceError};
pub(crate) use git::{Configured, Git};
pub use inspect::{CloneProblem, InspectLimits, inspect};
pub use kind::{UnknownWorkspace, WorkspaceKind};
pub(crate) use known_branch::{KnownBranch, know_branch, known_branch};
pub(crate) use record::Landing;
pub(crate) use users_tree::UsersTree;
pub use worktree::{MadeWork, Worktree, WorktreeSetup};
pub(crate) use worktree::{Making, is_within};
