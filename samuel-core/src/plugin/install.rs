//! Installing, updating and removing plugins.
//!
//! [`Plugins::fetch`] copies a plugin into a staging directory and checks it;
//! the [`FetchedPlugin`] says what it asks for. [`Plugins::install`] takes it
//! together with what the user granted, and puts files, samuel.lock and
//! samuel.toml in place; where one of them fails, the others are put back. One
//! that is dropped leaves nothing behind. Whom to ask is the caller's.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::OFlags;
use serde::Serialize;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{
    Capabilities, Capability, InstallSource, InstalledPlugin, LockFile, MANIFEST_FILE, Manifest,
    MethodologyProfile, PluginChange, PluginDifference, PluginError, PluginKind, Selection, Unlisted,
    catalog::{check_beside, plugin_directory, plugins_directory},
    check,
    check::check_contents,
    check_plugin_name,
    consent::{TELLING, consequences},
    contents::Contents,
    edit,
    installed::{Inspection, inspect},
    source::clone,
    swap::Swap,
};
use crate::{
    config::Config,
    fs::{PROJECT_DIRECTORY, Root},
    git::program::GitProgram,
    hook::{HookPoint, nearest},
    process::Supervisor,
    sandbox::{Containers, Image, OCI, SandboxError, pinned},
};

/// What staging directories are called; the rest is random.
pub(super) const STAGING: &str = ".staging-";

/// The plugins of a project, to be changed.
#[derive(Clone, Debug)]
pub struct Plugins {
    root: PathBuf,
}

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
        }
    }
}

/// A plugin that was fetched and checked, and waits to be installed.
#[derive(Debug)]
pub struct FetchedPlugin {
    staged: TempDir,
    manifest: Manifest,
    contents: Contents,
    source: String,
    commit: Option<String>,
    /// The image, pinned.
    image: Option<String>,
    before: Option<InstalledPlugin>,
    /// What the version that is installed handles.
    handled: Vec<HookPoint>,
    /// Held until the plugin is installed or dropped.
    _lock: Held,
}

/// The lock that keeps other commands from changing plugins.
#[derive(Debug)]
struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing is not enough: a process that is being started in another
        // thread has a copy of the file until it runs its program.
        let _ = self.0.unlock();
    }
}

/// What was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// What samuel.lock holds of it.
    #[serde(flatten)]
    pub entry: InstalledPlugin,
    /// The version that was there before.
    pub replaced: Option<String>,
    /// The points it handles.
    pub points: Vec<HookPoint>,
    /// The methodologies it provides.
    pub methodologies: Vec<String>,
}

/// What was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uninstalled {
    /// The plugin.
    pub name: String,
    /// Its version, where samuel.lock knew it.
    pub version: Option<String>,
    /// The chains in samuel.toml that named its handlers.
    pub unlisted: Vec<Unlisted>,
    /// The settings in samuel.toml for its methodologies, which stay and keep runs from starting: keys such as
    /// `default_methodology` and `methodology.tdd-strict`.
    pub left: Vec<String>,
}

/// A plugin of a project, and whether its files are those that were installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedPlugin {
    /// The plugin.
    pub name: String,
    /// What was changed; nothing where all is well.
    pub changes: Vec<PluginChange>,
    /// What samuel.lock says of it that its files do not; nothing where all is
    /// well.
    pub differences: Vec<PluginDifference>,
    /// Why its files could not be looked at, where they could not.
    pub problem: Option<String>,
}

/// An installed plugin in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedPlugin {
    /// What samuel.lock holds of it; nothing where it is only listed in
    /// samuel.toml.
    pub entry: Option<InstalledPlugin>,
    /// Its name.
    pub name: String,
    /// Whether samuel.toml lists it, so that it takes part.
    pub is_listed: bool,
}

impl VerifiedPlugin {
    fn broken(name: String, problem: String) -> Self {
        Self { name, changes: Vec::new(), differences: Vec::new(), problem: Some(problem) }
    }

    /// Says whether the plugin is as it was installed.
    pub fn is_intact(&self) -> bool {
        self.changes.is_empty() && self.differences.is_empty() && self.problem.is_none()
    }
}

