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
    sync::{OwnedSemaphorePermit, Semaphore, watch},
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
    /// Room among these for the calls of agents.
    of_calls: Arc<Semaphore>,
    /// Room for those who wait for a slot.
    waiting: Arc<Semaphore>,
    /// Room for those who have said nothing yet: none of them keeps a slot from somebody who has.
    silent: Arc<Semaphore>,
    /// Whether somebody waits to be accepted for want of such room.
    is_crowded: watch::Sender<bool>,
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
            of_calls: Arc::new(Semaphore::new(limits.of_calls)),
            waiting: Arc::new(Semaphore::new(limits.waiting)),
            silent: Arc::new(Semaphore::new(limits.silent)),
            is_crowded: watch::Sender::new(false),
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
        let entry = Arc::new(Entry { token: Token::new()?, holder, serve, meter, closed });
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
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let room = tokio::select! {
                biased;
                () = self.deaf.cancelled() => return,
                room = self.room() => room,
            };
            if let Some(room) = room {
                self.admit(stream, own, room);
            }
        }
    }

    /// Waits for room for one who has said nothing yet, which those make who say nothing for too long.
    async fn room(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(room) = Arc::clone(&self.silent).try_acquire_owned() {
            return Some(room);
        }
        self.is_crowded.send_replace(true);
        let room = Arc::clone(&self.silent).acquire_owned().await.ok();
        self.is_crowded.send_replace(false);
        room
    }

    /// Serves a connection beside the others, or refuses it.
    fn admit(self: &Arc<Self>, stream: UnixStream, own: u32, room: OwnedSemaphorePermit) {
        let Some(peer) = peer_of(&stream).filter(|peer| peer.uid == own) else {
            let message = "only the user who started the run may connect";
            return self.turn_away(stream, &Refusal::new(ErrorCode::SOCKET_PEER, message));
        };
        let server = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = server.closed.cancelled() => {}
                () = server.serve(stream, peer, room) => {}
            }
        });
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

    /// Serves a connection to its end. It gives its room up once it has said who it is.
    async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Peer,
        room: OwnedSemaphorePermit,
    ) {
        let mut connection = Connection::new(stream, self.limits);
        let introduced = tokio::select! {
            biased;
            introduced = self.introduced(&mut connection) => introduced,
            () = self.too_long_in_a_crowd() => Err(Some(Refusal::new(
                ErrorCode::SOCKET_TIMEOUT,
                "no message came in time, and others wait to connect",
            ))),
        };
        drop(room);
        let (refusal, is_told) = match introduced {
            Ok(entry) => {
                let last = match self.slot(entry.holder).await {
                    Ok(_slot) => connection.converse(&entry, peer).await,
                    Err(busy) => Some(busy),
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

    /// Ends where others wait to be accepted, and not before a moment has passed.
    async fn too_long_in_a_crowd(&self) {
        let moment = tokio::time::sleep(self.limits.first_in_a_crowd);
        let mut crowd = self.is_crowded.subscribe();
        // It lasts as long as this.
        let _ = crowd.wait_for(|is_crowded| *is_crowded).await;
        moment.await;
    }

    /// Returns what a connection holds as long as it is let in, at once or once another one has ended.
    async fn slot(&self, holder: Holder) -> Result<[Option<OwnedSemaphorePermit>; 2], Refusal> {
        let of_calls = match holder {
            Holder::Person => None,
            Holder::AgentCall => Some(self.place(&self.of_calls, self.limits.of_calls).await?),
        };
        let slot = self.place(&self.slots, self.limits.connections).await?;
        Ok([of_calls, Some(slot)])
    }

    /// Takes one of so many places, and waits a while for it where there is room to.
    async fn place(&self, places: &Arc<Semaphore>, most: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        if let Ok(place) = Arc::clone(places).try_acquire_owned() {
            return Ok(place);
        }
        let busy = || {
            let message = format!("{most} connections are open, which is the most");
            Refusal::new(ErrorCode::SOCKET_BUSY, message)
        };
        let _waits = self.waiting.try_acquire().map_err(|_| busy())?;
        let free = timeout(self.limits.first, Arc::clone(places).acquire_owned()).await;
        free.ok().and_then(Result::ok).ok_or_else(busy)
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
