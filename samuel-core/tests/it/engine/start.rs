//! What a start decides: which tasks it is for, what it warns of, and whether the agent is there.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use samuel_core::{
    engine::{Glance, RunBuilder, RunError, StartWarning},
    event::Event,
    hook::{Call, points},
    model::{
        Coded as _, ErrorCode, ExitReason, Plan, ProgressStatus, Status, Task, TaskId,
        payload::AgentInvokeOutput,
    },
    plan::LongPlan,
    project::NextStep,
    testing::{Bench, HeldAgent, Played, completes_each_task},
    trust::{ExecutableKind, TrustPolicy},
};

fn id(id: &str) -> TaskId {
    TaskId::new(id)
}

fn task(name: &str, depends_on: &[&str]) -> Task {
    Task { depends_on: depends_on.iter().map(|name| id(name)).collect(), ..Task::new(id(name), "t") }
}

/// Tasks of which 3 depends on 2, 4 is a group, and 5 and 6 stand alone.
fn bench() -> Bench {
    let part = Task { parent_id: Some(id("4")), ..task("4.1", &[]) };
    let done = Task { status: Status::Completed, ..task("6", &[]) };
    let tasks = vec![
        task("1", &[]),
        task("2", &[]),
        task("3", &["2"]),
        task("4", &["1"]),
        part,
        task("5", &[]),
        done,
    ];
    Bench::builder().plan(Plan { tasks, ..Plan::default() }).on_disk().build().unwrap()
}

fn run_for(bench: &Bench, ids: &[&str]) -> RunBuilder {
    bench.run(completes_each_task()).tasks(ids.iter().map(|name| id(name)))
}

fn warnings(played: &Played) -> Vec<String> {
    let warning = |event: &Event| match event {
        Event::Warning { message } => Some(message.clone()),
        _ => None,
    };
    played.events.iter().filter_map(|record| warning(&record.event)).collect()
}

fn begun(played: &Played) -> Vec<String> {
    let task = |event: &Event| match event {
        Event::IterationStarted { task, .. } => task.as_ref().map(|task| task.id.clone()),
        _ => None,
    };
    played.events.iter().filter_map(|record| task(&record.event)).collect()
}

#[tokio::test]
async fn a_run_for_some_tasks_does_them_with_what_they_need_and_leaves_the_others() {
    for (ids, expected) in
        [(&["3"][..], &["2", "3"][..]), (&["4"], &["1", "4.1"]), (&["5", "2"], &["2", "5"])]
    {
        let bench = bench();
        let played = bench.play(run_for(&bench, ids)).await.unwrap();
        assert_eq!(
            (begun(&played), played.report.exit_reason),
            (expected.iter().map(ToString::to_string).collect(), ExitReason::Completed)
        );
        assert!(!played.report.settled && played.report.detail.unwrap().contains("which the run was for"));
        // The plan is not done.
        assert_eq!(bench.store().load().unwrap().plan.progress.status, ProgressStatus::Stopped);
        assert!(matches!(bench.project().status().unwrap().next, NextStep::Task { .. }));
    }
}

#[tokio::test]
async fn a_preview_is_of_the_tasks_that_the_run_would_be_for() {
    let bench = bench();
    for glance in [Glance::Still, Glance::Exact] {
        let preview = run_for(&bench, &["4"]).build().unwrap().preview(glance).await.unwrap();
        assert_eq!(preview.task.unwrap().id, "1");
        let preview = run_for(&bench, &["6"]).build().unwrap().preview(glance).await.unwrap();
        assert_eq!(preview.stop.unwrap().reason, ExitReason::Completed);
    }
}