impl FetchedPlugin {
    /// Tries a component out, before anybody is asked.
    #[cfg(feature = "wasm")]
    async fn check_component(&self, options: &FetchOptions) -> Result<(), PluginError> {
        match self.manifest.kind {
            PluginKind::Wasm => {
                let directory = self.staged.path().to_owned();
                super::component::check(directory, &self.manifest, &self.contents, options).await
            }
            _ => Ok(()),
        }
    }

    #[cfg(not(feature = "wasm"))]
    async fn check_component(&self, _: &FetchOptions) -> Result<(), PluginError> {
        Ok(())
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns where it comes from, as samuel.toml will have it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns what is installed under its name.
    pub fn before(&self) -> Option<&InstalledPlugin> {
        self.before.as_ref()
    }

    /// Returns what it asks for and was not granted before.
    pub fn new_capabilities(&self) -> Capabilities {
        let granted = self.before.as_ref().map(|entry| entry.granted.clone()).unwrap_or_default();
        self.manifest.capabilities.beyond(&granted)
    }

    /// Says in plain words what follows from what it handles and asks for, one
    /// line each.
    pub fn consequences(&self) -> Vec<String> {
        consequences(&self.manifest, &self.manifest.capabilities)
    }

    /// Says whether the user has to be asked: at the first time, and whenever
    /// an update asks for more, comes from elsewhere, or begins to stand between
    /// Samuel and the agent.
    pub fn needs_consent(&self) -> bool {
        let same_source = self.before.as_ref().is_some_and(|entry| entry.source == self.source);
        let is_new =
            |point: &HookPoint| self.manifest.binding(*point).is_some() && !self.handled.contains(point);
        !same_source || !self.new_capabilities().is_empty() || TELLING.iter().any(is_new)
    }
}

impl Plugins {
    /// Looks at the plugins of the project at a root.
    pub fn of(project_root: impl Into<PathBuf>) -> Self {
        Self { root: project_root.into() }
    }

    /// Fetches a plugin and checks it as a whole. Nothing is installed yet.
    ///
    /// # Errors
    /// Returns a [`PluginError`] where it cannot be fetched, has a problem, is
    /// too large, or takes a name that another plugin has, and
    /// [`PluginError::Busy`] while another command changes plugins.
    pub async fn fetch(
        &self,
        source: &InstallSource,
        options: &FetchOptions,
    ) -> Result<FetchedPlugin, PluginError> {
        let plugins = self.clone();
        let (lock, staged) = blocking(move || plugins.begin()).await?;
        let mut commit = None;
        let mut checkout = None;
        let directory = match source {
            InstallSource::Directory { path, .. } => path.clone(),
            InstallSource::Git { url, revision, .. } => {
                let into = tempfile::Builder::new().prefix(STAGING).tempdir_in(self.directory());
                let into = into.map_err(PluginError::io("write to", self.directory()))?;
                let git = GitProgram {
                    env: &options.env,
                    supervisor: &options.supervisor,
                    cancel: &options.cancel,
                    deadline: tokio::time::Instant::now() + options.timeout,
                };
                commit = Some(clone(url, revision.as_deref(), into.path(), &git).await?);
                checkout.insert(into).path().to_owned()
            }
        };
        let plugins = self.clone();
        let recorded = source.recorded(&self.root);
        let staged = move || plugins.stage(&directory, staged, recorded, commit, lock);
        let fetched = blocking(staged).await;
        drop(checkout);
        let mut fetched = fetched?;
        fetched.check_component(options).await?;
        let (manifest, containers) = (fetched.manifest.clone(), options.containers.clone());
        fetched.image = blocking(move || pinned_image(&manifest, containers.as_ref())).await?;
        Ok(fetched)
    }

