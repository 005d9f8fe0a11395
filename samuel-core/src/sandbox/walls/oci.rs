//! The sandbox `oci`: commands in containers of podman or docker.
//!
//! An [`Oci`] runs each command in a new container of an image that is pinned by its digest. A command sees what
//! its [`View`] names, and of the rest of the machine nothing: no network device, no process, no file, no
//! variable. What the container has, `arguments` lists; the engine's own commands are in `engine`, the end of a
//! container in `container`. The first process and how it is told what to run are those of `bwrap` as well.
//!
//! A run is refused before anything starts where the engine, the image or the guest is missing, or where the
//! engine does not hold the limits that it is asked for.

mod arguments;
mod build;
mod container;
mod containerfile;
mod engine;
mod guest;
mod memory;
mod program;
mod tried;

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    EngineKind, Image, OCI, Sandbox, SandboxError, View,
    bwrap::{not_in_place, ways_to_samuel},
    launch::{Programs, launch_of},
    outlet::{self, Outlets},
    sockets,
};
use crate::{
    egress::{EgressPolicy, Gateway, Refusals},
    model::digest_of,
    process::CommandSpec,
};
use arguments::{Contained, Manner, Most};
use container::Container;
use tried::{Trial, Tried};

pub(crate) use arguments::{Access, Mount};
pub use engine::Engine;
pub use memory::Memory;
pub(crate) use program::{Program, ProgramParts, Spoken, Start, host_socket, new_token};

/// How many digits of a project's digest its containers are labelled with.
const LABEL_DIGITS: usize = 16;

/// Where containers come from: an engine, the guest, and a directory for sockets.
///
/// Clones share what was found out about the engine, which takes it a while.
#[derive(Clone, Debug)]
pub struct Containers {
    engine: Result<Engine, String>,
    guest: PathBuf,
    directory: PathBuf,
    tried: Tries,
    stuck: Stuck,
}

/// What was found out about the engine, by image, memory and processes. What failed is tried again.
type Tries = Arc<Mutex<HashMap<(String, String, u32), Tried>>>;

/// The name of a container that could not be removed.
type Stuck = Arc<Mutex<Option<String>>>;

impl Containers {
    /// Takes an engine, or the words why there is none; the path of the program `samuel-guest`, which is built
    /// static; and a directory for sockets, which is made where it is missing, and for this user alone. Its
    /// path has to be short: it has 107 bytes with a socket's, which takes 20 of them.
    pub fn new(
        engine: Result<Engine, String>,
        guest: impl Into<PathBuf>,
        directory: impl Into<PathBuf>,
    ) -> Self {
        let (guest, directory) = (guest.into(), directory.into());
        Self { engine, guest, directory, tried: Arc::default(), stuck: Arc::default() }
    }

    /// Takes the engine that `SAMUEL_RUNTIME` of an environment names, else podman or docker, and the guest that
    /// `SAMUEL_GUEST` names, else the one at `guest`. Of the directory it takes what [`new`](Self::new) does.
    pub fn of_env(
        env: &[(String, String)],
        guest: impl Into<PathBuf>,
        directory: impl Into<PathBuf>,
    ) -> Self {
        let variable = |wanted: &str| {
            let found = env.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        };
        let engine = match variable("SAMUEL_RUNTIME") {
            None => Engine::find(None, env),
            Some(name) => match EngineKind::named(name) {
                Some(kind) => Engine::find(Some(kind), env),
                None => Err(format!("SAMUEL_RUNTIME is \"{name}\", which is neither podman nor docker")),
            },
        };
        let guest = variable("SAMUEL_GUEST").map_or_else(|| guest.into(), PathBuf::from);
        Self::new(engine, guest, directory)
    }

    /// Returns the engine.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`] where there is none.
    pub fn engine(&self) -> Result<&Engine, SandboxError> {
        self.engine.as_ref().map_err(|problem| unusable(problem.clone()))
    }

    /// Returns the path of the guest.
    pub fn guest(&self) -> &Path {
        &self.guest
    }

