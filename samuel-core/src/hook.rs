//! Hook points, typed handlers, and how they run: the crate `samuel-hook`.
//!
//! A [`Handler`] is registered at a [`HookPoint`]; [`resolve`] puts the
//! handlers of a point in order; the [`Registry`] holds them and
//! [`Registry::dispatch`] runs them and combines their outcomes. What the loop
//! does with an outcome is the engine's.
//!
//! ```
//! use samuel_core::{hook::{Answer, Call, points}, model::payload::QualityCheckOutput};
//! use samuel_core::testing::{Bench, completes_each_task};
//!
//! async fn lint(call: Call<points::QualityCheck>) -> Result<QualityCheckOutput, samuel_core::hook::HookFailure> {
//!     match call.header().iteration {
//!         1 => Ok(QualityCheckOutput::refuse("no tests")),
//!         _ => Ok(QualityCheckOutput::pass()),
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let bench = Bench::with_tasks(&[("1", "Greet the world")])?;
//! let run = bench.run(completes_each_task()).hook::<points::QualityCheck, _>("lint", lint);
//! assert_eq!(bench.play(run).await?.report.iterations, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(test)]
pub(crate) use samuel_hook::arguments;
pub use samuel_hook::{
    API_NAMESPACE, AbilityCall, AbilityDecision, AbilityResult, Abort, AgentEvent, AgentPort, Answer, Asks,
    Blob, Blocking, BreakClass, Bridge, Broken, Call, CallLogs, CallScope, CallVisitor, ChainMode, ChainSpec,
    Conversation, DEFAULT_ALIAS, DEFAULT_ID, DEFAULT_ORDER, Dispatched, Exchanges, Field, Gate, Handler,
    HandlerInfo, HookCall, HookExchange, HookFailure, HookFileEntry, HookLayer, HookPoint, HookStatus,
    HookWarning, IntoHandler, KeptLine, KeptProgram, Kind, Launch, LaunchVariable, LogLevel, LoggedLine,
    OnFailure, Outcome, Output, PluginIdentity, PluginSource, Point, PointVisitor, Registered, Registry,
    RegistryBuilder, RegistryError, ResolveError, Resolved, Results, RunAccess, Said, ScratchFile,
    SkipReason, SkippedHandler, Speaker, Text, Tier, Timing, Told, UnknownPoint, Unresolved, blocking,
    points, resolve,
};
pub(crate) use samuel_hook::{
    HandlerCall, Heard, Lines, Link, MAX_SUMMARY, catch_panic, field_hashes, handler_methods, hiding,
    is_report, owner_of, repository_hook, short_result, without_version,
};
#[cfg(feature = "wasm")]
pub(crate) use samuel_hook::{ended, supervised};
