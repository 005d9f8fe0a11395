//! The files that a command starts, read once to be copied.
//!
//! [`Reading`] takes the files that words name and keeps their bytes, up to a limit for all of a
//! command, and says what stands beside their copies. What is done with them is left to
//! [`Pinned`](super::Pinned).

use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{CopiedFile, named::in_project};
use crate::fs::{Root, read_up_to};

/// How much is read and kept of the files of all commands that share a [`Budget`].
pub(super) const MAX_BYTES: u64 = 64 << 20;
/// How many entries of a script's directory are linked to.
const MAX_LINKS: usize = 1_000;
/// What stands beside a copy although it stands above the script: where programs for Node look.
const FROM_ABOVE: [&str; 2] = ["node_modules", "package.json"];
/// What is not linked to: a repository there would take the copy for its work tree.
const NOT_LINKED: &str = ".git";
/// By which names a script knows its own place.
const OWN_PLACE: &[&str] =
    &["$0", "${0", "BASH_SOURCE", "__file__", "__FILE__", "__DIR__", "__dirname", "import.meta"];
/// What tells that it goes elsewhere from there.
const GOES_ON: &[&str] = &["..", "cd ", "chdir", ".parent.parent", "parents["];
/// How much of a script is looked at for that.
const MAX_READ: usize = 256 << 10;

/// A file that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) bytes: Vec<u8>,
    is_executable: bool,
    /// Its path within the copy.
    pub(super) inner: PathBuf,
}

/// The files to be copied, by their paths, and the directories that they are in.
#[derive(Debug, Default)]
pub(super) struct Contents {
    root: PathBuf,
    pub(super) files: BTreeMap<PathBuf, Read>,
    directories: Vec<PathBuf>,
}

/// Reads files, up to a limit for all commands that share it.
pub(super) struct Reading<'a> {
    started: &'a [PathBuf],
    is_exempt: &'a dyn Fn(&Path) -> bool,
    budget: &'a Budget,
    pub(super) contents: Contents,
}

/// How many bytes may still be read and kept, for all commands of a hook file together.
#[derive(Debug)]
pub struct Budget(Cell<u64>);

impl Default for Budget {
    /// 64 MiB.
    fn default() -> Self {
        Self(Cell::new(MAX_BYTES))
    }
}

impl Budget {
    /// Returns what is left.
    pub(super) fn left(&self) -> u64 {
        self.0.get()
    }

    /// Takes of it.
    pub(super) fn take(&self, bytes: u64) {
        self.0.set(self.left().saturating_sub(bytes));
    }
}

impl<'a> Reading<'a> {
    /// Begins with the files of a project that a command starts. Reads nothing.
    pub(super) fn new(
        root: &Path,
        started: &'a [PathBuf],
        is_exempt: &'a dyn Fn(&Path) -> bool,
        budget: &'a Budget,
    ) -> Self {
        let contents = Contents { root: root.to_owned(), ..Contents::default() };
        Self { started, is_exempt, budget, contents }
    }

    /// Reads a file that a word names, if the command starts it and it is to be copied, and returns
    /// its path within the copy.
    pub(super) fn file(&mut self, named: &Path) -> Option<PathBuf> {
        let contents = &mut self.contents;
        let path = in_project(named, &contents.root).filter(|path| self.started.contains(path))?;
        if let Some(read) = contents.files.get(&path) {
            return Some(read.inner.clone());
        }
        if (self.is_exempt)(&path) {
            return None;
        }
        let file = Root::new(&contents.root).open(&path).ok()?;
        let is_executable = file.metadata().ok()?.mode() & 0o111 != 0;
        let bytes = read_up_to(file, self.budget.left()).ok()?;
        self.budget.take(bytes.len() as u64);
        let directory = path.parent()?.to_owned();
        let known = contents.directories.iter().position(|known| *known == directory);
        let number = known.unwrap_or_else(|| {
            contents.directories.push(directory);
            contents.directories.len() - 1
        });
        let inner = Path::new(&number.to_string()).join(path.file_name()?);
        contents.files.insert(path, Read { bytes, is_executable, inner: inner.clone() });
        Some(inner)
    }
}

impl Contents {
    /// Returns what was read, for a copy.
    pub(super) fn copied(&self) -> impl Iterator<Item = CopiedFile<'_>> {
        self.files.values().map(|read| CopiedFile {
            path: &read.inner,
            bytes: &read.bytes,
            is_executable: read.is_executable,
        })
    }
    /// Returns the links that stand beside the copies.
    pub(super) fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut links = BTreeMap::new();
        for (number, directory) in self.directories.iter().enumerate() {
            let inner = PathBuf::from(number.to_string());
            let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_LINKS);
            for entry in entries.filter(|entry| entry.file_name() != NOT_LINKED) {
                links.insert(inner.join(entry.file_name()), entry.path());
            }
            let above = directory.ancestors().take_while(|above| above.starts_with(&self.root));
            for place in above.flat_map(|above| FROM_ABOVE.map(|name| above.join(name))) {
                let name = place.file_name().map(|name| inner.join(name));
                if let Some(name) = name.filter(|_| place.exists()) {
                    links.entry(name).or_insert(place);
                }
            }
        }
        let is_copy = |inner: &PathBuf| self.files.values().any(|read| read.inner == *inner);
        links.into_iter().filter(|(inner, _)| !is_copy(inner)).collect()
    }
}

impl Read {
    /// Says that a script goes elsewhere from its own place.
    pub(super) fn lint(&self, path: &Path) -> Option<String> {
        let text = String::from_utf8_lossy(self.bytes.get(..MAX_READ).unwrap_or(&self.bytes));
        let has = |line: &str, marks: &[&str]| marks.iter().any(|mark| line.contains(mark));
        let is_code = |line: &str| !line.trim_start().starts_with(['#', '/']);
        let mut lines = text.lines().enumerate();
        let (at, _) = lines.find(|(_, line)| is_code(line) && has(line, OWN_PLACE) && has(line, GOES_ON))?;
        Some(format!(
            "line {} of `{}` goes elsewhere from the script's own place, which is that of a copy outside of the \
             project: start from the working directory or from $SAMUEL_PROJECT_ROOT",
            at + 1,
            path.display()
        ))
    }
}
