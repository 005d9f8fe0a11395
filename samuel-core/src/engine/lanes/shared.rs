//! What the lanes of a run have in common.

mod books;

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroU32,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{mpsc::UnboundedSender, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    begun::Beginnings,
    error::LanesError,
    kept::{LaneUsed, OpenIteration, OtherLanes, all_of, together},
    lane_list::Looker,
    user_texts::UserTexts,
    watchers::Watchers,
};
use crate::{
    engine::{branch_watch::OnBranch, error::described, services::Services},
    event::{RunFault, RunReport},
    hook::{HookCall, HookPoint},
    machine::{Command, HookReply, Input, end_figures},
    merge::{MergeRepository, MergeStrategy, MissingCommits, UnsettledLanding},
    model::{Completes, ExitReason, Plan, Scope, TaskId, Usage, run_blocking},
    sched::{Cap, Overlap, SharedBooks},
    state::{Begun, Called, PlanStore, RunEnd, StateError},
    workspace::LaneClone,
};

/// What all lanes of a run share.
#[derive(Debug)]
pub(in crate::engine) struct Lanes {
    /// What does not change.
    pub(super) setup: LanesSetup,
    /// Held from the choice of a task to its claim, so that no two lanes choose beside each other.
    pub(super) claiming: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Grows whenever a lane that waits may go on.
    changed: watch::Sender<u64>,
    /// The iterations that began.
    pub(in crate::engine) beginnings: Beginnings,
    /// What the handlers of the points that fire once said.
    once: watch::Sender<Once>,
    /// Where the machine of the lane that leads is told something, and those of the others.
    leader: OnceLock<UnboundedSender<Input>>,
    followers: Mutex<Vec<UnboundedSender<Input>>>,
    tasks: Mutex<Tasks>,
    /// The clones of the lanes, and of the queue.
    trees: OnceLock<Vec<Arc<LaneClone>>>,
    /// Who is told that there is more to read in the store.
    pub(super) watchers: Watchers,
    user_texts: Mutex<UserTexts>,
    /// Ends the queue now.
    pub(super) stop_queue: CancellationToken,
}

/// What the lanes of a run have done, and why they end.
#[derive(Debug, Default)]
struct State {
    books: SharedBooks,
    /// The number that an iteration was given last; it may not begin.
    number: u32,
    ending: Option<RunEnd>,
    /// The error for which it ends, and the setting of the cap.
    fault: Option<RunFault>,
    limit: Option<&'static str>,
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
    /// Plan records, by number and task, that a lane has reported and the leader has not passed yet.
    told_of: BTreeSet<(u64, TaskId)>,
    landed: Vec<TaskId>,
    /// The commits with the merged work of tasks, also of earlier runs onto the same branch.
    merged: BTreeMap<TaskId, String>,
    /// The head of the branch at which all of them were there, as far as that was looked at.
    verified: Option<String>,
    /// What a person said is done.
    done: Vec<TaskId>,
    /// How many iterations have failed with a task, in whichever lane.
    failed: BTreeMap<TaskId, u32>,
    /// Those of them that failed before the run was cut off and were not begun since.
    cut_off: BTreeSet<TaskId>,
    /// How many discovery iterations in a row found nothing.
    empty_discoveries: u32,
    /// The trees that have passed in the lane that submitted them, by the tokens of the claims.
    trees: BTreeMap<u64, String>,
    /// Work that came back because of what the branch has or lost, until it is tried once more.
    came_back: BTreeMap<TaskId, CameBack>,
    /// The last commit that was landed, whose tree has passed the checks.
    passed: Option<String>,
    /// What was told last of why lanes wait; nothing once a task that they may wait for has landed or came back.
    told_why: String,
    reports: Vec<RunReport>,
    /// What lanes but the first did since this process began, without what their agents consumed, which is in `used`.
    others: OtherLanes,
    /// What they had done before it was cut off, until the leader has saved that it has taken it over.
    taken_over: OtherLanes,
    /// What was consumed in each lane, with the calls under way; in the first one with what was before.
    used: BTreeMap<u32, LaneUsed>,
    /// The calls of agents under way in lanes but the first.
    calls: BTreeMap<u32, Called>,
    /// The iterations under way in lanes but the first, each with what the lane had consumed before.
    open: BTreeMap<u32, (OpenIteration, Usage)>,
}

