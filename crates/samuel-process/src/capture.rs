//! Keeping the head and the tail of a stream and copying all of it to a file.
//!
//! A [`Capture`] takes the bytes of one stream as they are read and becomes a
//! [`Captured`]. Its memory is bounded by [`OutputLimits`].

use super::{Captured, OutputFilter, OutputLimits, Spill, StreamFilter};
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat},
    io::Errno,
};
use std::{
    borrow::Cow,
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::Arc,
};

/// One output stream while it is being read.
#[derive(Debug)]
pub(super) struct Capture {
    limits: OutputLimits,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    utf8: Utf8Check,
    sink: Sink,
    /// Filters what the file receives.
    filter: Option<Box<dyn StreamFilter>>,
}

/// Which of the two streams a capture belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

impl Capture {
    /// Prepares a capture, with its file open if it is wanted from the start.
    pub(super) fn new(
        stream: Stream,
        limits: OutputLimits,
        spill: &Spill,
        directory: Option<&Arc<OwnedFd>>,
    ) -> Self {
        let sink = match (spill, stream) {
            (Spill::Never, _) => Sink::Off,
            (Spill::WhenNeeded { stdout: path, .. }, Stream::Stdout)
            | (Spill::WhenNeeded { stderr: path, .. }, Stream::Stderr) => {
                Sink::Armed { path: path.clone(), directory: directory.cloned() }
            }
            (Spill::Always { stdout: path, .. }, Stream::Stdout)
            | (Spill::Always { stderr: path, .. }, Stream::Stderr) => {
                Sink::open(path.clone(), directory, limits.spill)
            }
        };
        let (head, tail, utf8) = (Vec::new(), VecDeque::new(), Utf8Check::default());
        Self { limits, head, tail, total: 0, utf8, sink, filter: None }
    }

    /// Filters what the file receives.
    pub(super) fn filtered(self, filter: Option<&Arc<dyn OutputFilter>>) -> Self {
        Self { filter: filter.map(|filter| filter.stream()), ..self }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let in_memory = self.limits.head.saturating_add(self.limits.tail) as u64;
        let overflows = self.total + bytes.len() as u64 > in_memory;
        if overflows {
            // Until now memory holds everything, so the file can still be complete.
            self.open_armed_sink();
        }
        if let Sink::Open(file) = &mut self.sink {
            append(file, &mut self.filter, bytes);
        }
        self.utf8.push(bytes);
        self.total += bytes.len() as u64;
        self.keep(bytes);
    }

