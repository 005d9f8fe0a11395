//! What can keep a run from being built, started or waited for.

use super::executables::Executables;
use crate::{
    agent::AgentError,
    config::{ConfigError, SandboxError},
    hook::{RegistryError, ResolveError},
    methodology::ralph,
    model::{Coded, ErrorCode, Location},
    state::StateError,
};

/// A run that cannot be built, started or waited for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The agent cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The sandbox cannot be used.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The configuration names handlers that do not exist, or one twice.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The handlers of a point cannot be put in order.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A template of the project cannot be used.
    #[error(transparent)]
    Template(#[from] ralph::TemplatesError),
    /// The state cannot be used, or another loop runs.
    #[error(transparent)]
    State(#[from] StateError),
    /// The trust policy refused.
    #[error("nobody has allowed what this project would run")]
    Untrusted {
        /// What it would run.
        executables: Box<Executables>,
    },
    /// Processes of an earlier run are still being ended.
    #[error("process {pid} still ends what an earlier run left behind")]
    Unswept {
        /// The process.
        pid: u32,
    },
    /// The run itself broke.
    #[error("the run broke: {message}")]
    Broken {
        /// What happened.
        message: String,
    },
}

impl RunError {
    pub(super) fn broken(error: tokio::task::JoinError) -> Self {
        Self::Broken { message: error.to_string() }
    }
}

/// Writes an error with its causes on one line.
pub(super) fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl Coded for RunError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Agent(error) => error.code(),
            Self::Sandbox(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Registry(error) => error.code(),
            Self::Template(error) => error.code(),
            Self::State(error) => error.code(),
            Self::Untrusted { .. } => ErrorCode::TRUST_REFUSED,
            Self::Unswept { .. } => ErrorCode::STATE_LOOP_RUNNING,
            Self::Broken { .. } => ErrorCode::INTERNAL,
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Config(error) => error.location(),
            Self::State(error) => error.location(),
            Self::Template(error) => error.location(),
            _ => None,
        }
    }

    fn help(&self) -> String {
        let did_you_mean = |nearest: &str| format!("Did you mean \"{nearest}\"? {}", self.code().help);
        match self {
            Self::Config(error) => error.help(),
            Self::State(error) => error.help(),
            Self::Template(error) => error.help(),
            Self::Agent(AgentError::Unknown { suggestion: Some(nearest), .. }) => did_you_mean(nearest),
            Self::Sandbox(SandboxError::Unknown { nearest: Some(nearest), .. }) => did_you_mean(nearest),
            Self::Registry(RegistryError::Resolve(ResolveError::UnknownHandler {
                nearest: Some(nearest),
                ..
            })) => did_you_mean(nearest),
            _ => self.code().help.to_owned(),
        }
    }
}
