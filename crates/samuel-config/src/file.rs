//! samuel.toml, read and checked as a whole.

use std::{collections::BTreeMap, path::Path};

use samuel_fs::{FileError, Root};
use samuel_hook::{ChainSpec, HookPoint, ResolveError, Unresolved, context::GuardrailVars};

use super::{
    ConfigError, DEFAULT_METHODOLOGY, MethodologySettings, Origin, Problem, ProblemKind, Problems,
    SandboxSettings,
    chain::{self, Chains, overlay},
    document::{Document, Origins},
    layer::MethodologyLayer,
    schema::read_root,
    source::Source,
};

/// The name of the configuration file in the project root.
pub const CONFIG_FILE: &str = "samuel.toml";

/// The configuration of a project: samuel.toml (docs/configuration.md).
///
/// The default is what a missing file means. What methodologies and hooks are
/// configured with is asked for with [`Config::methodology`] and
/// [`Config::chain`], which merge the layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The methodology of a bare `samuel run`, or its alias. Default `ralph`.
    pub default_methodology: String,
    /// The project's name; empty, the default, for that of its directory.
    pub project_name: String,
    /// The rules that work must keep to.
    pub guardrails: GuardrailVars,
    /// Where agents and checks work.
    pub sandbox: SandboxSettings,
    /// The plugins to load, in the order that breaks ties between handlers.
    pub plugins: Vec<PluginEntry>,
    pub(super) methodologies: BTreeMap<String, MethodologyLayer>,
    pub(super) hooks: Chains,
    origins: Origins,
}

/// A plugin to load: `[[plugins]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginEntry {
    /// Its name, as `check_plugin_name` allows it.
    pub name: String,
    /// Where it comes from, as the plugin loader understands it.
    pub source: Option<String>,
    /// What the user set for it: the entry's `config` table.
    pub config: serde_json::Map<String, serde_json::Value>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            default_methodology: DEFAULT_METHODOLOGY.to_owned(),
            project_name: String::new(),
            guardrails: GuardrailVars::default(),
            sandbox: SandboxSettings::default(),
            plugins: Vec::new(),
            methodologies: BTreeMap::new(),
            hooks: Chains::new(),
            origins: Origins::default(),
        }
    }
}

impl Config {
    /// The largest file that is read, in bytes.
    pub const MAX_BYTES: usize = Document::MAX_BYTES;

    /// Reads the text of samuel.toml. `file_name` is only for messages.
    ///
    /// # Errors
    /// Returns [`ConfigError::Invalid`] with every problem of the text.
    pub fn parse(file_name: &Path, text: &str) -> Result<Self, ConfigError> {
        let (config, origins) = Document::read(file_name, text, read_root)?;
        Ok(Self { origins, ..config })
    }

    /// Reads `samuel.toml` in a project; the default where there is none.
    ///
    /// # Errors
    /// Returns [`ConfigError::Io`] where the file cannot be read, and
    /// [`ConfigError::Invalid`] with every problem of its text.
    pub fn load(project_root: &Path) -> Result<Self, ConfigError> {
        let file = project_root.join(CONFIG_FILE);
        match load_text(&Root::new(project_root), &file)? {
            Some(text) => Self::parse(&file, &text),
            None => Ok(Self::default()),
        }
    }

    /// Returns a methodology's settings: the defaults, and over them what
    /// samuel.toml sets. The name is the one proper, not an alias.
    pub fn methodology(&self, name: &str) -> MethodologySettings {
        self.methodology_over(name, MethodologySettings::default())
    }

    /// Returns a methodology's settings over other defaults, such as those its
    /// plugin gives.
    pub fn methodology_over(&self, name: &str, mut defaults: MethodologySettings) -> MethodologySettings {
        if let Some(layer) = self.methodologies.get(name) {
            layer.apply(&mut defaults);
        }
        defaults
    }

    /// Returns the methodologies that samuel.toml has tables for.
    pub fn methodologies(&self) -> impl Iterator<Item = &str> {
        self.methodologies.keys().map(String::as_str)
    }

    /// Returns what is configured of a point's chain: `[hooks]`, and over it
    /// `[methodology.<name>.hooks]`, field by field.
    pub fn chain(&self, point: HookPoint, methodology: &str) -> ChainSpec {
        self.chain_over(point, methodology, &ChainSpec::default())
    }

    /// Returns what is configured of a point's chain over other defaults, such
    /// as those a methodology's plugin gives.
    pub fn chain_over(&self, point: HookPoint, methodology: &str, defaults: &ChainSpec) -> ChainSpec {
        let of_methodology = self.methodologies.get(methodology).and_then(|layer| layer.hooks.get(&point));
        let layers = self.hooks.get(&point).into_iter().chain(of_methodology);
        layers.fold(defaults.clone(), |spec, layer| overlay(&spec, layer, point))
    }

