//! The JSON Schema of `samuel-plugin.toml`, for editors.
//!
//! Names come from the types that read them. A test asks the reader which keys
//! each table has and compares.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Capability, Kind};
use crate::{
    config::{AGENTS, RESERVED_PLUGIN_NAMES, RateLimitPolicy, Sandbox},
    hook::{ChainMode, HookPoint},
};

/// Returns the JSON Schema of a manifest (draft 2020-12).
pub fn manifest_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "samuel-plugin.toml",
        "description": "What a plugin of Samuel is, asks for and provides.",
        "type": "object",
        "additionalProperties": false,
        "required": ["plugin"],
        "properties": {
            "plugin": plugin(),
            "capabilities": capabilities(),
            "provides": table(json!({ "hooks": { "type": "array", "uniqueItems": true, "items": { "$ref": "#/$defs/point" } } }), &[]),
            "hooks": described(by_point(&json!({ "$ref": "#/$defs/binding" }), HookPoint::as_str), "Point = handler."),
            "hook": described(
                by_point(&binding_table(), |point| point.as_str().replace(['.', ':'], "_")),
                "The same with _ for . and : in the names of points.",
            ),
            "wasm": tier("module", "The component, relative to the plugin."),
            "oci": tier("image", "The image."),
            "methodology": { "type": "array", "items": profile() },
        },
        "$defs": {
            "point": { "enum": HookPoint::ALL },
            "duration": {
                "description": "Text such as \"30s\", \"5m\" or \"1h30m\", or whole seconds.",
                "type": ["string", "integer"],
            },
            "binding": { "oneOf": [{ "type": "string", "minLength": 1 }, binding_table()] },
            "targets": { "type": "array", "items": { "type": "string", "minLength": 1 } },
            "capability": {
                "oneOf": [
                    { "$ref": "#/$defs/targets" },
                    table(json!({
                        "targets": { "$ref": "#/$defs/targets" },
                        "reason": { "description": "Why the plugin wants it; shown to the user.", "type": "string" },
                    }), &["targets"]),
                ],
            },
            "chain": chain(),
        },
    })
}

/// Makes the schema of a table that has these keys and no others.
fn table(properties: Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if required.is_empty() { schema } else { with(schema, "required", json!(required)) }
}

fn described(schema: Value, text: &str) -> Value {
    with(schema, "description", json!(text))
}

/// Adds a keyword to a schema.
fn with(mut schema: Value, keyword: &str, value: Value) -> Value {
    if let Value::Object(keywords) = &mut schema {
        keywords.insert(keyword.to_owned(), value);
    }
    schema
}

fn plugin() -> Value {
    table(
        json!({
            "name": {
                "type": "string",
                "pattern": "^[a-z0-9][a-z0-9-]{1,63}$",
                "not": { "enum": RESERVED_PLUGIN_NAMES },
            },
            "kind": { "enum": Kind::ALL },
            "version": { "description": "The plugin's version, such as 1.2.0.", "type": "string" },
            "samuel": { "description": "The versions of Samuel it works with, such as ^2.0.", "type": "string" },
            "namespace": {
                "description": "Its key in the Plugins group; by default its name with _ for -.",
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
            },
            "description": { "description": "What it does, one line.", "type": "string" },
        }),
        &["name", "kind", "version", "samuel"],
    )
}

fn capabilities() -> Value {
    let reference = json!({ "$ref": "#/$defs/capability" });
    let mut properties = Map::new();
    let mut groups: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for capability in Capability::ALL {
        properties.insert(capability.to_string(), reference.clone());
        // Without quotes a name with a dot is a table of TOML.
        if let Some((group, key)) = capability.as_str().split_once('.') {
            groups.entry(group).or_default().insert(key.to_owned(), reference.clone());
        }
    }
    for (group, keys) in groups {
        properties.insert(group.to_owned(), table(Value::Object(keys), &[]));
    }
    table(Value::Object(properties), &[])
}

fn by_point<S: Into<String>>(value: &Value, spelled: impl Fn(HookPoint) -> S) -> Value {
    let properties: Map<String, Value> =
        HookPoint::ALL.iter().map(|point| (spelled(*point).into(), value.clone())).collect();
    table(Value::Object(properties), &[])
}

fn binding_table() -> Value {
    let properties = json!({
        "handler": { "description": "An export, a subcommand, or a script.", "type": "string", "minLength": 1 },
        "order": { "type": "integer" },
    });
    table(properties, &["handler"])
}

fn tier(key: &str, description: &str) -> Value {
    let mut properties = Map::new();
    properties
        .insert(key.to_owned(), json!({ "description": description, "type": "string", "minLength": 1 }));
    properties.insert(
        "hook_handlers".to_owned(),
        by_point(&json!({ "$ref": "#/$defs/binding" }), HookPoint::as_str),
    );
    table(Value::Object(properties), &[key])
}

fn profile() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let count = json!({ "type": "integer", "minimum": 1 });
    let duration = json!({ "$ref": "#/$defs/duration" });
    let rate_limits: Vec<&str> = RateLimitPolicy::NAMES.iter().map(|(name, _)| *name).collect();
    let sandboxes: Vec<&str> = Sandbox::ALL.iter().map(|sandbox| sandbox.as_str()).collect();
    let pilot = table(
        json!({ "enabled": { "type": "boolean" }, "discover_interval": count, "max_discovery_tasks": count, "focus": text }),
        &[],
    );
    table(
        json!({
            "name": { "type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,63}$" },
            "aliases": texts,
            "templates": { "description": "The directory of its templates, relative to the plugin.", "type": "string" },
            "agent": { "enum": AGENTS },
            "agent_command": texts,
            "agent_args": texts,
            "max_iterations": count,
            "pause": duration,
            "max_consecutive_failures": count,
            "quality_checks": {
                "type": "array",
                "items": { "oneOf": [text, table(json!({ "command": text, "timeout": duration }), &["command"])] },
            },
            "rate_limit": { "enum": rate_limits },
            "rate_limit_wait": duration,
            "sandbox": { "enum": sandboxes },
            "keep_runs": { "type": "integer", "minimum": 0 },
            "keep_bytes": { "type": "integer", "minimum": 0 },
            "session_budget": table(
                json!({ "max_cost_usd": { "type": "number", "exclusiveMinimum": 0 }, "max_tokens": count, "max_wall_time": duration }),
                &[],
            ),
            "clocks": table(json!({ "first_byte": duration, "idle": duration, "linger": duration, "wall": duration }), &[]),
            "pilot": { "oneOf": [{ "type": "boolean" }, pilot] },
            "context": table(
                json!({
                    "max_learnings": { "type": "integer", "minimum": 0 },
                    "max_completed": { "type": "integer", "minimum": 0 },
                    "max_progress_lines": count,
                    "snapshot_tokens": count,
                }),
                &[],
            ),
            "hooks": by_point(&json!({ "$ref": "#/$defs/chain" }), HookPoint::as_str),
        }),
        &["name"],
    )
}

fn chain() -> Value {
    let actions = ["warn", "abort_iteration", "abort_loop", "abort_command"];
    table(
        json!({
            "enabled": { "type": "boolean" },
            "mode": { "enum": ChainMode::ALL.map(ChainMode::as_str) },
            "strict": { "type": "boolean" },
            "on_failure": { "enum": actions },
            "timeout": { "$ref": "#/$defs/duration" },
            "handlers": { "type": "array", "items": { "type": "string" }, "uniqueItems": true },
            "order": { "type": "object", "additionalProperties": { "type": "integer" } },
        }),
        &[],
    )
}
