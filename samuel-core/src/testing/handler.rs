//! Handlers that do what a test tells them, and remember how they were called.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;

use crate::{
    clock::Clock,
    hook::{Answer, BreakClass, Call, Gate, Handler, HookFailure, Point, Tier},
    model::run_blocking,
};

/// A closure that answers.
type Compute<P> = dyn Fn(&Call<P>) -> Result<<P as Point>::Output, HookFailure> + Send + Sync;

/// What a [`FakeHandler`] does in one call.
pub enum Act<P: Point> {
    /// Answers.
    Answer(P::Output),
    /// Answers what a closure makes of the call.
    Compute(Arc<Compute<P>>),
    /// Breaks with a failure.
    Break(HookFailure),
    /// Panics with a message.
    Panic(String),
    /// Never answers. A blocking handler waits until it is told that its
    /// answer is no longer wanted, since nothing else could end its thread.
    Hang,
    /// Waits by a clock, then does something else.
    Delay(Arc<dyn Clock>, Duration, Box<Act<P>>),
}

impl<P: Point> Act<P> {
    /// Answers with the point's default, which objects to nothing.
    pub fn pass() -> Self {
        Self::Answer(P::Output::default())
    }

    /// Refuses, for a reason.
    pub fn refuse(reason: impl Into<String>) -> Self
    where
        P::Output: Gate,
    {
        Self::Answer(P::Output::refuse(reason))
    }

    /// Answers what a closure makes of the call.
    pub fn compute(
        answer: impl Fn(&Call<P>) -> Result<P::Output, HookFailure> + Send + Sync + 'static,
    ) -> Self {
        Self::Compute(Arc::new(answer))
    }

    /// Returns an error.
    pub fn fail(message: impl Into<String>) -> Self {
        Self::Break(HookFailure::new(BreakClass::Failed, message))
    }

    /// Panics with a message.
    pub fn panic(message: impl Into<String>) -> Self {
        Self::Panic(message.into())
    }

    /// Waits by a clock before it does this.
    #[must_use]
    pub fn after(self, clock: Arc<dyn Clock>, delay: Duration) -> Self {
        Self::Delay(clock, delay, Box::new(self))
    }
}

impl<P: Point> Clone for Act<P> {
    fn clone(&self) -> Self {
        match self {
            Self::Answer(output) => Self::Answer(output.clone()),
            Self::Compute(answer) => Self::Compute(Arc::clone(answer)),
            Self::Break(failure) => Self::Break(failure.clone()),
            Self::Panic(message) => Self::Panic(message.clone()),
            Self::Hang => Self::Hang,
            Self::Delay(clock, delay, act) => Self::Delay(Arc::clone(clock), *delay, act.clone()),
        }
    }
}

impl<P: Point> fmt::Debug for Act<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(output) => f.debug_tuple("Answer").field(output).finish(),
            Self::Compute(_) => f.write_str("Compute"),
            Self::Break(failure) => f.debug_tuple("Break").field(failure).finish(),
            Self::Panic(message) => f.debug_tuple("Panic").field(message).finish(),
            Self::Hang => f.write_str("Hang"),
            Self::Delay(_, delay, act) => f.debug_tuple("Delay").field(delay).field(act).finish(),
        }
    }
}

/// A handler of any point that does what it is told, call by call, and
/// remembers the calls. Clones are the same handler.
///
/// ```
/// use samuel_core::{hook::points, testing::{Act, FakeHandler}};
/// // Refuses the first call and lets every later one pass.
/// let gate = FakeHandler::<points::BeforeLoop>::script([Act::refuse("not yet"), Act::pass()]);
/// assert_eq!(gate.count(), 0);
/// ```
pub struct FakeHandler<P: Point>(Arc<Inner<P>>);

struct Inner<P: Point> {
    tier: Tier,
    acts: Vec<Act<P>>,
    calls: Mutex<Vec<Call<P>>>,
}

