//! Fleets that are played on a virtual clock.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a world panics where it is broken, and a campaign prints its totals"
)]

mod campaign;
mod merger;
mod process;
mod remote;
mod world;
