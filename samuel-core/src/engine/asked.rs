//! Which tool calls of an agent its own hooks asked about, and which only its stream showed.
//!
//! Both tell of the same calls, from two processes, and neither waits for the other. What holds is
//! that an agent asks its hook before it makes a call, and that its stream shows the result after
//! that. So a call of the stream is kept until its result comes, and [`AskedCalls`] says then what is
//! still to be fired: nothing where the hooks have asked and told, `ability.after` where they only
//! asked, both points where the agent made the call without asking.
//!
//! A result may come before the hook that tells of it, and some hooks tell of no failed calls. So it
//! is kept until the agent goes on, which it does not before its hooks have ended.
//!
//! A call is known by its id where the hooks have those of the stream, else by the kind of its tool:
//! the first of a kind that ended is the first of that kind that was asked about. Its arguments have
//! to be those that were asked about too, or that handlers left of them ([`Arguments`]), else a
//! question about one call would stand for another.

use std::collections::VecDeque;

use super::{
    arguments::Arguments,
    tool_kinds::{FILE_CHANGE, PATCH, SHELL, kind_of},
};
use crate::{
    agent::{AbilityCall, AbilityResult},
    model::payload::AbilityStatus,
};

/// How many calls of each list are remembered.
const MAX_CALLS: usize = 1_024;

/// What is to be fired, in order, and warned of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Firing {
    /// A call that nobody was asked about.
    Unasked(AbilityCall),
    /// `ability.before` of a call that nobody wants to be asked about.
    Before(AbilityCall),
    /// `ability.after`.
    After(AbilityResult),
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answered {
    Allowed,
    Blocked,
    /// The hook did not hear the answer, so that the agent did as it would without it.
    Lost,
}

/// The tool calls of one call of an agent.
#[derive(Debug)]
pub(super) struct AskedCalls {
    /// Whether the hooks ask before a call.
    before: bool,
    /// Whether they tell of its end.
    after: bool,
    /// What the hooks asked and told of.
    calls: VecDeque<Known>,
    /// What the stream showed the beginning of.
    shown: VecDeque<AbilityCall>,
    /// Results that the hooks may still tell of, with the number of the call.
    results: VecDeque<(u64, AbilityResult)>,
    /// Whether the hooks have the ids of the stream.
    shares_ids: bool,
    last_number: u64,
}

/// A call that the hooks asked or told of.
#[derive(Debug)]
struct Known {
    number: u64,
    call_id: String,
    ability_id: String,
    kind: String,
    /// What it was asked about with.
    input: Arguments,
    /// What handlers left of that, where they changed it.
    changed: Option<Arguments>,
    /// Nothing as long as the answer is awaited.
    answered: Option<Answered>,
    /// Why it was blocked.
    reason: String,
    /// Whether `ability.after` was fired.
    is_told: bool,
    /// Whether the stream has shown its result.
    is_ended: bool,
}

impl Known {
    /// Says whether the agent makes the call because the hooks were answered.
    fn is_allowed(&self) -> bool {
        self.answered == Some(Answered::Allowed)
    }

    /// Says whether it is the call with this id. One of another tool is not, whatever id it has.
    fn has_id(&self, call_id: &str, kind: &str) -> bool {
        is_same(&self.call_id, call_id) && (self.kind == kind || kind.is_empty())
    }

    /// Says whether a call of the stream may be of its kind. Codex takes a patch out of a command and
    /// shows that alone.
    fn is_of(&self, kind: &str) -> bool {
        self.kind == kind || (kind == PATCH && self.kind == SHELL)
    }

    /// Says whether a call of the stream has the arguments of this one, as far as both show the same: of
    /// a patch, Codex's stream shows the files.
    fn has_input_of(&self, call: &AbilityCall) -> bool {
        let has = |input: &Arguments| match call.ability_id.as_str() {
            FILE_CHANGE => input.patch(&call.input),
            _ => input.cover(&call.input),
        };
        has(&self.input) || self.changed.as_ref().is_some_and(has)
    }

    /// Says whether nothing is to come of it any more.
    fn is_settled(&self) -> bool {
        self.is_ended && (self.is_told || self.answered == Some(Answered::Blocked))
    }
}

impl AskedCalls {
    /// Begins with what the hooks ask and tell.
    pub(super) fn new(before: bool, after: bool) -> Self {
        Self {
            before,
            after,
            calls: VecDeque::new(),
            shown: VecDeque::new(),
            results: VecDeque::new(),
            shares_ids: false,
            last_number: 0,
        }
    }

    /// Takes down that a hook asks about a call, and returns the number of the question.
    pub(super) fn asks(&mut self, call: &AbilityCall) -> u64 {
        self.shares_ids |= self.shown.iter().any(|shown| is_same(&shown.call_id, &call.call_id));
        self.remember(call, None)
    }

