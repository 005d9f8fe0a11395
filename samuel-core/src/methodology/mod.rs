//! Methodologies: what a loop does at each of its hook points by default.
//!
//! A methodology is a set of default handlers, two prompt templates and the
//! defaults of its configuration. [`ralph`] is built in; others come from
//! plugins, as profiles over the same functions. Its handlers know what they are
//! called with and what they were made from, as those of everybody else.
//!
//! ```
//! use samuel_core::{methodology::ralph::check_plan, model::{Plan, Task, TaskId}};
//!
//! let task = Task::new(TaskId::new("1"), "Greet the world");
//! let plan = Plan { tasks: vec![task.clone(), task], ..Plan::default() };
//! assert!(!check_plan(&plan).output.ok, "two tasks have one id");
//! ```

pub mod ralph;
