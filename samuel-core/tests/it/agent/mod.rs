//! Agents as the engine calls them.

mod programs;
mod scripted;
mod support;
