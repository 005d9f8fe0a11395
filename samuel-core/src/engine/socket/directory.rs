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
use crate::fs::{PRIVATE_DIRECTORY, PRIVATE_FILE, leftovers, private};

/// The name of the socket.
const SOCKET: &str = "socket";
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

impl RunSocket {
    /// Listens in a directory, which is made where it is missing. The run's own token leads to `people`,
    /// and `refused` is told of each refusal
    /// of a connection. Blocks for a moment, and has to be called within a runtime.
    ///
    /// # Errors
    /// Returns a [`SocketError`] where the directory is not this user's alone, its path is too
    /// long, or the disk refuses.
    pub(in crate::engine) fn open(
        parent: &Path,
        people: Arc<dyn Serve>,
        refused: impl Fn(&Refusal) + Send + Sync + 'static,
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
        tokio::spawn(Arc::clone(&server).listen(listener));
        let (held, calls) = (Mutex::new(Some(held)), AtomicU32::default());
        Ok(Self { directory: made.keep(), path, server, _people: people, held, calls })
    }

    /// Returns the path of the socket.
    pub(in crate::engine) fn path(&self) -> &Path {
        &self.path
    }

    /// Has a new token lead to who answers a call of an agent, until the grant is dropped.
    ///
    /// # Errors
    /// Returns an error where the system has no random bytes.
    pub(in crate::engine) fn grant(&self, serve: Arc<dyn Serve>) -> io::Result<Grant> {
        self.server.grant(Holder::AgentCall, serve)
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
