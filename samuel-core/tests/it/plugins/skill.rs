//! Scripts as handlers.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, Instant},
};

use samuel_core::{
    hook::{BreakClass, Dispatched, Point, Registry, points},
    model::payload::AgentInvokeOutput,
    plugin::{Capabilities, Capability, LoadOptions, MAX_ANSWER_BYTES},
};
use serde_json::{Value, json};

use crate::plugins::bench::{Bench, dispatch, load_options, scope};

/// Fires a point at a plugin with one script.
async fn fire<P: Point>(script: &str, more: &str) -> (Bench, Dispatched<P::Output>)
where
    P::Input: Default,
{
    let bench = Bench::new();
    bench.install(&bench.skill("lint", more, &[(P::POINT.as_str(), script)])).await;
    let done = dispatch::<P>(&bench.registry()).await;
    (bench, done)
}

/// Fires a point at a script that must break.
async fn broken(script: &str) -> (BreakClass, String, Vec<String>) {
    let (_, done) = fire::<points::BeforeLoop>(script, "").await;
    let failure = done.outcome.broken[0].failure.clone();
    (failure.class, failure.message, failure.details)
}

#[tokio::test]
async fn a_script_gets_the_envelope_and_answers_with_one() {
    let script = "cat > seen.json; pwd > where; echo '{\"ok\": true, \"contribute\": {\"Venv\": \".venv\"}}'";
    let (bench, done) = fire::<points::BeforeLoop>(script, "namespace = \"python\"\n").await;
    assert_eq!(done.outcome.broken, []);
    let seen: Value = serde_json::from_str(&bench.read("seen.json")).unwrap();
    assert_eq!((&seen["protocol"], &seen["call"]["handler_id"]), (&json!(1), &json!("lint:hooks/0.sh")));
    assert_eq!((&seen["call"]["point"], &seen["call"]["iteration"]), (&json!("before:loop"), &json!(3)));
    assert_eq!((&seen["call"]["namespace"], &seen["previous"]), (&json!("python"), &Value::Null));
    assert!(seen["input"]["prd_path"].is_string() && seen["context"]["Samuel"].is_object());
    assert_eq!(bench.read("where").trim(), bench.root().display().to_string());
    let plugins = serde_json::to_value(done.context.plugins()).unwrap();
    assert_eq!(plugins, json!({"python": {"Venv": ".venv"}}));
}

#[tokio::test]
async fn what_the_user_set_for_a_plugin_is_in_the_envelope() {
    let bench = Bench::new();
    bench
        .install(&bench.skill("lint", "", &[("before:loop", "cat > seen.json; echo '{\"ok\": true}'")]))
        .await;
    let config = bench.read("samuel.toml") + "config = { level = 3, names = [\"a\"], deep.key = true }\n";
    fs::write(bench.path("samuel.toml"), config).unwrap();
    dispatch::<points::BeforeLoop>(&bench.registry()).await;
    let seen: Value = serde_json::from_str(&bench.read("seen.json")).unwrap();
    assert_eq!(seen["config"], json!({"level": 3, "names": ["a"], "deep": {"key": true}}));
}

#[tokio::test]
async fn the_environment_is_what_programs_need_and_what_was_granted() {
    let script = "env > seen; echo '{\"ok\": true}'";
    let (bench, _) = fire::<points::BeforeLoop>(script, "[capabilities]\nenv = [\"GIVEN\"]\n").await;
    let seen = bench.read("seen");
    for wanted in [
        "GIVEN=given",
        "LC_ALL=C",
        "SAMUEL_HOOK_POINT=before:loop",
        "SAMUEL_RUN_ID=run-7",
        "SAMUEL_HOOK_DEPTH=1",
    ] {
        assert!(seen.lines().any(|line| line == wanted), "{wanted}: {seen}");
    }
    assert!(!seen.contains("SECRET"), "{seen}");
    let directory = seen.lines().find_map(|line| line.strip_prefix("SAMUEL_PLUGIN_DIR=")).unwrap();
    assert!(
        !directory.starts_with(&*bench.root().to_string_lossy()),
        "nothing runs from the project: {seen}"
    );
}

