//! Files that cannot be used, which are told of with their places while their siblings are used.

use crate::repository_hooks::kit::{Repository, hook};

/// Returns what is told of one file of hooks.
fn told(text: &str) -> Vec<String> {
    Repository::with(&[("x", text)]).warnings()
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let script = "handler: {kind: script, command: 'true'}";
    for (text, expected) in [
        (format!("id: x\nevent_type: PostAbilityCal\n{script}"), "x.yaml:2:13: event_type: unknown event \"PostAbilityCal\". Did you mean \"PostAbilityCall\"?"),
        (format!("id: X Y\nevent_type: SessionEnd\n{script}"), "x.yaml:1:5: id: \"X Y\" cannot be the name of a hook"),
        (format!("event_type: SessionEnd\n{script}"), "x.yaml:1:1: id is missing"),
        ("id: x\nevent_type: SessionEnd".to_owned(), "x.yaml:1:1: handler is missing"),
        (format!("id: x\nevent_type: SessionEnd\nblock: true\n{script}"), "x.yaml:3:1: block: unknown key. Did you mean \"blocking\"?"),
        (format!("id: x\nevent_type: SessionEnd\nenabled: [1]\n{script}"), "x.yaml:3:10: enabled: expected true or false"),
        (format!("id: x\nevent_type: SessionEnd\nenabled: {{env: {{CI: 3}}}}\n{script}"), "enabled.env.CI: expected true or false"),
        (format!("id: x\nevent_type: PreAbilityCall\nmatch: {{ability_scope: [a, 'b[']}}\n{script}"), "x.yaml:3:28: match.ability_scope: is no pattern"),
        (format!("id: x\nevent_type: PostAbilityCall\nmatch: {{min_duration_ms: -1}}\n{script}"), "match.min_duration_ms: -1 is out of range"),
        ("id: x\nevent_type: SessionEnd\nhandler: {kind: scrpt, command: x}".to_owned(), "handler.kind: unknown kind of handler \"scrpt\". Did you mean \"script\"?"),
        ("id: x\nevent_type: SessionEnd\nhandler: {kind: script}".to_owned(), "handler: command is missing"),
        ("id: x\nevent_type: SessionEnd\nhandler: {kind: script, command: ''}".to_owned(), "handler.command: must not be empty"),
        ("id: x\nevent_type: SessionEnd\nhandler: {kind: script, command: x, timeout: 0}".to_owned(), "handler.timeout: 0s is out of range"),
        ("id: x\nevent_type: PostAbilityCall\nhandler: {kind: builtin, name: usage}".to_owned(), "handler.name: unknown built-in handler \"usage\". Did you mean \"usage_log\"?"),
        ("id: x\nevent_type: SessionEnd\nhandler: {kind: builtin, name: usage_log}".to_owned(), "usage_log is for PostAbilityCall"),
        ("id: x\nevent_type: PostAbilityCall\nhandler: {kind: builtin, name: slow_calls, log: ../x.log}".to_owned(), "handler.log: \"../x.log\" is not a place below .system/logs"),
        ("id: x\nevent_type: PostAbilityCall\nhandler: {kind: builtin, name: slow_calls, log: .system/logs/hooks.log}".to_owned(), "is not a place below .system/logs"),
        ("a: [".to_owned(), "x.yaml:"),
        (String::new(), "expected a hook: a mapping with id, event_type and handler, found nothing"),
        (format!("id: x\nid: y\nevent_type: SessionEnd\n{script}"), "x.yaml:2:1: id: is given twice, first in line 1"),
        ("[".repeat(10_000), "x.yaml:"),
    ] {
        let told = told(&text);
        assert!(told.iter().any(|line| line.contains(expected)), "{expected}\n{text:.200}\n{told:#?}");
        assert!(Repository::with(&[("x", &text)]).files().repository_hooks().next().is_none(), "{text:.200}");
    }
}

#[test]
fn a_bad_file_leaves_its_siblings_alone_and_of_two_with_one_id_the_later_is_left_out() {
    let good = hook("good", "SessionEnd", "", "true");
    let repository = Repository::with(&[
        ("a", "id: ["),
        ("b", &good),
        ("c", &good),
        ("d", &good.replace("good", "other")),
    ]);
    let files = repository.files();
    let ids: Vec<String> = files.repository_hooks().map(|hook| hook.handler_id()).collect();
    assert_eq!(ids, ["repo:good", "repo:other"]);
    let told = repository.warnings();
    assert!(
        told.iter()
            .any(|line| line.contains("c.yaml:1:5: id: \"good\" is the id of .system/hooks/b.yaml too")),
        "{told:#?}"
    );
    assert!(told.iter().any(|line| line.contains("a.yaml:")), "{told:#?}");
}

