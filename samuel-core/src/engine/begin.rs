//! Where a run begins: at its start, or where an interrupted one left off.

use std::{collections::HashSet, sync::Arc, time::Duration};

use super::{
    branch_watch::OnBranch,
    control_files::ControlRecord,
    credit::KeptWork,
    driver::Saved,
    error::{RunError, blocking},
    follow::{began_in, committed_in, completed_in, has_claims_in, landed_in, outdates_check, skipped_in},
    lanes::{CutOff, KeptBooks},
    run::Run,
    services::Known,
};
use crate::{
    config::MAX_JOBS,
    event::Guard,
    hook::{HookPoint, Tier},
    machine::{CallNumbers, Input, Machine, RunLimits, Setup},
    model::{Claim, Completes, Groups, Plan, ProgressStatus, Status, Task, TaskId, Usage, payload::Mode},
    state::{
        Actor, Begun, Called, JournalEntry, JournalRecord, KeptCheckpoint, LaneStore, LastWritten,
        LoadedPlan, Mutation, Note, PlanStore, SavedRun, StateError, Used,
    },
};

/// Where a run begins.
pub(super) struct Begin {
    pub(super) machine: Machine,
    pub(super) first: Input,
    /// The last record of the journal.
    pub(super) seq: u64,
    /// How long the run was under way before it was interrupted.
    pub(super) elapsed: Duration,
    /// The id that the run had before it was interrupted.
    pub(super) resumed: Option<String>,
    /// The commit that the run started from, where it goes on and there was one.
    pub(super) start_commit: Option<String>,
    /// What iterations of it, or of the runs before, changed for tasks that are not completed.
    pub(super) work: KeptWork,
    /// The iterations of all lanes that had begun before it was interrupted, where it had lanes.
    pub(super) begun: Option<Begun>,
    /// The books of its lanes, where it had some.
    pub(super) books: Option<KeptBooks>,
    /// The iterations of lanes but the first that were cut off.
    pub(super) cut_off: Vec<CutOff>,
    /// The commits with the completed work on a branch, where the last run kept them.
    pub(super) on_branch: Option<OnBranch>,
    /// The limits that the run had before it was interrupted.
    pub(super) limits_before: Option<RunLimits>,
    /// What the journal does not tell of the loops that worked on the plan.
    pub(super) lost: Option<Lost>,
    /// The plan as it was found, and what was wrong with it. The first change rewrites
    /// it, so nobody finds that again.
    pub(super) loaded: LoadedPlan,
    /// The plan, and the checks that failed last, for whoever goes on.
    pub(super) known: Known,
}

/// What a journal does not tell that a loop wrote there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Anything: what the loop left unfinished, and unchecked, is not known.
    All,
    /// What happened since the run saved what is kept outside of the work tree.
    SinceSaved,
    /// Whether it tells what the run saved, of which nothing is kept elsewhere.
    Witness,
    /// What the run saved, since this version cannot read it.
    Unread,
}

impl Lost {
    /// Says so where a run starts.
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::All => {
                "a loop worked on this plan before, but its journal is gone: this is a new run, and what was \
                 completed without a check then stands as it is written in the plan"
            }
            Self::SinceSaved => {
                "the journal does not go on from what a run that was cut off saved outside of the work tree: perhaps \
                 it went on elsewhere, or the journal was changed; a check decides on what was completed since"
            }
            Self::Witness => {
                "the journal tells of a run that was cut off, of which nothing is kept outside of the work tree: \
                 perhaps it ran elsewhere or in another copy, or what was kept was removed; the run goes on from \
                 what the journal says"
            }
            Self::Unread => {
                "what the last run saved cannot be read: another version of Samuel wrote it, or it was changed; this \
                 is a new run, and a check decides on what is completed"
            }
        }
    }
}

/// What a run saved last.
#[derive(Default)]
struct LastSaved {
    /// The number of the journal's last record that comes before; 0 where there is
    /// none.
    seq: u64,
    of_run: Option<OfRun>,
    /// What the run had consumed in all when it noted that after it.
    used: Option<Used>,
    /// The agent of the call that the first lane noted last after it.
    called: Option<String>,
    /// What had begun by then, or when a lane noted that after it.
    begun: Option<Begun>,
    /// The books of its lanes when one of them noted these after it.
    books: Option<KeptBooks>,
    lost: Option<Lost>,
}

