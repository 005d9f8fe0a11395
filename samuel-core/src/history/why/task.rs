//! Why a task stands where it does.

use super::{Why, WhyReason};
use crate::{
    event::Event,
    history::{EntryFilter, History, HistoryError, LogEntry},
    model::{Status, Task, TaskId},
    plan::Choice,
    state::StateError,
};

/// How many events are told, the last ones.
const MAX_EVENTS: usize = 12;

impl History {
    pub(super) fn why_task(&self, id: &TaskId) -> Result<Why, HistoryError> {
        let loaded = match self.project.plan_store().load() {
            Ok(loaded) => Some(loaded),
            // The record tells of runs although the plan is gone.
            Err(StateError::NotInitialised { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let told = self.told_of(id)?;
        let about = format!("task {id}");
        let task = loaded.as_ref().and_then(|loaded| loaded.plan.task(id));
        if task.is_none() && told.is_empty() {
            return Err(match &loaded {
                Some(loaded) => StateError::no_task(&loaded.plan, id).into(),
                None => StateError::NotInitialised { path: self.project.run_dir().prd() }.into(),
            });
        }
        let taken_back = last_taken_back(&told);
        let answer = match (task, &loaded) {
            (Some(task), Some(loaded)) => {
                let choice = Choice::of(&loaded.plan, &self.project.status()?.only.into());
                let reason = choice.candidate(id).map(|candidate| candidate.reason.clone());
                standing(task, reason, taken_back)
            }
            _ => "it is not in the plan".to_owned(),
        };
        let mut reasons: Vec<WhyReason> = Vec::new();
        if let Some(entry) = taken_back {
            reasons.push(WhyReason::of(entry));
            reasons.extend(checks_behind(&told, entry));
        }
        let shown =
            reasons.iter().flat_map(|reason| &reason.events).map(|event| event.seq).collect::<Vec<_>>();
        let others = told.iter().rev().filter(|entry| tells(&entry.record.event));
        let others = others.filter(|entry| !shown.contains(&entry.record.seq)).take(MAX_EVENTS);
        reasons.extend(others.map(WhyReason::of));
        Ok(Why { about, answer, reasons })
    }

    /// Returns what the last run tells of a task that tells anything of it.
    fn told_of(&self, id: &TaskId) -> Result<Vec<LogEntry>, HistoryError> {
        let filter = EntryFilter { task: Some(id.clone()), ..EntryFilter::default() };
        for run in self.last_runs()? {
            let told = self.held(&run, |entry| filter.takes(entry) && matters(&entry.record.event))?;
            if !told.is_empty() {
                return Ok(told);
            }
        }
        Ok(Vec::new())
    }
}

/// Says in one line where a task stands.
fn standing(task: &Task, reason: Option<String>, taken_back: Option<&LogEntry>) -> String {
    let words = |why: Option<String>| why.map(|why| format!(": {why}")).unwrap_or_default();
    match task.status {
        Status::Completed => {
            let commit = task.commit_sha.as_ref().map(|sha| format!(", by commit {sha}")).unwrap_or_default();
            format!("it is completed{commit}")
        }
        Status::Skipped => format!("it is left out{}", words(task.skip_reason.clone())),
        Status::Blocked => format!("it is marked as blocked{}", words(task.skip_reason.clone())),
        Status::InProgress => format!("it is being worked on{}", words(reason)),
        Status::Pending => match taken_back {
            Some(_) => format!("it is open again, since its completion was taken back{}", words(reason)),
            None => format!("it is open{}", words(reason)),
        },
    }
}

/// Returns the event that took the last completion of the task back, where none came after it.
fn last_taken_back(told: &[LogEntry]) -> Option<&LogEntry> {
    let last = told.iter().rev().find(|entry| {
        matches!(entry.record.event, Event::TasksTakenBack { .. } | Event::TaskCompleted { .. })
    })?;
    matches!(last.record.event, Event::TasksTakenBack { .. }).then_some(last)
}

/// Returns the check that completions were taken back for, with what it printed: the last before.
fn checks_behind(told: &[LogEntry], taken_back: &LogEntry) -> Option<WhyReason> {
    let before = told.iter().rev().filter(|entry| entry.record.seq <= taken_back.record.seq);
    let checked = before.take_while(|entry| entry.iteration == taken_back.iteration);
    let failed = checked
        .into_iter()
        .find(|entry| matches!(entry.record.event, Event::QualityChecked { ok: false, .. }))?;
    let Event::QualityChecked { failures, .. } = &failed.record.event else { return None };
    let details = super::check::tails(failures);
    Some(WhyReason { details, ..WhyReason::of(failed) })
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
            | Event::TasksTakenBack { .. }
            | Event::PlanChanged { .. }
            | Event::QualityChecked { .. }
            | Event::AbilityBlocked { .. }
    )
}
