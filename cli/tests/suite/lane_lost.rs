//! Completed work that its branch loses, by a reset, a forced push or an agent.

use serde_json::Value;

use crate::bench::{Bench, says};

/// An agent that does its task. That of task 2 waits, once, until task 1 is merged, and resets the branch.
fn resets(bench: &Bench) -> String {
    let (root, tmp) = (bench.root().display().to_string(), bench.tmp().display().to_string());
    let at = |branch: &str| format!("$(git -C {root} rev-parse {branch})");
    let waits = format!("until test {} != {}; do sleep 0.05; done; sleep 1", at("work"), at("main"));
    format!(
        "cat > /dev/null; test $SAMUEL_TASK_ID != 2 || test -e {tmp}/reset || \
         {{ touch {tmp}/reset; {waits}; git -C {root} branch --force work main; }}; {DOES}"
    )
}

const DOES: &str = "echo x > made-$SAMUEL_TASK_ID; git add made-$SAMUEL_TASK_ID; git commit --quiet --message Work; \
                    $SAMUEL_BINARY run done $SAMUEL_TASK_ID";

/// A repository with two tasks, and a branch `work` for what they make.
fn with_branch(strategy: &str) -> Bench {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.configure(&format!("parallel = {{ merge = \"{strategy}\", into = \"work\" }}"));
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    bench.git(&["branch", "work"]);
    bench
}

/// Returns the tasks that are completed and whose commit is not on a branch.
fn not_on(bench: &Bench, branch: &str) -> Vec<String> {
    let tasks = bench.ok(&["run", "tasks", "--json"]).json()["data"]["tasks"].clone();
    let tasks = tasks.as_array().unwrap().clone().into_iter();
    let completed = tasks.filter(|task| task["status"] == "completed");
    let is_on = |task: &Value| {
        let commit = task["commit_sha"].as_str().unwrap_or("none");
        bench.git(&["branch", "--contains", commit, "--list", branch]).contains(branch)
    };
    completed.filter(|task| !is_on(task)).map(|task| task["id"].to_string()).collect()
}

