//! Which prompt templates a project uses.
//!
//! A file in `.samuel/templates/<methodology>/` replaces the template of the same
//! name that the methodology's plugin has, and that the built-in one. Templates
//! are parsed before the loop starts, so that a broken one never costs an
//! iteration.

use std::{io, path::PathBuf};

use super::templates::{DISCOVERY_PROMPT, DISCOVERY_PROMPT_FILE, PROMPT, PROMPT_FILE};
use crate::{
    context::template::{Template, TemplateError, TemplatePlace},
    fs::FileError,
    model::{Coded, ErrorCode, Location, Remedy, payload::Mode},
};

/// The largest template that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The templates of a run, parsed.
#[derive(Clone, Debug)]
pub struct Templates {
    implementation: Template,
    discovery: Template,
    replaced: Vec<PathBuf>,
    /// Whether the template of either mode tells what the last check found.
    tell_failures: [bool; 2],
}

impl Templates {
    /// Loads the templates that are found first in these places, else the
    /// built-in ones.
    ///
    /// # Errors
    /// Returns a [`TemplatesError`] for a template that cannot be read or
    /// parsed.
    pub fn load(places: &[TemplatePlace]) -> Result<Self, TemplatesError> {
        let mut replaced = Vec::new();
        let mut one = |name: &str, built_in: &str| {
            let loaded = LoadedTemplate::load(places, name, built_in)?;
            replaced.extend(loaded.is_found.then_some(loaded.path));
            Ok::<_, TemplatesError>((loaded.template, loaded.tells_failures))
        };
        let (implementation, first) = one(PROMPT_FILE, PROMPT)?;
        let (discovery, second) = one(DISCOVERY_PROMPT_FILE, DISCOVERY_PROMPT)?;
        Ok(Self { implementation, discovery, replaced, tell_failures: [first, second] })
    }

    /// Says whether the template of a mode tells what the last check found.
    pub(crate) fn tells_failures(&self, mode: Mode) -> bool {
        let [implementation, discovery] = self.tell_failures;
        match mode {
            Mode::Implementation => implementation,
            Mode::Discovery => discovery,
        }
    }

    /// Returns the files that replace built-in templates.
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

/// A template, and whether a file holds it.
#[derive(Clone, Debug)]
pub(crate) struct LoadedTemplate {
    /// The template, parsed.
    pub(crate) template: Template,
    /// Its file, or where the project's own would be.
    pub(crate) path: PathBuf,
    /// Whether there is a file, and it is not the built-in one.
    pub(crate) is_found: bool,
    /// Whether it names the failures of the last check.
    pub(crate) tells_failures: bool,
}

impl LoadedTemplate {
    /// Loads a template from the first place that has it, else takes the one
    /// that is built in.
    pub(crate) fn load(places: &[TemplatePlace], name: &str, built_in: &str) -> Result<Self, TemplatesError> {
        for place in places {
            let path = place.path(name);
            match place.read(name, MAX_BYTES) {
                Ok(Some(text)) => return Self::parse(name, &text, path, true),
                Ok(None) => {}
                Err(source) => return Err(TemplatesError::Read { path, source }),
            }
        }
        let path = places.first().map(|place| place.path(name)).unwrap_or_default();
        Self::parse(name, built_in, path, false)
    }

    fn parse(name: &str, text: &str, path: PathBuf, is_found: bool) -> Result<Self, TemplatesError> {
        match Template::parse(name, text) {
            Ok(template) => {
                let tells_failures = text.contains("LastFailures");
                Ok(Self { template, path, is_found, tells_failures })
            }
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

    fn help(&self) -> Remedy {
        let of_file = match self {
            Self::Read { source, .. } => FileError::help_of(source),
            Self::Parse { .. } => None,
        };
        of_file.map_or_else(|| self.code().help.clone(), Remedy::from)
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

    use std::fs;

    use super::*;
    use crate::fs::Root;

    fn place(directory: PathBuf) -> TemplatePlace {
        TemplatePlace::Directory { root: Root::new(&directory), directory }
    }

    #[test]
    fn a_template_of_the_project_replaces_the_built_in_one() {
        let dir = tempfile::tempdir().unwrap();
        let [own, plugin] = ["own", "plugin"].map(|name| dir.path().join(name));
        let places = [own.clone(), plugin.clone()].map(place);
        assert!(Templates::load(&places).unwrap().replaced().is_empty());
        fs::create_dir(&own).unwrap();
        fs::create_dir(&plugin).unwrap();
        fs::write(own.join(PROMPT_FILE), "mine").unwrap();
        fs::write(plugin.join(PROMPT_FILE), "the plugin's").unwrap();
        fs::write(plugin.join(DISCOVERY_PROMPT_FILE), "the plugin's").unwrap();
        let templates = Templates::load(&places).unwrap();
        let rendered = |mode| templates.of(mode).render(&serde_json::json!({})).unwrap().text;
        assert_eq!(rendered(Mode::Implementation), "mine");
        assert_eq!(rendered(Mode::Discovery), "the plugin's");
        assert_eq!(templates.replaced(), [own.join(PROMPT_FILE), plugin.join(DISCOVERY_PROMPT_FILE)]);
    }

    #[test]
    fn a_broken_template_is_an_error_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(PROMPT_FILE), "one\n{{ if }}").unwrap();
        let error = Templates::load(&[place(directory.path().to_owned())]).unwrap_err();
        assert_eq!(error.location().and_then(|place| place.line), Some(2));
    }
}
