//! The records in Rust: `samuel_contract::payload` and the groups of the
//! prompt context.

use std::fmt::Write as _;

use super::{
    model::{Contract, Field, File, Item, Record, Role, Ty, Words},
    text::{capital, comments, indented, pascal},
};

/// Records that are made once a run and cloned for each call.
const SHARED: [&str; 1] = ["CallHeader"];
/// Groups whose default is written by hand: it is that of samuel.toml.
const OWN_DEFAULT: [&str; 2] = ["ContextLimits", "GuardrailVars"];
/// Groups that are written by hand: what is a map there is a list in the package.
pub(crate) const OWN_GROUPS: [&str; 1] = ["HookVars"];
/// What a task is called among the groups, where its fields have names of their own.
pub(crate) const TASK: (&str, &str) = ("TaskBrief", "TaskVars");

/// Writes the records of a file of the package.
pub(crate) fn payload(contract: &Contract, file: &File) -> String {
    let body: String = file.items.iter().map(|item| self::item(contract, item)).collect();
    let mut out = format!("//! What `wit/v1/{}.wit` defines.\n\n{}\n", file.name, super::GENERATED);
    let own: Vec<&str> = file.items.iter().map(Item::name).collect();
    let mut used = used(file, &own);
    used.extend(["json_text", "yes"].into_iter().filter(|name| mentions(&body, name)).map(str::to_owned));
    used.extend(["Json", "Extensions"].into_iter().filter(|name| mentions(&body, name)).map(str::to_owned));
    used.sort();
    out.push_str("use serde::{Deserialize, Serialize};\n");
    out.push_str("#[cfg(feature = \"wasm\")]\nuse wasmtime::component::{ComponentType, Lift, Lower};\n\n");
    let _ = writeln!(out, "use crate::payload::{{{}}};", used.join(", "));
    if mentions(&body, "words!") {
        out.push_str("use crate::words;\n");
    }
    if mentions(&body, "Arc<") {
        out.push_str("use std::sync::Arc;\n");
    }
    out + "\n" + &body
}

/// Writes the groups of the prompt context, and a task as they have it.
pub(crate) fn groups(contract: &Contract) -> String {
    let file = &contract.groups;
    let mut out =
        format!("//! The groups of the prompt context, as `wit/v1/{}.wit` defines them.\n\n", file.name);
    out.push_str(super::GENERATED);
    out.push_str("use serde::{Deserialize, Serialize};\n");
    out.push_str("#[cfg(feature = \"wasm\")]\nuse wasmtime::component::{ComponentType, Lower};\n\n");
    out.push_str("use crate::{payload::{Complexity, Mode, Priority}, words};\n\n");
    let task = contract.record(TASK.0);
    let _ = write!(out, "{}", group(&task.docs, TASK.1, &task.fields));
    for item in file.items.iter().filter(|item| !OWN_GROUPS.contains(&item.name())) {
        match item {
            Item::Record(record) => out.push_str(&group(&record.docs, &record.name, &record.fields)),
            Item::Words(words) => out.push_str(&self::words(contract, words)),
        }
    }
    out
}

fn mentions(body: &str, word: &str) -> bool {
    body.contains(word)
}

