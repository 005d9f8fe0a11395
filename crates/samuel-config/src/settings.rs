//! The settings of a methodology.
//!
//! [`MethodologySettings`] is what a run is frozen with: the defaults, what a
//! methodology's plugin sets beside them, what samuel.toml says, and what the
//! caller replaces. A setting is one line here: its name and type, default and
//! rule, and its text, which is that of the documentation, of the samuel.toml
//! that `init` writes, of the JSON Schema and of Python.

use std::{collections::BTreeMap, num::NonZeroU32, ops::RangeInclusive, time::Duration};

use samuel_hook::{context::GuardrailVars, sandbox::HOST};
use samuel_model::WorkspaceKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use toml::Value as Toml;

use super::{
    AgentRoute, ConfigError, GatewaySettings,
    document::Document,
    setting::{
        DAY, Field,
        Kind::{
            self, Amount, Checks, Count, Flag, Gateways, Large, Name, Names, Routes, Short, Table, Text,
            Texts, Time, Within,
        },
        MONTH, Row, SECOND, rows, schema, settings, take,
    },
    value::Value,
};

/// The names `agent` can have in samuel.toml.
pub const AGENTS: &[&str] = &["claude", "codex", "gemini", "copilot", "kiro", "command", "scripted"];

/// The most lanes that a run has.
pub const MAX_JOBS: u32 = 64;
/// The longest `pilot.focus`, in bytes: it stands in every prompt.
const MAX_FOCUS_BYTES: usize = 4096;

