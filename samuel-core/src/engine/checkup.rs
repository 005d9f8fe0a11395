//! Whether a project can be run: what `samuel doctor` says.
//!
//! A [`Checkup`] looks at everything a run needs, finds fault with all of it at
//! once and changes nothing. Why a single handler runs or does not is in the
//! [`HookReport`](super::HookReport).

use std::{error::Error, path::Path};

use serde::Serialize;

use super::{
    begin::has_run,
    builder::RunBuilder,
    error::{RunError, described},
    executables::Executables,
    run::Run,
    unheld_budget,
};
use crate::{
    config::{CONFIG_FILE, ConfigError, Problem},
    git::{Caller, GitError, Head, Repository},
    hook::HookPoint,
    model::{Coded, Location},
    plugin::PluginError,
    process::{Containment, find_program, strongest_containment},
    project::{Project, ProjectError},
    state::{KeptCheckpoint, LoopLock, Severity, StateError, StateStore, validate},
    text::counted,
};

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
    pub help: Option<String>,
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
    /// The quality checks.
    Checks,
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
            Self::Checks => "checks",
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
    /// why it cannot be. Blocks, starts no process and writes nothing; a
    /// control group is made and removed to see whether that can be done.
    ///
    /// `env` is what runs get. `prepare` does to a run what is done before a
    /// start: it registers the handlers of the project's plugins, and others.
    pub fn of(
        root: &Path,
        caller: &Caller,
        opened: Result<Project, ProjectError>,
        env: &[(String, String)],
        prepare: impl FnOnce(&Project, RunBuilder) -> Result<RunBuilder, PluginError>,
    ) -> Self {
        let mut findings = Vec::new();
        match opened {
            Ok(project) => {
                findings.push(configured(&project));
                let builder = || Run::builder(project.clone()).env(env.iter().cloned());
                let agent = Finding::of_agent(builder().check_agent());
                let prepared = prepare(&project, builder());
                findings.push(plugins(&project, prepared.as_ref().err()));
                let (of_run, control_files) = match prepared {
                    Ok(builder) => chains(builder),
                    Err(_) => {
                        let ([_, templates], control_files) = chains(builder());
                        let hooks = Finding::skipped(Subject::Hooks, "the plugins cannot be used");
                        ([hooks, templates], control_files)
                    }
                };
                findings.extend(of_run);
                findings.extend([
                    agent,
                    checks(&project, control_files.warnings),
                    repository(root, caller, env),
                    containment(),
                    state(&project, control_files.changes),
                ]);
            }
            Err(error) => {
                findings.push(misconfigured(&error));
                let why = match &error {
                    ProjectError::Owner(_) => "the project belongs to another user",
                    _ => "the configuration cannot be used",
                };
                use Subject::{Agent, Checks, Git, Hooks, Plugins, Processes, State, Templates};
                findings.extend([Plugins, Hooks, Templates, Agent, Checks, Git, Processes, State].map(
                    |subject| match subject {
                        Git => repository(root, caller, env),
                        Processes => containment(),
                        _ => Finding::skipped(subject, why),
                    },
                ));
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

    fn warning(subject: Subject, message: impl Into<String>, help: &str) -> Self {
        Self { help: Some(help.to_owned()), ..Self::new(subject, Health::Warning, message) }
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
        if let [_, _, ..] = problems {
            self.message = format!("{CONFIG_FILE} has {} problems", problems.len());
            let line = |problem: &Problem| problem.location.line.unwrap_or_default();
            let told = problems
                .iter()
                .map(|problem| format!("line {}: {problem}. {}", line(problem), problem.help()));
            self.details = told.collect();
        }
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

fn configured(project: &Project) -> Finding {
    let methodology = project.methodology();
    Finding::ok(
        Subject::Configuration,
        match project.root().join(CONFIG_FILE).exists() {
            true => format!("{CONFIG_FILE} is valid; the methodology is {methodology}"),
            false => format!("there is no {CONFIG_FILE}, so the defaults of {methodology} apply"),
        },
    )
}

/// Lists every problem of samuel.toml, since one look should be enough.
fn misconfigured(error: &ProjectError) -> Finding {
    if let ProjectError::Owner(_) = error {
        return Finding::skipped(Subject::Configuration, "the project belongs to another user");
    }
    let mut finding = Finding::failed(Subject::Configuration, error);
    if let ProjectError::Config(error) = error {
        finding.list_problems(error);
    }
    finding
}

/// Says how the plugins stand; what is wrong with one was found when its
/// handlers were registered.
fn plugins(project: &Project, error: Option<&PluginError>) -> Finding {
    let Some(error) = error else {
        let names: Vec<&str> = project.config().plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        return Finding::ok(
            Subject::Plugins,
            match names.is_empty() {
                true => "none are installed".to_owned(),
                false => format!("{} as installed", names.join(", ")),
            },
        );
    };
    let details = match error {
        PluginError::Changed { changes, .. } => changes.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    Finding { details, ..Finding::failed(Subject::Plugins, error) }
}

/// What is to be said of control files.
#[derive(Default)]
struct OfControlFiles {
    /// Those that the last run left changed.
    changes: Vec<String>,
    /// What a start warns of.
    warnings: Vec<String>,
}

/// Looks at the chains and the templates, which are loaded together.
/// Returns with them what is to be said of control files.
fn chains(builder: RunBuilder) -> ([Finding; 2], OfControlFiles) {
    use Subject::{Hooks, Templates};
    let mut run = match builder.build_idle() {
        Ok(run) => run,
        Err(error @ RunError::Template(_)) => {
            let of_hooks = Finding::skipped(Hooks, "the templates cannot be used");
            return ([of_hooks, Finding::failed(Templates, &error)], OfControlFiles::default());
        }
        Err(error) => {
            let of_templates = Finding::ok(Templates, "the project's templates can be used");
            let mut of_hooks = Finding::failed(Hooks, &error);
            if let RunError::Config(error) = &error {
                of_hooks.list_problems(error);
            }
            return ([of_hooks, of_templates], OfControlFiles::default());
        }
    };
    let registry = run.registry();
    let points = HookPoint::ALL.iter().filter(|point| registry.has_handlers(**point));
    let handlers: usize = HookPoint::ALL.iter().map(|point| registry.handlers(*point).count()).sum();
    let message = format!("{} at {}", counted(handlers, "handler"), counted(points.count(), "point"));
    let details: Vec<String> = registry.warnings().map(str::to_owned).collect();
    let hooks = match details.is_empty() {
        true => Finding::ok(Hooks, message),
        false => {
            let help = "See every chain with `samuel doctor --hooks`.";
            Finding { details, ..Finding::warning(Hooks, message, help) }
        }
    };
    let templates = match run.own_templates() {
        0 => Finding::ok(Templates, "the built-in templates are used"),
        own => Finding::ok(
            Templates,
            format!("{} of the project in place of built-in ones", counted(own, "template")),
        ),
    };
    // State that cannot be read is found fault with on its own.
    let changes = run.executables().map(Executables::change_lines).unwrap_or_default();
    ([hooks, templates], OfControlFiles { changes, warnings: run.warnings_of_checks() })
}

fn checks(project: &Project, warnings: Vec<String>) -> Finding {
    let checks = project.settings().quality_checks;
    match checks.len() {
        0 => Finding::warning(
            Subject::Checks,
            "no quality checks are configured, so what an agent calls done is done",
            "Set quality_checks in samuel.toml, such as [\"cargo test\"].",
        ),
        _ => {
            let commands: Vec<&str> = checks.iter().map(|check| check.command.as_str()).collect();
            let health = if warnings.is_empty() { Health::Ok } else { Health::Warning };
            Finding { details: warnings, ..Finding::new(Subject::Checks, health, commands.join(", ")) }
        }
    }
}

/// Says what holds the processes of a command, and why nothing better does. None of
/// it is a fault: the supervisor works everywhere.
fn containment() -> Finding {
    let subject = Subject::Processes;
    match strongest_containment() {
        (Containment::Cgroup, _) => Finding::ok(subject, "each command runs in a control group of its own"),
        (Containment::Mark, why) => {
            let why = why.map(|error| format!("no control group can be made: {error}"));
            Finding {
                details: why.into_iter().collect(),
                ..Finding::ok(
                    subject,
                    "a supervisor and a mark in the environment keep track of each command",
                )
            }
        }
        _ => Finding::ok(subject, "only its process group keeps track of each command"),
    }
}

/// Looks at the repository, and for git, with which agents commit.
fn repository(root: &Path, caller: &Caller, env: &[(String, String)]) -> Finding {
    let opened = Repository::open(root, caller).and_then(|repository| {
        repository.iter().try_for_each(Repository::check)?;
        repository.map(|repository| repository.head()).transpose()
    });
    let on = match opened {
        Ok(Some(Head::Branch { name, .. })) => format!("a repository on branch {name}"),
        Ok(Some(Head::Detached(_))) => "a repository without a branch checked out".to_owned(),
        Ok(None) => {
            return Finding::warning(
                Subject::Git,
                "the project is not in a git repository, so nothing an agent does can be undone",
                "Run `git init` and commit what there is.",
            );
        }
        Err(GitError::Owner(error)) => return Finding::failed(Subject::Git, &error),
        Err(error) => {
            let message = format!("{}; prompts lack what it knows", described(&error));
            return Finding::warning(Subject::Git, message, &error.help());
        }
    };
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
    match find_program("git", path, root) {
        Some(_) => Finding::ok(Subject::Git, on),
        None => Finding::warning(
            Subject::Git,
            format!("{on}, but git was not found, so agents cannot commit"),
            "Install git, or add its directory to PATH.",
        ),
    }
}

fn state(project: &Project, changes: Vec<String>) -> Finding {
    match read_state(project) {
        Ok(finding) if finding.health == Health::Ok && !changes.is_empty() => {
            let message =
                format!("{}; the last run left control files changed, so a start asks", finding.message);
            let help =
                "Undo the changes, or go on with `samuel run start --accept`, which shows them and asks.";
            Finding { details: changes, ..Finding::warning(Subject::State, message, help) }
        }
        Ok(finding) if finding.health == Health::Ok => match project.cannot_keep_plans() {
            Some(reason) => Finding::warning(
                Subject::State,
                format!("{}; {reason}", finding.message),
                "Set HOME, or name a directory that can be written to with SAMUEL_STATE_DIR.",
            ),
            None => finding,
        },
        Ok(finding) => finding,
        Err(StateError::NotInitialised { .. }) => {
            let make = "Make one with `samuel run init --prd <path>`.";
            match project.store().kept_instead() {
                Some(kept) => {
                    Finding::warning(Subject::State, "there is no plan any more", &format!("{kept} {make}"))
                }
                None => Finding::warning(Subject::State, "there is no plan yet", make),
            }
        }
        Err(error) => {
            let is_of_plan = error.location().is_some_and(|found| found.file == project.run_dir().prd());
            let kept = if is_of_plan { project.store().kept_instead() } else { None };
            let failed = Finding::failed(Subject::State, &error);
            let help = kept.into_iter().chain(failed.help).collect::<Vec<_>>().join(" ");
            Finding { help: Some(help), ..failed }
        }
    }
}

/// What is said of a plan that a loop worked on, and of which the journal tells nothing.
const JOURNAL_LOST: &str = "a loop worked on this plan before, but its journal is gone or cannot be read";

/// How many faults of a plan's tasks are named; the others are counted.
const MAX_DETAILS: usize = 100;

/// Reads everything a start would read.
fn read_state(project: &Project) -> Result<Finding, StateError> {
    let (store, run_dir) = (project.store(), project.run_dir());
    let loaded = store.load()?;
    let is_kept = matches!(store.kept_checkpoint()?, KeptCheckpoint::Next(_) | KeptCheckpoint::Beside(_));
    let is_told = is_kept || store.last_checkpoint()?.is_some();
    store.progress()?;
    let running = LoopLock::holder(&run_dir)?.is_some();
    let writable = rustix::fs::access(run_dir.path(), rustix::fs::Access::WRITE_OK);
    if let Err(error) = writable {
        return Err(StateError::Io {
            action: "write to",
            path: run_dir.path().to_owned(),
            source: error.into(),
        });
    }
    let faults = loaded.diagnostics.iter().map(ToString::to_string);
    let findings = validate(&loaded.plan);
    let mut details: Vec<String> = faults.collect();
    details.extend(findings.iter().take(MAX_DETAILS).map(ToString::to_string));
    if findings.len() > MAX_DETAILS {
        details.push(format!("and {} more", findings.len() - MAX_DETAILS));
    }
    let suffix = if running { "; a loop is running" } else { "" };
    let message = format!("a plan of {}{suffix}", counted(loaded.plan.tasks.len(), "task"));
    Ok(match details.is_empty() && loaded.unparsed.is_empty() {
        true if !is_told && !running && has_run(&loaded.plan) => Finding::warning(
            Subject::State,
            format!("{message}; {JOURNAL_LOST}"),
            "Look at what is completed with `samuel run tasks`: a start begins a new run, in which that stands as it is written.",
        ),
        true => Finding::ok(Subject::State, message),
        false => {
            let unread = loaded.unread_lines();
            let mut message = match unread {
                0 => message,
                _ => format!(
                    "{message}; {} of it cannot be read, and nothing of that is lost",
                    counted(unread, "line")
                ),
            };
            for gap in loaded.gaps(&run_dir.prd()) {
                message = format!("{message}; {}", gap.reason);
            }
            let stops = findings.iter().any(|finding| finding.severity() == Severity::Error);
            let help = match loaded.diagnostics.is_empty() && loaded.unparsed.is_empty() {
                true if stops => {
                    "Correct the tasks named above in prd.toon, or remove their rows and count the others in its header."
                }
                true => "Change the tasks named above in prd.toon, or leave them out with `samuel run skip`.",
                false => {
                    "Correct prd.toon at the places named above, or run `samuel doctor --fix`, which shows how it would repair it and asks first."
                }
            };
            let health = if stops { Health::Failed } else { Health::Warning };
            Finding { health, details, ..Finding::warning(Subject::State, message, help) }
        }
    })
}
