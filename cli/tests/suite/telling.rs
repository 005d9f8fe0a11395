//! What a run tells of itself: on a terminal, in a pipe, in `status` and in its files.

use rustix::process::Signal;

use crate::bench::{Bench, says, wait_for_file, wait_until};

const DONE: &str = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

/// A recording of an agent that meets a usage limit.
const LIMIT: &str =
    "[[calls]]\nsteps = [{ rate_limit = { message = \"m\", resets_at = \"2200-01-01T00:00:00Z\" } }]\n";

/// Starts a loop whose agent plays a recording.
/// Returns the day in twenty days, and a script of a usage limit that ends as it begins: far, and not so far
/// that nobody waits for it.
fn limit_in_twenty_days() -> (String, String) {
    let date = std::process::Command::new("date").args(["-u", "-d", "+20 days", "+%F"]).output().unwrap();
    let day = String::from_utf8(date.stdout).unwrap().trim().to_owned();
    let script = LIMIT.replace("2200-01-01", &day);
    (day, script)
}

fn play(bench: &Bench, script: &str) -> crate::bench::Ran {
    bench.write("script.toml", script);
    let args =
        ["run", "start", "--yes", "--pause", "0", "--agent", "scripted", "--agent-command", "script.toml"];
    bench.samuel(&args)
}

/// The text of the one file in the logs whose name has this end.
fn logged(bench: &Bench, end: &str) -> String {
    let logs = bench.path(".samuel/run/logs");
    let runs = std::fs::read_dir(logs).unwrap().flatten();
    let files = runs.flat_map(|run| std::fs::read_dir(run.path()).unwrap().flatten());
    let found = files.map(|file| file.path()).find(|path| path.to_str().unwrap().ends_with(end));
    std::fs::read_to_string(found.unwrap_or_else(|| panic!("no file is called {end}"))).unwrap()
}

#[test]
fn the_end_of_what_a_failed_check_printed_is_shown_and_all_of_it_is_kept() {
    let bench = Bench::with_tasks(&["First"]);
    let check = "seq 1 2000; echo $SAMUEL_ITERATION $SAMUEL_TASK_ID ${SAMUEL_RUN_ID:+run}; test -e fixed";
    bench.configure(&format!("quality_checks = ['{check}']"));
    let agent = format!("cat > prompt-$SAMUEL_ITERATION; test $SAMUEL_ITERATION = 1 || touch fixed; {DONE}");
    let ran = bench.start(&agent, &[]).ends(0);
    assert!(ran.stdout.contains("    | 2000\n    | 1 1 run\n    all of it: .samuel/run/logs/"), "{ran:?}");
    assert!(!ran.stdout.contains("    | 1990\n"), "{ran:?}");
    assert!(logged(&bench, "1-check-1.out").starts_with("1\n2\n3\n"));
    // The agent is told of it once, and each of its prompts is kept.
    let prompt = bench.read("prompt-2");
    assert_eq!(prompt.matches("exit code 1").count(), 1, "{prompt}");
    assert!(prompt.contains("2000\n") && logged(&bench, "2-1.prompt") == prompt, "{prompt}");
}

/// A project in a repository.
fn in_repository(titles: &[&str], keys: &str) -> Bench {
    let bench = Bench::with_tasks(titles);
    bench.configure(keys);
    bench.write("a.txt", "one\n");
    bench.make_repository(&["a.txt", "samuel.toml"]);
    bench
}

#[test]
fn reports_files_left_uncommitted() {
    let agent = format!("cat > /dev/null; echo one > made; {DONE}");
    let committed = "committed for the agent as ";
    for (keys, told) in [
        ("", "uncommitted: made"),
        ("\n[sandbox]\nworkspace = \"clone\"", committed),
        ("parallel.jobs = 2", committed),
    ] {
        let bench = in_repository(&["First"], keys);
        let ran = bench.start(&agent, &[]).ends(0);
        says(&ran.stdout, &[told]);
        says(&bench.ok(&["run", "log"]).stdout, &[told]);
        // Markdown has a backslash before a colon.
        says(&bench.ok(&["run", "report", "--format", "md"]).stdout.replace('\\', ""), &[told]);
        assert_eq!(bench.tasks()[0]["commit_sha"].is_null(), keys.is_empty(), "{keys}");
    }
}

