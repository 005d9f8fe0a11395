//! Commands within a call of an agent, which the loop carries out.

use std::{fs, process::Command};

use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Ran, says, wait_for_file};

/// What an agent calls, one command a line, from a plan of four tasks of which it works on the first.
const COMMANDS: &str = "run done 2 --commit-sha abcdef1
run done 2
run done 2 --json
run done 99
run done 99 --json
run done 3 --json
run skip 4 --reason Later
run skip 4 --json
run reset 4
run reset 4 --json
run block 3 --reason Broken
run reset 3
run reset 3 --json
run block 4 --json
run enqueue Five --priority high --description 'Some more'
run enqueue Six --json --depends-on 5
run enqueue Bad --depends-on 77
run enqueue '' --json
run task add 9 Nine --json
run task add 9 Again
run task add 9.1 Part
run task add 9.1 Part --json
run done 9 --json
run edit 2 --title Other
run learn 'use $(tabs)'
run learn 'src' --kind explored --json
run learn 'x' --kind completed
run learn ' ' --json
run tasks
run tasks --json
run tasks --status pending
run tasks ralph
run status
run status --json
run
run show 2
run show 2 --json
run show 99 --json
run ralph tasks
run done
run frobnicate";

/// Runs the commands within a call of an agent, in an environment that a shell makes of it, and returns
/// what each answered.
fn answers(environment: &str) -> Vec<(String, String)> {
    let bench = Bench::with_tasks(&["One", "Two", "Three", "Four"]);
    let names: Vec<String> = COMMANDS.lines().enumerate().map(|(n, _)| format!("answer-{n:02}")).collect();
    let lines = COMMANDS.lines().zip(&names).map(|(command, name)| {
        format!("\"$SAMUEL_BINARY\" {command} > {name} 2> {name}.err; echo \"exit $?\" >> {name}\n")
    });
    let script = format!("test -n \"$SAMUEL_TOKEN\" || exit 9\n{environment}\n{}", lines.collect::<String>());
    bench.write("agent.sh", &script);
    let ran = bench.start(". ./agent.sh", &["--max-iterations", "1"]);
    let told = |name: &String| {
        let text = format!("{}{}", bench.read(name), bench.read(&format!("{name}.err")));
        anonymous(&text, &bench)
    };
    assert!(bench.path("answer-00").exists(), "{ran:?}");
    COMMANDS.lines().map(str::to_owned).zip(names.iter().map(told)).collect()
}

/// Leaves out of an answer what differs from run to run: times, ids of runs, processes, the project.
fn anonymous(text: &str, bench: &Bench) -> String {
    let text = text.replace(bench.root().to_str().unwrap(), "ROOT");
    let is_digit = |c: char| c.is_ascii_digit();
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some(start) = rest.find(is_digit) {
        let (before, from) = rest.split_at(start);
        let length = from.find(|c: char| !c.is_ascii_alphanumeric() && !"-:.".contains(c));
        let (word, after) = from.split_at(length.unwrap_or(from.len()));
        out += before;
        let is_id = ["/", "process ", "\"pid\":"].iter().any(|end| before.ends_with(end));
        let is_long = is_id || word.len() > 4 && !word.starts_with("0.");
        out += if is_long { "N" } else { word };
        rest = after;
    }
    out + rest
}

#[test]
fn commands_answer_the_same_through_the_loop_as_with_the_files() {
    let through = answers("");
    let with_files = answers("unset SAMUEL_SOCKET SAMUEL_TOKEN");
    // What only the record of runs says is not said over the socket.
    let unrecorded = |told: &str| {
        let of_record = |line: &&str| ["  Now ", "  Time left "].iter().any(|begin| line.starts_with(begin));
        told.lines().filter(|line| !of_record(line)).map(|line| format!("{line}\n")).collect::<String>()
    };
    for ((command, through), (_, with_files)) in through.iter().zip(&with_files) {
        match command.as_str() {
            "run status --json" => {
                let without = |told: &str| {
                    let (before, _) = told.split_once(",\"activity\":")?;
                    // Where a run listens has another name each time.
                    let (before, rest) = before.split_once(",\"socket\":")?;
                    let (_, after) = rest.split_once('}')?;
                    Some(format!("{before}}}{after}"))
                };
                assert!(without(through).is_some(), "{through}");
                assert_eq!(without(through), without(with_files), "samuel {command}");
            }
            _ => assert_eq!(unrecorded(through), unrecorded(with_files), "samuel {command}"),
        }
    }
    let of = |wanted: &str| &through.iter().find(|(command, _)| command == wanted).unwrap().1;
    says(of("run done 2 --commit-sha abcdef1"), &["2 is completed (change ", "exit 0"]);
    says(of("run done 99"), &["error: there is no task 99", "samuel run tasks", "exit 1"]);
    says(of("run tasks"), &["Nine"]);
}

