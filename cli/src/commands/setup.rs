//! How a run is set up: samuel.toml, and over it the flags.

use std::sync::Arc;

use super::plugins;
use crate::{
    args::{Given, Global, PilotArgs, StartArgs},
    failure::Failure,
    host::Host,
};
use samuel_core::{
    agent::{Agent, AgentConfig, MutationRoute, Script, ScriptedAgent},
    config::MethodologySettings,
    engine::{HookValidation, Run, RunBuilder},
    model::{ErrorCode, TaskId},
    plugin::{Catalog, LoadOptions, PluginError},
    project::Project,
    sandbox::{Sandboxes, built_in},
};

/// What flags say of a run; nothing where samuel.toml decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    agent: Option<String>,
    agent_command: Option<Vec<String>>,
    /// Whether samuel.toml says which agent its `agent_command` is of.
    is_agent_configured: bool,
    sandbox: Option<String>,
    /// What takes the place of a setting as it is.
    given: Vec<Given>,
    tasks: Vec<TaskId>,
    session: Option<String>,
    log_timings: bool,
    /// Whether the flags have the run look for tasks, and whether it does nothing else.
    looks: bool,
    discover_only: bool,
}

impl Setting {
    /// Reads the flags of `start`.
    pub(crate) fn of(args: &StartArgs, project: &Project) -> Result<Self, Failure> {
        if let Some(name) = args.sandbox.as_deref() {
            Sandboxes::with(built_in())?.named(name)?;
        }
        let agent_command = match args.agent_command.as_slice() {
            [] => None,
            [line] => Some(split(line)?),
            words => Some(words.to_vec()),
        };
        let key = format!("methodology.{}.agent", project.methodology());
        let is_configured = project.config().origin(&key).is_some();
        let implied = (agent_command.is_some() && !is_configured).then(|| "command".to_owned());
        Ok(Self {
            agent: args.agent.clone().or(implied),
            agent_command,
            is_agent_configured: is_configured,
            sandbox: args.sandbox.clone(),
            given: args.limits.given(),
            tasks: args.tasks.clone(),
            session: args.session.clone(),
            log_timings: args.profile,
            looks: false,
            discover_only: false,
        })
    }

    /// Puts values in the place of settings.
    pub(crate) fn with(given: impl IntoIterator<Item = Given>) -> Self {
        Self { given: given.into_iter().collect(), ..Self::default() }
    }

    /// Has the run look for tasks.
    pub(crate) fn looking(mut self, args: &PilotArgs) -> Self {
        self.given.extend(args.discovery.given());
        Self { looks: true, discover_only: args.discover_only, ..self }
    }

    /// Says whether the flags have the run look for tasks.
    pub(crate) fn looks(&self) -> bool {
        self.looks
    }

    /// Returns whether flags may change what runs. `samuel trust` only covers what samuel.toml sets.
    pub(crate) fn changes_what_runs(&self) -> bool {
        let changes = |given: &Given| given.contains_key("model") || given.contains_key("parallel");
        let is_other_agent = self.agent.is_some() || self.agent_command.is_some();
        is_other_agent || self.sandbox.is_some() || self.given.iter().any(changes)
    }

    /// Puts the flags over what samuel.toml says.
    fn apply(&self, settings: &mut MethodologySettings) -> Result<(), Failure> {
        if let Some(agent) = self.agent.as_ref().filter(|agent| **agent != settings.agent) {
            settings.agent.clone_from(agent);
            // The command line in samuel.toml is that of another agent, unless it
            // is that of none: then it can only be meant for one that needs it.
            let needs_it = matches!(agent.as_str(), "command" | "scripted");
            if self.is_agent_configured || !needs_it {
                settings.agent_command.clear();
            }
        }
        if let Some(command) = &self.agent_command {
            settings.agent_command.clone_from(command);
        }
        if let Some(sandbox) = &self.sandbox {
            settings.sandbox.clone_from(sandbox);
        }
        self.given.iter().try_for_each(|given| settings.set(given)).map_err(|error| Failure::of(&error))
    }
}

