//! The files of a plugin: which they are, and what they hold.
//!
//! A [`PluginTree`] is a bounded listing with a digest for each file, which is
//! compared with what samuel.lock says. [`Contents`](super::contents::Contents)
//! is made in the same pass where the bytes are wanted as well. An installed
//! plugin holds no links: those of a source that stay within it become the files
//! they lead to.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::Arc,
};

use serde::Serialize;

use super::{PluginError, archive::is_own_archive};
use crate::{
    fs::{FileError, open_unlinked},
    model::Digesting,
};

/// The most files a plugin may have.
pub const MAX_FILES: usize = 2_000;
/// The most bytes a plugin may have.
pub const MAX_BYTES: u64 = 128 << 20;
/// The deepest directory that is looked into.
const MAX_DEPTH: usize = 24;
/// The most files and directories that are looked at, also of those that do not
/// belong to the plugin.
const MAX_LOOKED_AT: u64 = 20_000;
/// Directories that are never part of a plugin: version control, and what
/// builds and tools leave behind.
const LEFT_OUT: [&str; 8] = [".git", ".hg", ".jj", ".svn", "target", "node_modules", "__pycache__", ".venv"];

/// The files of a plugin by their paths, which are relative with `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginTree {
    files: BTreeMap<String, Entry>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// `sha256:` and the digest of its bytes.
    digest: String,
    executable: bool,
}

/// The bytes of files, by their paths.
pub(super) type Bytes = BTreeMap<String, Arc<[u8]>>;

/// A file that is not as it was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginChange {
    /// Its path, relative to the plugin.
    pub path: String,
    /// How it differs.
    pub kind: PluginChangeKind,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginChangeKind {
    /// It holds something else.
    Changed,
    /// It is new.
    Added,
    /// It is gone.
    Missing,
}

impl fmt::Display for PluginChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            PluginChangeKind::Changed => "changed",
            PluginChangeKind::Added => "new",
            PluginChangeKind::Missing => "missing",
        };
        write!(f, "{word}: {}", self.path)
    }
}

/// Which files of a directory belong to a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All but those of version control and build results.
    Source,
    /// The same without the archives at the top that were made of the plugin of this name.
    Plugin(String),
    /// Files and directories by their paths, and what stands at the top to be
    /// read: README, LICENSE, NOTICE.
    Named(Vec<String>),
    /// Everything that lies there. Links are refused.
    Installed,
}

impl Selection {
    fn enters(&self, directory: &str, name: &str) -> bool {
        match self {
            Self::Source | Self::Plugin(_) => !LEFT_OUT.contains(&name),
            Self::Named(paths) => paths
                .iter()
                .any(|path| Path::new(path).starts_with(directory) || Path::new(directory).starts_with(path)),
            Self::Installed => true,
        }
    }

    /// Says whether a file at a path belongs to the plugin, where there is one.
    pub(super) fn has(&self, file: &str) -> bool {
        let entered = file.match_indices('/').all(|(end, _)| {
            let directory = file.get(..end).unwrap_or_default();
            self.enters(directory, directory.rsplit('/').next().unwrap_or_default())
        });
        entered && self.takes(file)
    }

    fn takes(&self, file: &str) -> bool {
        let paths = match self {
            Self::Named(paths) => paths,
            Self::Plugin(name) => return !is_own_archive(file, name),
            Self::Source | Self::Installed => return true,
        };
        let upper = file.to_ascii_uppercase();
        let is_document = ["README", "LICENSE", "NOTICE"].iter().any(|prefix| upper.starts_with(prefix));
        (is_document && !file.contains('/')) || paths.iter().any(|path| Path::new(file).starts_with(path))
    }
}

impl PluginTree {
    /// Lists the files of a directory that belong to a plugin.
    ///
    /// # Errors
    /// Returns [`PluginError::Link`] for a link that leads out,
    /// [`PluginError::NoFile`] for what cannot be copied,
    /// [`PluginError::TooLarge`] for more than a plugin may have, and
    /// [`PluginError::Io`] where something cannot be read.
    pub fn of(root: &Path, selection: &Selection) -> Result<Self, PluginError> {
        Ok(Self::list(root, selection, None)?.0)
    }

    /// Lists the files, and keeps the very bytes that their digests are of.
    pub(super) fn with_bytes(root: &Path, selection: &Selection) -> Result<(Self, Bytes), PluginError> {
        let (tree, kept) = Self::list(root, selection, Some(Bytes::new()))?;
        Ok((tree, kept.unwrap_or_default()))
    }