/// Lists the types of other files that a file uses.
fn used(file: &File, own: &[&str]) -> Vec<String> {
    fn names(ty: &Ty, found: &mut Vec<String>) {
        match ty {
            Ty::Record(name) | Ty::Words(name) => found.push(name.clone()),
            Ty::Option(inner) | Ty::List(inner) => names(inner, found),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for item in &file.items {
        if let Item::Record(record) = item {
            record.fields.iter().for_each(|field| names(&field.ty, &mut found));
        }
    }
    found.sort();
    found.dedup();
    found.retain(|name| !own.contains(&name.as_str()));
    found
}

fn item(contract: &Contract, item: &Item) -> String {
    match item {
        Item::Record(record) => self::record(contract, record),
        Item::Words(words) => self::words(contract, words),
    }
}

fn words(contract: &Contract, words: &Words) -> String {
    let row = contract.table.words.get(&words.wit);
    let order = if row.is_some_and(|row| row.ordered) { ", PartialOrd, Ord" } else { "" };
    let mut out = format!("words! {{\n{}#[derive(Default{order})]\n", comments(&words.docs));
    let _ = writeln!(out, "{} (\"{}\") {{", words.name, words.wit.replace('-', " "));
    for (word, docs) in &words.cases {
        out.push_str(&comments(docs));
        if contract.default_word(words) == word {
            out.push_str("#[default]\n");
        }
        let _ = writeln!(out, "{} = \"{word}\",", pascal(word));
    }
    // rustfmt leaves macros as they are.
    indented(&(out + "}\n}\n")) + "\n"
}

fn record(contract: &Contract, record: &Record) -> String {
    let is_shared = SHARED.contains(&record.name.as_str());
    let yes = record.fields.iter().find(|field| record.is_yes(field));
    let nulls = contract.table.records.get(&record.wit).is_some_and(|row| row.nulls);
    let is_copy = nulls && record.fields.iter().all(|field| is_scalar(&field.ty));
    let copy = if is_copy { "Copy, " } else { "" };
    let default = if yes.is_some() || is_shared { "" } else { "Default, " };
    let mut out = comments(&record_docs(contract, record));
    let _ = writeln!(out, "#[derive(Clone, {copy}Debug, {default}PartialEq, Serialize, Deserialize)]");
    let lift = if is_shared { "" } else { "Lift, " };
    let _ = writeln!(
        out,
        "#[cfg_attr(feature = \"wasm\", derive(ComponentType, {lift}Lower), component(record))]\npub struct {} {{",
        record.name
    );
    for field in &record.fields {
        let docs =
            if field.ty == Ty::Extensions { "Fields of later protocol versions." } else { &field.docs };
        out.push_str(&comments(docs));
        if let Some(serde) = serde(record, field, nulls) {
            let _ = writeln!(out, "#[serde({serde})]");
        }
        out.push_str(&component(field));
        let ty = rust_type(&field.ty);
        let ty = if is_shared { ty.replace("String", "Arc<str>") } else { ty };
        let _ = writeln!(out, "pub {}: {ty},", field.ident());
    }
    out.push_str("}\n\n");
    if let Some(yes) = yes {
        let _ = write!(out, "impl Default for {} {{ fn default() -> Self {{ Self {{", record.name);
        for field in &record.fields {
            let value = if field.wit == yes.wit { "true" } else { "Default::default()" };
            let _ = write!(out, "{}: {value}, ", field.ident());
        }
        out.push_str("} } }\n\n");
    }
    out
}

/// What a record is; inputs and outputs say it of their point.
pub(crate) fn record_docs(contract: &Contract, record: &Record) -> String {
    let (what, suffix) = match record.role {
        Role::Input => ("what a handler is given.", "Input"),
        Role::Output => ("what a handler answers.", "Output"),
        Role::Part | Role::Group => return record.docs.clone(),
    };
    let named = record.name.strip_suffix(suffix).unwrap_or_default();
    let Some(point) = contract.points.iter().find(|point| point.name == named) else {
        return record.docs.clone();
    };
    let more = match record.role {
        Role::Input => format!("{}. {}", capital(&point.kinds(contract)), point.docs),
        _ => record.docs.clone(),
    };
    format!("`{}`: {what}\n\n{more}", point.row.id).trim().to_owned()
}

fn serde(record: &Record, field: &Field, nulls: bool) -> Option<String> {
    let mut parts = Vec::new();
    if field.ident() != field.wire() {
        parts.push(format!("rename = \"{}\"", field.wire()));
    }
    if !field.required {
        let default = if record.is_yes(field) { "default = \"yes\"" } else { "default" };
        parts.push(default.to_owned());
    }
    match &field.ty {
        Ty::Option(_) if !nulls => parts.push("skip_serializing_if = \"Option::is_none\"".to_owned()),
        ty if *ty == Ty::Extensions || ty.is_changes() => {
            parts.push("skip_serializing_if = \"Vec::is_empty\"".to_owned());
        }
        _ => {}
    }
    parts.extend(json_text(&field.ty).map(|module| format!("with = \"{module}\"")));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The module that writes a field's text as the JSON it is.
fn json_text(ty: &Ty) -> Option<&'static str> {
    match ty {
        Ty::Json => Some("json_text"),
        Ty::Option(inner) if **inner == Ty::Json => Some("json_text::option"),
        Ty::List(inner) if **inner == Ty::Json => Some("json_text::list"),
        _ => None,
    }
}

fn component(field: &Field) -> String {
    match field.wit == field.ident() {
        true => String::new(),
        false => format!("#[cfg_attr(feature = \"wasm\", component(name = \"{}\"))]\n", field.wit),
    }
}

fn group(docs: &str, name: &str, fields: &[Field]) -> String {
    let default = if OWN_DEFAULT.contains(&name) { "" } else { "Default, " };
    let mut out = comments(docs);
    let _ = writeln!(
        out,
        "#[derive(Clone, Debug, {default}PartialEq, Serialize, Deserialize)]\n\
         #[cfg_attr(feature = \"wasm\", derive(ComponentType, Lower), component(record))]\n\
         #[serde(rename_all = \"PascalCase\", default)]\npub struct {name} {{"
    );
    for field in fields {
        out.push_str(&comments(&field.docs));
        let key = template_key(name, &field.wit);
        if key != pascal(&field.wit) {
            let _ = writeln!(out, "#[serde(rename = \"{key}\")]");
        }
        out.push_str(&component(field));
        let ty = rust_type(&field.ty).replace(TASK.0, TASK.1);
        let _ = writeln!(out, "pub {}: {ty},", field.ident());
    }
    out + "}\n\n"
}

/// A field's name in templates: abbreviations are written large.
pub(crate) fn template_key(record: &str, field: &str) -> String {
    if (record, field) == ("IterationVars", "kind") {
        return "Type".to_owned();
    }
    let word = |word: &str| match word {
        "id" | "md" | "prd" | "sha" => word.to_uppercase(),
        other => capital(other),
    };
    field.split('-').map(word).collect()
}

fn is_scalar(ty: &Ty) -> bool {
    match ty {
        Ty::Bool | Ty::U32 | Ty::U64 | Ty::S32 | Ty::F64 => true,
        Ty::Option(inner) => is_scalar(inner),
        _ => false,
    }
}

/// Writes a type as Rust does.
pub(crate) fn rust_type(ty: &Ty) -> String {
    match ty {
        Ty::Bool => "bool".to_owned(),
        Ty::U32 => "u32".to_owned(),
        Ty::U64 => "u64".to_owned(),
        Ty::S32 => "i32".to_owned(),
        Ty::F64 => "f64".to_owned(),
        Ty::Text => "String".to_owned(),
        Ty::Json => "Json".to_owned(),
        Ty::Extensions => "Extensions".to_owned(),
        Ty::Option(inner) => format!("Option<{}>", rust_type(inner)),
        Ty::List(inner) => format!("Vec<{}>", rust_type(inner)),
        Ty::Tuple(parts) => format!("({})", parts.iter().map(rust_type).collect::<Vec<_>>().join(", ")),
        Ty::Record(name) | Ty::Words(name) => name.clone(),
    }
}
