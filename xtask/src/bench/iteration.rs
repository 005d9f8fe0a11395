//! What an iteration costs beside the work of the agent.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest},
    engine::{Event, Run, RunReport, TrustPolicy},
    model::{ExitReason, payload::AgentInvokeOutput},
    project::Project,
    state::{Actor, Mutation, StateStore},
};

use super::{
    fixture,
    gate::{Gate, milliseconds},
    measure::{durable_write, in_turns, median, output},
};

const FILES: usize = 300;
const ITERATIONS: usize = 20;
const RUNS: usize = 3;
const PROBES: usize = 15;

/// Measures runs of an agent that only marks its task as done, beside what any
/// loop does: look at the work tree and store one state.
pub(super) fn measure() -> Result<Gate> {
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    fixture::repository(root.path(), FILES)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut overheads, mut calls) = (Vec::new(), Vec::new());
    let (mut statuses, mut writes) = (Vec::new(), Vec::new());
    for round in 0..=RUNS {
        let (project, store) = fixture::planned(root.path(), ITERATIONS)?;
        let plan = std::fs::read(project.run_dir().prd())?;
        let [status, write] = probes(root.path(), &plan)?;
        let timed = runtime.block_on(timed_run(project, store))?;
        if round > 0 {
            overheads.extend(timed.overheads);
            calls.extend(timed.calls);
            statuses.push(status);
            writes.push(write);
        }
    }
    let (status, write) = (median(statuses), median(writes));
    Ok(Gate {
        name: "iteration, instant agent, 300 files",
        took: median(overheads),
        probe: "git status + one durable write".to_owned(),
        probe_took: status + write,
        limit: 4.0,
        notes: vec![
            format!("git status {}, durable write {}", milliseconds(status), milliseconds(write)),
            format!("beside it, the agent's own `done`: {}", milliseconds(median(calls))),
        ],
    })
}

fn probes(root: &Path, plan: &[u8]) -> Result<[Duration; 2]> {
    let beside = root.join(".samuel");
    let mut status = || Ok(drop(output(fixture::git(root).args(["status", "--porcelain"]))?));
    let mut write = || durable_write(&beside, plan);
    in_turns(PROBES, [&mut status, &mut write])
}

/// The times of one run.
struct Timed {
    /// Each iteration, without the call of the agent.
    overheads: Vec<Duration>,
    /// Each call of the agent.
    calls: Vec<Duration>,
}

async fn timed_run(project: Project, store: Arc<dyn StateStore>) -> Result<Timed> {
    let agent = Arc::new(InstantAgent { store: Arc::clone(&store), calls: Mutex::default() });
    let run = Run::builder(project)
        .agent(Arc::clone(&agent) as Arc<dyn Agent>)
        .store(store)
        .trust(TrustPolicy::TrustAll)
        .env(fixture::git_env())
        .settings(|settings| {
            settings.pause = Duration::ZERO;
            settings.max_iterations = ITERATIONS as u32;
        })
        .build()?;
    let mut handle = run.start().await?;
    let mut events = handle.events();
    let mut marks = Vec::with_capacity(ITERATIONS + 1);
    while let Some(record) = events.next().await {
        if let Event::IterationStarted { .. } | Event::Stopping { .. } = record.event {
            marks.push(Instant::now());
        }
    }
    let RunReport { exit_reason, iterations, .. } = handle.wait().await?;
    ensure!(
        exit_reason == ExitReason::Completed,
        "the run ended as {exit_reason} after {iterations} iterations"
    );
    let calls = std::mem::take(&mut *agent.calls.lock().unwrap_or_else(PoisonError::into_inner));
    let whole = marks.windows(2).filter_map(|pair| Some(pair.last()?.duration_since(*pair.first()?)));
    let overheads = whole.zip(&calls).map(|(whole, call)| whole.saturating_sub(*call)).collect();
    Ok(Timed { overheads, calls })
}

/// An agent that does nothing but complete its task.
#[derive(Debug)]
struct InstantAgent {
    store: Arc<dyn StateStore>,
    calls: Mutex<Vec<Duration>>,
}

#[async_trait]
impl Agent for InstantAgent {
    fn name(&self) -> &str {
        "instant"
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        _: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        let started = Instant::now();
        if let Some(task) = request.task {
            let store = Arc::clone(&self.store);
            let done = Mutation::Done { id: task.id, commit_sha: None, iteration: Some(request.iteration) };
            let stored = tokio::task::spawn_blocking(move || store.mutate(done, Actor::Agent)).await;
            let failed = |source| AgentError::Start { agent: "instant".to_owned(), source };
            stored.map_err(|error| failed(error.into()))?.map_err(|error| failed(error.into()))?;
        }
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(started.elapsed());
        Ok(AgentInvokeOutput::default())
    }
}
