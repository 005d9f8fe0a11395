//! Runs with several lanes, whose events come in between each other's.

use samuel_core::{
    event::{CheckResult, Event, IterationFailure, PlanChange},
    history::{EntryFilter, LandedTask, LogEntry, WhyQuestion, event_line},
    model::{
        FailureClass, IterationOutcome, TaskId, Usage,
        payload::{Actor, CheckFailure, Turn},
    },
    project::AttemptEnd,
    state::Holder,
    testing::Bench,
};

use crate::history::kit::{RUN, begins, finished, history, on_disk, started, tell_by, told};

pub(crate) fn claimed(task: &str, attempt: u32) -> Event {
    Event::TaskClaimed {
        task: TaskId::new(task),
        title: "A title".to_owned(),
        attempt,
        branch: format!("samuel/run/{task}"),
        base: "base-of-all".to_owned(),
    }
}

pub(crate) fn called(iteration: u32, agent: &str) -> Event {
    let (turn, agent) = (Turn::Main, agent.to_owned());
    Event::AgentStarted { iteration, turn, agent, model: None, why: String::new() }
}

pub(crate) fn answered(iteration: u32, input_tokens: u64) -> Event {
    Event::AgentFinished {
        iteration,
        turn: Turn::Main,
        exit_code: Some(0),
        failure: None,
        usage: Usage { input_tokens, ..Usage::default() },
        duration_ms: 100 * u64::from(iteration),
        logs: Vec::new(),
    }
}

pub(crate) fn checked(iteration: u32, ok: bool) -> Event {
    let failure = CheckFailure {
        command: "sh check.sh".to_owned(),
        message: format!("check {iteration}"),
        tail: format!("printed in {iteration}"),
        ..CheckFailure::default()
    };
    Event::QualityChecked {
        iteration,
        ok,
        result: if ok { CheckResult::Passed } else { CheckResult::Failed },
        failures: if ok { Vec::new() } else { vec![failure] },
        reason: None,
        commit: Some(format!("work-{iteration}")),
        merged: Vec::new(),
    }
}

pub(crate) fn ended(iteration: u32, failed: bool, completes: &[&str]) -> Event {
    let mut event = finished(iteration, failed, u32::from(failed));
    if let Event::IterationFinished { completed, commit, .. } = &mut event {
        completed.extend(completes.iter().map(|id| TaskId::new(*id)));
        *commit = Some(format!("work-{iteration}"));
    }
    event
}

pub(crate) fn lost_its_task(iteration: u32) -> Event {
    let mut event = finished(iteration, true, 0);
    if let Event::IterationFinished { excused, failure, .. } = &mut event {
        let message = "agent \"claude\" was cancelled".to_owned();
        (*excused, *failure) = (true, Some(IterationFailure { class: FailureClass::Interrupted, message }));
    }
    event
}

fn changed(change: PlanChange, task: &str, actor: Actor) -> Event {
    Event::PlanChanged { change, task: TaskId::new(task), title: "A title".to_owned(), reason: None, actor }
}

/// The first lane works on 1 in the iterations 1 and 4; the second fails 2 in its iteration 2, and goes on with it in 3.
fn interleaved() -> Vec<(Option<u32>, Event)> {
    let (one, two) = (Some(1), Some(2));
    let landed = Event::TaskLanded {
        task: TaskId::new("1"),
        into: "samuel/run/result".to_owned(),
        commit: "landed-1".to_owned(),
    };
    let completed = Event::TaskCompleted {
        task: TaskId::new("1"),
        title: "A title".to_owned(),
        provisional: false,
        marks: Vec::new(),
    };
    let submitted = Event::TaskSubmitted {
        task: TaskId::new("1"),
        branch: "samuel/run/1".to_owned(),
        commit: "work-1".to_owned(),
    };
    let taken_back = Event::TasksTakenBack {
        tasks: vec![TaskId::new("2")],
        reasons: vec!["sh check.sh: check 2".to_owned()],
    };
    vec![
        (None, begins(None)),
        (one, claimed("1", 1)),
        (one, started(1, "1")),
        (two, claimed("2", 1)),
        (two, started(2, "2")),
        (one, called(1, "claude")),
        (two, called(2, "codex")),
        (one, answered(1, 10)),
        (two, answered(2, 200)),
        (two, checked(2, false)),
        (one, checked(1, true)),
        (two, taken_back),
        (one, ended(1, false, &["1"])),
        (two, ended(2, true, &[])),
        (two, started(3, "2")),
        (one, submitted),
        (two, called(3, "codex")),
        (None, landed),
        (None, completed),
        (one, claimed("3", 1)),
        (one, started(4, "3")),
        (one, changed(PlanChange::Removed, "3", Actor::User)),
        (two, answered(3, 200)),
        (one, called(4, "claude")),
        (two, checked(3, true)),
        (one, lost_its_task(4)),
        (two, ended(3, false, &["2"])),
        (one, claimed("4", 1)),
        (one, started(5, "4")),
        (two, claimed("5", 1)),
        (two, started(6, "5")),
        (one, called(5, "claude")),
    ]
}

