//! Bombs: whatever a document claims, it ends in a typed error and little work.

use samuel_toon::{self as toon, DecodeOptions, ErrorKind, LimitKind, Limits, Value};

fn limited(limits: Limits) -> DecodeOptions {
    DecodeOptions { limits, ..DecodeOptions::default() }
}

fn kind(text: &str, limits: Limits) -> ErrorKind {
    toon::from_str_with::<Value>(text, limited(limits)).unwrap_err().kind().clone()
}

#[test]
fn a_declared_length_reserves_nothing() {
    for text in [
        "[999999999]:",
        "a[999999999]: 1",
        "a[999999999]{b}:\n  1",
        "a[99999999999999999999999999]{b}:\n  1",
        "a[999999999:]{b}:\n  k: 1",
        "a[999999999]:\n  - 1",
    ] {
        let error = toon::from_str::<Value>(text).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::CountMismatch { .. }), "{text}: {error}");
        let recovered = toon::recover::<Vec<Vec<u8>>>(text);
        assert!(!recovered.is_clean());
    }
}

#[test]
fn depth_is_bounded_in_every_form() {
    let objects: String = (0..10_000).map(|depth| format!("{}a:\n", "  ".repeat(depth.min(300)))).collect();
    let nested: String = (0..400)
        .map(|depth| format!("{}{}\n", "  ".repeat(depth), if depth == 0 { "[1]:" } else { "- [1]:" }))
        .collect();
    let groups = format!("[1]{}a{}:\n  1", "{a".repeat(10_000), "}".repeat(10_000));
    for text in [objects, nested, groups] {
        let error = toon::from_str::<Value>(&text).unwrap_err();
        let depth = ErrorKind::Limit { limit: LimitKind::Depth, maximum: 128 };
        assert_eq!(error.kind(), &depth);
        assert!(toon::recover::<Value>(&text).value.is_none());
        let lenient = DecodeOptions { strict: false, ..DecodeOptions::default() };
        assert!(toon::from_str_with::<Value>(&text, lenient).is_err());
    }
}

#[test]
fn nesting_that_is_encoded_is_bounded_too() {
    let mut value = Value::Null;
    for _ in 0..600 {
        value = Value::Array(vec![value]);
    }
    let error = toon::to_string(&value).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: LimitKind::Depth, .. }));
}

#[test]
fn bytes_rows_and_line_length_are_bounded() {
    let bytes = Limits { bytes: 10, ..Limits::default() };
    assert_eq!(kind("a: 12345678", bytes), ErrorKind::Limit { limit: LimitKind::Bytes, maximum: 10 });
    assert!(toon::from_reader_with::<Value>(&b"a: 12345678"[..], limited(bytes)).is_err());
    assert!(toon::from_reader_with::<Value>(&b"a: 1234567"[..], limited(bytes)).is_ok());

    let rows = Limits { rows: 2, ..Limits::default() };
    let too_many = ErrorKind::Limit { limit: LimitKind::Rows, maximum: 2 };
    for text in [
        "[3]: 1,2,3",
        "[3]{a}:\n  1\n  2\n  3",
        "[3]:\n  - 1\n  - 2\n  - 3",
        "a: 1\nb: 2\nc: 3",
        "[3:]{a}:\n  x: 1\n  y: 2\n  z: 3",
    ] {
        assert_eq!(kind(text, rows), too_many, "{text}");
    }
    let line = Limits { line_length: 8, ..Limits::default() };
    for text in ["a: 1234567", "[2]: 12,34,5", "a: 1\n# a long comment", "[1]{a}:\n  1234567"] {
        assert_eq!(kind(text, line), ErrorKind::Limit { limit: LimitKind::LineLength, maximum: 8 }, "{text}");
    }
    assert!(toon::from_str_with::<Value>("a: 12345\nb: 1", limited(line)).is_ok());
}

