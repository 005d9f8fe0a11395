//! Rows that go to a struct by position mean what they mean by name.

use std::fmt;

use proptest::{collection::vec, prelude::*};
use samuel_toon as toon;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

#[derive(Debug, PartialEq, Deserialize)]
struct Table<T> {
    rows: Vec<T>,
}

/// Has the fields in the order of the columns.
#[derive(Debug, PartialEq, Deserialize)]
struct Alike {
    a: String,
    b: Option<i8>,
    g: Group,
    c: String,
}

/// Has the same fields in another order, so that names decide.
#[derive(Debug, PartialEq, Deserialize)]
struct Shuffled {
    g: Group,
    c: String,
    b: Option<i8>,
    a: String,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Group {
    x: f64,
    y: bool,
}

impl From<Shuffled> for Alike {
    fn from(Shuffled { g, c, b, a }: Shuffled) -> Self {
        Self { a, b, g, c }
    }
}

fn cell() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z0-9 ]{0,12}",
        2 => r#""([a-z,: ]|\\"|\\\\|\\n){0,12}""#,
        1 => r#"[a-z":,\\ ]{0,4}"#,
        1 => any::<String>().prop_map(|text| text.replace(['\n', '\r'], " ")),
    ]
}

/// Mostly four or five sound cells; here and there none that fits.
fn row() -> impl Strategy<Value = String> {
    let number = prop_oneof![8 => "-?[1-9][0-9]?", 2 => Just("null".to_owned()), 1 => cell()];
    let float = prop_oneof![8 => "-?[1-9]\\.[0-9]{1,3}", 1 => cell()];
    let flag = prop_oneof![8 => Just("true".to_owned()), 1 => cell()];
    let spaces = prop_oneof![4 => Just(""), 1 => Just(" ")];
    let end =
        prop_oneof![20 => Just(""), 1 => Just(" "), 1 => Just("\r"), 1 => Just(",z"), 1 => Just("\u{e9}")];
    (cell(), number, float, flag, cell(), spaces, end)
        .prop_map(|(a, b, x, y, c, space, end)| format!("{a},{space}{b}{space},{x},{y},{c}{end}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_row_by_position_is_the_row_by_name(rows in vec(row(), 1..5)) {
        let text = format!("rows[{}]{{a,b,g{{x,y}},c}}:\n  {}\n", rows.len(), rows.join("\n  "));
        let by_position = toon::from_str::<Table<Alike>>(&text);
        let by_name = toon::from_str::<Table<Shuffled>>(&text);
        match (by_position, by_name) {
            (Ok(alike), Ok(shuffled)) => {
                let rows: Vec<Alike> = shuffled.rows.into_iter().map(Alike::from).collect();
                prop_assert_eq!(alike.rows, rows, "{}", text);
            }
            (alike, shuffled) => {
                let told = (alike.map(drop).map_err(|e| format!("{e:?}")), shuffled.map(drop).map_err(|e| format!("{e:?}")));
                prop_assert_eq!(&told.0, &told.1, "{}", text);
            }
        }
    }
}

#[test]
fn a_type_that_reads_only_maps_is_read_by_name() {
    #[derive(Debug, PartialEq)]
    struct Sum(u32);

    impl<'de> Deserialize<'de> for Sum {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Both;

            impl<'de> Visitor<'de> for Both {
                type Value = Sum;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("two numbers")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sum, A::Error> {
                    let mut sum = 0;
                    while let Some((_, number)) = map.next_entry::<String, u32>()? {
                        sum += number;
                    }
                    Ok(Sum(sum))
                }
            }

            deserializer.deserialize_struct("Sum", &["a", "b"], Both)
        }
    }

    let table: Table<Sum> = toon::from_str("rows[2]{a,b}:\n  1,2\n  3,4").unwrap();
    assert_eq!(table.rows, [Sum(3), Sum(7)]);
}

#[test]
fn an_alias_never_takes_the_column_of_another_field() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Renamed {
        #[serde(alias = "b")]
        a: u32,
        #[serde(default)]
        c: u32,
    }

    let table: Table<Renamed> = toon::from_str("rows[1]{b,c}:\n  1,2").unwrap();
    assert_eq!(table.rows, [Renamed { a: 1, c: 2 }]);
    // The columns are just the names that serde lists, but they are not the fields.
    let error = toon::from_str::<Table<Renamed>>("rows[1]{a,b,c}:\n  1,2,3").unwrap_err();
    assert!(error.to_string().starts_with("duplicate field `a`"), "{error}");
}

#[test]
fn an_error_in_a_row_names_line_column_and_path() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only the errors matter")]
    struct Task {
        id: String,
        iteration: u64,
    }

    let told = |rows: &str| {
        let text = format!("rows[2]{{id,iteration}}:\n  a,1\n{rows}");
        let error = toon::from_str::<Table<Task>>(&text).unwrap_err();
        (error.kind().code(), error.line(), error.column(), error.path().to_owned())
    };
    let at = |code, column, path: &str| (code, 3, column, path.to_owned());
    assert_eq!(told("  b,soon"), at("data", 5, "rows[1].iteration"));
    assert_eq!(told("  b, \"2"), at("unterminated_string", 6, "rows[1]"));
    assert_eq!(told("  \"b\" c,2"), at("after_quote", 6, "rows[1]"));
    assert_eq!(told("  b"), at("width_mismatch", 3, "rows[1]"));
    assert_eq!(told("  b,2,3"), at("width_mismatch", 3, "rows[1]"));
    assert_eq!(told("  b: 2"), at("stray_line", 3, "rows"));
    assert_eq!(told("  \"b\": \"2"), at("stray_line", 3, "rows"));
}

#[test]
fn declared_lengths_make_room_for_no_more_than_the_text_could_hold() {
    /// The sum of all hints in a sequence of sequences.
    struct Hints(usize);

    impl<'de> Deserialize<'de> for Hints {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Sum;

            impl<'de> Visitor<'de> for Sum {
                type Value = Hints;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("anything")
                }

                fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Hints, A::Error> {
                    let mut sum = seq.size_hint().unwrap_or(0);
                    while let Some(Hints(inner)) = seq.next_element()? {
                        sum += inner;
                    }
                    Ok(Hints(sum))
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Hints, A::Error> {
                    let mut sum = map.size_hint().unwrap_or(0);
                    while let Some((_, Hints(inner))) = map.next_entry::<IgnoredAny, Hints>()? {
                        sum += inner;
                    }
                    Ok(Hints(sum))
                }

                fn visit_u64<E>(self, _: u64) -> Result<Hints, E> {
                    Ok(Hints(0))
                }
            }

            deserializer.deserialize_any(Sum)
        }
    }

    let honest = "[2]:\n  - [3]: 1,2,3\n  - [1]:\n    - 4";
    assert_eq!(toon::from_str::<Hints>(honest).unwrap().0, 6);
    let lying = "[999999]:\n  - [999999]: 1,2,3\n  - [999999]:\n    - 4";
    let lenient = toon::DecodeOptions { strict: false, ..Default::default() };
    assert_eq!(toon::from_str_with::<Hints>(lying, lenient).unwrap().0, 0);
}
