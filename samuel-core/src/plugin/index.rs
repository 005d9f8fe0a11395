//! An index: a list of plugins and where their versions come from.
//!
//! It is one JSON file that anybody can keep: on disk, at a URL, or as `index.json` at the top of a git
//! repository. It says nothing that is believed: what is installed is fetched and checked like any source that
//! is typed, and its digests are the source's.
//!
//! ```json
//! {"version": 1, "plugins": [{"name": "lint", "description": "Checks the style", "versions": [
//!   {"version": "1.2.0", "samuel": "^2.0", "source": "oci://ghcr.io/ada/lint:1.2.0"}]}]}
//! ```

use std::path::{Path, PathBuf};

use semver::{Version, VersionReq};
use serde::{Deserialize, Serialize};

use super::{
    FetchOptions, FetchedPlugin, InstallSource, InstalledPlugin, PluginError, Plugins,
    fetch::blocking,
    source::{clone, is_url, is_web},
    web::Web,
};
use crate::{
    fs::{Root, found, read_anywhere},
    model::without_credentials,
};

/// The name of the file in a repository.
const INDEX_FILE: &str = "index.json";
/// The version of its form.
const VERSION: u32 = 1;
/// The most bytes of an index.
const MAX_INDEX: u64 = 8 << 20;

/// A list of plugins.
#[derive(Clone, Debug)]
pub struct PluginIndex {
    plugins: Vec<IndexedPlugin>,
    place: Place,
}

/// A plugin of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedPlugin {
    /// Its name.
    pub name: String,
    /// What it does, one line; may be empty.
    #[serde(default)]
    pub description: String,
    /// Its versions, in any order.
    pub versions: Vec<IndexedVersion>,
}

/// A version of a plugin of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedVersion {
    /// The version.
    pub version: Version,
    /// The versions of Samuel it works with; any where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samuel: Option<VersionReq>,
    /// Where it comes from, as [`InstallSource::parse`] reads it. A relative path is seen from the index.
    pub source: String,
}

#[derive(Deserialize)]
struct File {
    version: u32,
    plugins: Vec<IndexedPlugin>,
}

/// What relative sources of an index are seen from.
#[derive(Clone, Debug)]
enum Place {
    Directory(PathBuf),
    Repository { url: String, revision: Option<String> },
    Url,
}

impl PluginIndex {
    /// Reads an index: a file, a directory that has one, a URL of one, or a git repository, as
    /// [`InstallSource::parse`] reads it. Paths are taken as seen from `base`; a repository is fetched into a
    /// directory of its own in `scratch`, which is removed again.
    ///
    /// # Errors
    /// Returns [`PluginError::Index`] where it is none, [`PluginError::Registry`] or [`PluginError::Fetch`] where it
    /// cannot be had, and [`PluginError::Io`] where it cannot be read.
    pub async fn load(
        address: &str,
        base: &Path,
        scratch: &Path,
        options: &FetchOptions,
    ) -> Result<Self, PluginError> {
        let shown = without_credentials(address).into_owned();
        if is_web(address) && address.ends_with(".json") {
            let (url, web) = (address.to_owned(), Web::within(options.timeout));
            let bytes = blocking(move || web.get(&url, MAX_INDEX)).await?;
            return Self::parse(&bytes, &shown, Place::Url);
        }
        if is_url(address) {
            return Self::of_repository(address, base, scratch, options).await;
        }
        let path = base.join(address);
        let file = if path.is_dir() { path.join(INDEX_FILE) } else { path };
        let bytes = read_anywhere(&file, MAX_INDEX).map_err(PluginError::file("read", &file))?;
        let directory = file.parent().unwrap_or(base).to_owned();
        Self::parse(&bytes, &shown, Place::Directory(directory))
    }

    async fn of_repository(
        address: &str,
        base: &Path,
        scratch: &Path,
        options: &FetchOptions,
    ) -> Result<Self, PluginError> {
        let shown = &*without_credentials(address);
        let InstallSource::Git { url, revision, .. } = InstallSource::parse(address, base)? else {
            return Err(refused(shown, "it is no repository".to_owned()));
        };
        let into = tempfile::tempdir_in(scratch).map_err(PluginError::io("write to", scratch))?;
        clone(&url, revision.as_deref(), into.path(), &options.git()).await?;
        let file = into.path().join(INDEX_FILE);
        let bytes = found(Root::new(into.path()).read(&file, MAX_INDEX));
        let bytes =
            bytes.map_err(|error| refused(shown, format!("its {INDEX_FILE} cannot be read: {error}")))?;
        let bytes = bytes.ok_or_else(|| refused(shown, format!("there is no {INDEX_FILE} at its top")))?;
        Self::parse(&bytes, shown, Place::Repository { url, revision })
    }

