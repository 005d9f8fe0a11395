//! Collecting what a run would execute.

use std::path::{Path, PathBuf};

use super::{
    control_files::{ControlFiles, OfHooks},
    error::RunError,
    frozen::{Frozen, named_files},
    gateways::shown_of_provider,
    run::{Run, in_place_of_agent},
    sandbox_image::image_of,
};
use crate::{
    agent::{Agent, compose_agent_env},
    config::{CheckCommand, format_duration},
    dialect::REPOSITORY_HOOKS,
    hook::{ChainSpec, HookPoint, Registry, RegistryBuilder},
    sandbox::{BWRAP, OCI},
    trust::{Executable, ExecutableKind, Executables, command_line, handlers, plugin},
};

/// Collects what a run would execute.
pub(super) fn executables(
    frozen: &Frozen,
    registry: &Registry,
    templates: &[PathBuf],
    control_files: &ControlFiles,
) -> Executables {
    let is_called = in_place_of_agent(registry).is_none();
    let mut entries: Vec<Executable> = Vec::new();
    if is_called {
        entries.push(configured_agent(frozen, registry, control_files));
        entries.extend(other_agents(frozen, registry, control_files));
    }
    entries.extend(registry.plugins().iter().map(plugin));
    let checks = frozen.settings.quality_checks.iter();
    entries.extend(
        (1..)
            .zip(checks)
            .map(|(number, check)| command(ExecutableKind::QualityCheck, number, check, control_files)),
    );
    let setup = (1..).zip(frozen.setup_commands());
    entries.extend(
        setup.map(|(number, line)| command(ExecutableKind::SetupCommand, number, line, control_files)),
    );
    entries.extend(HookPoint::ALL.iter().filter_map(|point| hook_point(*point, registry.spec(*point)?)));
    entries.extend(handlers(registry, |_| true));
    entries.extend(templates.iter().map(|path| template(path, control_files)));
    Executables::of(entries)
}

/// Why hook files are watched.
const DESCRIBES: &str = "describes hooks";

impl Run {
    /// Returns what executes where only the points fire that are named: their handlers, what is
    /// configured of their chains, and the control files that the last run left changed. Blocks as
    /// [`executables`](Self::executables) does.
    ///
    /// # Errors
    /// Returns [`RunError::State`] where what the last run saved cannot be read.
    pub(crate) fn executables_of(&mut self, points: &[HookPoint]) -> Result<Executables, RunError> {
        let mut found = Executables::of_points(&self.registry, |point| points.contains(&point));
        let chains = points.iter().filter_map(|point| hook_point(*point, self.registry.spec(*point)?));
        let plugins = found.of_kind(ExecutableKind::Plugin).count();
        found.entries.splice(plugins..plugins, chains);
        found.changes.clone_from(&self.executables()?.changes);
        Ok(found.of_all_at(points))
    }
}

/// Lists what hook files make execute, themselves among it.
pub(super) fn of_hooks(handlers: &RegistryBuilder, root: &Path) -> OfHooks {
    let mut found = OfHooks::default();
    // Also files that are not there yet, or cannot be used as they are.
    found.patterns.push((Path::new(REPOSITORY_HOOKS).join("*.yaml"), DESCRIBES.to_owned()));
    for (id, entry) in handlers.hook_file_entries() {
        found.files.push((entry.file.clone(), DESCRIBES.to_owned()));
        let run_by = |path: &PathBuf| (path.clone(), format!("run by hook {id}"));
        found.files.extend(entry.scripts.iter().map(|(path, _)| path).chain(&entry.missing).map(run_by));
        let read = entry.scripts.iter().filter(|(_, digest)| !digest.is_empty());
        found.digests.extend(read.map(|(path, digest)| (root.join(path), digest.clone())));
        found.products.extend(entry.products.iter().map(|path| root.join(path)));
        found.patterns.extend(entry.patterns.iter().map(run_by));
    }
    found
}

/// Describes the configured agent, with what agents' programs read unasked.
fn configured_agent(frozen: &Frozen, registry: &Registry, control_files: &ControlFiles) -> Executable {
    let (agent, words) = (&*frozen.agent, frozen.agent_words());
    let mut entry = agent_entry(frozen, registry, control_files, agent, &words);
    for (path, digest) in control_files.of_agent() {
        entry.detail(&format!("file {path}"), digest);
    }
    entry
}

/// Lists the agents that a route or a fallback has calls made with.
fn other_agents(frozen: &Frozen, registry: &Registry, control_files: &ControlFiles) -> Vec<Executable> {
    // The first is the configured one. A run is not built where one cannot be made.
    let choices = frozen.choices().unwrap_or_default().into_iter().skip(1);
    choices
        .map(|(choice, agent)| {
            let mut entry = agent_entry(frozen, registry, control_files, &*agent, &agent.command_line());
            entry.id = choice.name();
            entry.detail("chosen", choice.why);
            entry
        })
        .collect()
}

