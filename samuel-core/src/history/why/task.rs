//! Why a task stands where it does.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Held, PassedOver, Why, WhyReason, damaged};
use crate::{
    event::{Event, PlanChange},
    history::{EntryFilter, History, HistoryError, LogEntry, UnreadRun, fold::event_ref, runs::is_under_way},
    machine::{BEFORE_CHECK, WITHOUT_CHECK},
    model::{ClaimPhase, Mark, Question, Status, Task, TaskId},
    plan::TaskChoice,
    project::ProjectStanding,
    state::{Actor, JournalEntry, LoadedPlan, Mutation, StateError},
};

/// How many events are told, the last ones.
const MAX_EVENTS: usize = 12;
/// How long the line of a check can be that is kept beside them, in bytes: of each lane one is.
const MAX_CHECK_BYTES: usize = 1 << 20;

impl History {
    pub(super) fn why_task(&self, id: &TaskId) -> Result<Why, HistoryError> {
        let standing = match self.project.standing() {
            Ok(standing) => Some(standing),
            // The record tells of runs although the plan is gone.
            Err(StateError::NotInitialised { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let filter = EntryFilter { task: Some(id.clone()), ..EntryFilter::default() };
        let about = format!("task {id}");
        let loaded = standing.as_ref().map(|standing| &standing.loaded);
        let task = loaded.and_then(|loaded| loaded.plan.task(id));
        // A plan that was replaced may have had another task of this name.
        let since = task.and_then(|_| self.plan_since());
        let (told, unread) = self.told_of(&filter, since)?;
        if task.is_none() && told.is_empty() {
            return Err(match loaded {
                Some(loaded) => StateError::no_task(&loaded.plan, id).into(),
                None => StateError::NotInitialised { path: self.project.run_dir().prd() }.into(),
            });
        }
        let (taken_back, mut remedies) = (last_taken_back(&told, id), Vec::new());
        let answer = match (task, &standing) {
            (Some(task), Some(ProjectStanding { status, loaded, under_way })) => {
                let choice = TaskChoice::among(&loaded.plan, &status.only.clone().into(), under_way);
                let reason = choice.candidate(id).map(|candidate| candidate.reason.clone());
                let claim = loaded.plan.live_claim(id);
                remedies.extend(claim.and_then(|claim| under_way.remedy(claim)));
                match claim.filter(|claim| claim.phase.is_in_queue()).and(reason.clone()) {
                    Some(reason) => format!("its work is done: {reason}"),
                    None => stands(task, reason, taken_back, status.running),
                }
            }
            (_, plan) => {
                let place = if plan.is_some() { "it is not in the plan" } else { "there is no plan here" };
                let back = taken_back.map(|_| ", and its completion was taken back").unwrap_or_default();
                format!("{place}{back}")
            }
        };
        let mut reasons: Vec<WhyReason> = self.in_the_way(loaded, id)?.into_iter().collect();
        reasons.extend(task.and_then(|task| self.said_done(task)));
        reasons.extend(task.and_then(Task::open_question).map(|question| asked(question, id, &told)));
        if let Some(entry) = taken_back {
            reasons.push(WhyReason::of(entry));
            reasons.extend(behind(&told, entry));
        }
        let events = reasons.iter().flat_map(|reason| &reason.events);
        let shown: Vec<u64> = events.map(|event| event.seq).collect();
        let others = told.iter().rev().filter(|entry| filter.takes(entry) && tells(&entry.record.event));
        let others = others.filter(|entry| !shown.contains(&entry.record.seq)).take(MAX_EVENTS);
        reasons.extend(others.map(WhyReason::of));
        Ok(Why { unread, remedies, ..Why::of(about, answer, reasons) })
    }

    /// Says who completed a task, where a person did: no event names them, and the plan's journal does.
    fn said_done(&self, task: &Task) -> Option<WhyReason> {
        if task.status != Status::Completed {
            return None;
        }
        let journal = self.project.plan_store().journal_since(0).ok()?;
        let last = journal.records.into_iter().rev().find_map(|record| match record.entry {
            JournalEntry::Mutation { mutation: Mutation::Done { id, .. }, actor, by, .. }
                if id == task.id =>
            {
                Some((record.at, actor, by))
            }
            // What has landed since nobody else has completed.
            JournalEntry::Mutation { mutation: Mutation::Landing { claims, .. }, actor, .. }
                if claims.iter().any(|claim| claim.task == task.id) =>
            {
                Some((record.at, actor, None))
            }
            _ => None,
        });
        let (at, _, by) = last.filter(|(_, actor, _)| *actor == Actor::User)?;
        let by = by.map(|by| format!(", {by}")).unwrap_or_default();
        Some(WhyReason::new(format!("a person said that it is done, at {at:.0}{by}")))
    }

    /// Returns what is in the way of all landings, as the run at work told it last, where the task waits for one.
    fn in_the_way(
        &self,
        loaded: Option<&LoadedPlan>,
        id: &TaskId,
    ) -> Result<Option<WhyReason>, HistoryError> {
        let claim = loaded.and_then(|loaded| loaded.plan.live_claim(id));
        let waits = claim.is_some_and(|claim| claim.phase == ClaimPhase::Submitted);
        let Some(run) = self.recorded()?.pop().filter(|_| waits) else { return Ok(None) };
        if !is_under_way(&*self.lane, &run)? {
            return Ok(None);
        }
        let is_of_landing = |entry: &LogEntry| {
            matches!(entry.record.event, Event::LandingHeld { .. } | Event::TaskLanded { .. })
        };
        let (told, _) = self.held(&run, is_of_landing)?;
        let last = told.last().filter(|entry| matches!(entry.record.event, Event::LandingHeld { .. }));
        Ok(last.map(WhyReason::of))
    }

    /// Returns what the last run tells of a task that tells anything of it, with its beginning, and with the
    /// checks before completions of it were taken back: these may be of an iteration for another task. The
    /// plan tells where a task stands, also where no record can be read. Runs that began before a moment tell nothing.
    fn told_of(
        &self,
        filter: &EntryFilter,
        since: Option<Timestamp>,
    ) -> Result<(Vec<LogEntry>, Vec<UnreadRun>), HistoryError> {
        let mut passed_over = PassedOver::default();
        for run in self.last_runs()? {
            if since.is_some_and(|since| self.is_before(&run, since)) {
                break;
            }
            let told = self.told_by(&run, filter);
            let Some((told, damage)) = passed_over.read(&run, told) else { continue };
            passed_over.damaged.extend(damage);
            if !told.is_empty() {
                return Ok((told, passed_over.all()));
            }
        }
        Ok((Vec::new(), passed_over.all()))
    }

    /// Returns what a run tells of a task, nothing where it tells no more than its own beginning; and whether lines of
    /// its record cannot be read.
    fn told_by(
        &self,
        run: &str,
        filter: &EntryFilter,
    ) -> Result<(Vec<LogEntry>, Option<UnreadRun>), HistoryError> {
        let (mut entries, mut told) = (self.entries(run), Held::default());
        // The last check of each lane, with the length of its line.
        let mut checks: BTreeMap<Option<u32>, (LogEntry, usize)> = BTreeMap::new();
        let mut is_told = false;
        while let Some(entry) = entries.next_entry()? {
            let (event, is_of_task) = (&entry.record.event, filter.takes(&entry));
            let (lane, bytes) = (entry.record.lane, entries.line_bytes());
            if is_of_task
                && matches!(event, Event::TasksTakenBack { .. })
                && let Some((check, bytes)) = checks.remove(&lane)
            {
                told.push(check, bytes);
            }
            if began(event) || is_of_task && matters(event) {
                is_told |= is_of_task;
                told.push(entry, bytes);
            } else if matches!(event, Event::QualityChecked { .. }) {
                checks.remove(&lane);
                if bytes <= MAX_CHECK_BYTES {
                    checks.insert(lane, (entry, bytes));
                }
            }
        }
        self.check_there(run, &entries)?;
        let told = if is_told { told.into_entries() } else { Vec::new() };
        Ok((told, damaged(run, entries.unreadable())))
    }
}

/// Says in one line where a task stands.
fn stands(task: &Task, reason: Option<String>, taken_back: Option<&LogEntry>, is_running: bool) -> String {
    let words = |why: Option<String>| why.map(|why| format!(": {why}")).unwrap_or_default();
    match task.status {
        Status::Completed => {
            let commit = task.commit_sha.as_ref().map(|sha| format!(", by commit {sha}")).unwrap_or_default();
            let marks = Mark::told_of(&task.marks).map(|marks| format!(" {marks}")).unwrap_or_default();
            format!("it is completed{marks}{commit}")
        }
        Status::Skipped => format!("it is left out{}", words(task.skip_reason.clone())),
        Status::Blocked => match task.open_question() {
            Some(question) => format!("it waits for an answer: {}", question.line()),
            None => format!("it is marked as blocked{}", words(task.skip_reason.clone())),
        },
        Status::InProgress if is_running => format!("it is being worked on{}", words(reason)),
        Status::InProgress => format!("it was begun, and no loop is at work{}", words(reason)),
        Status::Pending if task.answered_question().is_some() => {
            format!("it is open, and its next prompt has the answer to its question{}", words(reason))
        }
        Status::Pending => match taken_back {
            Some(_) => format!("it is open again, since its completion was taken back{}", words(reason)),
            None => format!("it is open{}", words(reason)),
        },
    }
}

/// Returns the event that took the last completion of the task back, where none came after it.
fn last_taken_back<'a>(told: &'a [LogEntry], id: &TaskId) -> Option<&'a LogEntry> {
    let last = told.iter().rev().find(|entry| match &entry.record.event {
        Event::TasksTakenBack { tasks, .. } => tasks.contains(id),
        Event::TaskCompleted { task, .. } => task == id,
        _ => false,
    })?;
    matches!(last.record.event, Event::TasksTakenBack { .. }).then_some(last)
}

/// Returns what is asked about the task, with the answers that are proposed, and the event that says so
/// where there is one.
fn asked(question: &Question, id: &TaskId, told: &[LogEntry]) -> WhyReason {
    let is_asked = |entry: &&LogEntry| match &entry.record.event {
        Event::PlanChanged { change: PlanChange::Asked, task, .. } => task == id,
        _ => false,
    };
    let event = told.iter().rev().find(is_asked).map(|entry| event_ref(&entry.record));
    let details = question.options.iter().map(|option| format!("proposed: {option}")).collect();
    let events = event.into_iter().collect();
    WhyReason { details, events, ..WhyReason::new(format!("asked: {}", question.line())) }
}

/// Returns what completions were taken back for, beside the reasons themselves: the check with what it
/// printed, or how the run began that goes on from the one that was interrupted.
fn behind(told: &[LogEntry], taken_back: &LogEntry) -> Option<WhyReason> {
    let Event::TasksTakenBack { reasons, .. } = &taken_back.record.event else { return None };
    if reasons.iter().any(|reason| reason == BEFORE_CHECK) {
        return told.iter().rev().find(|entry| began(&entry.record.event)).map(WhyReason::of);
    }
    // A check of the same iteration may have failed before; it is not why.
    if reasons.iter().any(|reason| reason == WITHOUT_CHECK) {
        return None;
    }
    let taken = &taken_back.record;
    let is_before = |entry: &&LogEntry| entry.record.seq <= taken.seq && entry.record.lane == taken.lane;
    let before = told.iter().rev().filter(is_before);
    let checked = before.take_while(|entry| entry.iteration == taken_back.iteration);
    let failed = checked
        .into_iter()
        .find(|entry| matches!(entry.record.event, Event::QualityChecked { ok: false, .. }))?;
    let Event::QualityChecked { failures, .. } = &failed.record.event else { return None };
    let details = super::check::tails(failures);
    Some(WhyReason { details, ..WhyReason::of(failed) })
}

/// Says whether an event is the beginning of a run.
fn began(event: &Event) -> bool {
    matches!(event, Event::RunStarted { .. })
}

/// Says whether an event is kept to answer from.
fn matters(event: &Event) -> bool {
    !matches!(event, Event::Agent { .. } | Event::HookFired { .. } | Event::Lagged { .. })
}

/// Says whether an event is told by itself.
fn tells(event: &Event) -> bool {
    matches!(
        event,
        Event::IterationStarted { .. }
            | Event::IterationFinished { .. }
            | Event::TaskCompleted { .. }
            | Event::TaskClaimed { .. }
            | Event::TaskSubmitted { .. }
            | Event::TaskLanded { .. }
            | Event::TaskReturned { .. }
            | Event::TasksTakenBack { .. }
            | Event::PlanChanged { .. }
            | Event::QualityChecked { .. }
            | Event::AbilityBlocked { .. }
            | Event::RequestRefused { .. }
            | Event::Commanded { .. }
            | Event::ApprovalAsked { .. }
            | Event::ApprovalGiven { .. }
    )
}
