//! Methodologies: named ways to run the loop, and their default handlers.

mod workbench;

pub use workbench::{AgentFault, Desk, Workbench};
