//! What somebody asks of a run, and how the loop is left before its time.

use samuel_hook::{HookPoint, Said, Speaker};
use samuel_model::{
    ExitReason, FailureClass,
    payload::{Deliver, TextItem},
    text::one_line,
};
use samuel_state::ProgressKind;
use serde::{Deserialize, Serialize};

use super::{Command, Core, Effect, EffectResult, Ending, Phase, State, Then, iteration::Iteration};
use crate::event::{Event, IterationFailure, RunFault};

/// How much of what the agent is told the progress log has, in characters.
const MAX_TOLD_CHARS: usize = 300;

/// What is answered to tool calls that nobody is asked about any more.
pub(super) const ENDING: &str = "the run is ending";

/// Why a run is asked to end. The later ones are the stronger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopRequest {
    /// End after the iteration.
    Cancel,
    /// The money is spent.
    Budget,
    /// The time is up.
    WallClock,
    /// End now.
    Stop,
}

impl StopRequest {
    pub(super) fn reason(self) -> ExitReason {
        match self {
            Self::Cancel | Self::Stop => ExitReason::Cancelled,
            Self::Budget => ExitReason::Budget,
            Self::WallClock => ExitReason::WallClock,
        }
    }
}

/// What was asked of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Requests {
    #[serde(default)]
    pub(super) stop: Option<StopRequest>,
    /// Whether to hold before the next iteration.
    pub(super) hold: bool,
}

/// Returns what the user says to the agent.
fn said_by_user(content: String) -> Said {
    said_by_user_at(HookPoint::BeforeIteration, content)
}

fn said_by_user_at(point: HookPoint, content: String) -> Said {
    Said {
        handler: "user".into(),
        point,
        item: TextItem { content, deliver: Deliver::Next },
        speaker: Speaker::User,
    }
}

impl Core {
    /// Says what somebody asked of the run.
    pub(super) fn tell_of_command(&mut self, command: &Command, by: String) {
        let what = match command {
            Command::Pause => "asked to hold".to_owned(),
            Command::Resume => "asked to go on".to_owned(),
            Command::Steer(text) => format!("told something: {}", one_line(text, MAX_TOLD_CHARS)),
            Command::Cancel => "asked to end after the iteration".to_owned(),
            Command::Stop => "asked to end now".to_owned(),
            Command::Approve { call, .. } => format!("asked to make call {call}"),
            Command::Deny { call, .. } => format!("asked not to make call {call}"),
        };
        self.log(ProgressKind::Found, None, format!("{what} by {by}"));
        let (command, text) = (command.name().to_owned(), command.text().map(str::to_owned));
        self.emit(Event::Commanded { command, by, text });
    }

    pub(super) fn command(&mut self, state: State, command: Command) -> State {
        match command {
            Command::Pause => {
                self.requests.hold = true;
                if state == State::Sleep {
                    self.interrupt();
                }
            }
            Command::Resume => {
                self.requests.hold = false;
                if state == State::Paused {
                    self.emit(Event::Resumed);
                    return self.begin_iteration();
                }
            }
            Command::Steer(content) => self.keep_for_next([said_by_user(content)]),
            Command::Approve { call, text } => {
                // Of a call that waits no more, or in another lane, the words would tell of something else.
                if self.has_asked(call) {
                    self.keep_for_next(text.map(|text| said_by_user_at(HookPoint::AbilityBefore, text)));
                }
                return self.decide(state, call, true, None);
            }
            Command::Deny { call, text } => return self.decide(state, call, false, text.as_deref()),
            Command::Cancel => return self.request_stop(state, StopRequest::Cancel),
            Command::Stop => return self.request_stop(state, StopRequest::Stop),
        }
        state
    }

    /// Notes that the run should end, and interrupts what can be interrupted.
    pub(super) fn request_stop(&mut self, state: State, request: StopRequest) -> State {
        if self.requests.stop.is_some_and(|earlier| earlier >= request) {
            return state;
        }
        self.requests.stop = Some(request);
        if state == State::Paused {
            return self.begin_iteration();
        }
        if state == State::Sleep {
            self.interrupt();
        } else if self.is_urgent() && state.gives_way() {
            // An agent that waits for a person does not hear that it is to end.
            for pending in std::mem::take(&mut self.side.asked) {
                self.forget_asked(state.iteration(), pending, ENDING);
            }
            if state.is_draining() {
                // Nothing is under way but the side, which `give_up` ends.
                self.let_go();
                return self.give_up(state);
            }
            self.interrupt();
        }
        state
    }

