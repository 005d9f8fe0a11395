//! `cargo xtask bench hooks`: what dispatch costs a handler.
//!
//! Unlike the other gates these are absolute, because what is measured is
//! nothing but work of the processor: a handler may cost a microsecond over
//! calling its closure, and a point without handlers less than looking at the
//! clock would. The price of a blocking handler is that of a thread; it is
//! printed beside it.

use std::{collections::BTreeMap, hint::black_box, sync::Arc, time::Duration, time::Instant};

use anyhow::{Result, ensure};
use samuel_core::{
    clock::SystemClock,
    context::{ContextView, PromptContext},
    hook::{Call, HookFailure, Point, Registry, Scope, blocking, points},
    model::payload::{Mode, Turn},
};
use tokio::runtime::Runtime;

use super::measure::in_turns;

/// How many dispatches are timed at once.
const BATCH: u32 = 500;
const ROUNDS: usize = 101;
/// How many handlers a long chain has.
const CHAIN: u32 = 10;
/// What an async handler may cost.
const LIMIT: Duration = Duration::from_micros(1);

/// Measures and prints what dispatch costs.
///
/// # Errors
/// Fails where it costs too much, or cannot be measured.
pub(super) fn run(_: &[String]) -> Result<()> {
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
    fn passes(&self) -> bool {
        self.cost <= self.limit
    }
}

/// What all measurements share.
struct Bench {
    runtime: Runtime,
    scope: Scope,
}

impl Bench {
    fn new() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let scope = Scope {
            run_id: "20261121T100000Z-01234567".into(),
            session: "project".into(),
            iteration: 1,
            mode: Mode::Implementation,
            turn: Turn::Main,
            context: ContextView::new(Arc::new(PromptContext::default())),
            clock: Arc::new(SystemClock::new()),
            cancel: Default::default(),
        };
        Ok(Self { runtime, scope })
    }

    /// Measures a point without handlers, beside two looks at the clock: what
    /// it takes to measure anything at all.
    fn empty(&self) -> Result<Gate> {
        let registry = Registry::builder().build(&BTreeMap::new())?;
        let [fired, closure, clock] = in_turns(
            ROUNDS,
            [
                &mut || self.batch(async || self.fire::<points::AfterLoop>(&registry).await),
                &mut || self.batch(async || drop(black_box(answer::<points::AfterLoop>().await))),
                &mut || {
                    self.batch(async || {
                        black_box((Instant::now(), Instant::now()));
                    })
                },
            ],
        )?;
        Ok(Gate {
            name: "a point without handlers".to_owned(),
            cost: fired.saturating_sub(closure) / BATCH,
            limit: clock / BATCH,
        })
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
        let [fired, closure] = in_turns(
            ROUNDS,
            [&mut || self.batch(async || self.fire::<P>(&registry).await), &mut || {
                self.batch(async || {
                    for _ in 0..count {
                        drop(black_box(answer::<P>().await));
                    }
                })
            }],
        )?;
        let name = format!("an async handler, one of {count} at {}", P::POINT);
        Ok(Gate { name, cost: fired.saturating_sub(closure) / BATCH / count, limit: LIMIT })
    }

    /// Prints what a blocking handler costs, and what its thread does.
    fn print_blocking(&self) -> Result<()> {
        let mut handlers = Registry::builder();
        let closure = blocking(|_: &Call<points::AfterLoop>| Ok(Default::default()));
        handlers.api::<points::AfterLoop, _>("a", None, closure);
        let registry = handlers.build(&BTreeMap::new())?;
        let [fired, thread] = in_turns(
            ROUNDS,
            [&mut || self.batch(async || self.fire::<points::AfterLoop>(&registry).await), &mut || {
                self.batch(async || {
                    let done = tokio::task::spawn_blocking(|| black_box(())).await;
                    drop(black_box(done));
                })
            }],
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
    fn batch(&self, work: impl AsyncFn()) -> Result<()> {
        self.runtime.block_on(async {
            for _ in 0..BATCH {
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
