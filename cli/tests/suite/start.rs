//! `start`: the loop, its output and its exit codes.

use crate::bench::{Bench, SAMUEL, says};

/// An agent that records its task as done.
const DONE: &str = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

#[test]
fn an_agent_that_records_its_tasks_ends_the_run_with_code_0() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let ran = bench.start(DONE, &[]).ends(0);
    for line in ["iteration 1: 1 First\n", "  done: 1 First\n", "iteration 2: succeeded in ", "completed\n"] {
        assert!(ran.stdout.contains(line), "{line} is not in {}", ran.stdout);
    }
    let tasks = bench.tasks();
    assert_eq!((&tasks[1]["status"], &tasks[1]["iteration"]), (&"completed".into(), &2.into()));
}

#[test]
fn a_run_of_an_empty_plan_says_that_there_were_no_tasks() {
    let bench = Bench::with_tasks(&[]);
    let ran = bench.start(DONE, &[]).ends(0);
    says(
        &ran.stderr,
        &["the plan has no tasks", "hint: `samuel run convert` and `samuel run enqueue` add tasks."],
    );
    let (events, _) = bench.start(DONE, &["--json"]).events();
    let told = |event: &serde_json::Value| event.to_string().contains("the plan has no tasks");
    assert_eq!(events.iter().filter(|event| told(event)).count(), 1, "{events:?}");
}

#[test]
fn a_run_prints_its_events_as_json_lines_and_one_document_at_the_end() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start(DONE, &["--json"]);
    let (events, last) = ran.events();
    assert_eq!((&last["command"], &last["ok"]), (&"run start".into(), &true.into()));
    assert_eq!(last["data"]["report"]["exit_reason"], "completed");
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"run_started"), Some(&"run_finished")));
    assert!(names.contains(&"task_completed") && names.contains(&"iteration_finished"), "{names:?}");
    assert!(events.iter().all(|event| event["schema_version"] == 1 && event["seq"].is_u64()));
}

#[test]
fn an_agent_that_fails_three_times_ends_the_run_with_code_4() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start("exit 7", &["--json"]);
    let (_, last) = ran.events();
    let report = &last["data"]["report"];
    assert_eq!((ran.code, &last["error"]["code"]), (4, &"E_RUN_STOPPED".into()));
    assert_eq!((&report["exit_reason"], &report["iterations"]), (&"consecutive-failures".into(), &3.into()));
    assert_eq!(bench.status("1"), "pending");
}

#[test]
fn an_agent_that_changes_what_runs_ends_the_run_before_the_next_iteration() {
    for (path, how) in [
        ("samuel.toml", "changed"),
        (".samuel/templates/ralph/prompt.md.tmpl", "new"),
        ("samuel.lock", "new"),
    ] {
        let bench = Bench::with_tasks(&["First", "Second"]);
        bench.write("samuel.toml", "version = \"2\"\n");
        let agent = format!("mkdir -p .samuel/templates/ralph; echo '# more' >> {path}");
        let ran = bench.start(&agent, &["--json"]);
        let (_, last) = ran.events();
        let report = &last["data"]["report"];
        assert_eq!(
            (ran.code, &report["exit_reason"]),
            (4, &"control-files-changed".into()),
            "{path}: {ran:?}"
        );
        assert_eq!((&report["iterations"], &report["detail"]), (&1.into(), &format!("{how}: {path}").into()));
    }
    // The last task is not done either.
    let bench = Bench::with_tasks(&["First", "Second"]);
    let ran = bench.start(&format!("{DONE}; echo >> samuel.toml"), &[]);
    assert_eq!((ran.code, bench.status("1")), (4, "pending".to_owned()), "{ran:?}");
    // The line to paste has no answer in it, and keeps what belongs to the agent.
    let ran = bench.start("echo >> samuel.toml", &["--agent-command", "--yes"]).ends(78);
    let line = "`samuel run start --pause 0 --agent command --agent-command /bin/sh --agent-command -c \
                --agent-command 'echo >> samuel.toml' --agent-command --yes --accept`";
    assert!(ran.stderr.contains(line), "{ran:?}");
}

