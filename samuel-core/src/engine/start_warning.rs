//! What a start warns of: a run starts, but somebody should know.
//!
//! [`Run::start_warnings`] finds them; a start tells each once, as a
//! [`Warning`](crate::event::Event::Warning) with what to do about it.

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;

use super::{
    begin::Begin,
    error::{RunError, blocking},
    run::{Opened, Run},
    unheld_budget,
};
use crate::{
    config::format_duration,
    git::Repository,
    machine::{Input, RunLimits},
    model::{ClaimPhase, Groups, Plan, Remedy, Scope, Status, TaskId},
    plan::LongPlan,
    sandbox::HOST,
    text::counted_are,
    workspace::WorkspaceKind,
};

/// How long a look at the work tree may take.
const MAX_LOOK: Duration = Duration::from_secs(4);

/// How many files are named that are not committed.
const MAX_FILES: usize = 3;

/// Something that a start warns of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StartWarning {
    /// A task that the run is for is not open.
    NotOpen {
        /// The task.
        task: TaskId,
        /// Where it stands: completed, skipped or blocked.
        status: Status,
    },
    /// The run goes on with a limit that is gone, or is higher than it was when the run was
    /// interrupted: limits are those of the start that goes on.
    LooserLimit {
        /// Its setting, such as `session_budget.max_wall_time`.
        setting: &'static str,
        /// What it was, as in samuel.toml.
        before: String,
        /// What it is; nothing where there is none.
        now: Option<String>,
    },
    /// The plan has more tasks left than the run may make iterations.
    LongPlan(LongPlan),
    /// Limits of cost or tokens do not hold, since an agent that calls can have does not report these.
    UnheldBudget {
        /// The agent.
        agent: String,
        /// Which limits, and what it does not report.
        message: String,
    },
    /// Lanes have submitted work that nobody has landed, and the run has none: it leaves these tasks alone.
    Submitted {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// Work of workers is on a branch that is not merged into what is checked out, and the run has no workers: its agent
    /// works without it.
    Unmerged {
        /// The branch.
        into: String,
    },
    /// All workers share the sandbox, which a program brings, so that each may see the workspaces of the others.
    SharedSandbox {
        /// The sandbox.
        sandbox: String,
    },
    /// Nothing checks what an agent calls done.
    NoChecks,
    /// The project is in no git repository.
    NoRepository,
    /// Nothing is committed in the project's repository.
    NoCommit,
    /// Files of the project differ from the last commit, or are not in it.
    Uncommitted {
        /// How many.
        files: usize,
        /// The first of them, relative to the project's root.
        first: Vec<String>,
        /// Where the agent works.
        agent_works: AgentWorks,
    },
}

/// Where the agent of a run works, and with what of the project's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentWorks {
    /// Where the project is, with what is not committed.
    InPlace,
    /// In lanes, with what is committed alone.
    InLanes,
}

impl StartWarning {
    /// Returns it with what to do about it, on one line.
    pub fn told(&self) -> String {
        match self {
            Self::LongPlan(long) => long.told(),
            other => format!("{other}. {}", other.help().prose()),
        }
    }

    /// Returns what to do about it.
    pub fn help(&self) -> Remedy {
        match self {
            Self::NotOpen { status: Status::Blocked, .. } => {
                "Reset the task once it can be worked on.".into()
            }
            Self::NotOpen { .. } => "Reset the task to have it worked on again.".into(),
            Self::LooserLimit { .. } => "Give it again with the start, or set it in samuel.toml.".into(),
            Self::LongPlan(_) => LongPlan::HELP.into(),
            Self::UnheldBudget { .. } => unheld_budget::HELP.into(),
            // The command and the call for it differ, and this is told everywhere.
            Self::Submitted { .. } => {
                "Land it without a loop first, or start with several lanes: either lands it.".into()
            }
            Self::Unmerged { into } => format!("Merge {into} first.").into(),
            Self::SharedSandbox { .. } => "Implement `in_workspace` for it, or run one worker.".into(),
            Self::NoChecks => "Set quality_checks in samuel.toml, such as [\"cargo test\"].".into(),
            Self::NoRepository => "Run `git init` and commit what there is.".into(),
            Self::NoCommit => "Commit what there is.".into(),
            Self::Uncommitted { .. } => "Commit or stash what is not committed first.".into(),
        }
    }
}

