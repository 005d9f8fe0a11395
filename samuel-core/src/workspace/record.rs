//! What Samuel knows of a clone from one start to the next.
//!
//! The record lies beside the clone, not in it. It is on the disk before what it says is relied
//! on, so that a start after a crash knows whether the agent may have written something that
//! was not taken in.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{WorkspaceError, pins::PinNumbers};
use crate::fs::{Durability, Manner, Root};

/// The largest record, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// What is known of a clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The user's branch.
    pub(super) branch: String,
    /// The commit of it that the clone stands on.
    pub(super) base: String,
    /// The last commit that was taken in; the same where there is none beyond.
    pub(super) tip: String,
    /// Whether what is beyond the base did not pass, or nobody knows whether it would.
    pub(super) failed: bool,
    /// Whether an agent may have written since what was taken in last.
    pub(super) at_work: bool,
    /// What Samuel wrote to `.git/config` and to the alternates.
    pub(super) config: String,
    pub(super) alternates: String,
    /// The list of commits whose parents the clone does not have; empty if it has all.
    #[serde(default)]
    pub(super) shallow: String,
    /// The control files as they were checked out, with what each holds: after a crash nobody else knows.
    #[serde(default)]
    pub(super) seen: BTreeMap<String, String>,
    /// Bare repositories that the project itself has among its files.
    pub(super) embedded: Vec<PathBuf>,
    /// The commits of other branches of the clone that are known already.
    #[serde(default)]
    pub(super) elsewhere: Vec<String>,
    /// The references that keep what the clone borrows.
    #[serde(default)]
    pub(super) pins: PinNumbers,
    /// References of earlier work that the clone was given, with their commits.
    #[serde(default)]
    pub(super) shown: Vec<(String, String)>,
    /// What was copied there beside the files of a commit, by paths from its top.
    #[serde(default)]
    pub(super) copied: Vec<String>,
    /// Whether the clone was made, and has nothing but the files of a commit yet.
    #[serde(default)]
    pub(super) unprepared: bool,
    /// Whether the clone stayed at the end of a run, since it has commits that the user's repository does not have.
    #[serde(default)]
    pub(super) unspent: bool,
    /// How many references of refused work the clone holds.
    pub(super) refused: u32,
    /// How often work was kept in the user's repository.
    pub(super) kept: u32,
}

/// A fast-forward that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Landing {
    pub(crate) branch: String,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// Reads a file of the workspace; nothing where there is none, or none that can be understood.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = crate::fs::private::read(path, MAX_BYTES).ok()??;
    serde_json::from_slice(&text).ok()
}

/// Writes a file of the workspace, which is on the disk then.
pub(super) fn write(path: &Path, content: &impl Serialize) -> Result<(), WorkspaceError> {
    let text = serde_json::to_vec_pretty(content).map_err(WorkspaceError::file("write", path))?;
    let root = Root::new(path.parent().unwrap_or(path));
    let manner = Manner::PRIVATE.with(Durability::Synced);
    root.write(path, [text.as_slice()], &manner).map_err(WorkspaceError::file("write", path))
}

/// Removes a file or directory of the workspace, where it is there.
pub(super) fn remove(path: &Path) -> Result<(), WorkspaceError> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => crate::fs::leftovers::remove(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkspaceError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}
