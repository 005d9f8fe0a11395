//! The plugins that take part: those samuel.toml lists, as samuel.lock has
//! them.
//!
//! A [`Catalog`] is read whenever handlers are registered. It refuses a plugin
//! whose files are not those that were installed, so that what was approved is
//! what runs.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Capabilities, InstalledPlugin, LockFile, Manifest, MethodologyProfile, PluginError,
    contents::Contents,
    install::check_grants,
    installed::{Inspection, inspect},
    settings::check_settings,
};
use crate::{config::Config, context::template::TemplatePlace, fs::Root};

/// The plugins of a project that take part, in the order of samuel.toml.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    plugins: Vec<Plugin>,
    pub(super) root: PathBuf,
}

/// An installed plugin whose files were checked.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// Its manifest.
    pub manifest: Manifest,
    /// Its directory.
    pub directory: PathBuf,
    /// Its place in samuel.toml, from 0, which breaks ties.
    pub place: u32,
    /// What the user set for it: `config` of its table in samuel.toml.
    pub config: Map<String, Value>,
    /// What samuel.lock holds of it, the grants among it.
    pub entry: InstalledPlugin,
    /// The very bytes that were checked, which are what runs.
    pub(super) contents: Arc<Contents>,
}

impl Plugin {
    /// Returns what the user granted.
    pub fn granted(&self) -> &Capabilities {
        &self.entry.granted
    }

    /// Returns the templates in one of its directories, as they were checked.
    pub(crate) fn templates(&self, directory: &str) -> TemplatePlace {
        let files = Arc::new(self.contents.below(directory));
        TemplatePlace::Checked { directory: self.directory.join(directory), files }
    }
}

impl Catalog {
    /// Reads the plugins that a project's configuration lists.
    ///
    /// # Errors
    /// Returns [`PluginError::Listed`] for one that is not installed,
    /// [`PluginError::Changed`] for one whose files were changed,
    /// [`PluginError::Differs`] for one of which samuel.lock says something
    /// else than its files, [`PluginError::Excess`] for one that was granted what it does not ask
    /// for, [`PluginError::NamespaceTaken`] for two that share a namespace,
    /// [`PluginError::MethodologyTaken`] for two that provide a methodology of
    /// one name, [`PluginError::Settings`] for one that takes other settings than samuel.toml has, and
    /// [`PluginError::Manifest`] for one that is for another
    /// Samuel.
    pub fn read(project_root: &Path, config: &Config) -> Result<Self, PluginError> {
        Self::read_without(project_root, config, &[])
    }

    /// Reads them without those that the program brings itself, given by name,
    /// which need not be installed.
    ///
    /// # Errors
    /// Returns what [`read`](Self::read) does.
    pub fn read_without(
        project_root: &Path,
        config: &Config,
        brought: &[String],
    ) -> Result<Self, PluginError> {
        let listed = (0..).zip(&config.plugins).filter(|(_, listed)| !brought.contains(&listed.name));
        let listed: Vec<_> = listed.collect();
        // Without plugins nothing is read, and nothing can be broken.
        if listed.is_empty() {
            return Ok(Self { plugins: Vec::new(), root: project_root.to_owned() });
        }
        let lock = LockFile::load(project_root)?;
        let mut plugins: Vec<Plugin> = Vec::new();
        for (place, listed) in listed {
            let entry = lock.get(&listed.name).cloned().ok_or_else(|| PluginError::Listed {
                name: listed.name.clone(),
                from: listed.source.clone(),
            })?;
            let directory = plugin_directory(project_root, &entry.name);
            // Its files are read where they are, and that is in the project.
            let inside = Root::new(project_root).check_inside(&directory);
            inside.map_err(PluginError::file("read", &directory))?;
            let (manifest, contents) = verify(&directory, &entry)?;
            plugins.iter().try_for_each(|other| check_beside(&manifest, &other.manifest))?;
            let config = listed.config.clone();
            check_settings(&manifest, &config)?;
            plugins.push(Plugin { manifest, directory, place, config, entry, contents });
        }
        Ok(Self { plugins, root: project_root.to_owned() })
    }

    /// Takes one plugin that is not installed.
    pub(super) fn of(plugin: Plugin, project_root: &Path) -> Self {
        Self { plugins: vec![plugin], root: project_root.to_owned() }
    }

    /// Returns the plugins.
    pub fn plugins(&self) -> &[Plugin] {
        &self.plugins
    }

    /// Returns the methodologies that they provide, each with its plugin.
    pub fn profiles(&self) -> impl Iterator<Item = (&Plugin, &MethodologyProfile)> {
        self.plugins.iter().flat_map(|plugin| plugin.manifest.profiles.iter().map(move |one| (plugin, one)))
    }
}

/// Makes sure that a plugin takes no name which another one has.
pub(super) fn check_beside(plugin: &Manifest, other: &Manifest) -> Result<(), PluginError> {
    let (name, owner) = (|| plugin.name.clone(), || other.name.clone());
    if plugin.namespace == other.namespace {
        let namespace = plugin.namespace.clone();
        return Err(PluginError::NamespaceTaken { name: name(), namespace, owner: owner() });
    }
    let taken = |methodology: &&str| other.profiles.iter().any(|profile| profile.is_called(methodology));
    let names = plugin.profiles.iter().flat_map(MethodologyProfile::names);
    match names.into_iter().find(taken) {
        Some(methodology) => {
            let methodology = methodology.to_owned();
            Err(PluginError::MethodologyTaken { name: name(), methodology, owner: owner() })
        }
        None => Ok(()),
    }
}

/// Makes sure that a plugin is the one that was installed.
fn verify(directory: &Path, entry: &InstalledPlugin) -> Result<(Manifest, Arc<Contents>), PluginError> {
    let name = || entry.name.clone();
    if !directory.is_dir() {
        return Err(PluginError::Listed { name: name(), from: Some(entry.source.clone()) });
    }
    let Inspection { contents, changes, differences, manifest } = inspect(directory, entry)?;
    let manifest = match manifest {
        Some(manifest) if changes.is_empty() => manifest,
        _ => return Err(PluginError::Changed { name: name(), changes }),
    };
    if !differences.is_empty() {
        return Err(PluginError::Differs { name: name(), differences });
    }
    check_grants(&manifest, &entry.granted)?;
    Ok((manifest, Arc::new(contents)))
}

/// Returns where the plugins of a project are.
pub(super) fn plugins_directory(project_root: &Path) -> PathBuf {
    project_root.join(".samuel/plugins")
}

/// Returns where a plugin is.
pub(crate) fn plugin_directory(project_root: &Path, name: &str) -> PathBuf {
    plugins_directory(project_root).join(name)
}