    /// Installs a fetched plugin with what the user granted, in place of what was
    /// installed under its name.
    ///
    /// # Errors
    /// Returns [`PluginError::Ungranted`] where a handler needs a capability
    /// that was not granted, [`PluginError::Excess`] where more was granted than
    /// asked for, and [`PluginError::Io`] or
    /// [`PluginError::Config`] where it cannot be put in place; everything is as before then.
    pub fn install(&self, fetched: FetchedPlugin, granted: &Capabilities) -> Result<Installed, PluginError> {
        let manifest = &fetched.manifest;
        let name = manifest.name.clone();
        check_grants(manifest, granted)?;
        let entry = InstalledPlugin {
            name: name.clone(),
            version: manifest.version.to_string(),
            kind: manifest.kind,
            source: fetched.source.clone(),
            commit: fetched.commit.clone(),
            digest: fetched.contents.tree().digest(),
            image: fetched.image.clone(),
            granted: granted.clone(),
            files: fetched.contents.tree().digests(),
        };
        let mut lock = LockFile::load(&self.root)?;
        let before = lock.clone();
        lock.put(entry.clone());
        let swap = Swap::begin(&self.root, &name, Some(fetched.staged.path()))?;
        let put = lock.save(&self.root).and_then(|()| edit::add(&self.root, &name, &entry.source));
        swap.settle(put, || before.save(&self.root))?;
        Ok(Installed {
            replaced: fetched.before.map(|before| before.version),
            points: manifest.bindings.iter().map(|binding| binding.point).collect(),
            methodologies: manifest.profiles.iter().map(|profile| profile.name.clone()).collect(),
            entry,
        })
    }

    /// Removes a plugin: its files, its grants, its place in samuel.toml and its
    /// handlers in the chains there. One that is broken can be removed as well.
    ///
    /// # Errors
    /// Returns [`PluginError::BadName`] for what can be nobody's name,
    /// [`PluginError::NotInstalled`] where there is none of the name, and what [`install`](Self::install) returns where it cannot be removed.
    pub fn uninstall(&self, name: &str) -> Result<Uninstalled, PluginError> {
        check_plugin_name(name)?;
        let known = self.list()?;
        if !known.iter().any(|plugin| plugin.name == name) {
            return Err(not_installed(name, &known));
        }
        let _held = self.hold()?;
        // Of one that is broken nobody knows what it provides.
        let manifest = Manifest::load(&plugin_directory(&self.root, name));
        let provided = manifest.map(|manifest| manifest.profiles).unwrap_or_default();
        let mut lock = LockFile::load(&self.root)?;
        let before = lock.clone();
        let entry = lock.remove(name);
        let swap = Swap::begin(&self.root, name, None)?;
        let mut unlisted = Vec::new();
        let put = edit::remove(&self.root, name).and_then(|taken_out| {
            unlisted = taken_out;
            lock.save(&self.root)
        });
        swap.settle(put, || before.save(&self.root))?;
        let left = Config::load(&self.root).map(|config| settings_of(&config, &provided)).unwrap_or_default();
        Ok(Uninstalled { name: name.to_owned(), version: entry.map(|entry| entry.version), unlisted, left })
    }

    /// Lists what is installed, and what samuel.toml lists, in its order.
    ///
    /// # Errors
    /// Returns [`PluginError::Lock`] or [`PluginError::Config`] where
    /// samuel.lock or samuel.toml cannot be used.
    pub fn list(&self) -> Result<Vec<ListedPlugin>, PluginError> {
        let lock = LockFile::load(&self.root)?;
        let config = Config::load(&self.root).map_err(PluginError::Config)?;
        let listed = config.plugins.iter().map(|plugin| ListedPlugin {
            entry: lock.get(&plugin.name).cloned(),
            name: plugin.name.clone(),
            is_listed: true,
        });
        let mut list: Vec<ListedPlugin> = listed.collect();
        let others =
            lock.plugins.iter().filter(|entry| !config.plugins.iter().any(|one| one.name == entry.name));
        list.extend(others.map(|entry| ListedPlugin {
            entry: Some(entry.clone()),
            name: entry.name.clone(),
            is_listed: false,
        }));
        Ok(list)
    }

