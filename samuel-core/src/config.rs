//! The schema of samuel.toml, its layers and where each key is set: the crate `samuel-config`.
//!
//! A [`Config`] is a file that was checked as a whole, or the defaults. It
//! answers with merged layers: [`Config::methodology`] gives the settings of a
//! methodology, [`Config::chain`] what is configured of a hook point, and
//! [`Config::origin`] where a key is set. A file with problems is refused with
//! all of them, each at its place ([`ConfigError::problems`]).
//!
//! Which handlers run is decided by [`hook::resolve`](crate::hook::resolve),
//! which methodologies exist by who calls [`resolve_methodology`].
//!
//! ```
//! use samuel_core::config::Config;
//! use std::path::Path;
//!
//! let text = "version = \"2\"\n[methodology.ralph]\nmax_iterations = 5\n";
//! let config = Config::parse(Path::new("samuel.toml"), text)?;
//! assert_eq!(config.methodology("ralph").max_iterations.map(|max| max.get()), Some(5));
//!
//! let text = "version = \"2\"\n[methodology.ralph]\nmax_iteration = 5\n";
//! let error = Config::parse(Path::new("samuel.toml"), text).unwrap_err();
//! assert_eq!(error.problems()[0].location.line, Some(3));
//! # Ok::<(), samuel_core::config::ConfigError>(())
//! ```

pub use samuel_config::{
    AGENTS, AgentRoute, CONFIG_FILE, CONFIG_VERSION, CheckCommand, ClockSettings, Config, ConfigError,
    ContextSettings, DEFAULT_METHODOLOGY, DurationError, GatewaySettings, InvalidMethodologyName,
    KnownMethodology, MethodologySettings, Origin, PLUGIN_NAME_RULE, ParallelSettings, PilotSettings,
    PluginEntry, Problem, ProblemKind, Problems, RESERVED_PLUGIN_NAMES, RUN_COMMANDS, RateLimitPolicy,
    SandboxSettings, SessionBudget, TaskBudget, UnknownMethodology, check_methodology_name, config_schema,
    format_duration, leave_image, overlay, parse_duration, resolve_methodology,
};
pub(crate) use samuel_config::{
    Document, MAX_JOBS, MethodologyLayer, Origins, Table, Value, broken_plugin_name_rule, by_point,
    definitions, described, load_text, methodology, methodology_name, plugin_name, shorten, table, text_of,
};
