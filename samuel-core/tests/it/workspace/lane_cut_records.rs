//! Records of runs with several lanes that a kill ended anywhere, and what is told of one that came to its end.

use std::{collections::BTreeSet, fs};

use samuel_core::{
    event::{Event, EventRecord},
    history::{History, RunHistory, RunState, WhyQuestion, event_line, event_name},
    model::{ExitReason, IterationOutcome, TaskId},
    project::Project,
    testing::ScriptedLanes,
};

use crate::workspace::{
    kit::User,
    lanes::{lanes, project},
    runs::{Told, played},
};

/// A run of two lanes: the first two tasks change the same line at once, so that one of them comes back, and the check
/// of the third fails first.
struct Ran {
    user: User,
    project: Project,
    told: Told,
    run: String,
}

impl Ran {
    async fn new() -> Self {
        let user = User::new();
        let project = project(&user, &[("1", &[]), ("2", &[]), ("3", &[])]);
        let agents = ScriptedLanes::noting_in(user.path().join("notes")).unwrap();
        let agents = agents.conflicting("1", "2").meeting(["1", "2"]).breaking("3", 1);
        let told = played(lanes(&user, &project, 2, agents.script(), &[ScriptedLanes::CHECK])).await.unwrap();
        assert_eq!(told.report.exit_reason, ExitReason::Completed, "{}", told.text());
        let run = told.events[0].run_id.to_string();
        Self { user, project, told, run }
    }

    /// The past as it is read from the disk at this moment.
    fn past(&self) -> History {
        History::of(&self.project)
    }
}

/// Returns the lines that a log tells.
fn lines(past: &History, run: &str) -> Vec<String> {
    let mut entries = past.entries(run);
    let told = std::iter::from_fn(|| entries.next_entry().unwrap());
    told.filter_map(|entry| Some(format!("{:?} {}", entry.record.lane, event_line(&entry.record.event)?)))
        .collect()
}

/// Returns the tasks that landed by such an event.
fn landed(events: &[EventRecord]) -> BTreeSet<TaskId> {
    let landed = events.iter().filter_map(|record| match &record.event {
        Event::TaskLanded { task, .. } => Some(task.clone()),
        _ => None,
    });
    landed.collect()
}

/// Holds what is read of a record that ends early against what happened until then.
fn claims_nothing_else(ran: &Ran, read: &RunHistory, whole: &RunHistory) {
    let last = read.last.as_ref().unwrap().seq;
    let until: Vec<EventRecord> =
        ran.told.events.iter().filter(|record| record.seq <= last).cloned().collect();
    assert_eq!((read.state, &read.report), (RunState::CutOff, &None));
    let has_landed = landed(&until);
    assert!(read.completed.iter().all(|task| has_landed.contains(task)), "{read:#?}");
    assert_eq!(read.landed.len(), has_landed.len());
    assert_eq!(read.returned[..], whole.returned[..read.returned.len()]);
    assert_eq!(read.checks[..], whole.checks[..read.checks.len()]);
    for (one, other) in read.iterations.iter().zip(&whole.iterations) {
        assert_eq!((one.iteration, one.lane, &one.task), (other.iteration, other.lane, &other.task));
        // Whether its work was merged is known later.
        let [one_told, other_told] = [one, other].map(|row| serde_json::to_value(row).unwrap());
        assert!(one.outcome.is_none() || one_told == other_told, "{one:#?} {other:#?}");
    }
    // Each answer rests on events of the record, which are what it says.
    let past = ran.past();
    let questions = ["1", "2", "3"].map(|task| WhyQuestion::Task(TaskId::new(task)));
    let others = [WhyQuestion::Run(Some(ran.run.clone())), WhyQuestion::Check, WhyQuestion::Next];
    for question in questions.into_iter().chain(others) {
        let why = past.why(&question).unwrap();
        for event in why.reasons.iter().flat_map(|reason| &reason.events) {
            let told = until.iter().find(|record| record.seq == event.seq);
            assert_eq!(told.map(|record| event_name(&record.event)), Some(&*event.event), "{why:#?}");
        }
        if matches!(question, WhyQuestion::Run(_)) {
            assert!(why.answer.starts_with("it was cut off"), "{why:#?}");
        }
    }
    let page = past.report(&ran.run).unwrap();
    let (html, text) = (page.to_html(), page.to_markdown());
    assert!(html.contains("Cut off") && text.contains("Cut off"), "{text}");
    assert_eq!(text.matches("- [x] ").count(), has_landed.len(), "{text}");
}

