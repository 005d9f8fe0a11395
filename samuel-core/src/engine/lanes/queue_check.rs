//! How the queue checks what it has merged, and what it tells of that.
//!
//! The checks are those of the run, made in a clone of the queue's own. How they went is told as that of any check,
//! with the tasks whose work was merged. What follows from it [`MergeMachine`](crate::merge::MergeMachine) decides.

use tokio_util::sync::CancellationToken;

use super::queue::QueueDriver;
use crate::{
    engine::fire::Place,
    event::{CheckResult, Event},
    hook::{BreakClass, HookCall, Outcome},
    machine::{HookReply, check_failures, check_result, refused_by},
    model::{
        TaskId,
        payload::{CheckFailure, Mode, QualityCheckInput, Turn},
    },
    text::{last_line, listed},
    workspace::WorkspaceError,
};

impl QueueDriver {
    /// Checks a commit with the work of some tasks, and returns what failed; nothing where the check was cut off.
    pub(super) async fn check(
        &self,
        commit: String,
        merged: Vec<TaskId>,
        stopped: &CancellationToken,
    ) -> Result<Option<Vec<String>>, WorkspaceError> {
        // A command that gets the clone ready may take long, and is made again by the next check.
        tokio::select! {
            checked_out = self.tree.check_out(&commit) => checked_out?,
            () = stopped.cancelled() => return Ok(None),
        }
        let place = Place {
            iteration: 0,
            in_iteration: false,
            mode: Mode::Implementation,
            turn: Turn::Main,
            cancel: stopped.child_token(),
        };
        let input = QualityCheckInput { commands: self.commands.clone(), ..Default::default() };
        let reply = self.services.fire(HookCall::QualityCheck(input), &place).await;
        let is_cancelled = is_cancelled(&reply.outcome);
        let mut failed = if is_cancelled { Vec::new() } else { failures(&reply) };
        if !is_cancelled {
            let changed = self.tree.changed_control_files().await?;
            let why = || {
                format!("files that decide what runs were changed while the checks ran: {}", listed(&changed))
            };
            failed.extend((!changed.is_empty()).then(why));
        }
        if reply.outcome.skipped.is_none() {
            self.services.emit(self.checked(&reply, &failed, commit, merged));
        }
        Ok((!is_cancelled).then_some(failed))
    }

    /// Returns the event that tells how a check went.
    fn checked(&self, reply: &HookReply, failed: &[String], commit: String, merged: Vec<TaskId>) -> Event {
        let (failures, ok) = (check_failures(reply).to_vec(), failed.is_empty());
        let result = check_result(reply, ok, &self.commands);
        let refused = || match refused_by(reply) {
            Some(by) => format!("{by}: {}", failed.join("; ")),
            None => failed.join("; "),
        };
        let reason = match result {
            CheckResult::Failed if failures.is_empty() => Some(refused()),
            CheckResult::Advisory if failures.is_empty() => reply.outcome.advice.clone(),
            _ => None,
        };
        let ok = ok && result != CheckResult::Cancelled;
        Event::QualityChecked { iteration: 0, ok, result, failures, reason, commit: Some(commit), merged }
    }
}

/// Returns what failed, one line each.
fn failures(reply: &HookReply) -> Vec<String> {
    let Outcome { refused, abort, broken, skipped, .. } = &reply.outcome;
    if skipped.is_some() || (refused.is_none() && abort.is_none() && broken.is_empty()) {
        return Vec::new();
    }
    let told = |CheckFailure { command, message, tail, .. }: &CheckFailure| match last_line(tail) {
        Some(line) => format!("{command}: {message}: {line}"),
        None => format!("{command}: {message}"),
    };
    let mut told: Vec<String> = check_failures(reply).iter().map(told).collect();
    if told.is_empty() {
        told.extend(refused.clone());
        told.extend(broken.iter().map(ToString::to_string));
        if told.is_empty() {
            told.push("the check was refused".to_owned());
        }
    }
    told
}

fn is_cancelled(outcome: &Outcome) -> bool {
    outcome.broken.iter().any(|broken| broken.failure.class == BreakClass::Cancelled)
}
