//! What samuel.toml means, and how it is refused.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod fuzz;
mod load;
mod meaning;
mod refusal;
mod settings;

use std::path::Path;

use super::{Config, ConfigError};

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("samuel.toml"), text)
}

/// The problems of a text as they are displayed, each with its help.
fn problems(text: &str) -> String {
    let error = parse(text).expect_err("the text has problems");
    let lines = error.problems().iter().map(|problem| {
        let place = &problem.location;
        format!("{}:{} {problem} | {}", place.line.unwrap(), place.column.unwrap(), problem.help().prose())
    });
    lines.collect::<Vec<_>>().join("\n")
}

const FULL: &str = r#"
version = "2"
default_methodology = "tdd-strict"
[project]
name = "app"
[methodology.ralph]
agent = "command"
agent_command = ["my-agent", "--fast"]
agent_args = ["-v"]
model = "sonnet"
fallback = ["codex", "gemini"]
max_iterations = 7
pause = 0
max_consecutive_failures = 2
quality_checks = ["cargo test", { command = "cargo clippy", timeout = "5m" }]
rate_limit = "stop"
rate_limit_wait = "7h"
ask_timeout = "8m"
sandbox = "bwrap"
session_budget = { max_cost_usd = 2, max_tokens = 1_000, max_wall_time = "48h" }
task_budget = { max_cost_usd = 0.5, max_tokens = 500, max_attempts = 5 }
forecast = false
[[methodology.ralph.routes]]
complexity = "complex"
priority = "high"
mode = "implementation"
after_failures = 2
agent = "codex"
model = "big"
args = ["--x"]
[methodology.ralph.clocks]
first_byte = 5
idle = "1m"
linger = "2s"
wall = "1h30m"
[methodology.ralph.pilot]
enabled = true
discover_interval = 3
max_discovery_tasks = 4
focus = "testing"
[methodology.ralph.parallel]
jobs = 4
into = "work"
merge = "squash"
batch = 2
overlap = "allow"
copy = [".env"]
setup = [{ command = "npm ci", timeout = "10m" }]
[methodology.ralph.context]
max_learnings = 0
max_completed = 1
max_progress_lines = 2
snapshot_tokens = 3
prd_tokens = 0
[guardrails]
max_function_lines = 60
max_file_lines = 400
require_tests = false
commit_convention = "angular"
branch_convention = "feat/x"
extra = ["No globals."]
[[plugins]]
name = "samuel-python"
source = "plugins/python"
[[plugins]]
name = "samuel-lint"
[hooks."context.snapshot".order]
"samuel-python" = 50
"samuel-default" = 100
[hooks."quality.check"]
timeout = 10
enabled = true
on_failure = "abort_loop"
[methodology.ralph.hooks."quality.check"]
handlers = ["samuel-security:run_security_scan", "default", "samuel-lint:check"]
strict = true
[sandbox]
workspace = "clone"
"#;