    fn parse(bytes: &[u8], shown: &str, place: Place) -> Result<Self, PluginError> {
        let file: File = serde_json::from_slice(bytes).map_err(|error| refused(shown, error.to_string()))?;
        if file.version != VERSION {
            return Err(refused(shown, format!("it has the version {}, which is not known", file.version)));
        }
        Ok(Self { plugins: file.plugins, place })
    }

    /// Lists the plugins whose name or description has a text in it, whatever its case; all for an empty one.
    pub fn search(&self, text: &str) -> Vec<&IndexedPlugin> {
        let text = text.to_lowercase();
        let has = |plugin: &&IndexedPlugin| {
            plugin.name.to_lowercase().contains(&text) || plugin.description.to_lowercase().contains(&text)
        };
        self.plugins.iter().filter(has).collect()
    }

    /// Returns the newest version of a plugin that works with this Samuel.
    pub fn newest(&self, name: &str) -> Option<&IndexedVersion> {
        self.plugins.iter().find(|plugin| plugin.name == name)?.newest()
    }

    /// Returns the newest version in place of what is installed, where that is newer. The index speaks only for what was
    /// installed from one of its versions: another plugin may have the name elsewhere.
    pub fn update(&self, entry: &InstalledPlugin, project_root: &Path) -> Option<&IndexedVersion> {
        let plugin = self.plugins.iter().find(|plugin| plugin.name == entry.name)?;
        let is_its = |version: &IndexedVersion| {
            self.source(version).is_ok_and(|source| source.recorded(project_root) == entry.source)
        };
        let installed: Version = entry.version.parse().ok()?;
        let newest = plugin.newest().filter(|newest| newest.version > installed)?;
        plugin.versions.iter().any(is_its).then_some(newest)
    }

    /// Fetches a version of a plugin, and makes sure that it is that plugin and that version.
    ///
    /// # Errors
    /// Returns what [`source`](Self::source) and [`Plugins::fetch`] return, and [`PluginError::Unexpected`] where
    /// something else is there.
    pub async fn fetch(
        &self,
        plugins: &Plugins,
        name: &str,
        version: &IndexedVersion,
        options: &FetchOptions,
    ) -> Result<FetchedPlugin, PluginError> {
        let fetched = plugins.fetch(&self.source(version)?, options).await?;
        fetched.expect(name, Some(&version.version))?;
        Ok(fetched)
    }

    /// Returns where a version comes from.
    ///
    /// # Errors
    /// Returns [`PluginError::Source`] for what is no source, as a path is none in an index at a URL, and for one on this
    /// machine where the index is not.
    pub fn source(&self, version: &IndexedVersion) -> Result<InstallSource, PluginError> {
        let text = &version.source;
        let is_path = !is_url(text) && !text.starts_with(super::address::SCHEME);
        match &self.place {
            Place::Directory(directory) => InstallSource::parse(text, directory),
            Place::Repository { url, revision } if is_path => {
                let address = InstallSource::Git {
                    url: url.clone(),
                    revision: revision.clone(),
                    subdirectory: Some(text.trim_start_matches("./").to_owned()),
                    is_relative: false,
                };
                InstallSource::parse(&address.to_string(), Path::new("/"))
            }
            Place::Url if is_path => Err(PluginError::Source {
                source_text: text.clone(),
                problem: "an index at a URL names whole addresses",
            }),
            Place::Repository { .. } | Place::Url => {
                let source = InstallSource::parse(text, Path::new("/"))?;
                match source.is_local() {
                    true => Err(PluginError::Source {
                        source_text: text.clone(),
                        problem: "an index from elsewhere names nothing on this machine",
                    }),
                    false => Ok(source),
                }
            }
        }
    }
}

