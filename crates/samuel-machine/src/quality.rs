//! Completions, and the check that stands behind them.
//!
//! A task that is completed inside an iteration stands provisionally. Where
//! the check fails, or none follows, it is taken back, so that an agent cannot
//! certify itself. What is provisional is decided in
//! [`standing`](super::standing).

use samuel_hook::{BreakClass, DEFAULT_ID, HookStatus, Timing, points};
use samuel_model::{
    ExitReason, FailureClass, MAX_ID_CHARS, TaskId,
    payload::{CheckFailure, QualityCheckInput},
    text::excerpt,
};
use samuel_state::{MAX_RECORD_BYTES, Mutation, ProgressKind};

use super::{Core, Effect, Ending, HookReply, Phase, ReplyData, State, Then, iteration::Iteration};
use crate::event::{CheckResult, Event, IterationFailure};

/// Why a completion is taken back that no check followed.
pub const WITHOUT_CHECK: &str = "completed without a check";
/// Why one is taken back that an interruption kept from being checked.
pub const BEFORE_CHECK: &str = "interrupted before a check";
/// How much is kept of the reasons for which completions are taken back, in bytes: they
/// stand beside every task, and in a record that has to fit into the journal.
const MAX_REASON_BYTES: usize = 2 << 10;
/// How many completions one change takes back.
const MAX_TAKEN_BACK: usize = 10_000;
// The record names each of them twice, and a byte of a reason may take six.
const _: () = assert!(MAX_TAKEN_BACK * 2 * (MAX_ID_CHARS + 8) + MAX_REASON_BYTES * 8 < MAX_RECORD_BYTES);

impl Core {
    /// Goes on after the iteration's main turn.
    pub(super) fn after_main_turn(
        &mut self,
        mut iteration: Box<Iteration>,
        failure: Option<IterationFailure>,
    ) -> State {
        let in_flight = std::mem::take(&mut iteration.in_flight);
        let answered = iteration.answered_question.take();
        if let (None, Some(question), Some(id)) = (&failure, answered, iteration.task_id()) {
            self.mutations.push_back(Mutation::Heard { id, question });
        }
        match failure {
            Some(failure) => {
                iteration.failure.get_or_insert(failure);
                // What a failed agent completed still deserves a check: it may be
                // good work that ended badly.
                let to_check = !iteration.unchecked.is_empty();
                self.put_back(in_flight);
                if !to_check {
                    return self.fire_after_iteration(iteration);
                }
            }
            None => self.were_delivered(in_flight),
        }
        if iteration.mode == samuel_model::payload::Mode::Discovery
            && iteration.tree.is_some()
            && iteration.unchecked.is_empty()
        {
            return self.wait_for(State::Iteration(iteration, Phase::TreeAfter), Effect::Fingerprint);
        }
        self.check_iteration(iteration)
    }

    /// Has an iteration checked that looked for tasks, where it changed the work tree.
    pub(super) fn after_tree_after(&mut self, iteration: Box<Iteration>, tree: &str) -> State {
        match iteration.tree.as_deref() == Some(tree) {
            true => self.fire_after_iteration(iteration),
            false => self.check_iteration(iteration),
        }
    }

    fn check_iteration(&mut self, mut iteration: Box<Iteration>) -> State {
        // What is completed during the check has no check behind it.
        iteration.checking = std::mem::take(&mut iteration.unchecked);
        self.fire_quality_check(State::Iteration(iteration, Phase::Quality))
    }

    pub(super) fn fire_quality_check(&mut self, state: State) -> State {
        self.checks.check_age.begin();
        let input = QualityCheckInput { commands: self.setup.checks.clone(), ..Default::default() };
        self.fire::<points::QualityCheck>(state, input)
    }

    pub(super) fn after_quality(&mut self, mut iteration: Box<Iteration>, reply: &HookReply) -> State {
        if self.settle_check(Some(&mut iteration), reply) {
            self.effect(Effect::Checkpoint);
            return self.fire_after_iteration(iteration);
        }
        self.mutate(Then::AfterIteration(iteration))
    }

    pub(super) fn after_check(&mut self, reply: &HookReply) -> State {
        if self.settle_check(None, reply) {
            self.effect(Effect::Checkpoint);
            return self.begin_iteration();
        }
        self.mutate(Then::AfterCheck)
    }

