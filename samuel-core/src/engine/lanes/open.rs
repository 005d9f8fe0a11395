//! Getting the lanes of a run ready, and the queue that lands what they make.
//!
//! A run has lanes where `parallel.jobs` is more than 1. Before anything is started it is seen whether the project is
//! what lanes can work on (`check`), which branch work lands on (`into`), and what an earlier run left (`left_over`).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::task::JoinSet;

use super::{
    check::{no_room, of_lanes},
    error::LanesError,
    kept::KeptBooks,
    lost::merged_onto,
    shared::{Lanes, LanesSetup},
};
use crate::{
    engine::{
        begin::Begin,
        error::{RunError, blocking},
        in_clone::{OfLanes, OfRun},
        run::Run,
    },
    git::{Caller, Repository},
    machine::Input,
    merge::{MergeRepository, MergeStrategy, RepositorySetup, is_hash},
    model::{Plan, Scope, Status, Task, TaskId, Usage},
    sandbox::Sandboxes,
    sched::{SharedBooks, SharedCaps},
    state::{Begun, StateError},
    workspace::{
        LaneClone, Preparation, SHALLOW_COPIED, WorkspaceError, WorkspaceKind, WorkspaceLimits,
        WorkspaceSetup, note_project,
    },
};

/// What the clone of the queue is called.
const QUEUE: &str = "queue";

/// The lanes of a run, before they begin.
pub(in crate::engine) struct OpenedLanes {
    pub(in crate::engine) shared: Arc<Lanes>,
    pub(super) trees: Vec<Arc<LaneClone>>,
    pub(super) queue: Arc<LaneClone>,
    /// What people should know.
    pub(in crate::engine) told: Vec<String>,
}

impl Run {
    /// Gets the lanes ready, where the run is to have some.
    pub(in crate::engine) async fn open_lanes(&self, begin: &Begin) -> Result<Option<OpenedLanes>, RunError> {
        self.check_lanes()?;
        match self.frozen.settings.parallel.jobs {
            1 => Ok(None),
            jobs => {
                let settings = &self.frozen.settings;
                let caps = SharedCaps {
                    iterations: settings.max_iterations.map(std::num::NonZeroU32::get),
                    cost_usd: settings.session_budget.max_cost_usd,
                    tokens: settings.session_budget.max_tokens,
                    // The driver of each lane looks at the clock.
                    time: None,
                    // A row is as long in each lane as it would be in a single loop.
                    consecutive_failures: Some(settings.max_consecutive_failures.saturating_mul(jobs)),
                };
                let begun = begin.begun.unwrap_or_else(|| {
                    let last = begin.machine.iteration_number();
                    Begun { last, count: last, total: 0 }
                });
                // Of a run that has not begun yet only what other runs have counted is known.
                let total = begun.total.max(begin.loaded.plan.progress.total_iterations_run);
                let begun = Begun { total, ..begun };
                // What the open iteration consumed is added once its books are closed.
                let is_committed = matches!(begin.first, Input::Resume { committed: true, .. });
                let open = if is_committed { Usage::default() } else { begin.machine.uncommitted() };
                let consumed = begin.machine.usage().beyond(&open);
                let books = SharedBooks::new(caps).going_on(begun.count, consumed);
                let (plan, scope) = (&begin.loaded.plan, begin.machine.scope().clone());
                let opened = self.open_trees(jobs, plan, scope, books, begun).await?;
                match &begin.books {
                    Some(kept) => opened.shared.go_on_with(kept),
                    None => opened.shared.go_on_with(&KeptBooks::of_one_loop(&begin.machine)),
                }
                self.tell_of_merged(&opened.shared, begin).await?;
                Ok(Some(opened))
            }
        }
    }

