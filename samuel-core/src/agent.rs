//! Agents, the programs that do the work: the crate `samuel-agent`.
//!
//! An [`Agent`] takes an [`AgentRequest`] and reports what happens through an
//! [`AgentPort`] while it works. [`build`] makes one from an [`AgentConfig`]:
//! adapters for real CLIs start them through the process module and parse their
//! streams; the [`ScriptedAgent`] plays a [`Script`], is deterministic and needs
//! no network. The environment an agent gets is made by
//! [`compose_env`](crate::environment::compose_env).
//!
//! ```no_run
//! use samuel_core::{agent, process::Supervisor};
//!
//! let config = agent::AgentConfig::new("claude");
//! let claude = agent::build(&config, Supervisor::GroupOnly)?;
//! assert_eq!(claude.name(), "claude");
//! # Ok::<(), agent::AgentError>(())
//! ```
//!
//! Which agent runs, and what is done with its events, is the engine's.

pub mod bridge;

pub(crate) use samuel_agent::{ARGUMENT, MODEL, ToolCalls, own_files, patched, path_below};
pub use samuel_agent::{
    AbilityCall, AbilityDecision, AbilityResult, Agent, AgentClocks, AgentConfig, AgentError, AgentEvent,
    AgentPort, AgentRequest, Agents, Bridge, Choice, Chosen, ConversationId, MutationRoute, MutationSink,
    Out, Provider, Reports, Routing, Script, ScriptError, ScriptedAgent, ScriptedCall, Situation, Step,
    StoreSink, ToolCallFacts, build, compose_agent_env, names,
};
