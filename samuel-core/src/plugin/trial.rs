//! `samuel plugin test`: a plugin is fired once at each point it handles.
//!
//! It is loaded as an installed one is, with everything granted that it asks
//! for, and dispatched by the same registry, with the samples of
//! [`sample_input`](super::sample_input).

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Catalog, InstalledPlugin, LoadOptions, Plugin, PluginError, check,
    check::check_contents,
    contents::Contents,
    fetch::blocking,
    install::{pinned_image, selection},
    sample::sample_text,
    settings::check_settings,
};
use crate::{
    clock::Clock,
    context::{ContextView, PromptContext},
    hook::{
        AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, CallScope, ChainSpec,
        HookFailure, HookPoint, HookWarning, LoggedLine, Registry,
    },
    sandbox::Containers,
};

/// The field of samples that says which project they are about.
const PROJECT_ROOT: &str = "project_root";

/// The most reports of one point that a trial keeps.
const MAX_REPORTS: usize = 100;

/// How long loading a plugin may take, which compiles its component where that was not done before.
const LOAD_LIMIT: Duration = Duration::from_secs(5 * 60);

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
    /// Its settings, as samuel.toml has them under `[plugins.config]`.
    pub config: Map<String, Value>,
    /// What its handlers are given; what it lacks is as in the sample of the point.
    pub input: Option<Map<String, Value>>,
    /// How long a handler may take; [`ChainSpec::TIMEOUT`] where absent.
    pub timeout: Option<Duration>,
    /// Who is told how far it is.
    pub progress: TrialProgress,
}

/// Who is told of the steps of a trial; nobody by default.
#[derive(Clone, Default)]
pub struct TrialProgress(Option<Arc<dyn Fn(TrialStep) + Send + Sync>>);

/// A step of a trial that may take a while.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrialStep {
    /// The plugin is loaded; a component that was not compiled before is compiled.
    Load {
        /// The length of the component, where it is one.
        bytes: Option<u64>,
    },
    /// A point is fired.
    Fire(HookPoint),
}

impl TrialProgress {
    /// Tells a function of each step, when it begins.
    pub fn to(told: impl Fn(TrialStep) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(told)))
    }

    fn tell(&self, step: TrialStep) {
        if let Some(told) = &self.0 {
            told(step);
        }
    }
}

impl fmt::Debug for TrialProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TrialProgress").field(&self.0.is_some()).finish()
    }
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
    /// What it wrote to the log of the run.
    pub logged: Vec<LoggedLine>,
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
/// [`PluginError::Request`] where it does not handle the point asked for, or the input is not one of a
/// point, and [`PluginError::Slow`] where it cannot be loaded within 5 minutes.
pub async fn try_out(directory: &Path, options: &TrialOptions) -> Result<Vec<Trial>, PluginError> {
    let (source, containers) = (directory.to_owned(), options.load.containers.clone());
    let mut plugin = blocking(move || as_installed(&source, containers.as_ref())).await?;
    plugin.config.clone_from(&options.config);
    check_settings(&plugin.manifest, &plugin.config)?;
    let bindings = plugin.manifest.bindings.clone();
    let namespace = plugin.manifest.namespace.clone();
    let points = bindings.iter().map(|binding| binding.point);
    let points: Vec<HookPoint> =
        points.filter(|point| options.point.is_none_or(|wanted| wanted == *point)).collect();
    if let Some(point) = options.point.filter(|_| points.is_empty()) {
        return Err(PluginError::Request { problem: format!("the plugin does not handle {point}") });
    }
    let bytes = plugin.manifest.module.as_deref().and_then(|module| plugin.contents.get(module));
    options.progress.tell(TrialStep::Load { bytes: bytes.map(|bytes| bytes.len() as u64) });
    let name = plugin.manifest.name.clone();
    let (catalog, load) = (Catalog::of(plugin, &options.project_root), options.load.clone());
    let loading = tokio::time::timeout(LOAD_LIMIT, blocking(move || catalog.load(&load)));
    let loaded = loading.await.map_err(|_| PluginError::Slow { name, limit: LOAD_LIMIT })??;
    let mut builder = Registry::builder();
    loaded.register(&mut builder);
    let spec = ChainSpec { timeout: options.timeout, ..ChainSpec::default() };
    let specs: BTreeMap<_, _> = points.iter().map(|point| (*point, spec.clone())).collect();
    let registry = builder.build(&specs);
    let registry = registry.expect("one plugin with one handler a point needs no resolving");
    let mut trials = Vec::new();
    let firing = Firing { registry: &registry, options, namespace: &namespace };
    for point in points {
        options.progress.tell(TrialStep::Fire(point));
        trials.push(firing.fire(point).await?);
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
        tag: false,
        pin: None,
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
    /// Returns what a point is given: the sample, about the project that it sees, with what was asked for over it.
    fn input(&self, point: HookPoint) -> Value {
        let mut input = sample_text(point);
        if let Some(fields) = input.as_object_mut() {
            if let Some(root) = fields.get_mut(PROJECT_ROOT) {
                *root = self.options.project_root.display().to_string().into();
            }
            fields.extend(self.options.input.clone().unwrap_or_default());
        }
        input
    }

    async fn fire(&self, point: HookPoint) -> Result<Trial, PluginError> {
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
        let input = self.input(point);
        let done = self.registry.dispatch_json(point, input.clone(), &scope).await.map_err(|error| {
            PluginError::Request { problem: format!("the input is none of {point}: {error}") }
        })?;
        let failure = done.outcome.broken.into_iter().next().map(|broken| broken.failure);
        let timing = done.outcome.timings.first();
        let output = failure.is_none().then_some(done.output);
        let contributed = done.context.plugins().get(self.namespace);
        let (reports, reports_left_out) = heard.take();
        let mut warnings = done.outcome.warnings;
        warnings
            .retain(|warning| failure.as_ref().is_none_or(|failure| failure.class.as_str() != warning.class));
        Ok(Trial {
            point,
            handler: timing.map(|timing| timing.handler.to_string()).unwrap_or_default(),
            input,
            output,
            contributed: contributed
                .into_iter()
                .flatten()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            refused: done.outcome.refused,
            failure,
            warnings,
            logged: done.outcome.logged,
            reports,
            reports_left_out,
            took_ms: timing.map_or(0.0, |timing| timing.took.as_secs_f64() * 1_000.0),
        })
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
