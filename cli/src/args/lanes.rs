//! What `run merge`, `run queue` and its commands take.

use clap::{Args, Subcommand};
use samuel_core::model::TaskId;

#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "COMMAND",
    subcommand_help_heading = "Commands",
    after_help = "Without a command: what waits to be landed, in the order in which it is taken, and why each of it \
                  does.\n\nExit codes: 0 listed, 1 it cannot be read"
)]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    pub(crate) command: Option<QueueCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Keep submitted work from landing until it is released
    #[command(after_help = QUEUE_CODES)]
    Hold(QueueReasonArgs),
    /// Let work land that is held
    #[command(after_help = QUEUE_CODES)]
    Release(QueueTasksArgs),
    /// Take submitted work out of the queue: its task is pending again, and the work stays on its branch
    #[command(after_help = QUEUE_CODES)]
    Drop(QueueReasonArgs),
    /// Land what was submitted, without a loop, and settle a landing that was cut off
    #[command(
        after_help = "The checks run as in a run; no agent is called. What a lane was at that is gone is kept, and its \
                      task is free again.\n\nExit codes: 0 nothing waits, 1 it could not go on, 3 something waits \
                      still, 75 a loop is at work, 78 not trusted"
    )]
    Land(LandArgs),
}

/// The exit codes of commands about entries of the queue.
const QUEUE_CODES: &str = "What is being landed stays as it is. Agents may not.\n\nExit codes: 0 done, 1 it was not \
                           submitted, or is not there, 75 being landed";

#[derive(Debug, Args)]
pub(crate) struct QueueTasksArgs {
    /// The tasks
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<TaskId>,
}

#[derive(Debug, Args)]
pub(crate) struct QueueReasonArgs {
    #[command(flatten)]
    pub(crate) tasks: QueueTasksArgs,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LandArgs {
    /// The branch to land on [default: the one that the run made, or that samuel.toml names]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) into: Option<String>,
    /// Run what the project brings without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Run what the project brings, without asking, if it has this digest, which the question prints
    #[arg(long, value_name = "DIGEST", conflicts_with = "yes")]
    pub(crate) trust_hash: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "It moves the branch that is checked out, and nothing in it that you changed. Unless the result was checked \
                  already, the checks run first. Then it removes what is merged, as `samuel run clean` does. Agents may \
                  not.\n\nExit codes: 0 merged, or nothing to merge, 1 conflicts or failed checks, 75 your changes are in \
                  the way or a loop is at work, 78 not trusted"
)]
pub(crate) struct MergeArgs {
    /// The branch [default: the one with work that is not merged]
    #[arg(value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Run what the project brings without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Run what the project brings, without asking, if it has this digest, which the question prints
    #[arg(long, value_name = "DIGEST", conflicts_with = "yes")]
    pub(crate) trust_hash: Option<String>,
}
