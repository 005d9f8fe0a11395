//! The loop as a machine without I/O.
//!
//! [`Machine::step`] takes one [`Input`] and returns the [`Effect`]s that
//! follow from it. The machine reads no clock, file or network, and it is plain
//! data between any two steps, so a run can be saved, resumed and replayed.
//! Carrying out effects is the [driver](super::driver)'s.
//!
//! The sequence is that of one iteration in the design: each phase waits for
//! one *main* effect. While the agent is at work, completions and tool calls
//! arrive beside it; their hook points fire one after the other on the *side*,
//! in the order they arrived, and the phase goes on when the side is idle.

mod effect;
mod ending;
mod iteration;
mod peek;
mod side;
mod turn;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use effect::{
    AbilityNotice, AgentEnd, Command, Completion, Effect, EffectId, EffectResult, HookReply, Input, Loaded,
    LogLine, NextWork, ReplyData, Wait,
};
use iteration::Iteration;
use side::Side;

use super::event::{Event, Failure};
use crate::{
    hook::{OnFailure, Point, Said},
    model::{
        ExitReason, FailureClass, TaskId, Usage,
        payload::{Deliver, Mode, SessionSource, SessionStartInput, TaskBrief, TextItem, Turn},
    },
    state::{Mutation, ProgressKind},
};

/// How many times in a row a stop can be blocked (contract, hook points).
const MAX_STOP_BLOCKS: u32 = 8;
/// How many times in a row the same failure with the same work tree is
/// accepted.
const MAX_REPEATS: u32 = 3;

/// What a run is about, frozen at its start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The session's name.
    pub session: String,
    /// The project's root directory.
    pub project_root: String,
    /// The task file.
    pub prd_path: String,
    /// The progress log.
    pub progress_path: String,
    /// The agent's name.
    pub agent: String,
    /// The sandbox's name.
    pub sandbox: String,
    /// The configured quality checks.
    pub checks: Vec<String>,
    /// When to stop.
    pub limits: Limits,
}

/// When a run stops by itself, and how long it pauses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// How many iterations it may make.
    pub max_iterations: u32,
    /// How many iterations in a row may fail.
    pub max_consecutive_failures: u32,
    /// How much it may cost, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// How many tokens it may read and write.
    pub max_tokens: Option<u64>,
    /// How long it waits between iterations, in milliseconds.
    pub pause_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_iterations: 20,
            max_consecutive_failures: 3,
            max_cost_usd: None,
            max_tokens: None,
            pause_ms: 2_000,
        }
    }
}

/// What the machine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    /// Nothing has happened yet.
    New,
    SessionStart,
    BeforeLoop,
    /// The plan is loaded, to see whether there is anything to pause for.
    Peek,
    Sleep,
    /// Somebody asked to hold.
    Paused,
    Load,
    BeforeIteration,
    Gate,
    StartTask,
    PromptSubmit,
    Snapshot,
    Progress,
    Task,
    Extra,
    BeforeInvoke,
    Invoke,
    /// The agent is done; the side is not.
    Drain,
    AfterInvoke,
    Quality,
    AfterIteration,
    IterationError,
    Fingerprint,
    /// The plan is changed, one mutation after the other.
    Mutate(Then),
    SessionStop,
    AfterLoop,
    SessionEnd,
    Ended,
}

/// What follows when the plan was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Then {
    /// Go on from an interruption.
    StartSession,
    AfterIteration,
    CloseIteration,
    Finish,
}

/// What somebody wants of the run. The later ones are the stronger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wish {
    /// End after the iteration.
    Cancel,
    /// The money is spent.
    Budget,
    /// The time is up.
    WallClock,
    /// End now.
    Stop,
}

impl Wish {
    fn reason(self) -> ExitReason {
        match self {
            Self::Cancel | Self::Stop => ExitReason::Cancelled,
            Self::Budget => ExitReason::Budget,
            Self::WallClock => ExitReason::WallClock,
        }
    }

    /// Says whether the iteration under way is given up.
    fn is_urgent(self) -> bool {
        self != Self::Cancel
    }
}

/// What a run has done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Counters {
    iterations: u32,
    failed: u32,
    consecutive_failures: u32,
    stop_blocks: u32,
    usage: Usage,
    completed: Vec<TaskId>,
}

/// The same failure, and how often it came in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Repeat {
    key: String,
    count: u32,
}

/// Why the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Ending {
    reason: ExitReason,
    detail: Option<String>,
}

