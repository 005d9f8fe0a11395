//! The hooks of a project beside any run: listed, shown and tried out.
//!
//! [`Hooks`] has the chains of a run that is never started. What handlers of its own do to the
//! plan is done to a copy in memory, and nothing is written to the run directory; what commands of
//! hooks do, they do.
//!
//! ```
//! use samuel_core::{engine::Run, hook::{Call, HookPoint, points}, model::payload::AfterIterationOutput, testing::Bench};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let bench = Bench::with_tasks(&[("1", "Greet the world")])?;
//! let note = async |call: Call<points::AfterIteration>| {
//!     call.warn(format!("iteration {}", call.input().iteration));
//!     Ok::<_, samuel_core::hook::HookFailure>(AfterIterationOutput::default())
//! };
//! let hooks = Run::builder(bench.project().clone()).hook::<points::AfterIteration, _>("note", note).hooks()?;
//! assert_eq!(hooks.list().hooks[0].id, "api:note");
//! let point = hooks.find("api:note", None)?;
//! let trial = hooks.test(point, "api:note", Some(serde_json::json!({ "iteration": 7 }))).await?;
//! assert_eq!(trial.warnings[0].message, "iteration 7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{collections::BTreeSet, path::Path, sync::Arc};

use samuel_contract::nearest;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    builder::RunBuilder,
    error::RunError,
    hook_list::HookList,
    hook_report::{HandlerReport, HookReport, PointReport, SkippedReport},
    hook_trial::{HookFiring, HookTrial},
    run::Run,
    services::Contexts,
    turn_place::TurnPlace,
};
use crate::{
    context::ContextView,
    dialect::EventType,
    hook::{
        CallScope, DEFAULT_ID, Exchanges, HookFailure, HookPoint, Launch, Registered, Registry, Tier,
        owner_of,
    },
    model::{
        Coded, ErrorCode, Plan, Remedy, TaskId,
        payload::{Mode, Turn},
    },
    plugin::sample_text,
    trust::{ExecutableKind, Executables},
};

/// In whose place a run stands that there is not.
const NO_RUN: &str = "trial";

/// The hooks of a project, beside any run.
#[derive(Debug)]
pub struct Hooks {
    run: Run,
    plan: Arc<Plan>,
    /// What prompts would be made of.
    contexts: Contexts,
}

/// A hook at each point that it answers at.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ShownHooks {
    /// The handler's id.
    pub id: String,
    /// How it stands at each point.
    pub hooks: Vec<ShownHook>,
}

/// A handler of a point, as it is shown.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ShownHook {
    /// The hook point.
    pub point: HookPoint,
    /// How it runs; nothing where it does not.
    pub runs: Option<HandlerReport>,
    /// Why it does not run; nothing where it does.
    pub skipped: Option<SkippedReport>,
    /// What it starts for a sample of the point's input, as it is started, where that was asked for
    /// and it starts a process.
    pub launch: Option<Launch>,
}

/// Why a hook cannot be shown or tried out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HooksError {
    /// No handler has that id.
    #[error("there is no hook \"{id}\"")]
    Unknown {
        /// The id as it was given.
        id: String,
        /// The nearest id, where one is near.
        nearest: Option<String>,
        /// The ids there are.
        known: Vec<String>,
    },
    /// The file that the hook would be in cannot be used.
    #[error("the hook \"{id}\" cannot be used: {problem}")]
    Unusable {
        /// The id as it was given.
        id: String,
        /// What is wrong, with its place.
        problem: String,
        /// What to do about it.
        help: Remedy,
    },
    /// The handler answers at several points, or not at the one that was named.
    #[error("{id} answers at {}", .points.iter().map(|point| point.as_str()).collect::<Vec<_>>().join(", "))]
    Points {
        /// The handler's id.
        id: String,
        /// The points that it answers at.
        points: Vec<HookPoint>,
    },
    /// The handler does not run.
    #[error("{id} does not run at {point}: {why}")]
    Skipped {
        /// The handler's id.
        id: String,
        /// The point.
        point: HookPoint,
        /// Why it does not run.
        why: String,
    },
    /// The default of `agent.invoke` would answer, which calls the agent.
    #[error("the handler that runs at agent.invoke is the default, which calls the agent")]
    Agent,
    /// What was given as the event is not the point's input.
    #[error("this is no input of {point}: {problem}")]
    Event {
        /// The point.
        point: HookPoint,
        /// What is wrong.
        problem: String,
    },
}

