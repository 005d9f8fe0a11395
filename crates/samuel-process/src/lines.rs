//! Lines of a running command, between the task that reads and the one that
//! consumes.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// Lines that may wait for the consumer before reading pauses.
const MAX_WAITING_LINES: usize = 1024;

/// Bytes of text that may wait for the consumer before reading pauses.
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// A line of standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The text without its line end; what is not UTF-8 is U+FFFD.
    pub text: String,
    /// Whether the line was longer than
    /// [`OutputLimits::line`](super::OutputLimits::line) and `text` is only its start.
    pub truncated: bool,
    /// Whether the bytes were not UTF-8.
    pub invalid_utf8: bool,
}

impl Line {
    /// Makes one of its bytes without the line end, of which a carriage return is a part; `truncated` says that they
    /// are only its start.
    pub fn new(mut bytes: &[u8], truncated: bool) -> Self {
        if !truncated {
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        }
        let (text, invalid_utf8) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), false),
            // The limit may have split the last character: not the command's fault.
            Err(error) if truncated && error.error_len().is_none() => {
                let whole = bytes.get(..error.valid_up_to()).unwrap_or(bytes);
                (String::from_utf8_lossy(whole).into_owned(), false)
            }
            Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
        };
        Self { text, truncated, invalid_utf8 }
    }
}

/// Cuts a stream into lines of bounded length.
///
/// The start of a line that passes the limit is handed out at once: its end may never come.
#[derive(Debug)]
pub(super) struct LineSplitter {
    limit: usize,
    partial: Vec<u8>,
    /// Whether the start of the current line was handed out, and its rest is dropped.
    overlong: bool,
}

impl LineSplitter {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, partial: Vec::new(), overlong: false }
    }

    /// Takes the next bytes of the stream and returns the lines they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let end = piece.strip_suffix(b"\n");
            lines.extend(self.extend(end.unwrap_or(piece)));
            if end.is_some() {
                let is_handed_out = std::mem::take(&mut self.overlong);
                lines.extend((!is_handed_out).then(|| self.take(false)));
            }
        }
        lines
    }

    /// Returns what follows the last line end, if anything does.
    pub(super) fn finish(&mut self) -> Option<Line> {
        (!self.partial.is_empty()).then(|| self.take(false))
    }

    /// Adds to the current line, and returns its start if that passes the limit.
    fn extend(&mut self, bytes: &[u8]) -> Option<Line> {
        if self.overlong {
            return None;
        }
        let room = self.limit.saturating_sub(self.partial.len()).min(bytes.len());
        self.partial.extend(bytes.iter().take(room));
        self.overlong = room < bytes.len();
        self.overlong.then(|| self.take(true))
    }

    fn take(&mut self, truncated: bool) -> Line {
        let line = Line::new(&self.partial, truncated);
        self.partial.clear();
        line
    }
}

/// The lines that wait for the consumer.
///
/// Reading pauses while it is [full](Self::has_room). What is in it when the
/// command has ended stays there until it is fetched.
#[derive(Debug, Default)]
pub(super) struct LineQueue {
    waiting: Mutex<Waiting>,
    arrived: Notify,
    taken: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: VecDeque<Line>,
    bytes: usize,
    /// No more will come.
    closed: bool,
    /// Nobody will fetch any.
    abandoned: bool,
}

impl LineQueue {
    pub(super) fn push(&self, lines: Vec<Line>) {
        let mut waiting = self.lock();
        if waiting.abandoned || lines.is_empty() {
            return;
        }
        waiting.bytes += lines.iter().map(|line| line.text.len()).sum::<usize>();
        waiting.lines.extend(lines);
        self.arrived.notify_one();
    }

    /// Says that no more lines will come.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Drops what waits and all that will come.
    pub(super) fn abandon(&self) {
        *self.lock() = Waiting { abandoned: true, ..Waiting::default() };
        self.taken.notify_one();
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().abandoned
    }

    pub(super) fn has_room(&self) -> bool {
        let waiting = self.lock();
        waiting.lines.len() < MAX_WAITING_LINES && waiting.bytes < MAX_WAITING_BYTES
    }

    /// Waits until the consumer has fetched something, or has gone.
    pub(super) async fn taken(&self) {
        self.taken.notified().await;
    }

    pub(super) async fn next(&self) -> Option<Line> {
        loop {
            {
                let mut waiting = self.lock();
                if let Some(line) = waiting.lines.pop_front() {
                    waiting.bytes -= line.text.len();
                    self.taken.notify_one();
                    return Some(line);
                }
                if waiting.closed {
                    return None;
                }
            }
            self.arrived.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Line {
        Line { text: text.into(), truncated: false, invalid_utf8: false }
    }

    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<Line> {
        let mut splitter = LineSplitter::new(limit);
        let mut lines: Vec<Line> = pieces.iter().flat_map(|piece| splitter.push(piece)).collect();
        lines.extend(splitter.finish());
        lines
    }

    #[test]
    fn line_ends_of_both_kinds_are_removed_and_a_last_line_needs_none() {
        assert_eq!(split(10, &[b"a\r\n\nb\nc"]), [line("a"), line(""), line("b"), line("c")]);
        assert_eq!(split(10, &[b"a\n"]), [line("a")]);
        assert_eq!(split(10, &[]), []);
    }

    #[test]
    fn an_overlong_line_is_cut_once_and_the_next_one_is_whole() {
        let lines = split(3, &[b"abcde", b"fg\nhij\n"]);
        assert_eq!(lines, [Line { truncated: true, ..line("abc") }, line("hij")]);
        assert_eq!(split(3, &[b"abcde"]), [Line { truncated: true, ..line("abc") }]);
    }

    #[test]
    fn an_overlong_line_is_not_held_back_until_its_end() {
        let mut splitter = LineSplitter::new(3);
        assert_eq!(splitter.push(b"abc"), []);
        assert_eq!(splitter.push(b"d"), [Line { truncated: true, ..line("abc") }]);
        assert_eq!(splitter.push(b"efghi"), []);
        assert_eq!(splitter.push(b"\nj\n"), [line("j")]);
    }

    #[test]
    fn the_limit_does_not_make_a_line_look_invalid_but_bad_bytes_do() {
        assert_eq!(split(2, &["aéz\n".as_bytes()]), [Line { truncated: true, ..line("a") }]);
        assert_eq!(split(9, &[b"a\xff\n"]), [Line { invalid_utf8: true, ..line("a\u{fffd}") }]);
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_the_stream_is_cut(text in "[ab\n]{0,40}", size in 1_usize..9) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let expected: Vec<Line> = text.lines().map(line).collect();
            prop_assert_eq!(split(100, &pieces), expected);
        }
    }

    #[tokio::test]
    async fn a_full_queue_has_room_again_once_a_line_is_fetched() {
        let queue = LineQueue::default();
        queue.push(vec![line("x"); MAX_WAITING_LINES]);
        assert!(!queue.has_room());
        assert_eq!(queue.next().await, Some(line("x")));
        queue.taken().await;
        assert!(queue.has_room());
    }

    #[tokio::test]
    async fn lines_that_waited_at_the_end_are_still_handed_out() {
        let queue = LineQueue::default();
        queue.push(vec![line("a"), line("b")]);
        queue.close();
        assert_eq!(queue.next().await, Some(line("a")));
        assert_eq!(queue.next().await, Some(line("b")));
        assert_eq!(queue.next().await, None);
    }
}
