//! Session hooks: files, timing, variables and what reaches the agent.

mod bad_files;
mod behaviour;
mod kit;
mod lifecycle;
mod phases;
mod timing;
mod variables;
