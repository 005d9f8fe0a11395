//! The two sides of an agent call.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use samuel_hook::{
    AgentPort, Bridge, CallLogs,
    sandbox::{Sandbox, SandboxError},
};
use samuel_model::{
    Coded, ErrorCode, Remedy, Usage,
    environment::compose_env,
    payload::{AgentFailure, AgentFailureClass, AgentInvokeOutput, TaskBrief, Turn},
    text::described,
};
use samuel_process::ProcessError;
use tokio_util::sync::CancellationToken;

use super::{ConversationId, Provider, names};

/// A program that works on a prompt.
///
/// A run takes one by `RunBuilder::agent`.
///
/// ```
/// use async_trait::async_trait;
/// use samuel_agent::{Agent, AgentError, AgentEvent, AgentPort, AgentRequest};
/// use samuel_model::payload::AgentInvokeOutput;
///
/// /// Repeats its prompt.
/// #[derive(Debug)]
/// struct Echo;
///
/// #[async_trait]
/// impl Agent for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     async fn invoke(
///         &self,
///         request: AgentRequest,
///         port: &dyn AgentPort,
///     ) -> Result<AgentInvokeOutput, AgentError> {
///         port.emit(AgentEvent::Text { text: request.prompt.clone() });
///         Ok(AgentInvokeOutput { stdout: request.prompt, ..Default::default() })
///     }
/// }
/// ```
///
/// Implementations stand below [`async_trait`](async_trait::async_trait).
#[async_trait]
pub trait Agent: std::fmt::Debug + Send + Sync {
    /// Returns the name in configuration, such as `claude`.
    fn name(&self) -> &str;

    /// Returns the names of environment variables the agent needs beside the
    /// general allow-list; a trailing `*` stands for any ending.
    fn declared_env(&self) -> &[&str] {
        &[]
    }

    /// Returns the command line that starts the agent, word for word, the
    /// program first; none where it is no program.
    fn command_line(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whom the agent talks to, where that is known. By default it is not.
    fn provider(&self) -> Option<Provider> {
        None
    }

    /// Says how the agent runs unattended, for the user to read before a run
    /// starts; nothing where there is nothing to say.
    fn permission_notice(&self) -> Option<String> {
        None
    }

    /// Says what it means that the agent's own hooks ask about its tool calls, as they do where a
    /// handler of `ability.before` or `ability.after` is registered; nothing for an agent without
    /// hooks.
    fn hooks_notice(&self) -> Option<String> {
        None
    }

    /// Says what the agent reports of what its calls consume, on which limits of cost
    /// and tokens depend. By default all of it.
    fn reports(&self) -> Reports {
        Reports::TokensAndCost
    }

    /// Says whether the agent takes the [`conversation`](AgentRequest::conversation) of a
    /// request. By default it does not, and is given none.
    fn resumes(&self) -> bool {
        false
    }

    /// Checks that the agent can be called at all, such as that its program
    /// exists on the `PATH` of the environment it will get, or in the project where it
    /// is given as a path.
    ///
    /// # Errors
    /// Returns [`AgentError::NotFound`] where it cannot.
    fn check(&self, _env: &[(String, String)], _project_root: &Path) -> Result<(), AgentError> {
        Ok(())
    }

    /// Finds the program that the agent starts, in the environment that the
    /// caller gave. It is looked up before any handler is asked, so that none
    /// decides which program that is. Nothing for an agent without one, and
    /// where it is not there.
    fn locate(&self, _env: &[(String, String)], _project_root: &Path) -> Option<PathBuf> {
        None
    }

    /// Works on a prompt until it is done, a clock ends it or the request is
    /// cancelled. No process of the agent survives the call.
    ///
    /// The output's `stdout` holds the agent's words where its stream could be
    /// read, else what it printed; the raw output is in the log files.
    ///
    /// # Errors
    /// Returns an [`AgentError`] where the agent did not run to its end; an
    /// exit code other than 0 is no error here.
    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError>;
}

/// Composes the environment of an agent from the one the caller gave, with what is set
/// over it.
pub fn compose_agent_env(
    host: &[(String, String)],
    agent: &dyn Agent,
    set: &[(String, String)],
) -> Vec<(String, String)> {
    compose_env(host.iter().cloned(), agent.declared_env(), &[], set)
}

/// What an agent reports of what its calls consume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reports {
    /// Neither tokens nor their cost.
    Nothing,
    /// Tokens, and not what they cost.
    Tokens,
    /// Tokens and what they cost.
    TokensAndCost,
}