#[test]
fn where_every_iteration_failed_no_higher_limit_is_advised() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start("exit 3", &["--max-iterations", "2"]).ends(4);
    assert!(ran.stderr.contains("Every iteration failed: mend what made them fail"), "{ran:?}");
    assert!(ran.stderr.contains("Read .samuel/run/progress.md, then go on with"), "{ran:?}");
    assert!(!ran.stderr.contains("raise max_iterations"), "{ran:?}");
}

#[test]
fn the_cap_on_iterations_ends_the_run_and_the_way_on_is_told() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start("true", &["--max-iterations", "2"]).ends(4);
    assert!(ran.stdout.contains("iteration 2: ") && !ran.stdout.contains("iteration 3: "), "{ran:?}");
    assert!(ran.stderr.contains("max-iterations"), "{ran:?}");
    // A bare start would call another agent.
    let again = "then go on with `samuel run start --yes --pause 0 --agent command --agent-command /bin/sh \
                 --agent-command -c --agent-command true --max-iterations 2`. To let a run go further, raise \
                 max_iterations in samuel.toml, or pass a higher --max-iterations.\n";
    assert!(ran.stderr.ends_with(again), "{ran:?}");
}

#[test]
fn an_agent_that_fails_is_told_of_once_with_its_last_words_and_its_logs() {
    for (agent, told) in [
        (format!("echo why; {DONE}; exit 7"), "agent-exit: command ended with exit code 7: why\n"),
        ("echo why; kill -9 $$".to_owned(), "agent-exit: agent \"command\" was ended by signal 9: why\n"),
    ] {
        let bench = Bench::with_tasks(&["First"]);
        let ran = bench.start(&agent, &["--max-iterations", "1"]);
        let text = ran.text();
        assert_eq!(text.matches(told).count(), 1, "{agent}: {text}");
        assert_eq!(text.matches(": why").count(), 1, "{agent}: {text}");
        let (_, log) = text.split_once("    all that the agent printed: ").expect(&text);
        let log = log.lines().next().unwrap();
        assert!(log.ends_with("/1-1.out"), "{log}");
        assert!(bench.read(log).starts_with("why\n"), "{agent}: {text}");
    }
}

#[test]
fn a_program_of_the_agent_that_is_missing_in_the_project_is_refused_before_anything_starts() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.samuel(&["run", "start", "--yes", "--agent-command", "./ag.sh"]).ends(1);
    let place = bench.path("ag.sh").canonicalize().unwrap_or_else(|_| bench.path("ag.sh"));
    let told = format!("needs the program \"./ag.sh\", which was not found: there is no {}", place.display());
    assert!(ran.stderr.contains(&told) && ran.stderr.contains("the project's root"), "{ran:?}");
    assert!(!ran.stdout.contains("iteration 1"), "{ran:?}");
}

#[test]
fn tasks_that_are_all_blocked_end_the_run_with_code_3_and_the_cause() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let blocked = bench.read(".samuel/run/prd.toon").replace("pending", "blocked");
    std::fs::write(bench.prd(), blocked).unwrap();
    let ran = bench.start(DONE, &[]).ends(3);
    assert!(ran.stderr.contains("blocked: 1 is marked as blocked"), "{ran:?}");
}

#[test]
fn a_check_that_fails_takes_the_completion_back() {
    let bench = Bench::with_tasks(&["First"]);
    let check = "test -e second || { touch second; exit 1; }";
    bench.configure(&format!("quality_checks = ['{check}']"));
    let ran = bench.start(DONE, &[]).ends(0);
    says(&ran.stdout, &["  check failed: `test -e second", "  taken back: 1\n"]);
    assert_eq!(bench.tasks()[0]["iteration"], 2);
}

