//! The records of `wit/v1`, a module for each of its files.

// Written by `cargo xtask contract`; change `wit/` instead.

mod agent;
mod context;
mod lifecycle;
mod looping;
mod session;
mod types;

pub use agent::*;
pub use context::*;
pub use lifecycle::*;
pub use looping::*;
pub use session::*;
pub use types::*;
