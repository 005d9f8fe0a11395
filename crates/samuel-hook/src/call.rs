//! What a handler is called with.
//!
//! A [`Call`] holds the point's input, what earlier handlers made, the prompt
//! context, and the means to contribute.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use samuel_model::{Plan, payload::CallHeader};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    AgentPort, BreakClass, Exchanges, HookExchange, HookFailure, LogLevel, Point,
    bounds::{MAX_RESULTS, words},
};
use crate::context::ContextView;

/// How many warnings a call may have beside its answer.
const MAX_WARNINGS: usize = 20;
/// How long each may be.
const MAX_WARNING_CHARS: usize = 1000;
/// How many lines of a call's log are kept with the outcome.
const MAX_LOGGED: usize = 200;

/// One call of a handler.
#[derive(Clone)]
pub struct Call<P: Point> {
    pub(super) header: CallHeader,
    pub(super) input: Arc<P::Input>,
    pub(super) previous: Option<Arc<P::Output>>,
    pub(super) context: ContextView,
    pub(super) plan: Arc<Plan>,
    pub(super) workspace: Option<Arc<Path>>,
    pub(super) port: Option<Arc<dyn AgentPort>>,
    pub(super) link: Arc<Link>,
}

impl<P: Point> Call<P> {
    /// Returns who is called, where and until when.
    pub fn header(&self) -> &CallHeader {
        &self.header
    }

    /// Returns the time limit of the handler for this call, or `default` if it has none.
    #[doc(hidden)]
    pub fn limit(&self, default: Duration) -> Duration {
        match self.header.deadline_ms {
            0 => default,
            millis => Duration::from_millis(millis),
        }
    }

    /// Returns the point's input.
    pub fn input(&self) -> &P::Input {
        &self.input
    }

    /// Returns what the handlers before this one answered, folded. Always
    /// nothing at points that do not pass it on.
    pub fn previous(&self) -> Option<&P::Output> {
        self.previous.as_deref()
    }

    /// Returns the prompt context with what was contributed so far.
    pub fn context(&self) -> &ContextView {
        &self.context
    }

    /// Returns the plan as the run loaded it last; an empty one outside of a run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Returns the workspace of the turn, or `None` if the turn works in the project.
    pub fn workspace(&self) -> Option<&Path> {
        self.workspace.as_deref()
    }

    /// Returns what the agent's work is told to and its tool calls are asked of, at
    /// `agent.invoke`. A [`Call`] of that point is an [`AgentPort`] itself.
    pub fn port(&self) -> Option<&Arc<dyn AgentPort>> {
        self.port.as_ref()
    }

    /// Contributes to the handler's own namespace of the Plugins group, where
    /// later handlers and templates see it if this handler succeeds.
    ///
    /// # Errors
    /// Returns the serializer's error where the value is not JSON.
    pub fn contribute(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), serde_json::Error> {
        let value = serde_json::to_value(value)?;
        self.link.contributions().insert(key.into(), value);
        Ok(())
    }

    /// Warns beside the answer: the progress log and whoever watches the run get it, under the
    /// handler's id. The first 20 of a call count, each up to 1000 characters.
    pub fn warn(&self, message: impl Into<String>) {
        self.link.warn(message);
    }

    /// Tells that a process of the handler has ended: its exit code goes into the log of hooks, and
    /// whoever tries the handler out is shown what went in and came out.
    pub fn ran(&self, exit_code: Option<i32>, exchange: impl FnOnce() -> Option<HookExchange>) {
        self.link.ran(exit_code, exchange);
    }

    /// Tells that what the handler ran failed, of which it answers all the same: the call counts
    /// as failed for whoever reads the log of hooks or tries the handler out, and nothing else
    /// follows from it.
    pub fn fell_short(&self, failure: &HookFailure) {
        self.link.fell_short(failure.class);
    }

    /// Writes a line for the log of hooks, as the `logs` of results do: at points whose answer has
    /// no results, such as `session.end`. The first 100 of a call count, each up to 1,000
    /// characters; those of a repository hook go to `.system/logs/hooks.log`.
    pub fn log(&self, line: impl AsRef<str>) {
        self.link.log(words(line.as_ref()));
    }

