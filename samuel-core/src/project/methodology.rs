//! Which methodology a project is worked on by.
//!
//! One is built in, and a program may bring one; others are profiles that plugins
//! provide: other defaults, chains and templates over the built-in functions. Plugins
//! are looked at only where those that are here are not all that is named, so that a
//! broken plugin is in nobody's way who does without it.

use std::{path::Path, sync::Arc};

use super::ProjectError;
use crate::{
    config::{
        Config, InvalidMethodologyName, KnownMethodology, MethodologySettings, UnknownMethodology,
        check_methodology_name, resolve_methodology,
    },
    context::template::TemplatePlace,
    fs::Root,
    hook::{ChainSpec, HookPoint},
    methodology::{Methodology, built_in, is_called},
    plugin::{Catalog, MethodologyProfile},
    state::RunDir,
};

/// What [`InUse::source`] says of the methodology that is built in.
const BUILT_IN: &str = "built-in";
/// What it says of one that the program brings.
const PROGRAM: &str = "program";
/// Why a program cannot give its own the name of the one that is built in.
const TAKEN: &str = "the methodology that is built in has it";
/// Why it cannot give one the name of another of its own.
const TAKEN_BY_OTHER: &str = "another methodology of the program has it";

/// What a project is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To run a loop on it, or to look at what one would do.
    Loop,
    /// To read and change its plan, which no methodology has a say in.
    Plan,
}

/// The methodology in use.
#[derive(Clone, Debug)]
pub(super) struct InUse {
    name: String,
    base: Arc<dyn Methodology>,
    source: String,
    provided: Option<Arc<Provided>>,
}

/// A profile that a plugin provides.
#[derive(Debug)]
struct Provided {
    /// Its own templates, as they were checked.
    templates: Option<TemplatePlace>,
    profile: MethodologyProfile,
}

impl InUse {
    /// Takes one of the methodologies that the program brings, or the one that is built in, where
    /// that is wanted by its name.
    pub(super) fn among(
        brought: &[Arc<dyn Methodology>],
        wanted: Option<&str>,
        config: &Config,
    ) -> Result<Self, ProjectError> {
        let built_in = built_in();
        let mut all = vec![&built_in];
        for own in brought {
            for name in std::iter::once(own.name()).chain(own.aliases()) {
                check_methodology_name(name)?;
                if let Some(place) = all.iter().position(|other| is_called(&***other, name)) {
                    let rule = if place == 0 { TAKEN } else { TAKEN_BY_OTHER };
                    return Err(InvalidMethodologyName { name: name.to_owned(), rule }.into());
                }
            }
            all.push(own);
        }
        let known: Vec<KnownMethodology> = all.iter().map(|each| known_as(&***each)).collect();
        config.check_methodologies(&known)?;
        let find = |name: &str| all.iter().copied().find(|each| is_called(&***each, name));
        let default = || brought.iter().find(|own| is_called(&***own, &config.default_methodology));
        let base = match wanted {
            Some(name) => find(&resolve_methodology(Some(name), config, &known)?),
            None => default().or(brought.first()),
        };
        let base = Arc::clone(base.unwrap_or(&built_in));
        let source = if is_called(&*built_in, base.name()) { BUILT_IN } else { PROGRAM };
        Ok(Self { name: base.name().to_owned(), base, source: source.to_owned(), provided: None })
    }

    /// Finds the one that is wanted, else the configured default, and makes
    /// sure that every one that is configured exists. For the plan alone one that only
    /// samuel.toml knows will do.
    pub(super) fn find(
        root: &Path,
        wanted: Option<&str>,
        config: &Config,
        purpose: Purpose,
    ) -> Result<Self, ProjectError> {
        let base = built_in();
        let mut known = vec![known_as(&*base)];
        let is_built_in =
            resolve_methodology(wanted, config, &known).is_ok() && config.check_methodologies(&known).is_ok();
        let catalog = if is_built_in { Catalog::default() } else { Catalog::read(root, config)? };
        known.extend(catalog.profiles().map(|(_, MethodologyProfile { name, aliases, .. })| {
            KnownMethodology { name: name.clone(), aliases: aliases.clone() }
        }));
        let name = match (resolve_methodology(wanted, config, &known), config.check_methodologies(&known)) {
            (Ok(name), _) if purpose == Purpose::Plan => name,
            (Ok(name), checked) => checked.map(|()| name)?,
            (Err(_), _) if purpose == Purpose::Plan && is_known_by_name(root, wanted, config) => {
                let name = wanted.unwrap_or(&config.default_methodology).to_owned();
                return Ok(Self { name, base, source: PROGRAM.to_owned(), provided: None });
            }
            (Err(unknown), Err(tables)) => return Err(tables.and_default(unknown).into()),
            (Err(unknown), Ok(())) => return Err(gone(root, wanted, unknown)),
        };
        let provided = catalog.profiles().find(|(_, profile)| profile.name == name);
        let source = provided.map_or(BUILT_IN, |(plugin, _)| &plugin.manifest.name).to_owned();
        let provided = provided.map(|(plugin, profile)| {
            Arc::new(Provided {
                templates: profile.templates.as_deref().map(|templates| plugin.templates(templates)),
                profile: profile.clone(),
            })
        });
        Ok(Self { name, base, source, provided })
    }

