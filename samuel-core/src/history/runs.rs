//! The runs of a project that have a record.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use serde::Serialize;

use super::{Entries, HistoryError, IterationHistory, RunHistory, RunKind, RunState, Tail, fold::Fold};
use crate::{
    event::Event,
    machine::{Replay, Replaying},
    model::{ExitReason, TaskId, Usage},
    project::Project,
    state::{Holder, LaneStore, RecordPart, RecordPlace},
    text::described,
};

/// The past of a project.
#[derive(Clone, Debug)]
pub struct History {
    pub(super) project: Project,
    pub(super) lane: Arc<dyn LaneStore>,
}

/// The runs that are recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunList {
    /// The runs, the newest first.
    pub runs: Vec<RunSummary>,
    /// How many older ones are left out.
    pub more: usize,
}

/// A run in a few figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its id.
    pub run: String,
    /// What it does.
    pub kind: RunKind,
    /// Whether it is under way, has ended, or was cut off.
    pub state: RunState,
    /// When it began, as far as that is recorded.
    pub started_at: Option<Timestamp>,
    /// How long it took, or takes so far, in milliseconds.
    pub took_ms: u64,
    /// The agent.
    pub agent: String,
    /// The tasks that it is for, beside what they depend on; none where it is for all.
    pub tasks: Vec<TaskId>,
    /// How many iterations it began.
    pub iterations: u32,
    /// How many of them failed.
    pub failed_iterations: u32,
    /// The tasks that it completed.
    pub completed: Vec<TaskId>,
    /// What it consumed.
    pub usage: Usage,
    /// Why it ended, where it did.
    pub exit_reason: Option<ExitReason>,
    /// What led to that, in one line.
    pub detail: Option<String>,
    /// The run that it goes on from, where it goes on.
    pub goes_on_from: Option<String>,
    /// The branch with merged work that is not in what is checked out: its own, else the one that its end named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    /// Whether the beginning of its record is missing, so that the summary covers only the rest.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub begins_later: bool,
    /// Why nothing more is known of it, where its record cannot be read.
    pub problem: Option<String>,
}

impl From<RunHistory> for RunSummary {
    fn from(run: RunHistory) -> Self {
        let report = run.report.as_ref();
        let (iterations, failed) = run.begun();
        Self {
            kind: run.kind,
            state: run.state,
            started_at: run.started_at,
            took_ms: run.took_ms,
            agent: run.agent,
            tasks: run.tasks,
            iterations: u32::try_from(iterations).unwrap_or(u32::MAX),
            failed_iterations: u32::try_from(failed).unwrap_or(u32::MAX),
            completed: run.completed,
            usage: run.usage,
            exit_reason: report.map(|report| report.exit_reason),
            detail: report.and_then(|report| report.detail.clone()),
            goes_on_from: run.goes_on_from,
            unmerged: run.unmerged,
            begins_later: run.gaps.beginning,
            problem: None,
            run: run.run,
        }
    }
}

/// A run whose record, or lines of it, cannot be read, so that an answer does without what they tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnreadRun {
    /// Its id.
    pub run: String,
    /// What cannot be read, and why.
    pub problem: String,
}

/// How many runs a list has at most.
const MAX_LISTED: usize = 200;
/// How many runs in a row are looked at for the beginning of an iteration that each was cut off in.
const MAX_INTERRUPTED: usize = 8;
/// How many runs of one second are put in order.
const MAX_OF_A_SECOND: usize = 64;
/// How many events are looked at for the one that a run tells its beginning with.
const MAX_BEFORE_START: usize = 64;
/// What a list reads of a record.
const SUMMARISED: &[&str] = &[
    "run_started",
    "landing_started",
    "iteration_started",
    "iteration_finished",
    "run_finished",
    "agent_finished",
    "tasks_taken_back",
    "task_completed",
    "task_landed",
    "plan_changed",
];

/// What is read of a record to know how its last iteration began.
const BEGINNINGS: &[&str] =
    &["run_started", "iteration_started", "iteration_finished", "agent_started", "agent_finished"];

