//! Carries out what the machine asks for.
//!
//! One task owns the machine. Effects that take time run beside it and come
//! back as inputs; what must happen at once (events, the progress log,
//! checkpoints) happens before the next input is taken.

use std::{
    collections::VecDeque,
    mem,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{
    branch_watch::OnBranch,
    consumed::Consumed,
    control_files::ControlRecord,
    credit::KeptWork,
    error::described,
    fire::Place,
    flight::Flight,
    follow::Follower,
    handle::EndSignal,
    in_clone::refusal,
    lanes::{CutOff, KeptBooks, together},
    plan_effects::{change, look_and_load, mutate},
    record::{Recorder, Steps, has_arguments},
    services::Services,
    start_warning::StartWarning,
    waiting::in_whole_seconds,
};
use crate::{
    environment::Secrets,
    event::{Event, RunFault, RunReport},
    hook::{HookCall, HookPoint},
    machine::{Command, Effect, EffectId, EffectResult, Input, LogLine, Machine},
    model::{
        ExitReason, Groups, Status, Task, TaskId, Usage,
        payload::{CheckFailure, Turn},
    },
    state::{Begun, Checkpoint, Mutation, Note, NotedEvent, ProgressEntry, ProgressKind, StateError},
};

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
    /// What is warned of once the run has announced itself.
    pub(super) warnings: Vec<StartWarning>,
    /// How long the whole run may take.
    pub(super) max_wall_time: Option<Duration>,
    /// Where the steps of the machine are recorded, if they are.
    pub(super) steps: Option<Steps>,
    /// What writes the record of the whole run, where this driver ends it.
    pub(super) recorder: Option<Recorder>,
    /// The id that the run had before it was interrupted.
    pub(super) goes_on_from: Option<String>,
    /// Changes that reopen tasks and could not be made yet.
    pub(super) to_reopen: tokio::sync::Mutex<VecDeque<Mutation>>,
    /// The iterations of lanes but the first that the interruption cut off.
    pub(super) cut_off: Vec<CutOff>,
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
    /// The last record of the plan's journal that the run knew of; absent in states of
    /// earlier versions.
    #[serde(default)]
    pub(super) known: Option<u64>,
    /// What the run was built from, for whoever takes it up or starts the next.
    #[serde(default)]
    pub(super) control_files: ControlRecord,
    /// The tasks that were completed in the plan, as it was known then.
    #[serde(default)]
    pub(super) completed: Option<Vec<TaskId>>,
    /// The tasks that were skipped then; absent in states of earlier versions.
    #[serde(default)]
    pub(super) skipped: Option<Vec<TaskId>>,
    /// The commit that the run started from, where there was one.
    #[serde(default)]
    pub(super) start_commit: Option<String>,
    /// What iterations changed for tasks that are not completed yet.
    #[serde(default, skip_serializing_if = "KeptWork::is_empty")]
    pub(super) work: KeptWork,
    /// The books of all lanes; nothing of a run without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) books: Option<KeptBooks>,
    /// The commits with the completed work on the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) on_branch: Option<OnBranch>,
}