/// Work that was submitted and came back, and that its agent need not do again if it can be merged later.
#[derive(Clone, Debug)]
pub(super) struct CameBack {
    pub(super) commit: String,
    /// The commit that the work began at.
    pub(super) base: String,
    /// The iteration that did the work.
    pub(super) iteration: Option<u32>,
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
#[derive(Debug)]
pub(super) struct LanesSetup {
    /// How many lanes there are.
    pub(super) jobs: u32,
    pub(super) run: Arc<str>,
    /// The branch that work lands on.
    pub(super) into: String,
    /// The commit that it was at when the run began.
    pub(super) began_at: String,
    pub(super) strategy: MergeStrategy,
    pub(super) overlap: Overlap,
    pub(super) scope: Scope,
    pub(super) max_attempts: Option<NonZeroU32>,
    /// Which tasks count as completed while agents are at work.
    pub(super) completes: Completes,
    /// The store of the run, which no lane's view is between.
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) repository: MergeRepository,
    /// Removes what is merged, once the plan is completed.
    pub(super) looker: Looker,
}

impl Lanes {
    pub(super) fn new(setup: LanesSetup, books: SharedBooks, begun: Begun) -> Arc<Self> {
        let state = State { books, number: begun.last, ..State::default() };
        Arc::new(Self {
            setup,
            claiming: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
            changed: watch::Sender::new(0),
            beginnings: Beginnings::after(begun),
            once: watch::Sender::new(Once::default()),
            leader: OnceLock::new(),
            followers: Mutex::default(),
            tasks: Mutex::default(),
            trees: OnceLock::new(),
            watchers: Watchers::default(),
            user_texts: Mutex::default(),
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

    /// Reads or changes what the user said and who was given it.
    pub(super) fn user_texts<R>(&self, work: impl FnOnce(&mut UserTexts) -> R) -> R {
        work(&mut self.user_texts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has whoever waits look again.
    pub(in crate::engine) fn wake(&self) {
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
        let store = Arc::clone(&self.setup.store);
        let done = run_blocking(move || work(&*store)).await;
        done.map_err(|error| StateError::io("reach", "the plan")(std::io::Error::other(error)))
    }

    /// Reads the plan once edits of prd.toon are taken over or undone.
    pub(super) async fn caught_up(self: &Arc<Self>, services: &Services) -> Result<Arc<Plan>, StateError> {
        let read = |store: &dyn PlanStore| {
            let caught = store.catch_up(u64::MAX)?;
            // An edit after that is undone by the next look.
            let plan = caught.plan.map_or_else(|| store.load().map(|loaded| loaded.plan), Ok)?;
            Ok((caught.warnings, plan))
        };
        let (warnings, plan) = self.blocking(read).await??;
        warnings.into_iter().for_each(|warning| services.warn_new(warning));
        Ok(plan)
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

    /// Returns the reason for which the run ends, beside that somebody asked for it or that nothing is left.
    pub(super) fn fault(&self) -> Option<RunEnd> {
        self.state(|state| state.ending.clone())
    }

    /// Returns what was landed, in turn.
    pub(super) fn landed_tasks(&self) -> Vec<TaskId> {
        self.state(|state| state.landed.clone())
    }

    /// Says whether a cap is reached; the run then ends for it.
    pub(super) fn is_capped(&self, elapsed: Duration) -> bool {
        let reached = self.books(|books| books.reached(elapsed));
        if let Some(cap) = reached {
            self.end_at(cap);
        }
        reached.is_some()
    }

    fn end_at(&self, cap: Cap) {
        self.state(|state| {
            if state.ending.is_none() {
                (state.ending, state.limit) = (Some(end_of(cap)), Some(cap.setting()));
            }
        });
        self.wake();
    }

    /// Ends the run with an error, since a lane or the queue cannot go on. The others finish their turns, as at a stop.
    pub(super) fn fails(&self, fault: RunFault) {
        self.state(|state| {
            let is_error = state.ending.as_ref().is_some_and(|end| end.reason == ExitReason::Error);
            if !is_error {
                let detail = Some(fault.message.clone());
                state.ending = Some(RunEnd { reason: ExitReason::Error, detail });
                (state.fault, state.limit) = (Some(fault), None);
            }
        });
        self.wake();
        self.end_holds();
        if let Some(leader) = self.leader.get() {
            // It then finds why the run ends; one that has ended needs nothing.
            let _ = leader.send(Input::Command(Command::Resume));
        }
    }

    /// Has lanes that hold, or wait for a limit, end with the run.
    fn end_holds(&self) {
        for inputs in self.followers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = inputs.send(Input::Command(Command::Cancel));
        }
    }

    /// Returns how the run ends, where the leader would end it: with the error of another lane or of the queue, where
    /// there is one.
    pub(in crate::engine) fn ending_over(&self, end: RunEnd) -> RunEnd {
        let fault = self.state(|state| state.fault.as_ref().map(|fault| fault.message.clone()));
        fault.map_or(end, |message| RunEnd { reason: ExitReason::Error, detail: Some(message) })
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
            Command::Steer(text) => return self.user_texts(|said| said.said(self.setup.jobs, text)),
            _ => return,
        }
        self.state(|state| state.is_stopping = true);
        self.wake();
    }

    /// Returns the error for the branch that work lands on, where it is gone.
    pub(super) fn gone(&self) -> LanesError {
        let last = self.state(|state| state.passed.clone()).unwrap_or_else(|| self.setup.began_at.clone());
        LanesError::Gone { into: self.setup.into.as_str().into(), commit: last.into() }
    }

    /// Waits until all other lanes have ended and the queue has landed what it can.
    pub(super) async fn close(&self) {
        self.once.send_modify(|once| once.is_over = true);
        self.state(|state| state.is_closing = true);
        self.wake();
        self.end_holds();
        let lanes = std::mem::take(&mut self.tasks.lock().unwrap_or_else(PoisonError::into_inner).lanes);
        for lane in lanes {
            match lane.await {
                Ok(report) => self.state(|state| state.reports.extend(report)),
                Err(error) => self.fails(format!("a lane broke: {error}").into()),
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

    /// Says where the machine of the lane that leads is told something.
    pub(super) fn is_led(&self, inputs: UnboundedSender<Input>) {
        // It is said once.
        let _ = self.leader.set(inputs);
    }

    pub(super) fn began(&self, lane: JoinHandle<Option<RunReport>>, inputs: UnboundedSender<Input>) {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner).push(inputs);
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).lanes.push(lane);
    }

    pub(super) fn began_queue(&self, queue: JoinHandle<()>) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).queue = Some(queue);
    }

    pub(super) fn has_trees(&self, trees: Vec<Arc<LaneClone>>) {
        // They are made once.
        let _ = self.trees.set(trees);
    }

    /// Removes the clones and merged branches, once the plan is completed; what agents left is on branches then. Returns
    /// what could not be.
    pub(in crate::engine) async fn remove_trees(&self) -> Vec<String> {
        let mut told = Vec::new();
        for tree in self.trees.get().into_iter().flatten() {
            let removed = tree.remove().await;
            told.extend(tree.take_told());
            told.extend(removed.err().map(|error| format!("a clone stays: {}", described(&error))));
        }
        told.extend(self.setup.looker.clean_at_end().await);
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

    /// Returns whether lanes other than this one work on a task.
    pub(super) fn others_work(&self, lane: u32) -> bool {
        self.state(|state| state.working.keys().any(|working| *working != lane))
    }

    /// Stores that a lane has reported a record about its task.
    pub(super) fn told_of(&self, seq: u64, task: &TaskId) {
        self.state(|state| _ = state.told_of.insert((seq, task.clone())));
    }

    /// Returns whether a lane has reported a record about its task. Drops older records.
    pub(super) fn was_told_of(&self, seq: u64, task: &TaskId) -> bool {
        self.state(|state| {
            state.told_of.retain(|(told, _)| *told >= seq);
            state.told_of.contains(&(seq, task.clone()))
        })
    }

    // What lanes look for and submit.

    /// Takes down how an iteration ended: one that looked for tasks and found none adds to a row, which any other ends
    /// but one that looked and failed. What came of that one says nothing.
    pub(super) fn looked(&self, has_found_none: bool) {
        self.state(|state| {
            state.empty_discoveries =
                if has_found_none { state.empty_discoveries.saturating_add(1) } else { 0 };
        });
    }

    /// Returns how many discovery iterations in a row found nothing.
    pub(super) fn empty_discoveries(&self) -> u32 {
        self.state(|state| state.empty_discoveries)
    }

    /// Returns the number of the next iteration, and counts it; nothing where a cap is reached, for which
    /// the run then ends.
    pub(super) fn next_iteration(&self, elapsed: Duration) -> Option<u32> {
        let begun = self.state(|state| {
            state.books.may_begin(elapsed)?;
            state.number = state.number.saturating_add(1);
            Ok(state.number)
        });
        match begun {
            Ok(number) => Some(number),
            Err(cap) => {
                self.end_at(cap);
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

    /// Takes down why a lane waits, and says whether that is news: what one has told no other one tells again.
    pub(super) fn is_news(&self, reason: &str) -> bool {
        self.state(|state| std::mem::replace(&mut state.told_why, reason.to_owned()) != reason)
    }

    /// Takes down that a task is open again or blocked, so that whoever waits for it anew is told of.
    pub(super) fn came_back(&self) {
        self.state(|state| state.told_why.clear());
    }

    /// Stores work that came back, which may be merged later as it is.
    pub(super) fn may_merge_later(&self, task: TaskId, work: CameBack) {
        self.state(|state| _ = state.came_back.insert(task, work));
    }

    /// Returns such work of a task, once.
    pub(super) fn take_came_back(&self, task: &TaskId) -> Option<CameBack> {
        self.state(|state| state.came_back.remove(task))
    }

    /// Stores what was merged, each task with its commit, and how that moved the branch.
    pub(super) fn landed(&self, tasks: Vec<(TaskId, String)>, moved: Option<UnsettledLanding>) {
        self.state(|state| {
            state.landed.extend(tasks.iter().map(|(task, _)| task.clone()));
            let is_here = moved.as_ref().is_none_or(|moved| moved.into == self.setup.into);
            state.merged.extend(tasks.into_iter().filter(|_| is_here));
            state.books.landed();
            state.told_why.clear();
            // One that was cut off may have been into another branch.
            if let Some(UnsettledLanding { old, new, .. }) =
                moved.filter(|moved| moved.into == self.setup.into)
            {
                if state.verified.as_ref() == Some(&old) {
                    state.verified = Some(new.clone());
                }
                state.passed = Some(new);
            }
        });
    }

    /// Stores what earlier runs merged onto the branch.
    pub(super) fn has_merged(&self, merged: BTreeMap<TaskId, String>) {
        self.state(|state| state.merged = merged);
    }

    /// Stores further work that is on the branch.
    pub(super) fn has_also_merged(&self, merged: impl IntoIterator<Item = (TaskId, String)>) {
        self.state(|state| {
            for (task, commit) in merged {
                state.merged.entry(task).or_insert(commit);
            }
        });
    }

    /// Returns the tasks with the commits that merged them, as checkpoints keep them.
    pub(in crate::engine) fn on_branch(&self) -> OnBranch {
        let (head, commits) = self.state(|state| (state.verified.clone(), state.merged.clone()));
        OnBranch { made_at: None, branch: self.setup.into.clone(), head, commits }
    }

    /// Returns the commits with the merged work of tasks, unless they were all there at this head of the branch.
    pub(super) fn merged_if_moved(&self, head: &str) -> Option<BTreeMap<TaskId, String>> {
        self.state(|state| (state.verified.as_deref() != Some(head)).then(|| state.merged.clone()))
    }

    /// Has other commits of the branch stand for the merged ones that they replaced.
    pub(super) fn replace_merged(&self, missing: &MissingCommits) {
        self.state(|state| missing.replace_in(&mut state.merged));
    }

    /// Stores that all merged work was looked for at a head of the branch.
    pub(super) fn is_verified_at(&self, head: String) {
        self.state(|state| state.verified = Some(head));
    }

    /// Counts tasks as merged no more, since the branch lost their work. Each counts as a failed iteration, so that
    /// work that is removed again and again comes to an end.
    pub(super) fn forgets_merged(&self, tasks: &[TaskId]) {
        self.state(|state| {
            state.landed.retain(|task| !tasks.contains(task));
            for task in tasks {
                state.merged.remove(task);
                *state.failed.entry(task.clone()).or_default() += 1;
                // Of the merged attempt nothing is kept, and it counts.
                state.cut_off.insert(task.clone());
            }
            state.told_why.clear();
            // There is work again.
            state.is_finished = false;
        });
    }

    /// Takes down that a person said a task is done: that counts, and not what was merged before.
    pub(super) fn is_done(&self, task: TaskId) {
        self.state(|state| {
            state.merged.remove(&task);
            state.done.push(task);
        });
    }

    /// Takes down that it is not, since somebody did something else with it.
    pub(super) fn is_not_done(&self, task: &TaskId) {
        self.state(|state| state.done.retain(|done| done != task));
    }

    /// Says whether a commit is the one that was landed last, which has passed the checks.
    pub(super) fn has_passed(&self, commit: &str) -> bool {
        self.state(|state| state.passed.as_deref() == Some(commit))
    }

    /// Replaces the leader's figures in the last points of a run by those of all lanes. The other lanes have ended.
    pub(in crate::engine) fn count_all(&self, call: &mut HookCall) {
        match call {
            HookCall::AfterLoop(input) => input.iterations_run = self.beginnings.so_far().count,
            HookCall::SessionEnd(input) => {
                let figures = |state: &mut State| (completed(state).len(), all_of(&state.used));
                let (completed, usage) = self.state(figures);
                input.extensions = end_figures(completed, usage);
            }
            _ => {}
        }
    }

    /// Adds to the leader's report what the other lanes did.
    pub(in crate::engine) fn complete(&self, report: &mut RunReport) {
        self.state(|state| {
            for other in &state.reports {
                report.interrupted_iterations += other.interrupted_iterations;
                report.unrecorded.extend(other.unrecorded.iter().cloned());
                // What the user said, the leader counts for all of them.
                report.undelivered = report.undelivered.saturating_add(other.undelivered);
            }
            report.agents = together(&report.agents, &books::others(state).agents);
            if let Some(fault) = state.fault.as_ref().filter(|_| report.fault.is_none()) {
                // It may be told of after the leader has found another reason.
                (report.exit_reason, report.detail) = (ExitReason::Error, Some(fault.message.clone()));
                report.fault = Some(Box::new(fault.clone()));
            }
            let is_limit = state.ending.as_ref().is_some_and(|end| end.reason == report.exit_reason);
            if let Some(limit) = state.limit.filter(|_| is_limit) {
                report.limit = Some(limit.to_owned());
            }
            // A lane that broke has no report.
            report.failed_iterations += state.others.failed_iterations;
            report.usage = all_of(&state.used);
            report.iterations = self.beginnings.so_far().count;
            report.completed = completed(state);
            report.unrecorded.retain(|id| !report.completed.contains(id));
            report.into = Some(self.setup.into.clone());
        });
    }
}

/// Returns what was merged, and what a person said is done.
fn completed(state: &State) -> Vec<TaskId> {
    let done = state.done.iter().filter(|id| !state.landed.contains(id));
    state.landed.iter().chain(done).cloned().collect()
}

/// Says why a run ends at a cap.
fn end_of(cap: Cap) -> RunEnd {
    let reason = match cap {
        Cap::Iterations { .. } => ExitReason::MaxIterations,
        Cap::Failures { .. } | Cap::Blocked { .. } => ExitReason::ConsecutiveFailures,
        Cap::Time { .. } => ExitReason::WallClock,
        // Cost and tokens.
        _ => ExitReason::Budget,
    };
    RunEnd { reason, detail: Some(format!("{cap}, over all lanes")) }
}
