//! Runs whose agent works in a clone.

use std::process::Command;

use crate::bench::{Bench, Ran};

/// A project with tasks, of which all but the plan is committed, and which is worked on in a clone.
fn bench(titles: &[&str], keys: &str) -> Bench {
    let bench = Bench::with_tasks(titles);
    let text = format!("version = \"2\"\n[methodology.ralph]\n{keys}\n[sandbox]\nworkspace = \"clone\"\n");
    bench.write("samuel.toml", &text);
    bench.write("a.txt", "one\n");
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "Ada"],
        &["config", "user.email", "ada@example.org"],
        &["add", "samuel.toml", "a.txt"],
        &["commit", "--quiet", "--message", "Start"],
    ] {
        git(&bench, args);
    }
    bench
}

fn git(bench: &Bench, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(bench.root()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_agent_in_a_clone_records_its_task_in_the_project_and_its_commit_reaches_the_branch() {
    let bench = bench(&["First", "Second"], "quality_checks = [\"test -f made-1\"]");
    let agent = "test ! -e .samuel && touch made-$SAMUEL_TASK_ID && git add -A && git commit -qm \"Make $SAMUEL_TASK_ID\" && \
                 \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\" --commit-sha \"$(git rev-parse HEAD)\" && \
                 test ! -e \"$SAMUEL_PROJECT_ROOT/made-$SAMUEL_TASK_ID\"";
    bench.start(agent, &[]).ends(0);
    assert_eq!((bench.status("1").as_str(), bench.status("2").as_str()), ("completed", "completed"));
    assert_eq!(git(&bench, &["log", "--format=%s"]), "Make 2\nMake 1\nStart");
    assert_eq!(bench.tasks()[1]["commit_sha"], git(&bench, &["rev-parse", "HEAD"]));
    assert_eq!(git(&bench, &["for-each-ref", "refs/samuel"]), "");
}

#[test]
fn a_dirty_tree_is_refused_with_the_two_ways_out() {
    let bench = bench(&["First"], "");
    bench.write("a.txt", "two\n");
    let ran: Ran = bench.start("touch ../ran", &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let expected = "error: the work tree has changes that are in no commit, which a clone would not have: a.txt\n\
                    help: Commit the changes or put them aside with `git stash -u`; or work in place, with workspace = \
                    \"in-place\" below [sandbox] in samuel.toml.";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(!bench.path("../ran").exists());
}
