//! Names of plugins.
//!
//! A name is a directory, the first half of a handler's id, a key of the prompt
//! context, where it begins a word, the name of a crate and an argument on the command line. So it
//! never looks like an option or a number, and is never one that Samuel uses itself.

use samuel_hook::API_NAMESPACE;

use super::is_plain_name;

/// What names of plugins look like.
pub const PLUGIN_NAME_RULE: &str = "use 2 to 64 of a-z, 0-9 and -, a letter first and no - last";

/// Names that no plugin may have: what handlers of others are called by.
pub const RESERVED_PLUGIN_NAMES: [&str; 6] =
    [API_NAMESPACE, "default", "repo", "samuel", "samuel-default", "session"];

/// Returns the rule that the name of a plugin breaks: 2 to 64 of `a-z`, `0-9` and
/// `-`, a letter first and no `-` last, and none of [`RESERVED_PLUGIN_NAMES`].
pub fn broken_plugin_name_rule(name: &str) -> Option<&'static str> {
    let is_word = name.starts_with(|first: char| first.is_ascii_lowercase()) && !name.ends_with('-');
    if !is_word || !is_plain_name(name, 2) {
        Some(PLUGIN_NAME_RULE)
    } else if RESERVED_PLUGIN_NAMES.contains(&name) {
        Some("it is Samuel's own")
    } else {
        None
    }
}
