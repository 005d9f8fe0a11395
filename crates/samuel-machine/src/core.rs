//! What lasts from one state to the next, and how one follows from the other.

use std::collections::VecDeque;

use samuel_hook::{HookCall, Point};
use samuel_model::{
    ExitReason, FailureClass, TaskId, Usage,
    payload::Turn,
    text::{counted_were, dollars},
};
use samuel_state::{Mutation, ProgressKind};
use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{
    Checks, Effect, EffectId, EffectResult, HookReply, Input, LogLine, Owner, Phase, Setup, State, Then,
    agents::Agents,
    another_turn::Conversations,
    command::{Requests, StopRequest},
    guards::Guards,
    iteration::Iteration,
    limit::UsageLimit,
    side::Side,
    text::Texts,
};
use crate::event::{Event, IterationFailure, RunFault};

/// What a run has done so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counters {
    pub(super) iterations: u32,
    pub(super) failed: u32,
    /// Number of failed iterations that were interrupted: Samuel was killed, or the run ended with an error.
    #[serde(default)]
    pub(super) interrupted: u32,
    pub(super) consecutive_failures: u32,
    pub(super) stop_blocks: u32,
    pub(super) usage: Usage,
    pub(super) completed: Vec<TaskId>,
    /// Tasks whose iteration succeeded without a word of what became of them.
    #[serde(default)]
    pub(super) unrecorded: Vec<TaskId>,
    /// How many discovery iterations in a row found nothing.
    #[serde(default)]
    pub(super) empty_discoveries: u32,
}

/// What of the usage is in no iteration's books.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Spending {
    /// What turns outside of iterations consumed.
    pub(super) usage_outside: Usage,
    /// What the agent call under way consumed so far.
    pub(super) call_usage: Usage,
    /// Whether somebody was told of a cost that is none.
    pub(super) warned_of_cost: bool,
}

/// The same failure, and how often it came in a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Repeat {
    pub(super) key: String,
    pub(super) count: u32,
}

/// Why the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ending {
    pub(super) reason: ExitReason,
    pub(super) detail: Option<String>,
    /// The error, where one is the reason.
    #[serde(default)]
    pub(super) fault: Option<RunFault>,
}

impl Ending {
    pub(super) fn new(reason: ExitReason, detail: Option<String>) -> Self {
        Self { reason, detail, fault: None }
    }
}

/// The effect that a state waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) id: EffectId,
    /// Why Samuel cannot go on, while the effect is being stopped.
    pub(super) broken_by: Option<RunFault>,
}

/// What lasts from one state to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Core {
    pub(super) setup: Setup,
    #[serde(default)]
    pub(super) waiting: Option<Waiting>,
    #[serde(deserialize_with = "effect_number")]
    next_effect: u64,
    #[serde(skip)]
    pub(super) out: Vec<(EffectId, Effect)>,
    pub(super) side: Side,
    pub(super) counters: Counters,
    #[serde(flatten)]
    pub(super) spending: Spending,
    #[serde(flatten)]
    pub(super) texts: Texts,
    #[serde(default)]
    pub(super) conversations: Conversations,
    /// Changes of the plan that still have to be made, in order. The one under
    /// way stays in front until it is made, so that none is lost.
    pub(super) mutations: VecDeque<Mutation>,
    #[serde(flatten)]
    pub(super) requests: Requests,
    pub(super) resumed: bool,
    #[serde(flatten)]
    pub(super) checks: Checks,
    pub(super) repeat: Repeat,
    /// Whether tasks were reopened since the plan was loaded last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) has_reopened: bool,
    /// Why the run ends, once that is known.
    pub(super) ending: Option<Ending>,
    /// A usage limit to wait for before the next iteration.
    #[serde(default)]
    pub(super) limit: UsageLimit,
    #[serde(default)]
    pub(super) agents: Agents,
    /// What tasks and iterations consumed.
    #[serde(default)]
    pub(super) guards: Guards,
}