// Takes about 8 s: a run with workers, whose record is cut off at 11 places and read each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_lanes_that_is_cut_off_anywhere_claims_nothing_that_did_not_happen() {
    let cuts = if std::env::var_os("SAMUEL_LONG").is_some() { 500 } else { 12 };
    let ran = Ran::new().await;
    let (whole, log) = (ran.past().run(&ran.run).unwrap(), lines(&ran.past(), &ran.run));
    assert_eq!((whole.landed.len(), whole.returned.len()), (3, 1), "{}", ran.told.text());
    let logs = ran.project.lane_store().dir().logs(&ran.run);
    let [events, inputs] = ["run.jsonl", "inputs.jsonl"].map(|name| {
        let path = logs.join(name);
        let written = fs::read(&path).unwrap();
        (path, written)
    });
    for cut in 1..cuts {
        let at = |written: &[u8], nth: usize| written.len() * nth / cuts;
        fs::write(&events.0, &events.1[..at(&events.1, cut)]).unwrap();
        // The two parts are not written at once.
        fs::write(&inputs.0, &inputs.1[..at(&inputs.1, cut * 7 % cuts)]).unwrap();
        let past = ran.past();
        let told = lines(&past, &ran.run);
        assert_eq!(told[..], log[..told.len()]);
        claims_nothing_else(&ran, &past.run(&ran.run).unwrap(), &whole);
        if let Ok(replay) = past.replay(&ran.run) {
            assert!(replay.equal, "{replay:#?}");
        }
    }
    fs::write(&events.0, &events.1).unwrap();
    fs::write(&inputs.0, &inputs.1).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_back_in_a_real_run_of_lanes_is_explained_and_failures_of_all_lanes_are_counted() {
    let ran = Ran::new().await;
    let past = ran.past();
    let returned = ran.told.events.iter().find_map(|record| match &record.event {
        Event::TaskReturned { task, .. } => Some((task.clone(), record.seq)),
        _ => None,
    });
    let (task, seq) = returned.unwrap();
    let why = past.why(&WhyQuestion::Task(task)).unwrap();
    assert!(why.answer.starts_with("it is completed, by commit "), "{why:#?}");
    let told = why.reasons.iter().find(|reason| reason.events.iter().any(|event| event.seq == seq)).unwrap();
    assert!(told.text.contains("did not land") && told.text.contains("conflict-1-2.txt"), "{why:#?}");
    // Of what was done twice the page tells both times.
    let page = past.report(&ran.run).unwrap();
    let third = page.tasks.iter().find(|task| task.task.as_str() == "3").unwrap();
    assert_eq!((third.taken_back, third.completed), (1, true), "{third:#?}");
    let checks = page.run.checks.iter().flat_map(|check| &check.failures);
    assert!(
        checks.into_iter().any(|failure| failure.tail.contains("broken-3 is there")),
        "{:#?}",
        page.run.checks
    );
    let failed = ran.told.events.iter().filter(|record| {
        matches!(record.event, Event::IterationFinished { outcome: IterationOutcome::Failed, .. })
    });
    let failed = u32::try_from(failed.count()).unwrap();
    let log = lines(&past, &ran.run);
    let checks =
        log.iter().filter(|line| line.contains("checks failed: ") || line.contains("quality.check: "));
    assert_eq!(checks.count(), 1, "it is told once: {log:#?}");
    let of_run = past.runs().unwrap().runs[0].failed_iterations;
    assert_eq!((ran.told.report.failed_iterations, of_run), (failed, failed), "{}", ran.told.text());
    assert!(failed >= 1 && ran.user.git("status --porcelain").is_empty(), "{}", ran.told.text());
}
