//! Reading a repository, without starting anything.
//!
//! A [`Repository`] is read in process: no program is run, so nothing that a
//! clone brings (filters, hooks, monitors, aliases, helpers) is ever executed
//! by looking at it, and no git needs to be installed. What it is asked:
//! where its [`Head`] is, what the index holds, which files of the work tree
//! differ from that, which are untracked, and the last commits.
//!
//! Everything read is data from somebody else. Files are opened without waiting,
//! only regular ones, up to a limit; sizes, depths and
//! counts in them are checked before memory is taken; each question has a
//! deadline. Configuration of the repository says how its files are stored and
//! nothing else; it includes no other file.
//!
//! A file counts as changed by its raw content: no filter normalises it first.
//! Files that filters changed on checkout (line ends, large file storage) are as
//! staged as long as their stamps are those of the index, which they are after a
//! checkout, and count as changed once they were only touched.
//!
//! A [`Caller`] says who looks. A repository of another user is refused, as git
//! refuses it (`safe.directory`).
//!
//! [`program`] is the one place where the git program is run: to fetch plugins,
//! and by callers that write to repositories of their own.
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
pub use log::Commit;
pub use place::Repository;

pub use configured::Configured;
pub use covered::covered;
pub use ignores::{Walk, Walking};
pub use index::{Entry, Index, Stat};
pub use lines::DifferentLines;
pub use listing::{Content, Listing, Parents, blob_id};
pub use nested::{Budget, hash_of, state_of};
pub use products::products_below;
pub use read::open_regular;
pub use tree::FileDiffers;
