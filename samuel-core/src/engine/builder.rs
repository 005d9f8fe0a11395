//! Collecting what a run needs.
//!
//! [`RunBuilder::build`] freezes it into a [`Run`], of which nothing changes
//! any more. What the parts do is theirs.

use std::{path::PathBuf, sync::Arc};

use super::{
    error::RunError,
    frozen::{Frozen, check_agent, placed},
    gateways::without_keys,
    run::Run,
    unheld_budget::unheld,
};
use crate::{
    agent::{Agent, AgentConfig, AgentError, MutationRoute, Routing, Script, StoreSink},
    config::MethodologySettings,
    context::Framing,
    environment::Secrets,
    hook::{Registry, RegistryBuilder, handler_methods},
    model::{Scope, TaskId, hex},
    process::Supervisor,
    project::Project,
    sandbox::{BWRAP, Containers, Guest, OCI, Sandbox, SandboxError, Sandboxes, built_in},
    trust::TrustPolicy,
    workspace::{OnStep, WorkspaceKind},
};

/// Collects what a run needs.
#[derive(Debug)]
pub struct RunBuilder {
    pub(super) project: Project,
    settings: MethodologySettings,
    agent: Option<Arc<dyn Agent>>,
    script: Option<Script>,
    sandboxes: Vec<Arc<dyn Sandbox>>,
    pub(super) containers: Option<Containers>,
    pub(super) guest: Option<Guest>,
    workspace: Option<WorkspaceKind>,
    on_step: Option<OnStep>,
    pub(crate) handlers: RegistryBuilder,
    reads_hook_files: bool,
    trust: TrustPolicy,
    pub(super) supervisor: Option<Supervisor>,
    pub(super) env: Vec<(String, String)>,
    pub(crate) binary: String,
    pub(crate) session: Option<String>,
    owner: Option<String>,
    scope: Scope,
    discovers_only: bool,
    /// Whether it is built for the merge queue alone.
    is_to_land: bool,
    log_timings: bool,
    pub(super) socket_dir: Option<PathBuf>,
    bridge: Vec<String>,
}

impl RunBuilder {
    /// Starts with the settings of a project.
    pub(super) fn new(project: Project) -> Self {
        let settings = project.settings();
        Self {
            project,
            settings,
            agent: None,
            script: None,
            sandboxes: Vec::new(),
            containers: None,
            guest: None,
            workspace: None,
            on_step: None,
            handlers: Registry::builder(),
            reads_hook_files: false,
            trust: TrustPolicy::default(),
            supervisor: None,
            env: Vec::new(),
            binary: "samuel".to_owned(),
            session: None,
            owner: None,
            scope: Scope::All,
            discovers_only: false,
            is_to_land: false,
            log_timings: false,
            socket_dir: None,
            bridge: Vec::new(),
        }
    }

    /// Gives the agent; else the configured one is built.
    #[must_use]
    pub fn agent(mut self, agent: Arc<dyn Agent>) -> Self {
        self.agent = Some(agent);
        self
    }

    /// Brings sandboxes, which are chosen by their names: `sandbox` in samuel.toml or the
    /// settings chooses that of agents and checks, and a handler of `before:agent.invoke`
    /// that of one call of the agent.
    #[must_use]
    pub fn sandboxes(mut self, sandboxes: impl IntoIterator<Item = Arc<dyn Sandbox>>) -> Self {
        self.sandboxes.extend(sandboxes);
        self
    }

