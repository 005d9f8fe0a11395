//! Changes of the plan that somebody else makes: the agent with its commands, or
//! a person at another terminal.
//!
//! Each is told, and is progress of the iteration that it falls into. What is no
//! longer completed because of it is counted no more.

use std::collections::HashSet;

use samuel_model::{Plan, Status, TaskId, payload::Actor};
use samuel_state::ProgressKind;
use serde::{Deserialize, Serialize};

use super::{CompletedBy, Core, Machine, Moment, Ruling, State, ruling};
use crate::event::{Event, PlanChange};

/// A change of the plan, as the journal tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChanged {
    /// What became of the task.
    pub change: PlanChange,
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// Why, as far as somebody said so.
    pub reason: Option<String>,
    /// Who says to have done it.
    pub actor: Actor,
    /// Whether agents of other workers are at work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others_at_work: bool,
    /// The number of its record in the journal; 0 if a worker reports its own change.
    #[serde(default)]
    pub seq: u64,
}

/// Why a task is open again that an edit skipped.
pub(super) const SKIPPED_BY_EDIT: &str = "an edit of prd.toon skipped it";

impl Core {
    pub(super) fn plan_changed(&mut self, state: &mut State, changed: PlanChanged) {
        let PlanChanged { change, task, title, reason, actor, others_at_work, .. } = changed;
        if change == PlanChange::Skipped && actor == Actor::External {
            let moment = if others_at_work { Moment::UnderWay } else { state.moment() };
            if self.refuses_skip_by_edit(moment) {
                return self.reopen(task, SKIPPED_BY_EDIT);
            }
        }
        // Nobody gets further by words that are changed again and again.
        if change != PlanChange::Changed
            && !change.is_of_queue()
            && let Some(iteration) = state.iteration_mut()
        {
            iteration.plan_changed = true;
            iteration.answered |= iteration.task_id().as_ref() == Some(&task);
        }
        if let Some(iteration) = state.iteration_mut() {
            match change {
                PlanChange::Added => iteration.found.push(task.clone()),
                PlanChange::Skipped | PlanChange::Removed => iteration.found.retain(|found| *found != task),
                _ => {}
            }
        }
        if change.moves() {
            self.forget_completion(state, &task);
        }
        if change.moves() || change == PlanChange::Removed {
            self.forget_use(&task);
        }
        if let Some(iteration) = state.iteration_mut().filter(|it| it.task_id().as_ref() == Some(&task)) {
            match change {
                PlanChange::Skipped | PlanChange::Blocked | PlanChange::Asked | PlanChange::Removed => {
                    iteration.left_alone = true
                }
                PlanChange::Reset | PlanChange::Answered | PlanChange::Reopened => {
                    iteration.left_alone = false
                }
                PlanChange::Added | PlanChange::Changed | PlanChange::Held | PlanChange::LetGo => {}
            }
        }
        let why = reason.as_deref().map_or(String::new(), |reason| format!(": {reason}"));
        let (kind, text) = match change {
            PlanChange::Skipped => (ProgressKind::Found, format!("skipped{why}")),
            PlanChange::Blocked => (ProgressKind::Found, format!("blocked{why}")),
            PlanChange::Asked => (ProgressKind::Found, format!("asked{why}")),
            PlanChange::Answered => (ProgressKind::Found, format!("answered{why}")),
            PlanChange::Reset => (ProgressKind::Found, format!("pending again{why}")),
            PlanChange::Added => (ProgressKind::Found, format!("added to the plan: {title}")),
            PlanChange::Reopened => (ProgressKind::Found, "no longer completed".to_owned()),
            PlanChange::Changed => (ProgressKind::Found, format!("changed in prd.toon: {title}")),
            PlanChange::Removed => (ProgressKind::Found, format!("removed from the plan: {title}")),
            PlanChange::Held => (ProgressKind::Found, format!("held back in the queue{why}")),
            PlanChange::LetGo => (ProgressKind::Found, "let go of in the queue".to_owned()),
        };
        self.log(kind, Some(task.clone()), text);
        self.emit(Event::PlanChanged { change, task, title, reason, actor });
    }

    /// Returns whether a task is reopened that an edit of prd.toon skipped at a moment.
    pub(super) fn refuses_skip_by_edit(&self, moment: Moment) -> bool {
        let ruling = ruling(moment, Actor::External, CompletedBy::Edit, self.setup.completes);
        matches!(ruling, Ruling::Refused(_))
    }

    /// Stops work on a task that is not the lane's any more.
    pub(super) fn unclaimed(&mut self, state: &mut State) {
        let is_invoking = state.is_invoking();
        let Some(iteration) = state.iteration_mut() else { return };
        (iteration.left_alone, iteration.unclaimed) = (true, true);
        (iteration.plan_changed, iteration.answered) = (true, true);
        let task = iteration.task_id();
        if is_invoking {
            self.interrupt();
        }
        self.log(
            ProgressKind::Found,
            task,
            "somebody settled it or gave it back; its agent is stopped".to_owned(),
        );
    }

    /// Counts a task no longer as completed, or as one that nobody recorded.
    fn forget_completion(&mut self, state: &mut State, task: &TaskId) {
        self.counters.unrecorded.retain(|id| id != task);
        self.retain_completions(state, |id| id != task);
    }

    /// Counts some tasks no longer as completed.
    fn retain_completions(&mut self, state: &mut State, stays: impl Fn(&TaskId) -> bool) {
        self.counters.completed.retain(&stays);
        self.checks.unchecked_outside.retain(&stays);
        self.checks.doubtful.retain(&stays);
        self.checks.of_others.retain(&stays);
        if let Some(iteration) = state.iteration_mut() {
            for list in [&mut iteration.unchecked, &mut iteration.checking, &mut iteration.checked] {
                list.retain(&stays);
            }
        }
    }
}

impl Machine {
    /// Counts tasks no longer as completed that are open again, since somebody changed
    /// the plan while no loop was there to hear of it.
    pub fn forget_completions(&mut self, plan: &Plan) {
        let open = plan.tasks.iter().filter(|task| task.status != Status::Completed);
        let open: HashSet<&TaskId> = open.map(|task| &task.id).collect();
        self.core.retain_completions(&mut self.state, |id| !open.contains(id));
    }
}