#[test]
fn the_loop_is_asked_and_no_file_where_the_variables_are_set() {
    let bench = Bench::with_tasks(&["One", "Two"]);
    // A project that cannot be read would be an error of its own.
    let agent = "cp samuel.toml kept; echo 'not toml [' > samuel.toml; \"$SAMUEL_BINARY\" run done 1 > told 2>&1; \
                 \"$SAMUEL_BINARY\" -C / run done 2 >> told 2>&1; mv kept samuel.toml";
    bench.configure("");
    bench.start(agent, &["--max-iterations", "1"]);
    says(&bench.read("told"), &["1 is completed", "error: "]);
    assert_eq!(bench.status("2"), "pending", "another project is another plan");
}

#[test]
fn thirty_two_processes_at_once_all_record_their_task() {
    for sandbox in [false, true] {
        let bench = Bench::with_tasks(&["One"]);
        if sandbox && !in_bwrap(&bench) {
            continue;
        }
        let agent = "for n in $(seq 32); do \"$SAMUEL_BINARY\" run enqueue \"Task $n\" > /dev/null 2>> told & done; wait; \
                     \"$SAMUEL_BINARY\" run done 1";
        let ran = bench.start(agent, &["--max-iterations", "1"]);
        assert_eq!(bench.tasks().len(), 33, "{ran:?}");
    }
}

/// Puts a project into a repository and its agent into bubblewrap, where that can be used.
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn in_bwrap(bench: &Bench) -> bool {
    let ran = bench.samuel(&["run", "sandbox", "check", "--sandbox", "bwrap", "--json"]);
    let document = ran.json();
    if ran.code != 0 && document["data"].is_null() {
        println!("skipped: {}", document["error"]["message"]);
        return false;
    }
    bench.write("samuel.toml", "version = \"2\"\n[methodology.ralph]\nsandbox = \"bwrap\"\n");
    bench.make_repository(&["samuel.toml"]);
    true
}

#[test]
fn sandbox_check_tries_nothing_on_the_host() {
    let ran = Bench::with_tasks(&["One"]).samuel(&["run", "sandbox", "check"]).fails(1);
    says(&ran.stderr, &["sandbox \"host\" cannot be used: it separates nothing"]);
    assert!(ran.stdout.is_empty(), "{ran:?}");
}

#[test]
fn an_agent_under_bubblewrap_records_its_tasks_and_reads_the_plan() {
    let bench = Bench::with_tasks(&["One", "Two"]);
    if !in_bwrap(&bench) {
        return;
    }
    let agent = "cd \"$SAMUEL_WORKSPACE\" && S=\"$SAMUEL_BINARY\" && $S run tasks > tasks && $S run status > status && \
                 $S run show \"$SAMUEL_TASK_ID\" > shown && \
                 read -r P < .git/objects/info/alternates; P=${P%/.git/objects}; \
                 { echo x >> \"$P/.samuel/run/prd.toon\"; } 2> /dev/null; \
                 git add -A && git commit -qm \"Do $SAMUEL_TASK_ID\" && \
                 $S run done \"$SAMUEL_TASK_ID\" --commit-sha \"$(git rev-parse HEAD)\"; \
                 env -u SAMUEL_SOCKET \"$S\" run skip 2 > without 2>&1; git add -A; git commit -qm Without";
    let ran = bench.start(agent, &[]).ends(0);
    assert_eq!(
        (bench.status("1").as_str(), bench.status("2").as_str()),
        ("completed", "completed"),
        "{ran:?}"
    );
    says(&bench.read("tasks"), &["One", "Two"]);
    says(&bench.read("shown"), &["Two"]);
    says(&bench.read("without"), &["error: "]);
    says(&bench.read("status"), &["ralph"]);
    assert!(!bench.read(".samuel/run/prd.toon").ends_with("x\n"), "the file itself is out of reach");
}

