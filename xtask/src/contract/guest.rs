//! The tables of `bindings/rust`, the crate that plugins in Rust are written with.

use std::fmt::Write as _;

use super::{
    abilities,
    model::{Contract, Field, Item, Point, Record, Role},
    rust_records::rust_type,
    text::comments,
};

/// What the crate has in a form of its own: its failure takes any error.
pub(super) const OWN: [&str; 1] = ["Failure"];
/// Where the bindings of a point's own types are.
fn bound(interface: &str, name: &str) -> String {
    let module = interface.replace('-', "_");
    format!("crate::bindings::{module}::exports::samuel::plugin::{module}::{name}")
}

/// Writes the file.
pub(super) fn table(contract: &Contract) -> String {
    let mut out = format!(
        "//! The points, their outputs and the types these share.\n\n{}\
         #![allow(clippy::derivable_impls, reason = \"the types are made by wit-bindgen\")]\n\n\
         use crate::{{failure::HookFailure, host::bindings::samuel::plugin::types, output::Answer, points::points}};\n\n",
        super::GENERATED
    );
    out.push_str(&shared(contract));
    out.push_str("points! {\n");
    for point in &contract.points {
        out.push_str(&self::point(contract, point));
    }
    out.push_str("}\n\n");
    for point in &contract.points {
        out.push_str(&output(point, contract.output(point)));
    }
    out + &abilities::guest(contract)
}

/// The types that points share, and those of single points.
fn shared(contract: &Contract) -> String {
    let mut out = String::new();
    for item in contract.items().filter(|item| item.is_part() && !OWN.contains(&item.name())) {
        let path = match item.interface() {
            "types" => format!("types::{}", item.name()),
            interface => bound(interface, item.name()),
        };
        let _ = writeln!(out, "#[doc(inline)]\npub use {path};");
    }
    out + "\n"
}

/// A row of `points!`.
fn point(contract: &Contract, point: &Point) -> String {
    let Point { name, interface, row, docs, previous_docs } = point;
    let mut text = format!("`{}`: {}. {docs}", row.id, point.kinds(contract));
    if !previous_docs.is_empty() {
        let _ = write!(text, "\n\n{previous_docs}");
    }
    let previous = if row.previous { ", previous" } else { "" };
    let row = format!(
        "{}{}: {name}({name}Input{previous}) -> {name}Output;\n",
        comments(&text),
        interface.replace('-', "_")
    );
    // rustfmt leaves macros as they are.
    row.lines().map(|line| format!("    {line}\n")).collect::<String>() + "\n"
}

/// An output under its own name, and its default.
fn output(point: &Point, record: &Record) -> String {
    let generated = bound(&point.interface, "Output");
    let mut out = match record.field("continue") {
        Some(_) => own_output(point, record, &generated),
        None => format!("#[doc(inline)]\npub use {generated} as {};\n\n", record.name),
    };
    let _ = write!(out, "impl Default for {} {{ fn default() -> Self {{ Self {{", record.name);
    for field in &record.fields {
        let value = if record.is_yes(field) { "true" } else { "Default::default()" };
        let _ = write!(out, "{}: {value}, ", field.ident());
    }
    let _ = write!(out, "}} }} }}\n\nimpl Answer for {} {{}}\n\n", record.name);
    out
}

/// An output whose binding has a field that is a reserved word of Rust.
fn own_output(point: &Point, record: &Record, generated: &str) -> String {
    let Record { name, docs, fields, .. } = record;
    let mut out = comments(format!("What `{}` answers.\n\n{docs}", point.row.id).trim());
    let _ = writeln!(out, "#[derive(Clone, Debug, PartialEq)]\npub struct {name} {{");
    for field in fields {
        let mut docs = field.docs.clone();
        if docs.is_empty() {
            docs = "Room for fields of later protocol versions.".to_owned();
        }
        if field.ident() != field.wire() {
            let _ = write!(docs, "\nIn the contract and in JSON it is `{}`.", field.wit);
        }
        let ty =
            rust_type(&field.ty).replace("Extensions", "Vec<(String, String)>").replace("Json", "String");
        let _ = writeln!(out, "{}pub {}: {ty},", comments(&docs), field.ident());
    }
    let bound =
        |field: &Field| if field.ident() == field.wire() { field.ident() } else { format!("{}_", field.wit) };
    let pairs: Vec<String> =
        fields.iter().map(|field| format!("{}: output.{}", bound(field), field.ident())).collect();
    let _ = write!(
        out,
        "}}\n\nimpl From<{name}> for {generated} {{\nfn from(output: {name}) -> Self {{ Self {{ {} }} }}\n}}\n\n",
        pairs.join(", ")
    );
    if point.row.previous {
        let back: Vec<String> =
            fields.iter().map(|field| format!("{}: output.{}", field.ident(), bound(field))).collect();
        let _ = write!(
            out,
            "impl From<{generated}> for {name} {{\nfn from(output: {generated}) -> Self {{ Self {{ {} }} }}\n}}\n\n",
            back.join(", ")
        );
    }
    out
}

impl Item {
    /// Says whether it is neither input nor output.
    fn is_part(&self) -> bool {
        !matches!(self, Self::Record(Record { role: Role::Input | Role::Output, .. }))
    }

    fn interface(&self) -> &str {
        match self {
            Self::Record(record) => &record.interface,
            Self::Words(words) => &words.interface,
        }
    }
}
