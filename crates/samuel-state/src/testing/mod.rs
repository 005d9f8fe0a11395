//! Doubles for tests of stores and logs, and the suites that check both.
//!
//! [`MemoryLog`] is a log that loses acknowledgements, stores records twice and forgets them. [`ChannelStore`] puts a
//! store of plans behind a channel. [`store_suite`] is the contract of stores, [`log_suite`] the contract of logs.
//! [`Seeded`] returns the same random numbers for the same seed.

mod channel;
pub mod log_suite;
mod memory_log;
mod seeded;
pub mod store_suite;

pub use channel::ChannelStore;
pub use memory_log::{LogFaults, MemoryLog};
pub use seeded::Seeded;
