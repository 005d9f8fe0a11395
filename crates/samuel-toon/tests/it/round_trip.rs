//! Round trips: what was encoded decodes to itself, for values and for types.

use std::collections::{BTreeMap, HashMap};

use proptest::{collection::vec, option, prelude::*};
use samuel_toon::{self as toon, DecodeOptions, Delimiter, EncodeOptions, Map, Number, NumberText, Value};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Text that is likely to be misread.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,6}",
        "[-+0-9.eE]{0,6}",
        r#"[ \t,|:"\\\[\]{}#\-a\n\r]{0,6}"#,
        any::<String>(),
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("[]".to_owned()),
    ]
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<u64>().prop_map(Number::from),
        any::<i64>().prop_map(Number::from),
        any::<u128>().prop_map(Number::from),
        any::<i128>().prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        (-1_000..1_000_i32).prop_filter_map("finite", |n| Number::from_f64(f64::from(n) / 8.0)),
        "-?[1-9][0-9]{40,60}(\\.[0-9]{1,30})?".prop_filter_map("a number", |text| Number::parse(&text)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let primitive = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::Number),
        text().prop_map(Value::from),
    ];
    let keys = ["a", "b", "c"];
    primitive.prop_recursive(4, 48, 4, move |inner| {
        let row = vec(inner.clone(), 3);
        let table = (vec(row, 0..4), any::<bool>()).prop_map(move |(rows, reverse)| {
            let object = |(at, cells): (usize, Vec<Value>)| {
                let mut entries: Vec<_> = keys.into_iter().zip(cells).collect();
                if reverse && at % 2 == 1 {
                    entries.reverse();
                }
                Value::Object(Map::from_iter(entries))
            };
            rows.into_iter().enumerate().map(object).collect::<Vec<_>>()
        });
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            vec((text(), inner), 0..4).prop_map(|entries| Value::Object(Map::from_iter(entries))),
            table.clone().prop_map(Value::Array),
            table.prop_map(|rows| {
                let entries = rows.into_iter().enumerate().map(|(at, row)| (format!("k{at}"), row));
                Value::Object(Map::from_iter(entries))
            }),
        ]
    })
}

fn options() -> impl Strategy<Value = EncodeOptions> {
    let delimiter = prop_oneof![Just(Delimiter::Comma), Just(Delimiter::Tab), Just(Delimiter::Pipe)];
    (1..5_usize, delimiter).prop_map(|(indent_size, delimiter)| EncodeOptions { indent_size, delimiter })
}

