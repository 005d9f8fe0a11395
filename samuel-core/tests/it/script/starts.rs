//! Commands that cannot be started, and what is said of each.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use samuel_core::{
    hook::BreakClass,
    script::{CommandLine, HookCommand},
};
use tempfile::tempdir;

use super::{run, write_script};

/// Files that cannot be started, with what is said of each and what to do.
fn unstartable(dir: &Path) -> Vec<(&'static str, &'static str, &'static str)> {
    let write = |name: &str, text: &str| write_script(&dir.join(name), text);
    fs::create_dir(dir.join("directory")).unwrap();
    write("plain.sh", "#!/bin/sh\n");
    fs::set_permissions(dir.join("plain.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    write("interpreter.sh", "#!/no/such/interpreter\n");
    write("named.sh", "#!/usr/bin/env no-such-program\n");
    write("crlf.sh", "#!/bin/sh\r\necho hi\r\n");
    vec![
        ("./missing.sh", "was not found", "create the file"),
        ("./nowhere/missing.sh", "there is no directory", "create `"),
        ("./directory", "is a directory", "Name the program"),
        ("./plain.sh", "is not executable", "Run `chmod +x"),
        ("./interpreter.sh", "is a script for `/no/such/interpreter`", "correct the first line"),
        ("./named.sh", "is a script for `no-such-program`", "Install that"),
        ("./crlf.sh", "ends with a carriage return", "Unix line ends"),
    ]
}

#[tokio::test]
async fn what_cannot_be_started_is_told_with_its_path_and_what_to_do() {
    let dir = tempdir().unwrap();
    for (program, problem, help) in unstartable(dir.path()) {
        let failure = run(HookCommand::new(CommandLine::words([program]), dir.path())).await.unwrap_err();
        let line = HookCommand::new(CommandLine::Shell(format!("{program} --all")), dir.path());
        let of_line = run(line).await.unwrap().failure().unwrap();
        for failure in [failure, of_line] {
            let name = program.trim_start_matches("./");
            assert_eq!(failure.class, BreakClass::Spawn, "{program}: {failure}");
            for part in [name, problem, help] {
                assert!(failure.message.contains(part), "{program}: `{part}` is not in: {failure}");
            }
        }
    }
}

#[tokio::test]
async fn a_program_that_is_no_program_or_is_given_too_much_is_told() {
    let dir = tempdir().unwrap();
    write_script(&dir.path().join("data"), "\x7fELF is not this");
    let words = |words: &[String]| HookCommand::new(CommandLine::words(words), dir.path());
    let failure = run(words(&["./data".to_owned()])).await.unwrap_err();
    assert_eq!(failure.class, BreakClass::Spawn);
    assert!(failure.message.contains("nor a program for this machine"), "{failure}");
    let long = ["true".to_owned(), "x".repeat(4 << 20)];
    let failure = run(words(&long)).await.unwrap_err();
    assert_eq!(failure.class, BreakClass::Spawn);
    assert!(failure.message.contains("are too long") && failure.message.contains("input"), "{failure}");
    let failure = run(words(&["no-such-program".to_owned()])).await.unwrap_err();
    assert!(failure.message.contains("`no-such-program` was not found. Install it"), "{failure}");
    let failure = run(words(&[])).await.unwrap_err();
    assert_eq!(failure.class, BreakClass::Spawn, "{failure}");
}

#[tokio::test]
async fn a_directory_that_is_missing_is_told_in_both_forms() {
    let dir = tempdir().unwrap();
    let missing = dir.path().join("missing");
    for command in super::both_forms("true") {
        let failure = run(HookCommand::new(command, &missing)).await.unwrap_err();
        assert_eq!(failure.class, BreakClass::Spawn);
        let place = missing.display().to_string();
        assert!(
            failure.message.contains(&place) && failure.message.contains("Create the directory"),
            "{failure}"
        );
    }
}

#[tokio::test]
async fn a_script_that_stays_open_for_writing_is_told() {
    let dir = tempdir().unwrap();
    write_script(&dir.path().join("busy"), "#!/bin/sh\necho hi\n");
    let path = dir.path().join("busy");
    let _open = fs::OpenOptions::new().write(true).open(&path).unwrap();
    let failure = run(HookCommand::new(CommandLine::words([&path]), dir.path())).await.unwrap_err();
    assert_eq!(failure.class, BreakClass::Spawn);
    assert!(failure.message.contains("is open for writing"), "{failure}");
}

#[tokio::test]
async fn nothing_but_a_busy_file_is_tried_again() {
    let dir = tempdir().unwrap();
    for command in super::both_forms("echo x >> runs; exit 1") {
        assert!(run(HookCommand::new(command, dir.path())).await.unwrap().failure().is_some());
    }
    assert_eq!(fs::read_to_string(dir.path().join("runs")).unwrap(), "x\nx\n", "once in each form");
}
