//! Whether a run can have the lanes that it is to have, seen before anything is started.

use super::{error::LanesError, open::checked_out};
use crate::{
    config::{MAX_JOBS, ParallelSettings},
    engine::{error::RunError, frozen::Frozen, run::Run},
    merge::{HasBranch, MergeRepository},
    model::Location,
    process::Supervisor,
    text::counted,
    workspace::{Git, UsersTree, WorkspaceError, WorkspaceKind, cannot_be_copied, plain_path},
};

impl Run {
    /// Sees whether the run can have the lanes that it is to have.
    ///
    /// # Errors
    /// Returns the [`LanesError`] that says why not, with the place in samuel.toml that says so.
    pub(in crate::engine) fn check_lanes(&self) -> Result<(), LanesError> {
        let settings = &self.frozen.settings;
        let parallel = &settings.parallel;
        if !(1..=MAX_JOBS).contains(&parallel.jobs) {
            return Err(LanesError::Jobs { jobs: parallel.jobs, most: MAX_JOBS });
        }
        if parallel.jobs > 1 || self.frozen.workspace == WorkspaceKind::Clone {
            self.check_copies()?;
        }
        match parallel.into.as_str() {
            into if parallel.jobs == 1 && !into.is_empty() => {
                Err(LanesError::IntoAlone { into: into.to_owned(), location: self.place_of_into() })
            }
            _ => Ok(()),
        }
    }

    /// Checks that the project's repository is one that workers, or a clone, can work on. Starts no process and writes
    /// nothing, and leaves out what only git can tell. Blocks.
    ///
    /// # Errors
    /// Returns the error with which a start ends.
    pub(in crate::engine) fn check_repository(&self) -> Result<(), RunError> {
        self.check_lanes()?;
        let Frozen { project, settings, env, .. } = &self.frozen;
        let into = &settings.parallel.into;
        if settings.parallel.jobs == 1 {
            return Ok(self.check_clone()?);
        }
        let directory = self.lanes_directory()?;
        checked_out(project.root(), project.caller())?;
        let users = UsersTree::open(project.root(), project.caller()).map_err(of_lanes)?;
        Git::of(env, Supervisor::default(), &directory, &users.top).map_err(of_lanes)?;
        let is_there = |kind: &str| users.commit_at(&format!("refs/{kind}/{into}")).map(|at| at.is_some());
        // There is no answer for an empty name, and if only git can tell.
        let Ok(is_branch) = is_there("heads") else { return Ok(()) };
        let has = if is_branch { HasBranch::Yes } else { HasBranch::No };
        Ok(self.check_named(has, is_there("tags").unwrap_or_default())?)
    }

    /// Sees whether all files can be copied that are to be.
    ///
    /// # Errors
    /// Returns [`LanesError::Copy`] for the first that cannot.
    pub(in crate::engine) fn check_copies(&self) -> Result<(), LanesError> {
        let root = self.frozen.project.root();
        for path in &self.frozen.settings.parallel.copy {
            if let Some(problem) = cannot_be_copied(root, path) {
                return Err(self.not_copied(path, &problem));
            }
        }
        Ok(())
    }

    /// Sees whether some commits, or the index of the project, have none of what is to be copied: it would land.
    ///
    /// # Errors
    /// Returns [`LanesError::Copy`] for the first that one of them has.
    pub(super) async fn check_copied(
        &self,
        repository: &MergeRepository,
        commits: &[&str],
    ) -> Result<(), RunError> {
        match repository.tracked(commits, &self.copied()).await? {
            Some(path) => Err(self.not_copied(&path, "git tracks it, so that its copy would land").into()),
            None => Ok(()),
        }
    }

    /// Returns what is copied into workspaces, by plain paths from the project's root.
    pub(in crate::engine) fn copied(&self) -> Vec<String> {
        self.frozen.settings.parallel.copy.iter().filter_map(|path| plain_path(path)).collect()
    }

    fn not_copied(&self, path: &str, problem: &str) -> LanesError {
        let location = self.place_of(&format!("methodology.{}.parallel.copy", self.methodology()));
        LanesError::Copy { path: path.into(), problem: problem.into(), location }
    }

    /// Returns the error for a branch that nothing can land on.
    pub(super) fn no_branch_to_land_on(&self, into: &str, problem: &str, help: &str) -> LanesError {
        let (into, problem, help) = (into.into(), problem.into(), help.into());
        LanesError::Into { into, problem, help, location: self.place_of_into() }
    }

    /// Says where samuel.toml names the branch that work lands on; nothing where a flag or a program does.
    pub(super) fn place_of_into(&self) -> Option<Location> {
        let ParallelSettings { into, .. } = self.frozen.project.settings().parallel;
        let is_configured = into == self.frozen.settings.parallel.into;
        self.place_of(&format!("methodology.{}.parallel.into", self.methodology())).filter(|_| is_configured)
    }

    fn methodology(&self) -> &str {
        self.frozen.project.methodology()
    }

    fn place_of(&self, key: &str) -> Option<Location> {
        self.frozen.project.config().origin(key).map(Location::from)
    }
}

/// Says why so many workspaces do not fit into what is free, if they do not. Sizes are in bytes.
pub(super) fn no_room(trees: usize, each: u64, free: u64) -> Option<String> {
    let needed = each.saturating_mul(trees as u64);
    let in_mb = |bytes: u64| bytes.div_ceil(1 << 20);
    (needed > free).then(|| {
        format!(
            "{} of {} MB each do not fit into the {} MB that are free below its state directory",
            counted(trees, "workspace"),
            in_mb(each),
            free >> 20
        )
    })
}

/// Words for lanes what keeps a project from having a workspace.
pub(super) fn of_lanes(error: WorkspaceError) -> RunError {
    match error {
        WorkspaceError::Unfit { root, problem, help } => {
            let (help, _) = help.split_once(", or work in place").unwrap_or((&help, ""));
            let help = format!("{}. Or work with one lane.", help.trim_end_matches('.'));
            LanesError::Unfit { root, problem, help }.into()
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::no_room;

    #[test]
    fn more_workspaces_than_fit_are_told_with_their_size_and_what_is_free() {
        assert_eq!(no_room(3, 1 << 20, 3 << 20), None);
        assert_eq!(no_room(0, u64::MAX, 0), None);
        let told = no_room(4, 1 << 20, 3 << 20);
        let expected =
            "4 workspaces of 1 MB each do not fit into the 3 MB that are free below its state directory";
        assert_eq!(told.as_deref(), Some(expected));
        assert!(no_room(65, u64::MAX / 2, u64::MAX - 1).is_some(), "nothing overflows");
    }
}
