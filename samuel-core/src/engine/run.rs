//! Building and starting runs.
//!
//! [`Run::builder`] collects what a run needs; [`RunBuilder::build`] freezes
//! it, so that nothing changes under a run that is under way; [`Run::start`]
//! begins it and returns a [`RunHandle`].

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    driver::{Driver, Saved},
    follow::{Follower, committed_in, completed_in},
    handle::{Controller, RunHandle},
    hub::Hub,
    machine::{Input, Limits, Machine, Setup},
    port::Port,
    services::{Contexts, Services, Tickets},
    trust::{Executables, TrustPolicy},
    work_tree::WorkTree,
};
use crate::{
    agent::{Agent, AgentConfig, AgentError, MutationRoute, Script, StoreSink},
    config::{ConfigError, MethodologySettings, SandboxError},
    context::{ContextView, PromptContext},
    git::{self, Git},
    hook::{
        ChainSpec, HookPoint, IntoHandler, Point, Registry, RegistryBuilder, RegistryError, ResolveError,
        Tier,
    },
    methodology::{
        Workbench,
        ralph::{self, Ralph},
    },
    model::{Coded, ErrorCode, Location, payload::Mode},
    process::{Supervisor, SupervisorId, wait_for_sweep},
    project::Project,
    state::{Artifact, Holder, JournalEntry, LoopLock, Note, RunDir, StateError, StateStore},
};

/// How long a start waits for the processes of a dead predecessor.
const SWEEP_WAIT: Duration = Duration::from_secs(5);
/// How long one call of git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

/// A run that is ready to start. Nothing of it changes any more.
#[derive(Debug)]
pub struct Run {
    pub(super) frozen: Frozen,
    pub(super) registry: Registry,
    executables: Executables,
    pub(super) workbench: Arc<Workbench>,
    hub: Arc<Hub>,
    tickets: Arc<Tickets>,
    iteration: Arc<AtomicU32>,
    inputs: (mpsc::UnboundedSender<Input>, mpsc::UnboundedReceiver<Input>),
}

/// What a run is made of beside its handlers.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) project: Project,
    pub(crate) settings: MethodologySettings,
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) trust: TrustPolicy,
    pub(crate) supervisor: Supervisor,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) binary: String,
    pub(crate) session: String,
    pub(crate) run_id: Arc<str>,
    pub(crate) log_timings: bool,
    pub(crate) run_dir: RunDir,
}

/// Collects what a run needs.
#[derive(Debug)]
pub struct RunBuilder {
    project: Project,
    settings: MethodologySettings,
    agent: Option<Arc<dyn Agent>>,
    store: Option<Arc<dyn StateStore>>,
    handlers: RegistryBuilder,
    trust: TrustPolicy,
    supervisor: Supervisor,
    env: Vec<(String, String)>,
    binary: String,
    session: Option<String>,
    log_timings: bool,
}

impl Run {
    /// Begins to build a run of a project.
    pub fn builder(project: Project) -> RunBuilder {
        let settings = project.settings();
        RunBuilder {
            project,
            settings,
            agent: None,
            store: None,
            handlers: Registry::builder(),
            trust: TrustPolicy::default(),
            supervisor: Supervisor::GroupOnly,
            env: Vec::new(),
            binary: "samuel".to_owned(),
            session: None,
            log_timings: false,
        }
    }

    /// Returns the chains of all hook points.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns what the run would execute.
    pub fn executables(&self) -> &Executables {
        &self.executables
    }

    /// Returns the settings the run was frozen with.
    pub fn settings(&self) -> &MethodologySettings {
        &self.frozen.settings
    }

