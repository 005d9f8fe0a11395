//! Locks that gits left which were killed: what they are called, and which of them go.

use std::{fs, ops::Range, path::Path, time::SystemTime};

use super::{WorkspaceError, record};

/// The lock of the index.
pub(super) const INDEX_LOCK: &str = "index.lock";
/// The locks that commits, checkouts and merges take in the directory that git has for a work tree.
pub(super) const OF_TREE: [&str; 4] = [INDEX_LOCK, "HEAD.lock", "ORIG_HEAD.lock", "AUTO_MERGE.lock"];
/// The lock of the references that have no files, in the directory that work trees share.
pub(super) const PACKED: &str = "packed-refs.lock";
/// What git writes while it has that lock, and they change.
const NEW_PACKED: &str = "packed-refs.new";
/// How many entries are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Removes the lock of the references that have no files, where it was made in a time in which only gits were at work
/// that have ended. Where somebody was writing what replaces them, it is left alone.
///
/// # Errors
/// Returns [`WorkspaceError::Io`] where it cannot be removed.
pub(crate) fn remove_packed(common_dir: &Path, made: &Range<SystemTime>) -> Result<(), WorkspaceError> {
    let lock = common_dir.join(PACKED);
    if fs::symlink_metadata(common_dir.join(NEW_PACKED)).is_ok() {
        return Ok(());
    }
    match fs::symlink_metadata(&lock).and_then(|found| found.modified()) {
        Ok(at) if made.contains(&at) => record::remove(&lock),
        _ => Ok(()),
    }
}

/// Removes the locks below a directory of references at which no git is at work: no reference is called
/// so. A directory that cannot be read is git's to complain of.
///
/// # Errors
/// Returns [`WorkspaceError::Io`] for one that cannot be removed.
pub(crate) fn remove(refs: &Path) -> Result<(), WorkspaceError> {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_lock_of_packed_references_goes_that_was_made_in_the_time_and_that_nobody_writes_by() {
        let directory = tempfile::tempdir().expect("a directory");
        let (lock, new) = (directory.path().join(PACKED), directory.path().join(NEW_PACKED));
        let from = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let until = from + Duration::from_secs(10);
        let made = |at: SystemTime| {
            fs::File::create(&lock).and_then(|file| file.set_modified(at)).expect("a lock");
            remove_packed(directory.path(), &(from..until)).expect("it is looked at");
            lock.exists()
        };
        assert!(made(from - Duration::from_secs(1)), "it was there before");
        assert!(made(until), "it came after");
        assert!(!made(from) && !made(until - Duration::from_millis(1)));
        fs::write(&new, "").expect("what replaces them");
        assert!(made(from), "somebody was writing");
        fs::remove_file(&new).expect("it is there");
        assert!(!made(from));
    }
}
