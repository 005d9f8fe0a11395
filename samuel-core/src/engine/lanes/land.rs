//! Landing what lanes have submitted, without a loop: what `samuel run queue land` does.
//!
//! No agent is called, and neither the points of a session nor those of a loop fire; the checks are those of the run.
//! A landing that somebody began and nobody settled is settled first, as by any run with lanes. What happens is recorded
//! as events of a run that has no agent, and no inputs.

use std::{future::Future, pin::pin, sync::Arc};

use serde::Serialize;
use tokio::sync::mpsc;

use super::{queue::QueueDriver, queue_list::QueueList, shared::Lanes};
use crate::{
    engine::{
        error::{RunError, blocking, described},
        record::Recorder,
        run::Run,
        services::{Known, Purpose},
    },
    event::{Event, EventRecord, RunReport},
    model::{ClaimPhase, ExitReason, Mark, Plan, Scope, Task, TaskId, Usage},
    sched::SharedBooks,
    state::Begun,
};

/// What came of a landing without a loop.
#[derive(Clone, Debug, Serialize)]
pub struct LandReport {
    /// The branch that work landed on; nothing where nothing had been submitted.
    pub into: Option<String>,
    /// The tasks whose work has landed, with the commits on the branch that have it, in turn.
    pub landed: Vec<LandedWork>,
    /// The tasks whose work came back: they are to be worked on again, or blocked.
    pub returned: Vec<ReturnedWork>,
    /// What waits still.
    pub queue: QueueList,
    /// Why it could not go on, where it could not.
    pub fault: Option<String>,
}

/// Work that has landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LandedWork {
    /// The task.
    pub task: TaskId,
    /// The commit on the branch that has it.
    pub commit: String,
    /// Whether the merge changed nothing.
    pub unchanged: bool,
}

/// Work that came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReturnedWork {
    /// The task.
    pub task: TaskId,
    /// Which attempt it was, from 1.
    pub attempt: u32,
    /// Why.
    pub reason: String,
    /// Where the work is kept, if it is.
    pub kept: Option<String>,
}

impl Run {
    /// Lands what lanes have submitted and nobody has landed, in whatever number of lanes the run would have.
    ///
    /// What happens is told to `told` as it does. Once `stop` is there it lands no more, and ends what it is at, as it
    /// does where the future is dropped: the project is locked until that has ended.
    ///
    /// # Errors
    /// Returns [`RunError::Lanes`] where nothing can be landed here, [`RunError::Untrusted`] where the policy refuses
    /// what the checks execute, and [`RunError::State`] where a loop runs or the state cannot be used.
    pub async fn land(
        mut self,
        mut told: impl FnMut(&EventRecord),
        stop: impl Future<Output = ()>,
    ) -> Result<LandReport, RunError> {
        self.check_copies()?;
        // A person may take long to decide, and other loops may run meanwhile.
        let planned = self.plan_now().await?;
        let is_decided = has_work(&planned);
        if is_decided {
            self.decide_on_landing().await?;
        }
        let (lock, _) = self.lock().await?;
        self.know_plan().await?;
        let project = self.frozen.project.clone();
        let plan = self.plan_now().await?;
        if !has_work(&plan) {
            let (landed, returned, into) = (Vec::new(), Vec::new(), project.known_into(&plan));
            let queue = blocking(move || QueueList::at_rest(&project)).await??;
            return Ok(LandReport { into, landed, returned, queue, fault: None });
        }
        if !is_decided {
            self.decide_on_landing().await?;
        }
        self.frozen.begin_sandbox().await?;
        let mut stop = pin!(stop);
        let opened = tokio::select! {
            opened = self.open_trees(0, &plan, Scope::All, SharedBooks::default(), Begun::default()) => opened?,
            () = &mut stop => {
                let (landed, returned, into) = (Vec::new(), Vec::new(), project.known_into(&plan));
                let queue = blocking(move || QueueList::at_rest(&project)).await??;
                return Ok(LandReport { into, landed, returned, queue, fault: None });
            }
        };
        let (shared, tree) = (opened.shared, opened.queue);
        let (batch, commands) = (self.batch(), self.check_commands());
        let parts = self.parts(Arc::clone(&shared.setup.store), &tree, None).await?;
        let stores = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let known = Known { plan, ..Known::default() };
        let recorded = self.hub.subscribe();
        let (_, services, mut events, _inputs) = self.equip(stores, None, known, Purpose::Run, None, None);
        // What lands is recorded as what runs land; there are no inputs that could be replayed.
        let recorder = services.lane.keeps_records().then(|| Recorder::begin(&services, recorded));
        services.emit(Event::LandingStarted { into: shared.setup.into.clone() });
        opened.told.into_iter().for_each(|warning| services.warn(warning));
        let (inputs, _receiver) = mpsc::unbounded_channel();
        let services_of_queue = Arc::new(services.of_lane(parts, inputs));
        let hub = Arc::clone(&services.hub);
        let (used, told_by, of_queue) =
            (Arc::clone(&tree), Arc::clone(&services_of_queue), Arc::clone(&shared));
        let queue =
            QueueDriver { shared: Arc::clone(&shared), services: services_of_queue, tree, batch, commands };
        // Who drops this future stops the queue, which has the lock to its end.
        let _stops = shared.stop_queue.clone().drop_guard();
        shared.began_queue(tokio::spawn(async move {
            queue.run().await;
            // All that was checked there is in the repository.
            if let Err(error) = used.remove().await {
                told_by.warn(format!("the clone of the queue stays: {}", described(&error)));
            }
            used.take_told().into_iter().for_each(|told| told_by.warn(told));
            told_by.warn_of_repeated();
            told_by.emit(Event::RunFinished(ended(&of_queue).await));
            // Nothing is written once the lock is free.
            if let Some(recorder) = recorder {
                recorder.end().await;
            }
            drop(lock);
        }));
        let mut closing = pin!(shared.close());
        let (mut landed, mut returned, mut into) = (Vec::new(), Vec::new(), shared.setup.into.clone());
        let (mut is_closed, mut is_stopped) = (false, false);
        loop {
            tokio::select! {
                record = events.next() => match record {
                    // Whoever waits for the landing gets its report.
                    Some(record) if matches!(record.event, Event::RunFinished(_)) => {}
                    Some(record) => {
                        told(&record);
                        take_down(record.event, &mut landed, &mut returned, &mut into);
                    }
                    None => break,
                },
                () = &mut closing, if !is_closed => {
                    is_closed = true;
                    hub.close();
                }
                () = &mut stop, if !is_stopped => {
                    is_stopped = true;
                    shared.stop_queue.cancel();
                }
            }
        }
        let fault = shared.over().and_then(|end| end.detail);
        let queue = blocking(move || QueueList::at_rest(&project)).await??;
        Ok(LandReport { into: Some(into), landed, returned, queue, fault })
    }

