//! Where plugins work.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{fs::Root, process::Supervisor, state::PlanStore};

/// The project, and what of the embedding program plugins may be let at.
///
/// All plugins of a run share one. Nothing of it is a grant: what a plugin may
/// use is what it was granted.
pub struct Workspace {
    pub(super) root: PathBuf,
    pub(super) scratch: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) command_env: Vec<(OsString, OsString)>,
    pub(super) supervisor: Supervisor,
    pub(super) store: Option<Arc<dyn PlanStore>>,
}

impl Workspace {
    /// Describes a project at an absolute path that keeps plugins' own files
    /// below `scratch`, usually `.samuel/run/plugins`.
    pub fn new(root: impl Into<PathBuf>, scratch: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            scratch: scratch.into(),
            env: BTreeMap::new(),
            command_env: Vec::new(),
            supervisor: Supervisor::GroupOnly,
            store: None,
        }
    }

    /// Sets the environment that plugins with `env` read from. Default empty.
    #[must_use]
    pub fn env(mut self, env: impl IntoIterator<Item = (String, String)>) -> Self {
        self.env = env.into_iter().collect();
        self
    }

    /// Sets the environment that commands of plugins with `exec` get: at least
    /// `PATH`, where programs are looked up. Default empty.
    #[must_use]
    pub fn command_env(mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.command_env = env.into_iter().collect();
        self
    }

    /// Sets the process that watches over commands. Default none.
    #[must_use]
    pub fn supervisor(mut self, supervisor: Supervisor) -> Self {
        self.supervisor = supervisor;
        self
    }

    /// Sets the plan that plugins with `samuel.api` see. Without one they are
    /// answered `unsupported`.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn PlanStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Returns the directory of a plugin's own files.
    pub(super) fn scratch_of(&self, plugin: &str) -> PathBuf {
        self.scratch.join(plugin)
    }

    /// Returns what the plugins' own files do not leave: the project, where they
    /// are kept in it.
    pub(super) fn scratch_root(&self) -> Root {
        Root::new(if self.scratch.starts_with(&self.root) { &self.root } else { &self.scratch })
    }

    /// Returns the project's root.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Leaves out the values of variables, which may be secrets.
impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("root", &self.root)
            .field("scratch", &self.scratch)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("supervisor", &self.supervisor)
            .finish_non_exhaustive()
    }
}