/// Wide numbers below `flatten` arrive only as written, because serde buffers
/// such fields in a type that knows 64 bits.
fn decode<T: DeserializeOwned>(text: &str, options: EncodeOptions) -> toon::Result<T> {
    let options = DecodeOptions {
        indent_size: options.indent_size,
        numbers: NumberText::AsWritten,
        ..DecodeOptions::default()
    };
    toon::from_str_with(text, options)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Plan {
    name: String,
    count: u64,
    share: f64,
    big: u128,
    low: i128,
    letter: char,
    tags: Vec<String>,
    maybe: Option<String>,
    state: State,
    states: Vec<State>,
    tasks: Vec<Task>,
    by_name: BTreeMap<String, Task>,
    by_number: HashMap<i32, Option<bool>>,
    pair: (u8, Option<f32>),
    unit: (),
    nested: Option<Box<Plan>>,
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    extra: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Origin {
    file: String,
    line: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    id: String,
    done: bool,
    points: Option<i16>,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    x: f32,
    y: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Idle,
    Failed(String),
    Moved(i8, u8),
    Stopped { code: i32, note: Option<String> },
}

fn task() -> impl Strategy<Value = Task> {
    (text(), any::<bool>(), option::of(any::<i16>()), -100..100_i16, option::of(any::<u8>())).prop_map(
        |(id, done, points, x, y)| Task { id, done, points, place: Place { x: f32::from(x) / 4.0, y } },
    )
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::Idle),
        text().prop_map(State::Failed),
        (any::<i8>(), any::<u8>()).prop_map(|(a, b)| State::Moved(a, b)),
        (any::<i32>(), option::of(text())).prop_map(|(code, note)| State::Stopped { code, note }),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let numbers = (any::<u64>(), -1e9..1e9_f64, any::<u128>(), any::<i128>(), any::<char>());
    let lists = (vec(text(), 0..4), vec(state(), 0..4), vec(task(), 0..4));
    let maps = (
        proptest::collection::btree_map(text(), task(), 0..4),
        proptest::collection::hash_map(any::<i32>(), option::of(any::<bool>()), 0..4),
        // The prefix keeps these apart from the fields of the struct.
        proptest::collection::btree_map("x_[a-z]{1,4}", value(), 0..3),
    );
    let rest = (option::of(text()), state(), any::<u8>(), option::of(-8..8_i8), text(), any::<u32>());
    (text(), numbers, lists, maps, rest, any::<bool>()).prop_map(
        |(
            name,
            (count, share, big, low, letter),
            (tags, states, tasks),
            (by_name, by_number, extra),
            rest,
            nest,
        )| {
            let (maybe, state, first, second, file, line) = rest;
            let plan = Plan {
                name,
                count,
                share,
                big,
                low,
                letter,
                tags,
                maybe,
                state,
                states,
                tasks,
                by_name,
                by_number,
                pair: (first, second.map(f32::from)),
                unit: (),
                nested: None,
                origin: Origin { file, line },
                extra,
            };
            let inner = nest.then(|| Box::new(plan.clone()));
            Plan { nested: inner, ..plan }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_value_survives(value in value(), options in options()) {
        let text = toon::to_string_with(&value, options).unwrap();
        let back: Value = decode(&text, options).unwrap();
        prop_assert_eq!(&back, &value, "{}", text);
        // What the encoder wrote is canonical, so it is written the same again.
        prop_assert_eq!(toon::to_string_with(&back, options).unwrap(), text);
    }

    #[test]
    fn a_derived_type_survives(plan in plan(), options in options()) {
        let text = toon::to_string_with(&plan, options).unwrap();
        let back: Plan = decode(&text, options).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&back, &plan, "{}", text);
    }

    #[test]
    fn a_type_survives_the_way_through_a_value(plan in plan()) {
        let value = toon::to_value(&plan).unwrap();
        prop_assert_eq!(toon::to_string(&value).unwrap(), toon::to_string(&plan).unwrap());
        prop_assert_eq!(toon::from_value::<Plan>(value).unwrap(), plan);
    }

    #[test]
    fn recovery_of_valid_text_is_the_decoder(value in value()) {
        let text = toon::to_string(&value).unwrap();
        let recovered = toon::recover::<Value>(&text);
        prop_assert!(recovered.is_clean());
        prop_assert_eq!(recovered.value, Some(value));
    }

    #[test]
    fn recovery_neither_panics_nor_loses_text(value in value(), cut in any::<prop::sample::Index>(), piece in text()) {
        let mut text = toon::to_string(&value).unwrap();
        let at = text.char_indices().map(|(at, _)| at).nth(cut.index(text.chars().count().max(1))).unwrap_or(0);
        text.insert_str(at, &piece);
        let recovered = toon::recover::<Value>(&text);
        prop_assert!(recovered.value.is_some() || !recovered.diagnostics.is_empty());
        for skipped in &recovered.skipped {
            prop_assert_eq!(text.get(skipped.span.clone()), Some(skipped.raw.as_str()));
        }
    }
}

/// What a target that tells numbers by their text sees of a value.
#[derive(Debug, PartialEq)]
enum Seen {
    Token(String),
    Other(String),
}

impl<'de> serde::Deserialize<'de> for Seen {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Look;

        impl<'de> serde::de::Visitor<'de> for Look {
            type Value = Seen;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a primitive")
            }

            fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, inner: D) -> Result<Seen, D::Error> {
                <&str>::deserialize(inner).map(|text| Seen::Token(text.to_owned()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Seen, E> {
                Ok(Seen::Other(format!("{value}")))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Seen, E> {
                Ok(Seen::Other(format!("{value}")))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Seen, E> {
                Ok(Seen::Other(format!("{value}")))
            }

            fn visit_str<E>(self, value: &str) -> Result<Seen, E> {
                Ok(Seen::Other(format!("{value:?}")))
            }
        }

        deserializer.deserialize_any(Look)
    }
}

#[test]
fn numbers_reach_targets_that_ask_for_it_as_their_text() {
    let text = "[7]: 1,1.10,18446744073709551616,-9223372036854775809,1e999,-1e400,1.10.0";
    let seen = |numbers| {
        let options = DecodeOptions { numbers, ..DecodeOptions::default() };
        let seen: Vec<Seen> = toon::from_str_with(text, options).unwrap();
        seen
    };
    let token = |text: &str| Seen::Token(text.to_owned());
    let other = |text: &str| Seen::Other(text.to_owned());
    let wide = ["18446744073709551616", "-9223372036854775809", "1e999", "-1e400"].map(token);
    let [a, b, c, d] = wide;
    assert_eq!(seen(NumberText::Wide), [other("1"), other("1.1"), a, b, c, d, other("\"1.10.0\"")]);
    let tokens = seen(NumberText::Tokens);
    assert_eq!(tokens[..2], [token("1"), token("1.10")]);
    assert!(tokens[2..6].iter().all(|seen| matches!(seen, Seen::Token(_))));
    assert_eq!(tokens[6], other("\"1.10.0\""));
    let canonical = seen(NumberText::Canonical);
    assert!(canonical.iter().all(|seen| matches!(seen, Seen::Other(_))), "{canonical:?}");
}