#[test]
fn learn_records_the_iteration_and_task_of_its_call() {
    for environment in ["", "unset SAMUEL_SOCKET SAMUEL_TOKEN; "] {
        let bench = Bench::with_tasks(&["One"]);
        let agent = format!(
            "{environment}\"$SAMUEL_BINARY\" run learn 'use $(tabs)' > told 2>&1; \"$SAMUEL_BINARY\" run done 1"
        );
        bench.start(&agent, &[]).ends(0);
        assert_eq!(bench.read("told"), "learned\n");
        bench.ok(&["run", "learn", "a person's"]);
        let log = bench.read(".samuel/run/progress.md");
        says(&log, &["Z] [iteration:1] [task:1] LEARNING: use $(tabs)\n", "Z] LEARNING: a person's\n"]);
    }
}

#[test]
fn learn_records_from_a_sandbox() {
    let bench = Bench::with_tasks(&["One"]);
    if !in_bwrap(&bench) {
        return;
    }
    let agent = "\"$SAMUEL_BINARY\" run learn 'use tabs'; \"$SAMUEL_BINARY\" run done 1";
    bench.start(agent, &["--max-iterations", "1"]);
    says(&bench.read(".samuel/run/progress.md"), &["[iteration:1] [task:1] LEARNING: use tabs\n"]);
}

#[test]
fn a_loop_that_is_gone_is_told_of_and_the_files_are_used_only_where_they_are_there() {
    let bench = Bench::with_tasks(&["One", "Two"]);
    // What outlives the call keeps its variables. Without the mark, by which any other run kills what dead runs left.
    let agent = "env | grep ^SAMUEL_ | grep -v ^SAMUEL_PROCESS_MARK= > variables; touch up; sleep 300";
    let args = bench.start_args(agent);
    let run = bench.spawn(&args);
    wait_for_file(&bench.path("up"));
    run.signal(Signal::KILL);
    run.code();
    let variables = bench.read("variables");
    let variables: Vec<(&str, &str)> = variables.lines().filter_map(|line| line.split_once('=')).collect();
    let within = |sandbox: &str, args: &[&str]| {
        let mut command = bench.command(args);
        command.envs(variables.iter().copied()).env("SAMUEL_SANDBOX", sandbox);
        Ran::of(command)
    };
    let refused = within("bwrap", &["run", "done", "1"]).fails(1);
    says(&refused.stderr, &["error: the loop that called the agent is gone", "help: Nothing was changed."]);
    let document = within("bwrap", &["run", "tasks", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_BROKER_GONE");
    assert_eq!(bench.status("1"), "in_progress", "nothing is recorded past the loop");
    let warned = within("host", &["run", "done", "1", "--json"]);
    let document = warned.json();
    let is_told =
        |warning: &Value| warning.as_str().unwrap().contains("the loop that called this agent is gone");
    assert!(document["warnings"].as_array().unwrap().iter().any(is_told), "{document}");
    assert_eq!((warned.code, bench.status("1").as_str()), (0, "completed"));
    // The next start has a check decide, as on all that was completed since the iteration began.
    assert!(fs::read_to_string(bench.path(".samuel/run/journal.jsonl")).unwrap().contains("\"done\""));
}

#[test]
fn a_change_whose_answer_is_lost_may_have_been_made_and_asking_again_is_harmless() {
    use std::{io::Write as _, os::unix::net::UnixListener, thread};
    let bench = Bench::with_tasks(&["One"]);
    let path = bench.tmp().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    // Lets in whoever comes, and hangs up on the request.
    let served = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        let mut lines = std::io::BufReader::new(stream.try_clone().unwrap());
        std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
        stream.write_all(b"{\"ok\":true,\"run\":\"r\",\"may\":[\"mutate\"]}\n").unwrap();
        std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    });
    let mut command = bench.command(&["run", "done", "1", "--json"]);
    command.env("SAMUEL_SOCKET", &path).env("SAMUEL_TOKEN", "0").env("SAMUEL_SANDBOX", "host");
    let ran = Ran::of(command);
    served.join().unwrap();
    let document = ran.json();
    assert_eq!((ran.code, &document["error"]["code"]), (75, &"E_BROKER_UNANSWERED".into()), "{ran:?}");
    says(document["error"]["help"].as_str().unwrap(), &["It may have happened", "ask again"]);
    assert_eq!(bench.status("1"), "pending", "no other way is taken meanwhile");
}