#[test]
fn credits_no_commit_from_before_the_task() {
    let named = "--commit-sha \"$(git rev-parse HEAD)\"";
    let commit = "if test $SAMUEL_TASK_ID = 2; then git commit --quiet --all --message Two; fi";
    let agent = format!("cat > /dev/null; echo $SAMUEL_TASK_ID > a.txt; {commit}; {DONE} {named}");
    let bench = in_repository(&["First", "Second"], "");
    let old = bench.git(&["rev-parse", "HEAD"]);
    bench.start(&agent, &[]).ends(0);
    let tasks = bench.tasks();
    let new = bench.git(&["rev-parse", "HEAD"]);
    assert_eq!((tasks[0]["commit_sha"].is_null(), tasks[1]["commit_sha"].as_str()), (true, Some(&*new)));
    let report = bench.ok(&["run", "report", "--format", "md"]).stdout;
    assert!(!report.contains(&old[..12]) && report.contains(&new[..12]), "{report}");
    let shown = bench.ok(&["run", "show", "1", "--json"]).json();
    assert_eq!(shown["data"]["commits"], serde_json::json!([]), "{shown}");
}

#[test]
fn marks_completions_by_edit_and_other_agents() {
    let bench = in_repository(&["First", "Second", "Third"], "");
    let edit = "sed -i 's/,pending,/,completed,/' .samuel/run/prd.toon";
    let agent = format!("cat > /dev/null; echo x > made; {DONE}; \"$SAMUEL_BINARY\" run done 2; {edit}");
    let ran = bench.start(&agent, &[]).ends(0);
    says(
        &ran.stdout,
        &[
            "  done: 1 First\n",
            "  done: 2 Second (by another task's agent)\n",
            "  done: 3 Third (by an edit of prd.toon)\n",
            "  completed by another task's agent: 1 (2)\n",
            "  completed by an edit of prd.toon: 1 (3)\n",
        ],
    );
    let tasks = bench.tasks();
    let marks: Vec<_> = tasks.iter().map(|task| task["marks"].to_string()).collect();
    assert_eq!(marks, ["null", "[\"other-agent\"]", "[\"edit\"]"]);
    let status = bench.ok(&["run", "status"]).stdout;
    says(&status, &["3 of 3 completed (100%), 1 by another task's agent, 1 by an edit of prd.toon\n"]);
}

#[test]
fn a_last_turn_and_its_failure_are_told() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write(
        ".samuel/hooks.yml",
        "version: 1\nhooks:\n  post_iteration:\n    - command: echo mind the gap\n      pipe_output: true\n",
    );
    let agent = format!(
        "cat > ../home/prompt; test -n \"$SAMUEL_TASK_ID\" || {{ echo no task >&2; exit 3; }}; {DONE}"
    );
    let ran = bench.start(&agent, &[]).ends(0);
    says(
        &ran.stdout,
        &[
            "last turn: what is still to be said to the agent\n",
            "last turn: failed, agent-exit: command ended with exit code 3: no task\n",
            "    all that the agent printed: .samuel/run/logs/",
            "texts that did not reach the agent, or in a turn that failed: 1\n",
        ],
    );
    assert!(bench.read("../home/prompt").contains("mind the gap"));
    assert!(!ran.stderr.contains("did not reach the agent"), "{ran:?}");
    says(
        &ran.stderr,
        &["the last turn did not end well, which was to give the agent a text from", "no SAMUEL_TASK_ID"],
    );
}

