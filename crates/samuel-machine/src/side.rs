//! What happens beside the agent call: completions and tool calls.
//!
//! Their hook points fire one after the other in the order of arrival, so that
//! no text interleaves, and each fires once.

use std::collections::VecDeque;

use samuel_agent::AbilityDecision;
use samuel_hook::{HookCall, Point, points};
use samuel_model::{
    TaskId,
    payload::{AbilityAfterInput, AbilityBeforeInput, Json, TaskCompletedInput},
};
use samuel_state::{Mutation, ProgressKind};
use serde::{Deserialize, Serialize};

use super::{
    AbilityAnswer, AbilityNotice, AtOnce, CompletedBy, Completion, Core, Effect, EffectId, EffectResult,
    EndedAbility, HookReply, Moment, ReplyData, Ruling, State, approval::Pending, core::dispatch,
    iteration::Iteration, ruling,
};
use crate::event::{Event, IterationFailure, RunFault};

/// Something to fire a hook point for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Work {
    Completed { completion: Completion, provisional: bool },
    Before(AbilityNotice),
    After(EndedAbility),
}

/// The work beside the agent call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Side {
    queue: VecDeque<Work>,
    running: Option<(EffectId, Work)>,
    /// Tool calls that wait for a person.
    #[serde(default)]
    pub(super) asked: Vec<Pending>,
    /// The last ticket whose question was given up while handlers were at it.
    #[serde(default)]
    pub(super) unheard: Option<u64>,
}

/// What is said of a call that its agent waits for no more.
const UNHEARD: &str = "nobody waits for an answer any more";

impl Side {
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && self.queue.is_empty() && self.asked.is_empty()
    }

    /// Takes out a call that waits for a person.
    pub(super) fn take_asked(&mut self, is_it: impl Fn(&Pending) -> bool) -> Option<Pending> {
        self.asked.iter().position(is_it).map(|place| self.asked.remove(place))
    }
}

impl Work {
    /// Returns whom to answer.
    fn ticket(&self) -> Option<u64> {
        match self {
            Self::Completed { .. } => None,
            Self::Before(notice) => notice.ticket,
            Self::After(end) => end.ticket,
        }
    }

    /// Says whether whoever waits hands the model what handlers say.
    fn takes_text(&self) -> bool {
        matches!(self, Self::After(end) if end.ticket.is_some() && end.result.takes_text)
    }

    /// Returns what is answered where the handlers do not get to it, or break the run.
    fn given_up(&self, reason: &str) -> AbilityAnswer {
        match self {
            Self::After(_) => AbilityAnswer::Told(AtOnce::default()),
            _ => AbilityAnswer::Decided(AbilityDecision::Block { reason: reason.to_owned() }),
        }
    }
}

impl Core {
    pub(super) fn task_completed(&mut self, state: &mut State, completion: Completion) {
        let moment = if completion.others_at_work { Moment::UnderWay } else { state.moment() };
        let is_of_iteration =
            state.iteration().and_then(Iteration::task_id).as_ref() == Some(&completion.task);
        // The agent of a worker completes its task by a command. What the journal tells is not of its work.
        let is_own = is_of_iteration && (completion.by_call || !self.setup.in_lane);
        let is_of_others = self.setup.in_lane && !is_own;
        let by = CompletedBy::of(&completion, is_own);
        self.checks.check_age.outdate();
        let provisional = match ruling(moment, completion.actor, by, self.setup.completes) {
            Ruling::Refused(why) => return self.reopen(completion.task, why),
            // If nothing is there to check, nothing decides on it later.
            Ruling::Provisional => !is_of_others || self.setup.has_checks,
            Ruling::Confirmed => false,
        };
        let unchecked = match state.iteration_mut() {
            _ if is_of_others => &mut self.checks.of_others,
            Some(iteration) => &mut iteration.unchecked,
            None => &mut self.checks.unchecked_outside,
        };
        if provisional && !unchecked.contains(&completion.task) {
            unchecked.push(completion.task.clone());
        }
        let (task, title) = (completion.task.clone(), completion.title.clone());
        self.counters.unrecorded.retain(|open| *open != completion.task);
        if let Some(iteration) = state.iteration_mut().filter(|_| !is_of_others) {
            iteration.answered |= iteration.task_id().as_ref() == Some(&completion.task);
            iteration.called_tool = true;
            iteration.by_person.retain(|id| *id != completion.task);
            if by == CompletedBy::Person && !is_of_iteration {
                iteration.by_person.push(completion.task.clone());
            }
        }
        let marks = by.marks(is_own);
        if !marks.is_empty() {
            self.mutations.push_back(Mutation::Mark { id: task.clone(), marks: marks.clone() });
        }
        self.emit(Event::TaskCompleted { task, title, provisional, marks });
        self.side_push(state, Work::Completed { completion, provisional });
    }

