//! Making a project ready to run.
//!
//! [`Project::make_plan`] makes an empty plan or that of a PRD, which
//! [`Project::convert_prd`] does too. Both refuse to replace a plan that has tasks
//! unless they are told to, and keep a backup then. What is around the plan, such as
//! samuel.toml, [`make_ready`](crate::lifecycle::make_ready) writes.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use serde::Serialize;

use super::{Project, ProjectError};
use crate::{
    fs::{FileError, Manner, read_anywhere},
    methodology::ralph::SourcePrd,
    model::{Plan, PlanHeader as PlanProject, Scope, settle},
    plan::{LongPlan, TaskFilter, TaskList},
    prd::{self, Conversion, Document, Form, MAX_INPUT_BYTES, PrdError, Remark, RemarkKind},
    state::{Actor, Existing, Holder, Imported, LoadedPlan, StateError, set_baseline},
};

/// The plan that a project gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPlan {
    /// The PRD whose tasks become the plan; without one the plan is empty.
    pub prd: Option<PathBuf>,
    /// What happens to a plan that is there already.
    pub existing: Existing,
    /// How the PRD is read.
    pub reading: PrdOptions,
}

/// How a PRD is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrdOptions {
    /// The form it has. By default the one that the plan which is brought up to date was
    /// made with, or else the one that it is surest to have.
    pub form: Option<Form>,
    /// Whether a PRD without tasks makes an empty plan.
    pub allow_empty: bool,
}

/// What an initialisation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Initialised {
    /// The methodology the project is set up for.
    pub methodology: String,
    /// The samuel.toml that was written; nothing where there was one.
    pub config: Option<PathBuf>,
    /// The quality checks that were guessed for it.
    pub quality_checks: Vec<String>,
    /// The plan file.
    pub plan: PathBuf,
    /// Where the plan that was there before was put; nothing where it is one of the kept
    /// plans, or there was none.
    pub backup: Option<PathBuf>,
    /// The number of the plan that was there before among the kept plans; nothing where
    /// there was none with tasks, or it is not kept there.
    pub kept: Option<u64>,
    /// What came of the PRD, where one was given.
    pub converted: Option<ConvertedPrd>,
}

/// What came of a PRD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// Where the plan that was there before was put; nothing where it is one of the kept
    /// plans, or there was none.
    pub backup: Option<PathBuf>,
    /// The number of the plan that was there before among the kept plans; nothing where
    /// there was none with tasks, or it is not kept there.
    pub kept: Option<u64>,
    /// Whether the plan has more tasks than a run may make iterations.
    pub long: Option<LongPlan>,
    /// What the author of the PRD should know.
    pub warnings: Vec<Remark>,
}

/// The plan that a PRD would become.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PrdPreview {
    /// The PRD.
    pub prd: PathBuf,
    /// The companion file with the tasks, where there is one.
    pub companion: Option<PathBuf>,
    /// Where the tasks come from.
    pub form: Form,
    /// The project's name, from the PRD's title.
    pub name: String,
    /// The project's description.
    pub description: String,
    /// The tasks, as a tree.
    pub list: TaskList,
    /// How many tasks the plan has that it would take the place of.
    pub replaces: usize,
    /// Whether the plan would have more tasks than a run may make iterations.
    pub long: Option<LongPlan>,
    /// What the author of the PRD should know.
    pub warnings: Vec<Remark>,
}

/// Returns a path without `..`, which may lead through a directory that is gone one day.
fn without_detours(path: &Path) -> PathBuf {
    let has_detour = path.components().any(|part| part == Component::ParentDir);
    let (Some(directory), Some(name), true) = (path.parent(), path.file_name(), has_detour) else {
        return path.to_owned();
    };
    fs::canonicalize(directory).map_or_else(|_| path.to_owned(), |directory| directory.join(name))
}

impl Project {
    /// Makes a plan: that of a PRD, or an empty one. Nothing is written where any of it
    /// is refused.
    ///
    /// # Errors
    /// Returns [`StateError::Exists`] for a plan that must not be replaced,
    /// [`ProjectError::Prd`] for a PRD that cannot be used, and
    /// [`ProjectError::State`] or [`ProjectError::Write`] where the disk
    /// refuses.
    pub fn make_plan(&self, new: &NewPlan) -> Result<Initialised, ProjectError> {
        let read = new.prd.as_deref().map(|path| self.read_prd(path, new.reading)).transpose()?;
        let plan = match &read {
            Some(read) => self.plan_of(read),
            None => Plan { project: self.plan_project(String::new()), ..Plan::default() },
        };
        let long = self.long(&plan);
        let imported = self.import(plan, new.existing)?;
        self.ignore_run_dir()?;
        Ok(Initialised {
            methodology: self.methodology().to_owned(),
            quality_checks: Vec::new(),
            config: None,
            plan: self.run_dir().prd(),
            backup: imported.backup.clone(),
            kept: imported.kept,
            converted: read.map(|read| read.converted(&imported, long)),
        })
    }

