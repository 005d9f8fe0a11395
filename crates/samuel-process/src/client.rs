//! The process that embeds Samuel, as the supervisor and the keeper watch it.

use super::proc_table::watch_end;
use rustix::process::{PidfdFlags, getppid, pidfd_open};
use std::{future::pending, io, os::fd::OwnedFd};
use tokio::io::unix::AsyncFd;

/// A handle of the process that embeds Samuel, beside the control socket: a child that it
/// forked without exec would keep the socket open after its death.
#[derive(Debug)]
pub(super) struct Client(Option<OwnedFd>);

/// The same, with a runtime.
#[derive(Debug)]
pub(super) struct WatchedClient(Option<AsyncFd<OwnedFd>>);

impl Client {
    /// Opens the parent of this process, if it has this pid.
    pub(super) fn open(client: u32) -> Self {
        let parent = getppid().filter(|parent| parent.as_raw_nonzero().get().cast_unsigned() == client);
        // Started through a wrapper: the socket has to do.
        Self(parent.and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok()))
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.as_ref().map(OwnedFd::try_clone).transpose()?))
    }

    pub(super) fn watch(self) -> WatchedClient {
        WatchedClient(self.0.and_then(|handle| watch_end(handle).ok()))
    }
}

impl WatchedClient {
    /// Waits for its end; for ever where it cannot be watched.
    pub(super) async fn gone(&self) {
        match &self.0 {
            Some(client) => {
                let _ = client.readable().await;
            }
            None => pending().await,
        }
    }
}
