//! The work of a run, merged into what is checked out by `run merge`.

use crate::{
    bench::{Bench, Beside, says, wait_for_file},
    merge_queue::{RUN, submit},
};

/// An agent that makes a file for its task.
const DOES: &str = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";

/// A project in a repository whose check is `check`, with merged work on the branch of a run. Returns the branch.
fn worked(check: &str) -> (Bench, String) {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.configure(&format!("quality_checks = [\"{check}\"]"));
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    bench.start(DOES, &["--jobs", "2"]).ends(0);
    let result = bench.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/samuel"]);
    (bench, result)
}

/// Commits a file on the branch that is checked out.
fn commit(bench: &Bench, file: &str) {
    bench.write(file, "mine\n");
    bench.git(&["add", file]);
    bench.git(&["commit", "--quiet", "--message", "Mine"]);
}

fn head(bench: &Bench) -> String {
    bench.git(&["rev-parse", "HEAD"])
}

#[test]
fn merge_moves_branch_by_fast_forward() {
    let (bench, result) = worked("ls made-*");
    bench.write("a.txt", "changed\n");
    let tip = bench.git(&["rev-parse", &result]);
    let document = bench.ok(&["run", "merge", "--json"]).json();
    let data = &document["data"];
    assert_eq!((&data["branch"], &data["into"]), (&result.clone().into(), &"main".into()), "{document}");
    assert_eq!((&data["new"], &data["is_fast_forward"]), (&tip.clone().into(), &true.into()), "{document}");
    assert_eq!((head(&bench), bench.read("made-1")), (tip, "x\n".to_owned()));
    assert_eq!(bench.read("a.txt"), "changed\n", "the user's change stays");
    assert_eq!(bench.git(&["for-each-ref", "refs/heads/samuel", "refs/samuel"]), "");
    assert_eq!(bench.ok(&["run", "merge"]).stdout, "nothing to merge\n");
    assert!(!bench.ok(&["run", "status"]).stdout.contains("not merged"));
}

#[test]
fn merge_checks_diverged_branches_first() {
    let (bench, result) = worked("ls made-* && test ! -e mine.txt");
    commit(&bench, "other.txt");
    let before = head(&bench);
    bench.samuel(&["run", "merge"]).ends(78);
    assert_eq!(head(&bench), before, "the checks are not trusted");
    let merged = bench.ok(&["run", "merge", "--yes"]).stdout;
    assert!(merged.contains(&format!("merged {result} into main\n")), "{merged}");
    assert_eq!(bench.git(&["rev-parse", "HEAD^1"]), before);
    assert!(bench.path("made-1").exists() && bench.path("other.txt").exists());
    assert_eq!(bench.git(&["for-each-ref", "refs/heads/samuel", "refs/samuel"]), "");
}

#[test]
fn merge_changes_nothing_if_checks_fail() {
    let (bench, _) = worked("ls made-* && test ! -e mine.txt");
    commit(&bench, "mine.txt");
    let before = head(&bench);
    let failed = bench.samuel(&["run", "merge", "--yes"]).ends(1).stderr;
    says(&failed, &["the checks failed: ", "git merge samuel/"]);
    assert_eq!((head(&bench), bench.path("made-1").exists()), (before, false));
}

#[test]
fn merge_refuses_conflicts_and_files_in_the_way() {
    let (bench, result) = worked("true");
    bench.write("made-1", "mine\n");
    let before = head(&bench);
    let held = bench.samuel(&["run", "merge"]).ends(75).stderr;
    says(&held, &["these files were changed there: made-1"]);
    commit(&bench, "made-1");
    let conflict = bench.samuel(&["run", "merge", "--yes"]).ends(1).stderr;
    says(&conflict, &["both changed made-1", &format!("git merge {result}")]);
    assert_eq!(bench.git(&["rev-parse", "HEAD^"]), before);
    assert_eq!(bench.read("made-1"), "mine\n");
}

#[test]
fn merge_checks_branch_that_was_moved() {
    let (bench, result) = worked("test ! -e planted");
    bench.git(&["switch", "--quiet", &result]);
    commit(&bench, "planted");
    bench.git(&["switch", "--quiet", "main"]);
    let before = head(&bench);
    let failed = bench.samuel(&["run", "merge", "--yes"]).ends(1).stderr;
    says(&failed, &["the checks failed: "]);
    bench.git(&["switch", "--quiet", &result]);
    bench.configure("");
    bench.git(&["commit", "--quiet", "--all", "--message", "No checks"]);
    bench.git(&["switch", "--quiet", "main"]);
    let refused = bench.samuel(&["run", "merge", "--yes"]).ends(1).stderr;
    says(&refused, &["files that decide what runs"]);
    assert_eq!(head(&bench), before);
}

