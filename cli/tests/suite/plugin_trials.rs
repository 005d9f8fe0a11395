//! A plugin that is tried out and heard: its settings, its input, its log, what it is told of a run.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    bench::{AtTerminal, Bench, Ran, says},
    plugin_life::lint,
};

#[test]
fn settings_that_a_plugin_does_not_take_keep_it_from_running_and_its_trial_takes_what_it_is_given() {
    let bench = Bench::with_tasks(&["One"]);
    lint(&bench);
    let manifest = bench.read("lint/samuel-plugin.toml");
    let settings =
        "[settings]\nlevel = { type = \"integer\", required = true, description = \"how strict\" }\n";
    bench.write("lint/samuel-plugin.toml", &format!("{manifest}{settings}"));
    let script = "#!/bin/sh\nls -A >&2\ncat > ../call.json\necho '{\"ok\": true}'\n";
    bench.write("lint/hooks/quality-check.sh", script);
    let refused = bench.samuel(&["plugin", "test", "lint"]).ends(2);
    says(&refused.stderr, &["the settings of the plugin lint do not fit", "level is missing"]);
    bench.write("config.toml", "level = 3\n");
    bench.write("input.json", "{\"commands\": [\"make\"]}");
    bench.write("seen/there.txt", "");
    let given = ["--config", "config.toml", "--input", "input.json", "--timeout", "5s", "--project", "seen"];
    let tried = bench.ok(&[&["plugin", "test", "lint"][..], &given].concat()).stdout;
    says(&tried, &["log info: there.txt"]);
    let call: Value = serde_json::from_str(&bench.read("call.json")).unwrap();
    assert_eq!((&call["config"]["level"], &call["input"]["commands"]), (&json!(3), &json!(["make"])));
    assert_eq!(call["input"]["changed_files"], json!(["src/header.rs"]), "the rest is as in the sample");

    let silent = "#!/bin/sh\nls -A >&2\necho '{\"ok\": true}'\n";
    bench.write("lint/hooks/quality-check.sh", silent);
    let empty = bench.ok(&["plugin", "test", "lint", "--config", "config.toml", "--json"]).json();
    assert_eq!(empty["data"]["trials"][0]["logged"], json!([]), "an empty project is empty");
    let there = bench.ok(&["-C", "lint", "plugin", "test", "--config", "config.toml", "--json"]).json();
    assert_eq!(there["data"]["trials"][0]["logged"], json!([]), "what -C says is no project");
    bench.write("lint/hooks/quality-check.sh", "#!/bin/sh\nsleep 60\n");
    let slow = bench.samuel(&["plugin", "test", "lint", "--config", "config.toml", "--timeout", "1s"]);
    assert!(slow.code != 0 && slow.stderr.contains("no answer within 1s"), "{slow:?}");

    bench.ok(&["install", "lint", "--yes"]);
    let refused = bench.start("true", &[]);
    assert!(refused.code == 2 && refused.stderr.contains("level is missing"), "{refused:?}");
    says(
        &bench.ok(&["info", "lint"]).stdout,
        &["It takes the settings", "level  integer  required  how strict"],
    );
}

#[test]
fn a_plugin_is_tried_out_again_whenever_one_of_its_files_changes() {
    let bench = Bench::empty();
    lint(&bench);
    let watching = AtTerminal::spawn(&bench, &["plugin", "test", "lint", "--watch"]);
    assert!(watching.wait_for("firing quality.check"), "what takes its time is told");
    assert!(watching.wait_for("log info: called with"));
    let script = bench.read("lint/hooks/quality-check.sh");
    let shows = |words: &str| {
        bench.write("lint/hooks/quality-check.sh", &script.replace("called with", words));
        assert!(watching.wait_for(&format!("log info: {words}")));
    };
    shows("told of");
    // One that cannot be tried out ends nothing.
    let manifest = bench.read("lint/samuel-plugin.toml");
    bench.write("lint/samuel-plugin.toml", &manifest.replace("quality.check", "quality.chek"));
    assert!(watching.wait_for("quality.chek"));
    bench.write("lint/samuel-plugin.toml", &manifest);
    shows("heard of");
    watching.signal(Signal::INT);
    assert_eq!(watching.end().0, 130);
}

#[test]
fn a_name_that_cannot_be_one_is_answered_with_one_that_can() {
    let bench = Bench::empty();
    let refused = bench.samuel(&["plugin", "new", "Bad_Name"]).fails(2);
    says(&refused.stderr, &["\"Bad_Name\" cannot be the name of a plugin", "Use a name such as bad-name."]);
}

#[test]
fn a_check_is_told_which_files_the_iteration_changed() {
    let bench = Bench::with_tasks(&["One"]);
    lint(&bench);
    bench.write("lint/hooks/quality-check.sh", "#!/bin/sh\ncat > ../call.json\necho '{\"ok\": true}'\n");
    bench.ok(&["install", "lint", "--yes"]);
    bench.make_repository(&["."]);
    bench.start("echo new > made.txt", &["--max-iterations", "1"]);
    let call: Value = serde_json::from_str(&fs::read_to_string(bench.path("../call.json")).unwrap()).unwrap();
    assert_eq!(call["input"]["changed_files"], json!(["made.txt"]));
}

#[test]
fn what_is_logged_is_printed_with_v_and_as_samuel_log_says() {
    let bench = Bench::empty();
    lint(&bench);
    let line = "called with";
    let of_log =
        |ran: &Ran| ran.stderr.lines().any(|text| text.contains("samuel::plugin") && text.contains(line));
    assert!(!of_log(&bench.ok(&["plugin", "test", "lint"])));
    assert!(of_log(&bench.ok(&["-v", "plugin", "test", "lint"])));
    assert!(of_log(&bench.samuel_where("SAMUEL_LOG", "samuel::plugin=info", &["plugin", "test", "lint"])));
    assert!(!of_log(&bench.samuel_where(
        "SAMUEL_LOG",
        "samuel::plugin=warn",
        &["-v", "plugin", "test", "lint"]
    )));
    let refused = bench.samuel_where("SAMUEL_LOG", "a=b=c", &["plugin", "test", "lint"]).fails(2);
    says(&refused.stderr, &["SAMUEL_LOG is no filter"]);
}
