//! JSON Schemas of repository hooks: of their files, and of what goes in and comes out.

#![expect(clippy::indexing_slicing, reason = "indexing a document that is an object adds or finds a field")]

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::{
    Output,
    model::{Contract, Item, Record},
    schema,
};

/// Where the schemas are, which samuel-core hands out.
const PATH: &str = "samuel-core/src/dialect/repository/schemas.json";
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const WRITTEN: &str = "Written by `cargo xtask contract`.";

/// The events as `dialect::EventType` of samuel-core lists them, each with the id of its point. A test of samuel-tests
/// compares the two.
const EVENTS: [(&str, &str); 6] = [
    ("PromptSubmit", "prompt.submit"),
    ("PreAbilityCall", "ability.before"),
    ("PostAbilityCall", "ability.after"),
    ("SessionStart", "session.start"),
    ("SessionEnd", "session.end"),
    ("SessionStop", "session.stop"),
];

/// Returns the file of the schemas, each by its name.
///
/// # Errors
/// Fails where the contract lacks a record.
pub(super) fn file(contract: &Contract) -> Result<Output> {
    let mut schemas = Map::new();
    // Of the file, and of no schema in it: who asks for one does not have the repository.
    schemas.insert("$comment".to_owned(), WRITTEN.into());
    schemas.insert("hook".to_owned(), hook());
    schemas.insert("result".to_owned(), result(contract)?);
    for (name, point) in EVENTS {
        schemas.insert(name.to_owned(), context(contract, name, point)?);
    }
    Ok((PATH.to_owned(), format!("{:#}\n", Value::Object(schemas))))
}

/// What a hook is given.
fn context(contract: &Contract, name: &str, id: &'static str) -> Result<Value> {
    let point = contract.points.iter().find(|point| point.row.id == id).context(id)?;
    let mut schema = of_record(contract, &format!("{}Input", point.name))?;
    let fields = schema["properties"].as_object_mut().context("a record has fields")?;
    let kind = json!({ "description": "The name of the event.", "const": name });
    fields.insert("event_type".to_owned(), kind);
    let session = json!({ "description": "The name of the session.", "type": "string" });
    fields.insert("session_id".to_owned(), session);
    let required = schema["required"].as_array_mut().context("a record has required fields")?;
    required.splice(0..0, ["event_type".into(), "session_id".into()]);
    schema["title"] = format!("What a hook for {name} is given on stdin").into();
    Ok(schema)
}

/// What a hook answers.
fn result(contract: &Contract) -> Result<Value> {
    let mut schema = of_record(contract, "HookResults")?;
    schema["title"] = "What a repository hook prints on stdout".into();
    schema["description"] = "One JSON object. Nothing printed is one without fields; fields that are not \
                             listed here are ignored."
        .into();
    Ok(schema)
}

/// Makes a document of a record's schema, with those of the records that it holds.
fn of_record(contract: &Contract, name: &str) -> Result<Value> {
    let mut document = schema::record(contract, record(contract, name)?);
    let mut defs = Map::new();
    let mut missing = referenced(&document);
    while let Some(name) = missing.pop_first() {
        let schema = match contract.items().find(|item| item_name(item) == name) {
            Some(Item::Record(record)) => schema::record(contract, record),
            Some(Item::Words(words)) => schema::words(words),
            None => anyhow::bail!("the contract has no {name}"),
        };
        let held = referenced(&schema);
        defs.insert(name, schema);
        missing.extend(held.into_iter().filter(|name| !defs.contains_key(name)));
    }
    document["$schema"] = DRAFT.into();
    if !defs.is_empty() {
        document["$defs"] = defs.into();
    }
    Ok(document)
}

fn record<'c>(contract: &'c Contract, name: &str) -> Result<&'c Record> {
    let found = contract.items().find_map(|item| match item {
        Item::Record(record) if record.name == name => Some(record),
        _ => None,
    });
    found.with_context(|| format!("the contract has no {name}"))
}

fn item_name(item: &Item) -> &str {
    match item {
        Item::Record(record) => &record.name,
        Item::Words(words) => &words.name,
    }
}

/// Lists the definitions that a schema refers to.
fn referenced(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix("#/$defs/"));
            own.map(str::to_owned).into_iter().chain(fields.values().flat_map(referenced)).collect()
        }
        Value::Array(items) => items.iter().flat_map(referenced).collect(),
        _ => BTreeSet::new(),
    }
}

/// A file of a hook.
fn hook() -> Value {
    let text = |docs: &str| json!({ "type": "string", "description": docs });
    let flag = |docs: &str| json!({ "type": "boolean", "description": docs });
    let globs = |docs: &str| {
        json!({
            "description": docs,
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }],
        })
    };
    let events: Vec<&str> = EVENTS.iter().map(|(name, _)| *name).collect();
    let toggle = json!({
        "description": "Whether it runs, everywhere or by the environment; true by default.",
        "anyOf": [{ "type": "boolean" }, {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "default": flag("What holds where no variable says otherwise; true by default."),
                "env": {
                    "description": "Variables, each with what holds where it is set; the first that is set counts.",
                    "type": "object",
                    "additionalProperties": { "type": "boolean" },
                },
            },
        }],
    });
    let conditions = json!({
        "description": "Which events it is for; all of this must hold.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "ability_scope": globs("Globs of the ids of abilities; ! negates."),
            "min_duration_ms": {
                "description": "How long a call took at least, in milliseconds.",
                "type": "integer",
                "minimum": 0,
            },
            "only_if_changed_paths": globs("Globs of paths, one of which was changed; * stays within a directory."),
        },
    });
    let timeout = json!({
        "description": "How long it may take: whole seconds, or text such as 2m; 30 seconds by default.",
        "anyOf": [{ "type": "integer", "minimum": 1, "maximum": 86_400 }, { "type": "string" }],
    });
    let handler = |kind: &str, mut properties: Value, required: &[&str]| {
        properties["kind"] = json!({ "const": kind });
        let required: Vec<&str> = ["kind"].iter().chain(required).copied().collect();
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
            "required": required,
        })
    };
    let script = json!({
        "command": globs("A line for sh, or a program and its arguments; it begins in the project's root."),
        "timeout": timeout,
    });
    let usage = json!({
        "name": { "const": "usage_log" },
        "log": text("The log, below .system/logs; tool_call.log by default."),
        "cache": text("The counters, below .system/cache; ability_usage.json by default."),
    });
    let slow = json!({
        "name": { "const": "slow_calls" },
        "log": text("The log, below .system/logs; slow_abilities.log by default."),
    });
    let handlers = [
        handler("script", script, &["command"]),
        handler("builtin", usage, &["name"]),
        handler("builtin", slow, &["name"]),
    ];
    json!({
        "$schema": DRAFT,
        "title": "A file of .system/hooks",
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "event_type", "handler"],
        "properties": {
            "id": {
                "description": "Its name, of which there is one in a repository.",
                "type": "string",
                "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$",
            },
            "event_type": { "description": "When it runs.", "enum": events },
            "enabled": toggle,
            "summary": text("What it is for."),
            "blocking": flag("Whether it can stop what it is asked about, and stops it where it breaks; false by default."),
            "match": conditions,
            "handler": { "description": "What it does.", "oneOf": handlers },
            "effects": {
                "description": "What it is said to do beside answering: names, each alone or with one value.",
                "type": "array",
                "items": { "anyOf": [{ "type": "string" }, { "type": "object", "minProperties": 1, "maxProperties": 1 }] },
            },
        },
    })
}
