//! The prompt context: what is in it in a run, that it is made once an
//! iteration, and that what handlers contribute reaches those after them.

use std::{fs, path::Path, time::Duration};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    context::PromptContext,
    hook::{Call, points},
    model::{Plan, PlanHeader, Priority, Task, TaskId, payload::*},
    testing::{Act, Bench, FakeHandler, FakePlugin, VirtualClock, completes_each_task},
};

const CONFIG: &str = r#"
[project]
name = "parser"
[methodology.ralph]
max_iterations = 4
quality_checks = ["test -f b.rs"]
[methodology.ralph.pilot]
enabled = true
focus = "tests"
[guardrails]
branch_convention = "feat/<id>"
extra = ["No globals."]
"#;

/// A project in which everything the context knows of is there.
fn bench() -> Bench {
    let group = Task { description: "Both kinds.".to_owned(), ..Task::new(TaskId::new("0"), "Read files") };
    let parent_id = Some(group.id.clone());
    let first = Task { commit_sha: None, parent_id: parent_id.clone(), ..Task::new(TaskId::new("1"), "Lex") };
    let second = Task {
        priority: Priority::Low,
        description: "Read version and flags.".to_owned(),
        files_to_modify: vec!["a.rs".to_owned()],
        files_to_create: vec!["b.rs".to_owned()],
        depends_on: vec![TaskId::new("1")],
        acceptance: vec!["It refuses version 2.".to_owned()],
        parent_id,
        ..Task::new(TaskId::new("1.2"), "Parse the header")
    };
    let project = PlanHeader {
        name: "Parser".into(),
        description: "Reads files.".into(),
        source_prd: Some("docs/prd.md".into()),
        ..PlanHeader::default()
    };
    Bench::builder()
        .plan(Plan { project, tasks: vec![group, first, second], ..Plan::default() })
        .config(CONFIG)
        .file("a.rs", "fn a() {}\n")
        .file("AGENTS.md", "notes\n")
        .file("docs/prd.md", "# Parser\n")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .build()
        .unwrap()
}