fn played() -> Bench {
    let bench = on_disk(&[("1", "First"), ("2", "Second"), ("3", "Third"), ("4", "Fourth"), ("5", "Fifth")]);
    tell_by(&*bench.lane(), RUN, 0, interleaved());
    bench
}

fn chosen(bench: &Bench, filter: &EntryFilter) -> Vec<u64> {
    all(bench).iter().filter(|entry| filter.takes(entry)).map(|entry| entry.record.seq).collect()
}

fn all(bench: &Bench) -> Vec<LogEntry> {
    let mut entries = history(bench).entries(RUN);
    std::iter::from_fn(|| entries.next_entry().unwrap()).collect()
}

#[test]
fn an_event_belongs_to_the_iteration_of_its_own_lane_and_what_is_of_the_run_or_a_person_to_none() {
    let bench = played();
    let of_task = |id: &str| EntryFilter { task: Some(TaskId::new(id)), ..EntryFilter::default() };
    let of_iteration = |number| EntryFilter { iteration: Some(number), ..EntryFilter::default() };
    assert_eq!(chosen(&bench, &of_task("1")), [2, 3, 6, 8, 11, 13, 16, 18, 19]);
    assert_eq!(chosen(&bench, &of_task("2")), [4, 5, 7, 9, 10, 12, 14, 15, 17, 23, 25, 27]);
    assert_eq!(chosen(&bench, &of_iteration(1)), [3, 6, 8, 11, 13]);
    assert_eq!(chosen(&bench, &of_iteration(2)), [5, 7, 9, 10, 12, 14]);
    // A person removed the task, which the first lane saw.
    assert_eq!(chosen(&bench, &of_iteration(4)), [21, 24, 26]);
    let of_person = &all(&bench)[21];
    assert_eq!((of_person.record.lane, of_person.record.doer(), of_person.iteration), (Some(1), None, None));
}

