//! The state from the outside: stores of plans, the files in which plans are kept, and changes of plans.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod durability;
mod file;
mod log;
mod plan_changes;
mod store;
