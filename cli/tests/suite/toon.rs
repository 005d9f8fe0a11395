//! `samuel toon`: encode, decode, check, recover.

use std::fs::File;

use serde_json::{Value, json};

use crate::bench::{Bench, Ran};

const PLAN: &str = "\
# toon v3
project: samuel
tasks[2]{id,title,iteration}:
  1.10,\"Parse, then check\",4
  2,Report the place,null
";

/// A row that is too short, a line that is none, and a key that comes twice.
const DAMAGED: &str = "tasks[2]{id,title}:\n  1\n  2,ok\n<<<<<<< HEAD\nname: a\nname: b\n";

impl Bench {
    /// Runs `samuel toon` with a text on stdin.
    fn toon(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let path = self.tmp().join("stdin");
        std::fs::write(&path, stdin).unwrap();
        let mut command = self.command(&[&["toon"], args].concat());
        command.stdin(File::open(path).unwrap());
        Ran::of(command)
    }
}

/// What went through without a word on stderr.
fn printed(ran: Ran) -> String {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    ran.stdout
}

#[test]
fn json_goes_to_toon_and_back_from_a_file_and_from_stdin() {
    let bench = Bench::empty();
    let json = json!({"project": "samuel", "tasks": [{"id": "1.10", "n": 1}, {"id": "2", "n": null}]});
    let file = bench.write("plan.json", &json.to_string());
    let toon = printed(bench.toon(&["encode", file.to_str().unwrap()], b""));
    assert_eq!(toon, "project: samuel\ntasks[2]{id,n}:\n  \"1.10\",1\n  \"2\",null\n");
    for args in [&["encode"][..], &["encode", "-"]] {
        assert_eq!(printed(bench.toon(args, json.to_string().as_bytes())), toon);
    }
    bench.write("plan.toon", &toon);
    let back = printed(bench.toon(&["decode", "plan.toon"], b""));
    assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), json);
    assert!(back.contains("\n  \"tasks\": [\n"), "{back}");
    assert_eq!(printed(bench.toon(&["decode"], toon.as_bytes())), back);
}

#[test]
fn a_file_of_samuel_can_be_read() {
    let bench = Bench::with_tasks(&["First"]);
    let prd = bench.prd();
    let json = printed(bench.toon(&["decode", prd.to_str().unwrap()], b""));
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["tasks"][0]["title"], "First");
    printed(bench.toon(&["check", prd.to_str().unwrap()], b""));
}

#[test]
fn delimiter_and_indentation_can_be_chosen() {
    let bench = Bench::empty();
    let json = br#"{"a": {"rows": [{"x": 1, "y": "p|q,r"}, {"x": 2, "y": "s"}]}}"#;
    let encode = |args: &[&str]| printed(bench.toon(&[&["encode"], args].concat(), json));
    assert_eq!(encode(&["--delimiter", "pipe"]), "a:\n  rows[2|]{x|y}:\n    1|\"p|q,r\"\n    2|s\n");
    let tabs = encode(&["--delimiter", "tab", "--indent", "4"]);
    assert_eq!(tabs, "a:\n    rows[2\t]{x\ty}:\n        1\tp|q,r\n        2\ts\n");
    let back = printed(bench.toon(&["decode", "--indent", "4"], tabs.as_bytes()));
    assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), serde_json::from_slice::<Value>(json).unwrap());
}

#[test]
fn numbers_of_any_size_keep_their_digits_in_json() {
    let bench = Bench::empty();
    let digits = "123456789012345678901234567890123456789012345";
    let text = format!("big: {digits}\ntext: \"007\"");
    assert_eq!(
        printed(bench.toon(&["decode"], text.as_bytes())),
        format!("{{\n  \"big\": {digits},\n  \"text\": \"007\"\n}}\n")
    );
}

#[test]
fn the_place_of_a_fault_is_named_with_the_next_step() {
    let bench = Bench::empty();
    bench.write("bad.toon", "tasks[2]{id,title}:\n  1,\u{fc}ber\n  2\n");
    let ran = bench.toon(&["decode", "bad.toon"], b"").fails(1);
    assert_eq!(
        ran.stderr,
        "error: a row of 1 cell under a header of 2 fields in tasks[1]\n  --> bad.toon:3:3\nhelp: Correct \
         the text at the place named above, or print what can be read of it with `samuel toon recover`.\n"
    );
    bench.write("bad.json", "{\"a\": 1,\n \"\u{fc}\": ?}");
    let ran = bench.toon(&["encode", "bad.json"], b"").fails(1);
    assert_eq!(
        ran.stderr,
        "error: expected value\n  --> bad.json:2:7\nhelp: Correct the JSON at the place named above.\n"
    );
    let document = bench.toon(&["decode", "--json"], b"a: 1\nb").json();
    assert_eq!(document["command"], "toon decode");
    assert_eq!(document["error"]["code"], "E_TOON_INVALID");
    assert_eq!(document["error"]["location"], json!({"file": "<stdin>", "line": 2, "column": 1}));
}

