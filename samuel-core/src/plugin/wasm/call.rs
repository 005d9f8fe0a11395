//! One call of a component.
//!
//! A call makes a fresh store and instance, hands over the payload, and takes
//! both down again, so that nothing leaks from one call into the next and a
//! trapped instance is never seen twice. Time runs out in three places: the
//! epoch stops guest code, every host function has the rest of the call's time
//! at most, and the whole is given up a little later in any case.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;
use wasmtime::{Store, Trap, UpdateDeadline, component::Instance};
use wasmtime_wasi::I32Exit;

use super::{
    guest::{Contributions, Guest, MAX_HANDLES},
    limits::LimitReached,
    plugin::{LoadedComponent, WasmHandler},
    points::{Params, PreviousParams, Returned},
    stderr::Stderr,
};
use crate::{
    context::ContextView,
    hook::{AgentPort, BreakClass, Call, ChainSpec, Handler, HookFailure, Link, Output, Point, Tier},
    model::{
        ErrorCode,
        payload::{CallHeader, Failure, Mode, Turn},
    },
    plugin::agent_env,
    text,
};

/// How many lines of a guest's standard error a failure carries.
const STDERR_LINES: usize = 20;

/// The most lines of a failure's details, and the most bytes of each line.
const MAX_DETAILS: usize = 32;
const MAX_LINE_BYTES: usize = 4 * 1024;

#[async_trait]
impl<P: Point> Handler<P> for WasmHandler {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        let limit = call.limit(ChainSpec::TIMEOUT);
        let granted = &self.loaded.setup.granted;
        let call = agent_env::shown(&call, granted).unwrap_or(call);
        let mut bounds = Bounds::new(&self.loaded, limit, call.cancelled().clone());
        (bounds.port, bounds.link) = (call.port().cloned(), Some(Arc::clone(call.link())));
        match bounds.keep(self.run(&call, &bounds)).await? {
            (Ok(output), contributions) => {
                check_json(&output)?;
                agent_env::admit(&call, &output, granted)?;
                for (key, value) in contributions.values {
                    call.contribute(key, value)?;
                }
                Ok(output)
            }
            (Err(failure), _) => Err(told(failure)),
        }
    }

    fn tier(&self) -> Tier {
        Tier::Wasm
    }
}

/// What a component answered, and what it contributed on the way.
type Answer<P> = (Result<<P as Point>::Output, Failure>, Contributions);

impl WasmHandler {
    /// Calls the function on an instance of its own.
    async fn run<P: Point>(&self, call: &Call<P>, bounds: &Bounds) -> wasmtime::Result<Answer<P>> {
        let _running = self.loaded.host.ticker.running();
        let (header, input) = (call.header(), call.input());
        let (mut store, instance) = start(&self.loaded, header, call.context(), bounds).await?;
        let (answer,) = if P::PREVIOUS {
            let run =
                instance.get_typed_func::<PreviousParams<'_, P>, Returned<P>>(&mut store, self.function)?;
            run.call_async(&mut store, (header, input, call.previous())).await?
        } else {
            let run = instance.get_typed_func::<Params<'_, P>, Returned<P>>(&mut store, self.function)?;
            run.call_async(&mut store, (header, input)).await?
        };
        Ok((answer, store.into_data().contributions))
    }
}

/// Starts an instance and takes it down again: what a component does when it
/// starts is all that loading it cannot tell.
pub(super) async fn trial(loaded: &Arc<LoadedComponent>, limit: Duration) -> Result<(), HookFailure> {
    let bounds = Bounds::new(loaded, limit, CancellationToken::new());
    let none: Arc<str> = Arc::from("");
    let header = CallHeader {
        point: Arc::clone(&none),
        handler_id: Arc::from(&*loaded.setup.name),
        run_id: Arc::clone(&none),
        session: Arc::clone(&none),
        iteration: 0,
        mode: Mode::default(),
        turn: Turn::default(),
        deadline_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
        namespace: none,
        preview: true,
    };
    let context = ContextView::new(Arc::default());
    let work = async {
        let _running = loaded.host.ticker.running();
        start(loaded, &header, &context, &bounds).await.map(drop)
    };
    bounds.keep(work).await
}

/// Makes a store and an instance in it.
async fn start(
    loaded: &Arc<LoadedComponent>,
    header: &CallHeader,
    context: &ContextView,
    bounds: &Bounds,
) -> wasmtime::Result<(Store<Guest>, Instance)> {
    let guest = Guest::new(Arc::clone(loaded), header.clone(), context.clone(), bounds);
    let mut store = bounded_store(guest);
    match loaded.pre.instantiate_async(&mut store).await {
        Ok(instance) => Ok((store, instance)),
        Err(error) => Err(error.context(NotStarted)),
    }
}

/// What ends a call, what it tells on the way and leaves behind.
pub(super) struct Bounds {
    limit: Duration,
    pub(super) deadline: Instant,
    pub(super) cancelled: CancellationToken,
    pub(super) stderr: Stderr,
    pub(super) port: Option<Arc<dyn AgentPort>>,
    /// What its log stays with; nothing where an instance is only tried.
    pub(super) link: Option<Arc<Link>>,
}