impl Core {
    pub(super) fn new(setup: Setup) -> Self {
        Self { setup, ..Self::default() }
    }

    /// Takes one input and returns the state that follows.
    pub(super) fn take(&mut self, mut state: State, input: Input) -> State {
        match input {
            Input::Start if state == State::New => {
                self.announce();
                return self.fire_session_start();
            }
            Input::Start => {}
            Input::Resume { completed, skipped, committed, began } => {
                return self.resume(state, [completed, skipped], committed, began);
            }
            Input::Done(id, result) => {
                return match self.waiting.take_if(|waiting| waiting.id == id) {
                    Some(waiting) => self.advance(state, waiting.broken_by, result),
                    None => self.side_done(state, id, result),
                };
            }
            Input::Command(command) => return self.command(state, command),
            Input::CommandOf { command, by } => {
                self.tell_of_command(&command, by);
                return self.command(state, command);
            }
            Input::TaskCompleted(completion) => self.task_completed(&mut state, completion),
            Input::PlanChanged(changed) => self.plan_changed(&mut state, changed),
            Input::Unchanged { tasks, why } => self.unchanged(&mut state, &tasks, &why),
            Input::Unheard => self.checks.check_age.outdate(),
            Input::AbilityBefore(notice) => self.ability_before(&mut state, notice),
            Input::AbilityAfter(end) => self.ability_after(&mut state, end),
            Input::AbilityGivenUp(ticket) => return self.ability_given_up(state, ticket),
            Input::Undelivered(said) => self.file(state.iteration_mut(), said),
            Input::DeliveredElsewhere(texts) => self.texts.were_delivered_elsewhere(&texts),
            Input::Unclaimed => self.unclaimed(&mut state),
            Input::UsageSoFar(usage) => return self.usage_so_far(state, usage),
            Input::WallClock => return self.request_stop(state, StopRequest::WallClock),
        }
        state
    }

    /// Goes on, now that the effect the state waited for is done.
    fn advance(&mut self, mut state: State, broken_by: Option<RunFault>, result: EffectResult) -> State {
        if let EffectResult::Failed(fault) = result {
            return self.failed(state, broken_by.unwrap_or(fault));
        }
        if let Some(fault) = broken_by {
            self.note(&mut state, result);
            return self.failed(state, fault);
        }
        if self.is_urgent() && state.gives_way() {
            self.note(&mut state, result);
            return self.give_up(state);
        }
        match (state, result) {
            (state, EffectResult::Hook(reply)) => self.answered(state, *reply),
            (State::Peek, EffectResult::Loaded(loaded)) => self.after_peek(&loaded),
            (State::Load, EffectResult::Loaded(loaded)) => self.after_load(*loaded),
            (State::Sleep, _) => self.after_sleep(),
            (State::HandIn, EffectResult::Done) => self.after_hand_in(),
            (state, EffectResult::Done) if state.is_draining() => self.cut_drain(state),
            (State::Iteration(iteration, Phase::StartTask), EffectResult::Refused(message)) => {
                // It cannot be started any more.
                self.fail(iteration, IterationFailure { class: FailureClass::Refused, message })
            }
            (State::Iteration(iteration, Phase::StartTask), _) => self.after_start_task(iteration),
            (State::Iteration(iteration, Phase::Fingerprint), EffectResult::Fingerprint(tree)) => {
                self.after_fingerprint(iteration, &tree)
            }
            (State::Iteration(iteration, Phase::TreeBefore), EffectResult::Fingerprint(tree)) => {
                self.after_tree_before(iteration, tree)
            }
            (State::Iteration(iteration, Phase::TreeAfter), EffectResult::Fingerprint(tree)) => {
                self.after_tree_after(iteration, &tree)
            }
            (State::Mutate(then), result) => self.after_mutation(then, result),
            (
                State::Iteration(mut iteration, Phase::Quality),
                EffectResult::ControlFilesChanged { files, during_check },
            ) => {
                self.refuse_check(Some(&mut iteration), files, during_check);
                self.mutate(Then::AfterIteration(iteration))
            }
            (State::Check, EffectResult::ControlFilesChanged { files, during_check }) => {
                self.refuse_check(None, files, during_check);
                self.mutate(Then::AfterCheck)
            }
            (State::LookAgain(closing), EffectResult::Loaded(loaded)) => {
                self.after_look_again(closing, &loaded)
            }
            (state, _) => self.failed(state, "an effect had a result of another kind".to_owned()),
        }
    }

