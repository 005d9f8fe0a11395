//! `doctor`: whether the project can be run, why a handler does, or not, and
//! the repair of a damaged plan.

use samuel_core::{engine::Checkup, model::ErrorCode, project::Project, state::Repair};

use serde_json::json;

use super::{hooks::in_order, plugins::load_options, restore::offer, setup::with_handlers};
use crate::{
    args::Global,
    failure::Failure,
    host::Host,
    render::{chain_table, checkup_data, checkup_text, left_text, repair_text},
    reply::Reply,
    trust::{self, confirm},
};

/// Checks everything that a run needs.
pub(crate) fn check(global: &Global, host: &Host) -> Result<Reply, Failure> {
    let root = host.root(global)?;
    let options = load_options(host)?;
    let guest = host.guest()?;
    let checkup =
        Checkup::of(&root, &host.caller(), host.project_to_check(&root), &host.env, |project, run| {
            with_handlers(
                project,
                run.trust(trust::recorded(host)).containers(host.containers()).guest(guest.clone()),
                &options,
            )
        });
    let text = checkup_text(&checkup);
    if checkup.is_healthy() {
        return Ok(Reply::new(checkup_data(&checkup), text));
    }
    let (failed, all) = (checkup.failed(), checkup.findings.len());
    let message = format!("{failed} of {all} checks failed");
    Err(Failure::new(ErrorCode::DOCTOR_FAILED, message).with_data(checkup_data(&checkup)).with_text(text))
}

/// Shows every chain, with the place of each setting.
pub(crate) fn hooks(global: &Global, host: &Host) -> Result<Reply, Failure> {
    let hooks = in_order(global, host)?;
    let report = hooks.report();
    Ok(Reply::new(&report, chain_table(&report.chains)).warn(hooks.warnings()))
}

/// Repairs the plan, if somebody agrees.
pub(crate) fn fix(yes: bool, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let project = host.project(global, None)?;
    repaired(yes, &project, host).map_err(|failure| offer(failure, &project))
}

fn repaired(yes: bool, project: &Project, host: &Host) -> Result<Reply, Failure> {
    if yes {
        let repair = project.repair_plan(host.actor())?;
        return Ok(told(&repair));
    }
    let preview = project.preview_repair()?;
    let text = repair_text(&preview);
    if !preview.changes_something() {
        return Ok(told(&preview));
    }
    if host.can_ask && !confirm(&text, "Repair it?") {
        let failure = Failure::new(ErrorCode::DOCTOR_FAILED, "not repaired: the plan is as it was");
        return Err(failure.with_data(json!(preview)).declined());
    }
    if !host.can_ask {
        let failure = Failure::new(ErrorCode::DOCTOR_FAILED, "the repair was not confirmed");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        return Err(failure.with_data(json!(preview)).detail(lines).advise("Review it, then pass --yes."));
    }
    let repair = project.repair_plan(host.actor())?;
    Ok(told(&repair))
}

/// Says what was done, and what is left to do by hand.
fn told(repair: &Repair) -> Reply {
    Reply::new(repair, repair_text(repair) + left_text(repair))
}
