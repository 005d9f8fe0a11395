//! Plugins: what they ask for, what they are granted, and how they are loaded.
//!
//! A plugin is a directory with a `samuel-plugin.toml`, its [`Manifest`]. What
//! it may reach outside itself are its [`Capabilities`]: those its manifest asks
//! for, and of them those the user granted. docs/plugins.md has the forms of both.
//!
//! ```text
//! InstallSource ─► Plugins::fetch ─► FetchedPlugin ─ the user grants ─► Plugins::install
//!              │                                            │
//!              └ a bounded copy, checked                    ├ .samuel/plugins/<name>/
//!                                                           ├ samuel.lock: digests and grants
//!                                                           └ samuel.toml: [[plugins]]
//! Catalog::read ─ digests hold ─► Catalog::load ─► LoadedPlugins::register ─► the registry
//!    reads each file once          components are compiled of these bytes,
//!                                  scripts run from a private copy of them
//! ```
//!
//! [`Plugins`] changes what is installed; [`Catalog`] is what a run or a
//! lifecycle command takes part of. How handlers run is the tiers': `skill`
//! runs scripts, `oci` programs of container images.
//!
//! ```
//! use samuel_core::plugin::{LockFile, Manifest};
//! use std::path::Path;
//!
//! let text = r#"
//! [plugin]
//! name = "samuel-lint"
//! kind = "skill"
//! version = "1.0.0"
//! samuel = "^2.0"
//! [hooks]
//! "quality.check" = "check.sh"
//! "#;
//! let manifest = Manifest::parse(Path::new("samuel-plugin.toml"), text)?;
//! assert_eq!(manifest.name, "samuel-lint");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod address;
mod agent_env;
mod archive;
mod build;
mod capability;
mod catalog;
mod chains;
mod check;
#[cfg(feature = "wasm")]
mod component;
mod config_value;
mod consent;
mod contents;
mod edit;
mod envelope;
mod error;
#[cfg_attr(
    not(feature = "wasm"),
    allow(dead_code, reason = "only the host of components asks what a grant covers")
)]
mod exec_grant;
mod fetch;
mod fetched;
mod first_handler;
mod host_error;
mod host_grant;
mod index;
mod install;
mod installed;
mod kind;
mod kv;
mod load;
mod lock;
mod log_lines;
mod logins;
mod manifest;
mod name;
mod oci;
mod plan;
mod problem;
mod profile;
mod protected;
mod publish;
mod read;
mod registry;
mod sample;
mod scaffold;
mod schema;
mod sdk;
mod settings;
mod skill;
mod source;
mod swap;
mod tree;
mod trial;
mod validate;
#[cfg(feature = "wasm")]
pub mod wasm;
mod web;

pub use address::RegistryAddress;
pub use archive::{PackedPlugin, pack};
pub use build::{BuildOptions, BuildReport, build};
pub use capability::{Capabilities, Capability, UnknownCapability};
pub(crate) use catalog::plugin_directory;
pub use catalog::{Catalog, Plugin};
pub use chains::Unlisted;
pub use check::check;
use config_value::config_value;
pub use consent::consequences;
pub use envelope::{MAX_ANSWER_BYTES, PROTOCOL};
pub use error::PluginError;
pub use fetch::FetchOptions;
pub use fetched::{FetchedPlugin, MovedSource};
pub use index::{IndexedPlugin, IndexedVersion, PluginIndex};
pub use install::{Installed, ListedPlugin, Plugins, Uninstalled, VerifiedPlugin};
pub use installed::PluginDifference;
pub use kind::{PluginKind, UnknownKind};
pub use load::{LoadOptions, LoadedPlugins};
pub use lock::{InstalledPlugin, LOCK_FILE, LockFile, PinnedSandbox};
pub use logins::RegistryLogins;
pub use manifest::{Binding, MANIFEST_FILE, Manifest};
pub use name::check_plugin_name;
pub use oci::ImageMode;
#[cfg(feature = "sandbox")]
pub use oci::{ImageHandler, ImagePlugin, ImageSetup};
use problem::ManifestProblem;
pub use profile::MethodologyProfile;
pub use publish::publish;
pub use registry::PublishedPlugin;
pub use sample::{sample_input, sample_text};
pub use scaffold::{NewPlugin, PluginLanguage, Scaffolded, SdkSource, scaffold};
pub use schema::manifest_schema;
pub use settings::{PluginSetting, SettingKind};
pub use skill::Skill;
pub use source::InstallSource;
pub use tree::{MAX_BYTES, MAX_FILES, PluginChange, PluginChangeKind, PluginTree, Selection};
pub use trial::{Trial, TrialOptions, TrialProgress, TrialReport, TrialStep, try_out};
pub use validate::{ValidPlugin, validate};
