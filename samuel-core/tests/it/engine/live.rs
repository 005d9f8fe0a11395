//! What people ask of a run from other processes, over its socket.

use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::CheckCommand,
    engine::{DecisionError, Events, LiveError, LiveRun, RunHandle, socket::RunClient},
    event::{Event, RunReport},
    hook::{Call, HookFailure, points},
    model::{
        Coded as _, Doing, ErrorCode, ExitReason, LiveState, Status, TaskId, payload::AbilityBeforeOutput,
    },
    project::{ChangeOrigin, Project},
    state::{Actor, JournalEntry, Mutation},
    testing::{Bench, BenchBuilder, FakeHandler, HeldAgent, VirtualClock, completes_each_task},
};

use crate::live_support::{commands, completes_meanwhile};

struct World {
    bench: Bench,
    sockets: tempfile::TempDir,
}

impl World {
    fn new(tasks: &[(&str, &str)]) -> Self {
        Self::over(tasks.iter().fold(Bench::builder(), |bench, (id, title)| bench.task(id, title)))
    }

    fn over(bench: BenchBuilder) -> Self {
        let sockets = tempfile::tempdir().unwrap();
        std::fs::set_permissions(sockets.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        Self { bench: bench.on_disk().build().unwrap(), sockets }
    }

    /// The project as another process opens it.
    fn elsewhere(&self) -> Project {
        Project::open(self.bench.path(), None, self.bench.project().clock()).unwrap()
    }

    fn find(&self) -> Result<LiveRun, LiveError> {
        LiveRun::find(&self.elsewhere(), &ChangeOrigin::default(), "0/pts-7")
    }

    fn done(&self, id: &str) {
        let done = Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None };
        self.elsewhere().plan_store().mutate(done, Actor::Agent).unwrap();
    }

    /// The names of the commands in the journal, with who gave them and what the agent was told.
    fn commands(&self) -> Vec<String> {
        let records = self.elsewhere().plan_store().journal_since(0).unwrap().records;
        let told = records.into_iter().filter_map(|record| match record.entry {
            JournalEntry::Event(event) if event.name == "command" => {
                let word = |name: &str| event.data[name].as_str().unwrap_or("-").to_owned();
                Some(format!("{} {} {}", word("command"), word("by"), word("text")))
            }
            _ => None,
        });
        told.collect()
    }
}

/// Asks a run from a thread that may block.
async fn asked<R: Send + 'static>(run: &LiveRun, ask: impl FnOnce(&LiveRun) -> R + Send + 'static) -> R {
    let run = run.clone();
    tokio::task::spawn_blocking(move || ask(&run)).await.unwrap()
}

async fn until(events: &mut Events, wanted: impl Fn(&Event) -> bool) {
    let wait = async { while !wanted(&events.next().await.expect("the run goes on").event) {} };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the event comes");
}

