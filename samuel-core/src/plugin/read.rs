//! Reading the tables of a manifest (docs/plugins.md).
//!
//! The canonical form binds handlers in `[hooks]`. The forms of the seeds,
//! `[wasm.hook_handlers]`, `[oci.hook_handlers]` and `[hook.<point>]` with `_`
//! for `.` and `:`, end up in the same list.

use std::{collections::BTreeMap, path::Component, path::Path};

use samuel_contract::nearest;
use semver::{Version, VersionReq};

use super::{
    Binding, Capabilities, Capability, ImageMode, Manifest, ManifestProblem, PluginKind,
    exec_grant::ExecGrant, host_grant::HostGrant, name::is_reserved_namespace, oci::grants,
    profile::read_profiles, settings::read_settings,
};
use crate::{
    config::{Origins, ProblemKind, Table, Value, broken_plugin_name_rule, shorten},
    environment::{is_reserved, is_secret},
    hook::HookPoint,
};

/// Reads the root table.
pub(super) fn read_root(table: &mut Table<'_>, host: &Version) -> Option<Manifest> {
    let head = read_head(table, host);
    if head.as_ref().is_some_and(|head| head.is_foreign) {
        // Another Samuel has other keys, and to complain of them is no help.
        table.accept_all();
        return None;
    }
    let kind = head.as_ref().and_then(|head| head.kind);
    let (capabilities, reasons) =
        table.take("capabilities").map(|value| read_capabilities(&value, kind)).unwrap_or_default();
    let mut bindings = Bindings { kind, list: Vec::new() };
    let provided = table.take("provides").map(|value| read_provided(&value)).unwrap_or_default();
    if let Some(hooks) = table.take("hooks") {
        bindings.read_all(&hooks);
    }
    let (module, _) = table
        .take("wasm")
        .map(|value| read_tier(&value, PluginKind::Wasm, "module", &mut bindings))
        .unwrap_or_default();
    let (image, image_mode) = table
        .take("oci")
        .map(|value| read_tier(&value, PluginKind::Oci, "image", &mut bindings))
        .unwrap_or_default();
    if let Some(hook) = table.take("hook") {
        bindings.read_underscored(&hook);
    }
    for (point, value) in &provided {
        if !bindings.list.iter().any(|binding| binding.point == *point) {
            value.refuse(ManifestProblem::Unbound { point: *point });
        }
    }
    let settings = table.take("settings").and_then(|value| read_settings(&value));
    let profiles = table.take("methodology").map(|value| read_profiles(&value)).unwrap_or_default();
    require_tier(table, kind, module.is_some(), image.is_some());
    let Head { name, kind, version, samuel, namespace, description, authors, license, repository, .. } =
        head?;
    let name = name?;
    Some(Manifest {
        namespace: namespace.unwrap_or_else(|| name.replace('-', "_")),
        name,
        kind: kind?,
        version: version?,
        samuel: samuel?,
        description,
        authors,
        license,
        repository,
        settings,
        capabilities,
        reasons,
        bindings: bindings.list,
        module,
        image,
        image_mode,
        profiles,
        origins: Origins::default(),
    })
}

/// The table `[plugin]`.
#[derive(Default)]
struct Head {
    name: Option<String>,
    kind: Option<PluginKind>,
    version: Option<Version>,
    samuel: Option<VersionReq>,
    namespace: Option<String>,
    description: String,
    authors: Vec<String>,
    license: String,
    repository: String,
    /// Whether the plugin is for another Samuel.
    is_foreign: bool,
}

fn read_head(table: &mut Table<'_>, host: &Version) -> Option<Head> {
    let mut plugin = table.require("plugin")?.table()?;
    // What a manifest for another Samuel says is for that one to read.
    let samuel = plugin.require("samuel").and_then(|value| read_range(&value, host));
    if let Some((_, false)) = &samuel {
        plugin.accept_all();
        plugin.finish();
        return Some(Head { is_foreign: true, ..Head::default() });
    }
    let head = Head {
        name: plugin.require("name").and_then(|value| read_plugin_name(&value)),
        kind: plugin.require("kind").and_then(|value| read_kind(&value)),
        version: plugin.require("version").and_then(|value| read_version(&value)),
        samuel: samuel.map(|(range, _)| range),
        namespace: plugin.take("namespace").and_then(|value| read_namespace(&value)),
        description: read_text(&mut plugin, "description"),
        authors: plugin.take("authors").and_then(|value| value.strings()).unwrap_or_default(),
        license: read_text(&mut plugin, "license"),
        repository: read_text(&mut plugin, "repository"),
        is_foreign: false,
    };
    plugin.finish();
    Some(head)
}

