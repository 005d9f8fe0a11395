//! Runs the handlers of a point and combines what they answer.
//!
//! Dispatch cannot tell where a handler came from. It keeps two things apart:
//! *verdicts*, which are answers, and *infrastructure failures*, which go
//! through the point's `on_failure` (docs/hooks.md).

use std::{fmt, path::Path, pin::Pin, sync::Arc, time::Duration};

use samuel_model::{
    Plan,
    clock::Clock,
    payload::{CallHeader, Deliver, Mode, TextItem, Turn},
    text,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    Abort, AgentPort, BreakClass, Broken, Call, Exchanges, HandlerCall, HookFailure, HookPoint, HookStatus,
    HookWarning, Kind, Launch, LoggedLine, OnFailure, Outcome, Output, Point, Registry, Said, ScratchFile,
    Speaker, Tier, Timing,
    blob::{not_a_moment, not_toon},
    bounded::{Ended, bounded},
    bounds::{bound, bound_results, words},
    call::Link,
    call_port::CallPort,
    outcome::{Trace, repository_hook},
    registry::{Chain, Slot},
};
use crate::context::ContextView;

/// What all calls of one dispatch share.
#[derive(Clone)]
pub struct CallScope {
    /// The run's id; empty outside a run.
    pub run_id: Arc<str>,
    /// The session's name.
    pub session: Arc<str>,
    /// The iteration, from 1; 0 outside an iteration.
    pub iteration: u32,
    /// What the iteration is for.
    pub mode: Mode,
    /// Which turn of the iteration it is.
    pub turn: Turn,
    /// The prompt context with what was contributed so far.
    pub context: ContextView,
    /// The plan as it was loaded last.
    pub plan: Arc<Plan>,
    /// The workspace of the turn. Default: none, which means that the turn works in the project.
    pub workspace: Option<Arc<Path>>,
    /// Whether this is a look ahead, in which handlers change nothing.
    pub preview: bool,
    /// Whether what went into the calls of repository hooks, and what came out, is wanted for
    /// a log.
    pub traced: bool,
    /// Where the processes of handlers are kept, for whoever wants to see what went in and came
    /// out; nothing in runs.
    pub exchanges: Option<Arc<Exchanges>>,
    /// Where whoever answers at `agent.invoke` reports to.
    pub port: Option<Arc<dyn AgentPort>>,
    /// The time by which deadlines are kept and handlers are timed.
    pub clock: Arc<dyn Clock>,
    /// Cancels the handlers.
    pub cancel: CancellationToken,
}

impl fmt::Debug for CallScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("iteration", &self.iteration)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl CallScope {
    /// Describes a dispatch that belongs to no run and no iteration.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let nobody: Arc<str> = Arc::from("");
        Self {
            run_id: Arc::clone(&nobody),
            session: nobody,
            iteration: 0,
            mode: Mode::default(),
            turn: Turn::default(),
            context: ContextView::new(Arc::default()),
            plan: Arc::default(),
            workspace: None,
            preview: false,
            traced: false,
            exchanges: None,
            port: None,
            clock,
            cancel: CancellationToken::new(),
        }
    }
}

/// What came of a point.
#[derive(Clone, Debug)]
pub struct Dispatched<O> {
    /// The outcomes of all handlers that answered, folded; the default where
    /// none did.
    pub output: O,
    /// What it means for whoever fired the point.
    pub outcome: Outcome,
    /// Sections that their handlers want in files as well, in order. Whoever
    /// fired the point writes them.
    pub scratch: Vec<ScratchFile>,
    /// The prompt context with what the handlers contributed.
    pub context: ContextView,
    /// The calls of handlers in their order, for logs of hooks.
    #[doc(hidden)]
    pub calls: Vec<HandlerCall>,
}

