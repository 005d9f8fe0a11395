//! What the driver needs to carry out effects, shared by all of them.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::sync::mpsc;

use super::{
    branch_watch::BranchWatch,
    call_logs::CallCount,
    control_files::ControlFiles,
    error::described,
    hook_log::HookLogWriter,
    hub::Hub,
    in_clone::InClone,
    lanes::{Lane, LaneParts},
    refusals::Refusals,
    repeated_warnings::RepeatedWarnings,
    socket::RunSocket,
    tickets::Tickets,
    turn_place::TurnPlace,
    work_tree::WorkTree,
};
use crate::{
    agent::Agents,
    clock::Clock,
    context::{ContextView, PluginData, PromptContext, Suggestion},
    environment::Secrets,
    event::Event,
    hook::Registry,
    machine::Input,
    model::{
        Completes, Plan, Task, TaskId,
        payload::{CheckFailure, Extra, Mode},
        run_blocking,
    },
    plan::Pilot,
    process::Remains,
    project::Project,
    sandbox::Sandboxes,
    state::{
        Artifact, LaneStore, PlanStore, ProgressBody, ProgressEntry, ProgressKind, RunDir, StateDiagnostic,
        StateError, TurnFiles,
    },
    text::counted_were,
};

/// How many things that are wrong with one file are told.
const MAX_DIAGNOSTICS: usize = 20;

/// What all effects of a run share.
#[derive(Debug)]
pub(super) struct Services {
    pub(super) run_id: Arc<str>,
    pub(super) session: Arc<str>,
    /// Who works on a task that the loop began.
    pub(super) owner: Arc<str>,
    /// How the run looks for tasks.
    pub(super) pilot: Pilot,
    /// Which tasks count as completed while an agent is at work.
    pub(super) completes: Completes,
    /// Whether a completion for which nothing was changed is refused.
    pub(super) require_change: bool,
    pub(super) run_dir: RunDir,
    pub(super) registry: Registry,
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) lane: Arc<dyn LaneStore>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) hub: Arc<Hub>,
    pub(super) work_tree: WorkTree,
    /// Where turns work: the project's root, or the project within a workspace. In a preview the workspace may not be
    /// there yet.
    pub(super) work_root: PathBuf,
    /// Whether the run has several workers.
    pub(super) has_workers: bool,
    /// Whether agents work in a sandbox.
    pub(super) is_sandboxed: bool,
    /// The files that agents find in a workspace, if the run works in one.
    pub(super) turn_files: Option<TurnFiles>,
    /// The lane that this is of, where the run has several.
    pub(super) in_lane: Option<Arc<Lane>>,
    /// The clone that the run works in, where it does.
    pub(super) in_clone: Option<InClone>,
    /// The branch with the completed work of a run without workers, once it is watched.
    pub(super) branch_watch: OnceLock<BranchWatch>,
    pub(super) control_files: Arc<ControlFiles>,
    /// What the points fire for.
    pub(super) purpose: Purpose,
    pub(super) known: Mutex<Known>,
    pub(super) inputs: mpsc::UnboundedSender<Input>,
    pub(super) tickets: Tickets,
    /// By which the files of an agent's call are named.
    pub(super) call_count: Mutex<CallCount>,
    /// How long a tool call waits for a person.
    pub(super) ask_timeout: Duration,
    /// Whether every handler's time goes into the progress log.
    pub(super) log_timings: bool,
    pub(super) hook_log: HookLogWriter,
    pub(super) agents: Agents,
    /// The environment that the caller gave.
    pub(super) env: Vec<(String, String)>,
    /// The secrets of the caller's environment and of agent calls, for all lanes.
    pub(super) secrets: Arc<Secrets>,
    /// The environment of the next agent call. The machine gets only the names, so no record has the values.
    pub(super) turn_env: Mutex<Vec<(String, String)>>,
    /// Whether all processes are gone that were started; an agent that may have left one
    /// clears it.
    pub(super) swept: AtomicBool,
    pub(super) context: Mutex<Contexts>,
    /// The highest number of the journal that this process knows of.
    pub(super) known_seq: AtomicU64,
    /// What was wrong with the plan when that was last told.
    pub(super) told: Mutex<Vec<StateDiagnostic>>,
    /// Where other processes reach the run, once it listens.
    pub(super) socket: OnceLock<Arc<RunSocket>>,
    /// What is refused there.
    pub(super) refusals: Arc<Refusals>,
    /// The sandboxes that calls of agents can name.
    pub(super) sandboxes: Sandboxes,
    /// The project, with the stores of the run.
    pub(super) project: Project,
    /// The command by which an agent's own hooks ask the run; empty where there is none.
    pub(super) bridge: Vec<String>,
    /// Whether the user was told of a tool call that was made without asking.
    pub(super) told_of_unasked: AtomicBool,
    /// The warnings that an agent can cause at each look, of all lanes, since an iteration ended.
    pub(super) repeated: Arc<Mutex<RepeatedWarnings>>,
}

