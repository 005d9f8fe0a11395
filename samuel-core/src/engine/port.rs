//! Where agents report to.

use std::sync::Arc;

use async_trait::async_trait;

use super::{hub::Hub, services::Tickets};
use crate::{
    agent::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort},
    clock::Clock,
    event::Event,
    hook::{DEFAULT_ID, HookPoint},
    machine::{AbilityNotice, Input},
    process::{LeftRunning, Process, listed},
    state::{
        LaneStore, Note, PlanStore, ProgressBody, ProgressEntry, ProgressKind, Supervisor, SupervisorRole,
    },
};

/// The engine's side of an agent call.
pub(super) struct Port {
    pub(super) agent: String,
    pub(super) hub: Arc<Hub>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: Arc<dyn PlanStore>,
    pub(super) lane: Arc<dyn LaneStore>,
    pub(super) inputs: tokio::sync::mpsc::UnboundedSender<Input>,
    pub(super) tickets: Arc<Tickets>,
    /// Which iteration the agent works in.
    pub(super) iteration: Arc<std::sync::atomic::AtomicU32>,
    /// Whether nothing was left so far.
    pub(super) swept: Arc<std::sync::atomic::AtomicBool>,
}

impl Port {
    fn tell(&self, report: AgentEvent) {
        let iteration = self.iteration.load(std::sync::atomic::Ordering::Relaxed);
        self.hub.send(Event::Agent { iteration, report });
    }

    fn input(&self, input: Input) {
        // The run has ended if nobody listens any more.
        let _ = self.inputs.send(input);
    }
}

#[async_trait]
impl AgentPort for Port {
    fn emit(&self, mut event: AgentEvent) {
        if let AgentEvent::Usage(usage) = &mut event {
            // The end of the call tells of it.
            let _ = usage.take_bad_cost();
        }
        match &event {
            AgentEvent::ToolCall(call) => self.input(Input::AbilityBefore(AbilityNotice {
                call: call.clone(),
                caller: self.agent.clone(),
                ticket: None,
            })),
            AgentEvent::ToolResult(result) => {
                self.input(Input::AbilityAfter { result: result.clone(), ticket: None });
            }
            AgentEvent::Usage(usage) => self.input(Input::UsageSoFar(*usage)),
            _ => {}
        }
        self.tell(event);
    }

    fn emit_last(&self, event: AgentEvent) {
        match event {
            // An agent that has finished is not stopped over what it cost: the
            // result of the call holds it, and the cap ends the run after the
            // check.
            AgentEvent::Usage(mut usage) => {
                let _ = usage.take_bad_cost();
                self.tell(AgentEvent::Usage(usage));
            }
            event => self.emit(event),
        }
    }

    async fn supervised_by(&self, pid: u32, start_time: u64) {
        let lane = Arc::clone(&self.lane);
        let role = SupervisorRole::Supervisor;
        let note = Note::Supervisor(Supervisor { pid, start_time, role, tree: None });
        // The note only matters after a crash; without it a successor starts
        // without waiting, which is what it does after a crash in between.
        let _ = tokio::task::spawn_blocking(move || lane.note(note)).await;
    }

    async fn left_behind(&self, left: Vec<Process>) {
        self.swept.store(false, std::sync::atomic::Ordering::Relaxed);
        let iteration = self.iteration.load(std::sync::atomic::Ordering::Relaxed);
        let text = match left.as_slice() {
            [] => "processes of the agent may be left: its supervisor was killed".to_owned(),
            left => format!("processes of the agent are left: {}", listed(left)),
        };
        let entry = ProgressEntry {
            at: self.clock.now(),
            iteration: (iteration > 0).then_some(iteration),
            task: None,
            body: ProgressBody::Note { kind: ProgressKind::Error, text },
        };
        self.hub.send(Event::Swept { swept: false, ended: Vec::new(), left });
        let store = Arc::clone(&self.store);
        // The event has told it already.
        let _ = tokio::task::spawn_blocking(move || store.append_progress(&[entry])).await;
    }

    async fn left_running(&self, left: LeftRunning) {
        let message = format!("the agent left {left}");
        self.hub.send(Event::Warning { message: message.clone() });
        let iteration = self.iteration.load(std::sync::atomic::Ordering::Relaxed);
        let entry = ProgressEntry {
            at: self.clock.now(),
            iteration: (iteration > 0).then_some(iteration),
            task: None,
            body: ProgressBody::HookWarning {
                point: HookPoint::AgentInvoke.as_str().to_owned(),
                handler: DEFAULT_ID.to_owned(),
                class: "warning".to_owned(),
                message,
            },
        };
        let store = Arc::clone(&self.store);
        // The event has told it already.
        let _ = tokio::task::spawn_blocking(move || store.append_progress(&[entry])).await;
    }

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        self.tell(AgentEvent::ToolCall(call.clone()));
        let (ticket, answer) = self.tickets.draw();
        let notice = AbilityNotice { call, caller: self.agent.clone(), ticket: Some(ticket) };
        self.input(Input::AbilityBefore(notice));
        answer.await.unwrap_or_else(|_| AbilityDecision::Block { reason: "the run has ended".to_owned() })
    }

    async fn after_ability(&self, result: AbilityResult) {
        self.tell(AgentEvent::ToolResult(result.clone()));
        let (ticket, answer) = self.tickets.draw();
        self.input(Input::AbilityAfter { result, ticket: Some(ticket) });
        let _ = answer.await;
    }
}
