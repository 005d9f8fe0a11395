//! Runs the handlers of a point and combines what they answer.
//!
//! Dispatch cannot tell where a handler came from. It keeps two things apart:
//! *verdicts*, which are answers, and *infrastructure failures*, which go
//! through the point's `on_failure` (contract, failure).

use std::{
    panic::{self, AssertUnwindSafe},
    pin::Pin,
    sync::{Arc, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    BreakClass, Call, HookFailure, HookPoint, Kind, OnFailure, Output, Point, Registry,
    handler::panicked,
    registry::{Chain, Slot},
};
use crate::{
    clock::Clock,
    context::ContextView,
    model::payload::{CallHeader, Mode, TextItem, Turn},
};

/// How long a handler without a deadline may take to end what it started.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// What all calls of one dispatch share.
#[derive(Clone, Debug)]
pub struct Scope {
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
    /// Cancels the handlers.
    pub cancel: CancellationToken,
    /// The time by which deadlines are kept and handlers are timed.
    pub clock: Arc<dyn Clock>,
}

/// What came of a point.
#[derive(Clone, Debug)]
pub struct Dispatched<O> {
    /// The outcomes of all handlers that answered, folded; the default where
    /// none did.
    pub output: O,
    /// What it means for whoever fired the point.
    pub outcome: Outcome,
    /// The prompt context with what the handlers contributed.
    pub context: ContextView,
}

/// What a point's handlers said and did, without the output itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The reason of the first refusal that counts at this point.
    pub refused: Option<String>,
    /// Text for the agent, with who said it.
    pub said: Vec<Said>,
    /// Handlers that broke.
    pub broken: Vec<Broken>,
    /// The broken handler that ends more than its own work.
    pub abort: Option<Abort>,
    /// Everything the user should know.
    pub warnings: Vec<Warning>,
    /// How long each handler took.
    pub timings: Vec<Timing>,
}

/// Text for the agent, with who said it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The point it said it at.
    pub point: HookPoint,
    /// What it said.
    pub item: TextItem,
}

/// A handler that broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Broken {
    /// The handler's id.
    pub handler: Arc<str>,
    /// How it broke.
    pub failure: HookFailure,
    /// Whether its thread is still running, because nothing can end it.
    pub abandoned: bool,
}

/// A broken handler that ends more than its own work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abort {
    /// The handler's id.
    pub handler: Arc<str>,
    /// What ends.
    pub action: OnFailure,
    /// How the handler broke.
    pub failure: HookFailure,
}

/// Something the user should know of a handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The class of the failure, or `refused`, `overrides`, `slow`.
    pub class: String,
    /// What there is to know, in one line.
    pub message: String,
}

/// How long a handler took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The handler's id.
    pub handler: Arc<str>,
    /// The time it took.
    pub took: Duration,
    /// `ok`, `refused` or the class of the failure.
    pub result: String,
}

