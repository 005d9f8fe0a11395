//! Agents: the programs that do the work.
//!
//! An [`Agent`] takes an [`AgentRequest`] and reports events through an
//! [`AgentPort`] while it works. [`build`] creates an agent from an [`AgentConfig`].
//! Adapters for real CLIs start them through the process module and parse their
//! streams. The [`ScriptedAgent`] plays a [`Script`], is deterministic and needs
//! no network. [`compose_env`](samuel_model::environment::compose_env) creates the
//! environment of an agent.
//!
//! ```no_run
//! use samuel_agent::AgentConfig;
//! use samuel_process::Supervisor;
//!
//! let config = AgentConfig::new("claude");
//! let claude = samuel_agent::build(&config, Supervisor::GroupOnly)?;
//! assert_eq!(claude.name(), "claude");
//! # Ok::<(), samuel_agent::AgentError>(())
//! ```
//!
//! The engine decides which agent runs and handles its events.

mod adapter;
pub mod bridge;
mod build;
mod config;
mod conversation;
mod file_tools;
mod limit;
mod mutation;
mod own_files;
mod port;
mod prompt_file;
mod provider;
mod route;
mod run;
mod script;
mod scripted;
mod settings;
#[cfg(test)]
mod steering_tests;
mod stream;
mod text;
mod tool_calls;
mod watch;

pub use self::{file_tools::patched, own_files::own_files};
pub use build::{Agents, build, names};
pub use config::{AgentClocks, AgentConfig};
pub use conversation::ConversationId;
pub use mutation::{MutationRoute, MutationSink, StoreSink};
pub use port::{Agent, AgentError, AgentRequest, Reports, compose_agent_env};
pub use provider::Provider;
pub use route::{ARGUMENT, MODEL};
pub use route::{Choice, Chosen, Out, Routing, Situation};
pub use samuel_hook::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, Bridge};
pub use script::{Script, ScriptError, ScriptedCall, Step};
pub use scripted::ScriptedAgent;
pub use text::last_words;
pub use tool_calls::ToolCallFacts;
pub use tool_calls::{ToolCalls, path_below};