settings! {
    /// How a methodology runs: `[methodology.<name>]`.
    struct MethodologySettings {
        /// The agent. Agents run in their own unattended permission mode.
        agent: String = "claude".to_owned(), Name("agent", AGENTS.to_vec());
        /// The program to run in place of the agent's usual one; with `command` the whole command line.
        agent_command: Vec<String> = Vec::new(), Texts;
        /// Arguments that are added for any agent. The question before a run shows them.
        agent_args: Vec<String> = Vec::new(), Texts;
        /// The model that the agent is to use, by its own name for it: `claude`, `codex`, `gemini` and
        /// `copilot` take one. Empty stands for the agent's own choice.
        model: String = String::new(), Text;
        /// Which agent a call has, by the first of these tables that fits. One has conditions
        /// (`complexity`, `priority`, `mode`, `after_failures`), all of which must hold, and what it
        /// changes (`agent`, `model`, `args`).
        routes: Vec<AgentRoute> = Vec::new(), Routes;
        /// Agents for the time that the one chosen cannot be started, or has a usage limit that lasts
        /// longer than `rate_limit_wait`; the first that can work does.
        fallback: Vec<String> = Vec::new(), Names("agent", AGENTS.to_vec());
        /// How many iterations a run may make; 0 sets no limit.
        max_iterations: Option<NonZeroU32> = NonZeroU32::new(20), Count(0);
        /// The pause between two iterations.
        pause: Duration = Duration::from_secs(2), Time(Duration::ZERO..=DAY);
        /// After so many failed iterations in a row the run ends.
        max_consecutive_failures: u32 = 3, Count(1);
        /// Commands that check the work after each iteration, run in this order. Each is text, or a
        /// table such as `{ command = "cargo test", timeout = "30m" }`, which shows the default
        /// timeout; that is from 1s to 24h.
        quality_checks: Vec<CheckCommand> = Vec::new(), Checks;
        /// What follows from a usage limit of the agent that lasts longer than `rate_limit_wait`, where
        /// no agent of `fallback` can work: `wait` waits for it, `stop` ends the run as `rate-limited`.
        rate_limit: RateLimitPolicy = RateLimitPolicy::Wait, rate_limits();
        /// See `rate_limit`; also how long altogether a usage limit without a known end is tried
        /// again, after 5, 10, 20 minutes and so on.
        rate_limit_wait: Duration = Duration::from_secs(6 * 60 * 60), Time(Duration::ZERO..=MONTH);
        /// What the agent and the checks run in. `host` is no sandbox; `bwrap` is bubblewrap, and `oci`
        /// containers of podman or docker, both in a clone and without a network. A program can bring others (`RunBuilder::sandboxes`).
        sandbox: String = HOST.to_owned(), Text;
        /// Which tasks count as completed while an agent is at work. With `own-task` these are the task that it was
        /// called for, and those that you complete with `samuel run done`; with `plan` any. `auto` is `own-task` with
        /// several lanes, in a clone and in a sandbox, and `plan` elsewhere.
        completes: String = "auto".to_owned(), Name("value of completes", vec!["auto", "own-task", "plan"]);
        /// Whether a completion for which nothing was changed since its task began fails its check. A change is what is
        /// committed, or in place also what is not.
        require_change: bool = false, Flag;
        /// Of how many runs the agent's output in `.samuel/run/logs` is kept, the one that starts
        /// included; 0 keeps all.
        keep_runs: u32 = 20, Count(0);
        /// How many bytes of it are kept; 0 keeps all.
        keep_bytes: u64 = 1_000_000_000, Large(0);
        /// What a run may consume. Cost and tokens count as far as the agent reports them.
        session_budget: SessionBudget = SessionBudget::default(), Table(SessionBudget::rows(), None);
        /// What a task may consume, over all runs since it was last reset. One that uses it up is
        /// blocked with the reason, and the run goes on with others.
        task_budget: TaskBudget = TaskBudget::default(), Table(TaskBudget::rows(), None);
        /// Whether a run ends as `budget` before an iteration that what is left of `session_budget`
        /// would not last for: the median of the last five is held against it, once three are known.
        forecast: bool = true, Flag;
        /// How long a tool call waits for `samuel run approve` or `deny` where a handler of `ability.before` wants a
        /// person to decide; 0 denies it at once. An agent that is silent for longer than `clocks.idle` is ended, so
        /// that one should be longer.
        ask_timeout: Duration = Duration::ZERO, Time(Duration::ZERO..=DAY);
        /// How long the agent may take.
        clocks: ClockSettings = ClockSettings::default(), Table(ClockSettings::rows(), None);
        /// Looking for tasks: pilot mode.
        pilot: PilotSettings = PilotSettings::default(), Table(PilotSettings::rows(), Some("enabled"));
        /// Working on several tasks at once.
        parallel: ParallelSettings = ParallelSettings::default(), Table(ParallelSettings::rows(), None);
        /// How much the agent is told of earlier work and of the project.
        context: ContextSettings = ContextSettings::default(), Table(ContextSettings::rows(), None);
    }

    /// What a run may consume: `session_budget`.
    #[derive(Copy)]
    struct SessionBudget {
        /// The cost in US dollars that ends a run.
        max_cost_usd: Option<f64> = None, Amount;
        /// The tokens in and out that end a run.
        max_tokens: Option<u64> = None, Large(1);
        /// The time that ends a run.
        max_wall_time: Option<Duration> = None, Time(SECOND..=MONTH);
    }

    /// What a task may consume: `task_budget`.
    #[derive(Copy)]
    struct TaskBudget {
        /// The cost in US dollars that blocks a task. A cost that the agent does not report is none.
        max_cost_usd: Option<f64> = None, Amount;
        /// The tokens in and out that block a task.
        max_tokens: Option<u64> = None, Large(1);
        /// How many failed attempts block a task; 0 sets no limit. An attempt is an iteration in which
        /// the agent did something: consumed tokens, called a tool or changed the work tree.
        max_attempts: Option<NonZeroU32> = NonZeroU32::new(3), Count(0);
    }

    /// How long an agent may take: `[methodology.<name>.clocks]`.
    #[derive(Copy, Eq)]
    struct ClockSettings {
        /// To its first output.
        first_byte: Duration = Duration::from_secs(60), Time(SECOND..=DAY);
        /// Between two pieces of output; from the start for agents without `first_byte`.
        idle: Duration = Duration::from_secs(10 * 60), Time(SECOND..=DAY);
        /// After its final event.
        linger: Duration = Duration::from_secs(10), Time(SECOND..=DAY);
        /// As a whole.
        wall: Duration = Duration::from_secs(60 * 60), Time(SECOND..=DAY);
    }

    /// Looking for tasks by itself: `[methodology.<name>.pilot]`.
    #[derive(Eq)]
    struct PilotSettings {
        /// Whether runs make discovery iterations: the first of a plan, others by the interval, and
        /// while nothing is left to work on, until two in a row find nothing.
        enabled: bool = false, Flag;
        /// Every how many iterations, counted over all runs of the plan.
        discover_interval: u32 = 5, Count(1);
        /// How many tasks one discovery iteration may add; more are refused.
        max_discovery_tasks: u32 = 10, Count(1);
        /// What it looks at; empty stands for everything.
        focus: String = String::new(), Short(MAX_FOCUS_BYTES);
    }

    /// Working on several tasks at once: `[methodology.<name>.parallel]`.
    #[derive(Eq)]
    struct ParallelSettings {
        /// How many lanes there are, each of which works on a task of its own in a clone of its own. With 1
        /// there is no lane: the loop works in the project itself.
        jobs: u32 = 1, Within(1, MAX_JOBS);
        /// The branch that work lands on. Empty stands for a new one of the run, which leaves those of the user as
        /// they are.
        into: String = String::new(), Text;
        /// How work gets onto that branch: by a commit that merges the branch of each task, by one commit a
        /// task, or by its commits made anew.
        merge: String = "merge".to_owned(), Name("merge strategy", vec!["merge", "squash", "rebase"]);
        /// How many tasks are merged and checked together, at most.
        batch: u32 = 4, Count(1);
        /// What happens to a task that declares a file which another one under way declares too: with `wait`
        /// it waits until that one has landed, with `allow` it may come back with a conflict.
        overlap: String = "wait".to_owned(), Name("overlap", vec!["wait", "allow"]);
        /// Files that git does not track and the clone of a lane gets, such as `.env`, by their paths from
        /// the project's root.
        copy: Vec<String> = Vec::new(), Texts;
        /// Commands that get a new clone ready, such as `npm ci`, run in this order, in a sandbox with what checks
        /// have there. Each is text, or a table as in `quality_checks`.
        setup: Vec<CheckCommand> = Vec::new(), Checks;
    }

    /// How much the agent is told: `[methodology.<name>.context]`.
    #[derive(Copy, Eq)]
    struct ContextSettings {
        /// Learnings in the progress context.
        max_learnings: u32 = 50, Count(0);
        /// Completions in the progress context.
        max_completed: u32 = 10, Count(0);
        /// Lines of `progress.md` before it is rotated.
        max_progress_lines: u32 = 500, Count(1);
        /// The size of the project snapshot in tokens.
        snapshot_tokens: u32 = 4000, Count(1);
        /// The most that a prompt quotes of the PRD, in tokens; 0 quotes nothing of it.
        prd_tokens: u32 = 2000, Count(0);
    }

    /// Where agents and checks work: `[sandbox]`.
    #[derive(Eq)]
    struct SandboxSettings {
        /// Where the agent and the checks work. `in-place` is the project's own work tree; `clone` is a clone of
        /// it in a private directory, from which commits reach the checked out branch once the checks have passed.
        /// With the sandboxes `bwrap` and `oci` it is `clone` unless this says otherwise.
        workspace: WorkspaceKind = WorkspaceKind::InPlace, workspaces();
        /// The hosts that agents in the sandboxes `bwrap` and `oci` reach, through a proxy of Samuel: none by
        /// default. It lists hosts such as `["api.example.org", "*.example.com:8443"]`, and `["*"]` stands for all
        /// names. Quality checks reach none of them.
        egress: Vec<String> = Vec::new(), Texts;
        /// The hosts that quality checks in a sandbox reach, as `egress` lists them.
        check_egress: Vec<String> = Vec::new(), Texts;
        /// Hosts that agents in a sandbox reach without the keys they take, by the gateways' names: `anthropic`,
        /// `openai` and `google` are known and need nothing but an empty table, every other needs `upstream`,
        /// `header`, `from_env` and `as_env`. Samuel puts the key into requests; the agent has one that is none.
        gateway: BTreeMap<String, GatewaySettings> = BTreeMap::new(), Gateways;
        /// Files and directories that agents and checks in a sandbox can read beside the system's, by their
        /// absolute paths.
        mounts: Vec<String> = Vec::new(), Texts;
        /// The image of the sandbox `oci`, with the agent and what checks need: its name, which has to be that of the one
        /// that samuel.lock pins, or nothing. Where samuel.lock pins none, it is pinned here, as in
        /// `localhost/agents@sha256:...`. It has to be there; none is pulled.
        image: String = String::new(), Text;
        /// How much memory a container of `oci` has: a whole number with `k`, `m` or `g`, at least `16m`.
        memory: String = "4g".to_owned(), Text;
        /// How many processes and threads a container of `oci` has, and a command under `bwrap` where the kernel limits
        /// them.
        pids: u32 = 2048, Count(16);
    }
}

