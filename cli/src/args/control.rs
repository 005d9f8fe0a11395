//! Arguments of the commands that speak to the loop that runs.

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 told, 1 no loop runs or it cannot be reached, 2 the text is none")]
pub(crate) struct ResumeArgs {
    /// What the agent is told with its next prompt
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The text waits for the next prompt, whichever task that is for; what concerns one task alone \
                        is better said with `samuel run edit`.\n\nExit codes: 0 told, 1 no loop runs or it cannot be \
                        reached, 2 the text is none"
)]
pub(crate) struct SteerArgs {
    /// What the agent is told with its next prompt, at most 8,000 characters
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 told, 1 no loop runs or it cannot be reached")]
pub(crate) struct StopArgs {
    /// Stop the agent and end at once, instead of after the iteration
    #[arg(long)]
    pub(crate) now: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "`samuel run status` lists the calls that wait, with their numbers. Calls wait where `ask_timeout` is set in \
                        samuel.toml.\n\nExit codes: 0 told, 1 nothing waits or no loop runs, 2 the text is none, 75 it may still \
                        count"
)]
pub(crate) struct ApproveArgs {
    /// What the agent is told with its next prompt
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// The tool call; without it, a loop that holds goes on where no call waits
    #[arg(long, value_name = "NUMBER", value_parser = super::whole_number::<u64>(1..=u64::MAX))]
    pub(crate) call: Option<u64>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "`samuel run status` lists the calls that wait, with their numbers.\n\nExit codes: 0 told, 1 the call does \
                        not wait or no loop runs, 2 the text is none, 75 it may still count"
)]
pub(crate) struct DenyArgs {
    /// Why, which the agent is told
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// The tool call
    #[arg(long, value_name = "NUMBER", value_parser = super::whole_number::<u64>(1..=u64::MAX))]
    pub(crate) call: u64,
}