impl IndexedPlugin {
    /// Returns the newest version that works with this Samuel; one before a release only where there is no other.
    pub fn newest(&self) -> Option<&IndexedVersion> {
        let host: Version = env!("CARGO_PKG_VERSION").parse().ok()?;
        let fits = |one: &&IndexedVersion| one.samuel.as_ref().is_none_or(|range| range.matches(&host));
        self.versions.iter().filter(fits).max_by_key(|one| (one.version.pre.is_empty(), one.version.clone()))
    }
}

fn refused(address: &str, problem: String) -> PluginError {
    PluginError::Index { address: address.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    #[tokio::test]
    async fn the_newest_version_that_works_here_is_found_and_seen_from_the_index() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("lint")).unwrap();
        let versions = r#"[{"version": "1.0.0", "source": "./lint"}, {"version": "1.2.0", "source": "lint", "samuel": "^2.0"},
            {"version": "1.3.0-rc.1", "source": "lint"}, {"version": "9.0.0", "source": "lint", "samuel": "^9.0"}]"#;
        let text = format!(
            r#"{{"version": 1, "plugins": [{{"name": "lint", "description": "Checks the Style", "versions": {versions}}}]}}"#
        );
        fs::write(dir.path().join(INDEX_FILE), &text).unwrap();
        let options = FetchOptions::default();
        let index = PluginIndex::load(".", dir.path(), dir.path(), &options).await.unwrap();
        let newest = index.newest("lint").unwrap();
        assert_eq!(newest.version.to_string(), "1.2.0");
        assert!(matches!(index.source(newest).unwrap(), InstallSource::Directory { .. }));
        assert_eq!(
            (index.search("style").len(), index.search("nothing").len(), index.search("").len()),
            (1, 0, 1)
        );
        fs::write(dir.path().join(INDEX_FILE), text.replace("\"version\": 1,", "\"version\": 2,")).unwrap();
        let error = PluginIndex::load("index.json", dir.path(), dir.path(), &options).await.unwrap_err();
        assert!(error.to_string().contains("version 2"), "{error}");
        let of_url = PluginIndex { place: Place::Url, ..index };
        assert!(matches!(of_url.source(of_url.newest("lint").unwrap()), Err(PluginError::Source { .. })));
        // What is there can be reached all the same.
        let here = format!("git+{}", dir.path().display());
        for local in [format!("file://{}", dir.path().display()), here, "git+file:///srv/lint".to_owned()] {
            let version = IndexedVersion { source: local, ..of_url.newest("lint").unwrap().clone() };
            let error = of_url.source(&version).unwrap_err().to_string();
            assert!(error.contains("names nothing on this machine"), "{error}");
            let repository =
                Place::Repository { url: "https://example.org/i.git".to_owned(), revision: None };
            assert!(PluginIndex { place: repository, ..of_url.clone() }.source(&version).is_err());
        }
    }

    #[tokio::test]
    async fn an_index_speaks_only_for_what_was_installed_from_it() {
        let dir = tempfile::tempdir().unwrap();
        let versions = r#"[{"version": "1.0.0", "source": "oci://example.org/lint:1.0.0"},
            {"version": "1.1.0", "source": "oci://example.org/lint:1.1.0"}]"#;
        let text = format!(r#"{{"version": 1, "plugins": [{{"name": "lint", "versions": {versions}}}]}}"#);
        fs::write(dir.path().join(INDEX_FILE), text).unwrap();
        let index = PluginIndex::load(".", dir.path(), dir.path(), &FetchOptions::default()).await.unwrap();
        let entry = |source: &str, version: &str| {
            let text = format!(
                "name = \"lint\"\nversion = \"{version}\"\nkind = \"skill\"\nsource = \"{source}\"\ndigest = \"\"\nfiles = {{}}\n"
            );
            toml::from_str::<InstalledPlugin>(&text).unwrap()
        };
        let update = |source: &str, version: &str| {
            index.update(&entry(source, version), dir.path()).map(|newest| newest.version.to_string())
        };
        assert_eq!(update("oci://example.org/lint:1.0.0", "1.0.0").as_deref(), Some("1.1.0"));
        assert_eq!(update("oci://example.org/lint:1.1.0", "1.1.0"), None);
        assert_eq!(update("oci://intern.example.org/lint:1.0.0", "1.0.0"), None, "it is another one");
    }
}