fn workspaces() -> Kind {
    Name("workspace", WorkspaceKind::NAMES.map(|(name, _)| name).to_vec())
}

impl SandboxSettings {
    /// Describes the settings as the properties of a JSON Schema.
    pub(super) fn schema() -> Map<String, Json> {
        schema(&Self::rows(), &json!(Self::default().shown()))
    }

    /// Reads `[sandbox]` over the defaults.
    pub(super) fn read(&mut self, value: &Value<'_>) {
        let Some(mut table) = value.table() else { return };
        let given = take(&Self::rows(), &mut table);
        table.finish();
        self.put(&given.into());
    }
}

/// What `[guardrails]` has; the record of them is that of the prompt context.
pub(super) fn guardrails() -> Vec<Row> {
    rows! {
        /// The longest function, in lines.
        max_function_lines: Count(1);
        /// The longest file, in lines.
        max_file_lines: Count(1);
        /// Whether new code needs tests.
        require_tests: Flag;
        /// How commit messages are written.
        commit_convention: Text;
        /// How branches are named.
        branch_convention: Text;
        /// Further rules, one sentence each.
        extra: Texts;
    }
}

fn rate_limits() -> Kind {
    Name("rate_limit", RateLimitPolicy::NAMES.map(|(name, _)| name).to_vec())
}

