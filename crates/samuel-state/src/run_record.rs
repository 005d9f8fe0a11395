//! The record of a run: what it told, and what its machine was given, as lines.
//!
//! A [`LaneStore`](super::LaneStore) keeps both parts and returns them in [`RecordChunk`]s of
//! whole lines, so that no reader needs memory for a whole record. What the lines say is the
//! engine's business, and what follows from them that of `samuel_core::history`.
//!
//! The file store has them in the run's directory of logs: `run.jsonl` and `inputs.jsonl`, the
//! owner's alone. Past 8 MiB a file is moved aside, as `run.1.jsonl`, `run.2.jsonl` and so on; of
//! each part the last 64 are kept. A line that a crash cut short is left out by whoever reads.

use std::{
    ffi::OsStr,
    fs::{File, Permissions},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use super::{
    RunDir, StateError, Watch,
    file::append,
    logs::is_run_id,
    rotated::MAX_BYTES,
    watch::{ReadOn, Source},
};
use samuel_fs::{PRIVATE_FILE, PathKind, Root, found};

/// How many files of a part are kept beside the one that is written to.
const MAX_SEGMENTS: usize = 64;
/// How much is read at once.
const CHUNK_BYTES: u64 = 1 << 20;
/// How long a line can be that is read; a longer one is left out and counted.
const MAX_LINE_BYTES: u64 = 64 << 20;
/// How many bytes of a file are read. Samuel moves its files aside before they are as long, but another process can extend
/// a file, even without disk space.
const MAX_READ_BYTES: u64 = MAX_BYTES + 2 * MAX_LINE_BYTES;
/// How many files that were moved aside are looked at.
const MAX_FILES: usize = 10_000;
/// How many runs are listed.
const MAX_RUNS: usize = 10_000;

/// A part of a run's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordPart {
    /// Every event that the run told: `run.jsonl`.
    Events,
    /// Every input of its machine, with what followed from it: `inputs.jsonl`.
    Inputs,
}

impl RecordPart {
    /// Returns the name of its file.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Events => "run.jsonl",
            Self::Inputs => "inputs.jsonl",
        }
    }

    fn stem(self) -> &'static str {
        match self {
            Self::Events => "run",
            Self::Inputs => "inputs",
        }
    }

    /// Returns the number of a file that was moved aside, by its name. One that is spelled in another way, such as `01`,
    /// or too large for what Samuel ever counted, is none: a reader would never get past it.
    fn segment(self, name: &str) -> Option<u64> {
        let number = name.strip_prefix(self.stem())?.strip_prefix('.')?.strip_suffix(".jsonl")?;
        let number = number.parse::<u32>().ok().map(u64::from)?;
        (segment_name(self, number) == name).then_some(number)
    }
}

/// How far a part of a record was read. The default is its beginning.
///
/// A store makes places of its own for the chunks that it returns, and is given them back; what the two numbers
/// mean is its own business. Readers only hand them on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPlace {
    /// The file, from 1; 0 before the first.
    pub(super) segment: u64,
    /// How many bytes of it were read.
    pub(super) offset: u64,
}

impl RecordPlace {
    /// Makes a place: one of the pieces that a store keeps a record in, and how much of that was read. That of the
    /// beginning is `at(0, 0)`, the default.
    pub fn at(segment: u64, offset: u64) -> Self {
        Self { segment, offset }
    }

    /// Returns the piece; 0 where a store has only one, and at the beginning.
    pub fn segment(self) -> u64 {
        self.segment
    }

    /// Returns how much of the piece was read: bytes, lines, or whatever the store counts.
    pub fn offset(self) -> u64 {
        self.offset
    }
}

/// Some lines of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordChunk {
    /// Whole lines, each with its end; empty where there are no more by now.
    pub lines: Vec<u8>,
    /// Where to read on.
    pub next: RecordPlace,
    /// How many lines were passed over before `next` because they are too long to be read; 0 by default. The rest of a
    /// file that is too long counts as one line. Where there are some, it is read on at `next` later also if there are no
    /// lines.
    pub left_out: u64,
}

/// Cuts what was read after its last whole line.
pub(super) fn whole_lines(bytes: &mut Vec<u8>) {
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |end| end + 1);
    bytes.truncate(whole);
}

