//! The hook points in Rust: `samuel_contract::HookPoint`, a type for each, and
//! what listings say of their fields.

use std::fmt::Write as _;

use anyhow::Result;

use super::{
    model::{Contract, Field, Point, Record, Ty},
    table::Kind,
    text::{comments, first_sentence},
};

/// Writes the points.
///
/// # Errors
/// Fails where a transform changes what its input does not have.
pub(crate) fn points(contract: &Contract) -> Result<String> {
    let mut out = format!(
        "//! The hook points of `wit/points.toml`.\n\n{}\
         use std::str::FromStr;\n\nuse serde::{{Deserialize, Serialize}};\n\n\
         use crate::{{CallVisitor, Kind, OnFailure, Point, PointVisitor, UnknownPoint, payload::*}};\n\n",
        super::GENERATED
    );
    out.push_str(&names(contract));
    out.push_str(&properties(contract));
    out.push_str(&calls(contract));
    out.push_str(&types(contract)?);
    Ok(out)
}

/// The enum of the points.
fn names(contract: &Contract) -> String {
    let mut out = "/// A named step of the loop or of a lifecycle command that handlers\n\
                   /// attach to (docs/hooks.md).\n\
                   #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]\n\
                   pub enum HookPoint {\n"
        .to_owned();
    for point in &contract.points {
        out.push_str(&comments(&first_sentence(&point.docs)));
        let _ = writeln!(out, "#[serde(rename = \"{}\")]\n{},", point.row.id, point.name);
    }
    out + "}\n\n"
}

/// What is known of each point.
fn properties(contract: &Contract) -> String {
    let all: String = contract.points.iter().map(|point| format!("Self::{},", point.name)).collect();
    let mut out = format!(
        "impl HookPoint {{\n/// Every point, in the order of the contract.\npub const ALL: &[Self] = &[{all}];\n\n"
    );
    let mut arms = |head: &str, value: &dyn Fn(&Point) -> String| {
        let _ = writeln!(out, "{head} {{ match self {{");
        for point in &contract.points {
            let _ = writeln!(out, "Self::{} => {},", point.name, value(point));
        }
        out.push_str("} }\n\n");
    };
    arms(
        "/// Returns the id, such as `before:agent.invoke`.\npub fn as_str(self) -> &'static str",
        &|point| format!("{:?}", point.row.id),
    );
    arms("/// Returns how outcomes become one.\npub fn kind(self) -> Kind", &|point| {
        format!("Kind::{:?}", point.row.kind)
    });
    arms(
        "/// Returns what a handler that breaks does where nothing is\n/// configured.\n\
         pub fn default_on_failure(self) -> OnFailure",
        &|point| format!("OnFailure::{:?}", point.row.on_failure),
    );
    arms(
        "/// Returns the abort that fits the point: the one `strict = true` means.\n\
         pub fn strict(self) -> OnFailure",
        &|point| format!("OnFailure::{:?}", point.row.strict),
    );
    arms(
        "/// Says why a chain cannot be kept to the iterations of one mode; nothing\n/// where it can.\n\
         pub fn refuses_mode(self) -> Option<&'static str>",
        &|point| format!("{:?}", point.row.every_mode),
    );
    arms(
        "/// Returns an input as JSON, in which every field has a value.\n\
         pub fn sample(self) -> &'static str",
        &|point| format!("r#\"{}\"#", point.row.given.trim()),
    );
    arms(
        "/// Calls a visitor with the point as a type.\npub fn visit<V: PointVisitor>(self, visitor: V) -> V::Out",
        &|point| format!("visitor.visit::<types::{}>()", point.name),
    );
    out.push_str("}\n\nimpl FromStr for HookPoint {\ntype Err = UnknownPoint;\n\n");
    out.push_str("fn from_str(text: &str) -> Result<Self, UnknownPoint> { match text {\n");
    for point in &contract.points {
        let _ = writeln!(out, "{:?} => Ok(Self::{}),", point.row.id, point.name);
    }
    out + "_ => Err(UnknownPoint::new(text)),\n} }\n}\n\n"
}

