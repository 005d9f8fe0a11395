//! Values that outlive a call, kept for each plugin and project.
//!
//! A value is stored at once, whether or not the handler succeeds. Keys have 1 to
//! 256 bytes, a value at most 256 KiB, all of a plugin's at most 4 MiB and 1,024
//! keys. No capability is needed.

use serde_core::{Serialize, de::DeserializeOwned};

use crate::{failure::HostError, host::bindings::samuel::plugin::kv};

/// Returns the bytes of a value; nothing where there is none.
///
/// # Errors
/// Returns [`HostError::Invalid`] for an unusable key, and other errors where the
/// value cannot be read.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, HostError> {
    Ok(kv::get(key)?)
}

/// Stores bytes.
///
/// # Errors
/// Returns [`HostError::TooLarge`] beyond the limits of the [module](self),
/// [`HostError::Invalid`] for an unusable key, and other errors where the value
/// cannot be written.
pub fn set(key: &str, value: &[u8]) -> Result<(), HostError> {
    Ok(kv::set(key, value)?)
}

/// Returns a value that was stored as JSON.
///
/// # Errors
/// As [`get`], and [`HostError::Invalid`] for a value that is not a `T`.
pub fn get_json<T: DeserializeOwned>(key: &str) -> Result<Option<T>, HostError> {
    let Some(value) = get(key)? else { return Ok(None) };
    serde_json::from_slice(&value).map(Some).map_err(|error| HostError::Invalid(format!("{key}: {error}")))
}

/// Stores a value as JSON.
///
/// # Errors
/// As [`set`], and [`HostError::Invalid`] for what cannot become JSON.
pub fn set_json(key: &str, value: &impl Serialize) -> Result<(), HostError> {
    let value = serde_json::to_vec(value).map_err(|error| HostError::Invalid(format!("{key}: {error}")))?;
    set(key, &value)
}

/// Removes a value; says whether there was one.
///
/// # Errors
/// Returns [`HostError::Invalid`] for an unusable key, and other errors where the
/// value cannot be removed.
pub fn delete(key: &str) -> Result<bool, HostError> {
    Ok(kv::delete(key)?)
}

/// Lists the keys with a prefix, in order.
///
/// # Errors
/// Returns why the keys cannot be read.
pub fn keys(prefix: &str) -> Result<Vec<String>, HostError> {
    Ok(kv::keys(prefix)?)
}
