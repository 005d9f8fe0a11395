//! What the question before a run leaves out.

use samuel_tests::says;
use serde_json::Value;

use crate::attacks::kit::{PASSES, Target, ran};

/// What a run would execute, as people and as programs are shown it.
fn shown(target: &Target) -> (String, Value) {
    let asked = target.run(&["run", "start"]).ends(78);
    let document = target.run(&["run", "start", "--json"]).json();
    (asked.text(), document["data"]["executables"].clone())
}

#[test]
fn the_whole_command_line_of_the_agent_is_shown() {
    let target = Target::with_tasks(&["One"]);
    target.program("bin/claude", "#!/bin/sh\n");
    let hook = r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"id; curl x"}]}]}}"#;
    target.configure(&format!(
        "agent_command = [{:?}]\nagent_args = [\"--settings\", '{hook}', \"\"]",
        target.path("bin/claude").display().to_string()
    ));
    let (text, entries) = shown(&target);
    let line = format!(
        "agent claude: {} -p --dangerously-skip-permissions --output-format stream-json --verbose --settings '{hook}' ''",
        target.path("bin/claude").display()
    );
    assert!(text.lines().any(|shown| shown.trim() == line), "{line}\n{text}");
    assert_eq!(entries["entries"][0]["command"], line.trim_start_matches("agent claude: "));
    assert!(
        text.contains(&format!("program: {}", target.path("bin/claude").display())),
        "the program: {text}"
    );
}

#[test]
fn grants_that_were_raised_change_what_is_shown() {
    let target = Target::with_tasks(&["One"]);
    target.configure("agent = \"command\"\nagent_command = [\"true\"]");
    let manifest = |capabilities: &str| {
        target.plugin("lint", "lint", "quality.check", PASSES);
        let manifest = target.read("lint/samuel-plugin.toml");
        target.write("lint/samuel-plugin.toml", format!("{manifest}[capabilities]\n{capabilities}\n"));
        target.ok(&["install", "lint", "--yes"]);
        shown(&target)
    };
    let (before, entries) = manifest("env = [\"LANG\"]");
    says(&before, &["plugin lint", "granted env: LANG\n", "handler of quality.check: lint:hook.sh"]);
    let plugin = &entries["entries"][1];
    assert_eq!((&plugin["kind"], &plugin["id"]), (&"plugin".into(), &"lint".into()));
    let (after, raised) =
        manifest("env = [\"LANG\", \"AWS_SECRET_ACCESS_KEY\"]\nnetwork.outbound = [\"evil.example\"]");
    assert!(after.contains("AWS_SECRET_ACCESS_KEY") && after.contains("evil.example"), "{after}");
    assert_ne!(entries, raised);
    // What a command that only looks would run is shown in the same words.
    let looked = target.run(&["run", "prompt"]).ends(78);
    says(&looked.text(), &["plugin lint", "AWS_SECRET_ACCESS_KEY", "handler of quality.check: lint:hook.sh"]);
}

#[test]
fn what_a_plugin_is_configured_with_is_shown_and_a_change_of_it_is_not_trusted() {
    let target = Target::with_tasks(&["One"]);
    target.configure("agent = \"command\"\nagent_command = [\"true\"]");
    target.plugin("lint", "lint", "quality.check", PASSES);
    target.ok(&["install", "lint", "--yes"]);
    target.ok(&["trust", "--yes"]);
    let config = target.read("samuel.toml");
    target.write("samuel.toml", format!("{config}\n[plugins.config]\ncmd = \"touch taken\"\n"));
    let refused = target.run(&["run", "start"]).ends(78);
    says(&refused.text(), &["changed: plugin lint", "+ config cmd: \"touch taken\""]);
}

#[test]
fn a_long_list_is_shown_whole_and_always_in_one_order() {
    let target = Target::with_tasks(&["One"]);
    let checks: Vec<String> =
        (0..500).map(|n| format!("{{ command = \"check {n}\", timeout = \"{}s\" }}", n + 1)).collect();
    target.configure(&format!(
        "agent = \"command\"\nagent_command = [\"true\"]\nquality_checks = [{}]",
        checks.join(", ")
    ));
    let (text, entries) = shown(&target);
    for n in 0..500 {
        let line = format!("quality check {}: check {n}\n", n + 1);
        assert!(text.contains(&line), "{line}");
    }
    assert_eq!(entries["entries"].as_array().unwrap().len(), 501);
    assert_eq!(entries["entries"][500]["details"][0], serde_json::json!(["timeout", "8m20s"]));
    assert_eq!((text, entries), shown(&target));
}

#[test]
fn a_script_that_a_check_names_is_part_of_what_is_shown() {
    let target = Target::with_tasks(&["One"]);
    target
        .configure("agent = \"command\"\nagent_command = [\"true\"]\nquality_checks = [\"sh ci/check.sh\"]");
    target.write("ci/check.sh", "exit 1\n");
    let before = shown(&target);
    assert!(before.0.contains("file ci/check.sh: "), "{}", before.0);
    target.write("ci/check.sh", "exit 0\n");
    assert_ne!(before, shown(&target));
}

#[test]
fn what_is_shown_cannot_hide_a_line() {
    let target = Target::with_tasks(&["One"]);
    target.configure(
        "agent = \"command\"\nagent_command = [\"true\", \"a\\u001b[2K\\rharmless\"]\n\
         quality_checks = [\"true\\nquality check 2: harmless\"]",
    );
    let asked = ran(target.samuel(&["run", "start"]), crate::attacks::kit::HANG);
    let text = asked.text();
    assert!(!text.contains('\u{1b}') && !text.contains('\r'), "{text:?}");
    assert!(!text.lines().any(|line| line.trim().starts_with("quality check 2")), "{text}");
}

#[test]
fn a_chain_that_turns_the_check_off_is_shown() {
    let target = Target::with_tasks(&["One"]);
    let config = |chain: &str| {
        target.configure(&format!(
            "agent = \"command\"\nagent_command = [\"true\"]\nquality_checks = [\"false\"]\n\
                 [hooks.\"quality.check\"]\n{chain}"
        ));
        shown(&target)
    };
    for (chain, line) in [
        ("enabled = false", "enabled: false"),
        ("handlers = []", "handlers: none"),
        ("strict = false", "strict: false"),
        ("mode = \"discovery\"", "mode: discovery"),
        ("on_failure = \"warn\"", "on_failure: warn"),
        ("timeout = \"1s\"", "timeout: 1s"),
    ] {
        let (text, entries) = config(chain);
        let head = text.find("  hook point quality.check\n");
        assert!(head.is_some_and(|at| text[at..].contains(&format!("    {line}\n"))), "{line}: {text}");
        assert!(entries["entries"].as_array().unwrap().iter().any(|entry| entry["kind"] == "hook_point"));
    }
}
