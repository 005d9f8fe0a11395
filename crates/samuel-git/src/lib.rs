//! Read access to a git repository, without starting a program.
//!
//! A [`Repository`] is read in process. No program runs, so a read never executes
//! the filters, hooks, monitors, aliases or helpers of a clone, and git need not be
//! installed. A repository returns its [`Head`], the contents of the index, the
//! files of the work tree that differ from the index, the untracked files, and the
//! last commits.
//!
//! All data that is read comes from strangers. Only regular files are opened, without
//! blocking and up to a limit. Sizes, depths and counts in them are checked before
//! memory is allocated. Each query has a deadline. The configuration of the repository
//! only determines how its files are stored, and it cannot include another file.
//!
//! The raw content decides whether a file counts as changed: no filter normalizes it first.
//! Filters may change a file on checkout (line ends, large file storage). Such a file
//! counts as unchanged while its stamps match those in the index, as they do after a
//! checkout. If the file is merely touched, it counts as changed.
//!
//! A [`Caller`] is the user who reads. A repository of another user is rejected, as in
//! git (`safe.directory`).
//!
//! [`program`] is the only module that runs the git program: to fetch plugins, and for
//! callers that write to their own repositories.
//!
//! ```
//! use samuel_git::{Caller, Repository};
//!
//! let directory = tempfile::tempdir()?;
//! assert!(Repository::open(directory.path(), &Caller::of_process())?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod caller;
mod checked_out;
mod config;
mod configured;
mod covered;
mod error;
mod head;
mod id;
mod ignores;
mod index;
mod inflate;
mod lines;
mod listing;
mod log;
mod nested;
mod odb;
mod pack;
mod place;
mod products;
pub mod program;
mod read;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tree;

pub use caller::{Caller, OwnerError};
pub use error::GitError;
pub use head::Head;
pub use id::ObjectId;
pub use log::{Commit, Since};
pub use place::Repository;

pub use configured::Configured;
pub use covered::covered;
pub use ignores::{Walk, Walking};
pub use index::{Entry, Index, Stat};
pub use lines::DifferentLines;
pub use listing::{Content, Differences, Listing, Parents, State, blob_id};
pub use nested::{Budget, hash_of, state_of};
pub use products::products_below;
pub use read::open_regular;
pub use tree::FileDiffers;
