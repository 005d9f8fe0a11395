//! Which points fire where there are lanes, and who hears what is said there.

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    event::Event,
    hook::{HookPoint, points},
    model::{
        Usage,
        payload::{Deliver, SessionStartOutput, TextItem},
    },
    testing::FakeHandler,
};

use crate::workspace::{
    kit::User,
    lanes::{all_landed, count, lanes, makes_a_file, project},
    runs::played,
};

#[tokio::test(flavor = "multi_thread")]
async fn points_of_the_run_fire_once_and_what_is_said_at_its_start_is_in_the_first_prompt_of_each_lane() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[]), ("4", &["1", "2", "3"])]);
    // Three are at work at once, each in a lane of its own.
    let work = "touch ~/at-$SAMUEL_TASK_ID; while ! { test -e ~/at-1 && test -e ~/at-2 && test -e ~/at-3; }; do \
                sleep 0.02; done; echo x > made-$SAMUEL_TASK_ID";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let text = vec![TextItem { content: "Mind the gap".to_owned(), deliver: Deliver::Next }];
    let hello = SessionStartOutput { text, ..SessionStartOutput::default() };
    let started = FakeHandler::<points::SessionStart>::answers(hello);
    let before_loop = FakeHandler::<points::BeforeLoop>::passes();
    let stopped = FakeHandler::<points::SessionStop>::passes();
    let after_loop = FakeHandler::<points::AfterLoop>::passes();
    let ended = FakeHandler::<points::SessionEnd>::passes();
    let iterations = FakeHandler::<points::BeforeIteration>::passes();
    let run = lanes(&user, &project, 3, script, &["true"])
        .hook("started", started.clone())
        .hook("before-loop", before_loop.clone())
        .hook("stopped", stopped.clone())
        .hook("after-loop", after_loop.clone())
        .hook("ended", ended.clone())
        .hook("iterations", iterations.clone());
    let told = played(run).await.unwrap();
    all_landed(&user, &project, &told);
    let counts = [started.count(), before_loop.count(), stopped.count(), after_loop.count(), ended.count()];
    assert_eq!((counts, iterations.count()), ([1; 5], 4), "{}", told.text());
    let fired = |wanted: HookPoint| {
        count(&told, |event| matches!(event, Event::HookFired { point, .. } if *point == wanted))
    };
    for point in [HookPoint::SessionStart, HookPoint::BeforeLoop, HookPoint::AfterLoop, HookPoint::SessionEnd]
    {
        assert_eq!(fired(point), 1, "{point:?}: {}", told.text());
    }
    let place =
        |wanted: &dyn Fn(&Event) -> bool| told.events.iter().rposition(|record| wanted(&record.event));
    let last_landing = place(&|event| matches!(event, Event::TaskLanded { .. }));
    let last_point = place(&|event| matches!(event, Event::HookFired { point: HookPoint::AfterLoop, .. }));
    assert!(last_landing.is_some() && last_landing < last_point, "{}", told.text());
    // The first three prompts are those of the lanes; the fourth is the second one of whichever lane.
    let logs = user.tree().join(".samuel/run/logs");
    let heard = user.sh(&logs, "grep -l 'Mind the gap' */*.prompt | sed 's/.*\\///' | sort | tr '\\n' ' '");
    assert_eq!(heard.trim(), "1-1.prompt 2-1.prompt 3-1.prompt");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_run_counts_all_workers() {
    let user = User::new();
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["1", "2"])]);
    // The first two are at work at once, each with a worker of its own.
    let work = "touch ~/at-$SAMUEL_TASK_ID; while ! { test -e ~/at-1 && test -e ~/at-2; }; do sleep 0.02; done; \
                echo x > made-$SAMUEL_TASK_ID";
    let usage = Usage { input_tokens: 60, cost_usd: Some(1.5), ..Usage::default() };
    let call = ScriptedCall::any().repeated().run(work).step(Step::Usage(usage)).done();
    let after_loop = FakeHandler::<points::AfterLoop>::passes();
    let ended = FakeHandler::<points::SessionEnd>::passes();
    let run = lanes(&user, &project, 2, Script::default().call(call), &["true"])
        .hook("after-loop", after_loop.clone())
        .hook("ended", ended.clone());
    let told = played(run).await.unwrap();
    all_landed(&user, &project, &told);
    assert_eq!(after_loop.last_input().unwrap().iterations_run, 3, "{}", told.text());
    let figures = [("completed", "3"), ("cost_usd", "4.50")];
    let figures = figures.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(ended.last_input().unwrap().extensions, figures, "{}", told.text());
    let progress = std::fs::read_to_string(user.tree().join(".samuel/run/progress.md")).unwrap();
    assert!(progress.contains("the loop ended after 3 iterations: completed"), "{progress}");
    assert_eq!((told.report.iterations, told.report.usage.cost_usd), (3, Some(4.5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hook_sees_what_was_merged() {
    let user = User::new();
    let command = "ls made-* > ~/seen; echo \"{}\"";
    let hook =
        format!("id: stop\nevent_type: SessionStop\nhandler:\n  kind: script\n  command: '{command}'\n");
    user.write(".system/hooks/stop.yaml", &hook);
    user.git("add --all");
    user.git("commit --quiet --message Hook");
    let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &["1", "2"])]);
    let told = played(lanes(&user, &project, 2, makes_a_file(), &["true"]).hook_files()).await.unwrap();
    all_landed(&user, &project, &told);
    let seen = std::fs::read_to_string(user.home().join("seen")).unwrap();
    assert_eq!(seen, "made-1.txt\nmade-2.txt\nmade-3.txt\n", "{}", told.text());
}
