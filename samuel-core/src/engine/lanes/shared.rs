//! What the lanes of a run have in common.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::claiming::rescue_of;
use crate::{
    engine::error::described,
    event::RunReport,
    hook::HookPoint,
    machine::{Command, HookReply, Input},
    merge::{MergeRepository, MergeStrategy},
    model::{AgentTotal, ExitReason, Scope, TaskId, Usage},
    sched::{Cap, Overlap, SharedBooks},
    state::{PlanStore, RunEnd, StateError},
    workspace::Worktree,
};

/// What all lanes of a run share.
#[derive(Debug)]
pub(in crate::engine) struct Lanes {
    pub(super) jobs: u32,
    pub(super) run: Arc<str>,
    /// The branch that work lands on.
    pub(super) into: String,
    pub(super) strategy: MergeStrategy,
    pub(super) overlap: Overlap,
    pub(super) scope: Scope,
    pub(super) max_attempts: Option<std::num::NonZeroU32>,
    /// The store of the run, which no lane's view is between.
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) repository: MergeRepository,
    /// Held from the choice of a task to its claim, so that no two lanes choose beside each other.
    pub(super) claiming: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Grows whenever a lane that waits may go on.
    changed: watch::Sender<u64>,
    /// What the handlers of the points that fire once said.
    once: watch::Sender<Once>,
    /// Where the machines of the lanes that do not lead are told something.
    followers: Mutex<Vec<UnboundedSender<Input>>>,
    tasks: Mutex<Tasks>,
    /// The work trees of the lanes, and of the queue.
    trees: OnceLock<Vec<Arc<Worktree>>>,
    /// Ends the queue now.
    pub(super) stop_queue: CancellationToken,
}

/// What the lanes of a run have done, and why they end.
#[derive(Debug, Default)]
struct State {
    books: SharedBooks,
    /// The number of the last iteration that began.
    iterations: u32,
    ending: Option<RunEnd>,
    /// Whether nothing is left that a lane could work on.
    is_finished: bool,
    /// Whether somebody wants the run to end.
    is_stopping: bool,
    /// Whether the leader waits for the others.
    is_closing: bool,
    /// Whether all of them have ended.
    are_lanes_over: bool,
    /// Which task each lane works on.
    working: BTreeMap<u32, TaskId>,
    landed: Vec<TaskId>,
    /// The trees that have passed in the lane that submitted them, by the tokens of the claims.
    trees: BTreeMap<u64, String>,
    /// The last commit that was landed, whose tree has passed the checks.
    passed: Option<String>,
    reports: Vec<RunReport>,
}

#[derive(Clone, Debug, Default)]
struct Once {
    replies: BTreeMap<HookPoint, HookReply>,
    /// Whether nothing more is said at the start.
    is_over: bool,
}

/// What is at work beside the leader.
#[derive(Debug, Default)]
struct Tasks {
    lanes: Vec<JoinHandle<Option<RunReport>>>,
    queue: Option<JoinHandle<()>>,
}

/// What a run with lanes is made of.
pub(super) struct LanesSetup {
    pub(super) jobs: u32,
    pub(super) run: Arc<str>,
    pub(super) into: String,
    pub(super) strategy: MergeStrategy,
    pub(super) overlap: Overlap,
    pub(super) scope: Scope,
    pub(super) max_attempts: Option<std::num::NonZeroU32>,
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) repository: MergeRepository,
    pub(super) books: SharedBooks,
    pub(super) iterations: u32,
}

impl Lanes {
    pub(super) fn new(setup: LanesSetup) -> Arc<Self> {
        let LanesSetup { jobs, run, into, strategy, overlap, scope, max_attempts, store, repository, .. } =
            setup;
        let state = State { books: setup.books, iterations: setup.iterations, ..State::default() };
        Arc::new(Self {
            jobs,
            run,
            into,
            strategy,
            overlap,
            scope,
            max_attempts,
            store,
            repository,
            claiming: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            once: watch::Sender::new(Once::default()),
            followers: Mutex::default(),
            tasks: Mutex::default(),
            trees: OnceLock::new(),
            stop_queue: CancellationToken::new(),
        })
    }

