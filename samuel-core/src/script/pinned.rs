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
//! links to everything else in the script's own directory, so `. "$(dirname "$0")/lib.sh"` works, and
//! to the `node_modules` and `package.json` that would be found above it. Nothing else does: `..` leads
//! to no directory of the project, which a script finds by its working directory or by
//! `$SAMUEL_PROJECT_ROOT`. What a script starts itself is not copied.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    CommandLine, CopiedFile, CopyError, CopyOf, PrivateCopy,
    named::{Executed, Start, in_project, started_places, starts},
    private_copy::Stamp,
};
use crate::{
    fs::{FileError, Root, read_up_to},
    model::digest_of,
};

/// The longest file that is copied, and all of a command together.
const MAX_BYTES: u64 = 64 << 20;
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

/// A command whose files are those that were read when it was made.
#[derive(Debug)]
pub struct Pinned {
    command: CommandLine,
    files: Vec<ScriptFile>,
    unpinned: Vec<String>,
    lints: Vec<String>,
    missing: Vec<Vec<PathBuf>>,
    copy: Option<PrivateCopy>,
    root: PathBuf,
}

/// A file of the project that a command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFile {
    /// Its path, relative to the root.
    pub path: PathBuf,
    /// `sha256:` and the digest of the bytes that were read.
    pub digest: String,
    /// Its copy; none where the file itself is started.
    pub copy: Option<PathBuf>,
}

/// Where a command runs, and what of it stays as it is.
#[derive(Clone, Copy)]
pub struct PinOptions<'a> {
    /// The project's root, absolute.
    pub root: &'a Path,
    /// The directory that the command runs in, absolute.
    pub cwd: &'a Path,
    /// A private directory outside of every project, made with mode 0700.
    pub state_dir: &'a Path,
    /// Says of a file, by its absolute path, that it is started as it is then, as the product of a
    /// build is.
    pub is_exempt: &'a dyn Fn(&Path) -> bool,
}

/// A file that was read.
struct Read {
    bytes: Vec<u8>,
    is_executable: bool,
    /// Its path within the copy.
    inner: PathBuf,
}

/// The files to be copied, by their paths, and the directories that they are in.
struct Reading<'a> {
    root: &'a Path,
    started: &'a [PathBuf],
    is_exempt: &'a dyn Fn(&Path) -> bool,
    files: BTreeMap<PathBuf, Read>,
    directories: Vec<PathBuf>,
    bytes: u64,
}

