//! A repository that was cloned a moment ago: everything in it that could execute, and none of
//! it does before it is trusted; afterwards an edit of what executes asks again, and no other.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::bench::{Bench, says};

/// Whatever executes leaves a line here, by its own name.
const MARK: &str = "made-by";

fn hooks(touch: impl Fn(&str) -> String) -> String {
    let types =
        ["session_start", "pre_iteration", "post_iteration", "session_end", "on_task_complete", "on_error"];
    let hook =
        |name: &&str| format!("  {name}:\n    - command: {:?}\n      pipe_output: true\n", touch(name));
    format!("version: 1\nhooks:\n{}", types.iter().map(hook).collect::<String>())
}

/// A repository with everything that can execute, each of which leaves its mark.
fn repository() -> Bench {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let touch = |name: &str| format!("touch {}/{MARK}-{name}", bench.root().display());
    let agent = format!("{}; $SAMUEL_BINARY run done $SAMUEL_TASK_ID", touch("agent"));
    bench.configure(&format!(
        "agent = \"command\"\npause = 0\nagent_command = [\"sh\", \"-c\", {agent:?}]\nquality_checks = [{:?}]",
        touch("check")
    ));
    bench.write(".samuel/hooks.yml", &hooks(touch));
    bench.write("scripts/after.sh", &format!("#!/bin/sh\n{}\n", touch("script")));
    bench.write(
        ".claude/settings.json",
        &format!(
            "{{\"hooks\": {{\"SessionStart\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": {:?}}}]}}]}}}}",
            touch("claude")
        ),
    );
    let manifest = "[plugin]\nname = \"mark\"\nkind = \"skill\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
                    [hooks]\n\"before:iteration\" = \"hook.sh\"\n";
    bench.write("plugins/mark/samuel-plugin.toml", manifest);
    let script =
        bench.write("plugins/mark/hook.sh", &format!("#!/bin/sh\n{}\necho '{{}}'\n", touch("plugin")));
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    bench.ok(&["install", "plugins/mark", "--yes"]);
    bench
}

