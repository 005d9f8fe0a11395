//! `samuel init`: a directory becomes a project.

use std::{path::PathBuf, sync::Arc};

use serde::Serialize;

use super::{
    FileChange, Fired, Lifecycle, LifecycleError,
    file::Drafts,
    fire::{Firing, blocking},
    render::{self, Scope},
    survey::Survey,
};
use crate::{
    config::{CONFIG_FILE, Config},
    context::ContextView,
    fs::{Manner, Root},
    hook::{RegistryBuilder, points},
    model::payload::{InitAfterInput, InitBeforeInput},
    project::{Initialised, NewPlan, Project},
    state::{IGNORE, IGNORE_FILE},
};

/// How a directory becomes a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitOptions {
    /// Replace a samuel.toml that is there; a backup is kept. Without it what
    /// is there stays and what is missing is written.
    pub force: bool,
    /// Only write what Samuel needs: no `AGENTS.md`.
    pub minimal: bool,
    /// The plan that is made with it; without one there is none yet.
    pub plan: Option<NewPlan>,
}

/// What making a project did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitReport {
    /// The project's root.
    pub project_root: PathBuf,
    /// The methodology it is set up for.
    pub methodology: String,
    /// The files that were written.
    pub changes: Vec<FileChange>,
    /// How many files were there already and stayed as they were.
    pub unchanged: usize,
    /// Where the samuel.toml that was there before was put.
    pub backup: Option<PathBuf>,
    /// The languages of the code, the one with most files first.
    pub languages: Vec<String>,
    /// The commands that check the work, as samuel.toml names them now.
    pub quality_checks: Vec<String>,
    /// The points that fired.
    pub fired: Vec<Fired>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// The plan, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Initialised>,
}

/// Makes a project ready to run: a plan, and samuel.toml where there is none. With
/// samuel.toml, the points around [`Lifecycle::init`] fire at the handlers that are
/// registered. Writes nothing where any of it is refused.
///
/// ```
/// use samuel_core::{lifecycle::make_ready, project::{NewPlan, Project}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let directory = tempfile::tempdir()?;
/// let project = Project::at(directory.path())?;
/// let made = make_ready(&project, NewPlan::default(), |_| {}).await?;
/// assert!(made.plan.exists() && made.config.is_some_and(|config| config.exists()));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Lifecycle::init`].
pub async fn make_ready(
    project: &Project,
    plan: NewPlan,
    register: impl FnOnce(&mut RegistryBuilder),
) -> Result<Initialised, LifecycleError> {
    if project.root().join(CONFIG_FILE).exists() {
        let project = project.clone();
        return Ok(blocking(move || project.make_plan(&plan)).await??);
    }
    let lifecycle = Lifecycle::builder(project.clone()).register(register).build()?;
    let report = lifecycle.init(&InitOptions { minimal: true, plan: Some(plan), force: false }).await?;
    let made =
        report.plan.ok_or_else(|| LifecycleError::Broken { message: "no plan was made".to_owned() })?;
    let config = Some(project.root().join(CONFIG_FILE));
    Ok(Initialised { config, quality_checks: report.quality_checks, ..made })
}

impl Lifecycle {
    /// Writes samuel.toml with every key in comments, the `.samuel` directory
    /// and Samuel's section of `AGENTS.md`. What is there already stays, unless
    /// the options say otherwise.
    ///
    /// A plan that was asked for is made with it. Then, with `minimal`, `.samuel/.gitignore`
    /// is left out: the plan's directory has one of its own.
    ///
    /// Fires `init.before` before anything is written and `init.after` once
    /// everything is.
    ///
    /// # Errors
    /// Returns a [`LifecycleError`] where a handler refuses or breaks, or a
    /// template, a marker or a file cannot be used, or the plan is refused.
    pub async fn init(&self, options: &InitOptions) -> Result<InitReport, LifecycleError> {
        let root = self.project.root().to_owned();
        let survey = blocking(move || Survey::of(&root)).await?;
        let base = render::base(&self.project, &self.registry, &survey, &self.binary);
        let mut firing = Firing::new(self, base);
        let project_root = self.project.root().display().to_string();
        let InitOptions { force, minimal, .. } = *options;
        let input =
            InitBeforeInput { project_root: project_root.clone(), force, minimal, ..Default::default() };
        firing.fire::<points::InitBefore>(input).await?;

        let languages = survey.detected.languages.clone();
        let made = self.make(options.clone(), survey, &mut firing).await?;
        let plugins = made.project.config().plugins.iter().map(|plugin| plugin.name.clone());
        let input =
            InitAfterInput { project_root, plugins_installed: plugins.collect(), ..Default::default() };
        firing.fire::<points::InitAfter>(input).await?;

        let checks = made.project.settings().quality_checks;
        let Firing { fired, warnings, .. } = firing;
        Ok(InitReport {
            project_root: self.project.root().to_owned(),
            methodology: made.project.methodology().to_owned(),
            changes: made.changes,
            unchanged: made.unchanged,
            backup: made.backup,
            languages,
            quality_checks: checks.into_iter().map(|check| check.command).collect(),
            fired,
            warnings,
            plan: made.plan,
        })
    }

