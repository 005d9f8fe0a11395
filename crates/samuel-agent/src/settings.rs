//! The settings of an agent's program on this machine, as far as its hooks stand beside them.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use samuel_fs::{private, read_text_anywhere};

use super::bridge::SettingsFiles;

/// The most bytes of a file of settings.
const MAX_SETTINGS: u64 = 1 << 20;
/// The bits of a mode by which others than the owner can write.
const OTHERS_WRITE: u32 = 0o022;

/// The files, seen from the directory that the agent works in.
pub(super) struct Settings<'a> {
    pub(super) directory: &'a Path,
}

impl SettingsFiles for Settings<'_> {
    fn read(&self, path: &Path) -> io::Result<Option<String>> {
        match read_text_anywhere(&self.directory.join(path), MAX_SETTINGS) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_roots(&self, directory: &Path) -> bool {
        let is_roots = |path: &Path| {
            let found = fs::symlink_metadata(path);
            found.is_ok_and(|found| found.is_dir() && found.uid() == 0 && found.mode() & OTHERS_WRITE == 0)
        };
        directory.is_absolute() && directory.ancestors().all(is_roots)
    }
}

/// Writes the files of a wiring into the private directory of a call, in the place of those of a call
/// before in the same directory.
pub(super) fn write_wiring(files: &[(PathBuf, String)]) -> io::Result<()> {
    for (path, content) in files {
        if let Some(directory) = path.parent() {
            private::require(directory)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => private::write_new(path, content.as_bytes(), 0o600)?,
        };
    }
    Ok(())
}
