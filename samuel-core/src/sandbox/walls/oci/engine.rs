//! The programs that run containers, and what is asked of them beside that.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use samuel_hook::sandbox::without_tag;

use super::super::{
    EngineKind, SandboxError,
    ask::{asked, last_lines, output_of},
};
use crate::process::{SupervisorId, is_gone, this_process};

/// Where engines are looked for: not in `PATH`, which may lead into the project.
const DIRECTORIES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/bin"];
/// The variables of the caller's environment that engines get: where their storage and their service are.
const VARIABLES: [&str; 9] = [
    "HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "DOCKER_HOST",
    "DOCKER_CONFIG",
];
/// The variable in which engines look for their helpers.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How long an engine may take to answer a question.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to remove a container.
const REMOVAL: Duration = Duration::from_secs(10);
/// How many lines are repeated of what was said by a build that failed.
const BUILD_LINES: usize = 6;
/// What the names of containers begin with.
const PREFIX: &str = "samuel";
/// The label with the project of a container.
pub(super) const LABEL: &str = "samuel.dir";

/// An engine: its kind, its program, and the environment it gets.
#[derive(Clone, Debug)]
pub struct Engine {
    kind: EngineKind,
    program: PathBuf,
    env: Vec<(String, String)>,
}

impl Engine {
    /// Finds an engine of a kind, or the first that is installed. Of `env` it gets what says where its storage
    /// and its service are.
    ///
    /// # Errors
    /// Returns in words that there is none.
    pub fn find(kind: Option<EngineKind>, env: &[(String, String)]) -> Result<Self, String> {
        let found = |kind: EngineKind| {
            let mut places = DIRECTORIES.iter().map(|directory| Path::new(directory).join(kind.name()));
            Some((kind, places.find(|path| path.is_file())?))
        };
        let found = match kind {
            Some(kind) => found(kind).ok_or_else(|| format!("{} is not installed", kind.name())),
            None => EngineKind::ALL.into_iter().find_map(found).ok_or_else(|| {
                "neither podman nor docker is installed; on Debian and Ubuntu: apt-get install podman"
                    .to_owned()
            }),
        };
        found.map(|(kind, program)| Self::at(kind, program, env))
    }

