//! Stores of plans: what is kept, what writers may rely on, and what is told of it later.
#![allow(clippy::print_stdout, reason = "tests")]

mod durability;
mod file;
mod log;
mod names;
mod store;
mod task_history;
