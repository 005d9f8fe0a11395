//! How a run ends.

use super::{Ending, HookReply, MAX_STOP_BLOCKS, Machine, Phase, Then, Wish, frame, turn::Closing};
use crate::{
    engine::event::{Event, RunReport},
    hook::points,
    model::{
        ExitReason, ProgressStatus,
        payload::{AfterLoopInput, SessionEndInput, SessionStopInput, Turn},
    },
    state::Mutation,
};

impl Machine {
    /// Ends the loop, unless a handler of `session.stop` wants another turn.
    pub(super) fn stop(&mut self, reason: ExitReason, detail: Option<String>) {
        self.iteration = None;
        self.emit(Event::Stopping { reason, detail: detail.clone() });
        self.ending = Some(Ending { reason, detail });
        match self.wish {
            Some(Wish::Stop) => self.fire_after_loop(),
            _ => self.try_to_stop(),
        }
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
        let blocked = self.absorb(&reply);
        let may_turn = self.reason().delivers_pending_text() && !self.is_exhausted();
        if let Some(failure) = blocked.filter(|_| may_turn) {
            if self.counters.stop_blocks < MAX_STOP_BLOCKS {
                self.counters.stop_blocks += 1;
                self.closing = Some(Closing::Blocked);
                let prompt = format!("[the run cannot end yet]\n{}", failure.message);
                return self.begin_turn(Turn::Final, prompt);
            }
            let detail =
                format!("session.stop was blocked {MAX_STOP_BLOCKS} times in a row: {}", failure.message);
            self.ending = Some(Ending { reason: ExitReason::StopBlocked, detail: Some(detail) });
        }
        let deliver = self.reason().delivers_pending_text() && !self.is_exhausted();
        if self.pending.is_empty() || !deliver {
            return self.fire_after_loop();
        }
        let pending = std::mem::take(&mut self.pending);
        self.closing = Some(Closing::Delivery);
        self.begin_turn(Turn::Final, frame(&pending));
    }

    pub(super) fn fire_after_loop(&mut self) {
        self.closing = None;
        let input = AfterLoopInput {
            iterations_run: self.counters.iterations,
            exit_reason: self.reason().as_str().to_owned(),
            ..Default::default()
        };
        self.fire::<points::AfterLoop>(Phase::AfterLoop, input);
    }

    pub(super) fn after_after_loop(&mut self, reply: HookReply) {
        self.absorb(&reply);
        let input = SessionEndInput { exit_reason: self.reason().as_str().to_owned(), ..Default::default() };
        self.fire::<points::SessionEnd>(Phase::SessionEnd, input);
    }

    /// Writes the last state down.
    pub(super) fn finish(&mut self) {
        // Completions of the last turns were never checked.
        let unchecked = std::mem::take(&mut self.unchecked_at_end);
        self.take_back(unchecked, vec!["completed without a check".to_owned()]);
        let status = match self.reason() {
            ExitReason::Completed => ProgressStatus::Completed,
            _ => ProgressStatus::Stopped,
        };
        self.mutations.push_back(Mutation::SetProgressStatus { status });
        self.mutate(Then::Finish);
    }

    pub(super) fn report(&mut self) {
        self.phase = Phase::Ended;
        self.effect(super::Effect::Checkpoint);
        let ending = self.ending.clone().unwrap_or(Ending { reason: ExitReason::Error, detail: None });
        self.emit(Event::RunFinished(RunReport {
            exit_reason: ending.reason,
            detail: ending.detail,
            iterations: self.counters.iterations,
            failed_iterations: self.counters.failed,
            completed: self.counters.completed.clone(),
            usage: self.counters.usage,
        }));
    }

    fn reason(&self) -> ExitReason {
        self.ending.as_ref().map_or(ExitReason::Error, |ending| ending.reason)
    }
}
