//! Hook files: what a project's own files have handlers do.
//!
//! [`HookFiles::read`] looks for the files of a project and reads them, starting nothing;
//! [`HookFiles::register`] makes a handler of each entry, which
//! [`RunBuilder::hook_files`](crate::engine::RunBuilder::hook_files) does for a run. A bad entry is a
//! [problem](HookFiles::problems) with its place and is left out, its siblings are used; a file
//! of session hooks that is broken as a whole is an error.
//!
//! There are two kinds: one file of session hooks ([`SessionHook`]), and files of repository hooks
//! ([`RepositoryHook`]), one each. What their handlers are asked, and what comes of their answers, is the
//! hook points' as for every handler; whether their commands may run is decided by
//! [`trust`](crate::trust).
//!
//! ```
//! use samuel_core::dialect::HookFiles;
//!
//! let project = tempfile::tempdir()?;
//! let hooks = "version: 1\nhooks:\n  on_error:\n    - command: git diff HEAD\n      pipe_ouput: true\n    - command: df -h\n";
//! std::fs::write(project.path().join(".iteratr.hooks.yml"), hooks)?;
//!
//! let files = HookFiles::read(project.path())?;
//! assert_eq!(files.problems().len(), 1, "an unknown key, with its place");
//! let ids: Vec<String> = files.hooks().map(|hook| hook.id()).collect();
//! assert_eq!(ids, ["session:on_error#2"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod command;
mod hook_files;
mod problems;
mod repository;
mod session;
mod surroundings;
mod yaml;

pub use hook_files::{HookFileOptions, HookFiles, SESSION_FILES};
/// Where files of repository hooks are, relative to the project's root.
pub use repository::DIRECTORY as REPOSITORY_HOOKS;
pub use repository::{
    Builtin, EventType, HookSchema, NewHook, RepositoryHook, ScaffoldError, ScaffoldedHook, ScriptLanguage,
    Toggle,
};
pub use session::{HookType, SessionHook, Variable};