#[tokio::test]
async fn exit_0_with_an_envelope_is_an_answer_and_anything_else_is_not() {
    let (class, message, details) = broken("echo '{\"ok\": true}'; echo 'no linter' >&2; exit 3").await;
    assert_eq!((class, message.as_str()), (BreakClass::Failed, "no linter"));
    assert!(details.contains(&"exit code 3".to_owned()), "{details:?}");
    assert_eq!(broken("exit 44").await.1, "exit code 44");
    let (class, message, _) = broken("kill -9 $$").await;
    assert_eq!((class, message.as_str()), (BreakClass::Signaled, "ended by signal 9"));
    assert_eq!(broken("true").await.1, "nothing was printed, where an answer in JSON is expected");
    assert_eq!(broken("echo '{}'").await.0, BreakClass::BadOutput);
    for bad in
        ["echo not json", "echo '[]'", "echo '{\"ok\":true}{\"ok\":true}'", "echo '{\"ok\":true}'; echo done"]
    {
        let (class, _, details) = broken(bad).await;
        assert_eq!(class, BreakClass::BadOutput, "{bad}");
        assert!(!details[0].is_empty(), "{bad}");
    }
    let (class, _, details) =
        broken("i=0; printf '{\"ok\":true,\"a\":'; while [ $i -lt 5000 ]; do printf '[['; i=$((i+1)); done")
            .await;
    assert_eq!((class, details[0].chars().count()), (BreakClass::BadOutput, 200));
}

#[tokio::test]
async fn an_answer_of_20_mib_is_refused_with_its_beginning() {
    let script = "printf '{\"ok\":true,\"reason\":\"'; head -c 20971520 /dev/zero | tr '\\0' x; printf '\"}'";
    let (class, message, details) = broken(script).await;
    assert_eq!(class, BreakClass::BadOutput);
    assert!(message.contains(&format!("longer than {MAX_ANSWER_BYTES} bytes")), "{message}");
    assert_eq!(details[0].chars().count(), 200);
    assert!(details[0].starts_with("{\"ok\":true"));
}

#[tokio::test]
async fn a_large_answer_within_the_limit_and_an_input_nobody_reads_are_fine() {
    let script = "printf '{\"toon_blob\":\"'; head -c 3000000 /dev/zero | tr '\\0' x; printf '\"}'";
    let (_, done) = fire::<points::ContextTask>(script, "").await;
    assert_eq!((done.outcome.broken.len(), done.output.toon_blob.len()), (0, 3_000_000));
}

/// A plugin whose script has a second to answer.
async fn with_a_second(script: &str) -> Bench {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[("context.extra", script)])).await;
    let config = bench.read("samuel.toml") + "\n[hooks.\"context.extra\"]\ntimeout = 1\n";
    fs::write(bench.path("samuel.toml"), config).unwrap();
    bench
}

#[tokio::test]
async fn a_script_and_what_it_started_end_at_the_deadline() {
    let script = "echo $$ > pid; trap '' TERM; sleep 300 & echo $! > child; while :; do wait; done";
    let bench = with_a_second(script).await;
    let registry = bench.registry();
    let started = Instant::now();
    let done = dispatch::<points::ContextExtra>(&registry).await;
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    let failure = &done.outcome.broken[0].failure;
    assert_eq!((failure.class, failure.message.as_str()), (BreakClass::Timeout, "no answer within 1s"));
    for file in ["pid", "child"] {
        let pid: i32 = bench.read(file).trim().parse().unwrap();
        wait_until_gone(pid).await;
    }
}

#[tokio::test]
async fn what_a_script_leaves_running_is_a_warning_with_its_name() {
    let script =
        "sleep 300 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done; echo '{\"ok\": true}'";
    let (_, done) = fire::<points::BeforeLoop>(script, "").await;
    let warnings: Vec<&str> = done.outcome.warnings.iter().map(|warning| &*warning.message).collect();
    assert_eq!((done.outcome.broken.len(), warnings.len()), (0, 1), "{warnings:?}");
    assert!(warnings[0].starts_with("the script left 1 process running, which was ended: "), "{warnings:?}");
    assert!(warnings[0].ends_with(" (sleep)"), "{warnings:?}");
}

#[tokio::test]
async fn a_script_has_its_grace_behind_a_call_that_returned_at_the_deadline() {
    let script = "echo $$ > pid; trap 'sleep 0.1; echo > cleaned; exit' TERM; sleep 300 & wait $!";
    let bench = with_a_second(script).await;
    let done = dispatch::<points::ContextExtra>(&bench.registry()).await;
    assert_eq!(done.outcome.broken[0].failure.class, BreakClass::Timeout);
    assert!(!bench.path("cleaned").exists(), "the call does not wait for that");
    wait_until_gone(bench.read("pid").trim().parse().unwrap()).await;
    assert!(bench.path("cleaned").exists());
}

