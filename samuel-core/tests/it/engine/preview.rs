//! Previews: what the next iteration would be, without making it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_core::{
    agent::{Agent, AgentConfig, Script, ScriptedAgent},
    clock::SystemClock,
    engine::{Glance, Preview, Run, RunBuilder, RunError},
    hook::{Call, HookFailure, HookPoint, points},
    lifecycle::make_ready,
    model::{ExitReason, Status, TaskId, payload::*},
    process::Supervisor,
    project::{NewPlan, NextStep, Project, find_root},
    state::{Actor, Mutation},
    testing::{self, FakeHandler, completes_each_task},
};

/// Lists everything below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    fn below(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            found.push(entry.path());
            if entry.path().is_dir() {
                below(&entry.path(), found);
            }
        }
    }
    let mut found = Vec::new();
    below(directory, &mut found);
    found.sort();
    found
}

struct Bench {
    dir: tempfile::TempDir,
    project: Project,
}

impl Bench {
    fn with_prd(prd: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("prd.md"), prd).unwrap();
        let project = Project::open(dir.path(), None, Arc::new(SystemClock::new())).unwrap();
        let prd = Some(dir.path().join("prd.md"));
        let plan = NewPlan { prd, ..NewPlan::default() };
        // A test that is asynchronous has a runtime of its own already.
        std::thread::scope(|scope| {
            let making = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(make_ready(&project, plan, |_| {}))
            });
            making.join().unwrap().unwrap();
        });
        Self { dir, project }
    }

    fn run(&self) -> RunBuilder {
        let config = AgentConfig { script: Some(Script::default()), ..AgentConfig::new("scripted") };
        let agent: Arc<dyn Agent> = Arc::new(ScriptedAgent::new(&config, Supervisor::GroupOnly).unwrap());
        Run::builder(self.project.clone())
            .agent(agent)
            .env([("PATH".to_owned(), std::env::var("PATH").unwrap())])
            .hook::<points::ContextExtra, _>("notes", async |_: Call<points::ContextExtra>| {
                let extra =
                    Extra { name: "Notes".to_owned(), content: "mind the gap".to_owned(), path: None };
                Ok::<_, HookFailure>(ContextExtraOutput { extras: vec![extra], ..Default::default() })
            })
    }

    async fn preview(&self, glance: Glance) -> Preview {
        self.run().build().unwrap().preview(glance).await.unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        files(self.dir.path())
    }

    /// Appends to samuel.toml and opens the project again.
    fn configure(&mut self, toml: &str) {
        let file = self.dir.path().join("samuel.toml");
        let text = std::fs::read_to_string(&file).unwrap() + toml;
        std::fs::write(&file, text).unwrap();
        self.project = Project::open(self.dir.path(), None, Arc::new(SystemClock::new())).unwrap();
    }

    fn change(&self, mutation: Mutation) {
        self.project.plan_store().mutate(mutation, Actor::User).unwrap();
    }
}

const PRD: &str = "# PRD: Notes\n\n## Tasks\n\n### 1 Store\n\n### 2 Search\n";

#[tokio::test]
async fn an_exact_preview_has_the_prompt_with_every_handlers_part_and_writes_nothing() {
    let bench = Bench::with_prd(PRD);
    let before = bench.files();
    let preview = bench.preview(Glance::Exact).await;
    let prompt = preview.prompt.unwrap();
    assert!(prompt.starts_with("[samuel:") && prompt.contains("\n\n# One task: 1 Store\n"), "{prompt}");
    assert!(prompt.contains("## Notes\n\nmind the gap\n"), "{prompt}");
    assert_eq!((preview.iteration, preview.task.unwrap().id.as_str()), (1, "1"));
    assert_eq!(bench.files(), before);
    assert_eq!(bench.project.plan_store().load().unwrap().plan.tasks[0].status, Status::Pending);
}

#[tokio::test]
async fn a_still_preview_lists_foreign_handlers_but_does_not_call_them() {
    let bench = Bench::with_prd(PRD);
    let preview = bench.preview(Glance::Still).await;
    assert!(!preview.prompt.unwrap().contains("mind the gap"));
    let extra = preview.chains.iter().find(|chain| chain.point.as_str() == "context.extra").unwrap();
    assert_eq!((extra.run[0].id.as_str(), extra.run[0].order), ("api:notes", 300));
}

#[tokio::test]
async fn a_plan_without_work_has_a_reason_in_place_of_a_prompt() {
    let bench = Bench::with_prd(PRD);
    bench.change(Mutation::Block { id: TaskId::new("1"), reason: None });
    bench.change(Mutation::Done { id: TaskId::new("2"), commit_sha: None, iteration: None });
    let stop = bench.preview(Glance::Exact).await.stop.unwrap();
    assert_eq!((stop.reason, stop.detail.as_str()), (ExitReason::Blocked, "1 is marked as blocked"));
    let next = bench.project.status().unwrap().next;
    assert_eq!(next, NextStep::Blocked { reasons: vec!["1 is marked as blocked".to_owned()] });
}

