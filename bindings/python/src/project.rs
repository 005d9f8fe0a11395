//! A project: its plan, and the changes to it.
//!
//! Every change is the one that the command makes: atomic, under the lock,
//! written to the journal.

mod changing;

use std::{path::PathBuf, sync::Arc};

use pyo3::{
    Bound, PyAny, PyResult, Python, exceptions::PyValueError, pyclass, pymethods, types::PyAnyMethods,
};
use samuel_core::{
    broker::PlanAccess,
    clock::SystemClock,
    dialect::{EventType, NewHook, ScriptLanguage},
    engine::{LiveError, LiveRun, QueueList},
    git::Caller,
    history::{EntryFilter, History, HistoryError, WhyQuestion},
    hook::Registry,
    lifecycle::make_ready,
    methodology::Methodology,
    model::{ClaimTarget, Coded, ReleaseReason, Source, Status, Task},
    plan::{ListForm, TaskFilter, TaskList},
    prd::{self, Document},
    project::{ChangeOrigin, Initialised, NewPlan, PrdSource, Project, UpdateOptions, find_root},
    state::{
        HookLog, HookLogFilter, Learned, LearnedKind, Mutation, NewTask, Orphans, QueueOrder, StateError,
    },
};
use serde::Serialize;

use crate::{
    arguments::{existing, one_of, reading, task_id},
    convert::{from_python, to_python},
    error::{coded, raise},
    gate::detached,
    handler::{Registration, Shared, check_points},
    methodology::{Failed, PyMethodology},
    notifier::Notifier,
    options::supervisor_of,
    reply::Raised,
    run_log::{RunLog, RunTail},
    watching::Watching,
};

/// A project on disk.
#[pyclass(frozen, name = "Project", module = "samuel._samuel")]
pub(crate) struct PyProject(pub(crate) Project, Option<PyMethodology>, ChangeOrigin);

impl PyProject {
    /// Returns the project for one run, and what keeps its methodology from registering
    /// handlers, if that is written in Python.
    pub(crate) fn of_run(&self, py: Python<'_>, shared: &Shared) -> PyResult<(Project, Failed)> {
        let Some(methodology) = &self.1 else { return Ok((self.0.clone(), Failed::default())) };
        let (methodology, failed) = methodology.of_run(shared.clone());
        let project = self.0.clone().with_methodology(Arc::new(methodology));
        Ok((project.map_err(|error| raise(py, &error))?, failed))
    }

    /// Opens a run of the past, the last one where none is named.
    fn of_run_before<T: Send>(
        &self,
        py: Python<'_>,
        run: Option<&str>,
        open: impl FnOnce(&History, &str) -> T + Send,
    ) -> PyResult<T> {
        let history = History::of(&self.0);
        let opened = detached(py, || Ok::<_, HistoryError>(open(&history, &history.resolve(run)?)));
        opened.map_err(|error| raise(py, &error))
    }

    fn make_ready(
        &self,
        py: Python<'_>,
        plan: NewPlan,
        handlers: &[Registration],
        notifier: &Arc<Notifier>,
    ) -> PyResult<Initialised> {
        let (raised, supervisor) = (Raised::default(), supervisor_of(&[]));
        let shared = Shared { notifier: Arc::clone(notifier), raised, supervisor, env: Arc::default() };
        let mut registered = Registry::builder();
        handlers.iter().try_for_each(|handler| handler.register(py, &shared, &mut registered))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let made = detached(py, || {
            let made = runtime.block_on(make_ready(&self.0, plan, |registry| *registry = registered));
            runtime.shutdown_background();
            made
        });
        made.map_err(|error| raise(py, &error))
    }
}

/// Does something without the interpreter, and tells Python what came of it.
fn told<'py, T: Serialize + Send, E: Coded + Send>(
    py: Python<'py>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &detached(py, work).map_err(|error| raise(py, &error))?)
}