    /// Brings a sandbox and selects it, whatever samuel.toml says. Of several, the last
    /// one is selected.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        sandbox.name().clone_into(&mut self.settings.sandbox);
        self.sandboxes([sandbox])
    }

    /// Says where the containers of the sandbox `oci` come from. Without it that sandbox cannot be used.
    #[must_use]
    pub fn containers(mut self, containers: Containers) -> Self {
        self.containers = Some(containers);
        self
    }

    /// Names the first process of commands in the sandbox `bwrap`. Without it they have no filter of system calls, and
    /// can reach no host.
    #[must_use]
    pub fn guest(mut self, guest: Guest) -> Self {
        self.guest = Some(guest);
        self
    }

    /// Says where the agent and the checks work, whatever samuel.toml says below `[sandbox]`. A clone takes a
    /// directory outside of the project ([`Project::keeping_plans_in`]). By default it is what samuel.toml says, and
    /// with the sandboxes `bwrap` and `oci` a clone where it says nothing.
    #[must_use]
    pub fn workspace(mut self, workspace: WorkspaceKind) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Calls a function at each step of a workspace that is a clone, which waits for it: a test ends the
    /// process there.
    #[must_use]
    pub fn on_workspace_step(mut self, on_step: OnStep) -> Self {
        self.on_step = Some(on_step);
        self
    }

    /// Plays a script in place of an agent: no model and no network. Its tasks are
    /// completed in the store of the run.
    #[must_use]
    pub fn script(mut self, script: Script) -> Self {
        "scripted".clone_into(&mut self.settings.agent);
        self.script = Some(script);
        self
    }

    /// Changes the settings, which come from samuel.toml. Their rules are the same.
    #[must_use]
    pub fn settings(mut self, change: impl FnOnce(&mut MethodologySettings)) -> Self {
        change(&mut self.settings);
        self
    }

    handler_methods!();

    /// Leaves nothing in the run directory of what its handlers do.
    pub(super) fn in_memory(mut self) -> Self {
        self.project = self.project.in_memory();
        self
    }

    /// Has the commands of the project's [hook files](crate::dialect) run at their hook points, in the
    /// environment and below the supervisor of the run. The files are read when the run is built;
    /// entries that are left out are told of when it starts.
    #[must_use]
    pub fn hook_files(mut self) -> Self {
        self.reads_hook_files = true;
        self
    }

    /// Says who decides whether what the repository brings may run. By default
    /// nothing may.
    #[must_use]
    pub fn trust(mut self, trust: TrustPolicy) -> Self {
        self.trust = trust;
        self
    }

    /// Says how processes are looked after. By default only as groups
    /// ([`Supervisor::GroupOnly`]), which takes nothing of the program and is the
    /// weakest way: the run warns of what it does not end.
    #[must_use]
    pub fn supervisor(mut self, supervisor: Supervisor) -> Self {
        self.supervisor = Some(supervisor);
        self
    }

    /// Gives the environment that agents, checks and git get parts of. By
    /// default it is empty.
    #[must_use]
    pub fn env(mut self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        self.env = env.into_iter().collect();
        self
    }

    /// Names who works on the tasks that the loop begins; by default the run, by its id.
    #[must_use]
    pub fn owner(mut self, name: impl Into<String>) -> Self {
        self.owner = Some(name.into());
        self
    }

    /// Works on these tasks alone, and on what they depend on; a group stands for its
    /// parts. The run is completed once they are. By default, and without any, it is all
    /// tasks: those of the run before where that was cut off.
    #[must_use]
    pub fn tasks(mut self, ids: impl IntoIterator<Item = TaskId>) -> Self {
        self.scope = ids.into_iter().collect::<Vec<_>>().into();
        self
    }

    /// Has the run work in so many lanes at once, from 1 to 64, each on a task of its own in a clone of its
    /// own; with 1, the default, in the project itself (docs/parallel.md). Several take a repository and a
    /// directory outside of the project ([`Project::keeping_plans_in`]), and agents that run programs a
    /// [socket](Self::socket_dir).
    #[must_use]
    pub fn jobs(mut self, jobs: u32) -> Self {
        self.settings.parallel.jobs = jobs;
        self
    }

    /// Names the branch that the work of several lanes lands on, which has to be there. By default it is a new
    /// one, which the report names ([`RunReport::into`](crate::event::RunReport::into)).
    #[must_use]
    pub fn into(mut self, branch: impl Into<String>) -> Self {
        self.settings.parallel.into = branch.into();
        self
    }

    /// Lets other processes reach the run by a Unix socket, in a directory of its own that is made in
    /// this one and goes with the run (docs/run-socket.md). The directory is made where it is missing; it
    /// has to be this user's, is made nobody else's (mode 0700), and its path has to be short: a
    /// socket's is 107 bytes long at most, of which the run takes 20. By default nothing can.
    #[must_use]
    pub fn socket_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.socket_dir = Some(directory.into());
        self
    }

    /// Gives the command by which an agent's own hooks ask the run about its tool calls, word for
    /// word, such as `/usr/bin/samuel hooks bridge`. It takes a [socket](Self::socket_dir) as well.
    /// Without it tool calls of real agents are seen, and none is prevented.
    #[must_use]
    pub fn bridge(mut self, command: impl IntoIterator<Item = String>) -> Self {
        self.bridge = command.into_iter().collect();
        self
    }

    /// Does nothing but look for tasks: each iteration is a discovery, until two in a row find nothing or
    /// a limit is reached. Pilot mode, which looks for tasks between others, is the setting `pilot.enabled`.
    #[must_use]
    pub fn discover_only(mut self) -> Self {
        self.discovers_only = true;
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
    /// Returns a [`RunError`] where a setting, the agent, the sandbox, a template or
    /// the handlers of a point cannot be used.
    pub fn build(mut self) -> Result<Run, RunError> {
        self.settings.check()?;
        self.check_sandbox()?;
        // Before anything is asked for or written.
        self.project.run_dir().check()?;
        let (agent, config) = match self.agent.take() {
            Some(agent) => (agent, None),
            None => {
                let config = self.agent_config()?;
                let built = crate::agent::build(&config, self.supervisor.clone().unwrap_or_default());
                (built.map_err(|error| self.placed(error, "model"))?, Some(config))
            }
        };
        let run = self.assemble(agent, config)?;
        run.frozen.check_choices()?;
        run.check_lanes()?;
        Ok(run)
    }

    /// Freezes everything for [`Run::land`], which needs no agent.
    ///
    /// # Errors
    /// Returns a [`RunError`] where a setting, the sandbox, a template or the handlers of a point cannot be used.
    pub fn build_to_land(mut self) -> Result<Run, RunError> {
        self.is_to_land = true;
        self.settings.check()?;
        self.check_sandbox()?;
        self.project.run_dir().check()?;
        let (run, _) = self.build_idle()?;
        run.check_copies()?;
        Ok(run)
    }

    /// Puts the chains in order, for whoever only looks at them. The agent need
    /// not be there.
    ///
    /// # Errors
    /// Returns a [`RunError`] where a template or the handlers of a point
    /// cannot be used.
    pub fn registry(self) -> Result<Registry, RunError> {
        Ok(self.build_idle()?.0.registry)
    }

    /// Freezes everything for a look at a run that is never started, and says whether with
    /// its agent: one that cannot be configured is replaced by one that does nothing.
    pub(crate) fn build_idle(mut self) -> Result<(Run, bool), RunError> {
        let mut built_from = None;
        let agent = self.agent.take().or_else(|| {
            built_from = self.agent_config().ok();
            self.configured_agent().ok()
        });
        let has_agent = agent.is_some();
        let config = AgentConfig { script: Some(Script::default()), ..AgentConfig::new("scripted") };
        let agent = agent.map_or_else(|| crate::agent::build(&config, Supervisor::default()), Ok)?;
        Ok((self.assemble(agent, built_from.filter(|_| has_agent))?, has_agent))
    }

    /// Checks that the agent can be called, and says which it is, and which limits of
    /// the budget do not hold with it.
    pub(super) fn check_agent(&self) -> Result<(String, Option<String>), RunError> {
        self.check_sandbox()?;
        let agent = match &self.agent {
            Some(agent) => Arc::clone(agent),
            None => self.configured_agent()?,
        };
        let sandbox = self.chosen_sandbox()?;
        if !sandbox.brings_programs() {
            check_agent(&*agent, &self.env, &self.project, &self.settings)?;
        }
        let unheld = unheld(&*agent, &self.settings);
        let within = sandbox.version().map(|version| format!(", in {version}")).unwrap_or_default();
        Ok((format!("{} can be called{within}", agent.name()), unheld))
    }

    /// Checks that samuel.toml names sandboxes that there are, and that commands can run in
    /// what the settings choose.
    pub(super) fn check_sandbox(&self) -> Result<(), RunError> {
        let sandboxes = self.known_sandboxes()?;
        self.project.config().check_sandboxes(&sandboxes)?;
        sandboxes.find(&self.settings.sandbox).map(drop).map_err(|error| {
            let placed = self.project.config().sandbox_problem(self.project.methodology(), &error);
            placed.map_or_else(|| error.into(), RunError::from)
        })
    }

    /// Returns where the agent and the checks work.
    pub(super) fn workspace_kind(&self) -> WorkspaceKind {
        let config = self.project.config();
        match self.workspace {
            Some(workspace) => workspace,
            None if [BWRAP, OCI].contains(&self.settings.sandbox.as_str())
                && config.origin("sandbox.workspace").is_none() =>
            {
                WorkspaceKind::Clone
            }
            None => config.sandbox.workspace,
        }
    }

    /// Returns the sandbox of the settings.
    pub(super) fn chosen_sandbox(&self) -> Result<Arc<dyn Sandbox>, SandboxError> {
        self.known_sandboxes()?.find(&self.settings.sandbox)
    }

    fn known_sandboxes(&self) -> Result<Sandboxes, SandboxError> {
        // Workers and the merge queue never work in place.
        let kind = match self.is_to_land || self.settings.parallel.jobs > 1 {
            true => WorkspaceKind::Clone,
            false => self.workspace_kind(),
        };
        let known = Sandboxes::with(built_in().into_iter().chain(self.sandboxes.iter().cloned()))?;
        Ok(self.described(known, kind))
    }

    /// Makes the agent that samuel.toml describes.
    fn configured_agent(&self) -> Result<Arc<dyn Agent>, AgentError> {
        crate::agent::build(&self.agent_config()?, self.supervisor.clone().unwrap_or_default())
    }

    fn agent_config(&self) -> Result<AgentConfig, AgentError> {
        agent_config(&self.settings, self.script.clone(), &self.project)
    }

    /// Says where samuel.toml has the setting that an agent cannot be made from.
    fn placed(&self, error: AgentError, key: &str) -> RunError {
        placed(&self.project, error, key)
    }

    fn assemble(mut self, agent: Arc<dyn Agent>, built_from: Option<AgentConfig>) -> Result<Run, RunError> {
        if let Some(problem) = self.project.problem() {
            return Err(RunError::Project(Arc::clone(problem)));
        }
        self.settings.pilot.enabled |= self.discovers_only;
        let sandboxes = self.known_sandboxes()?;
        let secrets = Arc::new(Secrets::of(&self.env));
        self.env = without_keys(self.env, &self.project.config().sandbox, &self.settings.sandbox);
        let frozen = Frozen {
            sandboxes,
            workspace: self.workspace_kind(),
            on_step: self.on_step,
            session: self.session.unwrap_or_else(|| self.project.name()),
            owner: self.owner,
            reads_hook_files: self.reads_hook_files,
            scope: self.scope,
            discovers_only: self.discovers_only,
            run_id: new_run_id(self.project.clock().now()),
            framing: new_framing(),
            run_dir: self.project.run_dir(),
            store: self.project.plan_store(),
            lane: self.project.lane_store(),
            others: shared_config(&self.settings, &self.project),
            project: self.project,
            routing: Routing::of(&self.settings),
            settings: self.settings,
            agent,
            built_from,
            trust: self.trust,
            is_unsupervised: self.supervisor.is_none(),
            supervisor: self.supervisor.unwrap_or_default(),
            env: self.env,
            secrets,
            binary: self.binary,
            log_timings: self.log_timings,
            socket_dir: self.socket_dir,
            bridge: self.bridge,
        };
        Run::assemble(frozen, self.handlers)
    }
}