/// What an agent is called with.
#[derive(Clone, Debug)]
pub struct AgentRequest {
    /// The prompt. It reaches the agent by stdin or file, never by argument.
    pub prompt: String,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The program, as [`Agent::locate`] found it. Where it is absent, it is
    /// looked up in the same way in `env`.
    pub program: Option<PathBuf>,
    /// The directory the agent works in.
    pub project_root: PathBuf,
    /// What it and its commands run in.
    pub sandbox: Arc<dyn Sandbox>,
    /// Where the agent's raw output goes, as far as the caller keeps it.
    pub logs: Option<CallLogs>,
    /// The iteration, from 1.
    pub iteration: u32,
    /// Which turn of the iteration it is.
    pub turn: Turn,
    /// The task the call is about; none in a discovery iteration. A real agent
    /// reads it in its prompt, the scripted one chooses its steps by it.
    pub task: Option<TaskBrief>,
    /// The conversation to go on in, which this agent named when it was
    /// [ready](crate::AgentEvent::Ready) in an earlier turn of the iteration; nothing in a main turn, and for
    /// an agent that does not [take it](Agent::resumes).
    pub conversation: Option<ConversationId>,
    /// How the agent's own hooks reach the run; nothing where no handler asks about its tool calls.
    /// An agent without hooks of its own ignores it.
    pub bridge: Option<Bridge>,
    /// Ends the call: the agent's process tree is killed.
    pub cancel: CancellationToken,
}

