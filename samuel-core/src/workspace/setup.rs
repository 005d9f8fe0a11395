//! What a workspace that is a clone is made of: whose it is, where it lies, and what is too much.
//!
//! A [`WorkspaceSetup`] is all that a [`CloneWorkspace`](super::CloneWorkspace) gets. Which files decide what runs,
//! whoever opens one says by a [`ControlLook`].

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{InspectLimits, OnStep, Preparation};
use crate::{git::Caller, process::Supervisor};

/// What a clone is made of, and where.
#[derive(Clone, Debug)]
pub struct WorkspaceSetup {
    /// The project's root.
    pub root: PathBuf,
    /// Where the clone and what is known of it lie: a directory that is made, and is this user's alone.
    pub directory: PathBuf,
    /// Whose the project must be.
    pub caller: Caller,
    /// The environment, of which git gets what it needs.
    pub env: Vec<(String, String)>,
    /// Who watches over git.
    pub supervisor: Supervisor,
    /// Names the references of work that is kept.
    pub run: String,
    /// What is too much.
    pub limits: WorkspaceLimits,
    /// What it gets beside the files of a commit.
    pub preparation: Preparation,
    /// The files that the agent must not change.
    pub control: Arc<dyn ControlLook>,
    /// Is told of each step, once it is done.
    pub on_step: Option<OnStep>,
}

/// What is too much.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceLimits {
    /// The largest bundle, in bytes. Default 512 MiB.
    pub bundle: u64,
    /// How far a look at the clone goes.
    pub inspect: InspectLimits,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self { bundle: 512 << 20, inspect: InspectLimits::default() }
    }
}

/// The files of a project that decide what runs.
pub trait ControlLook: fmt::Debug + Send + Sync {
    /// Returns a digest of each that is there below another root, by its path from there. Blocks.
    fn look(&self, root: &Path) -> BTreeMap<String, String>;

    /// Says whether a path from the root of the project is one of them, as far as their names tell; with a slash at its
    /// end, whether one of them lies below it.
    fn covers(&self, path: &str) -> bool;
}

/// No files.
impl ControlLook for () {
    fn look(&self, _: &Path) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn covers(&self, _: &str) -> bool {
        false
    }
}