fn marks(bench: &Bench) -> Vec<String> {
    let names = fs::read_dir(bench.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut marks: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    marks.retain(|name| name.starts_with(MARK));
    marks.sort();
    marks
}

#[test]
fn nothing_of_it_executes_before_it_is_trusted_whatever_looks_at_it() {
    let bench = repository();
    for args in [
        &["doctor"][..],
        &["doctor", "--hooks"],
        &["hooks", "list"],
        &["hooks", "show", "after:iteration"],
        &["hooks", "show", "session:post_iteration#1", "--expanded"],
        &["hooks", "validate"],
        &["hooks", "log"],
        &["hooks", "test", "session:post_iteration#1"],
        &["hooks", "fire", "after:iteration"],
        &["hooks", "fire", "after:iteration", "--dry-run"],
        &["run", "status"],
        &["run", "tasks"],
        &["run", "prompt"],
        &["run", "vars"],
        &["run", "start"],
        &["run", "start", "--dry-run"],
        &["run", "start", "--accept"],
        &["run", "start", "--trust-hash", "sha256:0"],
        &["trust"],
        &["trust", "--show"],
        &["sync"],
    ] {
        assert_ne!(bench.samuel(args).code, 2, "{args:?} is no command line");
        assert_eq!(marks(&bench), [""; 0], "{args:?}");
    }
    for args in [&["hooks", "test", "session:post_iteration#1"][..], &["hooks", "fire", "after:iteration"]] {
        says(&bench.samuel(args).ends(78).stderr, &["session:post_iteration#1"]);
    }
    let refused = bench.samuel(&["run", "start"]).ends(78);
    let told = [
        "  file .claude/settings.json: sha256:",
        "plugin mark",
        "handler of before:iteration: mark:hook",
        "hook command of after:iteration: session:post_iteration#1: touch ",
    ];
    told.iter().for_each(|told| says(&refused.stderr, &[told]));
    bench.ok(&["trust", "--yes"]);
    bench.samuel(&["run", "start"]).ends(0);
    let expected = [
        "agent",
        "check",
        "on_task_complete",
        "plugin",
        "post_iteration",
        "pre_iteration",
        "session_end",
        "session_start",
    ];
    let expected = expected.map(|name| format!("{MARK}-{name}"));
    assert_eq!(marks(&bench), expected);
}

#[test]
fn an_edit_of_what_executes_asks_again_with_the_difference_and_no_other_does() {
    let bench = repository();
    let hook = |command: &str, rest: &str| {
        format!("version: 2\nhooks:\n  post_iteration:\n    - command: {command:?}\n{rest}")
    };
    let base = hook("sh scripts/after.sh", "      timeout: 30\n");
    bench.write(".samuel/hooks.yml", &base);
    bench.ok(&["trust", "--yes"]);
    let asks = |told: &str| {
        let refused = bench.samuel(&["run", "start"]).ends(78);
        says(&refused.stderr, &["is not what was trusted on ", told]);
    };
    let id = "session:post_iteration#1";
    for (text, told) in [
        (hook("sh scripts/after.sh x", "      timeout: 30\n"), "+ hook command of after:iteration: "),
        (hook("sh scripts/after.sh", "      timeout: 31\n"), "+ timeout: 31s"),
        (hook("sh scripts/after.sh", "      cwd: scripts\n      timeout: 30\n"), "+ cwd: scripts"),
        (hook("sh scripts/after.sh", "      env: {A: b}\n      timeout: 30\n"), "+ env A: "),
        (hook("sh scripts/after.sh", "      background: true\n"), "+ background: true"),
        ("version: 2\nhooks: {}\n".to_owned(), "gone: hook command of after:iteration: "),
        (
            base.replace("hooks:\n", "hooks:\n  session_end:\n    - command: ls\n"),
            "new: hook command of session.end: ",
        ),
    ] {
        bench.write(".samuel/hooks.yml", &text);
        asks(told);
    }
    bench.write(".samuel/hooks.yml", &base);
    let script = bench.read("scripts/after.sh");
    bench.write("scripts/after.sh", &script.replace("touch", "touch ./x"));
    asks("+ file scripts/after.sh: sha256:");
    says(&bench.samuel(&["run", "start"]).ends(78).stderr, &[&format!("changed: hook command {id}")]);
    bench.write("scripts/after.sh", &script);
    bench.write("README.md", "Run me!\n");
    bench.write("scripts/other.sh", "exit 1\n");
    bench.write(
        ".samuel/hooks.yml",
        &base.replace("version", "# What is done after each iteration.\nversion"),
    );
    bench.samuel(&["run", "start"]).ends(0);
    assert!(marks(&bench).contains(&format!("{MARK}-script")), "{:?}", marks(&bench));
}

#[test]
fn hook_files_and_their_scripts_are_watched_while_the_agent_works() {
    // With two hook files nothing starts at all.
    let two = "a project has one file of session hooks";
    for (name, told, code, next) in [
        (
            ".samuel/hooks.yml",
            "changed: .samuel/hooks.yml (describes hooks)",
            78,
            "changed: .samuel/hooks.yml",
        ),
        (
            "scripts/after.sh",
            "changed: scripts/after.sh (run by hook session:post_iteration#1)",
            78,
            "changed: scripts/after.sh",
        ),
        (".iteratr.hooks.yml", "new: .iteratr.hooks.yml", 2, two),
    ] {
        let bench = repository();
        let command = "version: 1\nhooks:\n  post_iteration:\n    - command: sh scripts/after.sh\n";
        bench.write(".samuel/hooks.yml", command);
        let agent = format!("echo '# exit' >> {name}; $SAMUEL_BINARY run done $SAMUEL_TASK_ID");
        bench.configure(&format!(
            "agent = \"command\"\npause = 0\nagent_command = [\"sh\", \"-c\", {agent:?}]"
        ));
        let ended = bench.samuel(&["run", "start", "--yes"]).ends(4);
        says(&ended.stderr, &["control-files-changed: ", told]);
        says(&bench.samuel(&["run", "start", "--accept"]).ends(code).stderr, &[next]);
    }
}