/// An agent that did not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No adapter has this name.
    #[error("unknown agent \"{name}\"")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// The nearest known name.
        suggestion: Option<&'static str>,
    },
    /// The agent's configuration does not say what to run.
    #[error("agent \"{agent}\" is not configured: {problem}")]
    Config {
        /// The agent.
        agent: String,
        /// What is wrong.
        problem: String,
    },
    /// A model was chosen for an agent that takes none.
    #[error("agent \"{agent}\" takes no model; leave out \"{model}\"")]
    NoModel {
        /// The agent.
        agent: String,
        /// The model.
        model: String,
    },
    /// An agent that runs what it is configured to run is to work beside the configured one.
    #[error("agent \"{agent}\" can only be the configured agent: `agent_command` is that one's alone")]
    OnlyConfigured {
        /// The agent.
        agent: String,
    },
    /// The agent's program does not exist.
    #[error("agent \"{agent}\" needs the program \"{program}\", which was not found{}", at(place.as_deref()))]
    NotFound {
        /// The agent.
        agent: String,
        /// The program it needs.
        program: String,
        /// The file that was looked for, where the program is given as a path; nothing
        /// where it was looked for on the `PATH`.
        place: Option<PathBuf>,
        /// Whether the project has a file of that name. A name without a path is not looked up there.
        is_in_project: bool,
    },
    /// The agent's program cannot be run in the sandbox.
    #[error("agent \"{agent}\" could not be run in its sandbox")]
    Sandbox {
        /// The agent.
        agent: String,
        /// Why not.
        source: SandboxError,
    },
    /// The agent's program could not be run.
    #[error("agent \"{agent}\" could not be run: {cause}")]
    Start {
        /// The agent.
        agent: String,
        /// Why not. It stands in the text, and its own causes are its sources.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The agent was started, and who watched over it was lost while it worked.
    #[error("agent \"{agent}\" was ended while it worked: {cause}")]
    Lost {
        /// The agent.
        agent: String,
        /// What happened to its supervisor.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A clock ended the agent.
    #[error("agent \"{agent}\" was ended: {clock} clock of {limit:?} ran out")]
    Clock {
        /// The agent.
        agent: String,
        /// The clock: `first_byte`, `idle` or `wall`.
        clock: &'static str,
        /// The time it allows.
        limit: Duration,
        /// What was consumed until then.
        usage: Option<Usage>,
    },
    /// The conversation that the agent was to go on in is not there any more. The agent
    /// has done nothing, so it can be called without it.
    #[error("agent \"{agent}\" could not go on in its conversation {conversation}: {message}")]
    ConversationLost {
        /// The agent.
        agent: String,
        /// The conversation.
        conversation: String,
        /// What the agent says about it.
        message: String,
    },
    /// A signal ended the agent.
    #[error("agent \"{agent}\" was ended by signal {signal}{}", last(words.as_deref()))]
    Signal {
        /// The agent.
        agent: String,
        /// The signal's number.
        signal: i32,
        /// The line that it wrote last for people, if it wrote one.
        words: Option<String>,
        /// What was consumed until then.
        usage: Option<Usage>,
    },
    /// The provider refuses because of a usage limit.
    #[error("agent \"{agent}\" has reached a usage limit: {message}")]
    RateLimited {
        /// The agent.
        agent: String,
        /// The provider's words.
        message: String,
        /// When the limit ends, where the provider says.
        resets_at: Option<jiff::Timestamp>,
        /// What was consumed until then.
        usage: Option<Usage>,
    },
    /// The agent says itself that it failed, whatever its exit code.
    #[error("agent \"{agent}\" reports a failure: {message}")]
    Reported {
        /// The agent.
        agent: String,
        /// Its words.
        message: String,
        /// What was consumed until then.
        usage: Option<Usage>,
    },
    /// The call was cancelled.
    #[error("agent \"{agent}\" was cancelled")]
    Cancelled {
        /// The agent.
        agent: String,
        /// What was consumed until then.
        usage: Option<Usage>,
    },
}

/// Quotes what an agent wrote last.
fn last(words: Option<&str>) -> String {
    words.map(|words| format!(": {words}")).unwrap_or_default()
}

/// Says which file was looked for.
fn at(place: Option<&Path>) -> String {
    place.map(|path| format!(": there is no {}", path.display())).unwrap_or_default()
}

impl AgentError {
    /// Returns what was consumed until the call failed.
    pub fn usage(&self) -> Option<Usage> {
        match self {
            Self::Clock { usage, .. }
            | Self::Signal { usage, .. }
            | Self::RateLimited { usage, .. }
            | Self::Reported { usage, .. }
            | Self::Cancelled { usage, .. } => *usage,
            _ => None,
        }
    }

    /// Says how the agent failed, as a handler of `agent.invoke` answers it.
    pub fn failure(&self) -> AgentFailure {
        let class = match self {
            Self::Clock { .. } => AgentFailureClass::AgentTimeout,
            Self::RateLimited { .. } => AgentFailureClass::RateLimit,
            Self::Cancelled { .. } => AgentFailureClass::Interrupted,
            Self::Signal { .. } | Self::Reported { .. } | Self::Lost { .. } => AgentFailureClass::AgentExit,
            _ => AgentFailureClass::AgentStart,
        };
        let resets_at = match self {
            Self::RateLimited { resets_at, .. } => resets_at.map(|at| at.to_string()),
            _ => None,
        };
        let message = match self {
            Self::Unknown { .. } => {
                format!("{self}; those that can be called are {}", names().collect::<Vec<_>>().join(", "))
            }
            // Nothing else that is shown of it says what to do.
            Self::NotFound { .. } | Self::Start { .. } => {
                format!("{}. {}", described(self), self.help().prose())
            }
            error => error.to_string(),
        };
        AgentFailure { class, message, resets_at }
    }
}

impl Coded for AgentError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::AGENT_UNKNOWN,
            Self::Config { .. } | Self::NoModel { .. } | Self::OnlyConfigured { .. } => {
                ErrorCode::CONFIG_INVALID
            }
            Self::NotFound { .. } => ErrorCode::AGENT_NOT_FOUND,
            Self::Sandbox { source, .. } => source.code(),
            _ => ErrorCode::AGENT_FAILED,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Sandbox { source, .. } => Some(source.help()),
            Self::Start { cause, .. } => {
                cause.downcast_ref::<ProcessError>().and_then(ProcessError::help).map(Remedy::from)
            }
            Self::NotFound { place: Some(_), .. } => Some(Remedy::Say(
                "Correct the program of `agent_command`: a relative path is looked for in the project's root.",
            )),
            Self::NotFound { program, is_in_project: true, .. } => Some(Remedy::Tell(format!(
                "The project has a file of that name: write `./{program}` to have it started."
            ))),
            Self::NoModel { .. } => Some(Remedy::Tell(format!(
                "Leave the model out, or choose an agent that takes one: {}.",
                super::build::taking_a_model().collect::<Vec<_>>().join(", ")
            ))),
            Self::OnlyConfigured { .. } => {
                Some(Remedy::Say("Name another agent there, or make it the configured one."))
            }
            Self::Config { agent, .. } if agent == "scripted" => Some(Remedy::CorrectRecording),
            Self::Config { .. } => Some(Remedy::NameAgentCommand),
            _ => None,
        }
        .unwrap_or_else(|| self.code().help.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::text::described;

    #[test]
    fn why_the_system_did_not_start_a_program_is_told_once() {
        let source = std::io::Error::from_raw_os_error(11);
        let told = source.to_string();
        let cause = Box::new(ProcessError::Start { program: "claude".into(), source });
        let error = AgentError::Start { agent: "claude".to_owned(), cause };
        let expected = format!("agent \"claude\" could not be run: cannot start `claude`: {told}");
        assert_eq!(described(&error), expected);
    }
}
