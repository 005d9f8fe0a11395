//! Environment variables. Needs `env` for each name.

use crate::{failure::HostError, host::bindings::samuel::plugin::env};

/// Returns a variable; nothing where it is not set or no text.
///
/// # Errors
/// Returns [`HostError::Denied`] where the name was not granted.
pub fn get(name: &str) -> Result<Option<String>, HostError> {
    Ok(env::get(name)?)
}
