//! The environment of child processes: agents, checks, plugins and git.

pub(crate) use samuel_model::environment::{
    Secrets, check_env, covers_variable, fits, is_reserved, is_secret, plugin_env,
};
pub use samuel_model::environment::{apply_deny_list, compose_env, kept_from_checks};
