//! `runs`, `log`, `why`, `report`, and what `status` tells of runs.

use std::{
    cell::RefCell,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use crate::bench::{Bench, says, wait_for_file, wait_until};

/// An agent that records its task as done.
const DONE: &str = "\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

/// A project of which one run has ended.
fn ran() -> Bench {
    let bench = Bench::with_tasks(&["First <b>&</b> \u{202e}x", "Second"]);
    bench.configure("quality_checks = [\"test -f ok || { touch ok; echo not yet; false; }\"]");
    bench.start(DONE, &[]).ends(0);
    bench
}

fn run_of(bench: &Bench) -> String {
    let listed = bench.ok(&["run", "runs", "--json"]).json();
    listed["data"]["runs"][0]["run"].as_str().unwrap().to_owned()
}

#[test]
fn report_names_plan_and_last_run_at_work() {
    let bench = Bench::empty();
    bench.write("prd.md", "# Notes\n\n- [ ] First\n");
    bench.ok(&["run", "init", "--prd", "prd.md"]);
    bench.start(DONE, &[]).ends(0);
    let at_work = run_of(&bench);
    let page = bench.ok(&["run", "report"]);
    assert!(page.stdout.starts_with("## Notes\n") && !page.stderr.contains("no iteration"), "{page:?}");
    bench.start(DONE, &[]).ends(0);
    let page = bench.ok(&["run", "report"]);
    says(&page.stderr, &["made no iteration", &format!("`samuel run report {at_work}` shows the last")]);
}

#[test]
fn a_run_is_listed_told_and_explained() {
    let bench = ran();
    let run = run_of(&bench);
    let runs = bench.ok(&["run", "runs"]).stdout;
    says(&runs, &[&run, "completed", "3 iterations (1 failed), completed 1, 2"]);
    let log = bench.ok(&["run", "log"]).stdout;
    says(
        &log,
        &[
            "iteration 1 begins: 1 First",
            "checks failed: test -f ok",
            "taken back: 1",
            "the run ended: completed",
        ],
    );
    let of_task = bench.ok(&["run", "log", "--task", "2"]).stdout;
    assert!(of_task.contains("iteration 3 begins") && !of_task.contains("iteration 1 begins"), "{of_task}");
    let (events, last) = bench.ok(&["run", "log", "--iteration", "2", "--json"]).events();
    assert!(events.iter().all(|event| event["schema_version"] == 1) && events.len() > 5, "{events:?}");
    assert_eq!((&last["command"], &last["data"]["events"]), (&"run log".into(), &events.len().into()));
    let tail = bench.ok(&["run", "log", &run[..20], "--tail"]).stdout;
    assert_eq!(tail, log);

    let why = bench.ok(&["run", "why", &run]).stdout;
    says(&why, &["it ended as completed", "the run ended: completed", &format!("of {run}, ")]);
    says(&bench.ok(&["run", "why", "run"]).stdout, &["it ended as completed"]);
    says(&bench.ok(&["run", "why", "check"]).stdout, &["checks passed in iteration 3"]);
    says(&bench.ok(&["run", "why", "1"]).stdout, &["task 1: it is completed"]);
    says(&bench.ok(&["run", "why"]).stdout, &["nothing is next: every task is completed or skipped"]);
    let status = bench.ok(&["run", "status"]).stdout;
    says(
        &status,
        &["Time left  none: no task is open", "1: 2 iterations, 1 failed, taken back once", "Last failures:"],
    );
    let data = &bench.ok(&["run", "status", "--json"]).json()["data"];
    assert_eq!((&data["activity"]["runs"], &data["revision"].is_u64()), (&1.into(), &true));
}

#[test]
fn a_report_is_written_in_each_form_and_holds_titles_as_text() {
    let bench = ran();
    let markdown = bench.ok(&["run", "report"]).stdout;
    says(
        &markdown,
        &["- [x] 1 First &lt;b&gt;&amp;&lt;/b&gt; \\u{202e}x: completed, taken back once before"],
    );
    bench.ok(&["run", "report", "-o", "run.html"]);
    let page = bench.read("run.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("First &lt;b&gt;&amp;&lt;/b&gt;"), "{page}");
    assert_eq!(bench.ok(&["run", "report", "--format", "html"]).stdout.len(), page.len());
    let json = bench.ok(&["run", "report", "--json"]).json();
    assert_eq!(json["data"]["run"]["iterations"].as_array().unwrap().len(), 3);
    bench.samuel(&["run", "report", "-o", "no/such/directory.md"]).fails(1);
    let refused = bench.samuel(&["run", "report", "-o", "run.pdf"]).fails(2);
    says(&refused.stderr, &["no report has the form of a file that ends with .pdf"]);
    bench.ok(&["run", "report", "-o", "run.pdf", "--format", "md"]);
    let plan = bench.read(".samuel/run/prd.toon");
    std::os::unix::fs::symlink(".samuel/run/prd.toon", bench.path("linked.md")).unwrap();
    for kept in [".samuel/run/prd.toon", "linked.md", ".samuel/run/new.md"] {
        let refused = bench.samuel(&["run", "report", "-o", kept]).fails(2);
        assert!(refused.stderr.contains("is among what Samuel keeps of the run itself"), "{refused:?}");
    }
    assert_eq!(bench.read(".samuel/run/prd.toon"), plan);
    assert!(!bench.path(".samuel/run/new.md").exists());
    bench.samuel(&["run", "report", "--format", "pdf"]).fails(2);
}

#[test]
fn a_record_in_several_files_is_told_whole_and_in_order() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let waits =
        format!("touch up-$SAMUEL_TASK_ID; until [ -e go-$SAMUEL_TASK_ID ]; do sleep 0.05; done; {DONE}");
    let started = bench.spawn(&bench.start_args(&waits));
    wait_for_file(&bench.path("up-1"));
    let mut tail = bench.spawn(&["run", "log", "--tail"]);
    tail.wait_for("iteration 1 begins");
    let logs = format!(".samuel/run/logs/{}", run_of(&bench));
    let parts = ["run", "inputs"];
    for task in [1, 2] {
        wait_for_file(&bench.path(&format!("up-{task}")));
        // What says nothing, and is so long that the file is moved aside. Of events it is one line, because an empty line
        // takes as long to read as another; of inputs none may be there that cannot be read.
        for (part, padding) in parts.into_iter().zip([" ".repeat(8 << 20) + "\n", "\n".repeat(8 << 20)]) {
            let path = bench.path(&format!("{logs}/{part}.jsonl"));
            let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(padding.as_bytes()).unwrap();
        }
        bench.write(&format!("go-{task}"), "");
        parts.iter().for_each(|part| wait_for_file(&bench.path(&format!("{logs}/{part}.{task}.jsonl"))));
    }
    assert_eq!(started.code(), 0);
    // Who followed all the while got across both ends.
    tail.wait_for("iteration 2 begins");
    tail.wait_for("the run ended: completed");
    assert_eq!(tail.code(), 0);
    let (events, _) = bench.ok(&["run", "log", "--json"]).events();
    let told: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(told, (1..=told.len() as u64).collect::<Vec<_>>());
    let log = bench.ok(&["run", "log"]).stdout;
    says(&log, &["iteration 1 begins: 1 First", "iteration 2 begins: 2 Second", "the run ended: completed"]);
    let replay = bench.replay(&run_of(&bench)).unwrap();
    assert!(replay.equal && replay.ended, "{replay}");
    // The oldest file goes first where there are too many.
    fs::remove_file(bench.path(&format!("{logs}/run.1.jsonl"))).unwrap();
    let rest = bench.ok(&["run", "log"]).stdout;
    assert!(!rest.contains("iteration 1 begins") && rest.contains("the run ended: completed"), "{rest}");
    says(&bench.ok(&["run", "report"]).stdout, &["The beginning of the record is not there any more"]);
    says(&bench.ok(&["run", "runs"]).stdout, &["; the beginning of its record is missing"]);
}

#[test]
fn a_file_beside_a_record_that_is_spelled_like_a_part_of_it_holds_no_command_up() {
    let bench = ran();
    let run = run_of(&bench);
    let log = bench.ok(&["run", "log"]).stdout;
    for name in ["run.01.jsonl", "run.18446744073709551615.jsonl", "inputs.+1.jsonl"] {
        bench.write(&format!(".samuel/run/logs/{run}/{name}"), "foreign\n");
    }
    for words in [&["runs"][..], &["status"], &["log", "--tail"], &["why", "run"], &["report"]] {
        let asked = bench.spawn(&[&["run"], words].concat());
        assert_eq!(asked.code(), 0, "{words:?}");
    }
    assert_eq!(bench.ok(&["run", "log"]).stdout, log);
    assert!(bench.replay(&run).unwrap().equal);
}

#[test]
fn what_happened_is_told_after_an_agent_broke_samuel_toml() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let evil = format!("{DONE}; echo evil >> samuel.toml");
    let stopped = bench.start(&evil, &[]).ends(4);
    says(&stopped.stderr, &["control-files-changed"]);
    let run = bench.ok(&["run", "runs", "--json"]).json()["data"]["runs"][0]["run"].clone();
    assert!(run.is_string());
    let readers = [
        &["run"][..],
        &["run", "status"],
        &["run", "tasks"],
        &["run", "show", "1"],
        &["run", "runs"],
        &["run", "log"],
        &["run", "log", "--tail"],
        &["run", "why"],
        &["run", "why", "1"],
        &["run", "why", "run"],
        &["run", "why", "check"],
        &["run", "report"],
    ];
    let all_answer = |what: &[&str]| {
        for reader in readers {
            let told = bench.ok(reader);
            says(
                &told.stderr,
                &[&["samuel.toml cannot be used, so this is told without it: "], what].concat(),
            );
        }
    };
    all_answer(&["samuel.toml:", "key with no value"]);
    says(&bench.ok(&["run", "why", "run"]).stdout, &["it ended as control-files-changed"]);
    says(&bench.ok(&["run", "ralph", "runs"]).stdout, &["control-files-changed"]);
    // A loop is asked for, not a file.
    says(&bench.samuel(&["run", "pause"]).fails(1).stderr, &["no loop"]);
    // What changes the plan, or runs something, needs the file.
    for other in [&["run", "done", "2"][..], &["run", "start", "--yes"], &["run", "ralf", "log"]] {
        says(&bench.samuel(other).fails(2).stderr, &["key with no value"]);
    }
    bench.write("samuel.toml", "version = \"2\"\ndefault_methodology = \"ralpf\"\n");
    all_answer(&["methodology not found: \"ralpf\""]);
}

