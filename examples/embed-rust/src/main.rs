//! Embeds the loop in a program of one's own.
//!
//! `cargo run -p embed-rust` makes a temporary repository, turns a PRD into a
//! plan of three tasks, and runs them with the scripted agent, which really
//! edits files and commits. Two handlers of the program's own take part: one
//! adds a section to every prompt, one checks the work and sends the agent back
//! once. No model, no network, no `samuel` binary.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod handlers;
mod repository;
mod script;
mod watch;

use std::{env, ffi::OsString, path::Path, process::ExitCode, sync::Arc};

use anyhow::{Result, ensure};
use samuel_core::{
    agent::{AgentConfig, MutationRoute, ScriptedAgent, StoreSink},
    clock::SystemClock,
    config::CheckCommand,
    engine::Run,
    hook::{blocking, points},
    model::{ExitReason, Plan},
    prd::{Document, convert},
    process::{Supervisor, supervisor_main},
    project::Project,
    state::{Actor, Existing},
    trust::TrustPolicy,
};

/// The PRD that the run carries out.
const PRD: &str = include_str!("prd.md");

fn main() -> ExitCode {
    // Samuel starts this program again to look after the processes of the agent
    // and of the checks. Nothing else may happen in that case.
    if env::args_os().nth(1).is_some_and(|first| first == Supervisor::SUBCOMMAND) {
        return supervisor_main();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let directory = tempfile::tempdir()?;
    repository::create(directory.path())?;
    tokio::runtime::Runtime::new()?.block_on(embed(directory.path()))
}

async fn embed(root: &Path) -> Result<()> {
    let project = Project::open(root, None, Arc::new(SystemClock::new()))?;
    let store = project.plan_store();
    store.import(plan(&project)?, Actor::User, Existing::Refuse)?;

    // Without this line the run would use the agent that samuel.toml names.
    let config = AgentConfig {
        script: Some(script::script()),
        mutations: MutationRoute::Sink(Arc::new(StoreSink(Arc::clone(&store)))),
        ..AgentConfig::new("scripted")
    };
    let agent = ScriptedAgent::new(&config, supervisor()?)?;

    let run = Run::builder(project)
        .agent(Arc::new(agent))
        .supervisor(supervisor()?)
        .env(repository::environment())
        // This program made the repository itself, so it may trust it.
        .trust(TrustPolicy::TrustAll)
        .settings(|settings| {
            settings.pause = std::time::Duration::ZERO;
            settings.quality_checks = vec![CheckCommand::new("sh test.sh")];
        })
        .hook::<points::ContextExtra, _>("glossary", handlers::glossary)
        .hook::<points::QualityCheck, _>("changelog", blocking(handlers::changelog_is_kept(root)))
        .build()?;

    let mut handle = run.start().await?;
    let mut events = handle.events();
    while let Some(record) = events.next().await {
        watch::show(&record);
    }
    let report = handle.wait().await?;

    watch::summary(&store.load()?.plan, &report);
    ensure!(report.exit_reason == ExitReason::Completed, "the run ended as {}", report.exit_reason);
    Ok(())
}

/// Turns the PRD into a plan.
fn plan(project: &Project) -> Result<Plan> {
    let prd = Document::new("prd.md", PRD);
    let converted = convert(&prd, None, project.clock().now())?.require_valid("prd.md")?;
    let mut plan = Plan { tasks: converted.tasks, ..Plan::default() };
    plan.project.name = converted.name;
    plan.project.description = converted.description;
    Ok(plan)
}

/// Says how to start this program as a supervisor.
fn supervisor() -> Result<Supervisor> {
    let program = env::current_exe()?;
    Ok(Supervisor::SelfExec { program, args: vec![OsString::from(Supervisor::SUBCOMMAND)] })
}
