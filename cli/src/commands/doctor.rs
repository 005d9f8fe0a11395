//! `doctor`: whether the project can be run, why a handler does, or not, and
//! the repair of a damaged plan and of records with secrets.

use samuel_core::{
    engine::Checkup,
    model::ErrorCode,
    project::{CleanedRecords, Project},
    state::Repair,
};

use serde::Serialize;
use serde_json::json;

use super::{hooks::in_order, plugins::load_options, restore::offer, setup::with_handlers};
use crate::{
    args::Global,
    failure::Failure,
    host::Host,
    render::{chain_table, checkup_data, checkup_text, left_text, records_text, repair_text},
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

/// Repairs the plan and hides secrets in the records of runs, if somebody agrees.
pub(crate) fn fix(yes: bool, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let project = host.project(global, None)?;
    fixed(yes, &project, host).map_err(|failure| offer(failure, &project))
}

/// The result of a repair, or what it would do.
#[derive(Serialize)]
struct Fixed {
    #[serde(flatten)]
    repair: Repair,
    /// The records of earlier runs without secrets.
    records: CleanedRecords,
}

impl Fixed {
    fn changes_something(&self) -> bool {
        self.repair.changes_something() || !self.records.files.is_empty()
    }

    fn text(&self) -> String {
        repair_text(&self.repair) + &records_text(&self.records)
    }
}

fn fixed(yes: bool, project: &Project, host: &Host) -> Result<Reply, Failure> {
    if yes {
        let repair = project.repair_plan(host.actor())?;
        return cleaned(repair, project.preview_cleaning(&host.env)?, project, host);
    }
    let preview = Fixed { repair: project.preview_repair()?, records: project.preview_cleaning(&host.env)? };
    let text = preview.text();
    if !preview.changes_something() {
        return Ok(told(&preview));
    }
    let (question, declined) = match preview.repair.changes_something() {
        true => ("Repair it?", "not repaired: the plan is as it was"),
        false => ("Hide them?", "not changed: the records are as they were"),
    };
    if host.can_ask && !confirm(&text, question) {
        let failure = Failure::new(ErrorCode::DOCTOR_FAILED, declined);
        return Err(failure.with_data(json!(preview)).declined());
    }
    if !host.can_ask {
        let failure = Failure::new(ErrorCode::DOCTOR_FAILED, "the repair was not confirmed");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        return Err(failure.with_data(json!(preview)).detail(lines).advise("Review it, then pass --yes."));
    }
    let repair = project.repair_plan(host.actor())?;
    cleaned(repair, preview.records, project, host)
}

/// Hides secrets in records, if there are any. A loop at work is in the way of nothing else.
fn cleaned(
    repair: Repair,
    preview: CleanedRecords,
    project: &Project,
    host: &Host,
) -> Result<Reply, Failure> {
    let records = match preview.files.is_empty() {
        true => preview,
        false => project.clean_records(&host.env)?,
    };
    Ok(told(&Fixed { repair, records }))
}

/// Says what was done, and what is left to do by hand.
fn told(fixed: &Fixed) -> Reply {
    Reply::new(fixed, fixed.text() + left_text(&fixed.repair))
}
