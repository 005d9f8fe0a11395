//! `samuel-plugin.toml`: what a plugin is, asks for and provides.
//!
//! A [`Manifest`] is read as a whole or refused with every problem at its place,
//! by the same reader as samuel.toml. What its files hold is looked at by
//! [`check`](super::check), reading its tables is in `read`.

use std::{collections::BTreeMap, path::Path};

use semver::{Version, VersionReq};
use serde::Serialize;

use super::{
    Capabilities, Capability, ImageMode, MethodologyProfile, PluginError, PluginKind, PluginSetting, read,
};
use crate::{
    config::{Document, Origins, load_text, text_of},
    fs::Root,
    hook::HookPoint,
    model::Location,
};

/// The name of the manifest in a plugin's directory.
pub const MANIFEST_FILE: &str = "samuel-plugin.toml";

/// What a plugin is, asks for and provides (docs/plugins.md).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manifest {
    /// Its name, as [`check_plugin_name`](super::check_plugin_name) allows it.
    pub name: String,
    /// What it is made of.
    pub kind: PluginKind,
    /// Its version.
    pub version: Version,
    /// The versions of Samuel it works with.
    pub samuel: VersionReq,
    /// Its key in the Plugins group; by default its name with `_` for `-`.
    pub namespace: String,
    /// What it does, one line; may be empty.
    pub description: String,
    /// Who made it, in the order of the manifest; may be empty.
    pub authors: Vec<String>,
    /// Its licence, an SPDX expression; may be empty.
    pub license: String,
    /// The URL of its source; may be empty.
    pub repository: String,
    /// The settings that it takes; nothing where it takes whatever it is given.
    pub settings: Option<BTreeMap<String, PluginSetting>>,
    /// What it asks for.
    pub capabilities: Capabilities,
    /// Why it asks for it, as far as it says.
    pub reasons: BTreeMap<Capability, String>,
    /// Its handlers, one a point, in the order of the manifest.
    pub bindings: Vec<Binding>,
    /// The component of a wasm plugin, relative to the plugin.
    pub module: Option<String>,
    /// The image of an oci plugin: its name, or that with its digest.
    pub image: Option<String>,
    /// How its program is called.
    pub image_mode: ImageMode,
    /// The methodologies it provides.
    pub profiles: Vec<MethodologyProfile>,
    #[serde(skip)]
    pub(super) origins: Origins,
}

/// A handler of a plugin and the point it is for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Binding {
    /// The point.
    pub point: HookPoint,
    /// The handler: an export of a component, a subcommand of an image, or a
    /// script relative to the plugin. `<plugin>:<handler>` is its id.
    pub handler: String,
    /// The order it asks for.
    pub order: Option<i32>,
    /// Whether a script in the agent's place has its standard input kept open, for replies to what
    /// it asks.
    pub interactive: bool,
    /// Where the manifest says so.
    pub place: Location,
}

impl Manifest {
    /// Reads the text of a manifest for this version of Samuel. `file` is only
    /// for messages.
    ///
    /// # Errors
    /// Returns [`PluginError::Manifest`] with every problem of the text.
    pub fn parse(file: &Path, text: &str) -> Result<Self, PluginError> {
        Self::parse_for(&host_version(), file, text)
    }

    /// Reads the manifest in a plugin's directory.
    ///
    /// # Errors
    /// Returns [`PluginError::NoManifest`] where there is none, and
    /// [`PluginError::Manifest`] where it cannot be read or has problems.
    pub fn load(directory: &Path) -> Result<Self, PluginError> {
        let file = directory.join(MANIFEST_FILE);
        match load_text(&Root::new(directory), &file)? {
            Some(text) => Self::parse(&file, &text),
            None => Err(PluginError::NoManifest { directory: directory.to_owned() }),
        }
    }

    /// Reads the bytes of a manifest. `file` is only for messages.
    pub(super) fn parse_bytes(file: &Path, bytes: Vec<u8>) -> Result<Self, PluginError> {
        Self::parse(file, &text_of(file, bytes)?)
    }

    pub(super) fn parse_for(host: &Version, file: &Path, text: &str) -> Result<Self, PluginError> {
        let (manifest, origins) = Document::read(file, text, |table| read::read_root(table, host))?;
        let manifest = manifest.expect("a manifest in which nothing is missing or wrong is whole");
        Ok(Self { origins, ..manifest })
    }

    /// Returns the handler of a point.
    pub fn binding(&self, point: HookPoint) -> Option<&Binding> {
        self.bindings.iter().find(|binding| binding.point == point)
    }
}

/// Returns the version of this Samuel.
fn host_version() -> Version {
    env!("CARGO_PKG_VERSION").parse().expect("cargo gives every package a semantic version")
}