    /// Turns a PRD, and the companion beside it, into the plan. A plan without
    /// tasks is replaced in any case.
    ///
    /// # Errors
    /// Returns what [`make_plan`](Self::make_plan) returns.
    pub fn convert_prd(&self, path: &Path, existing: Existing) -> Result<ConvertedPrd, ProjectError> {
        self.convert_prd_as(path, existing, PrdOptions::default())
    }

    /// Turns a PRD into the plan as [`convert_prd`](Self::convert_prd) does, and
    /// says how it is read.
    ///
    /// # Errors
    /// Returns what [`make_plan`](Self::make_plan) returns.
    pub fn convert_prd_as(
        &self,
        path: &Path,
        existing: Existing,
        options: PrdOptions,
    ) -> Result<ConvertedPrd, ProjectError> {
        let read = self.read_prd(path, options)?;
        let plan = self.plan_of(&read);
        let long = self.long(&plan);
        let imported = self.import(plan, existing)?;
        self.ignore_run_dir()?;
        Ok(read.converted(&imported, long))
    }

    /// Shows the plan that [`convert_prd_as`](Self::convert_prd_as) would make of a PRD, and
    /// writes nothing.
    ///
    /// # Errors
    /// Returns [`StateError::Exists`] for a plan that would not be replaced,
    /// [`ProjectError::Prd`] for a PRD that cannot be used, and [`ProjectError::State`] where
    /// the plan that is there cannot be read.
    pub fn preview_prd(
        &self,
        path: &Path,
        existing: Existing,
        options: PrdOptions,
    ) -> Result<PrdPreview, ProjectError> {
        let read = self.read_prd(path, options)?;
        let mut plan = self.plan_of(&read);
        settle(&mut plan.tasks, None);
        let replaces = match self.plan_store().load() {
            Ok(there) if existing == Existing::Refuse && !is_blank(&there) => {
                return Err(StateError::Exists { path: self.run_dir().prd() }.into());
            }
            Ok(there) => there.plan.tasks.len(),
            Err(StateError::NotInitialised { .. }) => 0,
            Err(_) if existing == Existing::Replace => 0,
            Err(error) => return Err(error.into()),
        };
        let (long, list) = (self.long(&plan), TaskList::of(&plan, &TaskFilter::default()));
        let Plan { project, .. } = plan;
        let (companion, form) = (read.companion().cloned(), read.conversion.form);
        let warnings = read.conversion.warnings;
        let PlanProject { name, description, .. } = project;
        Ok(PrdPreview { prd: read.path, companion, form, name, description, list, replaces, long, warnings })
    }

    /// Compares a plan with the limit of a run.
    fn long(&self, plan: &Plan) -> Option<LongPlan> {
        LongPlan::of(plan, &Scope::All, self.settings().max_iterations, 0)
    }

    pub(super) fn read_prd(&self, path: &Path, options: PrdOptions) -> Result<ReadPrd, ProjectError> {
        let document = read_document(path)?;
        let mut companion = None;
        for candidate in prd::companion_name(path) {
            if candidate != path && candidate.is_file() {
                companion = Some(read_document(&candidate)?);
                break;
            }
        }
        let mut conversion = self.convert(&document, companion.as_ref(), options)?;
        conversion.warnings.extend(self.not_quoted(path));
        let companion = companion.map(|document| document.path);
        Ok(ReadPrd { path: path.to_owned(), companion, forced: options.form, conversion })
    }

    /// Converts a PRD that was read already.
    pub(super) fn read_text(
        &self,
        document: &Document,
        options: PrdOptions,
    ) -> Result<ReadPrd, ProjectError> {
        let conversion = self.convert(document, None, options)?;
        Ok(ReadPrd { path: document.path.clone(), companion: None, forced: options.form, conversion })
    }

    fn convert(
        &self,
        prd: &Document,
        companion: Option<&Document>,
        options: PrdOptions,
    ) -> Result<Conversion, PrdError> {
        let conversion = prd::convert_as(options.form, prd, companion, self.clock().now())?;
        let conversion = conversion.require_valid(&prd.path)?;
        if options.allow_empty { Ok(conversion) } else { conversion.require_tasks(&prd.path) }
    }

