//! Plays a row of a whole run.

use std::time::Duration;

use samuel_core::{
    clock::SystemClock,
    event::Event,
    hook::{AgentEvent, points},
    state::SupervisorRole,
    testing::{Bench, FakeHandler, completes_each_task},
};

use crate::{
    dispatch::{point_of, same},
    row::{HandlerRow, RunRow},
    tier::{Stage, Tier},
};

/// How long a run may take, generously: rows hang for a second an iteration.
const LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn check(row: &RunRow, tier: &dyn Tier) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LIMIT, check_run(row, tier)).await.expect("a run ends") })
}

async fn check_run(row: &RunRow, tier: &dyn Tier) -> Result<(), String> {
    let mut bench = Bench::builder().config(&row.config).clock(SystemClock::new());
    for (place, title) in row.tasks.iter().enumerate() {
        bench = bench.task(&(place + 1).to_string(), title);
    }
    let bench = bench.build().unwrap();
    let plugins = bench.project().config().plugins.iter().map(|plugin| plugin.name.clone()).collect();
    let stage = Stage::of(plugins);
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(completes_each_task()).hook_at("spy", 1_000, spy.clone()).register(|registry| {
        for handler in &row.handlers {
            tier.register(point_of(handler), handler, &stage, registry);
        }
    });
    let played = bench.play(run).await.unwrap();
    stage.curtain.fall();

    let expect = &row.expect;
    same("exit", &played.report.exit_reason.as_str(), &expect.exit.as_str())?;
    same("iterations", &played.report.iterations, &expect.iterations)?;
    let failures = played.events.iter().filter_map(|record| match &record.event {
        Event::IterationFinished { failure, .. } => failure.as_ref(),
        _ => None,
    });
    let failures = failures.map(|failure| format!("{}: {}", failure.class, failure.message)).collect();
    same("failures", &failures, &expect.failures)?;
    let reported = played.events.iter().filter_map(|record| match &record.event {
        Event::Agent { report: AgentEvent::Text { text }, .. } => Some(text.clone()),
        _ => None,
    });
    let reported: Vec<String> = reported.filter(|_| row.handlers.iter().any(HandlerRow::speaks)).collect();
    same("reported", &reported, &expect.reported)?;
    let noted = bench.project().lane_store().supervisors().unwrap();
    let supervised = noted.iter().filter(|noted| noted.role == SupervisorRole::Supervisor).count();
    same("supervised", &supervised, &expect.supervised)?;
    for (point, count) in &expect.fired {
        same(point.as_str(), &played.count(*point), count)?;
    }
    let prompt = spy.last_input().map(|input| input.prompt).unwrap_or_default();
    in_order("prompt", &prompt, &expect.prompt)?;
    in_order("progress", &bench.progress().unwrap(), &expect.progress)
}

/// Looks for parts of a text, one after the other.
fn in_order(what: &str, text: &str, parts: &[String]) -> Result<(), String> {
    let mut rest = text;
    for part in parts {
        let found = rest.find(part.as_str());
        let start = found.ok_or_else(|| format!("{what}: \"{part}\" is missing in\n{text}"))?;
        rest = rest.get(start + part.len()..).unwrap_or_default();
    }
    Ok(())
}
