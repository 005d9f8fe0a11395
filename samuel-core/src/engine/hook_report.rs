//! Why a handler runs, or does not: every chain with the place of each
//! setting.
//!
//! A [`HookReport`] puts together what the [`Registry`] resolved and where
//! samuel.toml says so. `samuel doctor --hooks` prints it.

use std::{fmt, path::PathBuf};

use serde::Serialize;

use crate::{
    clock::whole_ms,
    config::{Config, Origin, format_duration},
    hook::{
        ChainMode, ChainSpec, DEFAULT_ALIAS, DEFAULT_ID, Field, HandlerInfo, HookFileEntry, HookLayer,
        HookPoint, Kind as PointKind, OnFailure, Registry, SkipReason, SkippedHandler, Tier, owner_of,
    },
    model::payload::Mode,
};

/// Every chain of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookReport {
    /// The methodology whose chains these are.
    pub methodology: String,
    /// One chain a point, in the order of the contract.
    pub chains: Vec<ChainReport>,
}

/// The chain of one point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// The point.
    pub point: HookPoint,
    /// How outcomes become one.
    pub kind: PointKind,
    /// Whether the point fires at all.
    pub enabled: bool,
    /// The iterations the chain runs in.
    pub mode: ChainMode,
    /// Whether a broken handler ends more than its own work.
    pub strict: bool,
    /// What a broken handler does.
    pub on_failure: OnFailure,
    /// Whether a refusal is only advice, as with `strict = false` at
    /// `quality.check`.
    pub advisory: bool,
    /// The handlers that run, in order.
    pub run: Vec<HandlerReport>,
    /// The handlers that do not.
    pub skipped: Vec<SkippedReport>,
    /// What is configured of the point; where nothing is, defaults hold.
    pub settings: Vec<SettingReport>,
    /// What the user should know of how the chain was resolved.
    pub warnings: Vec<String>,
}

/// A handler that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandlerReport {
    /// Its order; in a chain that is configured whole its place, from 0.
    pub order: i32,
    /// Its id.
    pub id: String,
    /// What kind of thing it is.
    pub tier: Tier,
    /// Which layer it comes from.
    pub layer: HookLayer,
    /// Who brings it: `samuel`, a plugin's name, `api`, or a dialect.
    pub source: String,
    /// Whether the run or command suffers when it breaks.
    pub strict: bool,
    /// How long it may take, in milliseconds; nothing where it is exempt.
    pub timeout_ms: Option<u64>,
    /// What happens when it breaks.
    pub on_failure: OnFailure,
    /// What it asks for itself; what is configured for the point counts in its place.
    pub asks: AskedReport,
    /// What a hook file says of it; nothing where it comes from elsewhere.
    pub entry: Option<EntryReport>,
    /// Where samuel.toml gives it its place, else where a hook file describes it; nothing
    /// where it has its place by itself.
    pub origin: Option<OriginReport>,
}

/// What a handler itself asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AskedReport {
    /// How long it wants to be given, in milliseconds, if it says so.
    pub timeout_ms: Option<u64>,
    /// Whether the run or command is to suffer when it breaks, if it says so.
    pub strict: Option<bool>,
}

/// What a hook file says of a handler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EntryReport {
    /// The file, relative to the project's root.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The command as it is written, on one line.
    pub command: String,
    /// Whether it can stop what it is asked about, and stops it where it breaks, whatever the chain says.
    pub blocking: bool,
    /// What else changes how it runs, each key with its value.
    pub details: Vec<(String, String)>,
    /// The files of the project that it starts, each with its SHA-256.
    pub scripts: Vec<(String, String)>,
}

impl EntryReport {
    /// Describes an entry.
    pub(super) fn of(entry: &HookFileEntry) -> Self {
        // The rest is told by warnings.
        let HookFileEntry { file, line, column, command, blocking, details, scripts, .. } = entry;
        let script = |(path, digest): &(PathBuf, String)| (path.display().to_string(), digest.clone());
        Self {
            file: file.clone(),
            line: *line,
            column: *column,
            command: command.clone(),
            blocking: *blocking,
            details: details.clone(),
            scripts: scripts.iter().map(script).collect(),
        }
    }
}

