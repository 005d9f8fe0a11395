//! How much sooner a plan is done by several lanes.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::CheckCommand,
    engine::Run,
    model::{ExitReason, Plan, Task, TaskId},
    process::Supervisor,
    project::Project,
    state::{Actor, Existing},
    trust::TrustPolicy,
};

use super::super::{
    fixture::{self, git_env},
    gate::{Gate, milliseconds},
    measure::median,
};

const TASKS: usize = 64;
const FILES: usize = 300;
const ROUNDS: usize = 3;
const AGENT_MS: u64 = 200;
const LANES: [u32; 4] = [1, 2, 4, 8];

/// Measures runs of 64 tasks that do not wait for each other, by an agent that takes 200 ms, with 1, 2, 4 and 8
/// lanes in turns.
pub(super) fn measure() -> Result<Gate> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut times = LANES.map(|_| Vec::with_capacity(ROUNDS));
    // They go in the end: a file system that keeps from using inodes anew that were just freed, as ext4 without a
    // journal does, takes many times as long to make files after thousands were removed.
    let mut directories = Vec::new();
    for _ in 0..ROUNDS {
        for (jobs, times) in LANES.into_iter().zip(&mut times) {
            let directory = tempfile::tempdir_in(crate::workspace::target())?;
            times.push(runtime.block_on(timed_run(directory.path(), jobs))?);
            directories.push(directory);
        }
    }
    let medians = times.map(median);
    let per_second = |took: &Duration| TASKS as f64 / took.as_secs_f64();
    let [one, .., most] = medians;
    let figures = LANES.into_iter().zip(&medians);
    let figures: Vec<String> =
        figures.map(|(jobs, took)| format!("{jobs}: {:.1}", per_second(took))).collect();
    Ok(Gate {
        name: "64 tasks with 8 lanes, agent of 200 ms",
        took: most,
        probe: "the same with one lane".to_owned(),
        probe_took: one,
        limit: 0.2,
        notes: vec![
            format!("tasks a second by lanes: {}", figures.join(", ")),
            format!("the agent alone: {}", milliseconds(Duration::from_millis(AGENT_MS * TASKS as u64))),
        ],
    })
}

async fn timed_run(directory: &Path, jobs: u32) -> Result<Duration> {
    let root = directory.join("project");
    fixture::repository(&root, FILES)?;
    let project = Project::open(&root, None, std::sync::Arc::new(samuel_core::clock::SystemClock::new()))?;
    let project = project.keeping_plans_in(Some(directory.join("state")));
    let tasks = (1..=TASKS).map(|id| Task::new(TaskId::new(id.to_string()), format!("Make file {id}")));
    let plan = Plan { tasks: tasks.collect(), ..Plan::default() };
    project.plan_store().import(plan, Actor::User, Existing::Refuse)?;
    let call = ScriptedCall::any().repeated().step(Step::Sleep { ms: AGENT_MS });
    let script = Script::default().call(call.write("made-{{task_id}}.txt", "made\n").done());
    let run = Run::builder(project)
        .script(script)
        .jobs(jobs)
        .supervisor(Supervisor::GroupOnly)
        .trust(TrustPolicy::TrustAll)
        .env(git_env())
        .settings(|settings| {
            settings.pause = Duration::ZERO;
            settings.max_iterations = None;
            settings.quality_checks = vec![CheckCommand::new("true")];
        });
    let started = Instant::now();
    let report = run.build()?.start().await?.wait().await?;
    let took = started.elapsed();
    ensure!(
        report.exit_reason == ExitReason::Completed && report.completed.len() == TASKS,
        "{jobs} lanes: {:?} with {} tasks",
        report.exit_reason,
        report.completed.len()
    );
    Ok(took)
}
