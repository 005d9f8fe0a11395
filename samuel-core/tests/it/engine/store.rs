//! A loop over any pair of stores, and over one that can fail.

use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    clock::Clock,
    engine::RunError,
    event::{Event, EventRecord},
    history::{History, WhyQuestion},
    hook::{Answer, Call, points},
    model::{
        ExitReason, Plan, Status, TaskId, Usage,
        payload::{AfterIterationOutput, CheckFailure, QualityCheckOutput},
    },
    state::{
        Actor, Applied, Artifact, Asker, CaughtUp, Existing, Holder, Imported, JournalEntry, JournalPart,
        JournalRecord, LaneStore, LoadedPlan, LoopLock, Mutation, Note, PlanStore, ProgressEntry,
        ProgressLog, RecordChunk, RecordPart, RecordPlace, RunDir, SavedRun, StateError, SupervisorProcess,
        Watch,
    },
    testing::{Bench, ChannelStore, HeldAgent, VirtualClock, completes_each_task},
};

/// How long nothing takes that happens at all.
const HANG: Duration = Duration::from_secs(5);

/// The warning of a store that restores something at each look.
const RESTORED: &str = "the plan was restored";

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
    /// It cannot be followed once a task has begun.
    Unfollowed,
    /// It does not write what an agent consumed before the iteration is stored.
    Noting,
    /// It has no room for a run that was saved with the failures of its checks.
    Full,
    /// It takes no lines of the record until the test lets it.
    Slow,
    /// It restores something at each look.
    Restored,
}

/// A store with a fault.
#[derive(Debug)]
struct Flaky {
    inner: Arc<dyn PlanStore>,
    lane: Arc<dyn LaneStore>,
    dir: RunDir,
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
    /// Whether it was written what an agent consumed.
    is_noted: AtomicBool,
}

impl Flaky {
    /// Puts one around the stores of a bench, which then has it.
    fn around(bench: Bench, fault: Fault) -> (Bench, Arc<Self>) {
        let dir = bench.project().run_dir();
        let flaky = Arc::new(Self {
            inner: bench.store(),
            lane: bench.lane(),
            plan: dir.prd(),
            dir,
            fault,
            fails: AtomicBool::default(),
            is_stored: Default::default(),
            gave_up: AtomicBool::default(),
            begun: AtomicU32::default(),
            is_noted: AtomicBool::default(),
        });
        let of = Arc::clone(&flaky);
        (bench.over(|project| project.with_plan_store(of.clone()).with_lane_store(of)), flaky)
    }
}

fn refused(kind: io::ErrorKind) -> StateError {
    StateError::Io { action: "read", path: "prd.toon".into(), source: kind.into() }
}

impl PlanStore for Flaky {
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

