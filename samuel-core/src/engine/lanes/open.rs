//! Getting the lanes of a run ready, and putting in order what a run left that was cut off.
//!
//! A run has lanes where `parallel.jobs` is more than 1. Before anything is started it is seen whether
//! the project is what lanes can work on. Then what an earlier run's lanes were at is kept and released,
//! while what they had submitted stays, to be landed without its agents.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::sync::mpsc;

use super::{
    claiming::{branch_of, rescue_of},
    error::LanesError,
    lane::Lane,
    notes::LaneNotes,
    queue::QueueDriver,
    shared::{Lanes, LanesSetup},
    view::LaneView,
};
use crate::{
    agent::{AgentConfig, Agents, MutationRoute, StoreSink},
    config::MAX_JOBS,
    engine::{
        begin::Begin,
        driver::Driver,
        error::{RunError, blocking},
        follow::Follower,
        in_clone::OfRun,
        run::Run,
        services::Services,
        work_tree::WorkTree,
    },
    environment::check_env,
    git::Repository,
    hook::{HookPoint, Registry},
    machine::{Input, Machine},
    merge::{MergeRepository, MergeStrategy, RepositorySetup},
    model::{Claim, ClaimPhase, ClaimTarget, Location, Plan, ReleaseReason},
    sandbox::HOST,
    sched::{Overlap, SharedBooks, SharedCaps},
    state::{Actor, LaneStore, LoopLock, Mutation, PlanStore, RunDir, StateError},
    text::counted,
    workspace::{
        KnownBranch, Making, WorkspaceError, WorkspaceKind, Worktree, WorktreeSetup, is_within, know_branch,
        known_branch,
    },
};

/// Where the lanes of a project work, below the directory of its workspaces.
const DIRECTORY: &str = "lanes";
/// The note of which branch the run made.
const NOTE: &str = "lanes.json";

/// The lanes of a run, before they begin.
pub(in crate::engine) struct OpenedLanes {
    pub(in crate::engine) shared: Arc<Lanes>,
    trees: Vec<Arc<Worktree>>,
    queue: Arc<Worktree>,
    /// What people should know.
    pub(in crate::engine) told: Vec<String>,
}

/// What one lane has in the place of what the run has.
pub(in crate::engine) struct LaneParts {
    pub(in crate::engine) lane: Option<Arc<Lane>>,
    pub(in crate::engine) store: Arc<dyn PlanStore>,
    pub(in crate::engine) notes: Arc<dyn LaneStore>,
    pub(in crate::engine) registry: Registry,
    pub(in crate::engine) agents: Agents,
    pub(in crate::engine) run_dir: RunDir,
    pub(in crate::engine) work_tree: WorkTree,
}

/// What all machines of a run begin with.
pub(in crate::engine) struct Followers {
    pub(in crate::engine) lanes: Vec<LaneParts>,
    queue: (LaneParts, Arc<Worktree>),
    pub(in crate::engine) machine: Machine,
    pub(in crate::engine) batch: NonZeroUsize,
    pub(in crate::engine) commands: Vec<String>,
    pub(in crate::engine) shared: Arc<Lanes>,
}

