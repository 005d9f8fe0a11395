//! Directories that are nobody else's.
//!
//! What Samuel relies on between two runs, such as the key of the cache of
//! components, lies in a directory that the caller names, and that only this
//! user can look into. An agent on `host` is this user: from it such a directory
//! is hidden, not out of its reach.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use super::{found, open_unlinked, read_up_to};

/// Who can reach a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This user alone.
    Private,
    /// Others could have put something there, or it is a link.
    Open,
}

/// Makes a directory, with those above it where they are missing, and says who
/// can reach it. One of this user's that others could only read is closed.
///
/// # Errors
/// Fails if it cannot be made, or other users may reach it.
pub fn make(path: &Path) -> io::Result<Reach> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Ok(Reach::Open);
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(Reach::Private)
}

/// Makes a directory and refuses one that others can reach.
///
/// # Errors
/// Fails if it is missing, or other users may reach it.
pub fn require(path: &Path) -> io::Result<()> {
    match make(path)? {
        Reach::Private => Ok(()),
        Reach::Open => {
            let problem = "others can write to it; it must be this user's, with mode 0700";
            Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
        }
    }
}

/// Takes from others what they may do with a file.
///
/// # Errors
/// Fails if its mode cannot be changed.
pub fn close(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(super::PRIVATE_FILE))
}

/// Reads a file of such a directory, up to a limit; nothing where there is none.
///
/// # Errors
/// Returns an error for a link, for a longer file, and for one that is another user's or
/// that others can reach.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = found(open_unlinked(path))? else { return Ok(None) };
    let metadata = file.metadata()?;
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
    if !is_ours || metadata.mode() & 0o077 != 0 {
        let problem = format!("{} is not this user's alone; remove it", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    Ok(Some(read_up_to(file, limit)?))
}

/// Writes a file where there is none. Its mode is set once it is whole.
///
/// # Errors
/// Fails if the file exists, or cannot be written.
pub fn write_new(to: &Path, bytes: &[u8], mode: u32) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    file.write_all(bytes)?;
    // The mode at creation is subject to the umask.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_directory_is_made_for_this_user_alone_and_closed_where_it_was_readable() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(make(&path).unwrap(), Reach::Private);
        assert_eq!((mode(&path), mode(&dir.path().join("a"))), (0o700, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(make(&path).unwrap(), Reach::Private);
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn what_others_could_have_written_to_is_refused_and_so_is_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let open = dir.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(make(&open).unwrap(), Reach::Open);
        assert!(require(&open).unwrap_err().to_string().contains("mode 0700"));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert_eq!(make(&link).unwrap(), Reach::Open);
    }
}