fn agent_config(
    settings: &MethodologySettings,
    script: Option<Script>,
    project: &Project,
) -> Result<AgentConfig, AgentError> {
    let mut config = AgentConfig {
        command: settings.agent_command.clone(),
        args: settings.agent_args.clone(),
        model: Routing::of(settings).model,
        script,
        ..shared_config(settings, project)
    };
    // The scripted agent has no program; its command names what it plays.
    if let ("scripted", None, [script]) =
        (settings.agent.as_str(), &config.script, settings.agent_command.as_slice())
    {
        config.script = Some(Script::load(&project.root().join(script))?);
    }
    Ok(config)
}

/// Returns what is configured for whatever agent is called.
fn shared_config(settings: &MethodologySettings, project: &Project) -> AgentConfig {
    AgentConfig {
        clocks: settings.clocks.into(),
        clock: project.clock(),
        mutations: MutationRoute::Sink(Arc::new(StoreSink(project.plan_store()))),
        ..AgentConfig::new(settings.agent.clone())
    }
}

/// Makes the marks of a run.
fn new_framing() -> Framing {
    let mut random = [0; 6];
    // Without random bytes the mark is known, and still taken out of what others say.
    let _ = getrandom::fill(&mut random);
    Framing::new(random)
}

/// Makes an id that sorts by time and tells runs of one second apart.
fn new_run_id(now: jiff::Timestamp) -> Arc<str> {
    let mut random = [0_u8; 4];
    // Without random bytes the time alone has to do.
    let _ = getrandom::fill(&mut random);
    format!("{}-{}", now.strftime("%Y%m%dT%H%M%SZ"), hex(&random)).into()
}
