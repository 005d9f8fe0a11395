//! Files of the run directory, changed, removed or replaced by others than Samuel.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use samuel_tests::says;
use serde_json::Value;

use crate::attacks::kit::{HANG, Ran, Target, ran, times, wait_for};

const PLAN: &str = ".samuel/run/prd.toon";
const JOURNAL: &str = ".samuel/run/journal.jsonl";

/// Replaces a part of a file of the project; it must be there.
fn edit(target: &Target, name: &str, from: &str, to: &str) {
    let text = target.read(name);
    assert!(text.contains(from), "{from} in {text}");
    target.write(name, text.replace(from, to));
}

#[test]
fn a_revision_that_leaves_no_room_to_count_on_breaks_nothing() {
    for highest in [u64::MAX, u64::MAX - 1, (1 << 53) + 1, 1 << 53] {
        let target = Target::with_tasks(&["one", "two"]);
        edit(&target, PLAN, "\nrevision: 3\n", &format!("\nrevision: {highest}\n"));
        for args in [&["run", "done", "1"][..], &["run", "enqueue", "three"], &["run", "status"]] {
            target.ok(args);
        }
        for (from, to) in [
            ("\"seq\":", "\"was\":1,\"seq\":18446744073709551615,\"of\":"),
            ("\"revision\":", "\"revision\":18446744073709551615,\"of\":"),
        ] {
            edit(&target, JOURNAL, from, to);
            for args in [&["run", "done", "2"][..], &["run", "reset", "2"]] {
                target.ok(args);
            }
        }
        let ran = target.run(&["run", "tasks"]);
        assert!(ran.text().contains("three"), "{}", ran.text());
    }
}

#[test]
fn a_record_after_which_there_is_no_number_is_passed_over_or_told() {
    for (seq, is_told) in [(1_u64 << 53, false), ((1 << 53) - 1, true)] {
        let target = Target::with_tasks(&["one"]);
        let journal = target.read(JOURNAL);
        let made_up = format!(
            "{{\"seq\":{seq},\"at\":\"2026-01-01T00:00:00Z\",\"revision\":2,\"kind\":\"rotated\"}}\n"
        );
        target.write(JOURNAL, journal + &made_up);
        let ran = target.run(&["run", "done", "1"]);
        assert_eq!(ran.code != Some(0), is_told, "{}", ran.text());
        assert_eq!(ran.text().contains("journal.jsonl is corrupt"), is_told, "{}", ran.text());
        let written = target.read(JOURNAL);
        assert!(!written.contains(&format!("\"seq\":{}", seq + 1)), "{written}");
    }
}

/// A project whose agent is a script outside of it, and whose check is another.
fn with_agent(agent: &str, check: &str) -> Target {
    let target = Target::with_tasks(&["one", "two"]);
    let script = target.home().join("agent");
    fs::write(&script, format!("cat >/dev/null\n{agent}\n")).unwrap();
    target.configure(&format!(
        "agent = \"command\"\nagent_command = [\"sh\", {script:?}]\nquality_checks = [{check:?}]\n\
         max_iterations = 4\nmax_consecutive_failures = 2\npause = \"0s\""
    ));
    target
}

fn start(target: &Target) -> Ran {
    let ran = ran(target.samuel_by_name(&["run", "start", "--yes"]), HANG * 4);
    assert!(!ran.hung, "{}", ran.text());
    ran
}

#[test]
fn a_start_says_that_the_journal_of_earlier_loops_is_gone() {
    let target = with_agent("samuel run skip 1; samuel run skip 2", "true");
    let gone = "its journal is gone";
    assert!(!start(&target).text().contains(gone));
    for name in ["journal.jsonl", "journal.1.jsonl"] {
        let _ = fs::remove_file(target.path(&format!(".samuel/run/{name}")));
    }
    let ran = start(&target);
    assert!(ran.text().contains(gone), "{}", ran.text());
    assert!(!start(&target).text().contains(gone));
}