impl fmt::Display for StartWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen { task, status } => {
                write!(f, "task {task}, which the run is for, is {status} already")
            }
            Self::LooserLimit { setting, before, now } => {
                let now =
                    now.as_ref().map_or_else(|| "there is none".to_owned(), |now| format!("it is {now}"));
                write!(f, "the run that goes on had the limit {setting} = {before}, and now {now}")
            }
            Self::LongPlan(long) => long.fmt(f),
            Self::UnheldBudget { message, .. } => f.write_str(message),
            Self::Submitted { tasks } => {
                let tasks: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
                let noun = if tasks.len() == 1 { "task" } else { "tasks" };
                write!(
                    f,
                    "lanes have submitted work that has not landed ({noun} {}), which this run leaves alone",
                    tasks.join(", ")
                )
            }
            Self::Unmerged { into } => {
                write!(
                    f,
                    "work of workers is on {into}, which is not merged into what is checked out: this run works without it"
                )
            }
            Self::SharedSandbox { sandbox } => {
                write!(f, "workers share the sandbox \"{sandbox}\", so one may see the work of another")
            }
            Self::NoChecks => {
                f.write_str("no quality checks are configured, so what an agent calls done is done")
            }
            Self::NoRepository => {
                f.write_str("the project is not in a git repository, so nothing an agent does can be undone")
            }
            Self::NoCommit => {
                f.write_str("the repository has no commit yet, so nothing an agent does can be undone")
            }
            Self::Uncommitted { files, first, agent_works } => {
                let more = files.saturating_sub(first.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let (are, first) = (counted_are(*files, "file"), first.join(", "));
                let they = if *files == 1 { "it" } else { "they" };
                match agent_works {
                    AgentWorks::InLanes => write!(
                        f,
                        "{are} not committed ({first}{more}), so lanes work without what was changed there"
                    ),
                    AgentWorks::InPlace => write!(
                        f,
                        "{are} not committed ({first}{more}), so {they} cannot be told from what the agent does"
                    ),
                }
            }
        }
    }
}

impl Run {
    /// Returns what a start would warn of beside what handlers and files say. Changes
    /// nothing and starts no process.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where the plan cannot be read, and [`RunError::Tasks`]
    /// where the run is to be for tasks that there are not.
    pub async fn start_warnings(&self) -> Result<Vec<StartWarning>, RunError> {
        self.check_tasks().await?;
        let begin = self.recover().await?;
        let repository = self.repository(self.directory_of(false)).await?;
        self.warnings_of(&begin, &repository).await
    }

    /// Returns what to warn of where a run begins.
    pub(super) async fn warnings_of(
        &self,
        begin: &Begin,
        repository: &Opened,
    ) -> Result<Vec<StartWarning>, RunError> {
        let (plan, machine) = (&begin.loaded.plan, &begin.machine);
        let mut warnings = not_open(plan, &self.frozen.scope);
        warnings.extend(begin.limits_before.iter().flat_map(|before| looser(before, machine.limits())));
        let limit = self.frozen.settings.max_iterations;
        let long = LongPlan::of(plan, machine.scope(), limit, machine.iteration_number());
        warnings.extend(long.map(StartWarning::LongPlan));
        let unheld = self.unheld_budget().into_iter();
        warnings.extend(unheld.map(|(agent, message)| StartWarning::UnheldBudget { agent, message }));
        if self.frozen.settings.parallel.jobs == 1 {
            warnings.extend(submitted(plan));
            let (project, plan) = (self.frozen.project.clone(), Arc::clone(plan));
            let unmerged = blocking(move || project.unmerged_branches(&plan)).await?;
            warnings.extend(unmerged.into_iter().map(|into| StartWarning::Unmerged { into }));
        } else {
            warnings.extend(self.shared_sandbox());
        }
        if !self.has_checks() {
            warnings.push(StartWarning::NoChecks);
        }
        match repository {
            Ok(None) => warnings.push(StartWarning::NoRepository),
            // What an interrupted run left is its own.
            Ok(Some(repository)) if begin.first == Input::Start => {
                let repository = repository.clone();
                let agent_works = match self.frozen.settings.parallel.jobs {
                    0 | 1 => AgentWorks::InPlace,
                    _ => AgentWorks::InLanes,
                };
                let is_in_place = self.frozen.workspace == WorkspaceKind::InPlace;
                let copied = match agent_works {
                    AgentWorks::InPlace if is_in_place => Vec::new(),
                    _ => self.copied(),
                };
                let look = move || uncommitted(&repository, agent_works, &copied);
                warnings.extend(blocking(look).await?);
            }
            Ok(Some(_)) | Err(_) => {}
        }
        Ok(warnings)
    }
}

