//! The three pipes of a command.
//!
//! [`Streams`] says which pipe is [`Ready`] and reads bytes without ever
//! waiting. Nothing here waits for the end of a pipe: a process that the
//! command left may hold it for ever.

use std::{future::pending, io, pin::Pin};
use tokio::net::unix::pipe::Receiver;

/// Read at once; the default capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// The most that is taken from each pipe after the end: what a full pipe can hold
/// by default is far less.
const MAX_REST: usize = 1024 * 1024;

/// A pipe that something can be done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Stdout,
    Stderr,
}

/// Our ends of a command's pipes; those that have ended are gone.
pub(super) struct Streams {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    /// Writes standard input, and closes it when it goes.
    feed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    chunk: Vec<u8>,
}

impl Streams {
    pub(super) fn new(
        stdout: Receiver,
        stderr: Option<Receiver>,
        feed: Option<impl Future<Output = ()> + Send + 'static>,
    ) -> Self {
        let feed = feed.map(|feed| Box::pin(feed) as _);
        Self { stdout: Some(stdout), stderr, feed, chunk: vec![0; CHUNK] }
    }

    /// Waits until one of the pipes can be read, fairly, and feeds the command meanwhile. With
    /// `may_read` false only standard error is read, which no consumer can hold back.
    pub(super) async fn ready(&mut self, may_read: bool) -> Ready {
        loop {
            tokio::select! {
                () = readable(self.stdout.as_ref()), if may_read => return Ready::Stdout,
                () = readable(self.stderr.as_ref()) => return Ready::Stderr,
                () = done(&mut self.feed) => self.feed = None,
            }
        }
    }

    /// Tells whether both output pipes have ended.
    pub(super) fn at_end(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Reads what standard output holds now.
    pub(super) fn read_stdout(&mut self) -> Option<&[u8]> {
        read(&mut self.stdout, &mut self.chunk)
    }

    /// Reads what standard error holds now.
    pub(super) fn read_stderr(&mut self) -> Option<&[u8]> {
        read(&mut self.stderr, &mut self.chunk)
    }

    pub(super) fn close_stdin(&mut self) {
        self.feed = None;
    }

    /// Returns the reads that empty both pipes as far as is reasonable.
    pub(super) fn rest(&self) -> impl Iterator<Item = Ready> + use<> {
        [Ready::Stdout, Ready::Stderr].into_iter().flat_map(|ready| [ready; MAX_REST / CHUNK])
    }
}

async fn readable(pipe: Option<&Receiver>) {
    match pipe {
        // An error shows when the pipe is read.
        Some(pipe) => drop(pipe.readable().await),
        None => pending().await,
    }
}

/// Waits for a future; for ever if there is none.
async fn done(future: &mut Option<impl Future<Output = ()> + Unpin>) {
    match future {
        Some(future) => future.await,
        None => pending().await,
    }
}

/// Reads once; closes the pipe at its end.
fn read<'a>(pipe: &mut Option<Receiver>, chunk: &'a mut [u8]) -> Option<&'a [u8]> {
    match pipe.as_ref()?.try_read(chunk) {
        Ok(0) => {
            *pipe = None;
            None
        }
        Ok(read) => chunk.get(..read),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        Err(_) => {
            *pipe = None;
            None
        }
    }
}
