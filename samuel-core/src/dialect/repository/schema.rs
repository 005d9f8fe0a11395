//! JSON Schemas of repository hooks.

use serde_json::{Map, Value};

use super::EventType;

/// The schemas by name, written by `cargo xtask contract` from the contract.
const SCHEMAS: &str = include_str!("schemas.json");

/// What a JSON Schema of repository hooks is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSchema {
    /// A file of `.system/hooks`, written as YAML.
    Hook,
    /// What a hook is given on its standard input.
    Context(EventType),
    /// What a hook prints.
    HookResult,
}

impl HookSchema {
    /// Lists all of them.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Hook, Self::HookResult].into_iter().chain(EventType::ALL.map(Self::Context))
    }

    /// Returns its name: `hook`, `result`, or the event that a context is of.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Context(event_type) => event_type.as_str(),
            Self::HookResult => "result",
        }
    }

    /// Returns the schema of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|one| one.as_str() == name)
    }

    /// Returns the JSON Schema.
    pub fn document(self) -> Value {
        let mut schemas: Map<String, Value> = serde_json::from_str(SCHEMAS).unwrap_or_default();
        schemas.remove(self.as_str()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use std::collections::BTreeSet;

    use super::*;
    use crate::dialect::repository::file::KEYS;

    #[test]
    fn there_is_a_schema_of_each_and_it_is_found_by_its_name() {
        for schema in HookSchema::all() {
            assert!(schema.document()["properties"].is_object(), "{schema:?}");
            assert_eq!(HookSchema::named(schema.as_str()), Some(schema));
        }
        let files = HookSchema::Hook.document();
        let keys: BTreeSet<&str> =
            files["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
        assert_eq!(keys, KEYS.into(), "what is read is what the schema has");
    }
}
