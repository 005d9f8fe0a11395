//! Carries out what the machine asks for.
//!
//! One task owns the machine. Effects that take time run beside it and come
//! back as inputs; what must happen at once (events, the progress log,
//! checkpoints) happens before the next input is taken.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{mpsc, watch},
    task::{JoinHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::{
    control_files::{ControlFileChange, ControlRecord, Stamps},
    error::described,
    fire::Place,
    follow::Follower,
    machine::{Effect, EffectId, EffectResult, Input, Loaded, LogLine, Machine, NextWork, Wait},
    services::Services,
};
use crate::{
    engine::event::{Event, RunFault, RunReport},
    hook::{HookCall, HookPoint},
    model::{
        ExitReason, Plan, Status, Task, TaskId, Usage,
        payload::{CheckFailure, Mode, TaskBrief, Turn},
    },
    state::{Actor, Checkpoint, Mutation, Next, Note, ProgressEntry, StateError, Used, is_gap, next_task},
    text::counted,
};

/// How often a long wait looks at the time of day.
const LOOK_AT_THE_TIME: Duration = Duration::from_secs(60);
/// How long the loop waits until what the agent consumed is written.
const NOTE_WAIT: Duration = Duration::from_millis(250);
/// How many reasons for being blocked are told.
const REASONS: usize = 5;

/// Runs one machine to its end.
pub(super) struct Driver {
    pub(super) services: Arc<Services>,
    pub(super) follower: Arc<Follower>,
    pub(super) machine: Machine,
    pub(super) inputs: mpsc::UnboundedReceiver<Input>,
    /// The clock's reading at the start of this process's part of the run.
    pub(super) started: Duration,
    /// The record of the journal up to which the machine was told of
    /// completions. Those that are on their way to it do not count.
    pub(super) told: u64,
    /// How long the run was under way before it was interrupted.
    pub(super) elapsed_before: Duration,
    /// How long the whole run may take.
    pub(super) max_wall_time: Option<Duration>,
}

/// What a checkpoint holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) machine: Machine,
    pub(super) elapsed_ms: u64,
    /// The checks that failed last, for the first prompt of whoever goes on.
    #[serde(default)]
    pub(super) last_failures: Vec<CheckFailure>,
    /// The record of the journal up to which the machine was told of
    /// completions.
    #[serde(default)]
    pub(super) told: Option<u64>,
    /// What the run was built from, for whoever takes it up or starts the next.
    #[serde(default)]
    pub(super) control_files: ControlRecord,
    /// The tasks that were completed in the plan, as it was known then.
    #[serde(default)]
    pub(super) completed: Option<Vec<TaskId>>,
}

/// What the driver keeps while it runs.
#[derive(Default)]
struct Flight {
    tasks: JoinSet<(EffectId, EffectResult)>,
    tokens: HashMap<EffectId, CancellationToken>,
    ids: HashMap<tokio::task::Id, EffectId>,
    report: Option<RunReport>,
    /// Lines that were not written to the progress log yet.
    lines: Vec<ProgressEntry>,
}

