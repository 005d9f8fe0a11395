//! An installed plugin, held against what samuel.lock says of it.

use std::{fmt, path::Path};

use serde::Serialize;

use super::{
    InstalledPlugin, MANIFEST_FILE, Manifest, PluginChange, PluginError, Selection, contents::Contents, tree,
};

/// Something samuel.lock says of a plugin that its files do not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PluginDifference {
    /// The key of samuel.lock: `name`, `version`, `kind` or `digest`.
    pub key: &'static str,
    /// What samuel.lock says.
    pub expected: String,
    /// What the files say.
    pub found: String,
}

impl fmt::Display for PluginDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, expected, found } = self;
        let (expected, found) = (expected.escape_debug(), found.escape_debug());
        write!(f, "{key}: samuel.lock says \"{expected}\", the files say \"{found}\"")
    }
}

/// What was found where a plugin is installed.
#[derive(Debug)]
pub(super) struct Inspection {
    pub(super) contents: Contents,
    /// The files that are not those that were installed.
    pub(super) changes: Vec<PluginChange>,
    /// What else samuel.lock says that is not so.
    pub(super) differences: Vec<PluginDifference>,
    /// Nothing where the manifest was changed: nobody asked for what it says.
    pub(super) manifest: Option<Manifest>,
}

/// Reads a plugin once and compares it with its entry.
pub(super) fn inspect(directory: &Path, entry: &InstalledPlugin) -> Result<Inspection, PluginError> {
    let contents = Contents::read(directory, &Selection::Installed)?;
    let changes = contents.tree().changes_since(&entry.files);
    let mut differences = Vec::new();
    let mut compare = |key, expected: &str, found: &str| {
        if expected != found {
            let (expected, found) = (expected.to_owned(), found.to_owned());
            differences.push(PluginDifference { key, expected, found });
        }
    };
    // Of what samuel.lock lists, so that a changed file is not told twice.
    compare("digest", &entry.digest, &tree::digest_over(&entry.files));
    let has_manifest = !changes.iter().any(|change| change.path == MANIFEST_FILE);
    let manifest = has_manifest.then(|| contents.manifest(directory)).transpose()?;
    if let Some(manifest) = &manifest {
        compare("name", &entry.name, &manifest.name);
        compare("version", &entry.version, &manifest.version.to_string());
        compare("kind", entry.kind.as_str(), manifest.kind.as_str());
    }
    Ok(Inspection { contents, changes, differences, manifest })
}
