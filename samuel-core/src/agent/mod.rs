//! Agents: the programs that do the work.
//!
//! An [`Agent`] takes an [`AgentRequest`] and reports what happens through an
//! [`AgentPort`] while it works. Adapters for real CLIs start them through the
//! process module and parse their streams; the scripted agent is deterministic
//! and needs no network (design, agents). Which agent runs, and what is done
//! with its events, is the engine's.

mod event;
mod port;

pub use event::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent};
pub use port::{Agent, AgentError, AgentPort, AgentRequest, LogFiles};