fn read_text(table: &mut Table<'_>, key: &'static str) -> String {
    table.take(key).and_then(|value| value.string().map(str::to_owned)).unwrap_or_default()
}

fn read_plugin_name(value: &Value<'_>) -> Option<String> {
    let name = value.string()?;
    let Some(rule) = broken_plugin_name_rule(name) else { return Some(name.to_owned()) };
    value.refuse(ProblemKind::InvalidName { what: "plugin", name: shorten(name), rule });
    None
}

fn read_kind(value: &Value<'_>) -> Option<PluginKind> {
    value.one_of("kind of plugin", &PluginKind::ALL.map(PluginKind::as_str))?.parse().ok()
}

fn read_version(value: &Value<'_>) -> Option<Version> {
    let text = value.string()?;
    text.parse().map_err(|error| value.refuse(no_version(text, &error))).ok()
}

/// Reads the versions of Samuel, and whether this one is among them.
fn read_range(value: &Value<'_>, host: &Version) -> Option<(VersionReq, bool)> {
    let text = value.filled()?;
    let range: VersionReq = text.parse().map_err(|error| value.refuse(no_version(text, &error))).ok()?;
    let fits = range.matches(host);
    if !fits {
        let (needed, host) = (shorten(text), host.to_string());
        value.refuse(ManifestProblem::OtherSamuel { needed, host });
    }
    Some((range, fits))
}

fn no_version(text: &str, error: &semver::Error) -> ManifestProblem {
    ManifestProblem::NoVersion { text: shorten(text), problem: error.to_string() }
}

/// Reads a namespace, which templates spell as one word of a path.
fn read_namespace(value: &Value<'_>) -> Option<String> {
    let name = value.string()?;
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let word = starts && name.len() <= 64 && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    let rule = if !word {
        "use up to 64 of a-z, A-Z, 0-9 and _, no digit first"
    } else if is_reserved_namespace(name) {
        "it is Samuel's own"
    } else {
        return Some(name.to_owned());
    };
    value.refuse(ProblemKind::InvalidName { what: "namespace", name: shorten(name), rule });
    None
}

/// Reads what a plugin asks for, and why.
fn read_capabilities(
    value: &Value<'_>,
    kind: Option<PluginKind>,
) -> (Capabilities, BTreeMap<Capability, String>) {
    let mut asked = Asked { kind, ..Asked::default() };
    let Some(mut table) = value.table() else { return Default::default() };
    // A name with a dot is a table of TOML, or one key in quotes.
    const GROUPS: [&str; 5] = ["filesystem", "agent", "network", "samuel", "assistant"];
    for group in GROUPS {
        let Some(mut inner) = table.take(group).and_then(|value| value.table()) else { continue };
        for capability in Capability::ALL {
            let below = capability.as_str().strip_prefix(group).and_then(|rest| rest.strip_prefix('.'));
            if let Some(value) = below.and_then(|key| inner.take(key)) {
                asked.read(capability, &value);
            }
        }
        inner.finish();
    }
    for capability in Capability::ALL {
        if let Some(value) = table.take(capability.as_str()) {
            asked.read(capability, &value);
        }
    }
    table.finish();
    (asked.capabilities, asked.reasons)
}

#[derive(Default)]
struct Asked {
    kind: Option<PluginKind>,
    capabilities: Capabilities,
    reasons: BTreeMap<Capability, String>,
}

impl Asked {
    /// Reads a capability: its targets, or a table of targets and a reason.
    fn read(&mut self, capability: Capability, value: &Value<'_>) {
        if self.capabilities.has(capability) {
            value.refuse_key(ProblemKind::Doubled { what: "capability", name: capability.to_string() });
        }
        let mut targets = Vec::new();
        let mut from = |value: &Value<'_>| {
            let Some(items) = value.list() else { return };
            if items.is_empty() && capability != Capability::AssistantInvoke {
                value.refuse(ManifestProblem::NoTargets { capability });
            }
            targets = items.iter().filter_map(|item| read_target(capability, self.kind, item)).collect();
        };
        match value.as_table() {
            None => from(value),
            Some(_) => {
                let Some(mut table) = value.table() else { return };
                if let Some(value) = table.require("targets") {
                    from(&value);
                }
                if let Some(reason) = table.take("reason").and_then(|value| value.filled().map(str::to_owned))
                {
                    self.reasons.insert(capability, reason);
                }
                table.finish();
            }
        }
        self.capabilities = std::mem::take(&mut self.capabilities).with(capability, targets);
    }
}

