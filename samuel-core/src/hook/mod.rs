//! Hook points, typed handlers, and how they run.
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

mod agent_event;
mod agent_port;
mod blob;
mod bounded;
mod bounds;
mod bridge;
mod call;
mod call_port;
mod chain;
mod conversation;
mod dispatch;
mod exchange;
mod failure;
mod handler;
mod hook_file_entry;
mod json_dispatch;
mod kept_program;
mod methods;
mod outcome;
mod registry;
mod resolve;
mod run_access;
pub(crate) mod sandbox;
mod shortened;
#[cfg(test)]
mod tests;

pub use agent_event::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent};
pub use agent_port::{AgentPort, CallLogs};
pub(crate) use blob::without_version;
pub(crate) use bounded::catch_panic;
pub use bridge::Bridge;
pub use call::Call;
pub(crate) use call::Link;
pub(crate) use call_port::short_result;
pub use chain::{
    ChainMode, ChainSpec, DEFAULT_ALIAS, DEFAULT_ID, DEFAULT_ORDER, HandlerInfo, HookLayer, Tier,
};
pub use conversation::{Conversation, Told};
pub(crate) use conversation::{Heard, Lines, is_report};
#[cfg(feature = "wasm")]
pub(crate) use conversation::{ended, supervised};
pub use dispatch::{CallScope, Dispatched};
pub use exchange::{Exchanges, HookExchange, Launch, LaunchVariable};
pub use failure::{BreakClass, HookFailure};
pub use handler::{Blocking, Handler, IntoHandler, blocking};
pub use hook_file_entry::HookFileEntry;
pub use kept_program::{KeptLine, KeptProgram};
pub(crate) use methods::handler_methods;
pub use outcome::{
    Abort, Broken, HookStatus, HookWarning, LogLevel, LoggedLine, Outcome, Said, ScratchFile, Speaker, Timing,
};
pub(crate) use outcome::{HandlerCall, owner_of, repository_hook};
pub use registry::{
    API_NAMESPACE, Asks, PluginIdentity, PluginSource, Registered, Registry, RegistryBuilder, RegistryError,
};
pub use resolve::{ResolveError, Resolved, SkipReason, SkippedHandler, Unresolved, resolve};
pub use run_access::RunAccess;
pub use samuel_contract::{
    Answer, Blob, CallVisitor, Field, Gate, HookCall, HookPoint, Kind, OnFailure, Output, Point,
    PointVisitor, Results, Text, UnknownPoint, points,
};
pub(crate) use shortened::{MAX_SUMMARY, arguments, field_hashes};
