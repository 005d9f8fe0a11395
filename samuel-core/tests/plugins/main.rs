//! Plugins as a program that embeds Samuel sees them: manifests, installing,
//! loading, scripts as handlers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bench;

mod install;
mod load;
mod manifest;
mod skill;
