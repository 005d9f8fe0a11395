//! The prompt templates of the project: which fit, and copies to begin with.

use std::path::PathBuf;

use super::Project;
use crate::{
    context::template::TemplatePlace,
    fs::{Manner, Root},
    methodology::{MAX_TEMPLATE_BYTES, StaleTemplate, TemplatesError, marked, staleness},
    state::Existing,
};

impl Project {
    /// Returns what does not fit any more of the project's own prompt templates.
    ///
    /// # Errors
    /// Returns [`TemplatesError::Read`] for a template that cannot be read.
    pub fn stale_templates(&self) -> Result<Vec<StaleTemplate>, TemplatesError> {
        let places = self.templates();
        let Some((own, behind)) = places.split_first() else { return Ok(Vec::new()) };
        let mut stale = Vec::new();
        for (name, built_in) in self.base().templates() {
            if let Some(text) = read(own, name)? {
                let behind = text_of(behind, name, built_in)?;
                stale.extend(staleness(own.path(name), name, &text, &behind));
            }
        }
        Ok(stale)
    }

    /// Copies the prompt templates that the methodology brings to `.samuel/templates/<methodology>/`,
    /// where they are the project's to change. Each says in a comment what it is a copy of, by which
    /// [`stale_templates`](Self::stale_templates) knows when that is another one. Returns the files.
    ///
    /// # Errors
    /// Returns [`TemplatesError::Exists`] where one is there that is not to be replaced, before
    /// anything is written, and what reading and writing them returns.
    pub fn export_templates(&self, existing: Existing) -> Result<Vec<PathBuf>, TemplatesError> {
        let places = self.templates();
        let Some((own, behind)) = places.split_first() else { return Ok(Vec::new()) };
        let mut copies = Vec::new();
        for (name, built_in) in self.base().templates() {
            if existing == Existing::Refuse && read(own, name)?.is_some() {
                return Err(TemplatesError::Exists { path: own.path(name) });
            }
            copies.push((own.path(name), marked(&text_of(behind, name, built_in)?)));
        }
        let root = Root::new(self.root());
        for (path, text) in &copies {
            root.write(path, [text.as_bytes()], &Manner::PROJECT)
                .map_err(|error| TemplatesError::Write { path: path.clone(), source: error.into() })?;
        }
        Ok(copies.into_iter().map(|(path, _)| path).collect())
    }
}

/// Returns the template that the first of these places has, else the one that is built in.
fn text_of(places: &[TemplatePlace], name: &str, built_in: &str) -> Result<String, TemplatesError> {
    for place in places {
        if let Some(text) = read(place, name)? {
            return Ok(text);
        }
    }
    Ok(built_in.to_owned())
}

fn read(place: &TemplatePlace, name: &str) -> Result<Option<String>, TemplatesError> {
    let read = place.read(name, MAX_TEMPLATE_BYTES);
    read.map_err(|source| TemplatesError::Read { path: place.path(name), source })
}
