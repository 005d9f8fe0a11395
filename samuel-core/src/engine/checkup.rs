//! Whether a project can be run: what `samuel doctor` says.
//!
//! A [`Checkup`] looks at everything a run needs, finds fault with all of it at
//! once and changes nothing. Why a single handler runs or does not is in the
//! [`HookReport`](super::HookReport).

mod looks;
mod state;

use std::{error::Error, path::Path};

use serde::Serialize;

use super::{
    builder::RunBuilder,
    error::{RunError, described},
    run::Run,
    unheld_budget,
};
use crate::{
    config::{CONFIG_FILE, ConfigError, Problem},
    git::Caller,
    model::{Coded, Location, Remedy},
    plugin::PluginError,
    project::{Project, ProjectError},
    sandbox::OCI,
};
use looks::{
    OfRun, brought, chains, checks, configured, containment, engines, misconfigured, plugins, repository,
    trust,
};
use state::state;

/// Everything that was looked at, in a fixed order.
#[derive(Clone, Debug, Serialize)]
pub struct Checkup {
    /// What was found, one for each subject.
    pub findings: Vec<Finding>,
}

/// What was found of one subject.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub subject: Subject,
    /// How it stands.
    pub health: Health,
    /// What was found, one line.
    pub message: String,
    /// More of it, such as each problem of a file.
    pub details: Vec<String>,
    /// What to do next, where something is to be done.
    pub help: Option<Remedy>,
    /// The place in a file that it is about.
    pub location: Option<Location>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// samuel.toml and the methodology it names.
    Configuration,
    /// The plugins that samuel.toml lists.
    Plugins,
    /// The chains of all points.
    Hooks,
    /// The prompt templates of the project.
    Templates,
    /// The agent, its program and its sandbox.
    Agent,
    /// The engines that run containers, where the sandbox `oci` is chosen.
    Sandbox,
    /// The quality checks.
    Checks,
    /// Whether what a run would execute is trusted.
    Trust,
    /// git and the repository.
    Git,
    /// What holds the processes of a command.
    Processes,
    /// The plan, the journal and the progress log.
    State,
}

impl Subject {
    /// Returns the word that listings use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Plugins => "plugins",
            Self::Hooks => "hooks",
            Self::Templates => "templates",
            Self::Agent => "agent",
            Self::Sandbox => "sandbox",
            Self::Checks => "checks",
            Self::Trust => "trust",
            Self::Git => "git",
            Self::Processes => "processes",
            Self::State => "state",
        }
    }
}

/// How a subject stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// As it should be.
    Ok,
    /// A run starts, but somebody should know.
    Warning,
    /// A run does not start.
    Failed,
    /// Something before it failed, so that it could not be looked at.
    Skipped,
}

impl Health {
    /// Returns the word that listings use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl Checkup {
    /// Looks at the project at a root for somebody, as it was opened for them, or at
    /// why it cannot be. Blocks, starts no process but bubblewrap or an engine of containers where that is chosen, and writes nothing; a
    /// control group is made and removed to see whether that can be done.
    ///
    /// `env` is what runs get. `prepare` does to a run what is done before a
    /// start: it registers the handlers of the project's plugins, and others, and gives the
    /// [trust policy](RunBuilder::trust), which is asked as far as it asks nobody.
    pub fn of(
        root: &Path,
        caller: &Caller,
        opened: Result<Project, ProjectError>,
        env: &[(String, String)],
        prepare: impl FnOnce(&Project, RunBuilder) -> Result<RunBuilder, PluginError>,
    ) -> Self {
        let mut findings = Vec::new();
        match opened {
            Ok(project) if project.brings_no_methodology() => {
                findings.push(brought(&project));
                use Subject::{Agent, Checks, Hooks, Templates, Trust};
                let skipped =
                    |subject| Finding::skipped(subject, "the program that brings the methodology has a say");
                let prepared = prepare(&project, Run::builder(project.clone()).env(env.iter().cloned()));
                findings.push(plugins(&project, prepared.as_ref().err()));
                findings.extend([Hooks, Templates, Agent, Checks, Trust].map(skipped));
                findings.extend([repository(root, caller, env), containment(), state(&project, Vec::new())]);
            }
            Ok(project) => {
                findings.push(configured(&project));
                let plain = || Run::builder(project.clone()).env(env.iter().cloned());
                let prepared = prepare(&project, plain());
                let containers = prepared.as_ref().ok().and_then(|run| run.containers.clone());
                let builder = || match &containers {
                    Some(containers) => plain().containers(containers.clone()),
                    None => plain(),
                };
                findings.push(plugins(&project, prepared.as_ref().err()));
                let (of_chains, of_run) = match prepared {
                    Ok(builder) => chains(builder),
                    Err(_) => {
                        let ([_, templates], of_run) = chains(builder());
                        let hooks = Finding::skipped(Subject::Hooks, "the plugins cannot be used");
                        ([hooks, templates], OfRun { trust: None, ..of_run })
                    }
                };
                findings.extend(of_chains);
                let agent = match of_run.in_place_of_agent {
                    Some(handler) => {
                        Finding::ok(Subject::Agent, format!("{handler} answers in the agent's place"))
                    }
                    None => match of_run.refused {
                        Some(refused) => Finding::of_agent(Err(refused)),
                        None => Finding::of_agent(builder().check_agent())
                            .with_other_agents(of_run.other_agents, of_run.has_fallback)
                            .with_unheld(of_run.unheld),
                    },
                };
                findings.push(agent);
                if let Some(containers) = containers.as_ref().filter(|_| project.settings().sandbox == OCI) {
                    findings.push(engines(containers, env));
                }
                let repository = match of_run.unfit {
                    Some(error) => Finding::failed(Subject::Git, &error),
                    None => repository(root, caller, env),
                };
                findings.extend([
                    checks(&project, of_run.warnings),
                    trust(of_run.trust),
                    repository,
                    containment(),
                    state(&project, of_run.changes),
                ]);
            }
            Err(error) => {
                findings.push(misconfigured(&error));
                let why = match &error {
                    ProjectError::Owner(_) => "the project belongs to another user",
                    _ => "the configuration cannot be used",
                };
                use Subject::{Agent, Checks, Git, Hooks, Plugins, Processes, State, Templates, Trust};
                findings.extend(
                    [Plugins, Hooks, Templates, Agent, Checks, Trust, Git, Processes, State].map(|subject| {
                        match subject {
                            Git => repository(root, caller, env),
                            Processes => containment(),
                            _ => Finding::skipped(subject, why),
                        }
                    }),
                );
            }
        }
        Self { findings }
    }

