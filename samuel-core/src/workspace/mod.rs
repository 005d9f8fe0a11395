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
//! - `elsewhere` finds what it committed where nobody takes it from, `ref_locks` removes what gits left
//!   that were killed.
//! - `clone/lane` is where a worker works. `preparation` is what a clone gets beside the files of a commit, of which
//!   `copied` keeps files out of commits.
//! - `pins` keeps the commits that clones borrow from the user's repository; `objects` copies those of a shallow one.
//! - `project_of` finds the project from within one of its workspaces.
//! - `lane_remains` says what lanes left in the repository, and what of it has landed; `lane_names` what their branches
//!   are called, `kept_ref` keeps what would be on none.
//! - `users_tree` moves the user's branch, by a fast-forward and in no other way, and finishes
//!   or takes back one that was cut off; `branch_move` moves one that is checked out nowhere, and `references` says
//!   what they are at.
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
//! assert!(found.contains(&CloneProblem::CommonDir));
//! # Ok::<(), std::io::Error>(())
//! ```

mod branch_move;
mod bundle;
mod clone;
mod copied;
mod elsewhere;
mod error;
mod git;
mod inspect;
mod kept_ref;
mod known_branch;
mod lane_names;
mod lane_remains;
mod objects;
mod pins;
mod preparation;
mod project_of;
mod record;
mod ref_locks;
mod references;
mod run_files;
mod setup;
mod step;
mod users_tree;

pub(crate) use branch_move::NotMoved;
pub(crate) use bundle::{Change, embedded, shown};
pub use clone::{CloneWorkspace, Collected, LaneClone, MadeWork, WorkNote};
pub(crate) use clone::{NOBODY, blocking, check_version};
pub(crate) use copied::{cannot_be_copied, plain_path};
pub use error::{RefusedWork, WorkspaceError};
pub(crate) use git::{Configured, Git, LEAST_GIT_OF_LANES};
pub use inspect::{CloneProblem, InspectLimits, inspect};
pub(crate) use known_branch::{KnownBranch, LaneNote, know_branch, known_branch};
pub(crate) use lane_names::{KEEPERS, may_be_of_task, rescue_of, result_of};
pub(crate) use lane_remains::{LaneRemains, RemainingRef, RemainingTree, RemainsSetup};
pub(crate) use objects::SHALLOW_COPIED;
pub use preparation::Preparation;
pub(crate) use project_of::note_project;
pub use project_of::project_of;
pub(crate) use record::Landing;
pub(crate) use ref_locks::{remove as remove_ref_locks, remove_packed as remove_packed_lock};
pub use samuel_model::{UnknownWorkspace, WorkspaceKind};
pub use setup::{ControlLook, WorkspaceLimits, WorkspaceSetup};
pub use step::{OnStep, WorkspaceStep};
pub(crate) use users_tree::UsersTree;
