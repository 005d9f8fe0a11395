//! Runs that are paused, steered, stopped, interrupted and resumed.

use std::{num::NonZero, sync::Arc, time::Duration};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use samuel_core::{
    agent::{self, Agent, AgentConfig, AgentError, AgentPort, AgentRequest, Script, ScriptedCall},
    config::CheckCommand,
    engine::{Events, RunBuilder},
    event::{Event, EventRecord},
    hook::{HookPoint, Point, points},
    model::{ErrorCode, ExitReason, ProgressStatus, Status, Task, TaskId, Usage, payload::*},
    process::Supervisor,
    state::{Actor, Mutation, Parts},
    testing::{Act, Bench, FakeHandler, HeldAgent, VirtualClock, completes_each_task},
};

/// A bench whose plan other processes can change.
fn shared_bench(tasks: &[(&str, &str)]) -> Bench {
    let bench = tasks.iter().fold(Bench::builder(), |bench, (id, title)| bench.task(id, title));
    bench.on_disk().build().unwrap()
}

/// An agent whose calls cost half a dollar.
fn costly() -> HeldAgent {
    let usage = Usage { output_tokens: 10, cost_usd: Some(0.5), ..Usage::default() };
    HeldAgent::answering(AgentInvokeOutput { usage: Some(usage), ..Default::default() })
}

