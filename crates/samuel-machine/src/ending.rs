//! How a run ends.

use samuel_hook::{Said, Speaker, points};
use samuel_model::{
    ExitReason, ProgressStatus, Usage,
    payload::{AfterLoopInput, SessionEndInput, SessionStopInput},
    text::one_line,
};
use samuel_state::{Mutation, ProgressKind, RunEnd, plan::UNCHECKED};

use super::{
    Closing, Core, Effect, Ending, HookReply, Machine, Owner, State, Then,
    command::{ENDING, StopRequest},
    text::MAX_PART_BYTES,
};
use crate::event::{Event, RunReport};

/// How much of a text is shown that did not reach the agent, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// How many times in a row a stop can be blocked.
pub const MAX_STOP_BLOCKS: u32 = 8;

/// Returns the figures of a run that `session.end` receives in addition to its fields: the number of completed tasks,
/// and the cost if it is known.
pub fn end_figures(completed: usize, usage: Usage) -> Vec<(String, String)> {
    let completed = ("completed".to_owned(), completed.to_string());
    // As the report has it: two digits of a dollar.
    let cost = usage.cost_usd.map(|cost| ("cost_usd".to_owned(), format!("{cost:.2}")));
    std::iter::once(completed).chain(cost).collect()
}

impl Core {
    /// Ends the loop, unless a handler of `session.stop` wants another turn.
    pub(super) fn stop(&mut self, reason: ExitReason, detail: Option<String>) -> State {
        self.emit(Event::Stopping { reason, detail: detail.clone() });
        self.ending = Some(Ending::new(reason, detail));
        self.try_to_stop()
    }

    /// Ends the run before its first iteration.
    pub(super) fn refuse_loop(&mut self, reason: ExitReason, detail: Option<String>) -> State {
        self.emit(Event::Stopping { reason, detail: detail.clone() });
        self.ending = Some(Ending::new(reason, detail));
        self.fire_after_loop()
    }

    pub(super) fn try_to_stop(&mut self) -> State {
        if self.requests.stop == Some(StopRequest::Stop) {
            return self.fire_after_loop();
        }
        let input = SessionStopInput {
            reason: self.reason().as_str().to_owned(),
            changed_files: None,
            stop_block_count: self.counters.stop_blocks,
            ..Default::default()
        };
        self.fire::<points::SessionStop>(State::SessionStop, input)
    }

    pub(super) fn after_session_stop(&mut self, reply: &HookReply) -> State {
        let broke = reply.outcome.abort.is_some();
        // A handler that breaks here has nothing left to abort.
        let blocked = self.absorb(None, reply).filter(|_| !broke);
        if !self.reason().delivers_pending_text() || self.is_exhausted() {
            return self.fire_after_loop();
        }
        if let Some(failure) = blocked {
            return self.put_off_stop(&failure.message);
        }
        if !self.asks_for_turn() {
            return self.fire_after_loop();
        }
        self.texts.delivering = self.take_pending(&[]);
        let framed = self.frame(&self.texts.delivering);
        let prompt = self.turn_after_all("the run ends, and this is still to be said.", &framed);
        self.begin_turn(Owner::Closing(Closing::Delivery), prompt)
    }

    /// Gives the agent one more turn, because a stop was blocked.
    fn put_off_stop(&mut self, reason: &str) -> State {
        if self.counters.stop_blocks < MAX_STOP_BLOCKS {
            self.counters.stop_blocks += 1;
            let framed = self.setup.framing.quote("hooks at session.stop", reason, MAX_PART_BYTES);
            let prompt = self.turn_after_all("the run cannot end yet, for this reason:", &framed);
            return self.begin_turn(Owner::Closing(Closing::Blocked), prompt);
        }
        let detail = format!("session.stop was blocked {MAX_STOP_BLOCKS} times in a row: {reason}");
        self.ending = Some(Ending::new(ExitReason::StopBlocked, Some(detail)));
        self.fire_after_loop()
    }

    /// Closes the books and fires the last points.
    pub(super) fn fire_after_loop(&mut self) -> State {
        self.checks.leave_unchecked();
        self.withdraw_unchecked();
        // Who hears of the end is not told of what was taken back.
        self.take_back_outside();
        self.mutate(Then::EndLoop)
    }

    pub(super) fn fire_last_points(&mut self) -> State {
        let input = AfterLoopInput {
            iterations_run: self.counters.iterations,
            exit_reason: self.reason().as_str().to_owned(),
            ..Default::default()
        };
        self.fire::<points::AfterLoop>(State::AfterLoop, input)
    }

    /// Does not call the work completed if something was completed since the
    /// last check after all.
    fn withdraw_unchecked(&mut self) {
        let stands = self.checks.unchecked_outside.is_empty() && self.is_vouched_for();
        if self.reason() == ExitReason::Completed && !stands {
            self.ending = Some(Ending::new(ExitReason::Blocked, Some(UNCHECKED.to_owned())));
        }
    }