impl History {
    /// Reads the past of a project.
    pub fn of(project: &Project) -> Self {
        Self { lane: project.lane_store(), project: project.clone() }
    }

    /// Lists the runs that are recorded, the newest first; at most 200. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::State`] where they cannot be listed.
    pub fn runs(&self) -> Result<RunList, HistoryError> {
        let mut runs = self.recorded()?;
        let more = runs.len().saturating_sub(MAX_LISTED);
        runs.drain(..more);
        let history = |run: String| match self.summarised(&run) {
            Ok(history) => (history, None),
            Err(error) => (RunHistory::unknown(run), Some(described(&error))),
        };
        let mut read: Vec<(RunHistory, Option<String>)> = runs.into_iter().rev().map(history).collect();
        self.name_unmerged(read.iter_mut().map(|(run, _)| run));
        let runs = read.into_iter().map(|(run, problem)| RunSummary { problem, ..run.into() }).collect();
        Ok(RunList { runs, more })
    }

    /// Returns the last run before another one that began an iteration. Reads at most 200 records, none further than to
    /// that beginning. Returns nothing if no such run can be read. Blocks.
    pub fn last_at_work_before(&self, run: &str) -> Option<String> {
        let runs = self.recorded().ok()?.into_iter().rev();
        let mut before = runs.skip_while(|other| other != run).skip(1).take(MAX_LISTED);
        before.find(|other| self.has_iteration(other))
    }

    /// Returns whether a record tells of an iteration.
    fn has_iteration(&self, run: &str) -> bool {
        let mut entries = self.entries(run).wanting(&["iteration_started"]);
        while let Ok(Some(entry)) = entries.next_entry() {
            if matches!(entry.record.event, Event::IterationStarted { .. }) {
                return true;
            }
        }
        false
    }

    /// Reads what a list tells of a run.
    fn summarised(&self, run: &str) -> Result<RunHistory, HistoryError> {
        let mut history = self.folded(run, SUMMARISED)?;
        // The list may skip the first event.
        history.gaps.beginning = history.started_at.is_none() && self.begins_later(run).unwrap_or(false);
        Ok(history)
    }

