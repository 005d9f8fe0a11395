//! The state as the rest of the core uses it.

mod names;
mod task_history;
