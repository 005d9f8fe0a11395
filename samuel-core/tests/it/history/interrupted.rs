//! Runs that died, and those that go on from them.

use std::{sync::Arc, time::Duration};

use samuel_core::{
    event::Event,
    history::{RunState, WhyQuestion},
    model::{IterationOutcome, TaskId, payload::Mode},
    state::Mutation,
    testing::{Bench, HeldAgent, completes_each_task},
};

use crate::history::kit::{HANG, change, history, on_disk, told};

/// Has a run die in its first iteration, after its agent completed the task of it, and returns its id.
fn die_in_mid_iteration(bench: &Bench) -> String {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = runtime.block_on(async {
        let agent = Arc::new(HeldAgent::new());
        let run = bench.run(completes_each_task()).agent(Arc::clone(&agent) as _).build().unwrap();
        let _handle = run.start().await.unwrap();
        agent.called().await;
        change(bench, Mutation::Done { id: TaskId::new("1"), commit_sha: None, iteration: None });
        // Nothing tells when it is written that the task is completed, but that it is.
        let written = async {
            loop {
                if let Some(id) = history(bench).under_way().unwrap() {
                    let mut entries = history(bench).entries(&id);
                    while let Some(entry) = entries.next_entry().unwrap() {
                        if matches!(entry.record.event, Event::TaskCompleted { .. }) {
                            return id;
                        }
                    }
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(HANG, written).await.unwrap()
    });
    // Everything in flight is dropped where it stands, like in a crash.
    runtime.shutdown_timeout(Duration::from_secs(5));
    id
}

#[test]
fn a_completion_that_an_interruption_took_back_is_explained_and_its_iteration_is_on_the_page() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let died = die_in_mid_iteration(&bench);
    let before = history(&bench).run(&died).unwrap();
    assert_eq!((before.state, before.iterations.len()), (RunState::CutOff, 1));
    let why = history(&bench).why(&WhyQuestion::Run(Some(died.clone()))).unwrap();
    assert!(why.answer.starts_with("it was cut off"), "{why:#?}");

    // It holds after the iteration that was interrupted, before another one completes the task again.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let resumed = runtime.block_on(async {
        let agent = Arc::new(HeldAgent::new());
        let run = bench.run(completes_each_task()).agent(Arc::clone(&agent) as _).build().unwrap();
        let handle = run.start().await.unwrap();
        agent.called().await;
        handle.stop();
        handle.wait().await.unwrap();
        history(&bench).resolve(None).unwrap()
    });
    let attempts = history(&bench).task(&TaskId::new("1")).unwrap().attempts;
    let [interrupted, _] = &attempts[..] else { panic!("{attempts:#?}") };
    assert_eq!((interrupted.iteration, interrupted.ended_at), (Some(1), None), "{interrupted:#?}");
    // Also where no clock says so: time stands still here.
    assert_ne!(resumed, died);
    let why = history(&bench).why(&WhyQuestion::Task(TaskId::new("1"))).unwrap();
    let text = told(&why).replace(&died, "<died>");
    assert!(text.starts_with("it is open again, since its completion was taken back: "), "{text}");
    let reasons: Vec<&str> =
        text.lines().skip(1).take(2).map(|line| line.split(" [").next().unwrap()).collect();
    assert_eq!(
        reasons,
        [
            "- taken back: 1 (interrupted before a check)",
            "- the run goes on from <died> with held, at most 20 iterations"
        ]
    );

    let page = history(&bench).report(&resumed).unwrap();
    let interrupted = &page.run.iterations[0];
    assert_eq!((interrupted.iteration, interrupted.outcome), (1, Some(IterationOutcome::Failed)));
    assert_eq!((interrupted.mode, interrupted.title.as_str()), (Some(Mode::Implementation), "First"));
    assert_eq!((&interrupted.task, &interrupted.began_in), (&Some(TaskId::new("1")), &Some(died.clone())));
    assert_eq!((interrupted.took_ms, interrupted.turns.len()), (None, 1));
    assert_eq!(page.run.iterations[1].iteration, 2);
    // What it began is what it counts.
    assert_eq!(page.run.begun(), (1, 0));
    assert_eq!(history(&bench).replay(&resumed).unwrap().iterations, 1);
    let markdown = page.to_markdown();
    assert!(
        markdown.contains("1 First: taken back once, 2 iterations, 1 of which began in the run before"),
        "{markdown}"
    );
    let task = page.tasks.iter().find(|task| task.task == TaskId::new("1")).unwrap();
    assert_eq!((task.taken_back, task.completed), (1, false));
    let html = page.to_html();
    assert!(html.contains("interrupted") && html.contains(&format!("began in run {died}")), "{html}");
    let listed = history(&bench).runs().unwrap().runs;
    assert_eq!((listed[0].run.as_str(), listed[0].iterations), (resumed.as_str(), 1));
    assert_eq!((listed[1].run.as_str(), listed[1].iterations), (died.as_str(), 1));

    // Without the record of the other, what the iteration was for is not known.
    std::fs::remove_dir_all(bench.lane().dir().logs(&died)).unwrap();
    let page = history(&bench).report(&resumed).unwrap();
    let interrupted = &page.run.iterations[0];
    assert_eq!((interrupted.mode, &interrupted.task, &interrupted.began_in), (None, &None, &None));
    assert!(page.to_html().contains("what it was for is not recorded"));
}
