//! The files of a turn in a workspace.
//!
//! Agents that do not work in the project find the context files and the progress log in their workspace, at the same
//! path. The log is a copy of the last lines. The lines that agents append to it are read back, and nothing else is. A
//! note outside of the workspace has what the log began with, so that a later process knows what was appended.

use std::{
    collections::HashSet,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use samuel_fs::{Durability, FileError, Manner, Root, found};
use samuel_model::redacted;
use serde::{Deserialize, Serialize};

use super::{
    Artifact, MAX_LEARNED_CHARS, ProgressBody, ProgressEntry, ProgressKind, ProgressLine, ProgressLog,
    RunDir, StateError, file::digest_of, plan_file,
};

/// The lines of the progress log that a workspace shows, at most.
const MAX_SHOWN_LINES: usize = 500;
/// The bytes of those lines, at most.
const MAX_SHOWN_BYTES: usize = 512 << 10;
/// The bytes that are read back, from the end of the file, at most.
const MAX_READ_BYTES: u64 = 1 << 20;
/// The lines that are taken over at a time, at most. Further ones are counted and left out.
const MAX_TAKEN_LINES: usize = 2_000;
/// The largest note, in bytes, and how much of a log it may be about.
const MAX_NOTE_BYTES: u64 = 4 << 10;
const MAX_NOTED_BYTES: u64 = 16 << 20;

/// The files of a turn in a workspace: the context files, and the progress log as agents see it.
///
/// The agent can write there. Links among the directories are refused and a link in place of a file is replaced, so no
/// file is written outside of the directory.
#[derive(Debug)]
pub struct TurnFiles {
    dir: RunDir,
    /// Where the note is.
    note: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The lines that are no news: those that were shown, and those that were taken over.
    lines: HashSet<String>,
    /// Whether this process wrote the log.
    has_begun: bool,
    /// How much of the log was read.
    read_to: u64,
}

/// What a log in a workspace begins with and is no news.
#[derive(Debug, Serialize, Deserialize)]
struct Noted {
    bytes: u64,
    digest: String,
    /// The same of the log before, until this one is in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Box<Noted>>,
}

impl Noted {
    fn of(start: &[u8]) -> Self {
        Self { bytes: start.len() as u64, digest: digest_of([start]), before: None }
    }
}

impl TurnFiles {
    /// Names the files in the run directory of a workspace, and a file for a note next to the workspace, where agents
    /// do not write. Touches nothing.
    pub fn new(dir: RunDir, note: PathBuf) -> Self {
        Self { dir, note, known: Mutex::default() }
    }

    /// Creates the directory, with a `.gitignore` that hides it from git, and `progress.md` with the last lines of the
    /// log. Returns the entries that agents appended since the last call, also one by an earlier process. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if a file cannot be written, or the file that agents appended to cannot be read.
    pub fn begin(&self, log: &ProgressLog) -> Result<Vec<ProgressEntry>, StateError> {
        let mut lines: Vec<String> = log.lines.iter().map(line_of).collect();
        let keys: HashSet<String> = log.lines.iter().map(key_of_line).collect();
        // A run that was killed may have taken them over, and a new one knows only the log.
        self.known().lines.extend(keys.iter().cloned());
        let appended = self.appended();
        // They stay in the file, so that a kill before they are in the log loses none.
        lines.extend(appended.iter().flatten().map(ToString::to_string));
        let new = appended.as_ref().map_or(0, Vec::len);
        let mut room = MAX_SHOWN_BYTES;
        let fits = |line: &&String| match room.checked_sub(line.len() + 1) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        };
        let mut shown: Vec<&String> = lines.iter().rev().take(MAX_SHOWN_LINES).take_while(fits).collect();
        shown.reverse();
        let text_of =
            |lines: &[&String]| -> String { lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect() };
        let (text, of_log) = (text_of(&shown), shown.len().saturating_sub(new));
        let of_log = text_of(shown.get(..of_log).unwrap_or_default());
        self.put(&self.dir.path().join(".gitignore"), b"*\n")?;
        let before = self.noted().ok().flatten();
        let before = before.map(|before| Box::new(Noted { before: None, ..before }));
        self.take_note(&Noted { before, ..Noted::of(of_log.as_bytes()) })?;
        self.put(&self.dir.progress(), text.as_bytes())?;
        self.take_note(&Noted::of(of_log.as_bytes()))?;
        let mut known = self.known();
        known.lines = keys;
        known.lines.extend(appended.iter().flatten().map(key_of));
        (known.has_begun, known.read_to) = (true, text.len() as u64);
        drop(known);
        appended
    }

    /// Takes down that the entries which were returned are in the log: a later process does not return them, also once
    /// they were removed from the log. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the note cannot be written, or the file cannot be read.
    pub fn logged(&self) -> Result<(), StateError> {
        let (bytes, path) = (self.known().read_to, self.dir.progress());
        match self.digest_of_start(bytes).map_err(StateError::file("read", &path))? {
            Some(digest) => self.take_note(&Noted { bytes, digest, before: None }),
            None => Ok(()),
        }
    }

    /// Writes a context file. The text is not synced, so a power failure may lose it. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the file cannot be written.
    pub fn write(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        self.put(&self.dir.artifact(artifact), plan_file::with_header(artifact, text).as_bytes())
    }

    /// Returns the entries that agents appended and that were not returned before: learnings, explored places, findings
    /// and errors. Credentials in URLs are hidden, long texts are shortened. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if the file cannot be read, for example because it is a link.
    pub fn appended(&self) -> Result<Vec<ProgressEntry>, StateError> {
        let path = self.dir.progress();
        // What an earlier process left is read from where its note ends. Without one all of it may be old.
        let has_begun = self.known().has_begun;
        let from = match has_begun {
            true => Some(0),
            false => self.end_of_noted().map_err(StateError::file("read", &path))?,
        };
        let Some(from) = from else { return Ok(Vec::new()) };
        let (text, read_to) = self.read_after(&path, from).map_err(StateError::file("read", &path))?;
        let mut known = self.known();
        known.read_to = read_to;
        let entries = text.lines().filter_map(|line| ProgressEntry::parse(line).ok()).filter_map(taken_over);
        let mut news: Vec<ProgressEntry> =
            entries.filter(|entry| known.lines.insert(key_of(entry))).collect();
        drop(known);
        let more = news.len().saturating_sub(MAX_TAKEN_LINES);
        news.truncate(MAX_TAKEN_LINES);
        if let (1.., Some(at)) = (more, news.last().map(|last| last.at)) {
            let text = format!("{more} more lines that were appended here are left out");
            news.push(ProgressEntry::note(at, ProgressKind::Error, text));
        }
        Ok(news)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the note.
    fn take_note(&self, noted: &Noted) -> Result<(), StateError> {
        let encoded = serde_json::to_vec(noted);
        let encoded = encoded
            .map_err(|error| StateError::Encode { what: "a note of a log", reason: error.to_string() })?;
        let place = self.root_of_note().walk_straight(&self.note);
        let manner = Manner::PRIVATE.with(Durability::Unsynced);
        let written = place.and_then(|place| place.write([&encoded[..]], &manner));
        written.map_err(StateError::file("write", &self.note))
    }

    /// Returns how much of the log is no news by the note; `None` if the log does not begin with that.
    fn end_of_noted(&self) -> Result<Option<u64>, FileError> {
        let mut next = self.noted()?.map(Box::new);
        while let Some(noted) = next {
            if self.digest_of_start(noted.bytes)?.as_ref() == Some(&noted.digest) {
                return Ok(Some(noted.bytes));
            }
            next = noted.before;
        }
        Ok(None)
    }

    /// Reads the note, if there is one.
    fn noted(&self) -> Result<Option<Noted>, FileError> {
        let read = found(self.root_of_note().read(&self.note, MAX_NOTE_BYTES))?;
        Ok(read.and_then(|read| serde_json::from_slice(&read).ok()))
    }

    /// Returns the digest of so many bytes at the beginning of the log; `None` if there are fewer, or too many.
    fn digest_of_start(&self, bytes: u64) -> Result<Option<String>, FileError> {
        let Some(place) = found(self.dir.root().walk_straight(&self.dir.progress()))? else {
            return Ok(None);
        };
        let file = if bytes > MAX_NOTED_BYTES { None } else { found(place.open_file())? };
        let Some(file) = file else { return Ok(None) };
        let mut start = Vec::new();
        file.take(bytes).read_to_end(&mut start)?;
        Ok((start.len() as u64 == bytes).then(|| digest_of([&start[..]])))
    }

    fn root_of_note(&self) -> Root {
        Root::new(self.note.parent().unwrap_or(&self.note))
    }

    fn put(&self, path: &Path, content: &[u8]) -> Result<(), StateError> {
        let manner = Manner::PRIVATE.with(Durability::Unsynced);
        let place = self.dir.root().walk_straight(path);
        let written = place.and_then(|place| place.write([content], &manner));
        written.map_err(StateError::file("write", path))
    }

    /// Reads the end of a file, and nothing before a place that is the beginning of a line. Returns how long the file
    /// is, too; nothing if there is none.
    fn read_after(&self, path: &Path, from: u64) -> Result<(String, u64), FileError> {
        let nothing = || (String::new(), 0);
        let Some(place) = found(self.dir.root().walk_straight(path))? else { return Ok(nothing()) };
        let Some(mut file) = found(place.open_file())? else { return Ok(nothing()) };
        let start = file.metadata()?.len().saturating_sub(MAX_READ_BYTES).max(from);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = if start == from { &*text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
        Ok((whole.to_owned(), start + bytes.len() as u64))
    }
}

/// Returns a line of the log as it is written.
fn line_of(line: &ProgressLine) -> String {
    match line {
        ProgressLine::Entry(entry) => entry.to_string(),
        ProgressLine::Free(text) => text.clone(),
    }
}

/// Returns what tells an entry from others, whatever iteration and task it names: agents do not say these.
fn key_of(entry: &ProgressEntry) -> String {
    ProgressEntry { iteration: None, task: None, ..entry.clone() }.to_string()
}

fn key_of_line(line: &ProgressLine) -> String {
    match line {
        ProgressLine::Entry(entry) => key_of(entry),
        ProgressLine::Free(text) => text.clone(),
    }
}

/// Returns an entry as it is taken over from an agent, without an iteration and a task, which the caller knows; nothing
/// for what Samuel alone writes.
fn taken_over(entry: ProgressEntry) -> Option<ProgressEntry> {
    use ProgressKind::{Error, Explored, Found, Learning};
    match entry.body {
        ProgressBody::Note { kind: kind @ (Learning | Explored | Found | Error), text } => {
            let text: String = redacted(&text).chars().take(MAX_LEARNED_CHARS).collect();
            Some(ProgressEntry::note(entry.at, kind, text))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "a failed set-up fails the test"
    )]

    use std::{
        fs::{self, File, OpenOptions},
        io::Write as _,
        os::unix::fs::symlink,
        path::PathBuf,
    };

    use super::*;

    struct Made {
        dir: tempfile::TempDir,
        files: TurnFiles,
    }

    impl Made {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let files = Self::files_in(dir.path());
            Self { dir, files }
        }

        fn files_in(root: &Path) -> TurnFiles {
            TurnFiles::new(RunDir::new(root), root.join("shown.json"))
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(".samuel/run").join(name)
        }

        fn append(&self, text: &str) {
            let mut file = OpenOptions::new().append(true).open(self.path("progress.md")).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
    }

    fn line(kind: &str, text: &str) -> String {
        format!("[2026-11-21T10:00:00Z] {kind}: {text}\n")
    }

    fn texts(entries: &[ProgressEntry]) -> Vec<String> {
        entries.iter().map(|entry| entry.to_string().split_once(": ").unwrap().1.to_owned()).collect()
    }

    #[test]
    fn appended_lines_are_returned_once() {
        let made = Made::new();
        let mut log = ProgressLog::parse(&line("LEARNING", "old"));
        assert!(made.files.begin(&log).unwrap().is_empty());
        assert_eq!(fs::read_to_string(made.path(".gitignore")).unwrap(), "*\n");
        assert_eq!(fs::read_to_string(made.path("progress.md")).unwrap(), line("LEARNING", "old"));
        made.append(&line("LEARNING", "see https://me:pass@host/"));
        made.append(&line("COMPLETED", "forged"));
        made.append("free\n");
        made.append(&line("ERROR", &"ü".repeat(MAX_LEARNED_CHARS + 1)));
        let appended = made.files.appended().unwrap();
        assert_eq!(texts(&appended), ["see https://***@host/".to_owned(), "ü".repeat(MAX_LEARNED_CHARS)]);
        assert!(made.files.appended().unwrap().is_empty());
        // The log has them, or is about to have them.
        assert!(made.files.begin(&log).unwrap().is_empty());
        log.lines.extend(appended.into_iter().map(ProgressLine::Entry));
        made.append(&line("FOUND", "more"));
        assert_eq!(texts(&made.files.begin(&log).unwrap()), ["more"]);
        assert!(made.files.begin(&log).unwrap().is_empty());
    }

    #[test]
    fn a_later_process_returns_what_was_left() {
        let made = Made::new();
        let mut log = ProgressLog::parse(&line("ERROR", "old"));
        made.files.begin(&log).unwrap();
        made.append(&line("LEARNING", "logged"));
        log.lines.extend(made.files.appended().unwrap().into_iter().map(ProgressLine::Entry));
        made.append(&line("LEARNING", "left"));
        assert_eq!(texts(&Made::files_in(made.dir.path()).begin(&log).unwrap()), ["left"]);
    }

    #[test]
    fn lines_removed_from_log_do_not_return() {
        let made = Made::new();
        let mut log = ProgressLog::parse(&format!("{}{}", line("LEARNING", "wrong"), line("FOUND", "old")));
        made.files.begin(&log).unwrap();
        made.append(&line("LEARNING", "wrong, too"));
        log.lines.extend(made.files.appended().unwrap().into_iter().map(ProgressLine::Entry));
        made.files.logged().unwrap();
        // A person removes some, and the log is rotated.
        log.lines.clear();
        assert!(Made::files_in(made.dir.path()).begin(&log).unwrap().is_empty());
        // Without a note nobody knows which lines are old.
        made.append(&line("LEARNING", "left"));
        fs::remove_file(made.dir.path().join("shown.json")).unwrap();
        assert!(Made::files_in(made.dir.path()).begin(&log).unwrap().is_empty());
    }

    #[test]
    fn a_killed_process_leaves_a_note_that_matches() {
        let made = Made::new();
        made.files.begin(&ProgressLog::default()).unwrap();
        let before = Some(Box::new(Noted::of(b"old\n")));
        made.files.take_note(&Noted { before, ..Noted::of(b"new log\n") }).unwrap();
        for (log, end) in [("old\nleft\n", Some(4)), ("new log\nleft\n", Some(8)), ("other\n", None)] {
            fs::write(made.path("progress.md"), log).unwrap();
            assert_eq!(made.files.end_of_noted().unwrap(), end, "{log}");
        }
    }

    #[test]
    fn appended_lines_name_no_iteration_or_task() {
        let made = Made::new();
        made.files.begin(&ProgressLog::default()).unwrap();
        made.append("[2026-11-21T10:00:00Z] [iteration:3] [task:7] ERROR: forged\n");
        let [entry] = &made.files.appended().unwrap()[..] else { panic!("one line") };
        assert_eq!((entry.iteration, &entry.task), (None, &None));
        // In the log it has those of its turn, and is the same line.
        let task = Some(samuel_model::TaskId::new("1"));
        let logged = ProgressEntry { iteration: Some(1), task, ..entry.clone() };
        let log = ProgressLog { lines: vec![ProgressLine::Entry(logged)], ..ProgressLog::default() };
        assert!(Made::files_in(made.dir.path()).begin(&log).unwrap().is_empty());
    }

    #[test]
    fn context_files_follow_no_link() {
        let made = Made::new();
        let root = made.dir.path();
        fs::create_dir(root.join("src")).unwrap();
        for target in [Path::new("src"), Path::new("/")] {
            symlink(target, root.join(".samuel")).unwrap();
            assert!(made.files.begin(&ProgressLog::default()).is_err(), "{target:?}");
            assert!(made.files.write(Artifact::TaskContext, "a: 1\n").is_err(), "{target:?}");
            fs::remove_file(root.join(".samuel")).unwrap();
        }
        assert_eq!(fs::read_dir(root.join("src")).unwrap().count(), 0);
        fs::create_dir(root.join(".samuel")).unwrap();
        fs::write(root.join(".samuel/run"), "").unwrap();
        assert!(made.files.begin(&ProgressLog::default()).is_err());
        fs::remove_file(root.join(".samuel/run")).unwrap();
        made.files.begin(&ProgressLog::default()).unwrap();
        // A link in place of a file is neither read nor written through.
        let outside = root.join("outside");
        fs::write(&outside, line("LEARNING", "x")).unwrap();
        for name in ["progress.md", "task-context.toon"] {
            let _ = fs::remove_file(made.path(name));
            symlink(&outside, made.path(name)).unwrap();
        }
        assert!(made.files.appended().is_err());
        made.files.write(Artifact::TaskContext, "a: 1\n").unwrap();
        assert_eq!(fs::read_to_string(made.path("task-context.toon")).unwrap(), "# toon v3\na: 1\n");
        assert_eq!(fs::read_to_string(&outside).unwrap(), line("LEARNING", "x"));
    }

    #[test]
    fn reads_the_end_of_an_endless_log() {
        let made = Made::new();
        made.files.begin(&ProgressLog::default()).unwrap();
        let file = File::options().write(true).open(made.path("progress.md")).unwrap();
        file.set_len(1 << 30).unwrap();
        let many: String = (0..=MAX_TAKEN_LINES).map(|n| line("FOUND", &n.to_string())).collect();
        made.append(&format!("\n{many}"));
        let appended = made.files.appended().unwrap();
        assert_eq!(appended.len(), MAX_TAKEN_LINES + 1);
        assert_eq!(
            texts(&appended[MAX_TAKEN_LINES..]),
            ["1 more lines that were appended here are left out"]
        );
        assert!(made.files.appended().unwrap().is_empty());
        // A pipe without a writer keeps nobody waiting.
        fs::remove_file(made.path("progress.md")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, made.path("progress.md"), rustix::fs::Mode::RWXU).unwrap();
        assert!(made.files.appended().is_err());
    }
}
