//! JSON Schemas of what commands print with `--json`, in one file.
//!
//! They are made of the types that are printed, as Python's classes are
//! ([`python`]): a field that is added there is in the schema with the next
//! `cargo xtask contract`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};

use super::{
    model::Contract,
    python::{self, Item, Record, Union, Words},
    text::wrapped,
};

/// Where the file is, which the command prints from.
pub(super) const PATH: &str = "cli/documents.schema.json";

/// The commands, as their documents name them, and the types that each may answer.
const COMMANDS: [(&str, &[&str]); 20] = [
    ("run", &["StatusReport"]),
    ("run status", &["StatusReport"]),
    ("run tasks", &["TaskList"]),
    ("run show", &["TaskHistory"]),
    ("run prompt", &["NextPrompt", "NextPromptStats", "ExportedTemplates"]),
    ("run lanes", &["LaneList"]),
    ("run merge", &["MergeReport"]),
    ("run clean", &["CleanedLanes"]),
    ("run queue", &["QueueList"]),
    ("run queue land", &["LandReport"]),
    ("run runs", &["RunList"]),
    ("run why", &["Why"]),
    ("run report", &["RunPage"]),
    ("hooks list", &["HookList"]),
    ("hooks show", &["ShownPoint", "ShownHooks"]),
    ("hooks validate", &["HookValidation"]),
    ("hooks test", &["HookTrial"]),
    ("hooks fire", &["HookFiring"]),
    ("hooks log", &["HookLog"]),
    ("hooks scaffold", &["ScaffoldedHook"]),
];

/// The fields that are a `Duration`, by their type: a number in Python, and in JSON an object.
const DURATIONS: [(&str, &str); 1] = [("Timing", "took")];

/// What the file says of itself.
const WRITTEN: &str = "Written by `cargo xtask contract`; change the types instead.";

/// The type of what every document has.
const ENVELOPE: &str = "Envelope";

/// Writes the schemas, each by its command.
///
/// # Errors
/// Fails where a type is not known.
pub(super) fn schemas(contract: &Contract) -> Result<String> {
    let items = python::with_documents(contract)?;
    let items: BTreeMap<&str, &Item> = items.iter().map(|item| (item.name(), item)).collect();
    let schemas = COMMANDS.iter().map(|(command, answers)| {
        let schema = document(&items, command, answers).with_context(|| format!("samuel {command}"))?;
        Ok(((*command).to_owned(), schema))
    });
    // Of the file, and of no schema in it: who asks for one does not have the repository.
    let written = Ok(("$comment".to_owned(), WRITTEN.into()));
    let schemas = std::iter::once(written).chain(schemas).collect::<Result<Map<_, _>>>()?;
    Ok(format!("{:#}\n", Value::Object(schemas)))
}

/// Makes the schema of a command's document.
fn document(items: &BTreeMap<&str, &Item>, command: &str, answers: &[&str]) -> Result<Value> {
    let mut defs = BTreeMap::new();
    for name in answers.iter().chain([&ENVELOPE]) {
        define(items, name, &mut defs)?;
    }
    let mut answers = answers.iter().map(|answer| json!({ "$ref": reference(answer) })).collect::<Vec<_>>();
    let data = if answers.len() == 1 { answers.remove(0) } else { json!({ "oneOf": answers }) };
    let defs: Map<String, Value> = defs.into_iter().collect();
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("What `samuel {command} --json` prints"),
        "$ref": reference(ENVELOPE),
        "properties": { "command": { "const": command } },
        "if": { "properties": { "ok": { "const": true } } },
        "then": { "properties": { "data": data } },
        "$defs": defs,
    }))
}