    /// Reopens a task that was settled in a way that does not count. No hook fires for it.
    pub(super) fn reopen(&mut self, task: TaskId, why: &str) {
        self.has_reopened = true;
        let (tasks, reasons) = (vec![task], vec![why.to_owned()]);
        self.effect(Effect::Reopen { tasks: tasks.clone(), reasons: reasons.clone() });
        self.tell_of_taken_back(tasks, reasons);
    }

    pub(super) fn ability_before(&mut self, state: &mut State, mut notice: AbilityNotice) {
        note_tool(state);
        notice.call.input = canonical(&notice.call.input);
        self.side_push(state, Work::Before(notice));
    }

    pub(super) fn ability_after(&mut self, state: &mut State, end: EndedAbility) {
        note_tool(state);
        self.side_push(state, Work::After(end));
    }

    /// Leaves out a question that nobody waits for any more, unless its handlers are at it. That a call
    /// ended handlers hear all the same.
    pub(super) fn ability_given_up(&mut self, state: State, ticket: u64) -> State {
        let is_it = |work: &Work| matches!(work, Work::Before(_)) && work.ticket() == Some(ticket);
        let place = self.side.queue.iter().position(is_it);
        if let Some(work) = place.and_then(|place| self.side.queue.remove(place)) {
            self.answer(work.ticket(), work.given_up(UNHEARD));
        }
        if self.side.running.as_ref().is_some_and(|(_, work)| is_it(work)) {
            self.side.unheard = Some(ticket);
        }
        match self.side.take_asked(|pending| pending.is_of(ticket)) {
            Some(pending) => {
                self.forget_asked(state.iteration(), pending, UNHEARD);
                self.after_side(state)
            }
            None => state,
        }
    }

    fn side_push(&mut self, state: &State, work: Work) {
        self.side.queue.push_back(work);
        self.side_next(state);
    }

    /// Fires the point of the next piece of work, unless one is under way.
    fn side_next(&mut self, state: &State) {
        if self.side.running.is_some() {
            return;
        }
        let Some(work) = self.side.queue.pop_front() else { return };
        let id = self.effect(dispatch(call_for(&work), state.turn()));
        self.side.running = Some((id, work));
    }

    /// Ends what is under way beside the agent call and drops the rest. Who
    /// waits for an answer gets one.
    pub(super) fn drop_side(&mut self, reason: &str) {
        let side = std::mem::take(&mut self.side);
        if let Some((id, _)) = &side.running {
            self.effect(Effect::Interrupt(*id));
        }
        let work = side.running.into_iter().map(|(_, work)| work).chain(side.queue);
        for work in work {
            self.answer(work.ticket(), work.given_up(reason));
        }
        for pending in side.asked {
            self.forget_asked(None, pending, reason);
        }
    }

    /// Goes on on the side. Results that nothing waits for are old and ignored.
    pub(super) fn side_done(&mut self, mut state: State, id: EffectId, result: EffectResult) -> State {
        if self.approval_is_late(&state, id) {
            return self.after_side(state);
        }
        let Some((_, work)) = self.side.running.take_if(|(running, _)| *running == id) else { return state };
        match result {
            EffectResult::Hook(reply) => self.side_answered(&mut state, work, *reply),
            EffectResult::Failed(fault) => return self.side_failed(state, &work, fault),
            _ => self.side_answered(&mut state, work, HookReply::default()),
        }
        self.side_next(&state);
        self.after_side(state)
    }

    /// Goes on with an agent call that waited for nothing but the side.
    pub(super) fn after_side(&mut self, state: State) -> State {
        if !self.side.is_idle() || !state.is_draining() {
            return state;
        }
        self.let_go();
        self.end_drain(state, None)
    }

    fn side_failed(&mut self, state: State, work: &Work, fault: RunFault) -> State {
        self.answer(work.ticket(), work.given_up(&fault.message));
        self.failed(state, fault)
    }

