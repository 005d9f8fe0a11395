//! What runs consumed that were cut off and that go on, and how those stand that have told no end.

use std::{collections::BTreeMap, num::NonZeroU32, sync::Arc, time::Duration};

use samuel_core::{
    event::{Event, RunReport},
    history::{HistoryError, WhyQuestion, event_line},
    hook::{HookPoint, HookStatus, Outcome, Timing},
    model::{ExitReason, TaskId, Usage, payload::Turn},
    project::AttemptEnd,
    state::{Holder, LoopLock},
    testing::Bench,
};

use crate::history::{
    kit::{RUN, begins, checked, finished, history, on_disk, started, tell, tell_by, tell_from, told},
    lanes::{answered, called},
    why::report,
};

/// The run that goes on.
const LATER: &str = "20261121T110000Z-abcd";

fn tokens(input_tokens: u64) -> Usage {
    Usage { input_tokens, ..Usage::default() }
}

/// Returns the end of an iteration that consumed so much.
fn consumed(iteration: u32, failed: bool, input_tokens: u64) -> Event {
    let mut event = finished(iteration, failed, u32::from(failed));
    if let Event::IterationFinished { usage, .. } = &mut event {
        *usage = tokens(input_tokens);
    }
    event
}

/// Tells of a run that was killed after a call, and of the one that goes on from it.
fn killed_and_goes_on(bench: &Bench) {
    let killed = vec![begins(None), started(1, "1"), called(1, "claude"), answered(1, 500)];
    tell(&*bench.lane(), RUN, killed);
    let goes_on = vec![
        begins(Some(RUN)),
        consumed(1, true, 500),
        started(2, "1"),
        called(2, "claude"),
        answered(2, 100),
        consumed(2, false, 100),
        // The machine counts over both.
        Event::RunFinished(RunReport { usage: tokens(600), ..report(ExitReason::Completed) }),
    ];
    tell_from(&*bench.lane(), LATER, 100, goes_on);
}

#[test]
fn what_was_consumed_before_a_kill_is_told_of_the_run_that_consumed_it() {
    let bench = on_disk(&[("1", "First")]);
    killed_and_goes_on(&bench);
    for (run, all) in [(RUN, 500), (LATER, 100)] {
        let history = history(&bench).run(run).unwrap();
        let of_agents: u64 = history.agents.iter().map(|agent| agent.usage.input_tokens).sum();
        assert_eq!((history.usage.input_tokens, of_agents), (all, all), "{run}");
    }
    let listed: Vec<u64> =
        history(&bench).runs().unwrap().runs.iter().map(|run| run.usage.input_tokens).collect();
    assert_eq!(listed, [100, 500]);
}

#[test]
fn an_iteration_that_was_cut_off_is_told_with_what_its_calls_consumed() {
    let bench = on_disk(&[("1", "First")]);
    killed_and_goes_on(&bench);
    let page = history(&bench).report(RUN).unwrap();
    let [iteration] = &page.run.iterations[..] else { panic!("{:#?}", page.run.iterations) };
    assert_eq!((iteration.usage, page.tasks[0].usage), (tokens(500), tokens(500)));
}

#[test]
fn the_figures_of_a_task_have_the_iteration_that_another_run_ended() {
    let bench = on_disk(&[("1", "First")]);
    killed_and_goes_on(&bench);
    let activity = history(&bench).activity().unwrap();
    let [task] = &activity.tasks[..] else { panic!("{:#?}", activity.tasks) };
    assert_eq!((task.iterations, task.failed, task.usage), (2, 1, tokens(600)));
    let [failure] = &activity.last_failures[..] else { panic!("{:#?}", activity.last_failures) };
    assert_eq!((failure.iteration, failure.task.as_ref().map(|task| task.as_str())), (1, Some("1")));
}