    /// Ends the stream.
    pub(super) fn finish(mut self) -> Captured {
        let invalid_utf8 = self.utf8.finish();
        if invalid_utf8 {
            self.open_armed_sink();
        }
        if let (Sink::Open(file), Some(filter)) = (&mut self.sink, &mut self.filter) {
            file.append(&filter.finish());
        }
        let (spill, spill_incomplete, spill_problem) = match self.sink {
            Sink::Off | Sink::Armed { .. } => (None, false, None),
            Sink::Refused { problem } => (None, true, Some(problem)),
            Sink::Open(file) => (Some(file.path), file.incomplete, None),
        };
        Captured {
            head: self.head,
            tail: self.tail.into(),
            total_bytes: self.total,
            invalid_utf8,
            spill,
            spill_incomplete,
            spill_problem,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limits.head.saturating_sub(self.head.len()).min(bytes.len());
        let (for_head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(for_head);
        let rest = rest.get(rest.len().saturating_sub(self.limits.tail)..).unwrap_or(rest);
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.limits.tail);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(rest);
    }

    fn open_armed_sink(&mut self) {
        let Sink::Armed { path, directory } = &mut self.sink else { return };
        let mut sink = Sink::open(std::mem::take(path), directory.as_ref(), self.limits.spill);
        if let Sink::Open(file) = &mut sink {
            let (older, newer) = self.tail.as_slices();
            for kept in [self.head.as_slice(), older, newer] {
                append(file, &mut self.filter, kept);
            }
        }
        self.sink = sink;
    }
}

/// Writes bytes to a file as its filter changes them.
fn append(file: &mut SpillFile, filter: &mut Option<Box<dyn StreamFilter>>, bytes: &[u8]) {
    match filter {
        Some(filter) => file.append(&filter.push(bytes)),
        None => file.append(bytes),
    }
}

/// Where the copy goes.
#[derive(Debug)]
enum Sink {
    Off,
    /// Opened when memory no longer holds everything.
    Armed {
        path: PathBuf,
        directory: Option<Arc<OwnedFd>>,
    },
    Open(SpillFile),
    Refused {
        problem: String,
    },
}

impl Sink {
    /// Creates the file. If that fails, the command runs without the raw copy.
    fn open(path: PathBuf, directory: Option<&Arc<OwnedFd>>, room: u64) -> Self {
        match create_private(directory.map(|directory| directory.as_fd()), &path) {
            Ok(file) => Self::Open(SpillFile { path, file, room, incomplete: false }),
            Err(error) => Self::Refused { problem: format!("{}: {error}", path.display()) },
        }
    }
}

#[derive(Debug)]
struct SpillFile {
    path: PathBuf,
    file: File,
    room: u64,
    incomplete: bool,
}

impl SpillFile {
    /// Writes what there is room for. The writes are plain and blocking: they
    /// go to the page cache, and a hop to another thread for each would cost more.
    fn append(&mut self, bytes: &[u8]) {
        if self.incomplete {
            return;
        }
        let fits = usize::try_from(self.room).unwrap_or(usize::MAX).min(bytes.len());
        let written = self.file.write_all(bytes.get(..fits).unwrap_or(bytes));
        self.room -= fits as u64;
        self.incomplete = written.is_err() || fits < bytes.len();
    }
}

/// Creates a file that only its owner can read: one of [`Spill`], or another log next to it.
///
/// If an open directory is given, the file is created in this directory under the last name of `path`, and the rest of
/// `path` is ignored. Otherwise links in `path` are followed.
///
/// An existing file is removed, not reused: it may be a link to a file
/// of another user, or open to others.
///
/// # Errors
/// Those of the system, if the old file cannot be removed or the new one cannot be created.
pub fn create_private(directory: Option<BorrowedFd<'_>>, path: &Path) -> io::Result<File> {
    let (directory, path) = match directory {
        Some(directory) => (directory, Path::new(path.file_name().unwrap_or_default())),
        None => (CWD, path),
    };
    match unlinkat(directory, path, AtFlags::empty()) {
        Err(error) if error != Errno::NOENT => return Err(error.into()),
        _ => {}
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(directory, path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Tells whether a stream is UTF-8 while it comes in pieces.
#[derive(Debug, Default)]
struct Utf8Check {
    /// The start of a character whose rest is in the next piece.
    pending: Vec<u8>,
    invalid: bool,
}

impl Utf8Check {
    fn push(&mut self, bytes: &[u8]) {
        if self.invalid {
            return;
        }
        let piece = if self.pending.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned([&self.pending, bytes].concat())
        };
        self.pending.clear();
        if let Err(error) = std::str::from_utf8(&piece) {
            self.invalid = error.error_len().is_some();
            self.pending.extend(piece.get(error.valid_up_to()..).unwrap_or_default().iter().take(3));
        }
    }

    fn finish(&self) -> bool {
        self.invalid || !self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;
    use proptest::prelude::*;
    use std::{fs, os::unix::fs::PermissionsExt, path::Path};

    fn limits(head: usize, tail: usize) -> OutputLimits {
        OutputLimits { head, tail, ..OutputLimits::default() }
    }

    fn when_needed(dir: &Path) -> Spill {
        Spill::WhenNeeded { stdout: dir.join("out"), stderr: dir.join("err") }
    }

    fn capture(limits: OutputLimits, spill: &Spill, pieces: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(Stream::Stdout, limits, spill, None);
        for piece in pieces {
            capture.push(piece);
        }
        capture.finish()
    }

    #[test]
    fn output_of_exactly_the_limit_is_whole_and_one_byte_more_goes_to_a_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let spill = when_needed(dir.path());

        let whole = capture(limits(2, 3), &spill, &[b"ab", b"cde"]);
        assert!(!whole.is_truncated());
        assert_eq!((whole.text(), whole.spill()), ("abcde".into(), None));

        let cut = capture(limits(2, 3), &spill, &[b"ab", b"cde", b"f"]);
        assert_eq!(cut.omitted_bytes(), 1);
        assert_eq!((cut.head.as_slice(), cut.tail.as_slice()), (&b"ab"[..], &b"def"[..]));
        let path = cut.spill().unwrap();
        assert_eq!(fs::read(path).unwrap(), b"abcdef");
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(cut.text().contains(path.to_str().unwrap()));
    }

    #[test]
    fn short_output_that_is_not_utf8_is_kept_raw_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let captured = capture(limits(100, 100), &when_needed(dir.path()), &[b"a\xff", b"b\0c"]);
        assert!(captured.invalid_utf8);
        assert_eq!(captured.text(), "a\u{fffd}bc");
        assert_eq!(fs::read(captured.spill().unwrap()).unwrap(), b"a\xffb\0c");
    }

    /// Writes capitals, and each byte only once the next one is known.
    #[derive(Debug, Default)]
    struct Capitals(Vec<u8>);

    impl OutputFilter for Capitals {
        fn stream(&self) -> Box<dyn StreamFilter> {
            Box::new(Self::default())
        }
    }

    impl StreamFilter for Capitals {
        fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
            self.0.extend(bytes.to_ascii_uppercase());
            let last = self.0.split_off(self.0.len().saturating_sub(1));
            std::mem::replace(&mut self.0, last)
        }

        fn finish(&mut self) -> Vec<u8> {
            std::mem::take(&mut self.0)
        }
    }

    #[test]
    fn filters_the_file_and_not_the_memory() {
        let dir = tempfile::tempdir().unwrap();
        let always = Spill::Always { stdout: dir.path().join("out"), stderr: dir.path().join("err") };
        let filter: Arc<dyn OutputFilter> = Arc::new(Capitals::default());
        for spill in [always, when_needed(dir.path())] {
            let capture = Capture::new(Stream::Stdout, limits(1, 1), &spill, None);
            let mut capture = capture.filtered(Some(&filter));
            capture.push(b"ab");
            capture.push(b"cd");
            let captured = capture.finish();
            assert_eq!((captured.head.as_slice(), captured.tail.as_slice()), (&b"a"[..], &b"d"[..]));
            assert_eq!(fs::read(captured.spill().unwrap()).unwrap(), b"ABCD");
        }
    }

    #[test]
    fn the_file_stops_at_its_limit_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let limits = OutputLimits { spill: 4, ..limits(1, 1) };
        let captured = capture(limits, &when_needed(dir.path()), &[b"abc", b"def", b"ghi"]);
        assert!(captured.spill_incomplete);
        assert_eq!(fs::read(captured.spill().unwrap()).unwrap(), b"abcd");
        assert_eq!(captured.total_bytes, 9);
    }

