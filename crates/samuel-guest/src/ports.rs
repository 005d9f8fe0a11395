//! Ports of the loopback that lead out.
//!
//! A container has no network device. The guest listens on ports of its loopback and hands over what listens, so that
//! Samuel takes the connections itself: nothing inside passes anything on, and what is said there is heard at once.

use std::{
    io::{self, BufRead, BufReader, IoSlice, IoSliceMut, Read, Write},
    mem::MaybeUninit,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use rustix::{
    cmsg_space,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg, sockopt,
    },
};

use crate::launch::GREETING_LIMIT;

/// The most ports that a launch may have.
pub const MAX_PORTS: usize = 32;
/// What goes with them, since nothing else goes with no word at all.
const WORD: [u8; 1] = *b"\n";

/// Listens on a port.
pub(crate) fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
}

/// Hands over what listens, and waits until it was taken, for as long as the lifeline may be read.
///
/// # Errors
/// Returns what the system says, or why Samuel did not take it.
pub(crate) fn hand_over(lifeline: &UnixStream, listeners: &[TcpListener]) -> io::Result<()> {
    give(lifeline, listeners)?;
    let limit = u64::try_from(GREETING_LIMIT).unwrap_or(u64::MAX);
    let mut told = String::new();
    BufReader::new(lifeline.take(limit)).read_line(&mut told)?;
    match told.as_str() {
        "" => Err(io::ErrorKind::UnexpectedEof.into()),
        "\n" => Ok(()),
        why => Err(io::Error::other(why.trim_end().to_owned())),
    }
}

/// Says that there is nothing to take.
pub(crate) fn hand_over_nothing(mut lifeline: &UnixStream) {
    // Whoever is gone need not know.
    let _ = lifeline.write_all(&WORD);
}

fn give(lifeline: &UnixStream, listeners: &[TcpListener]) -> io::Result<()> {
    let given: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_PORTS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&given)) {
        return Err(io::Error::other(format!("there are more than {MAX_PORTS} ports")));
    }
    sendmsg(lifeline, &[IoSlice::new(&WORD)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what a guest listens with on the ports that it was told, in their order. It waits as the lifeline does.
///
/// # Errors
/// Returns what the system says, also `WouldBlock` where nothing was handed over yet; [`io::ErrorKind::InvalidData`]
/// where something else was, or nothing.
pub fn take_ports(lifeline: impl AsFd, ports: &[u16]) -> io::Result<Vec<TcpListener>> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_PORTS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut word = WORD;
    let told = recvmsg(lifeline, &mut [IoSliceMut::new(&mut word)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    if told.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let given = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(given) => Some(given),
        _ => None,
    });
    let given: Vec<OwnedFd> = given.flatten().collect();
    if told.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::other(
            "the system withheld it: there are too many open files, or a policy of the system forbids it",
        ));
    }
    let wrong =
        || io::Error::new(io::ErrorKind::InvalidData, "what was handed over is not what was asked for");
    if given.len() != ports.len() {
        return Err(wrong());
    }
    let checked = |(given, port): (OwnedFd, &u16)| {
        let listener =
            sockopt::socket_acceptconn(&given)?.then(|| TcpListener::from(given)).ok_or_else(wrong)?;
        let expected = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        if listener.local_addr()? == expected { Ok(listener) } else { Err(wrong()) }
    };
    given.into_iter().zip(ports).map(checked).collect()
}

/// Says whether a socket is of the network that this process is in: none of a sandbox with a network of its own is.
/// Kernels before Linux 5.14 do not tell.
#[must_use]
pub fn is_of_this_network(socket: impl AsFd) -> bool {
    let own = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok().and_then(network_of);
    own.is_some() && network_of(socket) == own
}

/// Returns the number of the network that a socket is of, where the kernel tells.
fn network_of(socket: impl AsFd) -> Option<u64> {
    let mut number = 0_u64;
    let mut size = libc::socklen_t::try_from(size_of::<u64>()).ok()?;
    #[expect(unsafe_code, reason = "rustix does not know this option")]
    // SAFETY: the kernel writes no more than `size` bytes to `number`, which has as many, and both live until the call
    // has returned.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut number).cast(),
            &raw mut size,
        )
    };
    (result == 0).then_some(number)
}

#[cfg(test)]
mod tests {
    use std::{net::TcpStream, os::unix::net::UnixListener, thread};

    use super::*;

