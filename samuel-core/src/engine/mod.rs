//! The loop: a machine that decides, and a driver that does.

mod event;
pub mod machine;

pub use event::{EVENT_SCHEMA_VERSION, Event, EventRecord, Failure, RunReport};
