//! Samuel core.
