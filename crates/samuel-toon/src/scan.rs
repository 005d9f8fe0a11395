//! Finding the next interesting byte, eight at a time.
//!
//! Cells, keys and quoted tokens are short, so a call into a vectorised search
//! costs more than it saves; arithmetic on eight bytes does not.

use std::{mem, slice};

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks the bytes of `word` that equal one of `wanted`, which are ASCII.
#[inline]
fn matches<const N: usize>(word: &[u8; 8], wanted: [u8; N]) -> u64 {
    let word = u64::from_le_bytes(*word);
    let mut others = !0;
    for byte in wanted {
        others &= differs(word & !HIGH, byte);
    }
    !(others | word) & HIGH
}

/// Marks the bytes of an ASCII word that do not equal `byte`.
#[inline]
const fn differs(ascii: u64, byte: u8) -> u64 {
    (ascii ^ (LOW * byte as u64)) + !HIGH
}

/// Returns the place of the lowest mark.
#[inline]
pub(super) const fn first(found: u64) -> usize {
    (found.trailing_zeros() / 8) as usize
}

/// Returns the offset, from `from` on, of the first byte equal to one of
/// `wanted`, or the length of `bytes`.
#[inline]
pub(crate) fn find<const N: usize>(bytes: &[u8], from: usize, wanted: [u8; N]) -> usize {
    let mut rest = bytes.get(from..).unwrap_or_default();
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let found = matches(word, wanted);
        if found != 0 {
            return bytes.len() - rest.len() + first(found);
        }
        rest = tail;
    }
    let at = rest.iter().position(|byte| wanted.contains(byte)).unwrap_or(rest.len());
    bytes.len() - rest.len() + at
}

/// Returns the offset, from `from` on, of the first byte that is no space, or
/// the length of `bytes`.
#[inline]
pub(crate) fn skip_spaces(bytes: &[u8], from: usize) -> usize {
    let mut rest = bytes.get(from..).unwrap_or_default();
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        let others = u64::from_le_bytes(*word) ^ (LOW * b' ' as u64);
        if others != 0 {
            return bytes.len() - rest.len() + first(others);
        }
        rest = tail;
    }
    let at = rest.iter().position(|byte| *byte != b' ').unwrap_or(rest.len());
    bytes.len() - rest.len() + at
}

/// Returns the offset, from `from` on, of the next line feed, or the length of
/// `bytes`. Most lines end soon; a vectorised search takes over for the others.
#[inline]
pub(crate) fn line_feed(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let mut tail = rest;
    for _ in 0..3 {
        let Some((word, behind)) = tail.split_first_chunk::<8>() else { break };
        let found = matches(word, [b'\n']);
        if found != 0 {
            return bytes.len() - tail.len() + first(found);
        }
        tail = behind;
    }
    memchr::memchr(b'\n', tail).map_or(bytes.len(), |at| bytes.len() - tail.len() + at)
}

/// Tells whether one of eight bytes is special in a value: a control, a quote, a
/// backslash, a colon, a bracket, a brace or the delimiter.
#[inline]
pub(super) const fn has_special(word: u64, delimiter: u8) -> bool {
    let ascii = word & !HIGH;
    // This bit tells brackets from braces, and those below it are controls.
    let folded = ascii | (LOW * 0x20);
    let controls = (ascii & (LOW * 0x60)) + !HIGH;
    let brackets = differs(folded, b'{') & differs(folded, b'}');
    let others =
        differs(ascii, b'"') & differs(ascii, b'\\') & differs(ascii, b':') & differs(ascii, delimiter);
    (controls & brackets & others | word) & HIGH != HIGH
}

/// Marks those of eight bytes that must be escaped in a quoted text.
#[inline]
pub(super) const fn escapes(word: u64) -> u64 {
    let ascii = word & !HIGH;
    let controls = (ascii & (LOW * 0x60)) + !HIGH;
    let others = controls & differs(ascii, b'"') & differs(ascii, b'\\');
    !(others | word) & HIGH
}

/// The offsets of all bytes that matter in a row, ascending: delimiters, quotes,
/// backslashes and line feeds. The end of the text counts as a line feed; now
/// and then a byte that does not matter is among them.
pub(crate) struct Marks<'a> {
    words: slice::Iter<'a, [u8; 8]>,
    tail: &'a [u8],
    delimiter: u8,
    /// Where the eight bytes stand whose marks are left.
    base: usize,
    left: u64,
}

impl<'a> Marks<'a> {
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8], from: usize, delimiter: u8) -> Self {
        let (words, tail) = bytes.get(from..).unwrap_or_default().as_chunks::<8>();
        Self { words: words.iter(), tail, delimiter, base: from.wrapping_sub(8), left: 0 }
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> usize {
        while self.left == 0 {
            self.base = self.base.wrapping_add(8);
            self.left = match self.words.next() {
                Some(word) => marks(word, self.delimiter),
                None => marks(&padded(mem::take(&mut self.tail)), self.delimiter),
            };
        }
        let at = self.base + first(self.left);
        self.left &= self.left - 1;
        at
    }

    /// Returns the next offset that is not below `least`.
    #[inline(always)]
    pub(crate) fn next_from(&mut self, least: usize) -> usize {
        loop {
            let at = self.next();
            if at >= least {
                return at;
            }
        }
    }
}

#[inline(always)]
fn marks(word: &[u8; 8], delimiter: u8) -> u64 {
    let word = u64::from_le_bytes(*word);
    let ascii = word & !HIGH;
    // With these two bits set, a line feed and a quote are the same, and so are
    // two bytes that hardly ever occur.
    let feed_or_quote = differs(ascii | (LOW * 0x28), 0x2A);
    let others = feed_or_quote & differs(ascii, b'\\') & differs(ascii, delimiter);
    !(others | word) & HIGH
}

#[cold]
fn padded(tail: &[u8]) -> [u8; 8] {
    let mut word = [b'\n'; 8];
    for (to, from) in word.iter_mut().zip(tail) {
        *to = *from;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_bytes_is_found_wherever_it_stands() {
        for length in 0..40 {
            for at in 0..=length {
                let mut bytes = vec![b'x'; length];
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = b',';
                }
                // A byte one above the wanted one is the classic false match.
                bytes.extend_from_slice(b"-,:");
                let expected = if at < length { at } else { length + 1 };
                assert_eq!(find(&bytes, 0, [b',', b':']), expected);
                assert_eq!(find(&bytes, at.min(length), [b':']), length + 2);
            }
        }
        assert_eq!(find(b"abc", 0, [b',']), 3);
        assert_eq!(find(b"abc", 9, [b',']), 3);
    }
    #[test]
    fn spaces_and_line_feeds_are_counted_at_any_length() {
        for length in 0..40 {
            let mut bytes = vec![b' '; length];
            assert_eq!(skip_spaces(&bytes, 0), length);
            assert_eq!(line_feed(&bytes, 0), length);
            bytes.extend_from_slice(b"!\n  \n");
            for from in 0..=length {
                assert_eq!(skip_spaces(&bytes, from), length);
                assert_eq!(line_feed(&bytes, from), length + 1);
            }
        }
        assert_eq!((skip_spaces(b"ab", 7), line_feed(b"ab", 7)), (2, 2));
    }
}