    /// Goes on, now that the handlers of a point answered.
    fn answered(&mut self, state: State, reply: HookReply) -> State {
        match state {
            State::SessionStart => self.after_session_start(&reply),
            State::BeforeLoop => self.after_before_loop(&reply),
            State::BeforeIteration(proposed) => self.after_before_iteration(proposed, &reply),
            State::Gate(proposed) => self.after_gate(proposed, &reply),
            State::Iteration(iteration, phase) => self.phase_answered(iteration, phase, reply),
            State::Check => self.after_check(&reply),
            State::Closing(closing, call) => self.call_answered(Owner::Closing(closing), call, reply),
            State::SessionStop => self.after_session_stop(&reply),
            State::AfterLoop => self.after_after_loop(&reply),
            State::SessionEnd => self.after_session_end(&reply),
            state => self.failed(state, UNASKED.to_owned()),
        }
    }

    fn phase_answered(&mut self, iteration: Box<Iteration>, phase: Phase, reply: HookReply) -> State {
        match phase {
            Phase::PromptSubmit => self.after_prompt_submit(iteration, &reply),
            Phase::Snapshot | Phase::Progress | Phase::Task | Phase::Extra => {
                self.after_context(iteration, &phase, &reply)
            }
            Phase::Agent(call) => self.call_answered(Owner::Iteration(iteration), call, reply),
            Phase::Quality => self.after_quality(iteration, &reply),
            Phase::AfterIteration => self.after_after_iteration(iteration, &reply),
            Phase::IterationError => self.after_iteration_error(iteration, reply),
            Phase::StartTask | Phase::TreeBefore | Phase::TreeAfter | Phase::Fingerprint => {
                self.failed(State::Iteration(iteration, phase), UNASKED.to_owned())
            }
        }
    }

    /// Makes the next change of the plan, or goes on if there is none.
    pub(super) fn mutate(&mut self, then: Then) -> State {
        if let Some(mutation) = self.mutations.front().cloned() {
            return self.wait_for(State::Mutate(then), Effect::Mutate(mutation));
        }
        match then {
            Then::CloseInterrupted(iteration) => {
                self.conclude_iteration(iteration);
                self.fire_session_start()
            }
            Then::StartSession => self.fire_session_start(),
            Then::BeginIteration => self.begin_iteration(),
            Then::AfterIteration(_) | Then::AfterCheck if self.is_urgent() => {
                self.give_up(State::Mutate(then))
            }
            Then::AfterIteration(iteration) => self.fire_after_iteration(iteration),
            Then::AfterCheck => self.begin_iteration(),
            Then::CloseIteration(iteration) => {
                self.conclude_iteration(iteration);
                self.rest()
            }
            Then::EndLoop => self.fire_last_points(),
            Then::Finish => self.report(),
        }
    }

    fn after_mutation(&mut self, then: Then, result: EffectResult) -> State {
        match (result, self.mutations.pop_front()) {
            (EffectResult::Refused(reason), Some(mutation)) => {
                self.emit(Event::Warning { message: format!("{} was refused: {reason}", mutation.name()) });
            }
            (_, Some(Mutation::TakeBack { ids, failures })) => self.tell_of_taken_back(ids, failures),
            _ => {}
        }
        self.mutate(then)
    }

    /// Fires a hook point and waits in a state for what its handlers answer.
    pub(super) fn fire<P: Point>(&mut self, state: State, input: P::Input) -> State {
        let dispatch = dispatch(P::wrap(input), state.turn());
        self.wait_for(state, dispatch)
    }

