//! Why a task is next.

use super::{Why, WhyReason};
use crate::{
    history::{History, HistoryError},
    plan::TaskChoice,
    project::NextStep,
    text::counted,
};

impl History {
    pub(super) fn why_next(&self) -> Result<Why, HistoryError> {
        let status = self.project.status()?;
        let plan = self.project.plan_store().load()?.plan;
        let choice = TaskChoice::of(&plan, &status.only.clone().into());
        let answer = match &status.next {
            NextStep::Task { task } => {
                let reason = choice.candidate(&task.id).map(|candidate| candidate.reason.clone());
                let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                format!("{} {} is next{why}", task.id, task.title)
            }
            NextStep::Discovery => "a run looks for tasks next".to_owned(),
            NextStep::AllDone => "nothing is next: every task is completed or skipped".to_owned(),
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
        if let NextStep::Blocked { reasons: blocked } = &status.next
            && reasons.is_empty()
        {
            reasons.extend(blocked.iter().map(WhyReason::new));
        }
        Ok(Why::of("what is next".to_owned(), answer, reasons))
    }
}
