//! Doubles for tests of handlers and of runs.
//!
//! A [`Bench`] is a project of its own, with state in memory and a clock that
//! stands still; it makes runs with an agent that plays a script, and plays
//! them to their end. [`FakeHandler`] answers, breaks or hangs as it is told
//! and remembers its calls, [`FakePlugin`] brings handlers under a plugin's
//! name and namespace, [`VirtualClock`] moves time by hand, [`HeldAgent`] waits
//! in mid-call, [`ChannelStore`] puts a store of plans behind a channel, and [`ScriptedLanes`] are the agents of
//! several lanes, who conflict, break checks, forget to commit and hang, and [`MemoryLog`] is a log that loses
//! acknowledgements, stores twice and forgets. [`Weakened`] is a sandbox that lacks a wall. [`store_suite`] checks stores, [`log_suite`] logs, [`differing_replays`] that runs are decided by what is recorded of them. What a run told is a [`Played`], whose
//! [`transcript`](Played::transcript) is the same for the same run.
//!
//! Samuel tests its own runs with the same doubles. This module sees everything and
//! nothing sees it; the temporary directory of a bench is the one thing in the
//! crate that is taken from the system unasked.
//!
//! ```
//! use samuel_core::{
//!     hook::points,
//!     model::ExitReason,
//!     testing::{Act, Bench, FakeHandler, FakePlugin, completes_each_task},
//! };
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! // A check that fails once.
//! let check = FakeHandler::<points::QualityCheck>::script([Act::refuse("no tests"), Act::pass()]);
//! let plugin = FakePlugin::new("samuel-lint").handler("check", check.clone());
//!
//! let bench = Bench::with_tasks(&[("1", "Greet the world")])?;
//! let run = bench.run(completes_each_task()).register(|handlers| plugin.register(handlers));
//! let played = bench.play(run).await?;
//!
//! // What the check failed was taken back, and done again.
//! assert_eq!(played.report.exit_reason, ExitReason::Completed);
//! assert_eq!((played.report.iterations, check.count()), (2, 2));
//! assert!(played.transcript().contains("tasks taken back: 1 (samuel-lint:check: no tests)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
mod bench;
mod handler;
mod lanes;
mod played;
mod plugin;
mod replays;
mod weakened;

pub use agent::{HeldAgent, completes_each_task};
pub use bench::{Bench, BenchBuilder, BenchError};
pub use handler::{Act, FakeHandler};
pub use lanes::ScriptedLanes;
pub use played::{Played, transcript};
pub use plugin::FakePlugin;
pub use replays::differing_replays;
pub use samuel_model::testing::VirtualClock;
pub use samuel_state::testing::{ChannelStore, LogFaults, MemoryLog, Seeded, log_suite, store_suite};
pub use weakened::Weakened;