/// Writes the place: `.samuel/hooks.yml:4:7`.
impl fmt::Display for EntryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}
/// A handler that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedReport {
    /// Its id.
    pub id: String,
    /// What kind of thing it is; nothing for a default that does not exist.
    pub tier: Option<Tier>,
    /// Who would bring it.
    pub source: String,
    /// Why it does not run, in words.
    pub why: String,
    /// The handler that runs in its place, where that is why.
    pub by: Option<String>,
    /// Where samuel.toml says so.
    pub origin: Option<OriginReport>,
}

/// A setting of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingReport {
    /// The whole key, such as `hooks."quality.check".timeout`.
    pub key: String,
    /// Its value, as TOML has it.
    pub value: String,
    /// Where it is set.
    pub origin: OriginReport,
}

/// A place in a configuration file, written `samuel.toml:4:1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OriginReport {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl From<Origin> for OriginReport {
    fn from(Origin { file, line, column }: Origin) -> Self {
        Self { file, line, column }
    }
}

impl From<&HookFileEntry> for OriginReport {
    fn from(entry: &HookFileEntry) -> Self {
        Self { file: entry.file.clone(), line: entry.line, column: entry.column }
    }
}

impl fmt::Display for OriginReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.file_name().unwrap_or(self.file.as_os_str());
        write!(f, "{}:{}:{}", name.display(), self.line, self.column)
    }
}

/// One point: its chain, and what its handlers are given and answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PointReport {
    /// The chain.
    pub chain: ChainReport,
    /// What a handler is given beside the call header.
    pub input: &'static [Field],
    /// What a handler answers.
    pub output: &'static [Field],
}

impl HookReport {
    /// Reports every chain of a registry, which was built from the
    /// configuration of the methodology.
    pub fn new(registry: &Registry, config: &Config, methodology: &str) -> Self {
        let chain = |point: &HookPoint| ChainReport::new(*point, registry, config, methodology);
        Self { methodology: methodology.to_owned(), chains: HookPoint::ALL.iter().map(chain).collect() }
    }
}

impl PointReport {
    /// Reports one point.
    pub fn new(point: HookPoint, registry: &Registry, config: &Config, methodology: &str) -> Self {
        Self {
            chain: ChainReport::new(point, registry, config, methodology),
            input: point.input_fields(),
            output: point.output_fields(),
        }
    }
}

impl ChainReport {
    /// Reports the chain of one point.
    pub fn new(point: HookPoint, registry: &Registry, config: &Config, methodology: &str) -> Self {
        let spec = registry.spec(point).cloned().unwrap_or_default();
        let on_failure = spec.failure_action(point);
        let places = Places { config, spec: &spec, origins: config.chain_origins(point, methodology) };
        let registered = registry.registered(point);
        let of = |id: &str| registered.iter().find(|handler| &*handler.info.id == id);
        let run = registry.handlers(point).filter_map(|(id, order, tier)| {
            let handler = of(id)?;
            Some(HandlerReport {
                order,
                id: id.to_owned(),
                tier,
                layer: handler.info.layer,
                source: source(&handler.info),
                strict: handler.on_failure != OnFailure::Warn,
                timeout_ms: handler.timeout.map(whole_ms),
                on_failure: handler.on_failure,
                asks: AskedReport {
                    timeout_ms: handler.asks.timeout.map(whole_ms),
                    strict: handler.asks.strict,
                },
                entry: handler.entry.as_deref().map(EntryReport::of),
                origin: places.of_handler(id).or_else(|| handler.entry.as_deref().map(Into::into)),
            })
        });
        let skip = |skipped: &SkippedHandler| SkippedReport {
            id: skipped.id.to_string(),
            tier: of(&skipped.id).map(|handler| handler.tier),
            source: of(&skipped.id).map_or_else(|| "samuel".to_owned(), |handler| source(&handler.info)),
            why: skipped.why.to_string(),
            by: by(&skipped.why),
            origin: places.of_skip(&skipped.why),
        };
        let resolved = registry.resolved(point);
        Self {
            point,
            kind: point.kind(),
            enabled: spec.enabled != Some(false),
            mode: spec.mode.unwrap_or_default(),
            strict: on_failure != OnFailure::Warn,
            on_failure,
            advisory: point == HookPoint::QualityCheck && spec.strict == Some(false),
            run: run.collect(),
            skipped: resolved.into_iter().flat_map(|found| &found.skipped).map(skip).collect(),
            settings: places.settings(),
            warnings: resolved.map(|found| found.warnings.clone()).unwrap_or_default(),
        }
    }
}

