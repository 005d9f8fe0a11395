//! Listening: who is let in, and whom a token leads to.
//!
//! A [`Server`] knows the tokens and whom each leads to, a [`Serve`]. It sees to who is let in: the
//! peer's user, the number of connections, the first message and its token. What is said then is the
//! [`Connection`]'s.

use std::{
    io::{self, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    connection::Connection,
    limits::{Limits, Meter},
    protocol::{Answer, Hello, MAX_MESSAGE, PROTOCOL, Refusal, line},
    routes::{Peer, Serve},
    token::Token,
    verb::Holder,
};
use crate::model::ErrorCode;

/// How long it is waited where the system cannot give another connection, such as for want of
/// files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Told of a refusal that ends a connection, and whether whoever answers was told already.
type Told = dyn Fn(&Refusal, bool) + Send + Sync;

/// What all connections of a socket share.
pub(super) struct Server {
    limits: Limits,
    slots: Arc<Semaphore>,
    /// Room for those who wait for a slot.
    waiting: Arc<Semaphore>,
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Told of each refusal that ends a connection, and whether whoever answers was told already.
    refused: Arc<Told>,
    /// Ends it, with all connections.
    closed: CancellationToken,
    /// Ends the listening, and leaves the connections.
    deaf: CancellationToken,
}

/// A token that is in use.
pub(super) struct Entry {
    token: Token,
    pub(super) holder: Holder,
    pub(super) serve: Arc<dyn Serve>,
    /// Room for connections that opened with it.
    slots: Arc<Semaphore>,
    /// How often it was used lately.
    meter: Mutex<Meter>,
    pub(super) closed: CancellationToken,
}

impl Entry {
    /// Says whether the token may be used once more now.
    pub(super) fn admits(&self) -> bool {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).admits()
    }
}

impl Server {
    pub(super) fn new(limits: Limits, refused: impl Fn(&Refusal, bool) + Send + Sync + 'static) -> Arc<Self> {
        Self::told(limits, Arc::new(refused), CancellationToken::new())
    }

    /// Makes another one with tokens of its own, for the path that is shown to a sandbox. It ends with this one.
    pub(super) fn for_a_sandbox(&self) -> Arc<Self> {
        Self::told(Limits::of_sandbox(), Arc::clone(&self.refused), self.closed.child_token())
    }

    fn told(limits: Limits, refused: Arc<Told>, closed: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            limits,
            slots: Arc::new(Semaphore::new(limits.connections)),
            waiting: Arc::new(Semaphore::new(limits.waiting)),
            entries: Mutex::default(),
            refused,
            deaf: closed.child_token(),
            closed,
        })
    }

    /// Has a new token of somebody lead to who answers, until the grant is dropped.
    ///
    /// # Errors
    /// Returns an error where the system has no random bytes.
    pub(super) fn grant(self: &Arc<Self>, holder: Holder, serve: Arc<dyn Serve>) -> io::Result<Grant> {
        let (closed, meter) = (self.closed.child_token(), Mutex::new(Meter::new(self.limits.rate)));
        let most = match holder {
            Holder::Person => self.limits.connections,
            Holder::AgentCall => self.limits.of_call,
        };
        let slots = Arc::new(Semaphore::new(most));
        let entry = Arc::new(Entry { token: Token::new()?, holder, serve, slots, meter, closed });
        self.entries().push(Arc::clone(&entry));
        Ok(Grant { server: Arc::clone(self), entry })
    }

    /// Ends it: nobody is let in any more, and no connection goes on.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    /// Ends the listening, and leaves the connections that there are.
    pub(super) fn listen_no_more(&self) {
        self.deaf.cancel();
    }

    /// Takes connections of one user, by default that of this process, until it is closed.
    pub(super) async fn listen(self: Arc<Self>, listener: UnixListener, uid: Option<u32>) {
        let own = uid.unwrap_or_else(|| rustix::process::geteuid().as_raw());
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.deaf.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => self.admit(stream, own),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Serves a connection beside the others, at once or once another has ended, or refuses it.
    fn admit(self: &Arc<Self>, stream: UnixStream, own: u32) {
        let Some(peer) = peer_of(&stream).filter(|peer| peer.uid == own) else {
            let message = "only the user who started the run may connect";
            return self.turn_away(stream, &Refusal::new(ErrorCode::SOCKET_PEER, message));
        };
        let server = Arc::clone(self);
        if let Ok(slot) = Arc::clone(&self.slots).try_acquire_owned() {
            tokio::spawn(async move { server.hold(stream, peer, slot).await });
            return;
        }
        let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() else { return self.is_full(stream) };
        tokio::spawn(async move {
            let free = timeout(server.limits.first, Arc::clone(&server.slots).acquire_owned());
            let free = tokio::select! {
                biased;
                () = server.closed.cancelled() => return,
                free = free => free,
            };
            drop(place);
            match free {
                Ok(Ok(slot)) => server.hold(stream, peer, slot).await,
                _ => server.is_full(stream),
            }
        });
    }

    fn is_full(&self, stream: UnixStream) {
        let most = format!("{} connections are open, which is the most", self.limits.connections);
        self.turn_away(stream, &Refusal::new(ErrorCode::SOCKET_BUSY, most));
    }

    /// Refuses a connection without waiting for it.
    fn turn_away(&self, stream: UnixStream, refusal: &Refusal) {
        (self.refused)(refusal, false);
        let refused = line(&Answer::Refused { id: None, ok: false, error: refusal }, MAX_MESSAGE);
        if let (Ok(mut stream), Some(refused)) = (stream.into_std(), refused) {
            // It has room for a line, or the peer is gone.
            let _ = stream.write(&refused);
        }
    }

    async fn hold(self: Arc<Self>, stream: UnixStream, peer: Peer, _slot: OwnedSemaphorePermit) {
        let closed = self.closed.clone();
        tokio::select! {
            biased;
            () = closed.cancelled() => {}
            () = self.serve(stream, peer) => {}
        }
    }

    /// Serves a connection to its end.
    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin, peer: Peer) {
        let mut connection = Connection::new(stream, self.limits);
        let (refusal, is_told) = match self.introduced(&mut connection).await {
            Ok(entry) => {
                let last = match entry.slots.try_acquire() {
                    Ok(_slot) => connection.converse(&entry, peer).await,
                    Err(_) => Some(Refusal::new(
                        ErrorCode::SOCKET_BUSY,
                        "as many connections are open as one call of an agent may have",
                    )),
                };
                last.iter().for_each(|refusal| entry.serve.refused(None, refusal));
                (last, true)
            }
            Err(refusal) => (refusal, false),
        };
        if let Some(refusal) = refusal {
            (self.refused)(&refusal, is_told);
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

/// Says who is at the other end, where the system does.
fn peer_of(stream: &UnixStream) -> Option<Peer> {
    let peer = stream.peer_cred().ok()?;
    Some(Peer { uid: peer.uid(), pid: peer.pid() })
}

/// A token that leads to somebody as long as this is kept.
pub(in crate::engine) struct Grant {
    server: Arc<Server>,
    entry: Arc<Entry>,
}

impl Grant {
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
