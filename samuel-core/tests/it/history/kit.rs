//! Runs and records for these tests.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use samuel_core::{
    config::CheckCommand,
    engine::RunBuilder,
    event::{EVENT_SCHEMA_VERSION, Event, EventRecord, IterationFailure},
    history::{History, Why},
    model::{
        FailureClass, IterationOutcome, Usage,
        payload::{Mode, TaskBrief},
    },
    project::Project,
    state::{Actor, LaneStore, Mutation, RecordPart, RecordPlace},
    testing::{Bench, completes_each_task},
};

/// The id of a record that a test writes.
pub(crate) const RUN: &str = "20261121T100000Z-abcd";

/// How long nothing takes that happens at all.
pub(crate) const HANG: Duration = Duration::from_secs(20);

/// A project with tasks, on the disk.
pub(crate) fn on_disk(tasks: &[(&str, &str)]) -> Bench {
    let bench = tasks.iter().fold(Bench::builder(), |bench, (id, title)| bench.task(id, title));
    bench.on_disk().build().unwrap()
}

/// A run whose agent completes its tasks, and whose check is a command.
pub(crate) fn checked(bench: &Bench, check: &str) -> RunBuilder {
    let check = CheckCommand::new(check);
    bench.run(completes_each_task()).settings(move |settings| settings.quality_checks = vec![check])
}

pub(crate) fn history(bench: &Bench) -> History {
    History::of(bench.project())
}

/// Returns the beginning of an iteration for a task.
pub(crate) fn started(iteration: u32, task: &str) -> Event {
    let task = TaskBrief { id: task.to_owned(), title: "A title".to_owned(), ..TaskBrief::default() };
    Event::IterationStarted { iteration, mode: Mode::Implementation, task: Some(task) }
}

/// Returns the beginning of a run, which goes on from another one where that is named.
pub(crate) fn begins(goes_on_from: Option<&str>) -> Event {
    Event::RunStarted {
        resumed: goes_on_from.is_some(),
        agent: "claude".to_owned(),
        model: None,
        routing: None,
        max_iterations: None,
        tasks: Vec::new(),
        guards: Vec::new(),
        commit: None,
        goes_on_from: goes_on_from.map(str::to_owned),
    }
}

/// Changes the plan as an agent does in another process.
pub(crate) fn change(bench: &Bench, mutation: Mutation) {
    let project = Project::open(bench.path(), None, bench.project().clock()).unwrap();
    project.plan_store().mutate(mutation, Actor::Agent).unwrap();
}

/// Returns an answer as text: the reasons, each with the events that it rests on, and its details.
pub(crate) fn told(why: &Why) -> String {
    let mut text = format!("{}\n", why.answer);
    for reason in &why.reasons {
        let events: Vec<String> =
            reason.events.iter().map(|event| format!("{} {}", event.seq, event.event)).collect();
        writeln!(text, "- {} [{}]", reason.text, events.join(", ")).unwrap();
        for detail in &reason.details {
            writeln!(text, "  | {detail}").unwrap();
        }
    }
    text
}

/// Returns the end of an iteration.
pub(crate) fn finished(iteration: u32, failed: bool, in_a_row: u32) -> Event {
    let failure =
        IterationFailure { class: FailureClass::QualityCheck, message: format!("check {iteration}") };
    Event::IterationFinished {
        iteration,
        outcome: if failed { IterationOutcome::Failed } else { IterationOutcome::Succeeded },
        failure: failed.then_some(failure),
        completed: Vec::new(),
        usage: Usage::default(),
        consecutive_failures: in_a_row,
        excused: false,
        unrecorded: false,
        commit: None,
        uncommitted: Vec::new(),
        committed_for_agent: None,
    }
}

/// When records that tests write begin, in seconds: after every plan of a test was stored.
const BEGIN: i64 = 4_000_000_000;

/// From where on events were told before any plan of a test was stored.
pub(crate) const LONG_AGO: i64 = -BEGIN;

/// Writes events as those of a run, a second apart.
pub(crate) fn tell(lane: &dyn LaneStore, run: &str, events: Vec<Event>) {
    tell_from(lane, run, 0, events);
}

/// Writes events as those of a run, a second apart, from a second on after others.
pub(crate) fn tell_from(lane: &dyn LaneStore, run: &str, second: i64, events: Vec<Event>) {
    tell_by(lane, run, second, events.into_iter().map(|event| (None, event)).collect());
}

/// Writes events of lanes as those of a run, a second apart, from a second on after others.
pub(crate) fn tell_by(lane: &dyn LaneStore, run: &str, second: i64, events: Vec<(Option<u32>, Event)>) {
    let mut lines = Vec::new();
    for ((by, event), seq) in events.into_iter().zip(1_u64..) {
        let record = EventRecord {
            schema_version: EVENT_SCHEMA_VERSION,
            seq,
            at: jiff::Timestamp::from_second(BEGIN + second + i64::try_from(seq).unwrap()).unwrap(),
            elapsed_ms: seq * 1_000,
            run_id: Arc::from(run),
            lane: by,
            event,
        };
        lines.extend(serde_json::to_vec(&record).unwrap());
        lines.push(b'\n');
    }
    lane.append_record(run, RecordPart::Events, &lines).unwrap();
}

/// Returns all lines of a part of a record.
pub(crate) fn lines(lane: &dyn LaneStore, run: &str, part: RecordPart) -> Vec<u8> {
    let (mut all, mut place) = (Vec::new(), RecordPlace::default());
    loop {
        let chunk = lane.read_record(run, part, place).unwrap();
        if chunk.lines.is_empty() {
            return all;
        }
        all.extend(chunk.lines);
        place = chunk.next;
    }
}

/// A generator of numbers that is the same in every run of a test.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        // The constants are those of the usual 64-bit generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

/// What a [`LaneStore`] of a test hands on to its `inner` one.
macro_rules! passes_on_all_but_records {
    () => {
        fn note(&self, note: samuel_core::state::Note) -> Result<u64, samuel_core::state::StateError> {
            self.inner.note(note)
        }

        fn last_saved(&self) -> Result<Option<samuel_core::state::SavedRun>, samuel_core::state::StateError> {
            self.inner.last_saved()
        }

        fn supervisors(
            &self,
        ) -> Result<Vec<samuel_core::state::SupervisorProcess>, samuel_core::state::StateError> {
            self.inner.supervisors()
        }

        fn write_artifact(
            &self,
            artifact: samuel_core::state::Artifact,
            text: &str,
        ) -> Result<(), samuel_core::state::StateError> {
            self.inner.write_artifact(artifact, text)
        }

        fn read_artifact(
            &self,
            artifact: samuel_core::state::Artifact,
        ) -> Result<Option<String>, samuel_core::state::StateError> {
            self.inner.read_artifact(artifact)
        }

        fn lock_loop(
            &self,
            holder: &samuel_core::state::Holder,
        ) -> Result<std::sync::Arc<dyn samuel_core::state::LoopLock>, samuel_core::state::StateError> {
            self.inner.lock_loop(holder)
        }
    };
}
pub(crate) use passes_on_all_but_records;