/// What the points of a run fire for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A loop.
    Run,
    /// A look ahead, which changes nothing.
    Preview,
    /// A session without a loop, of which the progress log tells nothing.
    Session,
}

/// What is known of the plan and the iteration that the machine need not know.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// The plan as it was loaded last.
    pub(super) plan: Arc<Plan>,
    /// How many of its lines cannot be read.
    pub(super) unread: usize,
    /// The checks that failed last.
    pub(super) last_failures: Vec<CheckFailure>,
    /// What the context points made, folded: TOON, Markdown, TOON.
    pub(super) snapshot: String,
    pub(super) progress: String,
    pub(super) task_context: String,
    pub(super) extras: Vec<Extra>,
}

/// The prompt context of the iteration under way.
#[derive(Clone, Debug)]
pub(super) struct Contexts {
    /// What does not change during a run.
    pub(super) frozen: PromptContext,
    /// The place that the view is of.
    pub(super) at: TurnPlace,
    /// What was contributed outside of iterations.
    pub(super) lasting: PluginData,
    pub(super) suggestions: Vec<Suggestion>,
    pub(super) view: ContextView,
    /// The iteration that the view is of, and its mode and task.
    pub(super) of: (u32, Mode, Option<TaskId>),
}

impl Services {
    /// Returns what one of several lanes has: what the leader has, but for what is its own.
    pub(super) fn of_lane(&self, parts: LaneParts, inputs: mpsc::UnboundedSender<Input>) -> Self {
        let LaneParts { lane, store, notes, registry, agents, work_tree, shown_log } = parts;
        let work_root = work_tree.root().to_owned();
        if let Some(lane) = &lane {
            lane.tells_to(inputs.clone());
        }
        let project = self.project.clone().with_plan_store(Arc::clone(&store));
        let socket = OnceLock::new();
        if let Some(listening) = self.socket.get() {
            let _ = socket.set(Arc::clone(listening));
        }
        Self {
            run_id: Arc::clone(&self.run_id),
            session: Arc::clone(&self.session),
            owner: Arc::clone(&self.owner),
            pilot: self.pilot,
            completes: self.completes,
            require_change: self.require_change,
            run_dir: self.run_dir.clone(),
            registry,
            store,
            lane: Arc::clone(&notes),
            clock: Arc::clone(&self.clock),
            hub: Arc::clone(&self.hub),
            work_tree,
            turn_files: Some(TurnFiles::new(self.run_dir.within(&work_root), shown_log)),
            work_root,
            has_workers: self.has_workers,
            is_sandboxed: self.is_sandboxed,
            in_lane: lane,
            in_clone: None,
            branch_watch: OnceLock::new(),
            control_files: Arc::clone(&self.control_files),
            purpose: self.purpose,
            known: Mutex::new(self.known(|known| known.clone())),
            inputs,
            tickets: Tickets::default(),
            call_count: Mutex::default(),
            ask_timeout: self.ask_timeout,
            log_timings: self.log_timings,
            hook_log: HookLogWriter::new(&self.env, Arc::clone(&self.secrets)),
            agents,
            env: self.env.clone(),
            secrets: Arc::clone(&self.secrets),
            turn_env: Mutex::default(),
            swept: AtomicBool::new(true),
            context: Mutex::new(self.contexts(|contexts| contexts.clone())),
            known_seq: AtomicU64::new(self.known_seq.load(Ordering::Relaxed)),
            told: Mutex::default(),
            socket,
            refusals: Arc::clone(&self.refusals),
            sandboxes: self.sandboxes.clone(),
            project: project.with_lane_store(notes),
            bridge: self.bridge.clone(),
            told_of_unasked: AtomicBool::default(),
            repeated: Arc::clone(&self.repeated),
        }
    }

    pub(super) fn emit(&self, event: Event) {
        let lane = self.in_lane.as_ref().and_then(|lane| lane.of(&event));
        self.hub.send_of(lane, event);
    }

    pub(super) fn warn(&self, message: impl Into<String>) {
        self.emit(Event::Warning { message: self.secrets.hide(&message.into()).into_owned() });
    }

    /// Warns, if there was no such warning since an iteration ended.
    pub(super) fn warn_new(&self, message: impl Into<String>) {
        let message = message.into();
        let mut repeated = self.repeated.lock().unwrap_or_else(PoisonError::into_inner);
        if repeated.is_new(&message) {
            self.warn(message);
        }
    }

    /// Warns of how many warnings `warn_new` did not report since an iteration ended, if any.
    pub(super) fn warn_of_repeated(&self) {
        let mut repeated = self.repeated.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = repeated.take_left_out();
        if left_out > 0 {
            self.warn_of_run(format!("{} left out", counted_were(left_out, "more warning")));
        }
    }

    /// Warns of what concerns all lanes, where there are several.
    pub(super) fn warn_of_run(&self, message: impl Into<String>) {
        self.hub.send(Event::Warning { message: self.secrets.hide(&message.into()).into_owned() });
    }