#[test]
fn columns_of_a_table_and_values_on_a_line_are_bounded() {
    let limits = Limits { columns: 2, cells: 3, ..Limits::default() };
    let columns = ErrorKind::Limit { limit: LimitKind::Columns, maximum: 2 };
    for text in ["[1]{a,b,c}:\n  1,2,3", "[1]{a{x,y},b}:\n  1,2,3", "k[1:]{a,b,c}:\n  x: 1,2,3"] {
        assert_eq!(kind(text, limits), columns, "{text}");
    }
    let error = toon::from_str_with::<Value>("k[1]{a,b,c}:\n  1,2,3", limited(limits)).unwrap_err();
    assert_eq!((error.line(), error.column()), (1, 10));
    assert!(toon::from_str_with::<Value>("[1]{a{x},b}:\n  1,2", limited(limits)).is_ok());
    let cells = ErrorKind::Limit { limit: LimitKind::Cells, maximum: 3 };
    assert_eq!(kind("[4]: 1,2,3,4", limits), cells);
    assert!(toon::from_str_with::<Value>("[3]: 1,2,3", limited(limits)).is_ok());
    let events: Vec<_> = toon::EventReader::new(&b"[4]: 1,2,3,4"[..], limited(limits)).collect();
    assert!(matches!(events.last(), Some(Err(error)) if *error.kind() == cells));
}

#[test]
fn of_many_faults_the_first_are_described_and_the_others_counted() {
    let text = format!("a: 1\n{}b: 2\n", "stray line\n".repeat(500));
    let recovered = toon::recover::<Value>(&text);
    assert_eq!((recovered.diagnostics.len(), recovered.more, recovered.skipped.len()), (100, 400, 500));
    assert_eq!(recovered.diagnostics.last().unwrap().line, 101);
    let options = limited(Limits { diagnostics: 2, ..Limits::default() });
    let found = toon::check(format!("{text}c[9]: {}", ",".repeat(2 << 20)).as_bytes(), options);
    let codes: Vec<&str> = found.diagnostics.iter().map(|fault| fault.code()).collect();
    assert_eq!(codes, ["missing_colon", "limit"], "what ends the reading is always described");
    assert_eq!(found.more, 499);
}

#[test]
fn a_path_is_no_longer_than_a_screen() {
    let key = "k".repeat(100_000);
    let found = toon::check(format!("{key}:\n  stray\n  stray\n").as_bytes(), DecodeOptions::default());
    assert!(found.diagnostics.iter().all(|fault| fault.path.len() < 600));
}

#[test]
fn many_keys_and_many_rows_of_the_same_kind_stay_linear() {
    // Quadratic work on any of these would not end within the test's patience.
    let keys: String = (0..200_000).map(|key| format!("k{key}: 1\n")).collect();
    let value: Value = toon::from_str(&keys).unwrap();
    assert_eq!(toon::to_string(&value).unwrap(), keys.trim_end());
    let entries: String = (0..200_000).map(|key| format!("  k{key}: 1\n")).collect();
    let text = format!("[200000:]{{a}}:\n{entries}");
    assert_eq!(toon::from_str::<Value>(&text).unwrap().as_object().unwrap().len(), 200_000);
    let repeated = "a: 1\n".repeat(100_000);
    let lenient = DecodeOptions { strict: false, ..DecodeOptions::default() };
    assert_eq!(toon::from_str_with::<Value>(&repeated, lenient).unwrap().as_object().unwrap().len(), 1);
    assert_eq!(toon::recover::<Value>(&repeated).skipped.len(), 99_999);
    let bad_rows = format!("[100000]{{a,b}}:\n{}", "  1\n".repeat(100_000));
    assert_eq!(toon::recover::<Value>(&bad_rows).skipped.len(), 100_000);
    let stray = "stray line\n".repeat(100_000);
    assert_eq!(toon::recover::<Value>(&format!("a: 1\n{stray}")).skipped.len(), 100_000);
}
