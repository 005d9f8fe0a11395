//! Listening: connections, who they are, and one answer a request.
//!
//! A [`Server`] knows the tokens and whom each leads to, a [`Serve`]. It keeps the limits of the
//! protocol: the peer's user, the number of connections, the length of a message, and how long
//! each step may take. A connection is closed where it is not known any more where the next message
//! begins, or who sends it.

use std::{
    io::{self, Write as _},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    lines::{Lines, TooLong},
    protocol::{
        Answer, Hello, MAX_MESSAGE, PROTOCOL, Refusal, Reply, SOCKET_VARIABLE, TOKEN_VARIABLE, Verb, Welcome,
        line, read_request,
    },
    token::Token,
};
use crate::model::ErrorCode;

/// How long it is waited where the system cannot give another connection, such as for want of
/// files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at the same time.
    pub(super) connections: usize,
    /// How long the first message may take.
    pub(super) first: Duration,
    /// How long any other may take, from the answer before it.
    pub(super) idle: Duration,
    /// How long a peer may take to read an answer.
    pub(super) write: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            first: Duration::from_secs(5),
            idle: Duration::from_secs(30),
            write: Duration::from_secs(5),
        }
    }
}

/// Whom a token leads to.
#[async_trait]
pub(in crate::engine) trait Serve: Send + Sync {
    /// Says what the token is for. Only the verbs that it lists are asked.
    fn welcome(&self) -> Welcome;

    /// Answers a request, within the time that it names.
    async fn answer(&self, verb: Verb) -> (Result<Reply, Refusal>, Receipt);
}

/// Tells whoever answered if the answer did not arrive: what it was given is called where it is
/// dropped before that.
pub(in crate::engine) struct Receipt(Option<Box<dyn FnOnce() + Send>>);

impl Receipt {
    pub(in crate::engine) fn new(lost: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(lost)))
    }

    fn delivered(mut self) {
        self.0.take();
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(lost) = self.0.take() {
            lost();
        }
    }
}

/// What all connections of a socket share.
pub(super) struct Server {
    limits: Limits,
    slots: Arc<Semaphore>,
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Told of each refusal.
    refused: Box<dyn Fn(&Refusal) + Send + Sync>,
    /// Ends it, with all connections.
    closed: CancellationToken,
}

/// A token that is in use.
struct Entry {
    token: Token,
    serve: Arc<dyn Serve>,
    closed: CancellationToken,
}

