//! Session hooks: commands at six moments of a session.
//!
//! `.samuel/hooks.yml` lists for each [`HookType`] the commands that run then. A [`SessionHook`]
//! becomes a handler of the type's hook point, which always answers: what goes wrong with a command
//! is a warning, and text for the agent where its output is piped, and never ends an iteration or
//! the run. [`Variable`]s reach commands as data, whatever their text holds.

mod file;
mod handler;
mod hook;
mod hook_type;
mod shell;
mod template;
mod variable;

pub(super) use file::{SessionFile, read};
pub(super) use handler::register;
pub use hook::SessionHook;
pub use hook_type::HookType;
pub use variable::Variable;