impl LastSaved {
    /// Returns a record of the plan's journal before all that commit an iteration that was under way, if one was.
    fn first_open(&self) -> Option<u64> {
        let saved = self.of_run.as_ref().and_then(|(_, saved)| saved.books.as_ref());
        self.books.iter().chain(saved).filter_map(KeptBooks::first_open).min()
    }
}

impl Run {
    /// Finds out whether an earlier run has to go on, and from where.
    pub(super) async fn recover(&self) -> Result<Begin, RunError> {
        let (store, lane) = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let read = blocking(move || {
            let written = store.last_written()?;
            let loaded = store.load()?;
            let last = last_saved(&*store, &*lane)?;
            let since = store.journal_since(last.seq)?;
            let seq = since.records.last().map_or(last.seq, |record| record.seq);
            // What was completed right before a checkpoint may be in none.
            let told = last.of_run.as_ref().and_then(|(_, saved)| saved.told).unwrap_or(last.seq);
            let untold = if told < last.seq { Some(store.journal_since(told)?) } else { None };
            let is_cut_off = last.of_run.as_ref().is_some_and(|(_, saved)| !saved.machine.is_ended());
            // An edit of prd.toon may have removed the claims there.
            let has_claims = is_cut_off && has_claims_in(&store.journal_since(0)?.records);
            let committed = match last.first_open() {
                Some(seq) => store.journal_since(seq)?.records,
                None => Vec::new(),
            };
            Ok::<_, StateError>((written, loaded, last, since, seq, untold, has_claims, committed))
        });
        let (written, loaded, last, since, seq, untold, has_claims, committed) = read.await??;
        let plan = &loaded.plan;
        let is_whole = last.lost != Some(Lost::SinceSaved);
        let (run_id, saved) = last.of_run.unzip();
        let is_under_way = saved.as_ref().is_some_and(|saved| !saved.machine.is_ended());
        let lost = match last.lost {
            Some(Lost::Witness) if !is_under_way => None,
            Some(Lost::Unread) => Some(Lost::Unread),
            None if has_run(plan) && last.seq == 0 && !tells_of_loop(&since.records) => Some(Lost::All),
            lost => lost,
        };
        let is_replaced = since.records.iter().any(JournalRecord::is_import);
        let (untold, since) = (untold.as_ref().unwrap_or(&since), &since.records);
        let on_branch = saved.as_ref().and_then(|saved| saved.on_branch.clone());
        let on_branch = on_branch.filter(|_| is_whole).and_then(|on| on.after(since, plan));
        let last_failures = saved.as_ref().map(|saved| saved.last_failures.clone()).unwrap_or_default();
        let known = Known { plan: Arc::clone(plan), last_failures, ..Known::default() };
        Ok(match saved {
            Some(Saved {
                mut machine,
                elapsed_ms,
                completed,
                skipped,
                start_commit,
                mut work,
                books,
                ..
            }) if is_under_way && !is_replaced => {
                let mut books = match (last.books, books) {
                    (Some(noted), Some(saved)) => Some(noted.at_least(saved)),
                    (noted, saved) => noted.or(saved),
                };
                let mut cut_off = Vec::new();
                if let Some(books) = &mut books {
                    if let Some(used) = &last.used {
                        books.used_since(used);
                    }
                    books.landed_since(since);
                    books.hold_against(plan);
                    books.forget_reset(&untold.records);
                    cut_off = books.end_open(&committed);
                    books.hand_over(&mut machine);
                }
                forget_reset(&mut machine, &untold.records);
                work.forget_reset(&untold.records);
                machine.forget_completions(plan);
                let begun = last.begun;
                machine.go_on_behind(begun.unwrap_or_default().last);
                let limits_before = Some(machine.limits().clone());
                machine.set_setup(self.setup());
                let now = self.frozen.project.clock().now();
                machine.doubt_limit(now, lost != Some(Lost::Witness));
                let mut first = Input::Resume {
                    completed: Vec::new(),
                    skipped: all_skipped(&[], plan, skipped.as_deref()),
                    committed: false,
                    began: true,
                };
                if is_whole {
                    // A lane may have written the one down and not yet the other.
                    let mut used = last.used.map_or_else(|| machine.used(), |used| used.usage);
                    used += books.as_ref().map(KeptBooks::used).unwrap_or_default().beyond(&used);
                    machine.count_used(used, last.called);
                    first = Input::Resume {
                        completed: all_completed(&untold.records, plan, completed),
                        skipped: all_skipped(&untold.records, plan, skipped.as_deref()),
                        committed: committed_in(since, machine.iteration_number()),
                        // Workers may have been at work although the leader was not.
                        began: began_in(since) || has_claims || plan.claims.iter().any(Claim::is_live),
                    };
                } else {
                    machine.doubt(all_completed(&[], plan, completed));
                }
                let elapsed = Duration::from_millis(elapsed_ms);
                Begin {
                    machine,
                    first,
                    seq,
                    elapsed,
                    resumed: run_id,
                    start_commit,
                    work,
                    begun,
                    books,
                    cut_off,
                    on_branch,
                    limits_before,
                    lost,
                    loaded,
                    known,
                }
            }
            earlier => {
                let mut machine = Machine::new(self.setup());
                if lost == Some(Lost::Unread) {
                    machine.doubt(all_completed(&[], plan, Some(Vec::new())));
                }
                let (mut books, mut work) = (None, KeptWork::default());
                if let Some(mut earlier) = earlier {
                    // For the plan, what the agents of all lanes consumed counts.
                    if let Some(books) = &earlier.books {
                        books.hand_over(&mut earlier.machine);
                    }
                    let edited = written != LastWritten::Same;
                    machine.succeed(&earlier.machine, edited || outdates_check(untold));
                    books = earlier.books.map(KeptBooks::of_earlier_run);
                    if let Some(books) = &mut books {
                        books.forget_reset(&untold.records);
                        books.hand_over(&mut machine);
                    }
                    forget_reset(&mut machine, &untold.records);
                    if !is_replaced {
                        work = earlier.work.of_earlier_run();
                        work.forget_reset(&untold.records);
                    }
                    if is_under_way {
                        // The plan was replaced after the run was cut off, by whomever.
                        machine.doubt(all_completed(&[], plan, earlier.completed));
                    }
                }
                let (first, elapsed) = (Input::Start, Duration::ZERO);
                Begin {
                    machine,
                    first,
                    seq,
                    elapsed,
                    resumed: None,
                    start_commit: None,
                    work,
                    begun: None,
                    books,
                    cut_off: Vec::new(),
                    on_branch,
                    limits_before: None,
                    lost,
                    loaded,
                    known,
                }
            }
        })
    }

