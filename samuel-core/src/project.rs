//! A project on disk: where its configuration and state are.
//!
//! A [`Project`] is opened at its root ([`find_root`] looks for one) and gives
//! the configuration, the run directory and the store. It can be
//! given a [plan](Project::make_plan), take over the tasks of a
//! [PRD](Project::convert_prd) and say [where it stands](Project::status);
//! running its loop is the [engine's](crate::engine).
//!
//! ```
//! use samuel_core::{project::Project, state::Existing};
//! use std::path::Path;
//!
//! let directory = tempfile::tempdir()?;
//! std::fs::write(directory.path().join("prd.md"), "# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n")?;
//! let project = Project::at(directory.path())?;
//! project.convert_prd(&directory.path().join("prd.md"), Existing::Refuse)?;
//! assert_eq!(project.status()?.tasks.pending, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attempts;
mod clean;
mod error;
mod history;
mod init;
mod locate;
mod methodology;
mod origin;
mod other_plans;
mod places;
mod plan_diff;
mod status;
mod templates;
mod unmerged;
mod update;
mod upkeep;

pub use attempts::{Attempt, AttemptEnd};
pub use clean::CleanedRecords;
pub use error::ProjectError;
pub(crate) use history::commits;
pub use history::{HistoryChange, RelatedTask, RelatedTasks, TaskHistory};
pub use init::{ConvertedPrd, Initialised, NewPlan, PrdOptions, PrdPreview};
pub use locate::find_root;
pub use origin::ChangeOrigin;
pub use other_plans::OtherPlan;
pub(crate) use places::name_places;
pub use plan_diff::{FieldDiff, TaskDiff};
pub use status::{NextStep, OpenQuestion, ProjectStatus};
pub(crate) use status::{ProjectStanding, pilot_of};
pub(crate) use unmerged::last_landing;
pub use update::{PrdSource, UpdateOptions, UpdatedPrd};

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    clock::{Clock, SystemClock},
    config::{CONFIG_FILE, Config, ConfigError, MethodologySettings},
    context::template::TemplatePlace,
    git::{Caller, OwnerError},
    hook::{ChainSpec, HookPoint, Registry, RegistryBuilder, RegistryError},
    methodology::Methodology,
    plugin::LOCK_FILE,
    state::{LaneStore, MemoryLane, MemoryStore, PlanStore, RunDir, Stores},
};

use methodology::{InUse, Purpose};

/// A project: its root, its configuration and the methodology in use.
#[derive(Clone, Debug)]
pub struct Project {
    root: PathBuf,
    config: Config,
    methodology: InUse,
    clock: Arc<dyn Clock>,
    caller: Caller,
    state_dir: StateDir,
    stores: Stores,
    /// Whether nothing is to be left of what is done.
    is_in_memory: bool,
    /// Why it was opened without its samuel.toml, or without its methodology.
    problem: Option<Arc<ProjectError>>,
}

/// Where the last plans of a project are kept.
#[derive(Clone, Debug)]
enum StateDir {
    /// Nobody asked for it.
    Unasked,
    /// Somebody did, but knows no place for it.
    Unknown,
    At(PathBuf),
}

impl Project {
    /// Opens the project at a root with its default methodology and the system's
    /// clock.
    ///
    /// # Errors
    /// As [`Project::open_for`].
    pub fn at(root: impl Into<PathBuf>) -> Result<Self, ProjectError> {
        Self::open(root, None, Arc::new(SystemClock::new()))
    }

    /// Opens the project at a root, an absolute directory, for the user this
    /// process runs as. See [`Project::open_for`].
    ///
    /// # Errors
    /// As [`Project::open_for`].
    pub fn open(
        root: impl Into<PathBuf>,
        methodology: Option<&str>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        Self::open_for(Caller::of_process(), root, methodology, clock)
    }

    /// Opens the project at a root, an absolute directory, for somebody.
    ///
    /// The methodology is the given one, else the configured default: the one
    /// that is built in, or one that an installed plugin provides.
    ///
    /// # Errors
    /// Returns [`ProjectError::Owner`] for a project that belongs to another user
    /// whom the caller does not trust, or whose samuel.toml, samuel.lock or
    /// `.samuel` does,
    /// [`ProjectError::Config`] where samuel.toml cannot be used or
    /// configures a methodology that does not exist,
    /// [`ProjectError::Methodology`] where the one to use does not exist, and
    /// [`ProjectError::Plugin`] where the plugin that may provide it cannot be
    /// used.
    pub fn open_for(
        caller: Caller,
        root: impl Into<PathBuf>,
        methodology: Option<&str>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        Self::opened(caller, root.into(), clock, Config::load, |root, config| {
            InUse::find(root, methodology, config, Purpose::Loop)
        })
    }