// Takes about 10 s: a run by each of the three strategies.
#[test]
fn reopens_work_that_an_agent_reset_away() {
    for strategy in ["merge", "squash", "rebase"] {
        let bench = with_branch(strategy);
        let ran = bench.start(&resets(&bench), &["--jobs", "2"]);
        says(&ran.stdout, &["taken back: 1: work lost its merged work"]);
        says(&ran.stderr, &["task 1: work lost its merged work "]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(not_on(&bench, "work"), Vec::<String>::new(), "{ran:?}");
        assert_eq!(bench.git(&["ls-tree", "--name-only", "work", "made-1", "made-2"]), "made-1\nmade-2");
        assert!(bench.git(&["for-each-ref", "refs/samuel/rescue"]).contains("/1-0-"), "{ran:?}");
    }
}

#[test]
fn reopens_lost_work_at_the_next_start() {
    let bench = with_branch("merge");
    let agent = format!("cat > /dev/null; {DOES}");
    bench.start(&agent, &["--jobs", "2"]).ends(0);
    bench.git(&["branch", "--force", "work", "main"]);
    let ran = bench.start(&agent, &["--jobs", "2"]);
    says(&ran.stdout, &["taken back: 1, 2: work lost its merged work"]);
    assert_eq!((ran.code, not_on(&bench, "work")), (0, Vec::new()), "{ran:?}");
}

#[test]
fn keeps_work_that_a_person_squashed() {
    let bench = with_branch("merge");
    let agent = format!("cat > /dev/null; {DOES}");
    bench.start(&agent, &["--jobs", "2"]).ends(0);
    let tree = bench.git(&["rev-parse", "work^{tree}"]);
    let squashed = bench.git(&["commit-tree", "-p", "main", "-m", "All of it", tree.trim()]);
    bench.git(&["branch", "--force", "work", squashed.trim()]);
    bench.ok(&["run", "enqueue", "Third"]);
    let ran = bench.start(&agent, &["--jobs", "2"]);
    assert!(!ran.stdout.contains("taken back"), "{ran:?}");
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn keeps_squashed_work_at_later_starts() {
    let bench = with_branch("merge");
    bench.ok(&["run", "edit", "2", "--depends-on", "1"]);
    let agent = "cat > /dev/null; echo $SAMUEL_TASK_ID >> all.txt; git add all.txt; git commit --quiet --message Work; \
                 $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    bench.start(agent, &["--jobs", "2"]).ends(0);
    let tree = bench.git(&["rev-parse", "work^{tree}"]);
    let squashed = bench.git(&["commit-tree", "-p", "main", "-m", "All of it", &tree]);
    bench.git(&["branch", "--force", "work", &squashed]);
    // Later work is on the same lines.
    for title in ["Third", "Fourth"] {
        bench.ok(&["run", "enqueue", title]);
        let ran = bench.start(agent, &["--jobs", "2"]);
        assert!(ran.code == 0 && !ran.stdout.contains("taken back"), "{ran:?}");
    }
    assert_eq!(bench.git(&["show", "work:all.txt"]), "1\n2\n3\n4");
}

#[test]
fn blocks_task_whose_work_is_lost_too_often() {
    let bench = with_branch("merge");
    let agent = format!("cat > /dev/null; {DOES}");
    bench.start(&agent, &["--jobs", "2"]).ends(0);
    bench.git(&["branch", "--force", "work", "main"]);
    let ran = bench.start(&agent, &["--jobs", "2", "--max-attempts", "1"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert_eq!([bench.status("1"), bench.status("2")], ["blocked", "blocked"], "{ran:?}");
}

#[test]
fn merges_kept_work_without_its_agent() {
    let bench = with_branch("merge");
    bench.ok(&["run", "edit", "2", "--depends-on", "1"]);
    let (root, tmp) = (bench.root().display().to_string(), bench.tmp().display().to_string());
    // The work on task 2 begins at the work on task 1, which the branch then loses.
    let agent = format!(
        "cat > /dev/null; echo x >> {tmp}/calls-$SAMUEL_TASK_ID; test $SAMUEL_TASK_ID != 2 || \
         git -C {root} branch --force work main; {DOES}"
    );
    let ran = bench.start(&agent, &["--jobs", "2"]);
    assert_eq!((ran.code, not_on(&bench, "work")), (0, Vec::new()), "{ran:?}");
    says(&ran.stdout, &["the branch no longer has the commit that it began at"]);
    let calls =
        |id| std::fs::read_to_string(bench.tmp().join(format!("calls-{id}"))).unwrap().lines().count();
    assert_eq!((calls(1), calls(2)), (2, 1), "{ran:?}");
    assert_eq!(bench.git(&["ls-tree", "--name-only", "work", "made-1", "made-2"]), "made-1\nmade-2");
}

/// Has the first commit be all that the branch has, and starts a run without workers. Returns the files that it makes.
fn reset_and_started(bench: &Bench, agent: &str) -> String {
    let first = bench.git(&["rev-list", "--max-parents=0", "HEAD"]);
    bench.git(&["reset", "--quiet", "--hard", &first]);
    let ran = bench.start(agent, &[]);
    says(&ran.stdout, &["taken back: 1, 2: main lost its merged work"]);
    says(&ran.stderr, &["task 1: main lost its merged work "]);
    assert_eq!(ran.code, 0, "{ran:?}");
    bench.git(&["ls-tree", "--name-only", "main", "made-1", "made-2"])
}

#[test]
fn single_loop_reopens_lost_work_of_workers() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.write("samuel.toml", "version = \"2\"\n");
    bench.make_repository(&["samuel.toml"]);
    let agent = format!("cat > /dev/null; {DOES}");
    bench.start(&agent, &["--jobs", "2", "--into", "main"]).ends(0);
    assert_eq!(reset_and_started(&bench, &agent), "made-1\nmade-2");
}

/// Has a person amend the last commit, and starts a run for another task, which reopens nothing.
fn keeps_amended(bench: &Bench, agent: &str, file: &str) {
    bench.write(file, "better\n");
    bench.git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    bench.ok(&["run", "enqueue", "More"]);
    let ran = bench.start(agent, &[]);
    assert!(ran.code == 0 && !ran.stdout.contains("taken back"), "{ran:?}");
}

/// A repository in which a run without workers did its only task. Returns its agent as well.
fn worked_alone() -> (Bench, String) {
    let agent = format!("cat > /dev/null; {DOES} --commit-sha $(git rev-parse HEAD)");
    let bench = Bench::with_tasks(&["First"]);
    bench.write("samuel.toml", "version = \"2\"\n");
    bench.make_repository(&["samuel.toml"]);
    bench.start(&agent, &[]).ends(0);
    (bench, agent)
}

#[test]
fn keeps_work_that_a_person_amended() {
    let (bench, agent) = worked_alone();
    keeps_amended(&bench, &agent, "made-1");
}

#[test]
fn keeps_amended_work_whose_old_commit_is_gone() {
    let (bench, agent) = worked_alone();
    let old = bench.git(&["rev-parse", "HEAD"]);
    keeps_amended(&bench, &agent, "made-1");
    bench.git(&["reflog", "expire", "--expire=now", "--all"]);
    bench.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(bench.git(&["rev-list", "--all", "--reflog", "--ignore-missing", &old, "--not", "HEAD"]), "");
    keeps_amended(&bench, &agent, "made-2");
}

#[test]
fn single_loop_reopens_its_own_lost_work() {
    let agent = format!("cat > /dev/null; {DOES} --commit-sha $(git rev-parse HEAD)");
    for sandbox in ["", "[sandbox]\nworkspace = \"clone\"\n"] {
        let bench = Bench::with_tasks(&["First", "Second"]);
        bench.write("samuel.toml", &format!("version = \"2\"\n{sandbox}"));
        bench.make_repository(&["samuel.toml"]);
        bench.start(&agent, &[]).ends(0);
        assert_eq!(reset_and_started(&bench, &agent), "made-1\nmade-2", "{sandbox}");
        // A branch on which it never was has lost nothing.
        bench.git(&["switch", "--quiet", "--create", "other", "HEAD~2"]);
        let ran = bench.start(&agent, &[]);
        assert!(!ran.stdout.contains("taken back"), "{ran:?}");
    }
}

/// A repository of which one of two tasks is merged onto the branch of a run. Returns that branch and the agent as well.
fn half_done() -> (Bench, String, String) {
    let bench = Bench::with_tasks(&["First", "Second"]);
    bench.write("samuel.toml", "version = \"2\"\n");
    bench.make_repository(&["samuel.toml"]);
    let agent = format!("cat > /dev/null; {DOES}");
    bench.start(&agent, &["--jobs", "2", "--task", "1"]);
    assert_eq!(bench.status("1"), "completed");
    let into = bench.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/samuel"]);
    (bench, into, agent)
}

#[test]
fn reopens_work_of_branch_moved_back_to_main() {
    let (bench, into, agent) = half_done();
    bench.git(&["branch", "--quiet", "--force", &into, "main"]);
    let ran = bench.start(&agent, &["--jobs", "2"]);
    says(&ran.stdout, &[&format!("taken back: 1: {into} lost its merged work")]);
    assert_eq!(bench.git(&["ls-tree", "--name-only", &into, "made-1", "made-2"]), "made-1\nmade-2");
}

#[test]
fn single_loop_warns_of_removed_branch() {
    let (bench, into, agent) = half_done();
    bench.git(&["branch", "--quiet", "-D", &into]);
    let ran = bench.start(&agent, &[]);
    says(
        &ran.stderr,
        &[&format!("the branch {into} with merged work is gone"), &format!("git branch {into} ")],
    );
}