    /// Has the run end without a check that counts: what decides what runs was
    /// changed, so nothing that the iteration completed can stand on it.
    pub(super) fn refuse_check(
        &mut self,
        iteration: Option<&mut Iteration>,
        detail: String,
        during_check: bool,
    ) {
        let (result, when) = match during_check {
            true => ("does not count", "while the quality checks ran, by a check itself perhaps"),
            false => ("not asked", "before the work was checked"),
        };
        let message = format!("control files were changed {when}: {detail}");
        let task = iteration.as_deref().and_then(Iteration::task_id);
        self.checks.check_age.outdate();
        self.log(ProgressKind::Quality, task, format!("{result}: {message}"));
        if let Some(iteration) = iteration {
            let mut unchecked = std::mem::take(&mut iteration.checking);
            unchecked.append(&mut iteration.unchecked);
            let failure = IterationFailure { class: FailureClass::Refused, message: message.clone() };
            iteration.failure.get_or_insert(failure);
            self.take_back(unchecked, vec![message]);
        }
        self.checks.leave_unchecked();
        self.ending.get_or_insert(Ending::new(ExitReason::ControlFilesChanged, Some(detail)));
    }

    /// Reopens tasks for which nothing was changed. The check under way decides on the others.
    pub(super) fn unchanged(&mut self, state: &mut State, tasks: &[TaskId], why: &str) {
        let Some(iteration) = state.iteration_mut() else { return };
        let checking = std::mem::take(&mut iteration.checking);
        let (unchanged, checking): (Vec<TaskId>, Vec<TaskId>) =
            checking.into_iter().partition(|id| tasks.contains(id));
        iteration.checking = checking;
        let (class, message) = (FailureClass::QualityCheck, why.to_owned());
        iteration.failure.get_or_insert(IterationFailure { class, message });
        unchanged.into_iter().for_each(|task| self.reopen(task, why));
    }

    /// Decides on the completions that were checked, and says whether they
    /// stand.
    pub(super) fn settle_check(&mut self, mut iteration: Option<&mut Iteration>, reply: &HookReply) -> bool {
        let task = iteration.as_deref().and_then(Iteration::task_id);
        // The last iteration of a lane has nothing to do with what all of them have landed.
        let is_of_all = iteration.is_none() && self.setup.in_lane;
        let number = if is_of_all { 0 } else { self.counters.iterations };
        if let Some(why) = &reply.outcome.skipped {
            // The check is for iterations of the other mode: it says nothing
            // about this one, and what was completed has no check behind it.
            self.log(ProgressKind::Quality, task, format!("not asked: {why}"));
            // A check of an iteration does not decide on what others completed.
            let kept = iteration.is_some().then(|| std::mem::take(&mut self.checks.of_others));
            self.checks.leave_unchecked();
            self.checks.of_others.extend(kept.unwrap_or_default());
            return true;
        }
        let failures = check_failures(reply);
        let cancelled = cancelled(reply);
        let is_cancelled = cancelled.is_some();
        let by = failures.is_empty().then(|| refused_by(reply)).flatten();
        let of = |said: &String| by.map_or_else(|| said.clone(), |by| format!("{by}: {said}"));
        let mut refusal = self.absorb(iteration.as_deref_mut(), reply).or(cancelled);
        if let Some(refused) = refusal.as_mut().filter(|refusal| refusal.class == FailureClass::Refused) {
            refused.message = of(&refused.message);
        }
        let advice = reply.outcome.advice.as_ref().map(of);
        let ok = refusal.is_none();
        if is_cancelled {
            // It says nothing about the work, good or bad.
            self.checks.check_age.outdate();
        } else {
            self.checks.last_check = Some(ok);
            self.checks.check_age.end();
        }
        let result = check_result(reply, ok, &self.setup.checks);
        let unverified = result == CheckResult::Unverified;
        let mut doubtful = std::mem::take(&mut self.checks.doubtful);
        match iteration {
            // It is of what is merged.
            None => doubtful.append(&mut self.checks.of_others),
            // It says nothing of what others completed.
            Some(_) if !self.checks.of_others.is_empty() => self.checks.check_age.outdate(),
            Some(_) => {}
        }
        let mut checked = Vec::new();
        if ok {
            self.vouch_for(&doubtful, "checked and stands");
        } else {
            checked.extend(doubtful);
        }
        if let Some(iteration) = iteration.as_deref_mut() {
            checked.append(&mut iteration.checking);
            iteration.unverified = unverified;
            if ok {
                iteration.checked.extend(checked.iter().cloned());
            }
        }
        // What failed says more than how many did.
        let said = refusal.as_ref().map(|failure| &failure.message).or(advice.as_ref());
        self.emit(Event::QualityChecked {
            iteration: number,
            ok,
            result,
            failures: failures.to_vec(),
            reason: said.filter(|_| failures.is_empty()).cloned(),
            commit: None,
            merged: Vec::new(),
        });
        let Some(refusal) = refusal else {
            let text = match result {
                CheckResult::Unverified => "no checks are configured".to_owned(),
                CheckResult::Advisory => {
                    let said = said.cloned().unwrap_or_default();
                    format!("failed (advisory): {}", listed(failures).unwrap_or(said))
                }
                _ => "passed".to_owned(),
            };
            self.log(ProgressKind::Quality, task, text);
            return ok;
        };
        let (failure, reasons) = reasons_of(refusal, failures);
        let word = if is_cancelled { "cancelled" } else { "failed" };
        self.log(ProgressKind::Quality, task, format!("{word}: {}", failure.message));
        if let Some(iteration) = iteration {
            iteration.failure.get_or_insert(failure);
        }
        self.take_back(checked, reasons);
        ok
    }

