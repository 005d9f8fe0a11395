//! Hook files: what a project's own files have handlers do.
//!
//! [`HookFiles::read`] looks for the files of a project and reads them, starting nothing;
//! [`HookFiles::register`] makes a handler of each entry, which
//! [`RunBuilder::hook_files`](crate::engine::RunBuilder::hook_files) does for a run. A bad entry is a
//! [problem](HookFiles::problems) with its place and is left out, its siblings are used; a file
//! that is broken as a whole is an error.
//!
//! There is one kind of file so far, that of session hooks ([`SessionHook`]). What its handlers are
//! asked, and what comes of their answers, is the hook points' as for every handler; whether its
//! commands may run is decided by [`trust`](crate::trust).

mod hook_files;
mod problems;
mod session;
mod yaml;

pub use hook_files::{HookFileOptions, HookFiles, SESSION_FILES};
pub use session::{HookType, SessionHook, Variable};
