//! What the records of a point consist of, for listings.
//!
//! [`Field::of`] asks a record's own `Deserialize` what it reads, so that a
//! listing cannot disagree with what handlers are really given.

use serde::{
    Serialize,
    de::{
        DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::{Error, StrDeserializer},
    },
    forward_to_deserialize_any,
};

/// A field of a point's input or output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Its name, as JSON has it.
    pub name: &'static str,
    /// What it holds, in words: `text`, `list of CheckFailure`,
    /// `implementation or discovery`.
    pub holds: String,
    /// Whether a JSON handler must give it.
    pub required: bool,
}

impl Field {
    /// Lists the fields of a record; nothing for what is no record.
    pub(super) fn of<T: DeserializeOwned>() -> Vec<Self> {
        let mut found = Vec::new();
        // What the record thinks of made-up values does not matter.
        let _ = T::deserialize(Probe { found: &mut found, level: Level::Record, leave_out: None });
        found
            .into_iter()
            .map(|(name, holds)| {
                let without = Probe { found: &mut Vec::new(), level: Level::Record, leave_out: Some(name) };
                Self { name, holds, required: T::deserialize(without).is_err() }
            })
            .collect()
    }
}

/// The fields of the outermost record, in order, and what each holds.
type Found = Vec<(&'static str, String)>;

/// Gives a record made-up values and notes what it asks for.
struct Probe<'a> {
    found: &'a mut Found,
    level: Level,
    leave_out: Option<&'static str>,
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    /// The record itself.
    Record,
    /// One of its fields.
    Field,
    /// What is within a field, of which nothing is noted.
    Within,
}

impl Probe<'_> {
    /// Notes what the field that was begun last holds.
    fn holds(&mut self, words: &str) {
        if self.level == Level::Field
            && let Some((_, holds)) = self.found.last_mut()
        {
            holds.push_str(words);
        }
    }
}

/// Answers with a made-up value and notes its kind in words.
macro_rules! scalars {
    ($($method:ident $words:literal $visit:ident($($value:expr)?);)+) => {
        $(fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
            self.holds($words);
            visitor.$visit($($value)?)
        })+
    };
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    scalars! {
        deserialize_any "JSON" visit_unit();
        deserialize_bool "bool" visit_bool(false);
        deserialize_i32 "integer" visit_i32(0);
        deserialize_i64 "integer" visit_i64(0);
        deserialize_u32 "integer" visit_u32(0);
        deserialize_u64 "integer" visit_u64(0);
        deserialize_f64 "number" visit_f64(0.0);
        deserialize_str "text" visit_str("");
        deserialize_string "text" visit_str("");
    }

    fn deserialize_option<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.holds("optional ");
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        self.holds("list of ");
        visitor.visit_seq(Items { left: 1, probe: self })
    }

    fn deserialize_tuple<V: Visitor<'de>>(mut self, length: usize, visitor: V) -> Result<V::Value, Error> {
        self.holds("tuple");
        visitor.visit_seq(Items { left: length, probe: Probe { level: Level::Within, ..self } })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.holds(name);
        visitor.visit_map(Record { probe: self, left: fields.iter() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        mut self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.holds(&variants.join(" or "));
        let first: StrDeserializer<'_, Error> =
            variants.first().copied().unwrap_or_default().into_deserializer();
        visitor.visit_enum(first)
    }

    forward_to_deserialize_any! {
        i8 i16 u8 u16 f32 char bytes byte_buf unit unit_struct newtype_struct tuple_struct map identifier
        ignored_any
    }
}

/// Some items of a list or a tuple.
struct Items<'a> {
    left: usize,
    probe: Probe<'a>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let Probe { found, level, leave_out } = &mut self.probe;
        seed.deserialize(Probe { found, level: *level, leave_out: *leave_out }).map(Some)
    }
}

/// The fields of a record, one after the other.
struct Record<'a> {
    probe: Probe<'a>,
    left: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Record<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let leave_out = self.probe.leave_out;
        let Some(name) = self.left.find(|name| Some(**name) != leave_out) else { return Ok(None) };
        if self.probe.level == Level::Record {
            self.probe.found.push((name, String::new()));
        }
        let key: StrDeserializer<'_, Error> = name.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let level = match self.probe.level {
            Level::Record => Level::Field,
            Level::Field | Level::Within => Level::Within,
        };
        seed.deserialize(Probe { found: self.probe.found, level, leave_out: None })
    }
}

#[cfg(test)]
mod tests {
    use crate::hook::{HookPoint, field::Field};

    fn field(name: &'static str, holds: &str, required: bool) -> Field {
        Field { name, holds: holds.to_owned(), required }
    }

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
