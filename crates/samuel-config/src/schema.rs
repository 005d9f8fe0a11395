//! Reading the tables of samuel.toml (docs/configuration.md).
//!
//! What a setting takes is written in `settings`, what a hook's table holds is read
//! in `chain`; this is the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Config, MethodologySettings, PluginEntry, ProblemKind, broken_plugin_name_rule, chain,
    check_methodology_name, layer::MethodologyLayer, settings::read_guardrails, shorten, table::Table,
    value::Value,
};

/// The version of the schema that this Samuel reads.
pub const CONFIG_VERSION: &str = "2";

/// Reads the root table. A value with a problem leaves its default, since the
/// configuration is refused anyway.
pub(super) fn read_root(table: &mut Table<'_>) -> Config {
    let mut config = Config::default();
    if let Some(version) = table.take("version") {
        check_version(&version);
    }
    if let Some(name) = table.take("default_methodology").and_then(|value| read_default(&value)) {
        config.default_methodology = name;
    }
    if let Some(mut project) = table.take("project").and_then(|value| value.table()) {
        let name = project.take("name").and_then(|value| value.string().map(str::to_owned));
        config.project_name = name.unwrap_or_default();
        project.finish();
    }
    if let Some(rules) = table.take("guardrails") {
        read_guardrails(&rules, &mut config.guardrails);
    }
    if let Some(sandbox) = table.take("sandbox") {
        config.sandbox.read(&sandbox);
    }
    config.plugins = table.take("plugins").map(|value| read_plugins(&value)).unwrap_or_default();
    config.hooks = table.take("hooks").map(|value| chain::read_chains(&value)).unwrap_or_default();
    config.methodologies =
        table.take("methodology").map(|value| read_methodologies(&value)).unwrap_or_default();
    let settings = MethodologySettings::rows().into_iter().map(|row| row.key);
    table.leave_to(format!("[methodology.{}]", config.default_methodology), settings);
    config
}

fn check_version(value: &Value<'_>) {
    if let Some(other) = value.string().filter(|version| *version != CONFIG_VERSION) {
        value.refuse(ProblemKind::Version { found: shorten(other) });
    }
}

fn read_default(value: &Value<'_>) -> Option<String> {
    let name = value.string()?;
    match check_methodology_name(name) {
        Ok(()) => Some(name.to_owned()),
        Err(error) => {
            value.refuse(error);
            None
        }
    }
}

fn read_plugins(value: &Value<'_>) -> Vec<PluginEntry> {
    let mut seen = BTreeSet::new();
    let mut plugins = Vec::new();
    for item in value.list().unwrap_or_default() {
        let Some(mut table) = item.table() else { continue };
        let name = table.require("name").and_then(|name| read_plugin_name(&name, &mut seen));
        let source = table.take("source").map(|source| source.filled().map(str::to_owned));
        let config = table.take("config").and_then(|config| config.json_table()).unwrap_or_default();
        table.finish();
        plugins.extend(name.map(|name| PluginEntry { name, source: source.flatten(), config }));
    }
    plugins
}

fn read_plugin_name(value: &Value<'_>, seen: &mut BTreeSet<String>) -> Option<String> {
    let name = value.string()?;
    if let Some(rule) = broken_plugin_name_rule(name) {
        value.refuse(ProblemKind::InvalidName { what: "plugin", name: shorten(name), rule });
    } else if !seen.insert(name.to_owned()) {
        value.refuse(ProblemKind::Doubled { what: "plugin", name: name.to_owned() });
    }
    Some(name.to_owned())
}

fn read_methodologies(value: &Value<'_>) -> BTreeMap<String, MethodologyLayer> {
    let mut methodologies = BTreeMap::new();
    for (name, value) in value.table().map(Table::entries).unwrap_or_default() {
        if let Err(error) = check_methodology_name(name) {
            value.refuse_key(error);
        } else if let Some(table) = value.table() {
            methodologies.insert(name.to_owned(), MethodologyLayer::read(table));
        }
    }
    methodologies
}
