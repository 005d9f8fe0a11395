//! `cargo xtask bench hooks`: what dispatch costs a handler, and what hook files cost.
//!
//! Unlike the other gates those of dispatch are absolute, because what is measured is
//! nothing but work of the processor: a handler may cost a microsecond over
//! calling its closure, and a point without handlers less than looking at the
//! clock would. The price of a blocking handler is that of a thread; it is
//! printed beside it.
//!
//! A machine that does other work speeds up and slows down while it is
//! measured. So everything is measured in several passes, what is compared is
//! always of one pass, and the pass in the middle counts.

use std::{collections::BTreeMap, hint::black_box, time::Duration, time::Instant};

use anyhow::{Result, ensure};
use samuel_core::hook::{Call, CallScope, HookFailure, Point, Registry, blocking, points};
use tokio::runtime::Runtime;

use super::{
    bridge, gate, hook_files,
    measure::{in_passes, in_turns},
};

/// How many calls of handlers are timed at once: few enough that most batches
/// are over before a busy machine lets somebody else have the processor.
const BATCH: u32 = 200;
/// How many batches of each kind one pass takes in turns.
const ROUNDS: usize = 41;
/// How many passes there are.
const PASSES: usize = 15;
/// How many handlers a long chain has.
const CHAIN: u32 = 10;
/// What an async handler may cost.
const LIMIT: Duration = Duration::from_micros(1);

/// Measures and prints everything; arguments name a part of it: `dispatch`, `files` or `bridge`.
///
/// # Errors
/// Fails where something costs too much, or cannot be measured.
pub(super) fn run(args: &[String]) -> Result<()> {
    let wanted = |name: &str| args.is_empty() || args.iter().any(|arg| arg == name);
    let dispatched = if wanted("dispatch") { dispatch() } else { Ok(()) };
    let files = if wanted("files") { gate::report(&hook_files::measure()?) } else { Ok(()) };
    let bridged = if wanted("bridge") { gate::report(&[bridge::measure()?]) } else { Ok(()) };
    dispatched.and(files).and(bridged)
}

