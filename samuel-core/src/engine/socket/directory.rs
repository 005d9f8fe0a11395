//! Where a run listens: a directory of its own, with its socket and its token.
//!
//! The directory lies in one that the caller gives and is this user's alone; it is locked as long
//! as the run lasts. What a Samuel that was killed left there is removed by the next one, and in
//! nobody's way until then: no two have one name.

use std::{
    fs::{File, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio::net::UnixListener;

use super::{
    SocketError,
    limits::Limits,
    protocol::Refusal,
    routes::Serve,
    server::{Grant, Server},
    verb::Holder,
};
use crate::{
    fs::{PRIVATE_DIRECTORY, PRIVATE_FILE, leftovers, private},
    hook::RunAccess,
};

/// The name of the socket.
const SOCKET: &str = "socket";
/// The name of the socket of one call, short since its path is one directory longer.
const CALL_SOCKET: &str = "s";
/// The name of the file that holds the run's own token.
const TOKEN: &str = "token";
/// How long the path of a socket may be, in bytes, where it is shortest: Linux has 107, macOS 103.
const MAX_PATH: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// A run's socket, open until this is closed or dropped.
pub(in crate::engine) struct RunSocket {
    directory: PathBuf,
    path: PathBuf,
    server: Arc<Server>,
    /// The run's own token.
    _people: Grant,
    /// Tells those who look for leftovers that this is none; nothing once it is closed.
    held: Mutex<Option<File>>,
    calls: AtomicU32,
}

impl std::fmt::Debug for RunSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunSocket").field("path", &self.path).finish_non_exhaustive()
    }
}

/// By which path a call of an agent reaches the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Way {
    /// By that of the run.
    OfRun,
    /// By one of its own, which is shown to a sandbox: nobody else's token opens it, and fewer connections are let in.
    Own {
        /// The user as whom its commands connect; by default the one of this process.
        uid: Option<u32>,
    },
}

/// How one call of an agent reaches the run, until it is dropped.
pub(in crate::engine) struct CallSocket {
    path: PathBuf,
    grant: Grant,
    own: Option<OwnPath>,
}

/// A listening path of a call's own.
struct OwnPath {
    dir: PathBuf,
    server: Arc<Server>,
}

impl CallSocket {
    /// Returns where it listens, and the token.
    pub(in crate::engine) fn access(&self) -> RunAccess {
        RunAccess { socket: self.path.clone(), token: self.grant.token().to_owned() }
    }

    /// Returns the private directory of the call, where it has one already.
    pub(in crate::engine) fn dir(&self) -> Option<&Path> {
        self.own.as_ref().map(|own| &*own.dir)
    }
}

impl Drop for OwnPath {
    fn drop(&mut self) {
        // Connections that are answered still end with their token.
        self.server.listen_no_more();
        // What cannot be removed goes with the run.
        let _ = leftovers::remove(&self.dir);
    }
}

impl RunSocket {
    /// Listens in a directory, which is made where it is missing. The run's own token leads to `people`, and
    /// `refused` is told of each refusal of a connection, and whether whoever answers it was told already.
    /// Blocks for a moment, and has to be called within a runtime.
    ///
    /// # Errors
    /// Returns a [`SocketError`] where the directory is not this user's alone, its path is too
    /// long, or the disk refuses.
    pub(in crate::engine) fn open(
        parent: &Path,
        people: Arc<dyn Serve>,
        refused: impl Fn(&Refusal, bool) + Send + Sync + 'static,
    ) -> Result<Self, SocketError> {
        let failed = |source| SocketError::Io { path: parent.to_owned(), source };
        private::require(parent).map_err(failed)?;
        let parent = parent.canonicalize().map_err(failed)?;
        leftovers::remove_from(&parent);
        let private = Permissions::from_mode(PRIVATE_DIRECTORY);
        let made =
            tempfile::Builder::new().prefix("").rand_bytes(12).permissions(private).tempdir_in(&parent);
        let made = made.map_err(failed)?;
        let held = File::open(made.path()).map_err(failed)?;
        held.try_lock().map_err(|error| failed(error.into()))?;
        let path = made.path().join(SOCKET);
        if path.as_os_str().len() > MAX_PATH {
            return Err(SocketError::PathTooLong { path, limit: MAX_PATH });
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        private::close(&path).map_err(failed)?;
        let server = Server::new(Limits::default(), refused);
        let people = server.grant(Holder::Person, people).map_err(failed)?;
        private::write_new(&made.path().join(TOKEN), people.token().as_bytes(), PRIVATE_FILE)
            .map_err(failed)?;
        tokio::spawn(Arc::clone(&server).listen(listener, None));
        let (held, calls) = (Mutex::new(Some(held)), AtomicU32::default());
        Ok(Self { directory: made.keep(), path, server, _people: people, held, calls })
    }

    /// Returns the path of the socket.
    pub(in crate::engine) fn path(&self) -> &Path {
        &self.path
    }

    /// Lets a call of an agent in by a token of its own, which leads to whoever answers it, until what is
    /// returned is dropped. Blocks, and has to be called within a runtime.
    ///
    /// # Errors
    /// Returns an error where the system has no random bytes, or the disk refuses.
    pub(in crate::engine) fn admit(&self, serve: Arc<dyn Serve>, by: Way) -> io::Result<CallSocket> {
        let Way::Own { uid } = by else {
            let grant = self.server.grant(Holder::AgentCall, serve)?;
            return Ok(CallSocket { path: self.path.clone(), grant, own: None });
        };
        let dir = self.new_call_directory()?;
        let path = dir.join(CALL_SOCKET);
        let listener = UnixListener::bind(&path)?;
        private::close(&path)?;
        let server = self.server.for_a_sandbox();
        let grant = server.grant(Holder::AgentCall, serve)?;
        tokio::spawn(Arc::clone(&server).listen(listener, uid));
        Ok(CallSocket { path, grant, own: Some(OwnPath { dir, server }) })
    }

    /// Makes a private directory for a call of an agent.
    ///
    /// # Errors
    /// Returns the disk's error.
    pub(in crate::engine) fn new_call_directory(&self) -> io::Result<PathBuf> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let path = self.directory.join(number.to_string());
        private::require(&path)?;
        Ok(path)
    }

    /// Ends it: nobody is let in any more, and its directory is gone. Blocks.
    pub(in crate::engine) fn close(&self) {
        self.server.close();
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if held.is_some() {
            // What cannot be removed now is removed by a later run.
            let _ = leftovers::remove(&self.directory);
        }
    }
}

impl Drop for RunSocket {
    fn drop(&mut self) {
        self.close();
    }
}