    /// Counts in the plan what began in lanes before the run was interrupted, and never ended: of the iteration that the
    /// machine was in, the machine closes the books itself.
    pub(super) async fn count_interrupted(&self, begin: Begin) -> Result<Begin, RunError> {
        let Some(begun) = begin.begun else { return Ok(begin) };
        let cut_off = begin.cut_off;
        let uncommitted = cut_off.iter().filter(|cut_off| !cut_off.is_committed);
        let mut commits: Vec<(u32, Mode, Usage)> =
            uncommitted.map(|cut_off| (cut_off.iteration, cut_off.mode, cut_off.usage)).collect();
        let is_committed = matches!(begin.first, Input::Resume { committed: true, .. });
        let closes_one = begin.machine.in_iteration() && !is_committed;
        let counted = begin.loaded.plan.progress.total_iterations_run;
        let counted = counted.saturating_add(u64::from(closes_one)).saturating_add(commits.len() as u64);
        // No more than lanes can have been in when they were cut off, whatever was noted.
        let uncounted = begun.total.saturating_sub(counted).min(u64::from(MAX_JOBS));
        // That the machine's own one is committed, its number says.
        let own = begin.machine.in_iteration().then(|| begin.machine.iteration_number());
        let known: HashSet<u32> = cut_off.iter().map(|cut_off| cut_off.iteration).chain(own).collect();
        let numbers = (1..=begun.last).rev().filter(|number| !known.contains(number));
        let numbers = numbers.take(usize::try_from(uncounted).unwrap_or(usize::MAX));
        commits.extend(numbers.map(|number| (number, Mode::Implementation, Usage::default())));
        if commits.is_empty() && cut_off.is_empty() {
            return Ok(Begin { cut_off, ..begin });
        }
        // From then on they are not under way any more, and each ends once.
        let books = begin.books.filter(|_| !cut_off.is_empty());
        let books = books.and_then(|books| books.noted(begin.resumed.unwrap_or_default(), Vec::new()));
        let (store, lane) = (Arc::clone(&self.frozen.store), Arc::clone(&self.frozen.lane));
        let counted = blocking(move || {
            for (iteration, mode, usage) in commits {
                let commit = Mutation::CommitIteration { iteration, mode, usage, credits: Vec::new() };
                store.mutate(commit, Actor::Runtime)?;
            }
            books.map_or(Ok(0), |books| lane.note(Note::Books(books)))
        });
        counted.await??;
        let begin = self.recover().await?;
        Ok(Begin { cut_off, ..begin })
    }

