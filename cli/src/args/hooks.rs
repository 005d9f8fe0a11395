//! Arguments of the commands for hooks.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use samuel_core::{
    agent::bridge,
    config::parse_duration,
    dialect::{EventType, ScriptLanguage},
};

use super::whole_number;

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List the hooks: every handler that is not built in
    List,
    /// Show a hook point, or a hook by its id: what it is, what it asks for and where that is set
    Show(ShowArgs),
    /// Check the hook files and the hook tables of samuel.toml
    #[command(
        after_help = "Nothing is started. Every problem is told with its place. Exit codes: 0 all is well, \
                            1 an entry cannot be used"
    )]
    Validate,
    /// Call one hook with one event, and show all that goes in and comes out
    Test(HooksTestArgs),
    /// Fire a hook point: call all its handlers, as a run does
    Fire(FireArgs),
    /// Show which hooks runs have called
    Log(LogArgs),
    /// Answer a hook of an agent: fire the hook point that it is about
    #[command(
        after_help = "For the settings of an agent, which start this at its own hooks: the input is its JSON on \
                            standard input, the answer what it reads on standard output. Within a run it asks the \
                            run about tool calls; alone it fires the points of the project, as far as that is \
                            trusted. A call about which nobody can be asked is denied. docs/agent-hooks.md says \
                            how each agent is set up.\n\nExit codes: 0 answered, 2 the event is not known, which \
                            agents read as a denial"
    )]
    Bridge(BridgeArgs),
    /// Write a new repository hook: its file, and a script that answers already
    Scaffold(ScaffoldArgs),
    /// Show the JSON Schemas of repository hooks: of their files, of what they are given and print
    Schema(HookSchemaArgs),
}

#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// The agent, whose protocol is spoken
    #[arg(value_name = "AGENT", value_parser = PossibleValuesParser::new(bridge::names()))]
    pub(crate) agent: String,
    /// The agent's name for the event [default: what the input says]
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// How long an answer may take, such as 5m; the agent has to wait longer
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = deadline)]
    pub(crate) deadline: Duration,
    /// The file that says where the run listens, which the run itself names where it wires this
    #[arg(long, value_name = "FILE")]
    pub(crate) run: Option<PathBuf>,
}

fn deadline(text: &str) -> Result<Duration, String> {
    let parsed = parse_duration(text).map_err(|error| error.to_string())?;
    if parsed.is_zero() { Err("it must be at least 1s".to_owned()) } else { Ok(parsed) }
}

#[derive(Debug, Args)]
#[command(after_help = "Without ID or --event it asks for what is not given, on a terminal. It writes \
                        .system/hooks/ID.yaml and scripts/hooks/ID.sh or ID.py, and nothing over what is there.\n\nExit \
                        codes: 0 it was written, 1 it cannot be written, 2 there is such a hook, or a value is no value")]
pub(crate) struct ScaffoldArgs {
    /// Its name: small letters, digits, - and _
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// When it runs
    #[arg(
        long,
        value_name = "EVENT",
        value_parser = event_type,
        help = "When it runs: PromptSubmit, PreAbilityCall, PostAbilityCall, SessionStart, SessionEnd or SessionStop"
    )]
    pub(crate) event: Option<EventType>,
    /// What it is for, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) summary: Option<String>,
    /// It can stop what it is asked about, where its event lets it
    #[arg(long)]
    pub(crate) blocking: bool,
    /// Only these abilities: a glob; ! before it leaves out. May be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) scope: Vec<String>,
    /// Only calls that took that long, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) min_duration: Option<u64>,
    /// Only where one of these paths was changed: a glob. May be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) changed: Vec<String>,
    /// What its script is written in: sh or python
    #[arg(long, value_name = "LANGUAGE", value_parser = language)]
    pub(crate) language: Option<ScriptLanguage>,
}

#[derive(Debug, Args)]
pub(crate) struct HookSchemaArgs {
    /// hook: a file of .system/hooks; result: what a hook prints; the name of an event: what it is given.
    /// All of them where none is named
    #[arg(value_name = "hook|result|EVENT")]
    pub(crate) name: Option<String>,
}

/// Reads the name of an event.
pub(crate) fn event_type(text: &str) -> Result<EventType, String> {
    EventType::named(text)
        .ok_or_else(|| format!("it is one of {}", EventType::ALL.map(EventType::as_str).join(", ")))
}

/// Reads the name of a language.
pub(crate) fn language(text: &str) -> Result<ScriptLanguage, String> {
    let known = ScriptLanguage::ALL.map(ScriptLanguage::as_str).join(", ");
    ScriptLanguage::named(text).ok_or_else(|| format!("it is one of {known}"))
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A hook point, such as quality.check, or the id of a hook
    #[arg(value_name = "POINT|ID")]
    pub(crate) what: String,
    /// Show what a hook starts as well, as it is started: words and variables
    #[arg(long)]
    pub(crate) expanded: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "What FILE leaves out is as in a sample of the event. The hook is called beside any run: nothing \
                        is written to the run directory. What its command itself does, it does.\n\nExit codes: 0 \
                        the hook answered, 1 it broke or its command failed, 2 there is no such hook, 78 not trusted"
)]
pub(crate) struct HooksTestArgs {
    /// The hook, as `samuel hooks list` names it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The hook point, of a hook that answers at several
    #[arg(long, value_name = "POINT")]
    pub(crate) point: Option<String>,
    #[command(flatten)]
    pub(crate) event: EventArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Built-in handlers take part, as in a run. What they would change of the plan is changed in \
                        memory, and the agent is not called.\n\nExit codes: 0 the point was fired, 1 a handler broke \
                        that a run ends for, 78 not trusted"
)]
pub(crate) struct FireArgs {
    /// The hook point, such as after:iteration
    #[arg(value_name = "POINT")]
    pub(crate) point: String,
    /// Start no process: show which handlers would run, in order, and why others would not
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) event: EventArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EventArgs {
    /// What handlers are given, a JSON object of the hook point's input; "-" reads it from stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) event: Option<PathBuf>,
    /// Run it without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only calls of this hook
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only calls at this hook point
    #[arg(long, value_name = "POINT")]
    pub(crate) point: Option<String>,
    /// The last so many
    #[arg(long, value_name = "N", default_value = "50", value_parser = whole_number::<usize>(1..=1_000_000))]
    pub(crate) limit: usize,
}
