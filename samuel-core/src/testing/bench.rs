//! A project of its own for one test, and runs of it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{
    Played, VirtualClock,
    replays::{differing_replays, has_gaps},
};
use crate::{
    agent::{Agent, AgentConfig, MutationRoute, Script, ScriptedAgent, StoreSink},
    clock::Clock,
    config::CONFIG_FILE,
    engine::{Run, RunBuilder, RunError},
    git::Caller,
    history::History,
    methodology::Methodology,
    model::{Plan, Status, Task, TaskId},
    process::Supervisor,
    project::{Project, ProjectError},
    state::{Actor, Existing, LaneStore, MemoryLane, MemoryStore, PlanStore, StateError},
    trust::TrustPolicy,
};

/// The environment of agents and checks.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A project with a plan, of which runs can be made.
///
/// The project is a temporary directory that goes with the bench. State is
/// kept in memory and time stands still, unless the [builder](Bench::builder)
/// is told otherwise. In builds with debug assertions every run that was made of it is
/// [replayed](History::replay) as it is dropped, and a fault where that leads to something else.
#[derive(Debug)]
pub struct Bench {
    // It reads what lies in the directory, which goes after it.
    runs: Replayed,
    directory: tempfile::TempDir,
    project: Project,
}

/// Replays the runs of a project as it is dropped.
#[derive(Debug)]
struct Replayed(Project);

/// Says what is special about a bench.
#[derive(Debug)]
pub struct BenchBuilder {
    plan: Plan,
    files: Vec<(PathBuf, String)>,
    clock: Arc<dyn Clock>,
    methodology: Option<Arc<dyn Methodology>>,
    on_disk: bool,
}

impl Bench {
    /// Starts with an empty plan, no files and the defaults of samuel.toml.
    pub fn builder() -> BenchBuilder {
        BenchBuilder {
            plan: Plan::default(),
            files: Vec::new(),
            clock: Arc::new(VirtualClock::new()),
            methodology: None,
            on_disk: false,
        }
    }

    /// Makes a bench with a plan of tasks, given by id and title.
    ///
    /// # Errors
    /// Returns what [`BenchBuilder::build`] returns.
    pub fn with_tasks(tasks: &[(&str, &str)]) -> Result<Self, BenchError> {
        tasks.iter().fold(Self::builder(), |bench, (id, title)| bench.task(id, title)).build()
    }

    /// Returns the project's directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// Returns where runs have their plan.
    pub fn store(&self) -> Arc<dyn PlanStore> {
        self.project.plan_store()
    }

    /// Returns where runs keep what they need to carry on.
    pub fn lane(&self) -> Arc<dyn LaneStore> {
        self.project.lane_store()
    }

    /// Gives runs other stores, which may be around those that it had.
    #[must_use]
    pub fn over(mut self, change: impl FnOnce(Project) -> Project) -> Self {
        self.project = change(self.project);
        self.runs.0 = self.project.clone();
        self
    }

    /// Makes an agent that plays a script and completes tasks in the bench's
    /// store.
    pub fn agent(&self, script: Script) -> Arc<dyn Agent> {
        let config = AgentConfig {
            script: Some(script),
            mutations: MutationRoute::Sink(Arc::new(StoreSink(self.store()))),
            clock: self.project.clock(),
            ..AgentConfig::new("scripted")
        };
        let agent = ScriptedAgent::new(&config, Supervisor::GroupOnly);
        Arc::new(agent.expect("the configuration holds a script"))
    }

    /// Starts to build a run: trusted, without pauses, with an agent that plays
    /// a script. What the builder is told afterwards wins.
    pub fn run(&self, script: Script) -> RunBuilder {
        Run::builder(self.project.clone())
            .agent(self.agent(script))
            .supervisor(Supervisor::GroupOnly)
            .trust(TrustPolicy::TrustAll)
            .session("bench")
            .env([("PATH".to_owned(), PATH.to_owned())])
            .settings(|settings| settings.pause = Duration::ZERO)
    }

