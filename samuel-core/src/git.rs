//! Reading a repository without starting anything, and running git where one is written to: the crate `samuel-git`.
//!
//! ```
//! use samuel_core::git::{Caller, Repository};
//!
//! let directory = tempfile::tempdir()?;
//! assert!(Repository::open(directory.path(), &Caller::of_process())?.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
pub(crate) use samuel_git::testing;
pub(crate) use samuel_git::{
    Budget, Configured, Content, Differences, DifferentLines, Entry, FileDiffers, Index, Listing, Parents,
    Since, Stat, Walk, Walking, blob_id, covered, hash_of, open_regular, products_below, state_of,
};
pub use samuel_git::{Caller, Commit, GitError, Head, ObjectId, OwnerError, Repository, program};
