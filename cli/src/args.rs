//! The command line: every command, argument and help text.

mod control;
mod history;
mod hooks;
mod limits;
mod look;
mod plan;
mod plugins;
mod toon;

use std::{ffi::OsString, ops::RangeInclusive, path::PathBuf};

pub(crate) use control::{DecideArgs, ResumeArgs, SteerArgs, StopArgs};
pub(crate) use history::{ReplayArgs, ReportArgs, ReportFormat, RunLogArgs, WhyArgs};
pub(crate) use hooks::{
    BridgeArgs, EventArgs, FireArgs, HookSchemaArgs, HooksCommand, HooksTestArgs, LogArgs, ScaffoldArgs,
    ShowArgs, event_type, language,
};
use limits::setting;
pub(crate) use limits::{DiscoveryArgs, Given, LimitArgs, option_of};
pub(crate) use look::{SchemaArgs, ShowTaskArgs, TasksArgs};
pub(crate) use plan::{AnswerArgs, AskArgs, BlockArgs, EditArgs, MoveArgs, ReleaseArgs, RmArgs, UndoArgs};
pub(crate) use plugins::{
    InstallArgs, LsArgs, NewPluginArgs, PluginCommand, PluginDirectory, PluginName, PluginTestArgs,
    VerifyArgs,
};
pub(crate) use toon::{DecodeArgs, EncodeArgs, ReadArgs, ToonCommand};

use clap::{Args, Parser, Subcommand};
use samuel_core::{
    config::RUN_COMMANDS,
    model::{Complexity, InvalidTask, Priority, Source, TaskId, commit_hash},
    prd::Form,
};

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

/// What stands for `pilot` where `run` has no command.
const DISCOVER_ONLY: &str = "--discover-only";

/// Puts `pilot` into a `run` without a command that has the option --discover-only, which is short
/// for it: before its options, wherever among them that one stands.
pub(crate) fn with_pilot(mut words: Vec<OsString>) -> Vec<OsString> {
    let run = after_globals(&words, 1);
    let is_run = words.get(run).is_some_and(|word| word == "run" || word == "auto");
    let asked = words.iter().skip(run).take_while(|word| *word != "--");
    if !is_run || !asked.into_iter().any(|word| word == DISCOVER_ONLY) {
        return words;
    }
    let mut at = after_globals(&words, run + 1);
    let is_named = words.get(at).is_some_and(is_methodology);
    if is_named {
        at = after_globals(&words, at + 1);
    }
    if words.get(at).is_some_and(|word| word == DISCOVER_ONLY) {
        // What belongs before the option may stand behind it.
        let behind = after_globals(&words, at + 1);
        if !is_named && words.get(behind).is_some_and(is_methodology) {
            let methodology = words.remove(behind);
            words.insert(at, methodology);
            at += 1;
        }
        let behind = after_globals(&words, at + 1);
        match words.get(behind).and_then(|word| word.to_str()).filter(|word| RunCommand::takes(word)) {
            Some("pilot") => _ = words.remove(behind),
            // It is refused, for this option is none of it.
            Some(_) => return words,
            None => {}
        }
    }
    let has_command = words.get(at).and_then(|word| word.to_str()).is_some_and(RunCommand::takes);
    if !has_command {
        words.insert(at, "pilot".into());
    }
    words
}

/// Returns the place behind the options that every command takes.
fn after_globals(words: &[OsString], mut at: usize) -> usize {
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        at += match word {
            "--json" => 1,
            "-C" | "--directory" => 2,
            word if word.starts_with("--directory=") || word.starts_with("-C") => 1,
            _ => break,
        };
    }
    at
}

fn is_methodology(word: &OsString) -> bool {
    word.to_str().is_none_or(|word| !word.starts_with('-') && !RunCommand::takes(word))
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
    Pause,
    /// Let a loop that holds go on
    Resume(ResumeArgs),
    /// Approve a tool call that waits for a person, or let a loop that holds go on
    Approve(DecideArgs),
    /// Deny a tool call that waits for a person
    Deny(DecideArgs),
    /// Tell the agent of the loop that runs something with its next prompt
    Steer(SteerArgs),
    /// End the loop that runs after the iteration under way, or at once
    Stop(StopArgs),
    /// Watch the loop that runs; leaving leaves it alone
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
    /// Check that the recorded inputs of a run lead to what it did
    Replay(ReplayArgs),
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
    /// Move a task in the list, or make it a part of another; what is next follows from priority and id
    Move(MoveArgs),
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
#[command(
    after_help = "Plans are kept in $SAMUEL_STATE_DIR, $XDG_STATE_HOME/samuel or ~/.local/state/samuel. A \
                        plan that is there is kept beside the restored one, as prd.toon.bak-<time>.\n\nExit \
                        codes: 0 done, 1 no such plan is kept, 75 a loop runs"
)]
pub(crate) struct RestoreArgs {
    /// The number of the plan, as --list shows it; by default the last one that is not there now
    #[arg(value_name = "NUMBER", conflicts_with = "list", value_parser = whole_number::<u64>(1..=u64::MAX))]
    pub(crate) number: Option<u64>,
    /// List the plans that are kept and change nothing
    #[arg(long)]
    pub(crate) list: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Try to get out of the sandbox, and say of each promise whether it held
    #[command(
        after_help = "The commands run in a directory that is made for it; nothing of the project is run. What \
                            `egress` opens is not tried.\n\nExit codes: 0 all held, 1 one did not, or the sandbox \
                            cannot be used"
    )]
    Check(SandboxCheckArgs),
    /// Build the image that .samuel/sandbox/Containerfile describes, and pin it in samuel.toml
    #[command(
        after_help = "Nothing is pulled, and what the file runs has no network: images it begins with have to be \
                            there, such as by `tar -C rootfs -c . | podman import - NAME`. SAMUEL_RUNTIME names the \
                            engine, podman or docker.\n\nExit codes: 0 built, 1 it cannot be"
    )]
    Image,
    /// Remove the containers of this project that a Samuel has left that is gone
    #[command(
        after_help = "Each start does it as well. Containers of other projects, and of a run that is at work, \
                            stay.\n\nExit codes: 0 done, 1 the engine cannot be asked"
    )]
    Sweep,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxCheckArgs {
    /// The sandbox [default: that of samuel.toml]
    #[arg(long, value_name = "NAME")]
    pub(crate) sandbox: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// Run what plugins bring without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Print what it consists of instead: the tokens of each section, and what was left out
    #[arg(long, conflicts_with = "export")]
    pub(crate) stats: bool,
    /// Copy the prompt templates to .samuel/templates/<methodology>/ instead, to change them there
    #[arg(long)]
    pub(crate) export: bool,
    /// Replace templates that are there
    #[arg(long, requires = "export")]
    pub(crate) force: bool,
    /// The model that the agent is to use, by its own name for it
    #[arg(long, value_name = "NAME", value_parser = setting("model"), conflicts_with = "export")]
    pub(crate) model: Option<Given>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The PRD, a Markdown or JSON file, whose tasks become the plan
    #[arg(long, value_name = "FILE")]
    pub(crate) prd: Option<PathBuf>,
    /// Replace a plan that is there; `samuel run restore` has it then
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// The two sides of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Side {
    /// The plan: what was edited or removed there stays so
    Plan,
    /// The PRD: it replaces what was edited, and adds again what was removed
    Prd,
}

