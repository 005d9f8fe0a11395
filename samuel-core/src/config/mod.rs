//! samuel.toml: its schema, its layers and where each key is set.
//!
//! A [`Config`] is a file that was checked as a whole, or the defaults. It
//! answers with merged layers: [`Config::methodology`] gives the settings of a
//! methodology, [`Config::chain`] what is configured of a hook point, and
//! [`Config::origin`] where a key is set. A file with problems is refused with
//! all of them, each at its place ([`ConfigError::problems`]).
//!
//! Which handlers run is decided by [`hook::resolve`](crate::hook::resolve),
//! which methodologies exist by who calls [`resolve_methodology`].

mod chain;
mod config;
mod duration;
mod error;
mod layer;
mod names;
mod problem;
mod sandbox;
mod settings;
mod source;
mod table;
mod template;

pub use chain::overlay;
pub use config::{CONFIG_FILE, CONFIG_VERSION, Config, PluginEntry};
pub use duration::{DurationError, format_duration, parse_duration};
pub use error::{ConfigError, Problems};
pub use names::{
    DEFAULT_METHODOLOGY, DEFAULT_METHODOLOGY_ALIAS, InvalidMethodologyName, KnownMethodology,
    RUN_SUBCOMMANDS, UnknownMethodology, check_methodology_name, resolve_methodology,
};
use problem::shorten;
pub use problem::{Problem, ProblemKind};
pub use sandbox::{Sandbox, SandboxError};
pub use settings::{
    AGENTS, AgentClocks, CheckCommand, ContextSettings, MethodologySettings, PilotSettings, SessionBudget,
};
pub use source::Origin;
