//! The tables of `tests/parity/guest`, the component of the behaviour table.

use std::fmt::Write as _;

use super::{
    guest::OWN,
    model::{Contract, Field, Item, Record, Role, Ty, Words},
    text::{pascal, snake},
};

/// Where they are.
pub(super) const PATH: &str = "tests/parity/guest/src/table.rs";

/// Writes the file: what points share, then the points.
pub(super) fn table(contract: &Contract) -> String {
    let mut out = format!(
        "//! The records and words of the contract, and its points.\n\n{}\
         use samuel_plugin::*;\nuse serde_json::Value;\n\n\
         use crate::{{\n    Rows, behave, points,\n    record::{{ToJson, record, words}},\n}};\n\n",
        super::GENERATED
    );
    for item in contract.items().filter(|item| !OWN.contains(&item.name())) {
        let _ = match item {
            Item::Words(words) => writeln!(out, "words!({} {{ {} }});", words.name, cases(contract, words)),
            Item::Record(record) if record.role == Role::Part => {
                writeln!(out, "record!(part {}{});", record.name, fields(record))
            }
            Item::Record(_) => Ok(()),
        };
    }
    out.push_str("\npoints! {\n");
    for point in &contract.points {
        let (input, output) = (contract.input(point), contract.output(point));
        let previous = if point.row.previous { ", previous" } else { "" };
        let (name, run) = (&point.name, snake(&point.name));
        let _ = writeln!(out, "    {name} {run}({}{}{previous})", input.name, fields(input));
        let _ = writeln!(out, "        -> {}{};", output.name, fields(output));
    }
    out + "}\n"
}

/// What a row leaves out is the first word.
fn cases(contract: &Contract, words: &Words) -> String {
    let default = contract.default_word(words);
    let mut cases: Vec<&str> = words.cases.iter().map(|(word, _)| word.as_str()).collect();
    cases.sort_by_key(|word| *word != default);
    cases.iter().map(|word| format!("{} {word:?}", pascal(word))).collect::<Vec<_>>().join(", ")
}

fn fields(record: &Record) -> String {
    let field = |field: &Field| {
        let name =
            if field.ident() == field.wire() { String::new() } else { format!(" as {:?}", field.wire()) };
        format!("{}{name}{}", field.ident(), if holds_json(&field.ty) { ": json" } else { "" })
    };
    let fields = record.fields.iter().filter(|field| field.ty != Ty::Extensions).map(field);
    format!(" {{ {} }}", fields.collect::<Vec<_>>().join(", "))
}

fn holds_json(ty: &Ty) -> bool {
    match ty {
        Ty::Option(inner) | Ty::List(inner) => holds_json(inner),
        other => *other == Ty::Json,
    }
}