/// Looks for tasks, completes the first, and the second without what its check
/// asks for.
fn script() -> Script {
    Script::default()
        .call(ScriptedCall::for_iteration(1).say("nothing is missing"))
        .call(ScriptedCall::for_iteration(2).write("b.rs", "").done())
        .call(ScriptedCall::for_iteration(3).step(Step::Delete { path: "b.rs".into() }).done())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_field_of_the_context_is_filled_in_a_run() {
    let bench = bench();
    let suggest = FakeHandler::<points::PromptSubmit>::answers(PromptSubmitOutput {
        results: HookResults {
            suggested_documents: vec![SuggestedDocument {
                path: "docs/style.md".into(),
                reason: "names the rules".into(),
                confidence: Some(0.5),
            }],
            ..Default::default()
        },
        ..Default::default()
    });
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(script()).hook("suggest", suggest).hook("spy", spy.clone());
    bench.play(run).await.unwrap();
    let context = serde_json::to_value(spy.calls().pop().unwrap().context()).unwrap();
    let groups = context.as_object().unwrap().iter().map(|(name, group)| format!("{name} {group}"));
    let groups = groups.collect::<Vec<_>>().join("\n").replace(&bench.path().display().to_string(), "<root>");
    insta::assert_snapshot!(groups.replace(env!("CARGO_PKG_VERSION"), "<version>"), @r#"
    Samuel {"Version":"<version>","Binary":"samuel"}
    Project {"Name":"Parser","Description":"Reads files.","Root":"<root>","Branch":"main","Detected":["rust"]}
    Methodology {"Name":"ralph","Source":"built-in"}
    Iteration {"Number":4,"Max":4,"Type":"implementation","TaskID":"1.2","LastDiscoveryAt":"2026-01-01T00:00:00Z"}
    Config {"Agent":"scripted","MaxIterations":4,"PauseSecs":0,"MaxConsecFails":3,"QualityChecks":["test -f b.rs"],"Pilot":{"DiscoverInterval":5,"MaxDiscoveryTasks":10,"Focus":"tests"},"Context":{"MaxLearnings":50,"MaxCompleted":10,"MaxProgressLines":500}}
    Guardrails {"MaxFunctionLines":50,"MaxFileLines":300,"RequireTests":true,"CommitConvention":"conventional","BranchConvention":"feat/<id>","Extra":["No globals."]}
    Paths {"SamuelDir":"<root>/.samuel","RunDir":"<root>/.samuel/run","PRDFile":"<root>/.samuel/run/prd.toon","SourcePRD":"<root>/docs/prd.md","ProgressFile":"<root>/.samuel/run/progress.md","TaskContextFile":"<root>/.samuel/run/task-context.toon","ProgressContextFile":"<root>/.samuel/run/progress-context.md","SnapshotFile":"<root>/.samuel/run/project-snapshot.toon","AgentsMD":"<root>/AGENTS.md"}
    State {"TotalTasks":2,"PendingTasks":0,"CompletedTasks":1,"InProgressTasks":1,"BlockedTasks":0,"SkippedTasks":0,"NextTask":{"ID":"1.2","Title":"Parse the header","Priority":"low","Complexity":"medium","Description":"Read version and flags.","FilesToModify":["a.rs"],"FilesToCreate":["b.rs"],"DependsOn":["1"],"Acceptance":["It refuses version 2."]},"Parent":{"ID":"0","Title":"Read files","Status":"pending","Description":"Both kinds.","Parts":2},"Siblings":[{"ID":"1","Title":"Lex","Status":"completed"}],"RecentCompleted":[{"ID":"1","Title":"Lex","CommitSHA":""}],"LastFailures":[{"Command":"test -f b.rs","Message":"exit code 1","ExitCode":1,"Tail":""}],"Suggestions":[{"Kind":"document","Name":"docs/style.md","Reason":"names the rules","Confidence":0.5}]}
    Mode {"IsDiscovery":false,"IsPilot":true,"Focus":"tests","MaxNewTasks":10}
    Hooks {"Registered":{"after:agent.invoke":["default"],"after:loop":["default"],"agent.invoke":["default"],"before:agent.invoke":["default","api:spy"],"before:loop":["default"],"context.progress":["default"],"context.snapshot":["default"],"context.task":["default"],"iteration.gate":["default"],"prompt.submit":["api:suggest"],"quality.check":["default"]}}
    Plugins {}
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_handler_of_an_iteration_reads_one_and_the_same_context() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let snapshot = FakeHandler::<points::ContextSnapshot>::passes();
    let extra = FakeHandler::<points::ContextExtra>::passes();
    let check = FakeHandler::<points::QualityCheck>::passes();
    let run = bench.run(completes_each_task());
    let run = run.hook("a", snapshot.clone()).hook("b", extra.clone()).hook("c", check.clone());
    bench.play(run).await.unwrap();
    let (snapshot, extra, check) = (snapshot.calls(), extra.calls(), check.calls());
    for iteration in 0..2 {
        let base: *const PromptContext = snapshot[iteration].context().base();
        assert_eq!(base, std::ptr::from_ref(extra[iteration].context().base()), "shared, not copied");
        assert_eq!(base, std::ptr::from_ref(check[iteration].context().base()));
    }
    let of = |call: &Call<points::ContextExtra>| call.context().base().state.next_task.clone().unwrap().id;
    assert_eq!(extra.iter().map(of).collect::<Vec<_>>(), ["1", "2"], "and a new one each iteration");
}

#[tokio::test(flavor = "multi_thread")]
async fn contributions_last_for_the_iteration_and_those_before_the_loop_for_the_run() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let lasting = FakeHandler::<points::BeforeLoop>::always(Act::compute(|call| {
        call.contribute("venv", ".venv")?;
        Ok(BeforeLoopOutput::default())
    }));
    let passing = FakeHandler::<points::ContextExtra>::script([
        Act::compute(|call: &Call<points::ContextExtra>| {
            call.contribute("once", 1)?;
            Ok(ContextExtraOutput::default())
        }),
        Act::pass(),
    ]);
    let spy = FakeHandler::<points::QualityCheck>::passes();
    let plugin = FakePlugin::new("samuel-python").handler("loop", lasting).handler("extra", passing);
    let run = bench.run(completes_each_task()).register(|all| plugin.register(all)).hook("spy", spy.clone());
    bench.play(run).await.unwrap();
    let seen: Vec<_> =
        spy.calls().iter().map(|call| serde_json::to_value(call.context().plugins()).unwrap()).collect();
    assert_eq!(
        seen,
        [
            serde_json::json!({ "samuel_python": { "venv": ".venv", "once": 1 } }),
            serde_json::json!({ "samuel_python": { "venv": ".venv" } })
        ]
    );
}

/// Answers with one section that is to be a file as well.
fn extra_in(path: &str) -> FakeHandler<points::ContextExtra> {
    let extra = Extra { name: "Notes".into(), content: "mind the gap".into(), path: Some(path.into()) };
    FakeHandler::answers(ContextExtraOutput { extras: vec![extra], ..Default::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_section_with_a_path_is_a_file_of_its_plugin_too() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let plugin = FakePlugin::new("samuel-python").handler("extra", extra_in("sub/notes.md"));
    let run = bench.run(completes_each_task()).register(|all| plugin.register(all));
    bench.play(run.hook("own", extra_in("notes.md"))).await.unwrap();
    let run_dir = bench.project().run_dir();
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(read(&run_dir.plugin("samuel-python").join("sub/notes.md")), "mind the gap");
    assert_eq!(read(&run_dir.plugin("api").join("notes.md")), "mind the gap");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_section_whose_path_leads_out_is_in_the_prompt_and_nowhere_else() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(completes_each_task()).hook("own", extra_in("../../../gap.md"));
    let played = bench.play(run.hook_at("spy", 1_000, spy.clone())).await.unwrap();
    assert!(spy.last_input().unwrap().prompt.contains("## Notes\n\nmind the gap\n"));
    assert!(!bench.path().join("gap.md").exists());
    let warning = "  warning: api:own scratch: cannot write ";
    assert!(played.transcript().contains(warning), "{}", played.transcript());
    assert!(bench.progress().unwrap().contains("[hooks.warning] context.extra api:own scratch: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_handler_that_holds_up_every_iteration_is_a_warning() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().task("1", "First").clock(clock.clone()).build().unwrap();
    let takes = |ms| {
        let clock = std::sync::Arc::new(clock.clone());
        FakeHandler::<points::ContextExtra>::always(Act::pass().after(clock, Duration::from_millis(ms)))
    };
    let run = bench.run(completes_each_task()).hook("quick", takes(500)).hook("slow", takes(600));
    let time = tokio::spawn(async move {
        clock.pass(Duration::from_millis(500)).await;
        clock.pass(Duration::from_millis(600)).await;
    });
    bench.play(run).await.unwrap();
    time.await.unwrap();
    let log = bench.progress().unwrap();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("[hooks.warning]")).collect();
    let [warning] = warnings.as_slice() else { panic!("{log}") };
    assert!(warning.contains("context.extra api:slow slow: took 600ms, which"), "{warning}");
}
