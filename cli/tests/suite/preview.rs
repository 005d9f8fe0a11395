//! `prompt`, `vars` and `--dry-run`.

use std::os::unix::fs::PermissionsExt;

use crate::bench::Bench;

#[test]
fn the_prompt_is_the_one_the_agent_gets() {
    let bench = Bench::with_tasks(&["First"]);
    let before = bench.files();
    let prompt = bench.ok(&["run", "prompt"]).stdout;
    assert_eq!(bench.files(), before);
    bench.start("cat > got; exit 1", &["--max-iterations", "1"]);
    let without_times = |text: &str| {
        let lines =
            text.lines().filter(|line| !line.contains("generated_at") && !line.contains("of at most"));
        // Each run has a mark of its own.
        let mark = text.split(']').next().unwrap_or_default();
        lines.map(|line| line.replace(mark, "[samuel")).collect::<Vec<_>>()
    };
    assert_eq!(without_times(&prompt), without_times(&bench.read("got")));
}

#[test]
fn the_variables_are_those_of_the_next_iteration() {
    let bench = Bench::with_tasks(&["First"]);
    let before = bench.files();
    let data = bench.ok(&["run", "vars", "--json"]).json()["data"].clone();
    assert_eq!((&data["Iteration"]["Number"], &data["State"]["NextTask"]["ID"]), (&1.into(), &"1".into()));
    assert_eq!(data.as_object().unwrap().len(), 11);
    assert_eq!(bench.files(), before);
}

#[test]
fn a_plan_that_is_done_has_no_next_prompt() {
    let bench = Bench::with_tasks(&["First"]);
    bench.ok(&["run", "done", "1"]);
    let ran = bench.samuel(&["run", "prompt"]).fails(1);
    assert!(ran.stderr.contains("every task is completed or skipped"), "{ran:?}");
}

#[test]
fn of_a_plan_with_a_row_that_cannot_be_read_nobody_says_that_it_is_done() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.ok(&["run", "done", "1"]);
    let plan = bench.read(".samuel/run/prd.toon");
    let damaged =
        |line: &str| if line.starts_with("  \"2\",") { "  ,,\"\n".into() } else { format!("{line}\n") };
    bench.write(".samuel/run/prd.toon", &plan.lines().map(damaged).collect::<String>());

    let reason = "every task that can be read is settled, but 1 line of prd.toon cannot be read";
    let status = bench.ok(&["run", "status", "--json"]).json()["data"]["next"].clone();
    assert_eq!((&status["kind"], &status["reasons"][0]), (&"blocked".into(), &reason.into()));
    let text = bench.ok(&["run", "status"]).stdout;
    assert!(text.contains("nothing that can be read; `samuel doctor --fix`"), "{text}");
    let dry = bench.ok(&["run", "start", "--dry-run", "--json"]).json()["data"]["stop"].clone();
    assert_eq!((&dry["reason"], &dry["detail"]), (&"blocked".into(), &reason.into()));
    let ran = bench.start("true", &[]).ends(3);
    assert!(ran.stderr.contains(&format!("blocked: {reason}")), "{ran:?}");
}

#[test]
fn a_dry_run_prints_prompt_and_chains_and_writes_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let config = "version = \"2\"\n[hooks.\"quality.check\"]\nenabled = false\n";
    bench.write("samuel.toml", config);
    let before = bench.files();
    let ran = bench.ok(&["run", "start", "--dry-run", "--agent-command", "touch ran"]);
    for text in [
        "# One task: 1 First",
        "agent.invoke          100 default built-in",
        "quality.check         skipped default: the point is disabled",
        "agent command: touch ran",
    ] {
        assert!(ran.stdout.contains(text), "{text} is not in {}", ran.stdout);
    }
    assert_eq!(bench.files(), before);
    let data = bench.ok(&["run", "start", "--dry-run", "--json"]).json()["data"].clone();
    assert_eq!(data["chains"].as_array().unwrap().len(), 25);
}

#[test]
fn looking_starts_no_process() {
    let bench = Bench::with_tasks(&["First"]);
    assert!(bench.command(&[]).arg("--version").status().unwrap().success());
    // Whoever runs one of these finds a program that leaves a trace.
    let bin = bench.tmp().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["git", "sh", "claude"] {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n: > '{}/called-{name}'\n", bench.tmp().display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::fs::create_dir(bench.path(".git")).unwrap();
    std::fs::write(bench.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let called = |name: &str| bench.tmp().join(format!("called-{name}")).exists();
    for args in [["run", "start", "--dry-run"].as_slice(), &["run", "prompt"], &["run", "vars"]] {
        assert_eq!(bench.samuel_where("PATH", bin.to_str().unwrap(), args).code, 0);
        assert!(!called("git") && !called("sh") && !called("claude"), "{args:?}");
    }
}