    /// Takes back what was completed outside of iterations.
    pub(super) fn take_back_outside(&mut self) {
        let unchecked = std::mem::take(&mut self.checks.unchecked_outside);
        self.take_back(unchecked, vec![WITHOUT_CHECK.to_owned()]);
    }

    /// Has completions returned to pending, because no check stands behind them.
    pub(super) fn take_back(&mut self, mut ids: Vec<TaskId>, reasons: Vec<String>) {
        let reasons = excerpts(&reasons);
        let mut known = std::collections::HashSet::new();
        ids.retain(|id| known.insert(id.clone()));
        if ids.is_empty() {
            return;
        }
        let records = ids.chunks(MAX_TAKEN_BACK);
        let records = records.map(|ids| Mutation::TakeBack { ids: ids.to_vec(), failures: reasons.clone() });
        self.mutations.extend(records);
    }

    /// Tells of completions that were taken back, now that the plan says so.
    pub(super) fn tell_of_taken_back(&mut self, tasks: Vec<TaskId>, reasons: Vec<String>) {
        let text = format!("taken back: {}", reasons.join("; "));
        for id in &tasks {
            self.log(ProgressKind::Found, Some(id.clone()), text.clone());
        }
        self.emit(Event::TasksTakenBack { tasks, reasons });
    }
}

/// Returns the checks that failed.
pub fn check_failures(reply: &HookReply) -> &[CheckFailure] {
    match &reply.data {
        ReplyData::Checks(failures) => failures,
        _ => &[],
    }
}

/// Says how a check with these commands went that the work stands, or does not.
pub fn check_result(reply: &HookReply, ok: bool, commands: &[String]) -> CheckResult {
    // Nothing is there to check where no command is configured, and nobody but the default, which runs the commands,
    // was asked.
    let is_default = |timing: &Timing| &*timing.handler == DEFAULT_ID;
    let checked_nothing = commands.is_empty() && reply.outcome.timings.iter().all(is_default);
    match &reply.outcome {
        _ if cancelled(reply).is_some() => CheckResult::Cancelled,
        _ if !ok => CheckResult::Failed,
        outcome if outcome.advice.is_some() || !check_failures(reply).is_empty() => CheckResult::Advisory,
        _ if checked_nothing => CheckResult::Unverified,
        _ => CheckResult::Passed,
    }
}

/// Returns the failure of a check that was cancelled: it says nothing about
/// the work, so nothing can stand on it.
fn cancelled(reply: &HookReply) -> Option<IterationFailure> {
    let broken = reply.outcome.broken.iter().find(|broken| broken.failure.class == BreakClass::Cancelled)?;
    Some(IterationFailure { class: FailureClass::HookBroke, message: broken.to_string() })
}

/// Returns the handler that refused the work, where it is not the default, whose
/// commands tell of themselves.
pub fn refused_by(reply: &HookReply) -> Option<&str> {
    let refused = reply.outcome.timings.iter().find(|timing| timing.status == HookStatus::Refused)?;
    Some(&*refused.handler).filter(|handler| *handler != DEFAULT_ID)
}

/// Returns what is kept of reasons: the first of them, the last of those cut.
fn excerpts(reasons: &[String]) -> Vec<String> {
    let mut left = MAX_REASON_BYTES;
    let excerpt_of = |reason: &String| {
        let kept = (left > 0).then(|| excerpt(reason, left));
        left = left.saturating_sub(reason.len().max(1));
        kept
    };
    reasons.iter().map_while(excerpt_of).collect()
}

/// Writes what failed, if anything did.
fn listed(failures: &[CheckFailure]) -> Option<String> {
    let each = failures.iter().map(|failure| format!("{}: {}", failure.command, failure.message));
    (!failures.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
}

/// Returns the iteration's failure, and the reasons to write beside the tasks.
fn reasons_of(refusal: IterationFailure, failures: &[CheckFailure]) -> (IterationFailure, Vec<String>) {
    let reasons: Vec<String> =
        failures.iter().map(|failure| format!("{}: {}", failure.command, failure.message)).collect();
    let class = match refusal.class {
        FailureClass::HookBroke => FailureClass::HookBroke,
        _ => FailureClass::QualityCheck,
    };
    let reasons = match reasons.is_empty() || class == FailureClass::HookBroke {
        true => excerpts(&[refusal.message]),
        false => excerpts(&reasons),
    };
    (IterationFailure { class, message: reasons.join("; ") }, reasons)
}