#[test]
fn a_budget_that_the_agent_reports_nothing_of_is_told_by_the_start_and_by_the_doctor() {
    let bench = Bench::with_tasks(&["First"]);
    let told = "session_budget.max_cost_usd never ends a run, since the agent \"command\" reports no cost";
    let budget = |what: &str| {
        let agent = "agent = \"command\"\nagent_command = [\"sh\"]";
        bench.configure(&format!("{agent}\nsession_budget = {{ {what} }}"));
    };
    budget("max_cost_usd = 0.5");
    let doctor = bench.samuel(&["doctor"]);
    says(&doctor.stdout, &[told, "max_iterations or session_budget.max_wall_time"]);
    let ran = bench.start(DONE, &[]);
    assert!(ran.code == 0 && ran.stderr.contains(&format!("warning: {told}. Limit the run by")), "{ran:?}");
    budget("max_wall_time = \"1h\"");
    let ran = bench.start(DONE, &[]);
    assert!(!ran.stderr.contains("never ends"), "{ran:?}");
}

#[test]
fn only_what_an_agent_printed_is_called_that() {
    for (said, is_named) in [("", false), ("{ say = \"looking\" }, ", true)] {
        let bench = Bench::with_tasks(&["First"]);
        bench.write(
            "play.toml",
            &format!("[[calls]]\nsteps = [{said}{{ fail = {{ message = \"no login\" }} }}]\n"),
        );
        let play = ["--agent", "scripted", "--agent-command", "play.toml", "--max-iterations", "1"];
        let ran = bench.samuel(&[&["run", "start", "--yes"], &play[..]].concat());
        assert!(ran.stdout.contains("no login"), "{ran:?}");
        assert_eq!(ran.stdout.contains("all that the agent printed"), is_named, "{ran:?}");
        assert!(!ran.stdout.contains(".err"), "{ran:?}");
    }
}

#[test]
fn a_new_control_file_is_to_be_looked_for_where_git_shows_new_files() {
    let bench = Bench::with_tasks(&["First"]);
    let check = "test ! -e hello || ./hello";
    bench.configure(&format!("quality_checks = ['{check}']"));
    let makes = "printf '#!/bin/sh\\n' > hello; chmod +x hello";
    let ran = bench.start(&format!("{makes}; {DONE}"), &[]);
    assert!(ran.stdout.contains("new: hello") && ran.stderr.contains("`git status`"), "{ran:?}");
    let again = bench.start(DONE, &[]);
    assert!(again.code == 78 && again.stderr.contains("`git status`"), "{again:?}");
}

#[test]
fn a_completion_that_stands_although_its_iteration_failed_is_told() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let ran = bench.start(&format!("{DONE}; [ \"$SAMUEL_TASK_ID\" != 1 ] || exit 3"), &[]).ends(0);
    assert!(ran.stdout.contains("iteration 1: failed in "), "{ran:?}");
    assert_eq!(ran.stdout.matches("\n  completed all the same: 1\n").count(), 1, "{ran:?}");
    assert!(!ran.stdout.contains("completed all the same: 2"), "{ran:?}");
}

#[test]
fn without_a_terminal_nothing_runs_unless_it_is_allowed() {
    let bench = Bench::with_tasks(&["First"]);
    let agent = ["run", "start", "--agent-command", "touch ran"];
    let ran = bench.samuel(&agent).fails(78);
    assert!(ran.stderr.contains("agent command: touch ran\n") && ran.stderr.contains("--yes"), "{ran:?}");
    let document = bench.samuel(&[&agent[..], &["--json"]].concat()).json();
    assert_eq!(document["error"]["code"], "E_TRUST_REFUSED");
    let agent = &document["data"]["executables"]["entries"][0];
    assert_eq!((&agent["kind"], &agent["command"]), (&"agent".into(), &"touch ran".into()));
    assert!(!bench.path("ran").exists());
}

