//! samuel.toml: its schema, its layers and the origin of each key.
//!
//! A [`Config`] is a file that was validated as a whole, or the defaults. It
//! returns merged layers: [`Config::methodology`] returns the settings of a
//! methodology, [`Config::chain`] the configuration of a hook point, and
//! [`Config::origin`] the place where a key is set. A file with problems is rejected
//! with all of them, each with its location ([`ConfigError::problems`]).
//!
//! [`resolve`](samuel_hook::resolve()) decides which handlers run. The caller of
//! [`resolve_methodology`] decides which methodologies exist.
//!
//! [`trust`] decides whether the programs of a repository may run.
//!
//! ```
//! use samuel_config::Config;
//! use std::path::Path;
//!
//! let text = "version = \"2\"\n[methodology.ralph]\nmax_iterations = 5\n";
//! let config = Config::parse(Path::new("samuel.toml"), text)?;
//! assert_eq!(config.methodology("ralph").max_iterations.map(|max| max.get()), Some(5));
//!
//! let text = "version = \"2\"\n[methodology.ralph]\nmax_iteration = 5\n";
//! let error = Config::parse(Path::new("samuel.toml"), text).unwrap_err();
//! assert_eq!(error.problems()[0].location.line, Some(3));
//! # Ok::<(), samuel_config::ConfigError>(())
//! ```

mod chain;
mod document;
mod duration;
mod error;
mod file;
mod gateway;
mod json_schema;
mod layer;
mod names;
mod pin;
mod plugin_name;
mod problem;
mod route;
mod schema;
mod setting;
mod settings;
mod source;
mod table;
mod template;
#[cfg(test)]
mod tests;
pub mod trust;
mod value;
mod vars;

pub use chain::overlay;
pub use document::{Document, Origins};
pub use duration::{DurationError, format_duration, parse_duration};
pub use error::{ConfigError, Problems};
pub use file::{CONFIG_FILE, Config, PluginEntry};
pub use file::{load_text, text_of};
pub use gateway::GatewaySettings;
pub use json_schema::config_schema;
pub use json_schema::{by_point, definitions, described, methodology, methodology_name, plugin_name, table};
pub use layer::MethodologyLayer;
pub(crate) use names::is_plain_name;
pub use names::{
    DEFAULT_METHODOLOGY, InvalidMethodologyName, KnownMethodology, RUN_COMMANDS, UnknownMethodology,
    check_methodology_name, resolve_methodology,
};
pub use pin::leave_image;
pub use plugin_name::broken_plugin_name_rule;
pub use plugin_name::{PLUGIN_NAME_RULE, RESERVED_PLUGIN_NAMES};
pub use problem::shorten;
pub use problem::{Problem, ProblemKind};
pub use route::AgentRoute;
pub use schema::CONFIG_VERSION;
pub use settings::MAX_JOBS;
pub use settings::{
    AGENTS, CheckCommand, ClockSettings, ContextSettings, MethodologySettings, ParallelSettings,
    PilotSettings, RateLimitPolicy, SandboxSettings, SessionBudget, TaskBudget,
};
pub use source::Origin;
pub use table::Table;
pub use value::Value;