    pub(super) fn after_after_loop(&mut self, reply: &HookReply) -> State {
        self.absorb(None, reply);
        self.fire_session_end()
    }

    pub(super) fn fire_session_end(&mut self) -> State {
        let counters = &self.counters;
        let extensions = end_figures(counters.completed.len(), counters.usage);
        let input = SessionEndInput { exit_reason: self.reason().as_str().to_owned(), extensions };
        self.fire::<points::SessionEnd>(State::SessionEnd, input)
    }

    pub(super) fn after_session_end(&mut self, reply: &HookReply) -> State {
        self.absorb(None, reply);
        self.finish()
    }

    /// Writes the last state down.
    pub(super) fn finish(&mut self) -> State {
        self.checks.leave_unchecked();
        // Completions of the last turns were never checked.
        let status = match self.reason() {
            // Of the plan nothing is said where the run was for some of its tasks.
            ExitReason::Completed
                if self.checks.unchecked_outside.is_empty() && self.setup.scope.is_all() =>
            {
                ProgressStatus::Completed
            }
            _ => ProgressStatus::Stopped,
        };
        self.take_back_outside();
        let usage = std::mem::take(&mut self.spending.usage_outside);
        if usage != Usage::default() {
            self.mutations.push_back(Mutation::AddUsage { usage });
        }
        self.mutations.push_back(Mutation::SetProgressStatus { status });
        self.mutate(Then::Finish)
    }

    pub(super) fn report(&mut self) -> State {
        self.drop_side(ENDING);
        let undelivered = self.tell_of_undelivered();
        self.effect(Effect::Checkpoint);
        let ending = self.ending.clone().unwrap_or(Ending::new(ExitReason::Error, None));
        self.emit(Event::RunFinished(RunReport {
            exit_reason: ending.reason,
            detail: ending.detail,
            iterations: self.counters.iterations,
            failed_iterations: self.counters.failed,
            interrupted_iterations: self.counters.interrupted,
            completed: self.counters.completed.clone(),
            // The driver knows these.
            unchanged: Vec::new(),
            by_other_agent: Vec::new(),
            by_edit: Vec::new(),
            unrecorded: self.counters.unrecorded.clone(),
            undelivered,
            // The driver knows these, as it does below.
            skipped: Vec::new(),
            left: Vec::new(),
            settled: false,
            usage: self.counters.usage,
            agents: self.agents.usage(),
            swept: true,
            fault: ending.fault.map(Box::new),
            limit: self.limit_of(ending.reason).map(str::to_owned),
            submitted: Vec::new(),
            unmerged: None,
            into: None,
        }));
        State::Ended
    }

    /// Returns the setting of the limit that is the reason for an end.
    fn limit_of(&self, reason: ExitReason) -> Option<&'static str> {
        match reason {
            ExitReason::MaxIterations => Some("max_iterations"),
            ExitReason::ConsecutiveFailures => Some("max_consecutive_failures"),
            ExitReason::WallClock => Some("session_budget.max_wall_time"),
            ExitReason::RateLimited => (!self.limit.is_endless).then_some("rate_limit_wait"),
            ExitReason::Budget => {
                let over = self.over_budget(self.counters.usage);
                Some(over.or_else(|| self.forecast(self.guards.elapsed_ms))?.0)
            }
            _ => None,
        }
    }

    /// Tells of text that waited for the agent and does not reach it any more, and of what a turn was to
    /// give it that did not end well; returns how much there is.
    fn tell_of_undelivered(&mut self) -> u32 {
        let tried = std::mem::take(&mut self.texts.delivering).into_iter().map(|said| (said, true));
        let waits = std::mem::take(&mut self.texts.pending).into_iter().map(|said| (said, false));
        let left: Vec<(Said, bool)> = tried.chain(waits).filter(|(said, _)| self.is_owed(said)).collect();
        for (said, was_tried) in &left {
            let from = match said.speaker {
                Speaker::User => "the user".to_owned(),
                Speaker::Handler | Speaker::ToUser => format!("{} at {}", said.handler, said.point),
            };
            let start = one_line(&said.item.content, MAX_SHOWN_CHARS);
            let message = match was_tried {
                true => format!(
                    "the last turn did not end well, which was to give the agent a text from {from}: {start}"
                ),
                false => format!("a text from {from} did not reach the agent: {start}"),
            };
            self.log(ProgressKind::Found, None, message.clone());
            self.emit(Event::Warning { message });
        }
        u32::try_from(left.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn reason(&self) -> ExitReason {
        self.ending.as_ref().map_or(ExitReason::Error, |ending| ending.reason)
    }
}

impl Machine {
    /// Returns how the run ended; nothing of one that has not.
    pub fn end(&self) -> Option<RunEnd> {
        let ending = self.core.ending.as_ref().filter(|_| self.is_ended())?;
        Some(RunEnd { reason: ending.reason, detail: ending.detail.clone() })
    }
}