impl Run {
    /// Sees whether the run can have the lanes that it is to have.
    ///
    /// # Errors
    /// Returns the [`LanesError`] that says why not.
    pub(in crate::engine) fn check_lanes(&self) -> Result<(), LanesError> {
        let frozen = &self.frozen;
        let parallel = &frozen.settings.parallel;
        if !(1..=MAX_JOBS).contains(&parallel.jobs) {
            return Err(LanesError::Jobs { jobs: parallel.jobs, most: MAX_JOBS });
        }
        if parallel.jobs == 1 {
            return match parallel.into.as_str() {
                "" => Ok(()),
                into => Err(LanesError::IntoAlone { into: into.to_owned() }),
            };
        }
        let apart = |what, help| Err(LanesError::Apart { what, help });
        if frozen.settings.sandbox != HOST {
            return apart("a sandbox", "Leave out --sandbox, or work with one lane.");
        }
        if frozen.workspace != WorkspaceKind::InPlace {
            return apart("a clone", "Leave out `workspace` below [sandbox], or work with one lane.");
        }
        if frozen.settings.pilot.enabled || frozen.discovers_only {
            return apart("looking for tasks", "Look for tasks with one lane, then start with several.");
        }
        if !frozen.settings.ask_timeout.is_zero() {
            return apart(
                "tool calls that wait for a person",
                "Leave out `ask_timeout`, so that such calls are denied at once, or work with one lane.",
            );
        }
        if let Some(path) = parallel.copy.iter().find(|path| !is_within(path)) {
            let key = format!("methodology.{}.parallel.copy", frozen.project.methodology());
            let location = frozen.project.config().origin(&key).map(Location::from);
            return Err(LanesError::Copy { path: path.clone(), location });
        }
        Ok(())
    }

    /// Gets the lanes ready, where the run is to have some.
    pub(in crate::engine) async fn open_lanes(&self, begin: &Begin) -> Result<Option<OpenedLanes>, RunError> {
        self.check_lanes()?;
        let frozen = &self.frozen;
        let parallel = &frozen.settings.parallel;
        if parallel.jobs == 1 {
            return Ok(None);
        }
        let root = frozen.project.root().to_owned();
        let unfit = |problem: &str, help: &str| LanesError::Unfit {
            root: root.clone(),
            problem: problem.to_owned(),
            help: help.to_owned(),
        };
        let state_dir = frozen.project.state_dir().filter(|_| !frozen.project.is_in_memory());
        let state_dir = state_dir.ok_or_else(|| {
            unfit(
                "no directory outside of the project is known for their work trees",
                "Set HOME or XDG_STATE_HOME.",
            )
        })?;
        let directory = WorkspaceKind::directory_of(state_dir, &root).join(DIRECTORY);
        let (looked_at, caller) = (root.clone(), frozen.project.caller().clone());
        let head = blocking(move || {
            let repository = Repository::open(&looked_at, &caller)?;
            repository.map(|repository| repository.head()).transpose()
        });
        let head = head.await?.map_err(WorkspaceError::from)?;
        let commit = match head.map(|head| head.commit()) {
            None => {
                return Err(
                    unfit("it is in no git repository", "Run `git init` and make a first commit.").into()
                );
            }
            Some(None) => return Err(unfit("it has no commit yet", "Make a first commit.").into()),
            Some(Some(commit)) => commit.to_string(),
        };
        let strategy: MergeStrategy = parallel.merge.parse().unwrap_or_default();
        let repository = MergeRepository::open(RepositorySetup {
            root: root.clone(),
            directory: directory.clone(),
            caller: frozen.project.caller().clone(),
            env: frozen.env.clone(),
            supervisor: frozen.supervisor.clone(),
            strategy,
            control: Arc::new(OfRun(Arc::clone(&self.control_files))),
        });
        let repository = repository.await.map_err(of_lanes)?;
        let mut told = Vec::new();
        let plan = &begin.loaded.plan;
        let into = self.into(&repository, plan, &directory, &commit, &mut told).await?;
        let making = Making::default();
        let tree = |name: String| self.worktree(directory.join(name));
        self.put_in_order(plan, &repository, &into, &tree, &making, &mut told).await?;
        let mut trees = Vec::new();
        for number in 1..=parallel.jobs {
            let opened = Worktree::open(tree(format!("lane-{number}")), &making).await.map_err(of_lanes)?;
            trees.push(Arc::new(opened));
        }
        let queue = Arc::new(Worktree::open(tree("queue".to_owned()), &making).await.map_err(of_lanes)?);
        check_space(&root, trees.iter().chain([&queue]), &commit).await?;
        let settings = &frozen.settings;
        let caps = SharedCaps {
            iterations: settings.max_iterations.map(std::num::NonZeroU32::get),
            cost_usd: settings.session_budget.max_cost_usd,
            tokens: settings.session_budget.max_tokens,
            // The driver of each lane looks at the clock.
            time: None,
            // A row is as long in each lane as it would be in a single loop.
            consecutive_failures: Some(settings.max_consecutive_failures.saturating_mul(parallel.jobs)),
        };
        let iterations = begin.machine.iteration_number();
        let shared = Lanes::new(LanesSetup {
            jobs: parallel.jobs,
            run: Arc::clone(&frozen.run_id),
            into,
            strategy,
            overlap: parallel.overlap.parse::<Overlap>().unwrap_or_default(),
            scope: begin.machine.scope().clone(),
            max_attempts: settings.task_budget.max_attempts,
            store: Arc::clone(&frozen.store),
            repository,
            books: SharedBooks::new(caps).going_on(iterations, begin.machine.usage()),
            iterations,
        });
        shared.has_trees(trees.iter().chain([&queue]).cloned().collect());
        Ok(Some(OpenedLanes { shared, trees, queue, told }))
    }