impl Registry {
    /// Runs the handlers of a point in order and combines their outcomes.
    ///
    /// Never fails itself: handlers that break are reported in the outcome.
    // A box ends here what awaits it: the code of each point is made once, in this crate,
    // and not again in each that dispatches.
    pub fn dispatch<'a, P: Point>(
        &'a self,
        input: P::Input,
        scope: &'a CallScope,
    ) -> Pin<Box<dyn Future<Output = Dispatched<P::Output>> + Send + 'a>> {
        Box::pin(async move {
            let chain = self.chain(P::POINT).filter(|chain| !chain.slots.is_empty());
            let skipped = match chain.map(|chain| (chain, chain.spec.skips(scope.mode))) {
                Some((chain, None)) => return Folding::<P>::new(chain, scope, input).run().await,
                Some((_, skipped)) => skipped,
                None => None,
            };
            Dispatched {
                output: P::Output::default(),
                outcome: Outcome { skipped, ..Outcome::default() },
                scratch: Vec::new(),
                context: scope.context.clone(),
                calls: Vec::new(),
            }
        })
    }

    /// Returns what a handler of a point starts for an input, without starting it; nothing where
    /// it starts no process, or where no such handler runs.
    ///
    /// # Errors
    /// Returns a [`HookFailure`] where the command cannot be made.
    pub fn launch<P: Point>(
        &self,
        id: &str,
        input: P::Input,
        scope: &CallScope,
    ) -> Result<Option<Launch>, HookFailure> {
        let Some(chain) = self.chain(P::POINT) else { return Ok(None) };
        let Some(slot) = chain.slots.iter().find(|slot| &*slot.id == id) else { return Ok(None) };
        let folding = Folding::<P>::new(chain, scope, input);
        let link = Arc::new(Link::new(&scope.cancel, None));
        slot.handler::<P>().launch(&folding.call(slot, chain.limit(slot), &link, None))
    }
}

/// Whether later handlers of the point run.
#[derive(PartialEq)]
enum Flow {
    Continue,
    Stop,
}

/// How often a handler is asked in one dispatch.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    First,
    /// Again, because a later handler changed what it had seen.
    Again,
}

/// What stands after the handlers that ran so far.
struct Folding<'a, P: Point> {
    chain: &'a Chain,
    scope: &'a CallScope,
    input: Arc<P::Input>,
    /// How many handlers of the chain saw a tool call that was changed later.
    outdated: usize,
    output: Option<Arc<P::Output>>,
    outcome: Outcome,
    scratch: Vec<ScratchFile>,
    context: ContextView,
    calls: Vec<HandlerCall>,
}

impl<'a, P: Point> Folding<'a, P> {
    fn new(chain: &'a Chain, scope: &'a CallScope, input: P::Input) -> Self {
        Self {
            chain,
            scope,
            input: Arc::new(input),
            outdated: 0,
            output: None,
            outcome: Outcome::default(),
            scratch: Vec::new(),
            context: scope.context.clone(),
            calls: Vec::new(),
        }
    }

    async fn run(mut self) -> Dispatched<P::Output> {
        for (place, slot) in self.chain.slots.iter().enumerate() {
            let seen = (P::POINT == HookPoint::AbilityBefore).then(|| Arc::clone(&self.input));
            if self.ask(slot, Pass::First).await == Flow::Stop {
                break;
            }
            if seen.is_some_and(|seen| seen != self.input) {
                self.outdated = place;
            }
        }
        self.ask_again().await;
        self.settle();
        let output = self.output.map(Arc::unwrap_or_clone).unwrap_or_default();
        let Self { outcome, scratch, context, calls, .. } = self;
        Dispatched { output, outcome, scratch, context, calls }
    }

    /// Asks the gates of tool calls again that saw arguments which a later
    /// handler changed: a gate decides about what is really called.
    async fn ask_again(&mut self) {
        if self.outcome.abort.is_some() || self.scope.cancel.is_cancelled() {
            return;
        }
        for slot in self.chain.slots.iter().take(self.outdated) {
            if self.ask(slot, Pass::Again).await == Flow::Stop {
                break;
            }
        }
    }

