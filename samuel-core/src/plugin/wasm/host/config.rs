//! `config`: what the user set for the plugin.

use serde_json::Value;
use wasmtime::component::LinkerInstance;

use super::{Guest, at_once};

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    at_once(interface, "get", |guest, (key,): (String,)| {
        lookup(&guest.loaded.setup.config, &key).map(Value::to_string)
    })
}

/// Finds a value by its dotted key; the empty key stands for everything.
fn lookup<'a>(config: &'a Value, key: &str) -> Option<&'a Value> {
    if key.is_empty() {
        return Some(config).filter(|config| !config.is_null());
    }
    key.split('.').try_fold(config, |value, part| value.get(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_dotted_keys() {
        let config = serde_json::json!({"lint": {"level": 3, "off": null}});
        let found = |key| lookup(&config, key).map(Value::to_string);
        assert_eq!(found("lint.level").as_deref(), Some("3"));
        assert_eq!(found("lint.off").as_deref(), Some("null"));
        assert_eq!(found("").as_deref(), Some(r#"{"lint":{"level":3,"off":null}}"#));
        assert_eq!(found("lint.level.deeper"), None);
        assert_eq!(found("lint."), None);
        assert_eq!(lookup(&Value::Null, ""), None);
    }
}