    /// Makes a run from beginning to end and returns everything it told.
    ///
    /// # Errors
    /// Returns the [`RunError`] of building, starting or waiting for it.
    ///
    /// # Panics
    /// In builds with debug assertions, where the recorded inputs of the run lead to something else, or not to its
    /// end, when they are [replayed](Played::replay): a fault in Samuel, or in whoever made the run.
    pub async fn play(&self, run: RunBuilder) -> Result<Played, RunError> {
        let mut handle = run.build()?.start().await?;
        let mut stream = handle.events();
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        let report = handle.wait().await?;
        let (root, history) = (self.path().display().to_string(), History::of(&self.project));
        let played = Played { events, report, root, history };
        if cfg!(debug_assertions) && self.lane().keeps_records() && !has_gaps(&played.events) {
            let replay = played.replay();
            let is_whole = replay.as_ref().is_ok_and(|replay| replay.equal && replay.ended);
            debug_assert!(is_whole, "the run does not replay to its end: {replay:#?}");
        }
        Ok(played)
    }

    /// Returns the status of a task; nothing where there is no such task or no
    /// plan to be read.
    pub fn status(&self, id: &str) -> Option<Status> {
        let plan = self.store().load().ok()?.plan;
        plan.task(&TaskId::new(id)).map(|task| task.status)
    }

    /// Returns the progress log, one entry a line.
    ///
    /// # Errors
    /// Returns a [`StateError`] where it cannot be read.
    pub fn progress(&self) -> Result<String, StateError> {
        let log = self.store().progress()?;
        Ok(log.entries().map(|entry| format!("{entry}\n")).collect())
    }
}

impl Drop for Replayed {
    fn drop(&mut self) {
        // A test that fails says more than what would be found here.
        if cfg!(debug_assertions) && !std::thread::panicking() {
            let differing = differing_replays(&self.0);
            debug_assert!(differing.is_empty(), "runs replay differently: {differing:#?}");
        }
    }
}

impl BenchBuilder {
    /// Adds a task to the plan.
    #[must_use]
    pub fn task(mut self, id: &str, title: &str) -> Self {
        self.plan.tasks.push(Task::new(TaskId::new(id), title));
        self
    }

    /// Gives the whole plan.
    #[must_use]
    pub fn plan(mut self, plan: Plan) -> Self {
        self.plan = plan;
        self
    }

    /// Gives the text of samuel.toml.
    #[must_use]
    pub fn config(self, text: impl Into<String>) -> Self {
        self.file(CONFIG_FILE, text)
    }

    /// Adds a file to the project, by its path below the root.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>, text: impl Into<String>) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Gives the clock; by default it is a [`VirtualClock`] that nobody moves,
    /// so that a handler that hangs does so for good.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Works by a methodology of the test's own instead of the built-in one.
    #[must_use]
    pub fn methodology(mut self, methodology: impl Methodology + 'static) -> Self {
        self.methodology = Some(Arc::new(methodology));
        self
    }

    /// Keeps state in the run directory, as real runs do. Other processes can
    /// change it then, and completions are told while the agent is at work.
    #[must_use]
    pub fn on_disk(mut self) -> Self {
        self.on_disk = true;
        self
    }

    /// Makes the bench.
    ///
    /// # Errors
    /// Returns a [`BenchError`] where the directory cannot be made, or
    /// samuel.toml or the plan is refused.
    pub fn build(self) -> Result<Bench, BenchError> {
        let directory = tempfile::Builder::new().prefix("samuel-bench-").tempdir()?;
        for (path, text) in &self.files {
            let path = directory.path().join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        let (root, clock) = (directory.path(), Arc::clone(&self.clock));
        let mut project = match self.methodology {
            Some(own) => Project::open_with(&[own], None, Caller::of_process(), root, clock)?,
            None => Project::open(root, None, clock)?,
        };
        if !self.on_disk {
            let lane = MemoryLane::new(project.run_dir(), Arc::clone(&self.clock));
            let store = MemoryStore::new(self.clock).silent().beside(&lane);
            project = project.with_plan_store(Arc::new(store)).with_lane_store(Arc::new(lane));
        }
        project.plan_store().import(self.plan, Actor::User, Existing::Refuse)?;
        Ok(Bench { runs: Replayed(project.clone()), directory, project })
    }
}

/// A bench that cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// Its directory cannot be made.
    #[error("the directory of the bench cannot be made")]
    Io(#[from] io::Error),
    /// Its samuel.toml is refused.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// Its plan is refused.
    #[error(transparent)]
    State(#[from] StateError),
}