    fn side_answered(&mut self, state: &mut State, work: Work, reply: HookReply) {
        let (at_once, refused) = match work.takes_text() {
            true => {
                let said = reply.outcome.said.clone();
                (AtOnce { text: self.framed(&said), said }, self.verdict(&reply.outcome))
            }
            false => (AtOnce::default(), self.absorb(state.iteration_mut(), &reply)),
        };
        match work {
            Work::Before(notice)
                if reply.outcome.abort.is_none()
                    && matches!(reply.data, ReplyData::AbilityAsks(_))
                    && self.asks_people(&notice) =>
            {
                let ReplyData::AbilityAsks(input) = reply.data else { return };
                let reason = refused.map(|failure| failure.message).unwrap_or_default();
                return self.ask_person(state.iteration(), notice, reason, input);
            }
            Work::Before(notice) => self.ability_decided(state, notice, refused.as_ref(), reply.data),
            Work::After(end) => self.answer(end.ticket, AbilityAnswer::Told(at_once)),
            Work::Completed { .. } => {}
        }
        if let Some(failure) = refused.filter(|_| reply.outcome.abort.is_some()) {
            self.fail_turn(state, failure);
        }
    }

    fn ability_decided(
        &mut self,
        state: &mut State,
        notice: AbilityNotice,
        refused: Option<&IterationFailure>,
        data: ReplyData,
    ) {
        if let Some(failure) = refused {
            self.tell_of_block(state.iteration(), &notice, &failure.message);
        }
        let decision = match (refused, data) {
            (Some(failure), _) => AbilityDecision::Block { reason: failure.message.clone() },
            (None, ReplyData::Ability(Some(input))) => AbilityDecision::Allow { input },
            (None, _) => AbilityDecision::Allow { input: notice.call.input },
        };
        self.answer(notice.ticket, AbilityAnswer::Decided(decision));
        if let Some(failure) = refused.filter(|_| notice.ticket.is_none()) {
            // Samuel cannot prevent the call, so the turn ends with it.
            let message = format!("{} was blocked: {}", notice.call.ability_id, failure.message);
            self.fail_turn(state, IterationFailure { class: failure.class, message });
        }
    }

    /// Answers whoever waits, if somebody does.
    pub(super) fn answer(&mut self, ticket: Option<u64>, answer: AbilityAnswer) {
        if let Some(ticket) = ticket {
            self.effect(Effect::Answer { ticket, answer });
        }
    }

    pub(super) fn tell_of_block(
        &mut self,
        iteration: Option<&Iteration>,
        notice: &AbilityNotice,
        reason: &str,
    ) {
        let (task, ability_id) = (iteration.and_then(Iteration::task_id), notice.call.ability_id.clone());
        let (reason, prevented) = (reason.to_owned(), notice.ticket.is_some());
        let iteration = iteration.map_or(self.counters.iterations, |iteration| iteration.number);
        self.log(ProgressKind::Found, task, format!("{ability_id} was blocked: {reason}"));
        self.emit(Event::AbilityBlocked { iteration, ability_id, reason, prevented });
    }
}

/// Returns the arguments of a call as JSON. Agents also write what is none,
/// which a saved machine could not hold.
fn canonical(input: &str) -> Json {
    let value = serde_json::from_str(input).unwrap_or_else(|_| serde_json::Value::from(input));
    value.to_string()
}

fn call_for(work: &Work) -> HookCall {
    match work {
        Work::Completed { completion, provisional } => points::TaskCompleted::wrap(TaskCompletedInput {
            task_id: completion.task.to_string(),
            task_content: match completion.description.trim() {
                "" => completion.title.clone(),
                description => format!("{}\n\n{description}", completion.title),
            },
            actor: completion.actor,
            provisional: *provisional,
            ..Default::default()
        }),
        Work::Before(notice) => points::AbilityBefore::wrap(AbilityBeforeInput {
            ability_id: notice.call.ability_id.clone(),
            call_id: Some(notice.call.call_id.clone()).filter(|id| !id.is_empty()),
            input: notice.call.input.clone(),
            caller: notice.caller.clone(),
            enforced: notice.ticket.is_some(),
            ..Default::default()
        }),
        Work::After(EndedAbility { result, facts, .. }) => points::AbilityAfter::wrap(AbilityAfterInput {
            ability_id: result.ability_id.clone(),
            call_id: Some(result.call_id.clone()).filter(|id| !id.is_empty()),
            status: result.status,
            duration_ms: result.duration_ms,
            input_summary: facts.input_summary.clone(),
            output_summary: result.output_summary.clone(),
            tool_call_path: facts.path.clone(),
            changed_files: facts.changed_files.clone(),
            ..Default::default()
        }),
    }
}

fn note_tool(state: &mut State) {
    if let Some(iteration) = state.iteration_mut() {
        iteration.called_tool = true;
    }
}
