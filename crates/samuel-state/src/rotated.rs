//! Logs that are moved aside when they are full.

use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, path::Path};

use rustix::fs::OFlags;

use super::{StateError, file::append};
use samuel_fs::{PRIVATE_FILE, Root};

/// How large a log gets before it is moved aside.
pub(crate) const MAX_BYTES: u64 = 8 << 20;

/// Appends lines to a log that only its owner may read, and creates the log if it is missing. Past 8 MiB the log is
/// renamed to the file name of `old`, over an earlier one. The directory must exist. Blocks.
///
/// # Errors
/// Returns [`StateError::Io`] if the log cannot be opened, written or renamed, and if a link leads out of `root`.
pub fn append_rotated(root: &Root, log: &Path, old: &Path, lines: &[u8]) -> Result<(), StateError> {
    // Whoever made the file may have left it open to others.
    let private = || {
        let file = root.open_own(log, OFlags::RDWR | OFlags::CREATE)?;
        Ok(file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?)
    };
    private().map_err(StateError::file("close to others", log))?;
    let length = append(root, log, lines)?.metadata().map_err(StateError::io("look at", log))?.len();
    if length > MAX_BYTES {
        let name = old.file_name().unwrap_or_default();
        root.rename_own(log, name).map_err(StateError::file("rotate", log))?;
    }
    Ok(())
}