    /// Takes down what handlers left of the arguments of a call that they were asked about.
    pub(super) fn changed(&mut self, number: u64, input: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.number == number) {
            call.changed = Some(Arguments::new(input));
        }
    }

    /// Takes down what came of a question. The last word counts.
    pub(super) fn answered(&mut self, number: u64, answered: Answered, reason: &str) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.number == number) {
            call.answered = Some(answered);
            reason.clone_into(&mut call.reason);
        }
    }

    /// Takes down that a hook tells how a call ended. Returns what is fired before its `ability.after`;
    /// nothing at all where that was fired already, or the call was not made.
    pub(super) fn tells(&mut self, result: &AbilityResult) -> Option<Vec<Firing>> {
        let kind = kind_of(&result.ability_id);
        let by_id = self.calls.iter().position(|call| call.has_id(&result.call_id, &kind));
        let is_open = |call: &Known| call.kind == kind && call.is_allowed() && !call.is_told;
        let found = by_id.or_else(|| {
            let is_anonymous = result.call_id.is_empty() || !self.before;
            is_anonymous.then(|| self.calls.iter().position(is_open)).flatten()
        });
        if let Some(call) = found.and_then(|place| self.calls.get_mut(place)) {
            let number = call.number;
            match call.answered {
                Some(Answered::Blocked) => return None,
                _ if call.is_told => return None,
                Some(Answered::Allowed) => {
                    call.is_told = true;
                    self.results.retain(|(of, _)| *of != number);
                    return Some(Vec::new());
                }
                // The agent did not wait for the answer.
                Some(Answered::Lost) | None => {
                    call.is_told = true;
                    call.answered = Some(Answered::Allowed);
                }
            }
        } else {
            let number = self.remember(&self.shown_for(result), Some(Answered::Allowed));
            if let Some(call) = self.calls.iter_mut().find(|call| call.number == number) {
                call.is_told = true;
            }
        }
        if !self.before {
            return Some(Vec::new());
        }
        Some(vec![Firing::Unasked(self.shown_for(result))])
    }

    /// Returns the call that a result is of, as the stream shows it where it has.
    fn shown_for(&self, result: &AbilityResult) -> AbilityCall {
        let shown = self.shown.iter().find(|shown| is_same(&shown.call_id, &result.call_id));
        shown.cloned().unwrap_or_else(|| call_of(result))
    }

    /// Takes down a call that the stream shows the beginning of.
    pub(super) fn begins(&mut self, call: AbilityCall) -> Vec<Firing> {
        let mut firings = self.goes_on();
        if !self.before {
            firings.push(Firing::Before(call.clone()));
        }
        self.shares_ids |= self.calls.iter().any(|known| is_same(&known.call_id, &call.call_id));
        if self.shown.len() >= MAX_CALLS
            && let Some(oldest) = self.shown.pop_front()
        {
            firings.extend(self.never_ended(oldest));
        }
        self.shown.push_back(call);
        firings
    }

    /// Takes down a result that the stream shows.
    pub(super) fn ends(&mut self, mut result: AbilityResult) -> Vec<Firing> {
        let place = self.shown.iter().position(|shown| is_same(&shown.call_id, &result.call_id));
        let shown = place.and_then(|place| self.shown.remove(place));
        let call = shown.unwrap_or_else(|| call_of(&result));
        if result.ability_id.is_empty() {
            result.ability_id.clone_from(&call.ability_id);
        }
        let Some(place) = self.find(&call, Some(&result)) else { return self.unasked(call, result) };
        let after = self.after;
        let Some(known) = self.calls.get_mut(place) else { return Vec::new() };
        known.is_ended = true;
        match known.answered {
            Some(Answered::Blocked) if result.status != AbilityStatus::Success => Vec::new(),
            Some(Answered::Allowed) if known.is_told => Vec::new(),
            Some(Answered::Allowed) => {
                let (number, kind) = (known.number, known.kind.clone());
                // As the hooks name it.
                if !known.call_id.is_empty() {
                    result.call_id.clone_from(&known.call_id);
                }
                result.ability_id.clone_from(&known.ability_id);
                known.is_told = !after;
                self.forget_blocked(number, &kind);
                if !after {
                    return vec![Firing::After(result)];
                }
                self.wait(number, result)
            }
            // It was made although the answer was no, or before there was one.
            Some(Answered::Blocked | Answered::Lost) | None => {
                (known.answered, known.is_told) = (Some(Answered::Allowed), true);
                vec![Firing::Unasked(call), Firing::After(result)]
            }
        }
    }

    /// Takes down that the agent goes on: the hooks of the calls before have ended.
    pub(super) fn goes_on(&mut self) -> Vec<Firing> {
        if self.shown.is_empty() { self.release() } else { Vec::new() }
    }

    /// Ends it with the call of the agent.
    pub(super) fn finish(&mut self) -> Vec<Firing> {
        let mut firings = self.release();
        while let Some(call) = self.shown.pop_front() {
            firings.extend(self.never_ended(call));
        }
        firings
    }

    /// Judges a call of which no result was shown.
    fn never_ended(&mut self, call: AbilityCall) -> Option<Firing> {
        let found = self.find(&call, None).and_then(|place| self.calls.get_mut(place));
        match found {
            Some(known) if matches!(known.answered, Some(Answered::Allowed | Answered::Blocked)) => {
                known.is_ended = true;
                None
            }
            _ => self.before.then_some(Firing::Unasked(call)),
        }
    }

    /// Judges a result of a call that the hooks did not ask about.
    fn unasked(&mut self, call: AbilityCall, result: AbilityResult) -> Vec<Firing> {
        let number = self.remember(&call, Some(Answered::Allowed));
        let Some(known) = self.calls.back_mut() else { return Vec::new() };
        known.is_ended = true;
        if !self.before && self.after {
            return self.wait(number, result);
        }
        known.is_told = true;
        let unasked = self.before.then_some(Firing::Unasked(call));
        unasked.into_iter().chain([Firing::After(result)]).collect()
    }

    /// Keeps a result until a hook tells of it or the agent goes on.
    fn wait(&mut self, number: u64, result: AbilityResult) -> Vec<Firing> {
        let oldest = if self.results.len() < MAX_CALLS { None } else { self.results.pop_front() };
        self.results.push_back((number, result));
        oldest.map(|(number, result)| self.told(number, result)).into_iter().collect()
    }

    fn release(&mut self) -> Vec<Firing> {
        let results = std::mem::take(&mut self.results);
        results.into_iter().map(|(number, result)| self.told(number, result)).collect()
    }

    /// Fires the end of a call that no hook told of.
    fn told(&mut self, number: u64, result: AbilityResult) -> Firing {
        if let Some(call) = self.calls.iter_mut().find(|call| call.number == number) {
            call.is_told = true;
        }
        Firing::After(result)
    }

    /// Finds the call of the hooks that a call of the stream is.
    fn find(&self, call: &AbilityCall, result: Option<&AbilityResult>) -> Option<usize> {
        let kind = kind_of(&call.ability_id);
        // Where nobody is asked no arguments were judged.
        let has_input = |known: &Known| !self.before || known.has_input_of(call);
        let is_it = |known: &Known| known.has_id(&call.call_id, &kind) && has_input(known);
        let by_id = self.calls.iter().position(is_it);
        if by_id.is_some() || self.shares_ids {
            return by_id;
        }
        let first = |fits: &dyn Fn(&Known) -> bool| {
            let is_open =
                |known: &Known| known.is_of(&kind) && !known.is_ended && has_input(known) && fits(known);
            self.calls.iter().position(is_open)
        };
        let was_blocked = |known: &Known| known.answered == Some(Answered::Blocked);
        let Some(result) = result.filter(|result| result.status != AbilityStatus::Success) else {
            let allowed = first(&Known::is_allowed);
            return if result.is_some() { allowed } else { allowed.or_else(|| first(&was_blocked)) };
        };
        // Agents word it in their ways, with the reason in it.
        let output = result.output_summary.as_deref().unwrap_or_default();
        let tells_why = |known: &Known| was_blocked(known) && contains(output, &known.reason);
        first(&tells_why).or_else(|| first(&Known::is_allowed)).or_else(|| first(&was_blocked))
    }

    /// Forgets the calls of a kind that were blocked before one that was made: an agent whose
    /// stream does not show them will not show them any more.
    fn forget_blocked(&mut self, number: u64, kind: &str) {
        if self.shares_ids {
            return;
        }
        self.calls.retain(|call| {
            let is_before = call.number < number && call.kind == kind && !call.is_ended;
            !(is_before && call.answered == Some(Answered::Blocked))
        });
    }

    fn remember(&mut self, call: &AbilityCall, answered: Option<Answered>) -> u64 {
        self.last_number += 1;
        if self.calls.len() >= MAX_CALLS {
            // Of those that are under way none is forgotten as long as there are others.
            let is_done = |call: &Known| call.is_told || call.answered == Some(Answered::Blocked);
            let settled = self.calls.iter().position(Known::is_settled);
            let place = settled.or_else(|| self.calls.iter().position(is_done)).unwrap_or_default();
            self.calls.remove(place);
        }
        self.calls.push_back(Known {
            number: self.last_number,
            call_id: call.call_id.clone(),
            ability_id: call.ability_id.clone(),
            kind: kind_of(&call.ability_id),
            input: Arguments::new(&call.input),
            changed: None,
            answered,
            reason: String::new(),
            is_told: false,
            is_ended: false,
        });
        self.last_number
    }
}

/// Says whether two calls have one id. Hooks of some agents have none.
fn is_same(a: &str, b: &str) -> bool {
    !a.is_empty() && a == b
}

/// Returns the call that a result is of, as far as it says.
fn call_of(result: &AbilityResult) -> AbilityCall {
    AbilityCall {
        call_id: result.call_id.clone(),
        ability_id: result.ability_id.clone(),
        input: result.input.clone().unwrap_or_else(|| "null".to_owned()),
        parent_id: None,
    }
}

/// Says whether an output tells a reason, however it breaks the lines.
fn contains(output: &str, reason: &str) -> bool {
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason: String = in_one_line(reason).chars().take(100).collect();
    !reason.is_empty() && in_one_line(output).contains(&reason)
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
