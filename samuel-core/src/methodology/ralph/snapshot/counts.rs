//! What is counted in the text of a file.
//!
//! [`Counts::of`] looks at the bytes once. It knows nothing of paths or
//! caches; who asks for which file is [`tally`](super::tally).

/// The longest file that is looked at, in bytes. Longer ones are data.
pub(super) const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Bytes at the start in which a NUL makes a file binary, as git has it.
const BINARY_PROBE: usize = 8_000;

const MARKS: [&[u8]; 3] = [b"TODO", b"FIXME", b"HACK"];

/// What was counted in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Lines; a last one without an end counts.
    pub(super) lines: u32,
    /// The words TODO, FIXME and HACK in capitals.
    pub(super) todos: u32,
    /// Whether it holds Rust tests.
    pub(super) inline_tests: bool,
}

impl Counts {
    /// Counts in a file; a binary one has nothing to count.
    pub(super) fn of(text: &[u8]) -> Self {
        let probe = text.get(..BINARY_PROBE).unwrap_or(text);
        if probe.contains(&0) || text.len() as u64 > MAX_BYTES {
            return Self::default();
        }
        let ends = text.iter().filter(|byte| **byte == b'\n').count();
        let lines = ends + usize::from(text.last().is_some_and(|byte| *byte != b'\n'));
        Self {
            lines: u32::try_from(lines).unwrap_or(u32::MAX),
            todos: count_marks(text),
            inline_tests: find(text, b"#[cfg(test)]") || find(text, b"#[test]"),
        }
    }
}

/// Counts marks that are words of their own.
fn count_marks(text: &[u8]) -> u32 {
    let mut count = 0;
    let mut before = b' ';
    for (position, byte) in text.iter().enumerate() {
        if matches!(byte, b'T' | b'F' | b'H') && !is_word(before) {
            let rest = text.get(position..).unwrap_or_default();
            count += u32::from(MARKS.iter().any(|mark| starts_with_word(rest, mark)));
        }
        before = *byte;
    }
    count
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.first().is_some_and(|byte| is_word(*byte)))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find(text: &[u8], needle: &[u8]) -> bool {
    let mut rest = text;
    while let Some(position) = rest.iter().position(|byte| *byte == b'#') {
        rest = rest.get(position..).unwrap_or_default();
        if rest.starts_with(needle) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_without_an_end_counts() {
        let lines = |text: &str| Counts::of(text.as_bytes()).lines;
        assert_eq!((lines(""), lines("a"), lines("a\n"), lines("a\nb"), lines("\n\n")), (0, 1, 1, 2, 2));
    }

    #[test]
    fn marks_are_whole_words_in_capitals() {
        let todos = |text: &str| Counts::of(text.as_bytes()).todos;
        assert_eq!(todos("// TODO: a\n# FIXME(b) HACK\nTODO"), 4);
        assert_eq!(todos("TODOS todo MY_TODO XHACK HACKED fixme"), 0);
    }

    #[test]
    fn tests_inside_a_rust_file_are_seen() {
        assert!(Counts::of(b"fn a() {}\n#[cfg(test)]\nmod tests {}").inline_tests);
        assert!(Counts::of(b"#[derive(Debug)]\n#[test]\nfn a() {}").inline_tests);
        assert!(!Counts::of(b"#[cfg(feature = \"test\")]").inline_tests);
    }

    #[test]
    fn nothing_is_counted_in_a_binary() {
        assert_eq!(Counts::of(b"TODO\n\0\n"), Counts::default());
    }
}
