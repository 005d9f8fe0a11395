//! What commands get, what becomes of what they print, and that they never fail the session.

use std::{fs, time::Duration};

use samuel_core::{
    HookPoint,
    dialect::HookFiles,
    engine::Glance,
    hook::{BreakClass, HookLayer, HookStatus, Tier, points},
    model::{ExitReason, payload::Turn},
    state::{HookLog, HookLogFilter},
    testing::{Bench, FakeHandler, completes_each_task},
};

use crate::session_hooks::kit::{FILE, run};

#[tokio::test(flavor = "multi_thread")]
async fn failed_and_late_commands_tell_what_they_printed_and_how_they_ended() {
    let hooks = "
  post_iteration:
    - {command: 'echo out; echo err >&2; exit 3', pipe_output: true}
    - {command: 'echo before; sleep 30', timeout: 1, pipe_output: true}
    - {command: 'echo fine; echo note >&2', pipe_output: true}
    - {command: 'exit 4'}
    - {command: ./missing.sh, pipe_output: true}
";
    let ran = run(hooks, completes_each_task()).await;
    let prompt = &ran.prompts[1].1;
    for text in [
        "out\n[stderr]\nerr\n[exit code 3]",
        "before\n[timed out after 1s]",
        "fine\n[stderr]\nnote",
        "missing.sh",
    ] {
        assert!(prompt.contains(text), "{text}: {prompt}");
    }
    assert!(!prompt.contains("exit code 4"), "{prompt}");
    let warnings = ran.warnings();
    for text in [
        "session:post_iteration#1 .samuel/hooks.yml:5:7: exit code 3: err",
        "session:post_iteration#2 .samuel/hooks.yml:6:7: timed out after 1s",
        "session:post_iteration#4 .samuel/hooks.yml:8:7: exit code 4",
    ] {
        assert!(warnings.iter().any(|warning| warning.starts_with(text)), "{text}: {warnings:#?}");
    }
    assert_eq!(ran.played.report.exit_reason, ExitReason::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_setting_lets_a_session_hook_fail_the_session() {
    let hooks = "
  session_start: [{command: 'exit 1'}]
  pre_iteration: [{command: 'kill -9 $$'}, {command: 'sleep 30', timeout: 1}]
  post_iteration: [{command: ./missing.sh}]
  on_task_complete: [{command: 'exit 1', cwd: missing}]
  session_end: [{command: 'exit 1'}]
";
    let points = ["session.start", "before:iteration", "after:iteration", "task.completed", "session.end"];
    let strict = points.map(|point| format!("[hooks.\"{point}\"]\nstrict = true\ntimeout = 1\n"));
    let config = format!("version = \"2\"\n{}", strict.concat());
    let bench = Bench::builder().task("1", "First").config(config);
    let bench = bench.file(FILE, format!("version: 2\nhooks:\n{hooks}")).build().unwrap();
    let played = bench.play(bench.run(completes_each_task()).hook_files()).await.unwrap();
    assert_eq!((played.report.exit_reason, played.report.failed_iterations), (ExitReason::Completed, 0));
    let outcomes = HookPoint::ALL.iter().flat_map(|point| played.outcomes(*point));
    let broken: Vec<_> = outcomes.flat_map(|outcome| &outcome.broken).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_not_piped_leaves_every_prompt_as_it_was() {
    let prompts = async |hooks: &str| {
        let ran = run(hooks, completes_each_task()).await;
        let root = ran.bench.path();
        let name = root.file_name().unwrap().to_str().unwrap();
        // The mark of quotations is another one in each run.
        let plain = |(turn, prompt): &(Turn, String)| {
            let mark = prompt.split(['[', ']']).nth(1).unwrap();
            // The list of control files names the hook file.
            let prompt = prompt.replace("- `.samuel/hooks.yml`\n", "");
            (*turn, prompt.replace(mark, "mark").replace(name, "project"))
        };
        let ran_hooks = fs::read_to_string(root.join(".samuel/ran.txt")).unwrap_or_default();
        (ran.prompts.iter().map(plain).collect::<Vec<_>>(), ran_hooks.lines().count())
    };
    let command = "{command: 'echo x >> .samuel/ran.txt; echo shown'}";
    let types =
        ["session_start", "pre_iteration", "post_iteration", "on_task_complete", "on_error", "session_end"];
    let all =
        |command: &str| -> String { types.iter().map(|name| format!("  {name}: [{command}]\n")).collect() };
    let ((with, ran), (without, _)) =
        (prompts(&all(command)).await, prompts(&all("{command: 'true'}")).await);
    assert_eq!(ran, 8, "they ran");
    assert_eq!(without.len(), with.len());
    for (without, with) in without.iter().zip(&with) {
        assert_eq!(without, with);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_acts_on_a_terminal_is_not_told() {
    let command = r#"printf "\\033[2Jone\\r\\n\\ttwo\\007 \\302\\233three \\342\\200\\256four\\n"; printf "\\033[31mfive\\n" >&2"#;
    let hooks = format!("  session_start: [{{command: '{command}', pipe_output: true}}]");
    let ran = run(&hooks, completes_each_task()).await;
    assert_eq!(ran.told("one\n\ttwo three four\n[stderr]\nfive\n"), [1], "{}", ran.prompts[0].1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_is_told_of_as_failed_in_the_log() {
    let hooks = "
  session_start:
    - {command: 'exit 3'}
    - {command: 'sleep 9', timeout: 1}
    - {command: 'kill -9 $$'}
    - {command: [./missing]}
    - {command: 'true'}
";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!(ran.played.report.exit_reason, ExitReason::Completed);
    let filter = HookLogFilter { point: Some("session.start".to_owned()), ..HookLogFilter::default() };
    let log = HookLog::read(ran.bench.lane().dir(), &filter).unwrap();
    let told: Vec<_> = log.lines.iter().map(|line| (line.status, line.class)).collect();
    let failed = |class| (HookStatus::Failed, Some(class));
    assert_eq!(
        told,
        [
            failed(BreakClass::Failed),
            failed(BreakClass::Timeout),
            failed(BreakClass::Signaled),
            failed(BreakClass::Spawn),
            (HookStatus::Ok, None)
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_for_now_is_a_turn_of_the_iteration() {
    let hooks = "  post_iteration: [{command: 'echo fix {{iteration}}', pipe_output: true, deliver: now}]";
    let ran = run(hooks, completes_each_task()).await;
    assert_eq!((ran.prompts[1].0, ran.told("fix 1")), (Turn::Immediate, vec![2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_get_the_whole_environment_and_what_the_entry_says() {
    let hooks = "
  session_start:
    - {command: 'printf \"%s %s %s %s\" \"$AWS_SECRET_ACCESS_KEY\" \"$NAME\" \"$SAMUEL_HOOK_POINT\" \"$(basename \"$PWD\")\" > \"$SAMUEL_PROJECT_ROOT/log.txt\"', cwd: sub, env: {NAME: 'of {{session}}'}}
";
    let bench = Bench::builder().task("1", "First").file("sub/x", "");
    let bench = bench.file(FILE, format!("version: 2\nhooks:\n{hooks}")).build().unwrap();
    let env = [("PATH", "/usr/bin:/bin"), ("AWS_SECRET_ACCESS_KEY", "key")];
    let run = bench.run(completes_each_task()).hook_files();
    let run = run.env(env.map(|(name, value)| (name.to_owned(), value.to_owned())));
    bench.play(run).await.unwrap();
    assert_eq!(fs::read_to_string(bench.path().join("log.txt")).unwrap(), "key of bench session.start sub");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_leads_out_of_the_project_is_not_entered() {
    let outside = tempfile::tempdir().unwrap();
    let hooks = "version: 2\nhooks:\n  session_start: [{command: touch made, cwd: out}]\n";
    let bench = Bench::builder().task("1", "First").file(FILE, hooks).build().unwrap();
    std::os::unix::fs::symlink(outside.path(), bench.path().join("out")).unwrap();
    let files = HookFiles::read(bench.path()).unwrap();
    assert_eq!(files.hooks().count(), 0);
    assert!(files.warnings()[0].contains("leads out of the project"), "{:?}", files.warnings());
    bench.play(bench.run(completes_each_task()).hook_files()).await.unwrap();
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_values_arrive_in_arguments_and_in_env_and_what_is_too_long_is_told() {
    let hooks = "
  on_task_complete:
    - {command: [sh, -c, 'printf %s \"$1|$V\" > out.txt', sh, 'a {{task_content}}'], env: {V: 'b {{task_content}}'}}
";
    let title = "$(touch P) `touch P` '; touch P; ' \\ {{task_id}} \u{202e}";
    let bench = Bench::builder().task("1", title);
    let bench = bench.file(FILE, format!("version: 2\nhooks:\n{hooks}")).build().unwrap();
    bench.play(bench.run(completes_each_task()).hook_files()).await.unwrap();
    let out = fs::read_to_string(bench.path().join("out.txt")).unwrap();
    assert!(out.starts_with(&format!("a {title}")) && out.contains(&format!("|b {title}")), "{out}");
    assert!(!bench.path().join("P").exists());
}

/// Says whether a process is there, by its id as a shell writes it.
fn is_alive(pid: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    // What was ended may wait for somebody to look at how.
    !state.is_empty() && !state.contains(") Z ")
}

/// Waits for something to come true, but not for ever.
async fn comes_true(is_true: impl Fn() -> bool) -> bool {
    for _ in 0..3_000 {
        if is_true() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_running_lives_on_only_in_the_background() {
    let command = |flag: &str| {
        format!(
            "  session_start: [{{command: 'sleep 30 & echo $! > pid; echo done', pipe_output: true{flag}}}]"
        )
    };
    for (flag, lives) in [("", false), (", background: true", true)] {
        let ran = run(&command(flag), completes_each_task()).await;
        let pid = fs::read_to_string(ran.bench.path().join("pid")).unwrap();
        assert!(comes_true(|| is_alive(&pid) == lives).await, "{flag}");
        assert_eq!(ran.told("done\n"), [1]);
        if lives {
            assert!(std::process::Command::new("kill").arg(pid.trim()).status().unwrap().success());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_waits_for_no_hook() {
    let hooks = "version: 1\nhooks:\n  pre_iteration:\n    - command: echo $$ > new; mv new began; sleep 600; true\n      timeout: 1000\n";
    let bench = Bench::builder().task("1", "First").file(FILE, hooks).build().unwrap();
    let handle = bench.run(completes_each_task()).hook_files().build().unwrap().start().await.unwrap();
    let began = bench.path().join("began");
    assert!(comes_true(|| began.exists()).await, "the hook did not begin");
    let pid = fs::read_to_string(began).unwrap();
    assert!(is_alive(&pid));
    handle.stop();
    let ended = tokio::time::timeout(Duration::from_secs(60), handle.wait()).await;
    assert_eq!(ended.expect("the run waits for the hook").unwrap().exit_reason, ExitReason::Cancelled);
    assert!(comes_true(|| !is_alive(&pid)).await, "the hook is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_ahead_and_reading_start_nothing() {
    let command = "{command: 'touch ran'}";
    let types =
        ["session_start", "pre_iteration", "post_iteration", "on_task_complete", "on_error", "session_end"];
    let all: String = types.iter().map(|name| format!("  {name}: [{command}]\n")).collect();
    let bench =
        Bench::builder().task("1", "First").file(FILE, format!("version: 1\nhooks:\n{all}")).build().unwrap();
    let files = HookFiles::read(bench.path()).unwrap();
    assert_eq!((files.hooks().count(), files.paths().count()), (6, 1));
    let run = bench.run(completes_each_task()).hook_files().build().unwrap();
    run.preview(Glance::Exact).await.unwrap();
    assert!(!bench.path().join("ran").exists());
}

#[test]
fn handlers_stand_between_the_built_in_ones_and_plugins_and_know_their_place() {
    let hooks = "version: 2\nhooks:\n  post_iteration:\n    - {command: go test ./..., timeout: 2m, cwd: sub}\n    - {comand: x}\n    - {command: [make, 'a b']}\n";
    let bench = Bench::builder().file(FILE, hooks).file("sub/x", "").build().unwrap();
    let run = || bench.run(completes_each_task()).hook_files();
    let after = FakeHandler::<points::AfterIteration>::passes();
    let registry = run().hook("mine", after).registry().unwrap();
    let ids: Vec<_> = registry.handlers(HookPoint::AfterIteration).collect();
    let expected = [
        ("session:post_iteration#1", 150, Tier::Shell),
        ("session:post_iteration#3", 150, Tier::Shell),
        ("api:mine", 300, Tier::Async),
    ];
    assert_eq!(ids, expected);
    let known = &registry.registered(HookPoint::AfterIteration)[0];
    let entry = known.entry.as_ref().unwrap();
    assert_eq!(
        (known.info.layer, known.timeout.map(|limit| limit.as_secs())),
        (HookLayer::Dialect, Some(120))
    );
    assert_eq!(
        (entry.to_string().as_str(), entry.command.as_str()),
        (".samuel/hooks.yml:4:7", "go test ./...")
    );
    assert_eq!(
        entry.details,
        [("timeout", "2m"), ("cwd", "sub")].map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    let listed = registry.registered(HookPoint::AfterIteration)[1].entry.as_ref().unwrap();
    assert_eq!(listed.command, "make 'a b'");
}

#[test]
fn samuel_toml_may_name_them() {
    let config = "version = \"2\"\n[hooks.\"after:iteration\"]\nhandlers = [\"session:post_iteration#2\"]\n";
    let hooks = "version: 1\nhooks:\n  post_iteration:\n    - command: a\n    - command: b\n";
    let bench = Bench::builder().config(config).file(FILE, hooks).build().unwrap();
    let registry = bench.run(completes_each_task()).hook_files().registry().unwrap();
    let ids: Vec<_> = registry.handlers(HookPoint::AfterIteration).map(|(id, ..)| id).collect();
    assert_eq!(ids, ["session:post_iteration#2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_warns_of_entries_that_are_left_out() {
    let ran = run("  post_iteraton: [{command: a}]", completes_each_task()).await;
    let text = ran.played.transcript();
    assert!(text.contains("is no type of session hook"), "{text}");
}

#[test]
fn a_file_that_is_broken_as_a_whole_refuses_the_run_with_its_place() {
    let bench = Bench::builder().file(FILE, "version: 1\nhooks: [\n").build().unwrap();
    let error = bench.run(completes_each_task()).hook_files().build().unwrap_err();
    assert!(error.to_string().contains(".samuel/hooks.yml:"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_beyond_the_cap_names_the_file_that_has_it() {
    let hooks = "  session_start: [{command: 'seq 1 20000; exit 1', pipe_output: true}]";
    let ran = run(hooks, completes_each_task()).await;
    let prompt = &ran.prompts[0].1;
    assert!(prompt.contains("20000\n[exit code 1]"), "the end is kept: {prompt}");
    let name = prompt
        .split_whitespace()
        .find(|word| word.contains(".samuel/run/logs"))
        .unwrap_or_else(|| panic!("{prompt}"));
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '/');
    let text = fs::read_to_string(ran.bench.path().join(name)).unwrap();
    assert_eq!(text.lines().count(), 20_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_is_exchanged_between_the_build_of_a_run_and_its_start_does_not_run() {
    let state = tempfile::tempdir().unwrap();
    for state in [None, Some(state.path().to_owned())] {
        let bench = Bench::builder().task("1", "First").file("a.sh", "echo good >> log.txt\n");
        let hooks = "version: 1\nhooks:\n  session_start: [{command: sh a.sh}]\n  session_end: [{command: sh a.sh}]\n";
        let bench = bench.file(FILE, hooks).build().unwrap();
        let has_copy = state.is_some();
        let bench = bench.over(|project| project.keeping_plans_in(state));
        let run = bench.run(completes_each_task()).hook_files().build().unwrap();
        fs::write(bench.path().join("a.sh"), "echo evil >> log.txt\n").unwrap();
        let report = run.start().await.unwrap().wait().await.unwrap();
        assert_eq!(report.exit_reason, ExitReason::ControlFilesChanged);
        let log = fs::read_to_string(bench.path().join("log.txt")).unwrap_or_default();
        assert_eq!(log, if has_copy { "good\ngood\n" } else { "" });
    }
}
