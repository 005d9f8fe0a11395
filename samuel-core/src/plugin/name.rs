//! Names of plugins.
//!
//! A name is a directory, the first half of a handler's id, a key of the prompt
//! context and an argument on the command line. So it never looks like an
//! option, and is never one that Samuel uses itself.

use super::PluginError;
use crate::{
    config::{is_plain_name, shorten},
    hook::API_NAMESPACE,
};

/// What names of plugins look like.
pub const PLUGIN_NAME_RULE: &str = "use 2 to 64 of a-z, 0-9 and -, and no - first";

/// Names that no plugin may have: what handlers of others are called by.
pub const RESERVED_PLUGIN_NAMES: [&str; 6] =
    [API_NAMESPACE, "default", "repo", "samuel", "samuel-default", "session"];

/// Checks the name of a plugin: 2 to 64 of `a-z`, `0-9` and `-`, not a `-`
/// first, and none of [`RESERVED_PLUGIN_NAMES`].
///
/// # Errors
/// Returns [`PluginError::BadName`] with the rule that it breaks.
pub fn check_plugin_name(name: &str) -> Result<(), PluginError> {
    match broken_rule(name) {
        None => Ok(()),
        Some(rule) => Err(PluginError::BadName { name: shorten(name), rule }),
    }
}

/// Returns the rule that a name breaks.
pub(crate) fn broken_rule(name: &str) -> Option<&'static str> {
    if !is_plain_name(name, 2) {
        Some(PLUGIN_NAME_RULE)
    } else if RESERVED_PLUGIN_NAMES.contains(&name) {
        Some("it is Samuel's own")
    } else {
        None
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
        for name in ["lint", "a1", "1a", "a-", "samuel-lint", "repository"] {
            assert!(check_plugin_name(name).is_ok(), "{name}");
        }
        for name in
            ["", "a", "-x", "--help", "A1", "a b", "../up", "a/b", "a\u{301}", "api", "samuel-default"]
        {
            assert!(check_plugin_name(name).is_err(), "{name}");
        }
        assert!(check_plugin_name(&"a".repeat(65)).is_err());
    }
}
