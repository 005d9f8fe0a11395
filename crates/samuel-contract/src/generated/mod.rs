//! What `cargo xtask contract` writes of the hook points.

pub(crate) mod answer;
mod output;
pub(crate) mod point;