    fn list(
        root: &Path,
        selection: &Selection,
        kept: Option<Bytes>,
    ) -> Result<(Self, Option<Bytes>), PluginError> {
        let real = root.canonicalize().map_err(PluginError::io("read", root))?;
        let tree = Self::default();
        let mut listing = Listing { root: &real, selection, looked_at: 0, bytes: 0, tree, kept };
        listing.directory(&real, "", 0)?;
        Ok((listing.tree, listing.kept))
    }

    /// Lists the paths of the files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Returns the digest of each file.
    pub fn digests(&self) -> BTreeMap<String, String> {
        self.files.iter().map(|(path, entry)| (path.clone(), entry.digest.clone())).collect()
    }

    /// Returns one digest over paths and digests of all files.
    pub fn digest(&self) -> String {
        digest_of_all(self.files.iter().map(|(path, entry)| (path.as_str(), entry.digest.as_str())))
    }

    /// Compares with digests that were kept.
    pub fn changes_since(&self, kept: &BTreeMap<String, String>) -> Vec<PluginChange> {
        let mut changes = Vec::new();
        for (path, entry) in &self.files {
            match kept.get(path) {
                None => changes.push(PluginChange { path: path.clone(), kind: PluginChangeKind::Added }),
                Some(digest) if *digest != entry.digest => {
                    changes.push(PluginChange { path: path.clone(), kind: PluginChangeKind::Changed });
                }
                Some(_) => {}
            }
        }
        let gone = kept.keys().filter(|path| !self.files.contains_key(*path));
        changes.extend(gone.map(|path| PluginChange { path: path.clone(), kind: PluginChangeKind::Missing }));
        changes.sort_by(|left, right| left.path.cmp(&right.path));
        changes
    }

    /// Says whether a file can be run; nothing of one that is not there.
    pub(super) fn is_executable(&self, path: &str) -> Option<bool> {
        self.files.get(path).map(|entry| entry.executable)
    }
}

/// A listing under way.
struct Listing<'a> {
    root: &'a Path,
    selection: &'a Selection,
    looked_at: u64,
    bytes: u64,
    tree: PluginTree,
    /// Filled where the bytes are wanted.
    kept: Option<Bytes>,
}