#[test]
fn checks_get_neither_socket_nor_token_and_an_agent_of_each_call_gets_a_new_one() {
    let bench = Bench::with_tasks(&["One", "Two"]);
    bench.configure("quality_checks = [\"test -z \\\"$SAMUEL_SOCKET$SAMUEL_TOKEN\\\"\"]");
    let agent = "echo \"$SAMUEL_TOKEN\" >> tokens; \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";
    bench.start(agent, &[]).ends(0);
    let tokens = bench.read("tokens");
    let tokens: Vec<&str> = tokens.lines().collect();
    assert!(tokens.len() == 2 && tokens[0] != tokens[1] && tokens[0].len() == 64, "{tokens:?}");
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn the_client_that_the_specification_shows_records_a_task() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: there is no python3");
        return;
    }
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/broker.md")).unwrap();
    let code = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let bench = Bench::with_tasks(&["One"]);
    bench.write("client.py", code);
    let ran = bench.start("python3 client.py 2> told", &[]).ends(0);
    assert_eq!(bench.status("1"), "completed", "{ran:?} {}", bench.read("told"));
}

/// Asks with the requests of the specification what they are answered there, as far as it shows that.
#[test]
fn the_requests_that_the_specification_shows_are_answered_as_it_says() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/broker.md")).unwrap();
    let requests: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("> {\"id\"")).collect();
    assert_eq!(requests.len(), 5);
    let requests: String = requests.iter().map(|request| format!("{{\"id\"{request}\n")).collect();
    let bench = Bench::with_tasks(&["One", "Two", "Three"]);
    bench.write("requests", &requests);
    let agent = "printf '{\"samuel\":\"run/1\",\"token\":\"%s\"}\\n' \"$SAMUEL_TOKEN\" | cat - requests > said; \
                 python3 -c 'import os, socket; run = socket.socket(socket.AF_UNIX); run.connect(os.environ[\"SAMUEL_SOCKET\"]); \
                 run.sendall(open(\"said\", \"rb\").read()); lines = run.makefile(); \
                 open(\"answers\", \"w\").writelines(lines.readline() for _ in range(6))'";
    bench.start(agent, &["--max-iterations", "1"]);
    let Ok(answers) = fs::read_to_string(bench.path("answers")) else { return };
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(answers.iter().all(|answer| answer["ok"] == true), "{answers:#?}");
    assert_eq!(answers[0]["may"], serde_json::json!(["mutate", "plan", "status", "history", "learn"]));
    assert_eq!(answers[0]["plan"]["root"], bench.root().to_str().unwrap());
    assert_eq!(answers[1]["applied"]["change"]["to"], "completed");
    assert_eq!(answers[2]["page"]["plan"]["tasks"].as_array().unwrap().len(), 3);
    assert!(answers[2]["page"].get("next").is_none());
    assert_eq!(
        (&answers[3]["status"]["running"], &answers[4]["history"]["task"]["id"]),
        (&true.into(), &"3".into())
    );
    assert_eq!(answers[5]["learned"]["kind"], "learning");
    says(
        &bench.read(".samuel/run/progress.md"),
        &["[iteration:1] [task:1] LEARNING: The tests need a database."],
    );
}
