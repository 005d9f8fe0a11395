//! Whether containers can be run here as they are asked for: one is, and says what limits it has.

use std::{process::Command, sync::PoisonError, time::Duration};

use samuel_guest::{LIMITS_TOLD, Launch};

use super::{
    Containers, EngineKind, Image, Memory, SandboxError,
    arguments::{self, Contained, Manner, Most},
    container::Container,
    guest, unusable,
};
use crate::sandbox::walls::{
    ask::{last_words, output_of},
    outlet::Outlets,
    sockets::{GUEST, path_inside},
};

/// Runtimes in whose place an engine's own is tried: the first that works is used. Where crun is the engine's own,
/// it fails on machines with both versions of control groups.
const RUNTIMES: [Option<&str>; 2] = [None, Some("runc")];
/// How long the container may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was found out about an engine.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// The engine and its version, for people.
    pub(super) version: String,
    /// The runtime that works.
    pub(super) runtime: Option<&'static str>,
}

/// What a container is tried out with.
pub(super) struct Trial<'a> {
    pub(super) containers: &'a Containers,
    pub(super) image: &'a Image,
    pub(super) memory: &'a Memory,
    pub(super) pids: u32,
    pub(super) tmp_bytes: u64,
    pub(super) label: &'a str,
}

impl Trial<'_> {
    /// Returns what was found out before about such a container, or tries one out.
    pub(super) fn tried(&self) -> Result<Tried, SandboxError> {
        let key = (self.image.to_string(), self.memory.to_string(), self.pids);
        let known = || self.containers.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tried) = known().get(&key) {
            return Ok(tried.clone());
        }
        let tried = self.try_out()?;
        known().insert(key, tried.clone());
        Ok(tried)
    }

    /// Runs a container that does nothing.
    fn try_out(&self) -> Result<Tried, SandboxError> {
        if !cfg!(target_os = "linux") {
            return Err(unusable("it needs Linux"));
        }
        let engine = self.containers.engine()?;
        if let Some(problem) = guest::problem_of(&self.containers.guest) {
            return Err(unusable(problem));
        }
        let name = engine.kind().name();
        let version = engine.version().map_err(|told| unusable(format!("{name} does not answer: {told}")))?;
        let image = self.image;
        engine.has_image(image.as_str()).map_err(|told| SandboxError::Setting {
            key: "image",
            problem: format!("{version} does not have the image {image}, and Samuel pulls none: {told}"),
        })?;
        let mut first = None;
        for runtime in RUNTIMES {
            match self.limits_in(runtime) {
                Ok(limits) => {
                    self.hold_against(&version, &limits)?;
                    let version = match runtime {
                        Some(runtime) => format!("{version} with {runtime}"),
                        None => version,
                    };
                    return Ok(Tried { version, runtime });
                }
                Err(told) => drop(first.get_or_insert(told)),
            }
        }
        Err(unusable(format!("{version} cannot run a container here: {}", first.unwrap_or_default())))
    }

    /// Runs a container that hands over a port, and says what limits it has.
    fn limits_in(&self, runtime: Option<&'static str>) -> Result<String, String> {
        let told = |error: SandboxError| error.to_string();
        let engine = self.containers.engine().map_err(told)?;
        let mut launch = Launch::new([path_inside(GUEST).as_str(), "--limits"], "/");
        let outlets = Outlets::nowhere();
        outlets.open_in(&mut launch);
        let container = Container::prepare(self.containers, &launch, &outlets).map_err(told)?;
        let arguments = arguments::of(&Contained {
            kind: engine.kind(),
            runtime,
            name: container.name(),
            label: self.label,
            user: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
            manner: Manner::Attached,
            image: self.image,
            memory: self.memory,
            pids: self.pids,
            home: None,
            tmp_bytes: self.tmp_bytes,
            // What a run has to show is not there before it makes it.
            mounts: &[],
            guest: &self.containers.guest,
            directory: container.directory(),
            most: Most::of_process(),
        })?;
        let mut command = Command::new(engine.program());
        command.env_clear().envs(engine.env().iter().map(|(name, value)| (name, value))).args(arguments);
        let ended = output_of(&mut command, PATIENCE);
        container.remove();
        let output = ended?;
        match output.status.code() {
            Some(code) if code == i32::from(LIMITS_TOLD) => {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Some(0) => Err("it does not say how a command ended".to_owned()),
            _ => Err(last_words(&output)),
        }
    }

    /// Refuses limits that are weaker than asked, as some engines set them with no more than a warning.
    fn hold_against(&self, version: &str, limits: &str) -> Result<(), SandboxError> {
        let found = |wanted: &str| {
            let values = limits.lines().filter_map(|line| line.split_once(' '));
            values.filter(|(name, _)| *name == wanted).find_map(|(_, value)| value.trim().parse::<u64>().ok())
        };
        for (name, asked) in [("memory", self.memory.bytes()), ("pids", self.pids.into())] {
            if found(name).is_none_or(|found| found > asked) {
                let hint = hint_of(self.containers.engine()?.kind());
                return Err(unusable(format!("{version} does not hold the limit of {name} here; {hint}")));
            }
        }
        Ok(())
    }
}

fn hint_of(kind: EngineKind) -> &'static str {
    match kind {
        EngineKind::Podman => "without root it needs control groups of version 2",
        EngineKind::Docker => "see the warnings of `docker info`",
    }
}
