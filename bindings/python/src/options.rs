//! What a run is told beside its handlers.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use pyo3::{PyErr, PyResult, Python, exceptions::PyValueError};
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest, Script},
    config::{CheckCommand, MethodologySettings, RateLimitPolicy, Sandbox},
    engine::{Run, RunBuilder},
    model::payload::AgentInvokeOutput,
    process::Supervisor,
};
use serde::Deserialize;

use crate::{error::raise, project::PyProject};

/// The options, as the facade gives them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    agent: Option<String>,
    agent_command: Option<Vec<String>>,
    agent_args: Option<Vec<String>>,
    /// The script of a scripted agent, as JSON.
    script: Option<String>,
    /// The name of an agent that is written in Python.
    python_agent: Option<String>,
    max_iterations: Option<u32>,
    pause: Option<f64>,
    max_consecutive_failures: Option<u32>,
    quality_checks: Option<Vec<Check>>,
    keep_runs: Option<u32>,
    keep_bytes: Option<u64>,
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
    max_wall_time: Option<f64>,
    rate_limit: Option<String>,
    rate_limit_wait: Option<f64>,
    sandbox: Option<String>,
    pilot: Option<bool>,
    pub(crate) env: Vec<(String, String)>,
    binary: Option<String>,
    session: Option<String>,
    log_timings: bool,
    /// The program and its arguments that supervise processes.
    supervisor: Vec<String>,
}

/// A quality check: a command, with its timeout in seconds.
#[derive(Debug, Deserialize)]
struct Check {
    command: String,
    timeout: Option<f64>,
}

impl Options {
    /// Returns how processes are looked after.
    pub(crate) fn supervisor(&self) -> Supervisor {
        supervisor_of(&self.supervisor)
    }

    /// Begins to build a run.
    pub(crate) fn builder(self, py: Python<'_>, project: &PyProject) -> PyResult<RunBuilder> {
        let project = project.0.clone();
        let sandbox = self.sandbox.as_deref().map(Sandbox::parse).transpose();
        let sandbox = sandbox.map_err(|error| raise(py, &error))?;
        let mut builder = Run::builder(project.clone())
            .supervisor(self.supervisor())
            .env(self.env.iter().cloned())
            .log_timings(self.log_timings);
        if let Some(script) = &self.script {
            builder = builder.script(Script::from_json(script).map_err(|error| refused(&error))?);
        } else if let Some(name) = &self.python_agent {
            builder = builder.agent(Arc::new(PythonAgent(name.clone())));
        }
        if let Some(binary) = &self.binary {
            builder = builder.binary(binary.clone());
        }
        if let Some(session) = &self.session {
            builder = builder.session(session.clone());
        }
        let mut settings = project.settings();
        self.apply(&mut settings)?;
        settings.sandbox = sandbox.unwrap_or(settings.sandbox);
        Ok(builder.settings(|current| *current = settings))
    }

    fn apply(self, settings: &mut MethodologySettings) -> PyResult<()> {
        let seconds = |value: f64| Duration::try_from_secs_f64(value).map_err(|error| refused(&error));
        let name = self.script.as_ref().map(|_| "scripted".to_owned());
        settings.agent =
            name.or(self.python_agent).or(self.agent).unwrap_or(std::mem::take(&mut settings.agent));
        replace(&mut settings.agent_command, self.agent_command);
        replace(&mut settings.agent_args, self.agent_args);
        replace(&mut settings.max_iterations, self.max_iterations);
        replace(&mut settings.max_consecutive_failures, self.max_consecutive_failures);
        replace(&mut settings.pause, self.pause.map(seconds).transpose()?);
        if let Some(name) = &self.rate_limit {
            let known = RateLimitPolicy::NAMES.iter().find(|(known, _)| known == name);
            let unknown = || PyValueError::new_err(format!("rate_limit is wait or stop, not {name}"));
            settings.rate_limit = known.ok_or_else(unknown)?.1;
        }
        replace(&mut settings.rate_limit_wait, self.rate_limit_wait.map(seconds).transpose()?);
        replace(&mut settings.pilot.enabled, self.pilot);
        replace(&mut settings.keep_runs, self.keep_runs);
        replace(&mut settings.keep_bytes, self.keep_bytes);
        if let Some(checks) = self.quality_checks {
            let check = |check: Check| -> PyResult<CheckCommand> {
                let timeout = check.timeout.map(seconds).transpose()?.unwrap_or(CheckCommand::TIMEOUT);
                Ok(CheckCommand { command: check.command, timeout })
            };
            settings.quality_checks = checks.into_iter().map(check).collect::<PyResult<_>>()?;
        }
        let budget = &mut settings.session_budget;
        budget.max_cost_usd = self.max_cost_usd.or(budget.max_cost_usd);
        budget.max_tokens = self.max_tokens.or(budget.max_tokens);
        budget.max_wall_time = self.max_wall_time.map(seconds).transpose()?.or(budget.max_wall_time);
        Ok(())
    }
}

/// Reads the program and the arguments that supervise processes; without one
/// they are looked after as groups only.
pub(crate) fn supervisor_of(command: &[String]) -> Supervisor {
    match command.split_first() {
        Some((program, args)) => {
            Supervisor::SelfExec { program: program.into(), args: args.iter().map(Into::into).collect() }
        }
        None => Supervisor::GroupOnly,
    }
}

fn refused(error: &(dyn std::error::Error + 'static)) -> PyErr {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    PyValueError::new_err(format!("{error}{cause}"))
}

fn replace<T>(current: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *current = given;
    }
}

/// Stands for an agent that is written in Python, which is a handler of
/// `agent.invoke`: that one is called in its place.
#[derive(Debug)]
struct PythonAgent(String);

#[async_trait]
impl Agent for PythonAgent {
    fn name(&self) -> &str {
        &self.0
    }

    async fn invoke(&self, _: AgentRequest, _: &dyn AgentPort) -> Result<AgentInvokeOutput, AgentError> {
        Err(AgentError::Config {
            agent: self.0.clone(),
            problem: "samuel.toml leaves the handler of agent.invoke out that this agent is".to_owned(),
        })
    }
}
