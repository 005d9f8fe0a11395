//! What tells that a file was written to, even if it was put back.
//!
//! A shell reads its script as it runs, so one that writes to itself runs other
//! lines than it was shown with, and can put them back before it ends. Its content
//! is the same then; the time of its last change is not, which nobody but the system
//! sets.

use std::{collections::BTreeMap, fs::Metadata, os::unix::fs::MetadataExt as _};

/// What the system says of a file: device, inode and the time of its last change.
pub(in crate::engine) type Stamp = (u64, u64, i64, i64);

/// The stamps of the scripts that exist, by their paths.
pub(in crate::engine) type Stamps = BTreeMap<String, Stamp>;

pub(super) fn of(found: &Metadata) -> Stamp {
    (found.dev(), found.ino(), found.ctime(), found.ctime_nsec())
}
