//! What the next iteration would be, without making it.
//!
//! [`Run::preview`] goes as far as the prompt: it loads the plan, chooses the
//! task as a run would, dispatches the gate, the context points and
//! `before:agent.invoke`, and stops there. It takes no lock, writes nothing
//! and calls no agent. A [`Glance::Still`] preview does not start processes
//! either, and leaves out every handler that is not built in.

use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{error::RunError, run::Run};
use crate::{
    context::ContextView,
    hook::{Blob, HookPoint, Output, Point, Scope, Skipped, Tier, points},
    methodology::Access,
    model::{
        ExitReason, Plan, Status, TaskId,
        payload::{
            BeforeAgentInvokeInput, ContextExtraInput, ContextProgressInput, ContextSnapshotInput,
            ContextTaskInput, IterationGateInput, Mode, TaskBrief, Turn,
        },
    },
    plan::Work,
    state::{Mutation, apply},
    text::listed,
};

/// How closely a preview looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glance {
    /// Every handler answers: the prompt is the one that the agent would get. The
    /// default.
    #[default]
    Exact,
    /// No process is started: only built-in handlers answer, and the project
    /// snapshot is the last one, else a new one.
    Still,
}

/// What the next iteration would be.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// The iteration, from 1.
    pub iteration: u32,
    /// What it would be for.
    pub mode: Mode,
    /// The task it would be for.
    pub task: Option<TaskBrief>,
    /// What the agent would get; nothing where no iteration would be made.
    pub prompt: Option<String>,
    /// Why no iteration would be made, where that is so.
    pub stop: Option<PreviewStop>,
    /// What templates can use.
    #[serde(skip)]
    pub context: ContextView,
    /// Every point's handlers.
    pub chains: Vec<ChainPreview>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Why no iteration would be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewStop {
    /// The reason the run would end with.
    pub reason: ExitReason,
    /// What leads to it, one line; may be empty.
    pub detail: String,
}

/// The handlers of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainPreview {
    /// The point.
    pub point: HookPoint,
    /// Those that run, in order.
    pub run: Vec<HandlerPreview>,
    /// Those that do not, and why.
    pub skipped: Vec<SkippedPreview>,
}

/// A handler that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HandlerPreview {
    /// Its id.
    pub id: String,
    /// Its order.
    pub order: i32,
    /// What kind of thing it is.
    pub tier: Tier,
}

/// A handler that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedPreview {
    /// Its id.
    pub id: String,
    /// Why it does not run.
    pub why: String,
}

impl Run {
    /// Says what the next iteration would be.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where the plan cannot be read, and
    /// [`RunError::Prompt`] where a handler breaks that the prompt depends on.
    pub async fn preview(mut self, glance: Glance) -> Result<Preview, RunError> {
        let mut looked = Looking::at(&mut self, glance).await?;
        looked.preview.chains = chains(&self);
        if glance == Glance::Still {
            self.registry.retain_built_in();
        }
        if looked.preview.stop.is_none() {
            looked.gate(&self).await;
        }
        if looked.preview.stop.is_none() {
            looked.compose(&self).await;
        }
        if let Some(message) = looked.broken.take() {
            return Err(RunError::Prompt { message });
        }
        looked.keep_to_mode(&self);
        Ok(looked.finish(&self))
    }
}

/// Lists every point's handlers.
fn chains(run: &Run) -> Vec<ChainPreview> {
    let handler = |(id, order, tier): (&str, i32, Tier)| HandlerPreview { id: id.to_owned(), order, tier };
    let skipped =
        |skipped: &Skipped| SkippedPreview { id: skipped.id.to_string(), why: skipped.why.to_string() };
    let chain = |point: &HookPoint| ChainPreview {
        point: *point,
        run: run.registry.handlers(*point).map(handler).collect(),
        skipped: run
            .registry
            .resolved(*point)
            .into_iter()
            .flat_map(|found| &found.skipped)
            .map(skipped)
            .collect(),
    };
    HookPoint::ALL.iter().map(chain).collect()
}

