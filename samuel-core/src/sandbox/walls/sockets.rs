//! What lies ready for the first process of a sandbox: a directory with its token and its lifeline.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use samuel_guest::{Ended, LIFELINE, Launch, TOKEN};
use tempfile::TempDir;
use tokio::sync::watch;

use super::{lifeline::Lifeline, outlet::Outlets};
use crate::{fs::leftovers, model::hex};

/// Where a sandbox has them.
pub(super) const DIRECTORY: &str = "/run/samuel";
/// The name of the guest there.
pub(super) const GUEST: &str = "guest";
/// How long the path of a socket may be, in bytes.
const MAX_SOCKET_PATH: usize = 107;
/// What the names of directories begin with.
const PREFIX: &str = "c";
/// How many letters tell them apart.
const RANDOM: usize = 6;
/// The longest name in one.
const LONGEST: &str = LIFELINE;

/// Returns where a sandbox has what lies in its directory under a name.
pub(super) fn path_inside(name: &str) -> String {
    format!("{DIRECTORY}/{name}")
}

/// A directory that is gone with this, and a lifeline that ends with it.
#[derive(Debug)]
pub(super) struct Sockets {
    lifeline: Lifeline,
    /// Tells those who look for what is left that this is not.
    _held: File,
    directory: TempDir,
}

impl Sockets {
    /// Makes the directory below another, which is made this user's own, and begins to listen in it.
    ///
    /// # Errors
    /// Returns in words why it cannot be made.
    pub(super) fn prepare(parent: &Path, launch: &Launch, outlets: &Outlets) -> Result<Self, String> {
        let line = launch.to_line().map_err(|error| error.to_string())?;
        let problem = |error: io::Error| format!("no socket can be made in {}: {error}", parent.display());
        check_length(parent)?;
        private(parent).map_err(problem)?;
        let directory =
            tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).tempdir_in(parent).map_err(problem)?;
        let held = File::open(directory.path()).map_err(problem)?;
        held.try_lock().map_err(|error| problem(error.into()))?;
        let token = random(32).map_err(problem)?;
        write_private(&directory.path().join(TOKEN), token.as_bytes()).map_err(problem)?;
        // Something to mount the guest over.
        write_private(&directory.path().join(GUEST), b"").map_err(problem)?;
        let path = directory.path().join(LIFELINE);
        let lifeline = Lifeline::serve(path, token, line, outlets.outlets()).map_err(problem)?;
        Ok(Self { lifeline, _held: held, directory })
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns where it is told how the command ended, where the guest was asked to say so.
    pub(super) fn ended(&self) -> watch::Receiver<Option<Ended>> {
        self.lifeline.ended()
    }

    /// Ends what runs behind the lifeline.
    pub(super) fn end(&self) {
        self.lifeline.end();
    }
}

/// Says whether the sockets have short enough paths that are made below a directory.
///
/// # Errors
/// Returns in words that they have not.
pub(super) fn check_length(parent: &Path) -> Result<(), String> {
    let longest = parent.join(format!("{PREFIX}{}", "x".repeat(RANDOM))).join(LONGEST);
    match longest.as_os_str().len() {
        ..=MAX_SOCKET_PATH => Ok(()),
        _ => Err(format!(
            "the path {} is longer than the {MAX_SOCKET_PATH} bytes of a socket's; name a shorter directory, such as by XDG_RUNTIME_DIR",
            longest.display()
        )),
    }
}

/// Removes the directories below another that are of a Samuel which is gone, but for those of the last minute.
pub(super) fn sweep(parent: &Path) {
    leftovers::remove_from(parent);
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_a_killed_samuel_left_is_swept_and_what_is_in_use_is_not() {
        let parent = tempfile::tempdir().expect("a directory");
        let sockets = Sockets::prepare(parent.path(), &Launch::new(["true"], "/"), &Outlets::default());
        let sockets = sockets.expect("a directory");
        let left = parent.path().join("cAbCdEf");
        fs::create_dir(&left).expect("a directory");
        fs::write(left.join("token"), "").expect("a file");
        for directory in [&left, sockets.directory()] {
            let long_ago = SystemTime::now() - leftovers::LEFTOVER_AGE * 2;
            File::open(directory).and_then(|found| found.set_modified(long_ago)).expect("a time");
        }
        sweep(parent.path());
        assert!(!left.exists() && sockets.directory().exists());
        let used = sockets.directory().to_owned();
        drop(sockets);
        assert!(!used.exists());
    }
}
