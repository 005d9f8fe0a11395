//! What the user set for a plugin, by key.

use serde_json::Value;

/// Finds a value by its dotted key; the empty key stands for everything.
pub(super) fn config_value<'a>(config: &'a Value, key: &str) -> Option<&'a Value> {
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
        let found = |key| config_value(&config, key).map(Value::to_string);
        assert_eq!(found("lint.level").as_deref(), Some("3"));
        assert_eq!(found("lint.off").as_deref(), Some("null"));
        assert_eq!(found("").as_deref(), Some(r#"{"lint":{"level":3,"off":null}}"#));
        assert_eq!(found("lint.level.deeper"), None);
        assert_eq!(found("lint."), None);
        assert_eq!(config_value(&Value::Null, ""), None);
    }
}
