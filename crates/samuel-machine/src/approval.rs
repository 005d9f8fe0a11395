//! Tool calls that a person decides on.
//!
//! Where handlers of `ability.before` answer that a human should decide, and somebody can keep the call back
//! and waits for that, the call waits on the side until a person decides or its time is up. Other work on the
//! side goes on meanwhile; the agent call does not end before.

use samuel_agent::AbilityDecision;
use samuel_config::format_duration;
use samuel_model::{payload::Json, text::one_line};
use samuel_state::ProgressKind;
use serde::{Deserialize, Serialize};

use super::{AbilityAnswer, AbilityNotice, Core, Effect, EffectId, State, Wait, iteration::Iteration};
use crate::event::Event;

/// How much is told of the arguments of a call, in characters: a person decides by them. All calls that wait fit
/// into one answer over the run's socket.
const MAX_INPUT_CHARS: usize = 2_000;
/// How much is told of why a person is asked, in characters.
const MAX_REASON_CHARS: usize = 500;

/// How the calls of a lane are numbered that wait for a person: each lane counts for itself, and whoever decides names a
/// number alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallNumbers {
    /// The lane, from 1.
    pub lane: u32,
    /// How many lanes there are.
    pub of: u32,
}

impl Default for CallNumbers {
    fn default() -> Self {
        Self { lane: 1, of: 1 }
    }
}

impl CallNumbers {
    fn number(self, wait: EffectId) -> u64 {
        wait.0.saturating_mul(u64::from(self.of)).saturating_add(u64::from(self.lane.saturating_sub(1)))
    }
}

/// A tool call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending {
    /// The wait that denies it in the end. The number of the call follows from it.
    wait: EffectId,
    notice: AbilityNotice,
    /// Why a person is asked.
    reason: String,
    /// The arguments as handlers left them.
    input: Json,
}

impl Pending {
    pub(super) fn number(&self, by: CallNumbers) -> u64 {
        by.number(self.wait)
    }

    pub(super) fn is_of(&self, ticket: u64) -> bool {
        self.notice.ticket == Some(ticket)
    }
}

impl Core {
    /// Says whether a person is asked where handlers want that: somebody still waits, and there is time.
    pub(super) fn asks_people(&self, notice: &AbilityNotice) -> bool {
        notice.ticket.is_some() && notice.ticket != self.side.unheard && self.setup.limits.ask_timeout_ms > 0
    }

    pub(super) fn ask_person(
        &mut self,
        iteration: Option<&Iteration>,
        notice: AbilityNotice,
        reason: String,
        input: Option<Json>,
    ) {
        let wait_ms = self.setup.limits.ask_timeout_ms;
        let wait = self.effect(Effect::Sleep(Wait::For(wait_ms)));
        let input = input.unwrap_or_else(|| notice.call.input.clone());
        let (call, ability_id) = (self.setup.calls.number(wait), notice.call.ability_id.clone());
        let text = format!("{ability_id} waits for approval of call {call}: {reason}");
        self.log(ProgressKind::Found, iteration.and_then(Iteration::task_id), text);
        let iteration = iteration.map_or(self.counters.iterations, |iteration| iteration.number);
        let told = told_of(&input);
        let reason_told = one_line(&reason, MAX_REASON_CHARS);
        self.emit(Event::ApprovalAsked {
            iteration,
            call,
            ability_id,
            input: told,
            reason: reason_told,
            wait_ms,
        });
        self.side.asked.push(Pending { wait, notice, reason, input });
    }

    /// Says whether a call waits here, with this number.
    pub(super) fn has_asked(&self, call: u64) -> bool {
        self.side.asked.iter().any(|pending| pending.number(self.setup.calls) == call)
    }

    /// Lets a call be made that waits, or keeps it back. One that waits no more, or in another lane, is left as it is.
    pub(super) fn decide(&mut self, state: State, call: u64, approved: bool, why: Option<&str>) -> State {
        let by = self.setup.calls;
        let Some(pending) = self.side.take_asked(|pending| pending.number(by) == call) else { return state };
        self.effect(Effect::Interrupt(pending.wait));
        match approved {
            true => self.settle_asked(state.iteration(), pending, None),
            false => self.settle_asked(state.iteration(), pending, Some(denied_by_person(why))),
        }
        self.after_side(state)
    }

    /// Keeps a call back whose time is up; says whether the wait was one.
    pub(super) fn approval_is_late(&mut self, state: &State, wait: EffectId) -> bool {
        let Some(pending) = self.side.take_asked(|pending| pending.wait == wait) else { return false };
        let time = format_duration(std::time::Duration::from_millis(self.setup.limits.ask_timeout_ms));
        let late = format!("nobody approved it within {time}: {}", pending.reason);
        self.settle_asked(state.iteration(), pending, Some(late));
        true
    }

    /// Keeps a call back that nobody waits for any more.
    pub(super) fn forget_asked(&mut self, iteration: Option<&Iteration>, pending: Pending, why: &str) {
        self.effect(Effect::Interrupt(pending.wait));
        self.settle_asked(iteration, pending, Some(why.to_owned()));
    }

    fn settle_asked(&mut self, iteration: Option<&Iteration>, pending: Pending, refused: Option<String>) {
        let (call, approved) = (pending.number(self.setup.calls), refused.is_none());
        let Pending { notice, input, .. } = pending;
        self.emit(Event::ApprovalGiven { call, approved, reason: refused.clone() });
        let decision = match refused {
            None => AbilityDecision::Allow { input },
            Some(reason) => {
                self.tell_of_block(iteration, &notice, &reason);
                AbilityDecision::Block { reason }
            }
        };
        self.answer(notice.ticket, AbilityAnswer::Decided(decision));
    }
}

/// Returns why a call is not made that a person denied, with what was said to it.
pub fn denied_by_person(why: Option<&str>) -> String {
    why.map_or_else(|| "the user denied it".to_owned(), |why| format!("the user denied it: {why}"))
}

/// Returns the arguments of a call in one line; of long ones it says how much is missing, so that nobody takes the
/// start for the whole.
fn told_of(input: &str) -> String {
    let line = one_line(input, usize::MAX);
    match line.chars().count().saturating_sub(MAX_INPUT_CHARS) {
        0 => line,
        more => format!("{} [{more} more characters are not shown]", one_line(&line, MAX_INPUT_CHARS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_arguments_it_is_told_how_much_is_missing() {
        assert_eq!(told_of("{\"a\":\n 1}"), "{\"a\": 1}");
        let whole = "x".repeat(MAX_INPUT_CHARS);
        assert_eq!(told_of(&whole), whole);
        let long = told_of(&format!("{whole} rm -rf ."));
        assert_eq!(long, format!("{whole} … [9 more characters are not shown]"));
    }
}