impl Listing<'_> {
    fn directory(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<(), PluginError> {
        if depth > MAX_DEPTH {
            return Err(PluginError::TooLarge { what: "nested directories", limit: MAX_DEPTH as u64 });
        }
        let read = || fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>();
        for entry in read().map_err(PluginError::io("read", directory))? {
            let path = entry.path();
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                return Err(PluginError::NoFile { path });
            };
            let kind = entry.file_type().map_err(PluginError::io("read", &path))?;
            let inner = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            self.looked_at += 1;
            if self.looked_at > MAX_LOOKED_AT {
                return Err(PluginError::TooLarge { what: "files and directories", limit: MAX_LOOKED_AT });
            }
            if kind.is_dir() {
                if self.selection.enters(&inner, &name) {
                    self.directory(&path, &inner, depth + 1)?;
                }
            } else if self.selection.takes(&inner) {
                self.file(&path, inner, kind.is_symlink())?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, inner: String, is_link: bool) -> Result<(), PluginError> {
        let link = || PluginError::Link { path: path.to_owned() };
        let mut origin = path.to_owned();
        if is_link {
            origin = path.canonicalize().map_err(|_| link())?;
            let hidden = |part: &std::ffi::OsStr| LEFT_OUT.iter().any(|name| part == *name);
            let within = origin.strip_prefix(self.root).is_ok_and(|inner| !inner.iter().any(hidden));
            if *self.selection == Selection::Installed || !within || !origin.is_file() {
                return Err(link());
            }
        }
        let (file, metadata) = match open(&origin).map_err(PluginError::io("read", &origin))? {
            Some(opened) => opened,
            None => return Err(PluginError::NoFile { path: origin }),
        };
        if self.tree.files.len() >= MAX_FILES {
            return Err(PluginError::TooLarge { what: "files", limit: MAX_FILES as u64 });
        }
        let left = MAX_BYTES - self.bytes;
        if metadata.len() > left {
            return Err(PluginError::TooLarge { what: "bytes", limit: MAX_BYTES });
        }
        // It may grow meanwhile.
        let mut file = file.take(left + 1);
        let mut digest = Digesting::default();
        let read = match &mut self.kept {
            None => io::copy(&mut file, &mut digest),
            Some(kept) => {
                let mut bytes = Vec::new();
                let read = file.read_to_end(&mut bytes);
                digest.add(&bytes);
                kept.insert(inner.clone(), bytes.into());
                read.map(|read| read as u64)
            }
        };
        let read = read.map_err(PluginError::io("read", &origin))?;
        if read > left {
            return Err(PluginError::TooLarge { what: "bytes", limit: MAX_BYTES });
        }
        self.bytes += read;
        let executable = metadata.permissions().mode() & 0o111 != 0;
        self.tree.files.insert(inner, Entry { digest: digest.finish(), executable });
        Ok(())
    }
}

/// Opens a file that is no link, without waiting; nothing where it is no
/// regular file.
fn open(path: &Path) -> io::Result<Option<(File, fs::Metadata)>> {
    let file = match open_unlinked(path) {
        Err(FileError::NotAFile { .. }) => return Ok(None),
        opened => opened?,
    };
    let metadata = file.metadata()?;
    Ok(Some((file, metadata)))
}

/// Returns one digest over paths and digests of files, as [`PluginTree::digest`] does.
pub(super) fn digest_over(files: &BTreeMap<String, String>) -> String {
    digest_of_all(files.iter().map(|(path, digest)| (path.as_str(), digest.as_str())))
}

fn digest_of_all<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut all = Digesting::default();
    for (path, digest) in files {
        for part in [path.as_bytes(), &[0], digest.as_bytes(), &[0]] {
            all.add(part);
        }
    }
    all.finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::symlink;

    use super::*;

    fn source_of(root: &Path) -> Result<PluginTree, PluginError> {
        PluginTree::of(root, &Selection::Source)
    }

    fn installed_of(root: &Path) -> Result<PluginTree, PluginError> {
        PluginTree::of(root, &Selection::Installed)
    }

    fn plugin() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("hooks")).unwrap();
        fs::create_dir_all(dir.path().join("target/debug")).unwrap();
        fs::write(dir.path().join("hooks/check.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(dir.path().join("hooks/check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(dir.path().join("samuel-plugin.toml"), "").unwrap();
        fs::write(dir.path().join("target/debug/x"), "large").unwrap();
        dir
    }

    #[test]
    fn what_was_changed_added_or_removed_is_listed() {
        let dir = plugin();
        fs::remove_dir_all(dir.path().join("target")).unwrap();
        let kept = installed_of(dir.path()).unwrap();
        fs::write(dir.path().join("hooks/check.sh"), "#!/bin/sh\nevil\n").unwrap();
        fs::write(dir.path().join("new"), "").unwrap();
        fs::remove_file(dir.path().join("samuel-plugin.toml")).unwrap();
        let now = installed_of(dir.path()).unwrap();
        let changes: Vec<String> =
            now.changes_since(&kept.digests()).iter().map(ToString::to_string).collect();
        assert_eq!(changes, ["changed: hooks/check.sh", "new: new", "missing: samuel-plugin.toml"]);
        assert_ne!(now.digest(), kept.digest());
    }

    #[test]
    fn links_that_lead_out_are_refused_and_so_is_every_link_once_installed() {
        for target in ["/etc/hostname", "../outside", "missing", "hooks", "target/debug/x"] {
            let dir = plugin();
            symlink(target, dir.path().join("link")).unwrap();
            let error = source_of(dir.path()).unwrap_err();
            assert!(matches!(error, PluginError::Link { .. }), "{target}: {error}");
        }
        let dir = plugin();
        symlink("hooks/check.sh", dir.path().join("link")).unwrap();
        assert!(matches!(installed_of(dir.path()), Err(PluginError::Link { .. })));
    }

    #[test]
    fn a_plugin_with_too_many_files_or_bytes_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            File::create(dir.path().join(number.to_string())).unwrap();
        }
        assert!(matches!(source_of(dir.path()), Err(PluginError::TooLarge { what: "files", .. })));
        let dir = tempfile::tempdir().unwrap();
        // A file of holes takes no space.
        File::create(dir.path().join("a")).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(matches!(source_of(dir.path()), Err(PluginError::TooLarge { what: "bytes", .. })));
    }

    #[test]
    fn a_pipe_is_no_file_and_nobody_waits_for_it() {
        let dir = tempfile::tempdir().unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert!(matches!(source_of(dir.path()), Err(PluginError::NoFile { .. })));
    }
}
