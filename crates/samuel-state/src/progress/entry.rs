//! One line of the progress log.

use std::{fmt, str::FromStr, time::Duration};

use jiff::Timestamp;

use super::escape;
use samuel_model::{TaskId, words};

words! {
    /// What an entry is about (ARCHITECTURE.md, State).
    ProgressKind ("progress kind") {
        /// A task or a loop was started.
        Started = "STARTED",
        /// A task was completed.
        Completed = "COMPLETED",
        /// Something was learned that later iterations should know.
        Learning = "LEARNING",
        /// Something failed.
        Error = "ERROR",
        /// A quality check ran.
        Quality = "QUALITY",
        /// A commit was made.
        Commit = "COMMIT",
        /// Discovery found something to do.
        Found = "FOUND",
        /// Discovery looked at a part of the project.
        Explored = "EXPLORED",
    }
}

/// One entry of the progress log.
///
/// Its text form is one line, whatever its texts hold:
/// ```
/// use samuel_state::ProgressEntry;
/// let line = "[2026-11-21T10:00:00Z] [iteration:3] [task:1.2] LEARNING: two␊lines";
/// let entry: ProgressEntry = line.parse()?;
/// assert_eq!(entry.iteration, Some(3));
/// assert_eq!(entry.to_string(), line);
/// # Ok::<(), samuel_state::ParseProgressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressEntry {
    /// When it happened, in whole seconds when it is written.
    pub at: Timestamp,
    /// The iteration it belongs to, from 1.
    pub iteration: Option<u32>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// What happened.
    pub body: ProgressBody,
}

/// The note in the log, written at resume, about an iteration that was interrupted because Samuel ended.
pub const CUT_OFF: &str = "interrupted: samuel ended in mid-iteration";

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgressBody {
    /// Something of a kind, in words.
    Note {
        /// The kind.
        kind: ProgressKind,
        /// The words, any number of lines.
        text: String,
    },
    /// A handler broke and the loop went on.
    HookWarning {
        /// The hook point.
        point: String,
        /// The handler.
        handler: String,
        /// The class of the failure, such as `timeout`.
        class: String,
        /// What happened.
        message: String,
    },
    /// How long a handler took.
    HookTiming {
        /// The hook point.
        point: String,
        /// The handler.
        handler: String,
        /// The time, in whole microseconds when it is written.
        duration: Duration,
        /// How it ended, such as `ok`.
        outcome: String,
    },
}

impl ProgressEntry {
    /// Creates a note that belongs to no iteration and no task.
    pub fn note(at: Timestamp, kind: ProgressKind, text: impl Into<String>) -> Self {
        Self { at, iteration: None, task: None, body: ProgressBody::Note { kind, text: text.into() } }
    }

    /// Reads one line. Tags may come in any order, and a line end is ignored.
    ///
    /// # Errors
    /// Returns [`ParseProgressError`] for a line that is something else, such
    /// as an agent's own words.
    pub fn parse(line: &str) -> Result<Self, ParseProgressError> {
        Self::parse_line(line.trim_end_matches(['\r', '\n'])).ok_or(ParseProgressError)
    }

    fn parse_line(line: &str) -> Option<Self> {
        let (time, mut rest) = tag(line)?;
        let at = time.parse().ok()?;
        let (mut iteration, mut task) = (None, None);
        while let Some((name, after)) = tag(rest) {
            rest = after;
            if let Some(number) = name.strip_prefix("iteration:") {
                iteration = Some(number.parse().ok()?);
            } else if let Some(id) = name.strip_prefix("task:") {
                task = Some(id.parse().ok()?);
            } else {
                let body = match name {
                    "hooks.warning" => warning(rest)?,
                    "hooks.timing" => timing(rest)?,
                    _ => return None,
                };
                return Some(Self { at, iteration, task, body });
            }
        }
        let (kind, text) = rest.split_once(':')?;
        let kind = kind.parse().ok()?;
        let text = escape::unescape(text.strip_prefix(' ').unwrap_or(text));
        Some(Self { at, iteration, task, body: ProgressBody::Note { kind, text } })
    }
}

