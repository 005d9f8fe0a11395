//! Methodologies: what a loop does at each of its hook points by default.
//!
//! A methodology is a set of default handlers, two prompt templates and the
//! defaults of its configuration. [`ralph`] is built in; others come from
//! plugins, as profiles over the same functions. What its handlers share with
//! the runtime lies on the [`Workbench`].

pub mod ralph;
mod workbench;

pub use workbench::{Access, AgentFault, Counts, Desk, Workbench};