    /// Returns a warning if prompts cannot quote a PRD.
    fn not_quoted(&self, path: &Path) -> Option<Remark> {
        let source_prd = Some(self.source_of(path));
        let plan = Plan { project: PlanProject { source_prd, ..PlanProject::default() }, ..Plan::default() };
        let read = SourcePrd::read(self.root(), &plan, None, self.settings().context.prd_tokens)?;
        let problem = read.problem.filter(|_| read.is_unusable)?;
        let advice = match Path::new(&read.path).is_absolute() {
            true => ". Copy it into the project, and convert the copy",
            false => "",
        };
        let message = format!("prompts cannot quote this PRD. {problem}{advice}");
        Some(Remark::warning(path.to_owned(), RemarkKind::NotQuoted, &message))
    }

    /// Returns the path of a PRD as a plan names it: from the root, unless it is elsewhere.
    fn source_of(&self, path: &Path) -> String {
        let path = without_detours(path);
        path.strip_prefix(self.root()).unwrap_or(&path).display().to_string()
    }

    pub(super) fn plan_of(&self, read: &ReadPrd) -> Plan {
        let Conversion { tasks, name, description, .. } = &read.conversion;
        let project = PlanProject {
            name: if name.is_empty() { self.name() } else { name.clone() },
            source_prd: Some(self.source_of(&read.path)),
            prd_format: read.forced.map(|form| form.name().to_owned()),
            ..self.plan_project(description.clone())
        };
        let mut plan = Plan { project, tasks: tasks.clone(), ..Plan::default() };
        set_baseline(&mut plan);
        plan
    }

    fn plan_project(&self, description: String) -> PlanProject {
        PlanProject { name: self.name(), description, ..PlanProject::default() }
    }

    /// Stores a plan. Another one is replaced as a whole only where no loop works
    /// on it: its tasks would go from under the agent's hands.
    fn import(&self, plan: Plan, existing: Existing) -> Result<Imported, StateError> {
        let store = self.plan_store();
        let holder =
            Holder::this_process(self.clock().now(), "replacing the plan").of_methodology(self.methodology());
        let _no_loop = match existing {
            Existing::Replace => Some(self.lane_store().lock_loop(&holder)?),
            Existing::Refuse => None,
        };
        match store.import(plan.clone(), Actor::User, existing) {
            // Nothing is lost with a plan that has nothing in it.
            Err(StateError::Exists { path }) => match store.load() {
                Ok(there) if is_blank(&there) => store.import(plan, Actor::User, Existing::Replace),
                // Of what is no plan the reading says what is to be done.
                Err(
                    error @ (StateError::Corrupt { .. } | StateError::Version { .. } | StateError::Io { .. }),
                ) => Err(error),
                _ => Err(StateError::Exists { path }),
            },
            imported => imported,
        }
    }

    /// Keeps version control out of the run directory, which changes with
    /// every iteration.
    pub(super) fn ignore_run_dir(&self) -> Result<(), ProjectError> {
        let path = self.run_dir().path().join(".gitignore");
        match self.run_dir().root().write_new(&path, b"*\n", &Manner::PROJECT) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(ProjectError::Write { path, source: error.into() })
            }
            _ => Ok(()),
        }
    }
}

/// A PRD that was read and converted.
pub(super) struct ReadPrd {
    path: PathBuf,
    companion: Option<PathBuf>,
    /// The form that it was to have, whatever it looks like.
    forced: Option<Form>,
    pub(super) conversion: Conversion,
}

/// Says whether nothing is lost with a plan.
fn is_blank(there: &LoadedPlan) -> bool {
    there.plan.tasks.is_empty() && there.unparsed.is_empty()
}

impl ReadPrd {
    /// Returns the companion, if the tasks come from it.
    fn companion(&self) -> Option<&PathBuf> {
        self.companion.as_ref().filter(|_| self.conversion.form == Form::Companion)
    }

    fn converted(self, imported: &Imported, long: Option<LongPlan>) -> ConvertedPrd {
        let companion = self.companion().cloned();
        let Conversion { tasks, name, form, warnings, .. } = self.conversion;
        ConvertedPrd {
            prd: self.path,
            companion,
            form,
            name,
            tasks: tasks.len(),
            revision: imported.revision,
            backup: imported.backup.clone(),
            kept: imported.kept,
            long,
            warnings,
        }
    }
}

/// Reads a document that the user named, wherever it lies.
fn read_document(path: &Path) -> Result<Document, PrdError> {
    let limit = u64::try_from(MAX_INPUT_BYTES).unwrap_or(u64::MAX);
    let bytes = read_anywhere(path, limit).map_err(|error| match error {
        FileError::TooLarge { .. } => PrdError::TooLarge { path: path.to_owned(), bytes: size(path) },
        error => PrdError::from_io(path, error.into()),
    })?;
    Document::from_bytes(path, bytes)
}

/// Returns how large a file says it is.
fn size(path: &Path) -> usize {
    let size = fs::metadata(path).map(|metadata| metadata.len()).unwrap_or_default();
    usize::try_from(size).unwrap_or(usize::MAX)
}
