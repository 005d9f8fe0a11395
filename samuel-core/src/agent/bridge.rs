//! The agents' own hook protocols: the module `bridge` of the crate `samuel-agent`.
//!
//! Agents can start a command at points of their own and take its answer: before a tool call, after
//! it, when a prompt was submitted. A [`Protocol`] translates between what such a command is given
//! and prints, and the hook points: it [reads](Protocol::read) the agent's words as a
//! [`BridgeEvent`], and says a [`HookAnswer`] in them. The adapters of these agents wire the command for
//! one call where a run asks for it ([`AgentRequest::bridge`](super::AgentRequest::bridge)), without
//! a file of the user's or the repository's.
//!
//! ```
//! use samuel_core::agent::bridge::{self, HookAnswer, BridgeEvent};
//!
//! let claude = bridge::protocol("claude").expect("it is one of the four");
//! let stdin = br#"{"session_id": "s", "cwd": "/work", "hook_event_name": "PreToolUse",
//!     "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "rm -rf /"}}"#;
//! let asked = bridge::read(claude, stdin, None)?;
//! assert!(matches!(&asked.event, BridgeEvent::Before(call) if call.ability_id == "Bash"));
//!
//! let output = claude.answer(&asked, &HookAnswer::blocked("not on my disk"));
//! assert!(output.stdout.contains(r#""permissionDecision":"deny""#));
//! # Ok::<(), bridge::BridgeError>(())
//! ```
//!
//! Nothing here does I/O: who asks the run, or fires the points, is
//! the runner's, and who writes the files of a wiring is the agent's adapter.

pub use samuel_agent::bridge::{
    At, BridgeError, BridgeEvent, BridgeOutput, EndedCall, EventKind, HookAnswer, HookInput, Protocol, at,
    names, protocol, read,
};
