//! Which prompt templates a project uses.
//!
//! A file in `.samuel/templates/<methodology>/` replaces the built-in template
//! of the same name. Templates are parsed before the loop starts, so that a
//! broken one never costs an iteration (design, prompts).

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::templates::{DISCOVERY_PROMPT, DISCOVERY_PROMPT_FILE, PROMPT, PROMPT_FILE};
use crate::{
    context::template::{Template, TemplateError},
    model::{Coded, ErrorCode, Location, payload::Mode},
};

/// The templates of a run, parsed.
#[derive(Clone, Debug)]
pub struct Templates {
    implementation: Template,
    discovery: Template,
    replaced: Vec<PathBuf>,
}

impl Templates {
    /// Loads the templates of a project.
    ///
    /// # Errors
    /// Returns a [`TemplatesError`] for a template that cannot be read or
    /// parsed.
    pub fn load(project_root: &Path, methodology: &str) -> Result<Self, TemplatesError> {
        let directory = project_root.join(".samuel/templates").join(methodology);
        let mut replaced = Vec::new();
        let mut one = |name: &str, built_in: &str| {
            let loaded = LoadedTemplate::load(&directory, name, built_in)?;
            replaced.extend(loaded.own.then_some(loaded.path));
            Ok::<_, TemplatesError>(loaded.template)
        };
        let implementation = one(PROMPT_FILE, PROMPT)?;
        let discovery = one(DISCOVERY_PROMPT_FILE, DISCOVERY_PROMPT)?;
        Ok(Self { implementation, discovery, replaced })
    }

    /// Returns the files of the project that replace built-in templates.
    pub fn replaced(&self) -> Vec<PathBuf> {
        self.replaced.clone()
    }

    /// Returns the template of a mode.
    pub fn of(&self, mode: Mode) -> &Template {
        match mode {
            Mode::Implementation => &self.implementation,
            Mode::Discovery => &self.discovery,
        }
    }
}

/// A template, and whether a file of the project holds it.
#[derive(Clone, Debug)]
pub(crate) struct LoadedTemplate {
    /// The template, parsed.
    pub(crate) template: Template,
    /// Where the project's own is or would be.
    pub(crate) path: PathBuf,
    /// Whether it is the project's own.
    pub(crate) own: bool,
}

impl LoadedTemplate {
    /// Loads a template from a directory, else takes the one that is built in.
    pub(crate) fn load(directory: &Path, name: &str, built_in: &str) -> Result<Self, TemplatesError> {
        let path = directory.join(name);
        let own = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(TemplatesError::Read { path, source }),
        };
        match Template::parse(name, own.as_deref().unwrap_or(built_in)) {
            Ok(template) => Ok(Self { template, path, own: own.is_some() }),
            Err(source) => Err(TemplatesError::Parse { path, source: Box::new(source) }),
        }
    }
}

/// A template that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplatesError {
    /// The file cannot be read.
    #[error("cannot read the template \"{}\"", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is no template.
    #[error("the template \"{}\" cannot be used", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<TemplateError>,
    },
}

impl Coded for TemplatesError {
    fn code(&self) -> ErrorCode {
        ErrorCode::TEMPLATE_INVALID
    }

    fn location(&self) -> Option<Location> {
        let (path, place) = match self {
            Self::Read { path, .. } => (path, None),
            Self::Parse { path, source } => (path, source.location()),
        };
        Some(Location {
            file: path.clone(),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_template_of_the_project_replaces_the_built_in_one() {
        let project = tempfile::tempdir().unwrap();
        assert!(Templates::load(project.path(), "ralph").unwrap().replaced().is_empty());
        let directory = project.path().join(".samuel/templates/ralph");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(PROMPT_FILE), "mine").unwrap();
        let templates = Templates::load(project.path(), "ralph").unwrap();
        let rendered = templates.of(Mode::Implementation).render(&serde_json::json!({})).unwrap();
        assert_eq!(rendered.text, "mine");
        assert_eq!(templates.replaced(), [directory.join(PROMPT_FILE)]);
    }

    #[test]
    fn a_broken_template_is_an_error_with_its_place() {
        let project = tempfile::tempdir().unwrap();
        let directory = project.path().join(".samuel/templates/ralph");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(PROMPT_FILE), "one\n{{ if }}").unwrap();
        let error = Templates::load(project.path(), "ralph").unwrap_err();
        assert_eq!(error.location().and_then(|place| place.line), Some(2));
    }
}