#[tokio::test]
async fn a_gate_that_stops_the_loop_shows_in_the_preview() {
    let bench = Bench::with_prd(PRD);
    let run =
        bench.run().hook::<points::IterationGate, _>("enough", async |_: Call<points::IterationGate>| {
            Ok::<_, HookFailure>(IterationGateOutput {
                proceed: false,
                reason: Some("enough for today".to_owned()),
                ..Default::default()
            })
        });
    let preview = run.build().unwrap().preview(Glance::Exact).await.unwrap();
    let stop = preview.stop.unwrap();
    assert_eq!((stop.reason, stop.detail.as_str()), (ExitReason::GateStop, "enough for today"));
    assert_eq!(preview.prompt, None);
}

#[test]
fn a_project_is_found_from_below() {
    let bench = Bench::with_prd(PRD);
    let deep = bench.dir.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    assert_eq!(find_root(&deep).as_deref(), Some(bench.dir.path()));
    std::fs::remove_file(bench.dir.path().join("samuel.toml")).unwrap();
    assert_eq!(find_root(&deep).as_deref(), Some(bench.dir.path()));
}

#[tokio::test]
async fn a_chain_that_is_kept_to_the_other_mode_is_listed_as_skipped() {
    let mut bench = Bench::with_prd(PRD);
    bench.configure("\n[hooks.\"context.extra\"]\nmode = \"discovery\"\n");
    let preview = bench.preview(Glance::Still).await;
    let chain = preview.chains.iter().find(|chain| chain.point == HookPoint::ContextExtra).unwrap();
    assert!(chain.run.is_empty());
    let skipped: Vec<_> = chain.skipped.iter().map(|one| (one.id.as_str(), one.why.as_str())).collect();
    assert_eq!(skipped, [("api:notes", "only in discovery iterations")]);
    let prompt = bench.preview(Glance::Exact).await.prompt.unwrap();
    assert!(!prompt.contains("mind the gap"), "{prompt}");
}

#[tokio::test]
async fn the_languages_of_the_project_are_part_of_the_context() {
    let bench = Bench::with_prd(PRD);
    std::fs::write(bench.dir.path().join("a.rs"), "").unwrap();
    let preview = bench.preview(Glance::Still).await;
    assert_eq!(preview.context.base().project.detected, ["rust"]);
}

fn text(content: &str) -> Vec<TextItem> {
    vec![TextItem { content: content.to_owned(), deliver: Deliver::Next }]
}

/// A bench with one task whose state is in files, and what its directory holds.
fn on_disk() -> (testing::Bench, impl Fn() -> Vec<PathBuf>) {
    let bench = testing::Bench::builder().task("1", "First").on_disk().build().unwrap();
    let root = bench.path().to_owned();
    (bench, move || files(&root))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exact_preview_is_the_run_up_to_its_agent_and_nothing_behind() {
    let (bench, files) = on_disk();
    let (before, ends) = (files(), FakeHandler::<points::SessionEnd>::passes());
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let stops = FakeHandler::<points::SessionStop>::passes();
    let run = || {
        let hello = SessionStartOutput { text: text("said at the start"), ..Default::default() };
        let again = BeforeIterationOutput { text: text("said before the iteration"), ..Default::default() };
        let section = Extra {
            name: "Notes".to_owned(),
            content: "a section".to_owned(),
            path: Some("notes.md".to_owned()),
        };
        let extra = ContextExtraOutput { extras: vec![section], ..Default::default() };
        bench
            .run(completes_each_task())
            .hook("hello", FakeHandler::<points::SessionStart>::answers(hello))
            .hook("again", FakeHandler::<points::BeforeIteration>::answers(again))
            .hook("extra", FakeHandler::<points::ContextExtra>::answers(extra))
            .hook_at("spy", 500, spy.clone())
            .hook("stops", stops.clone())
            .hook("ends", ends.clone())
    };
    let preview = run().build().unwrap().preview(Glance::Exact).await.unwrap();
    assert_eq!((spy.count(), stops.count(), ends.count()), (1, 0, 0));
    assert_eq!(files(), before, "nothing is written");
    assert_eq!(bench.progress().unwrap(), "");

    bench.play(run()).await.unwrap();
    // Each run has a mark of its own.
    let mark = |prompt: &str| prompt.split([':', ' ']).nth(1).unwrap().trim_end_matches(']').to_owned();
    let plain = |prompt: &str| prompt.replace(&mark(prompt), "mark");
    let (shown, given) = (preview.prompt.unwrap(), spy.calls()[1].input().prompt.clone());
    assert_eq!(plain(&shown), plain(&given));
    for said in ["said at the start", "said before the iteration", "a section"] {
        assert!(shown.contains(said), "{said} is not in {shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_a_run_from_its_agent_keeps_a_preview_from_its_prompt() {
    let (bench, files) = on_disk();
    let before = files();
    let refused = bench
        .run(Script::default())
        .hook("no", FakeHandler::<points::BeforeLoop>::refuses("not today"))
        .build()
        .unwrap();
    let stop = refused.preview(Glance::Exact).await.unwrap().stop.unwrap();
    assert_eq!((stop.reason, stop.detail.as_str()), (ExitReason::GateStop, "not today"));

    let refused = bench
        .run(Script::default())
        .hook("no", FakeHandler::<points::BeforeIteration>::refuses("not this one"))
        .build()
        .unwrap();
    let error = refused.preview(Glance::Exact).await.unwrap_err();
    assert!(matches!(&error, RunError::Prompt { message } if message == "not this one"), "{error:?}");
    assert_eq!(files(), before);
}