#[test]
fn merge_needs_branch_person_and_no_loop() {
    let (bench, result) = worked("true");
    let unknown = bench.samuel(&["run", "merge", "nowhere"]).ends(2).stderr;
    says(&unknown, &["there is no branch nowhere"]);
    bench.git(&["switch", "--quiet", "--detach"]);
    says(&bench.samuel(&["run", "merge"]).ends(2).stderr, &["no branch is checked out", "`git switch`"]);
    bench.git(&["switch", "--quiet", "main"]);
    let by_agent = bench.samuel_where("SAMUEL_RUN_ID", "r", &["run", "merge", "--json"]).json();
    assert_eq!(by_agent["error"]["code"], "E_TASK_DENIED");
    bench.ok(&["run", "enqueue", "Third"]);
    let tmp = bench.tmp().display().to_string();
    let agent = format!("cat > /dev/null; touch {tmp}/up; while ! test -e {tmp}/go; do sleep 0.02; done");
    let run = bench.spawn(&[&bench.start_args(&agent)[..], &["--max-iterations", "1"]].concat());
    wait_for_file(&bench.tmp().join("up"));
    bench.samuel(&["run", "merge"]).ends(75);
    std::fs::write(bench.tmp().join("go"), "").unwrap();
    run.code();
    assert_ne!(bench.git(&["rev-list", "--count", &format!("main..{result}")]), "0");
}

/// A project in which `run merge` was killed in its move. Returns the commit that it moves to.
fn cut_off() -> (Bench, String) {
    let (bench, result) = worked("true");
    let tip = bench.git(&["rev-parse", &result]);
    let (up, programs) = (bench.tmp().join("up"), bench.tmp().join("programs"));
    std::fs::create_dir(&programs).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nPATH='{path}'; export PATH\ncase \" $* \" in *' merge --ff-only '*) touch {}; sleep 600;; esac\n\
         exec git \"$@\"\n",
        up.display()
    );
    std::fs::write(programs.join("git"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(programs.join("git"), mode).unwrap();
    let mut command = bench.command(&["run", "merge"]);
    command.env("PATH", format!("{}:{path}", programs.display())).stderr(std::process::Stdio::null());
    let run = Beside::of(&mut command);
    wait_for_file(&up);
    run.signal(rustix::process::Signal::KILL);
    run.code();
    assert_ne!(head(&bench), tip);
    (bench, tip)
}

#[test]
fn merge_killed_in_its_move_is_finished() {
    let (bench, tip) = cut_off();
    bench.ok(&["run", "merge"]);
    assert_eq!((head(&bench), bench.read("made-1")), (tip, "x\n".to_owned()));
    assert_eq!(bench.git(&["for-each-ref", "refs/heads/samuel", "refs/samuel"]), "");
}

#[test]
fn single_loop_finishes_killed_merge_first() {
    let (bench, tip) = cut_off();
    bench.ok(&["run", "enqueue", "Third"]);
    bench.start(&format!("{DOES}; git rev-parse HEAD > {}/began", bench.tmp().display()), &[]).ends(0);
    assert_eq!(std::fs::read_to_string(bench.tmp().join("began")).unwrap().trim(), tip);
    assert!(bench.path("made-1").exists() && bench.path("made-3").exists());
}

#[test]
fn merge_refuses_branch_of_a_task() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("");
    bench.make_repository(&["samuel.toml"]);
    let refused = bench.samuel(&["run", "merge", &format!("samuel/{RUN}/1-2")]).ends(2).stderr;
    says(&refused, &["has the work of one task"]);
}

#[test]
fn first_signal_ends_merge_in_setup() {
    let (bench, _) = worked("ls made-*");
    let up = bench.tmp().join("up");
    let setup = serde_json::json!(format!("touch {}; sleep 600", up.display()));
    bench.configure(&format!("parallel = {{ setup = [{setup}] }}"));
    bench.git(&["commit", "--quiet", "--all", "--message", "Set up"]);
    let before = head(&bench);
    let run = bench.spawn(&["run", "merge", "--yes"]);
    wait_for_file(&up);
    run.signal(rustix::process::Signal::INT);
    assert_ne!(run.code(), 0);
    assert_eq!(head(&bench), before);
}

#[test]
fn merge_names_work_that_waits() {
    let (bench, _) = worked("true");
    bench.ok(&["run", "enqueue", "Third"]);
    submit(&bench, "3");
    let merged = bench.ok(&["run", "merge"]);
    says(&merged.stderr, &["task 3 has submitted work that is not merged yet; `samuel run queue land`"]);
    assert!(bench.git(&["branch", "--list", "samuel/*"]).contains(&format!("samuel/{RUN}/3-")));
}