#[test]
fn report_and_status_agree_on_a_resumed_run() {
    let bench = on_disk(&[("1", "First"), ("2", "Second"), ("3", "Third")]);
    let (one, two, three) = (Some(1), Some(2), Some(3));
    let back = Event::TasksTakenBack { tasks: vec![TaskId::new("2")], reasons: Vec::new() };
    let killed = vec![
        (None, begins(None)),
        (one, started(1, "1")),
        (two, started(2, "2")),
        (three, started(3, "3")),
        (one, called(1, "claude")),
        (two, called(2, "codex")),
        (three, called(3, "claude")),
        (two, answered(2, 20)),
        (two, back.clone()),
        (two, consumed(2, true, 20)),
        (one, answered(1, 10)),
        (two, started(4, "2")),
        (two, called(4, "codex")),
        (two, answered(4, 40)),
    ];
    tell_by(&*bench.lane(), RUN, 0, killed);
    let goes_on = vec![
        (None, begins(Some(RUN))),
        (one, consumed(1, true, 15)),
        (two, consumed(4, true, 44)),
        (three, consumed(3, true, 3)),
        (None, back),
        (one, started(5, "1")),
        (one, called(5, "claude")),
        (one, answered(5, 100)),
        (one, consumed(5, false, 100)),
        (two, started(6, "2")),
        (two, called(6, "gemini")),
        (two, answered(6, 200)),
    ];
    tell_by(&*bench.lane(), LATER, 100, goes_on);
    let pages = [RUN, LATER].map(|run| history(&bench).report(run).unwrap());
    let rows = pages.iter().flat_map(|page| &page.run.iterations);
    // The later run has the end of an iteration that is in both.
    let rows: BTreeMap<u32, _> = rows.map(|row| (row.iteration, row)).collect();
    let mut tasks: BTreeMap<&str, (u32, u32, u32, u64)> = BTreeMap::new();
    for row in rows.values() {
        let figures = tasks.entry(row.task.as_ref().unwrap().as_str()).or_default();
        figures.0 += 1;
        figures.1 += u32::from(row.has_failed());
        figures.3 += row.usage.input_tokens;
    }
    for task in pages.iter().flat_map(|page| &page.tasks) {
        tasks.entry(task.task.as_str()).or_default().2 += task.taken_back;
    }
    assert_eq!(tasks, BTreeMap::from([("1", (2, 1, 0, 115)), ("2", (3, 2, 2, 264)), ("3", (1, 1, 0, 3))]));
    let activity = history(&bench).activity().unwrap();
    let figures = activity
        .tasks
        .iter()
        .map(|of| (of.task.as_str(), (of.iterations, of.failed, of.taken_back, of.usage.input_tokens)));
    assert_eq!(figures.collect::<BTreeMap<_, _>>(), tasks);
    let mut agents: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for share in pages.iter().flat_map(|page| &page.run.agents) {
        let sum = agents.entry(share.agent.as_str()).or_default();
        (sum.0, sum.1) = (sum.0 + share.calls, sum.1 + share.usage.input_tokens);
    }
    let shares =
        activity.agents.iter().map(|share| (share.agent.as_str(), (share.calls, share.usage.input_tokens)));
    assert_eq!(shares.collect::<BTreeMap<_, _>>(), agents);
}

#[test]
fn every_iteration_that_another_run_began_is_filled_in() {
    let bench = on_disk(&[("1", "First"), ("2", "Second"), ("3", "Third")]);
    let (one, two, three) = (Some(1), Some(2), Some(3));
    let killed = vec![
        (None, begins(None)),
        (one, started(1, "1")),
        (two, started(2, "2")),
        (three, started(3, "3")),
        (two, called(2, "codex")),
    ];
    tell_by(&*bench.lane(), RUN, 0, killed);
    let goes_on = vec![
        (None, begins(Some(RUN))),
        (one, consumed(1, true, 10)),
        (two, consumed(2, true, 20)),
        (three, consumed(3, true, 40)),
        (two, started(4, "2")),
        (two, consumed(4, false, 5)),
    ];
    tell_by(&*bench.lane(), LATER, 100, goes_on);
    let read = history(&bench).run(LATER).unwrap();
    let rows: Vec<_> = read
        .iterations
        .iter()
        .map(|row| (row.iteration, row.task.as_ref().map(TaskId::as_str), row.began_in.as_deref()))
        .collect();
    let (first, second, third) = (Some("1"), Some("2"), Some("3"));
    let expected = [(1, first, Some(RUN)), (2, second, Some(RUN)), (3, third, Some(RUN)), (4, second, None)];
    assert_eq!(rows, expected);
    assert_eq!(read.iterations[1].turns.len(), 1);
    let activity = history(&bench).activity().unwrap();
    let tasks: Vec<_> = activity
        .tasks
        .iter()
        .map(|task| (task.task.as_str(), task.iterations, task.failed, task.usage.input_tokens))
        .collect();
    assert_eq!(tasks, [("1", 1, 1, 10), ("2", 2, 1, 25), ("3", 1, 1, 40)]);
    let attempts = history(&bench).task(&TaskId::new("2")).unwrap().attempts;
    let attempts: Vec<_> = attempts
        .iter()
        .map(|of| (of.run.as_deref(), of.iteration, of.end, of.usage, of.ended_at.is_some()))
        .collect();
    let expected = [
        (Some(RUN), Some(2), AttemptEnd::Failed, Some(tokens(20)), false),
        (Some(LATER), Some(4), AttemptEnd::Open, Some(tokens(5)), true),
    ];
    assert_eq!(attempts, expected);
}