/// Writes what the records of each point consist of.
pub(crate) fn fields(contract: &Contract) -> String {
    let mut out = format!(
        "//! What the inputs and outputs of each point consist of.\n\n{}\
         use crate::{{Field, HookPoint, field}};\n\nimpl HookPoint {{\n",
        super::GENERATED
    );
    type Of = fn(&Contract, &Point) -> String;
    let lists: [(&str, Of); 2] = [
        (
            "/// Lists what a handler is given beside the call header.\n\
             pub fn input_fields(self) -> &'static [Field]",
            |contract, point| fields_of(contract, contract.input(point)),
        ),
        (
            "/// Lists what a handler answers.\npub fn output_fields(self) -> &'static [Field]",
            |contract, point| fields_of(contract, contract.output(point)),
        ),
    ];
    for (head, of) in lists {
        let _ = writeln!(out, "{head} {{ match self {{");
        for point in &contract.points {
            let _ = writeln!(out, "Self::{} => {},", point.name, of(contract, point));
        }
        out.push_str("} }\n\n");
    }
    out + "}\n"
}

fn fields_of(contract: &Contract, record: &Record) -> String {
    let field = |field: &Field| {
        let holds = holds(contract, &field.ty);
        format!("field({:?}, {holds:?}, {}),", field.wire(), field.required)
    };
    format!("&const {{ [{}] }}", record.fields.iter().map(field).collect::<String>())
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

/// The input of any point.
fn calls(contract: &Contract) -> String {
    let mut out = "/// What any point's handlers are given.\n\
                   #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]\n\
                   #[serde(tag = \"point\", content = \"input\")]\n\
                   #[expect(missing_docs, reason = \"the cases are the points\")]\n\
                   pub enum HookCall {\n"
        .to_owned();
    for Point { name, row, .. } in &contract.points {
        let _ = writeln!(out, "#[serde(rename = {:?})]\n{name}({name}Input),", row.id);
    }
    out.push_str(
        "}\n\nimpl HookCall {\n/// Returns the point.\npub fn point(&self) -> HookPoint { match self {\n",
    );
    for Point { name, .. } in &contract.points {
        let _ = writeln!(out, "Self::{name}(_) => HookPoint::{name},");
    }
    out.push_str("} }\n\n/// Calls a visitor with the point as a type, and its input.\n");
    out.push_str("pub fn visit<V: CallVisitor>(self, visitor: V) -> V::Out { match self {\n");
    for Point { name, .. } in &contract.points {
        let _ = writeln!(out, "Self::{name}(input) => visitor.visit::<types::{name}>(input),");
    }
    out + "} }\n}\n\n"
}

/// A type for each point.
fn types(contract: &Contract) -> Result<String> {
    let mut out = "/// The hook points as types.\npub mod types {\nuse super::*;\n\n".to_owned();
    for point in &contract.points {
        let Point { name, row, .. } = point;
        let _ = write!(
            out,
            "{}#[derive(Clone, Copy, Debug)]\npub struct {name};\n\nimpl Point for {name} {{\n\
             const POINT: HookPoint = HookPoint::{name};\nconst PREVIOUS: bool = {};\n\
             type Input = {name}Input;\ntype Output = {name}Output;\n\n",
            comments(&point.docs),
            row.previous
        );
        if row.kind == Kind::Transform {
            out.push_str(&apply(contract, point));
        }
        let _ = write!(out, "fn wrap(input: {name}Input) -> HookCall {{ HookCall::{name}(input) }}\n}}\n\n");
    }
    Ok(out + "}\n")
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
            let _ =
                writeln!(body, "if let Some(changed) = &output.{from} {{ input.{to}.clone_from(changed); }}");
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
    format!("fn apply(input: &mut {0}Input, output: &{0}Output) {{\n{body}}}\n\n", point.name)
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