    /// Gets the clones of so many lanes ready, and that of the queue; with none, what it takes to land.
    pub(super) async fn open_trees(
        &self,
        jobs: u32,
        plan: &Plan,
        scope: Scope,
        books: SharedBooks,
        begun: Begun,
    ) -> Result<OpenedLanes, RunError> {
        let frozen = &self.frozen;
        let root = frozen.project.root().to_owned();
        let directory = self.lanes_directory()?;
        self.note_clones().await?;
        let commit = self.head_of_project().await?;
        let repository = self.open_repository(&directory).await?;
        self.check_copied(&repository, &[&commit]).await?;
        let names: Vec<String> = (1..=jobs).map(|number| format!("lane-{number}")).collect();
        let new = names.iter().map(String::as_str).chain([QUEUE]);
        let is_new = |name: &&str| !LaneClone::has_files(&LaneClone::directory_in(&directory, name));
        let new = new.filter(is_new).count();
        let copies = repository.size_of_copies().await?;
        let size = repository.size_of(&commit).await?;
        if let Some(size) = size.map(|size| size.saturating_add(copies.unwrap_or_default()))
            && let Some(problem) = no_room(new, size, repository.free()?)
        {
            let help = "Work with fewer lanes, or make room.".to_owned();
            return Err(LanesError::Unfit { root, problem, help }.into());
        }
        let mut told: Vec<String> = copies.map(|_| SHALLOW_COPIED.to_owned()).into_iter().collect();
        told.extend(self.gone_branch(plan).await?);
        let into = self.into(&repository, plan, &directory, &commit, jobs, &mut told).await?;
        let head = repository.head(&into).await.map_err(of_lanes)?.unwrap_or_else(|| commit.clone());
        if head != commit {
            self.check_copied(&repository, &[&head]).await?;
        }
        self.put_in_order(plan, &repository, &head, &directory, &mut told).await?;
        let mut trees = Vec::new();
        for name in &names {
            trees.push(self.open_lane(&directory, name, &commit).await?);
        }
        let queue = self.open_lane(&directory, QUEUE, &commit).await?;
        self.set_up(trees.iter().chain([&queue]), &head, &mut told).await?;
        let shared = Lanes::new(self.lanes_setup(jobs, into, head, scope, repository), books, begun);
        let store = Arc::clone(&frozen.store);
        let into = shared.setup.into.clone();
        let merged = blocking(move || {
            Ok::<_, StateError>(merged_onto(BTreeMap::new(), &store.journal_since(0)?.records, &into))
        });
        shared.has_merged(merged.await??);
        shared.has_trees(trees.iter().chain([&queue]).cloned().collect());
        Ok(OpenedLanes { shared, trees, queue, told })
    }

    /// Lets the lanes know which completed work is on the branch: what the last checkpoint has in place of what the
    /// journal says, and commits that the branch got in another way, as from the branch of an earlier run.
    async fn tell_of_merged(&self, shared: &Lanes, begin: &Begin) -> Result<(), RunError> {
        let setup = &shared.setup;
        if let Some(last) = begin.on_branch.as_ref().filter(|last| last.branch == setup.into) {
            shared.has_merged(last.commits.clone());
            // On a branch that a person rewrote before, not all commits are there as they were merged.
            let head: Vec<String> = last.head.iter().cloned().collect();
            if !setup.repository.on_branch(&setup.began_at, &head).await?.is_empty() {
                shared.is_verified_at(setup.began_at.clone());
            }
        }
        let merged = shared.on_branch().commits;
        let completed = begin.loaded.plan.tasks.iter().filter(|task| task.status == Status::Completed);
        let commit =
            |task: &Task| Some((task.id.clone(), task.commit_sha.clone().filter(|sha| is_hash(sha))?));
        let others: Vec<(TaskId, String)> =
            completed.filter_map(commit).filter(|(task, _)| !merged.contains_key(task)).collect();
        let commits: Vec<String> = others.iter().map(|(_, commit)| commit.clone()).collect();
        let there = setup.repository.on_branch(&setup.began_at, &commits).await?;
        shared.has_also_merged(others.into_iter().filter(|(_, commit)| there.contains(commit)));
        Ok(())
    }

