//! What the next iteration would be, without making it.
//!
//! [`Run::preview`] is the run under a driver that stops before the agent: the same
//! machine, the same handlers up to `before:agent.invoke`. It takes no lock, calls no
//! agent and writes nothing: what a run changes and writes goes to a store in memory
//! that is dropped. A [`Glance::Still`] preview does not start processes either, and
//! leaves out every handler that is not built in.

use std::sync::Arc;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    begin::Begin,
    error::{RunError, blocking},
    fire::Place,
    hook_report::{ChainReport, HookReport},
    plan_effects::{load, mutate},
    run::Run,
    services::{Purpose, Services},
};
use crate::{
    agent::Choice,
    context::{ContextView, PromptStats},
    event::Event,
    hook::{HookCall, HookPoint, HookWarning, without_version},
    machine::{Effect, EffectResult, Input, Machine},
    model::{
        ExitReason,
        payload::{Mode, TaskBrief, Turn},
    },
    state::{Artifact, MemoryLane, MemoryStore, StateError},
};

/// Why a run with nothing left to do is completed.
const SETTLED: &str = "every task is completed or skipped";

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
    /// The agent that would get it, and why it is this one; nothing where none would be called.
    pub agent: Option<Choice>,
    /// What the agent would get; nothing where no iteration would be made.
    pub prompt: Option<String>,
    /// What the prompt consists of; nothing where there is none.
    pub stats: Option<PromptStats>,
    /// Why no iteration would be made, where that is so.
    pub stop: Option<PreviewStop>,
    /// What templates can use.
    #[serde(skip)]
    pub context: ContextView,
    /// Every point's handlers.
    pub chains: Vec<ChainReport>,
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

impl Run {
    /// Says what the next iteration would be.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where the plan cannot be read,
    /// [`RunError::Tasks`] where the run is to be for tasks that there are not, and
    /// [`RunError::Prompt`] where a handler breaks that the prompt depends on, or
    /// refuses the iteration.
    pub async fn preview(mut self, glance: Glance) -> Result<Preview, RunError> {
        self.check_tasks().await?;
        self.detect().await?;
        let mut begin = self.recover().await?;
        self.free_for_preview(&mut begin).await?;
        let framing = self.frozen.framing.clone();
        let project = &self.frozen.project;
        let mut chains = HookReport::new(&self.registry, project.config(), project.methodology()).chains;
        if glance == Glance::Still {
            self.registry.retain_built_in();
        }
        // What is written goes nowhere, and the plan changes in memory alone.
        let clock = self.frozen.project.clock();
        let lane = MemoryLane::new(self.frozen.run_dir.clone(), Arc::clone(&clock));
        let store = MemoryStore::holding(begin.loaded, clock);
        let last_snapshot = match glance {
            Glance::Exact => None,
            Glance::Still => self.last_snapshot().await?,
        };
        let (_, services, mut events, _inputs) =
            self.equip((Arc::new(store), Arc::new(lane)), None, begin.known, Purpose::Preview, None, None);
        let mut looking = Looking { services, machine: begin.machine, place: None, last_snapshot };
        let seen = looking.go(begin.first).await?;
        let Looking { services, machine, place, .. } = looking;
        let agent = machine.chosen_agent().cloned().filter(|_| matches!(seen, Seen::Prompt(_)));
        services.hub.close();
        let mut warnings = Vec::new();
        while let Some(record) = events.next().await {
            warnings.extend(warnings_of(record.event));
        }
        let (place, task) = place.unwrap_or_else(|| {
            let (place, _) = Place::of(&machine, Turn::Main, CancellationToken::new());
            (Place { iteration: place.iteration + 1, ..place }, None)
        });
        services.enter(&place, task.clone());
        // Also where nothing of a turn fired.
        let at = services.place_at(HookPoint::BeforeIteration);
        let context = services.contexts(|contexts| contexts.placed(at));
        chains.iter_mut().for_each(|chain| chain.keep_to(place.mode, &services.registry));
        let (prompt, stop) = match seen {
            Seen::Prompt(prompt) => (Some(prompt), None),
            Seen::End(stop) => (None, Some(stop)),
        };
        let stats = prompt.as_ref().map(|prompt| PromptStats::of(prompt, &framing));
        Ok(Preview {
            iteration: place.iteration,
            mode: place.mode,
            task,
            agent,
            prompt,
            stats,
            stop,
            context,
            chains,
            warnings,
        })
    }
}

impl Run {
    /// Has a preview begin with what the start would free.
    async fn free_for_preview(&self, begin: &mut Begin) -> Result<(), RunError> {
        let (project, plan) = (self.frozen.project.clone(), Arc::clone(&begin.loaded.plan));
        let freed = blocking(move || {
            let under_way = project.work_under_way(&plan)?;
            Ok::<_, StateError>(Arc::new(under_way.freed(&plan).into_owned()))
        });
        let freed = freed.await??;
        (begin.loaded.plan, begin.known.plan) = (Arc::clone(&freed), freed);
        Ok(())
    }

