//! Files of a project that a command starts, run from a copy outside of it.
//!
//! Between a look at a script and its start, whoever writes to the project could exchange it.
//! [`Pinned`] reads each file that a command starts once, keeps its digest and, before the first
//! start, writes the very bytes to a private copy. It puts that in the place of the word that names it: the program, the script
//! that an interpreter is given, what `.` reads. What it cannot put a copy in the place of is
//! compared before a call and after it, and [told](Pinned::unpinned).
//!
//! In a copy `$0` and `BASH_SOURCE` are its own path, `STATE/commands/hook-RANDOM/N/NAME`, as `__file__`
//! is in Python; a file that a shell's line reads by `.` leaves `$0` as it is. Beside the copy stand
//! links to everything else in the script's own directory, so `. "$(dirname "$0")/lib.sh"` works, and
//! to the `node_modules` and `package.json` that would be found above it. Nothing else does: `..` leads
//! to no directory of the project, which a script finds by its working directory or by
//! `$SAMUEL_PROJECT_ROOT`. What a script starts itself is not copied.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use super::{
    CommandLine, CopyError, CopyOf, PrivateCopy,
    named::{Executed, Start, started_places, starts},
    private_copy::Stamp,
    reading::{Budget, Contents, MAX_BYTES, Reading},
};
use crate::{
    fs::{FileError, Root},
    hook::{BreakClass, HookFailure},
    model::digest_of,
};

/// Stands for a copy where only its being outside of the project matters.
const SOME_COPY: &str = "/copy";

/// The files of the project that a command starts, as they were when it was made.
#[derive(Debug)]
pub struct Pinned {
    files: Vec<ScriptFile>,
    unpinned: Vec<String>,
    lints: Vec<String>,
    products: Vec<PathBuf>,
    patterns: Vec<PathBuf>,
    missing: Vec<Vec<PathBuf>>,
    contents: Contents,
    /// The command as it was read.
    command: CommandLine,
    /// Where copies stand in it, each with its path within the copy.
    places: Vec<(At, PathBuf)>,
    root: PathBuf,
    state_dir: Option<PathBuf>,
    /// The copy, made when it is first needed, or why it could not be.
    copy: OnceLock<Result<Option<PrivateCopy>, String>>,
}

/// A file of the project that a command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFile {
    /// Its path, relative to the root.
    pub path: PathBuf,
    /// `sha256:` and the digest of the bytes that were read; empty for a file that cannot be read or was
    /// beyond the [`Budget`], with which the command is not run.
    pub digest: String,
    /// Whether a copy is started, and not the file itself.
    pub is_copied: bool,
}

/// Where a command runs, and what of it stays as it is.
#[derive(Clone, Copy)]
pub struct PinOptions<'a> {
    /// The project's root, absolute.
    pub root: &'a Path,
    /// The directory that the command runs in, absolute.
    pub cwd: &'a Path,
    /// A private directory outside of every project, made with mode 0700 when the first copy is.
    /// Without one the files are started where they are, and compared.
    pub state_dir: Option<&'a Path>,
    /// How much may be read, with what other commands read of it.
    pub budget: &'a Budget,
    /// Says of a file, by its absolute path, that it is started as it is then, as the product of a
    /// build is.
    pub is_exempt: &'a dyn Fn(&Path) -> bool,
    /// Says of a word of a list, from 0, that it is the same at each start. A file that another one
    /// names is started where it is.
    pub is_fixed: &'a dyn Fn(usize) -> bool,
}

impl Pinned {
    /// Reads the files of the project that a command starts. Starts and writes nothing. Blocks.
    pub fn of(command: &CommandLine, options: PinOptions<'_>) -> Self {
        Self::of_executed(command, executed(command, options.root, options.cwd), options)
    }

