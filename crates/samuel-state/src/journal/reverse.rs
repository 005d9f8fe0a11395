//! Reading a file line by line from its end.
//!
//! What matters in a journal is near its end, so finding it must not cost
//! reading everything before.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

const CHUNK_BYTES: u64 = 64 << 10;

/// A line and where it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The bytes without the line's end.
    pub(crate) bytes: Vec<u8>,
    /// Where the next line begins.
    pub(crate) end: u64,
    /// Whether the line has an end, or breaks off with the file.
    pub(crate) complete: bool,
}

/// The lines of a file, last first.
#[derive(Debug)]
pub(crate) struct LinesFromEnd<'a> {
    file: &'a mut File,
    /// Bytes that were read and not yet returned; they begin at `start`.
    buffer: Vec<u8>,
    start: u64,
    /// Where the search for the end of the line before starts, within the
    /// buffer, so that a long line is not searched again with every chunk.
    searched: usize,
    max_bytes: usize,
}

impl<'a> LinesFromEnd<'a> {
    /// Starts at the end of a file whose lines have at most so many bytes.
    pub(crate) fn new(file: &'a mut File, max_bytes: usize) -> io::Result<Self> {
        let start = file.seek(SeekFrom::End(0))?;
        Ok(Self { file, buffer: Vec::new(), start, searched: 0, max_bytes })
    }

    /// Returns the line before the last one returned. A line that is too long
    /// is [`InvalidData`](io::ErrorKind::InvalidData).
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line>> {
        if self.buffer.is_empty() && !self.fill()? {
            return Ok(None);
        }
        let end = self.start + self.buffer.len() as u64;
        let complete = self.buffer.last() == Some(&b'\n');
        loop {
            let content = self.buffer.len() - usize::from(complete);
            let unsearched = content - self.searched.min(content);
            let found = self.buffer.get(..unsearched).and_then(|b| b.iter().rposition(|byte| *byte == b'\n'));
            if let Some(before) = found {
                return Ok(Some(self.take_from(before + 1, end, complete)));
            }
            self.searched = content;
            if content > self.max_bytes {
                let message = format!("a line is longer than {} bytes", self.max_bytes);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            if !self.fill()? {
                return Ok(Some(self.take_from(0, end, complete)));
            }
        }
    }

    /// Cuts the buffer's last line off.
    fn take_from(&mut self, from: usize, end: u64, complete: bool) -> Line {
        let mut bytes = self.buffer.split_off(from);
        if complete {
            bytes.pop();
        }
        self.searched = 0;
        Line { bytes, end, complete }
    }

    /// Puts the chunk before the buffer in front of it; says whether there
    /// was one.
    fn fill(&mut self) -> io::Result<bool> {
        // Growing with the buffer keeps the cost of a long line linear.
        let wanted = CHUNK_BYTES.max(self.buffer.len() as u64).min(self.start);
        if wanted == 0 {
            return Ok(false);
        }
        self.start -= wanted;
        self.file.seek(SeekFrom::Start(self.start))?;
        let mut chunk = Vec::with_capacity(wanted as usize + self.buffer.len());
        self.file.by_ref().take(wanted).read_to_end(&mut chunk)?;
        chunk.append(&mut self.buffer);
        self.buffer = chunk;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::io::Write;

    fn lines(content: &[u8]) -> Vec<Line> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut lines = LinesFromEnd::new(&mut file, 1 << 20).unwrap();
        std::iter::from_fn(|| lines.next_line().unwrap()).collect()
    }

    #[test]
    fn lines_come_last_first_with_their_ends() {
        let line = |text: &str, end, complete| Line { bytes: text.into(), end, complete };
        assert_eq!(lines(b"a\n\nbc\n"), [line("bc", 6, true), line("", 3, true), line("a", 2, true)]);
        assert_eq!(lines(b"a\nto"), [line("to", 4, false), line("a", 2, true)]);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn lines_longer_than_a_chunk_are_whole() {
        let texts: Vec<Vec<u8>> = (0..5u8).map(|n| vec![b'a' + n; 50_000 * usize::from(n) + 1]).collect();
        let content = texts.iter().flat_map(|text| [text.as_slice(), b"\n"].concat()).collect::<Vec<u8>>();
        let found: Vec<Vec<u8>> = lines(&content).into_iter().rev().map(|line| line.bytes).collect();
        assert_eq!(found, texts);
    }
}