/// Starts a loop whose agent writes the file `at-work` and waits for `go-on`.
fn start_and_wait(target: &Target) -> Child {
    let mut command = target.samuel_by_name(&["run", "start", "--yes"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the agent", || target.mark("at-work").exists() || child.try_wait().unwrap().is_some());
    child
}

/// Waits until something is so, and no longer than five seconds.
const UNTIL: &str =
    "until_so() { n=0; until \"$@\"; do n=$((n+1)); [ $n -lt 100 ] || exit 9; sleep 0.05; done; }";

// Takes about 12 s: each of the 11 attacks makes a project and a run, whose agent waits until what it removed is back.
#[test]
fn what_an_agent_removes_or_breaks_is_put_back_and_the_work_goes_on() {
    for attack in [
        "rm -rf .samuel/run",
        "rm -rf .samuel",
        "rm -rf .samuel/run; echo >.samuel/run",
        "rm -rf .samuel; echo >.samuel",
        "rm .samuel/run/prd.toon",
        ": >.samuel/run/prd.toon",
        "head -c 5000000 /dev/zero >.samuel/run/prd.toon",
        "rm -f .samuel/run/*",
        "rm .samuel/run/prd.toon .samuel/run/journal.jsonl; mkdir .samuel/run/journal.jsonl; touch .samuel/run/journal.jsonl/x",
        "rm .samuel/run/lock .samuel/run/prd.toon; mkfifo .samuel/run/lock",
        "head -c 5000000 /dev/zero >.samuel/run/journal.jsonl; rm .samuel/run/prd.toon",
    ] {
        let target = with_agent(
            &format!(
                "{UNTIL}\nif [ ! -e {once} ]; then touch {once}; {attack}; fi\n\
                 until_so grep -q created_at: .samuel/run/prd.toon\nsamuel run done $SAMUEL_TASK_ID",
                once = "$HOME/once"
            ),
            "true",
        );
        let ran = start(&target);
        assert_eq!(ran.code, Some(0), "{attack}: {}", ran.text());
        assert!(ran.text().contains("put back"), "{attack}: {}", ran.text());
        assert!(ran.text().len() < 100_000, "{attack}");
        assert_eq!(target.statuses(), ["completed", "completed"], "{attack}");
        assert!(target.path(".samuel/run/.gitignore").exists(), "{attack}: {}", ran.text());
        let (aside, told) = (target.path(".samuel.aside-1"), ran.text().contains(".samuel.aside-1"));
        assert_eq!(aside.exists(), told, "{attack}: {}", ran.text());
    }
}

#[test]
fn completes_tasks_although_no_log_can_be_created() {
    // A directory where a log should be refuses also the superuser.
    let target = with_agent(
        "for d in .samuel/run/logs/*; do mkdir -p $d/1-check-1.out $d/2-1.prompt $d/2-1.out; done\n\
         samuel run done $SAMUEL_TASK_ID",
        "true",
    );
    start(&target).ends(0);
    assert_eq!(target.statuses(), ["completed", "completed"]);
}

/// Cuts the plan after the row of its first task.
const CUT: &str =
    "sed '/^  \"1\",/q' .samuel/run/prd.toon >.samuel/run/cut; mv .samuel/run/cut .samuel/run/prd.toon";

#[test]
fn a_plan_that_is_cut_between_two_rows_is_put_back_and_the_work_goes_on() {
    let target = with_agent(
        &format!("{UNTIL}\nsamuel run done $SAMUEL_TASK_ID\n[ $SAMUEL_TASK_ID != 1 ] || {{ {CUT}; }}"),
        "true",
    );
    let ran = start(&target).ends(0);
    says(&ran.text(), &["put back as it was", "1 of 2 tasks are missing"]);
    assert_eq!(target.statuses(), ["completed", "completed"]);
}

#[test]
fn a_plan_that_was_cut_between_two_rows_is_not_called_completed() {
    let target = with_agent("samuel run done $SAMUEL_TASK_ID", "true");
    let cut = Command::new("sh").args(["-c", CUT]).current_dir(target.path("")).status().unwrap();
    assert!(cut.success());
    let ran = start(&target);
    assert_ne!(ran.code, Some(0), "{}", ran.text());
    says(&ran.text(), &["every task in prd.toon is settled, but 1 of 2 tasks are missing"]);
}

#[test]
fn a_task_that_an_agent_removes_is_told_and_logged() {
    let forged = r#"{"seq":'$(($(wc -l <.samuel/run/journal.jsonl)+1))',"at":"2026-01-01T00:00:00Z","revision":9,"kind":"imported","actor":"user","tasks":1,"backup":null}"#;
    for cover in ["true".to_owned(), format!("echo '{forged}' >>.samuel/run/journal.jsonl")] {
        let target = with_agent(
            &format!(
                "sed '/^  \"2\",/d; s/^tasks.2./tasks[1]/' .samuel/run/prd.toon >.samuel/run/new\n\
                 mv .samuel/run/new .samuel/run/prd.toon\n{cover}\nsamuel run done 1"
            ),
            "true",
        );
        let ran = start(&target);
        assert!(ran.text().contains("removed from the plan: 2 two"), "{cover}: {}", ran.text());
        let log = target.read(".samuel/run/progress.md");
        assert!(log.contains("removed from the plan: two"), "{cover}: {log}");
    }
}

#[test]
fn a_row_that_an_agent_makes_unreadable_is_told_and_logged() {
    let target = with_agent(
        "sed 's/^  \"2\",.*/  \"2\",two/' .samuel/run/prd.toon >.samuel/run/new\n\
         mv .samuel/run/new .samuel/run/prd.toon\nsamuel run done 1",
        "true",
    );
    let ran = start(&target);
    assert_ne!(ran.code, Some(0), "{}", ran.text());
    let log = target.read(".samuel/run/progress.md");
    says(&log, &["removed from the plan: two", "prd.toon was edited: 1 line can no longer be read"]);
    assert!(ran.text().contains("1 line can no longer be read"), "{}", ran.text());
}

#[test]
fn a_task_that_an_edit_opens_again_is_not_counted_as_completed() {
    let target = with_agent(
        "if [ $SAMUEL_ITERATION = 1 ]; then samuel run done 1; else\n\
         sed '/^  \"1\",/s/,completed,/,in_progress,/' .samuel/run/prd.toon >.samuel/run/new\n\
         mv .samuel/run/new .samuel/run/prd.toon; fi",
        "true",
    );
    let ran = ran(target.samuel_by_name(&["run", "start", "--yes", "--json"]), HANG * 4);
    assert!(!ran.hung, "{}", ran.text());
    let last: Value =
        serde_json::from_str(ran.text().lines().rfind(|line| line.contains("\"completed\"")).unwrap())
            .unwrap_or_else(|error| panic!("{error}: {}", ran.text()));
    assert!(!last["data"]["completed"].to_string().contains('1'), "{last}: {}", ran.text());
    assert!(ran.text().contains("reopened"), "{}", ran.text());
}

#[test]
fn an_error_does_not_repeat_a_whole_file() {
    let target = Target::with_tasks(&["one"]);
    let size = times(500_000, 5_000_000);
    for text in [
        vec![0; size],
        [&b"# toon "[..], &vec![b'v'; size][..]].concat(),
        [&b"# toon v3\nversion: "[..], &vec![b'v'; size][..]].concat(),
    ] {
        target.write(PLAN, text);
        for args in [&["run", "status"][..], &["run", "status", "--json"], &["run", "done", "1"], &["doctor"]]
        {
            let ran = target.run(args);
            assert!(ran.text().len() < 20_000, "{args:?}: {}", ran.text().len());
            assert_ne!(ran.code, Some(0), "{args:?}");
        }
    }
}

#[test]
fn no_lock_that_is_removed_admits_a_second_loop() {
    let go_on = "until [ -e GO ]; do sleep 0.01; done";
    let target = with_agent("", "true");
    let (at_work, go) = (target.mark("at-work"), target.mark("go-on"));
    let script = format!(
        "cat >/dev/null\ntouch {}\n{}\n",
        at_work.display(),
        go_on.replace("GO", &go.display().to_string())
    );
    fs::write(target.home().join("agent"), script).unwrap();
    let mut first = start_and_wait(&target);
    for attack in [
        "rm .samuel/run/loop.lock",
        "rm .samuel/run/loop.lock .samuel/run/journal.jsonl",
        "echo >.samuel/run/new; mv .samuel/run/new .samuel/run/loop.lock",
        "mv .samuel gone; mkdir -p .samuel/run; cp gone/run/prd.toon .samuel/run",
        "rm -rf .samuel/run",
    ] {
        // It may find that what it removes is put back already.
        let mut shell = Command::new("sh");
        shell.args(["-c", attack]).current_dir(target.root());
        assert!(!ran(shell, HANG).hung, "{attack}");
        for args in [&["run", "start", "--yes"][..], &["run", "init", "--force"], &["run", "restore"]] {
            let second = ran(target.samuel_by_name(args), HANG);
            // Until the plan is put back there is none.
            let text = second.text();
            assert!(second.code == Some(75) || text.contains("no plan at"), "{attack}: {args:?}: {text}");
        }
    }
    assert!(first.try_wait().unwrap().is_none(), "the first loop is still at work");
    wait_for("the holder", || {
        let second = ran(target.samuel_by_name(&["run", "start", "--yes"]), HANG);
        second.code == Some(75) && second.text().contains(&format!("process {}", first.id()))
    });
    fs::write(go, "").unwrap();
    first.wait().unwrap();
}

#[test]
fn what_a_leftover_of_a_run_wants_of_a_replaced_plan_is_refused() {
    let target = with_agent("", "false");
    let env = target.mark("env");
    // Without the mark, by which any other run kills what dead runs left.
    let writes =
        format!("cat >/dev/null\nenv | grep ^SAMUEL_ | grep -v ^SAMUEL_PROCESS_MARK= >{}\n", env.display());
    fs::write(target.home().join("agent"), writes).unwrap();
    assert_ne!(start(&target).code, Some(0));
    let leftover = |args: &[&str]| {
        let mut command = target.samuel_by_name(args);
        let given = fs::read_to_string(&env).unwrap();
        command.envs(
            given.lines().filter_map(|line| line.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())),
        );
        ran(command, HANG)
    };
    assert_eq!(leftover(&["run", "done", "2"]).code, Some(0), "it is the same plan");
    target.write("prd.md", "# Other\n\n## Tasks\n\n- [ ] 1 Something else\n- [ ] 2 And more\n");
    target.ok(&["run", "convert", "--force", "prd.md"]);
    for args in [&["run", "done", "1"][..], &["run", "skip", "1"], &["run", "enqueue", "more"]] {
        let refused = leftover(args);
        assert_eq!(refused.code, Some(1), "{args:?}: {}", refused.text());
        assert!(refused.text().contains("has been replaced"), "{}", refused.text());
    }
    assert_eq!(target.statuses(), ["pending", "pending"]);
    assert_eq!(target.run(&["run", "done", "1"]).code, Some(0), "a person means the plan that is there");
}