#[test]
fn a_task_that_no_agent_records_is_named_in_the_line_in_the_prompt_and_at_the_end() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start("cat > ../home/prompt-$SAMUEL_ITERATION", &[]).ends(4);
    assert_eq!(ran.stdout.matches("but the task was not recorded as done\n").count(), 3, "{ran:?}");
    assert!(ran.stdout.contains("without recording task 1 as done"), "{ran:?}");
    assert!(ran.stdout.contains("  not recorded as done, though the agent ended well: 1\n"), "{ran:?}");
    assert_eq!(ran.stderr.matches("hint: ").count(), 1, "{ran:?}");
    assert!(ran.stderr.contains("`$SAMUEL_BINARY run done $SAMUEL_TASK_ID`"), "{ran:?}");
    assert!(!bench.read("../home/prompt-1").contains("nobody recorded it as done"));
    assert!(bench.read("../home/prompt-2").contains("nobody recorded it as done"));
}

#[test]
fn what_becomes_of_the_plan_beside_the_loop_is_told_with_its_reason() {
    let bench = Bench::with_tasks(&["First", "Second", "Third"]);
    let agent = "\"$SAMUEL_BINARY\" run skip \"$SAMUEL_TASK_ID\" --reason \"no use $SAMUEL_TASK_ID\"; \
                 test $SAMUEL_TASK_ID != 1 || \"$SAMUEL_BINARY\" run enqueue Fourth";
    let ran = bench.start(agent, &[]).ends(0);
    for line in [
        "  skipped: 1 First: no use 1\n",
        "  added: 4 Fourth\n",
        "  skipped: 4 Fourth: no use 4\n",
        "completed\n",
    ] {
        assert!(ran.stdout.contains(line), "{line} is not in {ran:?}");
    }
    let progress = bench.read(".samuel/run/progress.md");
    assert!(progress.contains("[task:2] FOUND: skipped: no use 2\n"), "{progress}");
    assert!(!ran.stdout.contains("not recorded"), "{ran:?}");
}

#[test]
fn a_tool_call_that_was_blocked_leaves_a_line() {
    let bench = Bench::with_tasks(&["First"]);
    let script = "[[calls]]\nsteps = [{ deny_permission = { tool = \"Bash\", message = \"not here\" } }, { done = {} }]\n";
    let ran = play(&bench, script).ends(0);
    assert!(ran.stderr.contains("the agent may not use Bash: not here"), "{ran:?}");
}

#[test]
fn a_wait_for_a_usage_limit_says_until_when_everywhere_and_counts_as_no_failure() {
    let bench = Bench::with_tasks(&["First"]);
    let (day, limit) = limit_in_twenty_days();
    bench.write("script.toml", &limit);
    let args = ["run", "start", "--yes", "--agent", "scripted", "--agent-command", "script.toml"];
    let mut run = bench.spawn(&args);
    run.wait_for("iteration 1: met a usage limit in ");
    let line = run.wait_for("waiting until ");
    assert!(
        line.contains(&format!("waiting until {day} 00:00:00 +00:00 ("))
            && line.ends_with("the agent's usage limit")
    );
    wait_until("the status says so", || bench.ok(&["run", "status"]).stdout.contains("Waiting"));
    let status = bench.ok(&["run", "status"]).stdout;
    let until = format!("until {day} 00:00:00 +00:00, for the agent's usage limit");
    assert!(status.contains(&until), "{status}");
    let told = bench.ok(&["run", "status", "--json"]).json();
    assert_eq!(told["data"]["waits_until"], format!("{day}T00:00:00Z"));
    run.signal(Signal::TERM);
    let line = run.wait_for("  iterations: 1");
    assert!(!line.contains("failed"), "{line}");
    assert_eq!(run.code(), 143);
    assert!(!bench.ok(&["run", "status"]).stdout.contains("Waiting"));
}