    /// Returns what is kept of a plugin, and its manifest.
    ///
    /// # Errors
    /// Returns [`PluginError::BadName`] for what can be nobody's name,
    /// [`PluginError::NotInstalled`] where there is none of the name, and
    /// [`PluginError::Manifest`] where its manifest cannot be read.
    pub fn info(&self, name: &str) -> Result<(InstalledPlugin, Manifest), PluginError> {
        check_plugin_name(name)?;
        let list = self.list()?;
        let found = list.iter().find(|plugin| plugin.name == name).and_then(|plugin| plugin.entry.clone());
        let entry = found.ok_or_else(|| {
            // Of one that is only listed there is nothing to be shown either.
            let installed: Vec<ListedPlugin> =
                list.into_iter().filter(|plugin| plugin.entry.is_some()).collect();
            not_installed(name, &installed)
        })?;
        let manifest = Manifest::load(&plugin_directory(&self.root, name))?;
        Ok((entry, manifest))
    }

    /// Compares every installed plugin with samuel.lock: its files, and what is
    /// kept of them as a whole; with a name only one.
    ///
    /// # Errors
    /// Returns [`PluginError::BadName`] for what can be nobody's name,
    /// [`PluginError::NotInstalled`] where there is none of the name, and [`PluginError::Lock`] where samuel.lock cannot be used.
    pub fn verify(&self, name: Option<&str>) -> Result<Vec<VerifiedPlugin>, PluginError> {
        name.map(check_plugin_name).transpose()?;
        let list = self.list()?;
        if let Some(name) = name.filter(|name| !list.iter().any(|plugin| plugin.name == **name)) {
            return Err(not_installed(name, &list));
        }
        let wanted = list.into_iter().filter(|plugin| name.is_none_or(|name| plugin.name == name));
        Ok(wanted.map(|plugin| self.verify_one(plugin)).collect())
    }

    fn verify_one(&self, plugin: ListedPlugin) -> VerifiedPlugin {
        let ListedPlugin { entry, name, .. } = plugin;
        let Some(entry) = entry else {
            return VerifiedPlugin::broken(name, "it is listed in samuel.toml and not installed".to_owned());
        };
        match inspect(&plugin_directory(&self.root, &name), &entry) {
            Ok(Inspection { changes, differences, manifest, .. }) => {
                let granted = manifest.map(|manifest| check_grants(&manifest, &entry.granted));
                let problem = granted.and_then(Result::err).map(|error| error.to_string());
                VerifiedPlugin { name, changes, differences, problem }
            }
            Err(error) => VerifiedPlugin::broken(name, error.to_string()),
        }
    }

    fn directory(&self) -> PathBuf {
        plugins_directory(&self.root)
    }

