//! How the plan, the journal and the progress log of a project stand.

use super::{Finding, Health, Subject};
use crate::{
    engine::begin::{has_run, tells_of_loop},
    model::{Coded as _, Remedy, Severity},
    project::Project,
    state::{KeptCheckpoint, StateError, validate},
    text::counted,
};

pub(super) fn state(project: &Project, changes: Vec<String>) -> Finding {
    let mut finding = plan_state(project, changes);
    if finding.health == Health::Ok && project.has_recorded_environment() {
        let message = format!("{}; an earlier run recorded the environment of an agent", finding.message);
        let details = finding.details;
        finding = Finding { details, ..Finding::warning(Subject::State, message, Remedy::CleanRecords) };
    }
    finding.details.extend(project.other_plans().iter().map(ToString::to_string));
    finding
}

fn plan_state(project: &Project, changes: Vec<String>) -> Finding {
    match read_state(project) {
        Ok(finding) if finding.health == Health::Ok && !changes.is_empty() => {
            let message =
                format!("{}; the last run left control files changed, so a start asks", finding.message);
            Finding { details: changes, ..Finding::warning(Subject::State, message, Remedy::AcceptChanges) }
        }
        Ok(finding) if finding.health == Health::Ok => match project.cannot_keep_plans() {
            Some(reason) => Finding::warning(
                Subject::State,
                format!("{}; {reason}", finding.message),
                Project::KEEP_PLANS,
            ),
            None => finding,
        },
        Ok(finding) => finding,
        Err(error) => {
            let is_of_plan = error.location().is_some_and(|found| found.file == project.run_dir().prd());
            let kept = if is_of_plan { project.kept_instead() } else { None };
            let failed = Finding::failed(Subject::State, &error);
            let mut help: Vec<Remedy> = kept.into_iter().chain(failed.help).collect();
            if matches!(error, StateError::Io { .. }) {
                // Nothing can be restored before the file in the way is removed.
                help.reverse();
            }
            Finding { help: Some(Remedy::All(help)), ..failed }
        }
    }
}

/// What is said of a plan that a loop worked on, and of which the journal tells nothing.
const JOURNAL_LOST: &str = "a loop worked on this plan before, but its journal is gone or cannot be read";

/// How many faults of a plan's tasks are named; the others are counted.
const MAX_DETAILS: usize = 100;

/// Reads everything a start would read.
fn read_state(project: &Project) -> Result<Finding, StateError> {
    let (store, lane, run_dir) = (project.plan_store(), project.lane_store(), project.run_dir());
    let loaded = store.load()?;
    let is_kept = matches!(lane.kept_checkpoint()?, KeptCheckpoint::Next(_) | KeptCheckpoint::Beside(_));
    let is_told = is_kept || lane.last_saved()?.is_some() || tells_of_loop(&store.journal_since(0)?.records);
    store.progress()?;
    let running = lane.loop_holder()?.is_some();
    let writable = rustix::fs::access(run_dir.path(), rustix::fs::Access::WRITE_OK);
    if let Err(error) = writable {
        return Err(StateError::Io {
            action: "write to",
            path: run_dir.path().to_owned(),
            source: error.into(),
        });
    }
    let faults = loaded.diagnostics.iter().map(ToString::to_string);
    let findings = validate(&loaded.plan);
    let mut details: Vec<String> = faults.collect();
    details.extend(findings.iter().take(MAX_DETAILS).map(ToString::to_string));
    if findings.len() > MAX_DETAILS {
        details.push(format!("and {} more", findings.len() - MAX_DETAILS));
    }
    let suffix = if running { "; a loop is running" } else { "" };
    let message = format!("a plan of {}{suffix}", counted(loaded.plan.tasks.len(), "task"));
    Ok(match details.is_empty() && loaded.unparsed.is_empty() {
        true if !is_told && !running && has_run(&loaded.plan) => {
            Finding::warning(Subject::State, format!("{message}; {JOURNAL_LOST}"), Remedy::LookAtCompleted)
        }
        true => Finding::ok(Subject::State, message),
        false => {
            let unread = loaded.unread_lines();
            let mut message = match unread {
                0 => message,
                _ => format!(
                    "{message}; {} of it cannot be read, and nothing of that is lost",
                    counted(unread, "line")
                ),
            };
            for gap in loaded.gaps(&run_dir.prd()) {
                message = format!("{message}; {}", gap.reason);
            }
            let stops = findings.iter().any(|finding| finding.severity() == Severity::Error);
            let help = match loaded.diagnostics.is_empty() && loaded.unparsed.is_empty() {
                true if stops => {
                    "Correct the tasks named above in prd.toon, or remove their rows and count the others in its header."
                        .into()
                }
                true => Remedy::LeaveTasksOut,
                false => Remedy::RepairPlan,
            };
            let health = if stops { Health::Failed } else { Health::Warning };
            Finding { health, details, ..Finding::warning(Subject::State, message, help) }
        }
    })
}
