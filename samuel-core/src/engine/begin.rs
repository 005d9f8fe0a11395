//! Where a run begins: at its start, or where an interrupted one left off.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    control_files::ControlRecord,
    driver::Saved,
    error::RunError,
    follow::{began_in, committed_in, completed_in, outdates_check},
    machine::{Input, Limits, Machine, Setup},
    run::Run,
};
use crate::{
    hook::{HookPoint, Tier},
    model::{Plan, ProgressStatus, Status, TaskId, Usage},
    state::{Diagnostic, JournalEntry, JournalRecord, LastWritten, StateError, StateStore},
};

/// Where a run begins.
pub(super) struct Begin {
    pub(super) machine: Machine,
    pub(super) first: Input,
    /// The last record of the journal.
    pub(super) seq: u64,
    /// How long the run was under way before it was interrupted.
    pub(super) elapsed: Duration,
    /// The id that the run had before it was interrupted.
    pub(super) resumed: Option<String>,
    /// What was wrong with the plan as it was found. The first change of the
    /// plan rewrites it, so nobody finds it again.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether a loop worked on the plan of which the journal tells nothing: what
    /// it left unfinished, and unchecked, is not known.
    pub(super) has_lost_record: bool,
}

impl Run {
    /// Finds out whether an earlier run has to go on, and from where.
    pub(super) async fn recover(&self) -> Result<Begin, RunError> {
        let store = Arc::clone(&self.frozen.store);
        let read = tokio::task::spawn_blocking(move || {
            let written = store.last_written()?;
            let loaded = store.load()?;
            let (saved_at, saved) = last_saved(&*store)?;
            let since = store.journal_since(saved_at)?;
            // What was completed right before a checkpoint may be in none.
            let told = saved.as_ref().and_then(|(_, saved)| saved.told).unwrap_or(saved_at);
            let untold = if told < saved_at { Some(store.journal_since(told)?) } else { None };
            Ok::<_, StateError>((written, loaded, saved_at, saved, since, told, untold))
        });
        let (written, loaded, saved_at, saved, since, told, untold) =
            read.await.map_err(RunError::broken)??;
        let diagnostics = loaded.diagnostics;
        let progress = &loaded.plan.progress;
        let has_run = progress.total_iterations_run > 0 || progress.status == ProgressStatus::Running;
        let has_lost_record = has_run && saved_at == 0;
        let (run_id, saved) = saved.unzip();
        let seq = since.last().map_or(saved_at, |record| record.seq);
        let untold = untold.as_deref().unwrap_or(&since);
        if let Some(saved) = &saved {
            self.workbench.with(|desk| desk.last_failures.clone_from(&saved.last_failures));
        }
        Ok(match saved {
            Some(Saved { mut machine, elapsed_ms, completed, .. }) if !machine.is_ended() => {
                machine.set_setup(self.setup());
                machine.count_used(used_in(&since).unwrap_or_else(|| machine.used()));
                let first = Input::Resume {
                    completed: all_completed(untold, &loaded.plan, completed),
                    committed: committed_in(&since),
                    began: began_in(&since),
                };
                let elapsed = Duration::from_millis(elapsed_ms);
                Begin { machine, first, seq, elapsed, resumed: run_id, diagnostics, has_lost_record }
            }
            earlier => {
                let mut machine = Machine::new(self.setup());
                if let Some(earlier) = earlier {
                    let edited = written != LastWritten::Same;
                    machine.succeed(&earlier.machine, edited || outdates_check(untold, told));
                }
                let (first, elapsed) = (Input::Start, Duration::ZERO);
                Begin { machine, first, seq, elapsed, resumed: None, diagnostics, has_lost_record }
            }
        })
    }

    /// Lets the store know the plan that the run begins with, against which it
    /// holds what it finds later. Before anything is concluded from the plan, so that
    /// no edit falls in between.
    pub(super) async fn know_plan(&self) -> Result<(), RunError> {
        let store = Arc::clone(&self.frozen.store);
        // The records that there are by now are read by whoever begins.
        let known = tokio::task::spawn_blocking(move || store.catch_up(u64::MAX));
        known.await.map_err(RunError::broken)??;
        Ok(())
    }

