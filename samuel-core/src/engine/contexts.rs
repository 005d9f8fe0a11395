//! The prompt context of an iteration, filled from the plan.

use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc};

use super::{
    fire::Place,
    frozen::Frozen,
    run::Run,
    services::{Contexts, Services},
    turn_place::TurnPlace,
};
use crate::{
    context::{CompletedTask, ContextView, FailedCheck, PromptContext, StateVars, TaskGroup, TaskVars},
    hook::{HookPoint, Registry},
    model::{
        Plan, Status, TaskCounts, TaskId,
        payload::{CheckFailure, HookResults, Mode, TaskBrief},
    },
};

/// How many completions a prompt names.
const RECENT: usize = 5;

impl Services {
    /// Makes sure that the context is the one of an iteration; contributions
    /// of an earlier iteration are gone then, those made outside stay.
    pub(super) fn enter(&self, place: &Place, task: Option<TaskBrief>) {
        let of = (place.iteration, place.mode, task.map(|task| TaskId::new(task.id)));
        let known = self.known(|known| known.clone());
        self.contexts(|contexts| {
            if contexts.of == of {
                return;
            }
            let same_iteration = contexts.of.0 == of.0;
            let base = Arc::new(contexts.base(&known.plan, &known.last_failures, &of));
            contexts.view = if same_iteration { contexts.view.rebase(base) } else { ContextView::new(base) };
            contexts.of = of;
        });
    }

    /// Puts the plan's present state into the context.
    pub(super) fn refresh(&self) {
        let known = self.known(|known| known.clone());
        self.contexts(|contexts| {
            let of = contexts.of.clone();
            let base = Arc::new(contexts.base(&known.plan, &known.last_failures, &of));
            contexts.view = contexts.view.rebase(base);
        });
    }

    /// Takes over what the handlers of a point contributed.
    pub(super) fn contributed(&self, view: &ContextView, in_iteration: bool) {
        self.contexts(|contexts| {
            // Most handlers contribute nothing, and then nothing is copied.
            if contexts.view.has_same_contributions(view) {
                return;
            }
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

impl Run {
    /// Creates the prompt context as it is before the first iteration.
    pub(super) fn contexts(&self) -> Contexts {
        let mut frozen = frozen_context(&self.frozen, &self.registry);
        frozen.project.detected = self.languages.get().cloned().unwrap_or_default();
        let at = TurnPlace::of_project(&self.frozen.project, &self.frozen.run_dir, &Plan::default());
        at.name_in(&mut frozen);
        Contexts {
            view: ContextView::new(Arc::new(frozen.clone())),
            frozen,
            at,
            lasting: BTreeMap::new(),
            suggestions: Vec::new(),
            of: (0, Mode::Implementation, None),
        }
    }
}

impl Contexts {
    /// Returns the context at a place, which is the one of the context from then on.
    pub(super) fn placed(&mut self, at: TurnPlace) -> ContextView {
        if self.at != at {
            let mut base = self.view.base().clone();
            at.name_in(&mut base);
            self.view = self.view.rebase(Arc::new(base));
            self.at = at;
        }
        self.view.clone()
    }

    pub(super) fn base(
        &self,
        plan: &Plan,
        failures: &[CheckFailure],
        (iteration, mode, task): &(u32, Mode, Option<TaskId>),
    ) -> PromptContext {
        let mut base = self.frozen.clone();
        self.at.name_in(&mut base);
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

/// Fills the part of the prompt context that does not change during a run, without its places.
fn frozen_context(frozen: &Frozen, registry: &Registry) -> PromptContext {
    let settings = &frozen.settings;
    let mut context = PromptContext::default();
    context.samuel.version = env!("CARGO_PKG_VERSION").to_owned();
    context.samuel.binary.clone_from(&frozen.binary);
    context.project.name = frozen.project.name();
    context.methodology.name = frozen.project.methodology().to_owned();
    context.methodology.source = frozen.project.methodology_source().to_owned();
    context.iteration.max = settings.max_iterations.map(NonZeroU32::get);
    context.config = settings.vars(frozen.agent.name());
    context.guardrails = frozen.project.config().guardrails.clone();
    context.mode.is_pilot = settings.pilot.enabled;
    context.mode.focus.clone_from(&settings.pilot.focus);
    context.mode.max_new_tasks = settings.pilot.max_discovery_tasks;
    for point in HookPoint::ALL {
        let ids: Vec<String> = registry.handlers(*point).map(|(id, ..)| id.to_owned()).collect();
        if !ids.is_empty() {
            context.hooks.registered.insert(point.to_string(), ids);
        }
    }
    context
}

fn state_vars(plan: &Plan, failures: &[CheckFailure], task: Option<&TaskId>) -> StateVars {
    let family = task.and_then(|id| plan.family(id));
    let counts = TaskCounts::of(plan);
    let mut completed: Vec<_> = plan.tasks.iter().filter(|task| task.status == Status::Completed).collect();
    completed.sort_by_key(|task| std::cmp::Reverse(task.completed_at));
    StateVars {
        total_tasks: counts.total as u64,
        pending_tasks: counts.pending as u64,
        completed_tasks: counts.completed as u64,
        in_progress_tasks: counts.in_progress as u64,
        blocked_tasks: counts.blocked as u64,
        skipped_tasks: counts.skipped as u64,
        next_task: task.and_then(|id| plan.task(id)).map(TaskVars::from),
        parent: family.as_ref().map(TaskGroup::from),
        siblings: family.iter().flat_map(|family| &family.siblings).map(|task| (*task).into()).collect(),
        recent_completed: completed.into_iter().take(RECENT).map(CompletedTask::from).collect(),
        last_failures: failures.iter().map(FailedCheck::from).collect(),
        suggestions: Vec::new(),
    }
}