/// Defines a type and those that it holds.
fn define(items: &BTreeMap<&str, &Item>, name: &str, defs: &mut BTreeMap<String, Value>) -> Result<()> {
    if defs.contains_key(name) {
        return Ok(());
    }
    let item = items.get(name).with_context(|| format!("the type {name} is not known"))?;
    // It may hold itself.
    defs.insert(name.to_owned(), Value::Null);
    let mut held = Vec::new();
    let schema = match item {
        Item::Record(record) => self::record(record, &mut held)?,
        Item::Words(words) => self::words(words),
        Item::Union(union) => self::union(union, &mut held),
    };
    defs.insert(name.to_owned(), schema);
    held.iter().try_for_each(|name| define(items, name, defs))
}

fn record(record: &Record, held: &mut Vec<String>) -> Result<Value> {
    let mut properties = Map::new();
    if let Some((key, word)) = &record.tag {
        properties.insert(key.clone(), json!({ "const": word }));
    }
    for field in &record.fields {
        let schema = match DURATIONS.contains(&(&record.name, &field.wire)) {
            true => duration(),
            false => kind(&field.kind.python, held).with_context(|| format!("the field {}", field.wire))?,
        };
        let Value::Object(mut schema) = schema else { bail!("no schema of {}", field.wire) };
        schema.insert("description".to_owned(), line(&field.docs).into());
        properties.insert(field.wire.clone(), schema.into());
    }
    let of_fields = record.fields.iter().filter(|field| !field.may_lack).map(|field| &field.wire);
    let required: Vec<&String> = record.tag.iter().map(|(key, _)| key).chain(of_fields).collect();
    Ok(json!({
        "description": line(&record.docs),
        "type": "object",
        "properties": properties,
        "required": required,
    }))
}

fn duration() -> Value {
    json!({
        "type": "object",
        "properties": { "secs": { "type": "integer" }, "nanos": { "type": "integer" } },
        "required": ["secs", "nanos"],
    })
}

fn words(words: &Words) -> Value {
    let cases = words.words.iter().map(|(word, docs)| json!({ "const": word, "description": line(docs) }));
    json!({ "description": line(&words.docs), "oneOf": cases.collect::<Vec<_>>() })
}

fn union(union: &Union, held: &mut Vec<String>) -> Value {
    held.extend(union.cases.iter().cloned());
    let cases: Vec<Value> = union.cases.iter().map(|case| json!({ "$ref": reference(case) })).collect();
    json!({ "description": line(&union.docs), "oneOf": cases })
}

/// Makes a schema of a type as Python annotates it.
fn kind(python: &str, held: &mut Vec<String>) -> Result<Value> {
    let within = |prefix: &str, suffix: &str| python.strip_prefix(prefix)?.strip_suffix(suffix);
    if let Some(inner) = python.strip_suffix(" | None") {
        return Ok(json!({ "anyOf": [kind(inner, held)?, { "type": "null" }] }));
    }
    if let Some(inner) = within("tuple[", ", ...]") {
        return Ok(json!({ "type": "array", "items": kind(inner, held)? }));
    }
    if let Some(inner) = within("Mapping[str, ", "]") {
        return Ok(json!({ "type": "object", "additionalProperties": kind(inner, held)? }));
    }
    if let Some((one, other)) = python.split_once(" | ") {
        return Ok(json!({ "anyOf": [kind(one, held)?, kind(other, held)?] }));
    }
    Ok(match python {
        "tuple[str, str]" => {
            let text = json!({ "type": "string" });
            json!({ "type": "array", "prefixItems": [text, text], "minItems": 2, "maxItems": 2 })
        }
        "str" | "HookPointId" => json!({ "type": "string" }),
        "int" => json!({ "type": "integer" }),
        "float" => json!({ "type": "number" }),
        "bool" => json!({ "type": "boolean" }),
        "Any" => json!({}),
        name if name.chars().all(char::is_alphanumeric) => {
            held.push(name.to_owned());
            json!({ "$ref": reference(name) })
        }
        other => bail!("the type {other} is not known"),
    })
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Documentation in lines as long as its paragraphs.
fn line(docs: &str) -> String {
    wrapped(docs, usize::MAX)
}
