//! Plugins that are WASM components.
//!
//! A [`WasmHost`] is the engine: one in a program. [`WasmHost::load`] turns a
//! component, its grants and its bindings into a [`WasmPlugin`], which
//! registers a handler for each binding. A call gets a fresh instance, typed
//! values by the contract in `wit/`, and bounds for time, memory, stack and
//! what it hands over; whatever the component does, the call ends as an answer
//! or as a [`HookFailure`](crate::hook::HookFailure).
//!
//! ```text
//! bytes ─ scan ─ cache or compile ─ link ─ type-check ─► WasmPlugin
//!                                                           │ register
//!             dispatch ─► call: store, instance, run ◄──────┘
//!                               └─► host: log, config, kv, files, exec, …
//! ```
//!
//! What a component imports must be within the capabilities its manifest asks
//! for, which is read before anything of it runs. What was asked for and not
//! granted is answered `denied` by the function that is called. Reading
//! manifests, asking the user and keeping grants are not done here.

mod cache;
mod call;
mod engine;
mod error;
mod guest;
mod host;
mod inspect;
mod key;
mod limits;
mod plugin;
mod points;
mod protocol;
mod scan;
mod stderr;
mod ticker;
mod workspace;

#[cfg(test)]
mod tests;

pub use engine::{HostConfig, WasmHost};
pub use error::WasmError;
pub use inspect::{Inspection, RootFunction};
pub use limits::{CallLimits, CodeLimits, WriteLimits};
pub use plugin::{PluginSetup, WasmPlugin};
pub use protocol::{ProtocolVersion, interface_of};
pub use workspace::Workspace;
