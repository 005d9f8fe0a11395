//! Directories that a program made for itself and could not remove.
//!
//! Whoever makes one holds a lock on it as long as it is used, which the system takes away with
//! the program. What is not locked and not quite new is in nobody's use.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    time::{Duration, SystemTime},
};

/// From which age on a directory that nobody holds is a leftover: before it is held
/// it has just been made.
pub const LEFTOVER_AGE: Duration = Duration::from_secs(60);
/// How many entries are looked at for leftovers, and how many of them go.
const MAX_LOOKED_AT: usize = 4_096;
const MAX_REMOVED: usize = 64;

/// Removes the directories of programs that are gone. One that cannot be removed is in
/// nobody's way.
pub fn remove_from(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let leftovers = entries.flatten().take(MAX_LOOKED_AT).map(|entry| entry.path());
    for path in leftovers.filter(|path| is_leftover(path)).take(MAX_REMOVED) {
        let _ = remove(&path);
    }
}

fn is_leftover(path: &Path) -> bool {
    let is_old = |changed: SystemTime| changed.elapsed().is_ok_and(|age| age > LEFTOVER_AGE);
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    found.is_dir()
        && found.modified().is_ok_and(is_old)
        && File::open(path).is_ok_and(|directory| directory.try_lock().is_ok())
}

/// Removes a directory, with those in it that nobody may write to.
///
/// # Errors
/// Fails if a directory below it cannot be listed or removed.
pub fn remove(root: &Path) -> io::Result<()> {
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(root)
}