#[pymethods]
impl PyProject {
    #[new]
    fn new(
        py: Python<'_>,
        root: PathBuf,
        methodology: Option<Bound<'_, PyAny>>,
        methodologies: Vec<Bound<'_, PyAny>>,
        state_dir: Option<PathBuf>,
        env: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let clock = Arc::new(SystemClock::new());
        let mut named: Option<String> = methodology.as_ref().and_then(|given| given.extract().ok());
        let given = methodology.filter(|_| named.is_none());
        let is_given = given.is_some();
        let brought = given.iter().chain(&methodologies).map(PyMethodology::read);
        let brought = brought.collect::<PyResult<Vec<PyMethodology>>>()?;
        if is_given {
            named = brought.first().map(|own| own.name().to_owned());
        }
        let opened = detached(py, || {
            if brought.is_empty() {
                return Project::open(root, named.as_deref(), clock);
            }
            let all: Vec<Arc<dyn Methodology>> =
                brought.iter().map(|own| Arc::new(own.clone()) as Arc<dyn Methodology>).collect();
            Project::open_with(&all, named.as_deref(), Caller::of_process(), root, clock)
        });
        let opened = opened.map_err(|error| raise(py, &error))?;
        let brought = brought.into_iter().find(|own| own.name() == opened.methodology());
        let var = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        Ok(Self(opened.keeping_plans_in(state_dir), brought, ChangeOrigin::of_env(var)))
    }

    /// Opens a project to read what happened in it or to speak with its loop, also without its samuel.toml.
    #[staticmethod]
    fn open_to_look(
        py: Python<'_>,
        root: PathBuf,
        methodology: Option<String>,
        state_dir: Option<PathBuf>,
        env: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let clock = Arc::new(SystemClock::new());
        let caller = Caller::of_process();
        let opened = detached(py, || Project::open_to_look(caller, root, methodology.as_deref(), clock));
        let opened = opened.map_err(|error| raise(py, &error))?;
        let var = |name: &str| env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        Ok(Self(opened.keeping_plans_in(state_dir), None, ChangeOrigin::of_env(var)))
    }

    /// Why it was opened without its samuel.toml, or without its methodology.
    #[getter]
    fn problem(&self) -> Option<String> {
        self.0.problem().map(|problem| problem.to_string())
    }

    #[staticmethod]
    fn find_root(start: PathBuf) -> Option<PathBuf> {
        find_root(&start)
    }

    #[getter]
    fn root(&self) -> PathBuf {
        self.0.root().to_owned()
    }

    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    #[getter]
    fn methodology(&self) -> &str {
        self.0.methodology()
    }

    #[getter]
    fn run_dir(&self) -> PathBuf {
        self.0.run_dir().path().to_owned()
    }

    /// The names of the plugins that samuel.toml lists, in order.
    #[getter]
    fn listed_plugins(&self) -> Vec<String> {
        self.0.config().plugins.iter().map(|plugin| plugin.name.clone()).collect()
    }

