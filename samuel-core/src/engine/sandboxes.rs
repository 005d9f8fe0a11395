//! The sandboxes that samuel.toml describes: what commands see of a project in them.

use std::path::{Path, PathBuf};

use crate::{
    config::{CONFIG_FILE, SandboxSettings},
    egress::EgressPolicy,
    git::Repository,
    project::Project,
    sandbox::{
        BWRAP, Bwrap, Containers, Contents, Image, Memory, OCI, Oci, SandboxError, View, problem_of_egress,
        problem_of_mount,
    },
    workspace::{CloneWorkspace, WorkspaceKind},
};

/// Makes the sandbox `bwrap` in which a clone of the project can be worked on. In `sockets` runs listen.
pub(super) fn bwrap_of(project: &Project, env: &[(String, String)], sockets: Option<&Path>) -> Bwrap {
    let settings = &project.config().sandbox;
    if let Some(problem) = problem_of_egress(&settings.egress) {
        return Bwrap::refusing(setting("egress", problem));
    }
    match view_of(project, env, sockets, BWRAP) {
        Ok(view) => Bwrap::new(View { network: !settings.egress.is_empty(), ..view }),
        Err(error) => Bwrap::refusing(error),
    }
}

/// Makes the sandbox `oci` in which a clone of the project can be worked on. In `sockets` runs listen.
pub(super) fn oci_of(
    project: &Project,
    env: &[(String, String)],
    sockets: Option<&Path>,
    containers: Option<&Containers>,
) -> Oci {
    let Some(containers) = containers else { return Oci::default() };
    let contents = contents_of(&project.config().sandbox, || view_of(project, env, sockets, OCI));
    match contents {
        Ok(contents) => Oci::new(containers.clone(), contents, project.root()),
        Err(error) => Oci::refusing(error),
    }
}

/// Returns what containers get, with what commands see of the machine.
pub(super) fn contents_of(
    settings: &SandboxSettings,
    view: impl FnOnce() -> Result<View, SandboxError>,
) -> Result<Contents, SandboxError> {
    if settings.image.is_empty() {
        let problem = "the sandbox oci needs an image, pinned by its digest: build and pin one first";
        return Err(setting("image", problem.to_owned()));
    }
    let image = Image::parse(&settings.image).map_err(|problem| setting("image", problem))?;
    let memory = Memory::parse(&settings.memory).map_err(|problem| setting("memory", problem))?;
    let egress = EgressPolicy::parse(&settings.egress).map_err(|problem| setting("egress", problem))?;
    let check_egress =
        EgressPolicy::parse(&settings.check_egress).map_err(|problem| setting("check_egress", problem))?;
    Ok(Contents { view: view()?, image, memory, pids: settings.pids, egress, check_egress })
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
    read_only.push(repository.common_dir().join("objects"));
    read_only.extend([".samuel", CONFIG_FILE].map(|name| project.root().join(name)));
    Ok(View { read_only, home, ..View::new(CloneWorkspace::work_dir_in(&directory, "")) })
}

/// Says whether one of two paths lies within the other, by whatever links.
fn meets(path: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (path, other) = (real(path), real(other));
    path.starts_with(&other) || other.starts_with(&path)
}

fn setting(key: &'static str, problem: String) -> SandboxError {
    SandboxError::Setting { key, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

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