    /// Ends the socket, where there is one. Blocks.
    pub(super) fn stop_listening(&self) {
        if let Some(socket) = self.socket.get() {
            socket.close();
        }
    }

    /// Tells which processes of a dead predecessor were still there.
    pub(super) fn tell_of_remains(&self, remains: Remains) {
        let Remains { ended, left, .. } = remains;
        if !ended.is_empty() || !left.is_empty() {
            let swept = left.is_empty();
            self.swept.fetch_and(swept, Ordering::Relaxed);
            self.emit(Event::Swept { swept, ended, left });
        }
    }

    /// Warns of what is wrong with the plan, and of how much more there is. A
    /// change tells again what reading told before it: that is told once.
    pub(super) fn warn_of(&self, diagnostics: &[StateDiagnostic]) {
        let told = std::mem::replace(
            &mut *self.told.lock().unwrap_or_else(PoisonError::into_inner),
            diagnostics.to_vec(),
        );
        if told == diagnostics {
            return;
        }
        for diagnostic in diagnostics.iter().take(MAX_DIAGNOSTICS) {
            self.warn(diagnostic.to_string());
        }
        let more: usize = diagnostics.iter().skip(MAX_DIAGNOSTICS).map(|rest| rest.count).sum();
        if let (1.., Some(last)) = (more, diagnostics.last()) {
            self.warn(format!("{}: and {more} more like these", last.file.display()));
        }
    }

    /// Runs something that blocks on a thread where that is allowed.
    pub(super) async fn blocking<R: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> R + Send + 'static,
    ) -> Result<R, StateError> {
        let services = Arc::clone(self);
        let done = run_blocking(move || work(&services)).await;
        done.map_err(|error| StateError::Io {
            action: "reach",
            path: self.run_dir.path().to_owned(),
            source: std::io::Error::other(error),
        })
    }

    /// Appends a note about the run itself to the progress log, where there is one.
    pub(super) async fn log_note(self: &Arc<Self>, text: Option<String>) {
        let body = text.map(|text| ProgressBody::Note { kind: ProgressKind::Started, text });
        let at = self.clock.now();
        self.log(
            body.map(|body| ProgressEntry { at, iteration: None, task: None, body }).into_iter().collect(),
        )
        .await;
    }

    /// Appends to the progress log, which tells of loops. A line that cannot be written is a
    /// warning: the log is for readers, not for the loop. Returns whether no line was lost so.
    pub(super) async fn log(self: &Arc<Self>, entries: Vec<ProgressEntry>) -> bool {
        if entries.is_empty() || self.purpose == Purpose::Session {
            return true;
        }
        let entries: Vec<ProgressEntry> = entries.into_iter().map(|entry| self.hidden(entry)).collect();
        let appended = self.blocking(move |services| services.store.append_progress(&entries)).await;
        let Err(error) = appended.and_then(|appended| appended) else { return true };
        self.warn(format!("progress.md could not be written: {}", described(&error)));
        false
    }

    /// Hides secrets in an entry of the progress log.
    fn hidden(&self, mut entry: ProgressEntry) -> ProgressEntry {
        if let ProgressBody::Note { text, .. } | ProgressBody::HookWarning { message: text, .. } =
            &mut entry.body
        {
            *text = self.secrets.hide(text).into_owned();
        }
        entry
    }

    pub(super) fn note(
        &self,
        iteration: u32,
        task: Option<TaskId>,
        kind: ProgressKind,
        text: String,
    ) -> ProgressEntry {
        let iteration = (iteration > 0).then_some(iteration);
        ProgressEntry { at: self.clock.now(), iteration, task, body: ProgressBody::Note { kind, text } }
    }

    /// Writes a context file where the agent finds it; a failure is a warning.
    pub(super) async fn write_artifact(self: &Arc<Self>, artifact: Artifact, text: String) {
        let write = move |services: &Self| {
            let text = services.secrets.hide_values(&text);
            match &services.turn_files {
                Some(files) => files.write(artifact, &text),
                None => services.lane.write_artifact(artifact, &text),
            }
        };
        let written = self.blocking(write).await;
        if let Err(error) = written.and_then(|written| written) {
            self.warn(format!("{} could not be written: {}", artifact.file_name(), described(&error)));
        }
    }

    pub(super) fn contexts<R>(&self, work: impl FnOnce(&mut Contexts) -> R) -> R {
        work(&mut self.context.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads or changes what is known. The closure must not wait.
    pub(super) fn known<R>(&self, work: impl FnOnce(&mut Known) -> R) -> R {
        work(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the plan that was loaded last.
    pub(super) fn plan(&self) -> Arc<Plan> {
        self.known(|known| Arc::clone(&known.plan))
    }

    /// Finds a task of the plan that was loaded last.
    pub(super) fn task(&self, id: &TaskId) -> Option<Task> {
        self.plan().task(id).cloned()
    }
}