#[test]
fn scripts_and_files_stay_in_the_repository() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let path = outside.path().display().to_string();
    for command in
        [format!("{path} --x"), "../x.sh".to_owned(), format!("sh {path}"), "python3 ../../x.py".to_owned()]
    {
        let repository = Repository::with(&[("x", &hook("x", "SessionEnd", "", &command))]);
        let told = repository.warnings();
        assert!(
            told.iter().any(|line| line.contains("is not a file of the repository")),
            "{command}: {told:#?}"
        );
        assert!(repository.files().repository_hooks().next().is_none(), "{command}");
    }
    let repository = Repository::with(&[("ok", &hook("ok", "SessionEnd", "", "true"))]);
    std::os::unix::fs::symlink(&path, repository.root().join(".system/hooks/link.yaml")).unwrap();
    std::os::unix::fs::symlink("nothing", repository.root().join(".system/hooks/none.yaml")).unwrap();
    let told = repository.warnings();
    assert!(told.iter().any(|line| line.contains("link.yaml:1:1: it cannot be read")), "{told:#?}");
    assert!(told.iter().any(|line| line.contains("none.yaml:1:1: it cannot be read")), "{told:#?}");
    assert_eq!(repository.files().repository_hooks().count(), 1);
}

#[test]
fn a_script_that_is_missing_or_cannot_be_executed_is_a_problem_and_its_hook_stays() {
    let repository = Repository::with(&[
        ("a", &hook("a", "SessionStop", "blocking: true", "./scripts/hooks/a.sh")),
        ("b", &hook("b", "SessionStop", "blocking: true", "./scripts/hooks/b.sh --x")),
        ("c", &hook("c", "SessionStop", "", "sh scripts/hooks/c.sh")),
        ("d", &hook("d", "SessionStop", "", "sh scripts/hooks/d.sh")),
    ]);
    repository.write("scripts/hooks/b.sh", "#!/bin/sh\n");
    std::os::unix::fs::symlink("d.sh", repository.root().join("scripts/hooks/d.sh")).unwrap();
    let told = repository.warnings();
    for expected in [
        "a.yaml:5:3: handler.command: \"./scripts/hooks/a.sh\" does not exist",
        "\"./scripts/hooks/b.sh\" cannot be executed. Run `chmod +x ./scripts/hooks/b.sh`",
        "\"scripts/hooks/c.sh\" does not exist",
        "\"scripts/hooks/d.sh\" cannot be looked at: ",
    ] {
        assert!(told.iter().any(|line| line.contains(expected)), "{expected}: {told:#?}");
    }
    assert_eq!(repository.files().repository_hooks().count(), 4);
}

#[test]
fn too_many_and_too_large_files_are_told_of() {
    let repository = Repository::new();
    for number in 0..1_001 {
        repository.write(
            &format!(".system/hooks/h{number:04}.yaml"),
            &hook(&format!("h{number}"), "SessionEnd", "", "true"),
        );
    }
    assert_eq!(repository.files().repository_hooks().count(), 1_000);
    assert!(repository.warnings()[0].contains("there are 1001 files of hooks, and at most 1000 are read"));
    let large = format!("# {}\n{}", "x".repeat(300 << 10), hook("x", "SessionEnd", "", "true"));
    assert!(told(&large)[0].contains("it cannot be read"));
}

#[test]
fn what_has_no_effect_and_a_nearly_right_name_are_warnings() {
    let hooks = [
        ("a", hook("a", "SessionStart", "blocking: true", "true")),
        ("b", hook("b", "PromptSubmit", "match: {ability_scope: Bash, min_duration_ms: 5}", "true")),
        ("c", hook("c", "PromptSubmit", "match: {ability_scope: '*'}", "true")),
        ("d", hook("d", "PreAbilityCall", "match: {only_if_changed_paths: ['src/**']}", "true")),
    ];
    let hooks: Vec<(&str, &str)> = hooks.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let repository = Repository::with(&hooks);
    repository.write(".system/hooks/e.yml", "id: e\n");
    let told = repository.warnings();
    for expected in [
        "a.yaml:3:11: blocking: has no effect at SessionStart, where nothing can be stopped",
        "b.yaml:3:24: match.ability_scope: has no effect at PromptSubmit",
        "match.min_duration_ms: has no effect at PromptSubmit",
        "match.only_if_changed_paths: has no effect at PreAbilityCall",
        ".system/hooks/e.yml: this file is not read. Rename it to e.yaml.",
    ] {
        assert!(told.iter().any(|line| line.contains(expected)), "{expected}: {told:#?}");
    }
    assert!(!told.iter().any(|line| line.contains("c.yaml")), "{told:#?}");
    assert!(repository.files().problems().is_empty());
}

#[test]
fn a_slip_in_what_is_only_shown_is_told_of_and_turns_no_hook_off() {
    for (slip, expected) in [
        ("effects: block", "x.yaml:3:10: effects: expected a list"),
        ("effects: [{a: 1, b: 2}]", "x.yaml:3:11: effects: expected a name"),
        ("summary: [a]", "x.yaml:3:10: summary: expected"),
    ] {
        let guard = hook("x", "PreAbilityCall", &format!("{slip}\nblocking: true"), "true");
        let repository = Repository::with(&[("x", &guard)]);
        let told = repository.warnings();
        assert!(told.iter().any(|line| line.contains(expected)), "{slip}: {told:#?}");
        let files = repository.files();
        let blocking: Vec<bool> = files.repository_hooks().map(|hook| hook.blocking).collect();
        assert_eq!(blocking, [true], "{slip}");
    }
}