/// Splits a command line as a shell does.
fn split(line: &str) -> Result<Vec<String>, Failure> {
    match shlex::split(line) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => {
            Err(Failure::usage("--agent-command is empty").advise("Give a program and its arguments."))
        }
        None => Err(Failure::usage(format!("--agent-command has an open quote: {line}"))
            .advise("Close the quote, or give the option once for each argument.")),
    }
}

/// Begins to build a run as this process runs it.
pub(crate) fn builder(project: Project, setting: &Setting, host: &Host) -> Result<RunBuilder, Failure> {
    let mut settings = project.settings();
    setting.apply(&mut settings)?;
    let configured = project.settings();
    if settings.agent == "command"
        && settings.agent_command.is_empty()
        && !configured.agent_command.is_empty()
    {
        return Err(no_command(project.methodology(), &configured.agent));
    }
    let scripted = match settings.agent.as_str() {
        "scripted" => Some(scripted(&project, &settings, host)?),
        _ => None,
    };
    let run = equip(project, host)?.settings(|frozen| *frozen = settings);
    let run = run.socket_dir(host.socket_dir()).bridge(host.bridge()?);
    let run = run.log_timings(setting.log_timings);
    let mut builder = run.tasks(setting.tasks.iter().cloned());
    if let Some(session) = &setting.session {
        builder = builder.session(session.clone());
    }
    if setting.discover_only {
        builder = builder.discover_only();
    }
    if let Some(agent) = scripted {
        builder = builder.agent(agent);
    }
    Ok(builder)
}

/// The failure of the agent `command` where samuel.toml has a command, but of
/// another agent.
fn no_command(methodology: &str, agent: &str) -> Failure {
    let message = format!(
        "the agent \"command\" has no command: agent_command in samuel.toml is that of the agent \"{agent}\""
    );
    let help = format!(
        "Give the command with --agent-command, or set agent = \"command\" and agent_command in \
         [methodology.{methodology}]."
    );
    Failure::new(ErrorCode::CONFIG_INVALID, message).advise(help)
}

/// Begins a run of a project with its plugins, its hook files and what it takes from this
/// process.
pub(super) fn equip(project: Project, host: &Host) -> Result<RunBuilder, Failure> {
    let plugins = plugins::load(&project, host)?;
    let run = Run::builder(project).register(|registry| plugins.register(registry)).hook_files();
    let run = run.containers(host.containers()).guest(host.guest()?);
    Ok(run.supervisor(host.supervisor()?).env(host.env.iter().cloned()).binary(host.command_for_agents()?))
}

/// Looks at the hooks of the project, also of one that cannot be opened.
pub(super) fn validation(global: &Global, host: &Host) -> Result<HookValidation, Failure> {
    let options = plugins::load_options(host)?;
    let root = host.root(global)?;
    Ok(HookValidation::of(&root, host.project_to_check(&root), &host.env, |project, run| {
        with_handlers(project, run, &options)
    }))
}

/// Gives a run that is only looked at the handlers of the project's plugins and hook files.
pub(super) fn with_handlers(
    project: &Project,
    run: RunBuilder,
    options: &LoadOptions,
) -> Result<RunBuilder, PluginError> {
    let plugins = Catalog::read(project.root(), project.config())?.load(options)?;
    Ok(run.register(|registry| plugins.register(registry)).hook_files())
}

/// Makes the scripted agent of a recording: the file that the agent's command
/// names, TOML or JSON.
fn scripted(
    project: &Project,
    settings: &MethodologySettings,
    host: &Host,
) -> Result<Arc<dyn Agent>, Failure> {
    let Some(file) = settings.agent_command.first() else {
        return Err(Failure::usage("the agent \"scripted\" has no script")
            .advise("Name the recording, a TOML or JSON file: --agent-command <FILE>."));
    };
    let script = Script::load(&project.root().join(file)).map_err(|error| Failure::of(&error))?;
    let config = AgentConfig {
        script: Some(script),
        clocks: settings.clocks.into(),
        clock: project.clock(),
        mutations: MutationRoute::Command(host.exe()?.to_owned()),
        ..AgentConfig::new("scripted")
    };
    let agent = ScriptedAgent::new(&config, host.supervisor()?);
    Ok(Arc::new(agent.map_err(|error| Failure::of(&error))?))
}
