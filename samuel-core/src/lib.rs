//! Samuel core.

#[cfg(feature = "engine")]
pub mod process;
