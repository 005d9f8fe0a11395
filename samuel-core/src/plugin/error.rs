//! What can go wrong with plugins.

use std::{io, path::PathBuf, time::Duration};

use super::{Capability, PluginChange, PluginDifference, PluginKind};
use crate::{
    config::{ConfigError, broken_plugin_name_rule},
    fs::FileError,
    hook::{HookFailure, HookPoint},
    model::{Coded, ErrorCode, Location, Remedy},
    process::ProcessError,
    sandbox::SandboxError,
};

/// A plugin that cannot be read, installed, loaded or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// A manifest has problems, or a file it names has.
    #[error(transparent)]
    Manifest(#[from] ConfigError),
    /// samuel.toml cannot be used.
    #[error("samuel.toml cannot be used: {0}")]
    Config(#[source] ConfigError),
    /// There is no manifest.
    #[error("there is no samuel-plugin.toml in {}", directory.display())]
    NoManifest {
        /// The directory.
        directory: PathBuf,
    },
    /// The source of a plugin cannot be understood.
    #[error("\"{source_text}\" cannot be the source of a plugin: {problem}")]
    Source {
        /// The source as it was given.
        source_text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// What samuel.toml sets for a plugin is not what it takes.
    #[error("the settings of the plugin {name} do not fit: {}", problems.join("; "))]
    Settings {
        /// The plugin.
        name: String,
        /// What does not fit, one line each.
        problems: Vec<String>,
    },
    /// What was fetched is not what its digest says.
    #[error("\"{from}\" has the digest {found}, and not {expected}")]
    Digest {
        /// Where it comes from, or which file of an archive it is.
        from: String,
        /// The digest that it should have.
        expected: String,
        /// The one that it has.
        found: String,
    },
    /// An archive cannot be unpacked.
    #[error("the archive \"{from}\" cannot be used: {problem}")]
    Archive {
        /// Where it comes from.
        from: String,
        /// Why not.
        problem: String,
    },
    /// A registry, or the server of an archive, does not do what it was asked.
    #[error("\"{address}\" {problem}")]
    Registry {
        /// The address of what was asked for.
        address: String,
        /// What came of it.
        problem: String,
    },
    /// A registry has something else already under the tag that was to be published.
    #[error("\"{address}\" has another plugin under the tag {tag}")]
    Published {
        /// The address of what was to be published.
        address: String,
        /// The tag.
        tag: String,
    },
    /// What an address answers with is longer than what is read of it.
    #[error("\"{address}\" has more than {limit} bytes")]
    LongAnswer {
        /// The address.
        address: String,
        /// The most bytes that are read.
        limit: u64,
    },
    /// Another plugin is there than was expected, or another version of it.
    #[error("\"{from}\" has {found}, and not {expected}")]
    Unexpected {
        /// Where it comes from.
        from: String,
        /// The name that was expected, with the version where an index says it.
        expected: String,
        /// Those that are there.
        found: String,
    },
    /// A list of plugins cannot be used.
    #[error("the index \"{address}\" cannot be used: {problem}")]
    Index {
        /// Its address.
        address: String,
        /// Why not.
        problem: String,
    },
    /// A plugin is not loaded in time.
    #[error("the plugin {name} was not loaded within {} s", limit.as_secs())]
    Slow {
        /// The plugin.
        name: String,
        /// How long it had.
        limit: Duration,
    },
    /// A git repository could not be fetched.
    #[error("\"{url}\" could not be fetched: {message}")]
    Fetch {
        /// The URL.
        url: String,
        /// What git said.
        message: String,
    },
    /// A component cannot be loaded as its manifest says.
    #[cfg(feature = "wasm")]
    #[error("the component of {name} cannot be used: {source}")]
    Component {
        /// The plugin.
        name: String,
        /// The component.
        module: PathBuf,
        /// Why not.
        source: Box<super::wasm::WasmError>,
    },
    /// The image of a plugin cannot be run here.
    #[error("the image of {name} cannot be run: {source}")]
    Image {
        /// The plugin.
        name: String,
        /// Why not.
        source: SandboxError,
    },
    /// A component does not start.
    #[error("the component of {name} does not start: {failure}")]
    NoStart {
        /// The plugin.
        name: String,
        /// The component.
        module: PathBuf,
        /// Why not.
        failure: Box<HookFailure>,
    },
    /// A program that was needed could not be run.
    #[error("\"{program}\" could not be run")]
    Program {
        /// The program.
        program: String,
        /// Why not.
        source: Box<ProcessError>,
    },
    /// Building a plugin failed.
    #[error("\"{command}\" failed: {message}")]
    Build {
        /// The command line.
        command: String,
        /// How it ended, and the end of what it said.
        message: String,
    },
    /// A link in a plugin leads out of it, or to a directory.
    #[error("the link {} leads out of the plugin, or to a directory", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Something in a plugin is neither file nor directory, or has a name that
    /// is no text.
    #[error("{} is not a regular file", path.display())]
    NoFile {
        /// What it is.
        path: PathBuf,
    },
    /// The plugin is larger than plugins may be.
    #[error("the plugin has more than {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// A plugin of this name is installed from elsewhere, or its namespace is
    /// taken.
    #[error("the plugin {name} writes to the namespace \"{namespace}\" of the plugin {owner}")]
    NamespaceTaken {
        /// The plugin.
        name: String,
        /// The namespace.
        namespace: String,
        /// The plugin that has it.
        owner: String,
    },
    /// Two plugins provide a methodology of one name.
    #[error("the plugin {name} provides a methodology \"{methodology}\", and so does the plugin {owner}")]
    MethodologyTaken {
        /// The plugin.
        name: String,
        /// The name or alias that both have.
        methodology: String,
        /// The plugin that had it first.
        owner: String,
    },
    /// A point needs a capability that was not granted.
    #[error("the plugin {name} cannot handle {point} without the capability {capability}")]
    Ungranted {
        /// The plugin.
        name: String,
        /// The point.
        point: HookPoint,
        /// The capability.
        capability: Capability,
    },
    /// More was granted than the plugin asks for.
    #[error("samuel.lock grants {capability} to the plugin {name}, which does not ask for it")]
    Excess {
        /// The plugin.
        name: String,
        /// The capability.
        capability: Capability,
    },
    /// There is no plugin of this name.
    #[error("no plugin \"{name}\" is installed")]
    NotInstalled {
        /// The name.
        name: String,
        /// The nearest installed one, where one is near.
        nearest: Option<String>,
    },
    /// samuel.toml lists a plugin that is not installed.
    #[error("samuel.toml lists the plugin {name}, which is not installed")]
    Listed {
        /// The plugin.
        name: String,
        /// Where samuel.toml says it comes from.
        from: Option<String>,
    },
    /// Files of a plugin are not those that were installed.
    #[error("the plugin {name} was changed since it was installed")]
    Changed {
        /// The plugin.
        name: String,
        /// What was changed.
        changes: Vec<PluginChange>,
    },
    /// samuel.lock says something of a plugin that its files do not.
    #[error("samuel.lock does not fit the plugin {name}: {}", listed(differences))]
    Differs {
        /// The plugin.
        name: String,
        /// What does not fit.
        differences: Vec<PluginDifference>,
    },
    /// The text cannot be the name of a plugin.
    #[error("\"{}\" cannot be the name of a plugin: {rule}", name.escape_debug())]
    BadName {
        /// The text as it was given, or its beginning.
        name: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The program that loads plugins names no private directory, from which
    /// alone scripts are run.
    #[error("the scripts of the plugin {name} have no private directory to run from")]
    NoStateDir {
        /// The plugin.
        name: String,
    },
    /// samuel.lock cannot be read.
    #[error("samuel.lock cannot be used: {problem}")]
    Lock {
        /// The file, and the place where it is known.
        place: Location,
        /// What is wrong with it.
        problem: String,
    },
    /// This build of Samuel does not run plugins of a kind.
    #[error("the plugin {name} is of kind {kind}, which is not supported by this build: {why}")]
    Unsupported {
        /// The plugin.
        name: String,
        /// The kind.
        kind: PluginKind,
        /// What is missing.
        why: &'static str,
    },
    /// Another command changes the plugins of the project.
    #[error("another command is changing the plugins in {}", directory.display())]
    Busy {
        /// The directory of the plugins.
        directory: PathBuf,
    },
    /// A directory where something new should be made holds something.
    #[error("{} is not empty", directory.display())]
    NotEmpty {
        /// The directory.
        directory: PathBuf,
    },
    /// What was asked for does not go together.
    #[error("{problem}")]
    Request {
        /// Why not.
        problem: String,
    },
    /// The system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Makes a name of a text that is none: in small letters, with `-` for what else there is; nothing where
/// that is no name either.
fn meant_name(text: &str) -> Option<String> {
    let small = text.to_ascii_lowercase();
    let parts = small.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join("-");
    (name != text && broken_plugin_name_rule(&name).is_none()).then_some(name)
}

/// Lists what does not fit, one after the other.
fn listed(differences: &[PluginDifference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl PluginError {
    /// Words an error of the system.
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Words why a file is not read or written.
    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(FileError) -> Self {
        let path = path.into();
        move |error| Self::Io { action, path, source: error.into() }
    }
}

impl Coded for PluginError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Manifest(ConfigError::Io { .. }) | Self::Io { .. } => ErrorCode::PLUGIN_IO,
            Self::Manifest(_) | Self::Link { .. } | Self::NoFile { .. } => ErrorCode::PLUGIN_INVALID,
            Self::NamespaceTaken { .. } | Self::MethodologyTaken { .. } => ErrorCode::PLUGIN_INVALID,
            Self::TooLarge { .. } | Self::LongAnswer { .. } => ErrorCode::PLUGIN_SIZE,
            Self::Settings { .. } => ErrorCode::CONFIG_INVALID,
            Self::Digest { .. } => ErrorCode::PLUGIN_DIGEST,
            Self::Archive { .. } => ErrorCode::PLUGIN_ARCHIVE,
            Self::Index { .. } | Self::Unexpected { .. } => ErrorCode::PLUGIN_SOURCE,
            Self::Registry { .. } | Self::Published { .. } => ErrorCode::PLUGIN_REGISTRY,
            Self::Slow { .. } => ErrorCode::PLUGIN_COMPONENT,
            Self::Config(error) => error.code(),
            Self::NoManifest { .. } | Self::Source { .. } | Self::Fetch { .. } => ErrorCode::PLUGIN_SOURCE,
            Self::Program { .. } | Self::Build { .. } => ErrorCode::PROCESS_FAILED,
            Self::Ungranted { .. } => ErrorCode::PLUGIN_REFUSED,
            Self::Excess { .. } | Self::Lock { .. } => ErrorCode::PLUGIN_LOCK,
            Self::NotInstalled { .. } | Self::Listed { .. } => ErrorCode::PLUGIN_NOT_FOUND,
            Self::Changed { .. } | Self::Differs { .. } => ErrorCode::PLUGIN_CHANGED,
            Self::Unsupported { .. } => ErrorCode::PLUGIN_UNSUPPORTED,
            Self::Busy { .. } => ErrorCode::PLUGIN_BUSY,
            Self::NotEmpty { .. } | Self::Request { .. } | Self::BadName { .. } => ErrorCode::USAGE,
            Self::NoStateDir { .. } => ErrorCode::PLUGIN_IO,
            #[cfg(feature = "wasm")]
            Self::Component { source, .. } => source.code(),
            Self::Image { source, .. } => source.code(),
            Self::NoStart { .. } => ErrorCode::PLUGIN_COMPONENT,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Manifest(error) => error.help_or(self.code().help),
            Self::Config(error) => error.help(),
            Self::Fetch { .. } => {
                "Check the URL and the revision, and whether the host can be reached with `git ls-remote <URL>`.".into()
            }
            Self::NotInstalled { nearest: Some(name), .. } => format!("Did you mean {name}?").into(),
            Self::Listed { from, .. } => Remedy::InstallPlugin { source: from.clone() },
            Self::Link { .. } => "Replace the link by a file.".into(),
            Self::NoFile { .. } => "Remove it from the plugin.".into(),
            Self::TooLarge { .. } => {
                "Keep build results and downloads out of the plugin's directory.".into()
            }
            Self::LongAnswer { .. } => "Check what the address leads to: Samuel reads no more than that.".into(),
            Self::Unexpected { .. } => "Look at who changed it, and install the plugin from a source that you know.".into(),
            Self::Published { .. } => Remedy::PublishAnother,
            Self::NamespaceTaken { .. } | Self::MethodologyTaken { .. } => {
                "Uninstall one of the two.".into()
            }
            Self::Ungranted { capability, .. } => format!("Grant {capability}, or do without the plugin.").into(),
            Self::NotEmpty { .. } => "Name a directory that is new or empty.".into(),
            Self::Request { .. } => Remedy::SeePluginOptions,
            Self::BadName { name, .. } => match meant_name(name) {
                Some(meant) => format!("Use a name such as {meant}.").into(),
                None => "Use 2 to 64 of a-z, 0-9 and -, a letter first and no - last.".into(),
            },
            Self::Settings { .. } => {
                Remedy::ListPluginSettings.after("Correct [plugins.config] in samuel.toml.")
            }
            Self::Unsupported { kind: PluginKind::Wasm, .. } => Remedy::BuildWithComponents,
            Self::NoStateDir { .. } => "Set HOME, XDG_STATE_HOME or SAMUEL_STATE_DIR.".into(),
            Self::Build { .. } => "Correct what is said above and build again.".into(),
            Self::Io { source, .. } => {
                let of_file = FileError::help_of(source);
                of_file.map_or_else(|| self.code().help.clone(), Remedy::from)
            }
            _ => self.code().help.clone(),
        }
    }

    fn location(&self) -> Option<Location> {
        let at = |file: &PathBuf| Some(Location { file: file.clone(), line: None, column: None });
        match self {
            Self::Manifest(error) | Self::Config(error) => error.location(),
            Self::Lock { place, .. } => Some(place.clone()),
            Self::Link { path } | Self::NoFile { path } | Self::Io { path, .. } => at(path),
            #[cfg(feature = "wasm")]
            Self::Component { module, .. } => at(module),
            Self::NoStart { module, .. } => at(module),
            _ => None,
        }
    }
}