    /// Returns the program of the engine, or why there is none; and says which engines there are, how they work here,
    /// and which guest is used, one line each. Blocks.
    pub(crate) fn described(&self, env: &[(String, String)]) -> (Result<PathBuf, SandboxError>, Vec<String>) {
        let told = |kind: EngineKind| {
            let engine = match Engine::find(Some(kind), env) {
                Ok(engine) => engine,
                Err(missing) => return missing,
            };
            match engine.version().and_then(|version| Ok((version, engine.mode()?))) {
                Ok((version, mode)) => format!("{version}: {mode}"),
                Err(problem) => format!("{} does not answer: {problem}", kind.name()),
            }
        };
        let guest = format!("the guest is {}", self.guest.display());
        let used = self.engine().map(|engine| engine.program().to_owned());
        (used, EngineKind::ALL.map(told).into_iter().chain([guest]).collect())
    }

    /// Removes the containers of a project whose Samuel is gone, and returns their names; and the directories with
    /// sockets of whichever Samuel that is gone. Blocks.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unusable`] where the engine cannot be asked, and [`SandboxError::Stuck`] for a
    /// container that it does not remove.
    pub fn sweep(&self, root: &Path) -> Result<Vec<String>, SandboxError> {
        sockets::sweep(&self.directory);
        self.engine()?.sweep(&label_of(root))
    }
}

/// What commands in containers get.
#[derive(Clone, Debug)]
pub struct Contents {
    /// What they see of the machine. Whether it has a network is said by `egress` alone.
    pub view: View,
    /// The image.
    pub image: Image,
    /// How much memory a container has, swap included.
    pub memory: Memory,
    /// How many processes and threads a container has, those of the guest among them.
    pub pids: u32,
    /// What agents reach of the network.
    pub egress: EgressPolicy,
    /// What quality checks reach of it.
    pub check_egress: EgressPolicy,
    /// Hosts that agents reach without their keys.
    pub gateways: Vec<Gateway>,
}

/// Commands in containers.
#[derive(Clone)]
pub struct Oci {
    ready: Result<Arc<Ready>, SandboxError>,
}

#[derive(Debug)]
struct Ready {
    containers: Containers,
    contents: Contents,
    label: String,
    refusals: Arc<Refusals>,
}

impl Default for Oci {
    /// Makes one in which no command can run, since it has neither engine nor image.
    fn default() -> Self {
        Self::refusing(unusable(
            "it needs an engine, an image and a workspace that is a clone, and this program names none",
        ))
    }
}

impl Oci {
    /// Makes one for the project at a root, by which its containers are found again.
    pub fn new(containers: Containers, contents: Contents, root: &Path) -> Self {
        let label = label_of(root);
        Self { ready: Ok(Arc::new(Ready { containers, contents, label, refusals: Arc::default() })) }
    }

    /// Makes one in which no command can run, since the workspace is no clone.
    pub(crate) fn refusing_in_place() -> Self {
        Self::refusing(not_in_place())
    }

    /// Makes one in which no command can run, with the reason.
    pub(crate) fn refusing(why: SandboxError) -> Self {
        Self { ready: Err(why) }
    }

    fn ready(&self) -> Result<&Ready, SandboxError> {
        self.ready.as_deref().map_err(Clone::clone)
    }

    fn wrap_with(&self, spec: CommandSpec, outlets: &Outlets) -> Result<CommandSpec, SandboxError> {
        let ready = self.ready()?;
        let tried = ready.tried()?;
        if let Some(container) = &*ready.containers.stuck.lock().unwrap_or_else(PoisonError::into_inner) {
            return Err(SandboxError::Stuck { container: container.clone() });
        }
        ready.contain(spec, &tried, outlets)
    }
}

impl Sandbox for Oci {
    fn name(&self) -> &str {
        OCI
    }

    fn check(&self) -> Result<(), SandboxError> {
        self.ready()?.tried().map(drop)
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        let Ready { contents, refusals, .. } = self.ready()?;
        self.wrap_with(spec, &Outlets::new(&contents.egress, &contents.gateways, refusals))
    }

