//! The port of one call of `agent.invoke`.
//!
//! A [`CallPort`] stands between a handler and the run. It closes with the call, so that what a
//! handler says that was left behind is nobody's, and it bounds what is reported by others than
//! the runtime's own default.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use samuel_model::text::excerpt;
use samuel_process::{LeftRunning, Process};
use tokio_util::sync::CancellationToken;

use super::{
    AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, Bridge, CallLogs, RunAccess, Tier,
    call::Link,
    shortened::{MAX_SUMMARY, arguments_of_text},
};

/// How much a call may report: events and tool calls together, and the bytes of their texts.
pub(super) const MAX_REPORTS: usize = 10_000;
const MAX_BYTES: usize = 64 << 20;
/// Bytes kept of a text, and of a name.
const MAX_TEXT: usize = 16 << 10;
const MAX_NAME: usize = 256;
/// The most bytes of the arguments of a tool call that is asked about.
const MAX_ASKED: usize = 1 << 20;

/// Where the handler of one call reports to.
pub(super) struct CallPort {
    /// Where the run listens; outside of one nobody does.
    run: Option<Arc<dyn AgentPort>>,
    link: Arc<Link>,
    /// What was used of the bounds; nothing for the runtime's own default.
    used: Option<Mutex<Used>>,
    /// Whether the handler can be no adapter of an agent.
    is_plugin: bool,
    closed: CancellationToken,
}

#[derive(Default)]
struct Used {
    reports: usize,
    bytes: usize,
    is_told: bool,
    /// Whether the user was told of events that only adapters tell.
    is_told_of_events: bool,
}

impl CallPort {
    pub(super) fn new(run: Option<Arc<dyn AgentPort>>, link: &Arc<Link>, tier: Tier) -> Self {
        let used = (tier != Tier::BuiltIn).then(Mutex::default);
        let is_plugin = !matches!(tier, Tier::BuiltIn | Tier::Async | Tier::Blocking);
        Self { run, link: Arc::clone(link), used, is_plugin, closed: CancellationToken::new() }
    }

    /// Ends what the handler waits for, and hears nothing of it any more.
    pub(super) fn close(&self) {
        self.closed.cancel();
    }

    fn open(&self) -> Option<&dyn AgentPort> {
        self.run.as_deref().filter(|_| !self.closed.is_cancelled())
    }

    /// Says whether another report is within the bounds; of the first that is not the user is told.
    fn admits(&self, bytes: usize) -> bool {
        let Some(used) = &self.used else { return true };
        let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
        used.reports += 1;
        used.bytes = used.bytes.saturating_add(bytes);
        let admits = used.reports <= MAX_REPORTS && used.bytes <= MAX_BYTES;
        if !admits && !used.is_told {
            used.is_told = true;
            let most = format!("{MAX_REPORTS} reports and {} MiB", MAX_BYTES >> 20);
            self.link.warn(format!("a call tells {most} at most; the rest of this one is left out"));
        }
        admits
    }

    /// Says whether an event is the handler's to tell; of the first that is not the user is told.
    fn may_tell(&self, event: &AgentEvent) -> bool {
        let is_adapters = matches!(event, AgentEvent::SoftDeadline { .. } | AgentEvent::Unreadable { .. });
        let Some(used) = self.used.as_ref().filter(|_| self.is_plugin && is_adapters) else { return true };
        let mut used = used.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut used.is_told_of_events, true) {
            let only = "only the adapters of agents tell the events soft_deadline and unreadable";
            self.link.warn(format!("{only}; those of this handler are left out"));
        }
        false
    }

    fn bounded(&self, event: AgentEvent) -> Option<AgentEvent> {
        if !self.may_tell(&event) {
            return None;
        }
        let event = if self.used.is_some() { shortened(event) } else { event };
        self.admits(length(&event)).then_some(event)
    }

    /// Says why a tool call cannot be asked about. It is not shortened: a gate decides about what
    /// is really called.
    fn refusal(&self, call: &AbilityCall) -> Option<String> {
        self.used.as_ref()?;
        // One that is refused counts as well.
        let is_too_much = !self.admits(call.input.len().min(MAX_ASKED));
        if call.call_id.len() > MAX_NAME || call.ability_id.len() > MAX_NAME || call.input.len() > MAX_ASKED {
            return Some(format!(
                "a tool call has names of {MAX_NAME} bytes and arguments of {MAX_ASKED} at most"
            ));
        }
        if !is_json(&call.input) {
            return Some("the arguments of the tool call are no JSON".to_owned());
        }
        is_too_much.then(|| "the call of the agent has reported too much".to_owned())
    }
}

#[async_trait]
impl AgentPort for CallPort {
    fn logs(&self) -> Option<CallLogs> {
        self.open()?.logs()
    }

