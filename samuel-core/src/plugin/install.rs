//! Installing, updating and removing plugins.
//!
//! [`Plugins::fetch`] copies a plugin into a staging directory and checks it;
//! the [`FetchedPlugin`] says what it asks for. [`Plugins::install`] takes it
//! together with what the user granted, and puts files, samuel.lock and
//! samuel.toml in place; where one of them fails, the others are put back. One
//! that is dropped leaves nothing behind. How sources are fetched is `fetch.rs`'s, whom to ask the caller's.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;
use samuel_contract::nearest;
use serde::Serialize;
use tempfile::TempDir;

use super::{
    Capabilities, Capability, FetchOptions, FetchedPlugin, InstallSource, InstalledPlugin, LockFile,
    MANIFEST_FILE, Manifest, MethodologyProfile, PluginChange, PluginDifference, PluginError, PluginKind,
    PluginTree, Selection, Unlisted,
    catalog::{check_beside, plugin_directory, plugins_directory},
    check,
    check::check_contents,
    check_plugin_name,
    contents::Contents,
    edit,
    fetch::{Origin, blocking, collect},
    installed::{Inspection, inspect},
    swap::Swap,
};
use crate::{
    config::Config,
    fs::{PROJECT_DIRECTORY, Root},
    git::covered,
    hook::HookPoint,
    sandbox::{Containers, Image, OCI, SandboxError},
    state::{IGNORE_FILE, write_ignore_file},
};

/// What staging directories are called; the rest is random.
pub(super) const STAGING: &str = ".staging-";

/// The plugins of a project, to be changed.
#[derive(Clone, Debug)]
pub struct Plugins {
    root: PathBuf,
}

/// The lock that keeps other commands from changing plugins.
#[derive(Debug)]
pub(super) struct Held(File);

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
    /// Files of it that git leaves out of a commit, because a `.gitignore` of the project covers them: a
    /// clone of the project lacks them.
    pub ignored: Vec<String>,
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

impl Plugins {
    /// Looks at the plugins of the project at a root.
    pub fn of(project_root: impl Into<PathBuf>) -> Self {
        Self { root: project_root.into() }
    }

    /// Returns the root of the project.
    pub fn root(&self) -> &Path {
        &self.root
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
        let into = tempfile::Builder::new().prefix(STAGING).tempdir_in(self.directory());
        let into = into.map_err(PluginError::io("write to", self.directory()))?;
        let mut origin = Origin { source: source.recorded(&self.root), ..Origin::default() };
        let directory = collect(source, into.path(), &mut origin, options).await?;
        let plugins = self.clone();
        let fetched = blocking(move || plugins.stage(&directory, staged, origin, lock)).await;
        drop(into);
        let mut fetched = fetched?;
        fetched.check_component(options).await?;
        let (manifest, containers) = (fetched.manifest.clone(), options.containers.clone());
        fetched.image = blocking(move || pinned_image(&manifest, containers.as_ref())).await?;
        Ok(fetched)
    }

    /// Returns where an installed plugin comes from, to be fetched again.
    ///
    /// # Errors
    /// Returns [`PluginError::Source`] where that is a source no more, such as a directory that is gone.
    pub fn source_of(&self, entry: &InstalledPlugin) -> Result<InstallSource, PluginError> {
        InstallSource::parse(&entry.source, &self.root)
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
            source: fetched.origin.source.clone(),
            commit: fetched.origin.commit.clone(),
            tag: fetched.is_tag(),
            pin: fetched.origin.pin.clone(),
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
        let files: Vec<String> = entry.files.keys().cloned().collect();
        let ignored = covered(&plugin_directory(&self.root, &name), &files);
        Ok(Installed {
            ignored,
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

    pub(super) fn directory(&self) -> PathBuf {
        plugins_directory(&self.root)
    }

    /// Makes the directory of the plugins and keeps others from changing it.
    pub(super) fn hold(&self) -> Result<Held, PluginError> {
        let directory = self.directory();
        let root = Root::new(&self.root);
        let made = root.create_directory(&directory, PROJECT_DIRECTORY);
        made.map_err(PluginError::file("create", &directory))?;
        // Keeps the lock and staged files out of git, even if the installation fails.
        write_ignore_file(&root).map_err(PluginError::file("create", self.root.join(IGNORE_FILE)))?;
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
        origin: Origin,
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
        let there = plugin_directory(&self.root, &manifest.name);
        let on_disk = PluginTree::of(&there, &Selection::Installed).ok();
        let installed = Manifest::load(&there).ok();
        let handled = installed.into_iter().flat_map(|one| one.bindings).map(|binding| binding.point);
        let handled = handled.collect();
        let image = None;
        Ok(FetchedPlugin { staged, manifest, contents, origin, image, before, on_disk, handled, _lock: lock })
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
        return Selection::Plugin(manifest.name.clone());
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
    containers.pinned(image).map(|image| Some(image.to_string())).map_err(refused)
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

/// Returns the keys that samuel.toml has for methodologies.
fn settings_of(config: &Config, profiles: &[MethodologyProfile]) -> Vec<String> {
    let is_one = |name: &str| profiles.iter().any(|profile| profile.names().any(|own| own == name));
    let default = config.origin("default_methodology").filter(|_| is_one(&config.default_methodology));
    let tables = config.methodologies().filter(|name| is_one(name)).map(|name| format!("methodology.{name}"));
    default.map(|_| "default_methodology".to_owned()).into_iter().chain(tables).collect()
}
