//! `install`, `ls`, `info`, `uninstall`, `verify` and `plugin`.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bench::{AtTerminal, Bench, says, wait_for_file};

/// Writes the source of a plugin with one script.
pub(crate) fn source(bench: &Bench, name: &str, more: &str, point: &str, script: &str) -> PathBuf {
    let manifest = format!(
        "[plugin]\nname = \"{name}\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n{more}\n[hooks]\n\
         \"{point}\" = \"hook.sh\"\n"
    );
    bench.write(&format!("plugins/{name}/samuel-plugin.toml"), &manifest);
    let script = bench.write(&format!("plugins/{name}/hook.sh"), &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bench.path(&format!("plugins/{name}"))
}

fn lint(bench: &Bench) -> PathBuf {
    let more = "[capabilities]\nexec = { targets = [\"ruff\"], reason = \"runs the linter\" }\nenv = [\"VIRTUAL_ENV\"]\n";
    source(bench, "lint", more, "quality.check", "echo '{\"ok\": true}'")
}

/// A project of one task with the plugin lint.
fn with_lint() -> Bench {
    let bench = Bench::with_tasks(&["One"]);
    lint(&bench);
    bench.ok(&["install", "plugins/lint", "--yes"]);
    bench
}

/// Runs a command that must fail with a code and a text.
fn fails(bench: &Bench, args: &[&str], code: i32, part: &str) {
    let ran = bench.samuel(args);
    assert!(ran.code == code && ran.stderr.contains(part), "{part}: {ran:?}");
}

#[test]
fn nothing_is_installed_that_nobody_has_granted() {
    let bench = Bench::empty();
    lint(&bench);
    let ran = bench.samuel(&["install", "plugins/lint"]).fails(78);
    says(
        &ran.stderr,
        &[
            "what lint 1.0.0 asks for was not granted",
            "exec  ruff         (runs the linter)",
            "env   VIRTUAL_ENV",
            "quality.check  hook.sh",
            "run with all your rights",
            "help: Review what the plugin asks for, then pass --yes.",
        ],
    );
    assert!(!bench.path("samuel.lock").exists() && !bench.path("samuel.toml").exists());
    let error = bench.samuel(&["install", "plugins/lint", "--json"]).json();
    assert_eq!((&error["command"], &error["error"]["code"]), (&json!("install"), &json!("E_PLUGIN_REFUSED")));
    let exec =
        json!({ "capability": "exec", "targets": ["ruff"], "reason": "runs the linter", "is_new": true });
    assert_eq!(error["data"]["capabilities"][0], exec);
}

#[test]
fn an_update_that_wants_more_is_refused_where_nobody_can_be_asked() {
    let bench = with_lint();
    let installed = || (bench.read("samuel.lock"), bench.read(".samuel/plugins/lint/samuel-plugin.toml"));
    let before = installed();
    let manifest = bench.read("plugins/lint/samuel-plugin.toml");
    let more = manifest.replace("\"1.0.0\"", "\"1.1.0\"").replace("\"ruff\"", "\"ruff\", \"git\"");
    bench.write("plugins/lint/samuel-plugin.toml", &more);
    let ran = bench.samuel(&["install", "plugins/lint"]).ends(78);
    let said = "what lint 1.1.0 asks for was not granted";
    says(&ran.stderr, &[said, "+ exec", "git"]);
    assert_eq!(installed(), before, "everything is as before");
    bench.ok(&["verify"]);

    // One that wants nothing new is no question.
    bench.write("plugins/lint/samuel-plugin.toml", &manifest.replace("\"1.0.0\"", "\"1.2.0\""));
    assert!(bench.ok(&["install", "plugins/lint"]).stdout.contains("lint: Updated from 1.0.0 to 1.2.0"));
}

#[test]
fn a_plugin_is_installed_listed_shown_verified_and_removed() {
    let bench = Bench::empty();
    lint(&bench);
    let ran = bench.ok(&["install", "plugins/lint", "--yes"]);
    assert!(ran.stdout.starts_with("Installed lint 1.0.0\n  handles quality.check\n"), "{}", ran.stdout);
    let ran = bench.ok(&["ls"]);
    assert!(ran.stdout.contains("lint  1.0.0    skill  ./plugins/lint\n"), "{}", ran.stdout);
    assert_eq!(bench.ok(&["ls", "--type", "wasm"]).stdout, "No plugins are installed.\n");
    assert!(bench.ok(&["ls", "--type", "methodology"]).stdout.contains("ralph        rw       built-in\n"));
    bench.samuel(&["ls", "--type", "wsam"]).ends(2);
    let info = bench.ok(&["info", "lint"]).stdout;
    says(&info, &["It was granted\n  exec  ruff         (runs the linter)\n  env   VIRTUAL_ENV\n"]);
    let info = bench.ok(&["info", "lint", "--json"]).json();
    assert_eq!(info["data"]["manifest"]["bindings"][0]["point"], "quality.check");
    assert_eq!(bench.ok(&["verify"]).stdout, "lint: as installed\n");
    let chains = bench.ok(&["doctor", "--hooks"]).stdout;
    assert!(chains.lines().any(|line| line.contains("lint:hook.sh") && line.contains("skill")), "{chains}");
    assert_eq!(bench.ok(&["uninstall", "lint"]).stdout, "Removed lint\n");
    fails(&bench, &["info", "lint"], 1, "no plugin \"lint\" is installed");
}

#[test]
fn a_changed_plugin_stops_every_command_that_would_run_it() {
    let bench = with_lint();
    bench.write(".samuel/plugins/lint/hook.sh", "#!/bin/sh\ntouch ran\n");
    let start = ["run", "start", "--yes", "--agent", "command", "--agent-command", "true"];
    for args in [
        &start[..],
        &["doctor", "--hooks"],
        &["sync", "--yes"],
        &["init", "--yes"],
        &["run", "prompt", "--yes"],
    ] {
        let ran = bench.samuel(args);
        assert_eq!(ran.code, 78, "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("changed: hook.sh"), "{args:?}: {}", ran.stderr);
    }
    let ran = bench.samuel(&["verify", "--json"]).ends(78);
    let change = json!({ "path": "hook.sh", "kind": "changed" });
    assert_eq!(ran.json()["data"]["plugins"][0]["changes"][0], change);
    assert!(!bench.path("ran").exists());
    bench.ok(&["install", "plugins/lint"]);
    bench.ok(&["doctor", "--hooks"]);
}

#[test]
fn a_plugin_that_is_changed_under_a_run_ends_it() {
    let bench = with_lint();
    let ran = bench.start("echo >> .samuel/plugins/lint/samuel-plugin.toml", &["--json"]);
    let (_, last) = ran.events();
    let report = &last["data"]["report"];
    assert_eq!((ran.code, &report["iterations"]), (4, &json!(1)), "{ran:?}");
    assert_eq!(report["detail"], "changed: .samuel/plugins/lint/samuel-plugin.toml");
    assert_eq!(bench.start("true", &[]).code, 78, "the next start refuses it");
}

#[test]
fn a_run_asks_its_plugins() {
    let bench = Bench::with_tasks(&["One"]);
    source(&bench, "todo", "", "quality.check", "echo '{\"ok\": false, \"reason\": \"todo left\"}'");
    source(
        &bench,
        "facts",
        "",
        "context.extra",
        "echo '{\"extras\": [{\"name\": \"Facts\", \"content\": \"Water is wet.\"}]}'",
    );
    bench.ok(&["install", "plugins/todo", "--yes"]);
    bench.ok(&["install", "plugins/facts", "--yes"]);
    fails(&bench, &["run", "prompt"], 78, "handler of context.extra: facts:hook.sh");
    assert!(bench.ok(&["run", "prompt", "--yes"]).stdout.contains("Water is wet."));
    bench.start("cat > prompt.txt", &["--max-iterations", "1"]).ends(4);
    assert!(bench.read("prompt.txt").contains("Water is wet."));
    assert!(bench.read(".samuel/run/progress.md").contains("todo left"));
}

#[test]
fn lifecycle_commands_fire_plugins_once_they_are_allowed() {
    let bench = Bench::empty();
    bench.ok(&["init"]);
    source(&bench, "gate", "", "sync.before", "echo '{\"ok\": false, \"reason\": \"frozen\"}'");
    bench.ok(&["install", "plugins/gate", "--yes"]);
    fails(&bench, &["sync"], 78, "handler of sync.before: gate:hook.sh");
    fails(&bench, &["sync", "--yes"], 1, "sync.before refused: frozen");
    assert_eq!(bench.samuel(&["init"]).code, 0, "the plugin has no part in init");
}

#[test]
fn problems_of_a_plugin_are_shown_with_line_and_column() {
    let bench = Bench::empty();
    let directory = lint(&bench);
    let manifest = bench.read("plugins/lint/samuel-plugin.toml").replace("version", "versoin");
    bench.write("plugins/lint/samuel-plugin.toml", &manifest);
    let file = directory.join("samuel-plugin.toml");
    let told = format!("{}:4:1: plugin.versoin: unknown key", file.display());
    fails(&bench, &["plugin", "validate", "plugins/lint"], 2, &told);
    let place = format!("{}:4:1", file.display());
    let ran = bench.samuel(&["plugin", "validate", "plugins/lint"]);
    assert_eq!(ran.stderr.matches(&place).count(), 1, "each place is said once: {ran:?}");
    let error = bench.samuel(&["plugin", "validate", "plugins/lint", "--json"]).json();
    assert_eq!(error["error"]["location"], json!({ "file": file, "line": 1, "column": 2 }));
    assert_eq!(error["command"], "plugin validate");
    fails(&bench, &["install", "nowhere"], 1, "there is no such file or directory");
}

#[test]
fn a_new_plugin_of_scripts_works_from_the_start() {
    for language in ["python", "javascript"] {
        let bench = Bench::with_tasks(&["One"]);
        bench.ok(&["plugin", "new", "facts", "--kind", "skill", "--lang", language]);
        assert!(bench.ok(&["plugin", "validate", "facts"]).stdout.contains("facts 0.1.0 is valid"));
        bench.ok(&["plugin", "build", "facts"]);
        let tried = bench.ok(&["plugin", "test", "facts", "--json"]).json();
        let trial = &tried["data"]["trials"][0];
        assert_eq!((&trial["point"], &trial["failure"]), (&json!("context.extra"), &Value::Null), "{trial}");
        let content = trial["output"]["extras"][0]["content"].as_str().unwrap();
        assert_eq!(content, "Hello from facts, about the task 1.2.");
        assert!(
            bench.ok(&["plugin", "test", "facts"]).stdout.contains("context.extra facts:hooks/context-extra")
        );
        bench.ok(&["install", "facts", "--yes"]);
        assert!(bench.ok(&["run", "prompt", "--yes"]).stdout.contains("Hello from facts, about the task 1."));
    }
}

#[test]
fn a_kind_that_no_shell_is_for_is_refused_and_not_made_another_one() {
    let bench = Bench::empty();
    for kind in ["wasm", "oci"] {
        let ran = bench.samuel(&["plugin", "new", "facts", "--kind", kind, "--lang", "sh"]).fails(2);
        says(&ran.stderr, &[&format!("a plugin of kind {kind} is not made in sh"), "Leave out --kind"]);
    }
    assert!(!bench.path("facts").exists());
    bench.ok(&["plugin", "new", "facts", "--lang", "sh"]);
    assert!(bench.read("facts/samuel-plugin.toml").contains("kind = \"skill\""));
}

#[test]
fn a_new_plugin_is_made_in_an_empty_directory_of_its_name_and_nowhere_else() {
    let bench = Bench::empty();
    fs::create_dir(bench.path("facts")).unwrap();
    assert_eq!(bench.samuel_in("facts", &["plugin", "new", "facts"]).code, 0);
    let cargo = bench.read("facts/Cargo.toml");
    assert!(cargo.contains("samuel-plugin = { path = \"sdk\" }") && cargo.contains("[workspace]"), "{cargo}");
    let made = bench.read("facts/sdk/Cargo.toml");
    assert!(made.contains(&format!("version = \"{}\"", env!("CARGO_PKG_VERSION"))), "{made}");
    assert!(bench.read("facts/sdk/src/kv.rs").contains("pub fn"));
    fails(&bench, &["plugin", "new", "facts"], 2, "is not empty");
    bench.ok(&["plugin", "new", "other", "--sdk-path", "facts"]);
    assert!(!bench.path("other/sdk").exists());
    bench.ok(&["plugin", "new", "listed", "--sdk-version", "2.1"]);
    assert!(bench.read("listed/Cargo.toml").contains("samuel-plugin = \"2.1\""));
    let path = bench.path("facts").display().to_string();
    assert!(bench.read("other/Cargo.toml").contains(&format!("samuel-plugin = {{ path = \"{path}\" }}")));
    for missing in ["does not exist", "Build it with `samuel plugin build`."] {
        fails(&bench, &["plugin", "validate", "other"], 2, missing);
    }
    bench.ok(&["plugin", "new", "py", "--lang", "python"]);
    assert!(
        bench.path("py/wit/deps/samuel-plugin/types.wit").exists()
            && bench.path("py/wit/plugin.wit").exists()
    );
    bench.ok(&["plugin", "new", "js", "--lang", "javascript", "--path", "elsewhere"]);
    assert!(bench.read("elsewhere/samuel-plugin.toml").contains("module = \"plugin.wasm\""));
    bench.ok(&["plugin", "new", "image", "--kind", "oci"]);
    bench.ok(&["plugin", "validate", "image"]);
    fails(&bench, &["plugin", "test", "image"], 1, "the image of image cannot be run");
}

#[test]
fn a_plugin_that_is_only_listed_is_to_be_installed_and_not_installed_again() {
    let bench = Bench::with_tasks(&["One"]);
    bench.write("samuel.toml", "version = \"2\"\n[[plugins]]\nname = \"lint\"\n");
    for args in [&["verify"][..], &["verify", "lint"]] {
        let ran = bench.samuel(args).ends(1);
        assert!(ran.stderr.contains("lint: it is listed in samuel.toml and not installed"), "{ran:?}");
        assert!(ran.stderr.contains("help: Install each with `samuel install <source>`"), "{ran:?}");
        assert!(!ran.stderr.contains("again"), "{ran:?}");
    }
}

#[test]
fn a_handler_that_breaks_fails_the_test_of_its_plugin() {
    let bench = Bench::empty();
    source(&bench, "bad", "", "before:loop", "echo 'no luck' >&2; exit 3");
    let ran = bench.samuel(&["plugin", "test", "plugins/bad"]).fails(1);
    says(&ran.stderr, &["1 of 1 handler broke", "failed: no luck"]);
    let other = ["plugin", "test", "plugins/bad", "--point", "quality.check"];
    fails(&bench, &other, 2, "does not handle quality.check");
}

/// A plugin whose script stands in the agent's place, and reports.
fn stand_in(bench: &Bench, answer: &str) -> PathBuf {
    let script = format!(
        r#"cat >/dev/null
echo 'beside the answer' >&2
echo '{{"event": {{"type": "text", "text": "I begin"}}}}'
echo '{{"warning": "mind the gap"}}'
{answer}"#
    );
    let more = "[capabilities]\nexec = [\"my-agent\"]\n";
    source(bench, "agent", more, "agent.invoke", &script)
}

#[test]
fn what_a_plugin_warns_of_and_reports_is_shown_by_its_test() {
    let bench = Bench::empty();
    stand_in(&bench, r#"echo '{"exit_code": 0, "warnings": ["in the answer"]}'"#);
    let shown = bench.ok(&["plugin", "test", "plugins/agent"]).stdout;
    says(
        &shown,
        &[
            "warning: mind the gap",
            "warning: in the answer",
            r#"reported {"event":{"type":"text","text":"I begin"}}"#,
        ],
    );
    let tried = bench.ok(&["plugin", "test", "plugins/agent", "--json"]).json();
    let trial = &tried["data"]["trials"][0];
    let warnings: Vec<_> =
        trial["warnings"].as_array().unwrap().iter().map(|each| &each["message"]).collect();
    assert_eq!(warnings, ["mind the gap", "in the answer"]);
    assert_eq!(trial["reports"], json!([{ "event": { "type": "text", "text": "I begin" } }]));
    // What it said before it broke is shown too, and how it broke once.
    stand_in(&bench, "exit 3");
    let ran = bench.samuel(&["plugin", "test", "plugins/agent"]).fails(1);
    says(&ran.stderr, &["broke", "warning: mind the gap", "I begin"]);
    assert_eq!(ran.stderr.matches("failed: beside the answer").count(), 1, "{}", ran.stderr);
}

#[test]
fn the_prompt_and_the_output_of_a_script_in_the_agents_place_are_kept() {
    let bench = Bench::with_tasks(&["One"]);
    stand_in(&bench, r#"echo '{"exit_code": 0}'"#);
    bench.ok(&["install", "plugins/agent", "--yes"]);
    bench.samuel(&["run", "start", "--yes", "--agent-command", "true", "--max-iterations", "1"]).ends(4);
    let run = fs::read_dir(bench.path(".samuel/run/logs")).unwrap().next().unwrap().unwrap().path();
    let kept = |name: &str| fs::read_to_string(run.join(name)).unwrap();
    assert!(kept("1-1.prompt").contains("One"), "the prompt is kept");
    assert_eq!(kept("1-1.err"), "beside the answer\n");
    assert!(kept("1-1.out").contains("I begin"), "{}", kept("1-1.out"));
}

#[test]
fn a_component_without_its_handlers_is_refused_before_anything_is_installed() {
    let bench = Bench::empty();
    bench.ok(&["plugin", "new", "comp", "--lang", "python"]);
    // An empty component: a header and nothing else.
    fs::write(bench.path("comp/plugin.wasm"), b"\0asm\x0d\0\x01\0").unwrap();
    let ran = bench.samuel(&["install", "comp", "--yes"]);
    assert!(ran.code != 0 && ran.stderr.contains("the component of comp cannot be used"), "{ran:?}");
    assert!(!bench.path("samuel.lock").exists() && !bench.path(".samuel/plugins/comp").exists());
}

/// How many copies of scripts lie in the state directory.
fn copies(bench: &Bench) -> usize {
    let found = fs::read_dir(bench.path("../home/.local/state/samuel/plugins"));
    found.map_or(0, |copies| copies.flatten().count())
}

#[test]
fn a_preview_leaves_no_copy_of_a_script_behind_however_it_ends() {
    let bench = Bench::with_tasks(&["One"]);
    let script = "touch up; while [ ! -e go ]; do sleep 0.05; done; exit 3";
    source(&bench, "slow", "", "context.extra", script);
    bench.ok(&["install", "plugins/slow", "--yes"]);
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let preview = bench.spawn(&["run", "prompt", "--yes"]);
        wait_for_file(&bench.path("up"));
        assert_eq!(copies(&bench), 1);
        preview.signal(signal);
        assert_eq!((preview.code(), copies(&bench)), (code, 0));
        fs::remove_file(bench.path("up")).unwrap();
    }
    for asks in [&["run", "prompt"][..], &["run", "start", "--agent-command", "true"]] {
        let question = AtTerminal::spawn(&bench, asks);
        assert!(question.wait_for("[y/N]"));
        question.signal(Signal::INT);
        assert_eq!((question.end().0, copies(&bench)), (130, 0), "{asks:?}");
    }
    bench.write("go", "");
    for preview in
        [&["run", "prompt", "--yes"][..], &["run", "vars", "--yes"], &["run", "start", "--dry-run"]]
    {
        bench.ok(preview);
        assert_eq!(copies(&bench), 0, "{preview:?}");
    }
}

/// Runs a command at a terminal and types an answer to its question.
fn at_terminal(bench: &Bench, args: &[&str], answer: &str) -> (i32, String) {
    let mut command = AtTerminal::spawn(bench, args);
    if command.wait_for("[y/N]") {
        command.type_in(answer);
    }
    command.end()
}

#[test]
fn at_a_terminal_the_user_is_asked_and_asked_again_only_for_what_is_new() {
    let bench = Bench::empty();
    lint(&bench);
    let (code, shown) = at_terminal(&bench, &["install", "plugins/lint"], "n\n");
    assert_eq!((code, bench.path("samuel.lock").exists()), (78, false), "{shown}");
    // An answer, and no error.
    assert!(shown.trim_end().ends_with("[y/N] n\r\nnot installed: lint"), "{shown}");
    assert!(!shown.contains("error:") && shown.matches("It asks for").count() == 1, "{shown}");
    let (code, shown) = at_terminal(&bench, &["install", "plugins/lint"], "y\n");
    assert_eq!((code, shown.contains("Install it?")), (0, true), "{shown}");
    let (code, shown) = at_terminal(&bench, &["install", "plugins/lint"], "");
    assert_eq!((code, shown.contains("Install it?")), (0, false), "{shown}");
    let manifest =
        bench.read("plugins/lint/samuel-plugin.toml").replace("env = ", "samuel.api = [\"read\"]\nenv = ");
    bench.write("plugins/lint/samuel-plugin.toml", &manifest);
    let (code, shown) = at_terminal(&bench, &["install", "plugins/lint"], "y\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("+ samuel.api") && shown.contains("  exec"), "{shown}");
}

#[test]
fn a_plugin_that_goes_takes_its_handlers_out_of_the_chains_and_says_so() {
    let bench = with_lint();
    let config = bench.read("samuel.toml");
    let chains = "\n[hooks.\"quality.check\"]\nhandlers = [\"default\", \"lint\"]\n\n\
                  [methodology.ralph.hooks.\"quality.check\"]\nhandlers = [\"lint:hook.sh\"]\n";
    bench.write("samuel.toml", &format!("{config}{chains}"));
    bench.ok(&["doctor", "--hooks"]);
    assert_eq!(
        bench.ok(&["uninstall", "lint"]).stdout,
        "Removed lint\n  took lint out of hooks.\"quality.check\".handlers in samuel.toml\n  removed \
         methodology.ralph.hooks.\"quality.check\".handlers from samuel.toml, which named only lint:hook.sh; the \
         point has its usual handlers again\n"
    );
    bench.ok(&["doctor", "--hooks"]);
    assert!(!bench.read("samuel.toml").contains("lint"), "{}", bench.read("samuel.toml"));
}

#[test]
fn a_plugin_is_recorded_by_the_path_it_was_given_by() {
    let bench = Bench::empty();
    let directory = lint(&bench);
    let elsewhere = bench.root().parent().unwrap().join("shared/lint");
    fs::create_dir_all(elsewhere.parent().unwrap()).unwrap();
    fs::rename(&directory, &elsewhere).unwrap();
    bench.ok(&["install", "../shared/lint", "--yes"]);
    assert!(
        bench.read("samuel.toml").contains("source = \"../shared/lint\""),
        "{}",
        bench.read("samuel.toml")
    );
    bench.ok(&["install", elsewhere.to_str().unwrap(), "--yes"]);
    let absolute = format!("source = \"{}\"", elsewhere.display());
    assert!(bench.read("samuel.toml").contains(&absolute), "{}", bench.read("samuel.toml"));
}

#[test]
fn a_new_plugin_is_made_checked_built_and_tried_where_dash_c_says() {
    let bench = Bench::empty();
    fs::create_dir(bench.path("there")).unwrap();
    bench.ok(&["-C", "there", "plugin", "new", "facts", "--kind", "skill"]);
    assert!(bench.path("there/facts/samuel-plugin.toml").exists() && !bench.path("facts").exists());
    bench.ok(&["-C", "there", "plugin", "validate", "facts"]);
    bench.ok(&["-C", "there/facts", "plugin", "build"]);
    bench.ok(&["plugin", "test", "there/facts", "-C", "."]);
    bench.ok(&["-C", "there", "plugin", "test", "facts", "--project", "there"]);
    bench.ok(&["-C", "there/facts", "plugin", "test"]);
    let elsewhere = ["plugin", "test", "there/facts", "-C", "there"];
    for ran in [bench.samuel(&elsewhere), bench.samuel(&[&elsewhere[..], &["--watch"]].concat())] {
        says(&ran.fails(1).stderr, &["no samuel-plugin.toml in", "`--project <dir>` names the project"]);
    }
}

#[test]
fn whoever_changes_plugins_beside_a_loop_is_told_what_becomes_of_it() {
    let bench = Bench::with_tasks(&["One"]);
    lint(&bench);
    let agent = "touch working; until [ -e go ]; do sleep 0.05; done";
    let beside = bench.spawn(&bench.start_args(agent));
    wait_for_file(&bench.path("working"));
    let ran = bench.ok(&["install", "plugins/lint", "--yes"]);
    says(
        &ran.stderr,
        &["a loop is running (process ", "keeps the plugins it was started with", "control-files-changed"],
    );
    bench.write("go", "");
    assert_eq!(beside.code(), 4, "the loop ends as was said");
    assert_eq!(bench.ok(&["uninstall", "lint"]).stderr, "");
}

#[test]
fn what_a_handler_says_stays_in_its_line() {
    let words = "printf '%s' '{\"ok\": false, \"reason\": \"no\\niteration 9: completed\\nhelp: run x\"}'";
    for (point, command) in [
        ("quality.check", &["run", "start"][..]),
        ("after:iteration", &["run", "start"]),
        ("session.end", &["run", "start"]),
        ("sync.before", &["sync"]),
        ("init.after", &["init"]),
    ] {
        let bench = Bench::with_tasks(&["One"]);
        source(&bench, "talk", "", point, words);
        bench.ok(&["install", "plugins/talk", "--yes"]);
        let start: &[&str] = match command {
            ["run", ..] => &["--pause", "0", "--max-iterations", "1", "--agent-command", "true"],
            _ => &[],
        };
        let ran = bench.samuel(&[command, &["--yes"], start].concat());
        let shown = ran.text();
        assert!(shown.contains("iteration 9: completed"), "{point}: {shown}");
        let forged = shown.lines().find(|line| {
            let line = line.trim_start();
            line.starts_with("iteration 9") || line.starts_with("help: run x")
        });
        assert_eq!(forged, None, "{point}: {shown}");
    }
}
