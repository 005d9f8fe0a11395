//! Making a project ready to run.
//!
//! [`Project::initialise`] writes what is missing; [`Project::convert_prd`]
//! turns a PRD into the plan. Both refuse to replace a plan that has tasks
//! unless they are told to, and keep a backup then.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{Project, ProjectError};
use crate::{
    config::{CONFIG_FILE, Config},
    detect::{Detected, detect_project, list_files},
    fs::{FileError, PROJECT_FILE, Root, read_text_anywhere},
    model::{Plan, Project as PlanProject},
    prd::{self, Conversion, Document, Form, MAX_INPUT_BYTES, PrdError, Remark},
    state::{Actor, Existing, Holder, Imported, StateError},
};

/// How a project is initialised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitOptions {
    /// The PRD whose tasks become the plan; without one the plan is empty.
    pub prd: Option<PathBuf>,
    /// What happens to a plan that is there already.
    pub existing: Existing,
}

/// What an initialisation did.
#[derive(Clone, Debug, Serialize)]
pub struct Initialised {
    /// The methodology the project is set up for.
    pub methodology: String,
    /// The samuel.toml that was written; nothing where there was one.
    pub config: Option<PathBuf>,
    /// The quality checks that were guessed for it.
    pub quality_checks: Vec<String>,
    /// The plan file.
    pub plan: PathBuf,
    /// Where the plan that was there before was put.
    pub backup: Option<PathBuf>,
    /// What came of the PRD, where one was given.
    pub converted: Option<ConvertedPrd>,
}

/// What came of a PRD.
#[derive(Clone, Debug, Serialize)]
pub struct ConvertedPrd {
    /// The PRD.
    pub prd: PathBuf,
    /// The companion file with the tasks, where there is one.
    pub companion: Option<PathBuf>,
    /// Where the tasks come from.
    pub form: Form,
    /// The project's name, from the PRD's title.
    pub name: String,
    /// How many tasks there are.
    pub tasks: usize,
    /// The plan's revision.
    pub revision: u64,
    /// Where the plan that was there before was put.
    pub backup: Option<PathBuf>,
    /// What the author of the PRD should know.
    pub warnings: Vec<Remark>,
}

impl Project {
    /// Writes samuel.toml, unless there is one, and a plan: that of a PRD, or
    /// an empty one. Nothing is written where any of it is refused.
    ///
    /// # Errors
    /// Returns [`StateError::Exists`] for a plan that must not be replaced,
    /// [`ProjectError::Prd`] for a PRD that cannot be used, and
    /// [`ProjectError::State`] or [`ProjectError::Write`] where the disk
    /// refuses.
    pub fn initialise(&self, options: &InitOptions) -> Result<Initialised, ProjectError> {
        let read = options.prd.as_deref().map(|path| self.read_prd(path)).transpose()?;
        let plan = match &read {
            Some(read) => self.plan_of(read),
            None => Plan { project: self.plan_project(String::new()), ..Plan::default() },
        };
        let imported = self.import(plan, options.existing)?;
        self.ignore_run_dir()?;
        let detected = detect_project(self.root(), &list_files(self.root()));
        let config = self.write_config(&detected)?;
        let backup = imported.backup.clone();
        Ok(Initialised {
            methodology: self.methodology().to_owned(),
            quality_checks: config.as_ref().map(|_| detected.quality_checks).unwrap_or_default(),
            config,
            plan: self.run_dir().prd(),
            backup,
            converted: read.map(|read| read.converted(&imported)),
        })
    }

    /// Turns a PRD, and the companion beside it, into the plan. A plan without
    /// tasks is replaced in any case.
    ///
    /// # Errors
    /// Returns what [`initialise`](Self::initialise) returns.
    pub fn convert_prd(&self, path: &Path, existing: Existing) -> Result<ConvertedPrd, ProjectError> {
        let read = self.read_prd(path)?;
        let imported = self.import(self.plan_of(&read), existing)?;
        self.ignore_run_dir()?;
        Ok(read.converted(&imported))
    }

