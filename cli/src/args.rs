//! The command line: every command, argument and help text.
//!
//! The commands themselves stand here, and what starts a loop; what others take, in a file for each kind of them.

mod control;
mod discover_only;
mod history;
mod hooks;
mod lanes;
mod limits;
mod look;
mod mistyped;
mod plan;
mod plugins;
mod prd;
mod project;
mod sandbox;
mod task;
mod toon;

use std::{ops::RangeInclusive, path::PathBuf};

pub(crate) use control::{ApproveArgs, DenyArgs, ResumeArgs, SteerArgs, StopArgs};
pub(crate) use discover_only::with_pilot;
pub(crate) use history::{ReportArgs, ReportFormat, RunLogArgs, WhyArgs};
pub(crate) use hooks::{
    BridgeArgs, EventArgs, FireArgs, HookSchemaArgs, HooksCommand, HooksTestArgs, LogArgs, ScaffoldArgs,
    ShowArgs, event_type, language,
};
pub(crate) use lanes::{LandArgs, MergeArgs, QueueArgs, QueueCommand, QueueReasonArgs, QueueTasksArgs};
pub(crate) use limits::{DiscoveryArgs, Given, LimitArgs, option_of};
pub(crate) use look::{LookArgs, PromptArgs, SchemaArgs, ShowTaskArgs, TasksArgs};
pub(crate) use mistyped::{nearest_command, with_command_meant};
pub(crate) use plan::{AnswerArgs, AskArgs, BlockArgs, EditArgs, LearnArgs, ReleaseArgs, RmArgs, UndoArgs};
pub(crate) use plugins::{
    ConsentArgs, IndexArgs, InstallArgs, LinkArgs, LsArgs, NewPluginArgs, OutdatedArgs, PackArgs,
    PluginCommand, PluginDirectory, PluginName, PluginTestArgs, PublishArgs, SearchArgs, UpdateArgs,
    VerifyArgs,
};
pub(crate) use prd::{ConvertArgs, InitArgs, ReadingArgs, RestoreArgs};
pub(crate) use project::{DemoArgs, DoctorArgs, ProjectInitArgs, SyncArgs, TrustArgs};
pub(crate) use sandbox::{SandboxCheckArgs, SandboxCommand, SandboxImageArgs};
pub(crate) use task::{AddArgs, DoneArgs, EnqueueArgs, ResetArgs, SkipArgs, TaskCommand, TaskDetails};
pub(crate) use toon::{DecodeArgs, EncodeArgs, ReadArgs, ToonCommand};

use clap::{ArgAction, Args, Parser, Subcommand};
use samuel_core::{config::RUN_COMMANDS, model::TaskId};

use crate::trust::Consent;

/// Autonomous coding loops: a plan, an agent, checks, and a record of it all.
#[derive(Debug, Parser)]
#[command(
    name = "samuel",
    version,
    max_term_width = 100,
    after_help = "Start here:\n  samuel demo                      see a whole run, without network or agent\n  \
                  samuel run init --prd prd.md     turn a PRD into a plan\n  samuel run start                 \
                  work on it"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Print JSON on stdout, and nothing else there: one document; a run and `run log` one per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Work in this directory [default: the project around the current one]
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Print what is logged on stderr; twice for more of it. `SAMUEL_LOG` says it by target
    #[arg(short = 'v', long = "verbose", global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

// What a command takes is only defined once it is called.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// Run a methodology: plan, loop and tasks
    Run(RunArgs),
    /// Run a methodology (alias for samuel run)
    #[command(long_about = "Run a methodology: plan, loop and tasks (alias for samuel run)")]
    Auto(RunArgs),
    /// Make a directory a project: samuel.toml, .samuel and AGENTS.md
    Init(ProjectInitArgs),
    /// Bring Samuel's sections of AGENTS.md and of folders' context files up to date
    Sync(SyncArgs),
    /// Check that the project can be run: configuration, hooks, agent, git and state
    #[command(
        after_help = "Nothing of the project is started, and nothing is written without --fix. It exits with 1 where \
                            something keeps `samuel run start` from starting; warnings do not."
    )]
    Doctor(DoctorArgs),
    /// Trust what a run would execute, so that a start asks again only where that changes
    #[command(
        after_help = "What is trusted is kept outside of the project. A change of anything that would \
                            execute asks again, and shows what is different; without a terminal the start ends \
                            with 78."
    )]
    Trust(TrustArgs),
    /// List, show, check and try out hooks
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Install a plugin, or update one
    Install(InstallArgs),
    /// Look for plugins in an index
    Search(SearchArgs),
    /// Show which plugins have something newer, in the index or at their source
    Outdated(OutdatedArgs),
    /// Bring plugins up to date
    Update(UpdateArgs),
    /// List the plugins
    Ls(LsArgs),
    /// Show what a plugin provides and may reach
    Info(PluginName),
    /// Remove a plugin
    Uninstall(PluginName),
    /// Compare plugins with what was installed
    Verify(VerifyArgs),
    /// Make, check, build and try plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Encode, decode, check and mend TOON, and compare it with JSON
    #[command(subcommand)]
    Toon(ToonCommand),
    /// Print the JSON Schema of what a command answers with --json
    Schema(SchemaArgs),
    /// Run a small plan from start to end in a repository of its own, without network or agent
    Demo(DemoArgs),
}