    /// Makes the directory of the plugins and keeps others from changing it.
    fn hold(&self) -> Result<Held, PluginError> {
        let directory = self.directory();
        let root = Root::new(&self.root);
        let made = root.create_directory(&directory, PROJECT_DIRECTORY);
        made.map_err(PluginError::file("create", &directory))?;
        let path = directory.join(".lock");
        let file = root.open_own(&path, OFlags::WRONLY | OFlags::CREATE);
        let file = file.map_err(PluginError::file("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Held(file)),
            Err(TryLockError::WouldBlock) => Err(PluginError::Busy { directory }),
            Err(TryLockError::Error(source)) => Err(PluginError::Io { action: "lock", path, source }),
        }
    }

    /// Begins to stage: what an interrupted command left behind is removed.
    fn begin(&self) -> Result<(Held, TempDir), PluginError> {
        let lock = self.hold()?;
        let directory = self.directory();
        for entry in fs::read_dir(&directory).map_err(PluginError::io("read", &directory))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(STAGING) {
                // What cannot be removed now is in nobody's way.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let staged = tempfile::Builder::new().prefix(STAGING).tempdir_in(&directory);
        Ok((lock, staged.map_err(PluginError::io("write to", &directory))?))
    }

    fn stage(
        &self,
        directory: &Path,
        staged: TempDir,
        source: String,
        commit: Option<String>,
        lock: Held,
    ) -> Result<FetchedPlugin, PluginError> {
        // The manifest decides which files belong to the plugin.
        let manifest = check(directory)?;
        let contents = Contents::read(directory, &selection(&manifest))?;
        let manifest = check_contents(directory, &contents)?;
        contents.write_to(staged.path())?;
        let before = LockFile::load(&self.root)?.get(&manifest.name).cloned();
        self.check_others(&manifest)?;
        // What cannot be read handled nothing that anybody was asked about.
        let installed = Manifest::load(&plugin_directory(&self.root, &manifest.name)).ok();
        let handled = installed.into_iter().flat_map(|one| one.bindings).map(|binding| binding.point);
        let handled = handled.collect();
        let image = None;
        Ok(FetchedPlugin { staged, manifest, contents, source, commit, image, before, handled, _lock: lock })
    }

    /// Refuses a plugin that takes a name which another one has.
    fn check_others(&self, manifest: &Manifest) -> Result<(), PluginError> {
        for other in self.list()?.into_iter().filter(|other| other.name != manifest.name) {
            // A plugin that is broken is told of when it is loaded.
            let Ok(theirs) = Manifest::load(&plugin_directory(&self.root, &other.name)) else { continue };
            check_beside(manifest, &theirs)?;
        }
        Ok(())
    }
}

/// Returns which files belong to a plugin. A component needs nothing beside
/// itself, so that what it is built from stays where it is.
pub(super) fn selection(manifest: &Manifest) -> Selection {
    if manifest.kind == PluginKind::Skill {
        return Selection::Source;
    }
    let templates = manifest.profiles.iter().filter_map(|profile| profile.templates.clone());
    let named = std::iter::once(MANIFEST_FILE.to_owned()).chain(manifest.module.clone()).chain(templates);
    Selection::Named(named.collect())
}

/// Returns the image of a plugin that is one, pinned by its digest, as its engine has it now.
pub(super) fn pinned_image(
    manifest: &Manifest,
    containers: Option<&Containers>,
) -> Result<Option<String>, PluginError> {
    let Some(image) = &manifest.image else { return Ok(None) };
    let refused = |source| PluginError::Image { name: manifest.name.clone(), source };
    if let Ok(pinned) = Image::parse(image) {
        return Ok(Some(pinned.to_string()));
    }
    let Some(containers) = containers else {
        let problem =
            format!("the image {image} has no digest, and this program names no engine that knows it");
        return Err(refused(SandboxError::Unusable { name: OCI.to_owned(), problem }));
    };
    pinned(containers, image).map(|image| Some(image.to_string())).map_err(refused)
}

/// Makes sure that what was granted is what was asked for, and enough.
pub(super) fn check_grants(manifest: &Manifest, granted: &Capabilities) -> Result<(), PluginError> {
    let name = || manifest.name.clone();
    if let Some((capability, _)) = granted.beyond(&manifest.capabilities).iter().next() {
        return Err(PluginError::Excess { name: name(), capability });
    }
    let starts = matches!(manifest.kind, PluginKind::Skill | PluginKind::Oci);
    let point = HookPoint::AgentInvoke;
    if starts && manifest.binding(point).is_some() && !granted.has(Capability::Exec) {
        return Err(PluginError::Ungranted { name: name(), point, capability: Capability::Exec });
    }
    Ok(())
}

fn not_installed(name: &str, known: &[ListedPlugin]) -> PluginError {
    let nearest = nearest(name, known.iter().map(|plugin| plugin.name.as_str())).map(str::to_owned);
    PluginError::NotInstalled { name: name.to_owned(), nearest }
}

/// Does what blocks on a thread where that is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PluginError> + Send + 'static,
) -> Result<T, PluginError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(PluginError::Io { action: "reach", path: PathBuf::new(), source: io::Error::other(error) })
    })
}

/// Returns the keys that samuel.toml has for methodologies.
fn settings_of(config: &Config, profiles: &[MethodologyProfile]) -> Vec<String> {
    let is_one = |name: &str| profiles.iter().any(|profile| profile.names().any(|own| own == name));
    let default = config.origin("default_methodology").filter(|_| is_one(&config.default_methodology));
    let tables = config.methodologies().filter(|name| is_one(name)).map(|name| format!("methodology.{name}"));
    default.map(|_| "default_methodology".to_owned()).into_iter().chain(tables).collect()
}