async fn until(events: &mut Events, wanted: impl Fn(&Event) -> bool) -> EventRecord {
    let wait = async {
        loop {
            let record = events.next().await.expect("the run goes on");
            if wanted(&record.event) {
                return record;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the event comes")
}

/// What the user was warned of.
fn warnings(events: &[EventRecord]) -> Vec<&str> {
    let told = events.iter().filter_map(|record| match &record.event {
        Event::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    told.collect()
}

/// Completes a task the way another process does: through a store of its own.
fn done_elsewhere(bench: &Bench, id: &str) {
    let other = samuel_core::project::Project::open(bench.path(), None, bench.project().clock())
        .unwrap()
        .plan_store();
    let mutation = Mutation::Done { id: TaskId::new(id), commit_sha: Some("abcd".into()), iteration: None };
    other.mutate(mutation, Actor::Agent).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_told_while_the_agent_is_still_at_work() {
    let bench = shared_bench(&[("1", "First")]);
    let agent = Arc::new(costly());
    let mut handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called().await;
    done_elsewhere(&bench, "1");
    let told = until(&mut events, |event| matches!(event, Event::TaskCompleted { .. })).await;
    assert!(matches!(told.event, Event::TaskCompleted { provisional: true, .. }));
    agent.release();
    let report = handle.wait().await.unwrap();
    assert_eq!((report.exit_reason, report.completed), (ExitReason::Completed, vec![TaskId::new("1")]));
    assert_eq!(report.usage.cost_usd, Some(0.5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_removed_while_it_is_worked_on_is_told_once() {
    let bench = shared_bench(&[("1", "First"), ("2", "Second"), ("3", "Group")]);
    let part = Box::new(Task { parent_id: Some(TaskId::new("3")), ..Task::new(TaskId::new("3.1"), "Part") });
    bench.project().plan_store().mutate(Mutation::Add { task: part }, Actor::User).unwrap();
    let agent = Arc::new(HeldAgent::new());
    let mut handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called().await;
    let remove = Mutation::Remove { ids: vec![TaskId::new("1")], parts: Parts::Refuse };
    bench.project().plan_store().mutate(remove, Actor::User).unwrap();
    agent.release();
    let is_told =
        |event: &Event| matches!(event, Event::Warning { message } if message.contains("removed while"));
    let mut seen = vec![until(&mut events, is_told).await];
    agent.called().await;
    handle.stop();
    let report = handle.wait().await.unwrap();
    while let Some(record) = events.next().await {
        seen.push(record);
    }
    let told: Vec<&str> = warnings(&seen).into_iter().filter(|told| told.contains("task 1")).collect();
    assert_eq!(told, ["task 1 was removed while it was worked on"]);
    assert_eq!(report.left, [TaskId::new("2"), TaskId::new("3.1")], "a group is no work");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_agent_and_takes_back_what_nobody_checked() {
    let bench = shared_bench(&[("1", "First")]);
    let agent = Arc::new(HeldAgent::new());
    let mut handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called().await;
    done_elsewhere(&bench, "1");
    until(&mut events, |event| matches!(event, Event::TaskCompleted { .. })).await;
    handle.stop();
    let report = tokio::time::timeout(Duration::from_secs(10), handle.wait()).await.unwrap().unwrap();
    assert_eq!((report.exit_reason, report.completed), (ExitReason::Cancelled, vec![]));
    assert_eq!(bench.status("1"), Some(Status::Pending));
    let mut points = Vec::new();
    while let Some(record) = events.next().await {
        if let Event::HookFired { point, .. } = record.event {
            points.push(point.as_str());
        }
    }
    assert!(points.ends_with(&["after:loop", "session.end"]), "{points:?}");
    assert!(!points.contains(&"session.stop"), "{points:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_lets_the_iteration_end() {
    let bench = shared_bench(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(HeldAgent::new());
    let handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    agent.called().await;
    handle.cancel();
    done_elsewhere(&bench, "1");
    agent.release();
    let report = handle.wait().await.unwrap();
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Cancelled, 1));
    assert_eq!((bench.status("1"), bench.status("2")), (Some(Status::Completed), Some(Status::Pending)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_run_holds_until_it_is_resumed_and_hears_what_it_was_told() {
    let bench = shared_bench(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(HeldAgent::new());
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let builder = bench.run(completes_each_task()).agent(agent.clone()).hook_at("spy", 500, spy.clone());
    let mut handle = builder.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called().await;
    handle.pause();
    done_elsewhere(&bench, "1");
    agent.release();
    until(&mut events, |event| matches!(event, Event::Paused)).await;
    handle.steer("mind the gap");
    handle.resume();
    agent.called().await;
    done_elsewhere(&bench, "2");
    agent.release();
    assert_eq!(handle.wait().await.unwrap().exit_reason, ExitReason::Completed);
    let prompts: Vec<String> = spy.calls().iter().map(|call| call.input().prompt.clone()).collect();
    assert!(!prompts[0].contains("mind the gap"));
    assert!(prompts[1].contains(" begin: message from the user]\nmind the gap\n"), "{}", prompts[1]);
}

#[test]
fn a_run_that_died_goes_on_and_counts_what_it_lost() {
    let bench = shared_bench(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(HeldAgent::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let run = bench.run(completes_each_task()).agent(agent.clone()).build().unwrap();
        let mut handle = run.start().await.unwrap();
        let mut events = handle.events();
        agent.called().await;
        done_elsewhere(&bench, "1");
        until(&mut events, |event| matches!(event, Event::TaskCompleted { .. })).await;
    });
    // Everything in flight is dropped where it stands, like in a crash.
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(bench.status("1"), Some(Status::Completed));

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(bench.play(bench.run(completes_each_task()))).unwrap();
    let (events, report) = (&played.events, &played.report);
    let resumed = events.iter().any(|record| matches!(record.event, Event::RunStarted { resumed: true, .. }));
    assert!(resumed);
    let taken_back = |record: &EventRecord| matches!(&record.event, Event::TasksTakenBack { tasks, .. } if tasks == &[TaskId::new("1")]);
    assert!(events.iter().any(taken_back), "what the dead run completed was never checked");
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Completed, 3));
    assert_eq!(bench.store().load().unwrap().plan.progress.total_iterations_run, 3);
}

/// Starts a run and loses it, as in a crash, once a handler that never answers holds it.
fn lost_where_held<P: Point>(bench: &Bench, run: RunBuilder, hangs: &FakeHandler<P>, calls: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let _handle = run.hook("hangs", hangs.clone()).build().unwrap().start().await.unwrap();
        let held = async {
            while hangs.count() < calls {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), held).await.expect("the handler is called");
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(bench.store().load().unwrap().plan.progress.status, ProgressStatus::Running);
}

#[test]
fn what_was_reset_while_no_loop_was_there_is_claimed_neither_by_the_run_nor_by_its_iteration() {
    for (reset, left) in [(&[][..], &["1", "2"][..]), (&["1"], &["2"]), (&["2"], &["1"]), (&["1", "2"], &[])]
    {
        let bench = shared_bench(&[("1", "First"), ("2", "Second"), ("3", "Third")]);
        let run = || {
            bench.run(completes_each_task()).settings(|settings| settings.max_iterations = NonZero::new(2))
        };
        // The second task is settled, and the books of its iteration are still open.
        let hangs = FakeHandler::<points::AfterIteration>::script([Act::pass(), Act::Hang]);
        lost_where_held(&bench, run(), &hangs, 2);
        for task in reset {
            let reset = Mutation::Reset { id: TaskId::new(*task) };
            bench.project().plan_store().mutate(reset, Actor::User).unwrap();
        }

        let runtime = tokio::runtime::Runtime::new().unwrap();
        let played = runtime.block_on(bench.play(run())).unwrap();
        let left: Vec<TaskId> = left.iter().copied().map(TaskId::new).collect();
        let of_second = |record: &EventRecord| match &record.event {
            Event::IterationFinished { iteration: 2, completed, .. } => Some(completed.clone()),
            _ => None,
        };
        let claimed = played.events.iter().find_map(of_second).expect("the iteration is closed");
        let second = TaskId::new("2");
        assert_eq!(claimed, if left.contains(&second) { vec![second] } else { vec![] }, "{reset:?}");
        assert_eq!(played.report.completed, left, "{reset:?}");
        assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::MaxIterations, 2));
        for task in reset {
            assert_eq!(bench.status(task), Some(Status::Pending));
        }
    }
}

#[test]
fn after_a_run_that_was_killed_before_it_saved_anything_a_new_one_starts_and_nothing_is_missed() {
    let bench = shared_bench(&[("1", "First")]);
    let hangs = FakeHandler::<points::BeforeIteration>::always(Act::Hang);
    lost_where_held(&bench, bench.run(completes_each_task()), &hangs, 1);

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(bench.play(bench.run(completes_each_task()))).unwrap();
    let told = warnings(&played.events);
    assert!(!told.iter().any(|told| told.contains("journal")), "{told:?}");
    let resumed = |record: &EventRecord| matches!(record.event, Event::RunStarted { resumed: true, .. });
    assert!(!played.events.iter().any(resumed));
    assert_eq!((played.report.exit_reason, played.report.iterations), (ExitReason::Completed, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_out_of_time_is_ended_in_mid_agent() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().task("1", "First").clock(clock.clone()).build().unwrap();
    let agent = Arc::new(HeldAgent::new());
    let builder = bench.run(completes_each_task()).agent(agent.clone()).settings(|settings| {
        settings.session_budget.max_wall_time = Some(Duration::from_secs(3600));
    });
    let out_of_time = async {
        agent.called().await;
        clock.advance(Duration::from_secs(3600));
    };
    let (played, ()) = tokio::join!(bench.play(builder), out_of_time);
    assert_eq!(played.unwrap().report.exit_reason, ExitReason::WallClock);
    assert_eq!(bench.status("1"), Some(Status::Pending));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pause_between_iterations_goes_by_the_given_clock() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().task("1", "First").task("2", "Second").clock(clock.clone()).build().unwrap();
    let builder =
        bench.run(completes_each_task()).settings(|settings| settings.pause = Duration::from_secs(2));
    let (played, ()) = tokio::join!(bench.play(builder), clock.pass(Duration::from_secs(2)));
    let waits = played.unwrap().events.into_iter().filter(|r| matches!(r.event, Event::Waiting { .. }));
    assert_eq!(waits.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_hangs_is_left_behind_after_five_minutes_of_the_given_clock() {
    let clock = VirtualClock::new();
    let bench = Bench::builder().task("1", "First").clock(clock.clone()).build().unwrap();
    let hangs = FakeHandler::<points::AfterIteration>::always(Act::Hang);
    let builder = bench.run(completes_each_task()).hook("hangs", hangs.clone());
    let pass = async {
        while hangs.count() == 0 {
            tokio::task::yield_now().await;
        }
        clock.pass(Duration::from_secs(300)).await;
    };
    let (played, ()) = tokio::join!(bench.play(builder), pass);
    let played = played.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let outcome = played.outcomes(HookPoint::AfterIteration)[0];
    assert_eq!(outcome.broken[0].failure.to_string(), "timeout: no answer within 5m");
    assert_eq!(outcome.timings[0].took, Duration::from_secs(300));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_spent_ends_the_run() {
    let bench = shared_bench(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(costly());
    agent.release();
    let builder = bench.run(completes_each_task()).agent(agent).settings(|settings| {
        settings.session_budget.max_cost_usd = Some(0.4);
    });
    let report = bench.play(builder).await.unwrap().report;
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Budget, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_cannot_be_read_is_told_with_its_place_when_a_run_starts() {
    let bench = shared_bench(&[("1", "First")]);
    let file = bench.path().join(".samuel/run/prd.toon");
    let text = std::fs::read_to_string(&file).unwrap();
    let header = text.lines().position(|line| line.starts_with("tasks[1]")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(header + 1, "  2,two cells");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();

    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    let place = format!("prd.toon:{}:", header + 2);
    let told = warnings(&played.events);
    assert_eq!(told.iter().filter(|told| told.contains(&place)).count(), 1, "{place} in {told:?}");
    assert_eq!(
        (played.report.exit_reason, bench.status("1")),
        (ExitReason::Blocked, Some(Status::Completed))
    );
}

/// An agent that completes the first task before another one takes over.
#[derive(Debug)]
struct Completing {
    bench: Arc<Bench>,
    then: Arc<dyn Agent>,
}

#[async_trait::async_trait]
impl Agent for Completing {
    fn name(&self) -> &str {
        self.then.name()
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        done_elsewhere(&self.bench, "1");
        self.then.invoke(request, port).await
    }
}

/// An agent that completes the first task and damages the row of the second.
#[derive(Debug)]
struct Careless(Arc<Bench>);

#[async_trait::async_trait]
impl Agent for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    async fn invoke(
        &self,
        _request: AgentRequest,
        _port: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        done_elsewhere(&self.0, "1");
        let file = self.0.path().join(".samuel/run/prd.toon");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("pending,medium", "pending,urgent")).unwrap();
        Ok(AgentInvokeOutput::default())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_damaged_during_a_run_is_told_once_with_its_place() {
    let bench = Arc::new(shared_bench(&[("1", "First"), ("2", "Second")]));
    let builder = bench.run(completes_each_task()).agent(Arc::new(Careless(Arc::clone(&bench))));
    let played = bench
        .play(builder.settings(|settings| settings.max_iterations = std::num::NonZero::new(1)))
        .await
        .unwrap();
    let told: Vec<&str> =
        warnings(&played.events).into_iter().filter(|told| told.contains("`urgent`")).collect();
    assert!(matches!(told[..], [one] if one.contains("prd.toon:")), "{:?}", warnings(&played.events));
    assert_eq!((bench.status("1"), bench.status("2")), (Some(Status::Completed), None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_the_agents_last_word_exceeds_does_not_undo_its_work() {
    let bench = Arc::new(shared_bench(&[("1", "First"), ("2", "Second")]));
    let last_word = r#"{"type":"result","subtype":"success","is_error":false,"total_cost_usd":0.5,"usage":{"input_tokens":7}}"#;
    // It lingers for a moment, as real ones do, so that it could be stopped.
    let command = ["/bin/sh", "-c", &format!("echo '{last_word}'; sleep 0.5"), "claude"].map(String::from);
    let config = AgentConfig { command: command.to_vec(), ..AgentConfig::new("claude") };
    let claude = agent::build(&config, Supervisor::GroupOnly).unwrap();
    let agent = Completing { bench: Arc::clone(&bench), then: claude };
    let builder = bench.run(completes_each_task()).agent(Arc::new(agent)).settings(|settings| {
        settings.session_budget.max_cost_usd = Some(0.4);
        settings.quality_checks = vec![CheckCommand::new("true")];
    });
    let played = bench.play(builder).await.unwrap();
    let report = &played.report;
    assert_eq!((report.exit_reason, report.iterations, report.failed_iterations), (ExitReason::Budget, 1, 0));
    assert_eq!((&report.completed[..], report.usage.cost_usd), (&[TaskId::new("1")][..], Some(0.5)));
    assert_eq!((bench.status("1"), played.count(HookPoint::QualityCheck)), (Some(Status::Completed), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_breaks_during_a_run_is_put_back_with_a_warning() {
    let bench = shared_bench(&[("1", "First")]);
    let agent = Arc::new(HeldAgent::new());
    let builder = bench.run(completes_each_task()).agent(agent.clone());
    let mut handle = builder
        .settings(|settings| settings.max_iterations = std::num::NonZero::new(1))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    let mut events = handle.events();
    agent.called().await;
    let plan = bench.path().join(".samuel/run/prd.toon");
    std::fs::write(&plan, "# toon v3\nversion: \"1\"\nproject: x\n").unwrap();
    agent.release();
    let report = handle.wait().await.unwrap();
    assert_eq!(report.exit_reason, ExitReason::MaxIterations, "{report:?}");
    let mut told = Vec::new();
    while let Some(record) = events.next().await {
        told.push(format!("{:?}", record.event));
    }
    assert!(told.iter().any(|event| event.contains("put back")), "{told:?}");
    assert!(std::fs::read_to_string(plan).unwrap().contains("First"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_cannot_be_put_back_ends_the_run_with_the_code_of_the_error() {
    let bench = shared_bench(&[("1", "First")]);
    let agent = Arc::new(HeldAgent::new());
    let handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    agent.called().await;
    // At once, so that nothing is put back in between.
    let in_the_way = bench.path().with_extension("in-the-way");
    std::fs::write(&in_the_way, "").unwrap();
    renameat_with(CWD, bench.path(), CWD, &in_the_way, RenameFlags::EXCHANGE).unwrap();
    agent.release();
    let report = handle.wait().await.unwrap();
    renameat_with(CWD, bench.path(), CWD, &in_the_way, RenameFlags::EXCHANGE).unwrap();
    std::fs::remove_file(in_the_way).unwrap();
    let fault = report.fault.clone().unwrap();
    assert_eq!((report.exit_reason, report.error_code()), (ExitReason::Error, Some(ErrorCode::STATE_IO)));
    assert_eq!(report.detail.as_deref(), Some(&*fault.message));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_directory_in_place_of_project_ends_run() {
    let bench = shared_bench(&[("1", "First")]);
    let agent = Arc::new(HeldAgent::new());
    let handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    agent.called().await;
    let other = bench.path().with_extension("other");
    std::fs::create_dir_all(other.join(".samuel/run")).unwrap();
    std::fs::write(other.join(".samuel/run/prd.toon"), "theirs").unwrap();
    renameat_with(CWD, bench.path(), CWD, &other, RenameFlags::EXCHANGE).unwrap();
    agent.release();
    let report = handle.wait().await.unwrap();
    renameat_with(CWD, bench.path(), CWD, &other, RenameFlags::EXCHANGE).unwrap();
    let files = std::fs::read_dir(other.join(".samuel/run")).unwrap();
    let files: Vec<_> = files.map(|entry| entry.unwrap().file_name()).collect();
    let plan = std::fs::read_to_string(other.join(".samuel/run/prd.toon")).unwrap();
    std::fs::remove_dir_all(other).unwrap();
    assert_eq!(report.error_code(), Some(ErrorCode::STATE_IO), "{report:?}");
    let path = bench.path().display();
    let help = format!("Move the original directory back to \"{path}\", then start the run again.");
    assert_eq!(report.help().unwrap().prose(), help);
    assert_eq!((files, &*plan), (vec!["prd.toon".into()], "theirs"));
}

#[tokio::test(flavor = "multi_thread")]
async fn link_in_place_of_state_ends_run_with_help() {
    let bench = shared_bench(&[("1", "First")]);
    let agent = Arc::new(HeldAgent::new());
    let handle =
        bench.run(completes_each_task()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    agent.called().await;
    let (state, link) = (bench.path().join(".samuel"), bench.path().with_extension("link"));
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    renameat_with(CWD, &state, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    agent.release();
    let report = handle.wait().await.unwrap();
    std::fs::remove_dir_all(link).unwrap();
    assert_eq!(report.error_code(), Some(ErrorCode::STATE_IO), "{report:?}");
    let help = format!("Remove the link \"{}\", or put what it leads to into the project.", state.display());
    assert_eq!(report.help().unwrap().prose(), help);
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_cannot_be_read_is_warned_of_and_its_changes_are_seen_all_the_same() {
    let bench = Bench::builder()
        .task("1", "First")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/index", "no index")
        .build()
        .unwrap();
    let writes = |script: Script, name: &str| script.call(ScriptedCall::any().write(name, "x"));
    let script = ["a", "b", "c", "d"].into_iter().fold(Script::default(), writes);
    let builder = bench.run(script).settings(|settings| {
        settings.max_iterations = std::num::NonZero::new(4);
    });
    let played = bench.play(builder).await.unwrap();
    let told: Vec<&str> = warnings(&played.events)
        .into_iter()
        .filter(|told| told.starts_with("the repository cannot be read"))
        .collect();
    assert_eq!(told.len(), 1, "{:?}", warnings(&played.events));
    assert_eq!(played.report.exit_reason, ExitReason::MaxIterations);
}