    /// Names the branches with merged work that are not in what is checked out: for each run its own, else the one that
    /// its end named.
    pub(super) fn name_unmerged<'a>(&self, runs: impl Iterator<Item = &'a mut RunHistory>) {
        let with_branches = |run: &'a mut RunHistory| {
            let own = run.landed.last().map(|landed| landed.into.clone());
            let named = run.report.as_ref().and_then(|report| report.unmerged.clone());
            (own.into_iter().chain(named).collect::<Vec<String>>(), run)
        };
        let runs: Vec<(Vec<String>, &mut RunHistory)> = runs.map(with_branches).collect();
        let branches: BTreeSet<&str> =
            runs.iter().flat_map(|(branches, _)| branches).map(String::as_str).collect();
        let unmerged = self.project.unmerged_of(&branches.into_iter().collect::<Vec<_>>());
        for (branches, run) in runs {
            run.unmerged = branches.into_iter().find(|branch| unmerged.contains(branch));
        }
    }

    /// Returns whether the first events of a run are missing.
    fn begins_later(&self, run: &str) -> Result<bool, HistoryError> {
        let first = self.entries(run).next_entry()?;
        Ok(first.is_some_and(|first| first.record.seq > 1))
    }

    /// Finds a run by its id or by the beginning of it; where none is named, the one that is under way, else the last
    /// one. The one that is under way may have told nothing yet. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRuns`], [`HistoryError::UnknownRun`] with the nearest id or
    /// [`HistoryError::SeveralRuns`], and [`HistoryError::State`] where they cannot be listed.
    pub fn resolve(&self, run: Option<&str>) -> Result<String, HistoryError> {
        let mut runs = self.recorded()?;
        let live = self.under_way()?;
        let Some(wanted) = run else {
            return live.or_else(|| runs.pop()).ok_or(HistoryError::NoRuns);
        };
        runs.extend(live.filter(|live| !runs.contains(live)));
        if runs.is_empty() {
            return Err(HistoryError::NoRuns);
        }
        if runs.iter().any(|run| run == wanted) {
            return Ok(wanted.to_owned());
        }
        let mut begun: Vec<&String> =
            runs.iter().filter(|run| !wanted.is_empty() && run.starts_with(wanted)).collect();
        match begun.len() {
            1 => Ok(begun.remove(0).clone()),
            0 => {
                let alike = |run: &String| (strsim::jaro_winkler(wanted, run), run.clone());
                let nearest =
                    runs.iter().map(alike).max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, run)| run);
                Err(HistoryError::UnknownRun { run: wanted.to_owned(), nearest })
            }
            _ => Err(HistoryError::SeveralRuns {
                begin: wanted.to_owned(),
                runs: begun.into_iter().cloned().collect(),
            }),
        }
    }

    /// Returns the run that is under way. While it gets ready it has told nothing. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::State`] where that cannot be found out.
    pub fn under_way(&self) -> Result<Option<String>, HistoryError> {
        let Some(holder) = self.lane.loop_holder()?.flatten().filter(|_| self.lane.keeps_records()) else {
            return Ok(None);
        };
        Ok(run_of(&holder).map(str::to_owned))
    }

    /// Returns the runs that are recorded, the oldest first. Their ids say when they began to the second;
    /// among those of one second their first events do, and which one goes on from which.
    pub(super) fn recorded(&self) -> Result<Vec<String>, HistoryError> {
        let mut runs = self.lane.recorded_runs()?;
        let is_of_one_second = |one: &String, other: &String| second(one) == second(other);
        for runs in runs.chunk_by_mut(is_of_one_second) {
            if (2..=MAX_OF_A_SECOND).contains(&runs.len()) {
                let began: BTreeMap<String, Began> =
                    runs.iter().map(|run| (run.clone(), self.began(run))).collect();
                runs.sort_by_cached_key(|run| place(run, &began));
            }
        }
        Ok(runs)
    }

    /// Returns when the present plan was stored as a whole, as far as the journal goes back to that. Runs from before
    /// were for another one, whatever its tasks are called.
    pub(super) fn plan_since(&self) -> Option<Timestamp> {
        let records = self.project.plan_store().journal_since(0).ok()?.records;
        records.iter().rev().find(|record| record.is_import()).map(|record| record.at)
    }

    /// Says whether a run began before a moment, as far as its record tells.
    pub(super) fn is_before(&self, run: &str, moment: Timestamp) -> bool {
        self.began(run).at.is_some_and(|at| at < moment)
    }

    /// Returns how a run began, as far as that can be read.
    fn began(&self, run: &str) -> Began {
        let (mut entries, mut began) = (self.entries(run), Began::default());
        for _ in 0..MAX_BEFORE_START {
            let Ok(Some(entry)) = entries.next_entry() else { break };
            began.at.get_or_insert(entry.record.at);
            if let Event::RunStarted { goes_on_from, .. } = entry.record.event {
                began.goes_on_from = goes_on_from;
                break;
            }
        }
        began
    }

    /// Reads the events of a run, one after the other.
    pub fn entries(&self, run: &str) -> Entries {
        Entries::of(Arc::clone(&self.lane), run)
    }

    /// Follows a run to its end.
    pub fn tail(&self, run: &str) -> Tail {
        Tail::of(Arc::clone(&self.lane), run)
    }

    /// Reads all of a run. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRecord`] where nothing of it can be read,
    /// [`HistoryError::LaterVersion`] and [`HistoryError::State`].
    pub fn run(&self, run: &str) -> Result<RunHistory, HistoryError> {
        let mut history = self.folded(run, &[])?;
        self.fill_in(&mut history);
        self.name_unmerged(std::iter::once(&mut history));
        match history.last {
            Some(_) => Ok(history),
            None => Err(nothing_of(&*self.lane, run, history.gaps.unreadable)),
        }
    }

    /// Fills in how the iterations began that a run ended for the run that it continues, as far as the record of that
    /// run has them. What cannot be read stays unknown.
    pub(super) fn fill_in(&self, history: &mut RunHistory) {
        let began_elsewhere = history.iterations.iter().filter(|iteration| !iteration.began_here());
        let numbers = began_elsewhere.map(|iteration| iteration.iteration).collect();
        let mut beginnings = self.beginnings_of(numbers, history.goes_on_from.clone());
        for iteration in history.iterations.iter_mut().filter(|iteration| !iteration.began_here()) {
            let Some((run, begun)) = beginnings.remove(&iteration.iteration) else { continue };
            (iteration.mode, iteration.task, iteration.title) = (begun.mode, begun.task, begun.title);
            (iteration.started_at, iteration.turns) = (begun.started_at, begun.turns);
            iteration.began_in = Some(run);
        }
    }

    /// Returns how iterations began that were cut off, by their numbers, each with its run. Looks for them in a run and
    /// in the runs that it continues, and reads each run once.
    fn beginnings_of(
        &self,
        mut numbers: BTreeSet<u32>,
        mut from: Option<String>,
    ) -> BTreeMap<u32, (String, IterationHistory)> {
        let mut found = BTreeMap::new();
        // A run that was cut off before it reported the end of an iteration does not have the iteration.
        for _ in 0..MAX_INTERRUPTED {
            let Some(run) = from.take().filter(|_| !numbers.is_empty()) else { break };
            let Ok(earlier) = self.folded(&run, BEGINNINGS) else { break };
            from = earlier.goes_on_from;
            for begun in earlier.iterations.into_iter().rev() {
                if numbers.remove(&begun.iteration) && begun.outcome.is_none() {
                    found.insert(begun.iteration, (run.clone(), begun));
                }
            }
        }
        found
    }

    /// Puts together what the events of a run tell that have one of some words.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRecord`] where no event of one is there that is not under way.
    pub(super) fn folded(
        &self,
        run: &str,
        wanted: &'static [&'static str],
    ) -> Result<RunHistory, HistoryError> {
        self.folded_with_size(run, wanted).map(|(history, _)| history)
    }

    /// Does the same, and returns how many bytes were read.
    ///
    /// # Errors
    /// Returns the errors of [`folded`](Self::folded).
    pub(super) fn folded_with_size(
        &self,
        run: &str,
        wanted: &'static [&'static str],
    ) -> Result<(RunHistory, u64), HistoryError> {
        let mut entries = self.entries(run).wanting(wanted);
        let mut fold = Fold::new(run);
        while let Some(entry) = entries.next_entry()? {
            fold.take(&entry);
        }
        let mut history = fold.end(entries.unreadable());
        if history.report.is_none() && is_under_way(&*self.lane, run)? {
            history.state = RunState::UnderWay;
        }
        self.check_there(run, &entries)?;
        Ok((history, entries.bytes()))
    }

    /// Makes sure that there are events of a run that were read to their end: its inputs alone may be there, by which it
    /// is listed. One that is under way may have told nothing yet.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRecord`] where there are none, and [`HistoryError::State`].
    pub(super) fn check_there(&self, run: &str, entries: &Entries) -> Result<(), HistoryError> {
        // Lines that are too long to be read are none of these bytes.
        let is_empty = entries.bytes() == 0 && entries.unreadable() == 0;
        match is_empty && !is_under_way(&*self.lane, run)? {
            true => Err(HistoryError::no_events(run, 0)),
            false => Ok(()),
        }
    }

    /// Feeds the recorded inputs of a run to a fresh machine, and compares what follows with what was recorded.
    /// Carries out nothing. Blocks.
    ///
    /// # Errors
    /// Returns [`HistoryError::NoRecord`] where no input is recorded, [`HistoryError::Replay`]
    /// where this version cannot replay it, and [`HistoryError::State`].
    pub fn replay(&self, run: &str) -> Result<Replay, HistoryError> {
        let (mut place, mut replaying) = (RecordPlace::default(), None::<Replaying>);
        loop {
            let chunk = self.lane.read_record(run, RecordPart::Inputs, place)?;
            if chunk.lines.is_empty() {
                break;
            }
            place = chunk.next;
            for line in chunk.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                match &mut replaying {
                    None => {
                        let begun = Replaying::begin(line);
                        replaying = Some(
                            begun.map_err(|source| HistoryError::Replay { run: run.to_owned(), source })?,
                        );
                    }
                    Some(replaying) => {
                        if !replaying.take(line) {
                            return Ok(replaying.clone().end(&BTreeSet::new()));
                        }
                    }
                }
            }
        }
        let (file, unreadable) = (RecordPart::Inputs.file_name(), 0);
        let nothing = || HistoryError::NoRecord { run: run.to_owned(), file, unreadable };
        let replaying = replaying.ok_or_else(nothing)?;
        let told = if replaying.has_lanes() { self.lanes_told(run) } else { BTreeSet::new() };
        let replay = replaying.end(&told);
        Ok(Replay { cut_short: replay.cut_off && self.has_ended(run), ..replay })
    }

    /// Says whether the events of a run tell its end, as far as they can be read.
    fn has_ended(&self, run: &str) -> bool {
        let mut entries = self.entries(run).wanting(&["run_finished"]);
        std::iter::from_fn(|| entries.next_entry().ok().flatten())
            .any(|entry| matches!(entry.record.event, Event::RunFinished(_)))
    }

    /// Returns the lanes of which a run tells that they began an iteration, as far as its events can be read.
    fn lanes_told(&self, run: &str) -> BTreeSet<u32> {
        let mut entries = self.entries(run).wanting(&["iteration_started"]);
        let mut lanes = BTreeSet::new();
        while let Ok(Some(entry)) = entries.next_entry() {
            lanes.extend(entry.record.lane);
        }
        lanes
    }
}

