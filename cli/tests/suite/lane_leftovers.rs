//! What lanes of a run that is gone had claimed, and what starts and commands without lanes say and do about it.

use samuel_core::{
    model::{ReleaseReason, TaskId},
    state::Mutation,
};

use crate::{
    bench::{Bench, says, wait_for_file},
    merge_queue::{RUN, change, with_submitted},
};

/// Has a lane of the run that is gone be at work on a task, and returns the token of its claim.
fn working(bench: &Bench, id: &str) -> u64 {
    change(bench, Mutation::Claim { task: TaskId::new(id).into(), worker: format!("{RUN}/lane-{id}") })
}

const DOES: &str = "cat > /dev/null; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";

#[test]
fn a_plain_start_frees_what_lanes_that_are_gone_were_working_on_and_keeps_their_work() {
    let bench = with_submitted(&["First", "Second"], &[]);
    let tokens = ["1", "2"].map(|id| working(&bench, id));
    let branch = format!("samuel/{RUN}/2-{}", tokens[1]);
    bench.git(&["checkout", "--quiet", "-b", &branch]);
    bench.write("half.txt", "half\n");
    bench.git(&["add", "half.txt"]);
    bench.git(&["commit", "--quiet", "--message", "Half"]);
    bench.git(&["checkout", "--quiet", "main"]);
    let started = bench.start(DOES, &[]);
    assert_eq!(started.code, 0, "{started:?}");
    let free = "task 1 was being worked on when Samuel ended, and is free again\n";
    let kept = format!(
        "task 2 was being worked on when Samuel ended, and is free again; its work is kept as {branch}"
    );
    assert!(started.stderr.contains(free) && started.stderr.contains(&kept), "{started:?}");
    assert_eq!((bench.status("1"), bench.status("2")), ("completed".into(), "completed".into()));
    assert_eq!(bench.git(&["show", &format!("{branch}:half.txt")]), "half");
}

#[test]
fn a_branch_on_which_nothing_was_made_is_not_said_to_have_landed() {
    let bench = with_submitted(&["First"], &[]);
    let branch = format!("samuel/{RUN}/1-{}", working(&bench, "1"));
    bench.git(&["branch", &branch, "main"]);
    let lanes = bench.ok(&["run", "lanes"]).stdout;
    assert!(lanes.contains(&format!("  {branch}\n      task 1, no work on it, ")), "{lanes}");
    bench.ok(&["run", "clean"]);
    assert_eq!(bench.git(&["for-each-ref", "refs/heads/samuel"]), "");
}

#[test]
fn names_the_subtask_of_a_branch() {
    let bench = with_submitted(&["First"], &[]);
    bench.ok(&["run", "task", "add", "1.1", "Subtask", "--parent", "1"]);
    let (head, tree) = (bench.git(&["rev-parse", "main"]), bench.git(&["rev-parse", "main^{tree}"]));
    let commit = bench.git(&["commit-tree", "-p", &head, "-m", "Work", &tree]);
    for name in ["refs/heads/samuel/{}/1-1-5", "refs/samuel/rescue/{}/1-1-0-0123456789ab"] {
        bench.git(&["update-ref", &name.replace("{}", RUN), &commit]);
    }
    let lanes = bench.ok(&["run", "lanes"]).stdout;
    assert_eq!(lanes.matches("\n      task 1.1, not merged").count(), 2, "{lanes}");
}

/// Returns the references of runs, and the clones in Samuel's state directory.
fn left(bench: &Bench) -> (String, Vec<String>) {
    let refs = bench.git(&["for-each-ref", "--format=%(refname)", "refs/heads/samuel", "refs/samuel"]);
    let mut clones = Vec::new();
    let mut directories = vec![bench.path("../home/.local/state/samuel/workspaces")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            match name == "tree" || name.ends_with(".clone") {
                true => clones.push(name),
                false if entry.path().is_dir() => directories.push(entry.path()),
                false => {}
            }
        }
    }
    (refs, clones)
}