fn read_target(capability: Capability, kind: Option<PluginKind>, value: &Value<'_>) -> Option<String> {
    let target = value.filled()?;
    let of_image = || grants::target_fault(capability, target).filter(|_| kind == Some(PluginKind::Oci));
    match target_fault(capability, target).or_else(of_image) {
        None => Some(target.to_owned()),
        Some(rule) => {
            value.refuse(ManifestProblem::BadTarget { capability, target: shorten(target), rule });
            None
        }
    }
}

/// Returns what is wrong with a target.
fn target_fault(capability: Capability, target: &str) -> Option<&'static str> {
    let (holds, rule) = match capability {
        Capability::FilesystemRead | Capability::FilesystemWrite => (
            Path::new(target).starts_with("/workspace")
                && !Path::new(target).components().any(|part| part == Component::ParentDir),
            "use a path or glob under /workspace, which is the project",
        ),
        Capability::Exec => match ExecGrant::parse(target) {
            Ok(_) => (true, ""),
            Err(rule) => (false, rule),
        },
        Capability::Env | Capability::AgentEnv if !names_variables(target) => {
            (false, "use the name of a variable, or the beginning of names and *")
        }
        Capability::Env => {
            (!(target.contains('*') && is_secret(target)), "name variables that hold secrets one by one")
        }
        Capability::AgentEnv => (
            !is_reserved(target),
            "it decides which program runs, where it connects or who the agent is, so no plugin changes it",
        ),
        Capability::NetworkOutbound => (
            HostGrant::parse(target).is_some(),
            "use a host, or *. and a domain, without a scheme; a colon and a port may follow",
        ),
        Capability::SamuelApi => (["read", "write"].contains(&target), "use \"read\" or \"write\""),
        Capability::AssistantInvoke => (true, ""),
    };
    (!holds).then_some(rule)
}

