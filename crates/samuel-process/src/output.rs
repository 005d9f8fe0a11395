//! How a command ended and what it wrote.

use super::{Containment, LeftRunning, Process, SupervisorId};
use std::{
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A finished command.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    /// How the process itself ended. A command that was stopped and reports
    /// `Exited(0)` on SIGTERM still has an `end` other than [`End::Exited`].
    pub status: ExitStatus,
    /// Why it ended.
    pub end: End,
    /// What it wrote to standard output.
    pub stdout: Captured,
    /// What it wrote to standard error; empty when that was merged.
    pub stderr: Captured,
    /// Processes that were left after the command had ended and were killed. Always none for a
    /// [background](super::CommandSpec::background) command that exited.
    /// Under [`Supervisor::GroupOnly`](super::Supervisor::GroupOnly) those of its group alone, at
    /// most eight, and one of no name outside of Linux for any number.
    pub left_running: Option<LeftRunning>,
    /// Whether everything was gone when the call returned. If not, a sweep was
    /// still at work (or a process is stuck in the kernel), and
    /// [`wait_for_sweep`](super::wait_for_sweep) waits for its end.
    pub swept: bool,
    /// The processes that may be left, those that are known, where the sweep is over and
    /// did not end them all for certain, or where the supervisor was lost. None where all
    /// are gone, and while a supervisor is at work.
    pub left_behind: Option<Vec<Process>>,
    /// From the call to the end of the command.
    pub duration: Duration,
    /// The supervisor process that watched over the command; none under
    /// [`Supervisor::GroupOnly`](super::Supervisor::GroupOnly).
    pub supervisor: Option<SupervisorId>,
    /// What held its processes.
    pub containment: Containment,
}

impl CommandOutput {
    /// Tells whether the command ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.end == End::Exited && self.status == ExitStatus::Exited(0)
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExitStatus {
    /// It exited with this code, 0 to 255.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
}

impl ExitStatus {
    /// Returns the exit code, unless a signal ended the process.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signaled(_) => None,
        }
    }
}

/// Reads `exit code 1` or `signal 9`.
impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signaled(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum End {
    /// By itself.
    Exited,
    /// Its [timeout](super::CommandSpec::timeout) ran out.
    TimedOut,
    /// It wrote nothing before [`Clocks::first_byte`](super::Clocks::first_byte).
    NoFirstByte,
    /// It was silent for longer than [`Clocks::idle`](super::Clocks::idle).
    Idle,
    /// It had finished its work but not exited before
    /// [`Clocks::linger`](super::Clocks::linger). This is a normal end.
    Linger,
    /// The caller asked for it.
    Cancelled,
}

/// What one output stream carried: its head and its tail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured {
    /// The first bytes, up to [`OutputLimits::head`](super::OutputLimits::head).
    pub head: Vec<u8>,
    /// The last bytes after the head, up to
    /// [`OutputLimits::tail`](super::OutputLimits::tail).
    pub tail: Vec<u8>,
    /// All bytes that were read.
    pub total_bytes: u64,
    /// Whether the stream as a whole is not UTF-8.
    pub invalid_utf8: bool,
    /// The file that holds the raw bytes, if one was written.
    pub spill: Option<PathBuf>,
    /// Whether that file lacks something: it reached its limit, or the disk
    /// refused.
    pub spill_incomplete: bool,
    /// The path and the reason, if the file could not be created.
    pub spill_problem: Option<String>,
}

impl Captured {
    /// Returns the number of bytes between head and tail that were not kept.
    pub fn omitted_bytes(&self) -> u64 {
        let kept = self.head.len() + self.tail.len();
        self.total_bytes.saturating_sub(kept as u64)
    }

    /// Tells whether something was not kept.
    pub fn is_truncated(&self) -> bool {
        self.omitted_bytes() > 0
    }

    /// Returns the file that holds the raw bytes, if one was written.
    pub fn spill(&self) -> Option<&Path> {
        self.spill.as_deref()
    }

    /// Returns the output as text for a prompt or a person.
    ///
    /// What is not UTF-8 becomes U+FFFD and NUL bytes are left out. Where bytes
    /// are missing stands a line that says how many and which file has them.
    pub fn text(&self) -> String {
        if !self.is_truncated() {
            return readable(&[self.head.as_slice(), &self.tail].concat());
        }
        let head = without_cut_end(&self.head);
        let tail = without_cut_start(&self.tail);
        let note = self.truncation_note();
        format!("{}\n{note}\n{}", readable(head), readable(tail))
    }

    fn truncation_note(&self) -> String {
        let omitted = self.omitted_bytes();
        match &self.spill {
            Some(path) if self.spill_incomplete => {
                format!("[... {omitted} bytes left out; more of the output is in {} ...]", path.display())
            }
            Some(path) => {
                format!("[... {omitted} bytes left out; the full output is in {} ...]", path.display())
            }
            None => format!("[... {omitted} bytes left out ...]"),
        }
    }
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\0', "")
}

/// Drops a character that the cut split, so that it does not look like bad
/// output of the command.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.get(..error.valid_up_to()).unwrap_or(bytes),
        _ => bytes,
    }
}

fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let cut = bytes.iter().take(3).take_while(is_continuation).count();
    bytes.get(cut..).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;

    #[test]
    fn text_shows_bad_bytes_and_drops_nul() {
        let captured = Captured { head: b"a\xffb\0c".to_vec(), total_bytes: 5, ..Captured::default() };
        assert_eq!(captured.text(), "a\u{fffd}bc");
    }

    #[test]
    fn text_of_a_truncated_stream_names_the_file_and_splits_no_character() {
        let captured = Captured {
            head: "aé".as_bytes()[..2].to_vec(),
            tail: "éz".as_bytes()[1..].to_vec(),
            total_bytes: 100,
            spill: Some("/tmp/all.out".into()),
            ..Captured::default()
        };
        let text = captured.text();
        assert_eq!(text, "a\n[... 96 bytes left out; the full output is in /tmp/all.out ...]\nz");
    }

    #[test]
    fn a_character_across_head_and_tail_is_whole_when_nothing_is_missing() {
        let captured = Captured {
            head: "é".as_bytes()[..1].to_vec(),
            tail: "é".as_bytes()[1..].to_vec(),
            total_bytes: 2,
            ..Captured::default()
        };
        assert_eq!(captured.text(), "é");
    }
}
