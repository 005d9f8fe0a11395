//! Brings a sandbox: `cargo run -p embed-rust --bin own-sandbox` checks the work without a network.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::{fs, sync::Arc};

use anyhow::{Result, ensure};
use samuel_core::{
    agent::{Script, ScriptedCall},
    engine::Run,
    model::ExitReason,
    process::CommandSpec,
    project::{NewPlan, Project},
    sandbox::{Sandbox, SandboxError},
    trust::TrustPolicy,
};

/// Commands without a network.
#[derive(Debug)]
struct Offline;

impl Sandbox for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Ok(spec.within("/usr/bin/unshare", ["--net", "--map-root-user", "--"]))
    }
}

/// The check passes where there is no network but the loopback.
const CONFIG: &str = r#"
[methodology.ralph]
sandbox = "offline"
quality_checks = ["test $(grep -c : /proc/net/dev) -eq 1"]
max_consecutive_failures = 1
"#;

#[tokio::main]
async fn main() -> Result<()> {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("samuel.toml"), CONFIG)?;
    let prd = directory.path().join("prd.md");
    fs::write(&prd, "# Offline\n\n## Tasks\n\n- [ ] Work without a network\n")?;
    let project = Project::at(directory.path())?;
    project.make_plan(&NewPlan { prd: Some(prd), ..NewPlan::default() })?;
    let run = Run::builder(project)
        .sandboxes([Arc::new(Offline) as Arc<dyn Sandbox>])
        .script(Script::default().call(ScriptedCall::any().done()))
        .env(std::env::vars())
        .trust(TrustPolicy::TrustAll)
        .build()?;
    let report = run.start().await?.wait().await?;
    println!("{}: {}", report.exit_reason, report.completed.len());
    ensure!(report.exit_reason == ExitReason::Completed, "{report:?}");
    Ok(())
}
