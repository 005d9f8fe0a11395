//! Workspaces: the clone an agent works in, what comes out of it and what does not.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod arrivals;
mod cut_off;
mod kit;
mod life;
mod refusals;
mod traps;