impl Registry {
    /// Runs the handlers of a point in order and combines their outcomes.
    ///
    /// Never fails itself: handlers that break are reported in the outcome.
    pub async fn dispatch<P: Point>(&self, input: P::Input, scope: &Scope) -> Dispatched<P::Output> {
        let mut state = Folding::<P> {
            outdated: 0,
            answered: 0,
            input: Arc::new(input),
            output: None,
            outcome: Outcome::default(),
            context: scope.context.clone(),
        };
        if let Some(chain) = self.chain(P::POINT) {
            for slot in &chain.slots {
                if state.run(chain, slot, scope, Pass::First).await == Flow::Stop {
                    break;
                }
            }
            state.recheck(chain, scope).await;
            state.settle(chain);
        }
        let output = state.output.map(Arc::unwrap_or_clone).unwrap_or_default();
        Dispatched { output, outcome: state.outcome, context: state.context }
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
struct Folding<P: Point> {
    /// How many handlers saw an input that was changed after them.
    outdated: usize,
    /// How many handlers answered.
    answered: usize,
    input: Arc<P::Input>,
    output: Option<Arc<P::Output>>,
    outcome: Outcome,
    context: ContextView,
}

impl<P: Point> Folding<P> {
    /// Asks the gates of tool calls again that saw arguments which a later
    /// handler changed: a gate decides about what is really called. Their own
    /// changes no longer count.
    async fn recheck(&mut self, chain: &Chain, scope: &Scope) {
        if P::POINT != HookPoint::AbilityBefore || self.outcome.abort.is_some() {
            return;
        }
        for slot in chain.slots.iter().take(self.outdated) {
            if self.run(chain, slot, scope, Pass::Again).await == Flow::Stop {
                break;
            }
        }
    }

    async fn run(&mut self, chain: &Chain, slot: &Slot, scope: &Scope, pass: Pass) -> Flow {
        let limit = chain.limit(slot);
        let call = self.call(slot, limit, scope);
        let contributions = Arc::clone(&call.contributions);
        let cancel = call.cancel.clone();
        let started = scope.clock.elapsed();
        let answer = bounded(slot.handler::<P>().call(call), limit, scope).await;
        let took = scope.clock.elapsed().saturating_sub(started);
        match answer {
            Ok(output) => {
                let data = std::mem::take(&mut *contributions.lock().unwrap_or_else(PoisonError::into_inner));
                if !data.is_empty() {
                    self.context.contribute(&slot.namespace, data);
                }
                self.answered(slot, output, took, pass);
                Flow::Continue
            }
            Err(failure) => {
                cancel.cancel();
                self.broke(chain, slot, failure, took)
            }
        }
    }

    fn call(&self, slot: &Slot, limit: Option<Duration>, scope: &Scope) -> Call<P> {
        let passes_on = matches!(P::POINT.kind(), Kind::Blob | Kind::List | Kind::Transform);
        Call {
            header: CallHeader {
                point: P::POINT.as_str().into(),
                handler_id: Arc::clone(&slot.id),
                run_id: Arc::clone(&scope.run_id),
                session: Arc::clone(&scope.session),
                iteration: scope.iteration,
                mode: scope.mode,
                turn: scope.turn,
                deadline_ms: limit.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
                namespace: Arc::clone(&slot.namespace),
            },
            input: Arc::clone(&self.input),
            previous: self.output.as_ref().filter(|_| passes_on).map(Arc::clone),
            context: self.context.clone(),
            contributions: Arc::default(),
            cancel: scope.cancel.child_token(),
        }
    }

    fn answered(&mut self, slot: &Slot, mut output: P::Output, took: Duration, pass: Pass) {
        for item in output.text() {
            self.outcome.said.push(Said {
                handler: Arc::clone(&slot.id),
                point: P::POINT,
                item: item.clone(),
            });
        }
        let refusal = output.refusal();
        let result = if refusal.is_some() { "refused" } else { "ok" };
        self.outcome.timings.push(Timing { handler: Arc::clone(&slot.id), took, result: result.to_owned() });
        if let Some(reason) = refusal.filter(|_| P::POINT.kind() == Kind::Observe) {
            self.warn(slot, "refused", reason);
        }
        if pass == Pass::Again {
            // The standing output counts as the later one, so its changes win.
            if let Some(standing) = self.output.take() {
                output.combine(Arc::unwrap_or_clone(standing));
            }
            self.output = Some(Arc::new(output));
            return;
        }
        self.apply(&output);
        match &mut self.output {
            None => self.output = Some(Arc::new(output)),
            Some(standing) => {
                for message in Arc::make_mut(standing).combine(output) {
                    self.warn(slot, "overrides", message);
                }
            }
        }
    }

    fn apply(&mut self, output: &P::Output) {
        if P::POINT.kind() == Kind::Transform {
            let before = Arc::clone(&self.input);
            P::apply(Arc::make_mut(&mut self.input), output);
            if before != self.input {
                self.outdated = self.answered;
            }
        }
        self.answered += 1;
    }

    fn broke(&mut self, chain: &Chain, slot: &Slot, failure: HookFailure, took: Duration) -> Flow {
        let handler = Arc::clone(&slot.id);
        let timing =
            Timing { handler: Arc::clone(&handler), took, result: failure.class.as_str().to_owned() };
        self.outcome.timings.push(timing);
        self.warn(slot, failure.class.as_str(), failure.message.clone());
        let abandoned = slot.tier == super::Tier::Blocking && failure.class == BreakClass::Timeout;
        self.outcome.broken.push(Broken {
            handler: Arc::clone(&handler),
            failure: failure.clone(),
            abandoned,
        });
        // A cancelled handler did nothing wrong, so nothing follows from it.
        if failure.class == BreakClass::Cancelled {
            return Flow::Stop;
        }
        match chain.failure_action(P::POINT) {
            OnFailure::Warn => Flow::Continue,
            action => {
                self.outcome.abort = Some(Abort { handler, action, failure });
                Flow::Stop
            }
        }
    }

    fn warn(&mut self, slot: &Slot, class: &str, message: String) {
        let warning = Warning { handler: Arc::clone(&slot.id), class: class.to_owned(), message };
        self.outcome.warnings.push(warning);
    }

    /// Says whether a refusal counts, which depends on the point.
    fn settle(&mut self, chain: &Chain) {
        let counts = match (P::POINT, P::POINT.kind()) {
            (HookPoint::QualityCheck, _) => chain.spec.strict != Some(false),
            (HookPoint::AfterAgentInvoke, _) => chain.spec.strict == Some(true),
            (_, Kind::Observe) => false,
            _ => true,
        };
        if counts {
            self.outcome.refused = self.output.as_ref().and_then(|output| output.refusal());
        }
    }
}

/// Waits for a handler, but not past its deadline or the run's end, and
/// catches its panics.
async fn bounded<O>(
    answer: impl Future<Output = Result<O, HookFailure>> + Send,
    limit: Option<Duration>,
    scope: &Scope,
) -> Result<O, HookFailure> {
    let answer = CatchPanic(Box::pin(answer));
    let timed = async {
        match limit {
            None => answer.await,
            Some(limit) => within(limit, &*scope.clock, answer).await.unwrap_or_else(|| {
                Err(HookFailure::new(BreakClass::Timeout, format!("no answer within {}", seconds(limit))))
            }),
        }
    };
    tokio::pin!(timed);
    tokio::select! {
        biased;
        answer = &mut timed => answer,
        () = scope.cancel.cancelled() => {
            // What is exempt from deadlines looks after processes, and is given
            // the time to end them.
            if limit.is_none() && let Some(answer) = within(CLEAN_UP, &*scope.clock, timed).await {
                return answer;
            }
            Err(HookFailure::new(BreakClass::Cancelled, "the run was cancelled"))
        }
    }
}

/// Waits for a future, but no longer than a time.
async fn within<T>(limit: Duration, clock: &dyn Clock, future: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = future => Some(done),
        () = clock.sleep(limit) => None,
    }
}

/// Writes a duration the way the configuration does.
fn seconds(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{:.1}s", duration.as_secs_f64()),
    }
}