/// The name of a rule in the prompt context.
fn in_context(key: &str) -> String {
    let capital = |word: &str| word.split_at(1).0.to_uppercase() + word.split_at(1).1;
    key.split('_').map(capital).collect()
}

/// Reads `[guardrails]` over the defaults.
pub(super) fn read_guardrails(value: &Value<'_>, rules: &mut GuardrailVars) {
    let Some(mut table) = value.table() else { return };
    let given = take(&guardrails(), &mut table);
    table.finish();
    let mut held = json!(rules);
    if let Json::Object(held) = &mut held {
        held.extend(given.into_iter().map(|(key, value)| (in_context(&key), value)));
    }
    if let Ok(changed) = GuardrailVars::deserialize(held) {
        *rules = changed;
    }
}

/// Describes `[guardrails]`.
pub(super) fn guardrails_schema() -> Map<String, Json> {
    let (rows, defaults) = (guardrails(), json!(GuardrailVars::default()));
    let default = |row: &Row| Some((row.key.to_owned(), defaults.get(in_context(row.key))?.clone()));
    schema(&rows, &rows.iter().filter_map(default).collect())
}

impl MethodologySettings {
    /// Holds every setting against its rule, whoever set it.
    ///
    /// # Errors
    /// Returns [`ConfigError::Settings`] with all that break theirs.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut held = self.shown();
        if let Some(Toml::Table(held)) = &mut held {
            // Who brings an agent may call it as they like; one that nobody brings is
            // refused where the run is built.
            held.remove("agent");
        }
        Document::read_given(&held, |table| take(&Self::rows(), table)).map(drop)
    }

    /// Replaces settings by what a caller gives, as `[methodology.<name>]` has it
    /// in samuel.toml; durations may have fractions of a second.
    ///
    /// # Errors
    /// Returns [`ConfigError::Settings`] with all that samuel.toml could not have
    /// either; nothing is replaced then.
    pub fn set(&mut self, given: &impl Serialize) -> Result<(), ConfigError> {
        let given = Document::read_given(given, |table| take(&Self::rows(), table))?;
        self.put(&given.into());
        Ok(())
    }

    /// Describes the settings as the properties of a JSON Schema.
    pub(crate) fn schema() -> Map<String, Json> {
        schema(&Self::rows(), &json!(Self::default().shown()))
    }
}

/// What a run does about a usage limit that lasts long: `rate_limit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateLimitPolicy {
    /// It waits until the limit ends. The default.
    #[default]
    Wait,
    /// It ends, as `rate-limited`.
    Stop,
}

impl RateLimitPolicy {
    /// Every policy, by its name in samuel.toml.
    pub const NAMES: [(&str, Self); 2] = [("wait", Self::Wait), ("stop", Self::Stop)];
}

/// A command that checks the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCommand {
    /// The command line, run by the shell in the project root.
    pub command: String,
    /// How long it may take, one of [`CheckCommand::TIMEOUTS`].
    pub timeout: Duration,
}

impl CheckCommand {
    /// How long a check may take where nothing is configured.
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);
    /// How long a check may be allowed to take.
    pub const TIMEOUTS: RangeInclusive<Duration> = SECOND..=DAY;

    /// Creates a check with the default timeout.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), timeout: Self::TIMEOUT }
    }
}
