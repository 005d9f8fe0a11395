//! What an iteration costs beside the work of the agent.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest},
    engine::Run,
    event::{Event, RunReport},
    hook::HookPoint,
    model::{ExitReason, TaskId, payload::AgentInvokeOutput},
    project::Project,
    state::{Actor, Mutation, PlanStore, RunDir},
    trust::TrustPolicy,
};

use super::{
    fixture,
    gate::{Gate, milliseconds},
    measure::{durable_write, median, output},
};

const FILES: usize = 300;
const ITERATIONS: usize = 20;
const RUNS: usize = 4;

/// Measures runs of an agent that only marks its task as done, beside what any
/// loop does: look at the work tree and store one state. Both are measured in
/// every iteration, since the load of a machine changes within one.
pub(super) fn measure() -> Result<Gate> {
    let root = tempfile::tempdir_in(crate::workspace::target())?;
    fixture::repository(root.path(), FILES)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut times = Times::default();
    for round in 0..=RUNS {
        let (project, store) = fixture::planned(root.path(), ITERATIONS)?;
        let timed = runtime.block_on(timed_run(project, store))?;
        // The first run fills caches.
        if round > 0 {
            times.add(timed);
        }
    }
    Ok(times.into_gate())
}

/// Returns what iterations of a run cost, each without the call of the agent.
pub(super) async fn overheads(project: Project, store: Arc<dyn PlanStore>) -> Result<Vec<Duration>> {
    Ok(timed_run(project, store).await?.overheads)
}

/// What was measured, iteration by iteration.
#[derive(Debug, Default)]
struct Times {
    /// Each iteration, without the call of the agent.
    overheads: Vec<Duration>,
    /// What the agent did: its own work and the probes.
    calls: Vec<Call>,
    /// How long each point's handlers took.
    points: BTreeMap<HookPoint, Vec<Duration>>,
}

/// One call of the agent.
#[derive(Clone, Copy, Debug)]
struct Call {
    whole: Duration,
    done: Duration,
    status: Duration,
    write: Duration,
}

impl Times {
    fn add(&mut self, other: Self) {
        self.overheads.extend(other.overheads);
        self.calls.extend(other.calls);
        for (point, times) in other.points {
            self.points.entry(point).or_default().extend(times);
        }
    }

    fn into_gate(self) -> Gate {
        let of = |time: fn(&Call) -> Duration| median(self.calls.iter().map(time).collect());
        let (status, write) = (of(|call| call.status), of(|call| call.write));
        let mut points: Vec<(Duration, HookPoint)> =
            self.points.into_iter().map(|(point, times)| (median(times), point)).collect();
        points.sort_unstable_by(|left, right| right.cmp(left));
        let points = points.iter().filter(|(time, _)| *time > Duration::from_micros(200));
        let points: Vec<String> =
            points.map(|(time, point)| format!("{point} {}", milliseconds(*time))).collect();
        Gate {
            name: "iteration, instant agent, 300 files",
            took: median(self.overheads),
            probe: "git status + one durable write".to_owned(),
            probe_took: status + write,
            limit: 4.0,
            notes: vec![
                format!("git status {}, durable write {}", milliseconds(status), milliseconds(write)),
                format!("handlers: {}", points.join(", ")),
                format!("not counted, the agent's own `done`: {}", milliseconds(of(|call| call.done))),
            ],
        }
    }
}

async fn timed_run(project: Project, store: Arc<dyn PlanStore>) -> Result<Times> {
    let agent = InstantAgent { store, calls: Arc::default() };
    let run = Run::builder(project)
        .agent(Arc::new(agent.clone()))
        .trust(TrustPolicy::TrustAll)
        .env(fixture::git_env())
        .settings(|settings| {
            settings.pause = Duration::ZERO;
            settings.max_iterations = std::num::NonZero::new(ITERATIONS as u32);
        })
        .build()?;
    let mut handle = run.start().await?;
    let mut events = handle.events();
    let mut times = Times::default();
    let mut marks = Vec::with_capacity(ITERATIONS + 1);
    while let Some(record) = events.next().await {
        match record.event {
            Event::IterationStarted { .. } | Event::Stopping { .. } => marks.push(Instant::now()),
            Event::HookFired { point, outcome, .. } if point != HookPoint::AgentInvoke => {
                let took = outcome.timings.iter().map(|timing| timing.took).sum();
                times.points.entry(point).or_default().push(took);
            }
            _ => {}
        }
    }
    let RunReport { exit_reason, iterations, .. } = handle.wait().await?;
    ensure!(
        exit_reason == ExitReason::Completed,
        "the run ended as {exit_reason} after {iterations} iterations"
    );
    times.calls = std::mem::take(&mut *agent.calls.lock().unwrap_or_else(PoisonError::into_inner));
    let whole = marks.windows(2).filter_map(|pair| Some(pair.last()?.duration_since(*pair.first()?)));
    times.overheads = whole.zip(&times.calls).map(|(whole, call)| whole.saturating_sub(call.whole)).collect();
    Ok(times)
}

/// An agent that does nothing but complete its task.
#[derive(Clone, Debug)]
struct InstantAgent {
    store: Arc<dyn PlanStore>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl InstantAgent {
    /// Completes the task and measures the probes beside it.
    fn work(&self, request: &AgentRequest) -> Result<Call> {
        let started = Instant::now();
        if let Some(task) = &request.task {
            let (id, iteration) = (TaskId::new(task.id.clone()), Some(request.iteration));
            self.store.mutate(Mutation::Done { id, commit_sha: None, iteration }, Actor::Agent)?;
        }
        let done = started.elapsed();
        let run = RunDir::new(&request.project_root);
        let plan = fs::read(run.prd())?;
        let before = Instant::now();
        output(fixture::git(&request.project_root).args(["status", "--porcelain"]))?;
        let status = before.elapsed();
        let before = Instant::now();
        durable_write(run.path(), &plan)?;
        Ok(Call { done, status, write: before.elapsed(), whole: started.elapsed() })
    }
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
        let agent = self.clone();
        let worked = tokio::task::spawn_blocking(move || agent.work(&request)).await;
        let call = worked.map_err(anyhow::Error::from).and_then(|call| call);
        let failed =
            |error: anyhow::Error| AgentError::Start { agent: "instant".to_owned(), cause: error.into() };
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call.map_err(failed)?);
        Ok(AgentInvokeOutput::default())
    }
}
