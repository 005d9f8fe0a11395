//! The sandboxes that samuel.toml describes: what commands see of a project in them.
//!
//! They are there with the feature `sandbox`; without it `no_sandboxes` stands in the place of this file.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{builder::RunBuilder, gateways::gateways_of, sandbox_image::image_of};
use crate::{
    config::{CONFIG_FILE, Config, SandboxSettings},
    egress::EgressPolicy,
    fs::read_text_anywhere,
    git::Repository,
    project::Project,
    sandbox::{
        BWRAP, Bwrap, Containers, Contents, Guest, Memory, OCI, Oci, ProbeGround, Reach, Sandbox,
        SandboxError, Sandboxes, View, problem_of_mount,
    },
    workspace::{CloneWorkspace, WorkspaceKind},
};

/// The most processes that Linux has numbers for.
const MAX_PIDS: u32 = 1 << 22;
/// Where Linux says what is mounted where.
const MOUNTS: &str = "/proc/self/mountinfo";
/// How much of that is read, in bytes.
const MAX_MOUNTS: u64 = 4 << 20;

impl RunBuilder {
    /// Describes those of samuel.toml for one kind of workspace, beside which others may be known.
    pub(super) fn described(&self, known: Sandboxes, kind: WorkspaceKind) -> Sandboxes {
        let sockets = self.socket_dir.as_deref();
        match kind {
            WorkspaceKind::Clone => known
                .replacing(Arc::new(bwrap_of(&self.project, &self.env, sockets, self.guest.as_ref())))
                .replacing(Arc::new(oci_of(&self.project, &self.env, sockets, self.containers.as_ref()))),
            WorkspaceKind::InPlace if self.containers.is_some() => {
                known.replacing(Arc::new(Oci::refusing_in_place()))
            }
            WorkspaceKind::InPlace => known,
        }
    }

    /// Returns the sandbox that was chosen as it is with nothing to see but a ground for probes.
    pub(super) fn on_ground(
        &self,
        ground: &ProbeGround,
        chosen: Arc<dyn Sandbox>,
    ) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let settings = &self.project.config().sandbox;
        Ok(match (chosen.name(), &self.containers) {
            (BWRAP, _) => Arc::new(bwrap_in(settings, &self.env, self.guest.as_ref(), || Ok(ground.view()))?),
            (OCI, Some(containers)) => {
                let contents = contents_of(self.project.root(), settings, &self.env, || Ok(ground.view()))?;
                Arc::new(Oci::new(containers.clone(), contents, self.project.root()))
            }
            _ => chosen,
        })
    }
}

/// Makes the sandbox `bwrap` in which a clone of the project can be worked on. In `sockets` runs listen.
fn bwrap_of(
    project: &Project,
    env: &[(String, String)],
    sockets: Option<&Path>,
    guest: Option<&Guest>,
) -> Bwrap {
    let config = project.config();
    bwrap_in(&config.sandbox, env, guest, || view_of(project, env, sockets, BWRAP))
        .and_then(|bwrap| holds_what_is_set(config, &bwrap).map(|()| bwrap))
        .unwrap_or_else(Bwrap::refusing)
}

/// Refuses a sandbox that does not hold a limit which samuel.toml sets.
fn holds_what_is_set(config: &Config, sandbox: &dyn Sandbox) -> Result<(), SandboxError> {
    let is_set = |key: &str| config.origin(&format!("sandbox.{key}")).is_some();
    let Some(unheld) = sandbox.unheld().into_iter().find(|limit| is_set(limit.key)) else { return Ok(()) };
    let problem =
        format!("{} does not hold it here: {}; leave it out, or choose {OCI}", sandbox.name(), unheld.why);
    Err(setting(unheld.key, problem))
}

/// Makes it with what commands see of the machine.
fn bwrap_in(
    settings: &SandboxSettings,
    env: &[(String, String)],
    guest: Option<&Guest>,
    view: impl FnOnce() -> Result<View, SandboxError>,
) -> Result<Bwrap, SandboxError> {
    let reach = reach_of(settings, env)?;
    let bwrap = Bwrap::new(view()?).reach(reach).pids(settings.pids);
    Ok(match guest {
        Some(guest) => bwrap.guest(guest.clone()),
        None => bwrap,
    })
}

/// Returns what commands reach of the network.
fn reach_of(settings: &SandboxSettings, env: &[(String, String)]) -> Result<Reach, SandboxError> {
    let hosts = |key, listed: &[String]| EgressPolicy::parse(listed).map_err(|problem| setting(key, problem));
    Ok(Reach {
        egress: hosts("egress", &settings.egress)?,
        check_egress: hosts("check_egress", &settings.check_egress)?,
        gateways: gateways_of(settings, env)?,
    })
}

/// Makes the sandbox `oci` in which a clone of the project can be worked on. In `sockets` runs listen.
fn oci_of(
    project: &Project,
    env: &[(String, String)],
    sockets: Option<&Path>,
    containers: Option<&Containers>,
) -> Oci {
    let Some(containers) = containers else { return Oci::default() };
    let contents =
        contents_of(project.root(), &project.config().sandbox, env, || view_of(project, env, sockets, OCI));
    match contents {
        Ok(contents) => Oci::new(containers.clone(), contents, project.root()),
        Err(error) => Oci::refusing(error),
    }
}

