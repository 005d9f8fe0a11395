//! Recovery of damaged documents: what is kept, what is reported, what is skipped.

use std::{fmt, marker::PhantomData};

use samuel_toon::{self as toon, Action, ErrorKind, Lenient, LimitKind, Limits, Map, Recovered, Value};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor},
};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plan {
    version: String,
    tasks: Vec<Task>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(flatten)]
    extra: Map,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Task {
    id: String,
    title: String,
    status: Status,
    iteration: Option<u64>,
    #[serde(flatten)]
    extra: Map,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    Completed,
}

fn plan(text: &str) -> Recovered<Plan> {
    let recovered = toon::recover::<Plan>(text);
    for skipped in &recovered.skipped {
        assert_eq!(&text[skipped.span.clone()], skipped.raw, "the span of skipped text is exact");
    }
    recovered
}

fn ids(recovered: &Recovered<Plan>) -> Vec<&str> {
    recovered.value.as_ref().unwrap().tasks.iter().map(|task| task.id.as_str()).collect()
}

fn codes(recovered: &Recovered<Plan>) -> Vec<&'static str> {
    recovered.diagnostics.iter().map(toon::Diagnostic::code).collect()
}

#[test]
fn a_valid_document_is_clean() {
    let recovered = plan("version: 1\ntasks[1]{id,title,status,iteration}:\n  1.10,\"a, b\",pending,null");
    assert!(recovered.is_clean() && recovered.skipped.is_empty());
    assert_eq!(recovered.value.unwrap().tasks[0].title, "a, b");
}

#[test]
fn a_row_of_the_wrong_type_loses_only_itself() {
    let recovered = plan(
        "version: 1\ntasks[3]{id,title,status,iteration}:\n  1,a,pending,1\n  2,b,pending,soon\n  3,c,completed,3",
    );
    assert_eq!(ids(&recovered), ["1", "3"]);
    assert_eq!(recovered.skipped[0].raw, "  2,b,pending,soon");
    assert_eq!(recovered.skipped[0].line, 4);
    let diagnostic = &recovered.diagnostics[0];
    assert_eq!((diagnostic.code(), diagnostic.line, diagnostic.column), ("data", 4, 15));
    assert_eq!((diagnostic.path.as_str(), diagnostic.action), ("tasks[1].iteration", Action::Skipped));
}

#[test]
fn every_broken_row_is_reported_and_every_sound_one_is_kept() {
    let mut text = String::from("version: 1\ntasks[300]{id,title,status,iteration}:\n");
    for id in 0..300 {
        let row = match id % 6 {
            0 => format!("  {id},a,unknown,1\n"),
            1 => format!("  {id},a,pending\n"),
            2 => format!("  {id},\"a,pending,1\n"),
            3 => format!("  {id},a,pending,-1\n"),
            4 => format!("  {id},\"a\\x\",pending,1\n"),
            _ => format!("  {id},a,pending,1\n"),
        };
        text.push_str(&row);
    }
    let recovered = plan(&text);
    assert_eq!(recovered.value.as_ref().unwrap().tasks.len(), 50);
    assert_eq!(recovered.skipped.len(), 250);
    assert_eq!((recovered.diagnostics.len(), recovered.more), (100, 150), "the count is right");
    assert_eq!(
        codes(&recovered)[..5],
        ["data", "width_mismatch", "unterminated_string", "data", "invalid_escape"]
    );
}

/// Tasks that are read one by one, each of which may fail.
#[derive(Debug, PartialEq)]
struct Tasks(Vec<Task>);

impl<'de> Deserialize<'de> for Tasks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TasksVisitor;

        impl<'de> Visitor<'de> for TasksVisitor {
            type Value = Tasks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tasks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tasks, A::Error> {
                let mut tasks = Vec::new();
                while let Some(task) = seq.next_element_seed(Lenient(PhantomData))? {
                    tasks.extend(task);
                }
                Ok(Tasks(tasks))
            }
        }

        deserializer.deserialize_seq(TasksVisitor)
    }
}