    /// Has the policy decide on what a landing executes.
    async fn decide_on_landing(&mut self) -> Result<(), RunError> {
        self.ensure_compared().await?;
        self.decide_without_agents().await
    }

    pub(super) async fn plan_now(&self) -> Result<Arc<Plan>, RunError> {
        let store = Arc::clone(&self.frozen.store);
        Ok(blocking(move || store.load()).await??.plan)
    }
}

/// Says how a landing ended, for the record of it.
async fn ended(shared: &Arc<Lanes>) -> RunReport {
    let plan = shared.blocking(|store| store.load().map(|loaded| loaded.plan)).await;
    let (plan, unread) = match plan {
        Ok(Ok(plan)) => (plan, None),
        Ok(Err(error)) => (Arc::default(), Some(described(&error))),
        Err(error) => (Arc::default(), Some(described(&error))),
    };
    let queued = plan.claimed_tasks().filter(|(_, claim)| claim.phase.is_in_queue());
    let submitted: Vec<TaskId> = queued.map(|(task, _)| task.id.clone()).collect();
    let settled = unread.is_none() && plan.tasks.iter().all(Task::is_settled);
    let (exit_reason, detail) = match shared.fault() {
        Some(end) => (end.reason, end.detail),
        None if unread.is_some() => (ExitReason::Error, unread),
        None if submitted.is_empty() => (ExitReason::Completed, None),
        None if shared.stop_queue.is_cancelled() => (ExitReason::Cancelled, None),
        None => (ExitReason::Blocked, Some("not all that was submitted has landed".to_owned())),
    };
    let mut report = RunReport {
        exit_reason,
        detail,
        iterations: 0,
        failed_iterations: 0,
        interrupted_iterations: 0,
        completed: shared.landed_tasks(),
        unchanged: Vec::new(),
        by_other_agent: Vec::new(),
        by_edit: Vec::new(),
        unrecorded: Vec::new(),
        skipped: Vec::new(),
        left: Vec::new(),
        undelivered: 0,
        settled,
        usage: Usage::default(),
        agents: Vec::new(),
        swept: true,
        fault: None,
        limit: None,
        submitted,
        unmerged: None,
        into: Some(shared.setup.into.clone()),
    };
    report.note_marks(&plan);
    report
}

/// Says whether something was submitted that nobody has landed.
fn has_work(plan: &Plan) -> bool {
    plan.claims.iter().any(|claim| matches!(claim.phase, ClaimPhase::Submitted | ClaimPhase::Landing))
}

fn take_down(
    event: Event,
    landed: &mut Vec<LandedWork>,
    returned: &mut Vec<ReturnedWork>,
    into: &mut String,
) {
    match event {
        Event::TaskLanded { task, commit, into: branch } => {
            landed.push(LandedWork { task, commit, unchanged: false });
            *into = branch;
        }
        // It follows the landing of its task.
        Event::TaskCompleted { task, marks, .. } => {
            if let Some(last) = landed.last_mut().filter(|last| last.task == task) {
                last.unchanged = marks.contains(&Mark::NoChange);
            }
        }
        Event::TaskReturned { task, attempt, reason, kept, .. } => {
            returned.push(ReturnedWork { task, attempt, reason, kept });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_merges_without_a_change() {
        let (mut landed, mut returned, mut into) = (Vec::new(), Vec::new(), String::new());
        for (id, marks) in [("1", vec![Mark::NoChange]), ("2", Vec::new())] {
            let (task, commit) = (TaskId::new(id), "abcd".to_owned());
            let of_landing = Event::TaskLanded { task: task.clone(), commit, into: "main".to_owned() };
            let completed = Event::TaskCompleted { task, title: String::new(), provisional: false, marks };
            for event in [of_landing, completed] {
                take_down(event, &mut landed, &mut returned, &mut into);
            }
        }
        assert!(landed.iter().map(|work| work.unchanged).eq([true, false]), "{landed:?}");
    }
}
