//! The hook points in Rust: the rows of which `samuel_contract` makes
//! `HookPoint` and a type for each.

use std::fmt::Write as _;

use super::{
    model::{Contract, Field, Point, Record, Ty},
    table::Kind,
    text::{comments, indented},
};

/// Writes the rows.
pub(crate) fn points(contract: &Contract) -> String {
    let rows: String = contract.points.iter().map(|point| row(contract, point)).collect();
    let imports = "use serde::{Deserialize, Serialize};\n\n\
                   use crate::{\n    CallVisitor, Kind, OnFailure, Point, PointVisitor, field,\n    payload::*,\n    \
                   table::{Row, points},\n};\n\n";
    format!(
        "//! The hook points of `wit/points.toml`.\n\n{}{imports}{}",
        super::GENERATED,
        indented(&format!("points! {{\n{}\n}}\n", rows.trim_end()))
    )
}

fn row(contract: &Contract, point: &Point) -> String {
    let Point { name, row, docs, .. } = point;
    let mut out = format!("{}{name}({name}Input) -> {name}Output {{\n", comments(docs));
    let values = [
        ("id", format!("{:?}", row.id)),
        ("kind", format!("{:?}", row.kind)),
        ("on_failure", format!("{:?}", row.on_failure)),
        ("strict", format!("{:?}", row.strict)),
        ("every_mode", format!("{:?}", row.every_mode)),
        ("previous", row.previous.to_string()),
        ("sample", format!("r#\"{}\"#", row.given.trim())),
    ];
    for (part, value) in values {
        let _ = writeln!(out, "{part}: {value},");
    }
    for (part, record) in [("given", contract.input(point)), ("answered", contract.output(point))] {
        let _ = writeln!(out, "{part}: [\n{}],", fields(contract, record));
    }
    if row.kind == Kind::Transform {
        out.push_str(&apply(contract, point));
    }
    out + "}\n\n"
}

fn fields(contract: &Contract, record: &Record) -> String {
    let field = |field: &Field| {
        let holds = holds(contract, &field.ty);
        format!("({:?}, {holds:?}, {}),\n", field.wire(), field.required)
    };
    record.fields.iter().map(field).collect()
}

/// Says in words what a field holds.
pub(crate) fn holds(contract: &Contract, ty: &Ty) -> String {
    match ty {
        Ty::Bool => "bool".to_owned(),
        Ty::U32 | Ty::U64 | Ty::S32 => "integer".to_owned(),
        Ty::F64 => "number".to_owned(),
        Ty::Text => "text".to_owned(),
        Ty::Json => "JSON".to_owned(),
        Ty::Extensions => "list of tuple".to_owned(),
        Ty::Option(inner) => format!("optional {}", holds(contract, inner)),
        Ty::List(inner) => format!("list of {}", holds(contract, inner)),
        Ty::Tuple(_) => "tuple".to_owned(),
        Ty::Record(name) => name.clone(),
        Ty::Words(name) => {
            let words = contract.words(name).cases.iter().map(|(word, _)| word.as_str());
            words.collect::<Vec<_>>().join(" or ")
        }
    }
}

/// How a transform changes its input: an optional field of the output replaces
/// the field of the same name, or of the name behind `updated-`; changes are
/// applied to a list of the same name, and `<name>-names` follows.
fn apply(contract: &Contract, point: &Point) -> String {
    let (input, output) = (contract.input(point), contract.output(point));
    let mut body = String::new();
    for field in &output.fields {
        let target = input.field(field.wit.strip_prefix("updated-").unwrap_or(&field.wit));
        let Some(target) = target else { continue };
        let (from, to) = (field.ident(), target.ident());
        if field.ty == Ty::Option(Box::new(target.ty.clone())) {
            let _ = writeln!(
                body,
                "if let Some(changed) = &output.{from} {{\ninput.{to}.clone_from(changed);\n}}"
            );
        } else if field.ty.is_changes() && target.ty.is_pairs() {
            let _ = writeln!(body, "if !output.{from}.is_empty() {{");
            let _ = writeln!(body, "crate::changes::apply(&mut input.{to}, &output.{from});");
            let names =
                input.fields.iter().find(|field| field.wit.strip_suffix("-names") == Some(&*target.wit));
            if let Some(names) = names {
                let _ = writeln!(
                    body,
                    "input.{} = input.{to}.iter().map(|(name, _)| name.clone()).collect();",
                    names.ident()
                );
            }
            body.push_str("}\n");
        }
    }
    format!("apply(output, input) {{\n{body}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_field_holds_is_said_in_words() {
        let contract = super::super::read::contract().expect("the contract is well-formed");
        let list = Ty::List(Box::new(Ty::Record("CheckFailure".to_owned())));
        assert_eq!(holds(&contract, &list), "list of CheckFailure");
        let mode = Ty::Option(Box::new(Ty::Words("Mode".to_owned())));
        assert_eq!(holds(&contract, &mode), "optional implementation or discovery");
    }
}
