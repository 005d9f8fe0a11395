//! Fires a hook point for the machine.
//!
//! Dispatch runs the handlers; this is what the runtime itself does around
//! them: fill in what only it knows, write down warnings, keep the folded
//! context, and reduce the output to what the machine needs.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, PoisonError},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{
    error::described,
    port::Port,
    profile::is_context,
    services::{Purpose, Services},
    socket::{SOCKET_VARIABLE, TOKEN_VARIABLE},
    work_tree::WorkTree,
};
use crate::{
    agent::{Agent, AgentPort},
    environment::{apply_deny_list, compose_env, fits, moved},
    event::{Event, IterationFailure},
    hook::{
        Blob, BreakClass, CallScope, CallVisitor, DEFAULT_ID, HookCall, HookPoint, HookWarning, Outcome,
        Output, Point, ScratchFile, points,
    },
    machine::{AgentEnd, HookReply, Machine, ReplyData},
    model::{
        FailureClass,
        payload::{AgentInvokeInput, BeforeAgentInvokeInput, Mode, QualityCheckInput, TaskBrief, Turn},
    },
    state::{Artifact, ProgressBody, ProgressEntry, RunDir},
    text::lasting,
};

/// How long a handler of a context point may take before it is worth a word.
const SLOW_CONTEXT: Duration = Duration::from_millis(500);

/// Where in a run a point fires.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) iteration: u32,
    pub(super) in_iteration: bool,
    pub(super) mode: Mode,
    pub(super) turn: Turn,
    pub(super) cancel: CancellationToken,
}

impl Place {
    /// Returns where a machine fires a point, and the task that it is about then.
    pub(super) fn of(machine: &Machine, turn: Turn, cancel: CancellationToken) -> (Self, Option<TaskBrief>) {
        let (mode, task) = machine.iteration_kind();
        let (iteration, in_iteration) = (machine.iteration_number(), machine.in_iteration());
        (Self { iteration, in_iteration, mode, turn, cancel }, task)
    }
}

/// Fires a point whose output is nothing but its outcome.
struct Simple<'a> {
    services: &'a Arc<Services>,
    place: &'a Place,
}

impl<'a> CallVisitor for Simple<'a> {
    type Out = Pin<Box<dyn Future<Output = HookReply> + Send + 'a>>;

    fn visit<P: Point>(self, input: P::Input) -> Self::Out {
        Box::pin(self.services.simple::<P>(input, self.place))
    }
}

impl Services {
    /// Fires a point and returns what the machine needs of it.
    pub(super) async fn fire(self: &Arc<Self>, call: HookCall, place: &Place) -> HookReply {
        match call {
            HookCall::AgentInvoke(input) => self.fire_agent(input, place).await,
            HookCall::BeforeAgentInvoke(input) => self.fire_before_agent(input, place).await,
            HookCall::QualityCheck(input) => self.fire_quality(input, place).await,
            HookCall::IterationGate(input) => {
                let (output, outcome) = self.run::<points::IterationGate>(input, place).await;
                HookReply { outcome, data: ReplyData::Mode(output.mode) }
            }
            HookCall::AbilityBefore(input) => {
                let (output, outcome) = self.run::<points::AbilityBefore>(input, place).await;
                let data = match output.ask && !output.block {
                    true => ReplyData::AbilityAsks(output.updated_input),
                    false => ReplyData::Ability(output.updated_input),
                };
                HookReply { outcome, data }
            }
            HookCall::BeforeLoop(mut input) => {
                input.prd_path = self.run_dir.prd().display().to_string();
                self.simple::<points::BeforeLoop>(input, place).await
            }
            HookCall::ContextSnapshot(mut input) => {
                input.project_root = self.work_root.display().to_string();
                self.fire_blob::<points::ContextSnapshot>(input, place, Artifact::ProjectSnapshot).await
            }
            HookCall::ContextProgress(mut input) => {
                let at = self.place_at(HookPoint::ContextProgress);
                input.progress_path = at.run_dir.progress().display().to_string();
                self.fire_blob::<points::ContextProgress>(input, place, Artifact::ProgressContext).await
            }
            HookCall::ContextTask(input) => {
                self.fire_blob::<points::ContextTask>(input, place, Artifact::TaskContext).await
            }
            HookCall::ContextExtra(input) => {
                let (output, outcome) = self.run::<points::ContextExtra>(input, place).await;
                self.known(|known| known.extras = output.extras);
                HookReply { outcome, data: ReplyData::Nothing }
            }
            HookCall::AfterIteration(mut input) => {
                self.refresh();
                if self.registry.has_handlers(HookPoint::AfterIteration) {
                    input.changed_files = self.look(WorkTree::changed_files).await;
                }
                self.simple::<points::AfterIteration>(input, place).await
            }
            HookCall::SessionStop(mut input) => {
                if input.changed_files.is_none() && self.registry.has_handlers(HookPoint::SessionStop) {
                    input.changed_files = self.look(WorkTree::changed_in_run).await;
                }
                self.simple::<points::SessionStop>(input, place).await
            }
            call => call.visit(Simple { services: self, place }).await,
        }
    }

