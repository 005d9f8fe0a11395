//! `files-write`: writing files of the project.
//!
//! What decides what runs, and what Samuel keeps, no plugin writes, whatever
//! was granted; and no more is written in a run than [`Written`] lets through.

use std::sync::Arc;

use rustix::fs::{AtFlags, unlinkat};
use wasmtime::component::LinkerInstance;

use super::{
    Guest, HostError, on_a_thread,
    tree::{LastLink, Place, Tree},
    waiting,
    written::Written,
};
use crate::{
    fs::{Durability, Manner, PROJECT_DIRECTORY, PathKind},
    plugin::{Capability, protected::is_protected, wasm::plugin::LoadedComponent},
};

/// The largest file, in bytes.
const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    waiting(interface, "write", |guest, (path, contents): (String, Vec<u8>)| {
        let (loaded, run_id) = (Arc::clone(&guest.loaded), Arc::clone(&guest.header.run_id));
        on_a_thread(move || Writing::of(&loaded, &run_id).write(&path, &contents))
    })?;
    waiting(interface, "remove", |guest, (path,): (String,)| {
        let (loaded, run_id) = (Arc::clone(&guest.loaded), Arc::clone(&guest.header.run_id));
        on_a_thread(move || Writing::of(&loaded, &run_id).remove(&path))
    })?;
    waiting(interface, "create-dir", |guest, (path,): (String,)| {
        let (loaded, run_id) = (Arc::clone(&guest.loaded), Arc::clone(&guest.header.run_id));
        on_a_thread(move || Writing::of(&loaded, &run_id).create_dir(&path))
    })
}

/// What may be written where.
#[derive(Clone, Copy)]
struct Writing<'a> {
    tree: Tree<'a>,
    written: &'a Written,
    run_id: &'a Arc<str>,
}

impl<'a> Writing<'a> {
    fn of(loaded: &'a LoadedComponent, run_id: &'a Arc<str>) -> Self {
        let capability = Capability::FilesystemWrite;
        let granted = loaded.setup.granted.targets(capability);
        let tree = Tree { root: &loaded.workspace.root, capability, granted };
        Self { tree, written: &loaded.written, run_id }
    }

    fn write(self, path: &str, contents: &[u8]) -> Result<(), HostError> {
        HostError::at_most("file", contents.len(), MAX_FILE_BYTES)?;
        let place = self.walk(path, LastLink::Follow)?.inner;
        match place.kind() {
            None | Some(PathKind::File) => {}
            Some(_) => return Err(HostError::invalid(format!("`{path}` is not a file"))),
        }
        self.written.add(self.run_id, place.missing.len() + 1, contents.len())?;
        // After a power failure the plugin may write it again.
        let written = place.write([contents], &Manner::PROJECT.with(Durability::Unsynced));
        written.map_err(|error| HostError::io(path, &error.into()))
    }

    fn remove(self, path: &str) -> Result<(), HostError> {
        let place = self.walk(path, LastLink::Keep)?.inner;
        let flags = match place.kind() {
            None => return Err(HostError::NotFound(path.to_owned())),
            Some(_) if place.name == "." => {
                return Err(HostError::invalid(format!("`{path}` is where a path begins")));
            }
            Some(PathKind::Directory) => AtFlags::REMOVEDIR,
            Some(_) => AtFlags::empty(),
        };
        unlinkat(place.dir(), &*place.name, flags).map_err(|error| match error {
            rustix::io::Errno::NOTEMPTY => HostError::invalid(format!("`{path}` is not empty")),
            error => HostError::io(path, &error.into()),
        })
    }

    fn create_dir(self, path: &str) -> Result<(), HostError> {
        let mut place = self.walk(path, LastLink::Follow)?.inner;
        match place.kind() {
            Some(PathKind::Directory) => return Ok(()),
            Some(_) => return Err(HostError::invalid(format!("`{path}` is not a directory"))),
            None => place.missing.push(place.name.clone()),
        }
        self.written.add(self.run_id, place.missing.len(), 0)?;
        place.make_missing(PROJECT_DIRECTORY).map(drop).map_err(|error| HostError::io(path, &error))
    }

    /// Follows a path to what may be written.
    fn walk(self, path: &str, last: LastLink) -> Result<Place, HostError> {
        let place = self.tree.walk(path, last)?;
        if is_protected(&place.names) {
            return Err(HostError::denied(self.tree.capability, path));
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        fs,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
        path::Path,
        sync::LazyLock,
    };

    use super::*;
    use crate::plugin::wasm::WriteLimits;

    const ALL: &str = "/workspace/**";

    static WRITTEN: LazyLock<Written> = LazyLock::new(|| Written::new(WriteLimits::default()));
    static RUN: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("r1"));

