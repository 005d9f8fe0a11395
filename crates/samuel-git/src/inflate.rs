//! Compressed data of objects, up to a limit.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// Decompresses what a stream begins with. Nothing for data that is damaged or
/// becomes larger than `max_bytes`.
pub(super) fn inflate(compressed: &[u8], max_bytes: usize) -> Option<Vec<u8>> {
    decompress_to_vec_zlib_with_limit(compressed, max_bytes).ok()
}

/// Says within how many bytes data of a size is compressed, unless somebody made
/// it longer on purpose.
pub(super) fn compressed_bound(size: usize) -> usize {
    size.saturating_add(size / 100).saturating_add(1_024)
}

/// Applies a delta to what it was made from. Nothing for one that is damaged or
/// gives more than `max_bytes`.
pub(super) fn apply_delta(base: &[u8], delta: &[u8], max_bytes: usize) -> Option<Vec<u8>> {
    let mut delta = delta.iter().copied();
    if size(&mut delta)? != base.len() {
        return None;
    }
    let result_size = size(&mut delta).filter(|size| *size <= max_bytes)?;
    let mut result = Vec::with_capacity(result_size);
    while let Some(command) = delta.next() {
        if command & 0x80 == 0 {
            let length = usize::from(command);
            // Zero is no command.
            if length == 0 || delta.len() < length {
                return None;
            }
            result.extend(delta.by_ref().take(length));
        } else {
            let mut number = |bits: std::ops::Range<u8>| {
                bits.enumerate().try_fold(0_usize, |number, (place, bit)| match command & 1 << bit {
                    0 => Some(number),
                    _ => Some(number | usize::from(delta.next()?) << (place * 8)),
                })
            };
            let offset = number(0..4)?;
            let length = match number(4..7)? {
                0 => 0x10000,
                length => length,
            };
            result.extend_from_slice(base.get(offset..offset.checked_add(length)?)?);
        }
        if result.len() > result_size {
            return None;
        }
    }
    (result.len() == result_size).then_some(result)
}

/// Reads a size: seven bits a byte, the lowest first.
fn size(bytes: &mut impl Iterator<Item = u8>) -> Option<usize> {
    let mut size = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = bytes.next()?;
        size |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(size);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_grows_past_the_limit_is_refused() {
        let bomb = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 1 << 20], 6);
        assert_eq!(inflate(&bomb, 1 << 20).map(|data| data.len()), Some(1 << 20));
        assert_eq!(inflate(&bomb, (1 << 20) - 1), None);
        assert_eq!(inflate(b"no such data", 100), None);
        let followed = [&bomb[..], b"more"].concat();
        assert_eq!(inflate(&followed, 1 << 20).map(|data| data.len()), Some(1 << 20));
    }

    #[test]
    fn a_delta_copies_and_adds_and_says_how_much() {
        let base = b"0123456789";
        // From 10 to 7 bytes: five from place 2, then "ab".
        assert_eq!(
            apply_delta(base, &[10, 7, 0x91, 2, 5, 2, b'a', b'b'], 100).as_deref(),
            Some(&b"23456ab"[..])
        );
        for bad in [
            &[9, 7, 0x91, 2, 5, 2, b'a', b'b'][..],
            &[10, 8, 0x91, 2, 5, 2, b'a', b'b'],
            &[10, 6, 0x91, 2, 5, 2, b'a', b'b'],
            &[10, 7, 0x91, 9, 5, 2, b'a', b'b'],
            &[10, 7, 0x91, 2, 5, 2, b'a'],
            &[10, 7, 0],
            &[10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[10],
            &[],
        ] {
            assert_eq!(apply_delta(base, bad, 100), None, "{bad:?}");
        }
        assert_eq!(apply_delta(base, &[10, 7, 0x91, 2, 5, 2, b'a', b'b'], 6), None);
    }
}