#[test]
fn a_second_loop_is_told_who_runs_the_first() {
    let bench = Bench::with_tasks(&["First"]);
    let mut first = bench.spawn(&bench.start_args("until [ -e go ]; do sleep 0.05; done"));
    first.wait_for("iteration 1: 1 First");
    let second = bench.start(DONE, &[]).ends(75);
    assert!(second.stderr.contains(&format!("process {}", first.child.id())), "{second:?}");
    assert_eq!(bench.ok(&["run", "--json"]).json()["data"]["running"], true);
    first.signal(rustix::process::Signal::KILL);
    assert_eq!(first.code(), -1);
    let status = bench.ok(&["run", "status"]).stdout;
    assert!(
        status.contains(
            "Loop       not running (the last one was cut off: a start takes back what no check has passed)\n"
        ),
        "{status}"
    );
    // A killed loop holds nothing, and its agent is gone.
    let third = bench.start(DONE, &["--json"]).ends(0);
    assert_eq!(third.events().0[0]["resumed"], true);
}

#[test]
fn a_profile_ends_with_a_table_and_leaves_lines_in_the_log() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start(DONE, &["--profile"]);
    assert!(ran.stdout.contains("median ms") && ran.stdout.contains("agent.invoke"), "{ran:?}");
    assert!(bench.read(".samuel/run/progress.md").contains("[hooks.timing] context.task default "));
    let bench = Bench::with_tasks(&["First"]);
    let (_, last) = bench.start(DONE, &["--profile", "--json"]).events();
    let rows = last["data"]["profile"].as_array().unwrap();
    let agent = rows.iter().find(|row| row["point"] == "agent.invoke").unwrap();
    assert_eq!(agent["count"], 1);
    assert!(agent["share"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_recording_is_played_by_the_scripted_agent() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write(
        "play.toml",
        "[[calls]]\nsteps = [{ write = { path = \"a\", content = \"b\" } }, { done = {} }]\n",
    );
    bench.samuel(&["run", "start", "--yes", "--agent", "scripted", "--agent-command", "play.toml"]).ends(0);
    assert_eq!(bench.read("a"), "b");
    assert!(bench.read(".samuel/run/journal.jsonl").contains("\"actor\":\"agent\""));
}

#[test]
fn the_agent_reaches_this_very_program_and_nothing_of_other_secrets() {
    let bench = Bench::with_tasks(&["First"]);
    let agent = format!("{DONE}; env > seen; cat > prompt");
    let mut command = bench.command(&bench.start_args(&agent));
    command.env("AWS_SECRET_ACCESS_KEY", "x");
    assert!(command.output().unwrap().status.success());
    let seen = bench.read("seen");
    assert!(seen.contains(&format!("SAMUEL_BINARY={SAMUEL}\n")), "{seen}");
    assert!(!seen.contains("AWS_SECRET"), "{seen}");
    assert!(bench.read("prompt").contains(&format!("{SAMUEL} run done 1\n")));
}

#[test]
fn what_an_agent_leaves_running_and_why_one_cannot_start_is_told() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start(
        "sleep 300 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done",
        &["--max-iterations", "1"],
    );
    let left = "warning: agent.invoke default: the agent left 1 process running, which was ended: ";
    assert!(ran.stdout.contains(left) || ran.stderr.contains(left), "{ran:?}");
    bench.write("agent.sh", "#!/bin/sh\r\nexit 0\r\n");
    let path = bench.path("agent.sh");
    let start =
        ["run", "start", "--yes", "--pause", "0", "--agent", "command", "--agent-command", "./agent.sh"];
    for (mode, cause) in [
        (0o644, "is not executable: permission is denied\nhelp: Run `chmod +x"),
        (0o755, "ends with a carriage return"),
    ] {
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        let ran = bench.samuel(&start);
        let text = ran.text();
        assert_ne!(ran.code, 0);
        assert!(text.contains("agent.sh`") && text.contains(cause), "{text}");
        assert!(!text.contains("iteration 1"), "{text}");
    }
}