    /// Takes the program at a path.
    pub fn at(kind: EngineKind, program: impl Into<PathBuf>, env: &[(String, String)]) -> Self {
        let kept = env.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str())).cloned();
        let env = kept.chain([("PATH".to_owned(), PATH.to_owned())]).collect();
        Self { kind, program: program.into(), env }
    }

    /// Returns which engine it is.
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Returns its program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the environment of its program.
    pub(super) fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// Returns its name and version. Blocks.
    ///
    /// # Errors
    /// Returns in words why it cannot say.
    pub fn version(&self) -> Result<String, String> {
        let format = match self.kind {
            EngineKind::Podman => "{{.Client.Version}}",
            EngineKind::Docker => "{{.Server.Version}}",
        };
        let version = self.asked(&["version", "--format", format], PATIENCE)?;
        Ok(format!("{} {}", self.kind.name(), version.trim()))
    }

    /// Says how it works on this machine, for people: rootless or not, control groups, storage. Blocks.
    ///
    /// # Errors
    /// Returns in words why it cannot say.
    pub fn mode(&self) -> Result<String, String> {
        let format = match self.kind {
            EngineKind::Podman => {
                "{{if .Host.Security.Rootless}}rootless{{else}}as root{{end}}, {{.Host.OCIRuntime.Name}}, control groups {{.Host.CgroupsVersion}}, storage {{.Store.GraphDriverName}}"
            }
            EngineKind::Docker => {
                "{{.DefaultRuntime}}, control groups v{{.CgroupVersion}}, storage {{.Driver}}"
            }
        };
        Ok(self.asked(&["info", "--format", format], PATIENCE)?.trim().to_owned())
    }

    /// Says whether it has an image, which it never pulls. Blocks.
    pub(super) fn has_image(&self, image: &str) -> Result<(), String> {
        self.asked(&["image", "inspect", "--format", "{{.Id}}", image], PATIENCE).map(drop)
    }

    /// Returns what an image starts: its entry point, and nothing where it has none. Blocks.
    pub(super) fn entrypoint(&self, image: &str) -> Result<Vec<String>, String> {
        let printed =
            self.asked(&["image", "inspect", "--format", "{{json .Config.Entrypoint}}", image], PATIENCE)?;
        let entrypoint: Option<Vec<String>> = serde_json::from_str(printed.trim())
            .map_err(|error| format!("its entry point cannot be read: {error}"))?;
        Ok(entrypoint.unwrap_or_default())
    }

    /// Returns the reference that pins the image of a name. Blocks.
    pub(super) fn pin(&self, name: &str) -> Result<String, String> {
        let format = match self.kind {
            EngineKind::Podman => "{{.Digest}}",
            // What it has built itself has no digest there, but an id, which is one.
            EngineKind::Docker => "{{.Id}}",
        };
        let digest = self.asked(&["image", "inspect", "--format", format, name], PATIENCE)?;
        Ok(match self.kind {
            EngineKind::Podman => format!("{}@{}", without_tag(name), digest.trim()),
            EngineKind::Docker => digest.trim().to_owned(),
        })
    }

    /// Builds an image of a file in a directory, without a network and without pulling anything, and returns
    /// the reference that pins it. Blocks, for `patience` at most.
    ///
    /// # Errors
    /// Returns in words what went wrong.
    pub fn build(
        &self,
        name: &str,
        file: &Path,
        context: &Path,
        patience: Duration,
    ) -> Result<String, String> {
        let mut command = self.command();
        // Nothing stays of it but the image: no container of a step that failed, and with podman no image of a step. Those
        // of docker are what the image is made of.
        command.args(["build", "--network", "none", "--force-rm"]);
        if self.kind == EngineKind::Podman {
            command.args(["--pull=never", "--layers=false"]);
        }
        command.args(["--label", "samuel.image=1", "--tag", name, "--file"]).arg(file).arg(context);
        let output = output_of(&mut command, patience)?;
        if !output.status.success() {
            return Err(last_lines(&output, BUILD_LINES));
        }
        self.pin(name)
    }

    /// Removes a container, if it is there. Blocks, for little more than 10 s at most.
    pub(super) fn remove(&self, name: &str) -> Result<(), String> {
        let end = Instant::now() + REMOVAL;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let Err(told) = self.remove_within(name, left) else { return Ok(()) };
            // The engine itself may be removing it, since it has ended, and refuse to do so twice.
            match self.is_there(name) {
                Ok(false) => return Ok(()),
                _ if Instant::now() >= end => return Err(told),
                _ => {}
            }
        }
    }

    fn remove_within(&self, name: &str, patience: Duration) -> Result<(), String> {
        let removed = match self.kind {
            EngineKind::Podman => {
                self.asked(&["rm", "--force", "--ignore", "--time", "0", "--volumes", name], patience)
            }
            EngineKind::Docker => self.asked(&["rm", "--force", "--volumes", name], patience),
        };
        match removed {
            Err(told) if !told.to_lowercase().contains("no such container") => Err(told),
            _ => Ok(()),
        }
    }

    fn is_there(&self, name: &str) -> Result<bool, String> {
        let filter = format!("name=^{name}$");
        let listed = self.asked(&["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"], PATIENCE)?;
        Ok(!listed.trim().is_empty())
    }

    /// Removes the containers with a label whose Samuel is gone, and returns their names.
    pub(super) fn sweep(&self, label: &str) -> Result<Vec<String>, SandboxError> {
        let filter = format!("label={LABEL}={label}");
        let listed = self.asked(&["ps", "--all", "--filter", &filter, "--format", "{{.Names}}"], PATIENCE);
        let listed = listed.map_err(super::unusable)?;
        let mut removed = Vec::new();
        for name in listed.lines().map(str::trim).filter(|name| owner_of(name).is_some_and(is_gone)) {
            self.remove(name).map_err(|_| SandboxError::Stuck { container: name.to_owned() })?;
            removed.push(name.to_owned());
        }
        Ok(removed)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    fn asked(&self, arguments: &[&str], patience: Duration) -> Result<String, String> {
        asked(self.command().args(arguments), patience)
    }
}

/// Makes the name of a container of this process: it says whose it is.
pub(super) fn new_name(unique: &str) -> String {
    let SupervisorId { pid, start_time } =
        this_process().unwrap_or(SupervisorId { pid: std::process::id(), start_time: 0 });
    format!("{PREFIX}-{pid}-{start_time}-{unique}")
}

/// Returns the process that a container belongs to, by its name.
fn owner_of(name: &str) -> Option<SupervisorId> {
    let mut parts = name.split('-');
    let (prefix, pid, start_time, unique) = (parts.next()?, parts.next()?, parts.next()?, parts.next());
    (prefix == PREFIX && unique.is_some()).then_some(())?;
    Some(SupervisorId { pid: pid.parse().ok()?, start_time: start_time.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_container_says_whose_it_is() {
        let own = new_name("0a1b");
        assert_eq!(owner_of(&own), this_process().or_else(|| owner_of(&own)));
        let of = |name| owner_of(name).map(|id| (id.pid, id.start_time));
        assert_eq!(of("samuel-12-345-0a1b"), Some((12, 345)));
        assert!(
            ["samuel-12-345", "postgres", "samuel-x-1-a", "other-12-345-a"]
                .into_iter()
                .all(|name| of(name).is_none())
        );
    }

    #[test]
    fn an_engine_gets_nothing_of_the_environment_but_where_its_storage_is() {
        let given =
            [("HOME", "/home/me"), ("API_KEY", "secret"), ("PATH", "/project/bin"), ("HTTPS_PROXY", "x")];
        let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let engine = Engine::at(EngineKind::Podman, "/usr/bin/podman", &given);
        let names: Vec<&str> = engine.env().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["HOME", "PATH"]);
        assert!(engine.env().iter().all(|(_, value)| value != "/project/bin"));
    }
}
