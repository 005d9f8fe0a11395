//! Plugins: what they ask for, what they are granted, and how they are loaded.
//!
//! A plugin is a directory with a `samuel-plugin.toml`. What it may reach
//! outside itself are its [`Capabilities`]: those its manifest asks for, and of
//! them those the user granted. See the hook contract, sections 5 and 6.

mod capability;
#[cfg(feature = "wasm")]
pub mod wasm;

pub use capability::{Capabilities, Capability, UnknownCapability};