    pub(super) fn wait_for(&mut self, state: State, effect: Effect) -> State {
        let id = self.effect(effect);
        self.waiting = Some(Waiting { id, broken_by: None });
        state
    }

    /// Loads the plan and waits in a state for what it leaves to do.
    pub(super) fn load(&mut self, state: State) -> State {
        let scope = self.setup.scope.clone();
        self.wait_for(state, Effect::Load(scope))
    }

    /// Waits no longer for the effect that the state waited for.
    pub(super) fn let_go(&mut self) {
        if let Some(Waiting { id, .. }) = self.waiting.take() {
            self.effect(Effect::Interrupt(id));
        }
    }

    pub(super) fn emit(&mut self, event: Event) {
        self.effect(Effect::Emit(event));
    }

    pub(super) fn log(&mut self, kind: ProgressKind, task: Option<TaskId>, text: impl Into<String>) {
        self.effect(Effect::Log(LogLine { kind, task, text: text.into() }));
    }

    pub(super) fn effect(&mut self, effect: Effect) -> EffectId {
        self.next_effect = self.next_effect.saturating_add(1);
        let id = EffectId(self.next_effect);
        self.out.push((id, effect));
        id
    }

    pub(super) fn used(&self) -> Usage {
        let mut used = self.counters.usage;
        used += self.spending.call_usage;
        used
    }

    /// Counts what was consumed, in the iteration under way if there is one.
    pub(super) fn count_usage(&mut self, iteration: Option<&mut Iteration>, usage: Usage) {
        self.counters.usage += usage;
        *iteration.map_or(&mut self.spending.usage_outside, |iteration| &mut iteration.usage) += usage;
    }

    fn usage_so_far(&mut self, state: State, usage: Usage) -> State {
        // What comes late is part of the result of the call already.
        if !state.is_invoking() {
            return state;
        }
        self.spending.call_usage = larger(self.spending.call_usage, usage);
        match self.over_budget(self.used()) {
            Some(_) => self.request_stop(state, StopRequest::Budget),
            None => state,
        }
    }

    /// Says what of the budget is used up, after the setting that limits it; nothing
    /// while none is.
    pub(super) fn over_budget(&self, usage: Usage) -> Option<(&'static str, String)> {
        let limits = Some(&self.setup.limits).filter(|_| !self.setup.in_lane)?;
        let cost = usage.cost_usd.unwrap_or(0.0);
        if let Some(max) = limits.max_cost_usd.filter(|max| cost >= *max) {
            let spent = format!("{} was spent of at most {}", dollars(cost), dollars(max));
            return Some(("session_budget.max_cost_usd", spent));
        }
        let max = limits.max_tokens.filter(|max| usage.tokens() >= *max)?;
        let used = format!("{} used of at most {max}", counted_were(usage.tokens(), "token"));
        Some(("session_budget.max_tokens", used))
    }
}

/// The most effects that a saved run can have asked for: what every reader of JSON counts to.
const MAX_EFFECTS: u64 = 1 << 53;

fn effect_number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    match u64::deserialize(from)? {
        number @ 0..=MAX_EFFECTS => Ok(number),
        number => Err(Error::custom(format_args!("{number} effects are more than a run asks for"))),
    }
}

/// What an answer is that no handler was asked for.
pub(super) const UNASKED: &str = "handlers answered where none was asked";

/// Returns the larger of each number of two running totals, so that neither takes back what the other told.
pub(super) fn larger(left: Usage, right: Usage) -> Usage {
    Usage {
        input_tokens: left.input_tokens.max(right.input_tokens),
        output_tokens: left.output_tokens.max(right.output_tokens),
        cached_tokens: left.cached_tokens.max(right.cached_tokens),
        cost_usd: left.cost_usd.into_iter().chain(right.cost_usd).reduce(f64::max),
    }
}

pub(super) fn dispatch(call: HookCall, turn: Turn) -> Effect {
    Effect::Dispatch { call: Box::new(call), turn }
}