/// Describes an agent that is called with these words, with the files of the project among them.
fn agent_entry(
    frozen: &Frozen,
    registry: &Registry,
    control_files: &ControlFiles,
    agent: &dyn Agent,
    words: &[String],
) -> Executable {
    // Looked up as it is for the call: what is shown is what starts.
    let env = compose_agent_env(&frozen.env, agent, &[]);
    let program = match frozen.brings_programs() {
        true => None,
        false => agent.locate(&env, frozen.project.root()),
    };
    let is_missing =
        program.is_none() && !frozen.brings_programs() && agent.check(&env, frozen.project.root()).is_err();
    let mut entry = Executable {
        place: program.map(|program| program.display().to_string()),
        command: (!words.is_empty()).then(|| command_line(words)),
        ..Executable::new(ExecutableKind::Agent, agent.name())
    };
    if is_missing {
        entry.detail("program", "not found");
    }
    entry.detail("sandbox", frozen.settings.sandbox.as_str());
    for (name, value) in shown_of_sandbox(frozen).into_iter().chain(shown_of_provider(frozen, agent)) {
        entry.detail(name, value);
    }
    if let Some(notice) = agent.permission_notice() {
        entry.detail("note", notice);
    }
    if let Some(notice) = frozen.hooks_notice(agent, registry) {
        entry.detail("hooks", notice);
    }
    for (path, digest) in control_files.known(&named_files(frozen, agent.name(), words)) {
        entry.detail(&format!("file {path}"), digest);
    }
    entry
}

/// Says what of the machine a sandbox shows, and what its programs are.
fn shown_of_sandbox(frozen: &Frozen) -> Vec<(&'static str, String)> {
    let settings = &frozen.project.config().sandbox;
    let image = (frozen.settings.sandbox == OCI).then(|| {
        let pinned = image_of(frozen.project.root(), &settings.image);
        pinned.map_or_else(|_| settings.image.clone(), |image| image.to_string())
    });
    let listed = |list: &[String]| (!list.is_empty()).then(|| list.join(", "));
    let is_walled = [BWRAP, OCI].contains(&frozen.settings.sandbox.as_str());
    let of_walls = |list: &[String]| listed(list).filter(|_| is_walled);
    let of_oci = |value: String| (frozen.settings.sandbox == OCI).then_some(value);
    let is_set = frozen.settings.completes != "auto";
    let completes = (is_walled || is_set).then(|| frozen.completes().as_str().to_owned());
    let details = [
        ("image", image),
        ("memory", of_oci(settings.memory.clone())),
        ("pids", of_oci(settings.pids.to_string())),
        ("completes", completes),
        ("mounts", of_walls(&settings.mounts)),
        ("egress", of_walls(&settings.egress)),
        ("egress of checks", of_walls(&settings.check_egress)),
    ];
    details.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Describes a quality check, or a command that gets a work tree ready.
fn command(
    kind: ExecutableKind,
    number: usize,
    check: &CheckCommand,
    control_files: &ControlFiles,
) -> Executable {
    let mut entry =
        Executable { command: Some(check.command.clone()), ..Executable::new(kind, number.to_string()) };
    entry.detail("timeout", format_duration(check.timeout));
    for (path, digest) in control_files.run_by_check(check) {
        entry.detail(&format!("file {path}"), digest);
    }
    entry
}

/// Lists what is configured of a point's chain; nothing where nothing is.
fn hook_point(point: HookPoint, spec: &ChainSpec) -> Option<Executable> {
    // The fields are named, so that one that is added is not forgotten here.
    let ChainSpec { handlers, order, on_failure, strict, timeout, enabled, mode } = spec;
    let mut entry = Executable::new(ExecutableKind::HookPoint, point.to_string());
    let details = [
        ("enabled", enabled.map(|enabled| enabled.to_string())),
        (
            "handlers",
            handlers.as_ref().map(|ids| if ids.is_empty() { "none".to_owned() } else { command_line(ids) }),
        ),
        ("strict", strict.map(|strict| strict.to_string())),
        ("on_failure", on_failure.map(|action| action.as_str().to_owned())),
        ("mode", mode.map(|mode| mode.as_str().to_owned())),
        ("timeout", timeout.map(format_duration)),
    ];
    for (name, value) in details {
        entry.details.extend(value.map(|value| (name.to_owned(), value)));
    }
    for (handler, order) in order {
        entry.detail(&format!("order of {handler}"), order.to_string());
    }
    (!entry.details.is_empty()).then_some(entry)
}

fn template(path: &Path, control_files: &ControlFiles) -> Executable {
    let mut entry = Executable::new(ExecutableKind::Template, path.display().to_string());
    if let Some(digest) = control_files.digest(path) {
        entry.detail("digest", digest);
    }
    entry
}
