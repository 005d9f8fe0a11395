//! Locks of references that gits left which were killed.

use std::{fs, path::Path};

use super::{WorkspaceError, record};

/// How many entries are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Removes the locks below the `refs` of a clone in which no git is at work: no reference is called
/// so. A directory that cannot be read is git's to complain of.
///
/// # Errors
/// Returns [`WorkspaceError::Io`] for one that cannot be removed.
pub(super) fn remove(refs: &Path) -> Result<(), WorkspaceError> {
    let (mut ahead, mut left) = (vec![refs.to_owned()], MAX_ENTRIES);
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            left = left.saturating_sub(1);
            let is_lock = entry.path().extension().is_some_and(|end| end == "lock");
            match entry.file_type() {
                _ if left == 0 => return Ok(()),
                Ok(kind) if kind.is_dir() => ahead.push(entry.path()),
                Ok(_) if is_lock => record::remove(&entry.path())?,
                _ => {}
            }
        }
    }
    Ok(())
}
