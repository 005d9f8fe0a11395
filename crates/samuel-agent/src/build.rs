//! Making agents from configuration.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use samuel_process::Supervisor;

use super::{Agent, AgentConfig, AgentError, Choice, ScriptedAgent, adapter, run::CliAgent, scripted};

/// The agents that run what the configuration names, and nothing without it.
const ONLY_CONFIGURED: [&str; 2] = ["command", scripted::NAME];

/// How alike two names must be for one to be suggested, from 0 to 1.
const LIKENESS: f64 = 0.7;

/// Returns the names that [`build`] knows, in the order of the documentation.
pub fn names() -> impl Iterator<Item = &'static str> {
    adapter::ALL.iter().map(|cli| cli.name).chain([scripted::NAME])
}

/// Returns the names of those that take the name of a model.
pub(super) fn taking_a_model() -> impl Iterator<Item = &'static str> {
    adapter::ALL.iter().filter(|cli| cli.model_flag.is_some()).map(|cli| cli.name)
}

/// Makes the agent a configuration describes; nothing is started yet.
///
/// # Errors
/// Returns [`AgentError::Unknown`] with the nearest known name, or
/// [`AgentError::Config`] where the command or the script is missing, or
/// [`AgentError::NoModel`] where the agent takes no model.
pub fn build(config: &AgentConfig, supervisor: Supervisor) -> Result<Arc<dyn Agent>, AgentError> {
    if let Some(model) = &config.model {
        let takes_one = taking_a_model().any(|name| name == config.name);
        if names().any(|name| name == config.name) && !takes_one {
            return Err(AgentError::NoModel { agent: config.name.clone(), model: model.clone() });
        }
    }
    if config.name == scripted::NAME {
        return Ok(Arc::new(ScriptedAgent::new(config, supervisor)?));
    }
    match adapter::ALL.iter().find(|cli| cli.name == config.name) {
        Some(cli) => Ok(Arc::new(CliAgent::new(cli, config, supervisor)?)),
        None => Err(AgentError::Unknown { name: config.name.clone(), suggestion: nearest(&config.name) }),
    }
}

/// The agents that a call can have: the configured one by its own name, and every
/// other as its adapter calls it where nothing is configured.
#[derive(Clone, Debug)]
pub struct Agents {
    configured: Arc<dyn Agent>,
    /// What the configured one is built from, where it is built and not brought.
    config: Option<AgentConfig>,
    others: AgentConfig,
    supervisor: Supervisor,
    /// Those that were asked for beside it, which know what was consumed in their conversations.
    built: Arc<Mutex<Built>>,
}

/// Agents by name, model and arguments.
type Built = BTreeMap<(String, Option<String>, Vec<String>), Arc<dyn Agent>>;

impl Agents {
    /// Puts an agent beside those that are built when they are named; what they share
    /// with it, such as the clocks, is in their configuration.
    pub fn new(configured: Arc<dyn Agent>, others: AgentConfig, supervisor: Supervisor) -> Self {
        Self { configured, config: None, others, supervisor, built: Arc::default() }
    }

    /// Says what the configured one was built from, so that a call can have it with a model and
    /// arguments.
    #[must_use]
    pub fn built_from(mut self, config: Option<AgentConfig>) -> Self {
        self.config = config;
        self
    }

    /// Returns the configured one.
    pub fn configured(&self) -> &Arc<dyn Agent> {
        &self.configured
    }

    /// Finds an agent.
    ///
    /// # Errors
    /// Returns what [`build`] does, and [`AgentError::OnlyConfigured`] for one that runs what is
    /// configured, and is not.
    pub fn named(&self, name: &str) -> Result<Arc<dyn Agent>, AgentError> {
        self.with(name, None, &[])
    }

    /// Finds the agent of a call, with its model and arguments.
    ///
    /// # Errors
    /// Returns what [`build`] does, and [`AgentError::Config`] where it takes no model or no
    /// arguments.
    pub fn chosen(&self, choice: &Choice) -> Result<Arc<dyn Agent>, AgentError> {
        self.with(&choice.agent, choice.model.as_deref(), &choice.args)
    }

    fn with(&self, name: &str, model: Option<&str>, args: &[String]) -> Result<Arc<dyn Agent>, AgentError> {
        let is_configured = name == self.configured.name();
        let config = self.config.as_ref().filter(|_| is_configured);
        let has_model = config.is_some_and(|config| config.model.as_deref() == model);
        if is_configured && args.is_empty() && (model.is_none() || has_model) {
            return Ok(Arc::clone(&self.configured));
        }
        if is_configured && config.is_none() {
            let problem = match names().any(|known| known == name) {
                true => "it takes no model and no arguments, as a route or an option gave",
                false => "it is one that the program brings, which takes no model and no arguments",
            };
            let problem = problem.to_owned();
            return Err(AgentError::Config { agent: name.to_owned(), problem });
        }
        if !is_configured && ONLY_CONFIGURED.contains(&name) {
            return Err(AgentError::OnlyConfigured { agent: name.to_owned() });
        }
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (name.to_owned(), model.map(str::to_owned), args.to_vec());
        if let Some(agent) = built.get(&key) {
            return Ok(Arc::clone(agent));
        }
        let mut config = config.unwrap_or(&self.others).clone();
        name.clone_into(&mut config.name);
        config.model = model.map(str::to_owned);
        config.args.extend_from_slice(args);
        let agent = build(&config, self.supervisor.clone())?;
        built.insert(key, Arc::clone(&agent));
        Ok(agent)
    }
}

fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let alike = |known: &'static str| (strsim::jaro_winkler(&name, known), known);
    let best = names().map(alike).max_by(|(left, _), (right, _)| left.total_cmp(right));
    best.filter(|(likeness, _)| *likeness >= LIKENESS).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::path::Path;

    use super::*;

    fn error(config: &AgentConfig) -> AgentError {
        build(config, Supervisor::GroupOnly).unwrap_err()
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest_one() {
        for (name, expected) in [("cluade", Some("claude")), ("Codex", Some("codex")), ("zzz", None)] {
            assert!(
                matches!(error(&AgentConfig::new(name)), AgentError::Unknown { suggestion, .. } if suggestion == expected),
                "{name}"
            );
        }
    }

    #[test]
    fn a_command_or_script_that_is_missing_is_an_error_before_anything_runs() {
        for name in ["command", "scripted"] {
            assert!(matches!(error(&AgentConfig::new(name)), AgentError::Config { .. }), "{name}");
        }
    }

    #[test]
    fn a_model_becomes_the_option_of_the_agent_or_is_refused() {
        for name in names() {
            let config = AgentConfig {
                command: vec!["x".into()],
                script: Some(crate::Script::default()),
                model: Some("--m".to_owned()),
                ..AgentConfig::new(name)
            };
            let built = build(&config, Supervisor::GroupOnly);
            if let "kiro" | "command" | "scripted" = name {
                let refused = built.unwrap_err().to_string();
                assert!(refused.contains("takes no model; leave out \"--m\""), "{refused}");
                continue;
            }
            let words = built.unwrap().command_line();
            assert_eq!(words.iter().filter(|word| *word == "--model=--m").count(), 1, "{name} {words:?}");
        }
    }

    #[test]
    fn the_agent_of_a_call_has_its_model_and_arguments_and_the_command_that_is_configured() {
        let of_claude = AgentConfig { command: vec!["my-claude".to_owned()], ..AgentConfig::new("claude") };
        let claude = build(&of_claude, Supervisor::GroupOnly).unwrap();
        let agents = Agents::new(Arc::clone(&claude), AgentConfig::new("claude"), Supervisor::GroupOnly);
        let choice = |agent: &str, model: Option<&str>, args: &[&str]| Choice {
            agent: agent.to_owned(),
            model: model.map(str::to_owned),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..Choice::default()
        };
        let brought = agents.chosen(&choice("claude", Some("opus"), &[])).unwrap_err().to_string();
        assert!(brought.contains("takes no model and no arguments"), "{brought}");
        let agents = agents.built_from(Some(of_claude));
        let words = agents.chosen(&choice("claude", Some("opus"), &["--x"])).unwrap().command_line();
        assert_eq!(words.first().map(String::as_str), Some("my-claude"));
        assert!(words.ends_with(&["--model=opus".to_owned(), "--x".to_owned()]), "{words:?}");
        assert!(Arc::ptr_eq(&agents.chosen(&choice("claude", None, &[])).unwrap(), &claude));
        let codex = choice("codex", None, &["--y"]);
        assert!(Arc::ptr_eq(&agents.chosen(&codex).unwrap(), &agents.chosen(&codex).unwrap()));
        assert!(agents.chosen(&codex).unwrap().command_line().starts_with(&["codex".to_owned()]));
    }

    #[test]
    fn every_name_makes_an_agent_of_that_name() {
        for name in names() {
            let config = AgentConfig {
                command: vec!["x".into()],
                script: Some(crate::Script::default()),
                ..AgentConfig::new(name)
            };
            assert_eq!(build(&config, Supervisor::GroupOnly).unwrap().name(), name);
        }
    }

    #[test]
    fn a_program_that_is_missing_is_found_out_by_the_check() {
        let env = vec![("PATH".to_owned(), "/nowhere".to_owned())];
        let agent = build(&AgentConfig::new("claude"), Supervisor::GroupOnly).unwrap();
        assert!(
            matches!(agent.check(&env, Path::new("/")), Err(AgentError::NotFound { program, .. }) if program == "claude")
        );
        let config = AgentConfig { command: vec!["/bin/sh".into()], ..AgentConfig::new("claude") };
        assert!(build(&config, Supervisor::GroupOnly).unwrap().check(&env, Path::new("/")).is_ok());
    }
}