    /// Does so with what is known already of what the command executes. Blocks.
    pub(crate) fn of_executed(command: &CommandLine, executed: Executed, options: PinOptions<'_>) -> Self {
        let PinOptions { root, cwd, state_dir, budget, is_exempt, is_fixed } = options;
        let mut reading = Reading::new(root, &executed.started, is_exempt, budget);
        // Found once: what stands on the disk later has no say in what is started.
        let found = if state_dir.is_some() { places(command, root, cwd) } else { Vec::new() };
        let found = found.into_iter().filter(|(at, _)| at.word().is_none_or(is_fixed));
        let places = found.filter_map(|(at, path)| Some((at, reading.file(&path)?))).collect();
        let contents = reading.contents;
        let mut pinned = Self {
            command: command.clone(),
            places,
            files: Vec::new(),
            unpinned: Vec::new(),
            lints: Vec::new(),
            products: Vec::new(),
            patterns: executed.patterns.iter().filter(|path| !is_exempt(&root.join(path))).cloned().collect(),
            missing: missing(&executed, is_exempt),
            contents,
            root: root.to_owned(),
            state_dir: state_dir.map(Path::to_owned),
            copy: OnceLock::new(),
        };
        for (path, read) in &pinned.contents.files {
            let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
            pinned.lints.extend(read.lint(&relative));
            let digest = digest_of(&read.bytes);
            pinned.files.push(ScriptFile { path: relative, digest, is_copied: true });
        }
        pinned.keep_unpinned(executed, cwd, budget, is_exempt);
        pinned
    }

    /// Returns the command as it is started, with the copies in the place of the words that name
    /// their files: the command that was read, perhaps with other arguments, or with lines before
    /// its own. Blocks where the copy is not made yet.
    ///
    /// # Errors
    /// Says why the copy cannot be made, and refuses another command.
    pub(super) fn started(&self, command: &CommandLine) -> Result<CommandLine, HookFailure> {
        let Some(copy) = self.copy()? else { return Ok(command.clone()) };
        self.replaced(command, copy.root())
    }

    /// Returns the copy of a file. Blocks as [`HookCommand::run`](super::HookCommand::run) does first.
    pub fn copy_of(&self, file: &ScriptFile) -> Option<PathBuf> {
        let read = self.contents.files.get(&self.root.join(&file.path))?;
        Some(self.copy().ok()??.root().join(&read.inner))
    }

    /// Returns the copy, which is made from the bytes that were read. Blocks.
    pub(super) fn copy(&self) -> Result<Option<&PrivateCopy>, HookFailure> {
        let make = || {
            let Some(state_dir) = self.state_dir.as_ref().filter(|_| !self.contents.files.is_empty()) else {
                return Ok(None);
            };
            let (files, links) = (self.contents.copied(), self.contents.links());
            let made = PrivateCopy::make(state_dir, CopyOf::Command, "hook", files, links);
            made.map(Some).map_err(|error| error.to_string())
        };
        self.copy.get_or_init(make).as_ref().map(Option::as_ref).map_err(|error| not_copied(error.clone()))
    }

    /// Puts copies below a directory in the place of the words that name their files.
    fn replaced(&self, command: &CommandLine, copies: &Path) -> Result<CommandLine, HookFailure> {
        let shift = match (&self.command, command) {
            (CommandLine::Shell(read), CommandLine::Shell(line)) => {
                let before = line.strip_suffix(read.as_str()).ok_or_else(other_command)?;
                before.len()
            }
            _ => 0,
        };
        let mut replaced = command.clone();
        for (at, inner) in self.places.iter().rev() {
            if at.word().is_some_and(|place| !is_same(&self.command, command, place)) {
                return Err(other_command());
            }
            let put = at.put(&mut replaced, &copies.join(inner), shift);
            put.map_err(|error| not_copied(error.to_string()))?;
        }
        Ok(replaced)
    }

