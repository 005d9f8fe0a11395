//! Why a task is next.

use super::{Why, WhyReason};
use crate::{
    history::{History, HistoryError},
    plan::TaskChoice,
    project::{NextStep, ProjectStanding},
    text::{counted, counted_are},
};

impl History {
    pub(super) fn why_next(&self) -> Result<Why, HistoryError> {
        let ProjectStanding { status, loaded, under_way } = self.project.standing()?;
        let choice = TaskChoice::among(&loaded.plan, &status.only.clone().into(), &under_way);
        let answer = match &status.next {
            NextStep::Task { task } => {
                let reason = choice.candidate(&task.id).map(|candidate| candidate.reason.clone());
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("{} {} is next{why}", task.id, task.title)
            }
            NextStep::Discovery => "a run looks for tasks next".to_owned(),
            NextStep::AllDone if loaded.plan.tasks.is_empty() => {
                "nothing is next: the plan has no tasks".to_owned()
            }
            NextStep::AllDone => "nothing is next: every task is completed or skipped".to_owned(),
            NextStep::UnderWay { tasks, .. } => {
                format!("nothing else can be started: {} under way", counted_are(*tasks, "task"))
            }
            NextStep::Blocked { reasons } => {
                format!("nothing is next: {} cannot be worked on", counted(reasons.len(), "task"))
            }
        };
        let others =
            choice.candidates.iter().filter(|candidate| choice.next.as_ref() != Some(&candidate.task));
        let mut reasons: Vec<WhyReason> = others
            .map(|candidate| WhyReason {
                details: vec![candidate.reason.clone()],
                ..WhyReason::new(format!("{} {}", candidate.task, candidate.title))
            })
            .collect();
        if let NextStep::Blocked { reasons: blocked } | NextStep::UnderWay { reasons: blocked, .. } =
            &status.next
            && reasons.is_empty()
        {
            reasons.extend(blocked.iter().map(WhyReason::new));
        }
        Ok(Why { remedies: status.remedies, ..Why::of("what is next".to_owned(), answer, reasons) })
    }
}
