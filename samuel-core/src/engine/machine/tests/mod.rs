//! The machine in a simulated world.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a failed test may panic")]

mod beside;
mod checks;
mod delivery;
mod leaving;
mod order;
mod script;
mod sim;
mod stopping;
mod strictness;
mod trace;