    fn state<R>(&self, work: impl FnOnce(&mut State) -> R) -> R {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads or changes the books.
    pub(super) fn books<R>(&self, work: impl FnOnce(&mut SharedBooks) -> R) -> R {
        self.state(|state| work(&mut state.books))
    }

    /// Has whoever waits look again.
    pub(super) fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Returns what says that there may be something to do; looked at from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Calls a function of the store where that may block.
    pub(super) async fn blocking<R: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&dyn PlanStore) -> R + Send + 'static,
    ) -> Result<R, StateError> {
        let store = Arc::clone(&self.store);
        let done = tokio::task::spawn_blocking(move || work(&*store)).await;
        done.map_err(|error| StateError::io("reach", "the plan")(std::io::Error::other(error)))
    }

    // How the run ends.

    /// Says why a lane begins with nothing more, where that is so.
    pub(super) fn over(&self) -> Option<RunEnd> {
        self.state(|state| {
            let cancelled = RunEnd { reason: ExitReason::Cancelled, detail: None };
            let is_asked = state.is_stopping || state.is_closing;
            state.ending.clone().or_else(|| is_asked.then_some(cancelled))
        })
    }

    /// Says whether a cap is reached; the run then ends for it.
    pub(super) fn is_capped(&self, elapsed: Duration) -> bool {
        let reached = self.books(|books| books.reached(elapsed)).map(end_of);
        let is_reached = reached.is_some();
        if let Some(RunEnd { reason, detail }) = reached {
            self.end(reason, detail);
        }
        is_reached
    }

    /// Ends the run for a reason, unless it ends for another.
    pub(super) fn end(&self, reason: ExitReason, detail: Option<String>) {
        self.state(|state| _ = state.ending.get_or_insert(RunEnd { reason, detail }));
        self.wake();
    }

    /// Takes down that nothing is left to work on; from then on no lane begins with anything.
    pub(super) fn finish(&self) {
        self.state(|state| state.is_finished = true);
        self.wake();
    }

    pub(super) fn is_finished(&self) -> bool {
        self.state(|state| state.is_finished)
    }

    /// Says whether all lanes have ended, so that nothing is submitted any more.
    pub(super) fn are_lanes_over(&self) -> bool {
        self.state(|state| state.are_lanes_over)
    }

    /// Hands a command that the leader was given on to the others.
    pub(super) fn forward(&self, command: &Command) {
        for inputs in self.followers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // A lane that has ended needs none.
            let _ = inputs.send(Input::Command(command.clone()));
        }
        match command {
            Command::Stop => self.stop_queue.cancel(),
            Command::Cancel => {}
            _ => return,
        }
        self.state(|state| state.is_stopping = true);
        self.wake();
    }

    /// Waits until all other lanes have ended and the queue has landed what it can.
    pub(super) async fn close(&self) {
        self.once.send_modify(|once| once.is_over = true);
        self.state(|state| state.is_closing = true);
        self.wake();
        let lanes = std::mem::take(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner).lanes);
        for lane in lanes {
            match lane.await {
                Ok(report) => self.state(|state| state.reports.extend(report)),
                Err(error) => self.end(ExitReason::Error, Some(format!("a lane broke: {error}"))),
            }
        }
        self.state(|state| state.are_lanes_over = true);
        self.wake();
        let queue = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).queue.take();
        if let Some(queue) = queue {
            // What it could not do is in the plan.
            let _ = queue.await;
        }
    }

    pub(super) fn began(&self, lane: JoinHandle<Option<RunReport>>, inputs: UnboundedSender<Input>) {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(inputs);
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).lanes.push(lane);
    }

    pub(super) fn began_queue(&self, queue: JoinHandle<()>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).queue = Some(queue);
    }

    pub(super) fn has_trees(&self, trees: Vec<Arc<Worktree>>) {
        // They are made once.
        let _ = self.trees.set(trees);
    }

    /// Removes the work trees, once the plan is done; what is in no branch is kept. Returns what could not be.
    pub(in crate::engine) async fn remove_trees(&self) -> Vec<String> {
        let mut told = Vec::new();
        for (number, tree) in (1..).zip(self.trees.get().into_iter().flatten()) {
            let of_queue = number > self.jobs;
            let reference = rescue_of(&format!("samuel/{}/lane-{number}", self.run));
            let kept = if of_queue { Ok(None) } else { tree.rescue(&reference).await };
            let removed = match kept {
                Ok(_) => tree.remove().await,
                Err(error) => Err(error),
            };
            told.extend(removed.err().map(|error| format!("a work tree stays: {}", described(&error))));
        }
        told
    }

    // What fires once.

    /// Hands on what the handlers of a point said in the leader.
    pub(super) fn said(&self, point: HookPoint, reply: HookReply) {
        self.once.send_modify(|once| _ = once.replies.insert(point, reply));
    }

    /// Says that the leader is past the points of the start.
    pub(super) fn is_past_start(&self) {
        self.once.send_if_modified(|once| !std::mem::replace(&mut once.is_over, true));
    }

    /// Waits for what the handlers of a point said in the leader.
    pub(super) async fn heard(&self, point: HookPoint) -> HookReply {
        let mut once = self.once.subscribe();
        let said = once.wait_for(|once| once.is_over || once.replies.contains_key(&point)).await;
        said.ok().and_then(|once| once.replies.get(&point).cloned()).unwrap_or_default()
    }

    // Who works on what.

    pub(super) fn works_on(&self, lane: u32, task: Option<TaskId>) {
        self.state(|state| match task {
            Some(task) => _ = state.working.insert(lane, task),
            None => _ = state.working.remove(&lane),
        });
    }

    /// Says whether a lane works on a task.
    pub(super) fn is_worked_on(&self, task: &TaskId) -> bool {
        self.state(|state| state.working.values().any(|working| working == task))
    }

    /// Returns the number of the next iteration, and counts it; nothing where a cap is reached, for which
    /// the run then ends.
    pub(super) fn next_iteration(&self, elapsed: Duration) -> Option<u32> {
        let begun = self.state(|state| {
            state.books.may_begin(elapsed)?;
            state.iterations = state.iterations.saturating_add(1);
            Ok(state.iterations)
        });
        match begun {
            Ok(number) => Some(number),
            Err(cap) => {
                let RunEnd { reason, detail } = end_of(cap);
                self.end(reason, detail);
                None
            }
        }
    }

    /// Takes down the tree that has passed its check and is submitted by a claim.
    pub(super) fn submits(&self, token: u64, tree: String) {
        self.state(|state| _ = state.trees.insert(token, tree));
    }

    /// Returns the tree that was submitted by a claim after it had passed here: what the plan's file says of
    /// it, anybody may have written.
    pub(super) fn tree_of(&self, token: u64) -> Option<String> {
        self.state(|state| state.trees.get(&token).cloned())
    }

    /// Takes down what was landed, and the commit that all of it is at.
    pub(super) fn landed(&self, tasks: impl IntoIterator<Item = TaskId>, commit: Option<String>) {
        self.state(|state| {
            state.landed.extend(tasks);
            state.passed = commit.or(state.passed.take());
        });
    }

    /// Says whether a commit is the one that was landed last, which has passed the checks.
    pub(super) fn has_passed(&self, commit: &str) -> bool {
        self.state(|state| state.passed.as_deref() == Some(commit))
    }

    /// Adds to the leader's report what the other lanes did.
    pub(in crate::engine) fn complete(&self, report: &mut RunReport) {
        self.state(|state| {
            for other in &state.reports {
                report.failed_iterations += other.failed_iterations;
                report.unrecorded.extend(other.unrecorded.iter().cloned());
                report.undelivered += other.undelivered;
                report.usage += other.usage;
                report.agents = together(&report.agents, &other.agents);
            }
            report.iterations = state.iterations;
            report.completed.clone_from(&state.landed);
            report.unrecorded.retain(|id| !state.landed.contains(id));
            report.into = Some(self.into.clone());
        });
    }
}

/// Says why a run ends at a cap.
fn end_of(cap: Cap) -> RunEnd {
    let reason = match cap {
        Cap::Iterations { .. } => ExitReason::MaxIterations,
        Cap::Failures { .. } => ExitReason::ConsecutiveFailures,
        Cap::Time { .. } => ExitReason::WallClock,
        Cap::Cost { .. } | Cap::Tokens { .. } => ExitReason::Budget,
    };
    RunEnd { reason, detail: Some(format!("{cap}, over all lanes")) }
}

/// Adds up what agents consumed.
fn together(some: &[AgentTotal], others: &[AgentTotal]) -> Vec<AgentTotal> {
    let mut all: BTreeMap<String, Usage> = BTreeMap::new();
    for AgentTotal { agent, usage } in some.iter().chain(others) {
        *all.entry(agent.clone()).or_default() += *usage;
    }
    all.into_iter().map(|(agent, usage)| AgentTotal { agent, usage }).collect()
}
