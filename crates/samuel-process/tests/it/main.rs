//! Commands and what is left of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]
#![cfg(target_os = "linux")]

mod run;
mod running;
mod support;
mod survivors;

/// The supervisor of the commands that tests start. It is no test: it does nothing unless it is started with that role.
#[test]
fn supervisor_entry() {
    support::supervise_if_asked();
}
