//! Copies of the objects of a shallow repository.
//!
//! A clone of one shares no objects with it, as with git itself: a file says which commits have no parents, and
//! `git fetch` changes that file and the objects together. So the clone gets the file and the objects as they are at
//! one time. Files are copied and never linked, since an agent could write into a link.

use std::{
    fs::{self, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{WorkspaceError, record};
use crate::fs::{open_unlinked, read_anywhere};

/// What a start says of a shallow repository.
pub(crate) const SHALLOW_COPIED: &str =
    "the repository is shallow: each workspace gets a copy of its objects instead of sharing them";
/// The file in which git lists the commits without parents, in the directory that work trees share.
pub(super) const SHALLOW: &str = "shallow";
/// The largest such list, in bytes.
const MAX_SHALLOW: u64 = 1 << 20;
/// What a file is called while it is copied. git removes such files once they are old.
const TEMPORARY: &str = "tmp_obj_samuel";
/// How often the files are listed again that git replaced meanwhile.
const ATTEMPTS: usize = 3;

/// Returns the list of the commits that have no parents in a repository; empty if it is not shallow. Blocks.
pub(super) fn shallow(common_dir: &Path) -> Result<String, WorkspaceError> {
    let path = common_dir.join(SHALLOW);
    match read_anywhere(&path, MAX_SHALLOW) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.is_not_found() => Ok(String::new()),
        Err(error) => Err(WorkspaceError::file("read", &path)(error)),
    }
}

/// Copies the objects of some stores that another one does not have yet. Blocks.
pub(super) fn bring(stores: &[PathBuf], to: &Path) -> Result<(), WorkspaceError> {
    for _ in 0..ATTEMPTS {
        let mut is_whole = true;
        for (name, from) in files(stores) {
            let place = to.join(name);
            if fs::symlink_metadata(&place).is_ok() {
                continue;
            }
            record::remove(&to.join(TEMPORARY))?;
            match copy(&from, &place, &to.join(TEMPORARY)) {
                Ok(()) => {}
                // git packed it meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => is_whole = false,
                Err(error) => return Err(WorkspaceError::io("copy", &from)(error)),
            }
        }
        if is_whole {
            break;
        }
    }
    Ok(())
}

/// Returns how many bytes the objects of some stores have. Blocks.
pub(super) fn size(stores: &[PathBuf]) -> u64 {
    let sizes = files(stores).into_iter().filter_map(|(_, from)| fs::symlink_metadata(from).ok());
    sizes.map(|found| found.len()).sum()
}

fn copy(from: &Path, to: &Path, temporary: &Path) -> io::Result<()> {
    let mut source = open_unlinked(from).map_err(io::Error::from)?;
    if let Some(directory) = to.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o444).open(temporary)?;
    io::copy(&mut source, &mut file)?;
    fs::rename(temporary, to)
}

/// Lists the files of objects by their names below a store, loose ones first: what git packs meanwhile is in a pack.
fn files(stores: &[PathBuf]) -> Vec<(PathBuf, PathBuf)> {
    let mut files = Vec::new();
    for store in stores {
        let is_hex = |name: &str| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut directories = names(store);
        directories.retain(|name| name == "pack" || name.len() == 2 && is_hex(name));
        // `pack` comes after all digits.
        directories.sort();
        for directory in directories {
            let mut within = names(&store.join(&directory));
            within.retain(|name| match directory.as_str() {
                "pack" => name.starts_with("pack-") && (name.ends_with(".pack") || name.ends_with(".idx")),
                _ => is_hex(name),
            });
            // Whoever sees the index has to find the pack.
            within.sort_by_key(|name| name.ends_with(".idx"));
            let name = |file: String| Path::new(&directory).join(file);
            files.extend(within.into_iter().map(name).map(|name| (name.clone(), store.join(name))));
        }
    }
    files
}

/// Returns the names in a directory that are UTF-8.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
