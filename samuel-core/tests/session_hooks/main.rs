//! Session hooks: files, timing, variables and what reaches the agent.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bad_files;
mod behaviour;
mod kit;
mod lifecycle;
mod phases;
mod timing;
mod variables;
