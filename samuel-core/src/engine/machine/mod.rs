//! The loop as a machine without I/O.
//!
//! [`Machine::step`] takes one [`Input`] and returns the [`Effect`]s that
//! follow from it. The machine reads no clock, file or network, and it is plain
//! data between any two steps, so a run can be saved, resumed and replayed.
//! Carrying out effects is the driver's.
//!
//! The sequence is that of one iteration in the design: each phase waits for
//! one *main* effect. While the agent is at work, completions and tool calls
//! arrive beside it; their hook points fire one after the other on the *side*,
//! in the order they arrived, and the phase goes on when the side is idle.

mod command;
mod effect;
mod ending;
mod iteration;
mod limit;
mod plan_changes;
mod quality;
mod resume;
mod settle;
mod setup;
mod side;
mod standing;
mod text;
mod turn;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use command::Wish;
pub use effect::{
    AbilityNotice, AgentEnd, Command, Completion, Effect, EffectId, EffectResult, HookReply, Input, Loaded,
    LogLine, ReplyData, Wait,
};
use iteration::Iteration;
use limit::UsageLimit;
pub use plan_changes::PlanChanged;
pub use setup::{Limits, Setup};
use side::Side;
use standing::LastCheck;
pub(in crate::engine) use standing::{Moment, is_provisional};

use super::event::{Event, Failure, RunFault};
use crate::{
    hook::{Point, Said},
    model::{
        ExitReason, TaskId, Usage,
        payload::{Mode, TaskBrief},
    },
    state::{Mutation, ProgressKind},
    text::{counted, dollars},
};

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
    /// The plan is loaded, to see whether a last turn undid what the run was
    /// about to say.
    LookAgain,
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
    BeginIteration,
    AfterIteration,
    CloseIteration,
    /// The books are in order before the last points fire.
    EndLoop,
    Finish,
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
    /// Tasks whose iteration succeeded without a word of what became of them.
    #[serde(default)]
    unrecorded: Vec<TaskId>,
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
    /// The error, where one is the reason.
    #[serde(default)]
    fault: Option<RunFault>,
}

