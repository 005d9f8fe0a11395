//! Asking a run, from a process that lives as long as its question.
//!
//! A [`RunClient`] blocks, and never beyond the deadline that it was given: it connects, says who
//! it is, asks, and reads the answer within that time, and no more than a message of each.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    lines::Lines,
    protocol::{Hello, MAX_MESSAGE, PROTOCOL, Refusal, Welcome, line, request},
    verb::Verb,
};
use crate::model::{Coded, ErrorCode, Remedy};

/// How much of the time is kept for the way of an answer: the run is to refuse before
/// the client gives up.
const MARGIN: Duration = Duration::from_millis(500);
/// The longest time that a client has.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A connection to a run.
///
/// ```no_run
/// use samuel_core::engine::socket::{AbilityBefore, RunClient, Verdict};
/// use std::{path::Path, time::Duration};
///
/// let socket = Path::new("/run/user/1000/samuel/x/socket");
/// let mut run = RunClient::connect(socket, "0123", Duration::from_secs(30))?;
/// let call = AbilityBefore { ability_id: "Bash".into(), input: "{}".into(), ..Default::default() };
/// match run.ability_before(call)? {
///     Verdict::Allow { input, .. } => println!("called with {input}"),
///     Verdict::Block { reason } => println!("not called: {reason}"),
/// }
/// # Ok::<(), samuel_core::engine::socket::RunClientError>(())
/// ```
#[derive(Debug)]
pub struct RunClient {
    stream: UnixStream,
    lines: Lines,
    deadline: Instant,
    welcome: Welcome,
    last_id: u64,
}

/// An answer, as far as every one is alike.
#[derive(Deserialize)]
struct AnyAnswer {
    #[serde(default)]
    id: Option<u64>,
    ok: bool,
    #[serde(default)]
    error: Option<Refusal>,
}

impl RunClient {
    /// Connects to the socket at a path and opens with a token. All that is asked over the connection
    /// has to be answered within `time`, of which more than a day counts as one.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where nobody listens there, the run refuses, or time is up.
    pub fn connect(path: &Path, token: &str, time: Duration) -> Result<Self, RunClientError> {
        let time = time.min(MAX_TIME);
        if time.is_zero() {
            return Err(RunClientError::TimedOut);
        }
        let deadline = Instant::now() + time;
        let unreachable = |source| RunClientError::Unreachable { path: path.to_owned(), source };
        let stream = open(path, time).map_err(|source| match is_late(&source) {
            true => RunClientError::TimedOut,
            false => unreachable(source),
        })?;
        let welcome = Welcome::default();
        let mut client = Self { stream, lines: Lines::new(MAX_MESSAGE), deadline, welcome, last_id: 0 };
        let hello = Hello { samuel: PROTOCOL.to_owned(), token: token.to_owned() };
        let answer = client.exchange(line(&hello, MAX_MESSAGE))?;
        // It says more than any other answer does.
        client.welcome = serde_json::from_slice(&answer).map_err(|_| RunClientError::Unreadable)?;
        Ok(client)
    }

    /// Returns what the run said of itself and of the token.
    pub fn welcome(&self) -> &Welcome {
        &self.welcome
    }

    /// Allows another time for what is asked from now on, of which more than a day counts as one.
    pub(crate) fn allow(&mut self, time: Duration) {
        self.deadline = Instant::now() + time.min(MAX_TIME);
    }

    /// Returns the time that the run has for an answer, in milliseconds.
    pub(super) fn deadline_ms(&self) -> u64 {
        let left = self.deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN);
        // 0 would mean the most that there is.
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Asks a verb, and returns the reply.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, does not answer in time or is gone.
    pub(super) fn ask<V: Verb>(&mut self, body: &V::Request) -> Result<V::Reply, RunClientError> {
        self.last_id += 1;
        let answer = self.exchange(request(self.last_id, V::NAME, body))?;
        let unreadable = |_| RunClientError::Unreadable;
        let same: AnyAnswer = serde_json::from_slice(&answer).map_err(unreadable)?;
        if same.id != Some(self.last_id) {
            return Err(RunClientError::Unreadable);
        }
        let fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(&answer).map_err(unreadable)?;
        let reply = fields.get(V::REPLY).ok_or(RunClientError::Unreadable)?;
        serde_json::from_str(reply.get()).map_err(unreadable)
    }

