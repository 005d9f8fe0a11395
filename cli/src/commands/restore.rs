//! `restore`: puts back a plan that is kept outside of the project.

use samuel_core::{broker::PlanAccess, model::ErrorCode, project::Project, state::KeptPlan, text::counted};
use serde_json::json;

use crate::{
    args::RestoreArgs,
    failure::Failure,
    render::{named_ids, remedy_text, safe, time_of_day},
    reply::Reply,
};

/// Puts a plan back, or lists those that are kept.
pub(crate) fn restore(project: &Project, args: &RestoreArgs) -> Result<Reply, Failure> {
    if args.list {
        let plans = project.kept_plans()?;
        if plans.is_empty() {
            cannot_keep(project)?;
        }
        return Ok(Reply::new(json!({ "plans": plans }), listed(&plans)));
    }
    if project.kept_plans()?.is_empty() {
        cannot_keep(project)?;
    }
    let restored = project.restore_plan(args.number)?;
    let mut text = format!("Restored plan {}: {}\n", restored.kept.number, described(&restored.kept));
    if let Some(backup) = &restored.backup {
        text += &format!("  the plan before is kept as {}\n", safe(&backup.display().to_string()));
    }
    if !restored.reopened.is_empty() {
        let ids = named_ids(&restored.reopened);
        text += &format!("  completed since it was kept, and open again: {ids}\n");
    }
    Ok(Reply::new(&restored, text))
}

/// Refuses to say of plans that none are kept where no place for them can be used.
fn cannot_keep(project: &Project) -> Result<(), Failure> {
    match project.cannot_keep_plans() {
        Some(reason) => {
            let help = "Set HOME, or name the directory where plans were kept with SAMUEL_STATE_DIR.";
            Err(Failure::new(ErrorCode::STATE_NOT_KEPT, reason).advise(help))
        }
        None => Ok(()),
    }
}

/// Says of a failure because of a plan that is gone or corrupt that the loop at work puts it back.
pub(crate) fn wait_for_loop(failure: Failure, plan: &PlanAccess) -> Failure {
    match is_of_plan(&failure, plan) {
        true => failure.advise(
            "A loop is at work here and puts the plan back: repeat the command in a moment, and do not make \
             another plan.",
        ),
        false => failure,
    }
}

/// Says whether something failed because the plan is gone or corrupt.
fn is_of_plan(failure: &Failure, plan: &PlanAccess) -> bool {
    match failure.code {
        ErrorCode::STATE_NOT_INITIALISED => true,
        ErrorCode::STATE_CORRUPT => {
            failure.location.as_ref().is_some_and(|location| location.file == plan.file())
        }
        _ => false,
    }
}

/// Adds to a failure because of a plan that is gone or corrupt that it can be put
/// back, where it can.
pub(crate) fn offer(failure: Failure, project: &Project) -> Failure {
    let access = PlanAccess::from(project.clone());
    let is_of_plan = is_of_plan(&failure, &access);
    if is_of_plan && access.is_at_work() {
        return wait_for_loop(failure, &access);
    }
    let others = project.other_plans();
    let failure = match failure.code {
        ErrorCode::STATE_NOT_INITIALISED => failure.detail(others.iter().map(ToString::to_string)),
        _ => failure,
    };
    match project.kept_instead().filter(|_| is_of_plan) {
        Some(kept) => {
            let help = format!("{} {}", remedy_text(&kept), failure.help);
            failure.advise(help)
        }
        None => failure,
    }
}

fn listed(plans: &[KeptPlan]) -> String {
    if plans.is_empty() {
        return "no plans are kept\n".to_owned();
    }
    let width = plans.iter().map(|plan| plan.number.to_string().len()).max().unwrap_or_default();
    let line = |plan: &KeptPlan| {
        let now = if plan.current { "  (the present plan has all of its tasks)" } else { "" };
        format!("{:width$}  {}{now}\n", plan.number, described(plan))
    };
    // The last one is what is mostly looked for.
    plans.iter().rev().map(line).collect()
}

fn described(plan: &KeptPlan) -> String {
    let tasks = counted(plan.tasks, "task");
    let changed = plan.updated_at.map(|at| format!(", last changed {}", time_of_day(at))).unwrap_or_default();
    format!("{}: {tasks}, {} completed{changed}", safe(&plan.project), plan.completed)
}