#[test]
fn a_run_has_the_iterations_checks_and_calls_of_each_lane_and_what_landed() {
    let bench = played();
    let read = history(&bench).run(RUN).unwrap();
    let iterations: Vec<_> = read
        .iterations
        .iter()
        .map(|it| (it.iteration, it.lane, it.outcome, it.took_ms, it.check, it.taken_back.len()))
        .collect();
    let (ok, failed) = (Some(IterationOutcome::Succeeded), Some(IterationOutcome::Failed));
    let (passed, not_passed) = (Some(CheckResult::Passed), Some(CheckResult::Failed));
    assert_eq!(
        iterations,
        [
            (1, Some(1), ok, Some(10_000), passed, 0),
            (2, Some(2), failed, Some(9_000), not_passed, 1),
            (3, Some(2), ok, Some(12_000), passed, 0),
            (4, Some(1), failed, Some(5_000), None, 0),
            (5, Some(1), None, None, None, 0),
            (6, Some(2), None, None, None, 0),
        ]
    );
    let turns: Vec<_> = read.iterations.iter().flat_map(|it| &it.turns).collect();
    let turns: Vec<_> = turns.iter().map(|turn| (turn.agent.as_str(), turn.took_ms)).collect();
    assert_eq!(
        turns,
        [
            ("claude", Some(100)),
            ("codex", Some(200)),
            ("codex", Some(300)),
            ("claude", None),
            ("claude", None),
        ]
    );
    let agents: Vec<_> =
        read.agents.iter().map(|total| (total.agent.as_str(), total.usage.input_tokens)).collect();
    assert_eq!(agents, [("claude", 10), ("codex", 400)]);
    // What a lane has done is completed once it has landed, and its commits are not those of the result.
    assert_eq!(read.completed, [TaskId::new("1")]);
    let landed = |task: &str, commit: &str| LandedTask {
        task: TaskId::new(task),
        into: "samuel/run/result".to_owned(),
        commit: commit.to_owned(),
    };
    assert_eq!(read.landed, [landed("1", "landed-1")]);
    assert_eq!(
        (read.first_commit.as_deref(), read.last_commit.as_deref()),
        (Some("base-of-all"), Some("landed-1"))
    );
    assert_eq!(read.begun(), (6, 1));
    let listed = &history(&bench).runs().unwrap().runs[0];
    assert_eq!((listed.iterations, listed.failed_iterations), (6, 1));
    assert_eq!(listed.completed, [TaskId::new("1")]);
    let page = history(&bench).report(RUN).unwrap();
    let tasks: Vec<_> = page.tasks.iter().map(|of| (of.task.as_str(), of.iterations, of.failed)).collect();
    assert_eq!(tasks, [("1", 1, 0), ("2", 2, 1), ("3", 1, 0), ("4", 1, 0), ("5", 1, 0)]);
    assert_eq!(page.tasks[0].commits, ["landed-1"]);
    assert!(page.to_html().contains("in lane 2") && page.to_html().contains("stopped: its task was settled"));
    assert!(page.to_markdown().contains("- [x] 1 First: completed, 1 iteration (landed-1)"));
}

#[test]
fn figures_are_by_task_whichever_lane_ended_last_and_each_lane_at_work_says_what_it_does() {
    let bench = played();
    let activity = history(&bench).activity().unwrap();
    // Nobody is at work.
    assert_eq!((activity.now, activity.lanes), (None, Vec::new()));
    let tasks: Vec<_> = activity
        .tasks
        .iter()
        .map(|of| (of.task.as_str(), of.iterations, of.failed, of.taken_back, of.took_ms))
        .collect();
    assert_eq!(
        tasks,
        [
            ("1", 1, 0, 0, 10_000),
            ("2", 2, 1, 1, 21_000),
            ("3", 1, 0, 0, 5_000),
            ("4", 1, 0, 0, 0),
            ("5", 1, 0, 0, 0),
        ]
    );
    let [failure] = &activity.last_failures[..] else { panic!("{:#?}", activity.last_failures) };
    assert_eq!((failure.iteration, failure.task.as_ref().unwrap().as_str()), (2, "2"));
    let agents: Vec<_> =
        activity.agents.iter().map(|of| (of.agent.as_str(), of.calls, of.usage.input_tokens)).collect();
    assert_eq!(agents, [("claude", 1, 10), ("codex", 2, 400)]);
    assert_eq!(activity.eta.iterations, 3);

    let holder = Holder::this_process(jiff::Timestamp::UNIX_EPOCH, format!("run {RUN}"));
    let _lock = bench.lane().lock_loop(&holder).unwrap();
    let lanes = history(&bench).activity().unwrap().lanes;
    let lanes: Vec<_> = lanes
        .iter()
        .map(|now| (now.lane, now.iteration, now.task.as_ref().unwrap().as_str(), now.doing.as_str()))
        .collect();
    assert_eq!(
        lanes,
        [
            (Some(1), Some(5), "4", "claude is called"),
            (Some(2), Some(6), "5", "iteration 6 begins: 5 A title"),
        ]
    );
}