    /// Finds what the command still starts where it is: what is said of it once copies are in it.
    fn keep_unpinned(
        &mut self,
        executed: Executed,
        cwd: &Path,
        budget: &Budget,
        is_exempt: &dyn Fn(&Path) -> bool,
    ) {
        let executed = match self.replaced(&self.command, Path::new(SOME_COPY)) {
            Ok(replaced) if !self.places.is_empty() => self::executed(&replaced, &self.root, cwd),
            _ => executed,
        };
        // Also what it only names, but what can be executed.
        for path in &executed.files {
            let relative = path.strip_prefix(&self.root).unwrap_or(path).to_owned();
            if is_exempt(path) {
                self.products.push(relative);
                continue;
            }
            let shown = relative.display();
            let (digest, told) = match digest_within(&self.root, path, budget) {
                Ok(digest) => {
                    let told = match self.state_dir {
                        Some(_) => format!(
                            "`{shown}` is started where it is, not from a copy: name it plainly, as in `sh {shown}`, \
                             without a `cd` before it"
                        ),
                        None => format!(
                            "`{shown}` is started where it is, since no directory is known for a copy: it is compared \
                             before and after"
                        ),
                    };
                    (digest, told)
                }
                Err(error) => {
                    let told = format!("the command is not run, since `{shown}` cannot be compared: {error}");
                    (String::new(), told)
                }
            };
            // What is only named may be read and not started.
            self.unpinned.extend(executed.started.contains(path).then_some(told));
            self.files.push(ScriptFile { path: relative, digest, is_copied: false });
        }
        let program = executed.unknown_program.map(|program| format!("`{program}`"));
        let script = executed.is_unknown.then(|| "a script".to_owned());
        if let Some(unknown) = program.or(script) {
            self.unpinned.push(format!(
                "only the shell knows which file {unknown} is, so that a change of it is not noticed: name it plainly"
            ));
        }
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

    /// Returns the files that the command starts as they are then, relative to the root: products of
    /// the work.
    pub fn products(&self) -> &[PathBuf] {
        &self.products
    }

    /// Returns the patterns of what the command starts, relative to the root, which may match more
    /// files later.
    pub fn patterns(&self) -> &[PathBuf] {
        &self.patterns
    }

    /// Returns where files would stand that the command starts and that did not exist: for each of
    /// them a place in every directory in which it may be looked for. The command is not run once
    /// there is one.
    pub fn missing(&self) -> &[Vec<PathBuf>] {
        &self.missing
    }

    /// Puts the names of the project's files in the place of those of their copies in a message.
    pub(super) fn in_own_names(&self, message: &str) -> String {
        let Some(Ok(Some(copy))) = self.copy.get() else { return message.to_owned() };
        self.contents.files.iter().fold(message.to_owned(), |message, (path, read)| {
            let shown = path.strip_prefix(&self.root).unwrap_or(path);
            message.replace(&*copy.root().join(&read.inner).to_string_lossy(), &shown.to_string_lossy())
        })
    }

    /// Says what is not as it was when it was read, in the project and in the workspace of the call. Blocks.
    pub(super) fn difference(&self, workspace: Option<&Path>) -> Option<String> {
        if let Some(difference) = self.made().and_then(PrivateCopy::difference) {
            return Some(difference);
        }
        let is_same = |(root, file): &(&Path, &ScriptFile)| match digest_now(root, &root.join(&file.path)) {
            Ok(now) => now == file.digest,
            // A workspace does not have what git ignores.
            Err(error) => *root != self.root && error.is_not_found(),
        };
        if let Some((_, changed)) = self.watched_in(workspace).find(|watched| !is_same(watched)) {
            return Some(format!("changed: {}", changed.path.display()));
        }
        let shown = |path: &PathBuf| path.strip_prefix(&self.root).unwrap_or(path).to_owned();
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let appeared = self.missing.iter().flatten().find(|path| {
            is_there(path) || workspace.is_some_and(|workspace| is_there(&workspace.join(shown(path))))
        })?;
        Some(format!("new: {}", shown(appeared).display()))
    }

    /// Returns what tells that a file which is no copy was written to, in the project and in the workspace of the call.
    /// Blocks.
    pub(super) fn stamps(&self, workspace: Option<&Path>) -> Vec<Option<Stamp>> {
        let stamp = |(root, file): (&Path, &ScriptFile)| {
            let found = Root::new(root).open(&root.join(&file.path)).ok()?.metadata().ok()?;
            Some(Stamp::of_found(&found))
        };
        self.watched_in(workspace).map(stamp).collect()
    }

    /// Says what was touched since a look at the stamps. Blocks.
    pub(super) fn touched(&self, before: &[Option<Stamp>], workspace: Option<&Path>) -> Option<String> {
        if let Some(touched) = self.made().and_then(PrivateCopy::touched) {
            return Some(touched);
        }
        let now = self.stamps(workspace);
        let mut pairs = self.watched_in(workspace).zip(before.iter().zip(&now));
        let ((_, file), _) = pairs.find(|(_, (before, now))| before != now)?;
        Some(format!("written to: {}", file.path.display()))
    }

    /// Returns the copy, if it was made.
    fn made(&self) -> Option<&PrivateCopy> {
        self.copy.get()?.as_ref().ok()?.as_ref()
    }

    /// Returns the files that are started where they are, below the project and below the workspace of a call.
    fn watched_in<'a>(
        &'a self,
        workspace: Option<&'a Path>,
    ) -> impl Iterator<Item = (&'a Path, &'a ScriptFile)> {
        let roots = [Some(self.root.as_path()), workspace].into_iter().flatten();
        roots.flat_map(move |root| self.watched().map(move |file| (root, file)))
    }