    fn worktree(&self, tree: PathBuf) -> WorktreeSetup {
        let frozen = &self.frozen;
        let parallel = &frozen.settings.parallel;
        WorktreeSetup {
            root: frozen.project.root().to_owned(),
            tree,
            caller: frozen.project.caller().clone(),
            env: frozen.env.clone(),
            supervisor: frozen.supervisor.clone(),
            copy: parallel.copy.clone(),
            setup: parallel.setup.iter().map(|line| (line.command.clone(), line.timeout)).collect(),
            setup_env: check_env(&frozen.env, Vec::new()),
        }
    }

    /// Decides which branch work lands on, and makes one where none is named.
    async fn into(
        &self,
        repository: &MergeRepository,
        plan: &Plan,
        directory: &Path,
        commit: &str,
        told: &mut Vec<String>,
    ) -> Result<String, RunError> {
        let into = &self.frozen.settings.parallel.into;
        if !into.is_empty() {
            let problem = match repository.head(into).await {
                Ok(Some(_)) => return Ok(into.clone()),
                Ok(None) if repository.is_tag(into).await => "it is a tag, which does not move",
                Ok(None) => "there is no such branch",
                Err(_) => "no branch can have that name",
            };
            let help = format!(
                "Name a branch that is there; `git branch {into}` would make one of what is checked out."
            );
            return Err(LanesError::Into { into: into.clone(), problem: problem.to_owned(), help }.into());
        }
        let note = directory.join(NOTE);
        let made_at = plan.project.created_at;
        let waits = plan
            .claims
            .iter()
            .any(|claim| matches!(claim.phase, ClaimPhase::Submitted | ClaimPhase::Landing));
        if let Some(known) = known_branch(&note).filter(|known| known.made_at == made_at)
            && let Some(head) = repository.head(&known.into).await.map_err(of_lanes)?
            && (waits || head == commit || !repository.has(commit, &head).await)
        {
            if head != commit {
                told.push(format!("goes on with {}, which is not in what is checked out yet", known.into));
            }
            return Ok(known.into);
        }
        let into = format!("samuel/{}/result", self.frozen.run_id);
        repository.make_branch(&into, commit).await.map_err(of_lanes)?;
        know_branch(&note, &KnownBranch { made_at, into: into.clone() })?;
        Ok(into)
    }

