//! A run that is ready, and its start.
//!
//! A [`Run`] is what a [`RunBuilder`] froze: nothing of it changes while it is
//! under way. [`Run::start`] makes sure that it is the only loop and returns a
//! [`RunHandle`]. Where it begins is said in `begin`, what happens then is the
//! driver's.

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tokio::sync::mpsc;

use super::{
    begin::Begin,
    branch_watch::BranchWatch,
    builder::RunBuilder,
    check_programs::unstartable,
    control_files::ControlFiles,
    driver::Driver,
    error::{RunError, blocking, described},
    executables::{executables, of_hooks},
    follow::Follower,
    frozen::{Frozen, agent_files, check_agent},
    git_files,
    handle::{Controller, RunHandle},
    hook_log::HookLogWriter,
    hub::{Events, Hub},
    in_clone::InClone,
    lanes::{LaneParts, OpenedLanes},
    old_logs::OldLogs,
    record::Recorder,
    refusals::Refusals,
    services::{Known, Purpose, Services},
    socket::{RunSocket, SocketError},
    start_warning::StartWarning,
    tickets::Tickets,
    unheld_budget::unheld,
    work_tree::WorkTree,
};
use crate::{
    agent::{Agent, compose_agent_env, own_files},
    config::{CheckCommand, MethodologySettings},
    detect::detect_languages,
    dialect::{HookFileOptions, HookFiles},
    environment::{kept_from_checks, moved},
    event::RunReport,
    git::{GitError, Repository},
    hook::{HookPoint, Registry, RegistryBuilder, Tier},
    machine::{Input, Machine, Setup},
    methodology::{Kit, Templates, WatchedFiles},
    process::Remains,
    project::Project,
    sandbox::HOST,
    state::{LaneStore, LoopLock, PlanStore, TurnFiles},
    trust::{ExecutableKind, Executables, TrustPolicy},
    workspace::{CloneWorkspace, LaneClone, WorkspaceKind},
};

/// What a start says where the program that embeds the run named no supervisor.
const UNSUPERVISED: &str = "no supervisor is named: what leaves the process group of the agent or of a check outlives \
                            it, and all of it outlives a program that is killed; RunBuilder::supervisor names one";
/// The repository that a project is in, or why it cannot be read.
pub(super) type Opened = Result<Option<Repository>, GitError>;

/// A run that is ready to start. Nothing of it changes any more.
#[derive(Debug)]
pub struct Run {
    pub(super) frozen: Frozen,
    pub(super) registry: Registry,
    /// The handlers beside the methodology's, and what those get: lanes have their own.
    pub(super) base: (RegistryBuilder, Kit),
    /// The hook files whose commands take part.
    pub(super) hook_files: HookFiles,
    pub(super) executables: Executables,
    /// Whether they say what the last run left changed.
    pub(super) is_compared: bool,
    pub(super) control_files: Arc<ControlFiles>,
    /// The languages of the project's code, once they were looked for.
    pub(super) languages: OnceLock<Vec<String>>,
    pub(super) hub: Arc<Hub>,
    /// What is refused to those who reach it from other processes.
    pub(super) refusals: Arc<Refusals>,
    /// Where other processes reach it, once it listens, or why they do not.
    pub(super) listening: Result<Option<RunSocket>, SocketError>,
    pub(super) inputs: (mpsc::UnboundedSender<Input>, mpsc::UnboundedReceiver<Input>),
}

impl Run {
    /// Begins to build a run of a project.
    pub fn builder(project: Project) -> RunBuilder {
        RunBuilder::new(project)
    }