impl Reading<'_> {
    /// Reads a file that a word names, if the command starts it and it is to be copied, and returns
    /// its path as it is known.
    fn file(&mut self, named: &Path) -> Option<PathBuf> {
        let path = in_project(named, self.root).filter(|path| self.started.contains(path))?;
        if self.files.contains_key(&path) {
            return Some(path);
        }
        if (self.is_exempt)(&path) {
            return None;
        }
        let file = Root::new(self.root).open(&path).ok()?;
        let is_executable = file.metadata().ok()?.mode() & 0o111 != 0;
        let bytes = read_up_to(file, MAX_BYTES.checked_sub(self.bytes)?).ok()?;
        self.bytes += bytes.len() as u64;
        let directory = path.parent()?.to_owned();
        let known = self.directories.iter().position(|known| *known == directory);
        let number = known.unwrap_or_else(|| {
            self.directories.push(directory);
            self.directories.len() - 1
        });
        let inner = Path::new(&number.to_string()).join(path.file_name()?);
        self.files.insert(path.clone(), Read { bytes, is_executable, inner });
        Some(path)
    }

    /// Returns the links that stand beside the copies.
    fn links(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut links = BTreeMap::new();
        for (number, directory) in self.directories.iter().enumerate() {
            let inner = PathBuf::from(number.to_string());
            let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(MAX_LINKS);
            for entry in entries.filter(|entry| entry.file_name() != NOT_LINKED) {
                links.insert(inner.join(entry.file_name()), entry.path());
            }
            let above = directory.ancestors().take_while(|above| above.starts_with(self.root));
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

impl Pinned {
    /// Reads the files of the project that a command starts, and makes the command that starts
    /// their copies. Starts nothing. Blocks.
    ///
    /// # Errors
    /// Returns a [`CopyError`] where the copy cannot be made. A file that cannot be read, or is longer
    /// than 64 MiB, is started where it is.
    pub fn of(command: &CommandLine, options: PinOptions<'_>) -> Result<Self, CopyError> {
        let PinOptions { root, cwd, state_dir, is_exempt } = options;
        let executed = executed(command, root, cwd);
        let started = &*executed.started;
        let (files, directories) = (BTreeMap::new(), Vec::new());
        let mut reading = Reading { root, started, is_exempt, files, directories, bytes: 0 };
        let places = places(command, root, cwd);
        let places: Vec<(At, PathBuf)> =
            places.into_iter().filter_map(|(at, path)| Some((at, reading.file(&path)?))).collect();
        let copied = reading.files.values().map(|read| CopiedFile {
            path: &read.inner,
            bytes: &read.bytes,
            is_executable: read.is_executable,
        });
        let copy = match reading.files.is_empty() {
            true => None,
            false => Some(PrivateCopy::make(state_dir, CopyOf::Command, "hook", copied, reading.links())?),
        };
        let place_of = |path: &PathBuf| {
            let (copy, read) = (copy.as_ref()?, reading.files.get(path)?);
            Some(copy.root().join(&read.inner))
        };
        let mut replaced = command.clone();
        for (at, path) in places.into_iter().rev() {
            if let Some(place) = place_of(&path) {
                at.put(&mut replaced, &place)?;
            }
        }
        let mut pinned = Self {
            command: replaced,
            files: Vec::new(),
            unpinned: Vec::new(),
            lints: Vec::new(),
            missing: executed.missing.clone(),
            root: root.to_owned(),
            copy: None,
        };
        for (path, read) in &reading.files {
            let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
            pinned.lints.extend(lint(&relative, &read.bytes));
            let digest = digest_of(&read.bytes);
            pinned.files.push(ScriptFile { path: relative, digest, copy: place_of(path) });
        }
        pinned.copy = copy;
        pinned.keep_unpinned(cwd, is_exempt);
        Ok(pinned)
    }

    /// Finds what the command still starts where it is: what is said of the command as it is now.
    fn keep_unpinned(&mut self, cwd: &Path, is_exempt: &dyn Fn(&Path) -> bool) {
        let executed = executed(&self.command, &self.root, cwd);
        for path in executed.started.iter().filter(|path| !is_exempt(path)) {
            let relative = path.strip_prefix(&self.root).unwrap_or(path).to_owned();
            let shown = relative.display();
            self.unpinned.push(format!(
                "`{shown}` is started where it is, not from a copy: name it plainly, as in `sh {shown}`, without a \
                 `cd` before it"
            ));
            let digest = digest_now(&self.root, path).unwrap_or_else(|error| error.to_string());
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
    /// them a place in every directory in which it may be looked for. They are not compared.
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
        if let Some(difference) = self.copy.as_ref().and_then(PrivateCopy::difference) {
            return Some(difference);
        }
        let is_same = |file: &&ScriptFile| {
            digest_now(&self.root, &self.root.join(&file.path)).is_ok_and(|now| now == file.digest)
        };
        let changed = self.watched().find(|file| !is_same(file))?;
        Some(format!("changed: {}", changed.path.display()))
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
        if let Some(touched) = self.copy.as_ref().and_then(PrivateCopy::touched) {
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

/// Says that a script goes elsewhere from its own place.
fn lint(path: &Path, bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes.get(..MAX_READ).unwrap_or(bytes));
    let has = |line: &str, marks: &[&str]| marks.iter().any(|mark| line.contains(mark));
    let is_code = |line: &str| !line.trim_start().starts_with(['#', '/']);
    let mut lines = text.lines().enumerate();
    let (at, _) = lines.find(|(_, line)| is_code(line) && has(line, OWN_PLACE) && has(line, GOES_ON))?;
    Some(format!(
        "line {} of `{}` goes elsewhere from the script's own place, which is that of a copy outside of the project: \
         start from the working directory or from $SAMUEL_PROJECT_ROOT",
        at + 1,
        path.display()
    ))
}