impl ChainReport {
    /// Moves the handlers to those that do not run, where the chain is for iterations
    /// of the other mode.
    pub(super) fn keep_to(&mut self, mode: Mode, registry: &Registry) {
        let Some(why) = registry.spec(self.point).and_then(|spec| spec.skips(mode)) else { return };
        let of_mode = self.settings.iter().find(|setting| setting.key.ends_with(".mode"));
        let origin = of_mode.map(|setting| setting.origin.clone());
        self.skip(&why.to_string(), origin.as_ref(), |_| true);
    }

    /// Moves some handlers to those that do not run.
    pub(super) fn skip(
        &mut self,
        why: &str,
        origin: Option<&OriginReport>,
        is_skipped: impl Fn(&HandlerReport) -> bool,
    ) {
        let skipped = self.run.extract_if(.., |handler| is_skipped(handler));
        self.skipped.extend(skipped.map(|HandlerReport { id, tier, source, .. }| SkippedReport {
            id,
            tier: Some(tier),
            source,
            why: why.to_owned(),
            by: None,
            origin: origin.cloned(),
        }));
    }
}

/// Returns who brings a handler.
fn source(info: &HandlerInfo) -> String {
    match info.layer {
        HookLayer::BuiltIn => "samuel".to_owned(),
        _ => owner_of(&info.id).to_owned(),
    }
}

/// Returns the handler that runs in the place of one that does not.
fn by(why: &SkipReason) -> Option<String> {
    match why {
        SkipReason::ReplacedBy(id) | SkipReason::ShadowedBy(id) => Some(id.to_string()),
        _ => None,
    }
}

/// Where a point's chain is configured.
struct Places<'a> {
    config: &'a Config,
    spec: &'a ChainSpec,
    /// The keys, each with its place.
    origins: Vec<(String, Origin)>,
}

impl Places<'_> {
    /// Returns the whole key and the place of a field.
    fn field(&self, name: &str) -> Option<&(String, Origin)> {
        self.origins.iter().find(|(key, _)| field_of(key) == Key::Named(name))
    }

    /// Returns where a handler is given its place.
    fn of_handler(&self, id: &str) -> Option<OriginReport> {
        if let Some(names) = &self.spec.handlers {
            let (key, _) = self.field("handlers")?;
            let place = names.iter().position(|name| means(name, id))?;
            return self.config.origin(&format!("{key}[{place}]")).map(Into::into);
        }
        let named =
            |(key, _): &&(String, Origin)| matches!(field_of(key), Key::OrderOf(name) if means(name, id));
        self.origins.iter().rev().find(named).map(|(_, origin)| origin.clone().into())
    }

    /// Returns the setting that is why a handler does not run.
    fn of_skip(&self, why: &SkipReason) -> Option<OriginReport> {
        match why {
            SkipReason::Disabled => self.of_field("enabled"),
            // Its hook file says so.
            SkipReason::NotEnabled => None,
            SkipReason::OtherMode(_) => self.of_field("mode"),
            SkipReason::NotInHandlers | SkipReason::NoDefault => self.of_field("handlers"),
            SkipReason::ReplacedBy(id) | SkipReason::ShadowedBy(id) => self.of_handler(id),
            _ => None,
        }
    }

    fn of_field(&self, name: &str) -> Option<OriginReport> {
        self.field(name).map(|(_, origin)| origin.clone().into())
    }

    fn settings(&self) -> Vec<SettingReport> {
        let setting = |(key, origin): &(String, Origin)| {
            let value = self.value(key)?;
            Some(SettingReport { key: key.clone(), value, origin: origin.clone().into() })
        };
        self.origins.iter().filter_map(setting).collect()
    }

    /// Returns a setting's value as TOML has it.
    fn value(&self, key: &str) -> Option<String> {
        let spec = self.spec;
        match field_of(key) {
            Key::OrderOf(name) => spec.order.get(name).map(ToString::to_string),
            Key::Named("enabled") => spec.enabled.map(|value| value.to_string()),
            Key::Named("mode") => spec.mode.map(|mode| format!("\"{}\"", mode.as_str())),
            Key::Named("strict") => spec.strict.map(|value| value.to_string()),
            Key::Named("timeout") => spec.timeout.map(|value| format!("\"{}\"", format_duration(value))),
            Key::Named("handlers") => spec.handlers.as_ref().map(|names| format!("{names:?}")),
            Key::Named("on_failure") => spec.on_failure.map(|action| format!("\"{}\"", action.as_str())),
            Key::Named(_) => None,
        }
    }
}

