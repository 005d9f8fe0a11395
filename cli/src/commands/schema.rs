//! `schema`: the JSON Schemas of what commands answer.

use serde_json::{Map, Value};

use crate::{args::SchemaArgs, failure::Failure, reply::Reply};

/// The schemas by command, written by `cargo xtask contract` from the types that are printed.
const SCHEMAS: &str = include_str!("../../documents.schema.json");

/// Prints the schema of a command's document, or all that there are.
pub(crate) fn print(args: &SchemaArgs) -> Result<Reply, Failure> {
    let written: Map<String, Value> = serde_json::from_str(SCHEMAS)
        .map_err(|error| Failure::internal("the schemas cannot be read").because(&error))?;
    // A comment says where the file comes from.
    let schemas: Map<String, Value> = written.into_iter().filter(|(name, _)| name != "$comment").collect();
    let words = args.command.iter().flat_map(|word| word.split_whitespace());
    let command = words.map(|word| if word == "auto" { "run" } else { word }).collect::<Vec<_>>().join(" ");
    let schema = match command.as_str() {
        "" => Value::Object(schemas.clone()),
        command => schemas.get(command).cloned().ok_or_else(|| {
            let known: Vec<&str> = schemas.keys().map(String::as_str).collect();
            let help = format!("There are schemas for: {}.", known.join(", "));
            Failure::usage(format!("there is no schema of what \"{command}\" answers")).advise(help)
        })?,
    };
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n";
    Ok(Reply::new(schema, text))
}