    /// Opens the project at a root, an absolute directory, for somebody who reads or changes its
    /// plan and runs no loop, such as an agent that records a task.
    ///
    /// A methodology that samuel.toml names and that is not here, since the program that runs the
    /// loop brings it, is known by its name; its settings are those of the one that is built in.
    ///
    /// # Errors
    /// As [`Project::open_for`], but for methodologies that samuel.toml names.
    pub fn open_for_plan(
        caller: Caller,
        root: impl Into<PathBuf>,
        methodology: Option<&str>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        Self::opened(caller, root.into(), clock, Config::load, |root, config| {
            InUse::find(root, methodology, config, Purpose::Plan)
        })
    }

    /// Opens the project at a root, an absolute directory, for somebody who looks at how it stands.
    ///
    /// A methodology that samuel.toml names and that is not here is taken for one that a program
    /// brings, unless it looks like a mistyped name; see
    /// [`brings_no_methodology`](Self::brings_no_methodology).
    ///
    /// # Errors
    /// As [`Project::open_for`], but for such methodologies.
    pub fn open_for_checkup(
        caller: Caller,
        root: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        let root = root.into();
        match Self::open_for(caller.clone(), &*root, None, Arc::clone(&clock)) {
            // Of another one a table of a methodology that is not here keeps every loop from starting.
            Err(error) if error.may_be_of_a_program() => {
                match Self::open_for_plan(caller, root, None, clock) {
                    Ok(project) if project.brings_no_methodology() => Ok(project),
                    _ => Err(error),
                }
            }
            opened => opened,
        }
    }

    /// Opens the project at a root, an absolute directory, for somebody who reads what happened in it or speaks with its
    /// loop, also where its samuel.toml cannot be used any more, such as after an agent has changed it.
    ///
    /// Where [`open_for_plan`](Self::open_for_plan) says no, or the default methodology is neither here nor that of the
    /// plan, the defaults stand in for samuel.toml, and the plan that
    /// is there says its methodology. [`problem`](Self::problem) then says what is wrong, and no run can be made.
    ///
    /// # Errors
    /// Returns [`ProjectError::Owner`] as [`Project::open_for`] does, and what is wrong where a methodology is named
    /// that is not built in and has no plan here.
    pub fn open_to_look(
        caller: Caller,
        root: impl Into<PathBuf>,
        methodology: Option<&str>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        let root = root.into();
        let opened = match Self::open_for_plan(caller.clone(), &*root, methodology, Arc::clone(&clock)) {
            // The plan that is here is another one's than samuel.toml says.
            Ok(project) if methodology.is_none() && project.methodology.has_no_plan(&root) => {
                Self::open_for(caller.clone(), &*root, None, Arc::clone(&clock))
            }
            opened => opened,
        };
        let problem = match opened {
            Err(problem) if !matches!(problem, ProjectError::Owner(_)) => problem,
            opened => return opened,
        };
        let Some(in_use) = InUse::of_plan(&root, methodology) else { return Err(problem) };
        let configured = |_: &Path| Ok(Config::default());
        let project = Self::opened(caller, root, clock, configured, |_, _| Ok(in_use))?;
        Ok(Self { problem: Some(Arc::new(problem)), ..project })
    }

    /// Returns why the project was opened without its samuel.toml, or without its methodology; nothing where it was
    /// not.
    pub fn problem(&self) -> Option<&Arc<ProjectError>> {
        self.problem.as_ref()
    }

    /// Says whether the program that brings the methodology in use is another one than this: no loop
    /// can be run here.
    pub fn brings_no_methodology(&self) -> bool {
        self.methodology.is_elsewhere()
    }

    /// Opens the project at a root, an absolute directory, for somebody who replaces its
    /// samuel.toml: what that holds does not count.
    ///
    /// # Errors
    /// Returns [`ProjectError::Owner`] as [`Project::open_for`] does.
    pub fn open_to_configure(
        caller: Caller,
        root: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        let configured = |_: &Path| Ok(Config::default());
        Self::opened(caller, root.into(), clock, configured, |root, config| {
            InUse::find(root, None, config, Purpose::Loop)
        })
    }