#[test]
fn a_usage_limit_of_a_run_that_was_killed_is_waited_for_only_where_something_vouches_for_it() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("limit.toml", &limit_in_twenty_days().1);
    let with =
        |script| ["run", "start", "--yes", "--pause", "0", "--agent", "scripted", "--agent-command", script];
    let mut run = bench.spawn(&with("limit.toml"));
    run.wait_for("waiting until ");
    run.signal(Signal::KILL);
    run.code();
    bench.write("done.toml", "[[calls]]\nsteps = [{ done = {} }]\n");
    let mut run = bench.spawn(&with("done.toml"));
    run.wait_for("waiting until ");
    run.signal(Signal::KILL);
    run.code();
    std::fs::remove_dir_all(bench.path("../home/.local/state/samuel")).unwrap();
    let ran = bench.samuel(&with("done.toml"));
    assert_eq!((ran.code, ran.stdout.contains("waiting")), (0, false), "{ran:?}");
}

#[test]
fn a_usage_limit_of_the_past_holds_nothing_up() {
    let bench = Bench::with_tasks(&["First"]);
    let past = LIMIT.replace("2200", "1970");
    let ran = play(&bench, &format!("{past}[[calls]]\nsteps = [{{ done = {{}} }}]\n")).ends(0);
    assert!(!ran.stdout.contains("waiting"), "{ran:?}");
}

#[test]
fn a_usage_limit_that_lasts_too_long_ends_the_run_where_it_is_not_to_be_waited_for() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("rate_limit = \"stop\"\nrate_limit_wait = \"1h\"");
    let ran = play(&bench, LIMIT).ends(4);
    assert!(ran.stdout.contains("rate-limited: the agent's usage limit lasts until 2200-01-01"), "{ran:?}");
}

#[test]
fn a_usage_limit_that_ends_when_nobody_waits_any_more_ends_the_run() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = play(&bench, &LIMIT.replace("2200", "9999")).ends(4);
    assert!(
        ran.stdout.contains("until 9999-01-01 00:00:00 +00:00, and a run waits for 31 days at most"),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("rate_limit_wait"), "no setting helps: {ran:?}");
}

#[test]
fn every_time_of_a_usage_limit_is_that_of_the_place() {
    let bench = Bench::with_tasks(&["First"]);
    let at = |args: &[&str]| {
        let mut command = bench.command(args);
        command.env("TZ", "HERE-05:30");
        command
    };
    let (day, limit) = limit_in_twenty_days();
    bench.write("script.toml", &limit);
    let start = ["run", "start", "--yes", "--agent", "scripted", "--agent-command", "script.toml"];
    let until = &format!("until {day} 05:30:00 +05:30");
    let mut run = crate::bench::Beside::of(at(&start).stderr(std::process::Stdio::null()));
    assert!(run.wait_for("waiting until ").contains(until));
    run.signal(Signal::INT);
    // There is no iteration that could be finished.
    run.wait_for("ending the run");
    assert_eq!(run.code(), 130);
    bench.configure("rate_limit = \"stop\"\nrate_limit_wait = \"1h\"");
    let ran = crate::bench::Ran::of(at(&start));
    for told in [&ran.stdout, &ran.stderr, &crate::bench::Ran::of(at(&["run", "status"])).stdout] {
        assert!(told.contains(&format!("the agent's usage limit lasts {until}\n")), "{told}");
        assert!(!told.contains("UTC"), "{told}");
    }
}

#[test]
fn a_template_that_fails_while_it_is_rendered_is_an_error_of_the_prompt() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write(".samuel/templates/ralph/prompt.md.tmpl", "{{ join .State \", \" }}\n");
    let ran = bench.samuel(&["run", "prompt", "--yes"]).fails(1);
    assert!(ran.stderr.contains("prompt.md.tmpl:1:"), "{ran:?}");
}

#[test]
fn a_plan_with_work_left_is_not_called_completed() {
    let bench = Bench::with_tasks(&["First"]);
    assert_eq!(bench.start(DONE, &[]).code, 0);
    assert!(bench.ok(&["run", "status"]).stdout.contains("not running (completed)"));
    bench.ok(&["run", "reset", "1"]);
    assert!(bench.ok(&["run", "status"]).stdout.contains("not running (stopped)"));
}