    /// Starts the run, or goes on with one that did not end.
    ///
    /// # Errors
    /// Returns [`RunError::Untrusted`] where the policy refuses,
    /// [`RunError::Agent`] where the agent cannot be called, and
    /// [`RunError::State`] where another loop runs or the state cannot be used.
    pub async fn start(self) -> Result<RunHandle, RunError> {
        if !self.frozen.trust.allows(&self.executables) {
            return Err(RunError::Untrusted { executables: Box::new(self.executables) });
        }
        let composed = ralph::compose_agent_env(&self.frozen.env, &*self.frozen.agent, &[]);
        self.frozen.agent.check(&composed)?;
        let lock = self.lock().await?;
        let begin = self.recover().await?;
        Ok(self.launch(lock, begin))
    }

    /// Makes sure that this is the only loop, and that nothing of a dead
    /// predecessor is still at work.
    async fn lock(&self) -> Result<LoopLock, RunError> {
        let (run_dir, store) = (self.frozen.run_dir.clone(), Arc::clone(&self.frozen.store));
        let holder =
            Holder::this_process(self.frozen.project.clock().now(), format!("run {}", self.frozen.run_id));
        let locked = tokio::task::spawn_blocking(move || {
            if !store.exists()? {
                return Err(StateError::NotInitialised { path: run_dir.prd() });
            }
            run_dir.create()?;
            let lock = LoopLock::acquire(&run_dir, &holder)?;
            Ok((lock, store.supervisors()?))
        });
        let (lock, supervisors) = locked.await.map_err(RunError::broken)??;
        let ids: Vec<SupervisorId> = supervisors
            .iter()
            .map(|supervisor| SupervisorId { pid: supervisor.pid, start_time: supervisor.start_time })
            .collect();
        let left = wait_for_sweep(&ids, SWEEP_WAIT).await;
        if let Some(id) = left.first() {
            return Err(RunError::Unswept { pid: id.pid });
        }
        let store = Arc::clone(&self.frozen.store);
        let noted = tokio::task::spawn_blocking(move || {
            supervisors.into_iter().try_for_each(|ended| store.note(Note::SupervisorEnded(ended)).map(drop))
        });
        noted.await.map_err(RunError::broken)??;
        Ok(lock)
    }

    /// Finds out whether an earlier run has to go on, and from where.
    pub(super) async fn recover(&self) -> Result<Begin, RunError> {
        let store = Arc::clone(&self.frozen.store);
        let read = tokio::task::spawn_blocking(move || {
            store.load()?;
            let checkpoint = store.last_checkpoint()?;
            let since = store.journal_since(checkpoint.as_ref().map_or(0, |record| record.seq))?;
            Ok::<_, StateError>((checkpoint, since))
        });
        let (checkpoint, since) = read.await.map_err(RunError::broken)??;
        let seq = since.last().or(checkpoint.as_ref()).map_or(0, |record| record.seq);
        let saved = checkpoint.and_then(|record| match record.entry {
            JournalEntry::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        });
        // A checkpoint of another version is no use; the plan itself is.
        let saved = saved.and_then(|saved| serde_json::from_value::<Saved>(saved.state).ok());
        if let Some(saved) = &saved {
            self.workbench.with(|desk| desk.last_failures.clone_from(&saved.last_failures));
        }
        Ok(match saved.filter(|saved| !saved.machine.is_ended()) {
            Some(Saved { mut machine, elapsed_ms, .. }) => {
                machine.set_setup(self.setup());
                let first =
                    Input::Resume { completed: completed_in(&since), committed: committed_in(&since) };
                Begin { machine, first, seq, elapsed: Duration::from_millis(elapsed_ms) }
            }
            None => Begin {
                machine: Machine::new(self.setup()),
                first: Input::Start,
                seq,
                elapsed: Duration::ZERO,
            },
        })
    }

    fn setup(&self) -> Setup {
        let settings = &self.frozen.settings;
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Setup {
            session: self.frozen.session.clone(),
            project_root: self.frozen.project.root().display().to_string(),
            prd_path: self.frozen.run_dir.prd().display().to_string(),
            progress_path: self.frozen.run_dir.progress().display().to_string(),
            agent: self.frozen.agent.name().to_owned(),
            sandbox: settings.sandbox.as_str().to_owned(),
            checks: settings.quality_checks.iter().map(|check| check.command.clone()).collect(),
            limits: Limits {
                max_iterations: settings.max_iterations,
                max_consecutive_failures: settings.max_consecutive_failures,
                max_cost_usd: settings.session_budget.max_cost_usd,
                max_tokens: settings.session_budget.max_tokens,
                pause_ms: millis(settings.pause),
            },
        }
    }