/// A preview in the making.
struct Looking {
    preview: Preview,
    plan: Arc<Plan>,
    consecutive_failures: u32,
    /// Text that waits for the next prompt.
    pending: String,
    /// Why no prompt can be composed.
    broken: Option<String>,
}

impl Looking {
    /// Reads where the run stands, and finds its next task.
    async fn at(run: &mut Run, glance: Glance) -> Result<Self, RunError> {
        let store = Arc::clone(&run.frozen.store);
        let loaded = tokio::task::spawn_blocking(move || store.load()).await.map_err(RunError::broken)??;
        let mut plan = Plan::clone(&loaded.plan);
        run.detect().await?;
        let mut begin = run.recover().await?;
        begin.machine.settle(begin.first, &mut plan, run.frozen.project.clock().now());
        let plan = Arc::new(plan);
        let iteration = begin.machine.iterations_made() + 1;
        let (task, mut stop) = next_of(&plan, &loaded.unparsed);
        if let Some(stop) = stop.as_mut().filter(|stop| stop.reason == ExitReason::Completed)
            && !begin.machine.is_vouched_for()
        {
            stop.detail.push_str(", if the quality checks, which are asked first, pass");
        }
        if iteration > run.frozen.settings.max_iterations && stop.is_none() {
            stop = Some(PreviewStop { reason: ExitReason::MaxIterations, detail: String::new() });
        }
        run.workbench.with(|desk| {
            desk.plan = Arc::clone(&plan);
            desk.task.clone_from(&task);
            desk.access = match glance {
                Glance::Exact => Access::Read,
                Glance::Still => Access::ReadAlone,
            };
        });
        let pending = begin.machine.pending_text(task.as_ref());
        let preview = Preview {
            iteration,
            mode: Mode::Implementation,
            task,
            prompt: None,
            stop,
            context: ContextView::new(Arc::default()),
            chains: Vec::new(),
            warnings: loaded.diagnostics.iter().map(ToString::to_string).collect(),
        };
        let mut looking = Self {
            preview,
            plan,
            consecutive_failures: begin.machine.consecutive_failures(),
            pending,
            broken: None,
        };
        looking.rebase(run);
        Ok(looking)
    }

    /// Fills the prompt context for the iteration as it is known by now.
    fn rebase(&mut self, run: &Run) {
        let task = self.preview.task.as_ref().map(|task| TaskId::new(task.id.clone()));
        let of = (self.preview.iteration, self.preview.mode, task);
        let failures = run.workbench.with(|desk| desk.last_failures.clone());
        let base = run.contexts().base(&self.plan, &failures, &of);
        self.preview.context = self.preview.context.rebase(Arc::new(base));
    }

    /// Asks the gate whether, and for what, the iteration would be made.
    async fn gate(&mut self, run: &Run) {
        let queue = self.plan.count(Status::Pending) + self.plan.count(Status::InProgress);
        let input = IterationGateInput {
            iteration: self.preview.iteration,
            consec_fails: self.consecutive_failures,
            queue_size: u32::try_from(queue).unwrap_or(u32::MAX),
            mode: self.preview.mode,
            ..Default::default()
        };
        let output = self.dispatch::<points::IterationGate>(run, input).await;
        if let Some(detail) = output.refusal() {
            self.preview.stop = Some(PreviewStop { reason: ExitReason::GateStop, detail });
        }
        self.preview.mode = output.mode.unwrap_or(self.preview.mode);
        if self.preview.mode == Mode::Discovery {
            self.preview.task = None;
            run.workbench.with(|desk| desk.task = None);
        }
        self.start_task(run);
        self.rebase(run);
    }

    /// Sets the task in progress, as the prompt will show it.
    fn start_task(&mut self, run: &Run) {
        let Some(task) = &self.preview.task else { return };
        let id = TaskId::new(task.id.clone());
        let now = run.frozen.project.clock().now();
        // A task that cannot be started is shown as it is.
        let _ = apply(Arc::make_mut(&mut self.plan), &Mutation::StartTask { id }, now);
        run.workbench.with(|desk| desk.plan = Arc::clone(&self.plan));
    }