impl Ending {
    fn new(reason: ExitReason, detail: Option<String>) -> Self {
        Self { reason, detail, fault: None }
    }
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
    /// Changes of the plan that still have to be made, in order. The one under
    /// way stays in front until it is made, so that none is lost.
    mutations: VecDeque<Mutation>,
    wish: Option<Wish>,
    /// Whether to hold before the next iteration.
    hold: bool,
    resumed: bool,
    /// Whether the last quality check passed; nothing before the first.
    last_check: Option<bool>,
    /// Whether that check is younger than the last completion.
    #[serde(default)]
    check_age: LastCheck,
    /// How many checks in a row were made for the end of the run alone.
    #[serde(default)]
    end_checks: u32,
    repeat: Repeat,
    ending: Option<Ending>,
    /// A usage limit to wait for before the next iteration.
    #[serde(default)]
    limit: UsageLimit,
    /// The extra turn outside of iterations that is under way.
    closing: Option<turn::Closing>,
    /// The text of the last turn, until the agent has got it.
    #[serde(default)]
    delivering: Vec<Said>,
    /// Completions that no check follows: the last turns make them, agents
    /// that outlive their call, and whoever is as late as that in an iteration.
    unchecked_outside: Vec<TaskId>,
    /// Completions of which nothing vouches that a check passed: the next one decides.
    #[serde(default)]
    doubtful: Vec<TaskId>,
    /// What turns outside of iterations consumed.
    usage_outside: Usage,
    /// What the agent call under way consumed so far.
    #[serde(default)]
    call_usage: Usage,
    /// How the agent call of this turn ended, while the side is still busy.
    agent_end: Option<AgentEnd>,
    /// What ends the turn, whatever the agent itself says.
    turn_failure: Option<Failure>,
    /// Why Samuel cannot go on, while the effect under way is being stopped.
    #[serde(default)]
    broken_by: Option<RunFault>,
    /// Whether somebody was told of a cost that is none.
    #[serde(default)]
    warned_of_cost: bool,
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
            check_age: LastCheck::default(),
            end_checks: 0,
            repeat: Repeat::default(),
            ending: None,
            limit: UsageLimit::default(),
            closing: None,
            delivering: Vec::new(),
            unchecked_outside: Vec::new(),
            doubtful: Vec::new(),
            usage_outside: Usage::default(),
            call_usage: Usage::default(),
            agent_end: None,
            turn_failure: None,
            broken_by: None,
            warned_of_cost: false,
            out: Vec::new(),
        }
    }

    /// Takes over from the run before how its last check went: a failure does
    /// not go away by a new start. It is asked anew, since somebody may have
    /// corrected by hand what it found; so is one that passed, if something was
    /// completed since or if it was another check.
    pub fn succeed(&mut self, earlier: &Machine, completed_since: bool) {
        (self.last_check, self.check_age) = (earlier.last_check, earlier.check_age);
        let is_same = earlier.setup.checks == self.setup.checks;
        if self.last_check == Some(false) || completed_since || !is_same || !earlier.setup.has_checks {
            self.check_age.outdate();
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

    /// Returns what all agent calls of the run consumed, with the one under way.
    pub fn used(&self) -> Usage {
        let mut used = self.counters.usage;
        used += self.call_usage;
        used
    }

    /// Counts what the run had consumed in all when it was interrupted, which is
    /// more than the calls that it saw the end of.
    pub fn count_used(&mut self, used: Usage) {
        let lost = used.beyond(&self.counters.usage);
        self.call_usage = Usage::default();
        self.counters.usage += lost;
        match &mut self.iteration {
            Some(iteration) => iteration.usage += lost,
            None => self.usage_outside += lost,
        }
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

    /// Returns why the iteration under way failed, if it did.
    pub(in crate::engine) fn failure(&self) -> Option<&Failure> {
        self.iteration.as_ref()?.failure.as_ref()
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
            Input::Start if self.phase == Phase::New => {
                self.announce();
                self.fire_session_start();
            }
            Input::Start => {}
            Input::Resume { completed, committed, began } => self.resume(completed, committed, began),
            Input::Done(id, result) if self.waits_for == Some(id) => {
                self.waits_for = None;
                self.advance(result);
            }
            Input::Done(id, result) => self.side_done(id, result),
            Input::Command(command) => self.command(command),
            Input::TaskCompleted(completion) => self.task_completed(completion),
            Input::PlanChanged(changed) => self.plan_changed(changed),
            Input::Unheard => self.check_age.outdate(),
            Input::AbilityBefore(notice) => self.ability_before(notice),
            Input::AbilityAfter { result, ticket } => self.ability_after(result, ticket),
            Input::UsageSoFar(usage) => self.usage_so_far(usage),
            Input::WallClock => self.wish(Wish::WallClock),
        }
    }

    /// Goes on, now that the effect the phase waited for is done.
    fn advance(&mut self, result: EffectResult) {
        if let EffectResult::Failed(fault) = result {
            return self.failed(self.broken_by.clone().unwrap_or(fault));
        }
        if let Some(fault) = self.broken_by.take() {
            self.note(result);
            return self.failed(fault);
        }
        if self.is_urgent() && self.gives_way() {
            self.note(result);
            return self.give_up();
        }
        match (self.phase, result) {
            (_, EffectResult::Hook(reply)) => self.answered(*reply),
            (Phase::Peek, EffectResult::Loaded(loaded)) => self.after_peek(loaded),
            (Phase::Load, EffectResult::Loaded(loaded)) => self.after_load(loaded),
            (Phase::Sleep, _) => self.after_sleep(),
            (Phase::StartTask, EffectResult::Refused(reason)) => self.refuse_start(reason),
            (Phase::StartTask, _) => self.after_start_task(),
            (Phase::Fingerprint, EffectResult::Fingerprint(tree)) => self.after_fingerprint(&tree),
            (Phase::Mutate(then), result) => self.after_mutation(then, result),
            (Phase::Quality, EffectResult::ControlFilesChanged { files, during_check }) => {
                self.refuse_check(files, during_check);
            }
            (Phase::LookAgain, EffectResult::Loaded(loaded)) => self.after_look_again(&loaded),
            (phase, _) => self.failed(format!("the effect of phase {phase:?} had a result of another kind")),
        }
    }

    /// Goes on, now that the handlers of a point answered.
    fn answered(&mut self, reply: HookReply) {
        match self.phase {
            Phase::SessionStart => self.after_session_start(reply),
            Phase::BeforeLoop => self.after_before_loop(reply),
            Phase::BeforeIteration => self.after_before_iteration(reply),
            Phase::Gate => self.after_gate(reply),
            Phase::PromptSubmit => self.after_prompt_submit(reply),
            Phase::Snapshot | Phase::Progress | Phase::Task | Phase::Extra => self.after_context(reply),
            Phase::BeforeInvoke => self.after_before_invoke(reply),
            Phase::Invoke => self.after_invoke(reply),
            Phase::AfterInvoke => self.after_after_invoke(reply),
            Phase::Quality => self.after_quality(reply),
            Phase::AfterIteration => self.after_after_iteration(reply),
            Phase::IterationError => self.after_iteration_error(reply),
            Phase::SessionStop => self.after_session_stop(reply),
            Phase::AfterLoop => self.after_after_loop(reply),
            Phase::SessionEnd => self.after_session_end(reply),
            phase => self.failed(format!("handlers answered in phase {phase:?}")),
        }
    }

    /// Makes the next change of the plan, or goes on if there is none.
    fn mutate(&mut self, then: Then) {
        if let Some(mutation) = self.mutations.front().cloned() {
            return self.wait_for(Phase::Mutate(then), Effect::Mutate(mutation));
        }
        match then {
            Then::StartSession => {
                self.conclude_iteration();
                self.fire_session_start();
            }
            Then::BeginIteration => self.begin_iteration(),
            Then::AfterIteration if self.is_urgent() => self.give_up(),
            Then::AfterIteration => self.fire_after_iteration(),
            Then::CloseIteration => {
                self.conclude_iteration();
                self.rest();
            }
            Then::EndLoop => self.fire_last_points(),
            Then::Finish => self.report(),
        }
    }

    fn after_mutation(&mut self, then: Then, result: EffectResult) {
        let mutation = self.mutations.pop_front();
        if let (EffectResult::Refused(reason), Some(mutation)) = (result, mutation) {
            self.emit(Event::Warning { message: format!("{} was refused: {reason}", mutation.name()) });
        }
        self.mutate(then);
    }

    fn fire<P: Point>(&mut self, phase: Phase, input: P::Input) {
        let turn = self.turn();
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

    fn usage_so_far(&mut self, usage: Usage) {
        // What comes late is part of the result of the call already.
        if self.phase != Phase::Invoke {
            return;
        }
        self.call_usage = usage;
        if self.over_budget(self.used()).is_some() {
            self.wish(Wish::Budget);
        }
    }

    /// Says what of the budget is used up; nothing while none is.
    fn over_budget(&self, usage: Usage) -> Option<String> {
        let limits = &self.setup.limits;
        let cost = usage.cost_usd.unwrap_or(0.0);
        if let Some(max) = limits.max_cost_usd.filter(|max| cost >= *max) {
            return Some(format!("{} were spent of at most {}", dollars(cost), dollars(max)));
        }
        let max = limits.max_tokens.filter(|max| usage.tokens() >= *max)?;
        Some(format!("{} were used of at most {max}", counted(usage.tokens(), "token")))
    }
}
