//! How everything but the state of a project stands.

use std::path::Path;

use super::{Finding, Health, Subject};
use crate::{
    config::CONFIG_FILE,
    engine::{
        builder::RunBuilder,
        error::{RunError, described},
        run::in_place_of_agent,
        start_warning::{AgentWorks, StartWarning, uncommitted},
    },
    git::{Caller, GitError, Head, Repository},
    hook::HookPoint,
    methodology::StaleTemplate,
    model::{Coded as _, Remedy},
    plugin::PluginError,
    process::{Containment, find_program, strongest_containment},
    project::{Project, ProjectError},
    sandbox::Containers,
    text::counted,
    trust::{Difference, Executables, TrustRefusal},
};

pub(super) fn configured(project: &Project) -> Finding {
    let methodology = project.methodology();
    Finding::ok(
        Subject::Configuration,
        match project.root().join(CONFIG_FILE).exists() {
            true => format!("{CONFIG_FILE} is valid; the methodology is {methodology}"),
            false => format!("there is no {CONFIG_FILE}, so the defaults of {methodology} apply"),
        },
    )
}

/// Says that the methodology is not here.
pub(super) fn brought(project: &Project) -> Finding {
    let methodology = project.methodology();
    let message = format!(
        "the methodology is {methodology}, which is neither built in nor of an installed plugin; only a program \
         that brings it can run a loop"
    );
    let help = Remedy::ListMethodologies.after(
        "Run the loop by that program. If there is none, correct the name in samuel.toml or install its plugin.",
    );
    Finding { help: Some(help), ..Finding::new(Subject::Configuration, Health::Failed, message) }
}