#[derive(Debug, Args)]
#[command(
    subcommand_value_name = "COMMAND",
    subcommand_help_heading = "Commands",
    after_help = "Without a command: where the plan stands, or what to do first. A loop is only ever started \
                  by `start`, `pilot` and --discover-only.\n\nExamples:\n  samuel run init --prd docs/prd.md\n  samuel run start --agent \
                  claude\n  samuel run ralph tasks\n  samuel run done 1.2 --commit-sha \"$(git rev-parse HEAD)\""
)]
pub(crate) struct RunArgs {
    /// The methodology, such as ralph (or rw) [default: the one samuel.toml names, else ralph]
    #[arg(value_name = "METHODOLOGY")]
    pub(crate) methodology: Option<String>,
    /// Look for tasks and work on none: `run pilot --discover-only`, with all its options
    #[arg(long)]
    pub(crate) discover_only: bool,
    #[command(subcommand)]
    pub(crate) command: Option<RunCommand>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RunCommand {
    /// Make the project ready: samuel.toml and a plan
    Init(InitArgs),
    /// Turn a PRD into the plan
    Convert(ConvertArgs),
    /// Run the loop until the plan is done or a limit is reached
    Start(Box<StartArgs>),
    /// Run the loop and look for tasks on the way; where there is no plan, begin with an empty one
    Pilot(Box<PilotArgs>),
    /// Have the loop that runs hold before its next iteration
    #[command(after_help = "Exit codes: 0 told, 1 no loop runs or it cannot be reached")]
    Pause,
    /// Let a loop that holds go on
    Resume(ResumeArgs),
    /// Approve a tool call that waits for a person, or let a loop that holds go on
    Approve(ApproveArgs),
    /// Deny a tool call that waits for a person
    Deny(DenyArgs),
    /// Tell the agent of the loop that runs something with its next prompt
    Steer(SteerArgs),
    /// End the loop that runs after the iteration under way, or at once
    Stop(StopArgs),
    /// Watch the loop that runs; leaving leaves it alone
    #[command(
        after_help = "Exit codes: 0 left, or watched to the end, 1 no loop runs, it cannot be reached, or it is gone"
    )]
    Attach,
    /// Show where the plan stands
    Status,
    /// List the tasks: all, or those that stand somewhere or are ready
    Tasks(TasksArgs),
    /// Show a task: what it says, what it belongs to, and what happened to it
    Show(ShowTaskArgs),
    /// List the runs that are recorded
    Runs,
    /// Tell what happened in a run, as lines
    Log(RunLogArgs),
    /// Say why something is as it is: what is next, a task, the last check, a run, a handler
    Why(WhyArgs),
    /// Make a page of a run: HTML, Markdown for a pull request, or JSON
    Report(ReportArgs),
    /// Record that a task is done
    Done(DoneArgs),
    /// Leave a task out
    Skip(SkipArgs),
    /// Make a task pending again
    Reset(ResetArgs),
    /// Ask a person about a task, which waits for the answer
    Ask(AskArgs),
    /// Answer the question about a task; its next prompt holds both
    Answer(AnswerArgs),
    /// Record what later iterations should know
    Learn(LearnArgs),
    /// Add a task; its id is the next free number
    Enqueue(EnqueueArgs),
    /// Add a task with an id of your own
    #[command(subcommand)]
    Task(TaskCommand),
    /// Change what a task says: with options, or in your editor
    Edit(Box<EditArgs>),
    /// Remove tasks
    Rm(RmArgs),
    /// Say that a task cannot be worked on until it is reset
    Block(BlockArgs),
    /// Give back a task that somebody has claimed and works on no more
    Release(ReleaseArgs),
    /// List what runs have and left: workspaces, branches, kept work
    #[command(
        after_help = "It says which task each is of, since when, and whether its work is on a branch of yours or on that of \
                      a run.\n\nExit codes: 0 listed, 1 it cannot be read"
    )]
    Lanes,
    /// Merge the work of a run into what is checked out
    Merge(MergeArgs),
    /// Remove workspaces and branches whose work is merged
    #[command(
        after_help = "It removes branches, kept work and workspaces whose last commit is on a branch of yours or on that of \
                      a run. The branch of a run is removed once it is on a branch of yours. What git ignores in a \
                      workspace is removed with it. It says of all else why it stays.\n\nExit codes: 0 done, 1 it cannot \
                      be, 75 a loop is at work"
    )]
    Clean,
    /// List what waits to be landed and why; hold, release, drop and land it
    Queue(QueueArgs),
    /// Take a change of the plan back
    Undo(UndoArgs),
    /// Put back a plan that was lost; the last ten are kept outside of the project
    Restore(RestoreArgs),
    /// Try out what the sandbox of a run holds, build its image, remove what it left
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Print the prompt that the agent would get next
    Prompt(PromptArgs),
    /// Print the variables that prompt templates can use
    Vars(LookArgs),
}

