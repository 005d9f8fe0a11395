//! `samuel sync`: context files are brought up to date.

use serde::Serialize;

use super::{
    Fired, Lifecycle, LifecycleError,
    file::Drafts,
    fire::{Firing, blocking},
    render::{self, Scope},
    survey::Survey,
};
use crate::{
    config::CONFIG_FILE,
    hook::points,
    model::payload::{SyncAfterInput, SyncBeforeInput},
};

/// How a project is brought up to date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncOptions {
    /// Only say what would be written. `sync.after` does not fire then.
    pub dry_run: bool,
}

/// What bringing a project up to date did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// Whether nothing was written because that was asked for.
    pub dry_run: bool,
    /// Why a handler skipped it all, where one did; nothing was written then.
    pub skipped: Option<String>,
    /// The files that were written, or would be.
    pub changes: Vec<FileChange>,
    /// How many files were up to date.
    pub unchanged: usize,
    /// The points that fired.
    pub fired: Vec<Fired>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// A file that is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// Its path, relative to the project with `/`.
    pub path: String,
    /// Whether it was there before.
    pub kind: FileChangeKind,
}

/// Whether a file that is written was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It was not.
    Create,
    /// It was, with another content.
    Update,
}

impl Lifecycle {
    /// Writes Samuel's section in `AGENTS.md` and in those of folders with
    /// code anew. What is up to date already is not written, so a second time
    /// nothing is.
    ///
    /// Fires `sync.before`, where any `skip` leaves everything as it is, and
    /// `sync.after` once everything is written.
    ///
    /// # Errors
    /// Returns a [`LifecycleError`] where the directory is no project, a
    /// handler refuses or breaks, or a template, a marker or a file cannot be
    /// used. Before the first file is written all of them were rendered.
    pub async fn sync(&self, options: &SyncOptions) -> Result<SyncReport, LifecycleError> {
        let root = self.project.root().to_owned();
        if !root.join(CONFIG_FILE).is_file() && !root.join(".samuel").is_dir() {
            return Err(LifecycleError::NotInitialised { root });
        }
        let survey = blocking(move || Survey::of(&root)).await?;
        let base = render::base(&self.project, &self.registry, &survey, &self.binary);
        let mut firing = Firing::new(self, base);
        let project_root = self.project.root().display().to_string();
        let input = SyncBeforeInput {
            project_root: project_root.clone(),
            dry_run: options.dry_run,
            ..Default::default()
        };
        let said = firing.fire::<points::SyncBefore>(input).await?;
        if said.skip {
            let reason = said.reason.filter(|reason| !reason.trim().is_empty());
            let reason = reason.unwrap_or_else(|| "no reason given".to_owned());
            return Ok(report(options, Some(reason), Vec::new(), 0, firing));
        }
        let (changes, unchanged) = self.write_files(options, survey, &mut firing).await?;
        if !options.dry_run {
            let files_written = changes.iter().map(|change| change.path.clone()).collect();
            let input = SyncAfterInput { project_root, files_written, ..Default::default() };
            firing.fire::<points::SyncAfter>(input).await?;
        }
        Ok(report(options, None, changes, unchanged, firing))
    }

    /// Renders everything, then writes what changed, unless that is not wanted.
    async fn write_files(
        &self,
        options: &SyncOptions,
        survey: Survey,
        firing: &mut Firing<'_>,
    ) -> Result<(Vec<FileChange>, usize), LifecycleError> {
        let (project, context, dry_run) = (self.project.clone(), firing.context.clone(), options.dry_run);
        let work = move || {
            let mut drafts = Drafts::new(project.root())?;
            render::render(&project, &survey, &context, Scope::Everywhere, &mut drafts)?;
            let (changes, unchanged) = (drafts.changes(), drafts.unchanged);
            let warnings = std::mem::take(&mut drafts.warnings);
            if !dry_run {
                drafts.write()?;
            }
            Ok::<_, LifecycleError>((changes, unchanged, warnings))
        };
        let (changes, unchanged, warnings) = blocking(work).await??;
        firing.warnings.extend(warnings);
        Ok((changes, unchanged))
    }
}

fn report(
    options: &SyncOptions,
    skipped: Option<String>,
    changes: Vec<FileChange>,
    unchanged: usize,
    firing: Firing<'_>,
) -> SyncReport {
    let Firing { fired, warnings, .. } = firing;
    SyncReport { dry_run: options.dry_run, skipped, changes, unchanged, fired, warnings }
}
