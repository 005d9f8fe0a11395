//! Questions that an agent asks, and what people answer while the run goes on.

use std::{sync::Arc, time::Duration};

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    engine::Events,
    event::{Event, PlanChange},
    hook::points,
    model::{ExitReason, TaskId},
    project::Project,
    state::{Actor, Mutation},
    testing::{Bench, FakeHandler, HeldAgent, completes_each_task},
};

fn bench() -> Bench {
    Bench::builder().task("1", "First").task("2", "Second").on_disk().build().unwrap()
}

/// Changes the plan as another process does.
fn change(bench: &Bench, mutation: Mutation, actor: Actor) {
    let project = Project::open(bench.path(), None, bench.project().clock()).unwrap();
    project.plan_store().mutate(mutation, actor).unwrap();
}

fn answer(bench: &Bench) {
    let answer = Mutation::Answer { id: TaskId::new("1"), answer: "blue, not red".to_owned() };
    change(bench, answer, Actor::User);
}

/// What each call of the agent was told beside its task.
fn told(spy: &FakeHandler<points::BeforeAgentInvoke>) -> Vec<String> {
    spy.calls().iter().map(|call| call.input().prompt.clone()).collect()
}

async fn until(events: &mut Events, wanted: impl Fn(&Event) -> bool) {
    let wait = async { while !wanted(&events.next().await.expect("the run goes on").event) {} };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the event comes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_is_answered_while_another_task_runs_is_in_the_next_prompt_of_its_task_once() {
    let bench = bench();
    let ask = Step::Ask {
        task: "{{task_id}}".into(),
        question: "Which colour?".into(),
        options: vec!["red".into(), "green".into()],
    };
    let script = Script::default()
        .call(ScriptedCall::for_iteration(1).step(ask))
        .call(ScriptedCall::any().repeated().run("while ! test -e go; do sleep 0.02; done").done());
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let mut handle =
        bench.run(script).hook_at("spy", 500, spy.clone()).build().unwrap().start().await.unwrap();
    let mut events = handle.events();
    let asked = |event: &Event| matches!(event, Event::PlanChanged { change: PlanChange::Asked, .. });
    until(&mut events, asked).await;
    until(&mut events, |event| matches!(event, Event::IterationStarted { iteration: 2, .. })).await;
    let open = bench.project().status().unwrap().questions;
    assert_eq!(open.iter().map(|asked| asked.question.as_str()).collect::<Vec<_>>(), ["Which colour?"]);
    answer(&bench);
    std::fs::write(bench.path().join("go"), "").unwrap();
    let report = handle.wait().await.unwrap();
    assert_eq!((report.exit_reason, report.completed.len()), (ExitReason::Completed, 2), "{report:?}");
    let prompts = told(&spy);
    let with_answer: Vec<usize> =
        (0..prompts.len()).filter(|call| prompts[*call].contains("blue, not red")).collect();
    assert_eq!(with_answer, [2], "{prompts:?}");
    let prompt = &prompts[2];
    assert!(prompt.contains(" begin: question about task 1]\nWhich colour?\n\n- red\n- green\n"), "{prompt}");
    assert!(prompt.contains(" begin: message from the user]\nblue, not red\n"), "{prompt}");
    assert!(bench.store().load().unwrap().plan.tasks.iter().all(|task| task.question.is_none()));
}

#[test]
fn an_answer_that_no_prompt_had_yet_outlives_a_crash() {
    let bench = bench();
    let agent = Arc::new(HeldAgent::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let run = bench.run(completes_each_task()).agent(agent.clone()).build().unwrap();
        let mut handle = run.start().await.unwrap();
        let mut events = handle.events();
        agent.called().await;
        let ask = Mutation::Ask { id: TaskId::new("1"), question: "Which?".into(), options: Vec::new() };
        change(&bench, ask, Actor::Agent);
        agent.release();
        agent.called().await;
        answer(&bench);
        until(&mut events, |event| matches!(event, Event::PlanChanged { change: PlanChange::Answered, .. }))
            .await;
    });
    // Everything in flight is dropped where it stands, like in a crash.
    runtime.shutdown_timeout(Duration::from_secs(5));

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let spy = FakeHandler::<points::BeforeAgentInvoke>::passes();
    let run = bench.run(completes_each_task()).hook_at("spy", 500, spy.clone());
    let played = runtime.block_on(bench.play(run)).unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let with_answer = told(&spy).into_iter().filter(|prompt| prompt.contains("blue, not red")).count();
    assert_eq!(with_answer, 1);
}