impl RunCommand {
    /// Returns the names of the commands.
    pub(crate) fn names() -> impl Iterator<Item = String> {
        let mut commands = Self::augment_subcommands(clap::Command::new("run"));
        commands.build();
        let names: Vec<String> =
            commands.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        names.into_iter()
    }

    /// Says whether a word is, or is to be, the name of a command, so that no
    /// methodology can be called so.
    pub(crate) fn takes(word: &str) -> bool {
        RUN_COMMANDS.contains(&word)
    }
}

#[derive(Debug, Args)]
#[command(after_help = "Ctrl-C ends the run after the iteration under way, a second one stops the agent, a \
                        third one leaves at once. What was done is saved; `samuel run start` goes on.\n\nExit \
                        codes: 0 done, 3 blocked, 4 a limit was reached, 5 corrupt state, 75 another loop \
                        runs, 78 not trusted, 129, 130 and 143 ended by SIGHUP, \
                        SIGINT and SIGTERM")]
pub(crate) struct StartArgs {
    /// The agent: claude, codex, gemini, copilot, kiro, command or scripted
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// The agent's command line, split as a shell does; given more than once, one argument each time
    ///
    /// For the agent "command", which it implies unless samuel.toml names another, it is any program
    /// that reads a prompt on stdin; for "scripted" the recording, a TOML or JSON file; for the others
    /// what to run in place of their usual program.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) agent_command: Vec<String>,
    /// What the agent and the checks run in: host, which is no sandbox, bwrap or oci
    #[arg(long, value_name = "NAME")]
    pub(crate) sandbox: Option<String>,
    /// Work on this task alone, and on what it depends on; a group stands for its parts
    ///
    /// Given more than once, on each of them. The run is completed once they are. One that is cut off goes
    /// on with them.
    #[arg(long = "task", value_name = "ID")]
    pub(crate) tasks: Vec<TaskId>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// The name of the session, which hooks see
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Run what the project brings without asking
    ///
    /// What the last run left changed of the files that decide what runs is not covered: with --accept
    /// too, that alone is asked about.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Go on after control files were changed: show what changed, and ask
    #[arg(long)]
    pub(crate) accept: bool,
    /// Run what the project brings, without asking, if it has this digest, which the question prints
    #[arg(long, value_name = "DIGEST", conflicts_with = "yes")]
    pub(crate) trust_hash: Option<String>,
    /// Show the next prompt and every hook point's chain; start no process and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Time every handler: lines in progress.md, and a table at the end
    #[arg(long)]
    pub(crate) profile: bool,
}

impl StartArgs {
    /// Returns what the caller agrees to.
    pub(crate) fn consent(&self) -> Consent<'_> {
        Consent { yes: self.yes, accept: self.accept, digest: self.trust_hash.as_deref() }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "A discovery iteration looks for tasks instead of working on one: the first of a plan, every \
                        fifth after it, and each while nothing is left to work on. Two in a row that find nothing \
                        then end the run.\n\nExamples:\n  samuel run pilot --agent claude\n  samuel run pilot --focus \
                        \"error handling\" --max-discovery-tasks 5\n  samuel run --discover-only\n\nExit codes: those \
                        of `samuel run start`",
    // A run that is for some tasks looks for no others.
    mut_arg("tasks", |task| task.hide(true))
)]
pub(crate) struct PilotArgs {
    #[command(flatten)]
    pub(crate) discovery: DiscoveryArgs,
    /// Look for tasks and work on none
    #[arg(long)]
    pub(crate) discover_only: bool,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// Reads a whole number within a range, and names the range where it is none of it.
fn whole_number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
    }
}

/// How many iterations there can be, and which numbers they have.
const ITERATIONS: RangeInclusive<u64> = 1..=u32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::RunCommand;

    #[test]
    fn every_subcommand_is_in_the_list_that_methodologies_are_held_against() {
        let missing: Vec<String> = RunCommand::names().filter(|name| !RunCommand::takes(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