    /// Returns the files that are started where they are.
    fn watched(&self) -> impl Iterator<Item = &ScriptFile> {
        self.files.iter().filter(|file| !file.is_copied)
    }
}

/// A place in a command.
#[derive(Debug)]
enum At {
    /// One of its words.
    Word(usize),
    /// A part of a word, which is a shell's line, or of the line itself.
    Line(Option<usize>, std::ops::Range<usize>),
}

impl At {
    /// Returns the word of a list that it is in.
    fn word(&self) -> Option<usize> {
        match self {
            Self::Word(at) => Some(*at),
            Self::Line(at, _) => *at,
        }
    }

    /// Puts a path in this place, which is so many bytes further on in a shell's line.
    fn put(&self, command: &mut CommandLine, path: &Path, shift: usize) -> Result<(), CopyError> {
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
                if let Some(word) = words.get_mut(*at) {
                    *word = path.into();
                }
            }
            (Self::Line(_, span), CommandLine::Shell(line)) => {
                line.replace_range(span.start + shift..span.end + shift, &quoted()?);
            }
            (Self::Line(at, span), CommandLine::Words(words)) => {
                if let Some(word) = at.and_then(|at| words.get_mut(at)) {
                    let mut line = word.to_str().ok_or_else(failed)?.to_owned();
                    line.replace_range(span.clone(), &quoted()?);
                    *word = OsString::from(line);
                }
            }
            (Self::Word(_), CommandLine::Shell(_)) => {}
        }
        Ok(())
    }
}

/// Returns the places of files that did not exist, but of those that the work is to make.
fn missing(executed: &Executed, is_exempt: &dyn Fn(&Path) -> bool) -> Vec<Vec<PathBuf>> {
    let is_made = |places: &&Vec<PathBuf>| places.iter().any(|path| is_exempt(path));
    executed.missing.iter().filter(|places| !is_made(places)).cloned().collect()
}

fn texts(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns what a command in a directory executes of a project. Blocks.
pub(crate) fn executed(command: &CommandLine, root: &Path, cwd: &Path) -> Executed {
    match command {
        CommandLine::Shell(line) => Executed::by_hook(line, root, cwd),
        CommandLine::Words(words) => Executed::by_words(&texts(words), root, cwd),
    }
}

/// Returns where a command names files that it starts, in order.
fn places(command: &CommandLine, root: &Path, cwd: &Path) -> Vec<(At, PathBuf)> {
    let in_line = |at: Option<usize>, line: &str| {
        let places = started_places(line, root, cwd).into_iter();
        places.map(|place| (At::Line(at, place.span), place.path)).collect::<Vec<_>>()
    };
    match command {
        CommandLine::Shell(line) => in_line(None, line),
        CommandLine::Words(words) => {
            let place = |start: Start| match start {
                Start::File(at) => {
                    words.get(at).map(|word| vec![(At::Word(at), cwd.join(word))]).unwrap_or_default()
                }
                Start::Code(at) => words
                    .get(at)
                    .and_then(|word| word.to_str())
                    .map(|line| in_line(Some(at), line))
                    .unwrap_or_default(),
            };
            starts(&texts(words)).into_iter().flat_map(place).collect()
        }
    }
}

/// Reads a file that is not copied, of which only the digest is kept.
fn digest_within(root: &Path, path: &Path, budget: &Budget) -> Result<String, FileError> {
    let bytes = Root::new(root).read(path, budget.left())?;
    budget.take(bytes.len() as u64);
    Ok(digest_of(&bytes))
}

/// Says whether a word of a list is the same in two commands.
fn is_same(read: &CommandLine, now: &CommandLine, place: usize) -> bool {
    match (read, now) {
        (CommandLine::Words(read), CommandLine::Words(now)) => read.get(place) == now.get(place),
        _ => false,
    }
}

fn other_command() -> HookFailure {
    HookFailure::new(BreakClass::Untrusted, "the command is not the one whose files were read")
}

fn not_copied(error: String) -> HookFailure {
    let message = format!("the files that the command starts cannot be copied: {error}");
    HookFailure::new(BreakClass::Spawn, message)
}

fn digest_now(root: &Path, path: &Path) -> Result<String, FileError> {
    Ok(digest_of(&Root::new(root).read(path, MAX_BYTES)?))
}