    /// Sends a message and returns what it is answered with, unless that is a refusal.
    fn exchange(&mut self, message: Option<Vec<u8>>) -> Result<Vec<u8>, RunClientError> {
        let Some(message) = message else { return Err(RunClientError::TooLarge) };
        let sent = self.write(&message);
        // Who refused before all was sent has said why.
        let answer = match (self.read(), sent) {
            (Ok(answer), _) => answer,
            (Err(_), Err(error)) | (Err(error), Ok(())) => return Err(error),
        };
        let read: AnyAnswer = serde_json::from_slice(&answer).map_err(|_| RunClientError::Unreadable)?;
        match (read.ok, read.error) {
            (true, _) => Ok(answer),
            (false, Some(refusal)) => Err(RunClientError::Refused(refusal)),
            (false, None) => Err(RunClientError::Unreadable),
        }
    }

    fn write(&mut self, mut message: &[u8]) -> Result<(), RunClientError> {
        while !message.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?)).map_err(RunClientError::lost)?;
            match self.stream.write(message) {
                Ok(0) => return Err(RunClientError::lost(ErrorKind::WriteZero.into())),
                Ok(written) => message = message.get(written..).unwrap_or_default(),
                // What is left of the time says whether it is up.
                Err(error) if is_late(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(RunClientError::lost(error)),
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Vec<u8>, RunClientError> {
        let mut bytes = [0; 8 << 10];
        loop {
            if let Some(line) = self.lines.take().map_err(|_| RunClientError::Unreadable)? {
                return Ok(line);
            }
            self.stream.set_read_timeout(Some(self.left()?)).map_err(RunClientError::lost)?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(RunClientError::lost(ErrorKind::UnexpectedEof.into())),
                Ok(read) => self.lines.push(bytes.get(..read).unwrap_or_default()),
                Err(error) if is_late(&error) || error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(RunClientError::lost(error)),
            }
        }
    }

    /// Returns the time that is left.
    fn left(&self) -> Result<Duration, RunClientError> {
        match self.deadline.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(RunClientError::TimedOut),
            left => Ok(left),
        }
    }
}

/// Connects within a time: on Linux, a run that does not accept keeps whoever connects waiting.
#[cfg(target_os = "linux")]
fn open(path: &Path, time: Duration) -> io::Result<UnixStream> {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt,
    };

    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(time))?;
    connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path, _: Duration) -> io::Result<UnixStream> {
    UnixStream::connect(path)
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A run that could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunClientError {
    /// Nobody listens there, or not to this user.
    #[error("the run cannot be reached at {path}", path = path.display())]
    Unreachable {
        /// The socket.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The run did not answer in time.
    #[error("the run did not answer in time")]
    TimedOut,
    /// The connection ended before the answer.
    #[error("the run closed the connection before it answered")]
    Lost {
        /// How.
        source: io::Error,
    },
    /// The question is longer than a message may be.
    #[error("the message is longer than {MAX_MESSAGE} bytes")]
    TooLarge,
    /// The answer is none of the protocol's.
    #[error("the run's answer cannot be read")]
    Unreadable,
    /// The run refused.
    #[error("{}: {}", .0.code, .0.message)]
    Refused(Refusal),
}

impl RunClientError {
    fn lost(source: io::Error) -> Self {
        Self::Lost { source }
    }
}

impl Coded for RunClientError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unreachable { .. } | Self::Lost { .. } => ErrorCode::SOCKET_UNAVAILABLE,
            Self::TimedOut => ErrorCode::SOCKET_TIMEOUT,
            Self::TooLarge => ErrorCode::SOCKET_TOO_LARGE,
            Self::Unreadable => ErrorCode::SOCKET_MESSAGE,
            Self::Refused(refusal) => {
                let known = ErrorCode::ALL.iter().find(|code| code.name == refusal.code);
                known.copied().unwrap_or(ErrorCode::SOCKET_MESSAGE)
            }
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Refused(refusal) => Remedy::Tell(refusal.help.clone()),
            Self::TimedOut => Remedy::Say(
                "Its process may be stopped or busy, or its handlers slow; it may still heed what was asked, so look \
                 at its state first.",
            ),
            _ => self.code().help.clone(),
        }
    }
}