    /// Keeps what lanes of an earlier run were at, and releases it. Nobody else works here: this loop has the
    /// lock.
    async fn put_in_order(
        &self,
        plan: &Plan,
        repository: &MergeRepository,
        into: &str,
        tree: &impl Fn(String) -> WorktreeSetup,
        making: &Making,
        told: &mut Vec<String>,
    ) -> Result<(), RunError> {
        for claim in plan.claims.iter().filter(|claim| claim.is_live()) {
            let Some(worker) = claim.worker.as_deref() else { continue };
            let Some((run, part)) = worker.rsplit_once('/') else { continue };
            let kept = match (&claim.task, claim.phase) {
                (ClaimTarget::Role(_), _) if part == "queue" => None,
                (ClaimTarget::Task(task), ClaimPhase::Working) if part.starts_with("lane-") => {
                    let branch = branch_of(run, task, claim.token);
                    let setup = tree(part.to_owned());
                    let rescued = match setup.tree.is_dir() {
                        true => {
                            let worktree = Worktree::open(setup, making).await.map_err(of_lanes)?;
                            worktree.rescue(&rescue_of(&branch)).await.map_err(of_lanes)?
                        }
                        false => None,
                    };
                    match rescued {
                        Some(kept) => Some(kept),
                        None => repository.is_beyond(&branch, into).await.then_some(branch),
                    }
                }
                _ => continue,
            };
            self.release(claim, kept.clone()).await?;
            if let Some(task) = claim.task.task() {
                let kept = kept.map_or_else(String::new, |kept| format!("; its work is kept as {kept}"));
                told.push(format!(
                    "task {task} was being worked on when Samuel ended, and is free again{kept}"
                ));
            }
        }
        Ok(())
    }