/// Measures and prints what dispatch costs.
fn dispatch() -> Result<()> {
    let bench = Bench::new()?;
    let gates = [
        bench.empty()?,
        bench.handlers::<points::AfterLoop>(1)?,
        bench.handlers::<points::AfterLoop>(CHAIN)?,
        bench.handlers::<points::QualityCheck>(CHAIN)?,
        bench.handlers::<points::ContextTask>(CHAIN)?,
        bench.handlers::<points::BeforeAgentInvoke>(CHAIN)?,
    ];
    println!("{:<52}{:>10}{:>12}", "", "costs", "at most");
    for gate in &gates {
        let verdict = if gate.passes() { "pass" } else { "FAIL" };
        println!(
            "{:<52}{:>10}{:>12}   {verdict}",
            gate.name,
            nanoseconds(gate.cost),
            nanoseconds(gate.limit)
        );
    }
    bench.print_blocking()?;
    let missed: Vec<&str> =
        gates.iter().filter(|gate| !gate.passes()).map(|gate| gate.name.as_str()).collect();
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

/// What something costs, and what it may.
struct Gate {
    name: String,
    cost: Duration,
    limit: Duration,
}

impl Gate {
    /// Takes the cost and the limit of each pass; the one in the middle, by
    /// how much of its limit it costs, stands for all.
    fn of(name: String, passes: impl Iterator<Item = (Duration, Duration)>) -> Self {
        let ratio = |(cost, limit): &(Duration, Duration)| {
            cost.as_secs_f64() / limit.as_secs_f64().max(f64::MIN_POSITIVE)
        };
        let mut passes: Vec<_> = passes.collect();
        passes.sort_by(|left, right| ratio(left).total_cmp(&ratio(right)));
        let (cost, limit) = passes.get(passes.len() / 2).copied().unwrap_or_default();
        Self { name, cost, limit }
    }

    fn passes(&self) -> bool {
        self.cost <= self.limit
    }
}

/// What all measurements share.
struct Bench {
    runtime: Runtime,
    scope: CallScope,
}

impl Bench {
    fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Self { runtime, scope: super::scope() })
    }

    /// Measures a point without handlers, beside two looks at the clock: what
    /// it takes to measure anything at all.
    fn empty(&self) -> Result<Gate> {
        let registry = Registry::builder().build(&BTreeMap::new())?;
        let passes = in_passes(
            PASSES,
            ROUNDS,
            [
                &mut || self.batch(BATCH, async || self.fire::<points::AfterLoop>(&registry).await),
                &mut || self.batch(BATCH, async || drop(black_box(answer::<points::AfterLoop>().await))),
                &mut || {
                    self.batch(BATCH, async || {
                        black_box((Instant::now(), Instant::now()));
                    })
                },
            ],
        )?;
        let costs = passes
            .iter()
            .map(|[fired, closure, clock]| (fired.saturating_sub(*closure) / BATCH, *clock / BATCH));
        Ok(Gate::of("a point without handlers".to_owned(), costs))
    }

    /// Measures what each handler of a chain costs over calling its closure.
    fn handlers<P: Point>(&self, count: u32) -> Result<Gate>
    where
        P::Input: Default,
    {
        let mut handlers = Registry::builder();
        for place in 0..count {
            handlers.api::<P, _>(&place.to_string(), None, async |_: Call<P>| answer::<P>().await);
        }
        let registry = handlers.build(&BTreeMap::new())?;
        let passes = in_passes(
            PASSES,
            ROUNDS,
            [&mut || self.batch(BATCH / count, async || self.fire::<P>(&registry).await), &mut || {
                self.batch(BATCH, async || drop(black_box(answer::<P>().await)))
            }],
        )?;
        let costs = passes.iter().map(|[fired, closure]| (fired.saturating_sub(*closure) / BATCH, LIMIT));
        Ok(Gate::of(format!("an async handler, one of {count} at {}", P::POINT), costs))
    }

    /// Prints what a blocking handler costs, and what its thread does.
    fn print_blocking(&self) -> Result<()> {
        let mut handlers = Registry::builder();
        let closure = blocking(|_: &Call<points::AfterLoop>| Ok(Default::default()));
        handlers.api::<points::AfterLoop, _>("a", None, closure);
        let registry = handlers.build(&BTreeMap::new())?;
        let [fired, thread] = in_turns(
            ROUNDS,
            [
                &mut || self.batch(BATCH, async || self.fire::<points::AfterLoop>(&registry).await),
                &mut || {
                    self.batch(BATCH, async || {
                        let done = tokio::task::spawn_blocking(|| black_box(())).await;
                        drop(black_box(done));
                    })
                },
            ],
        )?;
        let (fired, thread) = (fired / BATCH, thread / BATCH);
        println!(
            "a blocking handler takes {}, spawn_blocking alone {}",
            nanoseconds(fired),
            nanoseconds(thread)
        );
        Ok(())
    }

    async fn fire<P: Point>(&self, registry: &Registry)
    where
        P::Input: Default,
    {
        drop(black_box(registry.dispatch::<P>(P::Input::default(), &self.scope).await));
    }

    /// Does something as often as is timed at once.
    fn batch(&self, times: u32, work: impl AsyncFn()) -> Result<()> {
        self.runtime.block_on(async {
            for _ in 0..times {
                work().await;
            }
        });
        Ok(())
    }
}

/// What every handler does here.
async fn answer<P: Point>() -> Result<P::Output, HookFailure> {
    Ok(P::Output::default())
}

fn nanoseconds(time: Duration) -> String {
    format!("{} ns", time.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_that_was_disturbed_does_not_decide() {
        let pass = |cost, limit| (Duration::from_nanos(cost), Duration::from_nanos(limit));
        let gate = |passes: [(Duration, Duration); 3]| Gate::of("point".to_owned(), passes.into_iter());
        let disturbed = gate([pass(900, 50), pass(40, 50), pass(30, 50)]);
        assert_eq!((disturbed.passes(), disturbed.cost.as_nanos()), (true, 40));
        assert!(gate([pass(90, 100), pass(45, 50), pass(90, 50)]).passes(), "a slow machine is slow at both");
        assert!(!gate([pass(60, 50), pass(40, 50), pass(55, 50)]).passes());
    }
}
