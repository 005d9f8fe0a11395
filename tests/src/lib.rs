//! Suites across crates, and what they share.

pub mod model_server;
pub mod real_agent;
