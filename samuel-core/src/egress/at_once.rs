//! What is there of a connection already, read without asking the runtime whether there is something.
//!
//! A runtime learns of a new connection, or of more on one, in its next turn. Where something is mostly there
//! already, one call of the system tells it, and spares that turn.

use std::os::fd::AsFd;

use rustix::{buffer::spare_capacity, io::Errno};

/// What there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    /// Something, which was added.
    More,
    /// Nothing yet.
    Nothing,
    /// The end, or nothing that can be read any more.
    End,
}

/// Adds what is there to what was read, as far as there is room. The connection must not block.
pub(super) fn read_at_once(from: impl AsFd, into: &mut Vec<u8>) -> There {
    if into.capacity() == into.len() {
        return There::Nothing;
    }
    match rustix::io::read(from, spare_capacity(into)) {
        Ok(0) => There::End,
        Ok(_) => There::More,
        Err(Errno::AGAIN | Errno::INTR) => There::Nothing,
        Err(_) => There::End,
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream};

    use super::*;

    #[test]
    fn what_is_there_is_told_from_what_is_not_yet_and_from_the_end() {
        let (mut said, heard) = UnixStream::pair().expect("a pair");
        heard.set_nonblocking(true).expect("a setting");
        let mut read = Vec::with_capacity(4);
        assert_eq!(read_at_once(&heard, &mut read), There::Nothing);
        said.write_all(b"hello").expect("room");
        assert_eq!((read_at_once(&heard, &mut read), read.as_slice()), (There::More, &b"hell"[..]));
        assert_eq!((read_at_once(&heard, &mut read), read.len()), (There::Nothing, 4), "there is no room");
        drop(said);
        read.clear();
        assert_eq!((read_at_once(&heard, &mut read), read.as_slice()), (There::More, &b"o"[..]));
        assert_eq!((read_at_once(&heard, &mut read), read.as_slice()), (There::End, &b"o"[..]));
    }
}