#[test]
fn a_run_for_some_tasks_that_is_cut_off_goes_on_with_them_and_status_says_so() {
    let bench = bench();
    let agent = Arc::new(HeldAgent::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let handle = run_for(&bench, &["3"]).agent(agent.clone()).build().unwrap().start().await.unwrap();
        agent.called().await;
        drop(handle);
    });
    runtime.shutdown_background();
    let status = bench.project().status().unwrap();
    assert_eq!(status.only, [id("3")]);
    assert!(matches!(status.next, NextStep::Task { task } if task.id == id("2")));

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let preview = runtime.block_on(run_for(&bench, &[]).build().unwrap().preview(Glance::Still)).unwrap();
    assert_eq!(preview.task.unwrap().id, "2");
    let played = runtime.block_on(bench.play(bench.run(completes_each_task()))).unwrap();
    let resumed = played.events.iter().find_map(|record| match &record.event {
        Event::RunStarted { resumed: true, tasks, .. } => Some(tasks),
        _ => None,
    });
    let tasks = resumed.unwrap();
    assert_eq!((tasks.as_slice(), played.report.exit_reason), (&[id("3")][..], ExitReason::Completed));
    assert_eq!([bench.status("3"), bench.status("1")], [Some(Status::Completed), Some(Status::Pending)]);
    assert!(bench.project().status().unwrap().only.is_empty());

    // The next one is for all of them again.
    let played = runtime.block_on(bench.play(bench.run(completes_each_task()))).unwrap();
    assert!(played.report.settled);
}

#[test]
fn resuming_keeps_finished_parts_of_a_group() {
    let part = Task { parent_id: Some(id("1")), status: Status::Completed, ..task("1.1", &[]) };
    let tasks = vec![task("1", &[]), part, task("2", &[])];
    let bench = Bench::builder().plan(Plan { tasks, ..Plan::default() }).on_disk().build().unwrap();
    let agent = Arc::new(HeldAgent::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let handle = run_for(&bench, &[]).agent(agent.clone()).build().unwrap().start().await.unwrap();
        agent.called().await;
        drop(handle);
    });
    runtime.shutdown_background();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(bench.play(bench.run(completes_each_task()))).unwrap();
    let taken_back = |event: &Event| matches!(event, Event::TasksTakenBack { .. });
    assert!(!played.events.iter().any(|record| taken_back(&record.event)));
    let of_part = |event: &Event| matches!(event, Event::PlanChanged { task, .. } if *task == id("1.1"));
    assert!(!played.events.iter().any(|record| of_part(&record.event)));
    assert_eq!(played.report.completed, [id("2")]);
}

#[tokio::test]
async fn tasks_that_the_plan_does_not_have_are_refused_before_anything_is_asked() {
    let bench = bench();
    let asked = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&asked);
    let policy = TrustPolicy::ask(move |_, _| !asks.swap(true, Ordering::Relaxed));
    let run = run_for(&bench, &["4.2", "1"]).trust(policy).build().unwrap();
    let error = run.start().await.unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        (ErrorCode::TASK_NOT_FOUND, "the plan has no task 4.2")
    );
    assert!(error.help().prose().starts_with("Did you mean 4.1"), "{:?}", error.help());
    assert!(!asked.load(Ordering::Relaxed));
    let preview = run_for(&bench, &["4.2"]).build().unwrap().preview(Glance::Still).await;
    assert!(matches!(preview.unwrap_err(), RunError::Tasks(_)));
}

#[tokio::test]
async fn a_start_warns_once_of_what_makes_a_run_worth_less() {
    let bench = bench();
    let run =
        || run_for(&bench, &["6", "3"]).settings(|settings| settings.max_iterations = NonZeroU32::new(1));
    let expected = [
        StartWarning::NotOpen { task: id("6"), status: Status::Completed },
        StartWarning::LongPlan(LongPlan { tasks: 2, iterations: 1 }),
        StartWarning::NoChecks,
        StartWarning::NoRepository,
    ];
    assert_eq!(run().build().unwrap().start_warnings().await.unwrap(), expected);
    let told = warnings(&bench.play(run()).await.unwrap());
    for warning in &expected {
        let line = warning.told();
        assert_eq!(told.iter().filter(|told| **told == line).count(), 1, "{line}: {told:?}");
    }
    let checked = bench.run(completes_each_task()).settings(|settings| {
        settings.max_iterations = None;
        settings.quality_checks = vec![samuel_core::config::CheckCommand::new("true")];
    });
    let left = checked.build().unwrap().start_warnings().await.unwrap();
    assert_eq!(left, [StartWarning::NoRepository]);
}

