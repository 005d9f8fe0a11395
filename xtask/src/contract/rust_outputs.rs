//! The output algebra in Rust: how outcomes of a point become one.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};

use super::{
    model::{Contract, Field, Point, Ty},
    table::Kind,
};

/// Writes `Output` for the outputs that need nothing of their own.
///
/// # Errors
/// Fails at a field of which nobody said how two values become one.
pub(crate) fn outputs(contract: &Contract) -> Result<String> {
    let mut out = format!(
        "//! How the outcomes of each point become one.\n\n{}\
         use crate::{{Output, output::{{Printed, combine_ok, combine_reason, reason_of, reason_or}}, \
         payload::*}};\n\n",
        super::GENERATED
    );
    for point in contract.points.iter().filter(|point| !point.row.combined_by_hand) {
        out.push_str(&output(contract, point)?);
    }
    Ok(out)
}

fn output(contract: &Contract, point: &Point) -> Result<String> {
    let mut out = format!(
        "impl Output for {}Output {{\nfn combine(&mut self, later: Self) -> Vec<String> {{\n",
        point.name
    );
    let record = contract.output(point);
    if matches!(point.row.kind, Kind::Blob | Kind::Replace) {
        out.push_str("*self = later;\nVec::new()\n}\n\n");
    } else {
        for field in &record.fields {
            let combined = combined(field).with_context(|| {
                format!("{}: say combined_by_hand, and how in samuel-contract/src/output.rs", point.row.id)
            })?;
            out.push_str(&combined);
        }
        out.push_str(if record.has_results() {
            "self.results.merge(later.results)\n}\n\n"
        } else {
            "Vec::new()\n}\n\n"
        });
    }
    if let Some(refusal) = refusal(contract, point)? {
        let _ = write!(out, "fn refusal(&self) -> Option<String> {{ {refusal} }}\n\n");
    }
    if record.field("toon-blob").is_some() {
        out.push_str("fn toon(&self) -> Option<&str> { Some(&self.toon_blob) }\n\n");
    }
    if record.field("failure").is_some() {
        out.push_str("fn failure(&self) -> Option<&AgentFailure> { self.failure.as_ref() }\n\n");
    }
    if record.field("stdout").is_some() {
        out.push_str(
            "fn printed_mut(&mut self) -> Option<Printed<'_>> {\n\
             let streams = [&mut self.stdout, &mut self.stderr];\n\
             Some(Printed { streams, failure: self.failure.as_mut(), logs: &mut self.logs })\n}\n\n",
        );
    }
    if record.field("failures").is_some() {
        out.push_str(
            "fn checks_mut(&mut self) -> Option<&mut Vec<CheckFailure>> { Some(&mut self.failures) }\n\n",
        );
    }
    if record.has_text() {
        out.push_str("fn text(&self) -> &[TextItem] { &self.text }\n\n");
    }
    if record.field("extras").is_some() {
        out.push_str("fn extras(&self) -> &[Extra] { &self.extras }\n\n");
    }
    if record.has_results() {
        out.push_str(
            "fn results(&self) -> Option<&HookResults> { Some(&self.results) }\n\n\
             fn reported_mut(&mut self) -> Option<&mut HookResults> { Some(&mut self.results) }\n\n",
        );
    }
    Ok(out + "}\n\n")
}

/// How two values of a field become one.
fn combined(field: &Field) -> Result<String> {
    let name = field.ident();
    Ok(match (field.wit.as_str(), &field.ty) {
        ("ok", Ty::Bool) => {
            "combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);\n".to_owned()
        }
        ("block", Ty::Bool) => "combine_reason(&mut self.reason, self.block, later.reason, later.block);\n\
                                self.block |= later.block;\n"
            .to_owned(),
        // Both go with something else.
        ("reason" | "results", _) => String::new(),
        (_, Ty::List(_) | Ty::Extensions) => format!("self.{name}.extend(later.{name});\n"),
        (_, Ty::Option(_)) => format!("self.{name} = later.{name}.or(self.{name}.take());\n"),
        (_, ty) => bail!("nobody said how two values of {name}, {ty:?}, become one"),
    })
}

/// The reason of an outcome that says no, where one can.
fn refusal(contract: &Contract, point: &Point) -> Result<Option<String>> {
    let record = contract.output(point);
    let no = match (record.field("ok"), record.field("block")) {
        (Some(_), None) => "(!self.ok)",
        (None, Some(_)) => "self.block",
        (None, None) => return Ok(None),
        _ => bail!("{} has two verdicts", point.row.id),
    };
    // What a list is without a reason is what it lists.
    let listed = record.fields.iter().find_map(|field| match &field.ty {
        Ty::List(item) if point.row.kind == Kind::List => match &**item {
            Ty::Record(name) if contract.record(name).field("message").is_some() => Some(field.ident()),
            _ => None,
        },
        _ => None,
    });
    Ok(Some(match listed {
        Some(list) => format!(
            "{no}.then(|| reason_or(self.reason.as_ref(), self.{list}.iter().map(|item| item.message.as_str())))"
        ),
        None => format!("{no}.then(|| reason_of(self.reason.as_ref()))"),
    }))
}