#[test]
fn what_is_not_there_is_refused_in_words_with_the_nearest_run() {
    let bench = Bench::with_tasks(&["First"]);
    for command in [&["log"][..], &["why", "check"], &["why", "run"], &["report"]] {
        let refused = bench.samuel(&[&["run"], command].concat()).fails(1);
        says(&refused.stderr, &["no run is recorded here", "samuel run start"]);
    }
    says(&bench.ok(&["run", "runs"]).stdout, &["no run is recorded here"]);
    let bench = ran();
    let run = run_of(&bench);
    let refused = bench.samuel(&["run", "log", "20261121T100000Z-0000"]).fails(1);
    says(&refused.stderr, &["is recorded; the nearest is", &run]);
    bench.samuel(&["run", "why", "9"]).fails(1);
    bench.samuel(&["run", "why", "colour", "9"]).fails(2);
    // What is torn is skipped, and counted.
    let path = bench.path(&format!(".samuel/run/logs/{run}/run.jsonl"));
    let mut text = fs::read(&path).unwrap();
    text.truncate(text.len() / 2);
    text.extend(b"\n\xff\n{\"schema_version\":1}\n{\"half");
    fs::write(&path, text).unwrap();
    let log = bench.ok(&["run", "log"]);
    says(&log.stderr, &["lines of the record cannot be read"]);
    for question in [&["run"][..], &["1"], &["check"], &["handler", "none"]] {
        let why = bench.ok(&[&["run", "why"], question].concat());
        says(&why.stderr, &["the answer leaves out what cannot be read of run ", "of its record"]);
    }
    says(&bench.ok(&["run", "why", "run"]).stdout, &["it was cut off"]);
    let nothing = bench.samuel(&["run", "log", "--iteration", "99"]).ends(1);
    says(&nothing.stderr, &[&format!("run {run} has no event of iteration 99"), "cannot be read"]);
    bench.samuel(&["run", "why", "handler"]).ends(2);
    // What is no record at all is no run in which nothing happened.
    fs::write(&path, "nothing\n").unwrap();
    for command in [&["log"][..], &["log", "--tail"], &["report"], &["why", "run"]] {
        let refused = bench.samuel(&[&["run"], command].concat()).fails(1);
        says(&refused.stderr, &["nothing can be read in run.jsonl of run", ", of 1 line"]);
    }
    let later = b"{\"schema_version\":7,\"event\":\"run_started\"}\n";
    fs::write(&path, later).unwrap();
    let refused = bench.samuel(&["run", "log"]).fails(1);
    says(&refused.stderr, &["has version 7, and this Samuel reads version 1"]);
    let why = bench.ok(&["run", "why", "1"]);
    says(
        &why.stderr,
        &[&format!("the answer leaves out what cannot be read of run {run}: "), "has version 7"],
    );
    // Where the plan stands is told all the same.
    bench.ok(&["run", "status"]);
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "the figures say how much was tried")]
fn a_run_that_is_killed_at_any_moment_is_told_as_far_as_it_went() {
    let kills = if std::env::var_os("SAMUEL_LONG").is_some() { 500 } else { 8 };
    let bench = Bench::with_tasks(&["First", "Second", "Third", "Fourth"]);
    let newest = || {
        let listed = bench.ok(&["run", "runs", "--json"]).json();
        listed["data"]["runs"][0]["run"].as_str().map(str::to_owned)
    };
    let (mut cut_off, mut told) = (0, 0);
    for number in 0..kills {
        let before = newest();
        for id in ["1", "2", "3", "4"] {
            bench.samuel(&["run", "reset", id]);
        }
        let mut started = bench.command(&bench.start_args(DONE));
        started.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = started.spawn().unwrap();
        // Where in the run that falls is left to chance; each time it falls elsewhere.
        std::thread::sleep(std::time::Duration::from_millis(60 + number * 67 % 900));
        child.kill().unwrap();
        child.wait().unwrap();
        // One that is killed before it wrote anything has no record.
        let Some(run) = newest().filter(|run| before.as_ref() != Some(run)) else { continue };
        let run = run.as_str();
        told += 1;
        let log = bench.ok(&["run", "log", run]).stdout;
        let page = bench.ok(&["run", "report", run, "--json"]).json();
        let state = page["data"]["run"]["state"].as_str().unwrap();
        let why = bench.ok(&["run", "why", run]).stdout;
        match state {
            "ended" => says(&why, &["it ended as "]),
            _ => {
                assert_eq!(state, "cut_off", "{page}");
                says(&why, &["it was cut off"]);
                assert!(!log.contains("the run ended"), "{log}");
                cut_off += 1;
            }
        }
        // Its events are written before its inputs are; it may be killed in between.
        match bench.replay(run) {
            Ok(replay) => assert!(replay.equal, "{replay}"),
            Err(error) => says(&error.to_string(), &["nothing is recorded in inputs.jsonl of run "]),
        }
        // What it says to have completed is completed, and was recorded by the agent, whom nobody took anything
        // back from.
        let tasks = bench.tasks();
        for task in page["data"]["run"]["completed"].as_array().unwrap() {
            let id = task.as_str().unwrap();
            assert!(log.contains(&format!("task {id} is completed")), "{id} in {log}");
            let stands = tasks.iter().find(|task| task["id"] == id).unwrap();
            assert_eq!(stands["status"], "completed", "{stands} {log}");
        }
    }
    println!("of {kills} runs {told} have a record, {cut_off} of them cut off");
    assert!(cut_off > 0, "of {told} with a record");
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn a_log_that_cannot_be_written_fails_and_one_that_nobody_reads_ends() {
    let bench = Bench::with_tasks(&["First"]);
    let agent = "touch called; n=0; while ! test -e go && test $n -lt 2000; do echo working; n=$((n + 1)); \
                 sleep 0.02; done; \"$SAMUEL_BINARY\" run done 1";
    let mut started = bench.command(&bench.start_args(agent));
    let mut run = started.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_file(&bench.path("called"));
    let mut tail = bench.command(&["run", "log", "--tail"]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut line, stdout) = (String::new(), tail.stdout.take().unwrap());
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let tail = RefCell::new(tail);
    // The run goes on, and its agent goes on telling.
    wait_until("the log ends", || tail.borrow_mut().try_wait().unwrap().is_some());
    assert!(tail.borrow_mut().wait().unwrap().success() && run.try_wait().unwrap().is_none());
    bench.write("go", "");
    assert!(run.wait().unwrap().success());

    let Ok(full) = fs::File::options().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let ran = bench.command(&["run", "log"]).stdout(full).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    says(&String::from_utf8(ran.stderr).unwrap(), &["error: the events cannot be written to stdout"]);
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn a_disk_that_is_full_of_the_record_is_one_warning_and_the_run_comes_to_its_end() {
    if !Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success()) {
        println!("skipped: nothing can be mounted here");
        return;
    }
    let bench = Bench::with_tasks(&["First", "Second"]);
    let say = format!("{{ say = \"{}\" }}", "all work and no play ".repeat(40));
    let steps = vec![say; 150].join(",\n");
    bench.write(
        "script.toml",
        &format!("[[calls]]\nrepeat = true\nsteps = [\n{steps},\n{{ done = {{}} }}\n]\n"),
    );
    let told = "unshare -rm sh -c 'mkdir -p .samuel/run/logs; mount -t tmpfs -o size=64k none .samuel/run/logs; \
                \"$0\" \"$@\" >started 2>&1; echo $? >codes; \
                for what in log why\\ run report status; do \"$0\" run $what >>told 2>&1; echo $? >>codes; done' \
                \"$0\" \"$@\"";
    let words =
        ["run", "start", "--yes", "--pause", "0", "--agent", "scripted", "--agent-command", "script.toml"];
    let ran = bench.command_below(told, &words).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let (started, told) = (bench.read("started"), bench.read("told"));
    assert_eq!(started.matches("could not be recorded").count(), 1, "{started}");
    says(&started, &["No space left on device", "completed"]);
    assert_eq!(bench.read("codes"), "0\n0\n0\n0\n0\n", "{started}\n{told}");
    says(&told, &["iteration 1 begins", "it was cut off"]);
    assert_eq!((bench.status("1").as_str(), bench.status("2").as_str()), ("completed", "completed"));
}
