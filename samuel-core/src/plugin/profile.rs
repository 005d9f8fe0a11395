//! Methodologies that a plugin provides.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::{ManifestProblem, read::inner_path};
use crate::{
    config::{MethodologyLayer, MethodologySettings, ProblemKind, Value, check_methodology_name, shorten},
    hook::{ChainSpec, HookPoint},
    methodology::{built_in, is_called},
};

/// A named profile of a methodology: `[[methodology]]` in a manifest.
///
/// It gives other defaults, chains and templates over the same loop.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodologyProfile {
    /// Its name, as `samuel run <name>` takes it.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// The directory of its templates, relative to the plugin.
    pub templates: Option<String>,
    layer: MethodologyLayer,
}

impl MethodologyProfile {
    /// Returns its name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    /// Says whether it is called by a name or an alias.
    pub fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns the settings it starts from, which samuel.toml goes over.
    pub fn settings(&self) -> MethodologySettings {
        let mut settings = MethodologySettings::default();
        self.layer.apply(&mut settings);
        settings
    }

    /// Returns what it says of a point's chain.
    pub fn chain(&self, point: HookPoint) -> ChainSpec {
        self.layer.hooks.get(&point).cloned().unwrap_or_default()
    }
}

impl Serialize for MethodologyProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut profile = serializer.serialize_struct("Profile", 3)?;
        profile.serialize_field("name", &self.name)?;
        profile.serialize_field("aliases", &self.aliases)?;
        profile.serialize_field("templates", &self.templates)?;
        profile.end()
    }
}

/// Reads `[[methodology]]`.
pub(super) fn read_profiles(value: &Value<'_>) -> Vec<MethodologyProfile> {
    let mut seen = BTreeSet::new();
    value.list().unwrap_or_default().iter().filter_map(|item| read_profile(item, &mut seen)).collect()
}

fn read_profile(value: &Value<'_>, seen: &mut BTreeSet<String>) -> Option<MethodologyProfile> {
    let mut table = value.table()?;
    let name = table.require("name").and_then(|value| read_name(&value, seen));
    let aliases = table.take("aliases").and_then(|value| value.list()).unwrap_or_default();
    let aliases = aliases.iter().filter_map(|value| read_name(value, seen)).collect();
    let templates = table.take("templates").and_then(|value| {
        let text = value.filled()?;
        let inner = inner_path(text);
        if inner.is_none() {
            value.refuse(ManifestProblem::OutsidePath { path: shorten(text) });
        }
        inner
    });
    let layer = MethodologyLayer::read(table);
    Some(MethodologyProfile { name: name?, aliases, templates, layer })
}

/// Reads a name or an alias; each stands for one methodology.
fn read_name(value: &Value<'_>, seen: &mut BTreeSet<String>) -> Option<String> {
    let name = value.string()?;
    if let Err(error) = check_methodology_name(name) {
        value.refuse(error);
        return None;
    }
    if is_called(&*built_in(), name) {
        let (name, rule) = (name.to_owned(), "the methodology that is built in has it");
        value.refuse(ProblemKind::InvalidName { what: "methodology", name, rule });
        return None;
    }
    if !seen.insert(name.to_owned()) {
        value.refuse(ProblemKind::Doubled { what: "methodology", name: name.to_owned() });
    }
    Some(name.to_owned())
}