    fn port_of(listener: &TcpListener) -> u16 {
        listener.local_addr().expect("an address").port()
    }

    #[test]
    fn what_connects_to_a_port_is_taken_by_whoever_was_given_it() {
        let (inside, outside) = UnixStream::pair().expect("a pair");
        let listeners = [listen(0).expect("a port"), listen(0).expect("a port")];
        let ports = [port_of(&listeners[0]), port_of(&listeners[1])];
        give(&inside, &listeners).expect("room");
        drop(listeners);
        // What is said behind it is not taken with it.
        (&inside).write_all(b"ended").expect("room");
        let taken = take_ports(&outside, &ports).expect("two");
        for (listener, port) in taken.iter().zip(ports) {
            let mut asks = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
            let (mut answers, _) = listener.accept().expect("a connection");
            answers.write_all(b"hello").expect("room");
            drop(answers);
            let mut heard = String::new();
            asks.read_to_string(&mut heard).expect("an end");
            assert_eq!(heard, "hello");
        }
        let mut rest = [0; 5];
        (&outside).read_exact(&mut rest).expect("the rest");
        assert_eq!(&rest, b"ended");
    }

    #[test]
    fn nothing_is_taken_but_what_was_asked_for() {
        let listener = listen(0).expect("a port");
        let port = port_of(&listener);
        let refused = |given: &[TcpListener], ports: &[u16]| {
            let (inside, outside) = UnixStream::pair().expect("a pair");
            give(&inside, given).expect("room");
            take_ports(&outside, ports).expect_err("something else").kind()
        };
        let given = std::slice::from_ref(&listener);
        assert_eq!(refused(given, &[port, port]), io::ErrorKind::InvalidData, "too few");
        assert_eq!(refused(given, &[]), io::ErrorKind::InvalidData, "too many");
        assert_eq!(refused(given, &[port ^ 1]), io::ErrorKind::InvalidData, "another port");
        let connected = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        let local = connected.local_addr().expect("an address").port();
        let connected = TcpListener::from(OwnedFd::from(connected));
        assert_eq!(refused(&[connected], &[local]), io::ErrorKind::InvalidData, "it does not listen");
        let directory = tempfile::tempdir().expect("a directory");
        let other = UnixListener::bind(directory.path().join("s")).expect("a socket");
        let other = TcpListener::from(OwnedFd::from(other));
        assert!(matches!(
            refused(&[other], &[port]),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
        ));
        let everywhere = TcpListener::bind("0.0.0.0:0").expect("a port");
        let open = port_of(&everywhere);
        assert_eq!(refused(&[everywhere], &[open]), io::ErrorKind::InvalidData, "more than the loopback");
    }

    #[test]
    fn a_guest_waits_until_its_ports_were_taken_and_is_told_why_they_were_not() {
        let listeners = [listen(0).expect("a port")];
        let handed_over = |answer: Option<&str>| {
            let (inside, mut outside) = UnixStream::pair().expect("a pair");
            thread::scope(|scope| {
                let handing = scope.spawn(|| hand_over(&inside, &listeners));
                take_ports(&outside, &[port_of(&listeners[0])]).expect("one");
                assert!(!handing.is_finished());
                match answer {
                    Some(answer) => outside.write_all(answer.as_bytes()).expect("room"),
                    None => drop(outside),
                }
                handing.join().expect("no panic").map_err(|error| error.to_string())
            })
        };
        assert_eq!(handed_over(Some("\n")), Ok(()));
        assert_eq!(handed_over(Some("there are too many\n")), Err("there are too many".to_owned()));
        assert!(handed_over(None).is_err());
        let (inside, outside) = UnixStream::pair().expect("a pair");
        hand_over_nothing(&inside);
        let kind = take_ports(&outside, &[1]).expect_err("nothing").kind();
        assert_eq!(kind, io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_socket_of_this_network_is_known() {
        // Not before Linux 5.14, where no sandbox is refused for it.
        let listener = listen(0).expect("a port");
        assert_eq!(is_of_this_network(&listener), network_of(&listener).is_some());
    }

    #[test]
    fn a_lifeline_that_ends_hands_over_nothing() {
        let (inside, outside) = UnixStream::pair().expect("a pair");
        drop(inside);
        let kind = take_ports(&outside, &[1]).expect_err("the end").kind();
        assert_eq!(kind, io::ErrorKind::UnexpectedEof);
    }
}
