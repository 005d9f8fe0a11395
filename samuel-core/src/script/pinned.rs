//! Files of a project that a command starts, run from a copy outside of it.
//!
//! Between a look at a script and its start, whoever writes to the project could exchange it.
//! [`Pinned`] reads each file that a command starts once, keeps its digest, writes the very bytes
//! to a private copy and puts that in the place of the word that names it: the program, the script
//! that an interpreter is given, what `.` reads. What it cannot put a copy in the place of is
//! compared before a call and after it, and [told](Pinned::unpinned).
//!
//! In a copy `$0` and `BASH_SOURCE` are its own path, `STATE/commands/hook-XXXX/N/NAME`, as `__file__`
//! is in Python; a file that a shell's line reads by `.` leaves `$0` as it is. Beside the copy stand
//! the copies of what other commands start from the script's own directory and links to everything else
//! there, so `. "$(dirname "$0")/lib.sh"` works, and to the `node_modules` and `package.json` that would be found above it. Nothing else does: `..` leads
//! to no directory of the project, which a script finds by its working directory or by
//! `$SAMUEL_PROJECT_ROOT`. What a script starts itself is not copied.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    CommandLine, CopyError, CopyOf, PrivateCopy,
    named::{Executed, Start, started_places, starts},
    private_copy::Stamp,
    reading::{MAX_BYTES, Reading},
};
use crate::{
    fs::{FileError, Root},
    model::digest_of,
};

/// A command whose files are those that were read when it was made.
#[derive(Debug)]
pub struct Pinned {
    command: CommandLine,
    files: Vec<ScriptFile>,
    unpinned: Vec<String>,
    lints: Vec<String>,
    missing: Vec<Vec<PathBuf>>,
    /// The paths of its files within the copy, which may be that of others too.
    copied: Vec<PathBuf>,
    copy: Option<Arc<PrivateCopy>>,
    root: PathBuf,
}

/// A file of the project that a command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFile {
    /// Its path, relative to the root.
    pub path: PathBuf,
    /// `sha256:` and the digest of the bytes that were read; empty for a file that cannot be read or is longer
    /// than 64 MiB, with which the command is not run.
    pub digest: String,
    /// Its copy; none where the file itself is started.
    pub copy: Option<PathBuf>,
}

/// Whose commands are pinned, where their copies lie, and what of them stays as it is.
#[derive(Clone, Copy)]
pub struct PinOptions<'a> {
    /// The project's root, absolute.
    pub root: &'a Path,
    /// A private directory outside of every project, made with mode 0700, for the copies. Without
    /// one the files are started where they are, and compared.
    pub state_dir: Option<&'a Path>,
    /// Says which of some files, by their absolute paths, are started as they are then, as the
    /// product of a build is.
    pub products: &'a dyn Fn(&[PathBuf]) -> BTreeSet<PathBuf>,
}

impl Pinned {
    /// Reads the files of the project that commands start, each in the absolute directory beside it,
    /// and makes the commands that start their copies. A file that several start is read once, and
    /// the copies lie together. Starts nothing. Blocks.
    ///
    /// # Errors
    /// Returns a [`CopyError`] where the copies cannot be made.
    pub fn all(commands: &[(CommandLine, PathBuf)], options: PinOptions<'_>) -> Result<Vec<Self>, CopyError> {
        let PinOptions { root, state_dir, products } = options;
        let executed: Vec<Executed> =
            commands.iter().map(|(command, cwd)| executed(command, root, cwd)).collect();
        let named = executed.iter().flat_map(|one| one.started.iter().chain(one.missing.iter().flatten()));
        let named: Vec<PathBuf> = named.cloned().collect();
        let exempt = if named.is_empty() { BTreeSet::new() } else { products(&named) };
        let mut reading = Reading::new(root, &exempt);
        let mut places = Vec::new();
        for ((command, cwd), executed) in commands.iter().zip(&executed) {
            let found = self::places(command, root, cwd).into_iter();
            let read = found.filter_map(|(at, path)| Some((at, reading.file(&path, &executed.started)?)));
            places.push(read.collect::<Vec<_>>());
        }
        let copy = match state_dir.filter(|_| !reading.files.is_empty()) {
            None => None,
            Some(state_dir) => {
                let (files, links) = (reading.copied(), reading.links());
                Some(Arc::new(PrivateCopy::make(state_dir, CopyOf::Command, "hook", files, links)?))
            }
        };
        let starts = commands.iter().zip(executed.iter().zip(places));
        let pinned = starts.map(|((command, cwd), (executed, places))| {
            let mut pinned = Self {
                command: command.clone(),
                files: Vec::new(),
                unpinned: Vec::new(),
                lints: Vec::new(),
                missing: missing(executed, &exempt),
                root: root.to_owned(),
                copied: Vec::new(),
                copy: copy.clone(),
            };
            pinned.start_copies(places, &reading)?;
            pinned.keep_unpinned(cwd, &exempt);
            Ok(pinned)
        });
        pinned.collect()
    }

