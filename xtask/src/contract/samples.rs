//! The inputs and answers that the table shows: checked, and completed.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};

use super::{
    model::{Contract, Point, Record, Ty},
    table,
};

/// Checks what the table shows of each point, and gives the inputs what they lack
/// of their fields: so a new field is in them at once.
///
/// # Errors
/// Fails where something is no JSON object, or has a field that the record has not.
pub(super) fn complete(contract: &mut Contract) -> Result<()> {
    for place in 0..contract.points.len() {
        let Some(point) = contract.points.get(place) else { continue };
        let read = |record: &Record, text: &str| {
            object(record, text).with_context(|| format!("{} of {}", record.name, table::PATH))
        };
        read(contract.output(point), &point.row.answered)?;
        let given = read(contract.input(point), &point.row.given)?;
        let text = completed(contract, point, given);
        if let (Some(text), Some(point)) = (text, contract.points.get_mut(place)) {
            point.row.given = text;
        }
    }
    Ok(())
}

fn object(record: &Record, text: &str) -> Result<Map<String, Value>> {
    let Value::Object(object) = serde_json::from_str(text)? else { anyhow::bail!("it is no object") };
    let unknown = object.keys().find(|key| !record.fields.iter().any(|field| field.wire() == **key));
    ensure!(unknown.is_none(), "there is no field {}", unknown.map_or("", |key| key));
    Ok(object)
}

/// Returns the input with all fields, if it lacks any.
fn completed(contract: &Contract, point: &Point, mut given: Map<String, Value>) -> Option<String> {
    let fields = contract.input(point).fields.iter().filter(|field| field.ty != Ty::Extensions);
    let lacking: Vec<_> = fields.filter(|field| !given.contains_key(&field.wire())).collect();
    for field in &lacking {
        given.insert(field.wire(), some(contract, &field.ty));
    }
    (!lacking.is_empty()).then(|| format!("{:#}", Value::Object(given)))
}

/// Some value of a type, so that the field is there.
fn some(contract: &Contract, ty: &Ty) -> Value {
    match ty {
        Ty::Bool => false.into(),
        Ty::U32 | Ty::U64 | Ty::S32 | Ty::F64 => 0.into(),
        Ty::Text => "".into(),
        Ty::Json => Value::Object(Map::new()),
        Ty::Option(inner) => some(contract, inner),
        Ty::Extensions | Ty::List(_) => Value::Array(Vec::new()),
        Ty::Tuple(parts) => parts.iter().map(|part| some(contract, part)).collect(),
        Ty::Words(name) => contract.default_word(contract.words(name)).into(),
        Ty::Record(name) => {
            let fields = contract.record(name).fields.iter().filter(|field| field.required);
            fields.map(|field| (field.wire(), some(contract, &field.ty))).collect::<Map<_, _>>().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::read::contract;

    #[test]
    fn an_example_has_every_field_and_no_other() {
        let contract = contract().expect("the contract is well-formed");
        let point = contract.points.iter().find(|point| point.row.id == "before:loop").expect("it is there");
        let input = contract.input(point);
        let error = object(input, r#"{"prd": "x"}"#).map_err(|error| error.to_string());
        assert_eq!(error, Err("there is no field prd".to_owned()));

        let given = object(input, r#"{"prd_path": "x"}"#).expect("the field is known");
        let text = completed(&contract, point, given).expect("it lacks one");
        assert_eq!(
            serde_json::from_str::<Value>(&text).ok(),
            Some(serde_json::json!({"prd_path": "x", "max_iterations": 0}))
        );
    }
}