#[test]
fn what_strict_mode_refuses_can_be_read_over() {
    let bench = Bench::empty();
    let text = b"tags[3]: a,b\nname: x\nname: y";
    assert_eq!(bench.toon(&["decode"], text).code, 1);
    let json = printed(bench.toon(&["decode", "--no-strict"], text));
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), json!({"tags": ["a", "b"], "name": "y"}));
}

#[test]
fn check_lists_every_fault_and_fails() {
    let bench = Bench::empty();
    assert_eq!(printed(bench.toon(&["check"], PLAN.as_bytes())), "<stdin> is valid TOON\n");
    bench.write("bad.toon", DAMAGED);
    let ran = bench.toon(&["check", "bad.toon"], b"").fails(1);
    for line in [
        "error: bad.toon has 3 faults\n",
        "  2:3: width_mismatch: a row of 1 cell under a header of 2 fields in tasks\n",
        "  4:1: stray_line: a line that is neither a row nor an item in tasks\n",
        "duplicate_key: the key \"name\" appears twice",
        "  --> bad.toon:2:3\n",
    ] {
        assert!(ran.stderr.contains(line), "{line}\n{}", ran.stderr);
    }
    let document = bench.toon(&["check", "bad.toon", "--json"], b"").json();
    assert_eq!((&document["ok"], &document["data"]["valid"]), (&json!(false), &json!(false)));
    let first = &document["data"]["diagnostics"][0];
    assert_eq!((&first["code"], &first["line"]), (&json!("width_mismatch"), &json!(2)));
    assert_eq!((&first["span"], &first["action"]), (&json!({"start": 22, "end": 23}), &json!("skipped")));
}

#[test]
fn recover_prints_the_mended_text_and_names_what_it_left_out() {
    let bench = Bench::empty();
    let ran = bench.toon(&["recover"], DAMAGED.as_bytes());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "tasks[1]{id,title}:\n  2,ok\nname: b\n");
    for part in ["warning: <stdin>:2:3: width_mismatch: ", "left out from line 4 on:\n    <<<<<<< HEAD\n"] {
        assert!(ran.stderr.contains(part), "{part}\n{}", ran.stderr);
    }
    printed(bench.toon(&["check"], ran.stdout.as_bytes()));
    let document = bench.toon(&["recover", "--json"], DAMAGED.as_bytes()).json();
    assert_eq!(document["data"]["toon"], ran.stdout.trim_end());
    assert_eq!(document["data"]["skipped"][0]["raw"], "  1");
    assert_eq!(document["warnings"].as_array().unwrap().len(), 6);
}

#[test]
fn recover_leaves_a_sound_text_as_it_is() {
    let bench = Bench::empty();
    assert_eq!(printed(bench.toon(&["recover"], PLAN.as_bytes())), PLAN);
}

#[test]
fn recover_fails_where_nothing_can_be_read() {
    let bench = Bench::empty();
    let deep: String = (0..200).map(|depth| format!("{}a:\n", " ".repeat(2 * depth))).collect();
    let ran = bench.toon(&["recover"], deep.as_bytes()).fails(1);
    assert!(ran.stderr.contains("more than 128 levels of nesting"), "{}", ran.stderr);
}

#[test]
fn an_input_that_is_not_there_or_too_large_is_refused() {
    let bench = Bench::empty();
    for verb in ["encode", "decode", "check", "recover"] {
        let ran = bench.toon(&[verb, "nowhere.toon"], b"").fails(1);
        assert!(ran.stderr.contains("cannot read nowhere.toon\n  caused by: No such file"), "{}", ran.stderr);
        assert!(ran.stderr.contains("help: Check that the file exists"), "{}", ran.stderr);
        let document = bench.toon(&[verb, "nowhere.toon", "--json"], b"").json();
        assert_eq!(document["command"], format!("toon {verb}"));
        assert_eq!(document["error"]["code"], "E_INPUT_IO");
    }
    File::create(bench.path("large.toon")).unwrap().set_len((64 << 20) + 1).unwrap();
    let ran = bench.toon(&["decode", "large.toon"], b"").fails(1);
    assert!(ran.stderr.contains("large.toon holds more than 64 MiB"), "{}", ran.stderr);
}

#[test]
fn a_wrong_option_is_a_usage_error() {
    let bench = Bench::empty();
    for args in [&["encode", "--delimiter", "semicolon"][..], &["decode", "--indent", "0"], &["mend"], &[]] {
        bench.toon(args, b"{}").fails(2);
    }
    let document = bench.toon(&["encode", "--delimiter", "semicolon", "--json"], b"{}").json();
    assert_eq!(
        (&document["command"], &document["error"]["code"]),
        (&json!("toon encode"), &json!("E_USAGE"))
    );
}

#[test]
fn text_that_would_act_on_a_terminal_is_escaped_in_messages() {
    let bench = Bench::empty();
    let ran = bench.toon(&["recover"], b"a: 1\n\x1b[2Jb\n");
    assert!(!ran.stderr.contains('\u{1b}') && ran.stderr.contains("\\u{1b}[2Jb"), "{}", ran.stderr);
}
