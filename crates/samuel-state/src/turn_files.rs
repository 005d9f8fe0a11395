//! The files of a turn in a workspace.
//!
//! Agents that do not work in the project find the context files and the progress log in their workspace, at the same
//! path. The log is a copy of the last lines. The lines that agents append to it are read back, and nothing else is.

use std::{
    collections::HashSet,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
    sync::{Mutex, PoisonError},
};

use samuel_fs::{Durability, FileError, Manner, found};
use samuel_model::redacted;

use super::{
    Artifact, MAX_LEARNED_CHARS, ProgressBody, ProgressEntry, ProgressKind, ProgressLine, ProgressLog,
    RunDir, StateError, plan_file,
};

/// The lines of the progress log that a workspace shows, at most.
const MAX_SHOWN_LINES: usize = 500;
/// The bytes of those lines, at most.
const MAX_SHOWN_BYTES: usize = 512 << 10;
/// The bytes that are read back, from the end of the file, at most.
const MAX_READ_BYTES: u64 = 1 << 20;
/// The lines that are taken over at a time, at most.
const MAX_TAKEN_LINES: usize = 200;

/// The files of a turn in a workspace: the context files, and the progress log as agents see it.
///
/// The agent can write there. Links among the directories are refused and a link in place of a file is replaced, so no
/// file is written outside of the directory.
#[derive(Debug)]
pub struct TurnFiles {
    dir: RunDir,
    /// The lines that are no news: those that were shown, and those that were taken over.
    known: Mutex<HashSet<String>>,
}

impl TurnFiles {
    /// Names the files in the run directory of a workspace. Touches nothing.
    pub fn new(dir: RunDir) -> Self {
        Self { dir, known: Mutex::default() }
    }

    /// Creates the directory, with a `.gitignore` that hides it from git, and `progress.md` with the last lines of the
    /// log. Returns the entries that agents appended since the last call. Blocks.
    ///
    /// # Errors
    /// Returns [`StateError::Io`] if a file cannot be written, or the file that agents appended to cannot be read.
    pub fn begin(&self, log: &ProgressLog) -> Result<Vec<ProgressEntry>, StateError> {
        let mut lines: Vec<String> = log.lines.iter().map(line_of).collect();
        // A run that was killed may have taken them over, and a new one knows only the log.
        self.know(lines.iter().cloned());
        let appended = self.appended();
        // They stay in the file, so that a kill before they are in the log loses none.
        lines.extend(appended.iter().flatten().map(ToString::to_string));
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
        let text: String = shown.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        self.put(&self.dir.path().join(".gitignore"), b"*\n")?;
        self.put(&self.dir.progress(), text.as_bytes())?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = lines.into_iter().collect();
        appended
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
        let text = self.read_end(&path).map_err(StateError::file("read", &path))?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = text.lines().filter_map(|line| ProgressEntry::parse(line).ok()).filter_map(taken_over);
        let news = entries.filter(|entry| known.insert(entry.to_string()));
        Ok(news.take(MAX_TAKEN_LINES).collect())
    }

    fn know(&self, lines: impl IntoIterator<Item = String>) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).extend(lines);
    }

    fn put(&self, path: &Path, content: &[u8]) -> Result<(), StateError> {
        let manner = Manner::PRIVATE.with(Durability::Unsynced);
        let place = self.dir.root().walk_straight(path);
        let written = place.and_then(|place| place.write([content], &manner));
        written.map_err(StateError::file("write", path))
    }

    /// Reads the end of a file; nothing if there is none.
    fn read_end(&self, path: &Path) -> Result<String, FileError> {
        let Some(place) = found(self.dir.root().walk_straight(path))? else { return Ok(String::new()) };
        let Some(mut file) = found(place.open_file())? else { return Ok(String::new()) };
        let start = file.metadata()?.len().saturating_sub(MAX_READ_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(MAX_READ_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = if start == 0 { &*text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
        Ok(whole.to_owned())
    }
}

/// Returns a line of the log as it is written.
fn line_of(line: &ProgressLine) -> String {
    match line {
        ProgressLine::Entry(entry) => entry.to_string(),
        ProgressLine::Free(text) => text.clone(),
    }
}

/// Returns an entry as it is taken over from an agent; nothing for what Samuel alone writes.
fn taken_over(entry: ProgressEntry) -> Option<ProgressEntry> {
    use ProgressKind::{Error, Explored, Found, Learning};
    match entry.body {
        ProgressBody::Note { kind: kind @ (Learning | Explored | Found | Error), text } => {
            let text: String = redacted(&text).chars().take(MAX_LEARNED_CHARS).collect();
            Some(ProgressEntry { body: ProgressBody::Note { kind, text }, ..entry })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

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
            TurnFiles::new(RunDir::new(root))
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
        assert_eq!(made.files.appended().unwrap().len(), MAX_TAKEN_LINES);
        // A pipe without a writer keeps nobody waiting.
        fs::remove_file(made.path("progress.md")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, made.path("progress.md"), rustix::fs::Mode::RWXU).unwrap();
        assert!(made.files.appended().is_err());
    }
}
