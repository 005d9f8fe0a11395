//! The engine from the outside: runs, what people ask of them, and what they tell.

mod agent;
mod checkup;
mod config;
mod control;
mod live;
mod planner;
mod preview;
mod questions;
mod results;
mod run;
mod socket;
mod start;
mod store;
mod telling;
