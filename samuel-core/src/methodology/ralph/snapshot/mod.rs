//! The project snapshot.
mod budget;
mod build;
mod cache;
mod classify;
mod counts;
mod findings;
mod inventory;
mod record;
mod sample;
mod tally;
mod test_gaps;
pub use build::{SnapshotError, SnapshotOptions, take_snapshot};
pub use classify::{FileClass, FileKind, Language, classify};
pub use record::*;
