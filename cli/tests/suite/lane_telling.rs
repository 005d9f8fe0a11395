//! What is said while lanes are at work, and of runs with lanes that get no further.

use rustix::process::Signal;

use crate::{
    bench::{Bench, says, wait_for_file, wait_until},
    lane_ground::{Ground, task},
    merge_queue::{RUN, with_submitted},
};

/// A project in a repository.
fn with_repository(titles: &[&str]) -> Bench {
    let bench = Bench::with_tasks(titles);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    bench
}

/// An agent that says it is up with a task and goes on once there is a file `go`.
fn waiting(bench: &Bench) -> String {
    let tmp = bench.tmp().display().to_string();
    format!(
        "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; touch {tmp}/up-$SAMUEL_TASK_ID; \
         while ! test -e {tmp}/go; do sleep 0.02; done; $SAMUEL_BINARY run done $SAMUEL_TASK_ID"
    )
}

#[test]
fn running_tasks_are_not_blocked_and_done_is_provisional() {
    let bench = with_repository(&["First", "Second"]);
    bench.ok(&["run", "enqueue", "Third", "--depends-on", "1"]);
    let agent = waiting(&bench);
    let run = bench.spawn(&[&bench.start_args(&agent)[..], &["--jobs", "2"]].concat());
    ["up-1", "up-2"].iter().for_each(|up| wait_for_file(&bench.tmp().join(up)));
    let status = bench.ok(&["run", "status"]).stdout;
    says(
        &status,
        &["Next       nothing more: 2 tasks are under way\n", "Waiting:\n", "  3 depends on 1, which"],
    );
    assert!(!status.contains("locked"), "{status}");
    let why = bench.ok(&["run", "why"]).stdout;
    says(&why, &["what is next: nothing else can be started: 2 tasks are under way\n"]);
    let next = &bench.ok(&["run", "status", "--json"]).json()["data"]["next"];
    assert_eq!(next["kind"], "under_way", "{next}");
    let done = bench.ok(&["run", "done", "2"]).stdout;
    says(&done, &["what is completed during an iteration stands once its check passes"]);
    std::fs::write(bench.tmp().join("go"), "").unwrap();
    assert_eq!(run.code(), 0);
}

#[test]
fn marks_a_merge_without_a_change() {
    let bench = with_repository(&["First", "Second"]);
    let agent = "cat > /dev/null; test $SAMUEL_TASK_ID = 1 || echo x > made; \
                 $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    let ran = bench.start(agent, &["--jobs", "2"]).ends(0);
    says(
        &ran.stdout,
        &[
            "  done: 1 First (without a change)\n",
            "  done: 2 Second\n",
            "  completed without a change: 1 (1)\n",
        ],
    );
    let status = bench.ok(&["run", "status"]).stdout;
    says(&status, &["2 of 2 completed (100%), 1 without a change\n"]);
    let report = bench.ok(&["run", "report", "--format", "md"]).stdout;
    says(&report, &["1 First: completed without a change, ", "2 Second: completed, "]);
    assert_eq!(bench.ok(&["run", "tasks"]).stdout.matches("(without a change)").count(), 1);
    let tasks = bench.tasks();
    assert_eq!((&tasks[0]["marks"][0], tasks[1]["marks"].is_null()), (&"no-change".into(), true));
}