    /// Puts the handlers together with what they share.
    pub(super) fn assemble(frozen: Frozen, mut handlers: RegistryBuilder) -> Result<Self, RunError> {
        let inputs = mpsc::unbounded_channel();
        let hub = Arc::new(Hub::new(
            Arc::clone(&frozen.run_id),
            frozen.project.clock(),
            Arc::clone(&frozen.secrets),
        ));
        let mut hook_files = match frozen.reads_hook_files {
            true => HookFiles::read(frozen.project.root())?,
            false => HookFiles::default(),
        };
        let options = HookFileOptions {
            env: frozen.env.clone(),
            secrets: Arc::clone(&frozen.secrets),
            supervisor: frozen.supervisor.clone(),
            state_dir: frozen.project.state_dir().map(Into::into),
            caller: Some(frozen.project.caller().clone()),
            clock: Some(frozen.project.clock()),
            spill: (!frozen.project.is_in_memory()).then(|| frozen.run_dir.logs(&frozen.run_id)),
        };
        hook_files.register(&mut handlers, options);
        // Before anything of them is used, so that no change falls in between.
        let others: Vec<Arc<dyn Agent>> =
            frozen.choices().unwrap_or_default().into_iter().skip(1).map(|(_, agent)| agent).collect();
        let agent_files = agent_files(&frozen, &others);
        let checks: Vec<CheckCommand> =
            frozen.settings.quality_checks.iter().chain(frozen.setup_commands()).cloned().collect();
        let names = std::iter::once(&frozen.agent).chain(&others).map(|agent| agent.name());
        let unasked = names.flat_map(own_files);
        let mut hooks = of_hooks(&handlers, frozen.project.root());
        git_files::add_to(&mut hooks, &frozen.project);
        let control_files =
            Arc::new(ControlFiles::of(&frozen.project, &checks, &agent_files, unasked, hooks));
        let methodology = frozen.project.base();
        let templates = Templates::load(&frozen.project.templates(), &methodology.templates())?;
        let replaced = templates.replaced();
        let kit = Kit {
            project_root: frozen.project.root().to_owned(),
            caller: frozen.project.caller().clone(),
            run_dir: frozen.run_dir.clone(),
            run_id: Arc::clone(&frozen.run_id),
            in_memory: frozen.project.is_in_memory(),
            binary: frozen.binary.clone(),
            settings: frozen.settings.clone(),
            guardrails: frozen.project.config().guardrails.clone(),
            agents: frozen.agents(),
            program: match frozen.brings_programs() {
                true => None,
                false => frozen
                    .agent
                    .locate(&compose_agent_env(&frozen.env, &*frozen.agent, &[]), frozen.project.root()),
            },
            sandboxes: frozen.sandboxes.clone(),
            store: Arc::clone(&frozen.store),
            lane: Arc::clone(&frozen.lane),
            clock: frozen.project.clock(),
            supervisor: frozen.supervisor.clone(),
            env: frozen.env.clone(),
            secrets: Arc::clone(&frozen.secrets),
            templates,
            framing: frozen.framing.clone(),
            control_files: shared_with_checks(&control_files),
        };
        let base = (handlers.clone(), kit.clone());
        methodology.register(kit, &mut handlers);
        let registry = frozen.project.registry::<RunError>(handlers, HookPoint::ALL)?;
        let executables = executables(&frozen, &registry, &replaced, &control_files);
        let languages = OnceLock::new();
        let is_compared = false;
        let refusals = Arc::new(Refusals::new(Arc::clone(&hub), Arc::clone(&frozen.lane)));
        Ok(Self {
            frozen,
            registry,
            base,
            hook_files,
            executables,
            is_compared,
            control_files,
            languages,
            hub,
            refusals,
            listening: Ok(None),
            inputs,
        })
    }

    /// Returns the chains of all hook points.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Says how many prompt templates of the project replace built-in ones.
    pub(super) fn own_templates(&self) -> usize {
        self.executables.of_kind(ExecutableKind::Template).count()
    }

    /// Returns the settings the run was frozen with.
    pub fn settings(&self) -> &MethodologySettings {
        &self.frozen.settings
    }

    /// Puts another trust policy in place of the builder's, for whoever decides after
    /// a look at what would execute.
    #[must_use]
    pub fn trusting(mut self, trust: TrustPolicy) -> Self {
        self.frozen.trust = trust;
        self
    }