    /// Creates the prompt context as it is before the first iteration.
    pub(super) fn contexts(&self) -> Contexts {
        let frozen = frozen_context(&self.frozen, &self.registry);
        Contexts {
            view: ContextView::new(Arc::new(frozen.clone())),
            frozen,
            lasting: BTreeMap::new(),
            suggestions: Vec::new(),
            of: (0, Mode::Implementation, None),
        }
    }

    fn launch(self, lock: LoopLock, begin: Begin) -> RunHandle {
        let events = self.hub.subscribe();
        let contexts = self.contexts();
        let root = self.frozen.project.root().to_owned();
        let git = git::is_repository(&root).then(|| Git::new(&root, self.frozen.env.clone(), GIT_TIMEOUT));
        let (sender, receiver) = self.inputs;
        let hub = self.hub;
        let services = Arc::new(Services {
            run_id: Arc::clone(&self.frozen.run_id),
            session: self.frozen.session.as_str().into(),
            run_dir: self.frozen.run_dir.clone(),
            registry: self.registry,
            store: Arc::clone(&self.frozen.store),
            clock: self.frozen.project.clock(),
            hub: Arc::clone(&hub),
            work_tree: WorkTree::new(root, git),
            workbench: self.workbench,
            inputs: sender.clone(),
            tickets: self.tickets,
            iteration: self.iteration,
            log_timings: self.frozen.log_timings,
            declared_env: self.frozen.agent.declared_env().iter().map(|name| (*name).to_owned()).collect(),
            context: std::sync::Mutex::new(contexts),
        });
        for warning in services.registry.warnings() {
            services.warn(warning);
        }
        let driver = Driver {
            follower: Follower::new(Arc::clone(&services), begin.seq),
            started: services.clock.elapsed(),
            services,
            machine: begin.machine,
            inputs: receiver,
            elapsed_before: begin.elapsed,
            max_wall_time: self.frozen.settings.session_budget.max_wall_time,
        };
        let first = begin.first;
        let closing = Arc::clone(&hub);
        let task = tokio::spawn(async move {
            let report = driver.run(first).await;
            // Whoever sees the last event can start the next run.
            drop(lock);
            closing.close();
            report
        });
        RunHandle { run_id: self.frozen.run_id, hub, first: Some(events), control: Controller(sender), task }
    }
}

/// Where a run begins.
pub(super) struct Begin {
    pub(super) machine: Machine,
    pub(super) first: Input,
    /// The last record of the journal.
    seq: u64,
    /// How long the run was under way before it was interrupted.
    elapsed: Duration,
}

impl RunBuilder {
    /// Gives the agent; else the configured one is built.
    #[must_use]
    pub fn agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Changes the settings, which come from samuel.toml.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut MethodologySettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// Registers a handler as `api:<name>`, after the plugins'.
    ///
    /// ```compile_fail
    /// # use samuel_core::{engine::Run, hook::{Call, points}, model::payload::AfterLoopOutput, project::Project};
    /// # fn example(project: Project) {
    /// // A handler answers with its own point's output.
    /// Run::builder(project).hook::<points::QualityCheck, _>("lint", async |_: Call<points::QualityCheck>| {
    ///     Ok(AfterLoopOutput::default())
    /// });
    /// # }
    /// ```
    #[must_use]
    pub fn hook<P: Point, M>(mut self, name: &str, handler: impl IntoHandler<P, M>) -> Self {
        self.handlers.api(name, None, handler);
        self
    }