/// Appends lines to a part of a run's record. Blocks.
pub(super) fn append_to(dir: &RunDir, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
    let logs = checked(dir, run)?;
    dir.make_logs(run)?;
    let (root, path) = (dir.root(), logs.join(part.file_name()));
    // Whoever made the file may have left it open to others.
    let private = || {
        let file = root.open_own(&path, OFlags::RDWR | OFlags::CREATE)?;
        file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?;
        Ok(file.metadata()?.len())
    };
    let length = private().map_err(StateError::file("close to others", &path))?;
    if length > MAX_READ_BYTES {
        // Readers do not reach lines that are appended here.
        rotate(root, &logs, part)?;
        private().map_err(StateError::file("close to others", &path))?;
    }
    let length = append(root, &path, lines)?.metadata().map_err(StateError::io("look at", &path))?.len();
    if length > MAX_BYTES { rotate(root, &logs, part) } else { Ok(()) }
}

/// Moves the file aside that is written to, and removes the oldest beyond those that are kept.
fn rotate(root: &Root, logs: &Path, part: RecordPart) -> Result<(), StateError> {
    let segments = segments(root, logs, part)?;
    let number = segments.last().map_or(1, |last| last.saturating_add(1));
    let (path, name) = (logs.join(part.file_name()), segment_name(part, number));
    root.rename_own(&path, name.as_ref()).map_err(StateError::file("rotate", &path))?;
    let beyond = (segments.len() + 1).saturating_sub(MAX_SEGMENTS);
    for oldest in segments.iter().take(beyond) {
        let path = logs.join(segment_name(part, *oldest));
        root.remove_own(&path).map_err(StateError::file("remove", &path))?;
    }
    Ok(())
}

fn segment_name(part: RecordPart, number: u64) -> String {
    format!("{}.{number}.jsonl", part.stem())
}

