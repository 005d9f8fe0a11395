#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    mem::take,
    sync::{Mutex, mpsc as blocking},
};

use super::*;
use crate::{
    engine::{
        hub::Hub,
        services::{Known, Purpose},
    },
    event::Event,
    state::{
        Artifact, Holder, LaneStore, LoopLock, Note, RecordChunk, RecordPlace, RunDir, SavedRun,
        SupervisorProcess, Watch,
    },
    testing::{Bench, VirtualClock, completes_each_task},
};

/// How often the store is handed something until nothing more is told.
const MOST_APPENDS: usize = 16;

/// A store of a run that tells as much again each time that some was written, until an input is.
#[derive(Debug)]
struct Talkative {
    lane: Arc<dyn LaneStore>,
    hub: Arc<Hub>,
    /// Hears that the first events are being written.
    writes: mpsc::UnboundedSender<()>,
    /// Has them wait until the machine has made a step.
    has_stepped: Mutex<blocking::Receiver<()>>,
    appended: Mutex<Vec<RecordPart>>,
}

impl LaneStore for Talkative {
    fn dir(&self) -> &RunDir {
        self.lane.dir()
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        self.lane.note(note)
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
        let mut appended = self.appended.lock().unwrap();
        appended.push(part);
        if !appended.contains(&RecordPart::Inputs) && appended.len() < MOST_APPENDS {
            (0..AT_ONCE).for_each(|_| self.hub.send(Event::Paused));
        }
        if appended.len() == 1 {
            self.writes.send(()).unwrap();
            let _ = self.has_stepped.lock().unwrap().recv();
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

#[tokio::test]
async fn a_step_of_the_machine_is_written_although_there_is_always_more_that_was_told() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let run = bench.run(completes_each_task()).build().unwrap();
    let (hub, mut machine) = (Arc::clone(&run.hub), Machine::new(run.setup()));
    let (writes, mut writing) = mpsc::unbounded_channel();
    let (stepped, has_stepped) = blocking::channel();
    let store = Arc::new(Talkative {
        lane: bench.lane(),
        hub: Arc::clone(&hub),
        writes,
        has_stepped: Mutex::new(has_stepped),
        appended: Mutex::default(),
    });
    let stores = (bench.store(), Arc::clone(&store) as Arc<dyn LaneStore>);
    let (_, services, events, _inputs) = run.equip(stores, None, Known::default(), Purpose::Run, None, None);
    (0..AT_ONCE).for_each(|_| hub.send(Event::Paused));
    let recorder = Recorder::begin(&services, events);
    let mut steps = recorder.machine(&services, &machine, None);
    // The step is made while the first events are written, and then there are as many again.
    writing.recv().await.unwrap();
    let before = steps.before(&machine, &Input::Start);
    let effects = machine.step(Input::Start);
    steps.step(before, &effects).await;
    stepped.send(()).unwrap();
    drop(steps);
    recorder.end().await;
    let appended = take(&mut *store.appended.lock().unwrap());
    let first = [RecordPart::Events, RecordPart::Events, RecordPart::Inputs];
    assert!(appended.starts_with(&first), "{appended:?}");
    let inputs = bench.lane().read_record(&services.run_id, RecordPart::Inputs, RecordPlace::default());
    assert!(!inputs.unwrap().lines.is_empty());
}

#[test]
fn an_agent_that_says_more_than_can_be_written_holds_up_no_step() {
    let hub = Hub::new("r".into(), Arc::new(VirtualClock::new()), Arc::default());
    let mut events = hub.subscribe();
    let (steps, mut lines) = mpsc::channel(MAX_WAITING);
    let (mut told, mut given) = (Vec::new(), Vec::new());
    for step in 0..3 {
        // There are as many again each time that some were written.
        (0..AT_ONCE).for_each(|_| hub.send(Event::Paused));
        steps.try_send(step).unwrap();
        assert!(take_ready(&mut events, &mut lines, &mut told, &mut given), "there may be more");
        assert_eq!((take(&mut told).len(), take(&mut given)), (AT_ONCE, vec![step]));
    }
    assert!(!take_ready(&mut events, &mut lines, &mut told, &mut given));
}