    /// Returns the project snapshot of the last iteration that made one.
    async fn last_snapshot(&self) -> Result<Option<String>, RunError> {
        let lane = Arc::clone(&self.frozen.lane);
        let last = blocking(move || lane.read_artifact(Artifact::ProjectSnapshot)).await??;
        Ok(last.map(|text| without_version(&text).to_owned()))
    }
}

/// Returns what an event warns of.
fn warnings_of(event: Event) -> Vec<String> {
    match event {
        Event::Warning { message } => vec![message],
        Event::HookFired { point, outcome, .. } => {
            let word =
                |HookWarning { handler, class, message }| format!("{point} {handler} {class}: {message}");
            outcome.warnings.into_iter().map(word).collect()
        }
        _ => Vec::new(),
    }
}

/// What was seen where a preview ends.
enum Seen {
    /// The agent would be called with this prompt.
    Prompt(String),
    /// The run would end.
    End(PreviewStop),
}

impl Seen {
    fn end(reason: ExitReason, detail: impl Into<String>) -> Self {
        Self::End(PreviewStop { reason, detail: detail.into() })
    }
}

/// The driver of a machine that goes as far as the agent.
struct Looking {
    services: Arc<Services>,
    machine: Machine,
    /// The iteration that was under way at the last step, and its task.
    place: Option<(Place, Option<TaskBrief>)>,
    /// The project snapshot, where none is to be taken.
    last_snapshot: Option<String>,
}

impl Looking {
    /// Takes steps until the agent would be called or the run would end.
    ///
    /// # Errors
    /// Returns [`RunError::Prompt`] where the iteration fails on the way.
    async fn go(&mut self, first: Input) -> Result<Seen, RunError> {
        let mut input = first;
        loop {
            let here = || Place::of(&self.machine, Turn::Main, CancellationToken::new());
            self.place = self.machine.in_iteration().then(here);
            let mut answer = None;
            for (id, effect) in self.machine.step(input) {
                match effect {
                    Effect::Emit(Event::Stopping { reason, detail }) => {
                        let settled = (reason == ExitReason::Completed).then(|| SETTLED.to_owned());
                        return Ok(Seen::end(reason, detail.or(settled).unwrap_or_default()));
                    }
                    Effect::Emit(event) => self.services.emit(event),
                    Effect::Dispatch { call, turn } => match *call {
                        HookCall::AgentInvoke(input) => return Ok(Seen::Prompt(input.prompt)),
                        HookCall::QualityCheck(_) => {
                            let detail =
                                format!("{SETTLED}, if the quality checks, which are asked first, pass");
                            return Ok(Seen::end(ExitReason::Completed, detail));
                        }
                        HookCall::AfterIteration(_) => {
                            let failure = self.machine.failure().map(|failure| failure.message.clone());
                            return Err(RunError::Prompt { message: failure.unwrap_or_default() });
                        }
                        call => answer = Some((id, self.fire(call, turn).await)),
                    },
                    Effect::Load(scope) => answer = Some((id, load(&self.services, &scope).await)),
                    Effect::Mutate(mutation) => {
                        answer = Some((id, mutate(&self.services, mutation).await?));
                    }
                    // What the work tree is now says nothing that a preview needs.
                    Effect::Fingerprint => {
                        answer = Some((id, EffectResult::Fingerprint(String::new())));
                    }
                    Effect::Sleep(_) => answer = Some((id, EffectResult::Done)),
                    Effect::HandIn => answer = Some((id, EffectResult::Done)),
                    Effect::Log(_)
                    | Effect::Checkpoint
                    | Effect::Interrupt(_)
                    | Effect::Answer { .. }
                    | Effect::Reopen { .. }
                    | Effect::Delivered(_) => {}
                }
            }
            input = match answer {
                Some((_, EffectResult::Failed(fault))) => {
                    return Err(RunError::Broken { message: fault.message });
                }
                Some((id, result)) => Input::Done(id, result),
                None => return Err(RunError::Broken { message: "the loop came to a halt".to_owned() }),
            };
        }
    }

    async fn fire(&mut self, call: HookCall, turn: Turn) -> EffectResult {
        let (place, task) = Place::of(&self.machine, turn, CancellationToken::new());
        self.services.enter(&place, task);
        if let (HookCall::ContextSnapshot(_), Some(last)) = (&call, self.last_snapshot.take()) {
            self.services.known(|known| known.snapshot = last);
            return EffectResult::Hook(Box::default());
        }
        EffectResult::Hook(Box::new(self.services.fire(call, &place).await))
    }
}
