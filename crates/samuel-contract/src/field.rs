//! What the records of a point consist of, for listings.

use serde::Serialize;

/// A field of a point's input or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, as JSON has it.
    pub name: &'static str,
    /// What it holds, in words: `text`, `list of CheckFailure`,
    /// `implementation or discovery`.
    pub holds: &'static str,
    /// Whether a JSON handler must give it.
    pub required: bool,
}

/// A row of the tables that are written from the contract.
pub(crate) const fn field(name: &'static str, holds: &'static str, required: bool) -> Field {
    Field { name, holds, required }
}

#[cfg(test)]
mod tests {
    use super::field;
    use crate::HookPoint;

    #[test]
    fn a_gate_must_answer_and_may_explain() {
        let expected = [
            field("ok", "bool", true),
            field("reason", "optional text", false),
            field("skip", "bool", false),
            field("extensions", "list of tuple", false),
        ];
        assert_eq!(HookPoint::SyncBefore.output_fields(), expected);
    }

    #[test]
    fn names_are_those_of_json_and_kinds_are_told() {
        let gate = HookPoint::IterationGate.output_fields();
        assert_eq!(gate.first(), Some(&field("continue", "bool", true)));
        assert!(gate.contains(&field("mode", "optional implementation or discovery", false)), "{gate:?}");
        let check = HookPoint::QualityCheck.output_fields();
        assert!(check.contains(&field("failures", "list of CheckFailure", false)), "{check:?}");
        let ability = HookPoint::AbilityBefore.input_fields();
        assert!(ability.iter().any(|field| field.name == "input" && field.holds == "JSON"), "{ability:?}");
    }

    #[test]
    fn every_field_of_every_point_is_known() {
        for point in HookPoint::ALL {
            for fields in [point.input_fields(), point.output_fields()] {
                assert_eq!(fields.last().map(|field| field.name), Some("extensions"), "{point}");
                assert!(fields.iter().all(|field| !field.holds.is_empty()), "{point}: {fields:?}");
            }
        }
    }
}