/// The loop. See the [module](self).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    setup: Setup,
    phase: Phase,
    /// The effect the phase waits for.
    waits_for: Option<EffectId>,
    next_effect: u64,
    side: Side,
    iteration: Option<Iteration>,
    counters: Counters,
    /// Text for the next prompt.
    pending: Vec<Said>,
    /// Changes of the plan that still have to be made, in order.
    mutations: VecDeque<Mutation>,
    wish: Option<Wish>,
    /// Whether to hold before the next iteration.
    hold: bool,
    resumed: bool,
    /// Whether the last quality check passed; nothing before the first.
    last_check: Option<bool>,
    repeat: Repeat,
    ending: Option<Ending>,
    /// A usage limit to wait for before the next iteration.
    limited_until: Option<jiff::Timestamp>,
    /// The extra turn outside of iterations that is under way.
    closing: Option<turn::Closing>,
    /// Completions of turns that no check follows.
    unchecked_at_end: Vec<TaskId>,
    /// How many tasks were pending when the plan was loaded.
    queue_size: u32,
    /// How the agent call of this turn ended, while the side is still busy.
    agent_end: Option<AgentEnd>,
    /// What ends the turn, whatever the agent itself says.
    turn_failure: Option<Failure>,
    #[serde(skip)]
    out: Vec<(EffectId, Effect)>,
}

