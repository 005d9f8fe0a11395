//! Trust that is kept: `samuel trust`, and starts that ask again only where something differs.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::bench::{AtTerminal, Bench, Ran, says};

const AGENT: &str = "agent = \"command\"\npause = 0\n\
                     agent_command = [\"sh\", \"-c\", \"$SAMUEL_BINARY run done $SAMUEL_TASK_ID\"]";

/// A project with one task whose agent records it, and these checks.
fn bench(checks: &str) -> Bench {
    let bench = Bench::with_tasks(&["First"]);
    configure(&bench, checks);
    bench
}

fn configure(bench: &Bench, checks: &str) {
    bench.configure(&format!("{AGENT}\nquality_checks = [{checks}]"));
}

fn start(bench: &Bench) -> Ran {
    bench.samuel(&["run", "start"])
}

#[test]
fn what_was_trusted_starts_without_a_question_and_a_change_is_refused_with_the_difference() {
    let bench = bench("\"true\"");
    assert!(start(&bench).ends(78).stderr.contains("nobody has allowed"));
    says(
        &bench.ok(&["trust", "--show"]).stdout,
        &["Nothing of this project is trusted", "quality check 1: true"],
    );
    says(&bench.ok(&["trust", "--yes"]).stdout, &["Trusted: 2 entries, with the digest sha256:"]);
    says(&bench.ok(&["trust", "--show"]).stdout, &["Trusted on ", "quality check 1: true"]);
    configure(&bench, "\"true\", \"touch made\"");
    let refused = bench.samuel(&["run", "start", "--json"]).ends(78);
    let document = refused.events().1;
    let difference = &document["data"]["difference"];
    assert_eq!(difference["new"][0]["command"], "touch made", "{document}");
    let refused = start(&bench).ends(78);
    let parts = ["is not what was trusted on ", ": 1 new", "new: quality check 2: touch made"];
    says(&refused.stderr, &parts);
    assert!(!refused.stderr.contains("quality check 1"), "what is the same is not listed: {refused:?}");
    says(&bench.ok(&["trust", "--show"]).stdout, &["This is not as it was trusted", "new: quality check 2"]);
    configure(&bench, "");
    says(&start(&bench).ends(78).stderr, &["1 gone", "gone: quality check 1: true"]);
    assert!(!bench.path("made").exists());
    configure(&bench, "\"true\"");
    start(&bench).ends(0);
}

#[test]
fn refused_start_offers_the_digest_for_its_flags() {
    let bench = bench("");
    bench.ok(&["trust", "--yes"]);
    let flags = ["run", "start", "--agent-command", "true", "--max-iterations", "1"];
    let refused = bench.samuel(&flags).ends(78);
    assert!(!refused.stderr.contains("run `samuel trust`"), "{refused:?}");
    let (_, digest) = refused.stderr.split_once("`--trust-hash ").unwrap();
    let (digest, _) = digest.split_once('`').unwrap();
    bench.samuel(&[&flags[..], &["--trust-hash", digest]].concat()).ends(4);
}

#[test]
fn doctor_and_a_dry_run_say_whether_it_is_trusted_and_ask_nobody() {
    let bench = bench("\"true\"");
    let doctor = |words: &str| says(&bench.ok(&["doctor"]).stdout, &[words]);
    let dry_run = |trusted: bool, words: &str| {
        says(&bench.ok(&["run", "start", "--dry-run"]).stdout, &[words]);
        let document = bench.ok(&["run", "start", "--dry-run", "--json"]).json();
        assert_eq!(document["data"]["trusted"], trusted, "{document}");
    };
    doctor("trust           nobody has allowed what this project would run");
    dry_run(false, "  trusted: no, nobody has allowed what this project would run\n");
    bench.ok(&["trust", "--yes"]);
    doctor("trust           what a run would execute is trusted");
    dry_run(true, "  trusted: yes\n");
    configure(&bench, "\"true\", \"false\"");
    doctor("new: quality check 2: false");
    dry_run(false, "  trusted: no, what this project would run is not what was trusted on ");
}