/// Says whether a target names one variable, or those with a beginning.
fn names_variables(target: &str) -> bool {
    let plain = |text: &str| {
        !text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match target.strip_suffix('*') {
        Some(beginning) => beginning.len() >= 2 && plain(beginning),
        None => plain(target),
    }
}

/// Reads the points that are provided.
fn read_provided<'a>(value: &Value<'a>) -> Vec<(HookPoint, Value<'a>)> {
    let Some(mut table) = value.table() else { return Vec::new() };
    let items = table.take("hooks").and_then(|value| value.list()).unwrap_or_default();
    table.finish();
    let mut provided: Vec<(HookPoint, Value<'a>)> = Vec::new();
    for item in items {
        let Some(name) = item.string() else { continue };
        match name.parse::<HookPoint>() {
            Ok(point) if provided.iter().any(|(known, _)| *known == point) => {
                item.refuse(ProblemKind::Doubled { what: "hook point", name: name.to_owned() });
            }
            Ok(point) => provided.push((point, item)),
            Err(unknown) => {
                item.refuse(ProblemKind::UnknownPoint {
                    name: shorten(name),
                    nearest: unknown.nearest,
                    is_set: false,
                });
            }
        }
    }
    provided
}

/// Reads `[wasm]` or `[oci]`: what the plugin is made of, and bindings.
fn read_tier(
    value: &Value<'_>,
    tier: PluginKind,
    key: &'static str,
    bindings: &mut Bindings,
) -> (Option<String>, ImageMode) {
    let Some(mut table) = value.table() else { return Default::default() };
    if let Some(kind) = bindings.kind.filter(|kind| *kind != tier) {
        value.refuse_key(ManifestProblem::OtherKind { wanted: tier, kind });
        table.accept_all();
        table.finish();
        return Default::default();
    }
    let named = table.require(key).and_then(|value| {
        let text = value.filled()?;
        if tier != PluginKind::Wasm {
            return Some(text.to_owned());
        }
        let inner = inner_path(text);
        if inner.is_none() {
            value.refuse(ManifestProblem::OutsidePath { path: shorten(text) });
        }
        inner
    });
    let mode = if tier == PluginKind::Oci { table.take("mode") } else { None };
    let mode = match mode.and_then(|value| value.one_of("mode of an image", &["serve", "call"])) {
        Some("call") => ImageMode::Call,
        _ => ImageMode::Serve,
    };
    if let Some(handlers) = table.take("hook_handlers") {
        bindings.read_all(&handlers);
    }
    table.finish();
    (named, mode)
}

/// Reports a kind whose own table is missing.
fn require_tier(table: &mut Table<'_>, kind: Option<PluginKind>, has_module: bool, has_image: bool) {
    match kind {
        Some(PluginKind::Wasm) if !has_module && !table.has("wasm") => drop(table.require("wasm")),
        Some(PluginKind::Oci) if !has_image && !table.has("oci") => drop(table.require("oci")),
        _ => {}
    }
}

/// The handlers that were read so far, one a point.
struct Bindings {
    kind: Option<PluginKind>,
    list: Vec<Binding>,
}

impl Bindings {
    /// Reads a table of points and handlers.
    fn read_all(&mut self, value: &Value<'_>) {
        for (name, value) in value.table().map(Table::entries).unwrap_or_default() {
            match name.parse::<HookPoint>() {
                Ok(point) => self.read(point, &value),
                Err(unknown) => {
                    value.refuse_key(ProblemKind::UnknownPoint {
                        name: shorten(name),
                        nearest: unknown.nearest,
                        is_set: false,
                    });
                }
            }
        }
    }

    /// Reads `[hook.<point>]`, where the point has `_` for `.` and `:`.
    fn read_underscored(&mut self, value: &Value<'_>) {
        for (name, value) in value.table().map(Table::entries).unwrap_or_default() {
            let spelled = |point: &HookPoint| point.as_str().replace(['.', ':'], "_");
            match HookPoint::ALL.iter().find(|point| spelled(point) == name) {
                Some(point) => self.read(*point, &value),
                None => {
                    let all: Vec<String> = HookPoint::ALL.iter().map(spelled).collect();
                    let near = nearest(name, all.iter().map(String::as_str));
                    let point = HookPoint::ALL.iter().find(|point| Some(&*spelled(point)) == near);
                    value.refuse_key(ProblemKind::UnknownPoint {
                        name: shorten(name),
                        nearest: point.copied(),
                        is_set: false,
                    });
                }
            }
        }
    }

    /// Reads a binding: the handler, or a table of the handler and how it is called.
    fn read(&mut self, point: HookPoint, value: &Value<'_>) {
        let (handler, order, interactive) = match value.as_text() {
            Some(_) => (Some(value.clone()), None, false),
            None => {
                let Some(mut table) = value.table() else { return };
                let handler = table.require("handler");
                let order = table.take("order").and_then(|value| value.order());
                let interactive = table.take("interactive").filter(|value| value.boolean() == Some(true));
                let speaks = point == HookPoint::AgentInvoke
                    && !matches!(self.kind, Some(PluginKind::Wasm | PluginKind::Methodology));
                if let Some(value) = interactive.as_ref().filter(|_| !speaks) {
                    value.refuse(ManifestProblem::NotInteractive);
                }
                table.finish();
                (handler, order, interactive.is_some())
            }
        };
        let Some(handler) = handler else { return };
        if let Some(name) = self.read_handler(&handler) {
            self.add(Binding { point, handler: name, order, interactive, place: handler.location() }, value);
        }
    }

    /// Adds a binding, unless another one of the point says something else.
    fn add(&mut self, binding: Binding, value: &Value<'_>) {
        // Exports are spelled with either of the two.
        let plain = |name: &str| {
            if self.kind == Some(PluginKind::Wasm) { name.replace('_', "-") } else { name.to_owned() }
        };
        let Some(known) = self.list.iter_mut().find(|known| known.point == binding.point) else {
            return self.list.push(binding);
        };
        let orders_differ =
            matches!((known.order, binding.order), (Some(first), Some(second)) if first != second);
        if plain(&known.handler) != plain(&binding.handler) || orders_differ {
            value.refuse_key(ManifestProblem::TwoBindings {
                point: binding.point,
                first: known.handler.clone(),
                line: known.place.line.unwrap_or(1),
                second: binding.handler,
            });
            return;
        }
        known.order = known.order.or(binding.order);
        known.interactive |= binding.interactive;
    }

    fn read_handler(&self, value: &Value<'_>) -> Option<String> {
        let text = value.filled()?;
        let (handler, rule) = match self.kind {
            Some(PluginKind::Methodology) => {
                value.refuse(ManifestProblem::NoHandlers);
                return None;
            }
            Some(PluginKind::Skill) => (inner_path(text), "use the path of a script, relative to the plugin"),
            Some(PluginKind::Oci) => {
                let plain = !text.contains(char::is_whitespace);
                (plain.then(|| text.to_owned()), "use one subcommand, without arguments")
            }
            // Without a kind nothing is known of its handlers.
            None => (Some(text.to_owned()), ""),
            Some(PluginKind::Wasm) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
                let named = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain);
                (named.then(|| text.to_owned()), "use the name of an export, such as on-quality-check")
            }
        };
        if handler.is_none() {
            value.refuse(ManifestProblem::BadHandler { handler: shorten(text), rule });
        }
        handler
    }
}

/// Returns a path within the plugin in its plain form, with `/`; nothing for
/// one that leads out of it.
pub(super) fn inner_path(text: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(text).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let plain = parts.join("/");
    (!plain.is_empty() && !plain.contains(['\0', '\\'])).then_some(plain)
}
