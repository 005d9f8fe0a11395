//! The files of a plugin with their bytes, read once.
//!
//! Whoever can write where a plugin is installed can exchange a file between a
//! look at it and its use. So nothing is looked at twice: [`Contents`] holds the
//! very bytes whose digests were compared, and the manifest that is obeyed, the
//! component that is compiled and the scripts that run are made of them.

use std::{collections::BTreeMap, fmt, fs::DirBuilder, os::unix::fs::DirBuilderExt as _, path::Path};

use super::{MANIFEST_FILE, Manifest, PluginError, PluginTree, Selection, tree::Bytes};
use crate::{fs::private, script::CopiedFile};

/// The files of a plugin, in memory.
#[derive(Clone, Default)]
pub(super) struct Contents {
    tree: PluginTree,
    bytes: Bytes,
}

impl fmt::Debug for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tree.paths()).finish()
    }
}

impl Contents {
    /// Reads the files of a directory that belong to a plugin.
    ///
    /// # Errors
    /// Returns what [`PluginTree::of`] returns.
    pub(super) fn read(root: &Path, selection: &Selection) -> Result<Self, PluginError> {
        let (tree, bytes) = PluginTree::with_bytes(root, selection)?;
        Ok(Self { tree, bytes })
    }

    /// Returns the digests of the files.
    pub(super) fn tree(&self) -> &PluginTree {
        &self.tree
    }

    /// Returns the bytes of a file, by its path within the plugin.
    pub(super) fn get(&self, path: &str) -> Option<&[u8]> {
        self.bytes.get(path).map(|bytes| &**bytes)
    }

    /// Says whether a directory of the plugin holds any file.
    pub(super) fn has_directory(&self, path: &str) -> bool {
        self.tree.paths().any(|file| file != path && Path::new(file).starts_with(path))
    }

    /// Returns the files directly in a directory of the plugin, by their names.
    pub(super) fn below(&self, directory: &str) -> BTreeMap<String, Vec<u8>> {
        let inner = |path: &str| {
            let name = Path::new(path).strip_prefix(directory).ok()?.to_str()?;
            (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
        };
        self.bytes.iter().filter_map(|(path, bytes)| Some((inner(path)?, bytes.to_vec()))).collect()
    }

    /// Reads the manifest. `directory` is only for messages.
    ///
    /// # Errors
    /// Returns what [`Manifest::load`] does.
    pub(super) fn manifest(&self, directory: &Path) -> Result<Manifest, PluginError> {
        match self.get(MANIFEST_FILE) {
            Some(bytes) => Manifest::parse_bytes(&directory.join(MANIFEST_FILE), bytes.to_vec()),
            None => Err(PluginError::NoManifest { directory: directory.to_owned() }),
        }
    }

    /// Returns the files, for a copy that is run from.
    pub(super) fn files(&self) -> impl Iterator<Item = CopiedFile<'_>> {
        self.bytes.iter().map(|(path, bytes)| {
            let is_executable = self.tree.is_executable(path).unwrap_or_default();
            CopiedFile { path: Path::new(path), bytes, is_executable }
        })
    }

    /// Writes the files into an empty directory, for everybody to read, on the disk before they
    /// count.
    ///
    /// # Errors
    /// Returns [`PluginError::Io`] where the disk refuses.
    pub(super) fn write_to(&self, target: &Path) -> Result<(), PluginError> {
        for file in self.files() {
            let to = target.join(file.path);
            if let Some(parent) = to.parent() {
                // Whatever the mask is, nobody else writes there.
                let made = DirBuilder::new().recursive(true).mode(0o755).create(parent);
                made.map_err(PluginError::io("create", parent))?;
            }
            let mode = if file.is_executable { 0o755 } else { 0o644 };
            let written = private::write_new(&to, file.bytes, mode).and_then(|file| file.sync_all());
            written.map_err(PluginError::io("write", &to))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        fs,
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    #[test]
    fn a_copy_has_the_files_of_the_source_without_what_builds_leave_behind() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(source.path().join("hooks")).unwrap();
        fs::create_dir_all(source.path().join("target/debug")).unwrap();
        let script = source.path().join("hooks/check.sh");
        fs::write(&script, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(source.path().join("samuel-plugin.toml"), "").unwrap();
        fs::write(source.path().join("target/debug/x"), "large").unwrap();
        symlink("check.sh", source.path().join("hooks/again.sh")).unwrap();

        let contents = Contents::read(source.path(), &Selection::Source).unwrap();
        let paths: Vec<_> = contents.tree().paths().collect();
        assert_eq!(paths, ["hooks/again.sh", "hooks/check.sh", "samuel-plugin.toml"]);
        assert!(contents.has_directory("hooks") && !contents.has_directory("hooks/check.sh"));
        // What is changed after it was read makes no difference.
        fs::write(&script, "#!/bin/sh\nevil\n").unwrap();
        contents.write_to(target.path()).unwrap();
        let copied = PluginTree::of(target.path(), &Selection::Installed).unwrap();
        assert_eq!(&copied, contents.tree());
        let mode = fs::metadata(target.path().join("hooks/again.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}
