//! `init` and `convert`: a project gets its plan.

use std::path::Path;

use samuel_core::{
    project::{ConvertedPrd, InitOptions, Project},
    state::Existing,
    text::counted,
};

use crate::{
    args::{ConvertArgs, InitArgs},
    failure::Failure,
    host::Host,
    render::safe,
    reply::Reply,
};

/// Makes a project ready.
pub(crate) fn init(project: &Project, args: &InitArgs, host: &Host) -> Result<Reply, Failure> {
    let prd = args.prd.as_deref().map(|path| host.absolute(path)).transpose()?;
    let done = project.initialise(&InitOptions { prd, existing: existing(args.force) })?;
    let mut text = format!("Initialised {} in {}\n", safe(&done.methodology), shown(project.root()));
    if let Some(config) = &done.config {
        text.push_str(&format!("  wrote {}\n", shown(config)));
        let checks = done.quality_checks.join(", ");
        match checks.as_str() {
            "" => text.push_str("  no quality checks were found; set quality_checks there\n"),
            checks => text.push_str(&format!("  quality checks: {}\n", safe(checks))),
        }
    }
    text.push_str(&format!("  wrote {}\n", shown(&done.plan)));
    let mut warnings = Vec::new();
    match &done.converted {
        Some(converted) => {
            text.push_str(&converted_text(converted));
            warnings = warnings_of(converted);
        }
        None => text.push_str(&backup_text(done.backup.as_deref())),
    }
    text.push_str(next_step(done.converted.as_ref().map_or(0, |converted| converted.tasks)));
    Ok(Reply::new(&done, text).warn(warnings))
}

/// Turns a PRD into the plan.
pub(crate) fn convert(project: &Project, args: &ConvertArgs, host: &Host) -> Result<Reply, Failure> {
    let prd = host.absolute(&args.prd)?;
    let converted = project.convert_prd(&prd, existing(args.force))?;
    let text = converted_text(&converted) + next_step(converted.tasks);
    Ok(Reply::new(&converted, text).warn(warnings_of(&converted)))
}

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Refuse }
}

fn converted_text(converted: &ConvertedPrd) -> String {
    let from = converted.companion.as_ref().unwrap_or(&converted.prd);
    let count = counted(converted.tasks, "task");
    format!("  {count} from {}\n", shown(from)) + &backup_text(converted.backup.as_deref())
}

fn shown(path: &Path) -> String {
    safe(&path.display().to_string())
}

fn backup_text(backup: Option<&Path>) -> String {
    backup.map(|path| format!("  the plan that was there is kept as {}\n", shown(path))).unwrap_or_default()
}

fn warnings_of(converted: &ConvertedPrd) -> Vec<String> {
    converted.warnings.iter().map(ToString::to_string).collect()
}

fn next_step(tasks: usize) -> &'static str {
    match tasks {
        0 => "Next: add tasks with `samuel run convert <PRD>` or `samuel run enqueue <TITLE>`\n",
        _ => "Next: look at them with `samuel run tasks`, then `samuel run start`\n",
    }
}
