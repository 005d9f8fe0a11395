//! What the user set for the plugin: its own table in `samuel.toml`.
//!
//! ```toml
//! [[plugins]]
//! name = "samuel-python"
//! [plugins.config]
//! requirements = "requirements-dev.txt"
//! ```
//!
//! No capability is needed.

use serde_core::de::DeserializeOwned;

use crate::host::bindings::samuel::plugin::config;

/// Returns a value by its dotted key; nothing where the user set none.
///
/// # Errors
/// Returns what is wrong with a value that is not of the type asked for.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>, serde_json::Error> {
    config::get(key).map(|value| serde_json::from_str(&value)).transpose()
}

/// Returns the whole table, or the default of `T` where there is none.
///
/// # Errors
/// Returns what is wrong with a table that is not a `T`.
pub fn table<T: DeserializeOwned + Default>() -> Result<T, serde_json::Error> {
    Ok(get("")?.unwrap_or_default())
}
