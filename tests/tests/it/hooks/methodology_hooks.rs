//! Methodology hooks (docs/sources.md): their acceptance criteria and the tests asked
//! for, as far as they need no component or container.

use std::time::Duration;

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::CheckCommand,
    engine::{RunBuilder, RunError},
    hook::{Answer, Blob, Call, DEFAULT_ID, HookFailure, HookPoint, Registry, points},
    model::{ExitReason, FailureClass, Plan, Task, TaskId, payload::*},
    state::{Artifact, ProgressBody, ProgressEntry, RunDir},
    testing::{Act, Bench, FakeHandler, FakePlugin, Played, completes_each_task},
};
use samuel_tests::says;

/// The thirteen hooks, in the order in which they fire.
const HOOKS: [HookPoint; 13] = [
    HookPoint::BeforeLoop,
    HookPoint::BeforeIteration,
    HookPoint::IterationGate,
    HookPoint::ContextSnapshot,
    HookPoint::ContextProgress,
    HookPoint::ContextTask,
    HookPoint::ContextExtra,
    HookPoint::BeforeAgentInvoke,
    HookPoint::AgentInvoke,
    HookPoint::AfterAgentInvoke,
    HookPoint::QualityCheck,
    HookPoint::AfterIteration,
    HookPoint::AfterLoop,
];

fn bench(config: &str) -> Bench {
    Bench::builder().task("1", "First").config(config).build().unwrap()
}

/// Plays a run of one task with the handlers of one plugin.
async fn play_with(bench: &Bench, plugin: &FakePlugin) -> Played {
    let run = bench.run(completes_each_task()).register(|handlers| plugin.register(handlers));
    bench.play(run).await.unwrap()
}

/// Plays a run and returns it with the prompt its agent got last.
async fn prompt_of(bench: &Bench, run: RunBuilder) -> (Played, String) {
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let played = bench.play(run.hook_at("spy", 1_000, spy.clone())).await.unwrap();
    (played, spy.last_input().unwrap().prompt)
}

/// A context handler that puts a line under what stands before it.
fn adds_line(line: &'static str) -> FakeHandler<points::ContextSnapshot> {
    FakeHandler::always(Act::compute(move |call: &Call<points::ContextSnapshot>| {
        let before = call.previous().map(Blob::blob).unwrap_or_default();
        Ok(Answer::from_blob(format!("{before}\n{line}").trim_start()))
    }))
}

fn handlers_of(registry: &Registry, point: HookPoint) -> Vec<String> {
    registry.handlers(point).map(|(id, ..)| id.to_owned()).collect()
}

