//! What a run is made of beside its handlers: the project and its stores, the settings, and the agents that calls can
//! have.
//!
//! Putting it together is the [`builder`](super::builder)'s, starting it the [`run`](super::run)'s.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use super::error::{RunError, blocking};
use crate::{
    agent::{Agent, AgentConfig, AgentError, Agents, Choice, Routing, compose_agent_env},
    config::{CheckCommand, MethodologySettings, Origin},
    context::Framing,
    environment::Secrets,
    model::{Completes, Scope},
    plan::Pilot,
    process::Supervisor,
    project::{Project, pilot_of},
    sandbox::{HOST, Sandboxes},
    script::named::{in_command_line, in_words},
    state::{LaneStore, PlanStore, RunDir},
    trust::TrustPolicy,
    workspace::{OnStep, WorkspaceKind},
};

/// What a run is made of beside its handlers.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub(crate) project: Project,
    pub(crate) settings: MethodologySettings,
    pub(crate) agent: Arc<dyn Agent>,
    /// What it was built from, where it is not one that the caller brings.
    pub(crate) built_from: Option<AgentConfig>,
    /// Which other agents and models calls can have.
    pub(crate) routing: Routing,
    /// What agents have that a handler names instead.
    pub(crate) others: AgentConfig,
    pub(crate) sandboxes: Sandboxes,
    /// Where the agent and the checks work.
    pub(crate) workspace: WorkspaceKind,
    pub(crate) on_step: Option<OnStep>,
    pub(crate) store: Arc<dyn PlanStore>,
    pub(crate) lane: Arc<dyn LaneStore>,
    pub(crate) trust: TrustPolicy,
    pub(crate) supervisor: Supervisor,
    /// Whether nobody named it.
    pub(crate) is_unsupervised: bool,
    pub(crate) env: Vec<(String, String)>,
    /// The secrets of the environment, with the keys of gateways that are not in `env`.
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) binary: String,
    pub(crate) session: String,
    pub(crate) owner: Option<String>,
    /// Whether the commands of hook files take part.
    pub(crate) reads_hook_files: bool,
    /// The tasks that the caller wants the run to be for.
    pub(crate) scope: Scope,
    /// Whether it does nothing but look for tasks.
    pub(crate) discovers_only: bool,
    pub(crate) run_id: Arc<str>,
    pub(crate) framing: Framing,
    pub(crate) log_timings: bool,
    pub(crate) run_dir: RunDir,
    /// Where the run may listen.
    pub(crate) socket_dir: Option<PathBuf>,
    /// The command by which an agent's own hooks ask the run; empty where there is none.
    pub(crate) bridge: Vec<String>,
}

/// An agent that a call can be made with, and the choice that leads to it.
type Candidate = (Choice, Arc<dyn Agent>);

impl Frozen {
    /// Returns the agents that calls can name.
    pub(super) fn agents(&self) -> Agents {
        Agents::new(Arc::clone(&self.agent), self.others.clone(), self.supervisor.clone())
            .built_from(self.built_from.clone())
    }

    /// Returns which tasks count as completed while an agent is at work.
    pub(super) fn completes(&self) -> Completes {
        let is_alone = self.settings.parallel.jobs <= 1
            && self.workspace == WorkspaceKind::InPlace
            && self.settings.sandbox == HOST;
        let of_place = if is_alone { Completes::Plan } else { Completes::OwnTask };
        // `auto` is none of the words.
        self.settings.completes.parse().unwrap_or(of_place)
    }

    /// Returns every agent that routing can have a call made with, the configured one first, with the
    /// choice that it is.
    ///
    /// # Errors
    /// Returns [`RunError::Agent`] with the place of the setting for one that cannot be made.
    pub(super) fn choices(&self) -> Result<Vec<Candidate>, RunError> {
        let agents = self.agents();
        let all = self.routing.all(self.agent.name()).into_iter();
        all.map(|(key, choice)| match agents.chosen(&choice) {
            Ok(agent) => Ok((choice, agent)),
            Err(error) => Err(placed(&self.project, error, &key)),
        })
        .collect()
    }

    /// Checks that every agent can be made that a route or a fallback names.
    pub(super) fn check_choices(&self) -> Result<(), RunError> {
        self.choices().map(drop)
    }

