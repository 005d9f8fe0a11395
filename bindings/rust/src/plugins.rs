//! The Plugins group of the prompt context: what plugins tell each other, and
//! templates.
//!
//! A plugin reads what all contributed and writes only under its own namespace,
//! which the host knows. No capability is needed.

use serde_core::{Serialize, de::DeserializeOwned};

use crate::{
    failure::HostError,
    host::bindings::samuel::plugin::plugins::{self, namespaces as list},
};

/// Contributes a value. It counts once the handler has succeeded; later handlers
/// and templates then see it as `.Plugins.<namespace>.<key>`. A later value of a
/// key replaces an earlier one.
///
/// # Errors
/// Returns [`HostError::Invalid`] for what cannot become JSON, and
/// [`HostError::TooLarge`] for a value beyond 256 KiB, or a call that contributes
/// more than 1 MiB or 256 keys.
pub fn contribute(key: &str, value: impl Serialize) -> Result<(), HostError> {
    let value = serde_json::to_string(&value).map_err(|error| HostError::Invalid(error.to_string()))?;
    Ok(plugins::contribute(key, &value)?)
}

/// Returns what a namespace holds so far, as a whole; nothing where nobody
/// contributed under it.
///
/// # Errors
/// Returns what is wrong with data that is not a `T`.
pub fn read<T: DeserializeOwned>(namespace: &str) -> Result<Option<T>, serde_json::Error> {
    plugins::read(namespace).map(|data| serde_json::from_str(&data)).transpose()
}

/// Lists the namespaces that hold something.
pub fn namespaces() -> Vec<String> {
    list()
}