#[tokio::test]
async fn a_run_without_a_limit_makes_as_many_iterations_as_it_takes() {
    let tasks: Vec<Task> = (1..=25).map(|number: u32| task(&number.to_string(), &[])).collect();
    let bench = Bench::builder().plan(Plan { tasks, ..Plan::default() }).build().unwrap();
    let run = bench.run(completes_each_task()).settings(|settings| settings.max_iterations = None);
    let report = bench.play(run).await.unwrap().report;
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Completed, 25));
}

/// A run with an agent whose program is nowhere.
fn without_agent(bench: &Bench) -> RunBuilder {
    samuel_core::engine::Run::builder(bench.project().clone()).settings(|settings| {
        settings.agent = "claude".to_owned();
        settings.pause = std::time::Duration::ZERO;
        settings.max_iterations = NonZeroU32::new(1);
    })
}

#[tokio::test]
async fn an_agent_that_is_missing_is_told_before_anything_is_asked_with_its_place() {
    let config = "version = \"2\"\n[methodology.ralph]\nagent = \"claude\"\n";
    let bench = Bench::builder().task("1", "First").config(config).build().unwrap();
    let asked = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&asked);
    let policy = TrustPolicy::ask(move |_, _| !asks.swap(true, Ordering::Relaxed));
    let error = without_agent(&bench).trust(policy).build().unwrap().start().await.unwrap_err();
    assert!(!asked.load(Ordering::Relaxed));
    assert_eq!(error.code(), ErrorCode::AGENT_NOT_FOUND);
    assert!(error.to_string().contains("needs the program \"claude\""), "{error}");
    let place = error.location().unwrap();
    assert!(place.file.ends_with("samuel.toml") && place.line == Some(3), "{place:?}");
    assert!(!error.help().prose().is_empty());

    // One that the caller gives is at no place of the file.
    let other = without_agent(&bench).settings(|settings| settings.agent = "codex".to_owned());
    let error = other.build().unwrap().check_agent().unwrap_err();
    assert_eq!((error.code(), error.location()), (ErrorCode::AGENT_NOT_FOUND, None));
}

#[tokio::test]
async fn reports_missing_agent_before_missing_trust() {
    let config = "version = \"2\"\n[methodology.ralph]\nagent = \"claude\"\n";
    let bench = Bench::builder().task("1", "First").config(config).build().unwrap();
    let refused = || without_agent(&bench).trust(TrustPolicy::Refuse).build().unwrap();
    assert_eq!(refused().start().await.unwrap_err().code(), ErrorCode::AGENT_NOT_FOUND);
    let listed = refused().executables().unwrap().lines();
    assert!(listed.iter().any(|line| line == "  program: not found"), "{listed:?}");
}

#[tokio::test]
async fn a_handler_in_the_agents_place_makes_its_program_unnecessary_and_it_is_not_asked_about() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let answers = |_: Call<points::AgentInvoke>| async { Ok(AgentInvokeOutput::default()) };
    let run = || without_agent(&bench).trust(TrustPolicy::TrustAll);
    let agents = |run: RunBuilder| {
        let mut run = run.build().unwrap();
        run.executables().unwrap().of_kind(ExecutableKind::Agent).count()
    };
    assert_eq!(agents(run()), 1);
    assert_eq!(agents(run().hook("mine", answers)), 0);
    let played = bench.play(run().hook("mine", answers)).await.unwrap();
    assert_eq!((played.report.iterations, played.report.failed_iterations), (1, 0));
    assert!(bench.play(run()).await.is_err(), "without it the program is needed");
    // One that runs before the default is not called: the default is.
    let shadowed =
        run().register(|registry| registry.api::<points::AgentInvoke, _>("early", Some(10), answers));
    assert_eq!(agents(shadowed), 1);
}
