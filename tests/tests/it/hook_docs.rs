//! docs/hooks.md says what the code does: its table of points, and a payload
//! of each that reads back as the records handlers are given.

use std::path::Path;

use samuel_core::hook::{HookPoint, Output, Point, PointVisitor};
use serde_json::Value;

fn page() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hooks.md");
    std::fs::read_to_string(file).unwrap()
}

/// Returns the JSON blocks of a point's section.
fn examples(page: &str, point: HookPoint) -> Vec<Value> {
    let (_, section) = page.split_once(&format!("\n### `{point}`\n")).expect("every point has a section");
    let section = section.split("\n### ").next().unwrap();
    let blocks = section.split("```json\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.map(|block| serde_json::from_str(block).expect("the example is JSON")).collect()
}

/// Checks that reading an example loses none of its fields.
fn assert_kept(point: HookPoint, example: &Value, read: &Value) {
    match (example, read) {
        (Value::Object(example), Value::Object(read)) => {
            for (key, value) in example {
                let kept = read.get(key).unwrap_or_else(|| panic!("{point} has no field \"{key}\""));
                assert_kept(point, value, kept);
            }
        }
        (Value::Array(example), Value::Array(read)) => {
            assert_eq!(example.len(), read.len(), "{point}");
            example.iter().zip(read).for_each(|(example, read)| assert_kept(point, example, read));
        }
        _ => assert_eq!(example, read, "{point}"),
    }
}

fn check<P: Point>(page: &str) {
    let examples = examples(page, P::POINT);
    let [given, answered] = examples.as_slice() else {
        panic!("{} has {} examples instead of two", P::POINT, examples.len());
    };
    let input: P::Input = serde_json::from_value(given.clone()).expect("the input reads");
    assert_eq!(&serde_json::to_value(&input).unwrap(), given, "{}: every field is shown", P::POINT);
    let output: P::Output = serde_json::from_value(answered.clone()).expect("the answer reads");
    assert_kept(P::POINT, answered, &serde_json::to_value(&output).unwrap());
    assert!(output.refusal().as_deref() != Some("no reason given"), "{}: a refusal has a reason", P::POINT);
}

struct Check<'a>(&'a str);

impl PointVisitor for Check<'_> {
    type Out = ();

    fn visit<P: Point>(self) {
        check::<P>(self.0);
    }
}

#[test]
fn the_payloads_on_the_page_are_those_of_the_code() {
    let page = page();
    HookPoint::ALL.iter().for_each(|point| point.visit(Check(&page)));
}

#[test]
fn the_table_on_the_page_has_every_point_with_its_kind_and_what_a_break_does() {
    let page = page();
    let (_, table) =
        page.split_once("| point | kind | \"no\" means | breaks |\n|---|---|---|---|\n").unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let expected: Vec<[String; 3]> = HookPoint::ALL
        .iter()
        .map(|point| {
            let on_failure = serde_json::to_value(point.default_on_failure()).unwrap();
            let kind = format!("{:?}", point.kind()).to_lowercase();
            [format!("`{point}`"), kind, on_failure.as_str().unwrap().to_owned()]
        })
        .collect();
    let shown: Vec<[String; 3]> =
        rows.iter().map(|row| [row[0], row[1], row[3]].map(str::to_owned)).collect();
    assert_eq!(shown, expected);
}