/// Lists every problem of samuel.toml, since one look should be enough.
pub(super) fn misconfigured(error: &ProjectError) -> Finding {
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
pub(super) fn plugins(project: &Project, error: Option<&PluginError>) -> Finding {
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

/// What a run that was put together says of other subjects.
#[derive(Default)]
pub(super) struct OfRun {
    /// The handler that answers in the agent's place, if one does.
    pub(super) in_place_of_agent: Option<String>,
    /// The agents of routes and fallbacks that cannot be called, and why, one line each.
    pub(super) other_agents: Vec<String>,
    /// Which limits do not hold with one of them, one line each.
    pub(super) unheld: Vec<String>,
    /// Why a start refuses an agent that a route or a fallback names, if it does.
    pub(super) refused: Option<RunError>,
    /// Whether a fallback can be called.
    pub(super) has_fallback: bool,
    /// The control files that the last run left changed.
    pub(super) changes: Vec<String>,
    /// What a start warns of in the quality checks.
    pub(super) warnings: Vec<String>,
    /// Whether what it would execute is trusted, where that is known.
    pub(super) trust: Option<Result<(), Box<TrustRefusal>>>,
    /// Why neither workers nor a clone can work on the repository, if the run is to have them.
    pub(super) unfit: Option<RunError>,
}

/// Looks at the chains and the templates, which are loaded together.
/// Returns with them what the run says of other subjects.
pub(super) fn chains(builder: RunBuilder) -> ([Finding; 2], OfRun) {
    use Subject::{Hooks, Templates};
    let (mut run, has_agent) = match builder.build_idle() {
        Ok(built) => built,
        Err(error @ RunError::Template(_)) => {
            let of_hooks = Finding::skipped(Hooks, "the templates cannot be used");
            return ([of_hooks, Finding::failed(Templates, &error)], OfRun::default());
        }
        Err(error) => {
            let of_templates = Finding::ok(Templates, "the project's templates can be used");
            let mut of_hooks = Finding::failed(Hooks, &error);
            if let RunError::Config(error) = &error {
                of_hooks.list_problems(error);
            }
            return ([of_hooks, of_templates], OfRun::default());
        }
    };
    let registry = run.registry();
    let points = HookPoint::ALL.iter().filter(|point| registry.has_handlers(**point));
    let handlers: usize = HookPoint::ALL.iter().map(|point| registry.handlers(*point).count()).sum();
    let message = format!("{} at {}", counted(handlers, "handler"), counted(points.count(), "point"));
    let of_files = run.hook_files.warnings();
    let details: Vec<String> = registry.warnings().map(str::to_owned).chain(of_files).collect();
    let hooks = match details.is_empty() {
        true => Finding::ok(Hooks, message),
        false => {
            let help = Remedy::SeeChains;
            Finding { details, ..Finding::warning(Hooks, message, help) }
        }
    };
    let templates = templates(run.own_templates(), &run.frozen.project);
    // State that cannot be read is found fault with on its own.
    let changes = run.executables().map(Executables::change_lines).unwrap_or_default();
    let in_place_of_agent = in_place_of_agent(run.registry()).map(str::to_owned);
    let trust = has_agent.then(|| run.trusted().ok()).flatten();
    let configured = run.frozen.agent.name().to_owned();
    let unstartable = run.frozen.unstartable();
    let is_out = |agent: &String| unstartable.iter().any(|(out, _)| out == agent);
    let has_fallback = run.frozen.routing.fallback.iter().any(|agent| *agent != configured && !is_out(agent));
    let others = unstartable.iter().filter(|(agent, _)| *agent != configured);
    let other_agents = others.map(|(_, error)| described(error)).collect();
    let unheld = run.unheld_budget().into_iter().filter(|(agent, _)| *agent != configured);
    let unheld = unheld.map(|(_, told)| told).collect();
    let refused = if has_agent { run.frozen.check_choices().err() } else { None };
    let warnings = run.warnings_of_checks();
    let unfit = run.check_repository().err();
    let of_run = OfRun {
        in_place_of_agent,
        other_agents,
        unheld,
        refused,
        has_fallback,
        changes,
        warnings,
        trust,
        unfit,
    };
    ([hooks, templates], of_run)
}

/// Says which templates of the project there are, and what does not fit any more of them.
fn templates(own: usize, project: &Project) -> Finding {
    const SUBJECT: Subject = Subject::Templates;
    let stale = match project.stale_templates() {
        Ok(stale) => stale,
        Err(error) => return Finding::failed(SUBJECT, &error),
    };
    let of_project = || format!("{} of the project in place of built-in ones", counted(own, "template"));
    let Some(first) = stale.first() else {
        return Finding::ok(
            SUBJECT,
            if own == 0 { "the built-in templates are used".to_owned() } else { of_project() },
        );
    };
    let line = |one: &StaleTemplate| {
        let file = one.path.strip_prefix(project.root()).unwrap_or(&one.path).display();
        let place = one.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{file}{place}: {}", one.why)
    };
    // The same advice once.
    let mut help: Vec<Remedy> = Vec::new();
    for next in stale.iter().map(StaleTemplate::help) {
        if !help.contains(&next) {
            help.push(next);
        }
    }
    Finding {
        details: stale.iter().map(line).collect(),
        location: Some(first.location()),
        ..Finding::warning(SUBJECT, format!("{}, not all of it up to date", of_project()), Remedy::All(help))
    }
}

/// Says whether what a run would execute is trusted. Where it is not, a start asks, and
/// without anybody to ask it does not begin.
pub(super) fn trust(trusted: Option<Result<(), Box<TrustRefusal>>>) -> Finding {
    match trusted {
        None => Finding::skipped(Subject::Trust, "what a run would execute is not known"),
        Some(Ok(())) => Finding::ok(Subject::Trust, "what a run would execute is trusted"),
        Some(Err(refusal)) => {
            let details = refusal.difference.as_ref().map(Difference::lines).unwrap_or_default();
            Finding { details, ..Finding::warning(Subject::Trust, described(&*refusal), refusal.help()) }
        }
    }
}

pub(super) fn checks(project: &Project, warnings: Vec<String>) -> Finding {
    let checks = project.settings().quality_checks;
    match checks.len() {
        0 => Finding::warning(
            Subject::Checks,
            StartWarning::NoChecks.to_string(),
            StartWarning::NoChecks.help(),
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
pub(super) fn containment() -> Finding {
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

/// Says which engines of containers there are, how they work here, and which of them is used.
pub(super) fn engines(containers: &Containers, env: &[(String, String)]) -> Finding {
    let subject = Subject::Sandbox;
    let (used, details) = containers.described(env);
    let found = match used {
        Ok(engine) => Finding::ok(subject, format!("containers are run by {}", engine.display())),
        Err(error) => Finding::failed(subject, &error),
    };
    Finding { details, ..found }
}

/// Looks at the repository, and for git, with which agents commit.
pub(super) fn repository(root: &Path, caller: &Caller, env: &[(String, String)]) -> Finding {
    let opened = Repository::open(root, caller).and_then(|repository| {
        repository.iter().try_for_each(Repository::check)?;
        let head = |repository: Repository| {
            Ok((repository.head()?, uncommitted(&repository, AgentWorks::InPlace, &[])))
        };
        repository.map(head).transpose()
    });
    let (on, uncommitted) = match opened {
        Ok(Some((Head::Branch { name, .. }, uncommitted))) => {
            (format!("a repository on branch {name}"), uncommitted)
        }
        Ok(Some((Head::Detached(_), uncommitted))) => {
            ("a repository without a branch checked out".to_owned(), uncommitted)
        }
        Ok(None) => {
            let warning = StartWarning::NoRepository;
            return Finding::warning(Subject::Git, warning.to_string(), warning.help());
        }
        Err(GitError::Owner(error)) => return Finding::failed(Subject::Git, &error),
        Err(error) => {
            let message = format!("{}; prompts lack what it knows", described(&error));
            return Finding::warning(Subject::Git, message, error.help());
        }
    };
    let path = env.iter().rev().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value);
    match find_program("git", path, root) {
        // A start warns of it; of the project it says nothing.
        Some(_) => Finding {
            details: uncommitted.iter().map(ToString::to_string).collect(),
            ..Finding::ok(Subject::Git, on)
        },
        None => Finding::warning(
            Subject::Git,
            format!("{on}, but git was not found, so agents cannot commit"),
            "Install git, or add its directory to PATH.",
        ),
    }
}