    /// Lets the store know the plan that the run begins with, against which it
    /// holds what it finds later. Before anything is concluded from the plan, so that
    /// no edit falls in between.
    pub(super) async fn know_plan(&self) -> Result<(), RunError> {
        let store = Arc::clone(&self.frozen.store);
        store.keeps_tasks(self.frozen.completes() == Completes::OwnTask);
        // The records that there are by now are read by whoever begins.
        blocking(move || store.catch_up(u64::MAX)).await??;
        Ok(())
    }

    /// Says whether anything looks at the work: a configured check, or a handler beside
    /// the default.
    pub(super) fn has_checks(&self) -> bool {
        let mut handlers = self.registry.handlers(HookPoint::QualityCheck);
        !self.frozen.settings.quality_checks.is_empty() || handlers.any(|(_, _, tier)| tier != Tier::BuiltIn)
    }

    /// Returns every guard in force. The limits of a row hold over all workers.
    pub fn guards(&self) -> Vec<Guard> {
        self.limits().guards(self.frozen.settings.parallel.jobs)
    }

    /// Returns when the run stops by itself, and what a task may consume.
    pub fn limits(&self) -> RunLimits {
        let settings = &self.frozen.settings;
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        RunLimits {
            max_iterations: settings.max_iterations,
            max_consecutive_failures: settings.max_consecutive_failures,
            max_cost_usd: settings.session_budget.max_cost_usd,
            max_tokens: settings.session_budget.max_tokens,
            max_task_attempts: settings.task_budget.max_attempts,
            max_task_cost_usd: settings.task_budget.max_cost_usd,
            max_task_tokens: settings.task_budget.max_tokens,
            forecast: settings.forecast,
            max_wall_ms: settings.session_budget.max_wall_time.map(millis),
            max_call_ms: millis(settings.clocks.wall),
            pause_ms: millis(settings.pause),
            rate_limit: settings.rate_limit,
            max_limit_wait_ms: millis(settings.rate_limit_wait),
            ask_timeout_ms: millis(settings.ask_timeout),
        }
    }

    /// Says what the machine has to know of a run.
    pub(super) fn setup(&self) -> Setup {
        let settings = &self.frozen.settings;
        Setup {
            session: self.frozen.session.clone(),
            agent: self.frozen.agent.name().to_owned(),
            routing: self.frozen.routing.clone(),
            binary: self.frozen.binary.clone(),
            sandbox: settings.sandbox.as_str().to_owned(),
            checks: settings.quality_checks.iter().map(|check| check.command.clone()).collect(),
            has_checks: self.has_checks(),
            scope: self.frozen.scope.clone(),
            pilot: self.frozen.pilot(),
            in_lane: settings.parallel.jobs > 1,
            follows: false,
            completes: self.frozen.completes(),
            calls: CallNumbers { lane: 1, of: settings.parallel.jobs.max(1) },
            limits: self.limits(),
            framing: self.frozen.framing.clone(),
        }
    }
}

/// Forgets how often tasks were tried that were reset since.
fn forget_reset(machine: &mut Machine, records: &[JournalRecord]) {
    for record in records {
        match &record.entry {
            JournalEntry::Mutation { mutation: Mutation::Reset { id }, .. } => machine.forget_attempts(id),
            // The tasks are others, whatever they are called.
            JournalEntry::Imported { .. } => machine.forget_all_attempts(),
            _ => {}
        }
    }
}

/// Says whether a loop has worked on a plan, which it then wrote to the journal.
pub(super) fn has_run(plan: &Plan) -> bool {
    plan.progress.total_iterations_run > 0 || plan.progress.status == ProgressStatus::Running
}

/// Says whether a journal tells of a loop that worked on the plan. Each notes that it does
/// before it saves anything, so that one may have been killed before it had.
pub(super) fn tells_of_loop(records: &[JournalRecord]) -> bool {
    let begins = |mutation: &Mutation| {
        matches!(mutation, Mutation::SetProgressStatus { status: ProgressStatus::Running })
    };
    records
        .iter()
        .any(|record| matches!(&record.entry, JournalEntry::Mutation { mutation, .. } if begins(mutation)))
}

