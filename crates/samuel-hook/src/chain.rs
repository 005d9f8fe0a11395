//! What is known of a point's handlers before they run.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use samuel_model::payload::Mode;
use serde::{Deserialize, Serialize, Serializer};

use super::{HookPoint, OnFailure, SkipReason};

/// The order of a built-in default handler.
pub const DEFAULT_ORDER: i32 = 100;
/// The id of the built-in default handler.
pub const DEFAULT_ID: &str = "default";
/// Another name the configuration may use for it.
pub const DEFAULT_ALIAS: &str = "samuel-default";

/// Where a handler comes from. The order of the cases breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookLayer {
    /// Samuel itself.
    BuiltIn,
    /// A session or repository hook file.
    Dialect,
    /// A plugin.
    Plugin,
    /// The program that embeds Samuel.
    Api,
}

impl HookLayer {
    /// Returns the order of handlers that did not ask for one.
    pub fn implicit_order(self) -> i32 {
        match self {
            Self::BuiltIn => DEFAULT_ORDER,
            Self::Dialect => 150,
            Self::Plugin => 200,
            Self::Api => 300,
        }
    }
}

/// What kind of thing a handler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tier {
    /// Part of Samuel.
    BuiltIn,
    /// Async Rust.
    Async,
    /// Rust that blocks, on a thread of its own kind.
    Blocking,
    /// A script of a plugin, one process a call.
    Skill,
    /// A command of a hook file, one process a call.
    Shell,
    /// A function of a WASM component.
    Wasm,
    /// A program of a container image, ended with its container.
    Oci,
    /// Python on a thread: left behind at its deadline, since nothing can end
    /// what does not return to the interpreter.
    Python,
    /// Python on an event loop, cancelled at its deadline.
    PythonAsync,
    /// Python in a process of its own, ended at its deadline.
    PythonProcess,
}

impl Tier {
    /// Says whether what a handler was doing may go on after its deadline.
    pub fn is_left_behind(self) -> bool {
        matches!(self, Self::Blocking | Self::Python)
    }

    /// Returns how long after its deadline a handler is still waited for. Commands of hook files are
    /// ended by their runner at the deadline, and answer with what they printed until then.
    pub(super) fn grace(self) -> Duration {
        match self {
            Self::Shell => Duration::from_secs(10),
            _ => Duration::ZERO,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::BuiltIn => "built-in",
            Self::Async => "async",
            Self::Blocking => "blocking",
            Self::Skill => "skill",
            Self::Shell => "shell",
            Self::Wasm => "wasm",
            Self::Oci => "oci",
            Self::Python => "python",
            Self::PythonAsync => "python-async",
            Self::PythonProcess => "python-process",
        })
    }
}

/// The iterations a chain runs in, by their mode, which handlers are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainMode {
    /// All of them; the default.
    #[default]
    Both,
    /// Those of one mode.
    Only(Mode),
}

impl ChainMode {
    /// Every case.
    pub const ALL: [Self; 3] = [Self::Both, Self::Only(Mode::Implementation), Self::Only(Mode::Discovery)];

    /// Returns the word that samuel.toml uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Only(mode) => mode.as_str(),
        }
    }
}

impl Serialize for ChainMode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A registered handler, as [`resolve`](super::resolve) sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerInfo {
    /// The id, such as `default`, `samuel-lint:check` or `api:lint`.
    pub id: Arc<str>,
    /// Where it comes from.
    pub layer: HookLayer,
    /// The place of its source among the sources of its layer, such as the
    /// plugin's in samuel.toml.
    pub source: u32,
    /// Its place among the handlers of its source.
    pub declaration: u32,
    /// The order it asked for, if it did.
    pub order: Option<i32>,
    /// Whether whoever describes it wants it to run.
    pub enabled: bool,
}

impl HandlerInfo {
    /// Returns the place in the canonical sequence, which breaks ties.
    pub(super) fn sequence(&self) -> (HookLayer, u32, u32) {
        (self.layer, self.source, self.declaration)
    }

    /// Says whether a name in the configuration means this handler.
    pub(super) fn answers_to(&self, name: &str) -> bool {
        *self.id == *name || (*self.id == *DEFAULT_ID && name == DEFAULT_ALIAS)
    }
}

/// What the configuration says of a point's chain, all layers merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainSpec {
    /// The whole chain in this order, where given.
    pub handlers: Option<Vec<String>>,
    /// The order of single handlers.
    pub order: BTreeMap<String, i32>,
    /// What a broken handler does; the point's default where absent.
    pub on_failure: Option<OnFailure>,
    /// Whether verdicts count: `false` makes `quality.check` advisory.
    pub strict: Option<bool>,
    /// How long a handler may take; [`ChainSpec::TIMEOUT`] where absent. The
    /// defaults of `agent.invoke` and `quality.check` are exempt.
    pub timeout: Option<Duration>,
    /// Whether the point fires at all.
    pub enabled: Option<bool>,
    /// The iterations the chain runs in; those of both modes where absent.
    pub mode: Option<ChainMode>,
}

impl ChainSpec {
    /// How long a handler may take where nothing is configured.
    pub const TIMEOUT: Duration = Duration::from_secs(300);
    /// The shortest time that can be configured.
    pub const MIN_TIMEOUT: Duration = Duration::from_secs(1);
    /// The longest time that can be configured.
    pub const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

    /// Says why the chain does not run in an iteration of a mode; nothing where
    /// it does.
    pub fn skips(&self, mode: Mode) -> Option<SkipReason> {
        match self.mode {
            Some(ChainMode::Only(only)) if only != mode => Some(SkipReason::OtherMode(only)),
            _ => None,
        }
    }

    /// Returns how long a handler of a point may take; nothing for the two
    /// built-in ones that keep time by themselves, whatever is configured:
    /// agents have clocks, and each check has its own timeout (docs/hooks.md).
    pub fn limit(&self, point: HookPoint, tier: Tier) -> Option<Duration> {
        match (point, tier) {
            (HookPoint::AgentInvoke | HookPoint::QualityCheck, Tier::BuiltIn) => None,
            _ => Some(self.timeout.unwrap_or(Self::TIMEOUT)),
        }
    }

    /// Returns what a broken handler does at a point.
    pub fn failure_action(&self, point: HookPoint) -> OnFailure {
        match (self.on_failure, self.strict) {
            (Some(action), _) => action,
            (None, Some(true)) => point.strict(),
            (None, Some(false)) => OnFailure::Warn,
            (None, None) => point.default_on_failure(),
        }
    }
}
