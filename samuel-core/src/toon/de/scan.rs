//! Finding the next interesting byte, eight at a time.
//!
//! Cells, keys and quoted tokens are short, so a call into a vectorised search
//! costs more than it saves; arithmetic on eight bytes does not.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks zero bytes; marks above the lowest one may be wrong.
#[inline]
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOW) & !word & HIGH
}

/// Marks the bytes of `word` that equal one of `wanted`.
#[inline]
fn matches<const N: usize>(word: &[u8; 8], wanted: [u8; N]) -> u64 {
    let word = u64::from_le_bytes(*word);
    let mut found = 0;
    for byte in wanted {
        found |= zeros(word ^ (LOW * byte as u64));
    }
    found
}

#[inline]
const fn first(found: u64) -> usize {
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
