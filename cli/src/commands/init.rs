//! `init` and `convert`: a project gets its plan.

use std::path::Path;

use samuel_core::{
    lifecycle::make_ready,
    plan::LongPlan,
    prd,
    project::{ConvertedPrd, NewPlan, PrdOptions, PrdPreview, Project},
    state::Existing,
    text::counted,
};
use serde::Serialize;

use super::block_on;
use crate::{
    args::{ConvertArgs, InitArgs, ReadingArgs},
    failure::Failure,
    host::Host,
    render::{safe, task_table, with_methodology},
    reply::Reply,
};

/// Makes a project ready.
pub(crate) fn init(project: &Project, args: &InitArgs, host: &Host) -> Result<Reply, Failure> {
    let prd = args.prd.as_deref().map(|path| host.absolute(path)).transpose()?;
    let plan = NewPlan { prd, existing: existing(args.force), reading: reading(&args.reading) };
    // Without samuel.toml there is no plugin yet whose handlers could be asked.
    let done = block_on(make_ready(project, plan, |_| {}))??;
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
    if let Some(converted) = &done.converted {
        text.push_str(&converted_text(converted));
        warnings = warnings_of(converted);
    }
    text.push_str(&replaced_text(done.backup.as_deref(), done.kept));
    text.push_str(&next_step(done.converted.as_ref().map_or(0, |converted| converted.tasks), project));
    Ok(Reply::new(&done, text).warn(warnings))
}

/// Turns a PRD into the plan.
pub(crate) fn convert(project: &Project, args: &ConvertArgs, host: &Host) -> Result<Reply, Failure> {
    let Some(path) = args.prd.as_deref() else { return Ok(formats()) };
    if args.update {
        return super::update::update(project, args, path, host);
    }
    if path == Path::new("-") {
        return Err(Failure::usage("a first conversion reads a file: stdin is for --update"));
    }
    let prd = host.absolute(path)?;
    if args.dry_run {
        let preview = project.preview_prd(&prd, existing(args.force), reading(&args.reading))?;
        let warnings = told(&preview.warnings, preview.long);
        return Ok(Reply::new(&preview, preview_text(&preview)).warn(warnings));
    }
    let converted = project.convert_prd_as(&prd, existing(args.force), reading(&args.reading))?;
    let replaced = replaced_text(converted.backup.as_deref(), converted.kept);
    let text = converted_text(&converted) + &replaced + &next_step(converted.tasks, project);
    Ok(Reply::new(&converted, text).warn(warnings_of(&converted)))
}

/// Lists the forms that a PRD may have.
fn formats() -> Reply {
    let forms = prd::forms();
    let width = forms.iter().map(|form| form.name.len()).max().unwrap_or_default();
    let lines = forms.iter().map(|form| format!("{:width$}  {}\n", form.name, form.description));
    let text = lines.collect::<String>();
    Reply::new(&Formats { forms }, text)
}

/// The forms, for programs.
#[derive(Serialize)]
struct Formats {
    forms: Vec<prd::PrdForm>,
}

/// Says how a PRD is read.
pub(super) fn reading(args: &ReadingArgs) -> PrdOptions {
    PrdOptions { form: args.format, allow_empty: args.allow_empty }
}

fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Refuse }
}

fn converted_text(converted: &ConvertedPrd) -> String {
    let from = converted.companion.as_ref().unwrap_or(&converted.prd);
    from_text(converted.tasks, from, converted.form)
}

fn from_text(tasks: usize, from: &Path, form: prd::Form) -> String {
    format!("  {} from {} ({form})\n", counted(tasks, "task"), shown(from))
}

/// Shows the plan that would be written.
fn preview_text(preview: &PrdPreview) -> String {
    let from = preview.companion.as_ref().unwrap_or(&preview.prd);
    let tree = task_table(&preview.list);
    let replaced = match preview.replaces {
        0 => String::new(),
        tasks => format!("  in place of the plan that is there, which has {}\n", counted(tasks, "task")),
    };
    let from = from_text(preview.list.total, from, preview.form);
    format!("{}\n{tree}{from}{replaced}nothing was written\n", safe(&preview.name))
}

fn shown(path: &Path) -> String {
    safe(&path.display().to_string())
}

/// Says where a plan is that was replaced.
fn replaced_text(backup: Option<&Path>, kept: Option<u64>) -> String {
    match (backup, kept) {
        (Some(path), _) => format!("  the plan that was there is kept as {}\n", shown(path)),
        (None, Some(_)) => {
            "  the plan that was there is kept; `samuel run restore` puts it back\n".to_owned()
        }
        (None, None) => String::new(),
    }
}

fn warnings_of(converted: &ConvertedPrd) -> Vec<String> {
    told(&converted.warnings, converted.long)
}

fn told(warnings: &[prd::Remark], long: Option<LongPlan>) -> Vec<String> {
    warnings.iter().map(ToString::to_string).chain(long.map(|long| long.told())).collect()
}

fn next_step(tasks: usize, project: &Project) -> String {
    let next = match tasks {
        0 => "Next: add tasks with `samuel run convert <PRD>` or `samuel run enqueue <TITLE>`\n",
        _ => "Next: look at them with `samuel run tasks`, then `samuel run start`\n",
    };
    with_methodology(next, project)
}
