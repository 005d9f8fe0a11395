//! Directories of the project whose files are nobody's to commit.

use std::{io::ErrorKind, path::Path};

use super::StateError;
use samuel_fs::{Durability, FileError, Manner, PROJECT_DIRECTORY, Root};

/// The file that keeps parts of `.samuel` out of git.
pub const IGNORE_FILE: &str = ".samuel/.gitignore";
/// The content of the [`IGNORE_FILE`].
pub const IGNORE: &str = "# State of single runs; it changes with every iteration.\n/run/\n\
                          # What an installation needs while it is under way.\n/plugins/.lock\n/plugins/.staging-*\n";

/// What keeps a directory out of git, this file with it.
const EVERYTHING: &[u8] = b"*\n";

/// Creates a directory below `root` if it is missing, with a `.gitignore` that keeps all of its files out of git. An
/// existing `.gitignore` stays as it is, so you can empty it to commit the files. Blocks.
///
/// # Errors
/// Returns [`StateError::Io`] if either cannot be created, and if a link leads out of `root`.
pub fn unversioned_directory(root: &Root, directory: &Path) -> Result<(), StateError> {
    let made = root.create_directory(directory, PROJECT_DIRECTORY);
    made.map_err(StateError::file("create", directory))?;
    ignore_all(root, directory)
}

/// Writes the `.gitignore` of such a directory, which is there. Keeps an existing file. Blocks.
pub(crate) fn ignore_all(root: &Root, directory: &Path) -> Result<(), StateError> {
    let ignored = directory.join(".gitignore");
    write_where_missing(root, &ignored, EVERYTHING).map_err(StateError::file("create", &ignored))
}

/// Writes the [`IGNORE_FILE`] of a project that has a `.samuel` directory. Keeps an existing file. Blocks.
///
/// # Errors
/// Fails if it cannot be created, or a link leads out of `root`.
pub fn write_ignore_file(root: &Root) -> Result<(), FileError> {
    write_where_missing(root, &root.path().join(IGNORE_FILE), IGNORE.as_bytes())
}

fn write_where_missing(root: &Root, path: &Path, content: &[u8]) -> Result<(), FileError> {
    match root.write_new(path, content, &Manner::PROJECT.with(Durability::Whole)) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    #[test]
    fn a_new_directory_is_kept_out_of_git_and_a_gitignore_that_is_there_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (root, logs) = (Root::new(directory.path()), directory.path().join(".system/logs"));
        unversioned_directory(&root, &logs).unwrap();
        let ignored = logs.join(".gitignore");
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "*\n");
        fs::write(&ignored, "").unwrap();
        unversioned_directory(&root, &logs).unwrap();
        assert_eq!(fs::read_to_string(&ignored).unwrap(), "");
    }
}
