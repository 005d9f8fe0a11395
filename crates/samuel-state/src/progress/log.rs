//! The progress log as a whole.

use super::{ProgressBody, ProgressEntry, ProgressKind};

/// How much of a log is read; of a longer one, its end.
pub(crate) const MAX_LOG_BYTES: u64 = 8 << 20;

/// The lines of the progress log, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressLog {
    /// The lines.
    pub lines: Vec<ProgressLine>,
    /// Whether the file was so large that only its end was read.
    pub cut: bool,
}

/// A line of the progress log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgressLine {
    /// An entry.
    Entry(ProgressEntry),
    /// Anything else, as an agent or a person wrote it.
    Free(String),
}

impl ProgressLog {
    /// Reads the log's text.
    pub fn parse(text: &str) -> Self {
        let line = |line: &str| match ProgressEntry::parse(line) {
            Ok(entry) => ProgressLine::Entry(entry),
            Err(_) => ProgressLine::Free(line.to_owned()),
        };
        Self { lines: text.lines().map(line).collect(), cut: false }
    }

    /// Returns the entries among the lines.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &ProgressEntry> {
        self.lines.iter().filter_map(|line| match line {
            ProgressLine::Entry(entry) => Some(entry),
            ProgressLine::Free(_) => None,
        })
    }

    /// Returns the notes of one kind with their texts.
    pub fn notes(&self, wanted: ProgressKind) -> impl DoubleEndedIterator<Item = (&ProgressEntry, &str)> {
        self.entries().filter_map(move |entry| match &entry.body {
            ProgressBody::Note { kind, text } if *kind == wanted => Some((entry, text.as_str())),
            _ => None,
        })
    }
}

/// The lines of a log after a rotation, without their ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rotation<'a> {
    pub(crate) keep: Vec<&'a [u8]>,
    pub(crate) archive: Vec<&'a [u8]>,
}

/// Splits a log that has more than `max_lines`: the newer half of that many
/// lines stays, and so do all learnings; the other lines go to the archive.
///
/// A log that is long because of its learnings is left alone until it is
/// worth it, so that not every call rewrites the file for one line.
pub(crate) fn split_for_rotation(content: &[u8], max_lines: usize) -> Option<Rotation<'_>> {
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    if lines.len() <= max_lines {
        return None;
    }
    let old = lines.len() - max_lines / 2;
    let mut rotation = Rotation::default();
    for (index, line) in lines.into_iter().enumerate() {
        let side = if index >= old || is_learning(line) { &mut rotation.keep } else { &mut rotation.archive };
        side.push(line);
    }
    let worth = (max_lines / 10).max(1);
    (rotation.archive.len() >= worth).then_some(rotation)
}

/// Recognises learnings also in lines that agents wrote in a form of their own.
fn is_learning(line: &[u8]) -> bool {
    line.windows(9).any(|window| window == b"LEARNING:")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn free_lines_are_kept_beside_entries() {
        let log = ProgressLog::parse("# Log\n[2026-11-21T10:00:00Z] LEARNING: x\r\nfree\n");
        assert_eq!(log.lines.len(), 3);
        assert_eq!(log.lines.last(), Some(&ProgressLine::Free("free".into())));
        assert_eq!(log.notes(ProgressKind::Learning).map(|(_, text)| text).collect::<Vec<_>>(), ["x"]);
    }

    #[test]
    fn rotation_moves_old_lines_and_carries_learnings() {
        let lines: Vec<String> =
            (0..11).map(|n| if n % 4 == 0 { format!("LEARNING: {n}") } else { n.to_string() }).collect();
        let text = lines.join("\n");
        let rotation = split_for_rotation(text.as_bytes(), 10).unwrap();
        let text = |lines: Vec<&[u8]>| String::from_utf8(lines.join(&b' ')).unwrap();
        assert_eq!(text(rotation.keep), "LEARNING: 0 LEARNING: 4 6 7 LEARNING: 8 9 10");
        assert_eq!(text(rotation.archive), "1 2 3 5");
    }

    #[test]
    fn a_log_within_its_limit_is_left_alone() {
        assert_eq!(split_for_rotation(b"1\n2\n3\n", 3), None);
        assert_eq!(split_for_rotation(b"", 3), None);
    }

    #[test]
    fn a_log_of_learnings_only_is_left_alone() {
        assert_eq!(split_for_rotation("LEARNING: x\n".repeat(100).as_bytes(), 10), None);
    }
}
