//! JSON Schemas of all payloads, in one file.

use serde_json::{Map, Value, json};

use super::{
    model::{Contract, Item, Record, Ty, Words},
    rust_records::record_docs,
    text::wrapped,
};

/// Where the file is.
pub(super) const PATH: &str = "wit/payloads.schema.json";

/// Writes the schemas: what a point is given and answers is found below
/// `properties` by its id, what records have below `$defs` by their name.
pub(super) fn schemas(contract: &Contract) -> String {
    let points = contract.points.iter().map(|point| {
        let part = |part: &str| json!({ "$ref": format!("#/$defs/{}{part}", point.name) });
        let payload = json!({ "properties": { "input": part("Input"), "output": part("Output") } });
        (point.row.id.clone(), payload)
    });
    let defs = contract.items().map(|item| match item {
        Item::Record(record) => (record.name.clone(), self::record(contract, record)),
        Item::Words(words) => (words.name.clone(), self::words(words)),
    });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What handlers of hook points are given and answer",
        "$comment": "Written by `cargo xtask contract`; change `wit/` instead.",
        "properties": points.collect::<Map<_, _>>(),
        "$defs": defs.collect::<Map<_, _>>(),
    });
    format!("{schema:#}\n")
}

pub(super) fn record(contract: &Contract, record: &Record) -> Value {
    let fields = record.fields.iter().map(|field| {
        let Value::Object(mut schema) = ty(&field.ty) else { return (field.wire(), Value::Bool(true)) };
        let docs =
            if field.ty == Ty::Extensions { "Fields of later protocol versions." } else { &field.docs };
        schema.insert("description".to_owned(), line(docs).into());
        (field.wire(), Value::Object(schema))
    });
    let required: Vec<String> =
        record.fields.iter().filter(|field| field.required).map(|field| field.wire()).collect();
    json!({
        "description": line(&record_docs(contract, record)),
        "type": "object",
        "properties": fields.collect::<Map<_, _>>(),
        "required": required,
    })
}

pub(super) fn words(words: &Words) -> Value {
    let cases = words.cases.iter().map(|(word, docs)| json!({ "const": word, "description": line(docs) }));
    json!({ "description": line(&words.docs), "oneOf": cases.collect::<Vec<_>>() })
}

fn ty(ty: &Ty) -> Value {
    let named = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    match ty {
        Ty::Bool => json!({ "type": "boolean" }),
        Ty::U32 => json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
        Ty::U64 => json!({ "type": "integer", "minimum": 0 }),
        Ty::S32 => json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX }),
        Ty::F64 => json!({ "type": "number" }),
        Ty::Text => json!({ "type": "string" }),
        // Any document.
        Ty::Json => json!({}),
        Ty::Option(inner) if **inner == Ty::Json => json!({}),
        Ty::Option(inner) => json!({ "anyOf": [self::ty(inner), { "type": "null" }] }),
        Ty::List(inner) => json!({ "type": "array", "items": self::ty(inner) }),
        Ty::Extensions => self::ty(&Ty::List(Box::new(Ty::Tuple(vec![Ty::Text, Ty::Text])))),
        Ty::Tuple(parts) => {
            let items: Vec<Value> = parts.iter().map(self::ty).collect();
            json!({ "type": "array", "prefixItems": items, "minItems": parts.len(), "maxItems": parts.len() })
        }
        Ty::Record(name) | Ty::Words(name) => named(name),
    }
}

/// Documentation in lines as long as its paragraphs.
fn line(docs: &str) -> String {
    wrapped(docs, usize::MAX)
}
