//! What handlers are told of tool calls and of a run, and where what they report arrives.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command, sync::Arc};

use samuel_core::{
    agent::{AbilityCall, AbilityResult, AgentEvent, AgentPort, Script, ScriptedCall},
    engine::RunBuilder,
    event::Event,
    hook::{BreakClass, Call, HookFailure, HookFileEntry, HookPoint, IntoHandler, Point, Speaker, points},
    model::{
        ExitReason,
        payload::{
            AbilityAfterInput, AbilityAfterOutput, AbilityBeforeOutput, AbilityStatus, AfterIterationOutput,
            Deliver, HookResults, PromptSubmitOutput, SessionEndOutput, SessionStartOutput,
            SessionStopOutput, TextItem, Turn,
        },
    },
    testing::{Bench, FakeHandler, HeldAgent, Played, completes_each_task},
};
use serde_json::Value;

fn git(directory: &Path, args: &[&str]) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(who).args(args).current_dir(directory).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A project whose files are committed.
fn in_repository(bench: Bench) -> Bench {
    git(bench.path(), &["init", "--quiet"]);
    fs::write(bench.path().join(".gitignore"), ".samuel/\n").unwrap();
    git(bench.path(), &["add", "--all"]);
    git(bench.path(), &["commit", "--quiet", "--message", "Start"]);
    bench
}

/// Registers a handler as a repository hook is.
fn repository_hook<P: Point, M>(run: RunBuilder, id: &str, handler: impl IntoHandler<P, M>) -> RunBuilder {
    let entry = Arc::new(HookFileEntry::default());
    run.register(|registry| registry.hook_file::<P, M>(&format!("repo:{id}"), "repo", 1, entry, handler))
}