    /// Says whether the iteration under way is given up.
    pub(super) fn is_urgent(&self) -> bool {
        self.requests.stop.is_some_and(|request| request > StopRequest::Cancel)
    }

    /// Asks for the end of the effect that the state waits for.
    pub(super) fn interrupt(&mut self) {
        if let Some(id) = self.waiting.as_ref().map(|waiting| waiting.id) {
            self.effect(Effect::Interrupt(id));
        }
    }

    /// Takes down what must not be lost of a result that nobody waits for.
    pub(super) fn note(&mut self, state: &mut State, result: EffectResult) {
        let EffectResult::Hook(reply) = result else { return };
        if state.is_invoking() {
            let turn = state.turn();
            let failure = state.call_mut().and_then(|call| call.failure.take());
            let end = self.record_agent(state.iteration_mut(), failure, &reply);
            return self.tell_agent_end(turn, &end);
        }
        match state {
            State::Iteration(iteration, Phase::Quality) => _ = self.settle_check(Some(iteration), &reply),
            State::Check => _ = self.settle_check(None, &reply),
            state => _ = self.absorb(state.iteration_mut(), &reply),
        }
    }

    /// Leaves the state, because the run ends now.
    pub(super) fn give_up(&mut self, state: State) -> State {
        self.drop_side(ENDING);
        self.forget_agent(&state);
        match state {
            State::BeforeIteration(proposed) | State::Gate(proposed) => {
                self.drop_iteration(proposed.iteration);
                self.begin_iteration()
            }
            State::Iteration(iteration, _) | State::Mutate(Then::AfterIteration(iteration)) => {
                self.give_up_iteration(iteration)
            }
            State::Closing(..) | State::LookAgain(_) | State::SessionStop => self.fire_after_loop(),
            _ => self.begin_iteration(),
        }
    }

    /// Ends the run, because Samuel itself cannot go on. Each of the last
    /// points still has its turn once, and the plan is put in order as far as
    /// that is possible.
    pub(super) fn failed(&mut self, state: State, fault: impl Into<RunFault>) -> State {
        let fault = fault.into();
        if state.is_draining() {
            self.let_go();
        }
        if let Some(waiting) = &mut self.waiting {
            // Only one main effect at a time: this one ends first.
            waiting.broken_by = Some(fault);
            self.interrupt();
            return state;
        }
        self.drop_side(ENDING);
        self.forget_agent(&state);
        let left = self.abandon_iteration(state, &fault.message);
        if self.reason() != ExitReason::Error {
            self.ending = None;
        }
        self.ending.get_or_insert_with(|| Ending {
            reason: ExitReason::Error,
            detail: Some(fault.message.clone()),
            fault: Some(fault),
        });
        match left {
            State::AfterLoop => self.fire_session_end(),
            State::SessionEnd => self.finish(),
            // What cannot be written now is tried once more at the very end.
            State::Mutate(Then::EndLoop) => self.fire_last_points(),
            State::Mutate(Then::Finish) => {
                self.mutations.pop_front();
                self.mutate(Then::Finish)
            }
            _ => self.fire_after_loop(),
        }
    }

    /// Closes the books of an iteration that cannot be brought to its end, and returns
    /// the state as it is without one. The changes of the plan that are left are made at
    /// the end of the run.
    fn abandon_iteration(&mut self, state: State, message: &str) -> State {
        match state {
            State::BeforeIteration(proposed) | State::Gate(proposed) => {
                self.drop_iteration(proposed.iteration);
            }
            State::Iteration(mut iteration, _) | State::Mutate(Then::AfterIteration(mut iteration)) => {
                self.log_abandoned(&mut iteration, message);
                self.queue_commit(&mut iteration);
                self.conclude_iteration(iteration);
            }
            State::Mutate(Then::CloseIteration(mut iteration) | Then::CloseInterrupted(mut iteration)) => {
                self.log_abandoned(&mut iteration, message);
                self.conclude_iteration(iteration);
            }
            state => return state,
        }
        State::New
    }

    fn log_abandoned(&mut self, iteration: &mut Iteration, message: &str) {
        if !iteration.settled {
            let failure = IterationFailure { class: FailureClass::Interrupted, message: message.to_owned() };
            let IterationFailure { class, message } = iteration.failure.get_or_insert(failure);
            let text = format!("{class}: {message}");
            self.log(ProgressKind::Error, iteration.task_id(), text);
        }
    }
}
