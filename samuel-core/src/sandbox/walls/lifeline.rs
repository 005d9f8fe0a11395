//! Samuel's side of a lifeline: a command is told to a guest once, and lives as long as this does.
//!
//! A thread of its own serves the sockets and ports of one container, whatever runs Samuel. It ends with the [`Lifeline`];
//! where Samuel is killed, its connections end with it, and the guest ends the container.

use std::{fs, io, os::unix::net::UnixListener as StdListener, path::PathBuf, thread, time::Duration};

use rustix::net::sockopt;
use samuel_guest::{Ended, GREETING_LIMIT, Greeting, is_of_this_network, take_ports};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest},
    net::{TcpListener, UnixListener, UnixStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::outlet::Outlet;
use crate::egress::{Room, accepted};

/// How long a guest may take for its greeting, and for hearing what it is to do.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of what a command sends waits to be read, of each connection, in bytes.
const MAX_UNREAD: usize = 256 << 10;

/// What serves the sockets of a container.
#[derive(Debug)]
pub(super) struct Lifeline {
    stop: CancellationToken,
    ended: watch::Receiver<Option<Ended>>,
}

impl Lifeline {
    /// Listens at a path for the guest that knows the token, tells it the line, and serves what it has handed over.
    pub(super) fn serve(
        path: PathBuf,
        token: String,
        line: String,
        outlets: Vec<Outlet>,
    ) -> io::Result<Self> {
        let listener = StdListener::bind(&path)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let (told, ended) = watch::channel(None);
        let serving = async move {
            let held = async move {
                if let Ok(listener) = UnixListener::from_std(listener) {
                    hold(listener, path, &token, &line, outlets, &told).await;
                }
            };
            tokio::select! {
                () = stopped.cancelled() => {}
                () = held => {}
            }
        };
        thread::Builder::new().name("samuel-container".to_owned()).spawn(move || {
            runtime.block_on(serving);
            // A name that is being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        Ok(Self { stop, ended })
    }

    /// Returns where it is told how the command ended, where the guest was asked to say so. It is closed once the
    /// guest is gone.
    pub(super) fn ended(&self) -> watch::Receiver<Option<Ended>> {
        self.ended.clone()
    }

    /// Ends it, and with it the container's processes.
    pub(super) fn end(&self) {
        self.stop.cancel();
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the guest, tells it what to do, and holds the line until it ends, as does what is served meanwhile.
async fn hold(
    listener: UnixListener,
    path: PathBuf,
    token: &str,
    line: &str,
    outlets: Vec<Outlet>,
    ended: &watch::Sender<Option<Ended>>,
) {
    let mut stream = loop {
        let (stream, _) = accepted(|| listener.accept()).await;
        if let Ok(Some(stream)) = timeout(PATIENCE, greeted(stream, token)).await {
            break stream;
        }
    };
    // Nobody else is told.
    drop(listener);
    let _ = fs::remove_file(path.with_file_name(samuel_guest::TOKEN));
    let _ = fs::remove_file(path);
    if !matches!(timeout(PATIENCE, stream.write_all(line.as_bytes())).await, Ok(Ok(()))) {
        return;
    }
    let Ok(_served) = timeout(PATIENCE, lead_out(&mut stream, outlets)).await else { return };
    let limit = u64::try_from(GREETING_LIMIT).unwrap_or(u64::MAX);
    let mut said = String::new();
    if BufReader::new((&mut stream).take(limit)).read_line(&mut said).await.is_ok() {
        ended.send_replace(Ended::from_line(&said).ok());
    }
    let mut more = [0; 64];
    while matches!(stream.read(&mut more).await, Ok(count) if count > 0) {}
}

/// Serves what leads out, by what the guest hands over, until this is dropped; and tells the guest that it does, or why
/// it does not.
async fn lead_out(lifeline: &mut UnixStream, outlets: Vec<Outlet>) -> JoinSet<()> {
    if outlets.is_empty() {
        return JoinSet::new();
    }
    let (served, told) = match served(lifeline, outlets).await {
        Ok(served) => (served, "\n".to_owned()),
        Err(error) => (JoinSet::new(), format!("Samuel does not take them: {error}\n")),
    };
    // Whoever is gone need not know.
    let _ = lifeline.write_all(told.as_bytes()).await;
    served
}

async fn served(lifeline: &UnixStream, outlets: Vec<Outlet>) -> io::Result<JoinSet<()>> {
    let ports: Vec<u16> = outlets.iter().map(|outlet| outlet.port).collect();
    let listeners = lifeline.async_io(Interest::READABLE, || take_ports(lifeline, &ports)).await?;
    let (room, mut served) = (Room::default(), JoinSet::new());
    for (outlet, listener) in outlets.into_iter().zip(listeners) {
        if is_of_this_network(&listener) {
            return Err(io::Error::other(
                "the sandbox has the network of this machine, where others would use its port",
            ));
        }
        listener.set_nonblocking(true)?;
        // What is sent and not read yet is kept in this process's name.
        sockopt::set_socket_recv_buffer_size(&listener, MAX_UNREAD)?;
        served.spawn(outlet.serve(TcpListener::from_std(listener)?, room.clone()));
    }
    Ok(served)
}

/// Returns the connection of one that knows the token.
async fn greeted(stream: UnixStream, token: &str) -> Option<UnixStream> {
    let limit = u64::try_from(GREETING_LIMIT).unwrap_or(u64::MAX);
    let mut reader = BufReader::new(stream.take(limit));
    let mut line = String::new();
    reader.read_line(&mut line).await.ok()?;
    let greeting = Greeting::from_line(&line).ok()?;
    is_same(greeting.token.as_bytes(), token.as_bytes()).then(|| reader.into_inner().into_inner())
}

/// Compares two texts in a time that tells nothing of where they differ.
pub(crate) fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    let difference = given.iter().zip(wanted).fold(0, |found, (given, wanted)| found | (given ^ wanted));
    given.len() == wanted.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader, IoSlice, Read, Write},
        mem::MaybeUninit,
        os::{fd::AsFd, unix::net::UnixStream},
    };

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    use super::*;
    use crate::sandbox::walls::outlet::Outlets;

    #[test]
    fn only_who_knows_the_token_is_told_and_only_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join(samuel_guest::LIFELINE);
        let lifeline =
            Lifeline::serve(path.clone(), "token".to_owned(), "the command\n".to_owned(), Vec::new())
                .expect("a socket");
        let connected = |token: &str| {
            let mut stream = UnixStream::connect(&path).expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
            stream.write_all(Greeting::new(token).to_line().expect("short").as_bytes()).expect("room");
            stream
        };
        for wrong in ["other", "tokem", "token2", ""] {
            let mut told = String::new();
            let _ = connected(wrong).read_to_string(&mut told);
            assert_eq!(told, "", "{wrong}");
        }
        let mut guest = BufReader::new(connected("token"));
        let mut line = String::new();
        guest.read_line(&mut line).expect("a line");
        assert_eq!(line, "the command\n");
        assert!(UnixStream::connect(&path).is_err(), "a second one");
        lifeline.end();
        assert_eq!(guest.read_line(&mut line).expect("the end"), 0, "the guest sees the end");
    }

    /// Hands over a listener as a guest does, or nothing.
    fn hand_over(lifeline: &UnixStream, listeners: &[std::net::TcpListener]) {
        let given: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !given.is_empty() {
            assert!(control.push(SendAncillaryMessage::ScmRights(&given)));
        }
        sendmsg(lifeline, &[IoSlice::new(b"\n")], &mut control, SendFlags::empty()).expect("room");
    }

    #[test]
    fn a_guest_is_told_why_what_it_hands_over_is_not_taken() {
        let policy = crate::egress::EgressPolicy::parse(["a.example"]).expect("a host");
        let outlets = || Outlets::new(&policy, &[], &std::sync::Arc::default()).outlets();
        let port = outlets().first().map(|outlet| outlet.port).expect("a port");
        // As in a sandbox that shares the network of the machine.
        let shared = std::net::TcpListener::bind(("127.0.0.1", port)).expect("the port of the proxy");
        let mut cases = vec![(Vec::new(), "what was handed over is not what was asked for")];
        if is_of_this_network(&shared) {
            cases.push((vec![shared], "the sandbox has the network of this machine"));
        }
        for (listeners, expected) in cases {
            let directory = tempfile::tempdir().expect("a directory");
            let path = directory.path().join(samuel_guest::LIFELINE);
            let _lifeline =
                Lifeline::serve(path.clone(), "token".to_owned(), "launch\n".to_owned(), outlets());
            let mut stream = UnixStream::connect(&path).expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
            stream.write_all(Greeting::new("token").to_line().expect("short").as_bytes()).expect("room");
            let mut told = BufReader::new(stream.try_clone().expect("its other end")).lines();
            assert_eq!(told.next().expect("a line").expect("text"), "launch");
            hand_over(&stream, &listeners);
            let why = told.next().expect("a line").expect("text");
            assert!(why.starts_with(&format!("Samuel does not take them: {expected}")), "{why}");
        }
    }
}
