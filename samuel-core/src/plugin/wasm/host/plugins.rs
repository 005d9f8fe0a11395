//! `plugins`: the Plugins group of the prompt context.
//!
//! What a component contributes waits in its [`Contributions`] until it has
//! answered, and goes to its own namespace, whose name it never says.

use serde_json::Value;
use wasmtime::component::LinkerInstance;

use super::{Guest, HostError, at_once};
use crate::plugin::wasm::guest::Contributions;

/// The longest value, in bytes of text.
const MAX_VALUE_BYTES: usize = 256 * 1024;
/// All values of a call, in bytes of text.
const MAX_TOTAL_BYTES: usize = 1024 * 1024;
/// The keys of a call.
const MAX_KEYS: usize = 256;
/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 256;

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "contribute", |guest, (key, value): (String, String)| {
        contribute(&mut guest.contributions, key, &value)
    })?;
    at_once(interface, "read", |guest, (namespace,): (String,)| {
        let data = guest.context.plugins().get(&namespace)?;
        Some(Value::Object(data.clone()).to_string())
    })?;
    at_once(interface, "namespaces", |guest, (): ()| {
        let filled = guest.context.plugins().iter().filter(|(_, data)| !data.is_empty());
        filled.map(|(namespace, _)| namespace.clone()).collect::<Vec<String>>()
    })
}

fn contribute(contributions: &mut Contributions, key: String, value: &str) -> Result<(), HostError> {
    if key.is_empty() {
        return Err(HostError::invalid("the key is empty"));
    }
    HostError::at_most("key", key.len(), MAX_KEY_BYTES)?;
    HostError::at_most("value", value.len(), MAX_VALUE_BYTES)?;
    HostError::at_most("values", contributions.bytes.saturating_add(value.len()), MAX_TOTAL_BYTES)?;
    if !contributions.values.contains_key(&key) {
        HostError::at_most("keys (a number)", contributions.values.len() + 1, MAX_KEYS)?;
    }
    let parsed = serde_json::from_str::<Value>(value)
        .map_err(|error| HostError::invalid(format!("the value is not JSON: {error}")))?;
    contributions.bytes += value.len();
    contributions.values.insert(key, parsed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contribution_is_json_and_within_its_limits() {
        let mut contributions = Contributions::default();
        let mut add = |key: &str, value: &str| contribute(&mut contributions, key.to_owned(), value);
        assert_eq!(add("Venv", r#"".venv""#), Ok(()));
        assert_eq!(add("", "1"), Err(HostError::invalid("the key is empty")));
        assert!(matches!(add("a", "{"), Err(HostError::Invalid(_))));
        let long = format!("\"{}\"", "x".repeat(MAX_VALUE_BYTES));
        assert!(matches!(add("a", &long), Err(HostError::TooLarge(_))));
        // A value that is replaced counts as well: it was taken over.
        let quarter = format!("\"{}\"", "x".repeat(MAX_VALUE_BYTES - 2));
        assert_eq!(add("a", &quarter), Ok(()));
        assert_eq!(add("a", &quarter), Ok(()));
        assert_eq!(add("a", &quarter), Ok(()));
        assert!(matches!(add("a", &quarter), Err(HostError::TooLarge(_))));
        for number in contributions.values.len()..MAX_KEYS {
            assert_eq!(contribute(&mut contributions, format!("k{number}"), "1"), Ok(()));
        }
        assert!(matches!(contribute(&mut contributions, "more".into(), "1"), Err(HostError::TooLarge(_))));
        assert_eq!(contribute(&mut contributions, "Venv".into(), "1"), Ok(()));
    }
}
