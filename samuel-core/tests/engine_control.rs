//! Runs that are paused, steered, stopped, interrupted and resumed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod engine_support;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use engine_support::{Bench, events_of, works};
use samuel_core::{
    agent::{Agent, AgentError, AgentPort, AgentRequest},
    engine::{Event, EventRecord, Events},
    hook::{Call, points},
    model::{ExitReason, Status, TaskId, Usage, payload::*},
    state::{Actor, FileStore, Mutation, StateStore},
};
use tokio::sync::Notify;

/// An agent whose calls wait until they are let go.
#[derive(Debug, Default)]
struct Waiting {
    called: Notify,
    go: Notify,
}

#[async_trait]
impl Agent for Waiting {
    fn name(&self) -> &str {
        "waiting"
    }

    async fn invoke(
        &self,
        request: AgentRequest,
        _: &dyn AgentPort,
    ) -> Result<AgentInvokeOutput, AgentError> {
        self.called.notify_one();
        tokio::select! {
            () = self.go.notified() => Ok(AgentInvokeOutput {
                usage: Some(Usage { output_tokens: 10, cost_usd: Some(0.5), ..Usage::default() }),
                ..Default::default()
            }),
            () = request.cancel.cancelled() => Err(AgentError::Cancelled { agent: "waiting".into(), usage: None }),
        }
    }
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

/// Completes a task the way another process does: through a store of its own.
fn done_elsewhere(bench: &Bench, id: &str) {
    let other: FileStore = bench.project.store();
    let mutation = Mutation::Done { id: TaskId::new(id), commit_sha: Some("abc".into()), iteration: None };
    other.mutate(mutation, Actor::Agent).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_told_while_the_agent_is_still_at_work() {
    let bench = Bench::with(&[("1", "First")]);
    let agent = Arc::new(Waiting::default());
    let mut handle = bench.run(works()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called.notified().await;
    done_elsewhere(&bench, "1");
    let told = until(&mut events, |event| matches!(event, Event::TaskCompleted { .. })).await;
    assert!(matches!(told.event, Event::TaskCompleted { provisional: true, .. }));
    agent.go.notify_one();
    let report = handle.wait().await.unwrap();
    assert_eq!((report.exit_reason, report.completed), (ExitReason::Completed, vec![TaskId::new("1")]));
    assert_eq!(report.usage.cost_usd, Some(0.5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_the_agent_and_takes_back_what_nobody_checked() {
    let bench = Bench::with(&[("1", "First")]);
    let agent = Arc::new(Waiting::default());
    let mut handle = bench.run(works()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called.notified().await;
    done_elsewhere(&bench, "1");
    until(&mut events, |event| matches!(event, Event::TaskCompleted { .. })).await;
    handle.stop();
    let report = tokio::time::timeout(Duration::from_secs(10), handle.wait()).await.unwrap().unwrap();
    assert_eq!((report.exit_reason, report.completed), (ExitReason::Cancelled, vec![]));
    assert_eq!(bench.status("1"), Status::Pending);
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
    let bench = Bench::with(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(Waiting::default());
    let handle = bench.run(works()).agent(agent.clone()).build().unwrap().start().await.unwrap();
    agent.called.notified().await;
    handle.cancel();
    done_elsewhere(&bench, "1");
    agent.go.notify_one();
    let report = handle.wait().await.unwrap();
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Cancelled, 1));
    assert_eq!((bench.status("1"), bench.status("2")), (Status::Completed, Status::Pending));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_run_holds_until_it_is_resumed_and_hears_what_it_was_told() {
    let bench = Bench::with(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(Waiting::default());
    let prompts = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&prompts);
    let builder = bench.run(works()).agent(agent.clone()).hook_at::<points::BeforeAgentInvoke, _>(
        "spy",
        500,
        move |call: Call<points::BeforeAgentInvoke>| {
            seen.lock().unwrap().push(call.input().prompt.clone());
            async { Ok(BeforeAgentInvokeOutput::default()) }
        },
    );
    let mut handle = builder.build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    agent.called.notified().await;
    handle.pause();
    done_elsewhere(&bench, "1");
    agent.go.notify_one();
    until(&mut events, |event| matches!(event, Event::Paused)).await;
    handle.steer("mind the gap");
    handle.resume();
    agent.called.notified().await;
    done_elsewhere(&bench, "2");
    agent.go.notify_one();
    assert_eq!(handle.wait().await.unwrap().exit_reason, ExitReason::Completed);
    let prompts = prompts.lock().unwrap();
    assert!(!prompts[0].contains("mind the gap"));
    assert!(prompts[1].contains("[message from the user]\nmind the gap"), "{}", prompts[1]);
}

#[test]
fn a_run_that_died_goes_on_and_counts_what_it_lost() {
    let bench = Bench::with(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(Waiting::default());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let run = bench.run(works()).agent(agent.clone()).build().unwrap();
        let mut handle = run.start().await.unwrap();
        let mut events = handle.events();
        agent.called.notified().await;
        done_elsewhere(&bench, "1");
        until(&mut events, |event| matches!(event, Event::TaskCompleted { .. })).await;
    });
    // Everything in flight is dropped where it stands, like in a crash.
    runtime.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(bench.status("1"), Status::Completed);

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (events, report) = runtime.block_on(events_of(bench.run(works())));
    let resumed = events.iter().any(|record| matches!(record.event, Event::RunStarted { resumed: true, .. }));
    assert!(resumed);
    let taken_back = |record: &EventRecord| matches!(&record.event, Event::TasksTakenBack { tasks, .. } if tasks == &[TaskId::new("1")]);
    assert!(events.iter().any(taken_back), "what the dead run completed was never checked");
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Completed, 3));
    assert_eq!(bench.store.load().unwrap().plan.progress.total_iterations_run, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_out_of_time_is_ended_in_mid_agent() {
    let bench = Bench::with(&[("1", "First")]);
    let agent = Arc::new(Waiting::default());
    let builder = bench.run(works()).agent(agent).settings(|settings| {
        settings.session_budget.max_wall_time = Some(Duration::from_millis(300));
    });
    let (_, report) = tokio::time::timeout(Duration::from_secs(10), events_of(builder)).await.unwrap();
    assert_eq!(report.exit_reason, ExitReason::WallClock);
    assert_eq!(bench.status("1"), Status::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_spent_ends_the_run() {
    let bench = Bench::with(&[("1", "First"), ("2", "Second")]);
    let agent = Arc::new(Waiting::default());
    agent.go.notify_one();
    let builder = bench.run(works()).agent(agent).settings(|settings| {
        settings.session_budget.max_cost_usd = Some(0.4);
    });
    let (_, report) = events_of(builder).await;
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Budget, 1));
}