impl Run {
    /// Returns the sandbox of the run if it does not tell the workspaces of workers apart.
    fn shared_sandbox(&self) -> Option<StartWarning> {
        let sandbox = self.frozen.sandboxes.named(&self.frozen.settings.sandbox).ok()?;
        let is_shared = sandbox.name() != HOST && sandbox.in_workspace(self.frozen.project.root()).is_none();
        is_shared.then(|| StartWarning::SharedSandbox { sandbox: sandbox.name().to_owned() })
    }
}

/// Returns what lanes have submitted and nobody has landed.
fn submitted(plan: &Plan) -> Option<StartWarning> {
    let waits = plan.claimed_tasks().filter(|(_, claim)| claim.phase != ClaimPhase::Working);
    let mut tasks: Vec<TaskId> = waits.map(|(task, _)| task.id.clone()).collect();
    tasks.sort();
    (!tasks.is_empty()).then_some(StartWarning::Submitted { tasks })
}

/// Returns the limits that hold a run less than others did.
fn looser(before: &RunLimits, now: &RunLimits) -> Vec<StartWarning> {
    fn is_looser<T: PartialOrd>(before: Option<T>, now: Option<T>) -> bool {
        before.is_some_and(|before| now.is_none_or(|now| now > before))
    }
    let time = |ms: u64| format_duration(Duration::from_millis(ms));
    let limit = |is_looser: bool, setting, before: Option<String>, now: Option<String>| {
        Some(StartWarning::LooserLimit { setting, before: before.filter(|_| is_looser)?, now })
    };
    let text = |number: Option<u64>| number.map(|number| number.to_string());
    let iterations = |limits: &RunLimits| limits.max_iterations.map(|max| u64::from(max.get()));
    let failures = |limits: &RunLimits| Some(u64::from(limits.max_consecutive_failures));
    let attempts = |limits: &RunLimits| limits.max_task_attempts.map(|max| u64::from(max.get()));
    let numbers = [
        ("max_iterations", iterations(before), iterations(now)),
        ("max_consecutive_failures", failures(before), failures(now)),
        ("session_budget.max_tokens", before.max_tokens, now.max_tokens),
        ("task_budget.max_attempts", attempts(before), attempts(now)),
        ("task_budget.max_tokens", before.max_task_tokens, now.max_task_tokens),
    ];
    let numbers =
        numbers.map(|(setting, before, now)| limit(is_looser(before, now), setting, text(before), text(now)));
    let costs = [
        ("session_budget.max_cost_usd", before.max_cost_usd, now.max_cost_usd),
        ("task_budget.max_cost_usd", before.max_task_cost_usd, now.max_task_cost_usd),
    ];
    let cost = |cost: Option<f64>| cost.map(|cost| cost.to_string());
    let costs =
        costs.map(|(setting, before, now)| limit(is_looser(before, now), setting, cost(before), cost(now)));
    let is_longer = is_looser(before.max_wall_ms, now.max_wall_ms);
    let (was, is) = (before.max_wall_ms.map(time), now.max_wall_ms.map(time));
    let longer = limit(is_longer, "session_budget.max_wall_time", was, is);
    // Without it the last iteration may exceed the budget.
    let no_forecast = before.forecast && !now.forecast;
    let unforeseen = limit(no_forecast, "forecast", Some("true".to_owned()), Some("false".to_owned()));
    numbers.into_iter().chain(costs).chain([longer, unforeseen]).flatten().collect()
}

/// Returns the tasks of a scope that are not open.
fn not_open(plan: &Plan, scope: &Scope) -> Vec<StartWarning> {
    if scope.is_all() {
        return Vec::new();
    }
    let statuses = Groups::of(&plan.tasks).statuses(plan.tasks.iter().map(|task| task.status));
    let stands = plan.tasks.iter().zip(statuses).filter(|(task, _)| scope.tasks().contains(&task.id));
    let closed = stands.filter(|(_, status)| !matches!(status, Status::Pending | Status::InProgress));
    closed.map(|(task, status)| StartWarning::NotOpen { task: task.id.clone(), status }).collect()
}