    /// Marks the call as not meant for this handler. Dispatch ignores its answer, and logs of hooks and trials list the
    /// handler as not called.
    #[doc(hidden)]
    pub fn does_not_apply(&self) {
        *self.link.stood_aside.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Returns the state that the call shares with its dispatch. A task that outlives the call can keep it, to warn and
    /// to log.
    #[doc(hidden)]
    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Returns a token that is cancelled when the answer is no longer wanted:
    /// at the deadline, or when the run is stopped.
    pub fn cancelled(&self) -> &CancellationToken {
        self.link.cancelled()
    }
}

impl<P: Point> Call<P> {
    /// Returns a copy of the call with another input and another answer of the handlers before it. The copy shares the
    /// state of this call.
    #[doc(hidden)]
    pub fn showing(&self, input: P::Input, previous: Option<P::Output>) -> Self {
        Self { input: Arc::new(input), previous: previous.map(Arc::new), ..self.clone() }
    }
}

impl<P: Point> fmt::Debug for Call<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("header", &self.header)
            .field("input", &self.input)
            .finish_non_exhaustive()
    }
}

/// The state that a call and its dispatch share while the handler works: contributions, warnings, lines for logs, and
/// the token that cancels the handler.
///
/// Few handlers watch for the cancellation, so the token is created on first use.
pub struct Link {
    contributions: Mutex<BTreeMap<String, Value>>,
    warnings: Mutex<Vec<String>>,
    exit_code: Mutex<Option<i32>>,
    failed: Mutex<Option<BreakClass>>,
    logs: Mutex<Vec<String>>,
    logged: Mutex<Vec<(LogLevel, String)>>,
    stood_aside: Mutex<bool>,
    /// Where processes are kept, if somebody wants to see them.
    exchanges: Option<Arc<Exchanges>>,
    cancelled: OnceLock<CancellationToken>,
    run: CancellationToken,
}

impl Link {
    /// Links a call to the token of its run.
    pub(super) fn new(run: &CancellationToken, exchanges: Option<Arc<Exchanges>>) -> Self {
        Self {
            contributions: Mutex::default(),
            warnings: Mutex::default(),
            exit_code: Mutex::default(),
            failed: Mutex::default(),
            logs: Mutex::default(),
            logged: Mutex::default(),
            stood_aside: Mutex::default(),
            exchanges,
            cancelled: OnceLock::new(),
            run: run.clone(),
        }
    }

    /// Takes what was contributed; what comes later is nobody's.
    pub(super) fn take_contributions(&self) -> BTreeMap<String, Value> {
        std::mem::take(&mut *self.contributions())
    }

    /// Takes what was warned of; what comes later is nobody's.
    pub(super) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings())
    }

    /// Adds a warning to the answer. A call keeps the first 20, each up to 1,000 characters.
    pub fn warn(&self, message: impl Into<String>) {
        let mut warnings = self.warnings();
        if warnings.len() < MAX_WARNINGS {
            warnings.push(message.into().chars().take(MAX_WARNING_CHARS).collect());
        }
    }

    fn ran(&self, exit_code: Option<i32>, exchange: impl FnOnce() -> Option<HookExchange>) {
        *self.exit_code.lock().unwrap_or_else(PoisonError::into_inner) = exit_code;
        if let Some((exchanges, exchange)) = self.exchanges.as_ref().and_then(|all| Some((all, exchange()?)))
        {
            exchanges.keep(exchange);
        }
    }

    /// Returns what the last process of the call printed, where processes are kept.
    pub(super) fn printed(&self) -> Option<String> {
        self.exchanges.as_ref()?.last_printed()
    }

    fn fell_short(&self, class: BreakClass) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(class);
    }

    /// Returns how what the handler ran failed, where it told so.
    pub(super) fn failed(&self) -> Option<BreakClass> {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, line: String) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() < MAX_RESULTS {
            logs.push(line);
        }
    }

    /// Adds a line to the log of the run. A call keeps the first 200, each up to 1,000 characters.
    pub fn logged(&self, level: LogLevel, message: &str) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() < MAX_LOGGED {
            logged.push((level, words(message)));
        }
    }

    /// Takes what was written for the log of the run; what comes later is nobody's.
    pub(super) fn take_logged(&self) -> Vec<(LogLevel, String)> {
        std::mem::take(&mut *self.logged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what was written for the log of hooks.
    pub(super) fn take_logs(&self) -> Vec<String> {
        std::mem::take(&mut *self.logs.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says whether the call was none of those that the handler is for.
    pub(super) fn stood_aside(&self) -> bool {
        *self.stood_aside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the code that the last process of the call exited with.
    pub(super) fn exit_code(&self) -> Option<i32> {
        *self.exit_code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the handler that its answer is no longer wanted.
    pub(super) fn cancel(&self) {
        self.cancelled().cancel();
    }

    fn contributions(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.contributions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancelled(&self) -> &CancellationToken {
        self.cancelled.get_or_init(|| self.run.child_token())
    }
}