impl<P: Point> FakeHandler<P> {
    /// Creates a handler that does one thing a call; the last one is repeated.
    /// Without any it answers with the point's default.
    pub fn script(acts: impl IntoIterator<Item = Act<P>>) -> Self {
        let (tier, acts) = (Tier::Async, acts.into_iter().collect());
        Self(Arc::new(Inner { tier, acts, calls: Mutex::default() }))
    }

    /// Creates a handler that does the same in every call.
    pub fn always(act: Act<P>) -> Self {
        Self::script([act])
    }

    /// Creates a handler that objects to nothing: a spy.
    pub fn passes() -> Self {
        Self::script([])
    }

    /// Creates a handler that gives the same answer in every call.
    pub fn answers(output: P::Output) -> Self {
        Self::always(Act::Answer(output))
    }

    /// Creates a handler that refuses every call.
    pub fn refuses(reason: impl Into<String>) -> Self
    where
        P::Output: Gate,
    {
        Self::always(Act::refuse(reason))
    }

    /// Makes the same handler one that blocks a thread in each call. Its calls
    /// are remembered apart.
    #[must_use]
    pub fn blocking(self) -> Self {
        let acts = self.0.acts.clone();
        Self(Arc::new(Inner { tier: Tier::Blocking, acts, calls: Mutex::default() }))
    }

    /// Returns the calls so far, in order.
    pub fn calls(&self) -> Vec<Call<P>> {
        self.recorded().clone()
    }

    /// Returns how often it was called.
    pub fn count(&self) -> usize {
        self.recorded().len()
    }

    /// Returns what it was given in its last call.
    pub fn last_input(&self) -> Option<P::Input> {
        self.recorded().last().map(|call| call.input().clone())
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<Call<P>>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a call and returns what to do in it.
    fn next_act(&self, call: &Call<P>) -> Act<P> {
        let mut calls = self.recorded();
        let act = self.0.acts.get(calls.len()).or(self.0.acts.last()).cloned();
        calls.push(call.clone());
        act.unwrap_or_else(Act::pass)
    }
}

impl<P: Point> Clone for FakeHandler<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Point> fmt::Debug for FakeHandler<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeHandler")
            .field("point", &P::POINT)
            .field("acts", &self.0.acts)
            .field("calls", &self.count())
            .finish()
    }
}

#[async_trait]
impl<P: Point> Handler<P> for FakeHandler<P> {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        let act = self.next_act(&call);
        if self.0.tier != Tier::Blocking {
            return perform(act, call, Hanging::ForEver).await;
        }
        let runtime = tokio::runtime::Handle::current();
        let work = move || runtime.block_on(perform(act, call, Hanging::UntilUnwanted));
        match run_blocking(work).await {
            Ok(answer) => answer,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(error) => Err(HookFailure::new(BreakClass::Cancelled, error.to_string())),
        }
    }

    fn tier(&self) -> Tier {
        self.0.tier
    }
}

/// How long a handler hangs.
#[derive(Clone, Copy)]
enum Hanging {
    ForEver,
    UntilUnwanted,
}

async fn perform<P: Point>(act: Act<P>, call: Call<P>, hanging: Hanging) -> Result<P::Output, HookFailure> {
    let mut act = act;
    while let Act::Delay(clock, delay, next) = act {
        clock.sleep(delay).await;
        act = *next;
    }
    match act {
        Act::Answer(output) => Ok(output),
        Act::Compute(answer) => answer(&call),
        Act::Break(failure) => Err(failure),
        // Without the panic hook, so that the output of tests stays readable.
        Act::Panic(message) => std::panic::resume_unwind(Box::new(message)),
        Act::Hang | Act::Delay(..) => {
            if matches!(hanging, Hanging::UntilUnwanted) {
                call.cancelled().cancelled().await;
                return Err(HookFailure::new(BreakClass::Cancelled, "nobody wants the answer any more"));
            }
            std::future::pending().await
        }
    }
}
