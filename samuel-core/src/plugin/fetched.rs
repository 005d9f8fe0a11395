//! A plugin that was fetched: what it is, what it asks for, and how it differs from what is installed.

use semver::Version;
use serde::Serialize;
use tempfile::TempDir;

use super::{
    Capabilities, FetchOptions, InstalledPlugin, MANIFEST_FILE, Manifest, PluginError, PluginTree,
    consent::{TELLING, consequences},
    contents::Contents,
    fetch::Origin,
    install::Held,
};
use crate::hook::HookPoint;

/// A source that has something else by now than a plugin was installed from, though its name says that it
/// stays what it is: a tag, an archive, an address in a registry, the name of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MovedSource {
    /// The commit or digest that it was installed from.
    pub before: String,
    /// The one that is there now.
    pub now: String,
}

/// A plugin that was fetched and checked, and waits to be installed.
#[derive(Debug)]
pub struct FetchedPlugin {
    pub(super) staged: TempDir,
    pub(super) manifest: Manifest,
    pub(super) contents: Contents,
    pub(super) origin: Origin,
    /// The image, pinned.
    pub(super) image: Option<String>,
    pub(super) before: Option<InstalledPlugin>,
    /// What lies where it would be installed; nothing where that cannot be read.
    pub(super) on_disk: Option<PluginTree>,
    /// What the version that is installed handles.
    pub(super) handled: Vec<HookPoint>,
    /// Held until the plugin is installed or dropped.
    pub(super) _lock: Held,
}

impl FetchedPlugin {
    /// Tries a component out, before anybody is asked.
    #[cfg(feature = "wasm")]
    pub(super) async fn check_component(&self, options: &FetchOptions) -> Result<(), PluginError> {
        match self.manifest.kind {
            super::PluginKind::Wasm => {
                let directory = self.staged.path().to_owned();
                super::component::check(directory, &self.manifest, &self.contents, options).await
            }
            _ => Ok(()),
        }
    }

