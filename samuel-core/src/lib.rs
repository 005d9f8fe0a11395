//! Samuel core.

#[cfg(feature = "engine")]
pub mod context;
