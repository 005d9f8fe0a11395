//! A loop over a store that can fail.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    model::{ExitReason, Plan, Usage},
    state::{
        Actor, Applied, Artifact, Existing, Imported, JournalEntry, JournalRecord, Loaded, Mutation, Note,
        ProgressEntry, ProgressLog, StateError, StateStore, Supervisor,
    },
    testing::{Bench, completes_each_task},
};

/// How long nothing takes that happens at all.
const HANG: Duration = Duration::from_secs(5);

/// What goes wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// It cannot be read once, right after an iteration was stored.
    Reading,
    /// It stores an iteration, and says once that it could not.
    Answering(io::ErrorKind),
    /// It does not write what an agent consumed before the iteration is stored.
    Noting,
}

/// A store with a fault.
#[derive(Debug)]
struct Flaky {
    inner: Arc<dyn StateStore>,
    fault: Fault,
    fails: AtomicBool,
    /// Whether an iteration was stored, and who waits for that.
    is_stored: (Mutex<bool>, Condvar),
    /// Whether somebody waited in vain.
    gave_up: AtomicBool,
}

impl Flaky {
    fn new(inner: &Arc<dyn StateStore>, fault: Fault) -> Arc<Self> {
        let (inner, fails) = (Arc::clone(inner), AtomicBool::default());
        Arc::new(Self { inner, fault, fails, is_stored: Default::default(), gave_up: AtomicBool::default() })
    }
}

fn refused(kind: io::ErrorKind) -> StateError {
    StateError::Io { action: "read", path: "prd.toon".into(), source: kind.into() }
}

impl StateStore for Flaky {
    fn load(&self) -> Result<Loaded, StateError> {
        match self.fault == Fault::Reading && self.fails.swap(false, Ordering::Relaxed) {
            true => Err(refused(io::ErrorKind::Interrupted)),
            false => self.inner.load(),
        }
    }

    fn mutate(&self, mutation: Mutation, actor: Actor) -> Result<Applied, StateError> {
        let is_iteration = matches!(mutation, Mutation::CommitIteration { .. });
        let applied = self.inner.mutate(mutation, actor)?;
        match self.fault {
            Fault::Reading => self.fails.store(is_iteration, Ordering::Relaxed),
            Fault::Answering(kind) if is_iteration && !self.fails.swap(true, Ordering::Relaxed) => {
                return Err(refused(kind));
            }
            _ if is_iteration => {
                *self.is_stored.0.lock().unwrap() = true;
                self.is_stored.1.notify_all();
            }
            _ => {}
        }
        Ok(applied)
    }

    fn exists(&self) -> Result<bool, StateError> {
        self.inner.exists()
    }

    fn import(&self, plan: Plan, actor: Actor, existing: Existing) -> Result<Imported, StateError> {
        self.inner.import(plan, actor, existing)
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        if self.fault == Fault::Noting && matches!(note, Note::Used(_)) {
            let (is_stored, stored) = &self.is_stored;
            let wait = stored.wait_timeout_while(is_stored.lock().unwrap(), HANG, |is_stored| !*is_stored);
            self.gave_up.fetch_or(wait.unwrap().1.timed_out(), Ordering::Relaxed);
        }
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
    let store = Flaky::new(bench.store(), Fault::Reading);
    let played = bench.play(bench.run(completes_each_task()).store(store)).await.unwrap();
    let progress = &bench.store().load().unwrap().plan.progress;
    assert_eq!((played.report.exit_reason, progress.total_iterations_run), (ExitReason::Completed, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_that_is_stored_counts_once_although_the_answer_is_lost() {
    for (kind, ends) in
        [(io::ErrorKind::NotFound, ExitReason::Completed), (io::ErrorKind::StorageFull, ExitReason::Error)]
    {
        let bench = Bench::builder().task("1", "First").build().unwrap();
        let store = Flaky::new(bench.store(), Fault::Answering(kind));
        let played = bench.play(bench.run(completes_each_task()).store(store)).await.unwrap();
        let progress = &bench.store().load().unwrap().plan.progress;
        assert_eq!((played.report.exit_reason, progress.total_iterations_run), (ends, 1), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_goes_on_while_what_its_agent_consumed_is_written() {
    let bench = Bench::builder().task("1", "First").build().unwrap();
    let store = Flaky::new(bench.store(), Fault::Noting);
    let usage = Usage { input_tokens: 5, ..Usage::default() };
    let call = ScriptedCall::any().repeated().step(Step::Usage(usage)).say("working").done();
    let run = bench.run(Script::default().call(call)).store(Arc::clone(&store) as Arc<dyn StateStore>);
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let is_used = |record: &JournalRecord| matches!(record.entry, JournalEntry::Used(_));
    assert!(bench.store().journal_since(0).unwrap().iter().any(is_used));
    assert!(!store.gave_up.load(Ordering::Relaxed), "the loop waited for what its agent consumed");
}
