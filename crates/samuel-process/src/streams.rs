//! The three pipes of a command.
//!
//! [`Streams`] says which pipe is [`Ready`] and moves bytes without ever
//! waiting. Nothing here waits for the end of a pipe: a process that the
//! command left may hold it for ever.

use super::Stdin;
use std::{future::pending, io};
use tokio::net::unix::pipe::{Receiver, Sender};

/// Read at once; the default capacity of a pipe on Linux.
const CHUNK: usize = 64 * 1024;

/// The most that is taken from each pipe after the end: what a full pipe can hold
/// by default is far less.
const MAX_REST: usize = 1024 * 1024;

/// A pipe that something can be done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Stdin,
    Stdout,
    Stderr,
}

/// Our ends of a command's pipes; those that have ended are gone.
#[derive(Debug)]
pub(super) struct Streams {
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    stdin: Option<Input>,
    chunk: Vec<u8>,
}

/// Standard input that has not been taken yet.
#[derive(Debug)]
struct Input {
    pipe: Sender,
    bytes: Vec<u8>,
    written: usize,
}

impl Streams {
    pub(super) fn new(
        stdout: Receiver,
        stderr: Option<Receiver>,
        stdin: Option<Sender>,
        input: Stdin,
    ) -> Self {
        let stdin = match (stdin, input) {
            // Dropping the pipe is the end of the file.
            (Some(pipe), Stdin::Bytes(bytes)) if !bytes.is_empty() => Some(Input { pipe, bytes, written: 0 }),
            _ => None,
        };
        Self { stdout: Some(stdout), stderr, stdin, chunk: vec![0; CHUNK] }
    }

    /// Waits until one of the pipes is ready, fairly. With `may_read` false only standard
    /// error is read, which no consumer can hold back.
    pub(super) async fn ready(&self, may_read: bool) -> Ready {
        tokio::select! {
            () = readable(self.stdout.as_ref()), if may_read => Ready::Stdout,
            () = readable(self.stderr.as_ref()) => Ready::Stderr,
            () = writable(self.stdin.as_ref()) => Ready::Stdin,
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

    /// Writes what standard input takes now. A command that has closed it does
    /// not want the rest.
    pub(super) fn write_stdin(&mut self) {
        let Some(input) = &mut self.stdin else { return };
        let rest = input.bytes.get(input.written..).unwrap_or_default();
        match input.pipe.try_write(rest) {
            Ok(written) => input.written += written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => input.written = input.bytes.len(),
        }
        if input.written >= input.bytes.len() {
            self.stdin = None;
        }
    }

    pub(super) fn close_stdin(&mut self) {
        self.stdin = None;
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

async fn writable(input: Option<&Input>) {
    match input {
        Some(input) => drop(input.pipe.writable().await),
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
