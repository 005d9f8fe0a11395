//! What `cargo xtask contract` writes of the hook points.

pub(super) mod answer;
mod fields;
mod output;
pub(super) mod point;
