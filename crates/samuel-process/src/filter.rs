//! Filters of the output that files keep.

use std::fmt;

/// Changes what [`Spill`](super::Spill) files receive, such as by hiding secrets. Output in memory stays as it is.
pub trait OutputFilter: fmt::Debug + Send + Sync {
    /// Starts to filter one stream of output.
    fn stream(&self) -> Box<dyn StreamFilter>;
}

/// A filter of one stream of output.
pub trait StreamFilter: fmt::Debug + Send {
    /// Takes the next bytes of the stream, and returns the bytes to write now. Bytes that depend on what follows can
    /// be held back.
    fn push(&mut self, bytes: &[u8]) -> Vec<u8>;

    /// Returns the bytes to write at the end of the stream.
    fn finish(&mut self) -> Vec<u8>;
}