    fn wrap_check(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        let Ready { contents, refusals, .. } = self.ready()?;
        self.wrap_with(spec, &Outlets::new(&contents.check_egress, &[], refusals))
    }

    fn version(&self) -> Option<String> {
        let tried = self.ready().ok()?.tried().ok()?;
        Some(tried.version)
    }

    fn brings_programs(&self) -> bool {
        true
    }

    fn begin(&self) -> Result<(), SandboxError> {
        let ready = self.ready()?;
        sockets::sweep(&ready.containers.directory);
        ready.containers.engine()?.sweep(&ready.label).map(drop)
    }

    fn base_url(&self, gateway: &str) -> Option<String> {
        outlet::base_url(&self.ready().ok()?.contents.gateways, gateway)
    }

    fn notices(&self) -> Vec<String> {
        self.ready().map(|ready| ready.refusals.take()).unwrap_or_default()
    }

    fn in_workspace(&self, workspace: &Path) -> Option<Arc<dyn Sandbox>> {
        let within = |ready: &Arc<Ready>| {
            let Ready { containers, contents, label, .. } = &**ready;
            let view = View { workspace: workspace.to_owned(), ..contents.view.clone() };
            Arc::new(Ready {
                containers: containers.clone(),
                contents: Contents { view, ..contents.clone() },
                label: label.clone(),
                refusals: Arc::default(),
            })
        };
        Some(Arc::new(Self { ready: self.ready.as_ref().map(within).map_err(Clone::clone) }))
    }
}

impl Ready {
    /// Returns what was found out about the engine, by one container that is run for it.
    fn tried(&self) -> Result<Tried, SandboxError> {
        let contents = &self.contents;
        let trial = Trial {
            containers: &self.containers,
            image: &contents.image,
            memory: &contents.memory,
            pids: contents.pids,
            tmp_bytes: contents.view.tmp_bytes,
            label: &self.label,
        };
        trial.tried()
    }

    /// Makes of a command the one that runs it in a container.
    fn contain(
        &self,
        spec: CommandSpec,
        tried: &Tried,
        outlets: &Outlets,
    ) -> Result<CommandSpec, SandboxError> {
        let (engine, view) = (self.containers.engine()?, &self.contents.view);
        let mut launch = launch_of(OCI, &spec, Programs::OfImage, outlets)?;
        launch.memory = Some(self.contents.memory.to_string());
        launch.pids = Some(self.contents.pids);
        let container = Container::prepare(&self.containers, &launch, outlets)?;
        let arguments = arguments::of(&Contained {
            kind: engine.kind(),
            runtime: tried.runtime,
            name: container.name(),
            label: &self.label,
            user: (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()),
            manner: Manner::Attached,
            image: &self.contents.image,
            memory: &self.contents.memory,
            pids: self.contents.pids,
            home: view.home.as_deref(),
            tmp_bytes: view.tmp_bytes,
            mounts: &arguments::mounts_of(view, &ways_to_samuel(&spec), Some(&view.workspace)),
            guest: &self.containers.guest,
            directory: container.directory(),
            most: Most::of_process(),
        });
        let arguments = arguments.map_err(unusable)?;
        let spec = spec.env_clear().envs(engine.env().iter().cloned()).current_dir("/");
        Ok(spec.command(engine.program(), arguments).companion(Arc::new(container)))
    }
}

impl fmt::Debug for Oci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Oci");
        match &self.ready {
            Ok(ready) => shown.field("image", &ready.contents.image),
            Err(error) => shown.field("refuses", error),
        };
        shown.finish_non_exhaustive()
    }
}

/// Returns the label of the containers of the project at a root.
fn label_of(root: &Path) -> String {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let digest = digest_of(root.as_os_str().as_encoded_bytes());
    digest.trim_start_matches("sha256:").chars().take(LABEL_DIGITS).collect()
}

fn unusable(problem: impl Into<String>) -> SandboxError {
    SandboxError::Unusable { name: OCI.to_owned(), problem: problem.into() }
}
