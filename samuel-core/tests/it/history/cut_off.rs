//! Records that a kill ended anywhere.

use std::{fs, process::Command};

use samuel_core::{
    history::{RunState, WhyQuestion},
    model::TaskId,
    testing::completes_each_task,
};

use crate::history::kit::{Numbers, checked, history, on_disk};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_is_cut_off_anywhere_claims_nothing_that_did_not_happen() {
    let cuts = if std::env::var_os("SAMUEL_LONG").is_some() { 500 } else { 25 };
    let bench = on_disk(&[("1", "First"), ("2", "Second"), ("3", "Third")]);
    let played = bench.play(checked(&bench, "test -f 2nd || { touch 2nd; false; }")).await.unwrap();
    let whole = history(&bench).run(&played.replay().unwrap().run).unwrap();
    let logs = bench.lane().dir().logs(&whole.run);
    let [events, inputs] =
        ["run.jsonl", "inputs.jsonl"].map(|name| (logs.join(name), fs::read(logs.join(name)).unwrap()));
    let mut numbers = Numbers(42);
    for _ in 0..cuts {
        let at = numbers.below(events.1.len());
        fs::write(&events.0, &events.1[..at]).unwrap();
        fs::write(&inputs.0, &inputs.1[..numbers.below(inputs.1.len())]).unwrap();
        let past = history(&bench);
        let Ok(read) = past.run(&whole.run) else {
            assert!(!events.1[..at].contains(&b'\n'), "{at} bytes cannot be read");
            continue;
        };
        assert_eq!(read.state, RunState::CutOff);
        assert!(read.report.is_none() && read.iterations.len() <= whole.iterations.len());
        for (one, other) in read.iterations.iter().zip(&whole.iterations) {
            assert!(one.outcome.is_none() || one == other, "{one:#?} {other:#?}");
        }
        assert!(read.checks.iter().zip(&whole.checks).all(|(one, other)| one == other));
        let stands =
            |task: &TaskId| whole.iterations.iter().any(|iteration| iteration.completed.contains(task));
        assert!(read.completed.iter().all(stands));
        let why = past.why(&WhyQuestion::Run(Some(whole.run.clone()))).unwrap();
        assert!(why.answer.starts_with("it was cut off"), "{why:#?}");
        assert!(why.reasons.iter().all(|reason| reason.text.contains(' ')), "{why:#?}");
        for question in [WhyQuestion::Check, WhyQuestion::Task(TaskId::new("1")), WhyQuestion::Next] {
            let why = past.why(&question).unwrap();
            let last = read.last.as_ref().unwrap().seq;
            assert!(why.reasons.iter().flat_map(|reason| &reason.events).all(|event| event.seq <= last));
        }
        let page = past.report(&whole.run).unwrap();
        assert!(page.to_html().contains("Cut off") && page.to_markdown().contains("Cut off"));
        assert!(past.activity().unwrap().now.is_none());
        if let Ok(replay) = past.replay(&whole.run) {
            assert!(replay.equal, "{replay:#?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_touches_nothing() {
    let bench = on_disk(&[("1", "First")]);
    bench.play(bench.run(completes_each_task())).await.unwrap();
    let listed = || {
        let found =
            Command::new("find").arg(bench.path()).args(["-printf", "%p %s %T@ %i\n"]).output().unwrap();
        let mut lines: Vec<String> =
            String::from_utf8(found.stdout).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let before = listed();
    let past = history(&bench);
    let run = past.resolve(None).unwrap();
    for question in
        [WhyQuestion::Next, WhyQuestion::Check, WhyQuestion::Run(None), WhyQuestion::Task(TaskId::new("1"))]
    {
        past.why(&question).unwrap();
    }
    let _ = (
        past.runs().unwrap(),
        past.activity().unwrap(),
        past.report(&run).unwrap().to_html(),
        past.replay(&run).unwrap(),
    );
    assert_eq!(before, listed());
}
