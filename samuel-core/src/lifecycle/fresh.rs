//! Making a project ready for a run that may yet be refused.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{LifecycleError, fire::blocking, make_ready};
use crate::{
    model::Plan,
    project::{Initialised, NewPlan, Project, ProjectError},
    state::Holder,
};

/// A project that was made ready for a run which has not begun.
///
/// Where the run is refused, [`take_back`](Self::take_back) leaves the project as it was.
#[derive(Clone, Debug)]
pub struct Fresh {
    /// What was written.
    pub made: Initialised,
    project: Project,
    /// The outermost directory that was not there before.
    directory: Option<PathBuf>,
    /// The samuel.toml that was written, with what it holds.
    config: Option<(PathBuf, Vec<u8>)>,
    plan: Arc<Plan>,
}

impl Fresh {
    /// Makes a project ready with an empty plan, as [`make_ready`] does.
    ///
    /// # Errors
    /// As [`make_ready`].
    pub async fn make(project: &Project) -> Result<Self, LifecycleError> {
        let (project, root) = (project.clone(), project.root().to_owned());
        let run_dir = project.run_dir().path().to_owned();
        let above = run_dir.ancestors().take_while(|path| **path != root);
        let directory = above.filter(|path| !is_there(path)).last().map(Path::to_owned);
        let made = make_ready(&project, NewPlan::default(), |_| {}).await?;
        let fresh = move || {
            let read = |path: PathBuf| Some((path.clone(), fs::read(path).ok()?));
            let config = made.config.clone().and_then(read);
            let plan = project.plan_store().load().map_err(ProjectError::from)?.plan;
            Ok::<_, LifecycleError>(Self { made, project, directory, config, plan })
        };
        blocking(fresh).await?
    }

    /// Removes what was written, and returns whether it did. It stays where somebody has used
    /// it since: the plan or samuel.toml is another one, or a loop is at work. Blocks while it
    /// does.
    ///
    /// # Errors
    /// Returns an [`io::Error`] where something cannot be removed.
    pub fn take_back(&self) -> io::Result<bool> {
        let is_changed = |(path, text): &(PathBuf, Vec<u8>)| fs::read(path).ok().as_ref() != Some(text);
        let plan = self.project.plan_store().load();
        if plan.is_ok_and(|loaded| loaded.plan != self.plan)
            || self.config.as_ref().is_some_and(is_changed)
            || self.is_held()
        {
            return Ok(false);
        }
        match &self.directory {
            Some(directory) => fs::remove_dir_all(directory)?,
            None => fs::remove_file(&self.made.plan)?,
        }
        self.config.iter().try_for_each(|(path, _)| fs::remove_file(path))?;
        Ok(true)
    }

    /// Says whether a loop holds what would be removed.
    fn is_held(&self) -> bool {
        let holder = self.project.lane_store().loop_holder();
        let is_ours = |holder: &Holder| holder.works_for(Some(self.project.methodology()));
        holder.ok().flatten().is_some_and(|holder| holder.as_ref().is_none_or(is_ours))
    }
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