impl Coded for HooksError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } | Self::Unusable { .. } => ErrorCode::HOOK_UNKNOWN,
            Self::Points { .. } | Self::Agent | Self::Event { .. } => ErrorCode::USAGE,
            Self::Skipped { .. } => ErrorCode::HOOK_REFUSED,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Unknown { nearest, known, .. } => {
                let nearest =
                    nearest.as_ref().map(|id| format!("Did you mean \"{id}\"? ")).unwrap_or_default();
                let known = match known.as_slice() {
                    [] => "There are no hooks.".to_owned(),
                    known => format!("The hooks are {}.", known.join(", ")),
                };
                format!("{nearest}{known}").into()
            }
            Self::Unusable { help, .. } => help.clone(),
            Self::Points { .. } => "Name one of these points.".into(),
            Self::Skipped { .. } => "Change the chain in samuel.toml, or fire another hook.".into(),
            Self::Agent => "Try the agent out in a run of one iteration.".into(),
            Self::Event { point, .. } => {
                let fields: Vec<&str> = point.input_fields().iter().map(|field| field.name).collect();
                format!("The input of {point} has {}.", fields.join(", ")).into()
            }
        }
    }
}

impl RunBuilder {
    /// Puts the chains in order, for whoever lists hooks or tries them out beside any run. The
    /// agent need not be there. Blocks while the plan is read.
    ///
    /// # Errors
    /// Returns a [`RunError`] where a template or the handlers of a point cannot be used.
    pub fn hooks(self) -> Result<Hooks, RunError> {
        Ok(self.in_memory().build_idle()?.0.hooks())
    }
}

impl Run {
    /// Lists the hooks: every handler that is not built in.
    pub fn hook_list(&self) -> HookList {
        let project = &self.frozen.project;
        let report = HookReport::new(&self.registry, project.config(), project.methodology());
        HookList::of(&report.chains, &self.registry)
    }

    /// Returns the hooks of the run, which is not started. What they do to the plan is done to that
    /// of its project, [in memory](crate::project::Project::in_memory) or not.
    pub fn hooks(self) -> Hooks {
        // Without a plan hooks can be tried as well.
        let plan = self.frozen.store.load().map(|loaded| loaded.plan).unwrap_or_default();
        let mut contexts = self.contexts();
        let _ = contexts.placed(TurnPlace::of_project(&self.frozen.project, &self.frozen.run_dir, &plan));
        Hooks { run: self, plan, contexts }
    }
}

impl Hooks {
    /// Returns the root directory of the project.
    pub fn root(&self) -> &Path {
        self.run.frozen.project.root()
    }

    /// Returns the chains of all hook points.
    pub fn registry(&self) -> &Registry {
        self.run.registry()
    }

    /// Says what is to be known of the chains and of the hook files: entries that are left out.
    pub fn warnings(&self) -> Vec<String> {
        let of_chains = self.registry().warnings().map(str::to_owned);
        of_chains.chain(self.run.hook_files.warnings()).collect()
    }

    /// Says what is to be known of the files that hooks of hook files start.
    pub(super) fn remarks(&self) -> &[String] {
        self.run.hook_files.of_files()
    }

    /// Reports every chain.
    pub fn report(&self) -> HookReport {
        let project = &self.run.frozen.project;
        HookReport::new(self.registry(), project.config(), project.methodology())
    }

    /// Lists the hooks: every handler that is not built in.
    pub fn list(&self) -> HookList {
        self.run.hook_list()
    }

    /// Reports one point.
    pub fn point(&self, point: HookPoint) -> PointReport {
        let project = &self.run.frozen.project;
        PointReport::new(point, self.registry(), project.config(), project.methodology())
    }