    /// Registers a handler as `api:<name>` at an order; 100 replaces the
    /// default.
    #[must_use]
    pub fn hook_at<P: Point, M>(mut self, name: &str, order: i32, handler: impl IntoHandler<P, M>) -> Self {
        self.handlers.api(name, Some(order), handler);
        self
    }

    /// Registers the handlers of a plugin, or of several.
    #[must_use]
    pub fn register(mut self, register: impl FnOnce(&mut RegistryBuilder)) -> Self {
        register(&mut self.handlers);
        self
    }

    /// Says who decides whether what the repository brings may run. By default
    /// nothing may.
    #[must_use]
    pub fn trust(mut self, trust: TrustPolicy) -> Self {
        self.trust = trust;
        self
    }

    /// Keeps state elsewhere than in the project's run directory.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn StateStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Says how processes are looked after; by default only as groups, which
    /// is the weakest way.
    #[must_use]
    pub fn supervisor(mut self, supervisor: Supervisor) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Gives the environment that agents, checks and git get parts of. By
    /// default it is empty.
    #[must_use]
    pub fn env(mut self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        self.env = env.into_iter().collect();
        self
    }

    /// Gives the command by which agents call Samuel, such as a full path.
    #[must_use]
    pub fn binary(mut self, binary: impl Into<String>) -> Self {
        self.binary = binary.into();
        self
    }

    /// Names the session; by default it has the project's name.
    #[must_use]
    pub fn session(mut self, name: impl Into<String>) -> Self {
        self.session = Some(name.into());
        self
    }

    /// Writes the time of every handler to the progress log.
    #[must_use]
    pub fn log_timings(mut self, log: bool) -> Self {
        self.log_timings = log;
        self
    }

    /// Freezes everything.
    ///
    /// # Errors
    /// Returns a [`RunError`] where the agent, the sandbox, a template or the
    /// handlers of a point cannot be used.
    pub fn build(self) -> Result<Run, RunError> {
        self.settings.sandbox.check()?;
        let store = self.store.unwrap_or_else(|| Arc::new(self.project.store()));
        let agent = match self.agent {
            Some(agent) => agent,
            None => {
                let config = agent_config(&self.settings, &self.project, &store)?;
                crate::agent::build(&config, self.supervisor.clone())?
            }
        };
        let run_dir = self.project.run_dir();
        let frozen = Frozen {
            session: self.session.unwrap_or_else(|| self.project.name()),
            run_id: new_run_id(self.project.clock().now()),
            project: self.project,
            settings: self.settings,
            agent,
            store,
            trust: self.trust,
            supervisor: self.supervisor,
            env: self.env,
            binary: self.binary,
            log_timings: self.log_timings,
            run_dir,
        };
        Run::assemble(frozen, self.handlers)
    }
}

impl Run {
    fn assemble(frozen: Frozen, mut handlers: RegistryBuilder) -> Result<Self, RunError> {
        let inputs = mpsc::unbounded_channel();
        let hub = Arc::new(Hub::new(Arc::clone(&frozen.run_id)));
        let (tickets, iteration, workbench) = (Arc::default(), Arc::default(), Arc::default());
        let port = Port {
            agent: frozen.agent.name().to_owned(),
            hub: Arc::clone(&hub),
            clock: frozen.project.clock(),
            store: Arc::clone(&frozen.store),
            inputs: inputs.0.clone(),
            tickets: Arc::clone(&tickets),
            iteration: Arc::clone(&iteration),
        };
        let templates = ralph::Templates::load(frozen.project.root(), frozen.project.methodology())?;
        let replaced = templates.replaced();
        let defaults = Ralph {
            project_root: frozen.project.root().to_owned(),
            run_dir: frozen.run_dir.clone(),
            run_id: Arc::clone(&frozen.run_id),
            binary: frozen.binary.clone(),
            settings: frozen.settings.clone(),
            guardrails: frozen.project.config().guardrails.clone(),
            agent: Arc::clone(&frozen.agent),
            port: Arc::new(port),
            store: Arc::clone(&frozen.store),
            clock: frozen.project.clock(),
            supervisor: frozen.supervisor.clone(),
            env: frozen.env.clone(),
            templates,
            workbench: Arc::clone(&workbench),
        };
        Arc::new(defaults).register(&mut handlers);
        let registry = build_registry(handlers, &frozen.project)?;
        let executables = executables(&frozen, &registry, replaced);
        Ok(Self { frozen, registry, executables, workbench, hub, tickets, iteration, inputs })
    }
}

