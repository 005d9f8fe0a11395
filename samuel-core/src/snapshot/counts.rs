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
        let ends = memchr::memchr_iter(b'\n', text).count();
        let lines = ends + usize::from(text.last().is_some_and(|byte| *byte != b'\n'));
        let holds = |needle: &[u8]| memchr::memmem::find(text, needle).is_some();
        Self {
            lines: u32::try_from(lines).unwrap_or(u32::MAX),
            todos: count_marks(text),
            inline_tests: holds(b"#[cfg(test)]") || holds(b"#[test]"),
        }
    }
}

/// Counts marks that are words of their own.
fn count_marks(text: &[u8]) -> u32 {
    let begins = |position: &usize| !position.checked_sub(1).and_then(|at| text.get(at)).is_some_and(is_word);
    let is_mark = |position: &usize| {
        let rest = text.get(*position..).unwrap_or_default();
        MARKS.iter().any(|mark| starts_with_word(rest, mark))
    };
    let marks =
        memchr::memchr3_iter(b'T', b'F', b'H', text).filter(|position| begins(position) && is_mark(position));
    u32::try_from(marks.count()).unwrap_or(u32::MAX)
}

fn starts_with_word(text: &[u8], word: &[u8]) -> bool {
    text.strip_prefix(word).is_some_and(|rest| !rest.first().is_some_and(is_word))
}

fn is_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_'
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