#[test]
fn another_workers_iteration_ends_no_attempt() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    tell(&*bench.lane(), RUN, vec![begins(None), started(1, "1"), called(1, "claude")]);
    let two = Some(2);
    let goes_on = vec![(None, begins(Some(RUN))), (two, started(2, "2")), (two, consumed(2, false, 300))];
    tell_by(&*bench.lane(), LATER, 100, goes_on);
    let attempts = history(&bench).task(&TaskId::new("1")).unwrap().attempts;
    let [cut_off] = &attempts[..] else { panic!("{attempts:#?}") };
    assert_eq!((cut_off.iteration, cut_off.end), (Some(1), AttemptEnd::CutOff));
    assert_eq!((cut_off.usage, cut_off.ended_at), (None, None));
}

/// Takes the lock of a loop that works for a run.
fn at_work(bench: &Bench, run: &str) -> Arc<dyn LoopLock> {
    let holder = Holder::this_process(jiff::Timestamp::UNIX_EPOCH, format!("run {run}"));
    bench.lane().lock_loop(&holder).unwrap()
}

#[tokio::test]
async fn a_run_that_gets_ready_is_the_one_that_is_meant() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![begins(None), Event::RunFinished(report(ExitReason::Completed))]);
    let history = history(&bench);
    let lock = at_work(&bench, LATER);
    for named in [None, Some(LATER), Some("20261121T11")] {
        assert_eq!(history.resolve(named).unwrap(), LATER);
    }
    assert_eq!(history.resolve(Some(RUN)).unwrap(), RUN);
    let why = history.why(&WhyQuestion::Run(None)).unwrap();
    assert_eq!(why.answer, "it has not stopped: it gets ready, and has told nothing yet");
    for refused in [history.report(LATER).unwrap_err(), history.entries(LATER).check_told().unwrap_err()] {
        assert!(matches!(refused, HistoryError::NothingYet { .. }), "{refused}");
    }
    let mut tail = history.tail(LATER);
    tell(&*bench.lane(), LATER, vec![begins(None), Event::RunFinished(report(ExitReason::Completed))]);
    let mut seen = 0;
    let read = async {
        while tail.next().await.unwrap().is_some() {
            seen += 1;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), read).await.unwrap();
    assert_eq!(seen, 2);
    drop(lock);
    assert_eq!(history.resolve(None).unwrap(), LATER);
}

#[test]
fn a_run_that_is_about_to_end_does_not_hold_and_says_why_it_ends() {
    let bench = on_disk(&[("1", "First")]);
    let detail = Some("the limit of $5".to_owned());
    let stopping = Event::Stopping { reason: ExitReason::Budget, detail };
    let of_two = |events: Vec<Event>| events.into_iter().map(|event| (Some(1), event)).collect::<Vec<_>>();
    let lane = bench.lane();
    tell(&*lane, "20261121T100000Z-aaaa", vec![begins(None), Event::Paused]);
    tell(&*lane, "20261121T100001Z-aaaa", vec![begins(None), Event::Paused, stopping]);
    let mut works = of_two(vec![begins(None), started(1, "1")]);
    works.extend([(Some(2), started(2, "2")), (Some(1), finished(1, false, 0)), (Some(1), Event::Paused)]);
    tell_by(&*lane, "20261121T100002Z-aaaa", 0, works);
    let ask = |run: &str| told(&history(&bench).why(&WhyQuestion::Run(Some(run.to_owned()))).unwrap());
    for (run, says) in [
        ("20261121T100000Z-aaaa", "it has not stopped: its loop holds until somebody lets it go on\n"),
        ("20261121T100001Z-aaaa", "it has not stopped: it is about to end as budget: the limit of $5\n"),
        ("20261121T100002Z-aaaa", "it has not stopped: its loop holds, and lanes end what they have begun\n"),
    ] {
        let _lock = at_work(&bench, run);
        let text = ask(run);
        assert!(text.starts_with(says), "{text}");
    }
    let killed = ask("20261121T100001Z-aaaa");
    assert!(
        killed.starts_with("it was cut off when it was about to end as budget: the limit of $5\n"),
        "{killed}"
    );
    assert!(killed.contains("[3 stopping]"), "{killed}");
}

