//! What a run is told beside its handlers.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use pyo3::{
    Bound, FromPyObject, PyAny, PyErr, PyResult, Python,
    exceptions::{PyTypeError, PyValueError},
    pyfunction,
};
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest, Script},
    config::MethodologySettings,
    engine::{Run, RunBuilder},
    model::{TaskId, payload::AgentInvokeOutput},
    process::Supervisor,
    project::Project,
    sandbox::{Containers, Guest},
    text::described,
    workspace::UnknownWorkspace,
};

use crate::{convert::from_python_any_number, error::raise};

/// The options, as the facade gives them; what it leaves out is not set.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    #[pyo3(default)]
    agent: Option<String>,
    /// The script of a scripted agent, as JSON.
    #[pyo3(default)]
    script: Option<String>,
    /// The name of an agent that is written in Python.
    #[pyo3(default)]
    python_agent: Option<String>,
    /// What is given of `[methodology.<name>]`.
    settings: Bound<'py, PyAny>,
    pub(crate) env: Vec<(String, String)>,
    #[pyo3(default)]
    binary: Option<String>,
    #[pyo3(default)]
    session: Option<String>,
    /// The ids of the tasks that the run is for.
    #[pyo3(default)]
    tasks: Vec<String>,
    /// Whether the run does nothing but look for tasks.
    #[pyo3(default)]
    discover_only: bool,
    #[pyo3(default)]
    log_timings: bool,
    /// Where the run listens.
    #[pyo3(default)]
    socket_dir: Option<PathBuf>,
    /// The first process of containers, whose sockets are where the run listens.
    #[pyo3(default)]
    guest: Option<PathBuf>,
    /// The command by which an agent's own hooks ask the run; empty where there is none.
    #[pyo3(default)]
    bridge: Vec<String>,
    /// Where the agent and the checks work, in place of what samuel.toml says.
    #[pyo3(default)]
    workspace: Option<String>,
    /// The program and its arguments that supervise processes.
    supervisor: Vec<String>,
}

impl Options<'_> {
    /// Returns how processes are looked after.
    pub(crate) fn supervisor(&self) -> Supervisor {
        supervisor_of(&self.supervisor)
    }

    /// Begins to build a run.
    pub(crate) fn builder(self, py: Python<'_>, project: Project) -> PyResult<RunBuilder> {
        let mut settings = project.settings();
        let mut builder = Run::builder(project)
            .hook_files()
            .supervisor(self.supervisor())
            .env(self.env.iter().cloned())
            .tasks(self.tasks.iter().map(|id| TaskId::new(id.as_str())))
            .log_timings(self.log_timings);
        if self.discover_only {
            builder = builder.discover_only();
        }
        if let Some(script) = &self.script {
            builder = builder.script(Script::from_json(script).map_err(|error| refused(&error))?);
        } else if let Some(name) = &self.python_agent {
            builder = builder.agent(Arc::new(PythonAgent(name.clone())));
        }
        if let Some(binary) = &self.binary {
            builder = builder.binary(binary.clone());
        }
        if let Some(guest) = &self.guest {
            let needed = || {
                PyValueError::new_err("guest takes socket_dir as well: sandboxes have their sockets there")
            };
            let directory = self.socket_dir.as_ref().ok_or_else(needed)?;
            // What the program says comes before what its environment does.
            let env: Vec<(String, String)> =
                self.env.iter().filter(|(name, _)| name != "SAMUEL_GUEST").cloned().collect();
            let containers = Containers::of_env(&env, guest, directory);
            let first = Guest::new(containers.guest(), directory);
            builder = builder.containers(containers).guest(first);
        }
        if let Some(directory) = &self.socket_dir {
            builder = builder.socket_dir(directory).bridge(self.bridge.iter().cloned());
        }
        if let Some(name) = &self.workspace {
            builder = builder.workspace(name.parse().map_err(|error: UnknownWorkspace| refused(&error))?);
        }
        if let Some(session) = &self.session {
            builder = builder.session(session.clone());
        }
        settings.set(&read_settings(&self.settings)?).map_err(|error| raise(py, &error))?;
        let name = self.script.map(|_| "scripted".to_owned());
        settings.agent = name.or(self.python_agent).or(self.agent).unwrap_or(settings.agent);
        Ok(builder.settings(|current| *current = settings))
    }
}

/// Holds settings against their rules, as `Loop` takes them.
#[pyfunction]
pub(crate) fn check_settings(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<()> {
    MethodologySettings::default().set(&read_settings(given)?).map_err(|error| raise(py, &error))
}

/// Reads settings as samuel.toml would have them, also numbers that JSON lacks.
pub(crate) fn read_settings(given: &Bound<'_, PyAny>) -> PyResult<toml::Table> {
    from_python_any_number(given).map_err(|error| PyTypeError::new_err(error.to_string()))
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
    PyValueError::new_err(described(error))
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