    /// Describes the repository in which a run without workers looks for completed work, if one can be used.
    pub(in crate::engine) fn repository_to_watch(&self) -> Option<RepositorySetup> {
        let is_alone = self.frozen.settings.parallel.jobs <= 1;
        self.lanes_directory().ok().filter(|_| is_alone).map(|directory| self.repository_setup(&directory))
    }

    /// Gets the clone of the queue ready, to check a merge into a branch that is at a commit.
    pub(super) async fn open_queue(
        &self,
        directory: &Path,
        into: &str,
        head: &str,
    ) -> Result<OpenedLanes, RunError> {
        self.note_clones().await?;
        let repository = self.open_repository(directory).await?;
        let queue = self.open_lane(directory, QUEUE, head).await?;
        let mut told = Vec::new();
        self.set_up([&queue].into_iter(), head, &mut told).await?;
        let setup = self.lanes_setup(0, into.to_owned(), head.to_owned(), Scope::All, repository);
        let shared = Lanes::new(setup, SharedBooks::default(), Begun::default());
        Ok(OpenedLanes { shared, trees: Vec::new(), queue, told })
    }

    /// Notes beside the clones which project they are of.
    async fn note_clones(&self) -> Result<(), RunError> {
        let project = &self.frozen.project;
        let Some(state_dir) = project.state_dir().map(Path::to_owned) else { return Ok(()) };
        let root = project.root().to_owned();
        blocking(move || note_project(&state_dir, &root)).await?.map_err(of_lanes)
    }

    fn lanes_setup(
        &self,
        jobs: u32,
        into: String,
        began_at: String,
        scope: Scope,
        repository: MergeRepository,
    ) -> LanesSetup {
        let frozen = &self.frozen;
        LanesSetup {
            jobs,
            run: Arc::clone(&frozen.run_id),
            into,
            began_at,
            strategy: self.strategy(),
            overlap: frozen.settings.parallel.overlap.parse().unwrap_or_default(),
            scope,
            max_attempts: frozen.settings.task_budget.max_attempts,
            completes: frozen.completes(),
            store: Arc::clone(&frozen.store),
            repository,
            looker: self.looker(),
        }
    }

    async fn open_lane(
        &self,
        directory: &Path,
        name: &str,
        commit: &str,
    ) -> Result<Arc<LaneClone>, RunError> {
        let (setup, key) = self.lane_clone(directory, name);
        Ok(Arc::new(LaneClone::open(setup, key, commit).await.map_err(of_lanes)?))
    }

    /// Runs the commands of the setup in all clones at once, where they were not run yet: one that fails is told
    /// before an agent starts or a task is claimed. Whoever gives up waiting stops them.
    async fn set_up(
        &self,
        trees: impl Iterator<Item = &Arc<LaneClone>>,
        commit: &str,
        told: &mut Vec<String>,
    ) -> Result<(), RunError> {
        let mut at_work = JoinSet::new();
        for tree in trees {
            let (tree, commit) = (Arc::clone(tree), commit.to_owned());
            at_work.spawn(async move { (tree.prepare(&commit).await, tree.take_told()) });
        }
        while let Some(done) = at_work.join_next().await {
            let (prepared, more) = done.map_err(|error| RunError::Broken { message: error.to_string() })?;
            told.extend(more);
            prepared.map_err(of_lanes)?;
        }
        Ok(())
    }

    /// Opens the repository that work lands in.
    pub(super) async fn open_repository(&self, directory: &Path) -> Result<MergeRepository, RunError> {
        let repository = MergeRepository::open(self.repository_setup(directory));
        repository.await.map_err(of_lanes)
    }

    fn repository_setup(&self, directory: &Path) -> RepositorySetup {
        let frozen = &self.frozen;
        RepositorySetup {
            root: frozen.project.root().to_owned(),
            directory: directory.to_owned(),
            caller: frozen.project.caller().clone(),
            env: frozen.env.clone(),
            supervisor: frozen.supervisor.clone(),
            strategy: self.strategy(),
            control: self.control_of_lanes(),
        }
    }