/// Returns what was completed since a state was saved: what records tell, and
/// what the plan says beyond what was completed then. Groups are left out, since their parts complete them.
fn all_completed(records: &[JournalRecord], plan: &Plan, before: Option<Vec<TaskId>>) -> Vec<TaskId> {
    let mut completed = completed_in(records);
    if let Some(before) = before {
        let before: HashSet<TaskId> = before.into_iter().collect();
        let since = plan.tasks.iter().filter(|task| task.status == Status::Completed);
        let landed = landed_in(records);
        let is_new = |id: &TaskId| !before.contains(id) && !landed.contains(id);
        completed.extend(since.map(|task| task.id.clone()).filter(is_new));
    }
    let groups = Groups::of(&plan.tasks);
    let groups = plan.tasks.iter().enumerate().filter(|(place, _)| groups.is_group(*place));
    let groups: HashSet<&TaskId> = groups.map(|(_, group)| &group.id).collect();
    completed.retain(|id| !groups.contains(id));
    completed
}

/// Returns the tasks that an edit of prd.toon skipped since a state was saved: those that the plan has beyond what was
/// skipped then and what commands skipped since, as records say. Parent tasks follow from their subtasks.
fn all_skipped(records: &[JournalRecord], plan: &Plan, before: Option<&[TaskId]>) -> Vec<TaskId> {
    let Some(before) = before else { return Vec::new() };
    let before: HashSet<&TaskId> = before.iter().chain(skipped_in(records)).collect();
    let groups = Groups::of(&plan.tasks);
    let is_new = |(place, task): &(usize, &Task)| {
        task.status == Status::Skipped && !groups.is_group(*place) && !before.contains(&task.id)
    };
    plan.tasks.iter().enumerate().filter(is_new).map(|(_, task)| task.id.clone()).collect()
}

/// What a run saved, and the id it had.
type OfRun = (String, Saved);

/// Returns what the last run saved of its control files; nothing of a run that saved
/// nothing.
pub(super) fn last_control_record(lane: &dyn LaneStore) -> Result<ControlRecord, StateError> {
    let Some((mut saved, _, _)) = saved_last(lane)? else { return Ok(ControlRecord::default()) };
    let saved = saved.checkpoint.state.get_mut("control_files").map(serde_json::Value::take);
    // A checkpoint of another version says nothing of them.
    Ok(saved.and_then(|saved| serde_json::from_value(saved).ok()).unwrap_or_default())
}

/// Returns what was saved last, and where the journal of the plan stood then.
fn last_saved(store: &dyn PlanStore, lane: &dyn LaneStore) -> Result<LastSaved, StateError> {
    let Some((run, lost, is_kept)) = saved_last(lane)? else { return Ok(LastSaved::default()) };
    let begun = run.last_begun();
    let SavedRun { checkpoint, run_id, seq, used, calls, books, .. } = run;
    let called = calls.into_iter().find(Called::is_of_first).map(|called| called.agent);
    // A checkpoint of another version is no use; the plan itself is.
    let saved: Option<Saved> = serde_json::from_value(checkpoint.state).ok();
    let seq = match saved.as_ref().and_then(|saved| saved.known) {
        _ if is_kept => store.journal_since(0)?.records.last().map_or(0, |record| record.seq),
        Some(known) => known,
        // Earlier versions had one journal for both.
        None => seq,
    };
    let lost = if saved.is_none() { Some(Lost::Unread) } else { lost };
    let mut saved = saved;
    if let Some(books) = saved.as_mut().and_then(|saved| saved.books.as_mut()).filter(|_| is_kept) {
        // Nothing says which of these the plan has.
        books.forget_open();
    }
    let (of_run, books) = (saved.map(|saved| (run_id, saved)), books.and_then(KeptBooks::read));
    Ok(LastSaved { seq, of_run, used, called, begun, books, lost })
}

/// Returns what was saved last, what is not told of what may have happened since, and
/// whether it comes from what is kept outside of the work tree.
fn saved_last(lane: &dyn LaneStore) -> Result<Option<(SavedRun, Option<Lost>, bool)>, StateError> {
    let kept = |checkpoint, lost| Ok(Some((SavedRun::of(checkpoint, 0), lost, true)));
    let lost = match lane.kept_checkpoint()? {
        KeptCheckpoint::Beside(checkpoint) => return kept(checkpoint, Some(Lost::SinceSaved)),
        KeptCheckpoint::Next(checkpoint) => return kept(checkpoint, None),
        KeptCheckpoint::Nothing => Some(Lost::Witness),
        KeptCheckpoint::InJournal | KeptCheckpoint::Nowhere => None,
    };
    Ok(lane.last_saved()?.map(|saved| (saved, lost, false)))
}
