//! Files that are about to be written.
//!
//! A [`Draft`] is a file's whole new content, made and checked before anything
//! is written; [`Drafts`] keeps those that change something. Writing one
//! replaces the file at once, so that readers see the old or the new text.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
};

use super::{FileChange, FileChangeKind, LifecycleError, section};
use crate::fs::{FileError, LastLink, Manner, Replacement, Root, found};

/// The largest context file that is brought up to date, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The files that a command is about to write.
#[derive(Debug)]
pub(super) struct Drafts {
    root: Root,
    list: Vec<Draft>,
    /// Every file that was looked at, links followed.
    seen: BTreeSet<PathBuf>,
    /// How many of them are up to date.
    pub(super) unchanged: usize,
    pub(super) warnings: Vec<String>,
}

/// A file that is about to be written.
#[derive(Debug)]
struct Draft {
    /// The file itself, links followed.
    path: PathBuf,
    /// How the project names it.
    name: String,
    before: Option<String>,
    content: String,
}

impl Drafts {
    /// Starts with no files. The root is the project's.
    pub(super) fn new(root: &Path) -> Result<Self, LifecycleError> {
        let root = Root::new(root.canonicalize().map_err(failed("find", root))?);
        let (seen, warnings) = (BTreeSet::new(), Vec::new());
        Ok(Self { root, list: Vec::new(), seen, unchanged: 0, warnings })
    }

    /// Puts text into Samuel's section of a file. Without anything to say no
    /// new section is made.
    pub(super) fn place(&mut self, name: &str, body: &str) -> Result<(), LifecycleError> {
        let named = self.root.path().join(name);
        let path = self.follow(&named)?;
        let before = read(&self.root, &path)?;
        if !self.seen.insert(path.clone()) {
            self.warnings.push(format!("{name} is the same file as another one and was left out"));
            return Ok(());
        }
        let text = before.as_deref().unwrap_or_default();
        let markers = |source| LifecycleError::Markers { path: named.clone(), source };
        if body.trim().is_empty() && section::find(text).map_err(markers)?.is_none() {
            return Ok(());
        }
        let content = section::place(text, body).map_err(markers)?;
        self.put(Draft { path, name: name.to_owned(), before, content });
        Ok(())
    }

    /// Writes a file as a whole, unless there is one and it must not be
    /// replaced. Returns what it held where it will be replaced.
    pub(super) fn whole(
        &mut self,
        name: &str,
        content: String,
        replace: bool,
    ) -> Result<Option<String>, LifecycleError> {
        let path = self.follow(&self.root.path().join(name))?;
        let before = read(&self.root, &path)?;
        if before.is_some() && !replace {
            self.unchanged += 1;
            return Ok(None);
        }
        let replaced = before.clone().filter(|before| *before != content);
        self.put(Draft { path, name: name.to_owned(), before, content });
        Ok(replaced)
    }

    fn put(&mut self, draft: Draft) {
        match draft.before.as_ref() == Some(&draft.content) {
            true => self.unchanged += 1,
            false => self.list.push(draft),
        }
    }

    /// Returns where a name really leads. A file that is not there yet is
    /// where its directory is.
    fn follow(&self, path: &Path) -> Result<PathBuf, LifecycleError> {
        match self.root.walk(path, LastLink::Follow) {
            Ok(place) => Ok(self.root.path().join(place.names.iter().collect::<PathBuf>())),
            Err(FileError::Outside { link: path, target }) => Err(LifecycleError::Outside { path, target }),
            Err(error) => Err(failed("find", path)(error.into())),
        }
    }

    /// Returns what is about to be written, by name.
    pub(super) fn changes(&self) -> Vec<FileChange> {
        let kind = |draft: &Draft| match draft.before {
            Some(_) => FileChangeKind::Update,
            None => FileChangeKind::Create,
        };
        self.list.iter().map(|draft| FileChange { path: draft.name.clone(), kind: kind(draft) }).collect()
    }

    /// Writes everything.
    pub(super) fn write(self) -> Result<(), LifecycleError> {
        self.stage()?.place()
    }

    /// Stores everything under temporary names, so that little can go wrong after it.
    pub(super) fn stage(self) -> Result<Staged, LifecycleError> {
        let Self { root, list, .. } = self;
        let staged = list.into_iter().map(|draft| Ok((draft.stage(&root)?, draft.path)));
        staged.collect::<Result<_, _>>().map(Staged)
    }
}

/// Files that are written but for their names; dropped, they leave no trace.
#[derive(Debug)]
pub(super) struct Staged(Vec<(Replacement, PathBuf)>);

impl Staged {
    /// Puts the files in place.
    pub(super) fn place(self) -> Result<(), LifecycleError> {
        self.0.into_iter().try_for_each(|(file, path)| file.commit().map_err(failed("write", &path)))
    }
}

impl Draft {
    fn stage(&self, root: &Root) -> Result<Replacement, LifecycleError> {
        if read(root, &self.path)? != self.before {
            return Err(LifecycleError::Changed { path: self.path.clone() });
        }
        let staged = root.stage(&self.path, [self.content.as_bytes()], &Manner::PROJECT);
        staged.map_err(|error| failed("write", &self.path)(error.into()))
    }
}

/// Reads a file; nothing where there is none.
fn read(root: &Root, path: &Path) -> Result<Option<String>, LifecycleError> {
    found(root.read_text(path, MAX_BYTES)).map_err(|error| failed("read", path)(error.into()))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LifecycleError {
    let path = path.to_owned();
    move |source| LifecycleError::File { action, path, source }
}
