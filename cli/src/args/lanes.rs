//! What `run lanes`, `run queue` and their commands take.

use clap::{Args, Subcommand};
use samuel_core::model::TaskId;

#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "COMMAND",
    subcommand_help_heading = "Commands",
    after_help = "Without a command: the work trees, branches and kept work of lanes, which task each is of, since when, \
                  and whether its work is on a branch of yours or on that of a run.\n\nExit codes: 0 listed, 1 it \
                  cannot be read"
)]
pub(crate) struct LanesArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LanesCommand>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum LanesCommand {
    /// Remove what lanes left whose work has landed, and say what stays and why
    #[command(
        after_help = "Branches, kept work and work trees go whose last commit is on a branch of yours or on that of a \
                      run; the branch of a run goes once it is on one of yours. A work tree with changes that are in no \
                      commit stays. What git ignores in a work tree goes with it.\n\nExit codes: 0 done, 1 it cannot be, \
                      75 a loop is at work"
    )]
    Clean,
}

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
