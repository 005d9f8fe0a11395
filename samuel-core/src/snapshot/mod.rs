//! The project snapshot: what the agent is told of the project.
//!
//! [`take_snapshot`] makes a [`ProjectSnapshot`](crate::state::ProjectSnapshot)
//! in five steps: `inventory` lists the files, from git's index where there is
//! one; `tally` counts in them, each text once and remembered in a `cache`;
//! `findings` and `test_gaps` tell what stands out; `sample` chooses files
//! that stand for all directories; `budget` makes it all fit.
//!
//! It depends on the files, not on the order they are found in, and on time
//! only where a time box ended early, which it says.
//!
//! ```
//! use samuel_core::snapshot::{SnapshotOptions, take_snapshot};
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("main.py"), "print('hello')\n")?;
//! let snapshot = take_snapshot(directory.path(), &SnapshotOptions::new("2026-01-01T00:00:00Z".parse()?))?;
//! assert_eq!(snapshot.summary.files, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod build;
mod cache;
mod classify;
mod counts;
mod findings;
mod inventory;
mod sample;
mod tally;
mod test_gaps;

pub use build::{SnapshotError, SnapshotOptions, take_snapshot};
pub use classify::{FileClass, FileKind, Language, classify};
