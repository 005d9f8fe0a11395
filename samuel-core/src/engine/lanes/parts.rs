//! What each lane and the queue have in the place of what the run has, and how they begin.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc};

use tokio::sync::mpsc;

use super::{
    lane::Lane, notes::LaneNotes, open::OpenedLanes, queue::QueueDriver, shared::Lanes, view::LaneView,
};
use crate::{
    agent::{AgentConfig, Agents, MutationRoute, StoreSink},
    engine::{
        driver::Driver, error::RunError, follow::Follower, run::Run, services::Services, work_tree::WorkTree,
    },
    hook::{HookPoint, Registry},
    machine::{Input, Machine},
    model::Plan,
    state::{LaneStore, LoopLock, PlanStore, StateError},
    workspace::LaneClone,
};

/// What one lane has in the place of what the run has.
pub(in crate::engine) struct LaneParts {
    pub(in crate::engine) lane: Option<Arc<Lane>>,
    pub(in crate::engine) store: Arc<dyn PlanStore>,
    pub(in crate::engine) notes: Arc<dyn LaneStore>,
    pub(in crate::engine) registry: Registry,
    pub(in crate::engine) agents: Agents,
    pub(in crate::engine) work_tree: WorkTree,
    /// The file that says what the progress log in the clone begins with.
    pub(in crate::engine) shown_log: PathBuf,
}

/// What all machines of a run begin with.
pub(in crate::engine) struct Followers {
    pub(in crate::engine) lanes: Vec<LaneParts>,
    queue: (LaneParts, Arc<LaneClone>),
    pub(in crate::engine) machine: Machine,
    pub(in crate::engine) batch: NonZeroUsize,
    pub(in crate::engine) commands: Vec<String>,
    pub(in crate::engine) shared: Arc<Lanes>,
}

impl Run {
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
            let store = Arc::clone(&view) as Arc<dyn PlanStore>;
            let lane = Lane::new(number, Arc::clone(&shared), view, Arc::clone(&tree));
            lanes.push(self.parts(store, &tree, Some(lane)).await?);
        }
        let store = Arc::clone(&shared.setup.store);
        let of_queue = self.parts(store, &queue, None).await?;
        let leader = lanes.remove(0);
        let followers = Followers {
            lanes,
            queue: (of_queue, queue),
            machine,
            batch: self.batch(),
            commands: self.check_commands(),
            shared,
        };
        Ok((leader, followers))
    }

    pub(super) async fn parts(
        &self,
        store: Arc<dyn PlanStore>,
        tree: &LaneClone,
        lane: Option<Arc<Lane>>,
    ) -> Result<LaneParts, RunError> {
        let (frozen, directory) = (&self.frozen, tree.work_dir());
        let leads = lane.as_ref().is_some_and(|lane| lane.leads());
        let notes: Arc<dyn LaneStore> = Arc::new(LaneNotes::new(Arc::clone(&frozen.lane), leads));
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
            run_dir: match &lane {
                Some(lane) => kit.run_dir.of_worker(lane.number),
                None => kit.run_dir,
            },
            agents: agents.clone(),
            sandboxes: frozen.sandboxes.in_workspace(&tree.top()),
            store: Arc::clone(&store),
            lane: Arc::clone(&notes),
            ..kit
        };
        frozen.project.base().register(kit, &mut handlers);
        let registry = frozen.project.registry::<RunError>(handlers, HookPoint::ALL)?;
        let repository = self.repository(directory.clone()).await?.ok().flatten();
        let work_tree = WorkTree::new(directory, repository);
        Ok(LaneParts { lane, store, notes, registry, agents, work_tree, shown_log: tree.shown_log() })
    }

    /// Returns how many submissions the queue merges and checks together, at most.
    pub(super) fn batch(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.frozen.settings.parallel.batch as usize).unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns the commands of the checks, as their point is told.
    pub(super) fn check_commands(&self) -> Vec<String> {
        self.frozen.settings.quality_checks.iter().map(|check| check.command.clone()).collect()
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
            let mut machine = self.machine.clone();
            machine.set_lane(lane.number);
            let driver = driver(Arc::clone(&services), follower, machine, receiver);
            let shared = Arc::clone(&self.shared);
            let task = tokio::spawn(async move {
                // One that breaks leaves a claim that others would wait for.
                let ended = tokio::spawn(driver.run(Input::Start)).await;
                let report = ended.unwrap_or_else(|error| {
                    shared.fails(format!("lane {} broke: {error}", lane.number).into());
                    None
                });
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
