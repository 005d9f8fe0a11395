//! Which methodology a command means.

use crate::bench::Bench;

#[test]
fn a_methodology_can_stand_before_any_command() {
    let bench = Bench::empty();
    bench.write("prd.md", "# P\n\n## Tasks\n\n### 1.2 Work\n");
    bench.ok(&["auto", "ralph", "init", "--prd", "prd.md"]);
    bench.ok(&["run", "rw", "tasks"]);
    bench.ok(&["auto", "done", "1.2"]);
    assert_eq!(bench.status("1.2"), "completed");
    assert_eq!(bench.samuel(&["run", "rw", "start", "--yes", "--agent-command", "true"]).code, 0);
}

#[test]
fn an_unknown_methodology_is_an_error_with_suggestions() {
    let bench = Bench::with_tasks(&[]);
    for args in [&["run", "ralf"][..], &["run", "ralf", "tasks"], &["auto", "ralf", "start"]] {
        let ran = bench.samuel(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("methodology not found: \"ralf\""), "{}", ran.stderr);
        assert!(ran.stderr.contains("Did you mean \"ralph\"?"), "{}", ran.stderr);
        assert!(ran.stderr.contains("samuel ls --type methodology"), "{}", ran.stderr);
    }
    let error = bench.samuel(&["run", "ralf", "--json"]).json()["error"].clone();
    assert_eq!(error["code"], "E_METHODOLOGY_NOT_FOUND");
}

#[test]
fn a_mistyped_command_is_suggested() {
    let ran = Bench::with_tasks(&[]).samuel(&["run", "strat"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("samuel run start"), "{}", ran.stderr);
}

#[test]
fn the_positional_wins_over_the_default_of_samuel_toml() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("samuel.toml", "version = \"2\"\ndefault_methodology = \"tdd-strict\"\n");
    let ran = bench.samuel(&["run", "tasks"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("samuel.toml:2:"), "{}", ran.stderr);
    bench.ok(&["run", "ralph", "tasks"]);
}
