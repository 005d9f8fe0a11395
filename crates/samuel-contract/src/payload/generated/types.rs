//! What `wit/v1/types.wit` defines.

// Written by `cargo xtask contract`; change `wit/` instead.

use serde::{Deserialize, Serialize};
#[cfg(feature = "wasm")]
use wasmtime::component::{ComponentType, Lift, Lower};

use crate::payload::{Json, json_text};
use crate::words;
use std::sync::Arc;

words! {
    /// What an iteration is for.
    #[derive(Default)]
    Mode ("mode") {
        /// Work on the next task.
        #[default]
        Implementation = "implementation",
        /// Look for tasks.
        Discovery = "discovery",
    }
}

words! {
    /// Which turn of an iteration fires the point. Turns beside `main` are extra
    /// ones: they fire only the three agent points and consume no iteration.
    #[derive(Default)]
    Turn ("turn") {
        /// The turn an iteration is made of.
        #[default]
        Main = "main",
        /// Tells the agent what an iteration failed with.
        Recovery = "recovery",
        /// Delivers text that asked for it within the iteration.
        Immediate = "immediate",
        /// Delivers pending text after the loop.
        Final = "final",
    }
}

/// What every call carries beside the point's own input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lower), component(record))]
pub struct CallHeader {
    /// The hook point's id, such as `quality.check`.
    pub point: Arc<str>,
    /// The id of the handler being called, such as `samuel-lint:check`.
    #[cfg_attr(feature = "wasm", component(name = "handler-id"))]
    pub handler_id: Arc<str>,
    /// The id of the run; empty outside a run.
    #[cfg_attr(feature = "wasm", component(name = "run-id"))]
    pub run_id: Arc<str>,
    /// The name of the session: given by the caller, else the project's.
    pub session: Arc<str>,
    /// The iteration, from 1; 0 outside an iteration.
    pub iteration: u32,
    /// What the iteration is for.
    pub mode: Mode,
    /// Which turn of the iteration this is.
    pub turn: Turn,
    /// How long the handler may take, in milliseconds; 0 where it is exempt.
    #[cfg_attr(feature = "wasm", component(name = "deadline-ms"))]
    pub deadline_ms: u64,
    /// The handler's own key in the Plugins group of the prompt context.
    pub namespace: Arc<str>,
    /// Whether this is a look ahead: no agent is called then, and a handler
    /// answers without changing anything.
    pub preview: bool,
}

/// A handler that could not answer. It stays open, so that a new code never
/// breaks a component that was built before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct Failure {
    /// A stable code, such as `E_HOOK_DENIED`.
    pub code: String,
    /// What happened, in one line.
    pub message: String,
    /// Further lines: places, names, what to do next.
    pub details: Vec<String>,
}

words! {
    /// When text reaches the agent: in the next prompt, or in an extra turn of
    /// the iteration that is under way.
    #[derive(Default)]
    Deliver ("deliver") {
        /// With the next prompt.
        #[default]
        Next = "next",
        /// In an extra turn of the iteration under way.
        Now = "now",
    }
}

/// Text a handler wants the agent to read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct TextItem {
    /// The text, as the agent will read it.
    pub content: String,
    /// When it is delivered.
    #[serde(default)]
    pub deliver: Deliver,
}

/// An ability a handler suggests to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SuggestedAbility {
    /// The id of the ability.
    pub id: String,
    /// Why it fits.
    pub reason: String,
    /// From 0 to 1; the highest survives a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// A document a handler suggests to the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct SuggestedDocument {
    /// The path of the document, relative to the project.
    pub path: String,
    /// Why it fits.
    pub reason: String,
    /// From 0 to 1; the highest survives a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// What a repository hook reports, merged over all handlers of a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct HookResults {
    /// Lines for the log of hooks; those of a repository hook go to
    /// `.system/logs/hooks.log`.
    #[serde(default)]
    pub logs: Vec<String>,
    /// Messages for the user, which the agent reads along with its next prompt.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "messages-to-user"))]
    pub messages_to_user: Vec<String>,
    /// Abilities worth considering.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "suggested-abilities"))]
    pub suggested_abilities: Vec<SuggestedAbility>,
    /// Documents worth reading.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "suggested-documents"))]
    pub suggested_documents: Vec<SuggestedDocument>,
    /// Actions proposed to the orchestrator. They are data and never run.
    #[serde(default, with = "json_text::list")]
    #[cfg_attr(feature = "wasm", component(name = "follow-up-actions"))]
    pub follow_up_actions: Vec<Json>,
    /// An intent for knowledge routing; the first handler's wins.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "json_text::option")]
    #[cfg_attr(feature = "wasm", component(name = "new-intent"))]
    pub new_intent: Option<Json>,
    /// Whether the handler recorded usage.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "usage-recorded"))]
    pub usage_recorded: bool,
    /// Whether the action should not go on.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "block-execution"))]
    pub block_execution: bool,
}

/// A section for the prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct Extra {
    /// Its heading.
    pub name: String,
    /// Its text.
    pub content: String,
    /// A file below the plugin's scratch directory,
    /// `.samuel/run/plugins/<name>/`, to write it to as well; a path that leads
    /// out of it is a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

words! {
    /// How urgent a task is; the most urgent is worked on first.
    #[derive(Default, PartialOrd, Ord)]
    Priority ("priority") {
        /// Before everything else.
        Critical = "critical",
        /// Before the usual.
        High = "high",
        /// The usual; the default.
        #[default]
        Medium = "medium",
        /// After the usual.
        Low = "low",
    }
}

words! {
    /// How much work a task is.
    #[derive(Default)]
    Complexity ("complexity") {
        /// A small change.
        Simple = "simple",
        /// The usual; the default.
        #[default]
        Medium = "medium",
        /// A large change.
        Complex = "complex",
    }
}

/// A task as handlers and prompts see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct TaskBrief {
    /// The id, such as `1.2`. Ids are text: `1.10` is not `1.1`.
    pub id: String,
    /// The title, one line.
    pub title: String,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// How much work it is.
    #[serde(default)]
    pub complexity: Complexity,
    /// The description, any number of lines.
    #[serde(default)]
    pub description: String,
    /// Files the task changes, relative to the project.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "files-to-modify"))]
    pub files_to_modify: Vec<String>,
    /// Files the task creates, relative to the project.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "files-to-create"))]
    pub files_to_create: Vec<String>,
    /// Ids of the tasks it waits for.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "depends-on"))]
    pub depends_on: Vec<String>,
    /// What must hold for it to be done.
    #[serde(default)]
    pub acceptance: Vec<String>,
}

words! {
    /// How the call ended.
    #[derive(Default)]
    AbilityStatus ("ability status") {
        /// It succeeded.
        #[default]
        Success = "success",
        /// It failed.
        Error = "error",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}

/// Tokens and money one agent call, or a sum of calls, consumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "wasm", derive(ComponentType, Lift, Lower), component(record))]
pub struct Usage {
    /// Tokens read, those from a cache included.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "input-tokens"))]
    pub input_tokens: u64,
    /// Tokens written.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "output-tokens"))]
    pub output_tokens: u64,
    /// The part of the tokens read that came from a cache.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "cached-tokens"))]
    pub cached_tokens: u64,
    /// What it cost, in US dollars; absent where the agent does not say. A
    /// number that is no amount of money counts as absent.
    #[serde(default)]
    #[cfg_attr(feature = "wasm", component(name = "cost-usd"))]
    pub cost_usd: Option<f64>,
}
