//! What the default handlers of a run work with.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::Templates;
use crate::{
    agent::Agents,
    clock::Clock,
    config::MethodologySettings,
    context::{Framing, GuardrailVars},
    environment::Secrets,
    git::Caller,
    model::run_blocking,
    process::Supervisor,
    sandbox::Sandboxes,
    state::{LaneStore, PlanStore, RunDir},
};

/// What a run gives the handlers of its methodology.
#[derive(Clone)]
#[non_exhaustive]
pub struct Kit {
    /// The project's root.
    pub project_root: PathBuf,
    /// Who looks at the project.
    pub caller: Caller,
    /// Where the files of the run are.
    pub run_dir: RunDir,
    /// The run's id.
    pub run_id: Arc<str>,
    /// Whether nothing is to be left in the run directory, as where hooks are tried out.
    pub in_memory: bool,
    /// The command by which agents call Samuel.
    pub binary: String,
    /// The settings the run was frozen with.
    pub settings: MethodologySettings,
    /// What samuel.toml asks of the code.
    pub guardrails: GuardrailVars,
    /// The agents that calls can name, the configured one before all.
    pub agents: Agents,
    /// The configured agent's program, looked up before any handler was asked.
    pub program: Option<PathBuf>,
    /// What agents and checks can run in; the settings say what they do.
    pub sandboxes: Sandboxes,
    /// The plan and what belongs to it.
    pub store: Arc<dyn PlanStore>,
    /// Where this machine keeps what it makes anew.
    pub lane: Arc<dyn LaneStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// How processes are looked after.
    pub supervisor: Supervisor,
    /// The environment the caller gave, of which agents and checks get parts.
    pub env: Vec<(String, String)>,
    /// The values that no log has.
    pub secrets: Arc<Secrets>,
    /// The methodology's templates, or what the project has in their place.
    pub templates: Templates,
    /// How quotations in a prompt are marked.
    pub framing: Framing,
    /// The files whose change ends the run.
    pub control_files: WatchedFiles,
}

impl fmt::Debug for Kit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit").field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

/// The files whose change ends a run, as far as prompts and checks have to know them.
#[derive(Clone)]
pub struct WatchedFiles {
    /// Their paths, relative to the project's root, as prompts name them.
    pub names: Vec<String>,
    /// Says which of them was changed, if one was. Blocks.
    pub changed: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl WatchedFiles {
    /// Says whether a path is one of them: from the project's root, or absolute.
    pub(super) fn has(&self, path: &str, root: &Path) -> bool {
        let path: PathBuf = root.join(path).components().collect();
        path.strip_prefix(root).is_ok_and(|path| self.names.iter().any(|name| Path::new(name) == path))
    }

    /// Says the same without holding up other work.
    pub(super) async fn changed(&self) -> Option<String> {
        let changed = Arc::clone(&self.changed);
        run_blocking(move || changed()).await.unwrap_or_else(|error| Some(error.to_string()))
    }
}

impl Default for WatchedFiles {
    fn default() -> Self {
        Self { names: Vec::new(), changed: Arc::new(|| None) }
    }
}

impl fmt::Debug for WatchedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedFiles").field("names", &self.names).finish_non_exhaustive()
    }
}
