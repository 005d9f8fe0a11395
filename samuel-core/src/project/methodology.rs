//! Which methodology a project is worked on by.
//!
//! One is built in; others are profiles that plugins provide: other defaults,
//! chains and templates over the same functions. Plugins are looked at only
//! where the built-in one is not all that is named, so that a broken plugin is
//! in nobody's way who does without it.

use std::{path::Path, sync::Arc};

use super::{ProjectError, known_methodologies};
use crate::{
    config::{Config, KnownMethodology, MethodologySettings, resolve_methodology},
    context::template::TemplatePlace,
    fs::Root,
    hook::{ChainSpec, HookPoint},
    plugin::{Catalog, Profile},
};

/// What [`Methodology::source`] says of the methodology that is built in.
const BUILT_IN: &str = "built-in";

/// The methodology in use.
#[derive(Clone, Debug)]
pub(super) struct Methodology {
    name: String,
    provided: Option<Arc<Provided>>,
}

/// A profile with the plugin that provides it.
#[derive(Debug)]
struct Provided {
    plugin: String,
    /// Its own templates, as they were checked.
    templates: Option<TemplatePlace>,
    profile: Profile,
}

impl Methodology {
    /// Finds the one that is wanted, else the configured default, and makes
    /// sure that every one that is configured exists.
    pub(super) fn find(root: &Path, wanted: Option<&str>, config: &Config) -> Result<Self, ProjectError> {
        let mut known = known_methodologies();
        let is_built_in =
            resolve_methodology(wanted, config, &known).is_ok() && config.check_methodologies(&known).is_ok();
        let catalog = if is_built_in { Catalog::default() } else { Catalog::read(root, config)? };
        known.extend(catalog.profiles().map(|(_, profile)| known_as(profile)));
        let name = resolve_methodology(wanted, config, &known)?;
        config.check_methodologies(&known)?;
        let provided = catalog.profiles().find(|(_, profile)| profile.name == name);
        let provided = provided.map(|(plugin, profile)| {
            Arc::new(Provided {
                plugin: plugin.manifest.name.clone(),
                templates: profile.templates.as_deref().map(|templates| plugin.templates(templates)),
                profile: profile.clone(),
            })
        });
        Ok(Self { name, provided })
    }

    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns who provides it.
    pub(super) fn source(&self) -> &str {
        self.provided.as_deref().map_or(BUILT_IN, |provided| &provided.plugin)
    }

    /// Returns its settings, with what samuel.toml sets over its defaults.
    pub(super) fn settings(&self, config: &Config) -> MethodologySettings {
        let defaults = self.provided.as_deref().map(|provided| provided.profile.settings());
        config.methodology_over(&self.name, defaults.unwrap_or_default())
    }

    /// Returns a point's chain, with what samuel.toml sets over its defaults.
    pub(super) fn chain(&self, point: HookPoint, config: &Config) -> ChainSpec {
        let defaults = self.provided.as_deref().map(|provided| provided.profile.chain(point));
        config.chain_over(point, &self.name, &defaults.unwrap_or_default())
    }

    /// Returns where its prompt templates are looked for, the project's own
    /// before the plugin's.
    pub(super) fn templates(&self, root: &Path) -> Vec<TemplatePlace> {
        let directory = root.join(".samuel/templates").join(&self.name);
        let own = TemplatePlace::Directory { root: Root::new(root), directory };
        let provided = self.provided.as_deref().and_then(|provided| provided.templates.clone());
        std::iter::once(own).chain(provided).collect()
    }
}

fn known_as(profile: &Profile) -> KnownMethodology {
    KnownMethodology { name: profile.name.clone(), aliases: profile.aliases.clone() }
}
