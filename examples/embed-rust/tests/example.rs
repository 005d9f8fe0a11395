//! The example does what it says.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::process::Command;

#[test]
fn the_example_completes_its_plan_and_takes_one_task_back_on_the_way() {
    let output = Command::new(env!("CARGO_BIN_EXE_embed-rust")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    for expected in [
        "iteration 1: Greet somebody",
        "check failed: CHANGELOG.md has 0 entries for 1 tasks",
        "task 1 taken back",
        "iteration 2: Greet somebody",
        "iteration 4: Explain yourself",
        "completed after 4 iterations, 1 of them failed",
    ] {
        assert!(said.contains(expected), "no \"{expected}\" in:\n{said}");
    }
    assert_eq!(said.matches("completed  ").count(), 3, "{said}");
    assert!(!said.contains("warning:"), "{said}");
}

#[test]
fn a_program_brings_a_sandbox_as_its_page_shows() {
    let (page, code) =
        (include_str!("../../../docs/embedding.md"), include_str!("../src/bin/own-sandbox.rs"));
    let shown = page.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert!(code.ends_with(shown), "the page shows another program");
    let may = Command::new("/usr/bin/unshare").args(["--net", "--map-root-user", "--", "true"]).status();
    if !may.is_ok_and(|status| status.success()) {
        return println!("skipped: no network namespace can be made here");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_own-sandbox")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "completed: 1\n");
}

#[test]
fn a_program_brings_a_methodology_a_store_and_an_agent_in_less_than_120_lines() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-parts")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Agent: Done { id: "), "the store told of it: {said}");
    let end = format!("completed after 3 iterations\n{}", "A haiku, please: the first snow\n".repeat(3));
    assert!(said.ends_with(&end), "the prompt, the check and the agent are its own: {said}");
    assert!(include_str!("../src/bin/own-parts.rs").lines().count() < 120);
}

#[test]
fn an_orchestrator_of_its_own_has_hooks_around_what_it_does() {
    let output = Command::new(env!("CARGO_BIN_EXE_orchestrator")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said, "not pushed: pushes are the maintainers'\nnot yet: write NOTES.md first\ndone\n");
}