/// A future whose panics become failures.
struct CatchPanic<F>(Pin<Box<F>>);

impl<O, F: Future<Output = Result<O, HookFailure>>> Future for CatchPanic<F> {
    type Output = Result<O, HookFailure>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let future = self.0.as_mut();
        panic::catch_unwind(AssertUnwindSafe(|| future.poll(context)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panicked(panic.as_ref()))))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        clock::SystemClock,
        context::PromptContext,
        hook::{ChainSpec, Gate, RegistryBuilder, blocking, points},
        model::payload::*,
    };

    fn scope() -> Scope {
        Scope {
            run_id: "r".into(),
            session: "s".into(),
            iteration: 1,
            mode: Mode::Implementation,
            turn: Turn::Main,
            context: ContextView::new(Arc::new(PromptContext::default())),
            cancel: CancellationToken::new(),
            clock: Arc::new(SystemClock::new()),
        }
    }

    fn build(handlers: RegistryBuilder, point: HookPoint, spec: ChainSpec) -> Registry {
        handlers.build(&BTreeMap::from([(point, spec)])).expect("the chain resolves")
    }

    fn failing(message: &str) -> QualityCheckOutput {
        let failure = CheckFailure { message: message.into(), ..Default::default() };
        QualityCheckOutput { ok: false, failures: vec![failure], ..Default::default() }
    }

    #[tokio::test]
    async fn every_check_runs_and_all_failures_are_kept() {
        let mut handlers = Registry::builder();
        for name in ["a", "b"] {
            handlers.api(name, None, async move |_: Call<points::QualityCheck>| Ok(failing(name)));
        }
        let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
        let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
        assert_eq!(done.outcome.refused.as_deref(), Some("a; b"));
        assert!(done.outcome.abort.is_none());
    }

    #[tokio::test]
    async fn a_check_that_is_not_strict_is_advice() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |_: Call<points::QualityCheck>| Ok(failing("a")));
        let spec = ChainSpec { strict: Some(false), ..Default::default() };
        let registry = build(handlers, HookPoint::QualityCheck, spec);
        let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
        assert_eq!(done.outcome.refused, None);
        assert!(!done.output.ok);
    }

    #[tokio::test]
    async fn a_broken_handler_is_no_verdict_and_aborts_where_the_point_is_strict() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |_: Call<points::QualityCheck>| {
            Err(HookFailure::new(BreakClass::Failed, "no"))
        });
        handlers.api("b", None, async |_: Call<points::QualityCheck>| Ok(failing("never")));
        let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
        let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope()).await;
        let abort = done.outcome.abort.map(|abort| (abort.handler, abort.action));
        assert_eq!(abort, Some(("api:a".into(), OnFailure::AbortIteration)));
        assert_eq!(done.outcome.refused, None);
    }

    #[tokio::test]
    async fn a_panic_is_caught_and_later_handlers_run() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |call: Call<points::AfterLoop>| {
            assert!(call.input().iterations_run > 0, "no iterations");
            Ok(AfterLoopOutput::default())
        });
        handlers.api(
            "b",
            None,
            blocking(|_: &Call<points::AfterLoop>| {
                Ok(AfterLoopOutput { ok: false, reason: Some("b".into()), ..Default::default() })
            }),
        );
        let registry = build(handlers, HookPoint::AfterLoop, ChainSpec::default());
        let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
        let broken: Vec<_> =
            done.outcome.broken.iter().map(|b| (b.failure.class, b.failure.message.as_str())).collect();
        assert_eq!(broken, [(BreakClass::Panicked, "no iterations")]);
        assert!(!done.output.ok && done.outcome.refused.is_none(), "an observer warns and never refuses");
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_never_answers_is_left_behind_at_its_deadline() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |_: Call<points::AfterLoop>| std::future::pending().await);
        let spec = ChainSpec { timeout: Some(Duration::from_secs(1)), ..Default::default() };
        let registry = build(handlers, HookPoint::AfterLoop, spec);
        let started = tokio::time::Instant::now();
        let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
        assert_eq!(
            done.outcome.broken.first().map(|b| b.failure.to_string()).as_deref(),
            Some("timeout: no answer within 1s")
        );
        assert_eq!(started.elapsed().as_secs(), 1);
    }

    #[tokio::test]
    async fn a_blocking_handler_that_overruns_is_abandoned_and_reported() {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let mut handlers = Registry::builder();
        handlers.api(
            "a",
            None,
            blocking(move |_: &Call<points::AfterLoop>| {
                let _ = wait.lock().map(|wait| wait.recv());
                Ok(AfterLoopOutput::default())
            }),
        );
        let spec = ChainSpec { timeout: Some(Duration::from_millis(20)), ..Default::default() };
        let registry = build(handlers, HookPoint::AfterLoop, spec);
        let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
        assert_eq!(done.outcome.broken.first().map(|b| b.abandoned), Some(true));
        drop(release);
    }

    #[tokio::test]
    async fn blobs_are_folded_and_contributions_reach_later_handlers() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |call: Call<points::ContextTask>| {
            call.contribute("Venv", ".venv")?;
            Ok(crate::hook::Blob::from_blob("D"))
        });
        handlers.api("b", None, async |call: Call<points::ContextTask>| {
            let venv = call.context().plugins().get("api").and_then(|api| api.get("Venv")).cloned();
            let before = call.previous().map(|p| p.toon_blob.clone()).unwrap_or_default();
            Ok(crate::hook::Blob::from_blob(format!("{before}P{}", venv.unwrap_or_default())))
        });
        let registry = build(handlers, HookPoint::ContextTask, ChainSpec::default());
        let done = registry.dispatch::<points::ContextTask>(Default::default(), &scope()).await;
        assert_eq!(done.output.toon_blob, "DP\".venv\"");
        assert!(done.context.plugins().contains_key("api"));
    }

    #[tokio::test]
    async fn what_a_broken_handler_contributed_does_not_count() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |call: Call<points::AfterLoop>| {
            call.contribute("x", 1)?;
            Err(HookFailure::new(BreakClass::Failed, "no"))
        });
        let registry = build(handlers, HookPoint::AfterLoop, ChainSpec::default());
        let done = registry.dispatch::<points::AfterLoop>(Default::default(), &scope()).await;
        assert!(done.context.plugins().is_empty());
    }

    #[tokio::test]
    async fn a_transform_changes_what_the_next_handler_is_given() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |_: Call<points::BeforeAgentInvoke>| {
            Ok(BeforeAgentInvokeOutput { prompt: Some("longer".into()), ..Default::default() })
        });
        handlers.api("b", None, async |call: Call<points::BeforeAgentInvoke>| {
            let prompt = format!("{}!", call.input().prompt);
            Ok(BeforeAgentInvokeOutput { prompt: Some(prompt), ..Default::default() })
        });
        let registry = build(handlers, HookPoint::BeforeAgentInvoke, ChainSpec::default());
        let done = registry.dispatch::<points::BeforeAgentInvoke>(Default::default(), &scope()).await;
        assert_eq!(done.output.prompt.as_deref(), Some("longer!"));
    }

    #[tokio::test]
    async fn gates_of_tool_calls_see_the_arguments_that_are_really_used() {
        let mut handlers = Registry::builder();
        handlers.api("gate", None, async |call: Call<points::AbilityBefore>| {
            Ok(match call.input().input.contains("rm") {
                true => AbilityBeforeOutput::refuse("no rm"),
                false => AbilityBeforeOutput::pass(),
            })
        });
        handlers.api("rewrite", None, async |_: Call<points::AbilityBefore>| {
            Ok(AbilityBeforeOutput {
                updated_input: Some(r#"{"command":"rm -r x"}"#.into()),
                ..Default::default()
            })
        });
        let registry = build(handlers, HookPoint::AbilityBefore, ChainSpec::default());
        let input = AbilityBeforeInput { input: r#"{"command":"ls"}"#.into(), ..Default::default() };
        let done = registry.dispatch::<points::AbilityBefore>(input, &scope()).await;
        assert_eq!(done.outcome.refused.as_deref(), Some("no rm"));
        assert_eq!(done.output.updated_input.as_deref(), Some(r#"{"command":"rm -r x"}"#));
    }

    #[tokio::test]
    async fn a_cancelled_handler_ends_the_chain_without_an_abort() {
        let mut handlers = Registry::builder();
        handlers.api("a", None, async |call: Call<points::QualityCheck>| {
            call.cancelled().cancelled().await;
            std::future::pending().await
        });
        let registry = build(handlers, HookPoint::QualityCheck, ChainSpec::default());
        let scope = scope();
        scope.cancel.cancel();
        let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope).await;
        assert_eq!(done.outcome.broken.first().map(|b| b.failure.class), Some(BreakClass::Cancelled));
        assert!(done.outcome.abort.is_none());
    }

    #[tokio::test]
    async fn a_point_without_handlers_lets_things_go_on() {
        let registry = build(Registry::builder(), HookPoint::BeforeLoop, ChainSpec::default());
        let done = registry.dispatch::<points::BeforeLoop>(Default::default(), &scope()).await;
        assert_eq!(done.output, BeforeLoopOutput::pass());
        assert_eq!(done.outcome, Outcome::default());
    }
}
