//! One connection that is passed on: what each side says, kept until the other takes it.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

use rustix::event::PollFlags;

/// How much of what one side said is kept, in bytes.
const ROOM: usize = 16 << 10;

/// A connection on the loopback, and the one it is passed on to.
#[derive(Debug)]
pub(crate) struct Tunnel {
    inner: TcpStream,
    outer: UnixStream,
    outward: Half,
    inward: Half,
}

/// What goes one way.
#[derive(Debug)]
struct Half {
    kept: Vec<u8>,
    /// The side it comes from says no more.
    ended: bool,
    /// The side it goes to was told so.
    closed: bool,
}

impl Tunnel {
    /// Joins two connections, neither of which blocks from now on.
    pub(crate) fn new(inner: TcpStream, outer: UnixStream) -> io::Result<Self> {
        inner.set_nonblocking(true)?;
        outer.set_nonblocking(true)?;
        Ok(Self { inner, outer, outward: Half::new(), inward: Half::new() })
    }

    /// Returns both ends, with what is waited for of each.
    pub(crate) fn wanted(&self) -> [(BorrowedFd<'_>, PollFlags); 2] {
        [
            (self.inner.as_fd(), self.outward.reads() | self.inward.writes()),
            (self.outer.as_fd(), self.inward.reads() | self.outward.writes()),
        ]
    }

    /// Passes on what can be; says whether the tunnel goes on.
    pub(crate) fn pass_on(&mut self) -> bool {
        let Self { inner, outer, outward, inward } = self;
        let passed = outward.pass_on(inner, outer, |outer| outer.shutdown(Shutdown::Write));
        let passed =
            passed.and_then(|()| inward.pass_on(outer, inner, |inner| inner.shutdown(Shutdown::Write)));
        passed.is_ok() && !(outward.closed && inward.closed)
    }
}

impl Half {
    fn new() -> Self {
        Self { kept: Vec::new(), ended: false, closed: false }
    }

    fn reads(&self) -> PollFlags {
        if self.kept.is_empty() && !self.ended { PollFlags::IN } else { PollFlags::empty() }
    }

    fn writes(&self) -> PollFlags {
        if self.kept.is_empty() { PollFlags::empty() } else { PollFlags::OUT }
    }

    fn pass_on<F: Read, T: Write>(
        &mut self,
        from: &mut F,
        to: &mut T,
        close: impl FnOnce(&T) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.kept.is_empty() && !self.ended {
            let mut room = [0; ROOM];
            match from.read(&mut room) {
                Ok(0) => self.ended = true,
                Ok(count) => self.kept.extend(room.iter().take(count)),
                Err(error) if is_early(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if !self.kept.is_empty() {
            match to.write(&self.kept) {
                Ok(count) => drop(self.kept.drain(..count)),
                Err(error) if is_early(&error) => {}
                Err(error) => return Err(error),
            }
        }
        if self.ended && self.kept.is_empty() && !self.closed {
            self.closed = true;
            // The other side may be gone altogether.
            let _ = close(to);
        }
        Ok(())
    }
}

fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
