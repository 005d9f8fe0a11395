//! The hooks reference: every row of its event table, and its rules for
//! payloads, returns and their composition.

use std::{collections::BTreeSet, sync::Arc};

use samuel_core::{
    clock::SystemClock,
    hook::{Call, CallScope, HookPoint, Kind, Output, Point, Registry, points},
    model::payload::*,
    testing::{Act, Bench, FakeHandler, FakePlugin, Played, completes_each_task},
};
use serde_json::{Value, json};

/// Plays a run of two tasks with a spy at a point.
async fn spied<P: Point>(act: Act<P>) -> (Played, Vec<Call<P>>) {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let spy = FakeHandler::<P>::always(act);
    let run = bench.run(completes_each_task()).hook("spy", spy.clone());
    let run = run.settings(|settings| settings.max_iterations = std::num::NonZero::new(2));
    (bench.play(run).await.unwrap(), spy.calls())
}

/// Fires a point once with a spy that answers, as a command would.
async fn fired<P: Point>(input: P::Input, output: P::Output) -> (Call<P>, P::Output) {
    let spy = FakeHandler::<P>::answers(output);
    let mut handlers = Registry::builder();
    handlers.api("spy", None, spy.clone());
    let scope = CallScope::new(Arc::new(SystemClock::new()));
    let done = handlers.build(&Default::default()).unwrap().dispatch::<P>(input, &scope).await;
    (spy.calls().remove(0), done.output)
}

/// Checks the names of a payload's fields.
fn has_fields(payload: &impl serde::Serialize, expected: &[&str]) {
    let value = serde_json::to_value(payload).unwrap();
    let fields: BTreeSet<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    for field in expected {
        assert!(fields.contains(field), "{field} in {fields:?}");
    }
}

/// Checks that an envelope with only these fields is an answer, and which.
fn returns<O: Output>(envelope: Value) -> O {
    serde_json::from_value(envelope).unwrap()
}

fn has_default(played: &Played, point: HookPoint) -> bool {
    let mut timings = played.outcomes(point).into_iter().flat_map(|outcome| &outcome.timings);
    timings.any(|timing| &*timing.handler == "default")
}

mod event_table {
    use super::*;

    #[tokio::test]
    async fn init_before_is_given_root_force_and_minimal_and_can_refuse() {
        let input = InitBeforeInput { project_root: "/p".into(), force: true, ..Default::default() };
        let (call, output) = fired::<points::InitBefore>(input, returns(json!({ "ok": false }))).await;
        has_fields(call.input(), &["project_root", "force", "minimal"]);
        assert_eq!(output.refusal().as_deref(), Some("no reason given"));
    }

    #[tokio::test]
    async fn init_after_is_given_the_plugins_that_are_installed() {
        let input = InitAfterInput { plugins_installed: vec!["a".into()], ..Default::default() };
        let (call, output) = fired::<points::InitAfter>(input, returns(json!({ "ok": true }))).await;
        has_fields(call.input(), &["project_root", "plugins_installed"]);
        assert!(output.ok);
    }

    #[tokio::test]
    async fn sync_before_is_given_whether_it_is_dry_and_can_skip() {
        let input = SyncBeforeInput { dry_run: true, ..Default::default() };
        let answer = returns(json!({ "ok": true, "skip": true }));
        let (call, output) = fired::<points::SyncBefore>(input, answer).await;
        has_fields(call.input(), &["project_root", "dry_run"]);
        assert!(output.ok && output.skip);
        assert!(!returns::<SyncBeforeOutput>(json!({ "ok": true })).skip, "skip may be left out");
    }