/// What a whole key of a chain sets.
#[derive(PartialEq)]
enum Key<'a> {
    /// The order of a handler.
    OrderOf(&'a str),
    /// A field of the chain.
    Named(&'a str),
}

fn field_of(key: &str) -> Key<'_> {
    // The point's name is quoted and may hold dots; handlers' names too.
    let after_point = key.rsplit_once(".order.\"").map(|(_, name)| name.trim_end_matches('"'));
    match after_point {
        Some(name) => Key::OrderOf(name),
        None => Key::Named(key.rsplit_once('.').map_or(key, |(_, name)| name)),
    }
}

/// Says whether a name in the configuration means a handler: its id, the alias
/// of the default, or the name of its plugin.
fn means(name: &str, id: &str) -> bool {
    let of_plugin = id.split_once(':').is_some_and(|(plugin, _)| plugin == name);
    name == id || of_plugin || (id == DEFAULT_ID && name == DEFAULT_ALIAS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::{collections::BTreeMap, path::Path};

    use super::*;
    use crate::{
        hook::{Call, PluginSource, RegistryBuilder, points},
        model::payload::*,
    };

    fn report(toml: &str, register: impl FnOnce(&mut RegistryBuilder)) -> HookReport {
        let config = Config::parse(Path::new("/p/samuel.toml"), toml).unwrap();
        let mut handlers = Registry::builder();
        register(&mut handlers);
        let specs: BTreeMap<_, _> =
            HookPoint::ALL.iter().map(|point| (*point, config.chain(*point, "ralph"))).collect();
        HookReport::new(&handlers.build(&specs).unwrap(), &config, "ralph")
    }

    fn chain(report: HookReport, point: HookPoint) -> ChainReport {
        report.chains.into_iter().find(|chain| chain.point == point).unwrap()
    }

    fn checks(handlers: &mut RegistryBuilder) {
        let check = async |_: Call<points::QualityCheck>| Ok(QualityCheckOutput::default());
        handlers.default_handler::<points::QualityCheck, _>(check);
        for (place, name) in (0..).zip(["lint", "audit"]) {
            let plugin = PluginSource { name, namespace: name, place };
            handlers.plugin::<points::QualityCheck, _>(&plugin, "run", None, check);
        }
    }

    #[test]
    fn layers_are_merged_and_each_setting_says_where_it_is_set() {
        let toml = "version = \"2\"\n[hooks.\"quality.check\"]\ntimeout = 10\n\n[methodology.ralph.hooks.\"quality.check\"]\nstrict = true\n";
        let chain = chain(report(toml, checks), HookPoint::QualityCheck);
        let settings: Vec<_> = chain
            .settings
            .iter()
            .map(|one| (one.key.as_str(), one.value.as_str(), one.origin.line))
            .collect();
        assert_eq!(
            settings,
            [
                ("methodology.ralph.hooks.\"quality.check\".strict", "true", 6),
                ("hooks.\"quality.check\".timeout", "\"10s\"", 3)
            ]
        );
        let run: Vec<_> = chain.run.iter().map(|one| (one.order, one.id.as_str(), one.timeout_ms)).collect();
        assert_eq!(
            run,
            [(100, "default", None), (200, "lint:run", Some(10_000)), (200, "audit:run", Some(10_000))]
        );
        assert_eq!(
            (chain.strict, chain.on_failure, chain.run[1].source.as_str()),
            (true, OnFailure::AbortIteration, "lint")
        );
    }

    #[test]
    fn what_a_list_leaves_out_is_skipped_by_that_list() {
        let toml = "version = \"2\"\n[hooks.\"quality.check\"]\nhandlers = [\n  \"lint\",\n  \"samuel-default\",\n]\n";
        let chain = chain(report(toml, checks), HookPoint::QualityCheck);
        let run: Vec<_> = chain
            .run
            .iter()
            .map(|one| (one.id.as_str(), one.origin.as_ref().map(|place| place.line)))
            .collect();
        assert_eq!(run, [("lint:run", Some(4)), ("default", Some(5))]);
        let skipped = &chain.skipped[0];
        assert_eq!((skipped.id.as_str(), skipped.why.as_str()), ("audit:run", "not in handlers"));
        assert_eq!(skipped.origin.as_ref().map(ToString::to_string).as_deref(), Some("samuel.toml:3:1"));
    }

    #[test]
    fn an_order_says_where_it_is_asked_for_and_what_it_replaces() {
        let toml = "version = \"2\"\n[hooks.\"quality.check\".order]\nlint = 100\n\"audit:run\" = 50\n";
        let chain = chain(report(toml, checks), HookPoint::QualityCheck);
        let run: Vec<_> = chain
            .run
            .iter()
            .map(|one| (one.order, one.id.as_str(), one.origin.as_ref().map(|place| place.line)))
            .collect();
        assert_eq!(run, [(50, "audit:run", Some(4)), (100, "lint:run", Some(3))]);
        assert_eq!((chain.skipped[0].by.as_deref(), chain.warnings.len()), (Some("lint:run"), 1));
        assert_eq!(chain.settings.len(), 2);
    }

    #[test]
    fn two_agents_are_shown_with_the_one_that_is_shadowed() {
        let agent = async |_: Call<points::AgentInvoke>| Ok(AgentInvokeOutput::default());
        let register = |handlers: &mut RegistryBuilder| {
            for (place, name) in (0..).zip(["one", "two"]) {
                let plugin = PluginSource { name, namespace: name, place };
                handlers.plugin::<points::AgentInvoke, _>(&plugin, "agent", None, agent);
            }
        };
        let chain = chain(report("version = \"2\"\n", register), HookPoint::AgentInvoke);
        assert_eq!(
            (chain.run[0].id.as_str(), chain.skipped[0].why.as_str()),
            ("two:agent", "shadowed by two:agent")
        );
        assert_eq!((chain.skipped[0].tier, chain.warnings.len()), (Some(Tier::Async), 1));
    }

    #[test]
    fn a_chain_says_which_iterations_it_is_for_and_where_that_is_set() {
        let toml = "version = \"2\"\n[hooks.\"quality.check\"]\nmode = \"implementation\"\n";
        let check = chain(report(toml, checks), HookPoint::QualityCheck);
        assert_eq!((check.mode.as_str(), check.run.len()), ("implementation", 3));
        let setting = &check.settings[0];
        assert_eq!((setting.value.as_str(), setting.origin.line), ("\"implementation\"", 3));
        let other = chain(report(toml, checks), HookPoint::ContextExtra);
        assert_eq!(serde_json::to_value(other.mode).unwrap(), "both");
    }

    #[test]
    fn exempt_built_ins_have_no_timeout_and_a_disabled_point_says_so() {
        let toml = "version = \"2\"\n[hooks.\"quality.check\"]\nenabled = false\n";
        assert_eq!(
            chain(report("version = \"2\"\n", checks), HookPoint::QualityCheck).run[0].timeout_ms,
            None
        );
        let chain = chain(report(toml, checks), HookPoint::QualityCheck);
        assert!(!chain.enabled && chain.run.is_empty());
        assert!(chain.skipped.iter().all(|one| one.origin.as_ref().is_some_and(|place| place.line == 3)));
    }
}