#[test]
fn attempts_leave_out_what_whole_types_leave_out() {
    let rows = "[6]{id,title,status,iteration}:\n  1,a,pending,1\n  2,b,perhaps,1\n  3,c,pending,soon\n  4,d\n  \
                5,e,pending,null\n  6,f,perhaps,9";
    let items = "[6]:\n  - id: 1\n    title: a\n    status: pending\n    deep:\n      a: 1\n  - id: 2\n    \
                 status:\n      - pending\n  - text\n  - id: 4\n    deep:\n      b:\n        c: 1\n  - id: 5\n    \
                 title: e\n    status: pending\n  - id: 6\n    title: f\n    status: pending\n    iteration: soon";
    for (text, read) in [(rows, &["1", "5"][..]), (items, &["1", "5", "6"])] {
        let tried = toon::recover::<Tasks>(text);
        let whole = toon::recover::<Vec<Task>>(text);
        let ids: Vec<&str> = tried.value.as_ref().unwrap().0.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, read);
        assert_eq!(Some(&tried.value.as_ref().unwrap().0), whole.value.as_ref());
        assert_eq!((&tried.skipped, tried.more), (&whole.skipped, whole.more));
        let places = |diagnostics: &[toon::Diagnostic]| -> Vec<(usize, String)> {
            diagnostics.iter().map(|fault| (fault.line, fault.path.clone())).collect()
        };
        assert_eq!(places(&tried.diagnostics), places(&whole.diagnostics));
        assert!(toon::from_str::<Tasks>(text).is_err(), "strict mode leaves out nothing");
    }
    let text = "[2]{id,title,status,iteration}:\n  1,a,pending,1\n  2,b,pending,1";
    assert_eq!(toon::from_str::<Tasks>(text).unwrap().0.len(), 2);
    let json = r#"[{"id": "1", "title": "a", "status": "pending"}]"#;
    assert_eq!(serde_json::from_str::<Tasks>(json).unwrap().0.len(), 1);
}

#[test]
fn a_wrong_count_is_a_note_and_nothing_else() {
    let recovered = plan("version: 1\ntasks[7]{id,title,status,iteration}:\n  1,a,pending,1");
    assert_eq!(ids(&recovered), ["1"]);
    assert_eq!(recovered.diagnostics[0].kind, ErrorKind::CountMismatch { declared: 7, found: 1 });
    assert_eq!(recovered.diagnostics[0].action, Action::Kept);
    assert!(recovered.skipped.is_empty());
}

#[test]
fn a_broken_length_does_not_lose_the_table() {
    for header in ["tasks[x]", "tasks[]", "tasks[-1]", "tasks[01]", "tasks[2"] {
        let text =
            format!("version: 1\n{header}{{id,title,status,iteration}}:\n  1,a,pending,1\n  2,b,pending,1");
        let recovered = plan(&text);
        assert_eq!(ids(&recovered), ["1", "2"], "{header}");
        assert_eq!(codes(&recovered), ["malformed_header"]);
    }
}

#[test]
fn a_broken_field_list_is_skipped_with_its_rows_and_the_rest_is_read() {
    let text =
        "version: 1\nnotes[2{a:\n  x,y\n  z\ntasks[1]{id,title,status,iteration}:\n  1,a,pending,1\nname: p";
    let recovered = plan(text);
    assert_eq!(ids(&recovered), ["1"]);
    assert_eq!(recovered.skipped[0].raw, "notes[2{a:\n  x,y\n  z");
    assert_eq!(recovered.value.unwrap().extra.get("name").and_then(Value::as_str), Some("p"));
}

#[test]
fn the_last_of_repeated_keys_wins_and_the_others_are_kept_as_text() {
    let text = "version: 1\ntasks: []\nname: a\nversion: 2\nname: b\nversion: 3";
    let recovered = plan(text);
    let value = recovered.value.as_ref().unwrap();
    assert_eq!((value.version.as_str(), value.extra.get("name").unwrap().as_str()), ("3", Some("b")));
    let raws: Vec<&str> = recovered.skipped.iter().map(|skipped| skipped.raw.as_str()).collect();
    assert_eq!(raws, ["version: 1", "name: a", "version: 2"]);
    assert_eq!(codes(&recovered), ["duplicate_key"; 3]);
}

#[test]
fn an_over_indented_line_is_skipped_and_its_neighbours_are_read() {
    let recovered = plan("version: 1\n    stray: 1\ntasks: []\nname: p");
    assert_eq!(recovered.skipped[0].raw, "    stray: 1");
    assert_eq!(codes(&recovered), ["over_indented"]);
    assert!(recovered.value.unwrap().extra.get("name").is_some());
}

#[test]
fn a_row_is_read_at_any_depth() {
    let recovered = plan(
        "version: 1\ntasks[3]{id,title,status,iteration}:\n  1,a,pending,1\n    2,b,pending,1\n  3,c,pending,1",
    );
    assert_eq!(ids(&recovered), ["1", "2", "3"]);
    assert!(recovered.skipped.is_empty());
}

