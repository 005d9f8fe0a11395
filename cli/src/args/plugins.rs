//! Arguments of the commands for plugins.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use samuel_core::plugin::{PluginKind, PluginLanguage};

#[derive(Debug, Args)]
#[command(
    after_help = "What the plugin asks for is shown first, and granted as a whole or not at all; an update \
                        asks only for what is new. Files go to .samuel/plugins, digests and grants to samuel.lock, \
                        and samuel.toml lists the plugin.\n\nExamples:\n  samuel install ./plugins/lint\n  samuel \
                        install https://example.org/samuel-python.git#v1.2.0\n\nExit codes: 0 done, 2 the plugin \
                        has problems, 75 another command is at work, 78 what it asks for was not granted"
)]
pub(crate) struct InstallArgs {
    /// A directory, a samuel-plugin.toml or component in one, or the URL of a git repository with an optional #revision
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// Grant what the plugin asks for without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// Only those of a kind: skill, wasm, oci or methodology
    #[arg(long = "type", value_name = "KIND")]
    pub(crate) kind: Option<PluginKind>,
}

#[derive(Debug, Args)]
pub(crate) struct PluginName {
    /// The plugin's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The plugin's name [default: all of them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Check a plugin: its manifest, and the files it names
    Validate(PluginDirectory),
    /// Print the JSON Schema of samuel-plugin.toml
    Schema,
    /// Make the directory of a new plugin
    New(NewPluginArgs),
    /// Build a plugin's component with the tools of its language
    Build(PluginDirectory),
    /// Renew what a plugin carries of the crate samuel-plugin or of the contract
    UpdateSdk(PluginDirectory),
    /// Fire each point that a plugin handles, with a sample, and show what it answers
    Test(PluginTestArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PluginDirectory {
    // Not named as the one that -C sets: for clap they would be one argument.
    /// The plugin's directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) plugin: PathBuf,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A plugin carries what it is built with: one in Rust the crate samuel-plugin, in sdk/, others the \
                        contract, in wit/deps/. `samuel plugin update-sdk` renews it.\n\nExamples:\n  samuel plugin new licence --kind skill \
                        --lang python\n  samuel plugin new licence --sdk-path ~/samuel/bindings/rust"
)]
pub(crate) struct NewPluginArgs {
    /// The plugin's name: 2 to 64 of a-z, 0-9 and -, a letter first and no - last
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it is made of: wasm, skill or oci
    #[arg(long, value_name = "KIND", default_value = "wasm")]
    pub(crate) kind: PluginKind,
    /// The language: rust, python or javascript [default: rust, for scripts python]
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Option<PluginLanguage>,
    /// The directory to make it in [default: one of its name, or this one where that is empty and so named]
    #[arg(long, value_name = "DIR")]
    pub(crate) path: Option<PathBuf>,
    /// Take the crate samuel-plugin from this directory
    #[arg(long, value_name = "DIR", group = "sdk")]
    pub(crate) sdk_path: Option<PathBuf>,
    /// Take the crate samuel-plugin from this git repository
    #[arg(long, value_name = "URL", group = "sdk")]
    pub(crate) sdk_git: Option<String>,
    /// Take the crate samuel-plugin from the registry, in this version
    #[arg(long, value_name = "VERSION", group = "sdk")]
    pub(crate) sdk_version: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PluginTestArgs {
    // Not named as the one that -C sets: for clap they would be one argument.
    /// The plugin's directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) plugin: PathBuf,
    /// Only this hook point
    #[arg(long, value_name = "POINT")]
    pub(crate) point: Option<String>,
}
