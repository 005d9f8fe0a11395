//! The prompt context of an iteration, filled from the plan.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    fire::Place,
    frozen::Frozen,
    run::Run,
    services::{Contexts, Services},
};
use crate::{
    context::{CompletedTask, ContextView, FailedCheck, PromptContext, StateVars, TaskGroup, TaskVars},
    git::Repository,
    hook::{HookPoint, Registry},
    methodology::ralph::SourcePrd,
    model::{
        Plan, Status, TaskCounts, TaskId,
        payload::{CheckFailure, HookResults, Mode, TaskBrief},
    },
    project::Project,
    state::Artifact,
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
            let base = Arc::new(contexts.base(&known.plan, &known.source_prd, &known.last_failures, &of));
            contexts.view = if same_iteration { contexts.view.rebase(base) } else { ContextView::new(base) };
            contexts.of = of;
        });
    }

    /// Puts the plan's present state into the context.
    pub(super) fn refresh(&self) {
        let known = self.known(|known| known.clone());
        self.contexts(|contexts| {
            let of = contexts.of.clone();
            let base = Arc::new(contexts.base(&known.plan, &known.source_prd, &known.last_failures, &of));
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
        Contexts {
            view: ContextView::new(Arc::new(frozen.clone())),
            frozen,
            lasting: BTreeMap::new(),
            suggestions: Vec::new(),
            of: (0, Mode::Implementation, None),
        }
    }
}

impl Contexts {
    /// Returns the project's root.
    pub(super) fn root(&self) -> &Path {
        Path::new(&self.frozen.project.root)
    }

    pub(super) fn base(
        &self,
        plan: &Plan,
        source_prd: &str,
        failures: &[CheckFailure],
        (iteration, mode, task): &(u32, Mode, Option<TaskId>),
    ) -> PromptContext {
        let mut base = self.frozen.clone();
        if !plan.project.name.is_empty() {
            base.project.name.clone_from(&plan.project.name);
        }
        base.project.description.clone_from(&plan.project.description);
        source_prd.clone_into(&mut base.paths.source_prd);
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

/// Returns the path of the PRD that prompts may name; empty where there is none. Blocks.
pub(super) fn source_prd(root: &Path, plan: &Plan) -> String {
    SourcePrd::path_in(root, plan).map(|path| path.display().to_string()).unwrap_or_default()
}

/// Returns the branch that a project is on; nothing where that cannot be told.
fn branch(project: &Project) -> Option<String> {
    Repository::open(project.root(), project.caller()).ok()??.branch()
}

/// Fills the part of the prompt context that does not change during a run.
fn frozen_context(frozen: &Frozen, registry: &Registry) -> PromptContext {
    let settings = &frozen.settings;
    let mut context = PromptContext::default();
    context.samuel.version = env!("CARGO_PKG_VERSION").to_owned();
    context.samuel.binary.clone_from(&frozen.binary);
    context.project.name = frozen.project.name();
    context.project.root = frozen.project.root().display().to_string();
    context.project.branch = branch(&frozen.project).unwrap_or_default();
    context.methodology.name = frozen.project.methodology().to_owned();
    context.methodology.source = frozen.project.methodology_source().to_owned();
    context.iteration.max = settings.max_iterations.map(NonZeroU32::get);
    context.config = settings.vars(frozen.agent.name());
    context.guardrails = frozen.project.config().guardrails.clone();
    let dir = &frozen.run_dir;
    let show = |path: PathBuf| path.display().to_string();
    context.paths.samuel_dir = show(frozen.project.root().join(".samuel"));
    context.paths.run_dir = show(dir.path().to_owned());
    context.paths.prd_file = show(dir.prd());
    context.paths.progress_file = show(dir.progress());
    context.paths.task_context_file = show(dir.artifact(Artifact::TaskContext));
    context.paths.progress_context_file = show(dir.artifact(Artifact::ProgressContext));
    context.paths.snapshot_file = show(dir.artifact(Artifact::ProjectSnapshot));
    let agents_md = frozen.project.root().join("AGENTS.md");
    if agents_md.is_file() {
        context.paths.agents_md = show(agents_md);
    }
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
