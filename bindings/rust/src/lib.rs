//! Write plugins for Samuel in Rust.
//!
//! A plugin is a WebAssembly component that handles *hook points*: steps of
//! Samuel's loop, such as the check after an agent's turn. This crate has a trait
//! for each point, the records it is given and answers with, and the functions
//! that the host offers. [`export!`] makes a component of a crate:
//!
//! ```
//! use samuel_plugin::{
//!     CallHeader, ContextExtra, ContextExtraInput, ContextExtraOutput, Extra, HookFailure, files, plugins,
//! };
//!
//! struct Licence;
//!
//! impl ContextExtra for Licence {
//!     fn context_extra(
//!         _: CallHeader,
//!         _: ContextExtraInput,
//!         _: Option<ContextExtraOutput>,
//!     ) -> Result<ContextExtraOutput, HookFailure> {
//!         let text = files::read_text("LICENSE")?;
//!         let name = text.lines().next().unwrap_or("unknown");
//!         plugins::contribute("Name", name)?;
//!         let extra = Extra { name: "Licence".into(), content: name.into(), path: None };
//!         Ok(ContextExtraOutput { extras: vec![extra], ..Default::default() })
//!     }
//! }
//!
//! samuel_plugin::export!(Licence: ContextExtra);
//! # fn main() {}
//! ```
//!
//! ```toml
//! # Cargo.toml
//! [lib]
//! crate-type = ["cdylib"]
//! ```
//!
//! ```sh
//! cargo build --target wasm32-wasip2 --release
//! ```
//!
//! What comes out imports only what is used: the plugin above reads files and
//! contributes, so its manifest asks for `filesystem.read` and nothing else.
//!
//! # What a handler is given
//!
//! Every handler gets the [`CallHeader`] and the input of its point; where
//! handlers build on each other, also what those before it answered. The rest of
//! what Samuel knows is asked for: [`context`], [`config`], [`plugins`]. Each call
//! is a new instance: nothing in memory survives it, [`kv`] does.
//!
//! # What the host offers
//!
//! | module | what for | capability |
//! |---|---|---|
//! | [`log`] | lines for the log of the run, which its record, its events and `plugin test` show | - |
//! | [`config`] | what the user set for the plugin, as any type that `serde` reads | - |
//! | [`kv`] | values that outlive a call | - |
//! | [`context`] | what templates see, group by group | - |
//! | [`plugins`] | contributing to the plugin's own namespace, and reading others' | - |
//! | [`files`] | files of the project | `filesystem.read`, `filesystem.write` |
//! | [`exec`] | commands, run to their end | `exec` |
//! | [`mod@env`] | variables, by their names | `env` |
//! | [`http`] | requests | `network.outbound` |
//! | [`tasks`] | the plan | `samuel.api` |
//! | [`agent`] | reporting and asking in the agent's place | - |
//!
//! # Errors and verdicts
//!
//! A handler that says no does so in its output, with the words of [`Answer`]. One
//! that cannot answer returns a [`HookFailure`], which every error becomes through
//! `?`. A panic is caught by the host and counts as a failure.
//!
//! # Versions
//!
//! The crate is made for version 1 of the contract, which is in `wit/`. A
//! component goes on working with every later 1.x: new points and functions are
//! additions that it does not see.

// The bindings name this crate as its users do.
extern crate self as samuel_plugin;

#[doc(hidden)]
#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::doc_markdown,
    clippy::indexing_slicing,
    clippy::missing_safety_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "generated from the contract, which has the documentation"
)]
#[rustfmt::skip]
pub mod bindings;
mod export;
mod failure;
mod host;
mod output;
mod points;
mod table;

pub mod agent;
pub mod config;
pub mod context;
pub mod env;
pub mod exec;
pub mod files;
pub mod http;
pub mod kv;
pub mod log;
pub mod plugins;
pub mod tasks;

#[doc(hidden)]
pub use table::exported as generated;
#[doc(hidden)]
pub use wit_bindgen::rt;

pub use failure::{HookFailure, HostError};
pub use output::Answer;
pub use table::*;

/// Compiles what the pages show.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../docs/plugins.md")]
struct Pages;