    /// Says whether a run would start, as far as can be seen from here.
    pub fn is_healthy(&self) -> bool {
        self.failed() == 0
    }

    /// Counts the subjects that keep a run from starting.
    pub fn failed(&self) -> usize {
        self.findings.iter().filter(|finding| finding.health == Health::Failed).count()
    }
}

impl Finding {
    fn new(subject: Subject, health: Health, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { subject, health, message, details: Vec::new(), help: None, location: None }
    }

    fn ok(subject: Subject, message: impl Into<String>) -> Self {
        Self::new(subject, Health::Ok, message)
    }

    fn warning(subject: Subject, message: impl Into<String>, help: impl Into<Remedy>) -> Self {
        Self { help: Some(help.into()), ..Self::new(subject, Health::Warning, message) }
    }

    fn skipped(subject: Subject, why: &str) -> Self {
        Self::new(subject, Health::Skipped, why)
    }

    fn failed(subject: Subject, error: &(impl Coded + 'static)) -> Self {
        let (help, location) = (Some(error.help()), error.location());
        Self { help, location, ..Self::new(subject, Health::Failed, described(error as &dyn Error)) }
    }

    /// Gives each problem of samuel.toml a line of its own, where there are several.
    fn list_problems(&mut self, error: &ConfigError) {
        let problems = error.problems();
        if let [only] = problems {
            // Its place has a line of its own.
            self.message = only.to_string();
        }
        if let [_, _, ..] = problems {
            self.message = format!("{CONFIG_FILE} has {} problems", problems.len());
            let line = |problem: &Problem| problem.location.line.unwrap_or_default();
            let told = problems
                .iter()
                .map(|problem| format!("line {}: {problem}. {}", line(problem), problem.help().prose()));
            self.details = told.collect();
        }
    }

    /// Adds which agents of routes and fallbacks cannot be called. Where a fallback can, a run starts
    /// although the configured agent cannot be.
    fn with_other_agents(mut self, unstartable: Vec<String>, has_fallback: bool) -> Self {
        if self.health == Health::Failed && has_fallback {
            self.health = Health::Warning;
            self.message.push_str("; a fallback works in its place");
        }
        if !unstartable.is_empty() {
            let help = "Install them, or remove them from routes and fallback in samuel.toml.";
            if self.health == Health::Ok {
                self.health = Health::Warning;
            }
            self.help.get_or_insert_with(|| help.into());
            self.message.push_str("; others, of a route or a fallback, cannot be");
            self.details.extend(unstartable);
        }
        self
    }

    /// Adds which limits do not hold with agents of routes and fallbacks.
    fn with_unheld(mut self, unheld: Vec<String>) -> Self {
        if !unheld.is_empty() {
            if self.health == Health::Ok {
                self.health = Health::Warning;
            }
            self.help.get_or_insert_with(|| unheld_budget::HELP.into());
            self.details.extend(unheld);
        }
        self
    }

    fn of_agent(checked: Result<(String, Option<String>), RunError>) -> Self {
        match checked {
            Ok((message, None)) => Self::ok(Subject::Agent, message),
            Ok((message, Some(unheld))) => {
                Self::warning(Subject::Agent, format!("{message}, but {unheld}"), unheld_budget::HELP)
            }
            Err(error) => Self::failed(Subject::Agent, &error),
        }
    }
}