impl Bounds {
    fn new(loaded: &LoadedComponent, limit: Duration, cancelled: CancellationToken) -> Self {
        let stderr = Stderr::new(loaded.host.limits.max_stderr_bytes);
        Self { limit, deadline: Instant::now() + limit, cancelled, stderr, port: None, link: None }
    }

    /// Waits for a call, but not past its time or its cancellation, and says
    /// why it did not answer.
    async fn keep<T>(&self, work: impl Future<Output = wasmtime::Result<T>>) -> Result<T, HookFailure> {
        let ended = tokio::select! {
            biased;
            done = work => done.map_err(|error| match self.cancelled.is_cancelled() {
                true => was_cancelled(),
                false => failure_of(&error, self.limit, &self.stderr),
            }),
            () = self.cancelled.cancelled() => Err(was_cancelled()),
            () = tokio::time::sleep(self.limit) => Err(timed_out(self.limit)),
        };
        ended.map_err(|mut failure| {
            let lines = self.stderr.last_lines(STDERR_LINES);
            failure.details.extend(lines.into_iter().map(|line| format!("stderr: {line}")));
            failure
        })
    }
}

/// Makes a store that stops its guest at the call's deadline, when the call is
/// cancelled, and at its limits.
fn bounded_store(guest: Guest) -> Store<Guest> {
    let host = Arc::clone(&guest.loaded.host);
    let mut store = Store::new(&host.engine, guest);
    store.limiter(|guest| &mut guest.meter);
    store.set_hostcall_fuel(host.limits.max_transfer_bytes);
    store.set_max_component_handles(MAX_HANDLES);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|store| {
        let guest = store.data();
        if guest.time_left().is_zero() || guest.cancelled.is_cancelled() {
            return Ok(UpdateDeadline::Interrupt);
        }
        // Other tasks of the thread get their turn once in an epoch.
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
    });
    store
}

/// Checks the documents of an answer: they cross as text, and whoever writes
/// the answer down relies on them. Only answers with results hold any.
fn check_json<O: Output>(output: &O) -> Result<(), HookFailure> {
    if output.results().is_none() {
        return Ok(());
    }
    serde_json::to_writer(io::sink(), output).map_err(|error| {
        HookFailure::new(BreakClass::BadOutput, format!("the component handed over bad JSON: {error}"))
    })
}

fn timed_out(limit: Duration) -> HookFailure {
    HookFailure::new(BreakClass::Timeout, format!("no answer within {}", text::limit(limit)))
}

fn was_cancelled() -> HookFailure {
    HookFailure::new(BreakClass::Cancelled, "the run was cancelled")
}

/// Says what ended a call before it answered.
fn failure_of(error: &wasmtime::Error, limit: Duration, stderr: &Stderr) -> HookFailure {
    if let Some(reached) = error.downcast_ref::<LimitReached>() {
        return HookFailure::new(BreakClass::Panicked, format!("the component was ended: {reached}"));
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return HookFailure::new(BreakClass::Panicked, format!("the component exited with code {}", exit.0));
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match trap {
            Trap::Interrupt => timed_out(limit),
            trap => {
                // A panic traps when it has said why; the trap itself says nothing.
                let said = stderr.panic_message().map(|message| cut(&message));
                let said = said.unwrap_or_else(|| format!("the component trapped: {trap}"));
                HookFailure::new(BreakClass::Panicked, said)
            }
        };
    }
    let (class, what) = match error.is::<NotStarted>() {
        true => (BreakClass::Spawn, "the component cannot be started"),
        false => (BreakClass::BadOutput, "the component handed over bad data"),
    };
    let causes = error.chain().filter(|cause| !cause.is::<NotStarted>()).map(ToString::to_string);
    HookFailure::new(class, cut(&format!("{what}: {}", causes.collect::<Vec<_>>().join(": "))))
}

/// Marks errors from before the handler was called.
#[derive(Debug, thiserror::Error)]
#[error("no instance")]
struct NotStarted;

/// Turns what a component tells of its failure into ours. Of its codes only
/// `denied` is taken for granted: it cannot time out or panic and tell.
fn told(failure: Failure) -> HookFailure {
    let is_denied = failure.code == ErrorCode::HOOK_DENIED.name;
    let class = if is_denied { BreakClass::Denied } else { BreakClass::Failed };
    let mut message = cut(failure.message.lines().next().unwrap_or_default());
    if message.is_empty() {
        message = cut(&failure.code);
    }
    let mut told = HookFailure::new(class, message);
    told.details = failure.details.iter().take(MAX_DETAILS).map(|line| cut(line)).collect();
    told
}

/// Cuts a line that is too long to be read.
fn cut(line: &str) -> String {
    match line.char_indices().find(|(place, _)| *place >= MAX_LINE_BYTES) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
