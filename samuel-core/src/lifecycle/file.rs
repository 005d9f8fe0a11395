//! Files that are about to be written.
//!
//! A [`Draft`] is a file's whole new content, made and checked before anything
//! is written; [`Drafts`] keeps those that change something. Writing one
//! replaces the file at once, so that readers see the old or the new text.

use std::{
    collections::BTreeSet,
    fs, io,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use super::{Change, ChangeKind, LifecycleError, section};

/// The largest context file that is brought up to date, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The files that a command is about to write.
#[derive(Debug)]
pub(super) struct Drafts {
    root: PathBuf,
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
        let real = root.canonicalize().map_err(failed("find", root))?;
        let (seen, warnings) = (BTreeSet::new(), Vec::new());
        Ok(Self { root: real, list: Vec::new(), seen, unchanged: 0, warnings })
    }

    /// Puts text into Samuel's section of a file. Without anything to say no
    /// new section is made.
    pub(super) fn place(&mut self, name: &str, body: &str) -> Result<(), LifecycleError> {
        let named = self.root.join(name);
        let path = self.follow(&named)?;
        let before = read(&path)?;
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
        let path = self.follow(&self.root.join(name))?;
        let before = read(&path)?;
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
        let target = match path.symlink_metadata() {
            Ok(_) => path.canonicalize().map_err(failed("find", path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
            Err(error) => return Err(failed("find", path)(error)),
        };
        match target.starts_with(&self.root) {
            true => Ok(target),
            false => Err(LifecycleError::Outside { path: path.to_owned(), target }),
        }
    }

    /// Returns what is about to be written, by name.
    pub(super) fn changes(&self) -> Vec<Change> {
        let kind = |draft: &Draft| match draft.before {
            Some(_) => ChangeKind::Update,
            None => ChangeKind::Create,
        };
        self.list.iter().map(|draft| Change { path: draft.name.clone(), kind: kind(draft) }).collect()
    }

    /// Writes everything.
    pub(super) fn write(self) -> Result<(), LifecycleError> {
        self.list.iter().try_for_each(Draft::write)
    }
}

impl Draft {
    fn write(&self) -> Result<(), LifecycleError> {
        if read(&self.path)? != self.before {
            return Err(LifecycleError::Changed { path: self.path.clone() });
        }
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(failed("create", directory))?;
        let file_name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.path.with_file_name(format!(".{file_name}.{}.tmp", std::process::id()));
        let written = self.store(&temporary).and_then(|()| fs::rename(&temporary, &self.path));
        written.map_err(|error| {
            // What led here is the error to report.
            let _ = fs::remove_file(&temporary);
            failed("write", &self.path)(error)
        })
    }

    fn store(&self, temporary: &Path) -> io::Result<()> {
        let mut file = fs::File::create(temporary)?;
        if self.before.is_some() {
            file.set_permissions(fs::metadata(&self.path)?.permissions())?;
        }
        file.write_all(self.content.as_bytes())?;
        file.sync_all()
    }
}

/// Reads a file; nothing where there is none.
fn read(path: &Path) -> Result<Option<String>, LifecycleError> {
    let read = || {
        // Opening a pipe would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut text = String::new();
        let bytes = fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
        match u64::try_from(bytes).is_ok_and(|bytes| bytes <= MAX_BYTES) {
            true => Ok(text),
            false => Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 MiB")),
        }
    };
    match read() {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LifecycleError {
    let path = path.to_owned();
    move |source| LifecycleError::File { action, path, source }
}