/// How a run began.
#[derive(Default)]
struct Began {
    /// When it told its first event.
    at: Option<Timestamp>,
    goes_on_from: Option<String>,
}

/// Returns where a run stands among those of one second: after the one that it goes on from, also where a clock
/// says the same of both, or was set back in between.
fn place<'a>(run: &'a str, began: &'a BTreeMap<String, Began>) -> (Option<Timestamp>, usize) {
    let earlier = |run: &&'a str| began.get(*run)?.goes_on_from.as_deref();
    // One of them may name itself.
    let chain: Vec<&str> = std::iter::successors(Some(run), earlier)
        .take_while(|run| began.contains_key(*run))
        .take(MAX_OF_A_SECOND)
        .collect();
    (chain.iter().filter_map(|run| began.get(*run)?.at).max(), chain.len())
}

/// Returns what an id says of the time.
fn second(run: &str) -> &str {
    run.split_once('-').map_or(run, |(second, _)| second)
}

/// Says whether the loop of a run is at work.
pub(super) fn is_under_way(lane: &dyn LaneStore, run: &str) -> Result<bool, HistoryError> {
    Ok(lane.loop_holder()?.is_some_and(|holder| holder.is_none_or(|holder| is_of(&holder, run))))
}

/// Returns the error of a run whose events, or so many lines of them, say nothing.
pub(super) fn nothing_of(lane: &dyn LaneStore, run: &str, unreadable: u64) -> HistoryError {
    match unreadable == 0 && is_under_way(lane, run).unwrap_or_default() {
        true => HistoryError::NothingYet { run: run.to_owned() },
        false => HistoryError::no_events(run, unreadable),
    }
}

/// Says whether the holder of a loop's lock works for a run.
fn is_of(holder: &Holder, run: &str) -> bool {
    run_of(holder) == Some(run)
}

/// Returns the run that the holder of a loop's lock works for.
fn run_of(holder: &Holder) -> Option<&str> {
    holder.doing.strip_prefix("run ")
}
