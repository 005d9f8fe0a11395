//! The environment of child processes: agents, checks, plugins and git.
//!
//! ```
//! use samuel_core::environment::compose_env;
//!
//! let host = [("PATH", "/usr/bin"), ("AWS_SECRET_ACCESS_KEY", "x"), ("EXAMPLE_KEY", "y")];
//! let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
//! let env = compose_env(host, &["EXAMPLE_KEY"], &[], &[]);
//! let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
//! assert_eq!(names, ["EXAMPLE_KEY", "PATH"]);
//! ```

pub use samuel_model::environment::{Secrets, apply_deny_list, compose_env, kept_from_checks};
pub(crate) use samuel_model::environment::{
    check_env, covers_variable, fits, is_reserved, is_secret, moved, plugin_env,
};
