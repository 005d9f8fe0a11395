//! What wit-bindgen makes of the contract: the functions of the host, and a module for each point.

// Written by `cargo xtask contract`; change `wit/` instead.

pub mod ability_after;
pub mod ability_before;
pub mod after_agent_invoke;
pub mod after_iteration;
pub mod after_loop;
pub mod agent_invoke;
pub mod before_agent_invoke;
pub mod before_iteration;
pub mod before_loop;
pub mod context_extra;
pub mod context_progress;
pub mod context_snapshot;
pub mod context_task;
pub mod host;
pub mod init_after;
pub mod init_before;
pub mod iteration_error;
pub mod iteration_gate;
pub mod prompt_submit;
pub mod quality_check;
pub mod session_end;
pub mod session_start;
pub mod session_stop;
pub mod sync_after;
pub mod sync_before;
pub mod task_completed;
