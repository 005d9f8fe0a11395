//! What came of a run, as its last event tells it.

use samuel_model::{
    AgentTotal, Coded, ErrorCode, ExitReason, Location, Mark, Plan, Remedy, TaskId, Usage, text::described,
};
use serde::{Deserialize, Serialize};

/// The error that a run could not go on from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFault {
    /// The name of its code, such as `E_STATE_CORRUPT`.
    pub code: String,
    /// What happened, with its causes, in one line.
    pub message: String,
    /// The place it is about, where there is one.
    pub location: Option<Location>,
    /// The next step, if the error has a more specific one than its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl RunFault {
    /// Describes an error.
    #[doc(hidden)]
    pub fn of(error: &impl Coded) -> Self {
        Self {
            code: error.code().name.to_owned(),
            message: described(error),
            location: error.location(),
            help: own_help(error),
        }
    }
}

/// Returns the help of an error, if it is a fixed text that differs from the help of its code.
fn own_help(error: &impl Coded) -> Option<String> {
    match error.help() {
        help if help == *error.code().help => None,
        Remedy::Say(words) => Some(words.to_owned()),
        Remedy::Tell(words) => Some(words),
        _ => None,
    }
}

impl From<String> for RunFault {
    /// Describes what no error stands for.
    fn from(message: String) -> Self {
        Self { code: ErrorCode::RUN_FAILED.name.to_owned(), message, location: None, help: None }
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Why it ended.
    pub exit_reason: ExitReason,
    /// What led to it, in one line, with the limit where one was reached.
    pub detail: Option<String>,
    /// How many iterations it began.
    pub iterations: u32,
    /// How many of them failed.
    pub failed_iterations: u32,
    /// Number of failed iterations that were interrupted: Samuel was killed, or the run ended with an error.
    #[serde(default)]
    pub interrupted_iterations: u32,
    /// The tasks that it completed.
    pub completed: Vec<TaskId>,
    /// The tasks of these for which nothing was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<TaskId>,
    /// The tasks of these that the agent of another task completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_other_agent: Vec<TaskId>,
    /// The tasks of these that an edit of `prd.toon` completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_edit: Vec<TaskId>,
    /// Tasks that an agent worked on, ending well, and that nobody recorded as done
    /// or put aside since.
    #[serde(default)]
    pub unrecorded: Vec<TaskId>,
    /// The tasks of the plan but groups that are skipped, whoever skipped them.
    #[serde(default)]
    pub skipped: Vec<TaskId>,
    /// The tasks of the plan but groups that are neither completed nor skipped.
    #[serde(default)]
    pub left: Vec<TaskId>,
    /// How many texts waited for the agent and did not reach it any more.
    #[serde(default)]
    pub undelivered: u32,
    /// Whether every task of the plan was completed or skipped at the end, whatever
    /// the reason why the run ended.
    #[serde(default)]
    pub settled: bool,
    /// What it consumed.
    pub usage: Usage,
    /// What of it each agent consumed, by name; those that reported nothing are not among them.
    #[serde(default)]
    pub agents: Vec<AgentTotal>,
    /// Whether all processes are gone that it started. If not, a
    /// [`Swept`](super::Event::Swept) told which may be left.
    pub swept: bool,
    /// The error that ended it, where one did.
    #[serde(default)]
    pub fault: Option<Box<RunFault>>,
    /// The setting of the limit that was reached, such as `max_iterations`; nothing
    /// where none was.
    #[serde(default)]
    pub limit: Option<String>,
    /// The tasks whose work lanes have submitted and that has not landed, those that somebody holds among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub submitted: Vec<TaskId>,
    /// The branch with what lanes of earlier runs have landed, where a run without lanes did without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmerged: Option<String>,
    /// The branch that the work of its lanes landed on; nothing in a run without lanes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub into: Option<String>,
}

impl RunReport {
    /// Notes which of the completed tasks have marks in a plan.
    #[doc(hidden)]
    pub fn note_marks(&mut self, plan: &Plan) {
        let with = |mark| -> Vec<TaskId> {
            let marked = plan.tasks.iter().filter(|task| task.marks.contains(&mark));
            marked.map(|task| task.id.clone()).filter(|id| self.completed.contains(id)).collect()
        };
        let lists = (with(Mark::NoChange), with(Mark::OtherAgent), with(Mark::Edit));
        (self.unchanged, self.by_other_agent, self.by_edit) = lists;
    }

    /// Returns the lists of completed tasks with marks that are not empty, each with the mark.
    pub fn marked(&self) -> impl Iterator<Item = (Mark, &[TaskId])> {
        let lists = [
            (Mark::NoChange, self.unchanged.as_slice()),
            (Mark::OtherAgent, self.by_other_agent.as_slice()),
            (Mark::Edit, self.by_edit.as_slice()),
        ];
        lists.into_iter().filter(|(_, tasks)| !tasks.is_empty())
    }

    /// Returns the code of the error that ended the run, else the one that goes
    /// with its exit reason; nothing where the plan was done.
    pub fn error_code(&self) -> Option<ErrorCode> {
        let of_fault = |fault: &RunFault| ErrorCode::ALL.iter().find(|code| code.name == fault.code).copied();
        self.fault.as_deref().and_then(of_fault).or_else(|| self.exit_reason.error_code())
    }

    /// Returns whether every iteration failed, and none of them was interrupted.
    fn has_failed_throughout(&self) -> bool {
        let failed = self.failed_iterations.saturating_sub(self.interrupted_iterations);
        self.iterations > 0 && failed == self.iterations
    }

    /// Returns what to do next, where the plan is not done.
    pub fn help(&self) -> Option<Remedy> {
        let code = self.error_code()?;
        if let Some(help) = self.fault.as_deref().and_then(|fault| fault.help.clone()) {
            return Some(help.into());
        }
        Some(match &self.limit {
            Some(_) if self.has_failed_throughout() => Remedy::ReadProgressAndGoOn.after(
                "Every iteration failed: mend what made them fail, for a higher limit would not help.",
            ),
            Some(setting) => Remedy::RaiseLimit { setting: setting.clone() },
            None if self.exit_reason == ExitReason::EmptyDiscovery => {
                "Give the discovery something else to look at, or add tasks, then start again.".into()
            }
            None if self.exit_reason == ExitReason::Cancelled && self.settled => {
                "Every task is settled: there is nothing to go on with.".into()
            }
            None => code.help.clone(),
        })
    }
}