/// Looks what of the project is not committed, except the files that workspaces get as copies; nothing where that
/// cannot be told in time.
pub(super) fn uncommitted(
    repository: &Repository,
    agent_works: AgentWorks,
    copied: &[String],
) -> Option<StartWarning> {
    let Some(commit) = repository.head().ok()?.commit() else { return Some(StartWarning::NoCommit) };
    let mut first = repository.changes_since(&commit, MAX_LOOK).ok()?;
    first.retain(|file| !copied.contains(file));
    let files = first.len();
    first.truncate(MAX_FILES);
    (files > 0).then_some(StartWarning::Uncommitted { files, first, agent_works })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{git::testing::Repository as Made, model::Task};

    #[test]
    fn files_that_are_not_committed_are_counted_and_the_first_are_named() {
        let made = Made::with(&[("a.rs", "a\n"), (".gitignore", "*.log\n")]);
        assert_eq!(uncommitted(&made.opened(), AgentWorks::InPlace, &[]), None);
        made.write("noise.log", "");
        made.write(".samuel/run/x", "");
        assert_eq!(uncommitted(&made.opened(), AgentWorks::InPlace, &[]), None);
        for name in ["a.rs", "b.rs", "c.rs", "d.rs"] {
            made.write(name, "new\n");
        }
        let told = uncommitted(&made.opened(), AgentWorks::InPlace, &[]).map(|warning| warning.to_string());
        let expected = "4 files are not committed (a.rs, b.rs, c.rs and 1 more), so they cannot be told from what the agent does";
        assert_eq!(told.as_deref(), Some(expected));
        assert_eq!(
            uncommitted(&Made::empty().opened(), AgentWorks::InPlace, &[]),
            Some(StartWarning::NoCommit)
        );
    }

    #[test]
    fn limits_that_a_run_had_and_that_hold_it_no_more_are_told() {
        let before =
            RunLimits { max_wall_ms: Some(300_000), max_cost_usd: Some(3.5), ..RunLimits::default() };
        let told = |now: &RunLimits| looser(&before, now).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(told(&before).is_empty());
        assert!(told(&RunLimits { max_cost_usd: Some(1.0), ..before.clone() }).is_empty());
        assert_eq!(
            told(&RunLimits { max_iterations: None, ..RunLimits::default() }),
            [
                "the run that goes on had the limit max_iterations = 20, and now there is none",
                "the run that goes on had the limit session_budget.max_cost_usd = 3.5, and now there is none",
                "the run that goes on had the limit session_budget.max_wall_time = 5m, and now there is none",
            ]
        );
        let budgeted = |max: u64| RunLimits {
            max_task_tokens: Some(max),
            max_task_cost_usd: Some(0.5),
            max_task_attempts: std::num::NonZero::new(2),
            ..RunLimits::default()
        };
        let unbudgeted =
            RunLimits { max_task_attempts: None, max_task_cost_usd: None, forecast: false, ..budgeted(9) };
        assert_eq!(
            looser(&budgeted(8), &unbudgeted).iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "the run that goes on had the limit task_budget.max_attempts = 2, and now there is none",
                "the run that goes on had the limit task_budget.max_tokens = 8, and now it is 9",
                "the run that goes on had the limit task_budget.max_cost_usd = 0.5, and now there is none",
                "the run that goes on had the limit forecast = true, and now it is false",
            ]
        );
        let higher = RunLimits { max_wall_ms: Some(600_000), ..before.clone() };
        let expected =
            "the run that goes on had the limit session_budget.max_wall_time = 5m, and now it is 10m";
        assert_eq!(told(&higher), [expected]);
    }

    #[test]
    fn tasks_of_the_run_that_are_not_open_are_told_with_where_they_stand() {
        use Status::{Blocked, Completed, Pending, Skipped};
        let task = |(id, status): (&str, Status)| Task { status, ..Task::new(TaskId::new(id), "t") };
        let mut tasks: Vec<Task> =
            [("1", Completed), ("2", Pending), ("3", Blocked), ("4", Skipped), ("5", Pending)]
                .map(task)
                .into();
        tasks.push(Task { parent_id: Some(TaskId::new("5")), ..task(("5.1", Completed)) });
        let plan = Plan { tasks, ..Plan::default() };
        let told = |ids: &[&str]| {
            let scope = ids.iter().map(|id| TaskId::new(*id)).collect::<Vec<_>>().into();
            let told = not_open(&plan, &scope).into_iter();
            told.map(|warning| warning.told()).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&["1", "2", "3", "5"]),
            [
                "task 1, which the run is for, is completed already. Reset the task to have it worked on again.",
                "task 3, which the run is for, is blocked already. Reset the task once it can be worked on.",
                "task 5, which the run is for, is completed already. Reset the task to have it worked on again.",
            ]
        );
        assert!(told(&[]).is_empty());
    }
}
