//! Handlers and what they are called with.
//!
//! An async closure is a [`Handler`] as it is; a closure that blocks is wrapped
//! in [`blocking`]. Both get a [`Call`], which holds the point's input, what
//! earlier handlers made, the prompt context, and the means to contribute.

use std::{
    collections::BTreeMap,
    fmt,
    marker::PhantomData,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{BreakClass, HookFailure, Point, Tier};
use crate::{context::ContextView, model::payload::CallHeader};

/// Something that answers at a hook point.
#[async_trait]
pub trait Handler<P: Point>: Send + Sync {
    /// Answers one call. The future is dropped at the deadline.
    ///
    /// # Errors
    /// Returns a [`HookFailure`] where the handler cannot answer; what that
    /// does is configured for the point.
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure>;

    /// Returns what kind of handler it is, for listings.
    fn tier(&self) -> Tier {
        Tier::Async
    }
}

/// One call of a handler.
#[derive(Clone)]
pub struct Call<P: Point> {
    pub(super) header: CallHeader,
    pub(super) input: Arc<P::Input>,
    pub(super) previous: Option<Arc<P::Output>>,
    pub(super) context: ContextView,
    pub(super) contributions: Contributions,
    pub(super) cancel: CancellationToken,
}

/// What a handler contributes during one call, by key.
pub(super) type Contributions = Arc<Mutex<BTreeMap<String, serde_json::Value>>>;

impl<P: Point> Call<P> {
    /// Returns who is called, where and until when.
    pub fn header(&self) -> &CallHeader {
        &self.header
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

    /// Contributes to the handler's own namespace of the Plugins group, where
    /// later handlers and templates see it if this handler succeeds.
    ///
    /// # Errors
    /// Returns the serializer's error where the value is no JSON.
    pub fn contribute(&self, key: impl Into<String>, value: impl Serialize) -> Result<(), serde_json::Error> {
        let value = serde_json::to_value(value)?;
        self.contributions.lock().unwrap_or_else(PoisonError::into_inner).insert(key.into(), value);
        Ok(())
    }

    /// Returns a token that is cancelled when the answer is no longer wanted:
    /// at the deadline, or when the run is stopped.
    pub fn cancelled(&self) -> &CancellationToken {
        &self.cancel
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

/// What can be registered as a handler.
///
/// `M` tells closures and handlers apart; it is never written.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no handler of this hook point",
    label = "not a handler of the point",
    note = "a handler is an async closure `async |call: Call<points::X>| -> Result<XOutput, HookFailure>` that returns this point's own output, a blocking closure wrapped in `blocking(..)`, or a type that implements `Handler`"
)]
pub trait IntoHandler<P: Point, M> {
    /// Turns it into a handler.
    fn into_handler(self) -> Arc<dyn Handler<P>>;
}

/// Marks what is a handler already.
#[derive(Debug)]
pub struct IsHandler;

impl<P: Point, H: Handler<P> + 'static> IntoHandler<P, IsHandler> for H {
    fn into_handler(self) -> Arc<dyn Handler<P>> {
        Arc::new(self)
    }
}

/// Marks handlers that are shared already.
#[derive(Debug)]
pub struct IsShared;

impl<P: Point> IntoHandler<P, IsShared> for Arc<dyn Handler<P>> {
    fn into_handler(self) -> Arc<dyn Handler<P>> {
        self
    }
}

/// Marks async closures.
#[derive(Debug)]
pub struct IsClosure<F>(PhantomData<F>);

/// An async closure as a handler.
struct AsyncHandler<F>(F);

#[async_trait]
impl<P, F, R> Handler<P> for AsyncHandler<F>
where
    P: Point,
    F: Fn(Call<P>) -> R + Send + Sync,
    R: Future<Output = Result<P::Output, HookFailure>> + Send,
{
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        (self.0)(call).await
    }
}

impl<P, F, R> IntoHandler<P, IsClosure<R>> for F
where
    P: Point,
    F: Fn(Call<P>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<P::Output, HookFailure>> + Send + 'static,
{
    fn into_handler(self) -> Arc<dyn Handler<P>> {
        Arc::new(AsyncHandler(self))
    }
}

/// A closure that blocks, as a handler.
///
/// It runs on a thread of its own kind. At the deadline the run goes on and
/// the thread is abandoned, since nothing can end it; it can watch
/// [`Call::cancelled`] and end itself.
pub struct Blocking<F>(Arc<F>);

impl<F> fmt::Debug for Blocking<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Blocking")
    }
}

/// Wraps a closure that blocks.
pub fn blocking<P, F>(closure: F) -> Blocking<F>
where
    P: Point,
    F: Fn(&Call<P>) -> Result<P::Output, HookFailure> + Send + Sync + 'static,
{
    Blocking(Arc::new(closure))
}

#[async_trait]
impl<P, F> Handler<P> for Blocking<F>
where
    P: Point,
    F: Fn(&Call<P>) -> Result<P::Output, HookFailure> + Send + Sync + 'static,
{
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        let closure = Arc::clone(&self.0);
        let thread = tokio::task::spawn_blocking(move || {
            std::panic::catch_unwind(AssertUnwindSafe(|| closure(&call)))
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
        });
        thread.await.unwrap_or_else(|error| Err(HookFailure::new(BreakClass::Cancelled, error.to_string())))
    }

    fn tier(&self) -> Tier {
        Tier::Blocking
    }
}

/// Turns what a panic carried into a failure.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> HookFailure {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked without a message".to_owned());
    HookFailure::new(BreakClass::Panicked, message)
}
