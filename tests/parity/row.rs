//! A row of the table.

use samuel_core::{hook::HookPoint, model::payload::Mode};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A file of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table<R> {
    pub(crate) row: Vec<R>,
}

/// One dispatch of a point.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DispatchRow {
    /// What the row claims.
    pub(crate) name: String,
    pub(crate) point: HookPoint,
    /// The point's input; what is left out has its default.
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
    /// What the table of the point says in samuel.toml, which begins with it.
    hook: Option<String>,
    /// The text of samuel.toml.
    #[serde(default)]
    config: String,
    #[serde(default)]
    pub(crate) handlers: Vec<HandlerRow>,
    /// In how many other orders the handlers are registered, with the same
    /// result.
    #[serde(default)]
    pub(crate) shuffles: u64,
    /// Whether the run is being stopped.
    #[serde(default)]
    pub(crate) cancelled: bool,
    /// What the iteration is for.
    #[serde(default)]
    pub(crate) mode: Mode,
    #[serde(default)]
    pub(crate) expect: Expected,
}

impl DispatchRow {
    /// Returns the text of samuel.toml.
    pub(crate) fn config(&self) -> String {
        let hook = self.hook.as_ref().map(|hook| format!("[hooks.\"{}\"]\n{hook}\n", self.point));
        hook.unwrap_or_default() + &self.config
    }
}

/// A handler and what it does: it answers, contributes, or breaks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandlerRow {
    /// `default`, `<plugin>:<name>` or `api:<name>`.
    pub(crate) id: String,
    /// The order it asks for.
    pub(crate) order: Option<i32>,
    /// Where it is registered, in the rows of runs.
    pub(crate) point: Option<HookPoint>,
    /// Fields of its answer; what is left out has its default. In texts
    /// `${path}` stands for a part of the call's envelope: `${input.prompt}`,
    /// `${previous.md_blob}`, `${context.Plugins.python.Venv}`.
    #[serde(default)]
    pub(crate) answer: Map<String, Value>,
    /// What it contributes before it answers or breaks.
    #[serde(default)]
    pub(crate) contribute: Map<String, Value>,
    /// What it warns of beside its answer.
    #[serde(default)]
    pub(crate) warns: Vec<String>,
    /// What it reports in the agent's place before it answers.
    #[serde(default)]
    pub(crate) says: Vec<String>,
    /// A tool that it asks about there. It reports what was decided: `allowed` with
    /// the arguments, which are `{}`, or `blocked` with the reason.
    pub(crate) asks: Option<String>,
    /// Whether it names a supervisor of what it started there: one that is made up, or, where
    /// the host starts what a handler asks for, that of a command.
    #[serde(default)]
    pub(crate) supervised: bool,
    /// How it breaks, if it does.
    pub(crate) breaks: Option<Break>,
    /// The message it breaks with.
    #[serde(default)]
    pub(crate) message: String,
}

impl HandlerRow {
    /// Says whether it reports, asks, or names a supervisor.
    pub(crate) fn speaks(&self) -> bool {
        !self.says.is_empty() || self.asks.is_some() || self.supervised
    }
}

/// How a handler breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Break {
    /// It returns an error.
    Fails,
    /// It panics or traps.
    Panics,
    /// It does not answer, and ends when it is told to.
    Hangs,
    /// It does not answer, whatever it is told.
    Ignores,
}

/// Everything that must come of a dispatch. What is left out must not be.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Expected {
    /// The handlers that were called, in order, with how each ended.
    pub(crate) trace: Vec<String>,
    /// A part of the folded output.
    pub(crate) output: Map<String, Value>,
    /// The reason of the refusal that counts.
    pub(crate) refused: Option<String>,
    /// The broken handler that ends more than its own work: `<id> <action>`.
    pub(crate) abort: Option<String>,
    /// The handlers that broke: `<id> <class>: <message>`.
    pub(crate) broken: Vec<String>,
    /// Warnings of the dispatch: `<id> <class>: <message>`; those of the handlers
    /// that broke, where none are named.
    pub(crate) warnings: Option<Vec<String>>,
    /// Text for the agent: `<id>: <text>`.
    pub(crate) said: Vec<String>,
    /// The Plugins group afterwards.
    pub(crate) plugins: Map<String, Value>,
    /// Warnings about the chain.
    pub(crate) notices: Vec<String>,
    /// Handlers that did not run: `<id>: <why>`.
    pub(crate) skipped: Vec<String>,
    /// Why no handler of the chain was called in this iteration.
    pub(crate) not_now: Option<String>,
    /// Where the chain's settings come from: `<key> <line>`.
    pub(crate) origins: Option<Vec<String>>,
    /// How the configuration or the chain is refused; then nothing is
    /// dispatched.
    pub(crate) error: Option<String>,
}

/// A run with an agent that completes its task in every call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRow {
    /// What the row claims.
    pub(crate) name: String,
    /// The titles of the tasks; their ids count from 1.
    #[serde(default = "one_task")]
    pub(crate) tasks: Vec<String>,
    /// The text of samuel.toml.
    #[serde(default)]
    pub(crate) config: String,
    pub(crate) handlers: Vec<HandlerRow>,
    pub(crate) expect: RunExpected,
}

fn one_task() -> Vec<String> {
    vec!["First".to_owned()]
}

/// What must come of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunExpected {
    /// The exit reason.
    pub(crate) exit: String,
    pub(crate) iterations: u32,
    /// How iterations failed: `<class>: <message>`.
    #[serde(default)]
    pub(crate) failures: Vec<String>,
    /// What was reported in the agent's place.
    #[serde(default)]
    pub(crate) reported: Vec<String>,
    /// How many supervisors the next start of a run waits for.
    #[serde(default)]
    pub(crate) supervised: usize,
    /// How often points fired.
    #[serde(default)]
    pub(crate) fired: std::collections::BTreeMap<HookPoint, usize>,
    /// Parts of the last prompt, in order.
    #[serde(default)]
    pub(crate) prompt: Vec<String>,
    /// Parts of the progress log, in order.
    #[serde(default)]
    pub(crate) progress: Vec<String>,
}