#[test]
fn complete_plan_leaves_only_its_branch() {
    for merge in ["merge", "squash", "rebase"] {
        let bench = Bench::with_tasks(&["First", "Second"]);
        bench.configure(&format!("parallel = {{ merge = \"{merge}\" }}"));
        bench.write("a.txt", "one\n");
        bench.make_repository(&["a.txt", "samuel.toml"]);
        let work = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
        bench.start(work, &["--jobs", "2"]).ends(0);
        let (refs, clones) = left(&bench);
        let [result] = &refs.lines().collect::<Vec<_>>()[..] else { panic!("{merge}: {refs}") };
        assert!(result.ends_with("/result") && clones.is_empty(), "{merge}: {refs} {clones:?}");
        bench.git(&["merge", "--quiet", result]);
        bench.ok(&["run", "clean"]);
        assert_eq!(left(&bench), (String::new(), Vec::new()), "{merge}");
    }
}

#[test]
fn clean_keeps_work_that_is_not_merged() {
    let bench = with_submitted(&["First"], &[]);
    let head = bench.git(&["rev-parse", "main"]);
    let tree = bench.git(&["rev-parse", "main^{tree}"]);
    let made = |message: &str| bench.git(&["commit-tree", "-p", &head, "-m", message, &tree]);
    let key = samuel_core::workspace::WorkspaceKind::key_of(&bench.root());
    let (only_here, kept) = (made("Only here"), made("Kept"));
    let stay = [
        (format!("refs/heads/samuel/{RUN}/1-1"), made("Of a task")),
        ("refs/heads/samuel/login".to_owned(), head.clone()),
        ("refs/samuel/base/0123456789abcdef-lane-1/1".to_owned(), head.clone()),
        (format!("refs/samuel/kept/{RUN}-1"), kept.clone()),
        (format!("refs/samuel/work/{key}-lane-1"), only_here),
    ];
    let go = [
        (format!("refs/samuel/base/{key}-lane-1/1"), head.clone()),
        (format!("refs/samuel/kept/{RUN}-2"), head.clone()),
        (format!("refs/samuel/work/{key}"), kept),
    ];
    stay.iter().chain(&go).for_each(|(name, commit)| _ = bench.git(&["update-ref", name, commit]));
    bench.ok(&["run", "clean"]);
    let (refs, _) = left(&bench);
    let mut expected: Vec<&str> = stay.iter().map(|(name, _)| name.as_str()).collect();
    expected.sort_unstable();
    assert_eq!(refs.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn after_a_kill_each_command_says_whose_run_is_gone_and_what_frees_it() {
    let bench = with_submitted(&["First", "Second", "Third"], &["3"]);
    ["1", "2"].iter().for_each(|id| _ = working(&bench, id));
    let status = bench.ok(&["run", "status"]).stdout;
    assert!(status.contains("Next       1 First\n"), "{status}");
    let gone = format!("lane-1 of the run {RUN} was at work on it and is gone, so the next start frees it");
    assert!(status.contains(&format!(": {gone}\n")), "{status}");
    let has_help = |text: &str| {
        let help = text.lines().find(|line| line.starts_with("help: ")).unwrap_or_default();
        help.contains("Go on with `samuel run start`, which frees what they had claimed.")
            && help.contains(
                "`samuel run queue land` lands what was submitted; so does a start with several lanes.",
            )
    };
    assert!(has_help(&status), "{status}");
    let why = bench.ok(&["run", "why"]).stdout;
    assert!(
        why.starts_with("what is next: 1 First is next: ") && why.contains(&format!("; {gone}")),
        "{why}"
    );
    assert!(
        why.contains("waits to be landed, and no loop is at work that lands it") && has_help(&why),
        "{why}"
    );
    let of_third = bench.ok(&["run", "why", "3"]).stdout;
    assert!(of_third.starts_with("task 3: its work is done: 3 was submitted at "), "{of_third}");
    assert!(
        of_third.contains("help: `samuel run queue land` lands what was submitted; so does "),
        "{of_third}"
    );
    let tasks = bench.ok(&["run", "tasks"]).stdout;
    assert!(tasks.contains(&gone) && !tasks.contains(&format!("(by {RUN}/lane-1")), "{tasks}");
    let shown = bench.ok(&["run", "show", "1"]).stdout;
    assert!(
        shown.lines().any(|line| line.starts_with("  Claimed    since ") && line.ends_with(&gone)),
        "{shown}"
    );
    for command in ["why", "status"] {
        let data = &bench.ok(&["run", command, "--json"]).json()["data"];
        let kinds: Vec<_> = data["remedies"].as_array().unwrap().iter().map(|step| &step["kind"]).collect();
        assert_eq!(kinds, ["land", "free_by_start"], "{command}");
    }
    assert_eq!(bench.ok(&["run", "tasks", "--json"]).json()["data"]["rows"][0]["gone"], gone);
    let prompt = bench.ok(&["run", "prompt", "--yes"]).stdout;
    assert!(prompt.contains("First"), "the next start frees it: {prompt}");
    let lanes = bench.ok(&["run", "lanes"]).stdout;
    assert!(lanes.contains("no loop is at work") && !lanes.contains("is being worked on"), "{lanes}");
    // Nothing was changed by looking.
    assert_eq!(bench.status("1"), "in_progress");
}

#[test]
fn what_waits_alone_is_landed_by_hand_and_the_reasons_say_so() {
    let bench = with_submitted(&["First", "Second"], &["1"]);
    bench.ok(&["run", "skip", "2"]);
    let status = bench.ok(&["run", "status"]).stdout;
    assert!(status.contains("Blocked:\n  1 was submitted at "), "{status}");
    bench.ok(&["run", "queue", "hold", "1"]);
    let status = bench.ok(&["run", "status"]).stdout;
    assert!(status.contains("Blocked:\n  1 was submitted and is held\n"), "{status}");
    assert!(status.contains("help: Let it land with `samuel run queue release 1`.\n"), "{status}");
}

#[test]
fn a_run_without_lanes_is_not_taken_for_the_lanes_that_submitted_work_before() {
    let bench = with_submitted(&["First", "Second"], &["1"]);
    let tmp = bench.tmp().display().to_string();
    let agent = format!("cat > /dev/null; touch {tmp}/up; while ! test -e {tmp}/go; do sleep 0.02; done");
    let run = bench.spawn(&bench.start_args(&agent));
    wait_for_file(&bench.tmp().join("up"));
    let done = bench.ok(&["run", "done", "2"]).stdout;
    says(&done, &["A run is under way: what is completed during an iteration stands once its check passes."]);
    assert!(!done.contains("lanes"), "{done}");
    let status = bench.ok(&["run", "status"]).stdout;
    says(
        &status,
        &[
            "Next       nothing: 1 task is blocked\n",
            "Blocked:\n  1 was submitted at ",
            "and no loop is at work that lands it\n",
            "help: Once the run at work has ended: `samuel run queue land` lands what was submitted; so does ",
        ],
    );
    let next = &bench.ok(&["run", "status", "--json"]).json()["data"]["next"];
    assert_eq!(next["kind"], "blocked", "{next}");
    std::fs::write(bench.tmp().join("go"), "").unwrap();
    assert_eq!(run.code(), 3);
}

#[test]
fn tasks_whose_attempts_were_used_up_before_a_run_count_as_blocked_in_a_row_and_are_told() {
    let bench = with_submitted(&["First", "Second", "Third"], &[]);
    for id in ["1", "2"] {
        let (task, reason) = (TaskId::new(id).into(), ReleaseReason::Checks { failures: Vec::new() });
        let token = working(&bench, id);
        change(&bench, Mutation::Release { task, token, reason, kept: None });
    }
    let ran = bench.start(DOES, &["--jobs", "2", "--max-attempts", "1", "--max-failures", "1"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    says(&bench.ok(&["run", "why", "run"]).stdout, &["2 tasks were blocked in a row after their attempts"]);
    let log = bench.ok(&["run", "log"]).stdout;
    assert_eq!(log.matches("1 attempts have failed (task_budget.max_attempts)").count(), 2, "{log}");
    assert_eq!((bench.status("1"), bench.status("3")), ("blocked".into(), "pending".into()));
}