    /// Says whether a handler beside the default looks at the work.
    fn checks_otherwise(&self) -> bool {
        let mut handlers = self.registry.handlers(HookPoint::QualityCheck);
        handlers.any(|(_, _, tier)| tier != Tier::BuiltIn)
    }

    /// Says what the machine has to know of a run.
    fn setup(&self) -> Setup {
        let settings = &self.frozen.settings;
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Setup {
            session: self.frozen.session.clone(),
            project_root: self.frozen.project.root().display().to_string(),
            prd_path: self.frozen.run_dir.prd().display().to_string(),
            progress_path: self.frozen.run_dir.progress().display().to_string(),
            agent: self.frozen.agent.name().to_owned(),
            binary: self.frozen.binary.clone(),
            sandbox: settings.sandbox.as_str().to_owned(),
            checks: settings.quality_checks.iter().map(|check| check.command.clone()).collect(),
            has_checks: !settings.quality_checks.is_empty() || self.checks_otherwise(),
            limits: Limits {
                max_iterations: settings.max_iterations,
                max_consecutive_failures: settings.max_consecutive_failures,
                max_cost_usd: settings.session_budget.max_cost_usd,
                max_tokens: settings.session_budget.max_tokens,
                max_wall_ms: settings.session_budget.max_wall_time.map(millis),
                pause_ms: millis(settings.pause),
                rate_limit: settings.rate_limit,
                max_limit_wait_ms: millis(settings.rate_limit_wait),
            },
            framing: self.frozen.framing.clone(),
        }
    }
}

/// Returns what was completed since a state was saved: what records tell, and
/// what the plan says beyond what was completed then.
fn all_completed(records: &[JournalRecord], plan: &Plan, before: Option<Vec<TaskId>>) -> Vec<TaskId> {
    let mut completed = completed_in(records);
    if let Some(before) = before {
        let before: HashSet<TaskId> = before.into_iter().collect();
        let since = plan.tasks.iter().filter(|task| task.status == Status::Completed);
        completed.extend(since.map(|task| task.id.clone()).filter(|id| !before.contains(id)));
    }
    completed
}

/// Returns what the run had consumed in all when records last told of it.
fn used_in(records: &[JournalRecord]) -> Option<Usage> {
    records.iter().rev().find_map(|record| match &record.entry {
        JournalEntry::Used(used) => Some(used.usage),
        _ => None,
    })
}

/// What a run saved, and the id it had.
type OfRun = (String, Saved);

/// Returns what the last run saved of its control files; nothing of a run that saved
/// nothing.
pub(super) fn last_control_record(store: &dyn StateStore) -> Result<ControlRecord, StateError> {
    let Some(record) = store.last_checkpoint()? else { return Ok(ControlRecord::default()) };
    let JournalEntry::Checkpoint(mut checkpoint) = record.entry else { return Ok(ControlRecord::default()) };
    let saved = checkpoint.state.get_mut("control_files").map(serde_json::Value::take);
    // A checkpoint of another version says nothing of them.
    Ok(saved.and_then(|saved| serde_json::from_value(saved).ok()).unwrap_or_default())
}

/// Returns what was saved last, and the number of its record; 0 without one.
fn last_saved(store: &dyn StateStore) -> Result<(u64, Option<OfRun>), StateError> {
    let Some(record) = store.last_checkpoint()? else { return Ok((0, None)) };
    let JournalEntry::Checkpoint(checkpoint) = record.entry else { return Ok((record.seq, None)) };
    // A checkpoint of another version is no use; the plan itself is.
    let saved = serde_json::from_value(checkpoint.state).ok();
    Ok((record.seq, saved.map(|saved| (checkpoint.run_id, saved))))
}
