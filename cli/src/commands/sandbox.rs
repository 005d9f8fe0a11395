//! `run sandbox`: what the sandbox of a run holds on this machine, its image, and what containers are left.

use samuel_core::{
    config::pin_image,
    engine::{Run, SandboxReport},
    model::ErrorCode,
    project::Project,
    text::counted,
};
use serde_json::json;

use super::block_on_or_leave;
use crate::{
    args::{SandboxCheckArgs, SandboxCommand},
    failure::Failure,
    host::Host,
    render::safe,
    reply::Reply,
};

/// Carries out a command about sandboxes.
pub(crate) fn run(project: &Project, command: &SandboxCommand, host: &Host) -> Result<Reply, Failure> {
    match command {
        SandboxCommand::Check(args) => check(project, args, host),
        SandboxCommand::Image => image(project, host),
        SandboxCommand::Sweep => sweep(project, host),
    }
}

/// Tries to get out of the sandbox.
fn check(project: &Project, args: &SandboxCheckArgs, host: &Host) -> Result<Reply, Failure> {
    let run = Run::builder(project.clone()).env(host.env.iter().cloned()).supervisor(host.supervisor()?);
    let run = run.containers(host.containers()).guest(host.guest()?);
    let run = run.settings(|settings| {
        settings.sandbox = args.sandbox.clone().unwrap_or_else(|| settings.sandbox.clone())
    });
    let report = block_on_or_leave(run.probe_sandbox())??;
    let text = shown(&report);
    let (broken, all) = (report.broken(), counted(report.findings.len(), "promise"));
    if broken == 0 {
        return Ok(Reply::new(&report, text));
    }
    let message = format!("{broken} of {all} of a sandbox did not hold in \"{}\"", report.sandbox);
    let failure = Failure::new(ErrorCode::SANDBOX_UNAVAILABLE, message);
    let help = "Choose a sandbox that holds them, such as sandbox = \"bwrap\" below [methodology.<name>] in samuel.toml.";
    Err(failure.advise(help).with_data(json!(report)).with_text(text))
}

/// Builds the image of the project, and names it in samuel.toml.
fn image(project: &Project, host: &Host) -> Result<Reply, Failure> {
    let image = host.containers().build_image(project.root())?;
    pin_image(project.root(), &image).map_err(|error| Failure::of(&error))?;
    let text = format!("Built {}\nsamuel.toml has it as image below [sandbox].\n", safe(&image));
    Ok(Reply::new(json!({ "image": image }), text))
}

/// Removes the containers of the project that nobody waits for any more.
fn sweep(project: &Project, host: &Host) -> Result<Reply, Failure> {
    let removed = host.containers().sweep(project.root())?;
    let text = match removed.as_slice() {
        [] => "No containers of this project are left.\n".to_owned(),
        names => names.iter().map(|name| format!("Removed {}\n", safe(name))).collect(),
    };
    Ok(Reply::new(json!({ "removed": removed }), text))
}

fn shown(report: &SandboxReport) -> String {
    let version = report.version.as_ref().map(|version| format!(", {}", safe(version))).unwrap_or_default();
    let head = format!("Sandbox {}{version}\n\n", safe(&report.sandbox));
    let lines = report.findings.iter().map(|one| {
        format!("{:<9}{:<20}{}\n{:29}{}\n", one.outcome, one.name, one.promise, "", safe(&one.finding))
    });
    head + &lines.collect::<String>()
}
