//! Which templates a project uses.
//!
//! A file in `.samuel/templates/<methodology>/` replaces the template of the same
//! name that the methodology's plugin has, and that the built-in one. Templates
//! are parsed before the loop starts, so that a broken one never costs an
//! iteration.

use std::{io, path::PathBuf};

use crate::{
    context::template::{Template, TemplateError, TemplatePlace},
    fs::FileError,
    model::{Coded, ErrorCode, Location, Remedy},
};

/// The largest template that is read, in bytes.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

/// The templates of a methodology, parsed.
#[derive(Clone, Debug, Default)]
pub struct Templates(Vec<(String, LoadedTemplate)>);

impl Templates {
    /// Loads the templates of a methodology, each from the first of these places
    /// that has it, else as it is built in.
    ///
    /// # Errors
    /// Returns a [`TemplatesError`] for a template that cannot be read or
    /// parsed.
    pub fn load(places: &[TemplatePlace], built_in: &[(&str, &str)]) -> Result<Self, TemplatesError> {
        let load =
            |(name, text): &(&str, &str)| Ok(((*name).to_owned(), LoadedTemplate::load(places, name, text)?));
        built_in.iter().map(load).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the template of a file name.
    pub fn get(&self, name: &str) -> Option<&LoadedTemplate> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, loaded)| loaded)
    }

    /// Returns the files that replace built-in templates.
    pub fn replaced(&self) -> Vec<PathBuf> {
        self.0.iter().filter(|(_, loaded)| loaded.is_found).map(|(_, loaded)| loaded.path.clone()).collect()
    }
}

/// A template, and whether a file holds it.
#[derive(Clone, Debug)]
pub struct LoadedTemplate {
    /// The template, parsed.
    pub template: Template,
    /// Its file, or where the project's own would be.
    pub path: PathBuf,
    /// Whether there is a file, and it is not the built-in one.
    pub is_found: bool,
    /// Whether it names the failures of the last check.
    pub tells_failures: bool,
}

impl LoadedTemplate {
    /// Loads a template from the first place that has it, else takes the one
    /// that is built in.
    ///
    /// # Errors
    /// Returns a [`TemplatesError`] where it cannot be read or parsed.
    pub fn load(places: &[TemplatePlace], name: &str, built_in: &str) -> Result<Self, TemplatesError> {
        for place in places {
            let path = place.path(name);
            match place.read(name, MAX_BYTES) {
                Ok(Some(text)) => {
                    return match Template::parse(name, &text) {
                        Ok(template) => Ok(Self::of(template, &text, path, true)),
                        Err(source) => Err(TemplatesError::Parse { path, source: Box::new(source) }),
                    };
                }
                Ok(None) => {}
                Err(source) => return Err(TemplatesError::Read { path, source }),
            }
        }
        let path = places.first().map(|place| place.path(name)).unwrap_or_default();
        match Template::parse(name, built_in) {
            Ok(template) => Ok(Self::of(template, built_in, path, false)),
            Err(source) => Err(TemplatesError::BuiltIn { name: name.to_owned(), source: Box::new(source) }),
        }
    }

    fn of(template: Template, text: &str, path: PathBuf, is_found: bool) -> Self {
        Self { template, path, is_found, tells_failures: text.contains("LastFailures") }
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
    /// There is a template of the project already, which is not to be replaced.
    #[error("there is a template \"{}\" already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A template cannot be written.
    #[error("cannot write the template \"{}\"", path.display())]
    Write {
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
    /// What the methodology has built in is no template; no file holds it.
    #[error("the template \"{name}\" that the methodology has built in cannot be used{}", at(source))]
    BuiltIn {
        /// The name that a file would have which replaces it.
        name: String,
        /// What is wrong with it.
        #[source]
        source: Box<TemplateError>,
    },
}

/// Says where in a text that has no file something is wrong.
fn at(error: &TemplateError) -> String {
    error
        .location()
        .map(|place| format!(" (line {}, column {})", place.line, place.column))
        .unwrap_or_default()
}

impl Coded for TemplatesError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Exists { .. } => ErrorCode::TEMPLATE_EXISTS,
            _ => ErrorCode::TEMPLATE_INVALID,
        }
    }

    fn help(&self) -> Remedy {
        let own = match self {
            Self::Read { source, .. } | Self::Write { source, .. } => FileError::help_of(source),
            Self::Exists { .. } | Self::Parse { .. } => None,
            Self::BuiltIn { .. } => Some(
                "Correct it in the program that brings the methodology, or put a file of its name in its place.",
            ),
        };
        own.map_or_else(|| self.code().help.clone(), Remedy::from)
    }

    fn location(&self) -> Option<Location> {
        let (path, place) = match self {
            Self::Exists { path } | Self::Write { path, .. } | Self::Read { path, .. } => (path, None),
            Self::Parse { path, source } => (path, source.location()),
            Self::BuiltIn { .. } => return None,
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

    const PROMPT_FILE: &str = "prompt.md.tmpl";
    const OTHER_FILE: &str = "other.md.tmpl";
    const BUILT_IN: [(&str, &str); 2] = [(PROMPT_FILE, "built in"), (OTHER_FILE, "built in")];

    fn place(directory: PathBuf) -> TemplatePlace {
        TemplatePlace::Directory { root: Root::new(&directory), directory }
    }

    #[test]
    fn a_template_of_the_project_replaces_the_built_in_one() {
        let dir = tempfile::tempdir().unwrap();
        let [own, plugin] = ["own", "plugin"].map(|name| dir.path().join(name));
        let places = [own.clone(), plugin.clone()].map(place);
        assert!(Templates::load(&places, &BUILT_IN).unwrap().replaced().is_empty());
        fs::create_dir(&own).unwrap();
        fs::create_dir(&plugin).unwrap();
        fs::write(own.join(PROMPT_FILE), "mine").unwrap();
        fs::write(plugin.join(PROMPT_FILE), "the plugin's").unwrap();
        fs::write(plugin.join(OTHER_FILE), "the plugin's").unwrap();
        let templates = Templates::load(&places, &BUILT_IN).unwrap();
        let rendered =
            |name| templates.get(name).unwrap().template.render(&serde_json::json!({})).unwrap().text;
        assert_eq!(rendered(PROMPT_FILE), "mine");
        assert_eq!(rendered(OTHER_FILE), "the plugin's");
        assert_eq!(templates.replaced(), [own.join(PROMPT_FILE), plugin.join(OTHER_FILE)]);
    }

    #[test]
    fn a_broken_template_is_an_error_with_its_place() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(PROMPT_FILE), "one\n{{ if }}").unwrap();
        let error = Templates::load(&[place(directory.path().to_owned())], &BUILT_IN).unwrap_err();
        assert_eq!(error.location().and_then(|place| place.line), Some(2));
    }

    #[test]
    fn a_broken_template_that_is_built_in_is_blamed_on_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let broken = [(PROMPT_FILE, "one\n{{ if }}")];
        let error = Templates::load(&[place(directory.path().to_owned())], &broken).unwrap_err();
        assert_eq!(error.location(), None);
        let told = error.to_string();
        let said =
            "the template \"prompt.md.tmpl\" that the methodology has built in cannot be used (line 2, ";
        assert!(told.starts_with(said), "{told}");
    }
}