    #[tokio::test]
    async fn sync_after_is_given_the_files_that_were_written() {
        let input = SyncAfterInput { files_written: vec!["AGENTS.md".into()], ..Default::default() };
        let (call, output) = fired::<points::SyncAfter>(input, returns(json!({ "ok": true }))).await;
        has_fields(call.input(), &["project_root", "files_written"]);
        assert!(output.ok);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn before_loop_fires_once_with_the_plan_and_the_cap_and_logs_the_start() {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let held = bench.lane();
        let spy = FakeHandler::<points::BeforeLoop>::always(Act::compute(move |_| {
            assert!(held.loop_holder().unwrap().is_some(), "the lock is acquired");
            Ok(returns(json!({ "ok": true })))
        }));
        let run = bench
            .run(completes_each_task())
            .settings(|settings| settings.max_iterations = std::num::NonZero::new(2));
        let played = bench.play(run.hook("spy", spy.clone())).await.unwrap();
        let calls = spy.calls();
        assert_eq!((calls.len(), calls[0].input().max_iterations), (1, Some(2)));
        assert!(calls[0].input().prd_path.ends_with(".samuel/run/prd.toon"));
        has_fields(calls[0].input(), &["prd_path", "max_iterations"]);
        assert!(has_default(&played, HookPoint::BeforeLoop));
        assert!(played.outcomes(HookPoint::BeforeLoop)[0].broken.is_empty());
        let started = format!("STARTED: run {}", played.events[0].run_id);
        assert!(bench.progress().unwrap().lines().next().unwrap().ends_with(&started));
        assert!(bench.lane().loop_holder().unwrap().is_none(), "and released after the loop");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn after_loop_fires_once_with_the_iterations_and_the_exit_reason() {
        let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
        let spy = FakeHandler::<points::AfterLoop>::answers(returns(json!({ "ok": true })));
        bench.play(bench.run(completes_each_task()).hook("spy", spy.clone())).await.unwrap();
        let calls = spy.calls();
        let input = calls[0].input();
        assert_eq!((calls.len(), input.iterations_run, input.exit_reason.as_str()), (1, 2, "completed"));
        has_fields(input, &["iterations_run", "exit_reason"]);
        let summary = "COMPLETED: the loop ended after 2 iterations: completed; 2 of 2 tasks completed";
        assert!(bench.progress().unwrap().lines().last().unwrap().ends_with(summary));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn before_iteration_fires_each_iteration_with_its_task() {
        let answer = Act::Answer(returns(json!({ "ok": true })));
        let (_, calls) = spied::<points::BeforeIteration>(answer).await;
        let tasks: Vec<_> = calls
            .iter()
            .map(|call| (call.input().iteration, call.input().task.clone().unwrap().id))
            .collect();
        assert_eq!(tasks, [(1, "1".to_owned()), (2, "2".to_owned())], "the plan was read again");
        has_fields(calls[0].input(), &["iteration", "task"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn after_iteration_fires_each_iteration_with_its_outcome() {
        let answer = Act::Answer(returns(json!({ "ok": true })));
        let (_, calls) = spied::<points::AfterIteration>(answer).await;
        let outcomes: Vec<_> = calls.iter().map(|call| call.input().outcome).collect();
        assert_eq!(outcomes, [IterationOutcome::Succeeded; 2]);
        has_fields(calls[0].input(), &["iteration", "task", "outcome"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn iteration_gate_fires_each_iteration_with_failures_and_queue_and_can_stop_the_loop() {
        let (played, calls) =
            spied::<points::IterationGate>(Act::Answer(returns(json!({ "continue": true })))).await;
        let queues: Vec<_> = calls.iter().map(|call| call.input().queue_size).collect();
        assert_eq!(queues, [2, 1]);
        has_fields(calls[0].input(), &["iteration", "consec_fails", "queue_size"]);
        assert!(has_default(&played, HookPoint::IterationGate));
        let (played, _) =
            spied::<points::IterationGate>(Act::Answer(returns(json!({ "continue": false })))).await;
        assert_eq!(played.report.exit_reason.as_str(), "gate-stop");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn context_snapshot_fires_each_iteration_and_emits_a_snapshot() {
        let answer = Act::compute(|call| Ok(call.previous().cloned().unwrap_or_default()));
        let (played, calls) = spied::<points::ContextSnapshot>(answer).await;
        assert_eq!(calls.len(), 2);
        has_fields(calls[0].input(), &["project_root"]);
        has_fields(calls[0].previous().unwrap(), &["toon_blob"]);
        assert!(has_default(&played, HookPoint::ContextSnapshot));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn context_progress_fires_each_iteration_with_the_log() {
        let answer = Act::compute(|call| Ok(call.previous().cloned().unwrap_or_default()));
        let (played, calls) = spied::<points::ContextProgress>(answer).await;
        assert!(calls[1].input().progress_path.ends_with(".samuel/run/progress.md"));
        has_fields(calls[0].input(), &["progress_path"]);
        has_fields(calls[0].previous().unwrap(), &["md_blob"]);
        assert!(has_default(&played, HookPoint::ContextProgress));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn context_task_fires_each_iteration_in_the_shape_of_its_mode() {
        let answer = Act::compute(|call| Ok(call.previous().cloned().unwrap_or_default()));
        let (_, calls) = spied::<points::ContextTask>(answer).await;
        has_fields(calls[0].input(), &["task"]);
        let blob = &calls[1].previous().unwrap().toon_blob;
        assert!(blob.contains("mode: implementation") && blob.contains("Second"), "{blob}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn context_extra_fires_each_iteration_and_has_no_default() {
        let extras = json!({ "extras": [{ "name": "Design", "content": "doc" }] });
        let (played, calls) = spied::<points::ContextExtra>(Act::Answer(returns(extras))).await;
        assert_eq!(calls.len(), 2);
        has_fields(calls[0].input(), &["task"]);
        assert!(!has_default(&played, HookPoint::ContextExtra));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn before_agent_invoke_fires_per_agent_call_with_an_environment_that_was_filtered() {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
        let env = [("PATH", "/usr/bin:/bin"), ("AWS_SECRET_ACCESS_KEY", "x")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let run = bench.run(completes_each_task()).env(env).hook("spy", spy.clone());
        let played = bench.play(run).await.unwrap();
        let input = spy.last_input().unwrap();
        has_fields(&input, &["agent", "prompt", "env", "sandbox"]);
        let names: Vec<&str> = input.env.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"PATH") && !names.contains(&"AWS_SECRET_ACCESS_KEY"), "{names:?}");
        assert!(has_default(&played, HookPoint::BeforeAgentInvoke));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn agent_invoke_fires_per_agent_call_and_a_handler_takes_the_adapters_place() {
        let answer = returns(json!({ "exit_code": 0, "stdout": "out", "stderr": "err" }));
        let (played, calls) = spied::<points::AgentInvoke>(Act::Answer(answer)).await;
        has_fields(calls[0].input(), &["agent", "prompt", "env", "sandbox"]);
        assert!(!has_default(&played, HookPoint::AgentInvoke));
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let played = bench.play(bench.run(completes_each_task())).await.unwrap();
        assert!(has_default(&played, HookPoint::AgentInvoke));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn after_agent_invoke_fires_per_agent_call_with_what_the_agent_printed() {
        let (played, calls) =
            spied::<points::AfterAgentInvoke>(Act::Answer(returns(json!({ "ok": true })))).await;
        assert_eq!((calls.len(), calls[0].input().stdout.as_str()), (2, "working"));
        has_fields(calls[0].input(), &["exit_code", "stdout", "stderr"]);
        assert!(has_default(&played, HookPoint::AfterAgentInvoke));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn quality_check_fires_after_each_iterations_agent_with_the_commands() {
        let bench = Bench::builder()
            .task("1", "First")
            .config("[methodology.ralph]\nquality_checks = [\"true\", \"test -f made.txt\"]\n")
            .build()
            .unwrap();
        let spy =
            FakeHandler::<points::QualityCheck>::answers(returns(json!({ "ok": true, "failures": [] })));
        let played = bench.play(bench.run(completes_each_task()).hook("spy", spy.clone())).await.unwrap();
        assert_eq!(spy.last_input().unwrap().commands, ["true", "test -f made.txt"]);
        assert!(has_default(&played, HookPoint::QualityCheck));
    }
}

mod declaring_and_overriding {
    use super::*;

    fn checks() -> Vec<FakePlugin> {
        let plugin = |(place, name, handler): (u32, &str, &str)| {
            let check = FakeHandler::<points::QualityCheck>::passes();
            FakePlugin::new(name).place(place).handler(handler, check)
        };
        let plugins = [
            (0, "samuel-lint", "check"),
            (1, "samuel-security", "run_security_scan"),
            (2, "samuel-extra", "x"),
        ];
        plugins.map(plugin).to_vec()
    }

    fn chain(config: &str) -> Vec<String> {
        let bench = Bench::builder().config(config).build().unwrap();
        let run = bench.run(completes_each_task());
        let run = run.register(|all| checks().iter().for_each(|plugin| plugin.register(all)));
        let run = run.build().unwrap();
        run.registry().handlers(HookPoint::QualityCheck).map(|(id, ..)| id.to_owned()).collect()
    }

    #[test]
    fn without_an_override_the_default_comes_first_and_then_the_plugins() {
        let order = ["default", "samuel-lint:check", "samuel-security:run_security_scan", "samuel-extra:x"];
        assert_eq!(chain(""), order);
    }

    #[test]
    fn handlers_order_the_chain_explicitly() {
        let config = r#"
[methodology.ralph.hooks."quality.check"]
handlers = ["samuel-security:run_security_scan", "default", "samuel-lint:check"]
strict = true
timeout = "60s"
"#;
        assert_eq!(chain(config), ["samuel-security:run_security_scan", "default", "samuel-lint:check"]);
    }
}

mod payload_and_return_contracts {
    use super::*;

    #[test]
    fn unknown_payload_keys_are_ignored() {
        let input = json!({ "prd_path": "p", "max_iterations": 1, "from_the_future": { "x": 1 } });
        assert_eq!(serde_json::from_value::<BeforeLoopInput>(input).unwrap().prd_path, "p");
        assert!(returns::<BeforeLoopOutput>(json!({ "ok": true, "from_the_future": 1 })).ok);
    }

    #[test]
    fn the_required_keys_of_a_gate_must_be_there() {
        assert!(serde_json::from_value::<BeforeLoopOutput>(json!({})).is_err());
        assert!(serde_json::from_value::<IterationGateOutput>(json!({})).is_err());
        assert!(serde_json::from_value::<QualityCheckOutput>(json!({ "failures": [] })).is_err());
    }

    #[test]
    fn ok_false_with_a_reason_is_a_failure() {
        let output = returns::<BeforeLoopOutput>(json!({ "ok": false, "reason": "no plan" }));
        assert_eq!(output.refusal().as_deref(), Some("no plan"));
    }
}

mod composition {
    use super::*;

    #[test]
    fn all_bool_returns_must_be_true_for_the_event_to_succeed() {
        let mut outcome = BeforeLoopOutput::default();
        outcome.combine(returns(json!({ "ok": false, "reason": "second" })));
        outcome.combine(returns(json!({ "ok": true })));
        assert!(!outcome.ok);
    }

    #[test]
    fn of_single_blobs_the_last_writer_wins() {
        let mut outcome = returns::<ContextTaskOutput>(json!({ "toon_blob": "first" }));
        outcome.combine(returns(json!({ "toon_blob": "last" })));
        assert_eq!(outcome.toon_blob, "last");
    }

    #[test]
    fn lists_are_concatenated_across_handlers() {
        let check =
            |name: &str| json!({ "ok": false, "failures": [{ "command": name, "message": "", "tail": "" }] });
        let mut outcome = returns::<QualityCheckOutput>(check("a"));
        outcome.combine(returns(check("b")));
        let commands: Vec<&str> = outcome.failures.iter().map(|failure| failure.command.as_str()).collect();
        assert_eq!(commands, ["a", "b"]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_handler_of_a_transform_receives_the_output_of_the_one_before() {
        assert_eq!(HookPoint::BeforeAgentInvoke.kind(), Kind::Transform);
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let says = |word: &'static str| {
            FakeHandler::<points::BeforeAgentInvoke>::always(Act::compute(
                move |call: &Call<points::BeforeAgentInvoke>| {
                    let prompt = Some(format!("{} {word}", call.input().prompt.trim_end()));
                    Ok(BeforeAgentInvokeOutput { prompt, ..Default::default() })
                },
            ))
        };
        let agent = FakeHandler::<points::AgentInvoke>::passes();
        let run = bench
            .run(completes_each_task())
            .settings(|settings| settings.max_iterations = std::num::NonZero::new(1))
            .hook("first", says("one"))
            .hook("second", says("two"))
            .hook("agent", agent.clone());
        bench.play(run).await.unwrap();
        assert!(agent.last_input().unwrap().prompt.ends_with(" one two"));
    }
}