    /// Puts copies in the places of what was read. Without a copy that is among what is started
    /// where it is.
    fn start_copies(&mut self, places: Vec<(At, PathBuf)>, reading: &Reading<'_>) -> Result<(), CopyError> {
        let Some(copy) = &self.copy else { return Ok(()) };
        let mut copied = BTreeMap::new();
        for (at, path) in places.into_iter().rev() {
            let Some(read) = reading.files.get(&path) else { continue };
            at.put(&mut self.command, &copy.root().join(&read.inner))?;
            copied.insert(path, read);
        }
        for (path, read) in copied {
            let relative = path.strip_prefix(&self.root).unwrap_or(&path).to_owned();
            self.lints.extend(read.lint(&relative));
            let (digest, copy) = (digest_of(&read.bytes), Some(copy.root().join(&read.inner)));
            self.files.push(ScriptFile { path: relative, digest, copy });
            self.copied.push(read.inner.clone());
        }
        Ok(())
    }

    /// Finds what the command still starts where it is: what is said of the command as it is now.
    fn keep_unpinned(&mut self, cwd: &Path, exempt: &BTreeSet<PathBuf>) {
        let executed = executed(&self.command, &self.root, cwd);
        for path in executed.started.iter().filter(|path| !exempt.contains(*path)) {
            let relative = path.strip_prefix(&self.root).unwrap_or(path).to_owned();
            let shown = relative.display();
            let (digest, told) = match digest_now(&self.root, path) {
                Ok(digest) => {
                    let told = format!(
                        "`{shown}` is started where it is, not from a copy: name it plainly, as in `sh {shown}`, without \
                         a `cd` before it"
                    );
                    (digest, told)
                }
                Err(error) => {
                    let told = format!("the command is not run, since `{shown}` cannot be compared: {error}");
                    (String::new(), told)
                }
            };
            self.unpinned.push(told);
            self.files.push(ScriptFile { path: relative, digest, copy: None });
        }
        let program = executed.unknown_program.map(|program| format!("`{program}`"));
        let script = executed.is_unknown.then(|| "a script".to_owned());
        if let Some(unknown) = program.or(script) {
            self.unpinned.push(format!(
                "only the shell knows which file {unknown} is, so that a change of it is not noticed: name it plainly"
            ));
        }
    }

    /// Returns the command that starts the copies.
    pub fn command(&self) -> &CommandLine {
        &self.command
    }

    /// Returns the files of the project that the command starts, with the digests of what was read.
    pub fn files(&self) -> &[ScriptFile] {
        &self.files
    }

    /// Says what the command starts of the project that is not a copy. Such a file is compared
    /// before a call and after it, so that a change in between is told and not prevented; what only
    /// the shell knows is not even that.
    pub fn unpinned(&self) -> &[String] {
        &self.unpinned
    }

    /// Says which scripts look for files by their own place in a way that fails in a copy.
    pub fn lints(&self) -> &[String] {
        &self.lints
    }

    /// Returns where files would stand that the command starts and that did not exist: for each of
    /// them a place in every directory in which it may be looked for. The command is not run once
    /// there is one.
    pub fn missing(&self) -> &[Vec<PathBuf>] {
        &self.missing
    }

    /// Puts the names of the project's files in the place of those of their copies in a message.
    pub(super) fn in_own_names(&self, message: &str) -> String {
        let copies = self.files.iter().filter_map(|file| Some((file.copy.as_ref()?, &file.path)));
        copies.fold(message.to_owned(), |message, (copy, path)| {
            message.replace(&*copy.to_string_lossy(), &path.to_string_lossy())
        })
    }

    /// Says what is not as it was when it was read. Blocks.
    pub(super) fn difference(&self) -> Option<String> {
        if let Some(difference) = self.copy.as_ref().and_then(|copy| copy.difference_in(&self.copied)) {
            return Some(difference);
        }
        let is_same = |file: &&ScriptFile| {
            digest_now(&self.root, &self.root.join(&file.path)).is_ok_and(|now| now == file.digest)
        };
        if let Some(changed) = self.watched().find(|file| !is_same(file)) {
            return Some(format!("changed: {}", changed.path.display()));
        }
        let appeared = self.missing.iter().flatten().find(|path| path.symlink_metadata().is_ok())?;
        Some(format!("new: {}", appeared.strip_prefix(&self.root).unwrap_or(appeared).display()))
    }

