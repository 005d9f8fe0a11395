//! What a guest writes to its standard error.
//!
//! Panics print there before they trap, so the end of it explains a failure.
//! Only the last bytes are kept, however much is written.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

/// The end of what was written, shared by all streams to it.
#[derive(Clone, Debug)]
pub(super) struct Stderr {
    tail: Arc<Mutex<VecDeque<u8>>>,
    limit: usize,
}

impl Stderr {
    /// Keeps at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { tail: Arc::default(), limit }
    }

    /// Returns the last lines that say something, at most `count`.
    pub(super) fn last_lines(&self, count: usize) -> Vec<String> {
        let bytes: Vec<u8> = self.tail().iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let skipped = lines.len().saturating_sub(count);
        lines.into_iter().skip(skipped).map(str::to_owned).collect()
    }

    /// Returns what a panic of a guest in Rust said, its first line, if that is
    /// what was written last.
    pub(super) fn panic_message(&self) -> Option<String> {
        let lines = self.last_lines(usize::MAX);
        let place = lines.iter().rposition(|line| {
            line.starts_with("thread '") && line.contains(" panicked at ") && line.ends_with(':')
        })?;
        lines.into_iter().nth(place + 1).filter(|line| !line.starts_with("note: run with"))
    }

    fn push(&self, bytes: &[u8]) {
        let mut tail = self.tail();
        tail.extend(bytes.iter().skip(bytes.len().saturating_sub(self.limit)));
        let excess = tail.len().saturating_sub(self.limit);
        tail.drain(..excess);
    }

    fn tail(&self) -> MutexGuard<'_, VecDeque<u8>> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IsTerminal for Stderr {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stderr {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Stderr {
    async fn ready(&mut self) {}
}

impl OutputStream for Stderr {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        // Any amount can be taken, since little is kept; a guest's own memory
        // bounds what it writes at once.
        Ok(64 * 1024)
    }
}

impl AsyncWrite for Stderr {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let stderr = Stderr::new(8);
        stderr.push(b"first line\n");
        stderr.push(b"ab\n\ncd\n");
        assert_eq!(stderr.last_lines(5), ["ab", "cd"]);
        assert_eq!(stderr.last_lines(1), ["cd"]);
        stderr.push(&[b'x'; 100]);
        assert_eq!(stderr.last_lines(5), ["xxxxxxxx"]);
    }

    #[test]
    fn what_a_panic_said_is_found_among_the_lines() {
        let stderr = Stderr::new(1_000);
        stderr.push(b"thread 'x' panicked\n");
        assert_eq!(stderr.panic_message(), None);
        stderr.push(b"\nthread '<unnamed>' (1) panicked at src/lib.rs:3:5:\nindex out of bounds\nmore\n");
        stderr.push(b"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n");
        assert_eq!(stderr.panic_message().as_deref(), Some("index out of bounds"));
        stderr.push(b"thread 'main' (1) panicked at src/lib.rs:4:5:\n\nnote: run with `RUST_BACKTRACE=1`\n");
        assert_eq!(stderr.panic_message(), None, "an empty message says nothing");
    }
}