    /// Runs to the end, for a program without a runtime of tokio, and blocks the thread until then.
    ///
    /// # Errors
    /// Returns what [`start`](Self::start) and [`RunHandle::wait`] return, and [`RunError::Broken`] where it is called in a
    /// runtime, which it would block, or none can be made.
    pub fn run_blocking(self) -> Result<RunReport, RunError> {
        let broken = |message: String| RunError::Broken { message };
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err(broken("run_blocking would block the runtime that it is called in".to_owned()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| broken(error.to_string()))?;
        let ended = runtime.block_on(async { self.start().await?.wait().await });
        runtime.shutdown_background();
        ended
    }

    /// Starts the run, or goes on with one that did not end.
    ///
    /// # Errors
    /// Returns [`RunError::Untrusted`] where the policy refuses, [`RunError::Agent`] or [`RunError::ConfiguredAgent`] where the agent cannot be called,
    /// [`RunError::Tasks`] where the run is to be for tasks that there are not, and
    /// [`RunError::State`] where another loop runs or the state cannot be used.
    pub async fn start(mut self) -> Result<RunHandle, RunError> {
        self.check_lanes()?;
        self.check_tasks().await?;
        self.ensure_compared().await?;
        // Without the agent nothing would come of a yes. It is looked for again once there is one.
        self.check_agent()?;
        self.decide().await?;
        self.check_agent()?;
        let (lock, remains) = self.lock().await?;
        self.know_plan().await?;
        let freed = match self.frozen.settings.parallel.jobs {
            1 => self.free_lanes_that_are_gone().await?,
            _ => Vec::new(),
        };
        let begin = self.recover().await?;
        let begin = self.count_interrupted(begin).await?;
        self.log_accepted().await?;
        self.frozen.begin_sandbox().await?;
        let lanes = self.open_lanes(&begin).await?;
        let clone = self.open_clone().await?;
        let (detected, repository) =
            tokio::join!(self.detect(), self.repository(self.directory_of(clone.is_some())));
        detected?;
        let repository = repository?;
        let warnings = self.warnings_of(&begin, &repository).await?;
        let old_logs = self.prune_logs(&begin).await;
        self.listen(&lock).await?;
        let found = Found { repository, clone, lanes, freed, warnings, old_logs, remains };
        self.launch(lock, begin, found).await
    }

    /// Checks that the plan has the tasks that the run is to be for.
    pub(super) async fn check_tasks(&self) -> Result<(), RunError> {
        if self.frozen.scope.is_all() {
            return Ok(());
        }
        let (store, scope) = (Arc::clone(&self.frozen.store), self.frozen.scope.clone());
        let loaded = blocking(move || store.load()).await??;
        Ok(scope.check(&loaded.plan)?)
    }

    /// Checks that the agent can be called, which a start does before it decides whether what it would execute is
    /// trusted; not where a handler is in the agent's place.
    ///
    /// # Errors
    /// Returns [`RunError::Agent`] or [`RunError::ConfiguredAgent`] where it cannot.
    pub fn check_agent(&self) -> Result<(), RunError> {
        if in_place_of_agent(&self.registry).is_some() || self.frozen.brings_programs() {
            return Ok(());
        }
        let Frozen { agent, env, project, settings, routing, .. } = &self.frozen;
        match check_agent(&**agent, env, project, settings) {
            // A fallback works in its place, and the start says so.
            Err(error) if !routing.fallback.is_empty() => {
                let out: Vec<String> =
                    self.frozen.unstartable().into_iter().map(|(agent, _)| agent).collect();
                if routing.fallback.iter().all(|agent| out.contains(agent)) { Err(error) } else { Ok(()) }
            }
            checked => checked,
        }
    }

    /// Has the policy decide where it may block: whoever gives up the start meanwhile is
    /// not held up.
    pub(super) async fn decide(&self) -> Result<(), RunError> {
        self.decide_on(self.executables.clone()).await
    }

    /// Has the policy decide on what executes if no agent is called.
    pub(super) async fn decide_without_agents(&self) -> Result<(), RunError> {
        self.decide_on(self.executables.clone().without_agents()).await
    }

    async fn decide_on(&self, executables: Executables) -> Result<(), RunError> {
        let trust = self.frozen.trust.clone();
        let (root, now) = (self.frozen.project.root().to_owned(), self.frozen.project.clock().now());
        blocking(move || Ok(trust.decide(&root, &executables, now)?)).await?
    }

    /// Says what a start and a checkup warn of in the quality checks: what they execute that is
    /// missing, is not watched or cannot be started. Blocks.
    pub(super) fn warnings_of_checks(&self) -> Vec<String> {
        let (checks, root) = (&self.frozen.settings.quality_checks, self.frozen.project.root());
        let mut told = self.control_files.warnings().to_vec();
        told.extend(unstartable(checks, &self.frozen.env, root));
        told
    }

    /// Returns warnings of directories in `PATH` that the project has and the workspace of the run lacks, such as those
    /// that git ignores. Blocks.
    fn missing_on_path(&self) -> Vec<String> {
        let (root, env, workspace) = (self.frozen.project.root(), &self.frozen.env, self.work_dir());
        let in_workspace = moved(env.iter().cloned(), root, &workspace);
        let entries = |env: &[(String, String)]| -> Vec<PathBuf> {
            let path = env.iter().find(|(name, _)| name == "PATH");
            path.map_or_else(Vec::new, |(_, value)| std::env::split_paths(value).collect())
        };
        let both = entries(env).into_iter().zip(entries(&in_workspace));
        let missing = both.filter(|(here, there)| here != there && here.is_dir() && !there.is_dir());
        let told = missing.map(|(here, _)| {
            format!(
                "PATH has {}, which the workspace lacks: agents and checks do not find its programs; make it there by a \
                 command of `parallel.setup`",
                here.display()
            )
        });
        told.collect()
    }

    /// Looks for the languages of the project's code, which prompts name.
    pub(super) async fn detect(&self) -> Result<(), RunError> {
        let root = self.frozen.project.root().to_owned();
        let found = blocking(move || detect_languages(&root)).await?;
        // A second look would find the same.
        let _ = self.languages.set(found);
        Ok(())
    }

    /// Finds out whether the repository can be read that tells what changes in a
    /// directory. One that cannot would make every iteration look as if nothing
    /// did.
    pub(super) async fn repository(&self, directory: PathBuf) -> Result<Opened, RunError> {
        let caller = self.frozen.project.caller().clone();
        blocking(move || {
            let repository = Repository::open(&directory, &caller)?;
            repository.iter().try_for_each(Repository::check)?;
            Ok(repository)
        })
        .await
    }

    /// Says which limits of the budgets do not hold, agent by agent; nothing where a handler calls
    /// the agent, which may report more than it does.
    pub(super) fn unheld_budget(&self) -> Vec<(String, String)> {
        if in_place_of_agent(&self.registry).is_some() {
            return Vec::new();
        }
        let choices = self.frozen.choices().unwrap_or_default().into_iter();
        let mut told: Vec<(String, String)> = choices
            .filter_map(|(choice, agent)| Some((choice.agent, unheld(&*agent, &self.frozen.settings)?)))
            .collect();
        let mut known = HashSet::new();
        told.retain(|(agent, _)| known.insert(agent.clone()));
        told
    }

    /// Returns the directory in which turns work, also before it is there: the root of the project, or the project within
    /// the workspace of the run or of its first worker.
    pub(super) fn work_dir(&self) -> PathBuf {
        let (project, has_workers) = (&self.frozen.project, self.has_workers());
        let root = project.root();
        let has_workspace = has_workers || self.frozen.workspace == WorkspaceKind::Clone;
        let state_dir = project.state_dir().filter(|_| has_workspace && !project.is_in_memory());
        let Some(state_dir) = state_dir else { return root.to_owned() };
        let repository = Repository::open(root, project.caller()).ok().flatten();
        let prefix = repository.map(|repository| repository.prefix()).unwrap_or_default();
        let prefix = String::from_utf8_lossy(&prefix);
        if has_workers {
            let directory = WorkspaceKind::lanes_directory_of(state_dir, root);
            let first = LaneClone::directory_in(&directory, "lane-1");
            return CloneWorkspace::work_dir_in(&first, &prefix);
        }
        CloneWorkspace::work_dir_in(&WorkspaceKind::directory_of(state_dir, root), &prefix)
    }

    fn has_workers(&self) -> bool {
        self.frozen.settings.parallel.jobs > 1
    }

    /// Returns the directory whose changes count: what is not a run of its own has no clone.
    pub(super) fn directory_of(&self, is_in_clone: bool) -> PathBuf {
        if is_in_clone { self.work_dir() } else { self.frozen.project.root().to_owned() }
    }

    /// Puts together what all effects of the run share, around two stores. What they tell
    /// comes out of the stream, and what comes in from beside goes to the receiver.
    pub(super) fn equip(
        self,
        (store, lane): (Arc<dyn PlanStore>, Arc<dyn LaneStore>),
        repository: Option<Repository>,
        known: Known,
        purpose: Purpose,
        in_clone: Option<InClone>,
        leader: Option<LaneParts>,
    ) -> (Frozen, Arc<Services>, Events, mpsc::UnboundedReceiver<Input>) {
        let (events, contexts) = (self.hub.subscribe(), self.contexts());
        let work_dir = self.directory_of(in_clone.is_some());
        let work_root = if purpose == Purpose::Preview { self.work_dir() } else { work_dir.clone() };
        let has_workers = self.has_workers();
        let Self { frozen, inputs: (inputs, receiver), .. } = self;
        let project = frozen.project.clone();
        let project = project.with_plan_store(Arc::clone(&store)).with_lane_store(Arc::clone(&lane));
        let own_inputs = inputs.clone();
        let services = Services {
            run_id: Arc::clone(&frozen.run_id),
            session: frozen.session.as_str().into(),
            owner: frozen.owner.as_deref().unwrap_or(&frozen.run_id).into(),
            pilot: frozen.pilot(),
            completes: frozen.completes(),
            require_change: frozen.settings.require_change,
            run_dir: frozen.run_dir.clone(),
            registry: self.registry,
            store,
            lane,
            clock: frozen.project.clock(),
            hub: self.hub,
            work_tree: WorkTree::new(work_dir, repository).comparing_names(frozen.settings.require_change),
            turn_files: in_clone
                .as_ref()
                .map(|clone| TurnFiles::new(frozen.run_dir.within(&work_root), clone.shown_log())),
            work_root,
            has_workers,
            is_sandboxed: frozen.settings.sandbox != HOST,
            in_lane: None,
            in_clone,
            branch_watch: OnceLock::new(),
            control_files: self.control_files,
            purpose,
            known: Mutex::new(known),
            inputs,
            tickets: Tickets::default(),
            call_count: Mutex::default(),
            ask_timeout: frozen.settings.ask_timeout,
            log_timings: frozen.log_timings,
            hook_log: HookLogWriter::new(&frozen.env, Arc::clone(&frozen.secrets)),
            agents: frozen.agents(),
            env: frozen.env.clone(),
            secrets: Arc::clone(&frozen.secrets),
            turn_env: Mutex::default(),
            swept: AtomicBool::new(true),
            context: Mutex::new(contexts),
            known_seq: AtomicU64::default(),
            told: Mutex::default(),
            socket: OnceLock::new(),
            refusals: self.refusals,
            sandboxes: frozen.sandboxes.clone(),
            project,
            bridge: frozen.bridge.clone(),
            told_of_unasked: AtomicBool::default(),
            repeated: Arc::default(),
        };
        let services = Arc::new(match leader {
            Some(parts) => services.of_lane(parts, own_inputs),
            None => services,
        });
        for warning in services.registry.warnings() {
            services.warn(warning);
        }
        (frozen, services, events, receiver)
    }

    async fn launch(
        mut self,
        lock: Arc<dyn LoopLock>,
        begin: Begin,
        found: Found,
    ) -> Result<RunHandle, RunError> {
        let Found { repository: opened, clone, mut lanes, freed, warnings, old_logs, remains } = found;
        let recorded = self.hub.subscribe();
        let (in_clone, of_clone) = clone.unzip();
        let unstartable = match in_place_of_agent(&self.registry) {
            Some(_) => Vec::new(),
            None => self.frozen.unstartable(),
        };
        let mut told = self.warnings_of_checks();
        told.extend(self.hook_files.warnings());
        told.extend(self.missing_on_path());
        let (repository, unread) = match opened {
            Ok(repository) => (repository, None),
            Err(error) => (None, Some(error)),
        };
        let of_lanes = lanes.as_mut().map(|lanes| std::mem::take(&mut lanes.told));
        let (leader, followers) = match lanes {
            Some(lanes) => {
                let mut machine = Machine::new(Setup { follows: true, ..self.setup() });
                machine.cannot_start(unstartable.iter().map(|(agent, _)| agent.clone()));
                self.lane_parts(lanes, machine).await.map(|(leader, others)| (Some(leader), Some(others)))?
            }
            None => (None, None),
        };
        let (store, lane) = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let to_watch = self.repository_to_watch();
        let listening = std::mem::replace(&mut self.listening, Ok(None));
        let (frozen, services, events, inputs) =
            self.equip((store, lane), repository, begin.known, Purpose::Run, in_clone, leader);
        let socket = listening.as_ref().ok().and_then(Option::as_ref).map(|socket| socket.path().to_owned());
        match listening {
            Ok(None) => {}
            Ok(Some(listening)) => _ = services.socket.set(Arc::new(listening)),
            Err(error) => services.warn(format!("{}; nothing can reach the run", described(&error))),
        }
        services.known_seq.store(begin.seq, Ordering::Relaxed);
        if let Some(setup) = to_watch {
            let (last, max) = (begin.on_branch, frozen.settings.task_budget.max_attempts);
            let open = move |services: &Services| BranchWatch::open(setup, max, last, &*services.store);
            if let Some(watch) = services.blocking(open).await? {
                // It is set once.
                let _ = services.branch_watch.set(watch);
            }
        }
        services.work_tree.resume_work(begin.work);
        let start_commit = begin.start_commit;
        services.blocking(move |services| services.work_tree.begin_run(start_commit.as_deref())).await?;
        services.warn_of(&begin.loaded.diagnostics);
        if let Some(lost) = begin.lost {
            services.warn(lost.told());
        }
        if let Some(reason) = frozen.project.cannot_keep_plans() {
            services.warn(format!(
                "{reason}; a start that can keep them has a check decide on what this run completes. {}",
                Project::KEEP_PLANS
            ));
        }
        // Elsewhere there is nothing better to name.
        if frozen.is_unsupervised && cfg!(target_os = "linux") {
            services.warn(UNSUPERVISED);
        }
        for told in told {
            services.warn(told);
        }
        let has_checks = !frozen.settings.quality_checks.is_empty();
        for told in kept_from_checks(&frozen.env).into_iter().filter(|_| has_checks) {
            services.warn(told);
        }
        // That old ones went is what was asked for: the progress log says so.
        if let Some(told) = &old_logs.failure {
            services.warn(told);
        }
        services.tell_of_remains(remains);
        for told in of_clone.into_iter().chain(of_lanes).flatten().chain(freed) {
            services.warn_of_run(told);
        }
        if let Some(error) = unread {
            services.warn(format!(
                "{}: changes are seen by names, sizes and times of files alone, and no handler is told of them",
                described(&error)
            ));
        }
        let mut machine = begin.machine;
        machine.cannot_start(unstartable.iter().map(|(agent, _)| agent.clone()));
        for (_, error) in unstartable {
            services.warn(format!(
                "{}; as long as that is so, calls have another agent, where there is one",
                described(&error)
            ));
        }
        let recorder = services.lane.keeps_records().then(|| Recorder::begin(&services, recorded));
        let resumed = begin.resumed;
        let steps = recorder.as_ref().map(|recorder| recorder.machine(&services, &machine, resumed.clone()));
        let driver = Driver {
            follower: Follower::new(
                Arc::clone(&services),
                Arc::downgrade(&lock),
                begin.seq,
                begin.loaded.plan,
            ),
            told: begin.seq,
            started: services.clock.elapsed(),
            services,
            machine,
            inputs,
            elapsed_before: begin.elapsed,
            warnings,
            max_wall_time: frozen.settings.session_budget.max_wall_time,
            steps,
            recorder,
            goes_on_from: resumed,
            to_reopen: tokio::sync::Mutex::default(),
            cut_off: begin.cut_off,
        };
        if let Some(followers) = followers {
            let max_wall_time = frozen.settings.session_budget.max_wall_time;
            let (started, elapsed_before, told) = (driver.started, driver.elapsed_before, driver.told);
            let recorder = driver.recorder.as_ref();
            let of_lane = |services, follower, machine, inputs| Driver {
                steps: recorder.map(|recorder| recorder.machine(&services, &machine, None)),
                services,
                follower,
                machine,
                inputs,
                started,
                told,
                elapsed_before,
                warnings: Vec::new(),
                max_wall_time,
                recorder: None,
                goes_on_from: None,
                to_reopen: tokio::sync::Mutex::default(),
                cut_off: Vec::new(),
            };
            let plan = driver.services.plan();
            let (leader, lock) = (Arc::clone(&driver.services), Arc::clone(&lock));
            followers.begin(&leader, &lock, of_lane, told, &plan).await?;
        }
        let first = begin.first;
        let hub = Arc::clone(&driver.services.hub);
        let control = Controller::new(driver.services.inputs.clone(), Arc::clone(&hub));
        let closing = Closing { lock: Some(lock), hub: Arc::clone(&hub) };
        let task = tokio::spawn(async move {
            let _closing = closing;
            driver.services.log_note(old_logs.removed).await;
            driver.run(first).await
        });
        Ok(RunHandle { run_id: frozen.run_id, hub, first: Some(events), control, socket, task })
    }
}

/// What a start found around the plan.
struct Found {
    repository: Opened,
    /// The clone that the run works in, if it does, and what people should know of it.
    clone: Option<(InClone, Vec<String>)>,
    /// The lanes, where it has several.
    lanes: Option<OpenedLanes>,
    /// What lanes of a run that is gone were at, and what became of it.
    freed: Vec<String>,
    warnings: Vec<StartWarning>,
    old_logs: OldLogs,
    remains: Remains,
}

/// Ends the streams of a run however it ends, also where it panics.
struct Closing {
    lock: Option<Arc<dyn LoopLock>>,
    hub: Arc<Hub>,
}

impl Drop for Closing {
    fn drop(&mut self) {
        // Whoever sees the last event can start the next run.
        drop(self.lock.take());
        self.hub.close();
    }
}

/// Gives the methodology what it needs of the control files.
fn shared_with_checks(control_files: &Arc<ControlFiles>) -> WatchedFiles {
    let looked_at = Arc::clone(control_files);
    let changed = move || {
        let changes = looked_at.changes();
        changes.first().map(ToString::to_string)
    };
    WatchedFiles { names: control_files.names(), changed: Arc::new(changed) }
}

/// Returns the handler that answers `agent.invoke` in the agent's place, if one does.
pub(super) fn in_place_of_agent(registry: &Registry) -> Option<&str> {
    let (id, _, tier) = registry.handlers(HookPoint::AgentInvoke).last()?;
    (tier != Tier::BuiltIn).then_some(id)
}
