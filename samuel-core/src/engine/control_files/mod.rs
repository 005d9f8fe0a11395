//! The files that decide what a run executes, held against what they were.
//!
//! The agent works in the project and could change samuel.toml, samuel.lock, a
//! prompt template, a plugin, its own script or one that checks its work. What the
//! run was built from stays as it is; the [`ControlFiles`] tell before each
//! iteration, around each check and before a run ends that somebody should look.
//! A [`ControlRecord`] keeps what they were for the next start, which asks about
//! what a run has left changed.

mod files;
mod matched;
mod of_checks;
mod record;
mod stamp;

pub(crate) use files::ControlFiles;
pub(super) use files::OfHooks;
pub(super) use record::ControlRecord;
pub(super) use stamp::Stamps;
