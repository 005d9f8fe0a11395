//! `hooks list`, `show`, `validate`, `test`, `fire` and `log`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::bench::{Bench, says};

/// What a script of the plugin `note` does: it answers with what it was given.
const NOTES: &str = "input=$(cat)\necho noted >&2\nprintf '{\"ok\": true, \"warnings\": [\"%s\"]}' \"$SAMUEL_HOOK_POINT $#\"\ntouch ran";

/// Installs a plugin with one script at a point.
fn install(bench: &Bench, name: &str, point: &str, script: &str) {
    let manifest = format!(
        "[plugin]\nname = \"{name}\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\n[hooks]\n\"{point}\" = \
         \"hook.sh\"\n"
    );
    bench.write(&format!("plugins/{name}/samuel-plugin.toml"), &manifest);
    let script = bench.write(&format!("plugins/{name}/hook.sh"), &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bench.ok(&["install", &format!("plugins/{name}"), "--yes"]);
}

/// A project with the plugin `note` at `after:iteration`.
fn noting() -> Bench {
    let bench = Bench::with_tasks(&["One"]);
    install(&bench, "note", "after:iteration", NOTES);
    bench
}

/// A project with session hooks.
fn with_hooks(yaml: &str) -> Bench {
    let bench = Bench::with_tasks(&["One"]);
    bench.write(".samuel/hooks.yml", yaml);
    bench
}

/// A file of session hooks in which every command works.
const HOOKS: &str = "version: 1\nhooks:\n  post_iteration:\n    - command: echo tests of {{iteration}}\n      pipe_output: true\n      \
                     timeout: 7\n  on_task_complete:\n    - command: echo done {{task_id}} >> completed\n";

fn data(bench: &Bench, args: &[&str]) -> Value {
    bench.ok(&[args, &["--json"]].concat()).json()["data"].clone()
}

#[test]
fn hooks_are_listed_with_what_they_match_and_where_they_come_from() {
    let bench = Bench::empty();
    assert!(bench.ok(&["hooks", "list"]).stdout.starts_with("There are no hooks beside "));
    let bench = with_hooks(HOOKS);
    install(&bench, "lint", "quality.check", "echo '{\"ok\": true}'");
    let more = bench.read("samuel.toml") + "\n[hooks.\"task.completed\"]\nenabled = false\n";
    bench.write("samuel.toml", &more);
    let ran = bench.ok(&["hooks", "list"]);
    says(
        &ran.stdout,
        &[
            "ID                          POINT            ENABLED",
            "BLOCKING  MATCH",
            "lint:hook.sh                quality.check    true",
            "session:post_iteration#1    after:iteration  true",
            ".samuel/hooks.yml:4:7",
            "false: the point is disabled",
        ],
    );
    let list = data(&bench, &["hooks", "list"]);
    let of = |id: &str| {
        let hooks = list["hooks"].as_array().unwrap();
        hooks.iter().find(|hook| hook["id"] == id).unwrap().clone()
    };
    assert_eq!(of("lint:hook.sh")["blocking"], true);
    let post = of("session:post_iteration#1");
    assert_eq!(
        (&post["tier"], &post["blocking"], &post["mode"]),
        (&json!("shell"), &json!(false), &json!("both"))
    );
    assert_eq!(
        (&post["place"], &post["command"]),
        (&json!(".samuel/hooks.yml:4:7"), &json!("echo tests of {{iteration}}"))
    );
    assert_eq!(of("session:on_task_complete#1")["enabled"], false);
}

#[test]
fn a_hook_is_shown_with_what_it_asks_for_beside_what_is_configured() {
    let bench = with_hooks(HOOKS);
    let shown = bench.ok(&["hooks", "show", "session:post_iteration#1"]).stdout;
    says(
        &shown,
        &[
            "session:post_iteration#1: after:iteration\n",
            "timeout         7s\n",
            "asks for        timeout 7s",
            "where           .samuel/hooks.yml:4:7\n",
            "command         echo tests of {{iteration}}\n",
        ],
    );
    let more = bench.read("samuel.toml") + "\n[hooks.\"after:iteration\"]\ntimeout = \"9s\"\n";
    bench.write("samuel.toml", &more);
    let shown = data(&bench, &["hooks", "show", "session:post_iteration#1"]);
    let runs = &shown["hooks"][0]["runs"];
    assert_eq!((&runs["timeout_ms"], &runs["asks"]["timeout_ms"]), (&json!(9000), &json!(7000)));
    assert_eq!(runs["entry"]["line"], 4);
    let chains = bench.ok(&["doctor", "--hooks"]).stdout;
    says(&chains, &["9s (asks 7s)", ".samuel/hooks.yml:4:7"]);
    let point = data(&bench, &["hooks", "show", "after:iteration"]);
    assert_eq!(point["chain"]["run"][0]["id"], "session:post_iteration#1");
    let ran = bench.samuel(&["hooks", "show", "session:post_iteration#2"]).fails(2);
    says(
        &ran.stderr,
        &["there is no hook \"session:post_iteration#2\"", "Did you mean \"session:post_iteration#1\"?"],
    );
    bench.samuel(&["hooks", "show", "after:iteratio"]).fails(2);
}

#[test]
fn reports_why_hooks_cannot_be_loaded() {
    let bench = Bench::empty();
    bench.write("samuel.toml", "version = \"2\"\n[hooks\n");
    let ran = bench.samuel(&["hooks", "show", "my-linter"]).ends(2);
    says(&ran.stderr, &["samuel.toml"]);
    let ran = bench.samuel(&["hooks", "show", "quality.chek"]).ends(2);
    says(&ran.stderr, &["Did you mean \"quality.check\"?"]);
}

#[test]
fn what_is_shown_expanded_is_what_is_started() {
    for (bench, id) in [(noting(), "note:hook.sh"), (with_hooks(HOOKS), "session:post_iteration#1")] {
        let shown = data(&bench, &["hooks", "show", id, "--expanded"]);
        let launch = &shown["hooks"][0]["launch"];
        let trial = data(&bench, &["hooks", "test", id, "--yes"]);
        let started = &trial["exchanges"][0]["launch"];
        // A script of a plugin starts from a copy that each command makes for itself.
        let same = |launch: &Value| {
            let text = launch.to_string();
            let copy =
                launch["env"].as_array().unwrap().iter().find(|one| one["name"] == "SAMUEL_PLUGIN_DIR");
            copy.map_or(text.clone(), |copy| text.replace(copy["value"].as_str().unwrap(), "COPY"))
        };
        assert_eq!(same(launch), same(started), "{id}");
        assert!(!launch["env"].as_array().unwrap().is_empty());
    }
}

#[test]
fn no_secret_is_shown_of_what_is_started() {
    let bench = with_hooks(HOOKS);
    let args = ["hooks", "show", "session:post_iteration#1", "--expanded"];
    let shown = bench.samuel_where("API_TOKEN", "tok-123456", &args).stdout;
    says(&shown, &["env    API_TOKEN=(a secret, not shown)", "/bin/sh"]);
    assert!(!shown.contains("tok-123456"), "{shown}");
}

#[test]
fn one_hook_is_tried_on_one_event_beside_the_state_of_any_run() {
    let bench = noting();
    let ran = bench.samuel(&["hooks", "test", "note:hook.sh"]).fails(78);
    says(
        &ran.stderr,
        &[
            "nobody has allowed what this command would run",
            "handler of after:iteration: note:hook.sh",
            "digest of all this",
        ],
    );
    assert!(!bench.path("ran").exists());
    bench.write("event.json", "{\"iteration\": 7}");
    let before = bench.files();
    let ran = bench.ok(&["hooks", "test", "note:hook.sh", "--event", "event.json", "--yes"]);
    says(
        &ran.stdout,
        &[
            "note:hook.sh at after:iteration: ok in ",
            "  warning: after:iteration 0\n",
            "    noted\n",
            "\"iteration\": 7",
        ],
    );
    let trial = data(&bench, &["hooks", "test", "note:hook.sh", "--event", "event.json", "--yes"]);
    let exchange = &trial["exchanges"][0];
    let stdin: Value = serde_json::from_str(exchange["launch"]["stdin"].as_str().unwrap()).unwrap();
    assert_eq!((&stdin["input"]["iteration"], &stdin["call"]["iteration"]), (&json!(7), &json!(7)));
    assert_eq!((&exchange["exit_code"], &exchange["stderr"]), (&json!(0), &json!("noted\n")));
    assert_eq!((&trial["status"], &trial["output"]["ok"]), (&json!("ok"), &json!(true)));
    fs::remove_file(bench.path("ran")).unwrap();
    assert_eq!(bench.files(), before, "what the hook itself does is all that is done");

    let wrong = |event: &str, part: &str| {
        bench.write("event.json", event);
        let ran = bench.samuel(&["hooks", "test", "note:hook.sh", "--event", "event.json", "--yes"]).fails(2);
        says(&ran.stderr, &[part]);
    };
    wrong("{\"iteratoin\": 7}", "did you mean \"iteration\"?");
    wrong("{\"iteration\": \"x\"}", "this is no input of after:iteration");
    wrong("[]", "it is no JSON object");
    bench.write("event.json", "{");
    let ran = bench.samuel(&["hooks", "test", "note:hook.sh", "--event", "event.json", "--yes"]).fails(1);
    says(&ran.stderr, &["the event is no JSON", "event.json:1:1"]);
}

#[test]
fn a_hook_that_breaks_shows_what_it_did_before() {
    let bench = Bench::with_tasks(&["One"]);
    install(&bench, "lint", "quality.check", "echo half; echo why >&2; exit 3");
    let ran = bench.samuel(&["hooks", "test", "lint:hook.sh", "--yes"]).ends(1);
    says(
        &ran.text(),
        &[
            "lint:hook.sh at quality.check: broke: failed",
            "exit code 3",
            "    half\n",
            "    why\n",
            "error: lint:hook.sh broke",
        ],
    );
    let ran = bench.samuel(&["hooks", "test", "lint:hook.sh", "--yes", "--json"]).ends(1).json();
    assert_eq!(
        (&ran["error"]["code"], &ran["data"]["exchanges"][0]["exit_code"]),
        (&json!("E_HOOK_FAILED"), &json!(3))
    );
}

#[test]
fn a_session_hook_is_tried_with_its_variables_filled_in() {
    let bench = with_hooks(HOOKS);
    bench.write("event.json", "{\"task_id\": \"42\"}");
    let before = bench.files();
    bench.ok(&["hooks", "test", "session:on_task_complete#1", "--event", "event.json", "--yes"]);
    assert_eq!(bench.read("completed"), "done 42\n");
    fs::remove_file(bench.path("completed")).unwrap();
    assert_eq!(bench.files(), before);
    let trial = data(&bench, &["hooks", "test", "session:post_iteration#1", "--yes"]);
    assert_eq!(trial["exchanges"][0]["stdout"], format!("tests of {}\n", trial["input"]["iteration"]));
    assert_eq!(
        trial["output"]["text"][0]["content"],
        trial["exchanges"][0]["stdout"].as_str().unwrap().trim_end()
    );
}

#[test]
fn a_session_hook_whose_command_fails_is_told_of_as_failed() {
    let hooks = "version: 1\nhooks:\n  post_iteration:\n    - command: exit 3\n    - command: sleep 9\n      timeout: 1\n    - command: kill -9 $$\n";
    let bench = with_hooks(hooks);
    for (number, class, code) in
        [(1, "failed", "E_HOOK_FAILED"), (2, "timeout", "E_HOOK_TIMEOUT"), (3, "signaled", "E_HOOK_FAILED")]
    {
        let id = format!("session:post_iteration#{number}");
        let ran = bench.samuel(&["hooks", "test", &id, "--yes"]).ends(1);
        says(&ran.text(), &[&format!("at after:iteration: failed: {class}")]);
        let ran = bench.samuel(&["hooks", "test", &id, "--yes", "--json"]).ends(1).json();
        let trial = &ran["data"];
        assert_eq!(
            (&ran["error"]["code"], &trial["status"], &trial["class"]),
            (&json!(code), &json!("failed"), &json!(class))
        );
    }
    let ran = bench.ok(&["hooks", "fire", "after:iteration", "--yes"]);
    says(&ran.stdout, &["failed: failed", "failed: timeout", "failed: signaled"]);
}

#[test]
fn a_point_is_fired_and_without_a_process_only_shown() {
    let bench = noting();
    install(&bench, "other", "after:iteration", "exit 1");
    let more = bench.read("samuel.toml") + "\n[hooks.\"after:iteration\"]\nhandlers = [\"note\"]\n";
    bench.write("samuel.toml", &more);
    let before = bench.files();
    let dry = bench.ok(&["hooks", "fire", "after:iteration", "--dry-run"]).stdout;
    says(
        &dry,
        &[
            "after:iteration would call\n",
            "0 note:hook.sh skill\n",
            "skipped other:hook.sh: not in handlers\n",
        ],
    );
    assert_eq!(bench.files(), before, "no process was started");
    bench.samuel(&["hooks", "fire", "after:iteration"]).fails(78);
    assert_eq!(bench.files(), before);
    let fired = bench.ok(&["hooks", "fire", "after:iteration", "--yes"]).stdout;
    says(
        &fired,
        &[
            "after:iteration was fired\n",
            "note:hook.sh skill: ok in ",
            "warning: note:hook.sh warning: after:iteration 0",
        ],
    );
    assert!(bench.path("ran").exists());
    let ran = bench.samuel(&["hooks", "fire", "agent.invoke", "--yes"]).fails(2);
    says(&ran.stderr, &["is the default, which calls the agent"]);
}

#[test]
fn a_fired_check_is_asked_about_and_changes_nothing_of_the_plan() {
    let bench = Bench::with_tasks(&["One"]);
    bench.configure("quality_checks = [\"touch checked\"]");
    let ran = bench.samuel(&["hooks", "fire", "quality.check"]).fails(78);
    says(&ran.stderr, &["quality check 1: touch checked"]);
    let ran = bench.samuel(&["hooks", "test", "default", "--point", "quality.check", "--yes"]).fails(2);
    says(&ran.stderr, &["there is no hook \"default\""]);
    let plan = fs::read(bench.prd()).unwrap();
    bench.ok(&["hooks", "fire", "quality.check", "--yes"]);
    bench.ok(&["hooks", "fire", "before:loop", "--yes"]);
    assert!(bench.path("checked").exists());
    assert_eq!(fs::read(bench.prd()).unwrap(), plan);
    assert!(!bench.path(".samuel/run/hooks.jsonl").exists());
    assert!(!bench.path(".samuel/run/logs").exists());
}

#[test]
fn a_fired_check_is_one_that_was_shown_whatever_the_event_names() {
    let bench = Bench::with_tasks(&["One"]);
    bench.configure("quality_checks = [\"touch one\", \"touch two\"]");
    let shown = data(&bench, &["hooks", "fire", "quality.check", "--dry-run"]);
    assert_eq!(shown["input"]["commands"], json!(["touch one", "touch two"]));
    bench.write("other.json", "{\"commands\": [\"touch two\", \"touch three\"]}");
    let fire = ["hooks", "fire", "quality.check", "--yes", "--event"];
    let ran = bench.samuel(&[&fire[..], &["other.json"]].concat()).fails(2);
    says(&ran.stderr, &["\"touch three\" is no quality check of this project"]);
    assert!(!bench.path("two").exists() && !bench.path("three").exists());
    bench.write("one.json", "{\"commands\": [\"touch two\"]}");
    bench.ok(&[&fire[..], &["one.json"]].concat());
    assert!(bench.path("two").exists() && !bench.path("one").exists());
}

#[test]
fn a_script_has_no_copy_within_its_project() {
    let bench = with_hooks("version: 1\nhooks:\n  session_end:\n    - command: sh end.sh\n");
    bench.write("end.sh", "true\n");
    let state = bench.path("state");
    let show = ["hooks", "show", "session:session_end#1", "--json"];
    let shown = bench.samuel_where("SAMUEL_STATE_DIR", state.to_str().unwrap(), &show).ends(0).json();
    let scripts = shown["data"]["hooks"][0]["runs"]["entry"]["scripts"].as_array().unwrap();
    assert_eq!((scripts.len(), &scripts[0][0]), (1, &json!("end.sh")));
}

#[test]
fn an_agent_fires_no_hooks_of_its_own_run() {
    let bench = noting();
    for args in
        [&["hooks", "test", "note:hook.sh", "--yes"][..], &["hooks", "fire", "after:iteration", "--yes"]]
    {
        let ran = bench.samuel_where("SAMUEL_RUN_ID", "r1", args).fails(78);
        says(&ran.stderr, &["an agent cannot run the hooks of its run"]);
    }
    assert!(!bench.path("ran").exists());
    bench.samuel_where("SAMUEL_RUN_ID", "r1", &["hooks", "list"]).ends(0);
}

#[test]
fn a_run_writes_which_hooks_it_called() {
    let bench = noting();
    assert_eq!(bench.ok(&["hooks", "log"]).stdout, "No call of a hook is in the log.\n");
    install(&bench, "lint", "before:iteration", "exit 4");
    bench.start("samuel run done 1 || true", &["--max-iterations", "1"]);
    let text = bench.ok(&["hooks", "log"]).stdout;
    says(&text, &["note:hook.sh", "lint:hook.sh", "broke: failed", "warning: after:iteration 0"]);
    let log = data(&bench, &["hooks", "log", "--id", "lint:hook.sh"]);
    let [line] = log["lines"].as_array().unwrap().as_slice() else { panic!("{log}") };
    assert_eq!(
        (&line["point"], &line["tier"], &line["status"]),
        (&json!("before:iteration"), &json!("skill"), &json!("broke"))
    );
    assert_eq!((&line["exit"], &line["class"], &line["iteration"]), (&json!(4), &json!("failed"), &json!(1)));
    assert!(line["duration_ms"].is_u64() && line["run"].is_string() && line["time"].is_string());
    let log = data(&bench, &["hooks", "log", "--point", "after:iteration", "--limit", "1"]);
    assert_eq!(
        (log["lines"][0]["id"].as_str(), log["lines"][0]["exit"].as_i64()),
        (Some("note:hook.sh"), Some(0))
    );
    let mode = fs::metadata(bench.path(".samuel/run/hooks.jsonl")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_handlers_tell_the_user_is_shown_with_who_tells_it() {
    let bench = Bench::with_tasks(&["One"]);
    let answer = r#"echo '{"ok": true, "results": {"messages_to_user": ["mind the guide"]}}'"#;
    install(&bench, "guide", "session.start", answer);
    let ran = bench.start("samuel run done 1 || true", &["--max-iterations", "1"]);
    says(&(ran.stdout + &ran.stderr), &["  guide:hook.sh at session.start: mind the guide\n"]);
}

#[test]
fn every_problem_of_hooks_is_told_with_its_place() {
    let bench = Bench::with_tasks(&["One"]);
    says(&bench.ok(&["hooks", "validate"]).stdout, &["no hook file: 0 hooks in all, no problems\n"]);
    bench.write(
        ".samuel/hooks.yml",
        "version: 1\nhooks:\n  post_iteration:\n    - command: echo {{iteratoin}}\n    - command: echo ok\n    - command: echo\n      timout: 3\n",
    );
    let ran = bench.samuel_where("DB_PASSWORD", "x", &["hooks", "validate"]).ends(1);
    says(
        &ran.stdout,
        &[
            ".samuel/hooks.yml:4:",
            ".samuel/hooks.yml:7:7: ",
            "\"timeout\"",
            "look like secrets: DB_PASSWORD",
            ".samuel/hooks.yml: 1 hook in all, 2 problems\n",
        ],
    );
    says(&ran.stderr, &["error: 2 problems in hooks"]);
    let found = bench.samuel(&["hooks", "validate", "--json"]).ends(1).json();
    assert_eq!(found["error"]["code"], "E_HOOK_INVALID");
    let problems = found["data"]["problems"].as_array().unwrap();
    assert_eq!((problems.len(), &problems[1]["line"], &problems[1]["column"]), (2, &json!(7), &json!(7)));

    bench.write(
        ".samuel/hooks.yml",
        "version: 1\nhooks:\n  on_task_complete:\n    - command: echo \"{{task_id}} is done\"\n    - command: sh $SCRIPT\n",
    );
    let found = data(&bench, &["hooks", "validate"]);
    let [warning] = found["warnings"].as_array().unwrap().as_slice() else { panic!("{found}") };
    says(warning.as_str().unwrap(), &[".samuel/hooks.yml:5:7: only the shell knows which file a script is"]);

    fs::remove_file(bench.path(".samuel/hooks.yml")).unwrap();
    let toml = bench.read("samuel.toml");
    bench.write("samuel.toml", &(toml.clone() + "\n[hooks.\"quality.chek\"]\nstrict = true\n"));
    let ran = bench.samuel(&["hooks", "validate"]).ends(1);
    says(&ran.stdout, &["samuel.toml:", "unknown hook point \"quality.chek\"", "1 problem\n"]);
    bench.write("samuel.toml", &(toml + "\n[hooks.\"quality.check\"]\nhandlers = [\"defualt\"]\n"));
    let ran = bench.samuel(&["hooks", "validate"]).ends(1);
    says(&ran.stdout, &["samuel.toml:", "unknown handler \"defualt\""]);
}

#[test]
fn a_script_that_a_start_copies_is_no_warning_of_validate() {
    let bench = with_hooks("version: 1\nhooks:\n  session_end:\n    - command: sh end.sh\n");
    bench.write("end.sh", "exit 0\n");
    assert_eq!(data(&bench, &["hooks", "validate"])["warnings"], json!([]));
    fs::remove_file(bench.path("end.sh")).unwrap();
    let warnings = &data(&bench, &["hooks", "validate"])["warnings"];
    assert!(warnings[0].as_str().is_some_and(|told| told.contains("which does not exist")), "{warnings}");
}
