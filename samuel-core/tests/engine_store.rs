//! A loop over a store that can fail.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    model::{ExitReason, Plan, Usage},
    state::{
        Actor, Applied, Artifact, CaughtUp, Existing, Imported, JournalEntry, JournalRecord, LoadedPlan,
        Mutation, Note, ProgressEntry, ProgressLog, StateError, StateStore, Supervisor,
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
    /// Somebody edits its plan right after it was first read.
    Edited,
    /// Others keep it busy whenever a task begins.
    Busy,
    /// It stores an iteration, and says once that it could not.
    Answering(io::ErrorKind),
    /// It does not write what an agent consumed before the iteration is stored.
    Noting,
}

/// A store with a fault.
#[derive(Debug)]
struct Flaky {
    inner: Arc<dyn StateStore>,
    /// Where its plan is, if it is on the disk.
    plan: PathBuf,
    fault: Fault,
    fails: AtomicBool,
    /// Whether an iteration was stored, and who waits for that.
    is_stored: (Mutex<bool>, Condvar),
    /// Whether somebody waited in vain.
    gave_up: AtomicBool,
    /// How many times a task was to begin.
    begun: AtomicU32,
}

impl Flaky {
    fn new(bench: &Bench, fault: Fault) -> Arc<Self> {
        let (inner, fails) = (Arc::clone(bench.store()), AtomicBool::default());
        let plan = bench.project().run_dir().prd();
        Arc::new(Self {
            inner,
            plan,
            fault,
            fails,
            is_stored: Default::default(),
            gave_up: AtomicBool::default(),
            begun: AtomicU32::default(),
        })
    }
}

fn refused(kind: io::ErrorKind) -> StateError {
    StateError::Io { action: "read", path: "prd.toon".into(), source: kind.into() }
}

impl StateStore for Flaky {
    fn load(&self) -> Result<LoadedPlan, StateError> {
        if self.fault == Fault::Reading && self.fails.swap(false, Ordering::Relaxed) {
            return Err(refused(io::ErrorKind::Interrupted));
        }
        let loaded = self.inner.load()?;
        if self.fault == Fault::Edited && !self.fails.swap(true, Ordering::Relaxed) {
            let plan = fs::read_to_string(&self.plan).unwrap();
            fs::write(&self.plan, plan.replace(",pending,", ",completed,")).unwrap();
        }
        Ok(loaded)
    }

    fn mutate(&self, mutation: Mutation, actor: Actor) -> Result<Applied, StateError> {
        let is_iteration = matches!(mutation, Mutation::CommitIteration { .. });
        if self.fault == Fault::Busy && matches!(mutation, Mutation::StartTask { .. }) {
            self.begun.fetch_add(1, Ordering::Relaxed);
            return Err(StateError::Locked { path: "lock".into(), holder: None, waited: Duration::ZERO });
        }
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

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        self.inner.catch_up(seq)
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
    let store = Flaky::new(&bench, Fault::Reading);
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
        let store = Flaky::new(&bench, Fault::Answering(kind));
        let played = bench.play(bench.run(completes_each_task()).store(store)).await.unwrap();
        let progress = &bench.store().load().unwrap().plan.progress;
        assert_eq!((played.report.exit_reason, progress.total_iterations_run), (ends, 1), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_edited_while_a_run_begins_is_found() {
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    let store = Flaky::new(&bench, Fault::Edited);
    bench.play(bench.run(completes_each_task()).store(store)).await.unwrap();
    let is_completion = |record: &JournalRecord| match &record.entry {
        JournalEntry::Edited { edits, .. } => edits.iter().any(|edit| edit.completed().is_some()),
        _ => false,
    };
    assert!(bench.store().journal_since(0).unwrap().iter().any(is_completion));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_others_hold_up_is_waited_for_once() {
    let bench = Bench::builder().task("1", "First").build().unwrap();
    let store = Flaky::new(&bench, Fault::Busy);
    let run = bench.run(completes_each_task()).store(Arc::clone(&store) as Arc<dyn StateStore>);
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Error);
    assert_eq!(store.begun.load(Ordering::Relaxed), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_goes_on_while_what_its_agent_consumed_is_written() {
    let bench = Bench::builder().task("1", "First").build().unwrap();
    let store = Flaky::new(&bench, Fault::Noting);
    let usage = Usage { input_tokens: 5, ..Usage::default() };
    let call = ScriptedCall::any().repeated().step(Step::Usage(usage)).say("working").done();
    let run = bench.run(Script::default().call(call)).store(Arc::clone(&store) as Arc<dyn StateStore>);
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let is_used = |record: &JournalRecord| matches!(record.entry, JournalEntry::Used(_));
    assert!(bench.store().journal_since(0).unwrap().iter().any(is_used));
    assert!(!store.gave_up.load(Ordering::Relaxed), "the loop waited for what its agent consumed");
}