/// Puts every chain in order as the project configures it. What samuel.toml is
/// to blame for is reported at its place there.
fn build_registry(handlers: RegistryBuilder, project: &Project) -> Result<Registry, RunError> {
    let (config, methodology) = (project.config(), project.methodology());
    let chain = |point: &HookPoint| (*point, config.chain(*point, methodology));
    let specs: BTreeMap<HookPoint, ChainSpec> = HookPoint::ALL.iter().map(chain).collect();
    handlers.build(&specs).map_err(|error| {
        let located = match &error {
            RegistryError::Resolve(error) => config.locate(methodology, error),
            _ => None,
        };
        located.map_or(RunError::Registry(error), RunError::Config)
    })
}

fn agent_config(
    settings: &MethodologySettings,
    project: &Project,
    store: &Arc<dyn StateStore>,
) -> Result<AgentConfig, AgentError> {
    let mut config = AgentConfig {
        command: settings.agent_command.clone(),
        args: settings.agent_args.clone(),
        clocks: settings.clocks.into(),
        clock: project.clock(),
        mutations: MutationRoute::Sink(Arc::new(StoreSink(Arc::clone(store)))),
        ..AgentConfig::new(settings.agent.clone())
    };
    // The scripted agent has no program; its command names what it plays.
    if let ("scripted", [script]) = (settings.agent.as_str(), settings.agent_command.as_slice()) {
        config.script = Some(load_script(&project.root().join(script))?);
    }
    Ok(config)
}

fn load_script(path: &Path) -> Result<Script, AgentError> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
    let script = text.and_then(|text| match path.extension().is_some_and(|ending| ending == "json") {
        true => Script::from_json(&text).map_err(|error| error.to_string()),
        false => Script::from_toml(&text).map_err(|error| error.to_string()),
    });
    script.map_err(|problem| AgentError::Config {
        agent: "scripted".to_owned(),
        problem: format!("the script \"{}\" cannot be used: {problem}", path.display()),
    })
}

fn executables(frozen: &Frozen, registry: &Registry, templates: Vec<PathBuf>) -> Executables {
    let mut handlers = Vec::new();
    for point in HookPoint::ALL {
        let foreign = registry.handlers(*point).filter(|(_, _, tier)| *tier != Tier::BuiltIn);
        handlers.extend(foreign.map(|(id, _, _)| (point.to_string(), id.to_owned())));
    }
    Executables {
        agent: frozen.agent.name().to_owned(),
        agent_command: frozen.settings.agent_command.clone(),
        permission_notice: frozen.agent.permission_notice(),
        quality_checks: frozen.settings.quality_checks.iter().map(|check| check.command.clone()).collect(),
        handlers,
        templates: templates.iter().map(|path| path.display().to_string()).collect(),
    }
}

