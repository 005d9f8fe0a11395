//! The prompt context of an iteration, filled from the plan.

use std::sync::{Arc, atomic::Ordering};

use super::{
    fire::Place,
    services::{Contexts, Services},
};
use crate::{
    context::{CompletedTask, ContextView, FailedCheck, PromptContext, StateVars, TaskVars},
    model::{
        Plan, Status, TaskId,
        payload::{CheckFailure, HookResults, Mode, TaskBrief},
    },
};

/// How many completions a prompt names.
const RECENT: usize = 5;

impl Services {
    /// Makes sure that the context is the one of an iteration; contributions
    /// of an earlier iteration are gone then, those made outside stay.
    pub(super) fn enter(&self, place: &Place, task: Option<TaskBrief>) {
        self.iteration.store(place.iteration, Ordering::Relaxed);
        let of = (place.iteration, place.mode, task.as_ref().map(|task| TaskId::new(task.id.clone())));
        let (plan, failures) = self.workbench.with(|desk| {
            desk.task = task;
            (Arc::clone(&desk.plan), desk.last_failures.clone())
        });
        self.contexts(|contexts| {
            if contexts.of == of {
                return;
            }
            let same_iteration = contexts.of.0 == of.0;
            let base = Arc::new(contexts.base(&plan, &failures, &of));
            contexts.view = if same_iteration { contexts.view.rebase(base) } else { ContextView::new(base) };
            contexts.of = of;
        });
    }

    /// Puts the plan's present state into the context.
    pub(super) fn refresh(&self) {
        let (plan, failures) =
            self.workbench.with(|desk| (Arc::clone(&desk.plan), desk.last_failures.clone()));
        self.contexts(|contexts| {
            let of = contexts.of.clone();
            let base = Arc::new(contexts.base(&plan, &failures, &of));
            contexts.view = contexts.view.rebase(base);
        });
    }

    /// Takes over what the handlers of a point contributed.
    pub(super) fn contributed(&self, view: &ContextView, in_iteration: bool) {
        self.contexts(|contexts| {
            for (namespace, data) in view.plugins() {
                contexts.view.contribute(namespace, data.clone());
                if !in_iteration {
                    contexts.lasting.entry(namespace.clone()).or_default().extend(data.clone());
                }
            }
        });
    }

    /// Keeps what repository hooks suggest, for the prompt.
    pub(super) fn suggested(&self, results: &HookResults) {
        let abilities = results.suggested_abilities.iter().map(Into::into);
        let documents = results.suggested_documents.iter().map(Into::into);
        let suggestions: Vec<_> = abilities.chain(documents).collect();
        if suggestions.is_empty() {
            return;
        }
        self.contexts(|contexts| contexts.suggestions = suggestions);
        self.refresh();
    }
}

impl Contexts {
    pub(super) fn base(
        &self,
        plan: &Plan,
        failures: &[CheckFailure],
        (iteration, mode, task): &(u32, Mode, Option<TaskId>),
    ) -> PromptContext {
        let mut base = self.frozen.clone();
        if !plan.project.name.is_empty() {
            base.project.name.clone_from(&plan.project.name);
        }
        base.project.description.clone_from(&plan.project.description);
        base.iteration.number = *iteration;
        base.iteration.kind = *mode;
        base.iteration.task_id = task.as_ref().map(ToString::to_string).unwrap_or_default();
        base.iteration.last_discovery_at =
            plan.progress.last_discovery_at.map(|at| at.to_string()).unwrap_or_default();
        base.mode.is_discovery = *mode == Mode::Discovery;
        base.state = state_vars(plan, failures, task.as_ref());
        base.state.suggestions.clone_from(&self.suggestions);
        base.plugins = self.lasting.clone();
        base
    }
}

fn state_vars(plan: &Plan, failures: &[CheckFailure], task: Option<&TaskId>) -> StateVars {
    let count = |status| plan.count(status) as u64;
    let mut completed: Vec<_> = plan.tasks.iter().filter(|task| task.status == Status::Completed).collect();
    completed.sort_by_key(|task| std::cmp::Reverse(task.completed_at));
    StateVars {
        total_tasks: plan.tasks.len() as u64,
        pending_tasks: count(Status::Pending),
        completed_tasks: count(Status::Completed),
        in_progress_tasks: count(Status::InProgress),
        blocked_tasks: count(Status::Blocked),
        skipped_tasks: count(Status::Skipped),
        next_task: task.and_then(|id| plan.task(id)).map(TaskVars::from),
        recent_completed: completed.into_iter().take(RECENT).map(CompletedTask::from).collect(),
        last_failures: failures.iter().map(FailedCheck::from).collect(),
        suggestions: Vec::new(),
    }
}
