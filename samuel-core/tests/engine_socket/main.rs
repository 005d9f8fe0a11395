//! Agents whose own hooks ask the run about their tool calls, by its socket.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod calls;
mod kit;
mod listening;
mod plan;
