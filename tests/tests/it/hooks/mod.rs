//! What the two documents about hooks promise, one test for each promise.

mod every_field;
mod hooks_reference;
mod methodology_hooks;
mod prompt_context;
