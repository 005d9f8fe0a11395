//! Repository hooks: one YAML file each, below `.system/hooks/`, at six events of a session.
//!
//! A [`RepositoryHook`] becomes a handler of its [`EventType`]'s hook point. A script is given a
//! context as JSON and answers with a result as JSON; two handlers are [built in](Builtin). Which
//! calls it is for is decided before anything is started. Only a blocking hook stops what it is
//! asked about, and it does so too where it breaks.

mod builtin;
mod conditions;
mod context;
mod entry;
mod event_type;
mod file;
mod files;
mod handler;
mod hook;
mod matching;
mod patterns;
mod result;
mod sample_event;
mod scaffold;
mod schema;
mod script_place;
mod toggle;

pub use builtin::Builtin;
pub use event_type::EventType;
pub use files::DIRECTORY;
pub(super) use files::{file_of, read};
pub(super) use handler::register;
pub use hook::RepositoryHook;
pub use scaffold::{NewHook, ScaffoldError, ScaffoldedHook, ScriptLanguage};
pub use schema::HookSchema;
pub use toggle::Toggle;