    /// Returns the id that a name means: itself, or that of the only handler of a plugin, at a point if one is named.
    fn meant(&self, name: &str, at: Option<HookPoint>) -> String {
        let points = HookPoint::ALL.iter().filter(|point| at.is_none_or(|at| at == **point));
        let registered = points.flat_map(|point| self.registry().registered(*point));
        let ids: BTreeSet<&str> = registered.map(|one| &*one.info.id).collect();
        let mut of_plugin =
            ids.iter().filter(|id| id.split_once(':').is_some_and(|(plugin, _)| plugin == name));
        match (ids.contains(name), of_plugin.next(), of_plugin.next()) {
            (false, Some(only), None) => (*only).to_owned(),
            _ => name.to_owned(),
        }
    }

    /// Shows a handler at each point that it answers at; with what it starts, where it is
    /// `expanded`. The name of a plugin with one handler stands for it, here and elsewhere. Starts nothing.
    ///
    /// # Errors
    /// Returns [`HooksError::Unknown`] where there is no such handler, and
    /// [`HooksError::Event`] where its command cannot be made.
    pub fn show(&self, id: &str, expanded: bool) -> Result<ShownHooks, HooksError> {
        let id = &*self.meant(id, None);
        let mut hooks = Vec::new();
        for chain in self.report().chains {
            let point = chain.point;
            let runs = chain.run.into_iter().find(|one| one.id == id);
            let skipped = chain.skipped.into_iter().find(|one| one.id == id);
            if runs.is_none() && skipped.is_none() {
                continue;
            }
            let launch = match expanded && runs.is_some() {
                true => self.launch(point, id, None)?,
                false => None,
            };
            hooks.push(ShownHook { point, runs, skipped, launch });
        }
        if hooks.is_empty() { Err(self.unknown(id)) } else { Ok(ShownHooks { id: id.to_owned(), hooks }) }
    }

    /// Finds the point that a handler answers at: the one that is `wanted`, else its only one.
    ///
    /// # Errors
    /// Returns [`HooksError::Unknown`], and [`HooksError::Points`] where it has several or
    /// another.
    pub fn find(&self, id: &str, wanted: Option<HookPoint>) -> Result<HookPoint, HooksError> {
        let id = &*self.meant(id, wanted);
        let is_it = |one: &Registered| one.tier != Tier::BuiltIn && &*one.info.id == id;
        let has = |point: &HookPoint| self.registry().registered(*point).iter().any(is_it);
        let points: Vec<HookPoint> = HookPoint::ALL.iter().copied().filter(has).collect();
        match (points.as_slice(), wanted) {
            ([], _) => Err(self.unknown(id)),
            (points, Some(wanted)) if points.contains(&wanted) => Ok(wanted),
            ([only], None) => Ok(*only),
            _ => Err(HooksError::Points { id: id.to_owned(), points }),
        }
    }

    /// Returns what a handler starts for an event, without starting it; nothing where it starts
    /// no process.
    ///
    /// # Errors
    /// Returns [`HooksError::Event`] where the event is not the point's input, or the command
    /// cannot be made.
    pub fn launch(
        &self,
        point: HookPoint,
        id: &str,
        event: Option<Value>,
    ) -> Result<Option<Launch>, HooksError> {
        let input = self.event_of(point, event)?;
        let scope = self.scope(&input, None);
        let launch = self.registry().launch_json(point, id, input, &scope);
        launch.map_err(|failure: HookFailure| HooksError::Event { point, problem: failure.message })
    }

    /// Returns what firing a point executes, or a single handler of it, for whoever decides
    /// whether it may.
    pub fn executables(&self, point: HookPoint, id: Option<&str>) -> Executables {
        let mut found = Executables::of_points(self.registry(), |other| other == point);
        if let Some(id) = id.map(|id| self.meant(id, Some(point))) {
            let owner = owner_of(&id);
            found.entries.retain(|entry| entry.id == id || entry.id == owner);
        } else if point == HookPoint::QualityCheck {
            let checks = self.run.executables.of_kind(ExecutableKind::QualityCheck).cloned();
            found.entries.splice(0..0, checks);
        }
        found
    }