    async fn release(&self, claim: &Claim, kept: Option<String>) -> Result<(), RunError> {
        let (store, task, token) = (Arc::clone(&self.frozen.store), claim.task.clone(), claim.token);
        let release = Mutation::Release { task, token, reason: ReleaseReason::Lost, kept };
        match blocking(move || store.mutate(release, Actor::Runtime)).await? {
            Ok(_) | Err(StateError::ClaimVoid { .. } | StateError::ClaimPhase { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the parts of each lane: of the leader, of the others, and of the queue.
    pub(in crate::engine) async fn lane_parts(
        &self,
        opened: OpenedLanes,
        machine: Machine,
    ) -> Result<(LaneParts, Followers), RunError> {
        let OpenedLanes { shared, trees, queue, .. } = opened;
        let mut lanes = Vec::new();
        for (number, tree) in (1..).zip(trees) {
            let leads = number == 1;
            let view = Arc::new(LaneView::new(&shared, leads));
            let (store, directory): (Arc<dyn PlanStore>, _) = (Arc::clone(&view) as _, tree.work_dir());
            let lane = Lane::new(number, Arc::clone(&shared), view, tree);
            lanes.push(self.parts(number, store, directory, Some(lane)).await?);
        }
        let (store, directory) = (Arc::clone(&shared.store), queue.work_dir());
        let number = self.frozen.settings.parallel.jobs.saturating_add(1);
        let of_queue = self.parts(number, store, directory, None).await?;
        let settings = &self.frozen.settings;
        let leader = lanes.remove(0);
        let followers = Followers {
            lanes,
            queue: (of_queue, queue),
            machine,
            batch: NonZeroUsize::new(settings.parallel.batch as usize).unwrap_or(NonZeroUsize::MIN),
            commands: settings.quality_checks.iter().map(|check| check.command.clone()).collect(),
            shared,
        };
        Ok((leader, followers))
    }

    async fn parts(
        &self,
        number: u32,
        store: Arc<dyn PlanStore>,
        directory: PathBuf,
        lane: Option<Arc<Lane>>,
    ) -> Result<LaneParts, RunError> {
        let frozen = &self.frozen;
        let run_dir = frozen.run_dir.of_lane(number);
        let leads = lane.as_ref().is_some_and(|lane| lane.leads());
        let notes: Arc<dyn LaneStore> =
            Arc::new(LaneNotes::new(Arc::clone(&frozen.lane), run_dir.clone(), leads));
        let sink = |config: &AgentConfig| AgentConfig {
            mutations: match &config.mutations {
                MutationRoute::Sink(_) => MutationRoute::Sink(Arc::new(StoreSink(Arc::clone(&store)))),
                route => route.clone(),
            },
            ..config.clone()
        };
        let built_from = frozen.built_from.as_ref().map(&sink);
        let agent = match &built_from {
            Some(config) => crate::agent::build(config, frozen.supervisor.clone())?,
            None => Arc::clone(&frozen.agent),
        };
        let agents =
            Agents::new(agent, sink(&frozen.others), frozen.supervisor.clone()).built_from(built_from);
        let (mut handlers, kit) = self.base.clone();
        let kit = crate::methodology::Kit {
            work_dir: directory.clone(),
            run_dir: run_dir.clone(),
            agents: agents.clone(),
            store: Arc::clone(&store),
            lane: Arc::clone(&notes),
            ..kit
        };
        frozen.project.base().register(kit, &mut handlers);
        let registry = frozen.project.registry::<RunError>(handlers, HookPoint::ALL)?;
        let repository = self.repository(directory.clone()).await?.ok().flatten();
        let work_tree = WorkTree::new(directory, repository);
        Ok(LaneParts { lane, store, notes, registry, agents, run_dir, work_tree })
    }
}

impl Followers {
    /// Begins the other lanes and the queue, beside the leader.
    pub(in crate::engine) async fn begin(
        self,
        leader: &Arc<Services>,
        lock: &Arc<dyn LoopLock>,
        driver: impl Fn(Arc<Services>, Arc<Follower>, Machine, mpsc::UnboundedReceiver<Input>) -> Driver,
        seq: u64,
        plan: &Arc<Plan>,
    ) -> Result<(), StateError> {
        for parts in self.lanes {
            let Some(lane) = parts.lane.clone() else { continue };
            let (inputs, receiver) = mpsc::unbounded_channel();
            let services = Arc::new(leader.of_lane(parts, inputs.clone()));
            services.blocking(|services| services.work_tree.begin_run(None)).await?;
            let follower = Follower::new(Arc::clone(&services), Arc::downgrade(lock), seq, Arc::clone(plan));
            let driver = driver(Arc::clone(&services), follower, self.machine.clone(), receiver);
            let task = tokio::spawn(async move {
                let report = driver.run(Input::Start).await;
                lane.end(&services).await;
                report
            });
            self.shared.began(task, inputs);
        }
        let (parts, tree) = self.queue;
        let (inputs, _) = mpsc::unbounded_channel();
        let services = Arc::new(leader.of_lane(parts, inputs));
        let (shared, batch, commands) = (Arc::clone(&self.shared), self.batch, self.commands);
        let queue = QueueDriver { shared: Arc::clone(&shared), services, tree, batch, commands };
        shared.began_queue(tokio::spawn(queue.run()));
        Ok(())
    }
}

/// Sees whether there is room for the files of all work trees that have none yet.
async fn check_space(
    root: &Path,
    trees: impl Iterator<Item = &Arc<Worktree>>,
    commit: &str,
) -> Result<(), RunError> {
    let new: Vec<&Arc<Worktree>> = trees.filter(|tree| !tree.has_files()).collect();
    let Some(first) = new.first() else { return Ok(()) };
    let Some(size) = first.size_of(commit).await? else { return Ok(()) };
    let (needed, free) = (size.saturating_mul(new.len() as u64), first.free()?);
    if needed <= free {
        return Ok(());
    }
    let in_mb = |bytes: u64| bytes.div_ceil(1 << 20);
    let problem = format!(
        "{} of {} MB each do not fit into the {} MB that are free below its state directory",
        counted(new.len(), "work tree"),
        in_mb(size),
        in_mb(free)
    );
    let help = "Work with fewer lanes, or make room.".to_owned();
    Err(LanesError::Unfit { root: root.to_owned(), problem, help }.into())
}

/// Words for lanes what keeps a project from having a workspace.
fn of_lanes(error: WorkspaceError) -> RunError {
    match error {
        WorkspaceError::Unfit { root, problem, help } => {
            let (help, _) = help.split_once(", or work in place").unwrap_or((&help, ""));
            let help = format!("{}. Or work with one lane.", help.trim_end_matches('.'));
            LanesError::Unfit { root, problem, help }.into()
        }
        error => error.into(),
    }
}
