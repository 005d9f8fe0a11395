//! The tables of the documentation, between marks that stand there.

use std::{fmt::Write as _, fs};

use anyhow::{Context as _, Result};

use super::{
    model::{Contract, Item, Point, Record, Role, Ty},
    rust_points::holds,
    text::wrapped,
};
use crate::workspace::root;

/// The page of the hook points.
const PAGE: &str = "docs/hooks.md";

/// Returns the page with its tables.
///
/// # Errors
/// Fails where a mark is missing.
pub(super) fn page(contract: &Contract) -> Result<(String, String)> {
    let mut text = fs::read_to_string(root().join(PAGE))?;
    for (name, table) in [("points", points(contract)), ("payloads", payloads(contract))] {
        text = replaced(&text, name, &table).with_context(|| format!("{PAGE} has no marks for {name}"))?;
    }
    Ok((PAGE.to_owned(), text))
}

/// Puts a table between its marks.
pub(super) fn replaced(text: &str, name: &str, table: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- contract: {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{table}\n{end}{after}"))
}

fn points(contract: &Contract) -> String {
    let mut out = "| point | kind | \"no\" means | breaks |\n|---|---|---|---|\n".to_owned();
    for Point { row, .. } in &contract.points {
        let no = row.no.as_deref().unwrap_or("-");
        let _ = writeln!(out, "| `{}` | {} | {no} | {} |", row.id, row.kind.word(), row.on_failure.word());
    }
    out
}

fn payloads(contract: &Contract) -> String {
    let mut out = String::new();
    for point in &contract.points {
        let docs = wrapped(&point.docs, 80);
        let _ = write!(out, "### `{}`\n\n{docs}\n\nGiven:\n\n", point.row.id);
        out.push_str(&table(contract, contract.input(point)));
        let _ = write!(out, "\n```json\n{}\n```\n\nAnswered:\n\n", point.row.given.trim());
        out.push_str(&table(contract, contract.output(point)));
        let _ = write!(out, "\n```json\n{}\n```\n\n", point.row.answered.trim());
    }
    out.push_str("### Records within payloads\n");
    let parts = contract.items().filter_map(|item| match item {
        Item::Record(record) if record.role == Role::Part && !UNSHOWN.contains(&&*record.name) => {
            Some(record)
        }
        _ => None,
    });
    for record in parts {
        let _ = write!(out, "\n`{}`: {}\n\n", record.name, wrapped(&record.docs, 80));
        out.push_str(&table(contract, record));
    }
    out
}

/// Records that are no part of a payload in JSON.
const UNSHOWN: [&str; 2] = ["CallHeader", "Failure"];

/// A row for each field; what must be there is bold.
fn table(contract: &Contract, record: &Record) -> String {
    let mut out = "| field | holds | |\n|---|---|---|\n".to_owned();
    for field in record.fields.iter().filter(|field| field.ty != Ty::Extensions) {
        let name = format!("`{}`", field.wire());
        let is_answer = record.role == Role::Output && field.required;
        let name = if is_answer { format!("**{name}**") } else { name };
        let docs = field.docs.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "| {name} | {} | {docs} |", holds(contract, &field.ty));
    }
    out
}