    async fn ask(&mut self, slot: &Slot, pass: Pass) -> Flow {
        let limit = self.chain.limit(slot);
        let traced = || self.traces(&slot.id).then(Arc::default);
        let exchanges = self.scope.exchanges.clone().or_else(traced);
        let link = Arc::new(Link::new(&self.scope.cancel, exchanges));
        let port = self.port(slot, &link);
        let call = self.call(slot, limit, &link, port.clone());
        let clock = &*self.scope.clock;
        let started = clock.elapsed();
        // A handler may panic before it gives its future, so that is bounded too.
        let answer = async { slot.handler::<P>().call(call).await };
        let deadline = limit.map(|limit| limit + slot.tier.grace());
        let ended = bounded(answer, deadline, clock, &self.scope.cancel).await;
        if let Some(port) = port {
            port.close();
        }
        let took = clock.elapsed().saturating_sub(started);
        let is_left_behind = !matches!(ended, Ended::Answered(_));
        for message in link.take_warnings() {
            self.warn(slot, "warning", message);
        }
        for (level, message) in link.take_logged() {
            self.outcome.logged.push(LoggedLine { handler: Arc::clone(&slot.id), level, message });
        }
        let ended = match ended {
            Ended::Answered(Ok(mut output)) => {
                if let Some(left_out) = bound_results(slot.tier, &mut output) {
                    self.warn(slot, "warning", left_out);
                }
                Ended::Answered(usable(slot, output))
            }
            ended => ended,
        };
        let failure = match ended {
            Ended::Answered(Ok(_)) if link.stood_aside() => return Flow::Continue,
            Ended::Answered(Ok(output)) => {
                let data = link.take_contributions();
                if !data.is_empty() {
                    self.context.contribute(&slot.namespace, data);
                }
                self.answered(slot, output, pass, (took, &link));
                return Flow::Continue;
            }
            Ended::Answered(Err(failure)) => failure,
            Ended::TimedOut(deadline) => {
                // What it was given; the grace beyond that is for ending its processes.
                let limit = text::limit(limit.unwrap_or(deadline));
                HookFailure::new(BreakClass::Timeout, format!("no answer within {limit}"))
            }
            Ended::Cancelled => HookFailure::new(BreakClass::Cancelled, "the run was cancelled"),
        };
        link.cancel();
        self.broke(slot, failure, (took, &link), is_left_behind)
    }

    /// Opens the port of a call in the agent's place.
    fn port(&self, slot: &Slot, link: &Arc<Link>) -> Option<Arc<CallPort>> {
        let opens = || Arc::new(CallPort::new(self.scope.port.clone(), link, slot.tier));
        (P::POINT == HookPoint::AgentInvoke).then(opens)
    }

    fn call(
        &self,
        slot: &Slot,
        limit: Option<Duration>,
        link: &Arc<Link>,
        port: Option<Arc<CallPort>>,
    ) -> Call<P> {
        let scope = self.scope;
        Call {
            header: CallHeader {
                point: Arc::clone(&self.chain.id),
                handler_id: Arc::clone(&slot.id),
                run_id: Arc::clone(&scope.run_id),
                session: Arc::clone(&scope.session),
                iteration: scope.iteration,
                mode: scope.mode,
                turn: scope.turn,
                deadline_ms: limit.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
                namespace: Arc::clone(&slot.namespace),
                preview: scope.preview,
            },
            input: Arc::clone(&self.input),
            previous: self.output.as_ref().filter(|_| P::PREVIOUS).map(Arc::clone),
            context: self.context.clone(),
            plan: Arc::clone(&scope.plan),
            workspace: scope.workspace.clone(),
            port: port.map(|port| port as Arc<dyn AgentPort>),
            link: Arc::clone(link),
        }
    }

    fn answered(&mut self, slot: &Slot, output: P::Output, pass: Pass, (took, link): (Duration, &Link)) {
        let refusal = output.refusal();
        let failed = link.failed();
        let (status, class) = match refusal {
            Some(_) if output.asks() => (HookStatus::Asked, failed),
            // One that says no because it broke says how.
            Some(_) => (HookStatus::Refused, failed),
            None if failed.is_some() || output.failure().is_some() => (HookStatus::Failed, failed),
            None => (HookStatus::Ok, None),
        };
        let (handler, exit_code) = (Arc::clone(&slot.id), link.exit_code());
        let timing = Timing { handler, took, status, class, exit_code };
        let logs = output.results().map(|results| results.logs.clone()).unwrap_or_default();
        self.called(timing, [logs, link.take_logs()].concat(), link, &output);
        if pass == Pass::Again {
            Arc::make_mut(self.output.get_or_insert_default()).reconsider(output);
            return;
        }
        for item in output.text() {
            self.outcome.said.push(Said {
                handler: Arc::clone(&slot.id),
                point: P::POINT,
                item: item.clone(),
                speaker: Speaker::Handler,
            });
        }
        for message in output.results().into_iter().flat_map(|results| &results.messages_to_user) {
            self.outcome.said.push(Said {
                handler: Arc::clone(&slot.id),
                point: P::POINT,
                item: TextItem { content: message.clone(), deliver: Deliver::Next },
                speaker: Speaker::ToUser,
            });
        }
        for extra in output.extras() {
            self.scratch.extend(extra.path.as_ref().map(|path| ScratchFile {
                handler: Arc::clone(&slot.id),
                path: path.clone(),
                content: extra.content.clone(),
            }));
        }
        if let Some(reason) = refusal.filter(|_| P::POINT.kind() == Kind::Observe) {
            self.warn(slot, "refused", reason);
        }
        if P::POINT.kind() == Kind::Transform {
            P::apply(Arc::make_mut(&mut self.input), &output);
        }
        for message in Arc::make_mut(self.output.get_or_insert_default()).combine(output) {
            self.warn(slot, "overrides", message);
        }
    }

