//! One container: what lies ready for it before it starts, and its removal after.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::{Arc, PoisonError},
};

use samuel_guest::{Ended, LIFELINE, Launch, NOT_STARTED, TOKEN};
use tempfile::TempDir;
use tokio::sync::watch;

use super::{Containers, Engine, SandboxError, Stuck, engine, lifeline::Lifeline, unusable};
use crate::{
    egress::{EgressPolicy, Refusals},
    model::hex,
    process::{CommandOutput, Companion, End, ExitStatus, ProcessError},
};

/// Where a container has the sockets.
pub(super) const DIRECTORY: &str = "/run/samuel";
/// The name of the guest there.
pub(super) const GUEST: &str = "guest";
/// The name of the socket of the proxy there.
pub(super) const EGRESS: &str = "egress.sock";
/// How long the path of a socket may be, in bytes.
const MAX_SOCKET_PATH: usize = 107;

/// Returns where a container has what lies in its directory under a name.
pub(super) fn path_inside(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}

/// A container, from before it starts until it is gone.
#[derive(Debug)]
pub(super) struct Container {
    name: String,
    engine: Engine,
    directory: TempDir,
    lifeline: Lifeline,
    stuck: Stuck,
}

impl Container {
    /// Makes a directory with the lifeline, and the proxy where there is one, and begins to listen.
    pub(super) fn prepare(
        containers: &Containers,
        launch: &Launch,
        proxy: Option<(EgressPolicy, Arc<Refusals>)>,
    ) -> Result<Self, SandboxError> {
        let line = launch.to_line().map_err(|error| unusable(error.to_string()))?;
        let parent = &containers.directory;
        let problem =
            |error: io::Error| unusable(format!("no socket can be made in {}: {error}", parent.display()));
        private(parent).map_err(problem)?;
        let directory =
            tempfile::Builder::new().prefix("c").rand_bytes(6).tempdir_in(parent).map_err(problem)?;
        let longest = directory.path().join(EGRESS);
        if longest.as_os_str().len() > MAX_SOCKET_PATH {
            return Err(unusable(format!(
                "the path {} is longer than the {MAX_SOCKET_PATH} bytes of a socket's; name a shorter directory, such as by XDG_RUNTIME_DIR",
                longest.display()
            )));
        }
        let token = random(32).map_err(problem)?;
        let unique = random(6).map_err(problem)?;
        write_private(&directory.path().join(TOKEN), token.as_bytes()).map_err(problem)?;
        // Something to mount the guest over.
        write_private(&directory.path().join(GUEST), b"").map_err(problem)?;
        let proxy = proxy.map(|(policy, refusals)| (directory.path().join(EGRESS), policy, refusals));
        let lifeline =
            Lifeline::serve(directory.path().join(LIFELINE), token, line, proxy).map_err(problem)?;
        let (engine, stuck) = (containers.engine()?.clone(), Arc::clone(&containers.stuck));
        Ok(Self { name: engine::new_name(&unique), engine, directory, lifeline, stuck })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns where it is told how its command ended.
    pub(super) fn ended(&self) -> watch::Receiver<Option<Ended>> {
        self.lifeline.ended()
    }

    /// Ends what runs in it, without waiting for it.
    pub(super) fn end(&self) {
        self.lifeline.end();
    }

    /// Ends what runs in it, and removes it.
    pub(super) fn remove(&self) {
        self.lifeline.end();
        if self.engine.remove(&self.name).is_err() {
            let mut stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
            stuck.get_or_insert_with(|| self.name.clone());
        }
    }
}

impl Companion for Container {
    fn release(&self, ended: &Result<CommandOutput, ProcessError>) {
        self.lifeline.end();
        // The engine's command ends by itself once it has removed the container.
        let is_removed = ended.as_ref().is_ok_and(|output| {
            let by_itself = |code: i32| code != i32::from(NOT_STARTED);
            output.end == End::Exited && matches!(output.status, ExitStatus::Exited(code) if by_itself(code))
        });
        if !is_removed {
            self.remove();
        }
    }
}

/// Makes a directory, and sees to it that it is nobody else's.
fn private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it is no directory of this user"));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn write_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(contents)
}

/// Returns random bytes, as text.
pub(super) fn random(count: usize) -> io::Result<String> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hex(&bytes))
}