#[test]
fn merge_markers_end_no_table() {
    let recovered = plan(
        "version: 1\ntasks[3]{id,title,status,iteration}:\n  1,a,pending,1\n<<<<<<< ours\n  2,b,pending,1\n=======\n  2,b,completed,4\n>>>>>>> theirs\n  3,c,pending,1\nname: p",
    );
    assert_eq!(ids(&recovered), ["1", "2", "2", "3"]);
    let raws: Vec<&str> = recovered.skipped.iter().map(|skipped| skipped.raw.as_str()).collect();
    assert_eq!(raws, ["<<<<<<< ours", "=======", ">>>>>>> theirs"]);
    assert!(recovered.value.unwrap().extra.get("name").is_some());
}

#[test]
fn bytes_that_are_not_utf8_lose_only_their_line() {
    let text = b"version: 1\ntasks[2]{id,title,status,iteration}:\n  1,a\xFFb,pending,1\n  2,b,pending,1\n";
    let recovered = toon::recover_with::<Plan>(text, toon::DecodeOptions::default());
    assert_eq!(ids(&recovered), ["2"]);
    assert_eq!(codes(&recovered), ["count_mismatch", "invalid_utf8"]);
    let skipped = &recovered.skipped[0];
    assert_eq!(skipped.bytes.as_deref(), Some(&b"  1,a\xFFb,pending,1"[..]));
    assert_eq!((skipped.line, recovered.diagnostics[1].column), (3, 6));
}

#[test]
fn unknown_keys_and_columns_survive_a_rewrite_as_written() {
    let text = "version: 1\ntasks[1]{id,title,status,iteration,weight,owner}:\n  1.10,a,pending,null,1.50,\"007\"\nnotes[1]: x\nratio: 1e5\nhuge: 340282366920938463463374607431768211456\nlimits:\n  a: 0.10";
    let recovered = plan(text);
    assert!(recovered.is_clean());
    let written = toon::to_string(&recovered.value.unwrap()).unwrap();
    assert_eq!(written, text.replace("1.10,a", "\"1.10\",a").replace("version: 1\n", "version: \"1\"\n"));
}

#[test]
fn tabs_blank_lines_and_odd_indentation_are_read_over() {
    let recovered =
        plan("version: 1\ntasks[2]{id,title,status,iteration}:\n\t1,a,pending,1\n\n   2,b,pending,1");
    assert_eq!(ids(&recovered), ["1", "2"]);
    assert!(recovered.skipped.is_empty());
    assert_eq!(codes(&recovered), ["tab_indentation", "blank_line", "uneven_indentation"]);
}

#[test]
fn a_line_without_a_colon_and_an_open_quote_are_skipped() {
    let recovered = plan("version: 1\nwhat is this\ntasks: []\ntitle: \"open\nname: p\nx: \"y\" z");
    let raws: Vec<&str> = recovered.skipped.iter().map(|skipped| skipped.raw.as_str()).collect();
    assert_eq!(raws, ["what is this", "title: \"open", "x: \"y\" z"]);
    assert_eq!(codes(&recovered), ["missing_colon", "unterminated_string", "after_quote"]);
    assert!(recovered.value.unwrap().extra.get("name").is_some());
}

#[test]
fn a_list_item_of_the_wrong_type_loses_only_itself() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Steps {
        steps: Vec<Step>,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Step {
        run: String,
        retries: u8,
    }
    let text = "steps[4]:\n  - run: a\n    retries: 1\n  - run: b\n    retries: 300\n  - only text\n  - run: c\n    retries: 3";
    let recovered = toon::recover::<Steps>(text);
    let steps = recovered.value.unwrap().steps;
    assert_eq!(steps.iter().map(|step| step.run.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert!(recovered.skipped.iter().any(|skipped| skipped.raw.contains("retries: 300")));
    assert!(recovered.skipped.iter().any(|skipped| skipped.raw == "  - only text"));
}

#[test]
fn without_a_required_field_there_is_no_value_but_a_reason() {
    let recovered = plan("name: p");
    assert_eq!(recovered.value, None);
    assert_eq!(recovered.diagnostics[0].action, Action::Stopped);
}

#[test]
fn a_limit_stops_recovery_too() {
    let options = toon::DecodeOptions {
        limits: Limits { depth: 8, ..Limits::default() },
        ..toon::DecodeOptions::default()
    };
    let mut text = String::new();
    for depth in 0..20 {
        text.push_str(&format!("{}a:\n", "  ".repeat(depth)));
    }
    let recovered = toon::recover_with::<Value>(text.as_bytes(), options);
    assert_eq!(recovered.value, None);
    let kind = &recovered.diagnostics.last().unwrap().kind;
    assert!(matches!(kind, ErrorKind::Limit { limit: LimitKind::Depth, maximum: 8 }));
}