/// Waits until a process is gone, or only waits to be collected.
async fn wait_until_gone(pid: i32) {
    let started = Instant::now();
    let is_alive = || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
    };
    while is_alive() {
        assert!(started.elapsed() < Duration::from_secs(15), "{pid} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_cancelled_run_takes_its_scripts_along() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[("before:loop", "echo $$ > pid; sleep 300")])).await;
    let registry = bench.registry();
    let scope = scope();
    let cancel = scope.cancel.clone();
    let pid = bench.path("pid");
    let watch = tokio::spawn(async move {
        while fs::read_to_string(&pid).unwrap_or_default().trim().is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    });
    let fired = registry.dispatch::<points::BeforeLoop>(Default::default(), &scope);
    let done = tokio::time::timeout(Duration::from_secs(30), fired).await.unwrap();
    watch.await.unwrap();
    assert_eq!(done.outcome.broken[0].failure.class, BreakClass::Cancelled);
    assert!(done.outcome.abort.is_none());
    wait_until_gone(bench.read("pid").trim().parse().unwrap()).await;
}

/// A plugin whose script reads a file beside it, both by its own name and by
/// the variable.
async fn with_a_sibling() -> Bench {
    let bench = Bench::new();
    let script =
        "echo \"$0\" > script; cat \"$(dirname \"$0\")/words\" \"$SAMUEL_PLUGIN_DIR/hooks/words\" > said
        echo '{\"ok\": true}'";
    let source = bench.skill("lint", "", &[("before:loop", script)]);
    fs::write(source.join("hooks/words"), "good\n").unwrap();
    bench.install(&source).await;
    bench
}

#[tokio::test]
async fn what_is_swapped_after_loading_makes_no_difference() {
    let bench = with_a_sibling().await;
    let registry: Registry = bench.registry();
    let installed = bench.path(".samuel/plugins/lint/hooks");
    fs::write(installed.join("0.sh"), "#!/bin/sh\ntouch ran\necho '{\"ok\": true}'\n").unwrap();
    fs::write(installed.join("words"), "evil\n").unwrap();
    let done = dispatch::<points::BeforeLoop>(&registry).await;
    assert_eq!(done.outcome.broken, []);
    assert_eq!(bench.read("said"), "good\ngood\n");
    assert!(!bench.path("ran").exists());
    drop(registry);
    assert!(!Path::new(bench.read("script").trim()).exists(), "the copy is gone with the run");
}

#[tokio::test]
async fn a_copy_that_was_touched_once_is_not_run_again() {
    let bench = with_a_sibling().await;
    let registry: Registry = bench.registry();
    dispatch::<points::BeforeLoop>(&registry).await;
    let script = std::path::PathBuf::from(bench.read("script").trim());
    fs::remove_file(bench.path("script")).unwrap();
    let hooks = script.parent().unwrap();
    fs::set_permissions(hooks, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(hooks.join("words"), hooks.join("aside")).unwrap();
    fs::rename(hooks.join("aside"), hooks.join("words")).unwrap();
    let done = dispatch::<points::BeforeLoop>(&registry).await;
    let failure = &done.outcome.broken[0].failure;
    assert_eq!(
        (failure.class, failure.details.as_slice()),
        (BreakClass::Untrusted, &["touched: hooks".to_owned()][..])
    );
    assert!(!bench.path("script").exists());
}

#[tokio::test]
async fn a_plugin_that_changes_its_own_files_does_not_answer() {
    let script =
        "chmod 700 \"$SAMUEL_PLUGIN_DIR\"; echo x > \"$SAMUEL_PLUGIN_DIR/made\"; echo '{\"ok\": true}'";
    let (class, message, _) = broken(script).await;
    assert_eq!(class, BreakClass::Untrusted, "{message}");
}

#[tokio::test]
async fn an_agent_without_exec_is_denied_when_it_is_fired() {
    let bench = Bench::new();
    let script = bench.root().join("agent.sh");
    crate::plugins::bench::write_script(&script, "touch ran; echo '{\"exit_code\": 0}'");
    let LoadOptions { env, supervisor, .. } = load_options();
    for (granted, ran) in
        [(Capabilities::default(), false), (Capabilities::default().with(Capability::Exec, ["x"]), true)]
    {
        let skill =
            samuel_core::plugin::Skill::new(&script, bench.root(), env.clone(), supervisor.clone(), &granted);
        let registry =
            bench.resolved(|registry| registry.api::<points::AgentInvoke, _>("agent", None, skill));
        let done = dispatch::<points::AgentInvoke>(&registry).await;
        let classes: Vec<_> = done.outcome.broken.iter().map(|broken| broken.failure.class).collect();
        assert_eq!(classes, if ran { vec![] } else { vec![BreakClass::Denied] });
        assert_eq!(bench.path("ran").exists(), ran);
    }
}

#[tokio::test]
async fn hooks_that_start_hooks_are_stopped_at_the_third_level() {
    let bench = Bench::new();
    bench.install(&bench.skill("lint", "", &[("before:loop", "echo '{\"ok\": true}'")])).await;
    let mut options = load_options();
    options.env.push(("SAMUEL_HOOK_DEPTH".to_owned(), "3".to_owned()));
    let loaded = bench.catalog().unwrap().load(&options).unwrap();
    let registry = bench.resolved(|registry| loaded.register(registry));
    let done = dispatch::<points::BeforeLoop>(&registry).await;
    assert!(done.outcome.broken[0].failure.message.contains("3 levels deep"));
}

#[tokio::test]
async fn a_script_that_cannot_be_started_is_a_failed_start() {
    let bench = Bench::new();
    let source = bench.skill("lint", "", &[("before:loop", "")]);
    fs::write(source.join("hooks/0.sh"), "#!/no/such/interpreter\n").unwrap();
    bench.install(&source).await;
    let done = dispatch::<points::BeforeLoop>(&bench.registry()).await;
    let failure = &done.outcome.broken[0].failure;
    assert_eq!(failure.class, BreakClass::Spawn);
    let said = "hooks/0.sh` is a script for `/no/such/interpreter`, which was not found. Install that";
    assert!(failure.message.contains(said), "{failure:?}");
    assert!(done.outcome.abort.is_some(), "before:loop is strict");
}

/// Fires `agent.invoke` at a script, with its input kept open or not.
async fn in_the_agents_place(script: &str, is_interactive: bool) -> Dispatched<AgentInvokeOutput> {
    let bench = Bench::new();
    let exec = "[capabilities]\nexec = [\"agent\"]\n";
    let source = bench.skill("agent", exec, &[("agent.invoke", script)]);
    if is_interactive {
        let manifest = source.join("samuel-plugin.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let table = "{ handler = \"hooks/0.sh\", interactive = true }";
        fs::write(&manifest, text.replace("\"hooks/0.sh\"", table)).unwrap();
    }
    bench.install(&source).await;
    dispatch::<points::AgentInvoke>(&bench.registry()).await
}

#[tokio::test]
async fn a_script_whose_input_stays_open_is_answered_line_by_line() {
    let ask = "echo '{\"before_ability\": {\"call_id\": \"1\", \"ability_id\": \"Bash\", \"input\": {}}}'";
    let script = format!("read -r call; {ask}; read -r decision; echo '{{\"exit_code\": 7}}'");
    let done = in_the_agents_place(&script, true).await;
    assert_eq!((&done.outcome.broken[..], done.output.exit_code), (&[][..], 7));
    let done = in_the_agents_place(&format!("cat > call.json; {ask}; echo '{{}}'"), false).await;
    let failure = &done.outcome.broken[0].failure;
    assert_eq!(failure.class, BreakClass::BadOutput);
    assert!(failure.message.contains("does not say `interactive`"), "{failure}");
}

#[tokio::test]
async fn reports_stand_before_the_answer_and_are_what_they_say() {
    let answer = "echo '{\"exit_code\": 0}'";
    let event = "echo '{\"event\": {\"type\": \"text\", \"text\": \"x\"}}'";
    let done = in_the_agents_place(&format!("{event}; echo; {answer}"), false).await;
    assert_eq!(done.outcome.broken, []);
    for (script, expected) in [
        (format!("echo '{{\"event\": {{\"type\": \"song\"}}}}'; {answer}"), "a report before it is wrong"),
        (format!("{answer}; {event}"), "not one JSON document"),
        (event.to_owned(), "nothing was printed"),
    ] {
        let done = in_the_agents_place(&script, false).await;
        let failure = &done.outcome.broken[0].failure;
        assert_eq!(failure.class, BreakClass::BadOutput);
        assert!(failure.message.contains(expected), "{failure}");
    }
}

#[tokio::test]
async fn warnings_of_a_script_stand_beside_its_answer() {
    let script = "echo '{\"ok\": true, \"warnings\": [\"slow disk\"]}'";
    let (_, done) = fire::<points::BeforeLoop>(script, "").await;
    assert!(done.output.ok);
    assert_eq!(done.outcome.warnings[0].message, "slow disk");
    let (class, message, _) = broken("echo '{\"ok\": true, \"warnings\": \"slow\"}'").await;
    assert_eq!(class, BreakClass::BadOutput);
    assert!(message.contains("`warnings` is no list of texts"), "{message}");
}