    /// Returns the agents, by name, that cannot be called, and why.
    pub(super) fn unstartable(&self) -> Vec<(String, AgentError)> {
        if self.brings_programs() {
            return Vec::new();
        }
        let choices = self.choices().unwrap_or_default().into_iter();
        let checked = choices.filter_map(|(choice, agent)| {
            let env = compose_agent_env(&self.env, &*agent, &[]);
            Some((choice.agent, agent.check(&env, self.project.root()).err()?))
        });
        let mut found: Vec<(String, AgentError)> = checked.collect();
        let mut known = HashSet::new();
        found.retain(|(agent, _)| known.insert(agent.clone()));
        found
    }

    /// Says whether the agents' programs are those of the sandbox.
    pub(super) fn brings_programs(&self) -> bool {
        self.sandboxes.named(&self.settings.sandbox).is_ok_and(|sandbox| sandbox.brings_programs())
    }

    /// Has the sandbox clear away what a run that was cut off left.
    pub(super) async fn begin_sandbox(&self) -> Result<(), RunError> {
        let (sandboxes, name) = (self.sandboxes.clone(), self.settings.sandbox.clone());
        blocking(move || Ok(sandboxes.find(&name)?.begin()?)).await?
    }

    /// Returns the commands that get workspaces ready; none for one loop that works in place.
    pub(super) fn setup_commands(&self) -> &[CheckCommand] {
        let parallel = &self.settings.parallel;
        let has_workspaces = parallel.jobs > 1 || self.workspace == WorkspaceKind::Clone;
        if has_workspaces { &parallel.setup } else { &[] }
    }

    /// Says how the run looks for tasks.
    pub(super) fn pilot(&self) -> Pilot {
        pilot_of(&self.settings.pilot, self.discovers_only)
    }

    /// Returns the words of the agent's command line, as far as they are known before
    /// a call.
    pub(super) fn agent_words(&self) -> Vec<String> {
        let words = self.agent.command_line();
        let configured = || self.settings.agent_command.iter().chain(&self.settings.agent_args).cloned();
        if words.is_empty() { configured().collect() } else { words }
    }
}

/// Checks that an agent can be called with settings of a project.
pub(super) fn check_agent(
    agent: &dyn Agent,
    env: &[(String, String)],
    project: &Project,
    settings: &MethodologySettings,
) -> Result<(), RunError> {
    let checked = agent.check(&compose_agent_env(env, agent, &[]), project.root());
    checked.map_err(|error| match agent_origin(project, agent.name(), settings) {
        Some(origin) => RunError::ConfiguredAgent { source: Box::new(error), location: origin.into() },
        None => error.into(),
    })
}

/// Puts an agent that cannot be made where samuel.toml has the setting behind it.
pub(super) fn placed(project: &Project, error: AgentError, key: &str) -> RunError {
    let key = format!("methodology.{}.{key}", project.methodology());
    match project.config().origin(&key) {
        Some(origin)
            if matches!(
                error,
                AgentError::Config { .. } | AgentError::NoModel { .. } | AgentError::OnlyConfigured { .. }
            ) =>
        {
            RunError::ConfiguredAgent { source: Box::new(error), location: origin.into() }
        }
        _ => error.into(),
    }
}

/// Returns where samuel.toml sets the agent that is used, or its command; nothing where
/// the caller gives it, or nobody does.
fn agent_origin(project: &Project, agent: &str, used: &MethodologySettings) -> Option<Origin> {
    let (config, configured) = (project.config(), project.settings());
    let origin = |key: &str| config.origin(&format!("methodology.{}.{key}", project.methodology()));
    if (configured.agent.as_str(), &configured.agent_command) != (agent, &used.agent_command) {
        return None;
    }
    origin("agent_command").or_else(|| origin("agent"))
}

/// Returns the files of the project that the command lines of agents name.
pub(super) fn agent_files(frozen: &Frozen, others: &[Arc<dyn Agent>]) -> Vec<PathBuf> {
    let mut files = named_files(frozen, frozen.agent.name(), &frozen.agent_words());
    for agent in others {
        files.extend(named_files(frozen, agent.name(), &agent.command_line()));
    }
    files
}

/// Returns the files of the project that the command line of an agent names.
pub(super) fn named_files(frozen: &Frozen, agent: &str, words: &[String]) -> Vec<PathBuf> {
    let root = frozen.project.root();
    match agent {
        // It has no program: what is named is the recording that it plays.
        "scripted" => in_words(words, root),
        _ => in_command_line(words, root),
    }
}