    /// Makes a plan, and samuel.toml where there is none, with the points around it.
    fn init<'py>(
        &self,
        py: Python<'py>,
        prd: Option<PathBuf>,
        force: bool,
        format: Option<&str>,
        allow_empty: bool,
        handlers: Vec<Registration>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = reading(format, allow_empty)?;
        check_points(py, &handlers)?;
        let notifier = Notifier::start(py)?;
        let plan = NewPlan { prd, existing: existing(force), reading };
        let made = self.make_ready(py, plan, &handlers, &notifier);
        notifier.end();
        to_python(py, &made?)
    }

    fn convert<'py>(
        &self,
        py: Python<'py>,
        prd: PathBuf,
        force: bool,
        format: Option<&str>,
        allow_empty: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = reading(format, allow_empty)?;
        told(py, || self.0.convert_prd_as(&prd, existing(force), reading))
    }

    /// Shows the plan that a PRD would become.
    fn preview_prd<'py>(
        &self,
        py: Python<'py>,
        prd: PathBuf,
        force: bool,
        format: Option<&str>,
        allow_empty: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reading = reading(format, allow_empty)?;
        told(py, || self.0.preview_prd(&prd, existing(force), reading))
    }

    #[staticmethod]
    fn forms(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        to_python(py, &prd::forms())
    }

    /// Returns the same project with a copy of its plan in memory.
    fn in_memory(&self, py: Python<'_>) -> Self {
        Self(detached(py, || self.0.clone().in_memory()), self.1.clone(), self.2.clone())
    }

    /// Reads which hooks were called.
    fn hook_log<'py>(
        &self,
        py: Python<'py>,
        id: Option<String>,
        point: Option<String>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        told(py, || HookLog::read(&self.0.run_dir(), &HookLogFilter { id, point, limit }))
    }

    /// Writes a new repository hook.
    #[allow(clippy::too_many_arguments, reason = "they are keyword arguments in Python")]
    fn scaffold_hook<'py>(
        &self,
        py: Python<'py>,
        id: String,
        event_type: &str,
        summary: String,
        blocking: bool,
        ability_scope: Vec<String>,
        min_duration_ms: u64,
        only_if_changed_paths: Vec<String>,
        language: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let event_type = EventType::named(event_type)
            .ok_or_else(|| one_of("event_type", event_type, &EventType::ALL.map(EventType::as_str)))?;
        let language = ScriptLanguage::named(language)
            .ok_or_else(|| one_of("language", language, &ScriptLanguage::ALL.map(ScriptLanguage::as_str)))?;
        let hook = NewHook {
            summary,
            blocking,
            ability_scope,
            min_duration_ms,
            only_if_changed_paths,
            language,
            ..NewHook::new(id, event_type)
        };
        told(py, || hook.write(self.0.root()))
    }

    fn kept_plans<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || self.0.kept_plans())
    }

    fn stale_templates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || self.0.stale_templates())
    }

    fn export_templates(&self, py: Python<'_>, force: bool) -> PyResult<Vec<PathBuf>> {
        detached(py, || self.0.export_templates(existing(force))).map_err(|error| raise(py, &error))
    }

    fn restore<'py>(&self, py: Python<'py>, number: Option<u64>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || self.0.restore_plan(number))
    }

    fn tasks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || self.0.plan_store().load().map(|loaded| loaded.plan.tasks.clone()))
    }

    fn task<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        told(py, || {
            let plan = self.0.plan_store().load()?.plan;
            plan.task(&id).cloned().ok_or_else(|| StateError::no_task(&plan, &id))
        })
    }

    /// Lists tasks: those that stand somewhere, or are ready, as a tree or flat.
    fn task_list<'py>(
        &self,
        py: Python<'py>,
        status: Vec<String>,
        ready: bool,
        limit: Option<usize>,
        flat: bool,
        source: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sources = source.iter().map(|word| word.parse::<Source>()).collect::<Result<Vec<_>, _>>();
        let sources = sources.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let statuses = status.iter().map(|word| word.parse::<Status>()).collect::<Result<Vec<_>, _>>();
        let statuses = statuses.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let form = if flat { ListForm::Flat } else { ListForm::Tree };
        let filter = TaskFilter { statuses, sources, ready, limit, form };
        told(py, || {
            let plan = self.0.plan_store().load()?.plan;
            Ok::<_, StateError>(TaskList::among(&plan, &filter, &self.0.work_under_way(&plan)?))
        })
    }

    fn task_history<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        told(py, || History::of(&self.0).task(&id))
    }

    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || self.0.status())
    }

    /// Lists the runs that are recorded.
    fn runs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || History::of(&self.0).runs())
    }

    /// Reads all of a run.
    fn run_history<'py>(&self, py: Python<'py>, run: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let history = History::of(&self.0);
        told(py, || history.run(&history.resolve(run)?))
    }

    /// Reads the events of a run.
    fn run_log(
        &self,
        py: Python<'_>,
        run: Option<&str>,
        iteration: Option<u32>,
        task: Option<&str>,
    ) -> PyResult<RunLog> {
        let filter = EntryFilter { iteration, task: task.map(|id| task_id(py, id)).transpose()? };
        Ok(RunLog::of(self.of_run_before(py, run, History::entries)?, filter))
    }

    /// Follows the events of a run.
    fn run_tail(
        &self,
        py: Python<'_>,
        run: Option<&str>,
        iteration: Option<u32>,
        task: Option<&str>,
    ) -> PyResult<RunTail> {
        let filter = EntryFilter { iteration, task: task.map(|id| task_id(py, id)).transpose()? };
        RunTail::of(self.of_run_before(py, run, History::tail)?, filter)
    }

    /// Answers a question: about what is next, a task, the last check, a run or a handler.
    fn why<'py>(&self, py: Python<'py>, about: &str, id: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let question = match (about, id) {
            ("next", None) => WhyQuestion::Next,
            ("check", None) => WhyQuestion::Check,
            ("run", id) => WhyQuestion::Run(id.map(str::to_owned)),
            ("task", Some(id)) => WhyQuestion::Task(task_id(py, id)?),
            ("handler", Some(id)) => WhyQuestion::Handler(id.to_owned()),
            _ => return Err(one_of("about", about, &["next", "check", "run", "task", "handler"])),
        };
        told(py, || History::of(&self.0).why(&question))
    }

    /// Says what the last runs did.
    fn activity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || History::of(&self.0).activity())
    }

    /// Puts a page of a run together.
    fn run_page<'py>(&self, py: Python<'py>, run: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
        let history = History::of(&self.0);
        told(py, || history.report(&history.resolve(run)?))
    }

    /// Writes a page of a run, as HTML or Markdown.
    fn run_report(&self, py: Python<'_>, run: Option<&str>, html: bool) -> PyResult<String> {
        let history = History::of(&self.0);
        let page =
            detached(py, || history.report(&history.resolve(run)?)).map_err(|error| raise(py, &error))?;
        Ok(if html { page.to_html() } else { page.to_markdown() })
    }

    fn progress(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let log = detached(py, || self.0.plan_store().progress()).map_err(|error| raise(py, &error))?;
        Ok(log.entries().map(ToString::to_string).collect())
    }

    fn learn(&self, py: Python<'_>, text: &str, kind: &str) -> PyResult<()> {
        let kinds = LearnedKind::ALL.iter().map(|known| known.as_str()).collect::<Vec<_>>();
        let kind = kind.parse::<LearnedKind>().map_err(|_| one_of("kind", kind, &kinds))?;
        let learned = Learned::new(kind, text).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let plan = PlanAccess::from(self.0.clone());
        detached(py, || plan.learn(&learned, &self.2)).map_err(|error| raise(py, &error))
    }

    fn done<'py>(
        &self,
        py: Python<'py>,
        id: &str,
        commit_sha: Option<String>,
        iteration: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        let iteration = iteration.or_else(|| self.2.iteration());
        self.change(py, Mutation::Done { id, commit_sha, iteration })
    }

    fn skip<'py>(&self, py: Python<'py>, id: &str, reason: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        self.change(py, Mutation::Skip { id, reason })
    }

    fn reset<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        let id = task_id(py, id)?;
        self.change(py, Mutation::Reset { id })
    }

    /// Gives back a task or role that somebody has claimed.
    fn release<'py>(&self, py: Python<'py>, of: &str, reason: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        let of: ClaimTarget = of.parse().map_err(|error: samuel_core::model::InvalidTask| {
            coded(py, samuel_core::model::ErrorCode::TASK_INVALID, &error.to_string())
        })?;
        self.changed(py, || {
            let plan = self.0.plan_store().load()?.plan;
            self.apply(Mutation::release(&plan, &of, ReleaseReason::Asked { reason })?)
        })
    }

    /// Says what waits to be landed, and why.
    fn queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        told(py, || {
            let live = LiveRun::find(&self.0, &self.2, self.asker().name.unwrap_or_default());
            let live = live.ok().and_then(|run| run.look().ok());
            QueueList::of(&self.0, live.as_ref())
        })
    }

    fn hold<'py>(&self, py: Python<'py>, id: &str, reason: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        self.order(py, id, QueueOrder::Hold { reason })
    }

    fn unhold<'py>(&self, py: Python<'py>, id: &str) -> PyResult<Bound<'py, PyAny>> {
        self.order(py, id, QueueOrder::Release)
    }

    fn drop<'py>(&self, py: Python<'py>, id: &str, reason: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        self.order(py, id, QueueOrder::Drop { reason })
    }

    /// Adds a task: with an id of its own if it has one, else with the next.
    fn enqueue<'py>(&self, py: Python<'py>, task: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let refused = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
        if !task.contains("id")? {
            let task: NewTask = from_python(task).map_err(|error| refused(&error))?;
            return self.change(py, Mutation::Enqueue { task });
        }
        let task: Task = from_python(task).map_err(|error| refused(&error))?;
        task_id(py, task.id.as_str())?;
        self.change(py, Mutation::Add { task: Box::new(task) })
    }

    /// Asks something of the run of the project that is under way in another process, and returns what
    /// it does.
    fn command<'py>(
        &self,
        py: Python<'py>,
        verb: &str,
        text: Option<String>,
        call: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        const VERBS: [&str; 8] = ["look", "pause", "resume", "steer", "cancel", "stop", "approve", "deny"];
        if !VERBS.contains(&verb) {
            return Err(one_of("verb", verb, &VERBS));
        }
        let by = self.asker().name.unwrap_or_default();
        told(py, || {
            let (run, text) = (LiveRun::find(&self.0, &self.2, by)?, text.as_deref());
            match verb {
                "pause" => run.pause(),
                "resume" => run.resume(text),
                "steer" => run.steer(text.unwrap_or_default()),
                "cancel" => run.cancel(),
                "stop" => run.stop(),
                "approve" => run.approve(call, text),
                "deny" => run.deny(call, text),
                _ => run.look(),
            }
        })
    }

    /// Begins to watch the run of the project that is under way in another process.
    fn attach(&self, py: Python<'_>) -> PyResult<Watching> {
        let by = self.asker().name.unwrap_or_default();
        let attached = detached(py, || LiveRun::find(&self.0, &self.2, by)?.attach());
        let attached = attached.map_err(|error: LiveError| raise(py, &error))?;
        Ok(Watching::begin(attached, Notifier::start(py)?)?)
    }

    /// Makes any change, as the dictionary that the journal has of it, and returns its
    /// number and the task that it is about.
    fn mutate<'py>(
        &self,
        py: Python<'py>,
        mutation: &Bound<'py, PyAny>,
    ) -> PyResult<(u64, Bound<'py, PyAny>)> {
        let mutation: Mutation =
            from_python(mutation).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let applied = detached(py, || self.apply(mutation));
        let applied = applied.map_err(|error| raise(py, &error))?;
        changing::warn_of_unlanded(py, &applied)?;
        Ok((applied.revision, to_python(py, &applied.task)?))
    }

    /// Brings the plan up to date with a PRD: a file, or the text of one.
    #[expect(clippy::too_many_arguments, reason = "they are the ones of the function in Python")]
    fn update<'py>(
        &self,
        py: Python<'py>,
        prd: Option<PathBuf>,
        text: Option<String>,
        prune: bool,
        dry_run: bool,
        take_other: bool,
        format: Option<&str>,
        allow_empty: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let orphans = if prune { Orphans::Remove } else { Orphans::Keep };
        let reading = reading(format, allow_empty)?;
        let options = UpdateOptions { orphans, dry_run, take_other, reading };
        let updated = detached(py, || {
            let text = Document::new("the PRD", text.unwrap_or_default());
            let source = prd.as_deref().map_or(PrdSource::Text(&text), PrdSource::File);
            self.0.update_prd(source, options, &self.asker())
        });
        to_python(py, &updated.map_err(|error| raise(py, &error))?)
    }
}
