//! Streaming: rows, events and tables, against the codec that holds everything.

use std::io::{BufReader, Read};

use samuel_toon::{
    self as toon, DecodeOptions, EncodeOptions, ErrorKind, EventReader, LimitKind, Limits, Map, Rows,
    StreamEvent, TableWriter, Value,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Task {
    id: String,
    title: String,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    line: u32,
    file: Option<String>,
}

fn tasks(count: u32) -> Vec<Task> {
    (0..count)
        .map(|line| Task {
            id: line.to_string(),
            title: format!("a, \"b\" {line}"),
            place: Place { line, file: line.is_multiple_of(2).then(|| "x: y".to_owned()) },
        })
        .collect()
}

fn written(tasks: &[Task], options: EncodeOptions) -> Vec<u8> {
    let mut table = TableWriter::new(Vec::new(), "tasks", tasks.len() as u64, options);
    for task in tasks {
        table.write(task).unwrap();
    }
    table.finish().unwrap()
}

fn strict() -> DecodeOptions {
    DecodeOptions::default()
}

#[test]
fn a_table_written_by_rows_is_the_table_written_at_once_and_reads_back() {
    for count in [0, 1, 2, 100] {
        let all = tasks(count);
        let text = written(&all, EncodeOptions::default());
        let whole = toon::to_vec(&Map::from_iter([("tasks", toon::to_value(&all).unwrap())])).unwrap();
        assert_eq!(text, whole);
        if count > 0 {
            let rows = Rows::open(&text[..], "tasks", strict()).unwrap();
            assert_eq!(rows.collect::<toon::Result<Vec<Task>>>().unwrap(), all);
        }
    }
}

#[test]
fn rows_are_read_from_the_middle_of_a_document_and_leave_the_rest_alone() {
    let text = "# toon v3\nname: x\nother[1]{id}:\n  9\n\"my tasks\"[2|]{id|title|place{line|file}}:\n  1|a|2|null\n  # note\n  2|\"b|c\"|3|d\nrest: {[";
    let rows = Rows::open(text.as_bytes(), "my tasks", strict()).unwrap();
    let rows: Vec<Task> = rows.map(Result::unwrap).collect();
    assert_eq!(rows.iter().map(|row| row.title.as_str()).collect::<Vec<_>>(), ["a", "b|c"]);
}

#[test]
fn a_bad_row_is_an_error_with_its_place_and_the_next_row_follows() {
    let text = "t[3]{id,title,place{line,file}}:\n  1,a,1,x\n  2,b,many,x\n  3,c,3,x";
    let mut rows = Rows::<_, Task>::open(text.as_bytes(), "t", strict()).unwrap();
    assert!(rows.next().unwrap().is_ok());
    let error = rows.next().unwrap().unwrap_err();
    assert_eq!((error.line(), error.column(), error.path()), (3, 7, "[1].place.line"));
    assert_eq!(error.offset(), text.find("many").unwrap());
    assert_eq!(rows.next().unwrap().unwrap().id, "3");
    assert!(rows.next().is_none());
}

#[test]
fn the_declared_number_of_rows_is_checked_at_the_end() {
    let text = "t[3]{a}:\n  1\n  2";
    let rows: Vec<toon::Result<Map>> = Rows::open(text.as_bytes(), "t", strict()).unwrap().collect();
    let error = rows.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::CountMismatch { declared: 3, found: 2 });
    assert_eq!(error.line(), 1);
    let lenient = DecodeOptions { strict: false, ..strict() };
    assert_eq!(Rows::<_, Map>::open(text.as_bytes(), "t", lenient).unwrap().count(), 2);
}

#[test]
fn a_row_with_other_fields_than_the_first_is_refused() {
    let mut table = TableWriter::new(Vec::new(), "", 2, EncodeOptions::default());
    table.write(&Map::from_iter([("a", 1)])).unwrap();
    assert!(table.write(&Map::from_iter([("b", 1)])).is_err());
    let mut table = TableWriter::new(Vec::new(), "", 1, EncodeOptions::default());
    assert!(table.write(&Map::from_iter([("a", vec![1])])).is_err());
    assert!(matches!(table.finish().unwrap_err().kind(), ErrorKind::CountMismatch { declared: 1, found: 0 }));
}

/// Rebuilds the value that events describe.
fn build(text: &str, options: DecodeOptions) -> toon::Result<Value> {
    let mut events = EventReader::new(text.as_bytes(), options);
    let first = events.next().unwrap()?;
    let value = value(first, &mut events)?;
    events.next().map_or(Ok(value), |event| event.map(|event| panic!("{event:?} follows the root")))
}

fn value(event: StreamEvent, events: &mut EventReader<&[u8]>) -> toon::Result<Value> {
    match event {
        StreamEvent::Primitive(value) => Ok(value),
        StreamEvent::StartArray(_) => {
            let mut values = Vec::new();
            loop {
                match events.next().unwrap()? {
                    StreamEvent::EndArray => return Ok(Value::Array(values)),
                    event => values.push(value(event, events)?),
                }
            }
        }
        StreamEvent::StartObject => {
            let mut map = Map::new();
            loop {
                match events.next().unwrap()? {
                    StreamEvent::EndObject => return Ok(Value::Object(map)),
                    StreamEvent::Key(key) => {
                        let event = events.next().unwrap()?;
                        map.insert(key, value(event, events)?);
                    }
                    event => panic!("{event:?} in an object"),
                }
            }
        }
        event => panic!("{event:?} begins no value"),
    }
}

#[test]
fn events_agree_with_the_decoder_on_every_case_of_the_oracle() {
    for (number, line) in include_str!("../data/oracle.jsonl").lines().enumerate() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = if case["k"] == "e" { &case["out"] } else { &case["in"] };
        let options = DecodeOptions {
            indent_size: case["i"].as_u64().unwrap() as usize,
            strict: case["k"] != "n",
            ..strict()
        };
        let text = text.as_str().unwrap();
        let whole: toon::Result<Value> = toon::from_str_with(text, options);
        let events = build(text, options);
        match (&whole, &events) {
            (Ok(a), Ok(b)) => assert_eq!(format!("{a:?}"), format!("{b:?}"), "case {number}"),
            (Err(_), Err(_)) => {}
            _ => panic!("case {number}: {whole:?} and {events:?} in {text:?}"),
        }
    }
}

/// A document without end, made as it is read.
struct Endless {
    pattern: &'static [u8],
    at: usize,
    left: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = buffer.len().min(self.left);
        for byte in buffer.iter_mut().take(count) {
            *byte = self.pattern[self.at % self.pattern.len()];
            self.at += 1;
        }
        self.left -= count;
        Ok(count)
    }
}

#[test]
fn a_long_table_is_read_row_by_row() {
    let head = "[1000000]{a,b}:\n".as_bytes();
    let body = Endless { pattern: b"  1,x\n", at: 0, left: 6_000_000 };
    let rows = Rows::<_, Map>::open(BufReader::new(head.chain(body)), "", strict()).unwrap();
    assert_eq!(rows.map(Result::unwrap).count(), 1_000_000);
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_memory() {
    let line = Endless { pattern: b"x", at: 0, left: usize::MAX };
    let error = EventReader::new(BufReader::new(line), strict()).next().unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: LimitKind::LineLength, .. }));
    let options = DecodeOptions { limits: Limits { bytes: 1 << 10, ..Limits::default() }, ..strict() };
    let lines = Endless { pattern: b"#\n", at: 0, left: usize::MAX };
    let error = EventReader::new(BufReader::new(lines), options).next().unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { limit: LimitKind::Bytes, maximum: 1024 }));
}