    /// Takes the one that is wanted, else the one that the plan names, where samuel.toml cannot say which there are;
    /// nothing where one is wanted that is not built in and has no plan.
    pub(super) fn of_plan(root: &Path, wanted: Option<&str>) -> Option<Self> {
        let base = built_in();
        // Whoever wrote the plan may have written anything.
        let named =
            || RunDir::new(root).named_methodology().filter(|name| check_methodology_name(name).is_ok());
        let name = match wanted {
            Some(name) if is_called(&*base, name) || has_plan(root, name) => name.to_owned(),
            Some(_) => return None,
            None => named().unwrap_or_else(|| base.name().to_owned()),
        };
        let (name, source) = match is_called(&*base, &name) {
            true => (base.name().to_owned(), BUILT_IN),
            false => (name, PROGRAM),
        };
        Some(Self { name, base, source: source.to_owned(), provided: None })
    }

    /// Says whether nothing is known of it but a name in samuel.toml, and the plan that is there is another one's.
    pub(super) fn has_no_plan(&self, root: &Path) -> bool {
        let named = || RunDir::new(root).named_methodology();
        self.is_elsewhere() && !has_plan(root, &self.name) && named().is_some()
    }

    /// Returns its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Says whether it has a name, or another name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let is_alias = match self.provided.as_deref() {
            Some(provided) => provided.profile.aliases.iter().any(|alias| alias == name),
            None => !self.is_elsewhere() && is_called(&*self.base, name),
        };
        self.name == name || is_alias
    }

    /// Returns who provides it.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Says whether nothing but samuel.toml knows it: the program that brings it is another one.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.provided.is_none() && !is_called(&*self.base, &self.name)
    }

    /// Returns the one whose handlers a run has.
    pub(super) fn base(&self) -> &dyn Methodology {
        &*self.base
    }

    /// Returns its settings, with what samuel.toml sets over its defaults.
    pub(super) fn settings(&self, config: &Config) -> MethodologySettings {
        let defaults = self.provided.as_deref().map(|provided| provided.profile.settings());
        config.methodology_over(&self.name, defaults.unwrap_or_else(|| self.base.settings()))
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

/// Says whether samuel.toml, or a plan, names the methodology that is wanted.
fn is_known_by_name(root: &Path, wanted: Option<&str>, config: &Config) -> bool {
    wanted.is_none_or(|name| {
        name == config.default_methodology
            || config.methodologies().any(|each| each == name)
            || has_plan(root, name)
    })
}

/// Says of a methodology that is not there that a plan was made for it, if one was.
fn gone(root: &Path, wanted: Option<&str>, unknown: UnknownMethodology) -> ProjectError {
    let first = RunDir::new(root);
    match wanted.filter(|name| has_plan(root, name)) {
        Some(name) if first.named_methodology().as_deref() == Some(name) => {
            ProjectError::MethodologyGone { plan: first.prd(), name: name.to_owned() }
        }
        Some(name) => ProjectError::MethodologyGone {
            plan: RunDir::for_methodology(root, name).prd(),
            name: name.to_owned(),
        },
        None => unknown.into(),
    }
}

/// Says whether a plan of a project was made for a methodology.
fn has_plan(root: &Path, name: &str) -> bool {
    check_methodology_name(name).is_ok()
        && (RunDir::new(root).named_methodology().as_deref() == Some(name)
            || RunDir::for_methodology(root, name).prd().is_file())
}

fn known_as(methodology: &dyn Methodology) -> KnownMethodology {
    let names = |name: &str| name.to_owned();
    KnownMethodology {
        name: names(methodology.name()),
        aliases: methodology.aliases().into_iter().map(names).collect(),
    }
}