#[test]
fn ones_own_interrupt_is_no_warning() {
    let bench = Bench::with_tasks(&["First"]);
    let mut command = bench.command(&bench.start_args("touch up; sleep 100"));
    let errors = std::fs::File::create(bench.tmp().join("errors")).unwrap();
    let mut run = crate::bench::Beside::of(command.stderr(errors));
    wait_for_file(&bench.path("up"));
    run.signal(Signal::TERM);
    run.wait_for("iteration 1: cancelled");
    assert_eq!(run.code(), 143);
    let errors = std::fs::read_to_string(bench.tmp().join("errors")).unwrap();
    // The start warns of the project.
    let of_start = |line: &str| line.contains("no quality checks") || line.contains("git repository");
    let others = errors.lines().filter(|line| line.starts_with("warning") && !of_start(line));
    assert_eq!(others.count(), 0, "{errors}");
}

#[test]
fn a_command_in_the_configuration_is_that_of_the_agent_command() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure(&format!("agent_command = [\"/bin/sh\", \"-c\", '{DONE}']"));
    bench.samuel(&["run", "start", "--yes", "--agent", "command"]).ends(0);
    bench.ok(&["run", "reset", "1"]);
    bench.configure(&format!("agent = \"claude\"\nagent_command = [\"/bin/sh\", \"-c\", '{DONE}']"));
    let ran = bench.samuel(&["run", "start", "--yes", "--agent", "command"]).ends(2);
    assert!(ran.stderr.contains("agent_command in samuel.toml is that of the agent \"claude\""), "{ran:?}");
}

#[test]
fn what_a_failing_agent_calls_its_error_is_told_and_not_the_help_behind_it() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.start("echo 'error: no login' >&2; echo 'help: log in first' >&2; exit 3", &[]);
    assert!(ran.stdout.contains("ended with exit code 3: error: no login"), "{ran:?}");
}

#[test]
fn a_plan_that_is_done_is_never_said_to_be_left_before_it_was() {
    let bench = Bench::with_tasks(&["First"]);
    let agent = format!("touch up; until [ -e go ]; do sleep 0.05; done; {DONE}");
    let errors = std::fs::File::create(bench.tmp().join("errors")).unwrap();
    let mut command = bench.command(&bench.start_args(&agent));
    let mut run = crate::bench::Beside::of(command.stderr(errors));
    wait_for_file(&bench.path("up"));
    run.signal(Signal::INT);
    run.wait_for("finishing the iteration");
    bench.write("go", "");
    assert_eq!(run.code(), 130);
    assert_eq!(bench.status("1"), "completed");
    let errors = std::fs::read_to_string(bench.tmp().join("errors")).unwrap();
    assert!(errors.contains("the run ended as cancelled"), "{errors}");
}

#[test]
fn why_the_last_run_ended_is_told_with_its_limit_and_with_what_it_left() {
    let bench = Bench::with_tasks(&["First", "Second", "Third"]);
    bench.ok(&["run", "skip", "2", "--reason", "too big"]);
    let ran = bench.start(DONE, &["--max-iterations", "1"]).ends(4);
    let end = "max-iterations: the limit of 1 iteration was reached\n";
    says(&ran.stdout, &[end, "  tasks skipped: 1 (2)\n  tasks left: 1 (3)\n"]);
    let status = bench.ok(&["run"]).stdout;
    assert!(status.contains(&format!("  Last run   {end}")), "{status}");
    let data = bench.ok(&["run", "status", "--json"]).json()["data"].clone();
    assert_eq!(data["last_end"]["reason"], "max-iterations");
    let log = std::fs::read_to_string(bench.path(".samuel/run/progress.md")).unwrap();
    assert!(log.contains("FOUND: the loop ended after 1 iteration: the iteration limit"), "{log}");
    // A plan that takes the place of this one was not run yet.
    bench.write("new.md", "# New\n\n## Tasks\n\n- [ ] 1. First\n");
    bench.ok(&["run", "convert", "new.md", "--force"]);
    assert!(!bench.ok(&["run"]).stdout.contains("Last run"));
}