    fn writing<'a>(root: &'a Path, granted: &'a [String]) -> Writing<'a> {
        let tree = Tree { root, capability: Capability::FilesystemWrite, granted };
        Writing { tree, written: &WRITTEN, run_id: &RUN }
    }

    #[test]
    fn files_are_made_replaced_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let granted = [ALL.to_owned()];
        let writing = writing(dir.path(), &granted);
        writing.write("out/deep/a.txt", b"one").unwrap();
        let file = dir.path().join("out/deep/a.txt");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        writing.write("/workspace/out/deep/a.txt", b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path().join("out/deep")).unwrap().count(), 1);

        assert!(matches!(writing.remove("out"), Err(HostError::Invalid(_))));
        assert!(matches!(writing.write("out", b""), Err(HostError::Invalid(_))));
        writing.remove("out/deep/a.txt").unwrap();
        writing.remove("out/deep").unwrap();
        assert!(matches!(writing.remove("out/deep"), Err(HostError::NotFound(_))));
        writing.create_dir("x/y").unwrap();
        writing.create_dir("x/y").unwrap();
        assert!(dir.path().join("x/y").is_dir());
        assert!(matches!(writing.remove("."), Err(HostError::Invalid(_))));
    }

    #[test]
    fn a_link_is_removed_itself_and_written_through_inside_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("real"), "old").unwrap();
        fs::write(dir.path().join("outside"), "old").unwrap();
        symlink("real", root.join("in")).unwrap();
        symlink("../outside", root.join("out")).unwrap();
        let granted = [ALL.to_owned()];
        let writing = writing(&root, &granted);
        writing.write("in", b"new").unwrap();
        assert_eq!(fs::read(root.join("real")).unwrap(), b"new");
        assert!(matches!(writing.write("out", b"new"), Err(HostError::Denied(_))));
        assert_eq!(fs::read(dir.path().join("outside")).unwrap(), b"old");
        writing.remove("in").unwrap();
        writing.remove("out").unwrap();
        assert!(root.join("real").exists() && dir.path().join("outside").exists());
    }

    #[test]
    fn what_decides_what_runs_is_not_written_whatever_was_granted() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("sub/.git")).unwrap();
        fs::create_dir_all(root.join(".samuel/run")).unwrap();
        symlink(".samuel/run", root.join("state")).unwrap();
        let granted = [ALL.to_owned()];
        let writing = writing(root, &granted);
        for path in [
            "samuel.toml",
            "Samuel.TOML",
            "samuel.lock",
            ".git",
            ".git/hooks/pre-commit",
            "sub/.git/config",
            "sub/.GIT/config",
            ".samuel/run/prd.toon",
            ".samuel/hooks.yml",
            "state/prd.toon",
            ".system/hooks/a.yaml",
            ".iteratr.hooks.yml",
        ] {
            let denied = Err(HostError::denied(Capability::FilesystemWrite, path));
            assert_eq!(writing.write(path, b""), denied, "{path}");
            assert_eq!(writing.create_dir(path), denied, "{path}");
        }
        writing.write("samuel.toml.md", b"").unwrap();
        writing.write("sub/.gitignore", b"").unwrap();
    }

    #[test]
    fn what_is_written_in_a_run_is_counted_with_what_it_replaces() {
        let dir = tempfile::tempdir().unwrap();
        let granted = [ALL.to_owned()];
        let written = Written::new(WriteLimits { max_bytes: 10, max_files: 4 });
        let writing = Writing { written: &written, ..writing(dir.path(), &granted) };
        writing.write("out/a", b"12345").unwrap();
        writing.write("out/a", b"1234").unwrap();
        let bytes = Err(HostError::quota("bytes written in a run", 10));
        assert_eq!(writing.write("out/a", b"12"), bytes);
        assert_eq!(fs::read(dir.path().join("out/a")).unwrap(), b"1234");
        let files = Err(HostError::quota("files written in a run", 4));
        assert_eq!(writing.create_dir("x/y"), files);
        assert!(!dir.path().join("x").exists());
        writing.remove("out/a").unwrap();
        writing.write("b", b"").unwrap();
        assert_eq!(writing.write("c", b""), files);
    }

    #[test]
    fn what_was_not_granted_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let granted = ["/workspace/docs/**".to_owned()];
        let writing = writing(dir.path(), &granted);
        writing.write("docs/a.md", b"").unwrap();
        for path in ["src/main.rs", "docs/../a.md", "docs2/a.md"] {
            let denied = Err(HostError::denied(Capability::FilesystemWrite, path));
            assert_eq!(writing.write(path, b""), denied, "{path}");
        }
        let long = vec![0; MAX_FILE_BYTES + 1];
        assert!(matches!(writing.write("docs/b", &long), Err(HostError::TooLarge(_))));
    }
}