impl Server {
    pub(super) fn new(limits: Limits, refused: impl Fn(&Refusal) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            limits,
            slots: Arc::new(Semaphore::new(limits.connections)),
            entries: Mutex::default(),
            refused: Box::new(refused),
            closed: CancellationToken::new(),
        })
    }

    /// Has a new token lead to somebody until the grant is dropped.
    ///
    /// # Errors
    /// Returns an error where the system has no random bytes.
    pub(super) fn grant(self: &Arc<Self>, serve: Arc<dyn Serve>) -> io::Result<Grant> {
        let closed = self.closed.child_token();
        let entry = Arc::new(Entry { token: Token::new()?, serve, closed });
        self.entries().push(Arc::clone(&entry));
        Ok(Grant { server: Arc::clone(self), entry })
    }

    /// Ends it: nobody is let in any more, and no connection goes on.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Takes connections until it is closed.
    pub(super) async fn listen(self: Arc<Self>, listener: UnixListener) {
        let own = rustix::process::geteuid().as_raw();
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.closed.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.admit(stream, own),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Serves a connection beside the others, or refuses it.
    fn admit(self: &Arc<Self>, stream: UnixStream, own: u32) {
        let is_ours = stream.peer_cred().is_ok_and(|peer| peer.uid() == own);
        let slot = Arc::clone(&self.slots).try_acquire_owned();
        match (is_ours, slot) {
            (true, Ok(slot)) => {
                let server = Arc::clone(self);
                tokio::spawn(async move { server.hold(stream, slot).await });
            }
            (true, Err(_)) => {
                let most = format!("{} connections are open, which is the most", self.limits.connections);
                self.turn_away(stream, &Refusal::new(ErrorCode::SOCKET_BUSY, most));
            }
            (false, _) => {
                let message = "only the user who started the run may connect";
                self.turn_away(stream, &Refusal::new(ErrorCode::SOCKET_PEER, message));
            }
        }
    }

    /// Refuses a connection without waiting for it.
    fn turn_away(&self, stream: UnixStream, refusal: &Refusal) {
        (self.refused)(refusal);
        let refused = line(&Answer::Refused { id: None, ok: false, error: refusal });
        if let (Ok(mut stream), Some(refused)) = (stream.into_std(), refused) {
            // It has room for a line, or the peer is gone.
            let _ = stream.write(&refused);
        }
    }

    async fn hold(self: Arc<Self>, stream: UnixStream, _slot: OwnedSemaphorePermit) {
        let closed = self.closed.clone();
        tokio::select! {
            biased;
            () = closed.cancelled() => {}
            () = self.serve(stream) => {}
        }
    }

    /// Serves a connection to its end.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let mut connection = Connection { stream, lines: Lines::default(), limits: self.limits };
        let refusal = match self.introduced(&mut connection).await {
            Ok(entry) => connection.converse(&entry).await,
            Err(refusal) => refusal,
        };
        if let Some(refusal) = refusal {
            (self.refused)(&refusal);
            let _ = connection.write(&Answer::Refused { id: None, ok: false, error: &refusal }).await;
        }
    }

    /// Reads the first message, and says whom it leads to.
    async fn introduced(
        &self,
        connection: &mut Connection<impl AsyncRead + AsyncWrite + Unpin>,
    ) -> Result<Arc<Entry>, Option<Refusal>> {
        let first = connection.line(self.limits.first).await?;
        let malformed = "the first message is {\"samuel\":\"run/1\",\"token\":\"..\"}";
        let Ok(hello) = serde_json::from_slice::<Hello>(&first) else {
            return Err(Some(Refusal::new(ErrorCode::SOCKET_MESSAGE, malformed)));
        };
        if hello.samuel != PROTOCOL {
            let asked: String = hello.samuel.chars().take(32).collect();
            let message = format!("the run speaks {PROTOCOL}, not {asked:?}");
            return Err(Some(Refusal::new(ErrorCode::SOCKET_VERSION, message)));
        }
        // All are looked at, so that the time says nothing either.
        let found = self.entries().iter().fold(None, |found, entry| {
            if entry.token.is(&hello.token) { Some(Arc::clone(entry)) } else { found }
        });
        found.ok_or_else(|| Some(Refusal::new(ErrorCode::SOCKET_TOKEN, "the token is none that is in use")))
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection.
struct Connection<S> {
    stream: S,
    lines: Lines,
    limits: Limits,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Answers requests until the connection ends. Returns a refusal that is still to be sent.
    async fn converse(&mut self, entry: &Entry) -> Option<Refusal> {
        let welcome = entry.serve.welcome();
        self.write(&Answer::Welcome { ok: true, welcome: &welcome }).await.ok()?;
        loop {
            let request = tokio::select! {
                biased;
                () = entry.closed.cancelled() => return self.over().await,
                line = self.line(self.limits.idle) => line,
            };
            let request = match request {
                Ok(request) => request,
                Err(refusal) => return refusal,
            };
            let (id, verb) = match read_request(&request, &welcome.may) {
                Ok(read) => read,
                Err(bad) => {
                    let Some(id) = bad.id else { return Some(bad.refusal) };
                    self.refuse(id, &bad.refusal).await.ok()?;
                    continue;
                }
            };
            let (result, receipt) = tokio::select! {
                biased;
                () = entry.closed.cancelled() => return self.over().await,
                // Nobody is there to be answered.
                () = self.ended() => return None,
                answered = entry.serve.answer(verb) => answered,
            };
            match result {
                Ok(reply) => self.reply(id, &reply).await.ok()?,
                Err(refusal) => self.refuse(id, &refusal).await.ok()?,
            }
            receipt.delivered();
        }
    }

    /// Tells a peer, which may be about to leave, that its token has gone with the call of the agent.
    /// Nobody is told of that.
    async fn over(&mut self) -> Option<Refusal> {
        let error = &Refusal::new(ErrorCode::SOCKET_TOKEN, "the call of the agent is over");
        let _ = self.write(&Answer::Refused { id: None, ok: false, error }).await;
        None
    }

    /// Reads a message within a time. What can be said to the peer about it is the refusal.
    async fn line(&mut self, time: Duration) -> Result<Vec<u8>, Option<Refusal>> {
        let read = async {
            loop {
                match self.lines.take() {
                    Ok(Some(line)) => return Ok(line),
                    Ok(None) => {}
                    Err(TooLong) => {
                        let message = format!("a message has {MAX_MESSAGE} bytes at most");
                        return Err(Some(Refusal::new(ErrorCode::SOCKET_TOO_LARGE, message)));
                    }
                }
                if !self.fill().await {
                    return Err(None);
                }
            }
        };
        let late = |_| Err(Some(Refusal::new(ErrorCode::SOCKET_TIMEOUT, "no message came in time")));
        timeout(time, read).await.unwrap_or_else(late)
    }

    /// Waits until the peer is gone. What it sends meanwhile is kept, as far as there is room.
    async fn ended(&mut self) {
        while self.fill().await {
            if self.lines.is_full() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Reads what there is, and says whether the peer is still there.
    async fn fill(&mut self) -> bool {
        let mut bytes = [0; 8 << 10];
        let read = self.stream.read(&mut bytes).await.unwrap_or_default();
        self.lines.push(bytes.get(..read).unwrap_or_default());
        read > 0
    }

    async fn refuse(&mut self, id: u64, error: &Refusal) -> Result<(), Gone> {
        self.write(&Answer::Refused { id: Some(id), ok: false, error }).await
    }

    async fn reply(&mut self, id: u64, reply: &Reply) -> Result<(), Gone> {
        self.write(&Answer::Done { id, ok: true, reply }).await
    }

    /// Writes an answer, within the time that a peer has to read it.
    async fn write(&mut self, answer: &Answer<'_>) -> Result<(), Gone> {
        let line = line(answer).ok_or(Gone)?;
        let written = timeout(self.limits.write, self.stream.write_all(&line)).await;
        written.map_err(|_| Gone)?.map_err(|_| Gone)
    }
}

/// A peer that does not read, or is not there any more.
struct Gone;

/// A token that leads to somebody as long as this is kept.
pub(in crate::engine) struct Grant {
    server: Arc<Server>,
    entry: Arc<Entry>,
}

impl Grant {
    /// Returns the variables by which a process finds the socket and says who it is.
    pub(in crate::engine) fn env(&self, socket: &Path) -> Vec<(String, String)> {
        vec![
            (SOCKET_VARIABLE.to_owned(), socket.display().to_string()),
            (TOKEN_VARIABLE.to_owned(), self.token().to_owned()),
        ]
    }

    /// Returns the token.
    pub(super) fn token(&self) -> &str {
        self.entry.token.as_str()
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.server.entries().retain(|entry| !Arc::ptr_eq(entry, &self.entry));
        self.entry.closed.cancel();
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