    /// Collects the context and composes the prompt.
    async fn compose(&mut self, run: &Run) {
        let project_root = run.frozen.project.root().display().to_string();
        let input = ContextSnapshotInput { project_root, ..Default::default() };
        let snapshot = self.dispatch::<points::ContextSnapshot>(run, input).await;
        run.workbench.with(|desk| snapshot.blob().clone_into(&mut desk.snapshot));

        let progress_path = run.frozen.run_dir.progress().display().to_string();
        let input = ContextProgressInput { progress_path, ..Default::default() };
        let progress = self.dispatch::<points::ContextProgress>(run, input).await;
        run.workbench.with(|desk| progress.blob().clone_into(&mut desk.progress));

        let (task, mode) = (self.preview.task.clone(), self.preview.mode);
        let input = ContextTaskInput { task: task.clone(), mode, ..Default::default() };
        let context = self.dispatch::<points::ContextTask>(run, input).await;
        run.workbench.with(|desk| context.blob().clone_into(&mut desk.task_context));

        let input = ContextExtraInput { task, ..Default::default() };
        let extra = self.dispatch::<points::ContextExtra>(run, input).await;
        run.workbench.with(|desk| desk.extras = extra.extras);

        let mut input = BeforeAgentInvokeInput {
            agent: run.frozen.agent.name().to_owned(),
            prompt: self.pending.clone(),
            sandbox: run.frozen.settings.sandbox.as_str().to_owned(),
            ..Default::default()
        };
        let output = self.dispatch::<points::BeforeAgentInvoke>(run, input.clone()).await;
        points::BeforeAgentInvoke::apply(&mut input, &output);
        self.preview.prompt = Some(input.prompt);
    }

    /// Runs the handlers of a point and keeps what they contribute and warn of.
    async fn dispatch<P: Point>(&mut self, run: &Run, input: P::Input) -> P::Output {
        let scope = Scope {
            run_id: Arc::clone(&run.frozen.run_id),
            session: run.frozen.session.as_str().into(),
            iteration: self.preview.iteration,
            mode: self.preview.mode,
            turn: Turn::Main,
            context: self.preview.context.clone(),
            cancel: CancellationToken::new(),
            clock: run.frozen.project.clock(),
        };
        let done = run.registry.dispatch::<P>(input, &scope).await;
        self.preview.context = done.context;
        if let Some(abort) = &done.outcome.abort {
            let message = format!("{} broke at {}: {}", abort.handler, P::POINT, abort.failure.message);
            self.broken.get_or_insert(message);
        }
        let warnings = done.outcome.warnings.iter();
        self.preview.warnings.extend(warnings.map(|warning| {
            format!("{} {} {}: {}", P::POINT, warning.handler, warning.class, warning.message)
        }));
        done.output
    }

    /// Moves the handlers of chains that are for iterations of the other mode to
    /// those that do not run.
    fn keep_to_mode(&mut self, run: &Run) {
        let mode = self.preview.mode;
        for chain in &mut self.preview.chains {
            let why = run.registry.spec(chain.point).and_then(|spec| spec.skips(mode));
            let Some(why) = why.map(|why| why.to_string()) else { continue };
            let skipped = chain.run.drain(..).map(|one| SkippedPreview { id: one.id, why: why.clone() });
            chain.skipped.extend(skipped);
        }
    }

    fn finish(mut self, run: &Run) -> Preview {
        let notices = run.workbench.with(|desk| std::mem::take(&mut desk.warnings));
        self.preview.warnings.extend(run.registry.warnings().map(str::to_owned));
        self.preview.warnings.extend(notices);
        self.preview
    }
}

/// Returns the next task of a plan, or why there is none.
fn next_of(plan: &Plan, unread: &[String]) -> (Option<TaskBrief>, Option<PreviewStop>) {
    let stop = |reason, detail| (None, Some(PreviewStop { reason, detail }));
    match Work::of(plan, unread) {
        Work::Task(task) => (Some(task), None),
        Work::AllDone => stop(ExitReason::Completed, "every task is completed or skipped".to_owned()),
        Work::Blocked(reasons) => stop(ExitReason::Blocked, listed(&reasons)),
    }
}
