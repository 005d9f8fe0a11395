//! `init` and `sync`: a directory becomes a project and stays up to date.

use samuel_core::{
    hook::HookPoint,
    lifecycle::{
        FileChange, FileChangeKind, InitOptions, InitReport, Lifecycle, LifecycleError, SyncOptions,
        SyncReport,
    },
    project::Project,
    state::RunDir,
    text::counted,
};

use super::{block_on_or_leave, plugins};
use crate::{
    args::{Global, ProjectInitArgs, SyncArgs},
    failure::Failure,
    host::Host,
    render::{Places, safe},
    reply::Reply,
    trust,
};

/// Makes a directory a project.
pub(crate) fn init(args: &ProjectInitArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let options = InitOptions { force: args.force, minimal: args.minimal, plan: None };
    let project = match host.project(global, None) {
        Err(_) if args.force => host.project_to_configure(global)?,
        opened => opened?,
    };
    let root = project.root().to_owned();
    let lifecycle = lifecycle(project, host)?;
    let fires = |point| matches!(point, HookPoint::InitBefore | HookPoint::InitAfter);
    trust::allow(&root, lifecycle.registry(), fires, args.yes, host)?;
    let report = block_on_or_leave(lifecycle.init(&options))?.map_err(|error| of_hooks(&error))?;
    let warnings = lines_of(&report.warnings);
    Ok(Reply::new(&report, init_text(&report)).warn(warnings))
}

/// Brings context files up to date.
pub(crate) fn sync(args: &SyncArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let options = SyncOptions { dry_run: args.dry_run };
    let project = host.project(global, None)?;
    let places = Places::of(host, project.root());
    let root = project.root().to_owned();
    let lifecycle = lifecycle(project, host)?;
    let fires = |point| matches!(point, HookPoint::SyncBefore | HookPoint::SyncAfter);
    trust::allow(&root, lifecycle.registry(), fires, args.yes, host)?;
    let report = block_on_or_leave(lifecycle.sync(&options))?.map_err(|error| of_hooks(&error))?;
    let warnings = lines_of(&report.warnings);
    Ok(Reply::new(&report, sync_text(&report, &places)).warn(warnings))
}

fn lifecycle(project: Project, host: &Host) -> Result<Lifecycle, Failure> {
    let plugins = plugins::load(&project, host)?;
    let builder = Lifecycle::builder(project).register(|registry| plugins.register(registry));
    builder.build().map_err(|error| Failure::of(&error))
}

/// Keeps each warning in its line, whatever a handler says.
fn lines_of(warnings: &[String]) -> Vec<String> {
    warnings.iter().map(|warning| safe(warning)).collect()
}

/// Makes a failure of what fired points have led to, in one line: a part of it may
/// be a handler's words.
fn of_hooks(error: &LifecycleError) -> Failure {
    let failure = Failure::of(error);
    match error {
        LifecycleError::Refused { .. } | LifecycleError::Broke { .. } => {
            failure.reword(safe(&error.to_string()))
        }
        _ => failure,
    }
}

fn init_text(report: &InitReport) -> String {
    let root = report.project_root.display().to_string();
    if report.changes.is_empty() {
        return format!("{} is a project already; nothing to write\n", safe(&root));
    }
    let mut text = format!("Initialised {} in {}\n", report.methodology, safe(&root));
    text.push_str(&changes_text(&report.changes, "wrote", safe));
    if let Some(backup) = &report.backup {
        text.push_str(&format!(
            "  the samuel.toml that was there is kept as {}\n",
            safe(&backup.display().to_string())
        ));
    }
    if !report.languages.is_empty() {
        text.push_str(&format!("  languages: {}\n", safe(&report.languages.join(", "))));
    }
    match report.quality_checks.join(", ").as_str() {
        "" => text.push_str("  no quality checks were found; set quality_checks in samuel.toml\n"),
        checks => text.push_str(&format!("  quality checks: {}\n", safe(checks))),
    }
    let has_plan = RunDir::new(&report.project_root).prd().exists();
    text + match has_plan {
        true => "Next: `samuel run start`, which works on the plan that is there\n",
        false => "Next: make a plan with `samuel run init --prd <FILE>`\n",
    }
}

fn sync_text(report: &SyncReport, places: &Places) -> String {
    let files = |count: usize| counted(count, "file");
    if let Some(reason) = &report.skipped {
        return format!("Skipped: {}\n", safe(reason));
    }
    let word = if report.dry_run { "would write" } else { "wrote" };
    let changed = changes_text(&report.changes, word, |path| places.shown(path));
    match (report.changes.len(), report.unchanged) {
        (0, count) => format!("Up to date: {}\n", files(count)),
        (_, 0) => changed,
        (_, count) => format!("{changed}  up to date: {}\n", files(count)),
    }
}

fn changes_text(changes: &[FileChange], word: &str, shown: impl Fn(&str) -> String) -> String {
    let line = |change: &FileChange| {
        let new = if change.kind == FileChangeKind::Create { " (new)" } else { "" };
        format!("  {word} {}{new}\n", shown(&change.path))
    };
    changes.iter().map(line).collect()
}