#[test]
fn report_and_status_credit_the_agent_that_was_called() {
    let bench = on_disk(&[("1", "First")]);
    let one = Some(1);
    let events = vec![
        (None, begins(None)),
        (one, started(1, "1")),
        (one, called(1, "claude")),
        (one, answered(1, 10)),
        (one, ended(1, false, &["1"])),
        // A turn after the last iteration.
        (one, called(1, "codex")),
        (one, answered(1, 300)),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    let read = history(&bench).run(RUN).unwrap();
    let reported: Vec<_> =
        read.agents.iter().map(|total| (total.agent.clone(), total.usage.input_tokens)).collect();
    let activity = history(&bench).activity().unwrap();
    let shown: Vec<_> =
        activity.agents.iter().map(|share| (share.agent.clone(), share.usage.input_tokens)).collect();
    let expected = [("claude".to_owned(), 10), ("codex".to_owned(), 300)];
    assert_eq!((&reported[..], &shown[..]), (&expected[..], &expected[..]));
}

#[test]
fn status_names_the_call_of_each_worker() {
    let bench = on_disk(&[("1", "First"), ("2", "Second"), ("3", "Third")]);
    let (one, two, three) = (Some(1), Some(2), Some(3));
    let events = vec![
        (None, begins(None)),
        (one, started(1, "1")),
        (two, started(2, "2")),
        (one, called(1, "claude")),
        (two, called(2, "codex")),
        (three, started(3, "3")),
        (three, called(3, "claude")),
        (three, answered(3, 10)),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    let holder = Holder::this_process(jiff::Timestamp::UNIX_EPOCH, format!("run {RUN}"));
    let _lock = bench.lane().lock_loop(&holder).unwrap();
    let lanes = history(&bench).activity().unwrap().lanes;
    let agents: Vec<_> = lanes.iter().map(|now| (now.lane, now.agent.as_deref())).collect();
    assert_eq!(agents, [(one, Some("claude")), (two, Some("codex")), (three, None)]);
}

#[test]
fn a_workers_task_shows_its_attempts() {
    let bench = played();
    let attempts = |task: &str| history(&bench).task(&TaskId::new(task)).unwrap().attempts;
    let of_second = attempts("2");
    let [failed, done] = &of_second[..] else { panic!("{of_second:#?}") };
    assert_eq!((failed.iteration, failed.end), (Some(2), AttemptEnd::TakenBack));
    assert_eq!((done.iteration, done.end), (Some(3), AttemptEnd::Open), "it was not merged");
    let of_first: Vec<_> = attempts("1").iter().map(|attempt| attempt.end).collect();
    assert_eq!(of_first, [AttemptEnd::Completed]);
    assert_eq!(failed.failures, ["sh check.sh: check 2", "quality-check: check 2"]);
    assert_eq!(done.failures, [""; 0]);
    let worker = Some(format!("{RUN}/lane-2"));
    for attempt in [failed, done] {
        assert_eq!((attempt.run.as_deref(), &attempt.owner), (Some(RUN), &worker));
        assert_eq!((&attempt.agents[..], attempt.ended_at.is_some()), (&["codex".to_owned()][..], true));
    }
    // Its run is gone, and nothing says how it ended.
    let of_fourth = attempts("4");
    let [cut_off] = &of_fourth[..] else { panic!("{of_fourth:#?}") };
    assert_eq!((cut_off.iteration, cut_off.end), (Some(5), AttemptEnd::CutOff));
}

#[test]
fn attempt_whose_work_came_back_says_why() {
    let bench = on_disk(&[("1", "First")]);
    let returned = Event::TaskReturned {
        task: TaskId::new("1"),
        attempt: 1,
        reason: "it is in conflict in a.txt".to_owned(),
        kept: None,
        excused: true,
    };
    let one = Some(1);
    let events = vec![
        (None, begins(None)),
        (one, claimed("1", 1)),
        (one, started(1, "1")),
        (one, ended(1, false, &["1"])),
        (None, returned),
        (one, started(2, "1")),
        (one, ended(2, false, &[])),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    let attempts = history(&bench).task(&TaskId::new("1")).unwrap().attempts;
    let ends: Vec<_> = attempts.iter().map(|attempt| attempt.end).collect();
    assert_eq!(ends, [AttemptEnd::Returned, AttemptEnd::Open]);
    assert_eq!(attempts[0].failures, ["it is in conflict in a.txt"]);
}

#[test]
fn answers_rest_on_the_events_of_the_lane_that_is_asked_about() {
    let bench = played();
    let why = |question| told(&history(&bench).why(&question).unwrap());
    insta::assert_snapshot!(why(WhyQuestion::Task(TaskId::new("2"))), @r"
    it is open again, since its completion was taken back: it can be worked on, but 1 comes first: that one has the same priority, and its id comes first
    - taken back: 2 (sh check.sh: check 2) [12 tasks_taken_back]
    - lane 2: checks failed: sh check.sh: check 2 [10 quality_checked]
      | printed in 2
    - iteration 3 succeeded, completed 2 [27 iteration_finished]
    - lane 2: checks passed [25 quality_checked]
    - iteration 3 begins: 2 A title [15 iteration_started]
    - iteration 2 failed, quality-check: check 2 [14 iteration_finished]
    - iteration 2 begins: 2 A title [5 iteration_started]
    - task 2 is claimed: samuel/run/2 [4 task_claimed]
    ");
    insta::assert_snapshot!(why(WhyQuestion::Task(TaskId::new("1"))), @r"
    it is open: of 5 that can be worked on it is the most urgent (priority medium), and of those the first by id
    - task 1 is completed: A title [19 task_completed]
    - task 1 has landed on samuel/run/result as landed-1 [18 task_landed]
    - task 1 is submitted as work-1 [16 task_submitted]
    - iteration 1 succeeded, completed 1 [13 iteration_finished]
    - lane 1: checks passed [11 quality_checked]
    - iteration 1 begins: 1 A title [3 iteration_started]
    - task 1 is claimed: samuel/run/1 [2 task_claimed]
    ");
    insta::assert_snapshot!(why(WhyQuestion::Check), @r"
    checks passed in iteration 3, at commit work-3
    - it passed [25 quality_checked]
    ");
}

#[test]
fn a_check_that_failed_is_held_against_those_of_its_own_lane() {
    let bench = on_disk(&[("1", "First")]);
    let (one, two) = (Some(1), Some(2));
    let events = vec![(one, checked(1, false)), (two, checked(2, true)), (one, checked(3, false))];
    tell_by(&*bench.lane(), RUN, 0, events);
    insta::assert_snapshot!(told(&history(&bench).why(&WhyQuestion::Check).unwrap()), @r"
    checks failed: sh check.sh, since commit work-1
    - sh check.sh: check 3 [3 quality_checked]
      | printed in 3
    - it failed first in iteration 1 of run 20261121T100000Z-abcd, at commit work-1 [1 quality_checked]
    - no check that passed is recorded before it []
    ");
}

#[test]
fn a_run_without_lanes_tells_of_none() {
    let bench = on_disk(&[("1", "First")]);
    let events = vec![begins(None), started(1, "1"), checked(1, true), ended(1, false, &["1"])];
    tell_by(&*bench.lane(), RUN, 0, events.into_iter().map(|event| (None, event)).collect());
    let read = history(&bench).run(RUN).unwrap();
    assert_eq!((read.last_commit.as_deref(), read.completed.len()), (Some("work-1"), 1));
    let text = serde_json::to_string(&(read, history(&bench).activity().unwrap())).unwrap();
    for word in ["lane", "landed", "lost_its_task"] {
        assert!(!text.contains(&format!("\"{word}")), "{text}");
    }
}

#[test]
fn the_ends_that_a_run_rests_on_are_those_of_the_lane_that_repeats_itself() {
    let bench = on_disk(&[("1", "First")]);
    let (one, two) = (Some(1), Some(2));
    let mut events = Vec::new();
    for (number, by, task, completes) in [
        (1, one, "1", &[][..]),
        (2, two, "2", &["2"][..]),
        (3, one, "1", &[]),
        (4, one, "1", &[]),
        (5, two, "3", &["3"]),
    ] {
        events.extend([(by, started(number, task)), (by, ended(number, false, completes))]);
    }
    events.push((None, crate::history::why::ran(samuel_core::model::ExitReason::NoProgress)));
    tell_by(&*bench.lane(), RUN, 0, events);
    let why = history(&bench).why(&WhyQuestion::Run(Some(RUN.to_owned()))).unwrap();
    let rests_on: Vec<&str> = why.reasons.iter().map(|reason| reason.text.as_str()).take(3).collect();
    assert_eq!(rests_on, ["iteration 1 succeeded", "iteration 3 succeeded", "iteration 4 succeeded"]);
}

#[test]
fn an_iteration_whose_task_somebody_settled_met_no_usage_limit() {
    assert_eq!(
        event_line(&lost_its_task(4)).unwrap(),
        "iteration 4 was stopped: its task was settled or given back"
    );
    let mut limited = lost_its_task(4);
    if let Event::IterationFinished { failure: Some(failure), .. } = &mut limited {
        failure.class = FailureClass::RateLimit;
    }
    assert!(event_line(&limited).unwrap().starts_with("iteration 4 met a usage limit, rate-limit: "));
}

#[test]
fn failures_in_a_row_are_of_all_lanes_and_end_where_others_were_only_at_work_still() {
    let bench = on_disk(&[("1", "First")]);
    let (one, two) = (Some(1), Some(2));
    let mut cut_off = lost_its_task(3);
    if let Event::IterationFinished { excused, .. } = &mut cut_off {
        *excused = false;
    }
    let events = vec![
        (two, ended(1, false, &["2"])),
        (one, ended(2, true, &[])),
        (one, lost_its_task(3)),
        (one, cut_off),
        (two, ended(4, true, &[])),
        (one, ended(5, true, &[])),
        (two, ended(6, false, &["3"])),
        (None, crate::history::why::ran(samuel_core::model::ExitReason::ConsecutiveFailures)),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    let why = history(&bench).why(&WhyQuestion::Run(Some(RUN.to_owned()))).unwrap();
    let rests_on: Vec<u64> =
        why.reasons.iter().flat_map(|reason| &reason.events).map(|event| event.seq).collect();
    assert_eq!(rests_on[..3], [2, 5, 6], "{why:#?}");
}

#[test]
fn what_an_agent_left_unrecorded_ends_no_row_of_failures_and_tasks_that_were_blocked_end_a_run_too() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let (one, two) = (Some(1), Some(2));
    let mut silent = ended(3, false, &[]);
    if let Event::IterationFinished { unrecorded, .. } = &mut silent {
        *unrecorded = true;
    }
    let blocked = |task: &str| Event::PlanChanged {
        change: PlanChange::Blocked,
        task: TaskId::new(task),
        title: "A title".to_owned(),
        reason: None,
        actor: Actor::Runtime,
    };
    let events = vec![
        (one, ended(1, true, &[])),
        (two, ended(2, true, &[])),
        (two, silent),
        (one, ended(4, true, &[])),
        (one, blocked("1")),
        (None, blocked("2")),
        (None, crate::history::why::ran(samuel_core::model::ExitReason::ConsecutiveFailures)),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    let why = history(&bench).why(&WhyQuestion::Run(Some(RUN.to_owned()))).unwrap();
    let rests_on: Vec<u64> =
        why.reasons.iter().flat_map(|reason| &reason.events).map(|event| event.seq).collect();
    assert_eq!(rests_on, [1, 2, 4, 5, 6, 7], "{why:#?}");
}

#[test]
fn a_commit_of_a_lane_is_not_the_last_one_of_a_run_whatever_was_told_before() {
    let bench = on_disk(&[("1", "First")]);
    tell_by(&*bench.lane(), RUN, 0, vec![(Some(1), ended(1, true, &[])), (Some(2), started(2, "1"))]);
    assert_eq!(history(&bench).run(RUN).unwrap().last_commit, None);
}

#[test]
fn lines_of_lanes_that_no_run_has_count_as_those_that_cannot_be_read() {
    let bench = on_disk(&[("1", "First")]);
    let events = (1..=1_000).map(|lane| (Some(lane), started(lane, "1"))).collect();
    tell_by(&*bench.lane(), RUN, 0, events);
    let read = history(&bench).run(RUN).unwrap();
    assert_eq!((read.iterations.len(), read.gaps.unreadable), (64, 936));
    let highest = read.iterations.iter().filter_map(|iteration| iteration.lane).max();
    assert_eq!(highest, Some(64));
}
