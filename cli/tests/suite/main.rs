//! The command from the outside: flags, output, exit codes, files.
//!
//! Every test has a project, a home and an environment of its own.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod bench;

mod bad_input;
mod bare;
mod bridge;
mod broker;
mod changes;
mod claims;
mod containers;
mod control;
mod demo;
mod documents;
mod escapes;
mod guards;
mod history;
mod history_campaign;
mod hooks;
mod hostile_repository;
mod init;
mod kills;
mod lane_campaign;
mod lane_changes;
mod lane_checkout;
mod lane_commands;
mod lane_faults;
mod lane_ground;
mod lane_kills;
mod lane_leftovers;
mod lane_lost;
mod lane_repositories;
mod lane_returns;
mod lane_signals;
mod lane_telling;
mod lane_walls;
mod lanes;
mod lifecycle;
mod limits;
mod long_runs;
mod looking;
mod merge_queue;
mod methodology;
mod pilot;
mod plans;
mod plugin_life;
mod plugin_trials;
mod plugins;
mod preview;
mod prompt;
mod questions;
mod registry_double;
mod repository_hooks;
mod restore;
mod routes;
mod run_merge;
mod signals;
mod start;
mod state_file;
mod tdd_strict;
mod telling;
mod toon;
mod trust;
mod workspace;