    fn read_prd(&self, path: &Path) -> Result<ReadPrd, ProjectError> {
        let document = read_document(path)?;
        let mut companion = None;
        for candidate in prd::companion_name(path) {
            if candidate != path && candidate.is_file() {
                companion = Some(read_document(&candidate)?);
                break;
            }
        }
        let now = self.clock().now();
        let conversion = prd::convert(&document, companion.as_ref(), now)?.require_valid(path)?;
        let companion = companion.map(|document| document.path);
        Ok(ReadPrd { path: path.to_owned(), companion, conversion })
    }

    fn plan_of(&self, read: &ReadPrd) -> Plan {
        let Conversion { tasks, name, description, .. } = &read.conversion;
        let source = read.path.strip_prefix(self.root()).unwrap_or(&read.path);
        let project = PlanProject {
            name: if name.is_empty() { self.name() } else { name.clone() },
            source_prd: Some(source.display().to_string()),
            ..self.plan_project(description.clone())
        };
        Plan { project, tasks: tasks.clone(), ..Plan::default() }
    }

    fn plan_project(&self, description: String) -> PlanProject {
        PlanProject { name: self.name(), description, ..PlanProject::default() }
    }

    /// Stores a plan. Another one is replaced as a whole only where no loop works
    /// on it: its tasks would go from under the agent's hands.
    fn import(&self, plan: Plan, existing: Existing) -> Result<Imported, StateError> {
        let store = self.plan_store();
        let holder = Holder::this_process(self.clock().now(), "replacing the plan");
        let _no_loop = match existing {
            Existing::Replace => Some(self.lane_store().lock_loop(&holder)?),
            Existing::Refuse => None,
        };
        match store.import(plan.clone(), Actor::User, existing) {
            // Nothing is lost with a plan that has nothing in it.
            Err(StateError::Exists { path }) => match store.load() {
                Ok(there) if there.plan.tasks.is_empty() && there.unparsed.is_empty() => {
                    store.import(plan, Actor::User, Existing::Replace)
                }
                Err(error @ (StateError::Corrupt { .. } | StateError::Version { .. })) => Err(error),
                _ => Err(StateError::Exists { path }),
            },
            imported => imported,
        }
    }

    /// Keeps version control out of the run directory, which changes with
    /// every iteration.
    pub(super) fn ignore_run_dir(&self) -> Result<(), ProjectError> {
        write_new(self.run_dir().root(), &self.run_dir().path().join(".gitignore"), "*\n").map(drop)
    }

    fn write_config(&self, detected: &Detected) -> Result<Option<PathBuf>, ProjectError> {
        let path = self.root().join(CONFIG_FILE);
        let text = Config::render_new(&self.name(), &detected.quality_checks, self.methodology());
        Ok(write_new(&Root::new(self.root()), &path, &text)?.then_some(path))
    }
}

/// A PRD that was read and converted.
struct ReadPrd {
    path: PathBuf,
    companion: Option<PathBuf>,
    conversion: Conversion,
}

impl ReadPrd {
    fn converted(self, imported: &Imported) -> ConvertedPrd {
        let Conversion { tasks, name, form, warnings, .. } = self.conversion;
        ConvertedPrd {
            prd: self.path,
            companion: self.companion.filter(|_| form == Form::Companion),
            form,
            name,
            tasks: tasks.len(),
            revision: imported.revision,
            backup: imported.backup.clone(),
            warnings,
        }
    }
}

/// Reads a document that the user named, wherever it lies.
fn read_document(path: &Path) -> Result<Document, PrdError> {
    let limit = u64::try_from(MAX_INPUT_BYTES).unwrap_or(u64::MAX);
    let text = read_text_anywhere(path, limit).map_err(|error| match error {
        FileError::TooLarge { .. } => PrdError::TooLarge { path: path.to_owned(), bytes: size(path) },
        error => PrdError::from_io(path, error.into()),
    })?;
    Ok(Document::new(path, text))
}

/// Returns how large a file says it is.
fn size(path: &Path) -> usize {
    let size = std::fs::metadata(path).map(|metadata| metadata.len()).unwrap_or_default();
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Writes a file of the project unless there is one; says whether it did. What
/// could not be written whole is taken away again.
fn write_new(root: &Root, path: &Path, text: &str) -> Result<bool, ProjectError> {
    let failed = |source| ProjectError::Write { path: path.to_owned(), source };
    let mut file = match root.create_new(path, PROJECT_FILE) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed(error.into())),
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        let _ = root.remove_own(path);
        return Err(failed(error));
    }
    Ok(true)
}