    /// Fires a point whose output is nothing but its outcome.
    async fn simple<P: Point>(self: &Arc<Self>, input: P::Input, place: &Place) -> HookReply {
        let (_, outcome) = self.run::<P>(input, place).await;
        HookReply { outcome, data: ReplyData::Nothing }
    }

    /// Runs the handlers and does what is the same at every point.
    async fn run<P: Point>(self: &Arc<Self>, input: P::Input, place: &Place) -> (P::Output, Outcome) {
        self.run_with::<P>(input, place, None).await
    }

    // Boxed for the same reason as `Registry::dispatch`.
    fn run_with<'a, P: Point>(
        self: &'a Arc<Self>,
        input: P::Input,
        place: &'a Place,
        port: Option<Arc<dyn AgentPort>>,
    ) -> Pin<Box<dyn Future<Output = (P::Output, Outcome)> + Send + 'a>> {
        Box::pin(async move {
            let at = self.place_at(P::POINT);
            let run_dir = at.run_dir.clone();
            let is_there = at.root.as_path() != self.project.root() && !self.keeps_hooks_out(P::POINT);
            let workspace = is_there.then(|| Arc::from(at.root.as_path()));
            let scope = CallScope {
                run_id: Arc::clone(&self.run_id),
                session: Arc::clone(&self.session),
                iteration: place.iteration,
                mode: place.mode,
                turn: place.turn,
                context: self.contexts(|contexts| contexts.placed(at)),
                plan: self.plan(),
                workspace,
                preview: self.purpose == Purpose::Preview,
                traced: self.hook_log.traces,
                exchanges: None,
                port,
                cancel: place.cancel.clone(),
                clock: Arc::clone(&self.clock),
            };
            let done = self.registry.dispatch::<P>(input, &scope).await;
            let mut outcome = done.outcome;
            if place.cancel.is_cancelled() {
                // Whoever ended it need not be warned that it ended.
                outcome.warnings.retain(|warning| warning.class != BreakClass::Cancelled.as_str());
            }
            self.hide_secrets(&mut outcome);
            self.write_scratch(run_dir, done.scratch, &mut outcome).await;
            if let Some(results) = done.output.results() {
                self.suggested(results);
            }
            self.contributed(&done.context, place.in_iteration);
            note_slow_handlers(P::POINT, &mut outcome);
            self.write_down(P::POINT, place, &outcome).await;
            self.log_hooks(P::POINT, place, &outcome, done.calls);
            self.emit(Event::HookFired {
                point: P::POINT,
                iteration: place.iteration,
                turn: place.turn,
                outcome: outcome.clone(),
            });
            (done.output, outcome)
        })
    }

    /// Writes the sections that handlers want in files of their own. What
    /// cannot be written is a warning: the section itself is in the prompt.
    async fn write_scratch(
        self: &Arc<Self>,
        run_dir: RunDir,
        files: Vec<ScratchFile>,
        outcome: &mut Outcome,
    ) {
        if files.is_empty() || self.purpose == Purpose::Preview {
            return;
        }
        let write = move |services: &Self| {
            let written = files.into_iter().map(|file| {
                let content = services.secrets.hide_values(&file.content);
                let result = run_dir.write_scratch(file.owner(), &file.path, &content);
                (file, result)
            });
            written.collect::<Vec<_>>()
        };
        let written = match self.blocking(write).await {
            Ok(written) => written,
            Err(error) => return self.warn(format!("no scratch file was written: {error}")),
        };
        for (file, result) in written {
            let Err(error) = result else { continue };
            let message = described(&error);
            outcome.warnings.push(HookWarning {
                handler: file.handler,
                class: "scratch".to_owned(),
                message,
            });
        }
    }

    /// Writes warnings, and timings where they are wanted, to the progress log.
    async fn write_down(self: &Arc<Self>, point: HookPoint, place: &Place, outcome: &Outcome) {
        let at = self.clock.now();
        let iteration = (place.iteration > 0).then_some(place.iteration);
        let entry = |body| ProgressEntry { at, iteration, task: None, body };
        let warnings = outcome.warnings.iter().map(|warning| ProgressBody::HookWarning {
            point: point.to_string(),
            handler: warning.handler.to_string(),
            class: warning.class.clone(),
            message: warning.message.clone(),
        });
        let timings = outcome.timings.iter().filter(|_| self.log_timings);
        let timings = timings.map(|timing| ProgressBody::HookTiming {
            point: point.to_string(),
            handler: timing.handler.to_string(),
            duration: timing.took,
            outcome: timing.ended().to_owned(),
        });
        self.log(warnings.chain(timings).map(entry).collect()).await;
    }

    async fn fire_blob<P>(self: &Arc<Self>, input: P::Input, place: &Place, artifact: Artifact) -> HookReply
    where
        P: Point,
        P::Output: Blob,
    {
        let (output, outcome) = self.run::<P>(input, place).await;
        let blob = output.blob().to_owned();
        self.known(|known| match artifact {
            Artifact::ProjectSnapshot => known.snapshot.clone_from(&blob),
            Artifact::ProgressContext => known.progress.clone_from(&blob),
            Artifact::TaskContext => known.task_context.clone_from(&blob),
        });
        self.write_artifact(artifact, blob).await;
        HookReply { outcome, data: ReplyData::Nothing }
    }

    async fn fire_before_agent(
        self: &Arc<Self>,
        mut input: BeforeAgentInvokeInput,
        place: &Place,
    ) -> HookReply {
        if place.turn == Turn::Main {
            let made = self.known(|known| known.clone());
            input.snapshot = made.snapshot;
            input.progress = made.progress;
            input.task_context = made.task_context;
            input.extras = made.extras;
        }
        let (output, outcome) = self.run::<points::BeforeAgentInvoke>(input.clone(), place).await;
        points::BeforeAgentInvoke::apply(&mut input, &output);
        let agent = self.agents.named(&input.agent).ok();
        let declared = agent.as_deref().map_or(&[][..], Agent::declared_env);
        // One that was chosen late has its own variables too, but for those that handlers decided on.
        let env = moved(self.env.iter().cloned(), self.project.root(), &self.work_root);
        for (name, value) in compose_env(env, declared, &[], &[]) {
            let is_known = input.env.iter().any(|(known, _)| *known == name);
            let is_decided = output.env.iter().any(|(decided, _)| *decided == name);
            if !is_known && !is_decided && declared.iter().any(|one| fits(one, &name)) {
                input.env.push((name, value));
            }
        }
        let mut denied = apply_deny_list(&mut input.env, declared, &[]);
        // Those that lead an agent's hooks to a run are the run's to set.
        let is_bridges = |name: &str| [SOCKET_VARIABLE, TOKEN_VARIABLE].contains(&name);
        let bridges = input.env.extract_if(.., |(name, _)| is_bridges(name));
        denied.extend(bridges.map(|(name, _)| name));
        input.env_names = input.env.iter().map(|(name, _)| name.clone()).collect();
        let env = mem::take(&mut input.env);
        // Handlers can have set values that the caller does not have.
        self.secrets.learn(&env);
        *self.turn_env.lock().unwrap_or_else(PoisonError::into_inner) = env;
        if !denied.is_empty() {
            self.warn(format!("no agent gets these variables that handlers set: {}", denied.join(", ")));
        }
        HookReply { outcome, data: ReplyData::Invocation(Box::new(input)) }
    }

    async fn fire_agent(self: &Arc<Self>, mut input: AgentInvokeInput, place: &Place) -> HookReply {
        input.env = mem::take(&mut *self.turn_env.lock().unwrap_or_else(PoisonError::into_inner));
        let started = self.clock.elapsed();
        let agent = input.agent.clone();
        let port = Port::open(self, &input, place).await;
        let heard: Arc<dyn AgentPort> = Arc::clone(&port) as _;
        let (mut output, outcome) = self.run_with::<points::AgentInvoke>(input, place, Some(heard)).await;
        let message = output.failure.as_mut().map(|failure| &mut failure.message);
        for text in [&mut output.stdout, &mut output.stderr].into_iter().chain(message) {
            *text = self.secrets.hide(text).into_owned();
        }
        let took = self.clock.elapsed().saturating_sub(started);
        port.close().await;
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let answered = outcome.broken.is_empty() && self.registry.has_handlers(HookPoint::AgentInvoke);
        let failure = match (&output.failure, answered) {
            (Some(failure), true) => {
                Some(IterationFailure { class: failure.class.into(), message: failure.message.clone() })
            }
            (None, true) => None,
            (_, false) => Some(unanswered(&outcome)),
        };
        let resets_at = output.failure.as_ref().and_then(|failure| failure.resets_at.as_ref()?.parse().ok());
        let usage = output.usage.unwrap_or_default();
        let output = answered.then_some(output);
        let ended_at = self.clock.now();
        let conversation = port.conversation();
        let end = AgentEnd { agent, output, failure, conversation, resets_at, ended_at, usage, duration_ms };
        HookReply { outcome, data: ReplyData::Agent(Box::new(end)) }
    }

    async fn fire_quality(self: &Arc<Self>, mut input: QualityCheckInput, place: &Place) -> HookReply {
        if place.in_iteration && self.registry.has_handlers_beside_default(HookPoint::QualityCheck) {
            input.changed_files = self.look(WorkTree::changed_files).await;
        }
        let (output, outcome) = self.run::<points::QualityCheck>(input, place).await;
        let mut failures = output.failures;
        for text in failures.iter_mut().flat_map(|failure| [&mut failure.message, &mut failure.tail]) {
            *text = self.secrets.hide(text).into_owned();
        }
        if outcome.skipped.is_none() {
            self.known(|known| known.last_failures.clone_from(&failures));
        }
        HookReply { outcome, data: ReplyData::Checks(failures) }
    }

    /// Says whether any handler is told which files an iteration changed.
    pub(super) fn wants_changes(&self) -> bool {
        self.registry.has_handlers(HookPoint::AfterIteration)
            || self.registry.has_handlers_beside_default(HookPoint::QualityCheck)
    }

    /// Asks the work tree what changed; nothing where that is unknown.
    async fn look(self: &Arc<Self>, changed: fn(&WorkTree) -> Option<Vec<String>>) -> Option<Vec<String>> {
        self.blocking(move |services| changed(&services.work_tree)).await.ok().flatten()
    }
}

/// Says why nobody answered at `agent.invoke`.
fn unanswered(outcome: &Outcome) -> IterationFailure {
    let message = match outcome.broken.first() {
        Some(broken) => broken.to_string(),
        None => "no handler runs at agent.invoke".to_owned(),
    };
    IterationFailure { class: FailureClass::AgentStart, message }
}

/// Adds a warning for handlers that hold up every iteration.
fn note_slow_handlers(point: HookPoint, outcome: &mut Outcome) {
    let slow = outcome.timings.iter().filter(|timing| is_context(point) && timing.took > SLOW_CONTEXT);
    let slow: Vec<HookWarning> = slow
        .filter(|timing| &*timing.handler != DEFAULT_ID)
        .map(|timing| HookWarning {
            handler: Arc::clone(&timing.handler),
            class: "slow".to_owned(),
            message: format!("took {}, which every iteration waits for", lasting(timing.took)),
        })
        .collect();
    outcome.warnings.extend(slow);
}
