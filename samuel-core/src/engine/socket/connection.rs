//! One connection: what is asked over it, and one answer each.
//!
//! A [`Connection`] keeps the limits of the protocol for what is said: how long a message is and how
//! long it takes, how often a token is used, which verbs it may ask. It is closed where it is not
//! known any more where the next message begins, or who sends it.

use std::time::Duration;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use super::{
    limits::Limits,
    lines::{Lines, TooLong},
    protocol::{Answer, Asked, BadRequest, MAX_MESSAGE, MAX_PROBLEM, Refusal, Reply, line},
    routes::{Peer, Routes},
    server::Entry,
    verbs,
};
use crate::{model::ErrorCode, text::excerpt};

/// The most bytes of the first message, and of those of a token that allows no verb.
const MAX_FIRST: usize = 64 << 10;

/// A connection.
pub(super) struct Connection<S> {
    stream: S,
    lines: Lines,
    limits: Limits,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn new(stream: S, limits: Limits) -> Self {
        Self { stream, lines: Lines::new(MAX_FIRST), limits }
    }

    /// Answers requests until the connection ends. Returns a refusal that is still to be sent.
    pub(super) async fn converse(&mut self, entry: &Entry, peer: Peer) -> Option<Refusal> {
        let (mut welcome, routes) = entry.serve.open(peer);
        let may = || routes.verbs().filter(|verb| verb.holder == entry.holder);
        self.lines.allow(may().map(|verb| verb.max_request).fold(MAX_FIRST, usize::max));
        welcome.may = may().map(|verb| verb.name.to_owned()).collect();
        self.write(&Answer::Welcome { ok: true, welcome: &welcome }).await.ok()?;
        loop {
            let request = tokio::select! {
                biased;
                () = entry.closed.cancelled() => return self.over().await,
                line = self.line(self.limits.idle) => line,
            };
            let request = match request {
                Ok(request) => request,
                // Who has nothing more to ask has done nothing wrong.
                Err(Some(refusal))
                    if refusal.code == ErrorCode::SOCKET_TIMEOUT.name && self.lines.is_empty() =>
                {
                    let _ = self.write(&Answer::Refused { id: None, ok: false, error: &refusal }).await;
                    return None;
                }
                Err(refusal) => return refusal,
            };
            let asked = match Asked::read(&request) {
                Ok(asked) => asked,
                Err(BadRequest { id: None, refusal }) => return Some(*refusal),
                Err(BadRequest { id: Some(id), refusal }) => {
                    entry.serve.refused(None, &refusal);
                    self.refuse(id, &refusal).await.ok()?;
                    continue;
                }
            };
            let answering = allowed(entry, &routes, &asked, request.len()).and_then(|()| {
                let malformed = |problem: String| {
                    let problem = excerpt(&problem, MAX_PROBLEM);
                    Refusal::new(ErrorCode::SOCKET_MESSAGE, format!("{}: {problem}", asked.verb))
                };
                routes.answer(&asked.verb, &asked.body).ok_or_else(|| asked.unknown())?.map_err(malformed)
            });
            let answering = match answering {
                Ok(answering) => answering,
                Err(refusal) => {
                    entry.serve.refused(Some(&asked.verb), &refusal);
                    self.refuse(asked.id, &refusal).await.ok()?;
                    continue;
                }
            };
            let is_finished = verbs::named(&asked.verb).is_some_and(|verb| verb.is_finished);
            let (result, receipt) = tokio::select! {
                biased;
                () = entry.closed.cancelled(), if !is_finished => return self.over().await,
                // Nobody is there to be answered.
                () = self.ended() => return None,
                answered = answering => answered,
            };
            match result {
                Ok(reply) => self.reply(asked.id, &reply).await.ok()?,
                Err(refusal) => {
                    entry.serve.refused(Some(&asked.verb), &refusal);
                    self.refuse(asked.id, &refusal).await.ok()?;
                }
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
    pub(super) async fn line(&mut self, time: Duration) -> Result<Vec<u8>, Option<Refusal>> {
        let read = async {
            loop {
                match self.lines.take() {
                    Ok(Some(line)) => return Ok(line),
                    Ok(None) => {}
                    Err(TooLong) => {
                        let message = format!("a message has {} bytes at most", self.lines.max());
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

    /// Writes a reply, or says that it is too long for an answer.
    async fn reply(&mut self, id: u64, reply: &Reply) -> Result<(), Gone> {
        match line(&Answer::Done { id, ok: true, reply }, MAX_MESSAGE) {
            Some(line) => self.send(&line).await,
            None => {
                let message = format!("the answer would be longer than {MAX_MESSAGE} bytes");
                self.refuse(id, &Refusal::new(ErrorCode::SOCKET_TOO_LARGE, message)).await
            }
        }
    }

    pub(super) async fn write(&mut self, answer: &Answer<'_>) -> Result<(), Gone> {
        let line = line(answer, MAX_MESSAGE).ok_or(Gone)?;
        self.send(&line).await
    }

    /// Writes a line, within the time that a peer has to read it.
    async fn send(&mut self, line: &[u8]) -> Result<(), Gone> {
        let written = timeout(self.limits.write, self.stream.write_all(line)).await;
        written.map_err(|_| Gone)?.map_err(|_| Gone)
    }
}

/// A peer that does not read, or is not there any more.
pub(super) struct Gone;

/// Refuses a request by its size, by how many there were lately, for a verb that there is not, and
/// for one that is not the token's, in this order.
fn allowed(entry: &Entry, routes: &Routes, asked: &Asked, length: usize) -> Result<(), Refusal> {
    let verb = verbs::named(&asked.verb);
    if let Some(verb) = verb.filter(|verb| length > verb.max_request) {
        let message = format!("a request for {} has {} bytes at most", verb.name, verb.max_request);
        return Err(Refusal::new(ErrorCode::SOCKET_TOO_LARGE, message));
    }
    if verb.is_none_or(|verb| verb.is_rated) && !entry.admits() {
        let message = "more was asked by this token than may be in so short a time";
        return Err(Refusal::new(ErrorCode::BROKER_RATE, message));
    }
    let verb = verb.ok_or_else(|| asked.unknown())?;
    let may = routes.verbs().any(|known| known.name == verb.name) && verb.holder == entry.holder;
    match may {
        true => Ok(()),
        false => {
            Err(Refusal::new(ErrorCode::SOCKET_SCOPE, format!("the token does not allow {}", verb.name)))
        }
    }
}