impl Machine {
    /// Creates a machine that waits for [`Input::Start`].
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            phase: Phase::New,
            waits_for: None,
            next_effect: 0,
            side: Side::default(),
            iteration: None,
            counters: Counters::default(),
            pending: Vec::new(),
            mutations: VecDeque::new(),
            wish: None,
            hold: false,
            resumed: false,
            last_check: None,
            repeat: Repeat::default(),
            ending: None,
            limited_until: None,
            closing: None,
            unchecked_at_end: Vec::new(),
            queue_size: 0,
            agent_end: None,
            turn_failure: None,
            out: Vec::new(),
        }
    }

    /// Says whether the run has ended; it then ignores every input.
    pub fn is_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Returns the iteration under way, else the last one; 0 before the first.
    pub fn iteration_number(&self) -> u32 {
        self.iteration.as_ref().map_or(self.counters.iterations, |iteration| iteration.number)
    }

    /// Says whether an iteration is under way.
    pub fn in_iteration(&self) -> bool {
        self.iteration.is_some()
    }

    /// Returns what all agent calls of the run consumed.
    pub fn usage(&self) -> Usage {
        self.counters.usage
    }

    /// Returns how many iterations in a row have failed.
    pub fn consecutive_failures(&self) -> u32 {
        self.counters.consecutive_failures
    }

    /// Returns the mode and the task of the iteration under way.
    pub fn iteration_kind(&self) -> (Mode, Option<TaskBrief>) {
        let of = |iteration: &Iteration| (iteration.mode, iteration.task.clone());
        self.iteration.as_ref().map(of).unwrap_or_default()
    }

    /// Puts another set-up in place, as a caller that resumes a run may want.
    pub fn set_setup(&mut self, setup: Setup) {
        self.setup = setup;
    }

    /// Takes one input and returns what follows from it, in order.
    pub fn step(&mut self, input: Input) -> Vec<(EffectId, Effect)> {
        if !self.is_ended() {
            self.take(input);
        }
        std::mem::take(&mut self.out)
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Start => self.start(),
            Input::Resume { completed } => self.resume(completed),
            Input::Done(id, result) if self.waits_for == Some(id) => {
                self.waits_for = None;
                self.advance(result);
            }
            Input::Done(id, result) => self.side_done(id, result),
            Input::Command(command) => self.command(command),
            Input::TaskCompleted(completion) => self.task_completed(completion),
            Input::AbilityBefore(notice) => self.side_push(side::Work::Before(notice)),
            Input::AbilityAfter { result, ticket } => self.side_push(side::Work::After { result, ticket }),
            Input::UsageSoFar(usage) => {
                let mut total = self.counters.usage;
                total += usage;
                if self.is_over_budget(total) {
                    self.wish(Wish::Budget);
                }
            }
            Input::WallClock => self.wish(Wish::WallClock),
        }
    }

    fn start(&mut self) {
        self.emit(Event::RunStarted {
            resumed: self.resumed,
            agent: self.setup.agent.clone(),
            max_iterations: self.setup.limits.max_iterations,
        });
        let source = if self.resumed { SessionSource::Resume } else { SessionSource::Startup };
        let input = SessionStartInput { session: self.setup.session.clone(), source, ..Default::default() };
        self.fire::<crate::hook::points::SessionStart>(Phase::SessionStart, input);
    }

    /// Goes on from a saved state. What was in flight is lost: the iteration
    /// under way is closed as interrupted, and what it completed is taken
    /// back, because nothing checked it.
    fn resume(&mut self, completed: Vec<TaskId>) {
        self.resumed = true;
        self.waits_for = None;
        self.side = Side::default();
        self.wish = None;
        self.hold = false;
        self.closing = None;
        self.agent_end = None;
        self.turn_failure = None;
        self.mutations.clear();
        if let Some(iteration) = self.iteration.take() {
            self.log(ProgressKind::Error, iteration.task_id(), "interrupted: samuel ended in mid-iteration");
            self.put_back(iteration.in_flight);
            self.take_back(completed, vec!["interrupted before its check".to_owned()]);
            if let Some(task) = &iteration.task {
                self.mutations.push_back(Mutation::ReturnToPending { id: TaskId::new(task.id.clone()) });
            }
            self.counters.iterations = iteration.number;
            self.mutations.push_back(Mutation::CommitIteration {
                iteration: iteration.number,
                mode: iteration.mode,
                usage: iteration.usage,
            });
        }
        self.mutate(Then::StartSession);
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Pause => {
                self.hold = true;
                self.wake();
            }
            Command::Resume => {
                self.hold = false;
                if self.phase == Phase::Paused {
                    self.emit(Event::Resumed);
                    self.begin_iteration();
                }
            }
            Command::Steer(content) => self.pending.push(Said {
                handler: "user".into(),
                point: crate::hook::HookPoint::BeforeIteration,
                item: TextItem { content, deliver: Deliver::Next },
            }),
            Command::Cancel => self.wish(Wish::Cancel),
            Command::Stop => self.wish(Wish::Stop),
        }
    }

    /// Notes that the run should end, and interrupts what can be interrupted.
    fn wish(&mut self, wish: Wish) {
        if self.wish.is_some_and(|earlier| earlier >= wish) {
            return;
        }
        self.wish = Some(wish);
        self.wake();
        let closing = matches!(self.phase, Phase::AfterLoop | Phase::SessionEnd | Phase::Mutate(_));
        if wish.is_urgent() && !closing {
            self.interrupt();
        }
    }

    fn interrupt(&mut self) {
        let running = [self.waits_for, self.side.running_id()];
        for id in running.into_iter().flatten() {
            self.effect(Effect::Interrupt(id));
        }
    }

    /// Ends a wait between iterations early.
    fn wake(&mut self) {
        match self.phase {
            Phase::Sleep => self.interrupt(),
            Phase::Paused if self.wish.is_some() => self.begin_iteration(),
            _ => {}
        }
    }

    /// Goes on, now that the effect the phase waited for is done.
    fn advance(&mut self, result: EffectResult) {
        if let EffectResult::Failed(message) = result {
            return self.failed(message);
        }
        let urgent = self.wish.is_some_and(Wish::is_urgent);
        if urgent && self.iteration.is_some() && self.can_give_up() {
            if let EffectResult::Hook(reply) = result {
                self.record_agent(&reply);
            }
            return self.give_up_iteration();
        }
        match (self.phase, result) {
            (Phase::SessionStart, EffectResult::Hook(reply)) => self.after_session_start(*reply),
            (Phase::BeforeLoop, EffectResult::Hook(reply)) => self.after_before_loop(*reply),
            (Phase::Peek, EffectResult::Loaded(loaded)) => self.after_peek(loaded),
            (Phase::Sleep, _) => self.begin_iteration(),
            (Phase::Load, EffectResult::Loaded(loaded)) => self.after_load(loaded),
            (Phase::BeforeIteration, EffectResult::Hook(reply)) => self.after_before_iteration(*reply),
            (Phase::Gate, EffectResult::Hook(reply)) => self.after_gate(*reply),
            (Phase::StartTask, _) => self.after_start_task(),
            (Phase::PromptSubmit, EffectResult::Hook(reply)) => self.after_prompt_submit(*reply),
            (Phase::Snapshot | Phase::Progress | Phase::Task | Phase::Extra, EffectResult::Hook(reply)) => {
                self.after_context(*reply);
            }
            (Phase::BeforeInvoke, EffectResult::Hook(reply)) => self.after_before_invoke(*reply),
            (Phase::Invoke, EffectResult::Hook(reply)) => self.after_invoke(*reply),
            (Phase::AfterInvoke, EffectResult::Hook(reply)) => self.after_after_invoke(*reply),
            (Phase::Quality, EffectResult::Hook(reply)) => self.after_quality(*reply),
            (Phase::AfterIteration, EffectResult::Hook(reply)) => self.after_after_iteration(*reply),
            (Phase::IterationError, EffectResult::Hook(reply)) => self.after_iteration_error(*reply),
            (Phase::Fingerprint, EffectResult::Fingerprint(tree)) => self.after_fingerprint(&tree),
            (Phase::Mutate(then), _) => self.mutate(then),
            (Phase::SessionStop, EffectResult::Hook(reply)) => self.after_session_stop(*reply),
            (Phase::AfterLoop, EffectResult::Hook(reply)) => self.after_after_loop(*reply),
            (Phase::SessionEnd, EffectResult::Hook(_)) => self.finish(),
            (phase, result) => self.failed(format!("unexpected {result:?} in {phase:?}")),
        }
    }

    /// Ends the run, because Samuel itself cannot go on.
    fn failed(&mut self, message: String) {
        let past_the_loop = matches!(self.ending, Some(Ending { reason: ExitReason::Error, .. }));
        self.ending = Some(Ending { reason: ExitReason::Error, detail: Some(message) });
        self.iteration = None;
        self.mutations.clear();
        if past_the_loop || matches!(self.phase, Phase::SessionEnd | Phase::Mutate(Then::Finish)) {
            self.report();
        } else {
            self.fire_after_loop();
        }
    }

    /// Makes the next change of the plan, or goes on if there is none.
    fn mutate(&mut self, then: Then) {
        if let Some(mutation) = self.mutations.pop_front() {
            return self.wait_for(Phase::Mutate(then), Effect::Mutate(mutation));
        }
        match then {
            Then::StartSession => self.start(),
            Then::AfterIteration => self.fire_after_iteration(),
            Then::CloseIteration => self.close_iteration(),
            Then::Finish => self.report(),
        }
    }

    /// Returns completions to pending, because no check stands behind them.
    fn take_back(&mut self, ids: Vec<TaskId>, reasons: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        self.emit(Event::TasksTakenBack { tasks: ids.clone(), reasons: reasons.clone() });
        self.mutations.push_back(Mutation::TakeBack { ids, failures: reasons });
    }

    /// Files what handlers said, and says whether the point's outcome keeps
    /// the iteration from going on.
    fn absorb(&mut self, reply: &HookReply) -> Option<Failure> {
        for said in &reply.outcome.said {
            match (&mut self.iteration, said.item.deliver) {
                (Some(iteration), Deliver::Now) => iteration.now.push(said.clone()),
                _ => self.pending.push(said.clone()),
            }
        }
        if let Some(abort) = &reply.outcome.abort {
            let message = format!("{} broke: {}", abort.handler, abort.failure);
            if abort.action == OnFailure::AbortLoop {
                self.ending
                    .get_or_insert(Ending { reason: ExitReason::StrictHook, detail: Some(message.clone()) });
            }
            return Some(Failure { class: FailureClass::HookBroke, message });
        }
        let reason = reply.outcome.refused.clone()?;
        Some(Failure { class: FailureClass::Refused, message: reason })
    }

    fn put_back(&mut self, mut text: Vec<Said>) {
        text.append(&mut self.pending);
        self.pending = text;
    }

    fn fire<P: Point>(&mut self, phase: Phase, input: P::Input) {
        let turn = self.iteration.as_ref().map_or(Turn::Main, |iteration| iteration.turn);
        let turn = self.closing.as_ref().map_or(turn, |_| Turn::Final);
        self.wait_for(phase, Effect::Dispatch { call: Box::new(P::wrap(input)), turn });
    }

    fn wait_for(&mut self, phase: Phase, effect: Effect) {
        self.phase = phase;
        let id = self.effect(effect);
        self.waits_for = Some(id);
    }

    fn emit(&mut self, event: Event) {
        self.effect(Effect::Emit(event));
    }

    fn log(&mut self, kind: ProgressKind, task: Option<TaskId>, text: impl Into<String>) {
        self.effect(Effect::Log(LogLine { kind, task, text: text.into() }));
    }

    fn effect(&mut self, effect: Effect) -> EffectId {
        self.next_effect += 1;
        let id = EffectId(self.next_effect);
        self.out.push((id, effect));
        id
    }

    fn is_over_budget(&self, usage: Usage) -> bool {
        let limits = &self.setup.limits;
        let cost = limits.max_cost_usd.is_some_and(|max| usage.cost_usd.unwrap_or(0.0) >= max);
        cost || limits.max_tokens.is_some_and(|max| usage.tokens() >= max)
    }
}

/// Puts what handlers said into one text, each part under who said it.
fn frame(said: &[Said]) -> String {
    let part = |said: &Said| match &*said.handler {
        "user" => format!("[message from the user]\n{}", said.item.content),
        handler => format!("[hook {handler} at {}]\n{}", said.point, said.item.content),
    };
    said.iter().map(part).collect::<Vec<_>>().join("\n\n")
}
