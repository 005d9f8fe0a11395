//! Messages out of a stream of bytes: one a line, none longer than a limit.

/// What of a stream was read and not taken yet.
///
/// It holds no more than a message and what came with its end: whoever fills it takes
/// a line, or gives up, before it reads on.
#[derive(Debug)]
pub(super) struct Lines {
    bytes: Vec<u8>,
    /// How many of them have no line feed.
    searched: usize,
    /// The most bytes of a line.
    max: usize,
}

/// A line that is longer than a message may be. Where the next begins is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Lines {
    /// Holds no line yet, and none of more bytes than that.
    pub(super) fn new(max: usize) -> Self {
        Self { bytes: Vec::new(), searched: 0, max }
    }

    /// Allows lines of so many bytes from now on.
    pub(super) fn allow(&mut self, max: usize) {
        self.max = max;
    }

    /// Returns the most bytes of a line.
    pub(super) fn max(&self) -> usize {
        self.max
    }

    /// Adds what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes the next line, without its line feed; nothing where it has not ended yet.
    pub(super) fn take(&mut self) -> Result<Option<Vec<u8>>, TooLong> {
        let Some(end) = memchr::memchr(b'\n', self.bytes.get(self.searched..).unwrap_or_default()) else {
            self.searched = self.bytes.len();
            return if self.is_full() { Err(TooLong) } else { Ok(None) };
        };
        let end = self.searched + end;
        if end > self.max {
            return Err(TooLong);
        }
        let rest = self.bytes.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.bytes, rest);
        line.pop();
        self.searched = 0;
        Ok(Some(line))
    }

    /// Says whether it holds more than a message.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() > self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::socket::MAX_MESSAGE;
    use proptest::prelude::*;

    fn all(lines: &mut Lines) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| lines.take().expect("no line is too long")).collect()
    }

    #[test]
    fn a_message_has_its_limit_to_the_byte() {
        for (length, fits) in [(MAX_MESSAGE - 1, true), (MAX_MESSAGE, true), (MAX_MESSAGE + 1, false)] {
            let mut lines = Lines::new(MAX_MESSAGE);
            lines.push(&vec![b'x'; length]);
            let without_end = lines.take();
            lines.push(b"\n");
            let with_end = lines.take().map(|line| line.map(|line| line.len()));
            assert_eq!(without_end.is_ok(), fits);
            assert_eq!(with_end, if fits { Ok(Some(length)) } else { Err(TooLong) });
        }
    }

    proptest! {
        /// However bytes are cut, the lines are the same, and what is left is no line.
        #[test]
        fn lines_do_not_depend_on_how_the_bytes_arrive(
            bytes in proptest::collection::vec(prop_oneof![3 => any::<u8>(), 1 => Just(b'\n')], 0..400),
            cuts in proptest::collection::vec(1_usize..50, 1..20),
        ) {
            let mut whole = Lines::new(MAX_MESSAGE);
            whole.push(&bytes);
            let expected = all(&mut whole);
            let (mut cut, mut found, mut rest) = (Lines::new(MAX_MESSAGE), Vec::new(), bytes.as_slice());
            for length in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*length).min(rest.len()));
                cut.push(now);
                found.extend(all(&mut cut));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(&found, &expected);
            let mut again: Vec<u8> = found.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect();
            again.extend(&cut.bytes);
            prop_assert_eq!(again, bytes);
        }
    }
}
