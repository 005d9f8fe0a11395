//! Making sure that a run is the only loop of its project.

use std::{sync::Arc, time::Duration};

use super::{
    error::{RunError, blocking},
    run::Run,
};
use crate::{
    process::{Process, Remains, SupervisorId, listed, sweep_remains, this_process, wait_for_sweep},
    state::{
        Holder, LoopLock, Note, ProgressEntry, ProgressKind, StateError, SupervisorProcess, SupervisorRole,
    },
};

/// How long a start waits for the processes of a dead predecessor.
const SWEEP_WAIT: Duration = Duration::from_secs(5);

impl Run {
    /// Makes sure that this is the only loop, and that nothing of a dead
    /// predecessor is still at work; returns what had to be ended for that.
    pub(super) async fn lock(&self) -> Result<(Arc<dyn LoopLock>, Remains), RunError> {
        let (run_dir, store) = (self.frozen.run_dir.clone(), Arc::clone(&self.frozen.store));
        let lane = Arc::clone(&self.frozen.lane);
        let holder =
            Holder::this_process(self.frozen.project.clock().now(), format!("run {}", self.frozen.run_id))
                .of_methodology(self.frozen.project.methodology());
        let locked = blocking(move || {
            if !store.exists()? {
                return Err(StateError::NotInitialised { path: run_dir.prd() });
            }
            run_dir.create()?;
            // An agent in the project commits all that git does not ignore.
            run_dir.ignore()?;
            let lock = lane.lock_loop(&holder)?;
            Ok((lock, lane.supervisors()?))
        });
        let (lock, supervisors) = locked.await??;
        let with_role = |role| {
            let of_role = supervisors.iter().filter(move |known| known.role == role);
            of_role.map(|known| SupervisorId { pid: known.pid, start_time: known.start_time }).collect()
        };
        let ids: Vec<SupervisorId> = with_role(SupervisorRole::Supervisor);
        let loops: Vec<SupervisorId> = with_role(SupervisorRole::Loop);
        // A loop that still runs, since its lock was removed, keeps its processes.
        let remains = sweep_remains(&ids, &loops, SWEEP_WAIT).await;
        if let Some(id) = wait_for_sweep(&ids, &loops, Duration::ZERO).await.first() {
            return Err(RunError::Unswept { pid: id.pid });
        }
        let (store, lane) = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let lines = log_of_remains(&remains, self.frozen.project.clock().now());
        let noted = blocking(move || {
            store.append_progress(&lines)?;
            let ended = supervisors.into_iter().map(Note::SupervisorEnded);
            let begun = this_loop().map(Note::Supervisor);
            ended.chain(begun).try_for_each(|note| lane.note(note).map(drop))
        });
        noted.await??;
        Ok((lock, remains))
    }
}

/// Says in the progress log what a dead predecessor had left.
fn log_of_remains(remains: &Remains, now: jiff::Timestamp) -> Vec<ProgressEntry> {
    let line = |what: &str, processes: &[Process]| {
        let text = format!("{what}: {}", listed(processes));
        (!processes.is_empty()).then(|| ProgressEntry::note(now, ProgressKind::Error, text))
    };
    let ended = line("ended what a killed run had left", &remains.ended);
    let left = line("what a killed run had left could not be ended", &remains.left);
    ended.into_iter().chain(left).collect()
}

/// Describes this process for the journal.
fn this_loop() -> Option<SupervisorProcess> {
    let SupervisorId { pid, start_time } = this_process()?;
    Some(SupervisorProcess { pid, start_time, role: SupervisorRole::Loop, tree: None })
}
