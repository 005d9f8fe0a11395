//! Checking names of plugins wherever they enter.

use super::PluginError;
use crate::config::{RESERVED_PLUGIN_NAMES, broken_plugin_name_rule, shorten};

/// Checks the name of a plugin: 2 to 64 of `a-z`, `0-9` and `-`, a letter first
/// and no `-` last, and none of [`RESERVED_PLUGIN_NAMES`].
///
/// # Errors
/// Returns [`PluginError::BadName`] with the rule that it breaks.
pub fn check_plugin_name(name: &str) -> Result<(), PluginError> {
    match broken_plugin_name_rule(name) {
        None => Ok(()),
        Some(rule) => Err(PluginError::BadName { name: shorten(name), rule }),
    }
}

/// Says whether a namespace of the prompt context is that of a reserved name.
pub(super) fn is_reserved_namespace(namespace: &str) -> bool {
    RESERVED_PLUGIN_NAMES.iter().any(|name| name.replace('-', "_") == namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_nobody_elses() {
        for name in ["lint", "a1", "a--b", "a-1", "samuel-lint", "repository"] {
            assert!(check_plugin_name(name).is_ok(), "{name}");
        }
        for name in [
            "",
            "a",
            "1a",
            "a-",
            "-x",
            "--help",
            "A1",
            "a b",
            "../up",
            "a/b",
            "a\u{301}",
            "api",
            "samuel-default",
        ] {
            assert!(check_plugin_name(name).is_err(), "{name}");
        }
        assert!(check_plugin_name(&"a".repeat(65)).is_err());
    }
}
