//! The place of a turn: where its agent, its checks and its hooks work.
//!
//! All that is told of places comes from here: the prompt context, the payloads of the points, and the workspace of a
//! call. Points of the session and of the loop are of no turn; their place is the project.

use std::path::{Path, PathBuf};

use super::services::{Purpose, Services};
use crate::{
    context::PromptContext,
    git::Repository,
    hook::HookPoint,
    methodology::ralph::SourcePrd,
    model::Plan,
    project::{Project, name_places},
    state::RunDir,
};

/// The place where a turn, its checks and its hooks work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnPlace {
    pub(super) root: PathBuf,
    /// The run directory below the root.
    pub(super) run_dir: RunDir,
    is_project: bool,
    /// The branch that is checked out; empty if there is none.
    branch: String,
    /// Files that prompts name, if they are there.
    agents_md: Option<PathBuf>,
    source_prd: Option<PathBuf>,
}

impl TurnPlace {
    /// Returns the place of the project itself. Blocks.
    pub(super) fn of_project(project: &Project, run_dir: &RunDir, plan: &Plan) -> Self {
        let place = Self::of_root(project, project.root(), run_dir, plan);
        Self { run_dir: run_dir.clone(), is_project: true, ..place }
    }

    /// Returns the place of a workspace of the project. Blocks.
    fn of_root(project: &Project, root: &Path, run_dir: &RunDir, plan: &Plan) -> Self {
        let repository = Repository::open(root, project.caller()).ok().flatten();
        Self {
            root: root.to_owned(),
            run_dir: run_dir.within(root),
            is_project: false,
            branch: repository.and_then(|repository| repository.branch()).unwrap_or_default(),
            agents_md: Some(root.join("AGENTS.md")).filter(|path| path.is_file()),
            source_prd: SourcePrd::path_in(root, plan).filter(|path| path.is_file()),
        }
    }

    /// Returns the place of a workspace that is not made yet: it will have what the project has. A worker's branch has
    /// no name before its task is claimed.
    fn planned(self, root: &Path, is_worker: bool) -> Self {
        let moved = |path: PathBuf| path.strip_prefix(&self.root).map(|below| root.join(below)).ok();
        Self {
            root: root.to_owned(),
            run_dir: self.run_dir.within(root),
            is_project: false,
            branch: if is_worker { String::new() } else { self.branch },
            agents_md: self.agents_md.and_then(moved),
            source_prd: self.source_prd.and_then(moved),
        }
    }

    /// Names the place in a prompt context. The plan is not in a workspace, so its path is empty there.
    pub(super) fn name_in(&self, context: &mut PromptContext) {
        name_places(context, &self.root, &self.run_dir);
        if !self.is_project {
            context.paths.prd_file.clear();
        }
        let show =
            |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        context.project.branch.clone_from(&self.branch);
        context.paths.agents_md = show(&self.agents_md);
        context.paths.source_prd = show(&self.source_prd);
    }
}

impl Services {
    /// Returns the place at which a point fires: the project for the points of the session and the loop, else where the
    /// run works. Blocks for a moment.
    pub(super) fn place_at(&self, point: HookPoint) -> TurnPlace {
        use HookPoint::{AbilityAfter, AbilityBefore, AfterLoop, BeforeLoop, SessionEnd, SessionStart};
        let project = || TurnPlace::of_project(&self.project, &self.run_dir, &self.plan());
        match point {
            // There are many in a turn, which has its place by then.
            AbilityBefore | AbilityAfter => self.contexts(|contexts| contexts.at.clone()),
            SessionStart | BeforeLoop | AfterLoop | SessionEnd => project(),
            _ if !self.has_workspace() => project(),
            _ if self.purpose == Purpose::Preview => project().planned(&self.work_root, self.has_workers),
            _ => TurnPlace::of_root(&self.project, &self.work_root, &self.run_dir, &self.plan()),
        }
    }

    /// Returns whether hooks of a point run in the project although the turn has a workspace: while an agent is at work in
    /// a sandbox it can change what git does there, and hooks run outside of the sandbox.
    pub(super) fn keeps_hooks_out(&self, point: HookPoint) -> bool {
        use HookPoint::{AbilityAfter, AbilityBefore, TaskCompleted};
        self.is_sandboxed && matches!(point, AbilityBefore | AbilityAfter | TaskCompleted)
    }

    /// Returns whether the run works in a workspace, and not in the project itself.
    pub(super) fn has_workspace(&self) -> bool {
        self.work_root.as_path() != self.project.root()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    #[test]
    fn names_files_of_the_place_that_exist() {
        let made = tempfile::tempdir().unwrap();
        let (root, workspace) = (made.path().join("project"), made.path().join("workspace"));
        for directory in [&root, &workspace] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join("prd.md"), "").unwrap();
        }
        fs::write(root.join("AGENTS.md"), "").unwrap();
        let project = Project::at(&root).unwrap();
        let (root, run_dir) = (project.root().to_owned(), RunDir::new(project.root()));
        let mut plan = Plan::default();
        plan.project.source_prd = Some("prd.md".to_owned());
        let named = |place: &TurnPlace| {
            let mut context = PromptContext::default();
            place.name_in(&mut context);
            let paths = context.paths;
            [context.project.root, paths.prd_file, paths.progress_file, paths.agents_md, paths.source_prd]
        };
        let below = |root: &Path, names: [&str; 5]| {
            names.map(|name| match name {
                "" => String::new(),
                "." => root.display().to_string(),
                name => root.join(name).display().to_string(),
            })
        };
        let of_project = TurnPlace::of_project(&project, &run_dir, &plan);
        let plan_file = ".samuel/run/prd.toon";
        let log = ".samuel/run/progress.md";
        assert_eq!(named(&of_project), below(&root, [".", plan_file, log, "AGENTS.md", "prd.md"]));
        let of_workspace = TurnPlace::of_root(&project, &workspace, &run_dir, &plan);
        assert_eq!(named(&of_workspace), below(&workspace, [".", "", log, "", "prd.md"]));
        let planned = of_project.planned(&workspace, true);
        assert_eq!(named(&planned), below(&workspace, [".", "", log, "AGENTS.md", "prd.md"]));
    }
}
