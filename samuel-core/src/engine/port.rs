//! Where agents report to.

use std::sync::{Arc, Mutex, PoisonError, Weak, atomic::Ordering};

use async_trait::async_trait;

use super::{
    bridged::Bridged, broker::Broker, fire::Place, services::Services, socket::CallSocket, tickets::Waiting,
};
use crate::{
    agent::{
        AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, Bridge, ConversationId, ToolCalls,
    },
    event::Event,
    hook::{CallLogs, RunAccess},
    machine::{AbilityAnswer, AbilityNotice, EndedAbility, Input},
    model::{TaskId, payload::AgentInvokeInput},
    process::{Process, listed},
    state::{Note, ProgressKind, SupervisorProcess, SupervisorRole},
};

/// The engine's side of one call of an agent. That it ends with the call is dispatch's to see to.
pub(super) struct Port {
    pub(super) me: Weak<Self>,
    pub(super) services: Arc<Services>,
    /// The agent's name.
    pub(super) agent: String,
    /// Where in the run it works.
    pub(super) place: Place,
    /// The id of the task that it works on.
    pub(super) task: Option<String>,
    /// Where what it prints is kept.
    logs: Option<CallLogs>,
    /// The conversation it is in, once it named one.
    conversation: Mutex<Option<ConversationId>>,
    /// How it reaches the run, as long as it works.
    pub(super) socket: Mutex<Option<CallSocket>>,
    /// What of the plan it reaches by that.
    pub(super) broker: Broker,
    /// Its own hooks, once they are wired and as long as it works.
    pub(super) bridged: Mutex<Option<Bridged>>,
    /// The tool calls that it told of.
    calls: Mutex<ToolCalls>,
}

impl Port {
    /// Opens it for a call. Its prompt is kept.
    pub(super) async fn open(services: &Arc<Services>, input: &AgentInvokeInput, place: &Place) -> Arc<Self> {
        let logs = services.keep_prompt(place.iteration, input.prompt.clone()).await;
        let task = input.task.as_ref().map(|task| TaskId::new(task.id.clone()));
        let broker = Broker::new(
            services.project.clone(),
            &services.plan(),
            task,
            place.iteration,
            services.completes,
        );
        let broker = broker.hiding(Arc::clone(&services.secrets));
        let port = Arc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            services: Arc::clone(services),
            agent: input.agent.clone(),
            place: place.clone(),
            task: input.task.as_ref().map(|task| task.id.clone()),
            logs,
            conversation: Mutex::default(),
            socket: Mutex::default(),
            broker,
            bridged: Mutex::default(),
            calls: Mutex::new(ToolCalls::new(services.work_root.clone())),
        });
        let (admitted, sandbox) = (Arc::clone(&port), input.sandbox.clone());
        // A call that cannot reach the run was told of.
        let _ = services.blocking(move |_| admitted.admit(&sandbox)).await;
        port
    }

    /// Returns the conversation that the agent named last.
    pub(super) fn conversation(&self) -> Option<ConversationId> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_conversation(&self, name: &str) {
        let id = ConversationId::new(name);
        if id.is_none() {
            let agent = &self.agent;
            self.services.warn(format!(
                "{agent} names its conversation in a way that no argument can have, so that no later turn goes on in it"
            ));
        }
        *self.conversation.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }

    fn tell(&self, report: AgentEvent) {
        self.services.emit(Event::Agent { iteration: self.place.iteration, report });
    }

    /// Hands something to the machine, and says whether anybody listens.
    pub(super) fn input(&self, input: Input) -> bool {
        self.services.inputs.send(input).is_ok()
    }

    pub(super) fn calls<R>(&self, work: impl FnOnce(&mut ToolCalls) -> R) -> R {
        work(&mut self.calls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn notice(&self, call: AbilityCall, ticket: Option<u64>) -> Input {
        self.calls(|calls| calls.begin(&call));
        Input::AbilityBefore(AbilityNotice { call, caller: self.agent.clone(), ticket })
    }

    pub(super) fn ended(&self, result: AbilityResult, ticket: Option<u64>) -> Input {
        let facts = self.calls(|calls| calls.end(&result));
        Input::AbilityAfter(EndedAbility { result, facts, ticket })
    }
}

#[async_trait]
impl AgentPort for Port {
    fn logs(&self) -> Option<CallLogs> {
        self.logs.clone()
    }

    async fn bridge(&self) -> Option<Bridge> {
        let port = self.me.upgrade()?;
        self.services.blocking(move |_| port.wired()).await.ok()?
    }

    fn access(&self) -> Option<RunAccess> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        socket.as_ref().map(CallSocket::access)
    }

    fn emit(&self, mut event: AgentEvent) {
        if let AgentEvent::Usage(usage) = &mut event {
            // The end of the call tells of it.
            let _ = usage.take_bad_cost();
        }
        match &event {
            AgentEvent::Usage(usage) => _ = self.input(Input::UsageSoFar(*usage)),
            AgentEvent::Ready { session_id: Some(name), .. } => self.note_conversation(name),
            event => self.shown(event),
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
        let role = SupervisorRole::Supervisor;
        let note = Note::Supervisor(SupervisorProcess { pid, start_time, role, tree: None });
        // The note only matters after a crash; without it a successor starts
        // without waiting, which is what it does after a crash in between.
        let _ = self.services.blocking(move |services| services.lane.note(note)).await;
    }

    async fn left_behind(&self, left: Vec<Process>) {
        self.services.swept.store(false, Ordering::Relaxed);
        let text = match left.as_slice() {
            [] => "processes of the agent may be left: its supervisor was killed".to_owned(),
            left => format!("processes of the agent are left: {}", listed(left)),
        };
        self.services.emit(Event::Swept { swept: false, ended: Vec::new(), left });
        let entry = self.services.note(self.place.iteration, None, ProgressKind::Error, text);
        self.services.log(vec![entry]).await;
    }

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        self.tell(AgentEvent::ToolCall(call.clone()));
        let mut waiting = Waiting::new(&self.services);
        let ended = || AbilityDecision::Block { reason: "the call of the agent has ended".to_owned() };
        let (call_id, tool) = (call.call_id.clone(), call.ability_id.clone());
        if !self.input(self.notice(call, Some(waiting.ticket()))) {
            return ended();
        }
        match waiting.answer().await {
            Some(AbilityAnswer::Decided(decision)) => {
                if let AbilityDecision::Allow { input } = &decision {
                    self.calls(|calls| calls.allow(&call_id, &tool, input));
                }
                decision
            }
            Some(AbilityAnswer::Told(_)) | None => ended(),
        }
    }

    async fn after_ability(&self, result: AbilityResult) -> Vec<String> {
        self.tell(AgentEvent::ToolResult(result.clone()));
        let mut waiting = Waiting::new(&self.services);
        if !self.input(self.ended(result, Some(waiting.ticket()))) {
            return Vec::new();
        }
        match waiting.answer().await {
            Some(AbilityAnswer::Told(at_once)) => at_once.text,
            Some(AbilityAnswer::Decided(_)) | None => Vec::new(),
        }
    }
}
