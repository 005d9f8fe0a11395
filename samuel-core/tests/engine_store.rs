//! A loop over a store that can fail.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use samuel_core::{
    model::{ExitReason, Plan},
    state::{
        Actor, Applied, Artifact, Existing, Imported, JournalRecord, Loaded, Mutation, Note, ProgressEntry,
        ProgressLog, StateError, StateStore, Supervisor,
    },
    testing::{Bench, completes_each_task},
};

/// A store that cannot be read once, right after an iteration was stored.
#[derive(Debug)]
struct Flaky {
    inner: Arc<dyn StateStore>,
    fails: AtomicBool,
}

impl StateStore for Flaky {
    fn load(&self) -> Result<Loaded, StateError> {
        match self.fails.swap(false, Ordering::Relaxed) {
            true => Err(StateError::Io {
                action: "read",
                path: "prd.toon".into(),
                source: io::ErrorKind::Interrupted.into(),
            }),
            false => self.inner.load(),
        }
    }

    fn mutate(&self, mutation: Mutation, actor: Actor) -> Result<Applied, StateError> {
        let is_iteration = matches!(mutation, Mutation::CommitIteration { .. });
        let applied = self.inner.mutate(mutation, actor)?;
        self.fails.store(is_iteration, Ordering::Relaxed);
        Ok(applied)
    }

    fn exists(&self) -> Result<bool, StateError> {
        self.inner.exists()
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.inner.import(plan, actor, existing)
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        self.inner.note(note)
    }

    fn journal_since(&self, seq: u64) -> Result<Vec<JournalRecord>, StateError> {
        self.inner.journal_since(seq)
    }

    fn last_checkpoint(&self) -> Result<Option<JournalRecord>, StateError> {
        self.inner.last_checkpoint()
    }

    fn supervisors(&self) -> Result<Vec<Supervisor>, StateError> {
        self.inner.supervisors()
    }

    fn append_progress(&self, entries: &[ProgressEntry]) -> Result<(), StateError> {
        self.inner.append_progress(entries)
    }

    fn progress(&self) -> Result<ProgressLog, StateError> {
        self.inner.progress()
    }

    fn rotate_progress(&self, max_lines: usize) -> Result<usize, StateError> {
        self.inner.rotate_progress(max_lines)
    }

    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        self.inner.write_artifact(artifact, text)
    }

    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError> {
        self.inner.read_artifact(artifact)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_that_is_stored_counts_once_even_if_the_plan_cannot_be_read_back() {
    let bench = Bench::builder().task("1", "First").build().unwrap();
    let store = Arc::new(Flaky { inner: Arc::clone(bench.store()), fails: AtomicBool::new(false) });
    let played = bench.play(bench.run(completes_each_task()).store(store)).await.unwrap();
    let progress = &bench.store().load().unwrap().plan.progress;
    assert_eq!((played.report.exit_reason, progress.total_iterations_run), (ExitReason::Completed, 1));
}