    fn mutate_as(
        &self,
        made_at: Option<Timestamp>,
        mutation: Mutation,
        asker: &Asker,
    ) -> Result<Applied, StateError> {
        let is_iteration = matches!(mutation, Mutation::CommitIteration { .. });
        if self.fault == Fault::Busy && matches!(mutation, Mutation::StartTask { .. }) {
            self.begun.fetch_add(1, Ordering::Relaxed);
            return Err(StateError::Locked { path: "lock".into(), holder: None, waited: Duration::ZERO });
        }
        self.begun.fetch_add(matches!(mutation, Mutation::StartTask { .. }).into(), Ordering::Relaxed);
        let applied = self.inner.mutate_as(made_at, mutation, asker)?;
        match self.fault {
            Fault::Reading => self.fails.store(is_iteration, Ordering::Relaxed),
            Fault::Answering(kind) if is_iteration && !self.fails.swap(true, Ordering::Relaxed) => {
                return Err(refused(kind));
            }
            _ if is_iteration && self.fault != Fault::Slow => {
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

    fn journal_since(&self, seq: u64) -> Result<JournalPart, StateError> {
        self.inner.journal_since(seq)
    }

    fn catch_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        if self.fault == Fault::Unfollowed && self.begun.load(Ordering::Relaxed) > 0 {
            return Err(refused(io::ErrorKind::Interrupted));
        }
        let mut caught = self.inner.catch_up(seq)?;
        caught.warnings.extend((self.fault == Fault::Restored).then(|| RESTORED.to_owned()));
        Ok(caught)
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

    fn watch(&self) -> Watch {
        self.inner.watch()
    }
}

impl LaneStore for Flaky {
    fn dir(&self) -> &RunDir {
        &self.dir
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        let is_used = matches!(note, Note::Used(_));
        if self.fault == Fault::Noting && is_used {
            let (is_stored, stored) = &self.is_stored;
            let wait = stored.wait_timeout_while(is_stored.lock().unwrap(), HANG, |is_stored| !*is_stored);
            self.gave_up.fetch_or(wait.unwrap().1.timed_out(), Ordering::Relaxed);
        }
        if let (Fault::Full, Note::Checkpoint(checkpoint)) = (self.fault, &note) {
            if checkpoint.state.to_string().contains("a long story") {
                return Err(StateError::TooLarge { what: "journal record", bytes: 2, max: 1 });
            }
            let is_ended = checkpoint.end.is_some();
            self.fails.fetch_or(
                !is_ended && checkpoint.state["machine"]["counters"]["iterations"] == 1,
                Ordering::Relaxed,
            );
        }
        let noted = self.lane.note(note)?;
        self.is_noted.fetch_or(is_used, Ordering::Relaxed);
        Ok(noted)
    }

    fn last_saved(&self) -> Result<Option<SavedRun>, StateError> {
        self.lane.last_saved()
    }

    fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError> {
        self.lane.supervisors()
    }

    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        self.lane.write_artifact(artifact, text)
    }

    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError> {
        self.lane.read_artifact(artifact)
    }

    fn lock_loop(&self, holder: &Holder) -> Result<Arc<dyn LoopLock>, StateError> {
        self.lane.lock_loop(holder)
    }

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        self.lane.loop_holder()
    }

    fn append_record(&self, run: &str, part: RecordPart, lines: &[u8]) -> Result<(), StateError> {
        if self.fault == Fault::Slow {
            let (is_let, told) = &self.is_stored;
            let wait = told.wait_timeout_while(is_let.lock().unwrap(), HANG * 4, |is_let| !*is_let);
            self.gave_up.fetch_or(wait.unwrap().1.timed_out(), Ordering::Relaxed);
        }
        self.lane.append_record(run, part, lines)
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        self.lane.read_record(run, part, from)
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        self.lane.recorded_runs()
    }

    fn watch_record(&self, run: &str) -> Watch {
        self.lane.watch_record(run)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_that_is_stored_counts_once_even_if_the_plan_cannot_be_read_back() {
    let (bench, _) = Flaky::around(Bench::builder().task("1", "First").build().unwrap(), Fault::Reading);
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    let progress = &bench.store().load().unwrap().plan.progress;
    assert_eq!((played.report.exit_reason, progress.total_iterations_run), (ExitReason::Completed, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_that_is_stored_counts_once_although_the_answer_is_lost() {
    for (kind, ends) in
        [(io::ErrorKind::NotFound, ExitReason::Completed), (io::ErrorKind::StorageFull, ExitReason::Error)]
    {
        let (bench, _) =
            Flaky::around(Bench::builder().task("1", "First").build().unwrap(), Fault::Answering(kind));
        let played = bench.play(bench.run(completes_each_task())).await.unwrap();
        let progress = &bench.store().load().unwrap().plan.progress;
        assert_eq!((played.report.exit_reason, progress.total_iterations_run), (ends, 1), "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_edited_while_a_run_begins_is_found() {
    let (bench, _) =
        Flaky::around(Bench::builder().task("1", "First").on_disk().build().unwrap(), Fault::Edited);
    bench.play(bench.run(completes_each_task())).await.unwrap();
    let is_completion = |record: &JournalRecord| match &record.entry {
        JournalEntry::Edited { edits, .. } => edits.iter().any(|edit| edit.completed().is_some()),
        _ => false,
    };
    assert!(bench.store().journal_since(0).unwrap().records.iter().any(is_completion));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_edits_between_two_runs_of_one_project_stands_and_counts_for_the_second_alone() {
    let bench = Bench::builder().task("1", "First").task("2", "Second").on_disk().build().unwrap();
    let run = || {
        bench
            .run(completes_each_task())
            .settings(|settings| settings.max_iterations = std::num::NonZero::new(1))
    };
    bench.play(run()).await.unwrap();
    let (path, text) = {
        let path = bench.project().run_dir().prd();
        (path.clone(), fs::read_to_string(path).unwrap())
    };
    let row = text.lines().find(|line| line.contains("Second")).unwrap();
    fs::write(&path, text.replace(&format!("{row}\n"), "").replace("tasks[2]", "tasks[1]")).unwrap();
    let played = bench.play(run()).await.unwrap();
    let told = |words: &str| played.events.iter().any(|record| format!("{record:?}").contains(words));
    assert!(!told("put back") && !told("was edited"), "{}", played.transcript());
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    assert_eq!(bench.store().load().unwrap().plan.tasks.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_others_hold_up_is_waited_for_once() {
    let (bench, store) = Flaky::around(Bench::builder().task("1", "First").build().unwrap(), Fault::Busy);
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Error);
    assert_eq!(store.begun.load(Ordering::Relaxed), 1);
    let why = History::of(bench.project()).why(&WhyQuestion::Run(None)).unwrap();
    let code = played.report.fault.as_ref().unwrap().code.as_str();
    assert!(why.answer.starts_with("it ended as error: "), "{why:#?}");
    assert!(why.reasons[0].text.starts_with(&format!("{code}: ")), "{why:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_on_top_of_a_plan_that_cannot_be_followed() {
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    let (bench, store) = Flaky::around(bench, Fault::Unfollowed);
    let played = bench.play(bench.run(Script::default().call(ScriptedCall::any()))).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Error);
    let plan = store.inner.load().unwrap().plan;
    assert_eq!((plan.count(Status::InProgress), plan.progress.total_iterations_run), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_repeated_warning_once_per_iteration() {
    let bench = Bench::builder().task("1", "First").task("2", "Second").build().unwrap();
    let (bench, _) = Flaky::around(bench, Fault::Restored);
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!(played.report.iterations, 2);
    let warnings = played.events.iter().filter_map(|record| match &record.event {
        Event::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    let warnings: Vec<&str> = warnings.collect();
    let count = |is: fn(&str) -> bool| warnings.iter().filter(|warning| is(warning)).count();
    // Each iteration looks at least three times. There may be looks after the last iteration, and after the end.
    let restored = count(|warning| warning == RESTORED);
    assert!((2..=4).contains(&restored), "{warnings:?}");
    assert!(count(|warning| warning.ends_with("left out")) >= 2, "{warnings:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_goes_on_while_what_its_agent_consumed_is_written() {
    let (bench, store) = Flaky::around(Bench::builder().task("1", "First").build().unwrap(), Fault::Noting);
    let usage = Usage { input_tokens: 5, ..Usage::default() };
    let call = ScriptedCall::any().repeated().step(Step::Usage(usage)).say("working").done();
    let played = bench.play(bench.run(Script::default().call(call))).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    assert!(store.is_noted.load(Ordering::Relaxed));
    assert!(!store.gave_up.load(Ordering::Relaxed), "the loop waited for what its agent consumed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_texts_are_too_long_is_saved_without_them() {
    let (bench, store) = Flaky::around(Bench::builder().task("1", "First").build().unwrap(), Fault::Full);
    let check = async |_: Call<points::QualityCheck>| {
        let failures = vec![CheckFailure { message: "a long story".to_owned(), ..CheckFailure::default() }];
        Ok(QualityCheckOutput { failures, ..QualityCheckOutput::refuse("a long story") })
    };
    let script = Script::default().call(ScriptedCall::any().repeated().say("working").done());
    let run = bench.run(script).hook::<points::QualityCheck, _>("no", check);
    let run = run.settings(|settings| settings.task_budget.max_attempts = None);
    let played = bench.play(run).await.unwrap();
    let told = |words: &str| {
        let says = |record: &&EventRecord| matches!(&record.event, Event::Warning { message } if message.contains(words));
        played.events.iter().filter(says).count()
    };
    assert!(told("too long to be saved") > 0);
    assert_eq!(told("could not be saved"), 0);
    assert!(store.fails.load(Ordering::Relaxed), "nothing was saved after the first iteration");
}

/// A clock that breaks what looks at it.
#[derive(Debug, Default)]
struct Broken {
    inner: VirtualClock,
    is_broken: Arc<AtomicBool>,
}

#[async_trait::async_trait]
impl Clock for Broken {
    fn now(&self) -> Timestamp {
        assert!(!self.is_broken.load(Ordering::Relaxed), "the clock is broken");
        self.inner.now()
    }

    fn elapsed(&self) -> Duration {
        self.inner.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        self.inner.sleep(duration).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_panics_ends_its_streams() {
    let clock = Broken::default();
    let is_broken = Arc::clone(&clock.is_broken);
    let bench = Bench::builder().task("1", "First").clock(clock).build().unwrap();
    let breaks = move |_: Call<points::AfterIteration>| {
        is_broken.store(true, Ordering::Relaxed);
        async { Ok(AfterIterationOutput::default()) }
    };
    let run = bench.run(completes_each_task()).hook::<points::AfterIteration, _>("breaks", breaks);
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let ends = async { while events.next().await.is_some() {} };
    tokio::time::timeout(HANG, ends).await.unwrap();
    assert!(matches!(handle.wait().await, Err(RunError::Broken { .. })));
}

/// Gives a bench a plan behind a channel, whose journal has other numbers than the notes
/// of the lane.
fn behind_a_channel(bench: Bench) -> Bench {
    let plan = Arc::new(ChannelStore::over(bench.store()));
    bench.over(|project| project.with_plan_store(plan))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_to_its_end_over_any_pair_of_stores() {
    let bench = || Bench::builder().task("1", "First").task("2", "Second");
    for bench in [bench().build(), bench().on_disk().build()].map(Result::unwrap).map(behind_a_channel) {
        let played = bench.play(bench.run(completes_each_task())).await.unwrap();
        assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::Completed, 2));
        let completed = played.events.iter().filter_map(|record| match &record.event {
            Event::TaskCompleted { task, .. } => Some(task.clone()),
            _ => None,
        });
        assert_eq!(completed.map(|id| id.to_string()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(bench.lane().loop_holder().unwrap().is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_in_progress_has_an_owner_and_a_run_that_is_cut_off_goes_on_over_any_pair_of_stores() {
    let bench = || Bench::builder().task("1", "First").task("2", "Second");
    for bench in [bench().build(), bench().on_disk().build()].map(Result::unwrap).map(behind_a_channel) {
        let agent = Arc::new(HeldAgent::new());
        let handle = bench.run(Script::default()).agent(agent.clone()).owner("lane-1").build().unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let started = runtime.spawn(async move { handle.start().await.unwrap() });
        let handle = started.await.unwrap();
        agent.called().await;
        let task = || bench.store().load().unwrap().plan.tasks[0].clone();
        assert_eq!((task().status, task().owner.as_deref()), (Status::InProgress, Some("lane-1")));
        bench.store().mutate(done("1"), Actor::Agent).unwrap();
        // What dies with its process says nothing more.
        runtime.shutdown_background();
        drop(handle);
        wait_until_free(&bench).await;

        let played = bench.play(bench.run(completes_each_task())).await.unwrap();
        let resumed = |record: &EventRecord| matches!(record.event, Event::RunStarted { resumed: true, .. });
        assert!(played.events.iter().any(resumed));
        assert_eq!(played.report.exit_reason, ExitReason::Completed);
        // The completion that nothing checked was taken back, and the iteration counted once.
        assert_eq!(bench.store().load().unwrap().plan.progress.total_iterations_run, 3);
        assert_eq!(task().owner, None);
    }
}

fn done(id: &str) -> Mutation {
    Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None }
}

/// Waits until the loop of a run that was cut off holds its lock no more.
async fn wait_until_free(bench: &Bench) {
    let free = async {
        while bench.lane().loop_holder().unwrap().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(HANG, free).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_too_slow_for_the_inputs_still_has_every_event() {
    // Each takes some 25 steps, of which a thousand may wait.
    let tasks = (1..=60).map(|number| number.to_string());
    let bench = tasks.fold(Bench::builder(), |bench, id| bench.task(&id, "A title"));
    let (bench, slow) = Flaky::around(bench.on_disk().build().unwrap(), Fault::Slow);
    let run = bench.run(completes_each_task()).settings(|settings| settings.max_iterations = None);
    let mut handle = run.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let mut told = Vec::new();
    while let Some(record) = tokio::time::timeout(HANG * 4, events.next()).await.unwrap() {
        let is_behind =
            matches!(&record.event, Event::Warning { message } if message.contains("cannot be replayed"));
        if is_behind {
            *slow.is_stored.0.lock().unwrap() = true;
            slow.is_stored.1.notify_all();
        }
        told.push((record, is_behind));
    }
    let report = handle.wait().await.unwrap();
    assert!(!slow.gave_up.load(Ordering::Relaxed));
    assert_eq!(report.exit_reason, ExitReason::Completed);
    assert_eq!(told.iter().filter(|(_, is_behind)| *is_behind).count(), 1, "one warning");
    let history = History::of(bench.project());
    let run = history.resolve(None).unwrap();
    let mut entries = history.entries(&run);
    let mut recorded = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        recorded.push(entry.record);
    }
    // Some of what an agent says may be missing, and nothing else.
    let changes = |records: Vec<EventRecord>| {
        let is_change =
            |record: &EventRecord| !matches!(record.event, Event::Agent { .. } | Event::Lagged { .. });
        records.into_iter().filter(is_change).collect::<Vec<_>>()
    };
    assert_eq!(changes(recorded), changes(told.into_iter().map(|(record, _)| record).collect()));
    let replay = history.replay(&run).unwrap();
    assert!(replay.equal && !replay.ended && replay.iterations < 60, "{replay:?}");
}
