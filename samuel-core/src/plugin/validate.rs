//! `samuel plugin validate`: everything that trying a plugin out or installing it would find.
//!
//! [`check`](super::check) looks at the manifest and at the files it names; [`validate`] goes on to what
//! a component imports and exports, and starts it once, with nothing granted. Of an image only what the
//! manifest says is looked at: whether an engine has it, building and installing tell.

use std::path::Path;

use serde::Serialize;

use super::{
    FetchOptions, Manifest, PluginError, archive::SUMS, check, check::check_contents, contents::Contents,
    fetch::blocking, install::selection,
};
use crate::git::covered;

/// A plugin that can be installed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidPlugin {
    /// Its manifest.
    pub manifest: Manifest,
    /// The files that belong to it, relative to its directory, in order.
    pub files: Vec<String>,
    /// Those of them that git leaves out of a commit, because a `.gitignore` covers them: a clone of the
    /// plugin lacks them.
    pub ignored: Vec<String>,
}

/// Checks a plugin that is not installed as a whole.
///
/// # Errors
/// Returns what [`check`] and reading the files of a plugin return, with the feature `wasm`
/// `PluginError::Component` for a component that imports what the manifest does not ask for, lacks a
/// handler or is none, and [`PluginError::NoStart`] for one that does not start.
pub async fn validate(directory: &Path, options: &FetchOptions) -> Result<ValidPlugin, PluginError> {
    Ok(validated(directory, options).await?.0)
}

/// Does the same, and hands on the very bytes that were looked at.
pub(super) async fn validated(
    directory: &Path,
    options: &FetchOptions,
) -> Result<(ValidPlugin, Contents), PluginError> {
    let given = directory.to_owned();
    let (directory, manifest, contents) = blocking(move || {
        let directory = given.canonicalize().map_err(PluginError::io("read", &given))?;
        let contents = Contents::read(&directory, &selection(&check(&directory)?))?;
        let manifest = check_contents(&directory, &contents)?;
        Ok((directory, manifest, contents))
    })
    .await?;
    #[cfg(feature = "wasm")]
    if manifest.kind == super::PluginKind::Wasm {
        super::component::check(directory.clone(), &manifest, &contents, options).await?;
    }
    #[cfg(not(feature = "wasm"))]
    let _ = options;
    let files: Vec<String> = contents.tree().paths().map(str::to_owned).collect();
    let ignored = covered(&directory, &files);
    Ok((ValidPlugin { manifest, files, ignored }, contents))
}

impl ValidPlugin {
    /// Leaves out of the files what no archive of the plugin has.
    pub(super) fn packed(mut self) -> Self {
        self.files.retain(|file| file != SUMS);
        self.ignored.retain(|file| file != SUMS);
        self
    }
}
