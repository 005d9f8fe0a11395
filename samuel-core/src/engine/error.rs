//! What can keep a run from being built, started or waited for.

use std::sync::Arc;

use super::{LanesError, socket::SocketError};
pub(super) use crate::text::described;
use crate::{
    agent::AgentError,
    config::ConfigError,
    hook::RegistryError,
    methodology::TemplatesError,
    model::{Coded, ErrorCode, Location, Remedy, UnknownTasks, run_blocking},
    project::ProjectError,
    sandbox::SandboxError,
    state::StateError,
    trust::TrustRefusal,
    workspace::WorkspaceError,
};

/// A run that cannot be built, started or waited for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The agent cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The agent that samuel.toml names cannot be called.
    #[error("{source}")]
    ConfiguredAgent {
        /// Why not.
        source: Box<AgentError>,
        /// Where it names it, or its command.
        location: Location,
    },
    /// The sandbox cannot be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The workspace cannot be used.
    #[error(transparent)]
    Workspace(#[from] Box<WorkspaceError>),
    /// The project was opened [to be looked at](crate::project::Project::open_to_look), since it cannot be used as it
    /// is.
    #[error("{0}")]
    Project(Arc<ProjectError>),
    /// The configuration names handlers that do not exist, or one twice.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The handlers of a point cannot be put in order.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A template of the project cannot be used.
    #[error(transparent)]
    Template(#[from] TemplatesError),
    /// The state cannot be used, or another loop runs.
    #[error(transparent)]
    State(#[from] StateError),
    /// What the project would run may not.
    #[error(transparent)]
    Untrusted(#[from] Box<TrustRefusal>),
    /// The run is to be for tasks that the plan does not have.
    #[error(transparent)]
    Tasks(#[from] UnknownTasks),
    /// The prompt of an iteration cannot be composed.
    #[error("the prompt could not be composed: {message}")]
    Prompt {
        /// Which handler broke, and how.
        message: String,
    },
    /// Processes of an earlier run are still being ended.
    #[error("process {pid} is still ending what an earlier run left behind")]
    Unswept {
        /// The process.
        pid: u32,
    },
    /// The run cannot listen, and has handlers that tool calls are to be asked of.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The run cannot have the lanes that it was to have.
    #[error(transparent)]
    Lanes(#[from] LanesError),
    /// The run itself broke.
    #[error("the run broke: {message}")]
    Broken {
        /// What happened.
        message: String,
    },
}

impl From<WorkspaceError> for RunError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(Box::new(error))
    }
}

/// Runs something that blocks on a thread where that is allowed.
pub(super) async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, RunError> {
    let done = run_blocking(work).await;
    done.map_err(|error| RunError::Broken { message: error.to_string() })
}

impl Coded for RunError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Agent(error) => error.code(),
            Self::ConfiguredAgent { source, .. } => source.code(),
            Self::Sandbox(error) => error.code(),
            Self::Workspace(error) => error.code(),
            Self::Project(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Registry(error) => error.code(),
            Self::Template(error) => error.code(),
            Self::State(error) => error.code(),
            Self::Untrusted(refusal) => refusal.code(),
            Self::Tasks(_) => ErrorCode::TASK_NOT_FOUND,
            Self::Prompt { .. } => ErrorCode::HOOK_FAILED,
            Self::Unswept { .. } => ErrorCode::STATE_LOOP_RUNNING,
            Self::Socket(error) => error.code(),
            Self::Lanes(error) => error.code(),
            Self::Broken { .. } => ErrorCode::INTERNAL,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Project(error) => error.location(),
            Self::Config(error) => error.location(),
            Self::State(error) => error.location(),
            Self::Template(error) => error.location(),
            Self::Workspace(error) => error.location(),
            Self::Lanes(error) => error.location(),
            Self::ConfiguredAgent { location, .. } => Some(location.clone()),
            _ => None,
        }
    }

    fn help(&self) -> Remedy {
        let did_you_mean =
            |nearest: &str| self.code().help.clone().after(format!("Did you mean \"{nearest}\"?"));
        match self {
            Self::Project(error) => error.help(),
            Self::Config(error) => error.help(),
            Self::State(error) => error.help(),
            Self::Template(error) => error.help(),
            Self::Untrusted(refusal) => refusal.help(),
            Self::Agent(AgentError::Unknown { suggestion: Some(nearest), .. }) => did_you_mean(nearest),
            Self::Sandbox(error) => error.help(),
            Self::Workspace(error) => error.help(),
            Self::Socket(error) => error.help(),
            Self::Lanes(error) => error.help(),
            Self::Registry(RegistryError::Resolve(unresolved)) => match unresolved.nearest() {
                Some(nearest) => did_you_mean(nearest),
                None => self.code().help.clone(),
            },
            Self::Agent(error) => error.help(),
            Self::ConfiguredAgent { source, .. } => source.help(),
            Self::Tasks(unknown) => self.code().help.clone().after(unknown.suggestion()),
            _ => self.code().help.clone(),
        }
    }
}