/// Returns the numbers of the files that were moved aside, ascending.
fn segments(root: &Root, logs: &Path, part: RecordPart) -> Result<Vec<u64>, StateError> {
    // Beside them lie some files for each call of an agent.
    let is_segment = |name: &OsStr| name.to_str().is_some_and(|name| part.segment(name).is_some());
    let listed =
        found(root.list_named(logs, MAX_FILES, is_segment)).map_err(StateError::file("read", logs))?;
    let files = listed.unwrap_or_default().into_iter().filter(|entry| entry.kind == PathKind::File);
    let mut numbers: Vec<u64> = files.filter_map(|entry| part.segment(entry.name.to_str()?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads lines of a part of a run's record from a place on. Blocks.
pub(super) fn read_from(
    dir: &RunDir,
    run: &str,
    part: RecordPart,
    from: RecordPlace,
) -> Result<RecordChunk, StateError> {
    let Ok(logs) = checked(dir, run) else {
        return Ok(RecordChunk { next: from, ..RecordChunk::default() });
    };
    let (root, mut left_out) = (dir.root(), 0_u64);
    let mut place = RecordPlace { segment: from.segment.max(1), offset: from.offset };
    loop {
        let path = logs.join(segment_name(part, place.segment));
        if let Some(file) = open(root, &path)? {
            let chunk = read_chunk(file, place).map_err(StateError::io("read", &path))?;
            left_out = left_out.saturating_add(chunk.left_out);
            if !chunk.lines.is_empty() {
                return Ok(RecordChunk { left_out, ..chunk });
            }
            place = RecordPlace { segment: place.segment.saturating_add(1), offset: 0 };
            continue;
        }
        // The file that is written to has the number behind all of those that were moved aside. Where one has a later number
        // than the place, what was there is gone, unless it was moved aside just now.
        let numbers = segments(root, &logs, part)?;
        if numbers.contains(&place.segment) {
            continue;
        }
        if let Some(next) = numbers.into_iter().find(|number| *number > place.segment) {
            place = RecordPlace { segment: next, offset: 0 };
            continue;
        }
        let path = logs.join(part.file_name());
        let Some(file) = open(root, &path)? else {
            return Ok(RecordChunk { lines: Vec::new(), next: place, left_out });
        };
        // It may have been moved aside before it was opened.
        if open(root, &logs.join(segment_name(part, place.segment)))?.is_some() {
            continue;
        }
        let chunk = read_chunk(file, place).map_err(StateError::io("read", &path))?;
        return Ok(RecordChunk { left_out: left_out.saturating_add(chunk.left_out), ..chunk });
    }
}

fn open(root: &Root, path: &Path) -> Result<Option<File>, StateError> {
    found(root.open(path)).map_err(StateError::file("read", path))
}

/// Reads whole lines. Lines that are too long, and the rest of a file that is too long, are passed over and counted.
fn read_chunk(file: File, place: RecordPlace) -> io::Result<RecordChunk> {
    read_lines(file, place, CHUNK_BYTES, MAX_LINE_BYTES, MAX_READ_BYTES)
}

/// Reads whole lines, so many bytes at once, and more where a line is longer; those beyond a length are passed over.
/// A line that begins after the first `most` bytes of the file is not read.
fn read_lines(
    mut file: File,
    mut place: RecordPlace,
    at_once: u64,
    longest: u64,
    most: u64,
) -> io::Result<RecordChunk> {
    file.seek(SeekFrom::Start(place.offset))?;
    let (mut lines, mut limit, mut left_out) = (Vec::new(), at_once, 0_u64);
    loop {
        if place.offset >= most {
            let end = file.metadata()?.len().max(place.offset);
            left_out += u64::from(end > place.offset);
            place.offset = end;
            break;
        }
        let room = limit.saturating_sub(lines.len() as u64);
        let read = file.by_ref().take(room).read_to_end(&mut lines)?;
        if memchr::memchr(b'\n', &lines).is_some() || (read as u64) < room {
            break;
        }
        if limit < longest {
            limit = limit.saturating_mul(4).min(longest);
            continue;
        }
        place.offset = after_line(&mut file, at_once, most)?;
        file.seek(SeekFrom::Start(place.offset))?;
        left_out += 1;
        (lines, limit) = (Vec::new(), at_once);
    }
    whole_lines(&mut lines);
    let next = RecordPlace { offset: place.offset.saturating_add(lines.len() as u64), ..place };
    Ok(RecordChunk { lines, next, left_out })
}

/// Returns where the line ends that the file is in, of which so much is read at once. Returns the end of the file if the
/// line has no end in the first `most` bytes of the file.
fn after_line(file: &mut File, at_once: u64, most: u64) -> io::Result<u64> {
    let mut piece = Vec::new();
    loop {
        let at = file.stream_position()?;
        if at >= most {
            return file.seek(SeekFrom::End(0));
        }
        piece.clear();
        file.by_ref().take(at_once).read_to_end(&mut piece)?;
        match memchr::memchr(b'\n', &piece) {
            Some(end) => return Ok(at.saturating_add(end as u64 + 1)),
            None if piece.is_empty() => return Ok(at),
            None => {}
        }
    }
}

/// Lists the runs that have a record, oldest first. Blocks.
pub(super) fn recorded_in(dir: &RunDir) -> Result<Vec<String>, StateError> {
    let logs = dir.all_logs();
    let listed = found(dir.root().list(&logs, MAX_RUNS)).map_err(StateError::file("read", &logs))?;
    let runs = listed.unwrap_or_default().into_iter().filter(|entry| entry.kind == PathKind::Directory);
    let named = runs.filter(|entry| is_run_id(&entry.name)).filter_map(|entry| entry.name.into_string().ok());
    let has_record = |run: &String| {
        let (logs, parts) = (dir.logs(run), [RecordPart::Events, RecordPart::Inputs]);
        let is_written = |part: &RecordPart| dir.root().has(&logs.join(part.file_name())).unwrap_or(false);
        // All that there is may have been moved aside just before.
        let is_aside =
            |part: &RecordPart| segments(dir.root(), &logs, *part).is_ok_and(|all| !all.is_empty());
        parts.iter().any(is_written) || parts.iter().any(is_aside)
    };
    let mut runs: Vec<String> = named.filter(has_record).collect();
    // The time comes first in an id.
    runs.sort_unstable();
    Ok(runs)
}

/// Begins to watch the record of a run. Where the system watches nothing, the watch ends.
pub(super) fn watch(dir: &RunDir, run: &str) -> Watch {
    let (read_on, watch) = Watch::new();
    let watching = checked(dir, run).ok().and_then(|logs| Watching::of(&logs, read_on));
    watch.renewed_by(move || if watching.is_some() { Source::Same } else { Source::Gone })
}

/// A watcher at work.
struct Watching {
    _watcher: notify::RecommendedWatcher,
}

impl Watching {
    fn of(logs: &Path, read_on: ReadOn) -> Option<Self> {
        use notify::Watcher as _;

        let is_of_record = |path: &PathBuf| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(".jsonl"))
        };
        let heard = move |event: notify::Result<notify::Event>| {
            let is_told =
                |event: notify::Event| !event.kind.is_access() && event.paths.iter().any(is_of_record);
            if event.is_ok_and(is_told) {
                read_on.tell();
            }
        };
        let mut watcher = notify::recommended_watcher(heard).ok()?;
        watcher.watch(logs, notify::RecursiveMode::NonRecursive).ok()?;
        Some(Self { _watcher: watcher })
    }
}

/// Returns the directory of a run's logs, whose id becomes a part of the path.
fn checked(dir: &RunDir, run: &str) -> Result<PathBuf, StateError> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if run.is_empty() || run.len() > 100 || !run.chars().all(is_name) {
        let path = dir.all_logs();
        return Err(StateError::io("name a run in", path)(io::ErrorKind::InvalidInput.into()));
    }
    Ok(dir.logs(run))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    const RUN: &str = "20261121T100000Z-abcd";

    fn all(dir: &RunDir) -> Vec<String> {
        let (mut lines, mut place) = (Vec::new(), RecordPlace::default());
        loop {
            let chunk = read_from(dir, RUN, RecordPart::Events, place).unwrap();
            if chunk.lines.is_empty() {
                return lines;
            }
            place = chunk.next;
            lines.extend(String::from_utf8(chunk.lines).unwrap().lines().map(str::to_owned));
        }
    }

    #[test]
    fn a_torn_tail_is_left_out_and_ends_nobody_elses_line() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        append_to(&dir, RUN, RecordPart::Events, b"one\n").unwrap();
        let path = dir.logs(RUN).join("run.jsonl");
        fs::write(&path, "one\n{\"tor").unwrap();
        assert_eq!(all(&dir), ["one"]);
        append_to(&dir, RUN, RecordPart::Events, b"two\n").unwrap();
        assert_eq!(all(&dir), ["one", "{\"tor", "two"]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_long_record_is_moved_aside_read_in_order_and_its_beginning_goes_in_the_end() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        let logs = dir.logs(RUN);
        let place = RecordPlace::default();
        append_to(&dir, RUN, RecordPart::Events, b"first\n").unwrap();
        let read = read_from(&dir, RUN, RecordPart::Events, place).unwrap();
        // A reader that waits at the end of a file goes on in it once it was moved aside.
        for number in 0..3 {
            let line = format!("{number}{}\n", "x".repeat(usize::try_from(MAX_BYTES).unwrap()));
            append_to(&dir, RUN, RecordPart::Events, line.as_bytes()).unwrap();
        }
        let on = read_from(&dir, RUN, RecordPart::Events, read.next).unwrap();
        assert_eq!(on.lines.first(), Some(&b'0'));
        let begins: Vec<String> = all(&dir).iter().map(|line| line.chars().take(1).collect()).collect();
        assert_eq!(begins, ["f", "0", "1", "2"]);
        for number in 4..=70 {
            fs::write(logs.join(format!("run.{number}.jsonl")), "old\n").unwrap();
        }
        fs::write(logs.join("run.jsonl"), "x".repeat(usize::try_from(MAX_BYTES).unwrap())).unwrap();
        append_to(&dir, RUN, RecordPart::Events, b"last\n").unwrap();
        let kept = segments(dir.root(), &logs, RecordPart::Events).unwrap();
        assert_eq!((kept.len(), kept.first(), kept.last()), (64, Some(&8), Some(&71)));
        assert_eq!(all(&dir).last().unwrap(), "last");
    }

    #[test]
    fn a_run_of_which_all_was_just_moved_aside_is_recorded() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        append_to(&dir, RUN, RecordPart::Events, b"one\n").unwrap();
        let logs = dir.logs(RUN);
        fs::rename(logs.join("run.jsonl"), logs.join("run.1.jsonl")).unwrap();
        assert_eq!(recorded_in(&dir).unwrap(), [RUN]);
        fs::remove_file(logs.join("run.1.jsonl")).unwrap();
        assert!(recorded_in(&dir).unwrap().is_empty());
    }

    #[test]
    fn whoever_reads_too_slowly_goes_on_with_the_oldest_file_that_is_left() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        append_to(&dir, RUN, RecordPart::Events, b"newest\n").unwrap();
        for number in [8, 9] {
            fs::write(dir.logs(RUN).join(format!("run.{number}.jsonl")), format!("of {number}\n")).unwrap();
        }
        let read = |place| {
            let chunk = read_from(&dir, RUN, RecordPart::Events, place).unwrap();
            (String::from_utf8(chunk.lines).unwrap(), chunk.next)
        };
        // The file that it is in was removed.
        let (lines, place) = read(RecordPlace { segment: 3, offset: 3 });
        assert_eq!(lines, "of 8\n");
        let (lines, place) = read(place);
        assert_eq!(lines, "of 9\n");
        assert_eq!(read(place).0, "newest\n");
    }

    #[test]
    fn lines_that_are_too_long_are_passed_over_and_counted_however_many_they_are() {
        const MANY: u64 = 20_000;
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run.jsonl");
        let long = format!("{}\n", "x".repeat(40)).repeat(usize::try_from(MANY).unwrap());
        fs::write(&path, format!("{long}one\n{long}")).unwrap();
        let read = |place| {
            let chunk = read_lines(File::open(&path).unwrap(), place, 8, 32, u64::MAX).unwrap();
            (String::from_utf8(chunk.lines).unwrap(), chunk.left_out, chunk.next)
        };
        let (lines, left_out, next) = read(RecordPlace::default());
        assert_eq!((lines.as_str(), left_out), ("one\n", MANY));
        let (lines, left_out, next) = read(next);
        assert_eq!((lines.as_str(), left_out, next.offset), ("", MANY, fs::metadata(&path).unwrap().len()));
        assert_eq!(read(next), (String::new(), 0, next));
    }

    #[test]
    fn counts_rest_of_endless_record_as_one_line() {
        const HOLE: u64 = 20 << 30;
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        append_to(&dir, RUN, RecordPart::Events, b"one\ntwo\n").unwrap();
        let path = dir.logs(RUN).join("run.jsonl");
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(HOLE).unwrap();
        let read = |place| read_from(&dir, RUN, RecordPart::Events, place).unwrap();
        let events = read(RecordPlace::default());
        assert_eq!((&events.lines[..], events.left_out), (&b"one\ntwo\n"[..], 0));
        let hole = read(events.next);
        assert_eq!((hole.lines.len(), hole.left_out, hole.next.offset), (0, 1, HOLE));
        assert_eq!(read(hole.next).left_out, 0, "it is counted once");
        // The events after the hole begin a new file.
        append_to(&dir, RUN, RecordPart::Events, b"three\n").unwrap();
        let on = read(hole.next);
        assert_eq!((&on.lines[..], on.left_out), (&b"three\n"[..], 0));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(all(&dir), ["one", "two", "three"]);
    }

    #[test]
    fn reads_no_line_behind_the_limit_of_a_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("run.jsonl");
        for (text, lines) in [
            (format!("line\n{}\nline\n", "x".repeat(1_000)), 1),
            // The last of these begins at byte 60.
            ("line\n".repeat(100), 13),
        ] {
            fs::write(&path, &text).unwrap();
            let (mut chunk, mut found) = (RecordChunk::default(), 0);
            while chunk.left_out == 0 {
                chunk = read_lines(File::open(&path).unwrap(), chunk.next, 8, 32, 64).unwrap();
                found += chunk.lines.len() / 5;
            }
            assert_eq!((found, chunk.left_out, chunk.next.offset), (lines, 1, text.len() as u64));
        }
    }

    #[test]
    fn files_whose_numbers_are_none_of_samuels_hold_no_reader_up() {
        let root = tempfile::tempdir().unwrap();
        let dir = RunDir::new(root.path());
        append_to(&dir, RUN, RecordPart::Events, b"one\n").unwrap();
        let logs = dir.logs(RUN);
        for number in ["01", "+1", "001", "18446744073709551614", "18446744073709551615"] {
            fs::write(logs.join(format!("run.{number}.jsonl")), "foreign\n").unwrap();
        }
        let (done, is_done) = std::sync::mpsc::channel();
        let reading = dir.clone();
        // A reader that never ends must not hold the tests up.
        std::thread::spawn(move || {
            let read = read_from(&reading, RUN, RecordPart::Events, RecordPlace::default()).unwrap();
            let rest = read_from(&reading, RUN, RecordPart::Events, read.next).unwrap();
            let _ = done.send((read.lines, rest.lines));
        });
        let (read, rest) = is_done.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
        assert_eq!((&read[..], rest.len()), (&b"one\n"[..], 0));
        assert!(segments(dir.root(), &logs, RecordPart::Events).unwrap().is_empty());
    }

    #[test]
    fn a_record_is_neither_written_nor_read_outside_of_its_directory() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dir = RunDir::new(root.path());
        assert!(append_to(&dir, "../x", RecordPart::Events, b"a\n").is_err());
        dir.make_logs(RUN).unwrap();
        fs::write(other.path().join("f"), "secret\n").unwrap();
        std::os::unix::fs::symlink(other.path().join("f"), dir.logs(RUN).join("run.jsonl")).unwrap();
        assert!(append_to(&dir, RUN, RecordPart::Events, b"a\n").is_err());
        assert!(read_from(&dir, RUN, RecordPart::Events, RecordPlace::default()).is_err());
        assert_eq!(fs::read_to_string(other.path().join("f")).unwrap(), "secret\n");
    }
}