/// Fills the part of the prompt context that does not change during a run.
fn frozen_context(frozen: &Frozen, registry: &Registry) -> PromptContext {
    let settings = &frozen.settings;
    let mut context = PromptContext::default();
    context.samuel.version = env!("CARGO_PKG_VERSION").to_owned();
    context.samuel.binary.clone_from(&frozen.binary);
    context.project.name = frozen.project.name();
    context.project.root = frozen.project.root().display().to_string();
    context.project.branch = git::branch(frozen.project.root()).unwrap_or_default();
    context.methodology.name = frozen.project.methodology().to_owned();
    context.methodology.source = "built-in".to_owned();
    context.iteration.max = settings.max_iterations;
    context.config = ralph::config_vars(settings, frozen.agent.name());
    context.guardrails = frozen.project.config().guardrails.clone();
    let dir = &frozen.run_dir;
    let show = |path: PathBuf| path.display().to_string();
    context.paths.samuel_dir = show(frozen.project.root().join(".samuel"));
    context.paths.run_dir = show(dir.path().to_owned());
    context.paths.prd_file = show(dir.prd());
    context.paths.progress_file = show(dir.progress());
    context.paths.task_context_file = show(dir.artifact(Artifact::TaskContext));
    context.paths.progress_context_file = show(dir.artifact(Artifact::ProgressContext));
    context.paths.snapshot_file = show(dir.artifact(Artifact::ProjectSnapshot));
    let agents_md = frozen.project.root().join("AGENTS.md");
    if agents_md.is_file() {
        context.paths.agents_md = show(agents_md);
    }
    context.mode.is_pilot = settings.pilot.enabled;
    context.mode.focus.clone_from(&settings.pilot.focus);
    context.mode.max_new_tasks = settings.pilot.max_discovery_tasks;
    for point in HookPoint::ALL {
        let ids: Vec<String> = registry.handlers(*point).map(|(id, ..)| id.to_owned()).collect();
        if !ids.is_empty() {
            context.hooks.registered.insert(point.to_string(), ids);
        }
    }
    context
}

/// Makes an id that sorts by time and tells runs of one second apart.
fn new_run_id(now: jiff::Timestamp) -> Arc<str> {
    let mut random = [0_u8; 4];
    // Without random bytes the time alone has to do.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let suffix: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{suffix}", now.strftime("%Y%m%dT%H%M%SZ")).into()
}

/// A run that cannot be built, started or waited for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The agent cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The sandbox cannot be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The configuration names handlers that do not exist, or one twice.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The handlers of a point cannot be put in order.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A template of the project cannot be used.
    #[error(transparent)]
    Template(#[from] ralph::TemplatesError),
    /// The state cannot be used, or another loop runs.
    #[error(transparent)]
    State(#[from] StateError),
    /// The trust policy refused.
    #[error("nobody has allowed what this project would run")]
    Untrusted {
        /// What it would run.
        executables: Box<Executables>,
    },
    /// Processes of an earlier run are still being ended.
    #[error("process {pid} still ends what an earlier run left behind")]
    Unswept {
        /// The process.
        pid: u32,
    },
    /// The run itself broke.
    #[error("the run broke: {message}")]
    Broken {
        /// What happened.
        message: String,
    },
}

impl RunError {
    pub(super) fn broken(error: tokio::task::JoinError) -> Self {
        Self::Broken { message: error.to_string() }
    }
}

impl Coded for RunError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Agent(error) => error.code(),
            Self::Sandbox(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Registry(error) => error.code(),
            Self::Template(error) => error.code(),
            Self::State(error) => error.code(),
            Self::Untrusted { .. } => ErrorCode::TRUST_REFUSED,
            Self::Unswept { .. } => ErrorCode::STATE_LOOP_RUNNING,
            Self::Broken { .. } => ErrorCode::INTERNAL,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Config(error) => error.location(),
            Self::State(error) => error.location(),
            Self::Template(error) => error.location(),
            _ => None,
        }
    }

    fn help(&self) -> String {
        let did_you_mean = |nearest: &str| format!("Did you mean \"{nearest}\"? {}", self.code().help);
        match self {
            Self::Config(error) => error.help(),
            Self::Agent(AgentError::Unknown { suggestion: Some(nearest), .. }) => did_you_mean(nearest),
            Self::Sandbox(SandboxError::Unknown { nearest: Some(nearest), .. }) => did_you_mean(nearest),
            Self::Registry(RegistryError::Resolve(ResolveError::UnknownHandler {
                nearest: Some(nearest),
                ..
            })) => did_you_mean(nearest),
            _ => self.code().help.to_owned(),
        }
    }
}
