//! The engine from the outside: runs, what people ask of them, and what they tell.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod agent;
mod checkup;
mod config;
mod control;
mod live;
#[path = "../live_support/mod.rs"]
mod live_support;
mod planner;
mod preview;
mod questions;
mod results;
mod run;
mod socket;
mod start;
mod store;
mod telling;
