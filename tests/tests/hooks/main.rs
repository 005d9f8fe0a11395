//! What the two documents about hooks promise, one test for each promise.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod every_field;
mod hooks_reference;
mod methodology_hooks;
mod prompt_context;
