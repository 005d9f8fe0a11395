//! What an agent's own hooks ask and tell of its tool calls, beside its stream.
//!
//! A [`Bridged`] lasts as long as one call of an agent into whose command line a
//! [`Bridge`] was wired. Its token leads to the [`Port`] of the call, which
//! hands on what the hooks ask by the same tickets as an agent that asks by itself. What the stream
//! then shows is held against it ([`AskedCalls`]).

use std::{
    io,
    path::PathBuf,
    sync::{Arc, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use serde_json::Value;
use tokio::time::timeout;

use super::{
    asked::{Answered, AskedCalls, Firing},
    port::Port,
    services::Services,
    socket::{
        AbilityAfter, AbilityAfterVerb, AbilityBefore, AbilityBeforeVerb, MAX_MESSAGE, Receipt, Refusal,
        Replied, Routes, RunSocket, Verdict,
    },
    tickets::Waiting,
};
use crate::{
    agent::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, Bridge},
    fs::leftovers,
    hook::{HookPoint, short_result},
    machine::{AbilityAnswer, AtOnce},
    model::ErrorCode,
    text::described,
};

/// How long the handlers of a tool call are waited for at most. It is more than most may take, since a call
/// also waits for those before it; how long handlers take is what the run sees to.
const MAX_WAIT: Duration = Duration::from_secs(9 * 60);
/// What is added to that for the way there and back.
const WAY: Duration = Duration::from_secs(2);
/// How long a request may take that does not say it.
const MAX_DEADLINE: Duration = Duration::from_secs(10 * 60);
/// How many bytes of an answer are not the arguments of a call.
const ENVELOPE: usize = 256;

/// The hooks of one call of an agent.
pub(super) struct Bridged {
    asked: AskedCalls,
    bridge: Bridge,
}

impl Port {
    /// Answers the hooks of the agent, beside what else its token allows.
    pub(super) fn hook_routes(&self, routes: Routes) -> Routes {
        let (before, after) = (Weak::clone(&self.me), Weak::clone(&self.me));
        routes
            .with::<AbilityBeforeVerb, _>(move |call| {
                let port = before.upgrade();
                async move {
                    match port {
                        Some(port) => port.hook_asks(call).await,
                        None => (Err(over()), Receipt::none()),
                    }
                }
            })
            .with::<AbilityAfterVerb, _>(move |call| {
                let port = after.upgrade();
                async move {
                    match port {
                        Some(port) => port.hook_tells(call).await,
                        None => (Err(over()), Receipt::none()),
                    }
                }
            })
    }

    /// Wires the agent's hooks, where anybody wants to hear of its tool calls and they can ask. Blocks.
    pub(super) fn wired(&self) -> Option<Bridge> {
        let services = &self.services;
        let socket = services.socket.get().filter(|_| !services.bridge.is_empty())?;
        let time_of = |point| services.registry.time_of(point, self.place.mode);
        let (before, after) = (time_of(HookPoint::AbilityBefore), time_of(HookPoint::AbilityAfter));
        before.or(after)?;
        let mut bridged = self.bridged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bridged) = &*bridged {
            return Some(bridged.bridge.clone());
        }
        let made = self.wire(socket, before.is_some(), after.is_some());
        match made {
            Ok(made) => Some(bridged.insert(made).bridge.clone()),
            Err(error) => {
                let agent = &self.agent;
                services.warn(format!(
                    "the hooks of {agent} cannot be wired, so that its tool calls are seen and not prevented: {}",
                    described(&error)
                ));
                None
            }
        }
    }

    fn wire(&self, socket: &RunSocket, before: bool, after: bool) -> io::Result<Bridged> {
        let call = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let call = call.as_ref().ok_or_else(|| io::Error::other("the call has no token"))?;
        let dir = call.dir().map_or_else(|| socket.new_call_directory(), |dir| Ok(dir.to_owned()))?;
        let (command, env) = (self.services.bridge.clone(), call.access().env());
        // A person who is asked takes time of their own.
        let deadline = MAX_WAIT + WAY + self.services.ask_timeout;
        let bridge = Bridge { command, env, deadline, dir, before, after };
        Ok(Bridged { asked: AskedCalls::new(before, after), bridge })
    }

    /// Ends it with the call of the agent: nothing asks any more, and what only the stream showed fires.
    pub(super) async fn close(&self) {
        let wired = self.withdraw();
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        if wired.is_none() && socket.is_none() {
            return;
        }
        let remove = move |_: &Services| {
            drop(socket);
            // What cannot be removed goes with the run.
            wired.map(|directory| leftovers::remove(&directory))
        };
        let _ = self.services.blocking(remove).await;
        self.services.refusals.settle().await;
    }

    fn withdraw(&self) -> Option<PathBuf> {
        let mut bridged = self.bridged.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ended = bridged.take()?;
        self.fire(ended.asked.finish());
        Some(ended.bridge.dir)
    }

    /// Has what the stream shows fire, as far as the hooks have not told of it.
    pub(super) fn shown(&self, event: &AgentEvent) {
        if let AgentEvent::ToolCall(call) = event {
            // It may say more of a call than its hook does.
            self.calls(|calls| calls.begin(call));
        }
        let mut bridged = self.bridged.lock().unwrap_or_else(PoisonError::into_inner);
        let firings = match (bridged.as_mut().map(|bridged| &mut bridged.asked), event) {
            (Some(asked), AgentEvent::ToolCall(call)) => asked.begins(call.clone()),
            (Some(asked), AgentEvent::ToolResult(result)) => asked.ends(result.clone()),
            (Some(asked), AgentEvent::Text { .. }) => asked.goes_on(),
            (None, AgentEvent::ToolCall(call)) => vec![Firing::Before(call.clone())],
            (None, AgentEvent::ToolResult(result)) => vec![Firing::After(result.clone())],
            _ => Vec::new(),
        };
        // Under the lock, so that all of it comes in the order in which it was judged.
        self.fire(firings);
    }

    fn fire(&self, firings: Vec<Firing>) {
        for firing in firings {
            match firing {
                Firing::Unasked(call) => {
                    self.tell_of_unasked(&call);
                    self.input(self.notice(call, None));
                }
                Firing::Before(call) => _ = self.input(self.notice(call, None)),
                Firing::After(result) => _ = self.input(self.ended(result, None)),
            }
        }
    }

    fn tell_of_unasked(&self, call: &AbilityCall) {
        if !self.services.told_of_unasked.swap(true, Ordering::Relaxed) {
            let (agent, tool) = (&self.agent, &call.ability_id);
            self.services.warn(format!(
                "{agent} called {tool} without asking, so that no handler could prevent it; one that blocks such a \
                 call ends the turn"
            ));
        }
    }

    /// Asks the handlers for a hook, within the time that it has.
    async fn hook_asks(self: Arc<Self>, asks: AbilityBefore) -> Replied<Verdict> {
        let time = deadline(asks.deadline_ms, MAX_DEADLINE + self.services.ask_timeout);
        let AbilityBefore { ability_id, call_id, input, .. } = asks;
        let call = AbilityCall { call_id, ability_id, input: input.clone(), parent_id: None };
        let (call_id, tool) = (call.call_id.clone(), call.ability_id.clone());
        let Some((number, asked)) = self.ask(call) else { return (Err(over()), Receipt::none()) };
        let port = Arc::clone(&self);
        let receipt = Receipt::new(move || port.note(number, Answered::Lost, ""));
        let decided = match asked {
            Ok(waiting) => match answered_within(time, waiting).await {
                Ok(AbilityAnswer::Decided(AbilityDecision::Allow { input: allowed })) => {
                    allowed_with(&input, allowed)
                }
                Ok(AbilityAnswer::Decided(AbilityDecision::Block { reason })) => {
                    Ok(Verdict::Block { reason })
                }
                Ok(AbilityAnswer::Told(_)) => Err(over()),
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        // Before it is written: then the agent goes on. What is refused the bridge denies.
        match &decided {
            Ok(Verdict::Allow { input, changed }) => {
                self.calls(|calls| calls.allow(&call_id, &tool, input));
                if *changed {
                    self.asked(|asked| asked.changed(number, input));
                }
                self.note(number, Answered::Allowed, "");
            }
            Ok(Verdict::Block { reason }) => self.note(number, Answered::Blocked, reason),
            Err(_) => self.note(number, Answered::Blocked, ""),
        }
        (decided, receipt)
    }

    /// Hands a question to the machine, unless too many are open, and returns its number and who waits for
    /// the answer.
    fn ask(&self, call: AbilityCall) -> Option<(u64, Result<Waiting, Refusal>)> {
        let mut bridged = self.bridged.lock().unwrap_or_else(PoisonError::into_inner);
        let number = bridged.as_mut()?.asked.asks(&call);
        if self.services.tickets.are_out() {
            return Some((number, Err(busy())));
        }
        let waiting = Waiting::new(&self.services);
        self.input(self.notice(call, Some(waiting.ticket()))).then_some((number, Ok(waiting)))
    }

    fn note(&self, number: u64, answered: Answered, reason: &str) {
        self.asked(|asked| asked.answered(number, answered, reason));
    }

    /// Works with what the hooks asked, as long as the call of the agent lasts.
    fn asked(&self, work: impl FnOnce(&mut AskedCalls)) {
        let mut bridged = self.bridged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bridged) = &mut *bridged {
            work(&mut bridged.asked);
        }
    }

    /// Tells the handlers for a hook how a call ended, and returns what they say to the model.
    async fn hook_tells(&self, tells: AbilityAfter) -> Replied<Vec<String>> {
        match self.told(tells).await {
            Ok(AtOnce { text, said }) => {
                let services = Arc::clone(&self.services);
                (Ok(text), Receipt::new(move || services.undelivered(said)))
            }
            Err(refusal) => (Err(refusal), Receipt::none()),
        }
    }

    async fn told(&self, tells: AbilityAfter) -> Result<AtOnce, Refusal> {
        let nothing = || Ok(AtOnce::default());
        // The stream says it.
        let Some(status) = tells.status else { return nothing() };
        let time = deadline(tells.deadline_ms, MAX_DEADLINE);
        let result = short_result(AbilityResult {
            call_id: tells.call_id,
            ability_id: tells.ability_id,
            status,
            duration_ms: tells.duration_ms,
            output_summary: tells.output_summary,
            input: Some(tells.input).filter(|input| !["", "null"].contains(&input.as_str())),
            takes_text: tells.takes_text,
        });
        let waiting = {
            let mut bridged = self.bridged.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(bridged) = &mut *bridged else { return Err(over()) };
            if self.services.tickets.are_out() {
                // The stream shows it.
                return Err(busy());
            }
            let Some(firings) = bridged.asked.tells(&result) else { return nothing() };
            self.fire(firings);
            let waiting = Waiting::new(&self.services);
            if !self.input(self.ended(result, Some(waiting.ticket()))) {
                return Err(over());
            }
            waiting
        };
        match answered_within(time, waiting).await? {
            AbilityAnswer::Told(at_once) => Ok(at_once),
            AbilityAnswer::Decided(_) => Err(over()),
        }
    }
}

/// Waits for an answer as long as there is time.
async fn answered_within(time: Duration, mut waiting: Waiting) -> Result<AbilityAnswer, Refusal> {
    let answered = timeout(time, waiting.answer()).await.map_err(|_| late())?;
    answered.ok_or_else(over)
}

/// Allows a call with the arguments that handlers left, if they fit into an answer.
fn allowed_with(asked: &str, input: String) -> Result<Verdict, Refusal> {
    if input.len() > MAX_MESSAGE - ENVELOPE {
        let message = "the arguments that handlers left are too long";
        return Err(Refusal::new(ErrorCode::SOCKET_TOO_LARGE, message));
    }
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    let changed = value(asked) != value(&input);
    Ok(Verdict::Allow { input, changed })
}

fn deadline(ms: u64, most: Duration) -> Duration {
    match ms {
        0 => most,
        ms => Duration::from_millis(ms).min(most),
    }
}

fn over() -> Refusal {
    Refusal::new(ErrorCode::SOCKET_TOKEN, "the call of the agent is over")
}

fn busy() -> Refusal {
    Refusal::new(ErrorCode::SOCKET_BUSY, "too many tool calls wait for the handlers")
}

fn late() -> Refusal {
    Refusal::new(ErrorCode::SOCKET_TIMEOUT, "the handlers did not answer in time")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_has_the_time_it_names_and_no_more_than_there_is() {
        let most = Duration::from_secs(60);
        let of = |ms| deadline(ms, most);
        assert_eq!([of(0), of(1), of(60_001), of(u64::MAX)], [most, Duration::from_millis(1), most, most]);
    }
}