    fn control_of_lanes(&self) -> Arc<OfLanes> {
        let (of_run, copied) = (OfRun(Arc::clone(&self.control_files)), self.copied());
        Arc::new(OfLanes { of_run, copied })
    }

    fn strategy(&self) -> MergeStrategy {
        self.frozen.settings.parallel.merge.parse().unwrap_or_default()
    }

    /// Returns the directory that has the clones of lanes.
    pub(super) fn lanes_directory(&self) -> Result<PathBuf, LanesError> {
        let project = &self.frozen.project;
        let state_dir = project.state_dir().filter(|_| !project.is_in_memory());
        let state_dir = state_dir.ok_or_else(|| {
            unfit(
                project.root(),
                "no directory outside of the project is known for their clones",
                "Set HOME or XDG_STATE_HOME.",
            )
        })?;
        Ok(WorkspaceKind::lanes_directory_of(state_dir, project.root()))
    }

    /// Returns the commit that is checked out in the project.
    pub(super) async fn head_of_project(&self) -> Result<String, RunError> {
        let (root, caller) = (self.frozen.project.root().to_owned(), self.frozen.project.caller().clone());
        blocking(move || checked_out(&root, &caller)).await?
    }

    /// Describes the clone in which a lane works, or the queue checks, and returns what tells it apart from others.
    pub(super) fn lane_clone(&self, lanes: &Path, name: &str) -> (WorkspaceSetup, String) {
        let (frozen, directory) = (&self.frozen, LaneClone::directory_in(lanes, name));
        let root = frozen.project.root().to_owned();
        let key = format!("{}-{name}", WorkspaceKind::key_of(&root));
        let sandboxes = frozen.sandboxes.in_workspace(&LaneClone::tree_in(&directory));
        let setup = WorkspaceSetup {
            root,
            directory,
            caller: frozen.project.caller().clone(),
            env: frozen.env.clone(),
            supervisor: frozen.supervisor.clone(),
            // What is kept of it has the name of a branch.
            run: String::new(),
            limits: WorkspaceLimits::default(),
            preparation: self.preparation(&sandboxes),
            control: self.control_of_lanes(),
            on_step: None,
        };
        (setup, key)
    }

    /// Returns what a workspace gets beside the files of a commit. Commands run in one of some sandboxes.
    pub(in crate::engine) fn preparation(&self, sandboxes: &Sandboxes) -> Preparation {
        let settings = &self.frozen.settings;
        let setup = settings.parallel.setup.iter().map(|line| (line.command.clone(), line.timeout));
        let mut preparation = Preparation {
            copy: settings.parallel.copy.clone(),
            setup: setup.collect(),
            setup_env: self.frozen.env.clone(),
            ..Preparation::default()
        };
        if let Ok(sandbox) = sandboxes.named(&settings.sandbox) {
            preparation.sandbox = sandbox;
        }
        preparation
    }
}

/// Returns the commit that is checked out in a project. Blocks.
pub(super) fn checked_out(root: &Path, caller: &Caller) -> Result<String, RunError> {
    let repository = Repository::open(root, caller).map_err(WorkspaceError::from)?;
    let head = repository.map(|repository| repository.head()).transpose().map_err(WorkspaceError::from)?;
    match head.map(|head| head.commit()) {
        None => {
            Err(unfit(root, "it is in no git repository", "Run `git init` and make a first commit.").into())
        }
        Some(None) => Err(unfit(root, "it has no commit yet", "Make a first commit.").into()),
        Some(Some(commit)) => Ok(commit.to_string()),
    }
}

fn unfit(root: &Path, problem: &str, help: &str) -> LanesError {
    LanesError::Unfit { root: root.to_owned(), problem: problem.to_owned(), help: help.to_owned() }
}
