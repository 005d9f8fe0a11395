//! `samuel plugin test`: a plugin is fired once at each point it handles.
//!
//! It is loaded as an installed one is, with everything granted that it asks
//! for, and dispatched by the same registry, with the samples of
//! [`sample_input`](super::sample_input).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Catalog, InstalledPlugin, LoadOptions, Plugin, PluginError, check,
    check::check_contents,
    contents::Contents,
    install::{blocking, pinned_image, selection},
    sample::sample_text,
};
use crate::{
    clock::Clock,
    context::{ContextView, PromptContext},
    hook::{
        AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, CallScope, HookFailure,
        HookPoint, HookWarning, Registry,
    },
    sandbox::Containers,
};

/// The most reports of one point that a trial keeps.
const MAX_REPORTS: usize = 100;

/// How a plugin is tried out.
#[derive(Clone, Debug)]
pub struct TrialOptions {
    /// The project it sees as its own.
    pub project_root: PathBuf,
    /// What its handlers get.
    pub load: LoadOptions,
    /// The time by which they are bounded and timed.
    pub clock: Arc<dyn Clock>,
    /// The only point to fire; all of its points where absent.
    pub point: Option<HookPoint>,
}

/// What came of one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The point.
    pub point: HookPoint,
    /// The handler's id.
    pub handler: String,
    /// The sample it was given.
    pub input: Value,
    /// What it answered; nothing where it broke.
    pub output: Option<Value>,
    /// What it contributed to its namespace.
    pub contributed: Map<String, Value>,
    /// Why it refused, where it did.
    pub refused: Option<String>,
    /// How it broke, where it did.
    pub failure: Option<HookFailure>,
    /// What the user is to know beside the failure: what it warned of, and what of its answer does not count.
    pub warnings: Vec<HookWarning>,
    /// What it reported before its answer, at `agent.invoke`: the first 100.
    pub reports: Vec<TrialReport>,
    /// How many more it reported.
    pub reports_left_out: usize,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
}

/// What a handler in the agent's place reported. As JSON it is what a script prints for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TrialReport {
    /// What happened.
    Event(AgentEvent),
    /// A tool call that it asked about; in a trial each may be made.
    BeforeAbility(AbilityCall),
    /// How such a call ended.
    AfterAbility(AbilityResult),
}

/// Fires a plugin that is not installed at each point it handles.
///
/// # Errors
/// Returns what [`check`] and [`Catalog::load`](super::Catalog::load) return,
/// and [`PluginError::Request`] where it does not handle the point asked for.
pub async fn try_out(directory: &Path, options: &TrialOptions) -> Result<Vec<Trial>, PluginError> {
    let (source, containers) = (directory.to_owned(), options.load.containers.clone());
    let plugin = blocking(move || as_installed(&source, containers.as_ref())).await?;
    let bindings = plugin.manifest.bindings.clone();
    let namespace = plugin.manifest.namespace.clone();
    let points = bindings.iter().map(|binding| binding.point);
    let points: Vec<HookPoint> =
        points.filter(|point| options.point.is_none_or(|wanted| wanted == *point)).collect();
    if let Some(point) = options.point.filter(|_| points.is_empty()) {
        return Err(PluginError::Request { problem: format!("the plugin does not handle {point}") });
    }
    let (catalog, load) = (Catalog::of(plugin, &options.project_root), options.load.clone());
    let loaded = blocking(move || catalog.load(&load)).await?;
    let mut builder = Registry::builder();
    loaded.register(&mut builder);
    let registry = builder.build(&BTreeMap::new());
    let registry = registry.expect("one plugin with one handler a point needs no resolving");
    let mut trials = Vec::new();
    let firing = Firing { registry: &registry, options, namespace: &namespace };
    for point in points {
        trials.push(firing.fire(point).await);
    }
    Ok(trials)
}

/// Looks at a directory as if it were installed with everything granted.
fn as_installed(directory: &Path, containers: Option<&Containers>) -> Result<Plugin, PluginError> {
    let directory = directory.canonicalize().map_err(PluginError::io("read", directory))?;
    let contents = Contents::read(&directory, &selection(&check(&directory)?))?;
    let manifest = check_contents(&directory, &contents)?;
    let image = pinned_image(&manifest, containers)?;
    let entry = InstalledPlugin {
        name: manifest.name.clone(),
        version: manifest.version.to_string(),
        kind: manifest.kind,
        source: directory.display().to_string(),
        commit: None,
        digest: contents.tree().digest(),
        image,
        granted: manifest.capabilities.clone(),
        files: contents.tree().digests(),
    };
    Ok(Plugin { manifest, directory, place: 0, config: Map::new(), entry, contents: Arc::new(contents) })
}

/// Fires one point.
struct Firing<'a> {
    registry: &'a Registry,
    options: &'a TrialOptions,
    namespace: &'a str,
}

impl Firing<'_> {
    async fn fire(&self, point: HookPoint) -> Trial {
        let mut context = PromptContext::default();
        context.samuel.version = env!("CARGO_PKG_VERSION").to_owned();
        context.project.root = self.options.project_root.display().to_string();
        let heard = Arc::new(Heard::default());
        let scope = CallScope {
            run_id: "trial".into(),
            session: "trial".into(),
            iteration: 3,
            port: Some(Arc::clone(&heard) as Arc<dyn AgentPort>),
            context: ContextView::new(Arc::new(context)),
            ..CallScope::new(Arc::clone(&self.options.clock))
        };
        let done = self.registry.dispatch_json(point, sample_text(point), &scope).await;
        let done = done.expect("a test reads the sample of every point");
        let failure = done.outcome.broken.into_iter().next().map(|broken| broken.failure);
        let timing = done.outcome.timings.first();
        let output = failure.is_none().then_some(done.output);
        let contributed = done.context.plugins().get(self.namespace);
        let (reports, reports_left_out) = heard.take();
        let mut warnings = done.outcome.warnings;
        warnings
            .retain(|warning| failure.as_ref().is_none_or(|failure| failure.class.as_str() != warning.class));
        Trial {
            point,
            handler: timing.map(|timing| timing.handler.to_string()).unwrap_or_default(),
            input: sample_text(point),
            output,
            contributed: contributed
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            refused: done.outcome.refused,
            failure,
            warnings,
            reports,
            reports_left_out,
            took_ms: timing.map_or(0.0, |timing| timing.took.as_secs_f64() * 1_000.0),
        }
    }
}

/// Keeps what is reported, up to [`MAX_REPORTS`], and counts the rest.
#[derive(Default)]
struct Heard(Mutex<(Vec<TrialReport>, usize)>);

impl Heard {
    fn keep(&self, report: TrialReport) {
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match heard.0.len() < MAX_REPORTS {
            true => heard.0.push(report),
            false => heard.1 += 1,
        }
    }

    fn take(&self) -> (Vec<TrialReport>, usize) {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl AgentPort for Heard {
    fn emit(&self, event: AgentEvent) {
        self.keep(TrialReport::Event(event));
    }

    async fn supervised_by(&self, _pid: u32, _start_time: u64) {}

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        let input = call.input.clone();
        self.keep(TrialReport::BeforeAbility(call));
        AbilityDecision::Allow { input }
    }

    async fn after_ability(&self, result: AbilityResult) -> Vec<String> {
        self.keep(TrialReport::AfterAbility(result));
        Vec::new()
    }
}