    #[cfg(not(feature = "wasm"))]
    pub(super) async fn check_component(&self, _: &FetchOptions) -> Result<(), PluginError> {
        Ok(())
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns where it comes from, as samuel.toml will have it.
    pub fn source(&self) -> &str {
        &self.origin.source
    }

    /// Returns what the source has by now, where it should have stayed what was installed from it. A tag that gave way
    /// to a branch of its name has moved like any other.
    pub fn moved(&self) -> Option<MovedSource> {
        let before = self.before_from_there()?;
        let of_tag = before.commit.clone().zip(self.origin.commit.clone()).filter(|_| self.is_tag());
        let of_source = of_tag.or_else(|| before.pin.clone().zip(self.origin.pin.clone()));
        let pairs = of_source.into_iter().chain(self.images(before));
        pairs.map(|(before, now)| MovedSource { before, now }).find(|moved| moved.before != moved.now)
    }

    /// Returns the image that was installed and the one that is there now, where the same manifest names them.
    fn images(&self, before: &InstalledPlugin) -> Option<(String, String)> {
        let images = before.image.clone().zip(self.image.clone())?;
        let manifest = self.contents.tree().digests().remove(MANIFEST_FILE);
        (before.files.get(MANIFEST_FILE) == manifest.as_ref()).then_some(images)
    }

    /// Returns what is installed under its name from the same source.
    fn before_from_there(&self) -> Option<&InstalledPlugin> {
        self.before.as_ref().filter(|entry| entry.source == self.origin.source)
    }

    /// Says whether its source names a tag, or named one when it was installed from it.
    pub(super) fn is_tag(&self) -> bool {
        self.origin.is_tag || self.before_from_there().is_some_and(|entry| entry.tag)
    }

    /// Says whether it is what is installed under its name: the same files, to the byte, which are there and can be run
    /// as they should, of the same commit, archive and image.
    pub fn is_installed(&self) -> bool {
        let tree = self.contents.tree();
        let is_entry = |entry: &InstalledPlugin| {
            (&entry.digest, entry.tag) == (&tree.digest(), self.is_tag())
                && (&entry.commit, &entry.pin, &entry.image)
                    == (&self.origin.commit, &self.origin.pin, &self.image)
        };
        self.before.as_ref().is_some_and(is_entry) && self.on_disk.as_ref() == Some(tree)
    }

    /// Returns what is installed under its name.
    pub fn before(&self) -> Option<&InstalledPlugin> {
        self.before.as_ref()
    }

    /// Returns what it asks for and was not granted before.
    pub fn new_capabilities(&self) -> Capabilities {
        let granted = self.before.as_ref().map(|entry| entry.granted.clone()).unwrap_or_default();
        self.manifest.capabilities.beyond(&granted)
    }

    /// Says in plain words what follows from what it handles and asks for, one
    /// line each.
    pub fn consequences(&self) -> Vec<String> {
        consequences(&self.manifest, &self.manifest.capabilities)
    }

    /// Says whether its kind is another one than that of what is installed: a script has all rights of the user, and a
    /// component none that it was not granted.
    pub fn is_another_kind(&self) -> bool {
        self.before.as_ref().is_some_and(|before| before.kind != self.manifest.kind)
    }

    /// Says whether the user has to be asked: at the first time, and whenever
    /// an update asks for more, comes from elsewhere or from what was moved, is of another kind, or begins to stand
    /// between Samuel and the agent.
    pub fn needs_consent(&self) -> bool {
        self.moved().is_some() || self.wants_more()
    }

    /// Says whether the user has to be asked for another reason than that its source was [moved](Self::moved).
    pub fn wants_more(&self) -> bool {
        let is_new =
            |point: &HookPoint| self.manifest.binding(*point).is_some() && !self.handled.contains(point);
        self.before_from_there().is_none()
            || self.is_another_kind()
            || !self.new_capabilities().is_empty()
            || TELLING.iter().any(is_new)
    }

    /// Makes sure that it is the plugin of this name, and of this version where one is known.
    ///
    /// # Errors
    /// Returns [`PluginError::Unexpected`] where it is not.
    pub fn expect(&self, name: &str, version: Option<&Version>) -> Result<(), PluginError> {
        if self.manifest.name == name && version.is_none_or(|version| self.manifest.version == *version) {
            return Ok(());
        }
        Err(PluginError::Unexpected {
            from: self.origin.source.clone(),
            expected: version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}")),
            found: format!("{} {}", self.manifest.name, self.manifest.version),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::{
        super::{InstallSource, Plugins},
        *,
    };

    #[tokio::test]
    async fn another_image_of_the_same_name_is_asked_about() {
        let (project, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let image = |digit: &str| format!("localhost/x@sha256:{}", digit.repeat(64));
        let manifest = |version: &str| {
            format!(
                "[plugin]\nname = \"lint\"\nkind = \"oci\"\nversion = \"{version}\"\nsamuel = \"^2.0\"\n\
                 [oci]\nimage = \"{}\"\nmode = \"call\"\n",
                image("0")
            )
        };
        let write = |version: &str| fs::write(source.path().join(MANIFEST_FILE), manifest(version)).unwrap();
        write("1.0.0");
        let plugins = Plugins::of(project.path());
        let from = InstallSource::parse(&source.path().display().to_string(), project.path()).unwrap();
        // What an engine answers for the name.
        let fetched = async |digit: &str| {
            let mut fetched = plugins.fetch(&from, &FetchOptions::default()).await.unwrap();
            fetched.image = Some(image(digit));
            fetched
        };
        plugins.install(fetched("0").await, &Capabilities::default()).unwrap();
        let same = fetched("0").await;
        assert!(same.is_installed() && !same.needs_consent(), "{:?}", same.moved());
        drop(same);
        let moved = fetched("1").await;
        assert_eq!(moved.moved(), Some(MovedSource { before: image("0"), now: image("1") }));
        assert!(moved.needs_consent());
        drop(moved);
        // Another manifest may name another image.
        write("1.1.0");
        assert_eq!(fetched("1").await.moved(), None);
    }
}