    #[test]
    fn an_existing_link_is_replaced_and_its_target_untouched() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("precious");
        fs::write(&target, "keep").unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join("out")).unwrap();
        let spill = Spill::Always { stdout: dir.path().join("out"), stderr: dir.path().join("err") };
        capture(limits(1, 1), &spill, &[b"new"]);
        assert_eq!(fs::read(&target).unwrap(), b"keep");
        assert_eq!(fs::read(dir.path().join("out")).unwrap(), b"new");
    }

    #[test]
    fn writes_to_opened_directory_after_exchange_for_link() {
        let dir = tempfile::tempdir().unwrap();
        let [logs, moved, outside] = ["logs", "moved", "outside"].map(|name| dir.path().join(name));
        for made in [&logs, &outside] {
            fs::create_dir(made).unwrap();
        }
        fs::write(outside.join("out"), "precious").unwrap();
        let opened = Arc::new(OwnedFd::from(File::open(&logs).unwrap()));
        fs::rename(&logs, &moved).unwrap();
        std::os::unix::fs::symlink(&outside, &logs).unwrap();
        let always = Spill::Always { stdout: logs.join("out"), stderr: logs.join("err") };
        for (spill, bytes) in [(always, b"first"), (when_needed(&logs), b"after")] {
            let mut capture = Capture::new(Stream::Stdout, limits(1, 1), &spill, Some(&opened));
            capture.push(bytes);
            assert_eq!(capture.finish().spill(), Some(logs.join("out").as_path()));
            assert_eq!(fs::read(moved.join("out")).unwrap(), bytes);
            assert_eq!(fs::read(outside.join("out")).unwrap(), b"precious");
        }
    }

    #[test]
    fn captures_output_although_its_file_cannot_be_created() {
        let dir = tempfile::tempdir().unwrap();
        let absent = dir.path().join("absent");
        let always = Spill::Always { stdout: absent.join("out"), stderr: absent.join("err") };
        for spill in [always, when_needed(&absent)] {
            let captured = capture(limits(1, 1), &spill, &[b"abc"]);
            assert_eq!((captured.spill(), captured.spill_incomplete, captured.total_bytes), (None, true, 3));
            let problem = captured.spill_problem.unwrap();
            assert!(problem.starts_with(absent.join("out").to_str().unwrap()), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn head_tail_and_utf8_do_not_depend_on_how_the_stream_is_cut(
            bytes in prop_oneof![
                any::<String>().prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..64),
            ],
            size in 1_usize..7,
            head in 0_usize..9,
            tail in 0_usize..9,
        ) {
            let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
            let captured = capture(limits(head, tail), &Spill::Never, &pieces);
            let head_end = head.min(bytes.len());
            prop_assert_eq!(&captured.head, &bytes[..head_end]);
            let tail_start = bytes.len().saturating_sub(tail).max(head_end);
            prop_assert_eq!(&captured.tail, &bytes[tail_start..]);
            prop_assert_eq!(captured.total_bytes, bytes.len() as u64);
            prop_assert_eq!(captured.invalid_utf8, std::str::from_utf8(&bytes).is_err());
        }
    }
}