    /// Calls one hook with an event, the sample of its point where none is given. What the event
    /// lacks is as in the sample, but for `commands`, which are the quality checks of a run.
    ///
    /// # Errors
    /// Returns a [`HooksError`] where no such hook runs at the point, or the event is not its
    /// input. A handler that breaks is a trial.
    pub async fn test(
        mut self,
        point: HookPoint,
        id: &str,
        event: Option<Value>,
    ) -> Result<HookTrial, HooksError> {
        self.find(id, Some(point))?;
        let id = &*self.meant(id, Some(point));
        let input = self.event_of(point, event)?;
        let listed = self.list().hooks.into_iter().find(|one| one.id == id && one.point == point);
        if let Some(why) = listed.as_ref().and_then(|one| one.why_not.clone()) {
            return Err(HooksError::Skipped { id: id.to_owned(), point, why });
        }
        self.run.registry.retain(point, id);
        let exchanges = Arc::new(Exchanges::default());
        let scope = self.scope(&input, Some(&exchanges));
        let done = self.registry().dispatch_json(point, input.clone(), &scope).await;
        let done = done.map_err(|error| HooksError::Event { point, problem: error.to_string() })?;
        Ok(HookTrial::of(point, id, input, listed, done, exchanges.take()))
    }

    /// Fires a point as a run does, with an event, the sample of the point where none is given;
    /// quality checks are always those of a run.
    ///
    /// # Errors
    /// Returns [`HooksError::Event`] where the event is not the point's input or names another
    /// quality check, and [`HooksError::Agent`] where the agent would be called. Handlers that
    /// break are told of.
    pub async fn fire(&self, point: HookPoint, event: Option<Value>) -> Result<HookFiring, HooksError> {
        let mut last = self.registry().handlers(point).map(|(id, ..)| id);
        if point == HookPoint::AgentInvoke && last.next() == Some(DEFAULT_ID) {
            return Err(HooksError::Agent);
        }
        let mut firing = self.look(point, event)?;
        let exchanges = Arc::new(Exchanges::default());
        let scope = self.scope(&firing.input, Some(&exchanges));
        let done = self.registry().dispatch_json(point, firing.input.clone(), &scope).await;
        let done = done.map_err(|error| HooksError::Event { point, problem: error.to_string() })?;
        firing.outcome = Some(done.outcome);
        firing.output = Some(done.output);
        firing.exchanges = exchanges.take();
        Ok(firing)
    }

    /// Says what firing a point would do: the handlers that run, in order, and why others do not.
    /// Starts nothing.
    ///
    /// # Errors
    /// Returns [`HooksError::Event`] where the event is not the point's input, or names a quality
    /// check that is not configured.
    pub fn look(&self, point: HookPoint, event: Option<Value>) -> Result<HookFiring, HooksError> {
        let input = self.event_of(point, event)?;
        let mut chain = self.point(point).chain;
        chain.keep_to(mode_of(&input), self.registry());
        if chain.run.iter().any(|one| one.id == DEFAULT_ID) {
            self.keep_to_checks(point, &input)?;
        }
        let hooks = || self.run.hook_files.repository_hooks();
        chain.skip("the event is none of those that it is for", None, |handler| {
            hooks().any(|hook| hook.handler_id() == handler.id && !hook.is_for(&input))
        });
        let (run, skipped) = (chain.run, chain.skipped);
        Ok(HookFiring { point, input, run, skipped, outcome: None, output: None, exchanges: Vec::new() })
    }

