//! What cannot work ends with one clear error, and nothing is lost.

use std::os::unix::fs::PermissionsExt;

use crate::bench::{Bench, Ran};

fn error_of(ran: &Ran) -> (i32, String) {
    assert_eq!(ran.stdout, "");
    (ran.code, ran.stderr.clone())
}

#[test]
fn a_corrupt_plan_is_reported_with_its_place_and_kept() {
    let bench = Bench::with_tasks(&["First"]);
    std::fs::write(bench.prd(), b"# toon v3\n\xff\xfe").unwrap();
    let before = std::fs::read(bench.prd()).unwrap();
    for args in [
        &["run"][..],
        &["run", "tasks"],
        &["run", "done", "1"],
        &["run", "init"],
        &["run", "start", "--yes", "--agent-command", "true"],
    ] {
        let (code, stderr) = error_of(&bench.samuel(args));
        assert_eq!(code, 5, "{args:?}: {stderr}");
        assert!(stderr.contains("prd.toon is corrupt") && stderr.contains("help: "), "{stderr}");
    }
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    let document = bench.samuel(&["run", "tasks", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_STATE_CORRUPT");
    assert!(document["error"]["location"]["file"].as_str().unwrap().ends_with("prd.toon"));
}

#[test]
fn an_agent_or_a_sandbox_that_is_unknown_is_refused_before_anything_runs() {
    let bench = Bench::with_tasks(&["First"]);
    let before = bench.files();
    for (args, message, help) in [
        (["--agent", "cluade"], "unknown agent \"cluade\"", "Did you mean \"claude\"?"),
        (["--sandbox", "dokcer"], "unknown sandbox \"dokcer\"", "Use sandbox \"host\""),
        (["--sandbox", "bwrap"], "sandbox \"bwrap\" is not available yet", "Use sandbox \"host\""),
        (["--max-iterations", "0"], "invalid value '0'", "--help"),
        (["--pause", "soon"], "invalid value 'soon'", "--help"),
        (["--agent", "command"], "agent_command names no program", "help: Pass --agent-command, or"),
        (["--agent-command", "a 'b"], "open quote", "Close the quote"),
    ] {
        let (code, stderr) = error_of(&bench.samuel(&[&["run", "start", "--yes"][..], &args].concat()));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(message) && stderr.contains(help), "{stderr}");
    }
    assert_eq!(bench.files(), before);
}

#[test]
fn an_agent_that_is_not_installed_is_named() {
    let bench = Bench::with_tasks(&["First"]);
    let mut command = bench.command(&["run", "start", "--yes"]);
    command.env("PATH", "/nowhere");
    let ran = Ran::of(command);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("agent \"claude\" needs the program \"claude\""), "{ran:?}");
    assert!(!bench.path(".samuel/run/progress.md").exists());
}

#[test]
fn a_loop_works_without_a_repository_that_can_be_read() {
    let bench = Bench::with_tasks(&["First"]);
    std::fs::create_dir(bench.path(".git")).unwrap();
    let mut command = bench.command(&bench.start_args("\"$SAMUEL_BINARY\" run done 1"));
    command.env("PATH", "/nowhere");
    let ran = Ran::of(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let snapshot = bench.read(".samuel/run/project-snapshot.toon");
    assert!(snapshot.contains("the repository cannot be read"), "{snapshot}");
}

#[test]
fn the_demonstration_says_that_it_needs_git() {
    let bench = Bench::empty();
    let mut command = bench.command(&["demo", "--json"]);
    command.env("PATH", "/nowhere");
    let document = Ran::of(command).json();
    assert_eq!(document["error"]["code"], "E_GIT_NOT_FOUND");
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    if rustix::process::geteuid().is_root() {
        // Nothing is unwritable for root but what is no directory.
        let bench = Bench::empty();
        bench.write(".samuel", "a file");
        let (code, stderr) = error_of(&bench.samuel(&["run", "init"]));
        assert_eq!(code, 1);
        let what = "/.samuel\" is a file, not a directory";
        assert!(stderr.contains("cannot create ") && stderr.contains(what), "{stderr}");
        return;
    }
    let bench = Bench::empty();
    std::fs::set_permissions(bench.root(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let (code, stderr) = error_of(&bench.samuel(&["run", "init"]));
    std::fs::set_permissions(bench.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot create ") && stderr.contains("is writable"), "{stderr}");
}

/// Runs the command where no file can grow past a kilobyte, as on a disk that
/// is full.
fn without_space(bench: &Bench, args: &[&str]) -> Ran {
    let usual = bench.command(args);
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\""]).arg(usual.get_program());
    command.args(usual.get_args()).current_dir(bench.root()).env_clear();
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(command)
}

#[test]
fn a_disk_that_is_full_is_an_error_that_names_the_file_and_loses_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let before = std::fs::read(bench.prd()).unwrap();
    let long = "x".repeat(4_000);
    let args = ["run", "enqueue", "Second", "--description", &long];
    let (code, stderr) = error_of(&without_space(&bench, &args));
    assert_eq!(code, 1);
    assert!(stderr.starts_with("error: cannot write ") && stderr.contains("  caused by: "), "{stderr}");
    assert!(stderr.contains(".samuel/run/") && stderr.contains("has space left"), "{stderr}");
    let document = without_space(&bench, &[&args[..], &["--json"]].concat()).json();
    assert_eq!(document["error"]["code"], "E_STATE_IO");
    assert!(document["error"]["location"]["file"].as_str().unwrap().contains(".samuel/run/"));
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    bench.ok(&["run", "enqueue", "Second"]);
}

#[test]
fn a_run_that_cannot_be_saved_ends_with_the_cause_and_goes_on_later() {
    let bench = Bench::with_tasks(&["First"]);
    let journal = bench.path(".samuel/run/journal.jsonl");
    let agent = format!("rm -f '{0}'; mkdir '{0}'", journal.display());
    let ran = bench.start(&agent, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("journal.jsonl") && ran.stderr.contains("help: "), "{ran:?}");
    std::fs::remove_dir(&journal).unwrap();
    assert_eq!(bench.start("\"$SAMUEL_BINARY\" run done 1", &[]).code, 0);
}

#[test]
fn a_mistake_in_samuel_toml_is_reported_once_with_its_line() {
    let bench = Bench::with_tasks(&[]);
    bench.write("samuel.toml", "version = \"2\"\n[methodology.ralph]\nmax_iteration = 3\n");
    let (code, stderr) = error_of(&bench.samuel(&["run", "tasks"]));
    assert_eq!((code, stderr.matches("max_iteration").count() >= 1), (2, true));
    assert!(stderr.contains("samuel.toml:3:1"), "{stderr}");
    assert!(stderr.contains("max_iterations"), "{stderr}");
}

#[test]
fn a_broken_template_is_an_error_before_the_loop() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write(".samuel/templates/ralph/prompt.md.tmpl", "one\n{{ if }}\n");
    let (code, stderr) = error_of(&bench.start("touch ran", &[]));
    assert_eq!(code, 2);
    assert!(stderr.contains("prompt.md.tmpl:2"), "{stderr}");
    assert!(!bench.path("ran").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::with_tasks(&["First"]);
    let mut child = bench
        .command(&["run", "tasks"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let bench = Bench::with_tasks(&["First"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = bench.command(&["run", "tasks", "--json"]);
    let output = command.stdout(full).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write to stdout"));
}
