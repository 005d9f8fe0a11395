//! What children get of the caller's environment: the one place where that is decided.
//!
//! Each environment starts empty, and what comes through is named here:
//!
//! | child | gets | said by |
//! |---|---|---|
//! | an agent | what programs need, what its adapter declares and the user allows; no secrets of others, no foreign code | [`compose_env`], [`apply_deny_list`] |
//! | a quality check | what programs need, without keys, passwords and relative directories | `check_env` |
//! | a plugin's script or command | less of that, and what was granted by name | `plugin_env` |
//! | git | what reaches remotes | `git_env` |
//!
//! What a plugin may read or change of an agent's variables is `covers_variable` and
//! `is_reserved`. For a child that works in a workspace, `moved` leads places of the project there. What Samuel sets
//! itself is for those who start the child.
//!
//! ```
//! use samuel_model::environment::compose_env;
//!
//! let host = [("PATH", "/usr/bin"), ("AWS_SECRET_ACCESS_KEY", "x"), ("EXAMPLE_KEY", "y")];
//! let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
//! let env = compose_env(host, &["EXAMPLE_KEY"], &[], &[]);
//! let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
//! assert_eq!(names, ["EXAMPLE_KEY", "PATH"]);
//! ```

mod agent;
mod checks;
mod forms;
mod general;
mod moved;
mod reserved;
mod secrets;
mod stream;

pub use self::{
    agent::fits,
    checks::check_env,
    general::{git_env, plugin_env},
    moved::moved,
    reserved::{covers_variable, is_reserved, is_secret},
    secrets::Secrets,
    stream::SecretStream,
};
pub use self::{
    agent::{apply_deny_list, compose_env},
    checks::kept_from_checks,
};