    async fn bridge(&self) -> Option<Bridge> {
        self.open()?.bridge().await
    }

    fn access(&self) -> Option<RunAccess> {
        // An agent's alone: a handler of a plugin in its place is none.
        self.open().filter(|_| !self.is_plugin)?.access()
    }

    fn emit(&self, event: AgentEvent) {
        if let Some((port, event)) = self.open().zip(self.bounded(event)) {
            port.emit(event);
        }
    }

    fn emit_last(&self, event: AgentEvent) {
        if let Some((port, event)) = self.open().zip(self.bounded(event)) {
            port.emit_last(event);
        }
    }

    async fn supervised_by(&self, pid: u32, start_time: u64) {
        if let Some(port) = self.open().filter(|_| self.admits(0)) {
            port.supervised_by(pid, start_time).await;
        }
    }

    async fn left_behind(&self, left: Vec<Process>) {
        if let Some(port) = self.open().filter(|_| self.admits(0)) {
            port.left_behind(left).await;
        }
    }

    async fn left_running(&self, left: LeftRunning) {
        self.link.warn(format!("the agent left {left}"));
    }

    async fn log_lost(&self, problem: String) {
        self.link.warn(format!("output of the agent is not kept: {problem}"));
    }

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        let ended = || AbilityDecision::Block { reason: "the call of the agent has ended".to_owned() };
        if self.closed.is_cancelled() {
            return ended();
        }
        if let Some(reason) = self.refusal(&call) {
            return AbilityDecision::Block { reason };
        }
        let Some(port) = self.open() else { return AbilityDecision::Allow { input: call.input } };
        tokio::select! {
            biased;
            () = self.closed.cancelled() => ended(),
            decision = port.before_ability(call) => decision,
        }
    }

    async fn after_ability(&self, result: AbilityResult) -> Vec<String> {
        let result = if self.used.is_some() { short_result(result) } else { result };
        let Some(port) = self.open().filter(|_| self.admits(length_of(&result))) else { return Vec::new() };
        tokio::select! {
            biased;
            () = self.closed.cancelled() => Vec::new(),
            text = port.after_ability(result) => text,
        }
    }
}

/// Shortens the texts of an event, as adapters do with theirs.
fn shortened(event: AgentEvent) -> AgentEvent {
    let name = |text: String| excerpt(&text, MAX_NAME);
    match event {
        AgentEvent::Ready { session_id, model } => {
            AgentEvent::Ready { session_id: session_id.map(name), model: model.map(name) }
        }
        AgentEvent::Text { text } => AgentEvent::Text { text: excerpt(&text, MAX_TEXT) },
        AgentEvent::ToolCall(AbilityCall { call_id, ability_id, input, parent_id }) => {
            AgentEvent::ToolCall(AbilityCall {
                call_id: name(call_id),
                ability_id: name(ability_id),
                input: arguments_of_text(input),
                parent_id: parent_id.map(name),
            })
        }
        AgentEvent::ToolResult(result) => AgentEvent::ToolResult(short_result(result)),
        AgentEvent::PermissionDenied { tool, message } => {
            AgentEvent::PermissionDenied { tool: name(tool), message: excerpt(&message, MAX_SUMMARY) }
        }
        AgentEvent::RateLimited { resets_at, message } => {
            AgentEvent::RateLimited { resets_at, message: excerpt(&message, MAX_SUMMARY) }
        }
        AgentEvent::Unreadable { line } => AgentEvent::Unreadable { line: excerpt(&line, MAX_SUMMARY) },
        event @ (AgentEvent::Usage(_) | AgentEvent::SoftDeadline { .. }) => event,
    }
}

/// Returns a result with its texts shortened: ids to 256 bytes, the summary to 4 KiB. Arguments over 64 KiB become
/// their beginning with hashes of their fields.
pub fn short_result(result: AbilityResult) -> AbilityResult {
    AbilityResult {
        call_id: excerpt(&result.call_id, MAX_NAME),
        ability_id: excerpt(&result.ability_id, MAX_NAME),
        output_summary: result.output_summary.map(|summary| excerpt(&summary, MAX_SUMMARY)),
        input: result.input.map(arguments_of_text),
        ..result
    }
}

/// Returns about how many bytes an event has.
fn length(event: &AgentEvent) -> usize {
    match event {
        AgentEvent::Text { text } => text.len(),
        AgentEvent::ToolCall(call) => call.input.len(),
        AgentEvent::ToolResult(result) => length_of(result),
        AgentEvent::PermissionDenied { message, .. } | AgentEvent::RateLimited { message, .. } => {
            message.len()
        }
        _ => 0,
    }
}

fn length_of(result: &AbilityResult) -> usize {
    result.output_summary.iter().chain(&result.input).map(String::len).sum()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