    /// Renders everything, then writes it.
    async fn make(
        &self,
        options: InitOptions,
        survey: Survey,
        firing: &mut Firing<'_>,
    ) -> Result<Made, LifecycleError> {
        let project = self.project.clone();
        // The configuration decides what the context files say, so theirs is
        // the one that is about to be written.
        let (project, text) = match options.force || !project.root().join(CONFIG_FILE).exists() {
            true => new_config(&project, &survey)?,
            false => (project, None),
        };
        let base = render::base(&project, &self.registry, &survey, &self.binary);
        let context = firing.context.rebase(Arc::new(base));
        let made = blocking(move || write(project, text, options, &survey, &context)).await??;
        firing.warnings.extend(made.warnings.iter().cloned());
        Ok(made)
    }
}

/// What was written.
struct Made {
    /// The project with the configuration it has now.
    project: Project,
    changes: Vec<FileChange>,
    unchanged: usize,
    backup: Option<PathBuf>,
    warnings: Vec<String>,
    plan: Option<Initialised>,
}

/// Makes a configuration for a project, and reads it as the project's.
fn new_config(project: &Project, survey: &Survey) -> Result<(Project, Option<String>), LifecycleError> {
    let text = Config::render_new(&project.name(), &survey.detected.quality_checks, project.methodology());
    let config = Config::parse(&project.root().join(CONFIG_FILE), &text)?;
    Ok((project.with_config(config), Some(text)))
}

fn write(
    project: Project,
    config: Option<String>,
    options: InitOptions,
    survey: &Survey,
    context: &ContextView,
) -> Result<Made, LifecycleError> {
    let mut drafts = Drafts::new(project.root())?;
    let mut replaced = None;
    match config {
        Some(text) => replaced = drafts.whole(CONFIG_FILE, text, options.force)?,
        None => drafts.unchanged += 1,
    }
    if !options.minimal || options.plan.is_none() {
        drafts.whole(IGNORE_FILE, IGNORE.to_owned(), false)?;
    }
    if !options.minimal {
        render::render(&project, survey, context, Scope::Root, &mut drafts)?;
    }
    let (changes, unchanged) = (drafts.changes(), drafts.unchanged);
    let warnings = std::mem::take(&mut drafts.warnings);
    let staged = drafts.stage()?;
    let backup = replaced.map(|text| back_up(&project, &text)).transpose()?;
    let plan = options.plan.map(|plan| project.make_plan(&plan)).transpose();
    if let (Err(_), Some(backup)) = (&plan, &backup) {
        // The refusal says what is wrong; a backup too many harms nobody.
        let _ = Root::new(project.root()).remove_own(backup);
    }
    let plan = plan?;
    staged.place()?;
    Ok(Made { project, changes, unchanged, backup, warnings, plan })
}

/// Keeps the configuration that is about to be replaced beside the new one.
fn back_up(project: &Project, text: &str) -> Result<PathBuf, LifecycleError> {
    let (root, path) = (Root::new(project.root()), project.root().join(CONFIG_FILE));
    let backup = root.back_up(&path, text.as_bytes(), project.clock().now(), &Manner::PROJECT);
    backup.map_err(|error| LifecycleError::File { action: "back up", path, source: error.into() })
}
