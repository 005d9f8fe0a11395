//! Commands that only look: bare `run`, `status`, `tasks`, `show`.

use samuel_core::{
    broker::PlanAccess,
    history::{Activity, History, StatusReport},
    model::ErrorCode,
    plan::TaskList,
    project::{Project, ProjectError},
    state::{StateDiagnostic, StateError},
    text::{counted, described},
};

use super::control::glance;
use crate::{
    args::{Global, RunCommand, ShowTaskArgs, TasksArgs, nearest_command},
    failure::Failure,
    host::Host,
    render::{Places, status_text, task_table, task_text, unmerged_text, with_methodology},
    reply::Reply,
};

/// What to do where there is no plan.
const FIRST_STEPS: &[&str] = &[
    "Initialise one:    samuel run init",
    "From a PRD:        samuel run init --prd <path>",
    "Zero-setup pilot:  samuel run pilot",
    "See it at work:    samuel demo",
];

/// How tasks come into a plan that has none.
const ADDING: &str =
    "`samuel run convert` or `samuel run enqueue` adds some, and `samuel run pilot` looks for some";

/// Answers `samuel run` alone: the status where there is a plan, else what to
/// do first. It never starts a loop.
pub(crate) fn bare(plan: &PlanAccess, host: &Host) -> Result<Reply, Failure> {
    status(plan, host).map_err(|failure| match failure.code {
        ErrorCode::STATE_NOT_INITIALISED => failure
            .reword("no methodology runtime is initialised in this directory")
            .detail(FIRST_STEPS.iter().map(|step| named(step, plan)))
            .advise("See `samuel run --help` for all commands."),
        _ => failure,
    })
}

/// Says of a next step for which methodology it is, where that has to be said: within a call of an agent
/// the environment says it.
fn named(text: &str, plan: &PlanAccess) -> String {
    match plan {
        PlanAccess::Files(project) => with_methodology(text, project),
        PlanAccess::Run(_) => text.to_owned(),
    }
}

/// Shows where the plan stands.
pub(crate) fn status(plan: &PlanAccess, host: &Host) -> Result<Reply, Failure> {
    let mut status = plan.status()?;
    let mut warnings = file_warnings(&status.diagnostics, status.unparsed);
    let mut activity = Activity::default();
    if let PlanAccess::Files(project) = plan {
        status.live = status.running.then(|| glance(project, host)).flatten();
        // Where the plan stands is told without what is recorded.
        match History::of(project).activity() {
            Ok(read) => activity = read,
            Err(error) => warnings.push(format!("what the last runs did cannot be read: {error}")),
        }
    }
    let adding = named(ADDING, plan);
    let mut text = status_text(&status, &activity, &Places::of(host, plan.root()), &adding);
    text.push_str(&unmerged_text(&status.unmerged));
    Ok(Reply::new(&StatusReport { status, activity }, text).warn(warnings))
}

/// Lists tasks. Of a large plan a document for programs takes many times its
/// size, so it is only made where one is asked for.
pub(crate) fn tasks(plan: &PlanAccess, args: TasksArgs, global: &Global) -> Result<Reply, Failure> {
    let loaded = plan.store().load()?;
    let under_way = plan.work_under_way(&loaded.plan)?;
    let list = TaskList::among(&loaded.plan, &args.filter(global.json), &under_way);
    let gaps: Vec<StateDiagnostic> = loaded.gaps(&plan.file()).collect();
    let diagnostics = [&loaded.diagnostics[..], &gaps].concat();
    let warnings = file_warnings(&diagnostics, loaded.unread_lines());
    let reply = match global.json {
        true => Reply::new(list, ""),
        false => Reply::new((), task_table(&list)),
    };
    Ok(reply.warn(warnings))
}

/// Shows all that is known of a task.
pub(crate) fn show(plan: &PlanAccess, args: &ShowTaskArgs, host: &Host) -> Result<Reply, Failure> {
    let history = plan.task_history(&args.id)?;
    let text = task_text(&history, &Places::of(host, plan.root()));
    let warnings = file_warnings(&history.diagnostics, 0);
    Ok(Reply::new(&history, text).warn(warnings))
}

/// Says that what samuel.toml sets is left out of an answer, and why.
pub(crate) fn without_config(problem: &ProjectError) -> String {
    let help = Failure::of(problem).help.clone();
    format!("samuel.toml cannot be used, so this is told without it: {}. {help}", described(problem))
}

fn file_warnings(diagnostics: &[StateDiagnostic], unparsed: usize) -> Vec<String> {
    let mut warnings: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    if unparsed > 0 {
        warnings.push(format!(
            "{} of the plan could not be understood; nothing of that is lost",
            counted(unparsed, "line")
        ));
    }
    warnings
}

/// Adds to a methodology that is not there what else the word could have been.
pub(crate) fn at_methodology(failure: Failure, word: Option<&str>) -> Failure {
    let Some(word) = word.filter(|_| failure.code == ErrorCode::METHODOLOGY_NOT_FOUND) else {
        return failure;
    };
    if RunCommand::takes(word) {
        return Failure::usage(format!("`samuel run {word}` is not part of this version"))
            .advise("List the commands with `samuel run --help`.");
    }
    match nearest_command(word) {
        Some(command) => {
            let help = format!("Did you mean the command `samuel run {command}`? {}", failure.help);
            failure.advise(help)
        }
        None => failure,
    }
}

/// Says whether a project has a plan at all, readable or not.
pub(crate) fn require_plan(project: &Project) -> Result<(), Failure> {
    match project.plan_store().exists()? {
        true => Ok(()),
        false => Err(StateError::NotInitialised { path: project.run_dir().prd() }.into()),
    }
}
