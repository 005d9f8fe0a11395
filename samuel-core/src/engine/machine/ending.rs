//! How a run ends.

use super::{
    Ending, HookReply, Machine, Phase, Then, command::Wish, standing::Verdict, text::MAX_PART_BYTES,
    turn::Closing,
};
use crate::{
    engine::event::{Event, RunReport},
    hook::points,
    model::{
        ExitReason, ProgressStatus, Usage,
        payload::{AfterLoopInput, SessionEndInput, SessionStopInput, Turn},
    },
    state::Mutation,
};

/// How many times in a row a stop can be blocked (contract, hook points).
const MAX_STOP_BLOCKS: u32 = 8;

impl Machine {
    /// Ends the loop, unless a handler of `session.stop` wants another turn.
    pub(super) fn stop(&mut self, reason: ExitReason, detail: Option<String>) {
        self.drop_iteration();
        self.emit(Event::Stopping { reason, detail: detail.clone() });
        self.ending = Some(Ending::new(reason, detail));
        self.try_to_stop();
    }

    /// Ends the run before its first iteration.
    pub(super) fn refuse_loop(&mut self, reason: ExitReason, detail: Option<String>) {
        self.emit(Event::Stopping { reason, detail: detail.clone() });
        self.ending = Some(Ending::new(reason, detail));
        self.fire_after_loop();
    }

    pub(super) fn try_to_stop(&mut self) {
        if self.wish == Some(Wish::Stop) {
            return self.fire_after_loop();
        }
        let input = SessionStopInput {
            reason: self.reason().as_str().to_owned(),
            changed_files: None,
            stop_block_count: self.counters.stop_blocks,
            ..Default::default()
        };
        self.fire::<points::SessionStop>(Phase::SessionStop, input);
    }

    pub(super) fn after_session_stop(&mut self, reply: HookReply) {
        let broke = reply.outcome.abort.is_some();
        // A handler that breaks here has nothing left to abort.
        let blocked = self.absorb(&reply).filter(|_| !broke);
        if !self.reason().delivers_pending_text() || self.is_exhausted() {
            return self.fire_after_loop();
        }
        if let Some(failure) = blocked {
            return self.put_off_stop(&failure.message);
        }
        if self.pending.is_empty() {
            return self.fire_after_loop();
        }
        let pending = std::mem::take(&mut self.pending);
        self.closing = Some(Closing::Delivery);
        let prompt = self.frame_alone(&pending);
        self.begin_turn(Turn::Final, prompt);
    }

    /// Gives the agent one more turn, because a stop was blocked.
    fn put_off_stop(&mut self, reason: &str) {
        if self.counters.stop_blocks < MAX_STOP_BLOCKS {
            self.counters.stop_blocks += 1;
            self.closing = Some(Closing::Blocked);
            let framing = &self.setup.framing;
            let why = framing.quote("hooks at session.stop", reason, MAX_PART_BYTES);
            let remark = framing.remark("The run cannot end yet, for this reason:");
            let prompt = format!("{}\n{remark}\n\n{why}", framing.preamble());
            return self.begin_turn(Turn::Final, prompt);
        }
        let detail = format!("session.stop was blocked {MAX_STOP_BLOCKS} times in a row: {reason}");
        self.ending = Some(Ending::new(ExitReason::StopBlocked, Some(detail)));
        self.fire_after_loop();
    }

    pub(super) fn fire_after_loop(&mut self) {
        self.closing = None;
        self.withdraw_unchecked();
        let input = AfterLoopInput {
            iterations_run: self.counters.iterations,
            exit_reason: self.reason().as_str().to_owned(),
            ..Default::default()
        };
        self.fire::<points::AfterLoop>(Phase::AfterLoop, input);
    }

    /// Does not call the work completed if something was completed since the
    /// last check after all.
    fn withdraw_unchecked(&mut self) {
        let stands = self.unchecked_outside.is_empty() && self.completion_verdict() == Verdict::Completed;
        if self.reason() == ExitReason::Completed && !stands {
            let detail = "every task is settled, but no check has passed since the last was completed";
            self.ending = Some(Ending::new(ExitReason::Blocked, Some(detail.to_owned())));
        }
    }

    pub(super) fn after_after_loop(&mut self, reply: HookReply) {
        self.absorb(&reply);
        self.fire_session_end();
    }

    pub(super) fn fire_session_end(&mut self) {
        let input = SessionEndInput { exit_reason: self.reason().as_str().to_owned(), ..Default::default() };
        self.fire::<points::SessionEnd>(Phase::SessionEnd, input);
    }

    pub(super) fn after_session_end(&mut self, reply: HookReply) {
        self.absorb(&reply);
        self.finish();
    }

    /// Writes the last state down.
    pub(super) fn finish(&mut self) {
        // Completions of the last turns were never checked.
        let status = match self.reason() {
            ExitReason::Completed if self.unchecked_outside.is_empty() => ProgressStatus::Completed,
            _ => ProgressStatus::Stopped,
        };
        self.take_back_outside();
        let usage = std::mem::take(&mut self.usage_outside);
        if usage != Usage::default() {
            self.mutations.push_back(Mutation::AddUsage { usage });
        }
        self.mutations.push_back(Mutation::SetProgressStatus { status });
        self.mutate(Then::Finish);
    }

    pub(super) fn report(&mut self) {
        self.drop_side();
        self.phase = Phase::Ended;
        self.effect(super::Effect::Checkpoint);
        let ending = self.ending.clone().unwrap_or(Ending::new(ExitReason::Error, None));
        self.emit(Event::RunFinished(RunReport {
            exit_reason: ending.reason,
            detail: ending.detail,
            iterations: self.counters.iterations,
            failed_iterations: self.counters.failed,
            completed: self.counters.completed.clone(),
            usage: self.counters.usage,
            // The driver knows.
            swept: true,
            fault: ending.fault,
        }));
    }

    pub(super) fn reason(&self) -> ExitReason {
        self.ending.as_ref().map_or(ExitReason::Error, |ending| ending.reason)
    }
}