#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Read the PRD in this form, also at each update; `samuel run convert --formats` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Form>,
    /// Make an empty plan of a PRD without tasks
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "--update finds each task of the PRD in the plan, by id and then by title, and changes what it \
                  says, where only the PRD changed it. What was edited in the plan stays. Where tasks stand, \
                  their commits and tasks that were added stay, and so do tasks that the PRD has no more, \
                  unless --prune is given. At a terminal it shows what is different and asks. It works beside \
                  a running loop, and `samuel run undo` takes it back.\n\nExamples:\n  samuel run convert \
                  --dry-run docs/prd.md\n  samuel run convert docs/prd.md\n  samuel run convert \
                  --update --dry-run docs/prd.md\n  generate-prd | samuel run convert --update -"
)]
pub(crate) struct ConvertArgs {
    /// The PRD, a Markdown or JSON file; "-" reads it from stdin, with --update
    #[arg(value_name = "PRD", required_unless_present = "formats")]
    pub(crate) prd: Option<PathBuf>,
    /// Replace a plan that has tasks; `samuel run restore` has it then
    #[arg(long, conflicts_with = "update")]
    pub(crate) force: bool,
    /// Bring the plan up to date with the PRD
    #[arg(long)]
    pub(crate) update: bool,
    /// Remove tasks that came from a PRD and are in this one no more
    #[arg(long, requires = "update")]
    pub(crate) prune: bool,
    /// Which side wins where both were changed since the last update
    #[arg(long, requires = "update", value_enum, default_value_t = Side::Plan)]
    pub(crate) prefer: Side,
    /// Show the plan, or with --update what would be different, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change the plan without asking, also where the PRD looks like another one
    #[arg(long, short, requires = "update")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// List the forms that a PRD may have
    #[arg(long, conflicts_with_all = ["prd", "force", "update", "dry_run", "format", "allow_empty"])]
    pub(crate) formats: bool,
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
    /// Hold after each iteration until `samuel run resume` or `approve`
    #[arg(long)]
    pub(crate) step: bool,
    /// Time every handler: lines in progress.md, and a table at the end
    #[arg(long)]
    pub(crate) profile: bool,
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

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Work in this new or empty directory and keep it [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// What the agent and the checks run in: host, which is no sandbox, bwrap or oci
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub(crate) sandbox: String,
    /// How many lanes work at once, each in a work tree of its own [default: none, one loop]
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(1..=64))]
    pub(crate) jobs: Option<u32>,
    /// The image of the sandbox oci, pinned by its digest; it needs a shell, the usual small programs and what
    /// this command is linked with
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What is there already stays. Handlers of init.before can refuse; nothing is written \
                        then.\n\nNext: samuel run init --prd <FILE>, which makes the plan"
)]
pub(crate) struct ProjectInitArgs {
    /// Replace a samuel.toml that is there; a backup is kept
    #[arg(long)]
    pub(crate) force: bool,
    /// Only write what Samuel needs: no AGENTS.md
    #[arg(long)]
    pub(crate) minimal: bool,
    /// Run what plugins bring without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Only what stands between <!-- samuel:begin --> and <!-- samuel:end --> is written. \
                        Templates of your own go to .samuel/templates/<methodology>/agents.md.tmpl and \
                        folder.md.tmpl.")]
pub(crate) struct SyncArgs {
    /// List what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run what plugins bring without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Show every hook point's chain: what runs, in which order, what is skipped and why, and where that is set
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Repair prd.toon: make tasks of lines that could not be read, and keep a backup
    #[arg(long, conflicts_with = "hooks")]
    pub(crate) fix: bool,
    /// Repair without asking
    #[arg(long, short, requires = "fix")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust it without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what was trusted, and what is different now
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    pub(crate) show: bool,
    /// Forget what was trusted
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
}

#[cfg(test)]
mod tests {
    use super::RunCommand;

    #[test]
    fn every_subcommand_is_in_the_list_that_methodologies_are_held_against() {
        let missing: Vec<String> = RunCommand::names().filter(|name| !RunCommand::takes(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
