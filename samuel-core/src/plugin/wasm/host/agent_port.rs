//! `agent-port`: what a handler of `agent.invoke` reports, and asks before a tool call.

use std::sync::Arc;

use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::{Guest, HostError, at_once, waiting};
use crate::{
    hook::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort},
    model::{Usage, payload::Json},
};

/// The contract's `decision`.
#[derive(Clone, Debug, ComponentType, Lift, Lower)]
#[component(variant)]
enum Decision {
    #[component(name = "allow")]
    Allow(Json),
    #[component(name = "block")]
    Block(String),
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "ready", |guest, (session_id, model): (Option<String>, Option<String>)| {
        emit(guest, AgentEvent::Ready { session_id, model })
    })?;
    at_once(interface, "say", |guest, (text,): (String,)| emit(guest, AgentEvent::Text { text }))?;
    at_once(interface, "tool-called", |guest, (call,): (AbilityCall,)| {
        emit(guest, AgentEvent::ToolCall(with_json(call)?))
    })?;
    at_once(interface, "tool-ended", |guest, (ended,): (AbilityResult,)| {
        emit(guest, AgentEvent::ToolResult(ended))
    })?;
    at_once(interface, "consumed", |guest, (so_far,): (Usage,)| emit(guest, AgentEvent::Usage(so_far)))?;
    at_once(interface, "permission-denied", |guest, (tool, message): (String, String)| {
        emit(guest, AgentEvent::PermissionDenied { tool, message })
    })?;
    at_once(interface, "rate-limited", |guest, (resets_at, message): (Option<String>, String)| {
        let resets_at =
            resets_at.map(|at| at.parse().map_err(|_| HostError::invalid(format!("{at} is no time"))));
        emit(guest, AgentEvent::RateLimited { resets_at: resets_at.transpose()?, message })
    })?;
    waiting(interface, "before-ability", |guest, (call,): (AbilityCall,)| {
        let asked = with_json(call).and_then(|call| Ok((port(guest)?, call)));
        async move {
            let (port, call) = asked?;
            Ok(match port.before_ability(call).await {
                AbilityDecision::Allow { input } => Decision::Allow(input),
                AbilityDecision::Block { reason } => Decision::Block(reason),
            })
        }
    })?;
    waiting(interface, "after-ability", |guest, (ended,): (AbilityResult,)| {
        let port = port(guest);
        async move { Ok(port?.after_ability(ended).await) }
    })
}

fn emit(guest: &Guest, event: AgentEvent) -> Result<(), HostError> {
    port(guest)?.emit(event);
    Ok(())
}

/// Returns where the call reports to; only one in the agent's place does.
fn port(guest: &Guest) -> Result<Arc<dyn AgentPort>, HostError> {
    let elsewhere = || HostError::Unsupported(format!("agent-port at {}", guest.header.point));
    guest.port.clone().ok_or_else(elsewhere)
}

/// Refuses arguments that are no document.
fn with_json(call: AbilityCall) -> Result<AbilityCall, HostError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(&call.input) {
        Ok(_) => Ok(call),
        Err(error) => Err(HostError::invalid(format!("input: {error}"))),
    }
}