impl Driver {
    /// Runs until the machine has ended, and returns what came of it.
    pub(super) async fn run(mut self, first: Input) -> Option<RunReport> {
        let ended = CancellationToken::new();
        let watching = tokio::spawn(Arc::clone(&self.follower).watch(ended.clone()));
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
        let mut consumed = Consumed::begin(&self.services, self.used_by_all());
        let hook_log = self.services.begin_hook_log();
        loop {
            next = without_secrets(next, &self.services.secrets);
            // What a worker tells of its own task comes without a record.
            self.told = self.told.max(match &next {
                Input::TaskCompleted(completion) => completion.seq,
                Input::PlanChanged(changed) => changed.seq,
                _ => 0,
            });
            // A lock may have to be waited for, and a signal gives little time.
            if let Input::CommandOf { command, by } = &next
                && EndSignal::named(by).is_none()
            {
                self.journal_command(command, by).await;
            }
            if let (Some(lane), Input::Command(command) | Input::CommandOf { command, .. }) =
                (&self.services.in_lane, &next)
            {
                lane.forward(command);
            }
            let before = self.steps.as_mut().and_then(|steps| steps.before(&self.machine, &next));
            let effects = self.machine.step(next);
            if self.machine.is_ended() {
                // Who gives a command from now on is told that nobody takes it.
                self.inputs.close();
            }
            if let Some(steps) = &mut self.steps {
                steps.step(before, &effects).await;
            }
            let is_saved = effects.iter().any(|(_, effect)| *effect == Effect::Checkpoint);
            self.carry_out(effects, &mut flight).await;
            let used = self.machine.used();
            if used != noted {
                noted = used;
                let used = self.used_by_all();
                // The leader saves what all have used, and no other lane anything.
                if !is_saved || !self.leads() {
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
        ended.cancel();
        // It ends with the look that it makes.
        let _ = watching.await;
        flight.tasks.shutdown().await;
        // Who watches is told of the end before its connection is closed.
        self.services.hub.left_by_watchers().await;
        // Who still asks finds the connection closed.
        if self.leads() {
            let _ = self.services.blocking(Services::stop_listening).await;
        }
        // Nothing is written once the loop's lock is free.
        consumed.end().await;
        self.services.end_hook_log(hook_log).await;
        drop(self.steps.take());
        if let Some(recorder) = self.recorder.take() {
            recorder.end().await;
        }
        flight.report
    }

    /// Says whether what is of the whole run is done here.
    fn leads(&self) -> bool {
        self.services.in_lane.as_ref().is_none_or(|lane| lane.leads())
    }

    /// Takes down what was consumed here, and returns what was consumed in all lanes.
    fn used_by_all(&self) -> Usage {
        match &self.services.in_lane {
            Some(lane) => lane.shared.used_in(lane.number, &self.machine),
            None => self.machine.used(),
        }
    }

    async fn carry_out(&self, effects: Vec<(EffectId, Effect)>, flight: &mut Flight) {
        for (id, effect) in effects {
            if let Effect::Log(line) = effect {
                flight.lines.push(self.entry(line));
                continue;
            }
            // Events and checkpoints tell of what the log already holds.
            self.services.log(mem::take(&mut flight.lines)).await;
            self.carry_out_one(id, effect, flight).await;
        }
        self.services.log(mem::take(&mut flight.lines)).await;
    }

    async fn carry_out_one(&self, id: EffectId, effect: Effect, flight: &mut Flight) {
        let services = Arc::clone(&self.services);
        match effect {
            Effect::Log(_) => {}
            Effect::Emit(mut event) => {
                services.complete(&mut event);
                self.name_commit(&mut event).await;
                self.name_unmerged(&mut event).await;
                if matches!(event, Event::Paused | Event::Waiting { .. }) {
                    // People work meanwhile.
                    services.work_tree.forget_last_look();
                }
                // A run can end within an iteration.
                if matches!(event, Event::IterationFinished { .. } | Event::RunFinished(_)) {
                    services.warn_of_repeated();
                }
                if let Event::RunFinished(report) = &event {
                    flight.report = Some(report.clone());
                    services.close_workspace(report.exit_reason == ExitReason::Completed).await;
                }
                if let Some(lane) = services.in_lane.as_ref().filter(|lane| !lane.tells(&event)) {
                    services.hub.untold(lane.number, &event);
                    return;
                }
                if let (Some(lane), Event::IterationStarted { iteration, mode, .. }) =
                    (&services.in_lane, &event)
                {
                    // Whoever goes on after a kill has to know its number.
                    lane.begins(&services, *iteration, *mode).await;
                }
                if let (Some(lane), Event::IterationFinished { .. }) = (&services.in_lane, &event) {
                    // Nor are its books lost then.
                    lane.write_books(&services).await;
                }
                let starts = matches!(event, Event::RunStarted { .. });
                if starts && services.in_lane.is_some() && self.goes_on_from.is_none() {
                    // What lanes write down from now on is found behind it.
                    self.checkpoint().await;
                }
                services.note_call(&event).await;
                services.emit(event);
                // Lanes begin nothing before the first one has announced the run.
                for cut_off in self.cut_off.iter().filter(|_| starts) {
                    let ended = cut_off.ended(self.machine.consecutive_failures());
                    services.hub.send_of(Some(cut_off.lane), ended);
                }
                // A run announces itself once.
                let warnings = self.warnings.iter().filter(|_| starts);
                warnings.for_each(|warning| services.warn_of_run(warning.told()));
            }
            Effect::Checkpoint => self.checkpoint().await,
            Effect::Interrupt(other) => flight.interrupt(other),
            Effect::Answer { ticket, answer } => services.answer(ticket, answer),
            Effect::Reopen { tasks, reasons } => self.reopen(tasks, reasons).await,
            Effect::Delivered(texts) => {
                if let Some(lane) = &services.in_lane {
                    lane.were_delivered(&texts);
                }
            }
            Effect::HandIn => flight.launch(id, async move {
                match services.in_lane.clone() {
                    Some(lane) => lane.before_it_holds(&services).await,
                    None => EffectResult::Done,
                }
            }),
            Effect::Load(scope) => {
                if let Err(error) = self.reopen_again().await {
                    return flight.launch(id, async move { EffectResult::Failed(RunFault::of(&error)) });
                }
                if let Some(lane) = services.in_lane.clone() {
                    let (under_way, cancel) = (self.elapsed_ms(), flight.token(id));
                    let follower = Arc::clone(&self.follower);
                    return flight.launch(id, async move {
                        let loaded = lane.load(&services, under_way, cancel).await;
                        if lane.leads() {
                            // What the plan says was completed is told before it.
                            let _ = follower.look().await;
                        }
                        loaded
                    });
                }
                let follower = Arc::clone(&self.follower);
                let under_way = self.elapsed_ms();
                flight.launch(id, async move {
                    let mut loaded = look_and_load(&services, &follower, &scope).await;
                    if let EffectResult::Loaded(left) = &mut loaded {
                        left.elapsed_ms = under_way;
                    }
                    loaded
                });
            }
            Effect::Mutate(mutation) => {
                let follower = Arc::clone(&self.follower);
                flight.launch(id, async move { change(&services, &follower, mutation).await });
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

    /// Reopens tasks that were completed or skipped in a way that does not count.
    async fn reopen(&self, tasks: Vec<TaskId>, reasons: Vec<String>) {
        // A group is completed by its parts, and each of them is looked at by itself.
        let plan = self.services.plan();
        let groups = Groups::of(&plan.tasks);
        let is_group = |id: &TaskId| {
            let place = plan.tasks.iter().position(|task| task.id == *id);
            place.is_some_and(|place| groups.is_group(place))
        };
        let ids: Vec<TaskId> = tasks.into_iter().filter(|id| !is_group(id)).collect();
        let back = (!ids.is_empty()).then_some(Mutation::TakeBack { ids, failures: reasons });
        self.to_reopen.lock().await.extend(back);
        if let Err(error) = self.reopen_again().await {
            self.services.warn(format!("a task could not be reopened yet: {}", described(&error)));
        }
    }

    /// Makes the changes that reopen tasks and were not made yet. The run ends if that fails before it reads the plan.
    async fn reopen_again(&self) -> Result<(), StateError> {
        let mut changes = self.to_reopen.lock().await;
        while let Some(change) = changes.front() {
            mutate(&self.services, change.clone()).await?;
            changes.pop_front();
        }
        drop(changes);
        if let Some(lane) = &self.services.in_lane {
            lane.shared.wake();
        }
        Ok(())
    }

    /// Writes down what somebody asks of the run, and who, before it is done.
    async fn journal_command(&self, command: &Command, by: &str) {
        let data = json!({
            "run_id": &*self.services.run_id, "command": command.name(), "by": by, "text": command.text(),
        });
        let note = Note::Event(NotedEvent { name: "command".to_owned(), data });
        let noted = self.services.blocking(move |services| services.lane.note(note)).await;
        if let Err(error) = noted.and_then(|noted| noted) {
            self.services
                .warn(format!("what was asked of the run is not in the journal: {}", described(&error)));
        }
    }

    /// Names the commit that is checked out in events that tell where the work stands, in the first one the run that it
    /// goes on from, and at the end of an iteration the files that its agent left uncommitted.
    async fn name_commit(&self, event: &mut Event) {
        if let Event::RunStarted { goes_on_from, commit, .. } = event {
            goes_on_from.clone_from(&self.goes_on_from);
            // What the work tree of a lane is at has nothing to do with what lands.
            if let Some(lane) = &self.services.in_lane {
                *commit = Some(lane.began_at().to_owned());
                return;
            }
        }
        if let Event::IterationFinished { uncommitted, committed_for_agent, .. } = event {
            let left = self.services.blocking(|services| services.work_tree.end_iteration()).await;
            (*uncommitted, *committed_for_agent) = left.unwrap_or_default();
        }
        let (Event::RunStarted { commit, .. }
        | Event::QualityChecked { commit, .. }
        | Event::IterationFinished { commit, .. }) = event
        else {
            return;
        };
        // Without it the event tells the rest.
        let head = self.services.blocking(|services| services.work_tree.commit()).await;
        *commit = head.ok().flatten();
    }

    /// Names, at the end of a run, another branch with work that is not merged into what is checked out.
    async fn name_unmerged(&self, event: &mut Event) {
        let Event::RunFinished(report) = event else { return };
        let own = report.into.clone();
        let look = move |services: &Services| {
            let plan = services.project.plan_store().load().ok()?.plan;
            let unmerged = services.project.unmerged_branches(&plan);
            unmerged.into_iter().find(|branch| Some(branch) != own.as_ref())
        };
        report.unmerged = self.services.blocking(look).await.ok().flatten();
    }

    fn dispatch(&self, id: EffectId, mut call: HookCall, turn: Turn, flight: &mut Flight) {
        let services = Arc::clone(&self.services);
        let follower = Arc::clone(&self.follower);
        let (place, task) = Place::of(&self.machine, turn, flight.token(id));
        let (completed, checks_others) = (self.machine.credited_by_check(), self.machine.checks_others());
        flight.launch(id, async move {
            let point = call.point();
            let of_task = task.as_ref().map(|task| TaskId::new(task.id.clone()));
            services.enter(&place, task);
            if let Some(lane) = &services.in_lane
                && let Some(reply) = lane.instead_of(point, &place, &services).await
            {
                return EffectResult::Hook(Box::new(reply));
            }
            if services.in_lane.is_some() && matches!(point, HookPoint::SessionStop | HookPoint::AfterLoop) {
                // The agents of all workers have ended. What they completed last belongs before the end of the run.
                let _ = follower.look().await;
            }
            if let Err(ended) = services.enter_workspace(point, &place).await {
                return ended;
            }
            if point == HookPoint::QualityCheck
                && let Some((tasks, why)) = services.refuses_unchanged(&completed).await
            {
                let is_for_others =
                    services.in_lane.is_none() && (checks_others || tasks.len() < completed.len());
                if !is_for_others {
                    // A clone has to know that its work failed.
                    return services.leave_workspace(point, of_task.as_ref(), &place, refusal(why)).await;
                }
                // The machine gets it before the result of the check.
                let _ = services.inputs.send(Input::Unchanged { tasks, why });
            }
            let stamps = match services.look_before_check(point).await {
                Ok(stamps) => stamps,
                Err(changed) => return changed,
            };
            if let Some(lane) = &services.in_lane {
                lane.shared.count_all(&mut call);
            }
            let writes = match &call {
                HookCall::QualityCheck(input) if !input.commands.is_empty() => true,
                _ => services.registry.has_handlers_beside_default(point),
            };
            let looks = point == HookPoint::AgentInvoke
                && services.blocking(Services::begin_turn).await.unwrap_or_default();
            let reply = services.fire(call, &place).await;
            // Completions made while the point fired belong before its end.
            if matches!(point, HookPoint::AgentInvoke | HookPoint::QualityCheck) {
                // What is changed next is not, where it fails.
                let _ = follower.look().await;
            }
            // A check that passed may have been exchanged by what it ran.
            let ended = match services.look_after_check(point, stamps).await {
                None if point == HookPoint::QualityCheck => services.look_for_programs(&reply).await,
                changed => changed,
            };
            let left = match ended {
                Some(ended) => ended,
                None => services.leave_workspace(point, of_task.as_ref(), &place, reply).await,
            };
            if looks {
                // What checks and hooks write from now on is not the agent's.
                let _ = services.blocking(Services::end_turn).await;
            } else if writes {
                services.work_tree.forget_last_look();
            }
            left
        });
    }

    fn entry(&self, mut line: LogLine) -> ProgressEntry {
        if self.services.in_lane.is_some() && line.kind == ProgressKind::Completed {
            // It is, once it has landed.
            (line.kind, line.text) = (ProgressKind::Found, "checked, and waits to be merged".to_owned());
        }
        self.services.note(self.machine.iteration_number(), line.task, line.kind, line.text)
    }

    /// Returns how long the run has been under way, over resumes.
    fn elapsed_ms(&self) -> u64 {
        let elapsed = self.elapsed_before + self.services.clock.elapsed().saturating_sub(self.started);
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Saves the machine. A checkpoint that cannot be saved is a warning: the
    /// plan itself is safe, only a resumed run would count differently.
    async fn checkpoint(&self) {
        if !self.leads() {
            return;
        }
        let run_id = self.services.run_id.to_string();
        let elapsed_ms = self.elapsed_ms();
        let last_failures = self.services.known(|known| known.last_failures.clone());
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
        // Only the arguments of tool calls that are under way are not hidden there.
        let (machine, told) = (self.services.secrets.hidden(self.machine.clone()), Some(self.told));
        let completed = Some(self.settled(Status::Completed).await);
        let skipped = Some(self.settled(Status::Skipped).await);
        let known = Some(self.services.known_seq.load(Ordering::Relaxed));
        let start_commit = self.services.work_tree.run_start();
        let work = self.services.work_tree.kept_work();
        let (begun, _writing) = match &self.services.in_lane {
            Some(lane) => {
                let (begun, writing) = lane.shared.beginnings.to_write().await;
                (begun, Some(writing))
            }
            None => (self.begun(), None),
        };
        let books = self.services.in_lane.as_ref().map(|lane| {
            lane.shared.used_in(lane.number, &self.machine);
            lane.shared.kept_with_leader()
        });
        let mut saved = Saved {
            machine,
            elapsed_ms,
            last_failures,
            told,
            known,
            control_files,
            completed,
            skipped,
            start_commit,
            work,
            books,
            on_branch: self.services.on_branch(),
        };
        let noted = match self.note_checkpoint(&run_id, &saved, begun).await {
            Err(StateError::TooLarge { .. }) => {
                saved.machine.forget_texts();
                saved.last_failures.clear();
                saved.work = KeptWork::default();
                self.services.warn(WITHOUT_TEXTS);
                self.note_checkpoint(&run_id, &saved, begun).await
            }
            noted => noted,
        };
        match (noted, &self.services.in_lane) {
            (Ok(_), Some(lane)) => lane.shared.leader_is_saved(),
            (Ok(_), None) => {}
            (Err(error), _) => {
                self.services.warn(format!("the run could not be saved: {}", described(&error)));
            }
        }
    }

    /// Returns the tasks that are completed or skipped, without those that are to be reopened or of which the machine was
    /// not told.
    async fn settled(&self, status: Status) -> Vec<TaskId> {
        let mut settled = self.follower.settled(self.told, status);
        if status == Status::Skipped {
            // What was reopened since the last look is skipped no more.
            let plan = self.services.plan();
            settled.retain(|id| plan.task(id).is_some_and(|task| task.status == status));
        }
        for change in self.to_reopen.lock().await.iter() {
            let tasks = change.tasks().unwrap_or_default();
            settled.retain(|id| !tasks.contains(&id));
        }
        settled
    }

    /// Returns what has begun in a run without lanes.
    fn begun(&self) -> Begun {
        let last = self.machine.iteration_number();
        let ended = self.services.known(|known| known.plan.progress.total_iterations_run);
        Begun { last, count: last, total: ended.saturating_add(u64::from(self.machine.in_iteration())) }
    }

    async fn note_checkpoint(&self, run_id: &str, saved: &Saved, begun: Begun) -> Result<u64, StateError> {
        let encoded = serde_json::to_value(saved);
        let state =
            encoded.map_err(|error| StateError::Encode { what: "the run", reason: error.to_string() })?;
        let waits_until = saved.machine.waits_until();
        let end = saved.machine.end().map(|end| match &self.services.in_lane {
            Some(lane) => lane.shared.ending_over(end),
            None => end,
        });
        let (run_id, scope) = (run_id.to_owned(), saved.machine.scope().clone());
        let mut agents = saved.machine.usage_of_plan();
        if let Some(books) = &saved.books {
            agents = together(&agents, books.agents_of_others());
        }
        let begun = Some(begun);
        let calls = self.services.in_lane.as_ref().map(|lane| lane.shared.calls()).unwrap_or_default();
        let note =
            Note::Checkpoint(Checkpoint { run_id, state, waits_until, end, scope, agents, begun, calls });
        self.services.blocking(move |services| services.lane.note(note)).await?
    }
}

/// Hides secrets in what the machine is given, so that nothing that it derives from its inputs has one. Agents and
/// handlers get the arguments of tool calls as they are.
fn without_secrets(mut input: Input, secrets: &Secrets) -> Input {
    if !has_arguments(&input) {
        return secrets.hidden(input);
    }
    if let Input::Done(_, EffectResult::Hook(reply)) = &mut input {
        reply.outcome = secrets.hidden(mem::take(&mut reply.outcome));
    }
    input
}

/// What is said where a run is saved with less than it knows.
const WITHOUT_TEXTS: &str = "the texts of the run are too long to be saved: if it is cut off, whoever goes on is not \
                             told what waited for the agent, nor what the last check found, nor what earlier \
                             attempts at open tasks changed";

impl Services {
    /// Fills in what only the driver knows of an event.
    fn complete(&self, event: &mut Event) {
        match event {
            Event::RunFinished(report) => {
                if let Some(lane) = self.in_lane.as_ref().filter(|lane| lane.leads()) {
                    lane.shared.complete(report);
                }
                report.swept = self.swept.load(Ordering::Relaxed);
                let (plan, unread) = self.known(|known| (Arc::clone(&known.plan), known.unread));
                // Groups are no work: what is left of them are their parts.
                let groups = Groups::of(&plan.tasks);
                let ids = |wanted: fn(&Task) -> bool| {
                    let tasks = plan.tasks.iter().enumerate();
                    let work = tasks.filter(|(place, task)| !groups.is_group(*place) && wanted(task));
                    work.map(|(_, task)| task.id.clone()).collect()
                };
                report.note_marks(&plan);
                report.skipped = ids(|task| task.status == Status::Skipped);
                report.left = ids(|task| !task.is_settled());
                report.settled = report.left.is_empty() && unread == 0;
                let queued = plan.claimed_tasks().filter(|(_, claim)| claim.phase.is_in_queue());
                report.submitted = queued.map(|(task, _)| task.id.clone()).collect();
                report.submitted.sort();
            }
            Event::Waiting { wait_ms, until: Some(until), .. } => {
                *wait_ms = in_whole_seconds(self.time_until(*until));
            }
            _ => {}
        }
    }
}