    /// Opens the project at a root, an absolute directory, for somebody, to be worked
    /// on by one of the methodologies that the program brings.
    ///
    /// It is the one that is named, which may also be the built-in one; else the configured default,
    /// where the program brings that; else the first.
    ///
    /// # Errors
    /// As [`Project::open_for`], and [`ProjectError::MethodologyName`] for a name or an
    /// alias that none can have, or that two have.
    pub fn open_with(
        methodologies: &[Arc<dyn Methodology>],
        methodology: Option<&str>,
        caller: Caller,
        root: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ProjectError> {
        let in_use = |_: &Path, config: &Config| InUse::among(methodologies, methodology, config);
        Self::opened(caller, root.into(), clock, Config::load, in_use)
    }

    /// Works by a methodology that the program brings, in place of the one that the project
    /// was opened with.
    ///
    /// # Errors
    /// As [`Project::open_with`], but for what concerns the files.
    pub fn with_methodology(self, methodology: Arc<dyn Methodology>) -> Result<Self, ProjectError> {
        let methodology = InUse::among(&[methodology], None, &self.config)?;
        Ok(Self { methodology, ..self }.in_its_run_dir())
    }

    fn opened(
        caller: Caller,
        root: PathBuf,
        clock: Arc<dyn Clock>,
        config: impl FnOnce(&Path) -> Result<Config, ConfigError>,
        methodology: impl FnOnce(&Path, &Config) -> Result<InUse, ProjectError>,
    ) -> Result<Self, ProjectError> {
        Self::check_owner(&caller, &root)?;
        let config = config(&root)?;
        let methodology = methodology(&root, &config)?;
        let stores = Stores::in_files(RunDir::new(&root), methodology.name(), Arc::clone(&clock), None);
        let state_dir = StateDir::Unasked;
        let (is_in_memory, problem) = (false, None);
        Ok(Self { root, config, methodology, clock, caller, state_dir, stores, is_in_memory, problem }
            .in_its_run_dir())
    }

    /// Refuses a project of another user, as [`open_for`](Self::open_for) does.
    ///
    /// # Errors
    /// Returns an [`OwnerError`] that names what belongs to somebody else.
    pub fn check_owner(caller: &Caller, root: &Path) -> Result<(), OwnerError> {
        caller.check(root, &[CONFIG_FILE, LOCK_FILE, ".samuel"])
    }

    /// Returns for whom it was opened.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Keeps the last plans of the project below a directory outside of its work
    /// tree, which is the user's alone, and what a run under way saved last. By default
    /// nothing is kept; without a directory neither, and a start says so.
    #[must_use]
    pub fn keeping_plans_in(mut self, state_dir: Option<PathBuf>) -> Self {
        self.state_dir = state_dir.map_or(StateDir::Unknown, StateDir::At);
        self.in_its_run_dir()
    }

    /// Keeps the plan elsewhere than in the run directory.
    #[must_use]
    pub fn with_plan_store(self, plan: Arc<dyn PlanStore>) -> Self {
        Self { stores: self.stores.clone().with_plan(plan), is_in_memory: false, ..self }
    }

    /// Keeps elsewhere what this machine needs to carry on.
    #[must_use]
    pub fn with_lane_store(self, lane: Arc<dyn LaneStore>) -> Self {
        Self { stores: self.stores.clone().with_lane(lane), is_in_memory: false, ..self }
    }

    /// Returns the project with a copy of its plan in memory, so that what is changed there and
    /// what handlers note leaves nothing behind. A plan that cannot be read is none. Blocks while
    /// it is read.
    #[must_use]
    pub fn in_memory(self) -> Self {
        // Whoever has the copy already is to see what is done to it.
        if self.is_in_memory {
            return self;
        }
        let plan = match self.plan_store().load() {
            Ok(loaded) => MemoryStore::holding(loaded, self.clock()),
            Err(_) => MemoryStore::new(self.clock()).silent(),
        };
        let lane = MemoryLane::new(self.run_dir(), self.clock());
        let project = self.with_plan_store(Arc::new(plan.beside(&lane))).with_lane_store(Arc::new(lane));
        Self { is_in_memory: true, ..project }
    }

    /// Says whether nothing is to be left of what is done.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    /// Takes the run directory in which the methodology has its plan, or would have it.
    fn in_its_run_dir(self) -> Self {
        let is_default = self.has_default_methodology();
        let dir = RunDir::of_plan(&self.root, self.methodology(), is_default, self.state_dir());
        let files = Stores::in_files(dir, self.methodology(), self.clock(), self.state_dir());
        Self { stores: self.stores.clone().with_files_of(files), ..self }
    }

    /// Returns the directory outside of the work tree where plans are kept, if one is known.
    pub(crate) fn state_dir(&self) -> Option<&Path> {
        match &self.state_dir {
            StateDir::At(state_dir) => Some(state_dir),
            StateDir::Unasked | StateDir::Unknown => None,
        }
    }

    /// What to do where no plan can be kept outside of the work tree.
    pub(crate) const KEEP_PLANS: &str =
        "Set HOME, or name a directory that can be written to with SAMUEL_STATE_DIR.";

    /// Says why no plan can be kept outside of the work tree; nothing where it can be,
    /// or where nobody asked for it. Writes nothing.
    pub fn cannot_keep_plans(&self) -> Option<String> {
        match &self.state_dir {
            StateDir::Unasked => None,
            StateDir::Unknown => {
                Some("no plan is kept outside of the work tree: no directory for it is known".to_owned())
            }
            StateDir::At(_) => self.stores.plan_files()?.cannot_keep(),
        }
    }

    /// Returns the root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the same project with another configuration, such as one that is
    /// about to be written.
    pub(crate) fn with_config(&self, config: Config) -> Self {
        Self { config, ..self.clone() }.in_its_run_dir()
    }

    /// Returns the name of the methodology in use.
    pub fn methodology(&self) -> &str {
        self.methodology.name()
    }

    /// Says whether the methodology in use is the default one, which a command means that names none.
    pub fn has_default_methodology(&self) -> bool {
        self.methodology.is_called(&self.config.default_methodology)
    }

    /// Returns who provides the methodology in use: `built-in`, `program` or a
    /// plugin's name.
    pub fn methodology_source(&self) -> &str {
        self.methodology.source()
    }

    /// Returns the settings of the methodology in use.
    pub fn settings(&self) -> MethodologySettings {
        self.methodology.settings(&self.config)
    }

    /// Returns the methodology whose handlers a run has.
    pub(crate) fn base(&self) -> &dyn Methodology {
        self.methodology.base()
    }

    /// Returns the places of the prompt templates that come before the built-in
    /// ones, the project's own first.
    pub(crate) fn templates(&self) -> Vec<TemplatePlace> {
        self.methodology.templates(&self.root)
    }

    /// Returns the directories that these places are, or were read from.
    pub(crate) fn template_directories(&self) -> Vec<PathBuf> {
        self.templates().iter().map(|place| place.path("")).collect()
    }

    /// Puts the chains of points in order as the project configures them.
    ///
    /// # Errors
    /// Returns a [`ConfigError`] at its place where samuel.toml is to blame,
    /// and a [`RegistryError`] where the handlers are.
    pub(crate) fn registry<E: From<ConfigError> + From<RegistryError>>(
        &self,
        handlers: RegistryBuilder,
        points: &[HookPoint],
    ) -> Result<Registry, E> {
        let chain = |point: &HookPoint| (*point, self.methodology.chain(*point, &self.config));
        let specs: BTreeMap<HookPoint, ChainSpec> = points.iter().map(chain).collect();
        handlers.build(&specs).map_err(|error| match &error {
            RegistryError::Resolve(resolve) => {
                self.config.locate(self.methodology(), resolve).map_or_else(|| error.into(), E::from)
            }
            _ => error.into(),
        })
    }

    /// Returns the clock.
    pub fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns this machine's directory: `.samuel/run`, or below it one of the methodology's
    /// own where that is another one's ([`RunDir::of_plan`]).
    pub fn run_dir(&self) -> RunDir {
        self.stores.dir().clone()
    }

    /// Returns where the plan is.
    pub fn plan_store(&self) -> Arc<dyn PlanStore> {
        self.stores.plan()
    }

    /// Returns where this machine keeps what it needs to carry on.
    pub fn lane_store(&self) -> Arc<dyn LaneStore> {
        self.stores.lane()
    }

    /// Returns the project's name: the configured one, else the directory's.
    pub fn name(&self) -> String {
        match self.config.project_name.trim() {
            "" => self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            name => name.to_owned(),
        }
    }
}
