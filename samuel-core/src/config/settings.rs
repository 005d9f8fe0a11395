//! The settings of a methodology, with their defaults.
//!
//! [`MethodologySettings`] is what a run is frozen with: the defaults of the
//! contract (section 5), what a methodology's plugin sets beside them, and what
//! samuel.toml says. The fields are public, so that flags can replace single
//! ones afterwards.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Sandbox;

/// The names `agent` can have in samuel.toml.
pub const AGENTS: &[&str] = &["claude", "codex", "gemini", "copilot", "kiro", "command", "scripted"];

/// How a methodology runs: `[methodology.<name>]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodologySettings {
    /// The agent, one of [`AGENTS`]. Default `claude`.
    pub agent: String,
    /// The command line to run: all of it for the agent `command`, the program
    /// in place of the usual one for the others. Default empty.
    pub agent_command: Vec<String>,
    /// Arguments that are added for any agent. Default empty.
    pub agent_args: Vec<String>,
    /// How many iterations a run may make, at least 1. Default 20.
    pub max_iterations: u32,
    /// The pause between two iterations, up to 24 hours. Default 2 s.
    pub pause: Duration,
    /// After how many failed iterations in a row the run ends, at least 1.
    /// Default 3.
    pub max_consecutive_failures: u32,
    /// The commands that check the work, in the order they run. Default none.
    pub quality_checks: Vec<CheckCommand>,
    /// What a run does about a usage limit of the agent that lasts longer than
    /// [`rate_limit_wait`](Self::rate_limit_wait). Default: it waits.
    pub rate_limit: RateLimitPolicy,
    /// How long a usage limit is no question, and how long altogether one is
    /// waited for of which nobody says when it ends; up to 30 days. Default 6 h.
    pub rate_limit_wait: Duration,
    /// What the agent runs in. Default the host.
    pub sandbox: Sandbox,
    /// What a run may consume. Default without limits.
    pub session_budget: SessionBudget,
    /// Of how many runs the logs of the agent are kept, the one that starts
    /// included; 0 for all. Default 20.
    pub keep_runs: u32,
    /// How many bytes of them are kept; 0 for any number. Default 1 000 000 000.
    pub keep_bytes: u64,
    /// How long an agent may take.
    pub clocks: AgentClocks,
    /// Looking for tasks by itself.
    pub pilot: PilotSettings,
    /// How much the agent is told.
    pub context: ContextSettings,
}

impl Default for MethodologySettings {
    fn default() -> Self {
        Self {
            agent: "claude".to_owned(),
            agent_command: Vec::new(),
            agent_args: Vec::new(),
            max_iterations: 20,
            pause: Duration::from_secs(2),
            max_consecutive_failures: 3,
            quality_checks: Vec::new(),
            rate_limit: RateLimitPolicy::default(),
            rate_limit_wait: Duration::from_secs(6 * 60 * 60),
            sandbox: Sandbox::Host,
            session_budget: SessionBudget::default(),
            keep_runs: 20,
            keep_bytes: 1_000_000_000,
            clocks: AgentClocks::default(),
            pilot: PilotSettings::default(),
            context: ContextSettings::default(),
        }
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
    pub const NAMES: &[(&str, Self)] = &[("wait", Self::Wait), ("stop", Self::Stop)];

    /// Finds a policy by its name.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy)
    }
}

/// A command that checks the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckCommand {
    /// The command line, run by the shell in the project root.
    pub command: String,
    /// How long it may take, 1 s to 24 h.
    pub timeout: Duration,
}

impl CheckCommand {
    /// How long a check may take where nothing is configured.
    pub const TIMEOUT: Duration = Duration::from_secs(30 * 60);

    /// Creates a check with the default timeout.
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), timeout: Self::TIMEOUT }
    }
}

/// What a run may consume: `session_budget`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionBudget {
    /// The cost in US dollars, above 0.
    pub max_cost_usd: Option<f64>,
    /// Tokens in and out, at least 1.
    pub max_tokens: Option<u64>,
    /// Time from the start of the run, 1 s to 30 days.
    pub max_wall_time: Option<Duration>,
}

/// How long an agent may take: `[methodology.<name>.clocks]`, each 1 s to 24 h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentClocks {
    /// The longest wait for the first byte of output. Default 60 s.
    pub first_byte: Duration,
    /// The longest silence after that; from the start for an agent without the clock before.
    /// Default 10 min.
    pub idle: Duration,
    /// How long it may live on after its final event. Default 10 s.
    pub linger: Duration,
    /// The longest call. Default 1 h.
    pub wall: Duration,
}

impl Default for AgentClocks {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(10 * 60),
            linger: Duration::from_secs(10),
            wall: Duration::from_secs(60 * 60),
        }
    }
}

/// Looking for tasks by itself: `[methodology.<name>.pilot]` (docs/configuration.md).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PilotSettings {
    /// Whether runs do that. Default false.
    pub enabled: bool,
    /// Every how many iterations tasks are looked for, at least 1. Default 5.
    pub discover_interval: u32,
    /// How many tasks one discovery iteration may add, at least 1. Default 10.
    pub max_discovery_tasks: u32,
    /// What discovery looks at; empty, the default, for everything.
    pub focus: String,
}

impl Default for PilotSettings {
    fn default() -> Self {
        Self { enabled: false, discover_interval: 5, max_discovery_tasks: 10, focus: String::new() }
    }
}

/// How much the agent is told: `[methodology.<name>.context]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSettings {
    /// Learnings in the progress context. Default 50.
    pub max_learnings: u32,
    /// Completions in the progress context. Default 10.
    pub max_completed: u32,
    /// Lines of `progress.md` before it is rotated, at least 1. Default 500.
    pub max_progress_lines: u32,
    /// The size of the project snapshot in tokens, at least 1. Default 4000.
    pub snapshot_tokens: u32,
}

impl Default for ContextSettings {
    fn default() -> Self {
        Self { max_learnings: 50, max_completed: 10, max_progress_lines: 500, snapshot_tokens: 4000 }
    }
}
