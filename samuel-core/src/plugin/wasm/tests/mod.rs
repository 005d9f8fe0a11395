//! Components, loaded and called. They are core modules in text, wrapped by
//! `wit-component`, so that no toolchain for guests is needed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod calls;
mod capabilities;
mod deadline;
mod hostile;
mod interfaces;
pub(super) mod kit;
mod loading;
