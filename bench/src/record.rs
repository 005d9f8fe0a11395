//! What the record of a run costs an iteration, and how fast it is replayed.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use samuel_core::{
    history::History,
    project::Project,
    state::{
        Artifact, Holder, KeptCheckpoint, LaneStore, LoopLock, Note, RecordChunk, RecordPart, RecordPlace,
        RunDir, SavedRun, StateError, SupervisorProcess, Watch,
    },
};

use super::{
    fixture,
    gate::{Gate, milliseconds},
    iteration::overheads,
    measure::median,
};

const FILES: usize = 300;
const ITERATIONS: usize = 20;
const ROUNDS: usize = 8;

/// Measures runs with an instant agent in turns, with a record and without one.
pub(super) fn measure() -> Result<Gate> {
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    fixture::repository(root.path(), FILES)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for records in [round % 2 == 0, round % 2 != 0] {
            let (project, store) = fixture::planned(root.path(), ITERATIONS)?;
            let project = if records { project } else { unrecorded(project) };
            let took = runtime.block_on(overheads(project, store))?;
            // The first round fills caches.
            match (round, records) {
                (0, _) => {}
                (_, true) => with.extend(took),
                (_, false) => without.extend(took),
            }
        }
    }
    let notes = vec![format!(
        "{} with, {} without",
        milliseconds(median(with.clone())),
        milliseconds(median(without.clone()))
    )];
    Ok(Gate {
        name: "iteration with a record",
        took: median(with),
        probe: "the same without".to_owned(),
        probe_took: median(without),
        limit: 1.05,
        notes,
    })
}

/// Measures how long it takes to replay a run with an instant agent, beside how long the run took without its agent.
pub(super) fn measure_replay() -> Result<Gate> {
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    fixture::repository(root.path(), FILES)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut replays, mut runs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (project, store) = fixture::planned(root.path(), ITERATIONS)?;
        let history = History::of(&project);
        let ran: Duration = runtime.block_on(overheads(project, store))?.iter().sum();
        let run = history.resolve(None)?;
        let started = Instant::now();
        let replay = history.replay(&run)?;
        let took = started.elapsed();
        ensure!(replay.equal && replay.ended, "{replay}");
        ensure!(replay.iterations as usize == ITERATIONS, "{} iterations", replay.iterations);
        // The first round fills caches.
        if round > 0 {
            replays.push(took);
            runs.push(ran);
        }
    }
    Ok(Gate {
        name: "replay of a run",
        took: median(replays),
        probe: format!("making its {ITERATIONS} iterations, without the agent"),
        probe_took: median(runs),
        limit: 0.05,
        notes: Vec::new(),
    })
}

fn unrecorded(project: Project) -> Project {
    let lane = project.lane_store();
    project.with_lane_store(Arc::new(Unrecorded(lane)))
}

/// A store that keeps no records.
#[derive(Debug)]
struct Unrecorded(Arc<dyn LaneStore>);

impl LaneStore for Unrecorded {
    fn dir(&self) -> &RunDir {
        self.0.dir()
    }

    fn note(&self, note: Note) -> Result<u64, StateError> {
        self.0.note(note)
    }

    fn last_saved(&self) -> Result<Option<SavedRun>, StateError> {
        self.0.last_saved()
    }

    fn kept_checkpoint(&self) -> Result<KeptCheckpoint, StateError> {
        self.0.kept_checkpoint()
    }

    fn supervisors(&self) -> Result<Vec<SupervisorProcess>, StateError> {
        self.0.supervisors()
    }

    fn write_artifact(&self, artifact: Artifact, text: &str) -> Result<(), StateError> {
        self.0.write_artifact(artifact, text)
    }

    fn read_artifact(&self, artifact: Artifact) -> Result<Option<String>, StateError> {
        self.0.read_artifact(artifact)
    }

    fn lock_loop(&self, holder: &Holder) -> Result<Arc<dyn LoopLock>, StateError> {
        self.0.lock_loop(holder)
    }

    fn loop_holder(&self) -> Result<Option<Option<Holder>>, StateError> {
        self.0.loop_holder()
    }

    fn keeps_records(&self) -> bool {
        false
    }

    fn append_record(&self, _: &str, _: RecordPart, _: &[u8]) -> Result<(), StateError> {
        Ok(())
    }

    fn read_record(&self, run: &str, part: RecordPart, from: RecordPlace) -> Result<RecordChunk, StateError> {
        self.0.read_record(run, part, from)
    }

    fn recorded_runs(&self) -> Result<Vec<String>, StateError> {
        self.0.recorded_runs()
    }

    fn watch_record(&self, run: &str) -> Watch {
        self.0.watch_record(run)
    }
}