#[test]
fn what_is_revoked_is_refused_again() {
    let bench = bench("");
    bench.ok(&["trust", "-y"]);
    says(&bench.ok(&["trust", "--revoke"]).stdout, &["is forgotten"]);
    says(&bench.ok(&["trust", "--revoke"]).stdout, &["Nothing of this project was trusted"]);
    assert!(start(&bench).ends(78).stderr.contains("nobody has allowed"));
    assert_eq!(bench.samuel(&["trust", "--yes", "--revoke"]).code, 2);
}

#[test]
fn without_a_terminal_nothing_is_trusted_and_an_agent_trusts_nothing() {
    let bench = bench("");
    says(&bench.samuel(&["trust"]).ends(78).stderr, &["nobody has allowed", "digest of all this: sha256:"]);
    let asked =
        bench.samuel_where("SAMUEL_RUN_ID", "20260101T000000Z-00000000", &["trust", "--yes"]).ends(78);
    says(&asked.stderr, &["an agent cannot change what is trusted of its run"]);
    start(&bench).ends(78);
}

#[test]
fn a_yes_to_a_start_counts_once_and_a_yes_to_trust_until_something_differs() {
    let bench = bench("\"true\"");
    let answered = |args: &[&str], answer: &str| {
        let mut typed = AtTerminal::spawn(&bench, args);
        assert!(typed.wait_for("[y/N]"));
        typed.type_in(answer);
        typed.end()
    };
    let (code, shown) = answered(&["trust"], "n\n");
    assert_eq!(code, 78, "{shown}");
    let (code, shown) = answered(&["run", "start"], "y\n");
    assert_eq!(code, 0, "{shown}");
    bench.ok(&["run", "reset", "1"]);
    start(&bench).ends(78);
    let (code, shown) = answered(&["trust"], "y\n");
    assert_eq!(code, 0, "{shown}");
    start(&bench).ends(0);
    configure(&bench, "\"false\"");
    let (code, shown) = answered(&["trust"], "y\n");
    assert_eq!(code, 0, "{shown}");
    says(&shown, &["This is not as it was trusted:", "- quality check 1: true", "+ quality check 1: false"]);
    bench.ok(&["trust"]);
}

#[test]
fn what_an_agents_program_executes_by_itself_is_trusted_with_it_and_watched() {
    let bench = bench("");
    for path in [
        ".claude/settings.json",
        ".mcp.json",
        ".github/copilot/settings.local.json",
        ".github/hooks/a.json",
        ".codex/config.toml",
        ".codex/a/b.toml",
    ] {
        bench.ok(&["trust", "--yes"]);
        bench.write(path, "{}");
        let refused = start(&bench).ends(78);
        says(&refused.stderr, &["changed: agent command", &format!("+ file {path}: sha256:")]);
    }
    bench.ok(&["trust", "--yes"]);
    bench.ok(&["run", "reset", "1"]);
    let agent = AGENT.replace("$SAMUEL_BINARY", "echo {} > .mcp.json; $SAMUEL_BINARY");
    bench.configure(&agent);
    fs::remove_file(bench.path(".mcp.json")).unwrap();
    let changed = bench.samuel(&["run", "start", "--yes"]).ends(4);
    says(&changed.stderr, &["new: .mcp.json (read by the agent's program by itself)"]);
}

#[test]
fn a_store_that_others_could_write_to_trusts_nothing() {
    let bench = bench("");
    bench.ok(&["trust", "--yes"]);
    let dir = bench.root().parent().unwrap().join("home/.local/state/samuel/trust");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = start(&bench).ends(78);
    says(&refused.stderr, &["warning: what is trusted is not remembered", "nobody has allowed"]);
    assert_eq!(bench.samuel(&["trust", "--yes"]).code, 78);
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    let record = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    fs::write(record, "{}").unwrap();
    says(&start(&bench).ends(78).stderr, &["samuel trust --revoke"]);
    bench.ok(&["trust", "--revoke"]);
}