    /// Returns what tells that a file which is no copy was written to. Blocks.
    pub(super) fn stamps(&self) -> Vec<Option<Stamp>> {
        let stamp = |file: &ScriptFile| {
            let found = Root::new(&self.root).open(&self.root.join(&file.path)).ok()?.metadata().ok()?;
            Some(Stamp::of_found(&found))
        };
        self.watched().map(stamp).collect()
    }

    /// Says what was touched since a look at the stamps. Blocks.
    pub(super) fn touched(&self, before: &[Option<Stamp>]) -> Option<String> {
        if let Some(touched) = self.copy.as_ref().and_then(|copy| copy.touched()) {
            return Some(touched);
        }
        let now = self.stamps();
        let mut pairs = self.watched().zip(before.iter().zip(&now));
        let (file, _) = pairs.find(|(_, (before, now))| before != now)?;
        Some(format!("written to: {}", file.path.display()))
    }

    /// Returns the files that are started where they are.
    fn watched(&self) -> impl Iterator<Item = &ScriptFile> {
        self.files.iter().filter(|file| file.copy.is_none())
    }
}

/// A place in a command.
enum At {
    /// One of its words.
    Word(usize),
    /// A part of a word, which is a shell's line, or of the line itself.
    Line(usize, std::ops::Range<usize>),
}

impl At {
    /// Puts a path in this place.
    fn put(self, command: &mut CommandLine, path: &Path) -> Result<(), CopyError> {
        let failed = || CopyError {
            action: "name in a command",
            path: path.to_owned(),
            source: io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"),
        };
        let quoted = || {
            let text = path.to_str().ok_or_else(failed)?;
            shlex::try_quote(text).map(String::from).map_err(|_| failed())
        };
        match (self, command) {
            (Self::Word(at), CommandLine::Words(words)) => {
                if let Some(word) = words.get_mut(at) {
                    *word = path.into();
                }
            }
            (Self::Line(_, span), CommandLine::Shell(line)) => line.replace_range(span, &quoted()?),
            (Self::Line(at, span), CommandLine::Words(words)) => {
                if let Some(word) = words.get_mut(at) {
                    let mut line = word.to_str().ok_or_else(failed)?.to_owned();
                    line.replace_range(span, &quoted()?);
                    *word = OsString::from(line);
                }
            }
            (Self::Word(_), CommandLine::Shell(_)) => {}
        }
        Ok(())
    }
}

/// Returns the places of files that did not exist, but of those that the work is to make.
fn missing(executed: &Executed, exempt: &BTreeSet<PathBuf>) -> Vec<Vec<PathBuf>> {
    let is_made = |places: &&Vec<PathBuf>| places.iter().any(|path| exempt.contains(path));
    executed.missing.iter().filter(|places| !is_made(places)).cloned().collect()
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn executed(command: &CommandLine, root: &Path, cwd: &Path) -> Executed {
    match command {
        CommandLine::Shell(line) => Executed::by_hook(line, root, cwd),
        CommandLine::Words(words) => Executed::by_words(&texts(words), root, cwd),
    }
}

/// Returns where a command names files that it starts, in order.
fn places(command: &CommandLine, root: &Path, cwd: &Path) -> Vec<(At, PathBuf)> {
    let in_line = |at: usize, line: &str| {
        let places = started_places(line, root, cwd).into_iter();
        places.map(|place| (At::Line(at, place.span), place.path)).collect::<Vec<_>>()
    };
    match command {
        CommandLine::Shell(line) => in_line(0, line),
        CommandLine::Words(words) => {
            let place = |start: Start| match start {
                Start::File(at) => {
                    words.get(at).map(|word| vec![(At::Word(at), cwd.join(word))]).unwrap_or_default()
                }
                Start::Code(at) => words
                    .get(at)
                    .and_then(|word| word.to_str())
                    .map(|line| in_line(at, line))
                    .unwrap_or_default(),
            };
            starts(&texts(words)).into_iter().flat_map(place).collect()
        }
    }
}

fn digest_now(root: &Path, path: &Path) -> Result<String, FileError> {
    Ok(digest_of(&Root::new(root).read(path, MAX_BYTES)?))
}