/// The warnings of handlers in the progress log, read back.
fn hook_warnings(bench: &Bench) -> Vec<(String, String, String)> {
    let log = bench.progress().unwrap();
    let entries = log.lines().map(|line| line.parse::<ProgressEntry>().unwrap());
    let warnings = entries.filter_map(|entry| match entry.body {
        ProgressBody::HookWarning { point, handler, class, .. } => Some((point, handler, class)),
        _ => None,
    });
    warnings.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_thirteen_hooks_exist_and_fire_in_the_documented_order() {
    let bench = bench("");
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    let fired: Vec<HookPoint> = played.points().into_iter().filter(|point| HOOKS.contains(point)).collect();
    assert_eq!(fired, HOOKS);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_methodology_works_without_any_plugin() {
    let bench = bench("");
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    for point in HOOKS {
        let foreign = played.outcomes(point).into_iter().flat_map(|outcome| &outcome.timings);
        assert!(foreign.into_iter().all(|timing| &*timing.handler == DEFAULT_ID), "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_loop_the_default_validates_the_plan() {
    let task = Task { depends_on: vec![TaskId::new("9")], ..Task::new(TaskId::new("1"), "First") };
    let twice = Plan { tasks: vec![task], ..Plan::default() };
    let bench = Bench::builder().plan(twice).build().unwrap();
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!(played.outcomes(HookPoint::BeforeLoop)[0].timings[0].handler.as_ref(), DEFAULT_ID);
    assert_ne!(played.report.exit_reason, ExitReason::Completed);
    assert_eq!(played.count(HookPoint::AgentInvoke), 0, "{}", played.transcript());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_gate_decides_between_implementation_and_discovery() {
    let bench = bench("[methodology.ralph.pilot]\nenabled = true\ndiscover_interval = 3\n");
    let gate = FakeHandler::<points::ContextTask>::always(Act::compute(|call| {
        Ok(call.previous().cloned().unwrap_or_default())
    }));
    let run = bench.run(completes_each_task()).hook("spy", gate.clone());
    bench.play(run.settings(|settings| settings.max_iterations = std::num::NonZero::new(2))).await.unwrap();
    assert_eq!(gate.calls()[0].input().mode, Mode::Discovery);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_is_kept_to_a_mode_is_skipped_in_iterations_of_the_other() {
    let bench = bench(
        "[methodology.ralph.pilot]\nenabled = true\ndiscover_interval = 3\n\
         [hooks.\"quality.check\"]\nmode = \"implementation\"\n\
         [hooks.\"context.extra\"]\nmode = \"discovery\"\n",
    );
    let areas = FakeHandler::<points::ContextExtra>::passes();
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).write("NOTES.md", "nothing is missing\n"))
        .call(ScriptedCall::for_iteration(2).done());
    let run = bench.run(script).hook("areas", areas.clone());
    let played = bench
        .play(run.settings(|settings| settings.max_iterations = std::num::NonZero::new(2)))
        .await
        .unwrap();
    let modes: Vec<Mode> = areas.calls().iter().map(|call| call.header().mode).collect();
    assert_eq!(modes, [Mode::Discovery]);
    let transcript = played.transcript();
    let lines = transcript.lines().filter(|line| {
        ["iteration ", "iteration.gate", "context.extra", "quality.check"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    let lines: Vec<&str> = lines.collect();
    assert_eq!(
        lines,
        [
            "iteration.gate: default ok",
            "iteration 1: discovery",
            "context.extra: api:areas ok",
            "quality.check: skipped, only in implementation iterations",
            "iteration 1 succeeded, completed []",
            "iteration.gate: default ok",
            "iteration 2: implementation of 1 First",
            "context.extra: skipped, only in discovery iterations",
            "quality.check: default ok",
            "iteration 2 succeeded, completed [1]"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_context_is_an_inventory_the_progress_and_the_task() {
    let bench = Bench::builder()
        .task("1", "Write the lexer")
        .file("src/lex.rs", "fn lex() {} // TODO: tokens\n".repeat(12))
        .build()
        .unwrap();
    let (_, prompt) = prompt_of(&bench, bench.run(completes_each_task())).await;
    let artifact = |artifact| bench.lane().read_artifact(artifact).unwrap().unwrap();
    let snapshot = artifact(Artifact::ProjectSnapshot);
    says(&snapshot, &["# toon v3\n", "generated_at", "src/lex.rs", "test_gaps", "todo_counts"]);
    assert!(artifact(Artifact::TaskContext).contains("Write the lexer"));
    assert!(!artifact(Artifact::ProgressContext).is_empty());
    assert!(prompt.contains("Write the lexer") && prompt.contains("src/lex.rs"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_rotates_a_progress_log_of_more_than_500_lines() {
    let bench = bench("");
    let line: ProgressEntry = "[2026-11-21T10:00:00Z] QUALITY: passed".parse().unwrap();
    bench.store().append_progress(&vec![line; 501]).unwrap();
    bench.play(bench.run(completes_each_task())).await.unwrap();
    let lines = bench.progress().unwrap().lines().count();
    assert!(lines < 300, "the newer half stays, and what the run wrote: {lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_check_runs_every_command_and_fails_the_iteration() {
    let bench = bench("");
    let run = bench.run(completes_each_task()).settings(|settings| {
        settings.quality_checks = ["true", "exit 3", "echo bad; false"].map(CheckCommand::new).to_vec();
        settings.max_consecutive_failures = 1;
    });
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::ConsecutiveFailures);
    let transcript = played.transcript();
    assert!(transcript.contains("  exit 3: ") && transcript.contains("  echo bad; false: "), "{transcript}");
    assert!(!transcript.contains("  true: "), "{transcript}");
}

#[tokio::test(flavor = "multi_thread")]
async fn after_each_iteration_the_plan_is_read_again_and_the_loop_ends_with_a_summary() {
    let bench = Bench::builder().task("1", "First").task("2", "Second").build().unwrap();
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!(played.report.iterations, 2, "what the agent completed was seen");
    assert_eq!(bench.store().load().unwrap().plan.progress.total_iterations_run, 2);
    assert!(bench.progress().unwrap().contains("the loop ended after 2 iterations"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_before_the_default_changes_what_the_default_sees() {
    let bench = bench("[hooks.\"context.snapshot\".order]\n\"samuel-python\" = 50\n");
    let handler = adds_line("python: \"3.12\"");
    let plugin = FakePlugin::new("samuel-python").handler("snapshot", handler.clone());
    play_with(&bench, &plugin).await;
    assert!(handler.calls()[0].previous().is_none(), "nothing stands before it");
    let snapshot = bench.lane().read_artifact(Artifact::ProjectSnapshot).unwrap().unwrap();
    assert!(snapshot.contains("generated_at") && snapshot.contains("python: \"3.12\""), "{snapshot}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_after_the_default_augments_what_the_default_made() {
    let bench = bench("");
    let handler = adds_line("python: \"3.12\"");
    let plugin = FakePlugin::new("samuel-python").handler("snapshot", handler.clone());
    play_with(&bench, &plugin).await;
    assert!(handler.calls()[0].previous().unwrap().toon_blob.contains("generated_at"));
    let snapshot = bench.lane().read_artifact(Artifact::ProjectSnapshot).unwrap().unwrap();
    assert!(snapshot.contains("generated_at") && snapshot.contains("python: \"3.12\""), "{snapshot}");
}

#[test]
fn samuel_toml_overrides_the_order_of_handlers() {
    let bench = bench(
        "[hooks.\"context.snapshot\".order]\n\"samuel-python-plugin\" = 50\n\"samuel-default\" = 100\n\"samuel-rust-plugin\" = 150\n",
    );
    let plugins = ["samuel-rust-plugin", "samuel-python-plugin"]
        .map(|name| FakePlugin::new(name).handler("h", FakeHandler::<points::ContextSnapshot>::passes()));
    let run =
        bench.run(Script::default()).register(|handlers| plugins.iter().for_each(|p| p.register(handlers)));
    assert_eq!(
        handlers_of(run.build().unwrap().registry(), HookPoint::ContextSnapshot),
        ["samuel-python-plugin:h", "default", "samuel-rust-plugin:h"]
    );
}

#[test]
fn a_configured_handler_that_does_not_exist_keeps_the_run_from_being_built() {
    let bench = bench("[hooks.\"after:loop\"]\nhandlers = [\"default\", \"samuel-slck:notify\"]\n");
    let plugin =
        FakePlugin::new("samuel-slack").handler("notify", FakeHandler::<points::AfterLoop>::passes());
    let built = bench.run(Script::default()).register(|handlers| plugin.register(handlers)).build();
    let error = built.map(drop).unwrap_err();
    assert!(!matches!(error, RunError::Untrusted { .. }));
    assert!(error.to_string().contains("samuel-slck:notify"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_plugins_at_one_order_the_last_one_wins_with_a_warning() {
    let bench = bench("");
    let handlers = [FakeHandler::<points::AfterIteration>::passes(), FakeHandler::passes()];
    let plugins = [("one", 0, &handlers[0]), ("two", 1, &handlers[1])]
        .map(|(name, place, h)| FakePlugin::new(name).place(place).handler_at("h", 120, h.clone()));
    let run = bench.run(completes_each_task());
    let played = bench.play(run.register(|all| plugins.iter().for_each(|p| p.register(all)))).await.unwrap();
    assert_eq!((handlers[0].count(), handlers[1].count()), (0, 1));
    let warning = "warning: two:h replaces one:h at after:iteration, because both have the order 120\n";
    assert!(played.transcript().contains(warning), "{}", played.transcript());
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_replace_style_hook_the_last_handler_wins_with_a_warning() {
    let bench = bench("");
    let agent = || FakeHandler::<points::AgentInvoke>::passes();
    let (one, two) = (agent(), agent());
    let run = bench
        .run(completes_each_task())
        .settings(|settings| settings.max_iterations = std::num::NonZero::new(1))
        .register(|all| FakePlugin::new("one").handler("run", one.clone()).register(all))
        .register(|all| FakePlugin::new("two").place(1).handler("run", two.clone()).register(all));
    let played = bench.play(run).await.unwrap();
    assert_eq!((one.count(), two.count()), (0, 1));
    assert!(played.transcript().contains("only two:run runs at agent.invoke; it shadows one:run"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_hook_aborts_the_iteration_on_any_error() {
    let bench = bench("[hooks.\"context.extra\"]\nstrict = true\n");
    let breaks = FakeHandler::<points::ContextExtra>::script([Act::fail("no venv"), Act::pass()]);
    let played =
        play_with(&bench, &FakePlugin::new("samuel-python").handler("context", breaks.clone())).await;
    assert_eq!((played.report.iterations, played.report.failed_iterations), (2, 1));
    says(
        &played.transcript(),
        &[&format!("{}: the handler samuel-python:context of context.extra broke", FailureClass::HookBroke)],
    );
    assert_eq!(played.count(HookPoint::AgentInvoke), 1, "the agent was not called in the first one");
}

#[tokio::test(flavor = "multi_thread")]
async fn strict_errors_end_the_loop_once_there_are_too_many_in_a_row() {
    let bench = bench("[hooks.\"context.extra\"]\nstrict = true\n");
    let breaks = FakeHandler::<points::ContextExtra>::always(Act::panic("boom"));
    let played = play_with(&bench, &FakePlugin::new("samuel-python").handler("context", breaks)).await;
    assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::ConsecutiveFailures, 3));
    assert_eq!(played.count(HookPoint::AfterLoop), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_hook_that_is_not_strict_is_logged_and_the_loop_goes_on() {
    let bench = bench("");
    let breaks = FakeHandler::<points::ContextExtra>::always(Act::fail("no venv"));
    let played = play_with(&bench, &FakePlugin::new("samuel-python").handler("context", breaks)).await;
    assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::Completed, 1));
    let expected = ("context.extra", "samuel-python:context", "failed");
    let warnings = hook_warnings(&bench);
    let warnings: Vec<_> = warnings.iter().map(|(p, h, c)| (p.as_str(), h.as_str(), c.as_str())).collect();
    assert_eq!(warnings, [expected], "a structured entry that reads back");
}

#[tokio::test(flavor = "multi_thread")]
async fn quality_check_and_before_loop_are_strict_and_after_loop_is_not() {
    let breaks = || Err::<(), _>(HookFailure::new(samuel_core::hook::BreakClass::Failed, "no"));
    let one_failure = "[methodology.ralph]\nmax_consecutive_failures = 1\n";
    let check = bench(one_failure);
    let handler =
        FakeHandler::<points::QualityCheck>::always(Act::compute(move |_| breaks().map(|()| unreachable!())));
    let played = play_with(&check, &FakePlugin::new("pp").handler("h", handler)).await;
    assert_eq!(played.report.exit_reason, ExitReason::ConsecutiveFailures);

    let start = bench("");
    let handler = FakeHandler::<points::BeforeLoop>::always(Act::fail("no"));
    let played = play_with(&start, &FakePlugin::new("pp").handler("h", handler)).await;
    assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::StrictHook, 0));

    let end = bench("");
    let handler = FakeHandler::<points::AfterLoop>::always(Act::fail("no"));
    let played = play_with(&end, &FakePlugin::new("pp").handler("h", handler)).await;
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_reads_the_whole_prompt_context_and_writes_only_its_own_namespace() {
    let bench = bench("");
    let reads = FakeHandler::<points::ContextExtra>::always(Act::compute(|call| {
        call.contribute("Venv", ".venv")?;
        call.contribute("Requirements", "requirements.txt")?;
        Ok(ContextExtraOutput::default())
    }));
    let later = FakeHandler::<points::AfterIteration>::passes();
    let plugin = FakePlugin::new("samuel-python").namespace("python").handler("context", reads.clone());
    play_with(&bench, &plugin.handler("after", later.clone())).await;

    let context = serde_json::to_value(reads.calls()[0].context()).unwrap();
    let groups: Vec<&str> = context.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "Samuel Project Methodology Iteration Config Guardrails Paths State Mode Hooks Plugins";
    assert_eq!(groups.join(" "), expected);
    assert_eq!(context["State"]["NextTask"]["Title"], "First");
    assert_eq!(context["Hooks"]["Registered"]["context.extra"][0], "samuel-python:context");

    let after = serde_json::to_value(later.calls()[0].context()).unwrap();
    assert_eq!(
        after["Plugins"],
        serde_json::json!({ "python": { "Venv": ".venv", "Requirements": "requirements.txt" } })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_template_sees_what_plugins_contributed() {
    let template = "Use {{ .Plugins.python.Venv }} and {{.Plugins.python.PyVersion}}.\n";
    let bench = Bench::builder()
        .task("1", "First")
        .file(".samuel/templates/ralph/prompt.md.tmpl", template)
        .build()
        .unwrap();
    let handler = FakeHandler::<points::ContextExtra>::always(Act::compute(|call| {
        call.contribute("Venv", ".venv")?;
        call.contribute("PyVersion", "3.12")?;
        Ok(ContextExtraOutput::default())
    }));
    let plugin = FakePlugin::new("samuel-python").namespace("python").handler("context", handler);
    let run = bench.run(completes_each_task()).register(|handlers| plugin.register(handlers));
    let (_, prompt) = prompt_of(&bench, run).await;
    assert!(prompt.contains("\n\nUse .venv and 3.12.\n"), "{prompt}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_plugins_at_one_hook_all_run_and_their_output_composes() {
    let bench = bench("");
    let mut run = bench.run(completes_each_task());
    for place in 0..10 {
        let name = format!("plugin-{place}");
        let extra = Extra { name: format!("Extra {place}"), content: name.clone(), path: None };
        let output = ContextExtraOutput { extras: vec![extra], ..Default::default() };
        let handler = FakeHandler::<points::ContextExtra>::answers(output);
        run = run.register(|all| FakePlugin::new(name).place(place).handler("extra", handler).register(all));
    }
    let (played, prompt) = prompt_of(&bench, run).await;
    assert_eq!(played.outcomes(HookPoint::ContextExtra)[0].timings.len(), 10);
    let headings: Vec<&str> = prompt.lines().filter(|line| line.starts_with("## Extra ")).collect();
    assert_eq!(headings, (0..10).map(|place| format!("## Extra {place}")).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_has_five_minutes_unless_its_hook_says_otherwise() {
    let config = "[hooks.\"after:iteration\"]\ntimeout = 90\n";
    let bench = bench(config);
    let (before, after) = (FakeHandler::<points::BeforeIteration>::passes(), FakeHandler::passes());
    let plugin = FakePlugin::new("pp").handler("b", before.clone());
    play_with(&bench, &plugin.handler::<points::AfterIteration, _>("a", after.clone())).await;
    let limit = |header: &CallHeader| Duration::from_millis(header.deadline_ms);
    assert_eq!(limit(before.calls()[0].header()), Duration::from_secs(300));
    assert_eq!(limit(after.calls()[0].header()), Duration::from_secs(90));
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_are_not_tried_again() {
    let bench = bench("");
    let breaks = FakeHandler::<points::AfterLoop>::always(Act::fail("network is down"));
    play_with(&bench, &FakePlugin::new("samuel-slack").handler("notify", breaks.clone())).await;
    assert_eq!(breaks.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_every_handler_is_in_the_progress_log_where_it_is_asked_for() {
    let timings = |log: &str| {
        let entries = log.lines().map(|line| line.parse::<ProgressEntry>().unwrap());
        entries.filter(|entry| matches!(entry.body, ProgressBody::HookTiming { .. })).count()
    };
    let quiet = bench("");
    quiet.play(quiet.run(completes_each_task())).await.unwrap();
    assert_eq!(timings(&quiet.progress().unwrap()), 0);
    let verbose = bench("");
    let played = verbose.play(verbose.run(completes_each_task()).log_timings(true)).await.unwrap();
    let ran = HookPoint::ALL.iter().flat_map(|point| played.outcomes(*point)).flat_map(|o| &o.timings);
    assert_eq!(timings(&verbose.progress().unwrap()), ran.count());
}

#[test]
fn several_methodologies_in_one_project_keep_their_state_apart() {
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    assert!(bench.project().run_dir().path().ends_with(".samuel/run"));
    let apart = RunDir::of_plan(bench.path(), "tdd-strict", false, None);
    assert!(apart.path().ends_with(".samuel/run/tdd-strict"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_iteration_still_ends_with_its_hooks() {
    let bench = bench("");
    let script = Script::default().call(ScriptedCall::any().repeated().step(Step::Exit { code: 7 }));
    let run = bench.run(script).settings(|settings| settings.max_consecutive_failures = 1);
    let played = bench.play(run).await.unwrap();
    let tail = [HookPoint::AfterAgentInvoke, HookPoint::AfterIteration, HookPoint::IterationError];
    let points = played.points();
    let from = points.iter().position(|point| *point == HookPoint::AfterAgentInvoke).unwrap();
    assert_eq!(points[from..from + 3], tail);
    assert_eq!(played.count(HookPoint::AfterLoop), 1);
}
