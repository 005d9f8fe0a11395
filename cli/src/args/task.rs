//! What the commands take that agents call: a task is done, left out, pending again, or a new one.

use clap::{Args, Subcommand};
use samuel_core::model::{Complexity, InvalidTask, Priority, Source, TaskId, commit_hash};

use super::{ITERATIONS, whole_number};

/// The hash of a commit. An option of this name is one value to clap, not one
/// that may be missing: what a shell makes of a failed `$(git rev-parse HEAD)`
/// is an empty word, or no word at all.
type CommitSha = Option<String>;

fn commit_sha(text: &str) -> Result<CommitSha, InvalidTask> {
    commit_hash(text).map(|hash| hash.map(str::to_owned))
}

#[derive(Debug, Args)]
pub(crate) struct DoneArgs {
    /// The task
    pub(crate) id: TaskId,
    /// The commit that completes it, at least 4 digits of its hash; nothing stands for none
    #[arg(
        long,
        value_name = "SHA",
        num_args = 0..=1,
        default_value = "",
        default_missing_value = "",
        hide_default_value = true,
        value_parser = commit_sha
    )]
    pub(crate) commit_sha: CommitSha,
    /// The iteration that completes it [default: the one this runs in]
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(ITERATIONS))]
    pub(crate) iteration: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct SkipArgs {
    /// The task
    pub(crate) id: TaskId,
    /// Why it is left out
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    /// The task
    pub(crate) id: TaskId,
}

#[derive(Debug, Args)]
pub(crate) struct EnqueueArgs {
    /// The title, one line
    pub(crate) title: String,
    /// The task this one is a part of
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<TaskId>,
    #[command(flatten)]
    pub(crate) details: TaskDetails,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Add a task with an id of your own
    Add(AddArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// The id: letters, digits, ".", "-" and "_"
    pub(crate) id: TaskId,
    /// The title, one line
    pub(crate) title: String,
    /// The task this one is a part of
    #[arg(long, value_name = "ID")]
    pub(crate) parent: Option<TaskId>,
    #[command(flatten)]
    pub(crate) details: TaskDetails,
}

// What can be said of a new task. No doc comment: it would become the help of
// the commands that take it.
#[derive(Debug, Args)]
pub(crate) struct TaskDetails {
    /// How urgent it is: critical, high, medium or low
    #[arg(long, value_name = "PRIORITY", default_value_t = Priority::Medium)]
    pub(crate) priority: Priority,
    /// How much work it is: simple, medium or complex
    #[arg(long, value_name = "COMPLEXITY", default_value_t = Complexity::Medium)]
    pub(crate) complexity: Complexity,
    /// Where it comes from: manual, prd or pilot-discovery
    #[arg(long, value_name = "SOURCE", default_value_t = Source::Manual)]
    pub(crate) source: Source,
    /// What is to be done, any number of lines
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) description: String,
    /// A task that must be done first; repeat it, or separate ids by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) depends_on: Vec<TaskId>,
}
