//! `samuel init` and `samuel sync`: what happens around the loop.
//!
//! A [`Lifecycle`] is built from a [`Project`](crate::project::Project) and
//! handlers, as a [`Run`](crate::engine::Run) is, and fires the four lifecycle
//! points through the same registry and dispatch:
//! [`Lifecycle::init`] makes a project ready, [`Lifecycle::sync`] brings the
//! generated parts of its context files up to date.
//!
//! ```text
//! init.before ─► look, render, check ─► write ─► init.after
//! sync.before ─► look, render, check ─► write ─► sync.after
//! ```
//!
//! Everything is rendered and checked before the first byte is written, so a
//! gate that refuses, a template that does not parse or a broken marker leaves
//! the project as it was. In a context file only the [`section`] between
//! Samuel's markers is Samuel's. The loop is not touched here. A plan is made with the
//! project where one is asked for; [`make_ready`] does that for whoever has a directory and
//! wants to run its loop.
//!
//! ```
//! use samuel_core::{lifecycle::{InitOptions, Lifecycle}, project::Project};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let directory = tempfile::tempdir()?;
//! let lifecycle = Lifecycle::builder(Project::at(directory.path())?).build()?;
//! lifecycle.init(&InitOptions::default()).await?;
//! assert!(directory.path().join("samuel.toml").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod file;
mod fire;
mod fresh;
mod init;
mod render;
pub mod section;
mod survey;
mod sync;
#[cfg(test)]
mod tests;

pub use error::LifecycleError;
pub use fire::{Answered, Fired, Lifecycle, LifecycleBuilder};
pub use fresh::Fresh;
pub use init::{InitOptions, InitReport, make_ready};
pub use render::{AGENTS_FILE, AGENTS_TEMPLATE, AGENTS_TEMPLATE_FILE, FOLDER_TEMPLATE, FOLDER_TEMPLATE_FILE};
pub use survey::{Folder, MAX_FOLDERS, MIN_CODE_FILES};
pub use sync::{FileChange, FileChangeKind, SyncOptions, SyncReport};
