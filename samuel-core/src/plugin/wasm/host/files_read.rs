//! `files-read`: reading files of the project.

use std::sync::Arc;

use rustix::fs::{Dir, OFlags, Stat};
use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::{
    Guest, HostError, on_a_thread,
    tree::{LastLink, Tree},
    waiting,
};
use crate::{
    fs::{FileError, PathKind, kind_of, read_up_to},
    plugin::{Capability, wasm::plugin::LoadedComponent},
};

/// The largest file, in bytes.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// The most entries of a directory.
const MAX_ENTRIES: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
enum Kind {
    #[component(name = "file")]
    File,
    #[component(name = "directory")]
    Directory,
    #[component(name = "other")]
    Other,
}

/// The contract's `entry`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
struct Entry {
    name: String,
    kind: Kind,
    size: u64,
}

impl Entry {
    fn new(name: String, stat: Option<&Stat>) -> Self {
        let kind = match stat.map(kind_of) {
            Some(PathKind::File) => Kind::File,
            Some(PathKind::Directory) => Kind::Directory,
            _ => Kind::Other,
        };
        let size = stat.filter(|_| kind == Kind::File).and_then(|stat| u64::try_from(stat.st_size).ok());
        Self { name, kind, size: size.unwrap_or(0) }
    }
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    waiting(interface, "read", |guest, (path,): (String,)| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || read(tree(&loaded), &path))
    })?;
    waiting(interface, "list-dir", |guest, (path,): (String,)| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || list_dir(tree(&loaded), &path))
    })?;
    waiting(interface, "stat", |guest, (path,): (String,)| {
        let loaded = Arc::clone(&guest.loaded);
        on_a_thread(move || stat(tree(&loaded), &path))
    })
}

fn tree(loaded: &LoadedComponent) -> Tree<'_> {
    let capability = Capability::FilesystemRead;
    let granted = loaded.setup.granted.targets(capability);
    Tree { root: &loaded.workspace.root, capability, granted }
}

fn read(tree: Tree<'_>, path: &str) -> Result<Vec<u8>, HostError> {
    let place = tree.walk(path, LastLink::Follow)?.inner;
    if place.found.is_none() {
        return Err(HostError::NotFound(path.to_owned()));
    }
    let contents = place.open_file().and_then(|file| read_up_to(file, MAX_FILE_BYTES as u64));
    contents.map_err(|error| match error {
        FileError::NotAFile { .. } => HostError::invalid(format!("`{path}` is not a file")),
        FileError::TooLarge { .. } => HostError::too_large("file", MAX_FILE_BYTES),
        error => HostError::io(path, &error.into()),
    })
}

fn list_dir(tree: Tree<'_>, path: &str) -> Result<Vec<Entry>, HostError> {
    let place = tree.walk(path, LastLink::Follow)?.inner;
    match place.kind() {
        Some(PathKind::Directory) => {}
        Some(_) => return Err(HostError::invalid(format!("`{path}` is not a directory"))),
        None => return Err(HostError::NotFound(path.to_owned())),
    }
    let failed = |error: rustix::io::Errno| HostError::io(path, &error.into());
    let dir = place.open(OFlags::DIRECTORY).map_err(|error| HostError::io(path, &error))?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A name that is no text cannot be said to the component.
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") {
            continue;
        }
        HostError::at_most("directory (entries)", entries.len() + 1, MAX_ENTRIES)?;
        // A link counts as what it leads to where that may be seen.
        let below = format!("{path}/{name}");
        let found = tree.walk(&below, LastLink::Follow).ok().and_then(|place| place.inner.found);
        entries.push(Entry::new(name.to_owned(), found.as_ref()));
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(entries)
}

fn stat(tree: Tree<'_>, path: &str) -> Result<Option<Entry>, HostError> {
    let place = match tree.walk(path, LastLink::Follow) {
        Err(HostError::NotFound(_)) => return Ok(None),
        place => place?,
    };
    let name = place.inner.name.to_string_lossy().into_owned();
    Ok(place.inner.found.map(|found| Entry::new(name, Some(&found))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::symlink, path::Path};

    use super::*;

    fn tree<'a>(root: &'a Path, granted: &'a [String]) -> Tree<'a> {
        Tree { root, capability: Capability::FilesystemRead, granted }
    }

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("docs/sub")).unwrap();
        fs::write(dir.path().join("docs/a.md"), "hello").unwrap();
        fs::write(dir.path().join("key.pem"), "secret").unwrap();
        symlink("../key.pem", dir.path().join("docs/link.md")).unwrap();
        symlink("a.md", dir.path().join("docs/same.md")).unwrap();
        dir
    }

    #[test]
    fn files_are_read_listed_and_looked_at() {
        let dir = project();
        let granted = ["/workspace/docs/**".to_owned()];
        let tree = tree(dir.path(), &granted);
        assert_eq!(read(tree, "docs/a.md"), Ok(b"hello".to_vec()));
        assert_eq!(read(tree, "docs/none"), Err(HostError::NotFound("docs/none".into())));
        assert!(matches!(read(tree, "docs/sub"), Err(HostError::Invalid(_))));
        let entry = |name: &str, kind, size| Entry { name: name.into(), kind, size };
        let listed = [
            entry("a.md", Kind::File, 5),
            // It leads to what was not granted, so nothing is said of it.
            entry("link.md", Kind::Other, 0),
            entry("same.md", Kind::File, 5),
            entry("sub", Kind::Directory, 0),
        ];
        assert_eq!(list_dir(tree, "/workspace/docs"), Ok(listed.to_vec()));
        assert_eq!(stat(tree, "docs/sub"), Ok(Some(entry("sub", Kind::Directory, 0))));
        assert_eq!(stat(tree, "docs/none/deeper"), Ok(None));
    }

    #[test]
    fn a_link_does_not_lead_to_what_was_not_granted() {
        let dir = project();
        let granted = ["/workspace/docs/**".to_owned()];
        for path in ["key.pem", "docs/link.md", "docs/../key.pem", "."] {
            let denied = HostError::denied(Capability::FilesystemRead, path);
            assert_eq!(read(tree(dir.path(), &granted), path), Err(denied), "{path}");
        }
        assert!(read(tree(dir.path(), &[]), "docs/a.md").is_err());
    }

    #[test]
    fn a_file_that_is_too_large_or_no_file_is_not_read() {
        let dir = project();
        let granted = ["/workspace/**".to_owned()];
        let big = fs::File::create(dir.path().join("big")).unwrap();
        big.set_len(MAX_FILE_BYTES as u64 + 1).unwrap();
        let tree = tree(dir.path(), &granted);
        assert!(matches!(read(tree, "big"), Err(HostError::TooLarge(_))));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(matches!(read(tree, "pipe"), Err(HostError::Invalid(_))));
    }
}
