//! `run sandbox`: what the sandbox of a run holds on this machine, its image, and what containers are left.

use samuel_core::{
    config::leave_image,
    engine::{Run, SandboxReport},
    model::ErrorCode,
    plugin::LockFile,
    project::Project,
    text::counted,
};
use serde_json::json;

use super::block_on_or_leave;
use crate::{
    args::{SandboxCheckArgs, SandboxCommand, SandboxImageArgs},
    failure::Failure,
    host::Host,
    render::safe,
    reply::Reply,
};

/// Carries out a command about sandboxes.
pub(crate) fn run(project: &Project, command: &SandboxCommand, host: &Host) -> Result<Reply, Failure> {
    match command {
        SandboxCommand::Check(args) => check(project, args, host),
        SandboxCommand::Image(args) => image(project, args, host),
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

/// Builds the image of the project, or finds the one that is named, and pins it in samuel.lock.
fn image(project: &Project, args: &SandboxImageArgs, host: &Host) -> Result<Reply, Failure> {
    let containers = host.containers();
    let (image, done) = match &args.name {
        None => (containers.build_image(project.root())?, "Built"),
        Some(name) => (containers.find_image(name)?, "Found"),
    };
    LockFile::pin_image(project.root(), &image).map_err(|error| Failure::of(&error))?;
    let left = leave_image(project.root(), &image).map_err(|error| Failure::of(&error))?;
    let told = if left { "samuel.toml names none any more below [sandbox].\n" } else { "" };
    let text = format!("{done} {}\nsamuel.lock pins it for the sandbox oci.\n{told}", safe(image.as_str()));
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
    let unheld = report.unheld.iter().map(|limit| format!("{:<9}{}\n", "unheld", safe(&limit.to_string())));
    head + &lines.chain(unheld).collect::<String>()
}