    /// Returns where a key is set, such as `hooks.quality.check.timeout` or
    /// `methodology.ralph.agent`; nothing where its default holds. Quotes in
    /// the path do not count.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        self.origins.get(key)
    }

    /// Returns the keys that make up a point's chain, each with its place:
    /// where two layers set a field, the one that won.
    pub fn chain_origins(&self, point: HookPoint, methodology: &str) -> Vec<(String, Origin)> {
        let [earlier, later] = chain_tables(point, methodology);
        let set = |table: &str, field: &str| {
            let key = format!("{table}.{field}");
            self.origin(&key).map(|origin| (key, origin))
        };
        // Either of the two in the later layer hides an action set before.
        let later_acts = ["strict", "on_failure"].iter().any(|field| set(&later, field).is_some());
        let winner = |field: &&str| {
            let hidden = *field == "on_failure" && later_acts;
            set(&later, field).or_else(|| set(&earlier, field).filter(|_| !hidden))
        };
        let mut origins: Vec<_> =
            chain::FIELDS.iter().filter(|field| **field != "order").filter_map(winner).collect();
        for table in [earlier, later] {
            let prefix = format!("{table}.order.");
            let below = self.origins.below(&prefix);
            origins.extend(below.map(|(name, origin)| (format!("{prefix}\"{name}\""), origin)));
        }
        origins
    }

    /// Turns chains that cannot be resolved into problems at the places where
    /// samuel.toml names the handlers, in their order; nothing where it does not.
    pub fn locate(&self, methodology: &str, unresolved: &Unresolved) -> Option<ConfigError> {
        let located = unresolved.errors.iter().filter_map(|error| self.located(methodology, error));
        let problems = Problems::of(located.collect());
        (!problems.list.is_empty()).then_some(ConfigError::Invalid(problems))
    }

    fn located(&self, methodology: &str, error: &ResolveError) -> Option<Problem> {
        let (point, name, kind) = match error {
            ResolveError::UnknownHandler { point, name, nearest, known } => {
                let (nearest, known) = (nearest.clone(), known.clone());
                (
                    point,
                    name,
                    ProblemKind::UnknownName { what: "handler", name: name.clone(), nearest, known },
                )
            }
            ResolveError::DoubledHandler { point, name } => {
                (point, name, ProblemKind::Doubled { what: "handler", name: name.clone() })
            }
            _ => return None,
        };
        let (key, origin) = self.handler_origin(*point, methodology, name)?;
        Some(Problem { location: origin.into(), key, kind })
    }

    /// Returns the last place where a point's tables name a handler.
    fn handler_origin(&self, point: HookPoint, methodology: &str, name: &str) -> Option<(String, Origin)> {
        let of_methodology = self.methodologies.get(methodology).and_then(|layer| layer.hooks.get(&point));
        let layers =
            [self.hooks.get(&point), of_methodology].into_iter().zip(chain_tables(point, methodology));
        layers.rev().find_map(|(spec, table)| {
            let spec = spec?;
            let place =
                spec.handlers.as_ref().and_then(|all| all.iter().rposition(|handler| handler == name));
            let key = match place {
                Some(place) => format!("{table}.handlers[{place}]"),
                None if spec.order.contains_key(name) => format!("{table}.order.\"{name}\""),
                None => return None,
            };
            self.origin(&key).map(|origin| (key, origin))
        })
    }
}

/// Returns the tables that can configure a point, the later layer last.
fn chain_tables(point: HookPoint, methodology: &str) -> [String; 2] {
    [format!("hooks.\"{point}\""), format!("methodology.{methodology}.hooks.\"{point}\"")]
}

/// Reads the text of a file below a root that a [`Document`] is made of; nothing
/// where there is none.
///
/// # Errors
/// Returns [`ConfigError::Io`] where the file cannot be read, and
/// [`ConfigError::Invalid`] where it is no UTF-8 or too large.
pub fn load_text(root: &Root, file: &Path) -> Result<Option<String>, ConfigError> {
    let limit = u64::try_from(Config::MAX_BYTES).unwrap_or(u64::MAX);
    let bytes = match root.read(file, limit) {
        Ok(bytes) => bytes,
        // A link that leads nowhere is an error, not an absent file.
        Err(error) if error.is_not_found() => match file.read_link() {
            Ok(target) => {
                let source = FileError::Dangling { target }.into();
                return Err(ConfigError::Io { file: file.to_owned(), source });
            }
            Err(_) => return Ok(None),
        },
        Err(FileError::TooLarge { .. }) => {
            return Err(refused(file, "", ProblemKind::TooLarge { max_bytes: Config::MAX_BYTES }));
        }
        Err(error) => return Err(ConfigError::Io { file: file.to_owned(), source: error.into() }),
    };
    text_of(file, bytes).map(Some)
}

/// Returns the text that the bytes of a file are.
///
/// # Errors
/// Returns [`ConfigError::Invalid`] where they are no UTF-8 or too many.
pub fn text_of(file: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    if bytes.len() > Config::MAX_BYTES {
        return Err(refused(file, "", ProblemKind::TooLarge { max_bytes: Config::MAX_BYTES }));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        refused(file, &String::from_utf8_lossy(valid), ProblemKind::NotUtf8)
    })
}

/// Refuses a file for what is wrong at the end of its readable text.
fn refused(file: &Path, text: &str, kind: ProblemKind) -> ConfigError {
    let location = Source::new(file, text).origin(text.len()).into();
    let problem = Problem { location, key: String::new(), kind };
    ConfigError::Invalid(Problems { list: vec![problem], omitted: 0 })
}
