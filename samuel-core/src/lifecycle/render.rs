//! What stands in Samuel's sections.
//!
//! Two templates, each the project's own in `.samuel/templates/<methodology>/`
//! or else built in: one for `AGENTS.md` in the root, one for those of
//! folders. They see the [`PromptContext`], with what handlers of the `before`
//! points contributed, and a group `Sync` beside it:
//!
//! | variable | what |
//! |---|---|
//! | `.Sync.Plugins` | the names of the plugins in samuel.toml |
//! | `.Sync.Folders` | the [folders](super::Folder) with code |
//! | `.Sync.Folder` | the folder, in its own template; null in that of the root |
//!
//! A template that renders nothing makes no section.

use std::num::NonZeroU32;

use serde::Serialize;

use super::{Folder, LifecycleError, file::Drafts, section, survey::Survey};
use crate::{
    context::{ContextView, PromptContext},
    hook::{HookPoint, Registry},
    methodology::LoadedTemplate,
    project::{Project, name_places},
};

/// The file with the project's notes for agents, also in folders.
pub const AGENTS_FILE: &str = "AGENTS.md";
/// The file name of the template for the root, also for overriding it.
pub const AGENTS_TEMPLATE_FILE: &str = "agents.md.tmpl";
/// The file name of the template for folders, also for overriding it.
pub const FOLDER_TEMPLATE_FILE: &str = "folder.md.tmpl";
/// The built-in template for the root.
pub const AGENTS_TEMPLATE: &str = include_str!("agents.md.tmpl");
/// The built-in template for folders.
pub const FOLDER_TEMPLATE: &str = include_str!("folder.md.tmpl");

/// Which context files are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// That of the root.
    Root,
    /// That of the root and those of folders.
    Everywhere,
}

/// What templates see.
#[derive(Serialize)]
struct Data<'a> {
    #[serde(flatten)]
    context: &'a ContextView,
    #[serde(rename = "Sync")]
    sync: SyncVars<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct SyncVars<'a> {
    plugins: Vec<&'a str>,
    folders: &'a [Folder],
    folder: Option<&'a Folder>,
}

/// Renders the context files of a project into drafts. Blocks.
pub(super) fn render(
    project: &Project,
    survey: &Survey,
    context: &ContextView,
    scope: Scope,
    drafts: &mut Drafts,
) -> Result<(), LifecycleError> {
    let places = project.templates();
    let agents = LoadedTemplate::load(&places, AGENTS_TEMPLATE_FILE, AGENTS_TEMPLATE)?;
    let folder = LoadedTemplate::load(&places, FOLDER_TEMPLATE_FILE, FOLDER_TEMPLATE)?;
    let plugins: Vec<&str> = project.config().plugins.iter().map(|plugin| plugin.name.as_str()).collect();
    let data = |folder| Data {
        context,
        sync: SyncVars { plugins: plugins.clone(), folders: &survey.folders, folder },
    };
    let body = fill(&agents, &data(None), drafts)?;
    drafts.place(AGENTS_FILE, &body)?;
    if scope == Scope::Root {
        return Ok(());
    }
    survey.folders.iter().try_for_each(|one| {
        let body = fill(&folder, &data(Some(one)), drafts)?;
        drafts.place(&format!("{}/{AGENTS_FILE}", one.path), &body)
    })
}

/// Fills a template, and makes sure that the result can be placed.
fn fill(template: &LoadedTemplate, data: &Data<'_>, drafts: &mut Drafts) -> Result<String, LifecycleError> {
    let path = || template.path.clone();
    let rendered = template
        .template
        .render(data)
        .map_err(|source| LifecycleError::Render { path: path(), source: Box::new(source) })?;
    section::place("", &rendered.text).map_err(|source| LifecycleError::Body { path: path(), source })?;
    for warning in rendered.warnings.iter().map(ToString::to_string) {
        if !drafts.warnings.contains(&warning) {
            drafts.warnings.push(warning);
        }
    }
    Ok(rendered.text)
}

/// Fills the prompt context outside a run: everything but what only a plan
/// and an iteration know.
pub(super) fn base(project: &Project, registry: &Registry, survey: &Survey, binary: &str) -> PromptContext {
    let settings = project.settings();
    let mut context = PromptContext::default();
    context.samuel.version = env!("CARGO_PKG_VERSION").to_owned();
    context.samuel.binary = binary.to_owned();
    context.project.name = project.name();
    context.project.detected.clone_from(&survey.detected.languages);
    context.methodology.name = project.methodology().to_owned();
    context.methodology.source = project.methodology_source().to_owned();
    context.iteration.max = settings.max_iterations.map(NonZeroU32::get);
    context.config = settings.vars(&settings.agent);
    context.guardrails = project.config().guardrails.clone();
    name_places(&mut context, project.root(), &project.run_dir());
    context.paths.agents_md = project.root().join(AGENTS_FILE).display().to_string();
    context.mode.is_pilot = settings.pilot.enabled;
    for point in HookPoint::ALL.iter().filter(|point| registry.has_handlers(**point)) {
        let ids = registry.handlers(*point).map(|(id, ..)| id.to_owned()).collect();
        context.hooks.registered.insert(point.to_string(), ids);
    }
    context
}
