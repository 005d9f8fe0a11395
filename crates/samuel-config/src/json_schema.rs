//! The JSON Schema of samuel.toml, for editors and for what is generated.
//!
//! What is a setting describes itself; this is the rest. The schema of manifests has
//! parts of it, since a plugin's methodology has the same keys.

use samuel_hook::{ChainMode, HookPoint, OnFailure};
use serde_json::{Map, Value, json};

use super::{
    CONFIG_VERSION, Config, MethodologySettings, RESERVED_PLUGIN_NAMES, SandboxSettings,
    settings::guardrails_schema,
};

/// Returns the JSON Schema of samuel.toml (draft 2020-12).
pub fn config_schema() -> Value {
    let config = Config::default();
    let text = json!({ "type": "string" });
    let name = described(
        with(text.clone(), "default", ""),
        "The project's name; empty stands for that of its directory.",
    );
    let default = described(
        with(methodology_name(), "default", config.default_methodology),
        "The methodology of a bare run; an alias works too.",
    );
    let plugin = table(
        json!({
            "name": plugin_name(),
            "source": { "description": "Where it is installed from.", "type": "string", "minLength": 1 },
            "config": { "description": "A table of any content, for the plugin to read.", "type": "object" },
        }),
        &["name"],
    );
    let methodology = table(methodology(), &[]);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "samuel.toml",
        "description": "How Samuel works on a project.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "version": { "description": "The version of this schema.", "const": CONFIG_VERSION },
            "default_methodology": default,
            "project": table(json!({ "name": name }), &[]),
            "methodology": { "type": "object", "additionalProperties": methodology },
            "guardrails": described(table(guardrails_schema(), &[]), "Rules that prompts ask the agent to keep to."),
            "sandbox": described(table(SandboxSettings::schema(), &[]), "Where agents and checks work."),
            "plugins": { "description": "Plugins; their order breaks ties between handlers.", "type": "array", "items": plugin },
            "hooks": by_point(&json!({ "$ref": "#/$defs/chain" }), HookPoint::as_str),
        },
        "$defs": definitions(),
    })
}

/// Returns what a methodology's table has: its settings and its chains.
pub fn methodology() -> Map<String, Value> {
    let mut keys = MethodologySettings::schema();
    keys.insert("hooks".to_owned(), by_point(&json!({ "$ref": "#/$defs/chain" }), HookPoint::as_str));
    keys
}

/// Returns what schemas refer to.
pub fn definitions() -> Map<String, Value> {
    let actions = [OnFailure::Warn, OnFailure::AbortIteration, OnFailure::AbortLoop, OnFailure::AbortCommand];
    let chain = json!({
        "enabled": { "description": "Whether the point's handlers run at all.", "type": "boolean" },
        "mode": { "description": "The iterations they run in.", "enum": ChainMode::ALL.map(ChainMode::as_str) },
        "strict": { "description": "Short for the abort that fits the point, or for warn.", "type": "boolean" },
        "on_failure": { "description": "What a handler that breaks does.", "enum": actions },
        "timeout": { "description": "Each handler's.", "$ref": "#/$defs/duration" },
        "handlers": { "description": "The whole chain, in this order.", "type": "array", "items": { "type": "string" }, "uniqueItems": true },
        "order": { "description": "The order of single handlers.", "type": "object", "additionalProperties": { "type": "integer" } },
    });
    let duration = json!({
        "description": "Text such as \"30s\", \"5m\" or \"1h30m\", or whole seconds.",
        "type": ["string", "integer"],
    });
    [("chain", table(chain, &[])), ("duration", duration)]
        .map(|(name, schema)| (name.to_owned(), schema))
        .into_iter()
        .collect()
}

/// Makes the schema of a table that has these keys and no others.
pub fn table(properties: impl Into<Value>, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": properties.into() });
    if required.is_empty() { schema } else { with(schema, "required", required) }
}

/// Makes the schema of a table with a key for each hook point.
pub fn by_point<S: Into<String>>(value: &Value, spelled: impl Fn(HookPoint) -> S) -> Value {
    let properties: Map<String, Value> =
        HookPoint::ALL.iter().map(|point| (spelled(*point).into(), value.clone())).collect();
    table(properties, &[])
}

/// Makes the schema of the name of a methodology.
pub fn methodology_name() -> Value {
    json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$" })
}

/// Makes the schema of the name of a plugin.
pub fn plugin_name() -> Value {
    json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}[a-z0-9]$", "not": { "enum": RESERVED_PLUGIN_NAMES } })
}

/// Adds a description to a schema.
pub fn described(schema: Value, text: &str) -> Value {
    with(schema, "description", text)
}

/// Adds a keyword to a schema.
pub(crate) fn with(mut schema: Value, keyword: &str, value: impl Into<Value>) -> Value {
    if let Value::Object(keywords) = &mut schema {
        keywords.insert(keyword.to_owned(), value.into());
    }
    schema
}