/// Returns what containers get in a project, with what commands see of the machine.
fn contents_of(
    root: &Path,
    settings: &SandboxSettings,
    env: &[(String, String)],
    view: impl FnOnce() -> Result<View, SandboxError>,
) -> Result<Contents, SandboxError> {
    let image = image_of(root, &settings.image)?;
    let memory = Memory::parse(&settings.memory).map_err(|problem| setting("memory", problem))?;
    if settings.pids > MAX_PIDS {
        let problem = format!("{} is more than the {MAX_PIDS} processes that a kernel has", settings.pids);
        return Err(setting("pids", problem));
    }
    let view = view()?;
    let below = settings.mounts.iter().find_map(|path| Some((path, mounted_below(Path::new(path))?)));
    if let Some((path, below)) = below {
        let below = below.display();
        let problem = format!(
            "`{path}` has another file system in it, at {below}, which engines would leave to be written"
        );
        return Err(setting("mounts", problem));
    }
    let Reach { egress, check_egress, gateways } = reach_of(settings, env)?;
    Ok(Contents { view, image, memory, pids: settings.pids, egress, check_egress, gateways })
}

/// Returns what commands see: a clone of the project, and of the project what they have to read.
fn view_of(
    project: &Project,
    env: &[(String, String)],
    sockets: Option<&Path>,
    name: &str,
) -> Result<View, SandboxError> {
    let settings = &project.config().sandbox;
    let home = env.iter().rev().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    let mut mounts = settings.mounts.iter();
    if let Some(problem) = mounts.find_map(|path| problem_of_mount(path, home.as_deref())) {
        return Err(setting("mounts", problem));
    }
    let unusable =
        |problem: &str| SandboxError::Unusable { name: name.to_owned(), problem: problem.to_owned() };
    let state_dir = project.state_dir();
    let state_dir: &Path =
        state_dir.ok_or_else(|| unusable("there is no private directory for a clone of the project"))?;
    let Ok(Some(repository)) = Repository::open(project.root(), project.caller()) else {
        return Err(unusable(
            "the project is in no git repository, so agents have no clone of it to work in",
        ));
    };
    // Beside its socket lies the token of a run, which commands it.
    for kept in [Some(state_dir), sockets].into_iter().flatten() {
        if let Some(path) = settings.mounts.iter().find(|path| meets(Path::new(path), kept)) {
            let problem = format!("`{path}` leads to what Samuel keeps from agents, in {}", kept.display());
            return Err(setting("mounts", problem));
        }
    }
    let directory = WorkspaceKind::directory_of(state_dir, project.root());
    let mut read_only: Vec<PathBuf> = settings.mounts.iter().map(PathBuf::from).collect();
    // A clone borrows from them, and git follows each to the next.
    let stores = repository.object_stores();
    let stores = stores.map_err(|error| unusable(&format!("its objects cannot be shown: {error}")))?;
    read_only.extend(stores.into_iter().map(|store| store.canonicalize().unwrap_or(store)));
    read_only.push(project.root().join(CONFIG_FILE));
    // Not the run directory, which has the plan, the records of runs and the context of others: the workspace has the
    // context files of the task.
    Ok(View { read_only, home, ..View::new(CloneWorkspace::work_dir_in(&directory, "")) })
}

/// Says whether one of two paths lies within the other, by whatever links.
fn meets(path: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (path, other) = (real(path), real(other));
    path.starts_with(&other) || other.starts_with(&path)
}

/// Returns where another file system is mounted below a directory.
fn mounted_below(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let mounts = read_text_anywhere(Path::new(MOUNTS), MAX_MOUNTS).unwrap_or_default();
    let mut points =
        mounts.lines().filter_map(|line| Some(PathBuf::from(unescaped(line.split(' ').nth(4)?))));
    points.find(|point| *point != real && point.starts_with(&real))
}

/// Returns a path as it is: a space in it is written by its number.
fn unescaped(text: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .into_iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (written, meant)| text.replace(written, meant))
}

fn setting(key: &'static str, problem: String) -> SandboxError {
    SandboxError::Setting { key, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn another_file_system_in_a_directory_is_seen() {
        assert!(mounted_below(Path::new("/")).is_some(), "there is /proc");
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(mounted_below(directory.path()), None);
        assert_eq!(unescaped("/a\\040b\\134040"), "/a b\\040");
    }

    #[test]
    fn a_mount_that_leads_to_the_private_directory_is_seen_by_whatever_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let (state, link) = (directory.path().join("state"), directory.path().join("link"));
        std::fs::create_dir_all(state.join("run")).expect("a directory");
        std::os::unix::fs::symlink(&state, &link).expect("a link");
        for path in [directory.path().to_owned(), state.clone(), state.join("run"), link.join("run")] {
            assert!(meets(&path, &state), "{}", path.display());
        }
        for path in [directory.path().join("state-2"), PathBuf::from("/usr")] {
            assert!(!meets(&path, &state), "{}", path.display());
        }
    }
}
