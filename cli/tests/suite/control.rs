//! A word with the loop that runs, from another terminal.

use rustix::process::Signal;

use crate::{
    bench::{Bench, Beside, says, wait_for_file, wait_until},
    plugins::source,
};

/// An agent that waits for a word, and completes its task then.
const WAITS: &str = "cat > prompt-$SAMUEL_TASK_ID; touch up-$SAMUEL_TASK_ID; until [ -e go-$SAMUEL_TASK_ID ]; do \
                     sleep 0.05; done; \"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"";

fn at_work() -> (Bench, Beside) {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let run = bench.spawn(&bench.start_args(WAITS));
    wait_for_file(&bench.path("up-1"));
    (bench, run)
}

#[test]
fn without_a_loop_each_verb_says_so_and_what_to_do() {
    let bench = Bench::with_tasks(&["First"]);
    let before = bench.read(".samuel/run/prd.toon");
    for words in [
        &["pause"][..],
        &["resume"],
        &["steer", "a"],
        &["stop"],
        &["stop", "--now"],
        &["approve"],
        &["deny", "--call", "1"],
        &["attach"],
    ] {
        let ran = bench.samuel(&[&["run"], words].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{words:?} {ran:?}");
        for part in ["no loop runs in", "`samuel run start`"] {
            assert!(ran.stderr.contains(part), "{ran:?}");
        }
        let ran = bench.samuel(&[&["--json", "run"], words].concat());
        assert_eq!(ran.json()["error"]["code"], "E_CONTROL_NO_LOOP", "{ran:?}");
    }
    assert_eq!(bench.read(".samuel/run/prd.toon"), before);
}

#[test]
fn a_loop_is_paused_steered_resumed_watched_and_ended_from_another_terminal() {
    let (bench, mut run) = at_work();
    let mut watcher = bench.spawn(&["run", "attach"]);
    watcher.wait_for(": works on 1 First (iteration 1)");
    let paused = bench.ok(&["run", "pause"]);
    assert!(paused.stdout.contains("holds before its next iteration"), "{paused:?}");
    bench.write("go-1", "");
    run.wait_for("holding until `samuel run resume`");
    // How long an iteration took that it did not see begin it does not say.
    assert_eq!(watcher.wait_for("iteration 1: "), "iteration 1: succeeded");
    watcher.wait_for("holding until `samuel run resume`");
    bench.ok(&["run", "steer", "mind the gap"]);
    let json = bench.ok(&["run", "resume", "and go", "--json"]).json();
    assert_eq!(json["data"]["state"]["doing"], "paused");
    wait_for_file(&bench.path("up-2"));
    let prompt = bench.read("prompt-2");
    assert!(prompt.contains("begin: message from the user]\nmind the gap\n"), "{prompt}");
    assert!(prompt.contains("begin: message from the user]\nand go\n"), "{prompt}");
    watcher.signal(Signal::INT);
    watcher.wait_for("left; the run goes on");
    assert_eq!(watcher.code(), 0);
    bench.ok(&["run", "stop", "--now"]);
    assert_eq!(run.code(), 130);
    assert_eq!((bench.status("1").as_str(), bench.status("2").as_str()), ("completed", "pending"));
    let journal = bench.read(".samuel/run/journal.jsonl");
    for command in ["pause", "steer", "resume", "stop"] {
        assert!(journal.contains(&format!("\"command\":\"{command}\"")), "{command}");
    }
}

#[test]
fn status_shows_a_paused_loop_without_its_record() {
    let (bench, mut run) = at_work();
    bench.ok(&["run", "pause"]);
    bench.write("go-1", "");
    run.wait_for("holding until `samuel run resume`");
    let run_id = &bench.ok(&["run", "runs", "--json"]).json()["data"]["runs"][0]["run"];
    let logs = format!(".samuel/run/logs/{}", run_id.as_str().unwrap());
    // The event is written once it was shown.
    wait_until("it is written", || bench.read(&format!("{logs}/run.jsonl")).contains("\"event\":\"paused\""));
    std::fs::remove_dir_all(bench.path(&logs)).unwrap();
    says(&bench.ok(&["run", "status"]).stdout, &["  Now        holds until it is resumed\n"]);
    bench.ok(&["run", "stop", "--now"]);
    assert_eq!(run.code(), 130);
}

#[test]
fn who_watches_a_loop_that_is_killed_is_told_that_it_is_gone() {
    let (bench, run) = at_work();
    let attach = &mut bench.command_below("exec \"$0\" \"$@\" 2>&1", &["run", "attach"]);
    let mut watcher = Beside::of(attach);
    watcher.wait_for(": works on 1 First");
    run.signal(Signal::KILL);
    let told = watcher.wait_for("error: ");
    assert!(told.starts_with("error: the loop of run ") && told.ends_with(" is gone"), "{told}");
    assert_eq!(watcher.code(), 1);
    run.code();
}

#[test]
fn resume_keeps_skip_of_unchecked_task() {
    let (bench, run) = at_work();
    bench.ok(&["run", "done", "1"]);
    run.signal(Signal::KILL);
    run.code();
    bench.ok(&["run", "skip", "1"]);
    bench.write("go-2", "");
    bench.start(WAITS, &[]).ends(0);
    assert_eq!([bench.status("1"), bench.status("2")], ["skipped", "completed"]);
}

#[test]
fn who_follows_the_log_of_a_loop_that_is_killed_is_told_that_no_end_is_recorded() {
    let (bench, run) = at_work();
    let tail = &mut bench.command_below("exec \"$0\" \"$@\" 2>&1", &["run", "log", "--tail"]);
    let mut tail = Beside::of(tail);
    tail.wait_for("iteration 1 begins");
    run.signal(Signal::KILL);
    let told = tail.wait_for("no end");
    assert!(told.starts_with("warning: the loop of run ") && told.contains(" is gone"), "{told}");
    assert_eq!(tail.code(), 0);
    run.code();
    // What has ended tells its end, and of what was killed it is known at once.
    let again = bench.ok(&["run", "log", "--tail"]);
    says(&again.stderr, &["is gone, and no end of it is recorded"]);
    let whole = bench.ok(&["run", "log"]);
    assert!(!whole.stderr.contains("is gone") && whole.stdout == again.stdout, "{whole:?}");
}

/// The calls that wait for a person.
fn waiting(bench: &Bench) -> Vec<u64> {
    let status = bench.ok(&["run", "status", "--json"]).json();
    let waiting = status["data"]["live"]["approvals"].as_array().cloned().unwrap_or_default();
    waiting.iter().map(|call| call["call"].as_u64().unwrap()).collect()
}

#[test]
fn a_tool_call_waits_for_a_person_who_approves_or_denies_it_by_its_number() {
    let bench = Bench::with_tasks(&["First"]);
    let asks = "case \"$(cat)\" in *touch*) ask=true;; *) ask=false;; esac; \
                echo \"{\\\"block\\\": false, \\\"ask\\\": $ask, \\\"reason\\\": \\\"a command\\\"}\"";
    source(&bench, "careful", "", "ability.before", asks);
    bench.configure("ask_timeout = \"1h\"");
    bench.ok(&["install", "plugins/careful", "--yes"]);
    let run = |name: &str| format!("{{ run = {{ command = \"touch {name}\", allow_failure = true }} }}");
    let steps = [run("approved"), run("denied"), "{ done = {} }".to_owned()].join(", ");
    bench.write("script.toml", &format!("[[calls]]\nsteps = [{steps}]\n"));
    let words =
        ["run", "start", "--yes", "--pause", "0", "--agent", "scripted", "--agent-command", "script.toml"];
    let mut started = bench.spawn(&words);
    wait_until("a call waits", || !waiting(&bench).is_empty());
    let unnamed = bench.samuel(&["run", "approve", "--json"]);
    assert_eq!(unnamed.json()["error"]["code"], "E_CONTROL_WHICH_CALL", "{unnamed:?}");
    bench.samuel(&["run", "deny"]).fails(2);
    let mut last = 0;
    for (verb, text) in [("approve", None), ("deny", Some("not that one"))] {
        wait_until("a call waits", || waiting(&bench).iter().any(|call| *call != last));
        last = waiting(&bench)[0];
        let (call, other) = (last.to_string(), (last + 1).to_string());
        says(&bench.ok(&["run", "status"]).stdout, &[&call, "a command", "touch"]);
        let refused = bench.samuel(&["run", verb, "--call", &other, "--json"]);
        assert_eq!(refused.json()["error"]["code"], "E_CONTROL_NOTHING_WAITS", "{refused:?}");
        bench.samuel(&["run", verb, "--call", "x"]).fails(2);
        bench.ok(&[&["run", verb, "--call", &call][..], text.as_slice()].concat());
        if verb == "approve" {
            // Who comes second is told that it is decided, and by whom.
            let second = bench.samuel(&["run", "deny", "--call", &call]).fails(1);
            says(&second.stderr, &[&format!("tool call {call} was approved already, by ")]);
            let second = bench.samuel(&["run", "deny", "--call", &call, "--json"]).json();
            assert_eq!(second["error"]["code"], "E_CONTROL_NOTHING_WAITS", "{second}");
        }
    }
    started.wait_for("completed");
    assert_eq!(started.code(), 0);
    assert_eq!((bench.path("approved").exists(), bench.path("denied").exists()), (true, false));
    says(&bench.ok(&["run", "log"]).stdout, &["is approved", "is denied: the user denied it: not that one"]);
}

#[test]
fn an_agent_commands_no_run() {
    let bench = Bench::with_tasks(&["First"]);
    let agent = "for verb in pause resume 'steer x' stop 'stop --now' approve 'deny --call 1' attach; do \
                 \"$SAMUEL_BINARY\" run $verb 2>>told; done; \"$SAMUEL_BINARY\" run done 1";
    let ran = bench.start(agent, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(
        bench.read("told").matches("what is a part of a run does not command it").count(),
        8,
        "{}",
        bench.read("told")
    );
}
