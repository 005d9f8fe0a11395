//! `samuel.lock`: which plugins are installed, down to the byte, and what they
//! were granted; and which image agents work in.
//!
//! A [`LockFile`] is read whenever plugins are loaded, so that nothing runs that was not installed, and whenever a run
//! has the sandbox `oci`. [`Plugins`](super::Plugins) writes what it says of plugins, [`LockFile::pin_image`] the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::{Capabilities, PluginError, PluginKind, Plugins};
use crate::{
    config::{broken_plugin_name_rule, load_text, shorten},
    fs::{Manner, Root},
    model::Location,
    sandbox::Image,
};

/// The name of the lock file in the project root.
pub const LOCK_FILE: &str = "samuel.lock";
/// The version of its form.
const VERSION: u32 = 1;
const HEADER: &str = "# Written by Samuel. It holds which plugins are installed and what they were granted, and the image of the sandbox:\n\
                      # keep it under version control, and review changes.\n";

/// What is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    version: u32,
    /// What agents and checks work in, where that is an image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<PinnedSandbox>,
    /// The plugins, by name.
    #[serde(default, rename = "plugin")]
    pub plugins: Vec<InstalledPlugin>,
}

/// What the sandbox `oci` is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedSandbox {
    /// The image, pinned by its digest.
    pub image: Image,
}

/// An installed plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledPlugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it is made of.
    pub kind: PluginKind,
    /// Where it comes from, as samuel.toml has it.
    pub source: String,
    /// The commit it was installed from, where it comes from git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether its source named a tag then, which is not expected to move.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tag: bool,
    /// The digest of the archive, or of the manifest in a registry, that it was installed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// One digest over all files.
    pub digest: String,
    /// The image of a plugin that is one, as it was when the plugin was installed: pinned by its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What the user granted.
    #[serde(default, skip_serializing_if = "Capabilities::is_empty")]
    pub granted: Capabilities,
    /// The digest of each file, by its path in the plugin.
    pub files: BTreeMap<String, String>,
}

impl Default for LockFile {
    fn default() -> Self {
        Self { version: VERSION, sandbox: None, plugins: Vec::new() }
    }
}

impl LockFile {
    /// Reads the lock file of a project; an empty one where there is none.
    ///
    /// # Errors
    /// Returns [`PluginError::Lock`] where it cannot be understood.
    pub fn load(project_root: &Path) -> Result<Self, PluginError> {
        let file = project_root.join(LOCK_FILE);
        match load_text(&Root::new(project_root), &file)? {
            Some(text) => Self::parse(&file, &text),
            None => Ok(Self::default()),
        }
    }

    fn parse(file: &Path, text: &str) -> Result<Self, PluginError> {
        let refused = |line, column, problem: String| PluginError::Lock {
            place: Location { file: file.to_owned(), line, column },
            problem,
        };
        let lock: Self = toml::from_str(text).map_err(|error| {
            let (line, column) = place_at(text, error.span().map_or(0, |span| span.start));
            refused(Some(line), Some(column), error.message().to_owned())
        })?;
        if lock.version != VERSION {
            return Err(refused(None, None, format!("version {} is not supported", lock.version)));
        }
        let mut seen = BTreeSet::new();
        for plugin in &lock.plugins {
            let shown = shorten(&plugin.name).escape_debug().to_string();
            let problem = match broken_plugin_name_rule(&plugin.name) {
                Some(rule) => format!("\"{shown}\" cannot be the name of a plugin: {rule}"),
                None if seen.insert(&plugin.name) => continue,
                None => format!("\"{shown}\" is there twice"),
            };
            let (line, column) = place_of(text, &plugin.name).unzip();
            return Err(refused(line, column, problem));
        }
        Ok(lock)
    }

    /// Pins the image of the sandbox `oci` in the lock file of a project, which is made where there is none.
    ///
    /// # Errors
    /// Returns [`PluginError::Busy`] while another command changes plugins, [`PluginError::Lock`] where the file cannot
    /// be understood, and [`PluginError::Io`] where the disk refuses.
    pub fn pin_image(project_root: &Path, image: &Image) -> Result<(), PluginError> {
        // Where nobody has installed a plugin yet, none is lost.
        let plugins = Plugins::of(project_root);
        let _held = plugins.directory().is_dir().then(|| plugins.hold()).transpose()?;
        let mut lock = Self::load(project_root)?;
        lock.sandbox = Some(PinnedSandbox { image: image.clone() });
        lock.save(project_root)
    }

    /// Replaces the lock file of a project.
    ///
    /// # Errors
    /// Returns [`PluginError::Io`] where the disk refuses.
    pub(super) fn save(&self, project_root: &Path) -> Result<(), PluginError> {
        let path = project_root.join(LOCK_FILE);
        let written = Root::new(project_root).write(&path, [self.render().as_bytes()], &Manner::PROJECT);
        written.map_err(PluginError::file("write", path))
    }

