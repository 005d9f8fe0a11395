//! Ports of the loopback that lead out by a Unix socket.
//!
//! A container has no network device. Its programs reach Samuel's proxy by a port of 127.0.0.1, whose
//! connections are passed on, byte for byte, to a socket that the container was given. One thread serves all
//! of a port, so that the limit of processes is the command's alone.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    os::{fd::AsFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    thread,
};

use rustix::event::{PollFd, PollFlags, poll};

use crate::tunnel::Tunnel;

/// How many connections one port passes on at a time; others wait.
const MAX_TUNNELS: usize = 64;

/// Begins to listen, and passes on from then.
pub(crate) fn start(port: u16, socket: PathBuf) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    thread::Builder::new().name("relay".to_owned()).spawn(move || serve(&listener, &socket))?;
    Ok(port)
}

fn serve(listener: &TcpListener, socket: &Path) {
    let mut tunnels: Vec<Tunnel> = Vec::new();
    loop {
        let mut waited: Vec<PollFd<'_>> = Vec::with_capacity(1 + 2 * tunnels.len());
        let accepts = if tunnels.len() < MAX_TUNNELS { PollFlags::IN } else { PollFlags::empty() };
        waited.push(PollFd::from_borrowed_fd(listener.as_fd(), accepts));
        // What has nothing to wait for would be told of its end again and again.
        let ends = tunnels.iter().flat_map(Tunnel::wanted).filter(|(_, wanted)| !wanted.is_empty());
        waited.extend(ends.map(|(end, wanted)| PollFd::from_borrowed_fd(end, wanted)));
        match poll(&mut waited, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        drop(waited);
        tunnels.retain_mut(Tunnel::pass_on);
        while tunnels.len() < MAX_TUNNELS
            && let Ok((inner, _)) = listener.accept()
        {
            // Where nobody listens any more, the connection ends as one to a closed port does.
            tunnels.extend(UnixStream::connect(socket).and_then(|outer| Tunnel::new(inner, outer)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{Shutdown, TcpStream},
        os::unix::net::UnixListener,
    };

    use super::*;

    #[test]
    fn what_is_said_on_a_port_arrives_at_the_socket_and_back() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("egress.sock");
        let outer = UnixListener::bind(&path).expect("a socket");
        thread::spawn(move || {
            for stream in outer.incoming() {
                let mut stream = stream.expect("a connection");
                thread::spawn(move || {
                    let mut said = Vec::new();
                    stream.read_to_end(&mut said).expect("all that is said");
                    said.reverse();
                    stream.write_all(&said).expect("an answer");
                });
            }
        });
        let port = start(0, path).expect("a port");
        let asked = |text: Vec<u8>| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
            let mut writer = stream.try_clone().expect("its other end");
            let sent = text.clone();
            let writes = thread::spawn(move || {
                writer.write_all(&sent).expect("room for it");
                writer.shutdown(Shutdown::Write).expect("an end");
            });
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("an answer");
            writes.join().expect("all was written");
            answer.reverse();
            assert!(answer == text, "{} of {} bytes", answer.len(), text.len());
        };
        asked(b"hello".to_vec());
        asked((0..3_000_000_u32).map(|n| n.to_le_bytes()[0]).collect());
        let several: Vec<_> = (0..100)
            .map(|n: u8| {
                thread::spawn(move || {
                    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
                    stream.write_all(&[n, 1]).expect("room for it");
                    stream.shutdown(Shutdown::Write).expect("an end");
                    let mut answer = Vec::new();
                    stream.read_to_end(&mut answer).expect("an answer");
                    assert_eq!(answer, [1, n]);
                })
            })
            .collect();
        assert!(several.into_iter().all(|one| one.join().is_ok()), "more than there are tunnels");
    }
}
