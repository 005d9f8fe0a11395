//! Attacks that once got through, and campaigns that held.
//!
//! A loop runs unattended, with keys in its environment, on a repository that
//! somebody else wrote, with an agent that may do anything its user may. Each
//! module is one way to abuse that; `docs/security.md` names the test that holds
//! each threat. The counts are those the attacks were found with where a run of
//! them takes seconds; `SAMUEL_LONG=1` runs the others in full.

mod acceptance;
mod accounting;
mod beside;
mod cache;
mod certification;
mod component;
mod control_files;
mod corruptions;
mod faults;
mod fetching;
mod fifos;
mod framing;
mod git_settings;
mod growth;
mod kills;
mod kit;
mod logs;
mod looking;
mod night;
mod owners;
mod plugin_names;
mod plugins_env;
mod plugins_grants;
mod process_trees;
mod question;
mod secrets;
mod state_files;
mod streams;
mod supervisor;
mod survivors;
mod swaps;
mod terminal;
mod writers;