    fn broke(
        &mut self,
        slot: &Slot,
        mut failure: HookFailure,
        (took, link): (Duration, &Link),
        is_left_behind: bool,
    ) -> Flow {
        if slot.tier != Tier::BuiltIn {
            failure.message = words(&failure.message);
        }
        let handler = Arc::clone(&slot.id);
        let (status, class, exit_code) = (HookStatus::Broke, Some(failure.class), link.exit_code());
        let timing = Timing { handler: Arc::clone(&handler), took, status, class, exit_code };
        self.called(timing, link.take_logs(), link, &failure);
        self.warn(slot, failure.class.as_str(), failure.message.clone());
        self.outcome.broken.push(Broken {
            handler: Arc::clone(&handler),
            point: P::POINT,
            failure: failure.clone(),
            abandoned: is_left_behind && slot.tier.is_left_behind(),
        });
        // A handler that was cancelled with its run did nothing wrong, so
        // nothing follows from it. That the run was cancelled is not for the
        // handler to say.
        if failure.class == BreakClass::Cancelled && self.scope.cancel.is_cancelled() {
            return Flow::Stop;
        }
        match self.chain.failure_action(slot) {
            OnFailure::Warn => Flow::Continue,
            action => {
                self.outcome.abort = Some(Abort { handler, point: P::POINT, action, failure });
                Flow::Stop
            }
        }
    }

    /// Says whether what goes into a handler and comes out is kept for a trace.
    fn traces(&self, handler: &str) -> bool {
        self.scope.traced && repository_hook(handler).is_some()
    }

    /// Takes down that a handler was called, and what it answered or how it broke.
    fn called(&mut self, timing: Timing, logs: Vec<String>, link: &Link, answer: &impl Serialize) {
        let trace = self.traces(&timing.handler).then(|| {
            let [input, answer] = [serde_json::to_value(&*self.input), serde_json::to_value(answer)];
            let (input, answer) = (input.unwrap_or_default(), answer.unwrap_or_default());
            Box::new(Trace { input, printed: link.printed(), answer })
        });
        self.outcome.timings.push(timing.clone());
        self.calls.push(HandlerCall { timing, logs, trace });
    }

    fn warn(&mut self, slot: &Slot, class: &str, mut message: String) {
        if slot.tier != Tier::BuiltIn {
            message = words(&message);
        }
        let warning = HookWarning { handler: Arc::clone(&slot.id), class: class.to_owned(), message };
        self.outcome.warnings.push(warning);
    }

    /// Says whether a refusal counts, which depends on the point.
    fn settle(&mut self) {
        let strict = self.chain.spec.strict;
        let counts = match (P::POINT, P::POINT.kind()) {
            (HookPoint::QualityCheck, _) => strict != Some(false),
            (HookPoint::AfterAgentInvoke, _) => strict == Some(true),
            (_, Kind::Observe) => false,
            _ => true,
        };
        let results = self.output.as_ref().and_then(|output| output.results());
        self.outcome.results = results.filter(|results| !results.is_empty()).cloned().map(Box::new);
        // Reasons are those of all handlers together.
        let refusal = self.output.as_ref().and_then(|output| output.refusal()).map(|reason| words(&reason));
        match P::POINT {
            _ if counts => self.outcome.refused = refusal,
            HookPoint::QualityCheck => self.outcome.advice = refusal,
            // What observers refuse is a warning already.
            _ => {}
        }
    }
}

/// Bounds what a handler answered, and refuses what nobody can use; the runtime's own defaults
/// answer nothing of that kind.
fn usable<O: Output>(slot: &Slot, mut output: O) -> Result<O, HookFailure> {
    bound(slot.tier, &mut output);
    let problem = || output.toon().and_then(not_toon).or_else(|| output.failure().and_then(not_a_moment));
    let problem = if slot.tier == Tier::BuiltIn { None } else { problem() };
    problem.map_or(Ok(output), |problem| Err(HookFailure::new(BreakClass::BadOutput, problem)))
}
