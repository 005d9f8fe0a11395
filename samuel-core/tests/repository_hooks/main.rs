//! Repository hooks: files, contexts, results and what they stop.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bad_files;
mod builtins;
mod declaration;
mod kit;
mod objects;
mod recipes;
mod runtime;