/// Splits `[name] rest`.
fn tag(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((name, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// Reads `POINT HANDLER CLASS: MESSAGE`.
fn warning(rest: &str) -> Option<ProgressBody> {
    let mut words = rest.splitn(4, ' ');
    let (point, handler, class) = (words.next()?, words.next()?, words.next()?.strip_suffix(':')?);
    let message = words.next().unwrap_or_default();
    let [point, handler, class, message] = [point, handler, class, message].map(escape::unescape);
    Some(ProgressBody::HookWarning { point, handler, class, message })
}

/// Reads `POINT HANDLER 4.1ms OUTCOME`.
fn timing(rest: &str) -> Option<ProgressBody> {
    let mut words = rest.splitn(4, ' ');
    let (point, handler) = (words.next()?, words.next()?);
    let duration = milliseconds(words.next()?)?;
    let outcome = words.next()?;
    let [point, handler, outcome] = [point, handler, outcome].map(escape::unescape);
    Some(ProgressBody::HookTiming { point, handler, duration, outcome })
}

/// Reads `4.1ms`, with at most three digits after the point.
fn milliseconds(text: &str) -> Option<Duration> {
    let number = text.strip_suffix("ms")?;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 3 || !part.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let micros = format!("{part:0<3}").parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(micros).map(Duration::from_micros)
}

impl fmt::Display for ProgressEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{:.0}] ", self.at)?;
        if let Some(iteration) = self.iteration {
            write!(f, "[iteration:{iteration}] ")?;
        }
        if let Some(task) = &self.task {
            write!(f, "[task:{task}] ")?;
        }
        match &self.body {
            ProgressBody::Note { kind, text } => write!(f, "{kind}: {}", escape::text(text)),
            ProgressBody::HookWarning { point, handler, class, message } => {
                let [point, handler, class] = [point, handler, class].map(|word| escape::word(word));
                write!(f, "[hooks.warning] {point} {handler} {class}: {}", escape::text(message))
            }
            ProgressBody::HookTiming { point, handler, duration, outcome } => {
                let [point, handler] = [point, handler].map(|word| escape::word(word));
                let (whole, part) = (duration.as_micros() / 1_000, duration.as_micros() % 1_000);
                let part = format!("{part:03}");
                let part = part.trim_end_matches('0');
                let point_sign = if part.is_empty() { "" } else { "." };
                let outcome = escape::text(outcome);
                write!(f, "[hooks.timing] {point} {handler} {whole}{point_sign}{part}ms {outcome}")
            }
        }
    }
}

impl FromStr for ProgressEntry {
    type Err = ParseProgressError;

    fn from_str(line: &str) -> Result<Self, ParseProgressError> {
        Self::parse(line)
    }
}

/// A line that is no entry of the progress log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an entry of the progress log")]
pub struct ParseProgressError;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_lines_of_the_contract_are_read_and_written_as_they_are() {
        for line in [
            "[2026-11-21T10:00:00Z] [iteration:3] [hooks.warning] quality.check samuel-lint:check timeout: no answer within 60s",
            "[2026-11-21T10:00:00Z] [iteration:3] [hooks.timing] context.extra samuel-python:context 4.1ms ok",
            "[2026-11-21T10:00:00Z] [iteration:3] [task:1.2] STARTED: Parse C:\\new\\table",
            "[2026-11-21T10:00:00Z] ERROR: no iteration, no task",
        ] {
            assert_eq!(ProgressEntry::parse(line).unwrap().to_string(), line);
        }
    }

    #[test]
    fn a_warning_is_read_into_its_parts() {
        let line = "[2026-11-21T10:00:00Z] [iteration:3] [hooks.warning] quality.check samuel-lint:check timeout: no answer";
        let ProgressBody::HookWarning { point, handler, class, message } =
            ProgressEntry::parse(line).unwrap().body
        else {
            unreachable!("it is a warning");
        };
        let parts = [point, handler, class, message];
        assert_eq!(parts, ["quality.check", "samuel-lint:check", "timeout", "no answer"]);
    }

    #[test]
    fn an_agents_own_words_are_no_entry() {
        for line in ["", "## Notes", "[ ] todo", "[2026-11-21T10:00:00Z] SHOUTED: x", "LEARNING: no time"] {
            assert!(ProgressEntry::parse(line).is_err(), "{line}");
        }
    }

    fn bodies() -> impl Strategy<Value = ProgressBody> {
        let text = "[a-z \\n\\r:␊␍␠␀␛\\\\\\[\\]🚀]{0,12}";
        let note = (proptest::sample::select(ProgressKind::ALL), text)
            .prop_map(|(kind, text)| ProgressBody::Note { kind, text });
        let warning = (text, text, text, text).prop_map(|(point, handler, class, message)| {
            ProgressBody::HookWarning { point, handler, class, message }
        });
        let timing = (text, text, any::<u32>(), text).prop_map(|(point, handler, micros, outcome)| {
            let duration = Duration::from_micros(micros.into());
            ProgressBody::HookTiming { point, handler, duration, outcome }
        });
        prop_oneof![note, warning, timing]
    }

    proptest! {
        #[test]
        fn any_entry_is_one_line_and_reads_back_the_same(
            body in bodies(), second in 0..4_000_000_000i64, iteration: Option<u32>, id in "[0-9a-z][0-9a-z._-]{0,9}"
        ) {
            let at = Timestamp::from_second(second).unwrap();
            let entry = ProgressEntry { at, iteration, task: Some(TaskId::new(id)), body };
            let line = entry.to_string();
            prop_assert!(!line.contains(['\n', '\r']));
            prop_assert_eq!(ProgressEntry::parse(&format!("{line}\r\n")), Ok(entry));
        }
    }
}