#[test]
fn a_run_that_only_its_check_blocks_says_so_everywhere() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("quality_checks = [\"false\"]");
    bench.ok(&["run", "done", "1"]);
    let ran = bench.start(DONE, &[]).ends(3);
    assert!(ran.stderr.contains("help: Mend what the quality checks found"), "{ran:?}");
    let status = bench.ok(&["run"]).stdout;
    assert!(status.contains("Next       the quality checks: "), "{status}");
    let log = std::fs::read_to_string(bench.path(".samuel/run/progress.md")).unwrap();
    assert!(!log.contains("cannot be worked on") && !log.contains("COMPLETED: the loop"), "{log}");
}

#[test]
fn doctor_says_that_a_start_will_ask_about_changed_control_files() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("quality_checks = [\"sh ci.sh\"]");
    bench.write("ci.sh", "true\n");
    let ran = bench.start("echo exit 0 > ci.sh", &[]);
    assert!(ran.stdout.contains("control-files-changed"), "{ran:?}");
    assert!(bench.ok(&["run"]).stdout.contains("Last run   control-files-changed: changed: ci.sh"));
    let doctor = bench.samuel(&["doctor"]).stdout;
    says(&doctor, &["the last run left control files changed", "changed: ci.sh"]);
}

#[test]
fn a_log_is_named_so_that_it_is_found_from_where_the_run_was_started() {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure("quality_checks = ['echo no; false']");
    std::fs::create_dir(bench.path("below")).unwrap();
    let start = [&bench.start_args(DONE)[..], &["--max-iterations", "1"]].concat();
    let told = bench.samuel_in("below", &start).stdout;
    let logs = format!("    all of it: {}", bench.path(".samuel/run/logs").display());
    assert!(told.contains(&logs), "{told}");
}

#[test]
fn every_file_is_named_so_that_it_can_be_opened_from_below_the_root() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write("plan.md", "# New\n\n## Tasks\n\n- [ ] 1. First\n");
    bench.ok(&["run", "convert", "plan.md", "--force"]);
    std::fs::create_dir(bench.path("below")).unwrap();
    let told = |args: &[&str], from: &str| bench.samuel_in(from, args).text();
    let fails = bench.start_args("echo why; exit 3");
    let fails: Vec<&str> = fails.into_iter().chain(["--max-iterations", "1"]).collect();
    for (args, before, name) in [
        (&fails[..], "all that the agent printed: ", ".samuel/run/logs/"),
        (&fails, "would not help. Read ", ".samuel/run/progress.md, then "),
        (&["run"], "PRD        ", "plan.md\n"),
        (&["run", "status"], "PRD        ", "plan.md\n"),
        (&["sync", "--dry-run"], "would write ", "AGENTS.md"),
    ] {
        let (here, below) = (told(args, ""), told(args, "below"));
        assert!(here.contains(&format!("{before}{name}")), "{here}");
        assert!(below.contains(&format!("{before}{}", bench.path(name).display())), "{below}");
    }
}

#[test]
fn what_was_not_checked_yet_makes_no_plan_done_for_the_status() {
    let bench = Bench::with_tasks(&["First"]);
    let agent = "\"$SAMUEL_BINARY\" run done 1; touch up; until [ -e go ]; do sleep 0.05; done";
    let run = bench.spawn(&bench.start_args(agent));
    wait_for_file(&bench.path("up"));
    let status = bench.ok(&["run"]).stdout;
    assert!(status.contains("Next       nothing is open; what the agent completed last"), "{status}");
    run.signal(Signal::KILL);
    run.code();
    let status = bench.ok(&["run"]).stdout;
    assert!(status.contains("Next       nothing is open, but the run was cut off"), "{status}");
}