    /// Puts what an event has over the sample of its point, with the quality checks of a run.
    fn event_of(&self, point: HookPoint, event: Option<Value>) -> Result<Value, HooksError> {
        let mut input = match sample_text(point) {
            Value::Object(input) => input,
            _ => Map::new(),
        };
        if point == HookPoint::QualityCheck {
            input.insert("commands".to_owned(), self.checks().collect());
        }
        let problem = |problem: String| HooksError::Event { point, problem };
        let given = match event {
            None => return Ok(input.into()),
            Some(Value::Object(given)) => given,
            Some(_) => return Err(problem("it is no JSON object".to_owned())),
        };
        let known: Vec<&str> = point.input_fields().iter().map(|field| field.name).collect();
        let event_type = EventType::of_point(point).map(EventType::as_str);
        for (key, value) in given {
            // What repository hooks are given has these beside the input.
            let is_beside = match key.as_str() {
                "event_type" => value.as_str() == event_type,
                key => key == "session_id" && !known.contains(&key),
            };
            if event_type.is_some() && is_beside {
                continue;
            }
            if !known.contains(&key.as_str()) {
                let near = nearest(&key, known.iter().copied());
                let near = near.map(|near| format!(", did you mean \"{near}\"?")).unwrap_or_default();
                return Err(problem(format!("it has no \"{key}\"{near}")));
            }
            input.insert(key, value);
        }
        Ok(input.into())
    }

    /// Refuses quality checks that are not configured: whoever allowed what executes was not shown
    /// them.
    fn keep_to_checks(&self, point: HookPoint, input: &Value) -> Result<(), HooksError> {
        let commands = match input.get("commands").and_then(Value::as_array) {
            Some(commands) if point == HookPoint::QualityCheck => commands,
            _ => return Ok(()),
        };
        match commands.iter().find(|command| !self.checks().any(|check| check == **command)) {
            None => Ok(()),
            Some(command) => {
                let problem = format!("{command} is no quality check of this project");
                Err(HooksError::Event { point, problem })
            }
        }
    }

    /// The commands of the quality checks, as a run gives them.
    fn checks(&self) -> impl Iterator<Item = &str> {
        self.run.frozen.settings.quality_checks.iter().map(|check| check.command.as_str())
    }

    fn unknown(&self, id: &str) -> HooksError {
        if let Some(problem) = self.run.hook_files.problem_of(id) {
            let told = format!("{}{problem}", problem.place());
            return HooksError::Unusable { id: id.to_owned(), problem: told, help: problem.help() };
        }
        let known: BTreeSet<String> = self.list().hooks.into_iter().map(|hook| hook.id).collect();
        let known: Vec<String> = known.into_iter().collect();
        // What all hooks of a kind have in common makes none of them nearer.
        let of_kind = id.split_once(':');
        let named = |known: &String| known.split_once(':').is_some_and(|(_, name)| name == id);
        let named = known.iter().find(|known| named(known)).cloned();
        let nearest = named.or_else(|| match of_kind {
            Some((kind, name)) => {
                let names = known.iter().filter_map(|known| known.strip_prefix(kind)?.strip_prefix(':'));
                nearest(name, names).map(|name| format!("{kind}:{name}"))
            }
            None => nearest(id, known.iter().map(String::as_str)).map(str::to_owned),
        });
        HooksError::Unknown { id: id.to_owned(), nearest, known }
    }

    /// Stands in the place of a run for one dispatch.
    fn scope(&self, input: &Value, exchanges: Option<&Arc<Exchanges>>) -> CallScope {
        let frozen = &self.run.frozen;
        let iteration = input.get("iteration").and_then(Value::as_u64).unwrap_or(1);
        let iteration = u32::try_from(iteration).unwrap_or(1);
        let task = input.pointer("/task/id").or_else(|| input.get("task_id")).and_then(Value::as_str);
        let mode = mode_of(input);
        let of = (iteration, mode, task.map(TaskId::new));
        let context = self.contexts.base(&self.plan, &[], &of);
        CallScope {
            run_id: NO_RUN.into(),
            session: frozen.session.as_str().into(),
            iteration,
            mode,
            turn: Turn::Main,
            context: ContextView::new(Arc::new(context)),
            plan: Arc::clone(&self.plan),
            exchanges: exchanges.cloned(),
            cancel: CancellationToken::new(),
            ..CallScope::new(frozen.project.clock())
        }
    }
}

/// Returns the mode that an input names; else that of most iterations.
fn mode_of(input: &Value) -> Mode {
    input.get("mode").and_then(|mode| serde_json::from_value(mode.clone()).ok()).unwrap_or_default()
}
