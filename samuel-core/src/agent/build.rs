//! Making agents from configuration.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{Agent, AgentConfig, AgentError, ScriptedAgent, adapter, run::CliAgent, scripted};
use crate::process::Supervisor;

/// How alike two names must be for one to be suggested, from 0 to 1.
const LIKENESS: f64 = 0.7;

/// Returns the names that [`build`] knows, in the order of the documentation.
pub fn names() -> impl Iterator<Item = &'static str> {
    adapter::ALL.iter().map(|cli| cli.name).chain([scripted::NAME])
}

/// Makes the agent a configuration describes; nothing is started yet.
///
/// # Errors
/// Returns [`AgentError::Unknown`] with the nearest known name, or
/// [`AgentError::Config`] where the command or the script is missing.
pub fn build(config: &AgentConfig, supervisor: Supervisor) -> Result<Arc<dyn Agent>, AgentError> {
    if config.name == scripted::NAME {
        return Ok(Arc::new(ScriptedAgent::new(config, supervisor)?));
    }
    match adapter::ALL.iter().find(|cli| cli.name == config.name) {
        Some(cli) => Ok(Arc::new(CliAgent::new(cli, config, supervisor)?)),
        None => Err(AgentError::Unknown { name: config.name.clone(), suggestion: nearest(&config.name) }),
    }
}

/// The agents that a call can name: the configured one by its own name, and every
/// other as its adapter calls it where nothing is configured.
#[derive(Clone, Debug)]
pub struct Agents {
    configured: Arc<dyn Agent>,
    others: AgentConfig,
    supervisor: Supervisor,
    /// The others that were named, which know what was consumed in their conversations.
    built: Arc<Mutex<BTreeMap<String, Arc<dyn Agent>>>>,
}

impl Agents {
    /// Puts an agent beside those that are built when they are named; what they share
    /// with it, such as the clocks, is in their configuration.
    pub fn new(configured: Arc<dyn Agent>, others: AgentConfig, supervisor: Supervisor) -> Self {
        Self { configured, others, supervisor, built: Arc::default() }
    }

    /// Returns the configured one.
    pub fn configured(&self) -> &Arc<dyn Agent> {
        &self.configured
    }

    /// Finds an agent.
    ///
    /// # Errors
    /// Returns what [`build`] does.
    pub fn named(&self, name: &str) -> Result<Arc<dyn Agent>, AgentError> {
        if name == self.configured.name() {
            return Ok(Arc::clone(&self.configured));
        }
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = built.get(name) {
            return Ok(Arc::clone(agent));
        }
        let config = AgentConfig { name: name.to_owned(), ..self.others.clone() };
        let agent = build(&config, self.supervisor.clone())?;
        built.insert(name.to_owned(), Arc::clone(&agent));
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
    fn every_name_makes_an_agent_of_that_name() {
        for name in names() {
            let config = AgentConfig {
                command: vec!["x".into()],
                script: Some(crate::agent::Script::default()),
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