#[test]
fn one_silent_agent_has_its_task_blocked_and_the_other_lanes_go_on() {
    let bench = with_repository(&["First", "Second", "Third", "Fourth", "Fifth"]);
    let agent = "cat > /dev/null; test $SAMUEL_TASK_ID = 2 || { echo x > made-$SAMUEL_TASK_ID; \
                 $SAMUEL_BINARY run done $SAMUEL_TASK_ID; }";
    let ran = bench.start(agent, &["--jobs", "2"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let stands: Vec<String> = (1..=5).map(|id| bench.status(&id.to_string())).collect();
    assert_eq!(stands, ["completed", "blocked", "completed", "completed", "completed"], "{ran:?}");
    let why =
        "3 times in a row its agent ended well without recording what became of it, and nothing changed";
    assert!(bench.ok(&["run", "tasks"]).stdout.contains(why), "{ran:?}");
    // Of a claim that came to nothing no branch is left.
    let left = bench.git(&["for-each-ref", "--format=%(refname)", "refs/heads/samuel"]);
    assert!(left.lines().count() == 1 && left.ends_with("/result"), "{left}");
}

#[test]
fn an_agent_that_fails_in_the_same_way_again_and_again_has_its_task_blocked_whatever_attempts_there_are() {
    let bench = with_repository(&["First", "Second", "Third", "Fourth", "Fifth"]);
    let agent = "cat > /dev/null; test $SAMUEL_TASK_ID != 2 || exit 7; echo x > made-$SAMUEL_TASK_ID; \
                 $SAMUEL_BINARY run done $SAMUEL_TASK_ID";
    let ran = bench.start(agent, &["--jobs", "2", "--max-attempts", "0"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let stands: Vec<String> = (1..=5).map(|id| bench.status(&id.to_string())).collect();
    assert_eq!(stands, ["completed", "blocked", "completed", "completed", "completed"], "{ran:?}");
    says(&bench.ok(&["run", "tasks"]).stdout, &["3 times in a row it failed in the same way (agent-exit: "]);
}

#[test]
fn a_change_that_takes_submitted_work_out_of_the_queue_says_where_it_stays() {
    let bench = with_submitted(&["First", "Second", "Third"], &["1", "2", "3"]);
    let told = |id: &str| {
        format!("the work that was submitted for {id} does not land; it stays on samuel/{RUN}/{id}-")
    };
    for (args, id) in [(["done", "1"], "1"), (["skip", "2"], "2"), (["release", "3"], "3")] {
        let said = bench.ok(&[&["run"], &args[..]].concat()).stdout;
        assert!(said.contains(&told(id)), "{said}");
    }
    let again = bench.ok(&["run", "reset", "2", "--json"]).json();
    assert!(again["data"]["not_landing"].is_null(), "{again}");
}

#[test]
fn a_run_that_is_stopped_says_what_waits_to_be_landed() {
    let bench = with_repository(&["First", "Second"]);
    let agent = waiting(&bench);
    bench.configure("quality_checks = [\"true\"]\nparallel = { into = \"main\" }");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    // What is in the way of the landing stays there.
    bench.write("made-1", "mine\n");
    let mut run = bench.spawn(&[&bench.start_args(&agent)[..], &["--jobs", "2"]].concat());
    ["up-1", "up-2"].iter().for_each(|up| wait_for_file(&bench.tmp().join(up)));
    std::fs::write(bench.tmp().join("go"), "").unwrap();
    run.wait_for("the landing on main waits");
    let status = bench.ok(&["run", "status"]).stdout;
    says(&status, &["Landing    ", " for this: ", "made-1"]);
    let why = bench.ok(&["run", "why", "1"]).stdout;
    assert!(
        why.starts_with("task 1: its work is done: 1 waits to be landed since ") && why.contains("made-1"),
        "{why}"
    );
    run.signal(Signal::INT);
    run.wait_for(
        "to be landed; `samuel run queue` says why, `samuel run queue land` lands what nobody holds",
    );
    assert_eq!(run.code(), 130);
}

#[test]
fn a_task_that_waits_for_files_of_another_says_for_whom_and_the_run_says_it_once() {
    let shared = ["shared.txt"];
    let ground = Ground::with_tasks(["1", "2"].map(|id| task(id, &[], &shared)).to_vec());
    let bench = &ground.bench;
    let (agent, told) = (waiting(bench), bench.tmp().join("told"));
    let mut command = bench.command(&[&bench.start_args(&agent)[..], &["--jobs", "4"]].concat());
    let mut run = command.stdout(std::fs::File::create(&told).unwrap()).spawn().unwrap();
    wait_for_file(&bench.tmp().join("up-1"));
    let waits = "2 waits for 1 to land, which declares shared.txt too";
    wait_until("a lane says what it waits for", || std::fs::read_to_string(&told).unwrap().contains(waits));
    says(&bench.ok(&["run", "why", "2"]).stdout, &[&format!("task 2: it is open: {waits}\n")]);
    let status = bench.ok(&["run", "status"]).stdout;
    says(&status, &["Next       nothing more: 1 task is under way\n", "Waiting:\n  1 is claimed by "]);
    says(&status, &[&format!("  {waits}\n")]);
    std::fs::write(bench.tmp().join("go"), "").unwrap();
    assert!(run.wait().unwrap().success());
    let told = std::fs::read_to_string(&told).unwrap();
    assert_eq!(told.matches(waits).count(), 1, "{told}");
}

/// An agent that does its task, and commits it where it works.
const DOES: &str = "cat > /dev/null; echo x > made-$SAMUEL_TASK_ID; git add -A; git commit --quiet --message Work; \
                    $SAMUEL_BINARY run done $SAMUEL_TASK_ID";

/// Returns the branches with the results of runs.
fn results(bench: &Bench) -> Vec<String> {
    let names = bench.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/samuel/**/result"]);
    names.lines().map(str::to_owned).collect()
}

// Takes about 9 s: four runs with two workers, and one without.
#[test]
fn work_that_lanes_have_landed_and_nobody_merged_is_told_by_starts_without_lanes_and_by_the_status() {
    let bench = with_repository(&["First"]);
    bench.write(".gitignore", ".samuel\nsamuel.toml\n");
    bench.git(&["add", ".gitignore"]);
    bench.git(&["commit", "--quiet", "--message", "Ignore"]);
    bench.write("mine.txt", "mine\n");
    let first = bench.start(DOES, &["--jobs", "2"]);
    says(
        &first.stderr,
        &["1 file is not committed (mine.txt), so lanes work without what was changed there"],
    );
    let result = results(&bench)[0].clone();
    bench.ok(&["run", "enqueue", "Second"]);
    let told = format!("{result} has work that is not merged: `samuel run merge {result}`\n");
    says(&bench.ok(&["run", "status"]).stdout, &[&told]);
    let alone = bench.start(DOES, &[]);
    let warned = format!(
        "work of workers is on {result}, which is not merged into what is checked out: this run works without it"
    );
    says(&alone.stderr, &[&warned, &format!("Merge {result} first.")]);
    says(&alone.stdout, &[&format!("  {told}")]);
    bench.ok(&["run", "enqueue", "Third"]);
    let again = bench.start(DOES, &["--jobs", "2"]);
    says(
        &again.stderr,
        &[&format!(
            "goes on with {result}, which is not in what is checked out yet and lacks what is committed there"
        )],
    );
    bench.git(&["merge", "--quiet", "--no-edit", &result]);
    assert!(!bench.ok(&["run", "status"]).stdout.contains("not merged"));
    // What was taken over by a fast-forward is taken over, too.
    bench.ok(&["run", "enqueue", "Fourth"]);
    bench.start(DOES, &["--jobs", "2"]);
    let second = results(&bench);
    assert!(second.len() == 1 && second[0] != result, "the merged one is removed: {second:?}");
    bench.git(&["merge", "--quiet", "--ff-only", &second[0]]);
    bench.ok(&["run", "enqueue", "Fifth"]);
    bench.start(DOES, &["--jobs", "2"]);
    let third = results(&bench);
    assert!(third.len() == 1 && third != second, "{third:?}");
}

// Takes about 6 s: three runs with two workers.
#[test]
fn squashed_branch_counts_as_merged() {
    let bench = with_repository(&["First"]);
    bench.start(DOES, &["--jobs", "2"]).ends(0);
    let unmerged = || bench.ok(&["run", "status", "--json"]).json()["data"]["unmerged"].clone();
    assert_eq!(unmerged(), serde_json::json!(results(&bench)));
    let first = results(&bench).remove(0);
    let squash = |branch: &str| {
        bench.git(&["merge", "--quiet", "--squash", branch]);
        bench.git(&["commit", "--quiet", "--message", "All of it"]);
    };
    squash(&first);
    assert_eq!(unmerged(), serde_json::json!([]));
    bench.ok(&["run", "enqueue", "Second"]);
    let ran = bench.start(DOES, &["--jobs", "2"]).ends(0);
    assert!(!ran.stderr.contains("goes on with"), "{ran:?}");
    let second = results(&bench).into_iter().find(|name| *name != first).unwrap();
    squash(&second);
    let lanes = bench.ok(&["run", "lanes"]).stdout;
    assert!(!lanes.contains("not merged") && lanes.contains("landed: it is on main"), "{lanes}");
    bench.ok(&["run", "clean"]);
    assert_eq!(results(&bench), [""; 0]);
    bench.ok(&["run", "enqueue", "Third"]);
    bench.start(DOES, &["--jobs", "2"]).ends(0);
}

#[test]
fn a_branch_on_which_nothing_has_landed_is_nothing_that_waits_to_be_merged() {
    let bench = with_repository(&["First"]);
    bench.start("cat > /dev/null; exit 7", &["--jobs", "2", "--max-attempts", "1"]);
    let [_] = &results(&bench)[..] else { panic!("{:?}", results(&bench)) };
    bench.git(&["commit", "--quiet", "--amend", "--message", "Amended"]);
    assert_eq!(bench.ok(&["run", "status", "--json"]).json()["data"]["unmerged"], serde_json::json!([]));
}

#[test]
fn a_branch_that_nobody_merged_is_told_although_the_last_run_landed_on_another() {
    let bench = with_repository(&["First"]);
    bench.start(DOES, &["--jobs", "2"]).ends(0);
    let result = results(&bench)[0].clone();
    bench.ok(&["run", "enqueue", "Second"]);
    bench.start(DOES, &["--jobs", "2", "--into", "main"]).ends(0);
    assert_eq!(
        bench.ok(&["run", "status", "--json"]).json()["data"]["unmerged"],
        serde_json::json!([result])
    );
}

#[test]
fn tasks_that_come_back_from_the_queue_and_are_blocked_end_a_run_in_which_nothing_lands() {
    let ids = ["1", "2", "3", "4"];
    let ground = Ground::with_tasks(ids.map(|id| task(id, &[], &["shared.txt"])).to_vec());
    let bench = &ground.bench;
    bench.configure("quality_checks = [\"case $PWD in */queue.clone/*) exit 1;; esac\"]");
    bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    bench.git(&["branch", "target"]);
    // Somebody commits there meanwhile, so that what is merged is no tree that was checked in a lane.
    let does = format!(
        "( cd '{root}'; t=$( (git ls-tree target; printf '100644 blob %s\\telse-%s\\n' $(echo x | git hash-object -w --stdin) \
         $SAMUEL_TASK_ID) | git mktree ); \
         git update-ref refs/heads/target $(git commit-tree -p target -m Else $t) ); {DOES}",
        root = bench.root().display()
    );
    let args = ["--jobs", "2", "--into", "target", "--max-attempts", "1", "--max-failures", "1"];
    let ran = bench.start(&does, &args);
    assert_eq!(ran.code, 4, "{ran:?}");
    let stands = ids.map(|id| bench.status(id));
    assert_eq!(stands, ["blocked", "blocked", "pending", "pending"], "{ran:?}");
    says(&bench.ok(&["run", "why", "run"]).stdout, &["2 tasks were blocked in a row after their attempts"]);
}

#[test]
fn lanes_do_not_go_on_without_their_branch_where_its_work_is_nowhere_else() {
    let bench = with_repository(&["First"]);
    bench.start(DOES, &["--jobs", "2"]).ends(0);
    let result = results(&bench)[0].clone();
    let last = bench.git(&["rev-parse", &result]);
    bench.git(&["branch", "--quiet", "-D", &result]);
    bench.ok(&["run", "enqueue", "Second"]);
    let refused = bench.start(DOES, &["--jobs", "2"]).fails(1);
    says(
        &refused.stderr,
        &[
            &format!("the branch {result}, which work lands on, is gone; its last commit was {last}"),
            &format!("`git branch {result} {last}` makes it again."),
        ],
    );
    assert_eq!(results(&bench), [""; 0]);
    bench.git(&["branch", &result, &last]);
    bench.start(DOES, &["--jobs", "2"]).ends(0);
    assert_eq!(results(&bench), [result]);
}

#[test]
fn what_is_landed_without_a_loop_is_recorded() {
    let bench = with_submitted(&["First", "Second"], &["1"]);
    bench.ok(&["run", "queue", "land", "--yes"]);
    let runs = bench.ok(&["run", "runs"]).stdout;
    assert!(runs.contains("completed") && runs.contains("a landing without a loop, completed 1"), "{runs}");
    let listed = &bench.ok(&["run", "runs", "--json"]).json()["data"]["runs"][0];
    assert_eq!(listed["kind"], "landing", "{listed}");
    assert!(listed["started_at"].is_string(), "{listed}");
    let log = bench.ok(&["run", "log"]).stdout;
    assert!(log.contains("  a landing on samuel/") && log.contains("/result starts\n"), "{log}");
    assert!(log.contains("landed: 1 on samuel/") || log.contains("1 has landed on samuel/"), "{log}");
    let why = bench.ok(&["run", "why", "1"]).stdout;
    assert!(why.starts_with("task 1: it is completed, by commit ") && why.contains("landed"), "{why}");
    says(&bench.ok(&["run", "why", "run"]).stdout, &["it ended as completed"]);
    let page = bench.ok(&["run", "report", "--json"]).json();
    assert_eq!(page["data"]["run"]["landed"][0]["task"], "1", "{page}");
    assert!(page["data"]["run"]["report"]["into"].as_str().unwrap().ends_with("/result"), "{page}");
}

#[test]
fn branch_with_work_is_named_until_merged() {
    let bench = with_repository(&["First"]);
    bench.git(&["branch", "work"]);
    bench.start(DOES, &["--jobs", "2", "--into", "work"]).ends(0);
    let run =
        bench.ok(&["run", "runs", "--json"]).json()["data"]["runs"][0]["run"].as_str().unwrap().to_owned();
    let looks: [&[&str]; 5] = [
        &["run", "status"],
        &["run", "runs"],
        &["run", "why", &run],
        &["run", "report", &run, "--format", "md"],
        &["run", "report", &run, "--format", "json"],
    ];
    let names = |look: &[&str]| {
        let told = bench.ok(look).stdout;
        told.contains("work has work that is not merged") || told.contains("\"unmerged\"")
    };
    for look in looks {
        assert!(names(look), "{look:?}: {}", bench.ok(look).stdout);
    }
    // A later run without workers names it, too.
    bench.ok(&["run", "enqueue", "Second"]);
    bench.start(DOES, &[]).ends(0);
    for look in [&["run", "why", "run"][..], &["run", "report", "--format", "md"]] {
        assert!(names(look), "{look:?}: {}", bench.ok(look).stdout);
    }
    assert_eq!(bench.ok(&["run", "runs"]).stdout.matches("work has work that is not merged").count(), 2);
    bench.git(&["merge", "--quiet", "--no-edit", "work"]);
    for look in looks {
        assert!(!names(look), "{look:?}: {}", bench.ok(look).stdout);
    }
}
