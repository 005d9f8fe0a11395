//! Hook points, typed handlers, and how they run.
//!
//! A [`Handler`] is registered at a [`HookPoint`]; [`resolve`] puts the
//! handlers of a point in order; the [`Registry`] holds them and
//! [`Registry::dispatch`] runs them and combines their outcomes. What the loop
//! does with an outcome is the engine's.

mod answer;
mod bounded;
mod call;
mod chain;
mod changes;
mod dispatch;
mod failure;
mod field;
mod generated;
mod handler;
mod methods;
mod outcome;
mod output;
mod point;
mod registry;
mod resolve;
mod results;
#[cfg(test)]
mod tests;

pub use answer::Answer;
pub use call::Call;
pub use chain::{
    ChainMode, ChainSpec, DEFAULT_ALIAS, DEFAULT_ID, DEFAULT_ORDER, HandlerInfo, Layer, OnFailure, Tier,
};
pub(crate) use dispatch::seconds;
pub use dispatch::{Dispatched, Scope};
pub use failure::{BreakClass, HookFailure};
pub use field::Field;
use field::field;
pub use generated::{
    answer::{Blob, Gate, Results, Text},
    point::{HookCall, HookPoint, types as points},
};
pub use handler::{Blocking, Handler, IntoHandler, blocking};
pub(crate) use methods::handler_methods;
pub use outcome::{Abort, Broken, Outcome, Said, ScratchFile, Speaker, Timing, Warning};
pub use output::Output;
pub(crate) use output::without_version;
pub(crate) use point::nearest;
pub use point::{CallVisitor, Kind, Point, PointVisitor, UnknownPoint};
pub use registry::{
    API_NAMESPACE, PluginIdentity, PluginSource, Registered, Registry, RegistryBuilder, RegistryError,
};
pub use resolve::{ResolveError, Resolved, SkipReason, Skipped, Unresolved, resolve};