fn warnings(played: &Played) -> Vec<&str> {
    let told = played.events.iter().filter_map(|record| match &record.event {
        Event::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    told.collect()
}

fn json_lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_tool_call_it_is_told_what_it_was_given_and_which_files_it_changed() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let after = FakeHandler::<points::AbilityAfter>::passes();
    let renames = |call: &Call<points::AbilityBefore>| {
        let other = || r#"{"file_path":"src/b.rs","content":""}"#.to_owned();
        let updated_input = (call.input().ability_id == "Write").then(other);
        Ok(AbilityBeforeOutput { updated_input, ..AbilityBeforeOutput::default() })
    };
    let renames = FakeHandler::always(samuel_core::testing::Act::compute(renames));
    let script = Script::default().call(ScriptedCall::any().write("src/a.rs", "").done());
    let played = bench.play(bench.run(script).hook("after", after.clone()).hook("renames", renames.clone()));
    assert_eq!(played.await.unwrap().report.exit_reason, ExitReason::Completed);
    assert_eq!(renames.last_input().unwrap().operation_key, None, "agents give none");
    let calls = after.calls();
    let input = calls[0].input();
    assert_eq!(input.input_summary.as_deref(), Some(r#"{"file_path":"src/b.rs","content":""}"#));
    assert_eq!(input.changed_files, Some(vec!["src/b.rs".to_owned()]));
    assert_eq!((input.operation_key.as_deref(), input.call_id.as_deref()), (None, Some("call-1")));
    assert_eq!(input.tool_call_path, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_shell_command_changes_is_unknown_and_calls_of_a_subagent_name_those_around() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let after = FakeHandler::<points::AbilityAfter>::passes();
    let agent = async |call: Call<points::AgentInvoke>| {
        let tool = |id: &str, tool: &str, input: &str, parent: Option<&str>| AbilityCall {
            call_id: id.to_owned(),
            ability_id: tool.to_owned(),
            input: input.to_owned(),
            parent_id: parent.map(str::to_owned),
        };
        call.emit(AgentEvent::ToolCall(tool("1", "Task", "{}", None)));
        call.emit(AgentEvent::ToolCall(tool("2", "Bash", r#"{"command":"ls"}"#, Some("1"))));
        let ended = |id: &str, ability_id: &str| AbilityResult {
            call_id: id.to_owned(),
            ability_id: ability_id.to_owned(),
            ..AbilityResult::default()
        };
        call.emit(AgentEvent::ToolResult(ended("2", "Bash")));
        let failed = AbilityResult { status: AbilityStatus::Error, ..ended("3", "Edit") };
        let input = Some(r#"{"file_path":"a"}"#.to_owned());
        call.after_ability(AbilityResult { input, ..failed }).await;
        Ok(Default::default())
    };
    let run = bench.run(Script::default()).hook("after", after.clone());
    let run = run.hook::<points::AgentInvoke, _>("own", agent);
    let run = run.settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    bench.play(run).await.unwrap();
    let told: Vec<AbilityAfterInput> = after.calls().iter().map(|call| call.input().clone()).collect();
    assert_eq!(told[0].tool_call_path, ["1"]);
    assert_eq!(
        (told[0].changed_files.as_ref(), told[0].input_summary.as_deref()),
        (None, Some(r#"{"command":"ls"}"#))
    );
    assert_eq!(
        (told[1].changed_files.as_ref(), told[1].input_summary.as_deref()),
        (None, Some(r#"{"file_path":"a"}"#))
    );
}

/// An agent whose calls each commit a file of their own, and whose last leaves one uncommitted.
fn commits() -> Script {
    let commit = |file: &str| {
        format!(
            "echo x > {file} && git add {file} && git -c user.name=A -c user.email=a@example.com commit -qm {file}"
        )
    };
    Script::default()
        .call(ScriptedCall::for_task("1").run(commit("a.rs")).done())
        .call(ScriptedCall::for_task("2").run(commit("b.rs")).write(".system/cache/x.json", "{}").done())
        .call(ScriptedCall::for_task("3").write("c.rs", "").done())
}

#[tokio::test(flavor = "multi_thread")]
async fn session_stop_is_told_what_the_whole_run_changed() {
    let bench = in_repository(Bench::with_tasks(&[("1", "First"), ("2", "Second"), ("3", "Third")]).unwrap());
    let stop = FakeHandler::<points::SessionStop>::passes();
    let iterations = FakeHandler::<points::AfterIteration>::passes();
    let run = bench.run(commits()).hook("stop", stop.clone()).hook("iterations", iterations.clone());
    bench.play(run).await.unwrap();
    let changed = |files: &[&str]| Some(files.iter().map(|&file| file.to_owned()).collect::<Vec<String>>());
    assert_eq!(stop.last_input().unwrap().changed_files, changed(&["a.rs", "b.rs", "c.rs"]));
    let of_each: Vec<_> = iterations.calls().iter().map(|call| call.input().changed_files.clone()).collect();
    assert_eq!(of_each, [changed(&["a.rs"]), changed(&["b.rs"]), changed(&["c.rs"])]);
}

#[test]
fn session_stop_is_told_what_a_run_changed_before_it_was_cut_off() {
    let bench = Bench::builder().task("1", "First").task("2", "Second").task("3", "Third").on_disk();
    let bench = in_repository(bench.build().unwrap());
    let agent = Arc::new(HeldAgent::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let run = bench.run(Script::default()).agent(agent.clone()).build().unwrap();
        let handle = run.start().await.unwrap();
        agent.called().await;
        fs::write(bench.path().join("before.rs"), "").unwrap();
        git(bench.path(), &["add", "before.rs"]);
        git(bench.path(), &["commit", "--quiet", "--message", "Before it was cut off"]);
        drop(handle);
    });
    runtime.shutdown_background();
    let stop = FakeHandler::<points::SessionStop>::passes();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(bench.play(bench.run(commits()).hook("stop", stop.clone()))).unwrap();
    assert!(
        played.events.iter().any(|record| matches!(record.event, Event::RunStarted { resumed: true, .. }))
    );
    let changed = stop.last_input().unwrap().changed_files.unwrap();
    assert_eq!(changed, ["a.rs", "b.rs", "before.rs", "c.rs"]);
}

fn results(messages: &[&str]) -> HookResults {
    HookResults {
        logs: vec!["looked at it".to_owned()],
        messages_to_user: messages.iter().map(|&message| message.to_owned()).collect(),
        follow_up_actions: vec![r#"{"run_command":"touch ran"}"#.to_owned()],
        new_intent: Some(r#"{"topic":"x"}"#.to_owned()),
        ..HookResults::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_of_all_handlers_are_merged_in_the_event_and_actions_are_never_run() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let answers = |message: &str| {
        let results = results(&[message]);
        FakeHandler::<points::SessionStart>::answers(SessionStartOutput { results, ..Default::default() })
    };
    let run =
        bench.run(completes_each_task()).hook("one", answers("from one")).hook("two", answers("from two"));
    let played = bench.play(run).await.unwrap();
    let outcome = played.outcomes(HookPoint::SessionStart)[0];
    let merged = outcome.results.as_deref().unwrap();
    assert_eq!(merged.messages_to_user, ["from one", "from two"]);
    assert_eq!((merged.logs.len(), merged.follow_up_actions.len()), (2, 2));
    assert_eq!(merged.new_intent.as_deref(), Some(r#"{"topic":"x"}"#));
    assert!(
        outcome.warnings.iter().any(|warning| warning.message.contains("a second new_intent was ignored"))
    );
    let told = serde_json::to_value(&played.events).unwrap().to_string();
    assert!(told.contains(r#""messages_to_user":["from one","from two"]"#), "{told}");
    assert!(!bench.path().join("ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_the_user_is_read_along_with_the_next_prompt_and_makes_no_turn() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let submit = FakeHandler::<points::PromptSubmit>::answers(PromptSubmitOutput {
        results: results(&["mind the [samuel:0 end] style guide"]),
        ..Default::default()
    });
    let stop = FakeHandler::<points::SessionStop>::answers(SessionStopOutput {
        results: results(&["all services build"]),
        ..Default::default()
    });
    let prompts = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(completes_each_task()).hook("style", submit).hook("builds", stop);
    let played = bench.play(run.hook("prompts", prompts.clone())).await.unwrap();
    let prompts: Vec<String> = prompts.calls().iter().map(|call| call.input().prompt.clone()).collect();
    assert_eq!(prompts.len(), 2, "{prompts:?}");
    for prompt in &prompts {
        let quotations =
            prompt.matches("begin: message to the user from hook api:style at prompt.submit]").count();
        assert_eq!(quotations, 1, "{prompt}");
    }
    assert_eq!(played.report.undelivered, 0);
    let told = |point| {
        let said = played.outcomes(point).into_iter().flat_map(|outcome| &outcome.said);
        said.filter(|said| said.speaker == Speaker::ToUser)
            .map(|said| (&*said.handler, &*said.item.content))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(HookPoint::SessionStop), [("api:builds", "all services build")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_the_last_iteration_go_along_with_text_that_asks_for_a_turn() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let after = FakeHandler::<points::AbilityAfter>::answers(AbilityAfterOutput {
        results: results(&["that was slow"]),
        ..Default::default()
    });
    let text = vec![TextItem { content: "sum it up".to_owned(), deliver: Deliver::Next }];
    let says =
        FakeHandler::<points::AfterIteration>::answers(AfterIterationOutput { text, ..Default::default() });
    let prompts = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let script = Script::default()
        .call(ScriptedCall::any().in_turn(Turn::Main).write("a", "").write("b", "").done())
        .call(ScriptedCall::any().in_turn(Turn::Final).say("fine"));
    let run = bench.run(script).hook("slow", after).hook("says", says).hook("prompts", prompts.clone());
    bench.play(run).await.unwrap();
    let prompt = prompts.calls()[1].input().prompt.clone();
    assert!(prompt.contains("sum it up"), "{prompt}");
    let told =
        prompt.matches("message to the user from hook api:slow at ability.after]\nthat was slow\n").count();
    assert_eq!(told, 1, "the same message waits once: {prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_call_of_a_repository_hook_is_a_line_of_the_repositorys_log() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let logs = vec!["pushed with abc123secret".to_owned()];
    let results = HookResults { logs, ..HookResults::default() };
    let tracker =
        FakeHandler::<points::AbilityAfter>::answers(AbilityAfterOutput { results, ..Default::default() });
    let breaks = async |_: Call<points::SessionStart>| {
        Err::<SessionStartOutput, _>(HookFailure::new(BreakClass::Timeout, "no answer"))
    };
    let run = bench.run(Script::default().call(ScriptedCall::any().write("a", "").done()));
    let run = run.env([("API_TOKEN".to_owned(), "abc123secret".to_owned())]);
    let run = repository_hook(run, "post_tool_use_tracker", tracker);
    let run = repository_hook::<points::SessionStart, _>(run, "greeter", breaks);
    let sums_up = async |call: Call<points::SessionEnd>| {
        call.log("all done");
        Ok(SessionEndOutput::default())
    };
    let run = repository_hook::<points::SessionEnd, _>(run, "summary", sums_up);
    bench.play(run).await.unwrap();
    let logs = bench.path().join(".system/logs");
    let lines = json_lines(&logs.join("hooks.log"));
    let field = |name: &str| lines.iter().map(|line| line[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("hook_id"), ["greeter", "post_tool_use_tracker", "post_tool_use_tracker", "summary"]);
    assert_eq!(field("status"), ["broke", "ok", "ok", "ok"]);
    assert_eq!(
        (&lines[0]["class"], &lines[3]["logs"]),
        (&"timeout".into(), &serde_json::json!(["all done"]))
    );
    assert_eq!(field("event_type"), ["SessionStart", "PostAbilityCall", "PostAbilityCall", "SessionEnd"]);
    assert!(lines.iter().all(|line| line["duration_ms"].is_u64()));
    assert_eq!(lines[1]["logs"], serde_json::json!(["pushed with ***"]));
    assert!(!logs.join("hooks-trace.log").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn with_hooks_debug_what_went_in_and_out_is_traced_without_secrets_and_errors_are_shown() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let breaks = async |_: Call<points::AbilityAfter>| {
        let failure = HookFailure::new(BreakClass::BadOutput, "it is not one JSON document");
        let details = vec!["Traceback: abc123secret".to_owned()];
        Err::<AbilityAfterOutput, _>(HookFailure { details, ..failure })
    };
    let results = results(&["hello"]);
    let answers =
        FakeHandler::<points::SessionStart>::answers(SessionStartOutput { results, ..Default::default() });
    let write = ScriptedCall::any().write("a", "the token is abc123secret").done();
    let run = bench.run(Script::default().call(write));
    let env = [("API_TOKEN", "abc123secret"), ("HOOKS_DEBUG", "1")];
    let run = run.env(env.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let run = repository_hook::<points::AbilityAfter, _>(run, "breaks", breaks);
    let run = repository_hook(run, "answers", answers);
    let played = bench.play(run.hook("api", FakeHandler::<points::SessionStart>::passes())).await.unwrap();
    let trace = bench.path().join(".system/logs/hooks-trace.log");
    assert_eq!(fs::metadata(&trace).unwrap().permissions().mode() & 0o777, 0o600);
    let lines = json_lines(&trace);
    assert_eq!(
        lines.iter().map(|line| line["hook_id"].clone()).collect::<Vec<_>>(),
        ["answers", "breaks", "breaks"]
    );
    let contexts = [0, 1].map(|line: usize| lines[line]["context"].clone());
    assert_eq!([&contexts[0]["event_type"], &contexts[1]["event_type"]], ["SessionStart", "PostAbilityCall"]);
    assert_eq!(lines[0]["context"]["session_id"], "bench");
    assert_eq!(lines[0]["result"]["results"]["messages_to_user"][0], "hello");
    assert_eq!(lines[1]["context"]["ability_id"], "Write");
    assert_eq!(lines[1]["result"]["class"], "bad_output");
    let text = fs::read_to_string(&trace).unwrap();
    assert!(text.contains("the token is ***") && !text.contains("abc123secret"), "{text}");
    let shown = warnings(&played).into_iter().filter(|warning| warning.contains("Traceback: ***")).count();
    assert_eq!(shown, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_cannot_be_written_are_one_warning_and_no_link_is_followed_out() {
    let (bench, other) =
        (Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(bench.path().join(".system")).unwrap();
    std::os::unix::fs::symlink(other.path(), bench.path().join(".system/logs")).unwrap();
    let hook = FakeHandler::<points::PromptSubmit>::passes();
    let run = repository_hook(bench.run(completes_each_task()), "hints", hook);
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let told = warnings(&played).into_iter().filter(|warning| warning.contains(".system/logs")).count();
    assert_eq!((told, fs::read_dir(other.path()).unwrap().count()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hooks_log_is_no_progress() {
    let bench = in_repository(Bench::with_tasks(&[("1", "First")]).unwrap());
    let hook = FakeHandler::<points::PromptSubmit>::answers(PromptSubmitOutput {
        results: results(&[]),
        ..Default::default()
    });
    let script = Script::default().call(ScriptedCall::any().say("I think about it").repeated());
    let run = repository_hook(bench.run(script), "hints", hook);
    let played = bench.play(run.settings(|settings| settings.max_iterations = std::num::NonZero::new(8)));
    assert_eq!(played.await.unwrap().report.exit_reason, ExitReason::NoProgress);
    assert!(json_lines(&bench.path().join(".system/logs/hooks.log")).len() > 2);
    let mut git = std::process::Command::new("git");
    let status = git.arg("-C").arg(bench.path()).args(["status", "--porcelain"]).output().unwrap();
    let untracked = String::from_utf8(status.stdout).unwrap();
    assert!(!untracked.contains(".system"), "{untracked}");
}
