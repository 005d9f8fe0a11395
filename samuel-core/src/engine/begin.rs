//! Where a run begins: at its start, or where an interrupted one left off.

use std::{sync::Arc, time::Duration};

use super::{
    driver::Saved,
    error::RunError,
    follow::{committed_in, completed_in},
    machine::{Input, Limits, Machine, Setup},
    run::Run,
};
use crate::state::{Diagnostic, JournalEntry, StateError};

/// Where a run begins.
pub(super) struct Begin {
    pub(super) machine: Machine,
    pub(super) first: Input,
    /// The last record of the journal.
    pub(super) seq: u64,
    /// How long the run was under way before it was interrupted.
    pub(super) elapsed: Duration,
    /// What was wrong with the plan as it was found. The first change of the
    /// plan rewrites it, so nobody finds it again.
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Run {
    /// Finds out whether an earlier run has to go on, and from where.
    pub(super) async fn recover(&self) -> Result<Begin, RunError> {
        let store = Arc::clone(&self.frozen.store);
        let read = tokio::task::spawn_blocking(move || {
            let diagnostics = store.load()?.diagnostics;
            let checkpoint = store.last_checkpoint()?;
            let since = store.journal_since(checkpoint.as_ref().map_or(0, |record| record.seq))?;
            Ok::<_, StateError>((diagnostics, checkpoint, since))
        });
        let (diagnostics, checkpoint, since) = read.await.map_err(RunError::broken)??;
        let seq = since.last().or(checkpoint.as_ref()).map_or(0, |record| record.seq);
        let saved = checkpoint.and_then(|record| match record.entry {
            JournalEntry::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        });
        // A checkpoint of another version is no use; the plan itself is.
        let saved = saved.and_then(|saved| serde_json::from_value::<Saved>(saved.state).ok());
        if let Some(saved) = &saved {
            self.workbench.with(|desk| desk.last_failures.clone_from(&saved.last_failures));
        }
        Ok(match saved {
            Some(Saved { mut machine, elapsed_ms, .. }) if !machine.is_ended() => {
                machine.set_setup(self.setup());
                let first =
                    Input::Resume { completed: completed_in(&since), committed: committed_in(&since) };
                Begin { machine, first, seq, elapsed: Duration::from_millis(elapsed_ms), diagnostics }
            }
            earlier => {
                let mut machine = Machine::new(self.setup());
                if let Some(earlier) = earlier {
                    machine.succeed(&earlier.machine);
                }
                Begin { machine, first: Input::Start, seq, elapsed: Duration::ZERO, diagnostics }
            }
        })
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
            sandbox: settings.sandbox.as_str().to_owned(),
            checks: settings.quality_checks.iter().map(|check| check.command.clone()).collect(),
            limits: Limits {
                max_iterations: settings.max_iterations,
                max_consecutive_failures: settings.max_consecutive_failures,
                max_cost_usd: settings.session_budget.max_cost_usd,
                max_tokens: settings.session_budget.max_tokens,
                pause_ms: millis(settings.pause),
            },
        }
    }
}
