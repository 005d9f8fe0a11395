//! The JSON Schema of `samuel-plugin.toml`, for editors.
//!
//! Names come from the types that read them. A test asks the reader which keys
//! each table has and compares.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Capability, PluginKind, SettingKind};
use crate::{
    config::{by_point, definitions, described, methodology, methodology_name, plugin_name, table},
    hook::HookPoint,
};

/// Returns the JSON Schema of a manifest (draft 2020-12).
pub fn manifest_schema() -> Value {
    let mut schema = json!({
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
            "oci": image(),
            "settings": settings(),
            "methodology": { "type": "array", "items": profile() },
        },
        "$defs": {
            "point": { "enum": HookPoint::ALL },
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
        },
    });
    // What a methodology's keys refer to.
    if let Some(Value::Object(defs)) = schema.get_mut("$defs") {
        defs.extend(definitions());
    }
    schema
}

fn plugin() -> Value {
    table(
        json!({
            "name": plugin_name(),
            "kind": { "enum": PluginKind::ALL },
            "version": { "description": "The plugin's version, such as 1.2.0.", "type": "string" },
            "samuel": { "description": "The versions of Samuel it works with, such as ^2.0.", "type": "string" },
            "namespace": {
                "description": "Its key in the Plugins group; by default its name with _ for -.",
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
            },
            "description": { "description": "What it does, one line.", "type": "string" },
            "authors": {
                "description": "Who made it, such as Ada <ada@example.org>.",
                "type": "array",
                "items": { "type": "string" },
            },
            "license": { "description": "Its licence, an SPDX expression such as MIT.", "type": "string" },
            "repository": { "description": "The URL of its source.", "type": "string" },
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

fn binding_table() -> Value {
    let properties = json!({
        "handler": { "description": "An export, a subcommand, or a script.", "type": "string", "minLength": 1 },
        "order": { "type": "integer" },
        "interactive": {
            "description": "Whether a script at agent.invoke has its standard input kept open, for replies to what it asks.",
            "type": "boolean",
        },
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

fn image() -> Value {
    let mut schema = tier("image", "The image: its name, or that with its digest.");
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let mode = json!({
            "description": "Whether its program serves one call after the other, or is started for each. Default serve.",
            "enum": ["serve", "call"],
        });
        properties.insert("mode".to_owned(), mode);
    }
    schema
}

fn settings() -> Value {
    let setting = table(
        json!({
            "type": { "description": "What its value is.", "enum": SettingKind::ALL },
            "description": { "description": "What it is for, one line.", "type": "string" },
            "required": { "description": "Whether the plugin cannot do without it.", "type": "boolean" },
            "one_of": {
                "description": "The only texts it may be.",
                "type": "array",
                "items": { "type": "string" },
            },
        }),
        &["type"],
    );
    json!({
        "description": "The settings it takes under [plugins.config]; without this table, anything.",
        "type": "object",
        "additionalProperties": setting,
    })
}

fn profile() -> Value {
    let mut keys = methodology();
    keys.insert("name".to_owned(), methodology_name());
    keys.insert("aliases".to_owned(), json!({ "type": "array", "items": { "type": "string" } }));
    let templates =
        json!({ "description": "The directory of its templates, relative to the plugin.", "type": "string" });
    keys.insert("templates".to_owned(), templates);
    table(keys, &["name"])
}
