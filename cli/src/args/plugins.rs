//! Arguments of the commands for plugins.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use samuel_core::{
    config::parse_duration,
    hook::ChainSpec,
    plugin::{PluginKind, PluginLanguage},
};

#[derive(Debug, Args)]
#[command(
    after_help = "What the plugin asks for is shown first, and granted as a whole or not at all; an update \
                        asks only for what is new. Files go to .samuel/plugins, digests and grants to samuel.lock, \
                        and samuel.toml lists the plugin.\n\nExamples:\n  samuel install ./plugins/lint\n  samuel \
                        install https://example.org/samuel-python.git#v1.2.0\n  samuel install \
                        https://example.org/plugins.git#v2:lint\n  samuel install ./lint-1.0.0.tar.gz\n  samuel install \
                        oci://ghcr.io/ada/lint:1.0.0\n\nExit codes: 0 done, 2 the plugin \
                        has problems, 75 another command is at work, 78 what it asks for was not granted, its source \
                        was moved, or its digest is another one"
)]
pub(crate) struct InstallArgs {
    /// A directory, the URL of a git repository with an optional #revision and :directory, an archive or its URL with
    /// #sha256:<digest>, `oci://host/name:tag`, or the name of a plugin of the index
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

/// What is agreed to without a question.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ConsentArgs {
    /// Grant what is asked for without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Take what a tag, an archive or an address of a registry has by now, though it should have stayed what it was
    #[arg(long)]
    pub(crate) accept_moved: bool,
}

/// Where plugins are looked up.
#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// The list of plugins to look in: a JSON file, its URL, or a git repository with an index.json
    /// [default: what `SAMUEL_PLUGIN_INDEX` names]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) index: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What the name or description has in it [default: all]
    #[arg(value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OutdatedArgs {
    #[command(flatten)]
    pub(crate) index: IndexArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A plugin that comes from the index is updated to its newest version there, any other to what its source has \
                        by now. Samuel asks about capabilities that are new, and about a source that was moved. One that \
                        cannot be updated does not keep the others from it; the exit code is that of the first.\n\nExit \
                        codes: 0 done, 1 one could not be fetched, 78 what one asks for was not granted, or its source \
                        was moved"
)]
pub(crate) struct UpdateArgs {
    /// The plugin [default: all of them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) index: IndexArgs,
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
    /// Check a plugin: its manifest, the files it names, what its component imports and exports
    Validate(PluginDirectory),
    /// Print the JSON Schema of samuel-plugin.toml
    Schema,
    /// Make the directory of a new plugin
    New(NewPluginArgs),
    /// Build a plugin's component with the tools of its language
    Build(PluginDirectory),
    /// Fire each point that a plugin handles, with a sample, and show what it answers
    Test(PluginTestArgs),
    /// Keep a plugin of the project as its directory has it, while it is made
    Link(LinkArgs),
    /// Make an archive of a plugin, which can be installed
    Pack(PackArgs),
    /// Put a plugin into a registry
    Publish(PublishArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "It builds and installs the plugin, and again whenever one of its files changes, until Ctrl-C. A loop \
                        that runs beside it ends at its next look at its plugins. -C names the project; the plugin's \
                        directory is looked for in the current one.\n\nExamples:\n  samuel plugin link \
                        ../my-checks\n  samuel plugin link . -C ../project"
)]
pub(crate) struct LinkArgs {
    #[command(flatten)]
    pub(crate) plugin: PluginDirectory,
    /// Grant what the plugin asks for without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The archive is <name>-<version>.tar.gz; the same files make the same bytes. Beside it lies its digest, \
                        by which it is installed from a URL.\n\nExample:\n  samuel plugin pack my-checks --output dist"
)]
pub(crate) struct PackArgs {
    #[command(flatten)]
    pub(crate) plugin: PluginDirectory,
    /// Where the archive goes [default: the current directory]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Who may log in is read from what `docker login` or `podman login` have kept.\n\nExample:\n  samuel \
                        plugin publish oci://ghcr.io/ada/lint"
)]
pub(crate) struct PublishArgs {
    /// The address: `oci://host/name`, with :tag if it is not the version
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    #[command(flatten)]
    pub(crate) plugin: PluginDirectory,
    /// Replace what the registry has under the tag
    #[arg(long)]
    pub(crate) force: bool,
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
                        contract, in wit/deps/.\n\nExamples:\n  samuel plugin new licence --kind skill \
                        --lang python\n  samuel plugin new licence --sdk-path ~/samuel/bindings/rust"
)]
pub(crate) struct NewPluginArgs {
    /// The plugin's name: 2 to 64 of a-z, 0-9 and -, a letter first and no - last
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// What it is made of: wasm, skill or oci; or methodology [default: wasm, in sh skill]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<PluginKind>,
    /// The language: rust, python, javascript or, for scripts, sh [default: rust, for scripts python]
    #[arg(long, value_name = "LANG")]
    pub(crate) lang: Option<PluginLanguage>,
    /// The hook point that it handles [default: context.extra]
    #[arg(long, value_name = "POINT")]
    pub(crate) point: Option<String>,
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
#[command(
    after_help = "-C says where the plugin's directory is looked for; what options name is looked for in the current \
                        one.\n\nExamples:\n  samuel plugin test my-checks\n  samuel plugin test --project ../project"
)]
pub(crate) struct PluginTestArgs {
    // Not named as the one that -C sets: for clap they would be one argument.
    /// The plugin's directory
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) plugin: PathBuf,
    /// Only this hook point
    #[arg(long, value_name = "POINT")]
    pub(crate) point: Option<String>,
    /// The project that it sees [default: an empty one]
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Its settings: a file in TOML or JSON, as under [plugins.config]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What its handlers are given: a JSON object; "-" reads it from stdin. What it lacks is as in a sample
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// How long a handler may take, such as 30s
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = timeout)]
    pub(crate) timeout: Duration,
    /// Try it out again, after a build where there is something to build, whenever one of its files changes
    #[arg(long)]
    pub(crate) watch: bool,
}

fn timeout(text: &str) -> Result<Duration, String> {
    let parsed = parse_duration(text).map_err(|error| error.to_string())?;
    match (ChainSpec::MIN_TIMEOUT..=ChainSpec::MAX_TIMEOUT).contains(&parsed) {
        true => Ok(parsed),
        false => Err("it is from 1s to 24h".to_owned()),
    }
}
