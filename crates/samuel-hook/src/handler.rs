//! Handlers, and what can be registered as one.
//!
//! An async closure is a [`Handler`] as it is; a closure that blocks is wrapped
//! in [`blocking`]. Both get a [`Call`]. Running them within their deadline is
//! [`dispatch`](super::Registry::dispatch)'s.

use std::{fmt, marker::PhantomData, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use async_trait::async_trait;
use samuel_model::run_blocking;

use super::{BreakClass, Call, HookFailure, Launch, Point, Tier, bounded::panicked};

/// Something that answers at a hook point.
///
/// Implementations stand below [`async_trait`](macro@async_trait); closures need nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler of the hook point `{P}`",
    label = "does not implement `Handler<{P}>`",
    note = "closures are registered as they are, or wrapped in `blocking(..)`"
)]
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

    /// Returns how long the handler asks to be given, where it asks; the
    /// point's configured timeout comes before it.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns what it starts for a call, without starting it: the command that
    /// [`call`](Self::call) runs. Nothing where it starts none.
    ///
    /// # Errors
    /// Returns a [`HookFailure`] where the command cannot be made.
    fn launch(&self, call: &Call<P>) -> Result<Option<Launch>, HookFailure> {
        let _ = call;
        Ok(None)
    }

    /// Says whether its breaking is to end what fits the point (`true`), or is
    /// only a warning (`false`), where it says so; what is configured for the
    /// point comes before it.
    fn strict(&self) -> Option<bool> {
        None
    }
}

/// What can be registered as a handler.
///
/// `M` tells closures and handlers apart; it is never written.
#[diagnostic::on_unimplemented(
    message = "this is not a handler of the hook point `{P}`",
    label = "takes another point's call, or answers with something else than this point's output",
    note = "a handler takes its point's own call and answers with its point's own output: `async |call: Call<points::X>| Ok(XOutput {{ .. }})`",
    note = "a closure that blocks is wrapped: `blocking(|call: &Call<points::X>| Ok(XOutput {{ .. }}))`",
    note = "a type is a handler of the points it implements `Handler` for"
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

#[diagnostic::do_not_recommend]
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
        let thread = run_blocking(move || {
            std::panic::catch_unwind(AssertUnwindSafe(|| closure(&call)))
                .unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
        });
        thread.await.unwrap_or_else(|error| Err(HookFailure::new(BreakClass::Cancelled, error.to_string())))
    }

    fn tier(&self) -> Tier {
        Tier::Blocking
    }
}
