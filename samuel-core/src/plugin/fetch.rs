//! Getting what a source has into a directory: a checkout, or the files of an archive.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{
    InstallSource, MAX_BYTES, PluginError, RegistryLogins,
    archive::unpack,
    registry::Registry,
    source::clone,
    web::{Web, failed},
};
use crate::{
    fs::Root,
    git::program::GitProgram,
    model::{digest_of, run_blocking, without_credentials},
    process::Supervisor,
    sandbox::Containers,
};

/// How a plugin is fetched.
#[derive(Clone, Debug)]
pub struct FetchOptions {
    /// The environment that git gets parts of.
    pub env: Vec<(String, String)>,
    /// Who watches over git.
    pub supervisor: Supervisor,
    /// How long git may take altogether. Default 2 minutes.
    pub timeout: Duration,
    /// Ends it earlier.
    pub cancel: CancellationToken,
    /// Where compiled components are kept, a private directory; nowhere where
    /// absent.
    pub cache_dir: Option<PathBuf>,
    /// Where the key is kept that compiled components are signed with, as in
    /// [`LoadOptions`](super::LoadOptions); without it none are kept.
    pub state_dir: Option<PathBuf>,
    /// Where the containers of images come from, whose engine knows what an image is by now that is named without its
    /// digest.
    pub containers: Option<Containers>,
    /// What lets in to registries; nothing by default. Those that the user keeps are read by
    /// [`RegistryLogins::kept`].
    pub registry_logins: RegistryLogins,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self {
            env: Vec::new(),
            supervisor: Supervisor::GroupOnly,
            timeout: Duration::from_secs(120),
            cancel: CancellationToken::new(),
            cache_dir: None,
            state_dir: None,
            containers: None,
            registry_logins: RegistryLogins::default(),
        }
    }
}

impl FetchOptions {
    /// Returns the git that fetches so, from now on.
    pub(super) fn git(&self) -> GitProgram<'_> {
        GitProgram {
            env: &self.env,
            supervisor: &self.supervisor,
            cancel: &self.cancel,
            deadline: tokio::time::Instant::now() + self.timeout,
        }
    }
}

/// Where a plugin was fetched from.
#[derive(Debug, Default)]
pub(super) struct Origin {
    /// The source, as samuel.toml will have it.
    pub(super) source: String,
    /// The commit, of a git repository.
    pub(super) commit: Option<String>,
    /// The digest of the archive, or of the manifest in a registry.
    pub(super) pin: Option<String>,
    /// Whether the source names a tag of a repository.
    pub(super) is_tag: bool,
}

/// Gets what a source has, into an empty directory where it is not in one already, and returns the directory of
/// the plugin.
pub(super) async fn collect(
    source: &InstallSource,
    into: &Path,
    origin: &mut Origin,
    options: &FetchOptions,
) -> Result<PathBuf, PluginError> {
    let from = source.to_string();
    let from = without_credentials(&from).into_owned();
    let target = into.to_owned();
    match source.clone() {
        InstallSource::Directory { path, .. } => return Ok(path),
        InstallSource::Git { url, revision, subdirectory, .. } => {
            let fetched = clone(&url, revision.as_deref(), into, &options.git()).await?;
            (origin.commit, origin.is_tag) = (Some(fetched.commit), fetched.is_tag);
            return match subdirectory {
                Some(directory) => below(into, &directory, &from),
                None => Ok(target),
            };
        }
        InstallSource::Archive { path, digest, .. } => {
            let pin = blocking(move || {
                let bytes = Root::new(path.parent().unwrap_or(Path::new("/")))
                    .read(&path, MAX_BYTES)
                    .map_err(PluginError::file("read", &path))?;
                unpack_held(&bytes, digest.as_deref(), &target, &from)
            });
            origin.pin = Some(pin.await?);
        }
        InstallSource::Download { url, digest } => {
            let web = Web::within(options.timeout);
            let cancel = options.cancel.clone();
            let pin = blocking(move || {
                let bytes = web.get(&url, MAX_BYTES)?;
                refuse_cancelled(&cancel, &from)?;
                unpack_held(&bytes, Some(&digest), &target, &from)
            });
            origin.pin = Some(or_cancelled(pin, options, source).await?);
        }
        InstallSource::Registry(address) => {
            let (web, logins) = (Web::within(options.timeout), options.registry_logins.clone());
            let cancel = options.cancel.clone();
            let pin = blocking(move || {
                let (digest, archive) = Registry::new(&address, web, &logins).pull()?;
                refuse_cancelled(&cancel, &from)?;
                unpack(&archive, &target, &from)?;
                Ok(digest)
            });
            origin.pin = Some(or_cancelled(pin, options, source).await?);
        }
    }
    Ok(into.to_owned())
}

/// Unpacks an archive that has the digest it should have, and returns that.
fn unpack_held(bytes: &[u8], digest: Option<&str>, into: &Path, from: &str) -> Result<String, PluginError> {
    let found = digest_of(bytes);
    if let Some(expected) = digest.filter(|expected| *expected != found) {
        let (from, expected) = (from.to_owned(), expected.to_owned());
        return Err(PluginError::Digest { from, expected, found });
    }
    unpack(bytes, into, from)?;
    Ok(found)
}

/// Waits for what comes over the network, but no longer than the caller wants it.
async fn or_cancelled<T>(
    work: impl Future<Output = Result<T, PluginError>>,
    options: &FetchOptions,
    source: &InstallSource,
) -> Result<T, PluginError> {
    tokio::select! {
        biased;
        () = options.cancel.cancelled() => Err(cancelled(&source.to_string())),
        done = work => done,
    }
}

/// Makes sure that somebody still waits for what is about to be written.
fn refuse_cancelled(cancel: &CancellationToken, from: &str) -> Result<(), PluginError> {
    if cancel.is_cancelled() { Err(cancelled(from)) } else { Ok(()) }
}

fn cancelled(from: &str) -> PluginError {
    failed(from, "was cancelled".to_owned())
}

/// Returns a directory within a checkout, which no link in it leads out of.
fn below(checkout: &Path, directory: &str, from: &str) -> Result<PathBuf, PluginError> {
    let root = checkout.canonicalize().map_err(PluginError::io("read", checkout))?;
    let found =
        root.join(directory).canonicalize().ok().filter(|found| found.is_dir() && found.starts_with(&root));
    found.ok_or_else(|| PluginError::Fetch {
        url: from.to_owned(),
        message: format!("there is no directory {directory} in it"),
    })
}

/// Does what blocks on a thread where that is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PluginError> + Send + 'static,
) -> Result<T, PluginError> {
    let done = run_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(PluginError::Io { action: "reach", path: PathBuf::new(), source: io::Error::other(error) })
    })
}