#[test]
fn what_met_a_usage_limit_is_none_of_the_results_that_were_the_same() {
    let bench = on_disk(&[("1", "First")]);
    let mut met_a_limit = finished(3, true, 2);
    if let Event::IterationFinished { excused, .. } = &mut met_a_limit {
        *excused = true;
    }
    let mut events = vec![begins(None), finished(1, true, 1), finished(2, true, 2), met_a_limit];
    events.extend([finished(4, true, 3), Event::RunFinished(report(ExitReason::NoProgress))]);
    tell(&*bench.lane(), RUN, events);
    let why = told(&history(&bench).why(&WhyQuestion::Run(None)).unwrap());
    let named: Vec<u32> =
        (1..=4).filter(|number| why.contains(&format!("- iteration {number} failed"))).collect();
    assert_eq!(named, [1, 2, 4], "{why}");
}

#[test]
fn a_handler_is_not_kept_from_a_call_by_a_chain_that_may_not_have_it() {
    let bench = on_disk(&[("1", "First")]);
    let fired = |called: &[(&str, HookStatus)]| {
        let timing = |(handler, status): &(&str, HookStatus)| Timing {
            handler: (*handler).into(),
            took: Duration::ZERO,
            status: *status,
            class: None,
            exit_code: None,
        };
        let timings: Vec<Timing> = called.iter().map(timing).collect();
        let is_refused = timings.iter().any(|timing| timing.status == HookStatus::Refused);
        let outcome =
            Outcome { timings, refused: is_refused.then(|| "red".to_owned()), ..Outcome::default() };
        Event::HookFired { point: HookPoint::QualityCheck, iteration: 1, turn: Turn::Main, outcome }
    };
    let (passes, refuses) = (HookStatus::Ok, HookStatus::Refused);
    tell(&*bench.lane(), RUN, vec![begins(None), fired(&[("lint:a", passes), ("lint:b", passes)])]);
    let later =
        vec![begins(None), fired(&[("lint:b", passes)]), fired(&[("lint:c", refuses), ("lint:d", passes)])];
    tell_from(&*bench.lane(), LATER, 100, later);
    let ask = |id: &str| history(&bench).why(&WhyQuestion::Handler(id.to_owned())).unwrap().answer;
    let gone = format!(
        "it was not called at quality.check in the last run, which does not tell whether it is still there; run {RUN} \
         called it last"
    );
    assert_eq!(ask("lint:a"), gone);
    assert_eq!(ask("lint:b"), "it was not called at quality.check: lint:c refused before it: red");
}

#[test]
fn a_task_that_is_told_to_be_completed_twice_is_completed_once() {
    let bench = on_disk(&[("1", "First")]);
    let task = || TaskId::new("1");
    let completed = || Event::TaskCompleted {
        task: task(),
        title: "First".to_owned(),
        provisional: false,
        marks: Vec::new(),
    };
    tell(&*bench.lane(), RUN, vec![begins(None), started(1, "1"), completed(), completed()]);
    assert_eq!(history(&bench).run(RUN).unwrap().completed, [task()]);
}

#[tokio::test]
async fn a_check_that_fails_is_told_once() {
    let bench = on_disk(&[("1", "First")]);
    let once = checked(&bench, "false").settings(|settings| settings.max_iterations = NonZeroU32::new(1));
    let played = bench.play(once).await.unwrap();
    let lines = played.events.iter().filter_map(|record| event_line(&record.event));
    let told: Vec<String> = lines.filter(|line| line.contains("check")).collect();
    let check = "checks failed: false: exit code 1";
    assert_eq!(told, [check, "iteration 1 failed, quality-check: false: exit code 1"]);
}
