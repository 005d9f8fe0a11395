//! Samuel's side of a lifeline: a command is told to a guest once, and lives as long as this does.
//!
//! A thread of its own serves the sockets of one container, whatever runs Samuel. It ends with the [`Lifeline`];
//! where Samuel is killed, its connections end with it, and the guest ends the container.

use std::{
    fs, io,
    os::unix::net::UnixListener as StdListener,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use samuel_guest::{Ended, GREETING_LIMIT, Greeting};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::watch,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::outlet::Outlet;

/// How long a guest may take for its greeting, and for hearing what it is to do.
const PATIENCE: Duration = Duration::from_secs(10);

/// What serves the sockets of a container.
#[derive(Debug)]
pub(super) struct Lifeline {
    stop: CancellationToken,
    ended: watch::Receiver<Option<Ended>>,
}

impl Lifeline {
    /// Listens at a path for the guest that knows the token, and tells it the line; and beside it for what goes
    /// out.
    pub(super) fn serve(
        path: PathBuf,
        token: String,
        line: String,
        outlets: Vec<Outlet>,
    ) -> io::Result<Self> {
        let listener = listen(&path)?;
        let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
        let listening = |outlet: Outlet| Ok((listen(&outlet.path_in(&directory))?, outlet));
        let outlets = outlets.into_iter().map(listening).collect::<io::Result<Vec<_>>>()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let (told, ended) = watch::channel(None);
        let serving = async move {
            let held = async move {
                if let Ok(listener) = UnixListener::from_std(listener) {
                    hold(listener, path, &token, &line, &told).await;
                }
            };
            let mut served = tokio::task::JoinSet::new();
            for (listener, outlet) in outlets {
                if let Ok(listener) = UnixListener::from_std(listener) {
                    served.spawn(outlet.serve(listener));
                }
            }
            tokio::select! {
                () = stopped.cancelled() => {}
                _ = async { tokio::join!(held, served.join_all()) } => {}
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

fn listen(path: &Path) -> io::Result<StdListener> {
    let listener = StdListener::bind(path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Waits for the guest, tells it what to do, and holds the line until it ends.
async fn hold(
    listener: UnixListener,
    path: PathBuf,
    token: &str,
    line: &str,
    ended: &watch::Sender<Option<Ended>>,
) {
    let mut stream = loop {
        let Ok((stream, _)) = listener.accept().await else { return };
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
    let limit = u64::try_from(GREETING_LIMIT).unwrap_or(u64::MAX);
    let mut said = String::new();
    if BufReader::new((&mut stream).take(limit)).read_line(&mut said).await.is_ok() {
        ended.send_replace(Ended::from_line(&said).ok());
    }
    let mut more = [0; 64];
    while matches!(stream.read(&mut more).await, Ok(count) if count > 0) {}
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
        io::{BufRead, BufReader, Read, Write},
        os::unix::net::UnixStream,
    };

    use super::*;

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
}
