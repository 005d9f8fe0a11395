//! What fires when, in a whole run, down to the count.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest, Script, ScriptedCall, Step},
    engine::RunBuilder,
    hook::{Answer, Call, HookPoint, Point, points},
    lifecycle::{InitOptions, Lifecycle, SyncOptions},
    model::payload::*,
    testing::{Act, Bench, FakeHandler, FakePlugin, completes_each_task},
};

/// What fired, in the order it was called.
#[derive(Clone, Debug, Default)]
struct Trace(Arc<Mutex<Vec<&'static str>>>);

impl Trace {
    fn add(&self, point: HookPoint) {
        self.0.lock().unwrap().push(point.as_str());
    }

    fn taken(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Makes a handler that writes down that its point fired.
    fn witness<P: Point>(&self) -> FakeHandler<P> {
        let trace = self.clone();
        FakeHandler::always(Act::compute(move |call: &Call<P>| {
            trace.add(P::POINT);
            // What stands before stays as it is.
            Ok(call.previous().cloned().unwrap_or_default())
        }))
    }
}

/// An agent that writes down when it is called: at `agent.invoke` a handler
/// would take its place.
#[derive(Debug)]
struct Watched {
    agent: Arc<dyn Agent>,
    trace: Trace,
}

#[async_trait]
impl Agent for Watched {
    fn name(&self) -> &str {
        self.agent.name()
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        self.trace.add(HookPoint::AgentInvoke);
        self.agent.invoke(request, port).await
    }
}

/// Completes its task in the first iteration; in the second it gives up after
/// a tool call.
fn second_fails() -> Script {
    Script::default()
        .call(ScriptedCall::for_iteration(1).say("working").write("made.txt", "1").done())
        .call(ScriptedCall::for_iteration(2).write("made.txt", "2").step(Step::Exit { code: 1 }))
}

/// A handler that tells the agent what to do about a failure.
fn advice() -> FakeHandler<points::IterationError> {
    FakeHandler::answers(IterationErrorOutput::default().with_text("look at the diff", Deliver::Next))
}

fn bench() -> Bench {
    Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap()
}

fn run(bench: &Bench) -> RunBuilder {
    let run =
        bench.run(second_fails()).settings(|settings| settings.max_iterations = std::num::NonZero::new(2));
    run.hook("advice", advice())
}

/// Adds a witness of each point to a builder of runs or lifecycle commands.
macro_rules! watch {
    ($trace:expr, $builder:expr; $($point:ident)+) => {{
        let builder = $builder;
        $(let builder = builder.hook::<points::$point, _>("trace", $trace.witness::<points::$point>());)+
        builder
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn all_25_points_fire_at_their_place_in_init_sync_and_a_run() {
    let (bench, trace) = (bench(), Trace::default());
    let lifecycle = watch!(trace, Lifecycle::builder(bench.project().clone());
        InitBefore InitAfter SyncBefore SyncAfter);
    let lifecycle = lifecycle.build().unwrap();
    lifecycle.init(&InitOptions::default()).await.unwrap();
    lifecycle.sync(&SyncOptions::default()).await.unwrap();
    let agent = Watched { agent: bench.agent(second_fails()), trace: trace.clone() };
    let run = watch!(trace, run(&bench).agent(Arc::new(agent));
        SessionStart BeforeLoop BeforeIteration IterationGate PromptSubmit ContextSnapshot ContextProgress
        ContextTask ContextExtra BeforeAgentInvoke AfterAgentInvoke QualityCheck AfterIteration IterationError
        TaskCompleted AbilityBefore AbilityAfter SessionStop AfterLoop SessionEnd);
    bench.play(run).await.unwrap();

    let before_agent = "before:iteration iteration.gate prompt.submit context.snapshot context.progress \
                        context.task context.extra before:agent.invoke agent.invoke";
    let expected = [
        "init.before init.after sync.before sync.after session.start before:loop",
        before_agent,
        // Writes, and completes its task.
        "ability.before ability.after ability.before ability.after",
        "task.completed after:agent.invoke quality.check after:iteration",
        before_agent,
        "ability.before ability.after after:agent.invoke after:iteration iteration.error",
        // The recovery turn.
        "before:agent.invoke agent.invoke after:agent.invoke session.stop after:loop session.end",
    ];
    let fired = trace.taken();
    assert_eq!(fired.join(" "), expected.join(" "));
    for point in HookPoint::ALL.iter().map(|point| point.as_str()) {
        assert!(fired.contains(&point), "{point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_second_iteration_fails_reads_the_same_every_time() {
    let mut transcripts = Vec::new();
    for _ in 0..3 {
        let bench = bench();
        transcripts.push(bench.play(run(&bench)).await.unwrap().transcript());
    }
    assert_eq!(transcripts[1], transcripts[0]);
    assert_eq!(transcripts[2], transcripts[0]);
    insta::assert_snapshot!(transcripts[0], @r#"
    run starts with scripted, at most 2 iterations
    warning: no quality checks are configured, so what an agent calls done is done. Set quality_checks in samuel.toml, such as ["cargo test"].
    warning: the project is not in a git repository, so nothing an agent does can be undone. Run `git init` and commit what there is.
    session.start
    before:loop: default ok
    before:iteration
    iteration.gate: default ok
    iteration 1: implementation of 1 First
    prompt.submit
    context.snapshot: default ok
    context.progress: default ok
    context.task: default ok
    context.extra
    before:agent.invoke: default ok
    agent scripted is called
      > working
      Write {"file_path":"made.txt","content":"1"}
    ability.before
      Write success
    ability.after
      samuel.done {"type":"done","id":"1","iteration":1}
    ability.before
      samuel.done success
    ability.after
    agent.invoke: default ok
    task 1 completed, provisionally
    task.completed
    agent ended with exit code 0
    after:agent.invoke: default ok
    quality.check: default ok
    checks passed
    after:iteration
    iteration 1 succeeded, completed [1]
    before:iteration
    iteration.gate: default ok
    iteration 2: implementation of 2 Second
    prompt.submit
    context.snapshot: default ok
    context.progress: default ok
    context.task: default ok
    context.extra
    before:agent.invoke: default ok
    agent scripted is called
      Write {"file_path":"made.txt","content":"2"}
    ability.before
      Write success
    ability.after
    agent.invoke: default ok
    agent ended with exit code 1, agent-exit: scripted ended with exit code 1
    after:agent.invoke: default ok
    after:iteration
    iteration.error: api:advice ok
      says (next): api:advice: look at the diff
    before:agent.invoke (recovery): default ok
    agent scripted is called (recovery)
      > nothing is scripted for this call
    agent.invoke (recovery): default ok
    agent ended (recovery) with exit code 0
    after:agent.invoke (recovery): default ok
    iteration 2 failed, completed [], agent-exit: scripted ended with exit code 1, 1 in a row
    stopping: max-iterations (the limit of 2 iterations was reached)
    session.stop
    after:loop: default ok
    session.end
    run ended: max-iterations (the limit of 2 iterations was reached), 2 iterations, 1 failed, completed [1]
    "#);
}

/// A plugin that adds a section of its own.
fn extra(place: u32) -> FakePlugin {
    let extra = Extra { name: format!("Extra {place}"), content: format!("of plugin {place}"), path: None };
    let output = ContextExtraOutput { extras: vec![extra], ..Default::default() };
    FakePlugin::new(format!("plugin-{place}"))
        .place(place)
        .handler("extra", FakeHandler::<points::ContextExtra>::answers(output))
}

/// Ten numbers in an order that depends on the seed.
fn shuffled(seed: u64) -> Vec<u32> {
    let mut dice = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut numbers: Vec<u32> = (0..10).collect();
    for last in (1..numbers.len()).rev() {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(last, usize::try_from(dice >> 33).unwrap() % (last + 1));
    }
    numbers
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_plugins_compose_in_the_same_order_under_100_shuffled_registrations() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let build = |seed| {
        let run = bench.run(completes_each_task());
        run.register(|handlers| shuffled(seed).into_iter().for_each(|place| extra(place).register(handlers)))
    };
    let expected: Vec<String> = (0..10).map(|place| format!("plugin-{place}:extra")).collect();
    for seed in 0..100 {
        let run = build(seed).build().unwrap();
        let chain: Vec<&str> = run.registry().handlers(HookPoint::ContextExtra).map(|(id, ..)| id).collect();
        assert_eq!(chain, expected, "seed {seed}");
    }
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let played = bench.play(build(7).hook_at("spy", 1_000, spy.clone())).await.unwrap();
    assert_eq!(played.outcomes(HookPoint::ContextExtra)[0].timings.len(), 10);
    let prompt = spy.last_input().unwrap().prompt;
    let sections: Vec<&str> = prompt.lines().filter(|line| line.starts_with("## Extra ")).collect();
    assert_eq!(sections, (0..10).map(|place| format!("## Extra {place}")).collect::<Vec<_>>());
}