async fn held(world: &World, agent: &Arc<HeldAgent>) -> RunHandle {
    let run = world.bench.run(completes_each_task()).agent(agent.clone());
    run.socket_dir(world.sockets.path()).build().unwrap().start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_holds_goes_on_and_hears_what_a_person_tells_it_and_the_journal_says_who() {
    let world = World::new(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(HeldAgent::new());
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = world.bench.run(completes_each_task()).agent(agent.clone()).hook_at("spy", 500, spy.clone());
    let run = run.socket_dir(world.sockets.path()).build().unwrap();
    let mut handle = run.start().await.unwrap();
    let mut events = handle.events();
    agent.called().await;
    let run = world.find().unwrap();
    let state: LiveState = asked(&run, |run| run.pause().unwrap()).await;
    let [worker] = &state.workers[..] else { panic!("{state:?}") };
    assert_eq!((state.doing, worker.iteration, worker.task.as_deref()), (Doing::Working, 1, Some("1")));
    world.done("1");
    agent.release();
    until(&mut events, |event| matches!(event, Event::Paused)).await;
    assert_eq!(asked(&run, |run| run.look().unwrap().doing).await, Doing::Paused);
    asked(&run, |run| run.steer("first").unwrap()).await;
    asked(&run, |run| run.resume(Some("then this")).unwrap()).await;
    agent.called().await;
    world.done("2");
    agent.release();
    assert_eq!(handle.wait().await.unwrap().exit_reason, ExitReason::Completed);
    let prompt = spy.calls()[1].input().prompt.clone();
    let told = |text: &str| prompt.find(&format!(" begin: message from the user]\n{text}\n")).unwrap();
    assert!(told("first") < told("then this"), "{prompt}");
    assert_eq!(
        world.commands(),
        ["pause 0/pts-7 -", "steer 0/pts-7 first", "steer 0/pts-7 then this", "resume 0/pts-7 -"]
    );
    let log = world.bench.progress().unwrap();
    assert!(log.contains("FOUND: asked to hold by 0/pts-7"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_ended_after_its_iteration_or_at_once() {
    for (now, iterations) in [(false, 1), (true, 1)] {
        let world = World::new(&[("1", "First"), ("2", "Second")]);
        let agent = Arc::new(HeldAgent::new());
        let handle = held(&world, &agent).await;
        agent.called().await;
        let run = world.find().unwrap();
        asked(&run, move |run| if now { run.stop().unwrap() } else { run.cancel().unwrap() }).await;
        if !now {
            world.done("1");
            agent.release();
        }
        let report = handle.wait().await.unwrap();
        assert_eq!((report.exit_reason, report.iterations), (ExitReason::Cancelled, iterations));
        assert_eq!(world.bench.status("1") == Some(Status::Completed), !now);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_sees_what_happens_and_leaves_the_run_alone() {
    let world = World::new(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(HeldAgent::new());
    let handle = held(&world, &agent).await;
    agent.called().await;
    let run = world.find().unwrap();
    let leaves = asked(&run, |run| run.attach().unwrap()).await;
    drop(leaves);
    let mut watches = asked(&run, |run| run.attach().unwrap()).await;
    assert_eq!(watches.state().workers[0].task.as_deref(), Some("1"));
    let seen = tokio::task::spawn_blocking(move || {
        let (mut seen, mut ended) = (Vec::new(), false);
        while !ended {
            let batch = watches.next(Duration::from_secs(5)).unwrap();
            seen.extend(batch.events.iter().map(|event| event["event"].as_str().unwrap().to_owned()));
            ended = batch.ended;
        }
        seen
    });
    for id in ["1", "2"] {
        world.done(id);
        agent.release();
        if id == "1" {
            agent.called().await;
        }
    }
    assert_eq!(handle.wait().await.unwrap().exit_reason, ExitReason::Completed);
    let seen = seen.await.unwrap();
    let begun = seen.iter().filter(|event| *event == "iteration_started").count();
    assert_eq!(begun, 1, "the second: {seen:?}");
    assert_eq!(seen.last().map(String::as_str), Some("run_finished"), "the end is told, and is the last");
    assert!(seen.iter().any(|event| event == "task_completed"), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_loop_inside_of_one_and_beside_a_forged_socket_nothing_is_asked() {
    let world = World::new(&[("1", "First")]);
    let error = world.find().unwrap_err();
    assert_eq!((error.code(), error.code().exit_code), (ErrorCode::CONTROL_NO_LOOP, 1));
    let agent = Arc::new(HeldAgent::new());
    let handle = held(&world, &agent).await;
    agent.called().await;
    for name in ["SAMUEL_RUN_ID", "SAMUEL_SOCKET"] {
        let origin = ChangeOrigin::of_env(|asked| (asked == name).then_some("x"));
        let error = LiveRun::find(&world.elsewhere(), &origin, "").unwrap_err();
        assert_eq!((error.code(), error.code().exit_code), (ErrorCode::CONTROL_DENIED, 1));
    }
    let run = world.find().unwrap();
    for bad in ["", " \n", "a\u{1b}[2J", &"x".repeat(1 << 20)] {
        let (run, bad) = (run.clone(), bad.to_owned());
        let error = tokio::task::spawn_blocking(move || run.steer(&bad).unwrap_err()).await.unwrap();
        assert_eq!(error.code(), ErrorCode::CONTROL_INVALID);
    }
    let socket = handle.socket().unwrap().to_owned();
    let no_token = tokio::task::spawn_blocking({
        let socket = socket.clone();
        move || RunClient::connect(&socket, &"0".repeat(64), Duration::from_secs(5)).unwrap_err()
    });
    assert_eq!(no_token.await.unwrap().code(), ErrorCode::SOCKET_TOKEN);
    // An agent that has the lock name a socket of its own; the loop puts it back now and then.
    let lock = world.bench.path().join(".samuel/run/loop.lock");
    let forge = |to: &Path| {
        let text = std::fs::read_to_string(&lock).unwrap();
        let forged = text.replace(&socket.display().to_string(), &to.display().to_string());
        let refused = (0..100).find_map(|_| {
            std::fs::write(&lock, &forged).unwrap();
            world.find().err()
        });
        std::fs::write(&lock, text).unwrap();
        refused.expect("the forged lock is refused").code()
    };
    let own = world.bench.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(own.join("token"), "0".repeat(64)).unwrap();
    std::fs::set_permissions(own.join("token"), std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(forge(&own.join("socket")), ErrorCode::CONTROL_UNREACHABLE);
    let open = tempfile::tempdir().unwrap();
    std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(forge(&open.path().join("socket")), ErrorCode::CONTROL_UNREACHABLE);
    assert_eq!(forge(&PathBuf::from("relative/socket")), ErrorCode::CONTROL_UNREACHABLE);
    assert!(world.find().is_ok());
    handle.stop();
    handle.wait().await.unwrap();
    assert_eq!(world.find().unwrap_err().code(), ErrorCode::CONTROL_NO_LOOP);
}

/// Waits for the end of a run, within the test's patience.
async fn ended(handle: RunHandle) -> RunReport {
    tokio::time::timeout(Duration::from_secs(30), handle.wait()).await.expect("the run ends").unwrap()
}

/// A gate that wants a person to decide on each command.
fn gate() -> FakeHandler<points::AbilityBefore> {
    let output = AbilityBeforeOutput { ask: true, reason: Some("a command".into()), ..Default::default() };
    FakeHandler::answers(output)
}

/// Starts a run whose agent runs a command that a person has to approve.
async fn gated(world: &World, wait: Duration) -> RunHandle {
    let try_it = Step::Run { command: "touch made".into(), allow_failure: true };
    let script = Script::default().call(ScriptedCall::any().repeated().step(try_it).done());
    let run = world.bench.run(script).hook("gate", gate()).socket_dir(world.sockets.path());
    let run = run.settings(|settings| settings.ask_timeout = wait);
    run.build().unwrap().start().await.unwrap()
}

async fn asked_about(events: &mut Events) -> u64 {
    loop {
        let record = tokio::time::timeout(Duration::from_secs(20), events.next()).await.unwrap();
        if let Event::ApprovalAsked { call, .. } = record.expect("the run goes on").event {
            return call;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_waits_until_a_person_approves_or_denies_it() {
    for approves in [true, false] {
        let world = World::new(&[("1", "First")]);
        let mut handle = gated(&world, Duration::from_secs(3_600)).await;
        let mut events = handle.events();
        // The command, then that the task is done: both are tool calls.
        for number in 0..2 {
            let call = asked_about(&mut events).await;
            assert_eq!(world.bench.status("1"), Some(Status::InProgress));
            let run = world.find().unwrap();
            let waiting = asked(&run, |run| run.look().unwrap().approvals).await;
            assert_eq!((waiting.len(), waiting[0].call, waiting[0].reason.as_str()), (1, call, "a command"));
            let unnamed = asked(&run, |run| run.approve(None, None).unwrap_err().code()).await;
            assert_eq!(unnamed, ErrorCode::CONTROL_WHICH_CALL);
            let other = asked(&run, move |run| run.deny(Some(call + 1), None).unwrap_err().code()).await;
            assert_eq!(other, ErrorCode::CONTROL_NOTHING_WAITS);
            asked(&run, move |run| match approves || number == 1 {
                // A text would take another turn of the agent, which asks again.
                true => run.approve(Some(call), None).unwrap(),
                false => run.deny(Some(call), Some("not that one")).unwrap(),
            })
            .await;
            // Whoever has the handle comes second as somebody at a terminal does.
            let second = handle.approve(call, None).await.unwrap_err();
            let is_approved = approves || number == 1;
            assert_eq!(second, DecisionError::Decided { call, is_approved, by: "0/pts-7".to_owned() });
        }
        let report = ended(handle).await;
        assert_eq!(report.exit_reason, ExitReason::Completed, "{report:?}");
        assert_eq!(world.bench.path().join("made").exists(), approves);
        let log = world.bench.progress().unwrap();
        assert_eq!(log.contains("Bash was blocked: the user denied it: not that one"), !approves, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_call_that_nobody_approves_in_time_is_denied_and_without_a_time_at_once() {
    for wait in [Duration::ZERO, Duration::from_secs(20)] {
        let clock = VirtualClock::new();
        let world = World::over(Bench::builder().task("1", "First").clock(clock.clone()));
        let mut handle = gated(&world, wait).await;
        let mut events = handle.events();
        if !wait.is_zero() {
            let call = asked_about(&mut events).await;
            let passed = tokio::time::timeout(Duration::from_secs(20), clock.pass(wait)).await;
            passed.expect("the call waits");
            // Nobody decides on the call that completes the task either.
            asked_about(&mut events).await;
            let told =
                format!("tool call {call} was denied already: nobody approved it within 20s: a command");
            let run = world.find().unwrap();
            let late = asked(&run, move |run| run.approve(Some(call), None).unwrap_err()).await;
            assert!(late.to_string().ends_with(&told), "{late}");
            assert_eq!(handle.approve(call, None).await.unwrap_err().to_string(), told);
        } else {
            until(&mut events, |event| matches!(event, Event::AbilityBlocked { prevented: true, .. })).await;
        }
        handle.stop();
        ended(handle).await;
        assert!(!world.bench.path().join("made").exists());
        let log = world.bench.progress().unwrap();
        let told = if wait.is_zero() {
            "Bash was blocked: a command"
        } else {
            "nobody approved it within 20s: a command"
        };
        assert!(log.contains(told), "{log}");
    }
}

/// Wants a person to decide on each command.
async fn ask_of_commands(call: Call<points::AbilityBefore>) -> Result<AbilityBeforeOutput, HookFailure> {
    let ask = call.input().ability_id == "Bash";
    Ok(AbilityBeforeOutput { ask, reason: ask.then(|| "a command".into()), ..Default::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn random_commands_from_eight_terminals_lose_no_task_and_hang_no_loop() {
    let tasks: Vec<(String, String)> = (1..=12).map(|n| (n.to_string(), format!("Task {n}"))).collect();
    let tasks: Vec<(&str, &str)> = tasks.iter().map(|(id, title)| (id.as_str(), title.as_str())).collect();
    let world = Arc::new(World::new(&tasks));
    // The last task is not done before all was said.
    let script = Script::default()
        .call(
            ScriptedCall::for_task("12").repeated().run("while ! test -e enough; do sleep 0.02; done").done(),
        )
        .call(ScriptedCall::any().repeated().run("sleep 0.02").done());
    let (elsewhere, enough) = (Arc::clone(&world), world.bench.path().join("enough"));
    let runs = completes_meanwhile(Arc::new(move || elsewhere.find()), commands(104), enough, || {
        let builder = world.bench.run(script.clone()).socket_dir(world.sockets.path());
        builder.hook("gate", ask_of_commands).settings(|settings| {
            settings.max_iterations = None;
            settings.quality_checks = vec![CheckCommand::new("sleep 0.01")];
            settings.ask_timeout = Duration::from_secs(3_600);
        })
    });
    let runs = runs.await;
    let plan = world.bench.store().load().unwrap().plan;
    assert_eq!((plan.tasks.len(), plan.count(Status::Completed)), (12, 12), "after {runs} runs");
}
