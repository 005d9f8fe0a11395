//! Hook points, typed handlers, and how they run.
//!
//! A [`Handler`] is registered at a [`HookPoint`]. [`resolve`] puts the
//! handlers of a point in order. The [`Registry`] holds them, and
//! [`Registry::dispatch`] runs them and combines their outcomes. The engine
//! decides what the loop does with an outcome.
//!
//! [`context`] contains the parts of a prompt, and [`sandbox`] the port for the sandboxes of commands.
//!
//! ```
//! use samuel_hook::{Answer, Call, CallScope, HookFailure, Registry, points};
//! use samuel_model::{clock::SystemClock, payload::QualityCheckOutput};
//! use std::{collections::BTreeMap, sync::Arc};
//!
//! async fn lint(_: Call<points::QualityCheck>) -> Result<QualityCheckOutput, HookFailure> {
//!     Ok(QualityCheckOutput::refuse("no tests"))
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let mut handlers = Registry::builder();
//! handlers.api("lint", None, lint);
//! let registry = handlers.build(&BTreeMap::new())?;
//! let scope = CallScope::new(Arc::new(SystemClock::new()));
//! let done = registry.dispatch::<points::QualityCheck>(Default::default(), &scope).await;
//! assert_eq!(done.outcome.refused.as_deref(), Some("no tests"));
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
pub mod context;
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
mod output_filter;
mod registry;
mod resolve;
mod run_access;
pub mod sandbox;
mod shortened;
#[cfg(test)]
mod tests;

pub use agent_event::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent};
pub use agent_port::{AgentPort, CallLogs};
pub use blob::without_version;
pub use bounded::catch_panic;
pub use bridge::Bridge;
pub use call::{Call, Link};
pub use call_port::short_result;
pub use chain::{
    ChainMode, ChainSpec, DEFAULT_ALIAS, DEFAULT_ID, DEFAULT_ORDER, HandlerInfo, HookLayer, Tier,
};
pub use conversation::{Conversation, Heard, Lines, Told, ended, is_report, supervised};
pub use dispatch::{CallScope, Dispatched};
pub use exchange::{Exchanges, HookExchange, Launch, LaunchVariable};
pub use failure::HookFailure;
pub use handler::{Blocking, Handler, IntoHandler, blocking};
pub use hook_file_entry::HookFileEntry;
pub use kept_program::{KeptLine, KeptProgram};
pub use outcome::{
    Abort, Broken, HookWarning, LogLevel, LoggedLine, Outcome, Said, ScratchFile, Speaker, Timing,
};
pub use outcome::{HandlerCall, Trace, owner_of, repository_hook};
pub use output_filter::hiding;
pub use registry::{
    API_NAMESPACE, Asks, PluginIdentity, PluginSource, Registered, Registry, RegistryBuilder, RegistryError,
};
pub use resolve::{ResolveError, Resolved, SkipReason, SkippedHandler, Unresolved, resolve};
pub use run_access::RunAccess;
pub use samuel_contract::{
    Answer, Blob, CallVisitor, Field, Gate, HookCall, HookPoint, Kind, OnFailure, Output, Point,
    PointVisitor, Results, Text, UnknownPoint, payload, points,
};
pub use samuel_model::{BreakClass, HookStatus};
pub use shortened::{MAX_SUMMARY, arguments, field_hashes};
