//! What follows from the table of settings in samuel-core: the tables of the
//! documentation, and the options of a loop in Python.
//!
//! All of it is read from the JSON Schema that the table makes of itself, as the
//! documentation has it.

use std::{fmt::Write as _, fs};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{
    Output,
    docs::replaced,
    text::{capital, wrapped},
};
use crate::workspace::root;

const SCHEMA: &str = "docs/samuel.schema.json";
const PAGE: &str = "docs/configuration.md";
const PYTHON: &str = "bindings/python/python/samuel/settings.py";

/// Returns the files that follow from the table.
///
/// # Errors
/// Fails where the schema cannot be read, or the page has no marks for a table.
pub(super) fn files() -> Result<Vec<Output>> {
    let schema = fs::read_to_string(root().join(SCHEMA))?;
    let schema: Value = serde_json::from_str(&schema).with_context(|| format!("{SCHEMA} is no JSON"))?;
    let at = |pointer| schema.pointer(pointer).context("the schema has changed");
    let settings = at("/properties/methodology/additionalProperties")?;
    let mut page = fs::read_to_string(root().join(PAGE))?;
    let tables = keys(settings).filter(|(_, schema)| is_table(schema));
    let tables = tables.chain([("settings", settings), ("guardrails", at("/properties/guardrails")?)]);
    let tables = tables.chain([("sandbox", at("/properties/sandbox")?)]);
    for (name, schema) in tables {
        page = replaced(&page, name, &rows(inner(schema), ""))
            .with_context(|| format!("{PAGE} has no marks for {name}"))?;
    }
    Ok(vec![(PAGE.to_owned(), page), (PYTHON.to_owned(), python(settings))])
}

/// The keys of a table, without the chains of hooks.
fn keys(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let keys = schema["properties"].as_object().into_iter().flatten();
    keys.map(|(key, schema)| (key.as_str(), schema)).filter(|(key, _)| *key != "hooks")
}

/// The table of a setting that `true` and `false` may stand for.
fn inner(schema: &Value) -> &Value {
    schema.pointer("/oneOf/1").unwrap_or(schema)
}

/// Says whether a setting is a table with defaults, which has its own section.
fn is_table(schema: &Value) -> bool {
    keys(inner(schema)).any(|(_, schema)| !schema["default"].is_null())
}

fn about(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// The rows of a table of the documentation.
fn rows(schema: &Value, prefix: &str) -> String {
    let head = if prefix.is_empty() { "| key | default | meaning |\n|---|---|---|\n" } else { "" };
    let mut out = head.to_owned();
    for (key, schema) in keys(schema).filter(|(_, schema)| !is_table(schema)) {
        let default = match &schema["default"] {
            Value::Null if schema["properties"].is_null() => "none".to_owned(),
            Value::Null => "`{}`".to_owned(),
            default => format!("`{default}`"),
        };
        let _ = writeln!(out, "| `{prefix}{key}` | {default} | {} |", about(schema));
        out.push_str(&rows(schema, &format!("{prefix}{key}.")));
    }
    out
}

/// Writes the options that a loop in Python takes.
fn python(settings: &Value) -> String {
    let mut out = "\"\"\"The settings that `Loop` takes, as `[methodology.<name>]` in samuel.toml has them.\n\n\
                   Written by `cargo xtask contract`; change `crates/samuel-config/src/settings.rs` instead.\n\"\"\"\n\n\
                   from __future__ import annotations\n\n\
                   from collections.abc import Iterable, Mapping\n\
                   from typing import Literal, TypedDict\n\n\
                   # In which table a setting stands that has none of its own here.\n"
        .to_owned();
    let flat = keys(settings).filter(|(_, schema)| schema["properties"].is_object() && !is_table(schema));
    let flat: Vec<_> =
        flat.flat_map(|(table, schema)| keys(schema).map(move |(key, _)| (key, table))).collect();
    let _ = writeln!(out, "TABLE_OF = {{");
    for (key, table) in flat {
        let _ = writeln!(out, "    \"{key}\": \"{table}\",");
    }
    out.push_str("}\n");
    for (key, schema) in keys(settings).filter(|(_, schema)| is_table(schema)) {
        class(&mut out, &capital(key), about(schema), inner(schema));
    }
    class(
        &mut out,
        "Settings",
        "The settings of a loop; what is not given comes from samuel.toml.",
        settings,
    );
    out
}

fn class(out: &mut String, name: &str, docs: &str, schema: &Value) {
    let _ = writeln!(out, "\n\nclass {name}(TypedDict, total=False):\n{}", docstring(docs));
    fields(out, schema, if name == "Settings" { " | None" } else { "" });
}

/// Writes the fields of a class. The agent is an argument of its own, which may be
/// more than a name.
fn fields(out: &mut String, schema: &Value, or: &str) {
    for (key, schema) in keys(schema).filter(|(key, _)| *key != "agent") {
        if schema["properties"].is_object() && !is_table(schema) {
            fields(out, schema, or);
            continue;
        }
        let _ = writeln!(out, "\n    {key}: {}{or}\n{}", annotation(key, schema), docstring(about(schema)));
    }
}

fn docstring(text: &str) -> String {
    let quotes = "\"\"\"";
    let line = format!("    {quotes}{text}{quotes}");
    if line.len() <= 100 {
        return line;
    }
    let wrapped = wrapped(text, 92);
    let lines: Vec<String> = wrapped.lines().map(|line| format!("    {line}")).collect();
    format!("    {quotes}{}\n    {quotes}", lines.join("\n").trim_start())
}

/// The type of a setting in Python; durations are in seconds there.
fn annotation(key: &str, schema: &Value) -> String {
    if schema["oneOf"].is_array() {
        return format!("bool | {}", capital(key));
    }
    if schema["properties"].is_object() {
        return capital(key);
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return format!("Literal[{}]", words.join(", "));
    }
    let kind = match schema["type"].as_str() {
        Some("integer") => "int",
        Some("number") => "float",
        Some("boolean") => "bool",
        Some("array") if schema.pointer("/items/oneOf").is_some() => {
            "Iterable[str | Mapping[str, float | str] | tuple[str, float | str]]"
        }
        Some("array") => "Iterable[str]",
        Some(_) => "str",
        None => "float | str",
    };
    kind.to_owned()
}
