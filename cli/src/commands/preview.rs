//! `prompt`, `vars` and `start --dry-run`: what would come next.

use std::path::PathBuf;

use samuel_core::{
    engine::{ChainReport, Glance, Preview, RunBuilder, StartWarning},
    model::ErrorCode,
    project::Project,
    state::Existing,
};
use serde_json::json;

use super::{
    block_on_or_leave,
    look::require_plan,
    setup::{Setting, builder},
};
use crate::{
    args::{LookArgs, PromptArgs},
    failure::Failure,
    host::Host,
    render::{
        ExportedTemplates, NextPrompt, NextPromptStats, guards as guards_line, prompt_stats_text, safe,
        safe_json,
    },
    reply::Reply,
    trust,
};

/// Prints the prompt that the agent would get next, or what it consists of.
pub(crate) fn prompt(project: Project, args: &PromptArgs, host: &Host) -> Result<Reply, Failure> {
    if args.export {
        return export(&project, args.force);
    }
    let (preview, is_chosen) = look(project, &Setting::with(args.model.clone()), &args.look, host)?;
    let reply = match (&preview.prompt, &preview.stats) {
        (Some(_), Some(stats)) if args.stats => {
            let data = json!(NextPromptStats::of(&preview, stats));
            Reply::new(data, agent_line(&preview) + &prompt_stats_text(stats))
        }
        // An agent is given it, perhaps by a pipe.
        (Some(prompt), _) => {
            let chosen = if is_chosen { agent_line(&preview) } else { String::new() };
            Reply::new(data(&preview), prompt.clone()).for_a_program().beside(&chosen)
        }
        (None, _) => return Err(no_prompt(&preview)),
    };
    Ok(reply.warn(preview.warnings))
}

/// Copies the prompt templates to where the project can change them.
fn export(project: &Project, force: bool) -> Result<Reply, Failure> {
    let existing = if force { Existing::Replace } else { Existing::Refuse };
    let written = project.export_templates(existing).map_err(|error| Failure::of(&error))?;
    let below = |path: &PathBuf| path.strip_prefix(project.root()).unwrap_or(path).to_owned();
    let exported = ExportedTemplates { written: written.iter().map(below).collect() };
    let text = exported
        .written
        .iter()
        .map(|path| format!("wrote {}\n", safe(&path.display().to_string())))
        .collect();
    Ok(Reply::new(json!(exported), String::from_iter::<Vec<String>>(text)))
}

/// Prints the variables that templates can use.
pub(crate) fn vars(project: Project, args: &LookArgs, host: &Host) -> Result<Reply, Failure> {
    let (preview, _) = look(project, &Setting::default(), args, host)?;
    let vars = serde_json::to_value(&preview.context);
    let vars =
        vars.map_err(|error| Failure::internal("the variables cannot be written as JSON").because(&error))?;
    let text = serde_json::to_string_pretty(&vars).unwrap_or_default() + "\n";
    let text = safe_json(&text).into_owned();
    Ok(Reply::new(vars, text).warn(preview.warnings).for_a_program())
}

/// Prints the prompt and the chain of every point; nothing is started.
pub(crate) fn dry_run(builder: RunBuilder) -> Result<Reply, Failure> {
    let mut run = builder.build()?;
    let executables = run.executables()?.clone();
    let trusted = run.trusted()?;
    let warnings = block_on_or_leave(run.start_warnings())??;
    let warnings: Vec<String> = warnings.iter().map(StartWarning::told).collect();
    let guards = run.guards();
    let preview = block_on_or_leave(run.preview(Glance::Still))??;
    let mut text = String::from("Prompt\n\n");
    match (&preview.prompt, &preview.stop) {
        (Some(prompt), _) => text.push_str(prompt),
        (None, stop) => {
            let stop = stop.as_ref().map(|stop| format!("{}: {}", stop.reason, safe(&stop.detail)));
            text.push_str(&format!("none: {}\n", stop.unwrap_or_default()));
        }
    }
    text.push_str(&format!("\n{}\n{}\nHook points\n", guards_line(&guards), agent_line(&preview)));
    preview.chains.iter().for_each(|chain| text.push_str(&chain_text(chain)));
    text.push_str("\nA run would execute\n");
    executables.lines().iter().for_each(|line| text.push_str(&format!("  {}\n", safe(line))));
    text.push_str(&trust::left_changed(&executables));
    text.push_str(&format!("  digest of all this: {}\n", executables.digest()));
    text.push_str(&match &trusted {
        Ok(()) => "  trusted: yes\n".to_owned(),
        Err(refusal) => format!("  trusted: no, {}\n", safe(&refusal.to_string())),
    });
    let mut data = data(&preview);
    if let Some(data) = data.as_object_mut() {
        data.insert("guards".to_owned(), json!(guards));
        data.insert("chains".to_owned(), json!(preview.chains));
        data.insert("executables".to_owned(), json!(executables));
        data.insert("digest".to_owned(), json!(executables.digest()));
        data.insert("trusted".to_owned(), json!(trusted.is_ok()));
    }
    Ok(Reply::new(data, text).warn(warnings).warn(preview.warnings))
}

/// Looks at what would come next, and whether a model or an agent is chosen for it.
fn look(
    project: Project,
    setting: &Setting,
    args: &LookArgs,
    host: &Host,
) -> Result<(Preview, bool), Failure> {
    require_plan(&project)?;
    let root = project.root().to_owned();
    let run = builder(project, setting, host)?.build()?;
    trust::allow(&root, run.registry(), |_| true, args.yes, host)?;
    let settings = run.settings();
    let is_chosen =
        !(settings.model.is_empty() && settings.routes.is_empty() && settings.fallback.is_empty());
    Ok((block_on_or_leave(run.preview(Glance::Exact))??, is_chosen))
}

fn data(preview: &Preview) -> serde_json::Value {
    json!(NextPrompt::of(preview))
}

/// Says which agent gets the prompt, and why; nothing where none does.
fn agent_line(preview: &Preview) -> String {
    let Some(choice) = &preview.agent else { return String::new() };
    let args = match choice.args.as_slice() {
        [] => String::new(),
        args => format!(", with {}", safe(&args.join(" "))),
    };
    format!("Agent: {}{args}, {}\n", safe(&choice.name()), safe(&choice.why))
}

/// Says why there is no next prompt.
fn no_prompt(preview: &Preview) -> Failure {
    let (code, message) = match &preview.stop {
        Some(stop) => {
            let code = stop.reason.error_code().unwrap_or(ErrorCode::RUN_FAILED);
            (code, format!("there is no next prompt: {}: {}", stop.reason, stop.detail))
        }
        None => (ErrorCode::HOOK_FAILED, "there is no next prompt".to_owned()),
    };
    Failure::new(code, message).with_data(data(preview)).advise("Look at the plan with `samuel run status`.")
}

fn chain_text(chain: &ChainReport) -> String {
    if chain.run.is_empty() && chain.skipped.is_empty() {
        return format!("  {:<22}-\n", chain.point);
    }
    let run = chain.run.iter().map(|one| format!("{} {} {}", one.order, safe(&one.id), one.tier));
    let skipped = chain.skipped.iter().map(|one| format!("skipped {}: {}", safe(&one.id), safe(&one.why)));
    let lines = run.chain(skipped).enumerate();
    lines
        .map(|(place, line)| match place {
            0 => format!("  {:<22}{line}\n", chain.point),
            _ => format!("  {:<22}{line}\n", ""),
        })
        .collect()
}
