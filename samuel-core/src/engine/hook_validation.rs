//! What is wrong with the hooks of a project, all of it at once.
//!
//! A [`HookValidation`] reads the hook files and the hook tables of samuel.toml and puts the chains
//! in order. It starts nothing. `samuel hooks validate` prints it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{builder::RunBuilder, error::RunError, run::Run};
use crate::{
    config::{ConfigError, Problem},
    dialect::HookFiles,
    hook::{HookPoint, Tier},
    model::Coded,
    plugin::PluginError,
    project::{Project, ProjectError},
    text::described,
};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HookValidation {
    /// The hook files there are, relative to the project's root.
    pub files: Vec<PathBuf>,
    /// How many hooks would run.
    pub hooks: usize,
    /// What is wrong, in the order of the files.
    pub problems: Vec<HookProblem>,
    /// What works, but somebody should know.
    pub warnings: Vec<String>,
    /// The variables that look like secrets and that commands of hook files are given.
    pub secrets: Vec<String>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HookProblem {
    /// The file; nothing where it is about no file.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column in characters, from 1.
    pub column: Option<usize>,
    /// What is wrong, one line.
    pub message: String,
    /// What to do next.
    pub help: String,
}

impl HookValidation {
    /// Looks at the project at a root as it was opened, or at why it cannot be. Blocks, and
    /// starts no process.
    ///
    /// `env` is what runs get. `prepare` does to a run what is done before a start: it registers
    /// the handlers of the project's plugins and hook files, and others.
    pub fn of(
        root: &Path,
        opened: Result<Project, ProjectError>,
        env: &[(String, String)],
        prepare: impl FnOnce(&Project, RunBuilder) -> Result<RunBuilder, PluginError>,
    ) -> Self {
        let mut found = Self::default();
        match HookFiles::read(root) {
            Ok(files) => {
                found.files = files.paths().map(Path::to_owned).collect();
                found.problems.extend(files.problems().iter().map(HookProblem::of));
                found.warnings.extend(files.remarks());
                found.secrets = files.secrets(env).into_iter().map(str::to_owned).collect();
            }
            Err(error) => found.add_config(&error),
        }
        let project = match opened {
            Ok(project) => project,
            Err(ProjectError::Config(error)) => {
                found.add_config(&error);
                return found;
            }
            Err(error) => {
                found.add(&error);
                return found;
            }
        };
        let run = Run::builder(project.clone()).env(env.iter().cloned());
        match prepare(&project, run).map(RunBuilder::hooks) {
            Ok(Ok(hooks)) => {
                let registry = hooks.registry();
                let handlers = HookPoint::ALL.iter().flat_map(|point| registry.handlers(*point));
                found.hooks = handlers.filter(|(_, _, tier)| *tier != Tier::BuiltIn).count();
                found.warnings.extend(registry.warnings().map(str::to_owned));
                found.warnings.extend(hooks.remarks().iter().cloned());
            }
            Ok(Err(RunError::Config(error))) => found.add_config(&error),
            Ok(Err(error)) => found.add(&error),
            Err(error) => found.add(&error),
        }
        found
    }

    /// Says whether nothing is wrong.
    pub fn is_valid(&self) -> bool {
        self.problems.is_empty()
    }

    fn add_config(&mut self, error: &ConfigError) {
        match error.problems() {
            [] => self.add(error),
            problems => problems.iter().map(HookProblem::of).for_each(|problem| self.push(problem)),
        }
    }

    fn add(&mut self, error: &dyn Coded) {
        let location = error.location();
        let place = location.as_ref();
        self.push(HookProblem {
            file: place.map(|place| place.file.clone()),
            line: place.and_then(|place| place.line),
            column: place.and_then(|place| place.column),
            message: described(error),
            help: error.help().prose(),
        });
    }

    /// Adds a problem that was not found before, in another way of reading the same file.
    fn push(&mut self, problem: HookProblem) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

impl HookProblem {
    fn of(problem: &Problem) -> Self {
        let place = &problem.location;
        Self {
            file: Some(place.file.clone()),
            line: place.line,
            column: place.column,
            message: problem.to_string(),
            help: problem.help().prose(),
        }
    }
}