impl Driver {
    /// Runs until the machine has ended, and returns what came of it.
    pub(super) async fn run(mut self, first: Input) -> Option<RunReport> {
        let watching = tokio::spawn(Arc::clone(&self.follower).watch());
        let mut flight = Flight::default();
        let mut next = first;
        let services = Arc::clone(&self.services);
        let time_left = self.max_wall_time.map(|limit| limit.saturating_sub(self.elapsed_before));
        let wall_clock = async move {
            match time_left {
                Some(left) => services.clock.sleep(left).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(wall_clock);
        let mut time_is_up = false;
        let mut noted = self.machine.used();
        let mut consumed = self.note_consumed();
        loop {
            if let Input::TaskCompleted(completion) = &next {
                self.told = completion.seq;
            }
            let effects = self.machine.step(next);
            let is_saved = effects.iter().any(|(_, effect)| *effect == Effect::Checkpoint);
            self.carry_out(effects, &mut flight).await;
            let used = self.machine.used();
            if used != noted {
                noted = used;
                if !is_saved {
                    consumed.note(used).await;
                }
            }
            if self.machine.is_ended() {
                break;
            }
            next = tokio::select! {
                // Whatever happened during an effect counts before its end.
                biased;
                Some(input) = self.inputs.recv() => input,
                Some(done) = flight.tasks.join_next_with_id() => flight.landed(done),
                () = &mut wall_clock, if !time_is_up => {
                    time_is_up = true;
                    Input::WallClock
                }
            };
        }
        watching.abort();
        flight.tasks.shutdown().await;
        // Nothing is written once the loop's lock is free.
        consumed.end().await;
        flight.report
    }

    async fn carry_out(&self, effects: Vec<(EffectId, Effect)>, flight: &mut Flight) {
        for (id, effect) in effects {
            if let Effect::Log(line) = effect {
                flight.lines.push(self.entry(line));
                continue;
            }
            // Events and checkpoints tell of what the log already holds.
            self.services.log(std::mem::take(&mut flight.lines)).await;
            self.carry_out_one(id, effect, flight).await;
        }
        self.services.log(std::mem::take(&mut flight.lines)).await;
    }

    async fn carry_out_one(&self, id: EffectId, effect: Effect, flight: &mut Flight) {
        let services = Arc::clone(&self.services);
        match effect {
            Effect::Log(_) => {}
            Effect::Emit(mut event) => {
                services.complete(&mut event);
                if let Event::RunFinished(report) = &event {
                    flight.report = Some(report.clone());
                }
                services.emit(event);
            }
            Effect::Checkpoint => self.checkpoint().await,
            Effect::Interrupt(other) => {
                if let Some(token) = flight.tokens.get(&other) {
                    token.cancel();
                }
            }
            Effect::Answer { ticket, decision } => services.tickets.answer(ticket, decision),
            Effect::Load => {
                let follower = Arc::clone(&self.follower);
                flight.launch(id, async move {
                    let mut loaded = load(&services).await;
                    // What the plan says was completed is told before it.
                    follower.look().await;
                    if matches!(loaded, EffectResult::Failed(_)) {
                        // What was gone is back by now.
                        loaded = load(&services).await;
                    }
                    loaded
                });
            }
            Effect::Mutate(mutation) => {
                let follower = Arc::clone(&self.follower);
                flight.launch(id, async move {
                    if matches!(mutation, Mutation::CommitIteration { .. }) {
                        // What was completed without asking belongs to the iteration.
                        follower.look().await;
                    }
                    let mut made = mutate(&services, mutation.clone()).await;
                    if made.as_ref().is_err_and(StateError::is_lost) {
                        // What was gone is back after that. Anything else may have been
                        // stored in spite of the error, and counts once.
                        follower.look().await;
                        made = mutate(&services, mutation).await;
                    }
                    made.unwrap_or_else(|error| EffectResult::Failed(RunFault::of(&error)))
                });
            }
            Effect::Dispatch { call, turn } => self.dispatch(id, *call, turn, flight),
            Effect::Fingerprint => flight.launch(id, async move {
                let look = |services: &Services| services.work_tree.fingerprint(|late| services.warn(late));
                let print = services.blocking(look).await;
                print.map_or_else(
                    |error| EffectResult::Failed(RunFault::of(&error)),
                    EffectResult::Fingerprint,
                )
            }),
            Effect::Sleep(wait) => {
                let token = flight.token(id);
                flight.launch(id, async move {
                    tokio::select! {
                        () = services.wait(wait) => {}
                        () = token.cancelled() => {}
                    }
                    EffectResult::Done
                });
            }
        }
    }

    fn dispatch(&self, id: EffectId, call: HookCall, turn: Turn, flight: &mut Flight) {
        let services = Arc::clone(&self.services);
        let follower = Arc::clone(&self.follower);
        let (mode, task) = self.machine.iteration_kind();
        let place = Place {
            iteration: self.machine.iteration_number(),
            in_iteration: self.machine.in_iteration(),
            mode,
            turn,
            cancel: flight.token(id),
        };
        flight.launch(id, async move {
            let point = call.point();
            services.enter(&place, task);
            let stamps = match services.look_before_check(point).await {
                Ok(stamps) => stamps,
                Err(changed) => return changed,
            };
            let reply = services.fire(call, &place).await;
            // Completions made while the point fired belong before its end.
            if matches!(point, HookPoint::AgentInvoke | HookPoint::QualityCheck) {
                follower.look().await;
            }
            // A check that passed may have been exchanged by what it ran.
            let changed = services.look_after_check(point, stamps).await;
            changed.unwrap_or_else(|| EffectResult::Hook(Box::new(reply)))
        });
    }

    fn entry(&self, line: LogLine) -> ProgressEntry {
        self.services.note(self.machine.iteration_number(), line.task, line.kind, line.text)
    }

    /// Writes down what the run has consumed, so that it counts although this
    /// process may be killed before it saves the machine. What is told while one is
    /// written is written as one.
    fn note_consumed(&self) -> Consumed {
        let (newest, mut told) = watch::channel(self.machine.used());
        let (write, written) = watch::channel(self.machine.used());
        let services = Arc::clone(&self.services);
        let noting = tokio::spawn(async move {
            while told.changed().await.is_ok() {
                let usage = *told.borrow_and_update();
                services.note_used(usage).await;
                write.send_replace(usage);
            }
        });
        Consumed { newest, written, noting }
    }

    /// Saves the machine. A checkpoint that cannot be saved is a warning: the
    /// plan itself is safe, only a resumed run would count differently.
    async fn checkpoint(&self) {
        let run_id = self.services.run_id.to_string();
        let elapsed = self.elapsed_before + self.services.clock.elapsed().saturating_sub(self.started);
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let last_failures = self.services.workbench.with(|desk| desk.last_failures.clone());
        let has_ended = self.machine.is_ended();
        let control_files = self.services.blocking(move |services| match has_ended {
            true => services.control_files.record_of_end(),
            false => services.control_files.record(),
        });
        let control_files = match control_files.await {
            Ok(control_files) => control_files,
            // What is saved stands for less than the truth, but an empty record in its
            // place would let the next start ask about nothing.
            Err(error) => {
                self.services.warn(format!(
                    "the run could not be saved, since its control files could not be looked at: {}",
                    described(&error)
                ));
                return;
            }
        };
        let (machine, told) = (self.machine.clone(), Some(self.told));
        let completed = self.follower.completed();
        let saved = Saved { machine, elapsed_ms, last_failures, told, control_files, completed };
        let saved = match serde_json::to_value(saved) {
            Ok(state) => {
                let waits_until = self.machine.waits_until();
                let end = self.machine.end();
                let note = Note::Checkpoint(Checkpoint { run_id, state, waits_until, end });
                let noted = self.services.blocking(move |services| services.store.note(note)).await;
                noted.and_then(|noted| noted).map_err(|error| described(&error))
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = saved {
            self.services.warn(format!("the run could not be saved: {error}"));
        }
    }
}

/// What writes down what the run has consumed.
struct Consumed {
    newest: watch::Sender<Usage>,
    written: watch::Receiver<Usage>,
    noting: JoinHandle<()>,
}

impl Consumed {
    /// Has it written, and waits for that a moment: not for as long as somebody may
    /// hold the lock.
    async fn note(&mut self, used: Usage) {
        self.newest.send_replace(used);
        let written = self.written.wait_for(|written| *written == used);
        // What is not written by then is written later.
        let _ = tokio::time::timeout(NOTE_WAIT, written).await;
    }

    /// Waits until all is written.
    async fn end(self) {
        drop(self.newest);
        let _ = self.noting.await;
    }
}

impl Flight {
    fn token(&mut self, id: EffectId) -> CancellationToken {
        self.tokens.entry(id).or_default().clone()
    }

    fn launch(&mut self, id: EffectId, work: impl Future<Output = EffectResult> + Send + 'static) {
        let task = self.tasks.spawn(async move { (id, work.await) });
        self.ids.insert(task.id(), id);
    }

    fn landed(
        &mut self,
        done: Result<(tokio::task::Id, (EffectId, EffectResult)), tokio::task::JoinError>,
    ) -> Input {
        match done {
            Ok((task, (id, result))) => {
                self.ids.remove(&task);
                self.tokens.remove(&id);
                Input::Done(id, result)
            }
            // Handlers' panics are caught before; this one is Samuel's own.
            Err(error) => {
                let id = self.ids.remove(&error.id()).unwrap_or(EffectId(0));
                self.tokens.remove(&id);
                Input::Done(id, EffectResult::Failed(format!("an effect broke: {error}").into()))
            }
        }
    }
}

/// Loads the plan and says what is next.
async fn load(services: &Arc<Services>) -> EffectResult {
    let loaded = services
        .blocking(|services| {
            // An agent may have put links in their place since the start.
            services.run_dir.check()?;
            let loaded = services.store.load()?;
            // Starting git is a good part of an iteration, so it is asked only
            // where somebody wants to know what changed.
            if services.wants_changes() {
                services.work_tree.begin();
            }
            Ok::<_, StateError>((loaded, services.control_files.changes()))
        })
        .await;
    let (loaded, changes) = match loaded.and_then(|loaded| loaded) {
        Ok(loaded) => loaded,
        Err(error) => return EffectResult::Failed(RunFault::of(&error)),
    };
    services.warn_of(&loaded.diagnostics);
    let unread = loaded.unparsed;
    let plan = loaded.plan;
    services.workbench.with(|desk| {
        desk.plan = Arc::clone(&plan);
        desk.unread = unread.len();
    });
    services.refresh();
    let queue = plan.count(Status::Pending) + plan.count(Status::InProgress);
    EffectResult::Loaded(Loaded {
        next: unless_changed(next_work(&plan, &unread), &changes),
        queue_size: u32::try_from(queue).unwrap_or(u32::MAX),
        mode: Mode::Implementation,
    })
}

fn next_work(plan: &Plan, unread: &[String]) -> NextWork {
    match next_task(plan) {
        // Rows that cannot be read may be tasks that are not done.
        Next::AllDone if !unread.is_empty() => {
            NextWork::Blocked(match unread.iter().find(|line| is_gap(line)) {
                Some(missing) => format!("every task in prd.toon is settled, but {missing}"),
                None => format!(
                    "every task that can be read is settled, but {} of prd.toon cannot be read",
                    counted(unread.len(), "line")
                ),
            })
        }
        Next::AllDone => NextWork::AllDone,
        Next::Task(id) => {
            plan.task(&id).map_or(NextWork::AllDone, |task| NextWork::Task(TaskBrief::from(task)))
        }
        Next::Blocked(reasons) => {
            let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            NextWork::Blocked(listed(&reasons))
        }
    }
}

/// Puts the end of the run in the place of what is next, where what decides
/// what runs was changed.
fn unless_changed(next: NextWork, changes: &[ControlFileChange]) -> NextWork {
    if changes.is_empty() {
        return next;
    }
    NextWork::Stop { reason: ExitReason::ControlFilesChanged, detail: listed(&in_words(changes)) }
}

fn in_words(changes: &[ControlFileChange]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

impl Services {
    async fn note_used(self: &Arc<Self>, usage: Usage) {
        let run_id = self.run_id.to_string();
        let noted = self.blocking(move |services| services.store.note(Note::Used(Used { run_id, usage })));
        if let Err(error) = noted.await.and_then(|noted| noted) {
            self.warn(format!("what the agent consumed could not be saved: {}", described(&error)));
        }
    }

    /// Fills in what only the driver knows of an event.
    fn complete(&self, event: &mut Event) {
        match event {
            Event::RunFinished(report) => {
                report.swept = self.swept.load(Ordering::Relaxed);
                let (plan, unread) = self.workbench.with(|desk| (Arc::clone(&desk.plan), desk.unread));
                report.settled = matches!(next_task(&plan), Next::AllDone) && unread == 0;
                let ids = |wanted: fn(&Task) -> bool| {
                    plan.tasks.iter().filter(|task| wanted(task)).map(|task| task.id.clone()).collect()
                };
                report.skipped = ids(|task| task.status == Status::Skipped);
                report.left = ids(|task| !task.is_settled());
            }
            Event::Waiting { wait_ms, until: Some(until), .. } => {
                *wait_ms = in_whole_seconds(self.time_until(*until));
            }
            _ => {}
        }
    }

    /// Returns how long it is until a moment; nothing for one that is over.
    fn time_until(&self, moment: jiff::Timestamp) -> Duration {
        Duration::try_from(moment.duration_since(self.clock.now())).unwrap_or_default()
    }

    /// Waits. A moment is waited for as long as it takes by the clock that never
    /// goes back, but no longer than until the time of day has come: the machine
    /// may have been suspended in between.
    async fn wait(&self, wait: Wait) {
        let moment = match wait {
            Wait::For(ms) => return self.clock.sleep(Duration::from_millis(ms)).await,
            Wait::Until(moment) => moment,
        };
        let deadline = self.clock.elapsed().saturating_add(self.time_until(moment));
        loop {
            let left = deadline.saturating_sub(self.clock.elapsed()).min(self.time_until(moment));
            if left.is_zero() {
                return;
            }
            self.clock.sleep(left.min(LOOK_AT_THE_TIME)).await;
        }
    }

    /// Looks at the control files before a check is made. Returns the stamps of the
    /// scripts, or why the check would not count: what decides what runs is not as it
    /// was shown.
    async fn look_before_check(self: &Arc<Self>, point: HookPoint) -> Result<Stamps, EffectResult> {
        if point != HookPoint::QualityCheck {
            return Ok(Stamps::new());
        }
        let look = |services: &Self| (services.control_files.stamps(), services.control_files.changes());
        match self.blocking(look).await {
            Ok((stamps, changes)) if changes.is_empty() => Ok(stamps),
            Ok((_, changes)) => Err(EffectResult::ControlFilesChanged(listed(&in_words(&changes)))),
            Err(error) => Err(EffectResult::Failed(RunFault::of(&error))),
        }
    }

    /// Returns why a check that was made does not count.
    async fn look_after_check(self: &Arc<Self>, point: HookPoint, stamps: Stamps) -> Option<EffectResult> {
        if point != HookPoint::QualityCheck {
            return None;
        }
        match self.blocking(move |services| services.control_files.changes_since(&stamps)).await {
            Ok(changes) if changes.is_empty() => None,
            Ok(changes) => Some(EffectResult::ControlFilesChanged(listed(&in_words(&changes)))),
            Err(error) => Some(EffectResult::Failed(RunFault::of(&error))),
        }
    }
}

/// Returns milliseconds for a wait that began a moment ago: what is left of five
/// minutes are five minutes to whoever reads it.
fn in_whole_seconds(left: Duration) -> u64 {
    u64::try_from(left.as_millis().div_ceil(1000) * 1000).unwrap_or(u64::MAX)
}

/// Writes the first of some reasons, and how many more there are.
fn listed(reasons: &[String]) -> String {
    let told: Vec<&str> = reasons.iter().take(REASONS).map(String::as_str).collect();
    let more = reasons.len().saturating_sub(REASONS);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    told.join("; ") + &more
}

/// Changes the plan for the machine.
async fn mutate(services: &Arc<Services>, mutation: Mutation) -> Result<EffectResult, StateError> {
    let name = mutation.name();
    let stored = services
        .blocking(move |services| {
            let applied = services.store.mutate(mutation, Actor::Runtime)?;
            // What is stored stays so, whether or not it can be read back: the
            // next look at the plan tells.
            Ok((applied, services.store.load().ok()))
        })
        .await;
    match stored.and_then(|stored| stored) {
        Ok((applied, loaded)) => {
            services.warn_of(&applied.diagnostics);
            if let Some(loaded) = loaded {
                services.workbench.with(|desk| desk.plan = loaded.plan);
            }
            Ok(EffectResult::Done)
        }
        // Somebody else settled or removed the task in the meantime.
        Err(error @ (StateError::TaskNotFound { .. } | StateError::NotStartable { .. })) => {
            services.warn(format!("{name} was left out: {error}"));
            Ok(EffectResult::Refused(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_just_began_is_told_in_whole_seconds() {
        let told = [300_000, 299_999, 299_001, 299_000, 0].map(Duration::from_millis).map(in_whole_seconds);
        assert_eq!(told, [300_000, 300_000, 300_000, 299_000, 0]);
    }
}