    fn render(&self) -> String {
        let body = toml::to_string(self).expect("texts, numbers and tables with text keys are always TOML");
        format!("{HEADER}{body}")
    }

    /// Returns what is kept of a plugin.
    pub fn get(&self, name: &str) -> Option<&InstalledPlugin> {
        self.plugins.iter().find(|plugin| plugin.name == name)
    }

    /// Takes a plugin out.
    pub(super) fn remove(&mut self, name: &str) -> Option<InstalledPlugin> {
        let place = self.plugins.iter().position(|plugin| plugin.name == name)?;
        Some(self.plugins.remove(place))
    }

    /// Puts a plugin in, in place of the one of its name.
    pub(super) fn put(&mut self, entry: InstalledPlugin) {
        self.remove(&entry.name);
        let place = self.plugins.partition_point(|plugin| plugin.name < entry.name);
        self.plugins.insert(place, entry);
    }
}

/// Returns line and column of an offset, from 1.
fn place_at(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// Finds the last place that gives a plugin this name.
fn place_of(text: &str, name: &str) -> Option<(usize, usize)> {
    let plugins = toml::de::DeTable::parse(text).ok()?;
    let plugins = plugins.get_ref().get("plugin")?.get_ref().as_array()?.iter();
    let mut names = plugins.filter_map(|plugin| plugin.get_ref().as_table()?.get("name"));
    let found = names.rfind(|value| value.get_ref().as_str() == Some(name))?;
    Some(place_at(text, found.span().start))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::*;
    use crate::plugin::Capability;

    fn entry(name: &str) -> InstalledPlugin {
        InstalledPlugin {
            name: name.to_owned(),
            version: "1.2.0".to_owned(),
            kind: PluginKind::Skill,
            source: "./plugins/lint".to_owned(),
            commit: None,
            tag: false,
            pin: None,
            digest: "sha256:00".to_owned(),
            image: None,
            granted: Capabilities::default().with(Capability::FilesystemRead, ["/workspace/**"]),
            files: [("a \"b\".sh".to_owned(), "sha256:01".to_owned())].into(),
        }
    }

    #[test]
    fn what_is_written_reads_back_and_is_sorted() {
        let mut lock = LockFile::default();
        lock.put(entry("lint"));
        lock.put(entry("audit"));
        lock.put(InstalledPlugin { version: "2.0.0".to_owned(), ..entry("lint") });
        let text = lock.render();
        assert_eq!(LockFile::parse(Path::new("samuel.lock"), &text).unwrap(), lock);
        let names: Vec<_> = lock.plugins.iter().map(|plugin| (&*plugin.name, &*plugin.version)).collect();
        assert_eq!(names, [("audit", "1.2.0"), ("lint", "2.0.0")]);
        assert!(text.starts_with("# Written by"), "{text}");
        assert!(text.contains("\"filesystem.read\" = [\"/workspace/**\"]"), "{text}");
    }

    #[test]
    fn an_image_is_pinned_beside_the_plugins_and_by_its_digest_alone() {
        let root = tempfile::tempdir().unwrap();
        let mut lock = LockFile::default();
        lock.put(entry("lint"));
        lock.save(root.path()).unwrap();
        let image = Image::parse(&format!("localhost/agents@sha256:{}", "0a".repeat(32))).unwrap();
        LockFile::pin_image(root.path(), &image).unwrap();
        let read = LockFile::load(root.path()).unwrap();
        assert_eq!(read.plugins, lock.plugins);
        assert_eq!(read.sandbox.unwrap().image, image);
        let plugins = Plugins::of(root.path());
        let held = plugins.hold().unwrap();
        assert!(matches!(LockFile::pin_image(root.path(), &image), Err(PluginError::Busy { .. })));
        drop(held);
        LockFile::pin_image(root.path(), &image).unwrap();
        let text = "version = 1\n[sandbox]\nimage = \"agents:latest\"\n";
        match LockFile::parse(Path::new("samuel.lock"), text) {
            Err(PluginError::Lock { place, problem }) => {
                assert_eq!(place.line, Some(3), "{problem}");
                assert!(problem.contains("`agents:latest` is not pinned"), "{problem}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_lock_file_that_makes_no_sense_is_refused_with_its_place() {
        let refusal = |text: &str| match LockFile::parse(Path::new("samuel.lock"), text) {
            Err(PluginError::Lock { place, problem }) => (place.line, problem),
            other => panic!("{other:?}"),
        };
        assert_eq!(refusal("version = 2\n").1, "version 2 is not supported");
        assert_eq!(refusal("version = 1\nextra = 1\n").0, Some(2));
        let text = LockFile { plugins: vec![entry("lint"), entry("lint")], ..LockFile::default() }.render();
        assert!(refusal(&text).1.contains("twice"));
        let text = LockFile { plugins: vec![entry("../up")], ..LockFile::default() }.render();
        assert!(refusal(&text).1.contains("../up"));
        assert!(refusal("version = 1\n[[plugin]]\ngranted = { \"root\" = [] }\n").1.contains("root"));
    }
}
