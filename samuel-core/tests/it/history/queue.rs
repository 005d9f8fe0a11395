//! What lanes handed to the queue: how it was checked, what of it landed and what came back.

use samuel_core::{
    event::{CheckResult, Event, IterationFailure, PlanChange},
    history::{EntryFilter, HistoryError, WhyQuestion},
    model::{
        ExitReason, FailureClass, TaskId,
        payload::{Actor, CheckFailure},
    },
    state::{Holder, RecordPart},
    testing::Bench,
};

use crate::history::{
    kit::{RUN, begins, history, lines, on_disk, started, tell, tell_by, told},
    lanes::{checked, claimed, ended},
    why::ran,
};

fn merged(tasks: &[&str], ok: bool, commit: &str) -> Event {
    let failure = CheckFailure {
        command: "sh fit.sh".to_owned(),
        message: "exit code 3".to_owned(),
        tail: "f1 and f2 together".to_owned(),
        ..CheckFailure::default()
    };
    Event::QualityChecked {
        iteration: 0,
        ok,
        result: if ok { CheckResult::Passed } else { CheckResult::Failed },
        failures: if ok { Vec::new() } else { vec![failure] },
        reason: None,
        commit: Some(commit.to_owned()),
        merged: tasks.iter().map(|id| TaskId::new(*id)).collect(),
    }
}

fn returned(task: &str, attempt: u32, reason: &str) -> Event {
    let (task, reason) = (TaskId::new(task), reason.to_owned());
    Event::TaskReturned { task, attempt, reason, kept: None, excused: false }
}

fn landed(task: &str) -> Event {
    let (into, commit) = ("samuel/run/result".to_owned(), format!("landed-{task}"));
    Event::TaskLanded { task: TaskId::new(task), into, commit }
}

fn begins_at(commit: &str) -> Event {
    let mut event = begins(None);
    if let Event::RunStarted { commit: at, .. } = &mut event {
        *at = Some(commit.to_owned());
    }
    event
}

/// Two lanes pass alone, and fail together.
fn together() -> Bench {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let (one, two) = (Some(1), Some(2));
    let events = vec![
        (None, begins_at("base")),
        (one, claimed("1", 1)),
        (one, started(1, "1")),
        (two, claimed("2", 1)),
        (two, started(2, "2")),
        (one, checked(1, true)),
        (two, checked(2, true)),
        (one, ended(1, false, &["1"])),
        (two, ended(2, false, &["2"])),
        (None, merged(&["2"], true, "merge-2")),
        (None, landed("2")),
        (None, merged(&["1"], false, "merge-1")),
        (None, merged(&["1"], false, "merge-1")),
        (None, returned("1", 1, "the checks failed with it: f1 and f2 together")),
        (None, ran(ExitReason::Blocked)),
    ];
    tell_by(&*bench.lane(), RUN, 0, events);
    bench
}

#[test]
fn the_checks_of_the_queue_are_checks() {
    let bench = together();
    insta::assert_snapshot!(told(&history(&bench).why(&WhyQuestion::Check).unwrap()), @r"
    checks failed: sh fit.sh, since commit merge-1
    - sh fit.sh: exit code 3 [13 quality_checked]
      | f1 and f2 together
    - it failed first for the merged work of 1 in run 20261121T100000Z-abcd, at commit merge-1 [12 quality_checked]
    - it passed last for the merged work of 2 in run 20261121T100000Z-abcd, at commit merge-2 [10 quality_checked]
    ");
    let page = history(&bench).report(RUN).unwrap();
    let markdown = page.to_markdown();
    assert!(markdown.contains("The last of merged work (1): checks failed."), "{markdown}");
    assert!(markdown.contains("- sh fit.sh: exit code 3"), "{markdown}");
    let html = page.to_html();
    assert!(
        html.contains("3 passed, 2 failed") && html.contains("Merged work of 1: checks failed"),
        "{html}"
    );
    // What was merged for a check has not landed.
    let (first, last) = (page.run.first_commit.as_deref(), page.run.last_commit.as_deref());
    assert_eq!((first, last), (Some("base"), Some("landed-2")));
    let filter = EntryFilter { task: Some(TaskId::new("1")), ..EntryFilter::default() };
    let mut entries = history(&bench).entries(RUN);
    let of_task: Vec<u64> = std::iter::from_fn(|| entries.next_entry().unwrap())
        .filter(|entry| filter.takes(entry))
        .map(|entry| entry.record.seq)
        .collect();
    assert_eq!(of_task, [2, 3, 6, 8, 12, 13, 14]);
}

#[test]
fn where_a_lane_was_checked_last_the_check_of_merged_work_before_it_is_told_too() {
    let bench = on_disk(&[("1", "First")]);
    let events = vec![(None, merged(&["1", "2"], false, "merge-2")), (Some(3), checked(3, true))];
    tell_by(&*bench.lane(), RUN, 0, events);
    insta::assert_snapshot!(told(&history(&bench).why(&WhyQuestion::Check).unwrap()), @r"
    checks passed in iteration 3, at commit work-3
    - it passed [2 quality_checked]
    - before it checks failed for the merged work of 1, 2, at commit merge-2: sh fit.sh: exit code 3 [1 quality_checked]
      | f1 and f2 together
    ");
}

#[test]
fn a_page_says_what_did_not_land_and_why() {
    let bench = together();
    let page = history(&bench).report(RUN).unwrap();
    let markdown = page.to_markdown();
    let line = "- [ ] 1 First: not completed, 1 attempt did not land\\: the checks failed with it\\: f1 and f2 \
                together, 1 iteration";
    assert!(markdown.contains(line), "{markdown}");
    assert!(page.to_html().contains("1 attempt did not land: the checks failed with it"));
    // One that only came back in this run is among its tasks.
    let other = "20261122T100000Z-abcd";
    let events = vec![(None, begins(None)), (None, returned("2", 3, "it is in conflict in a.txt"))];
    tell_by(&*bench.lane(), other, 100, events);
    let tasks = history(&bench).report(other).unwrap().tasks;
    let tasks: Vec<_> = tasks.iter().map(|of| (of.task.as_str(), of.returned.len(), of.iterations)).collect();
    assert_eq!(tasks, [("2", 1, 0)]);
}

#[test]
fn work_that_somebody_holds_back_is_named_until_they_let_go_of_it() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let changed = |change: PlanChange, reason: Option<&str>| Event::PlanChanged {
        change,
        task: TaskId::new("1"),
        title: "First".to_owned(),
        reason: reason.map(str::to_owned),
        actor: Actor::User,
    };
    let (one, two) = (Some(1), Some(2));
    let held = changed(PlanChange::Held, Some("freeze"));
    let told_first = |bench: &Bench, run: &str, then: Option<Event>| {
        let mut events = vec![(None, begins(None)), (one, started(1, "1")), (one, ended(1, false, &["1"]))];
        events.push((two, held.clone()));
        events.extend(then.map(|event| (None, event)));
        events.push((None, ran(ExitReason::Blocked)));
        tell_by(&*bench.lane(), run, 0, events);
    };
    told_first(&bench, RUN, None);
    let page = history(&bench).report(RUN).unwrap();
    let line = "- [ ] 1 First: not completed, held back in the queue by user\\: freeze, 1 iteration";
    assert!(page.to_markdown().contains(line), "{}", page.to_markdown());
    let why = told(&history(&bench).why(&WhyQuestion::Run(None)).unwrap());
    assert!(why.contains("- task 1 is held back in the queue by user: freeze [4 plan_changed]"), "{why}");
    let let_go = "20261122T100000Z-abcd";
    told_first(&bench, let_go, Some(changed(PlanChange::LetGo, None)));
    let page = history(&bench).report(let_go).unwrap();
    assert!(page.run.held.is_empty() && !page.to_markdown().contains("held back"), "{}", page.to_markdown());
    let why = told(&history(&bench).why(&WhyQuestion::Run(Some(let_go.to_owned()))).unwrap());
    assert!(!why.contains("held back"), "{why}");
    let landed_since = "20261123T100000Z-abcd";
    told_first(&bench, landed_since, Some(landed("1")));
    assert!(history(&bench).run(landed_since).unwrap().held.is_empty());
}

#[test]
fn the_timeline_of_a_page_has_a_row_for_each_lane_over_the_same_time() {
    let bench = together();
    let html = history(&bench).report(RUN).unwrap().to_html();
    let rows: Vec<&str> = html.split("<div class=\"line\"").skip(1).collect();
    let widths = |row: &str| {
        let parts = row.split("</div>").next().unwrap().split("<i").skip(1);
        let part = |part: &str| {
            let width = part.split("flex-grow:").nth(1).unwrap().split('"').next().unwrap();
            if part.contains("idle") { format!("({width})") } else { width.to_owned() }
        };
        parts.map(part).collect::<Vec<_>>().join(" ")
    };
    // The first one begins two seconds before the second one, and ends a second before it.
    assert_eq!(rows.iter().map(|row| widths(row)).collect::<Vec<_>>(), ["5000 (1000)", "(2000) 4000"]);
    assert!(html.contains("<p class=\"dim\">Lane 2</p>") && html.contains("Over 6.0s in all rows"), "{html}");
    // A single loop has one row, without a time at which nothing is made.
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![begins(None), started(1, "1"), ended(1, false, &["1"])]);
    let html = history(&bench).report(RUN).unwrap().to_html();
    let rows: Vec<String> = html.split("<div class=\"line\"").skip(1).map(widths).collect();
    assert_eq!(rows, ["1000"]);
}

#[test]
fn a_task_that_somebody_skipped_is_no_task_that_was_not_completed() {
    let bench = on_disk(&[("1", "First")]);
    let mut report = ran(ExitReason::Completed);
    if let Event::RunFinished(report) = &mut report {
        report.skipped = vec![TaskId::new("1")];
    }
    tell(&*bench.lane(), RUN, vec![begins(None), started(1, "1"), ended(1, true, &[]), report]);
    let markdown = history(&bench).report(RUN).unwrap().to_markdown();
    assert!(markdown.contains("- [ ] 1 First: skipped, 1 iteration"), "{markdown}");
}

#[test]
fn an_iteration_that_ends_for_the_run_before_is_found_by_its_number_and_is_the_same_as_no_other() {
    let bench = on_disk(&[("1", "First")]);
    let mut interrupted = ended(7, true, &[]);
    if let Event::IterationFinished { failure, .. } = &mut interrupted {
        let message = "samuel ended in mid-iteration".to_owned();
        *failure = Some(IterationFailure { class: FailureClass::Interrupted, message });
    }
    let (one, two) = (Some(1), Some(2));
    let mut events = vec![(None, begins(Some("earlier"))), (one, interrupted)];
    for number in [9, 11, 12] {
        events.extend([(two, started(number, "1")), (two, ended(number, false, &[]))]);
    }
    for (number, failed) in [(8, true), (10, false), (14, true)] {
        events.extend([(one, started(number, "1")), (one, ended(number, failed, &[]))]);
    }
    let stopping = Event::Stopping { reason: ExitReason::NoProgress, detail: None };
    events.push((None, stopping));
    // What was at work then ends later, and decided nothing.
    events.extend([(one, started(13, "1")), (one, ended(13, false, &[]))]);
    events.push((None, ran(ExitReason::NoProgress)));
    tell_by(&*bench.lane(), RUN, 0, events);
    let filter = EntryFilter { iteration: Some(7), ..EntryFilter::default() };
    let mut entries = history(&bench).entries(RUN);
    let of_seven: Vec<u64> = std::iter::from_fn(|| entries.next_entry().unwrap())
        .filter(|entry| filter.takes(entry))
        .map(|entry| entry.record.seq)
        .collect();
    assert_eq!(of_seven, [2]);
    // How long it took is not known: it began in another run.
    assert_eq!(history(&bench).activity().unwrap().eta.iterations, 7);
    let why = history(&bench).why(&WhyQuestion::Run(Some(RUN.to_owned()))).unwrap();
    let named: Vec<&str> = why.reasons.iter().map(|reason| reason.text.as_str()).take(3).collect();
    assert_eq!(named, ["iteration 9 succeeded", "iteration 11 succeeded", "iteration 12 succeeded"]);
}

#[test]
fn a_run_that_goes_on_has_completed_what_it_tells_of_and_not_what_the_one_before_did() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let mut report = ran(ExitReason::Completed);
    if let Event::RunFinished(report) = &mut report {
        report.completed = vec![TaskId::new("1"), TaskId::new("2")];
    }
    let events = vec![begins(Some("earlier")), started(3, "2"), ended(3, false, &["2"]), report];
    tell(&*bench.lane(), RUN, events);
    assert_eq!(history(&bench).run(RUN).unwrap().completed, [TaskId::new("2")]);
    assert_eq!(history(&bench).runs().unwrap().runs[0].completed, [TaskId::new("2")]);
}

#[test]
fn a_run_of_which_no_event_is_there_is_named_wherever_it_would_be_read() {
    let bench = on_disk(&[("1", "First")]);
    let earlier = "20261120T100000Z-abcd";
    tell(&*bench.lane(), earlier, vec![begins(None), checked(1, true)]);
    bench.lane().append_record(RUN, RecordPart::Inputs, b"{}\n").unwrap();
    let listed = history(&bench).runs().unwrap();
    assert_eq!(listed.runs[0].run, RUN);
    let nothing = format!("nothing is recorded in run.jsonl of run {RUN}");
    assert_eq!(listed.runs[0].problem.as_ref(), Some(&nothing));
    let why = history(&bench).why(&WhyQuestion::Check).unwrap();
    assert_eq!(why.answer, "checks passed in iteration 1, at commit work-1");
    let handler = history(&bench).why(&WhyQuestion::Handler("default".to_owned())).unwrap();
    for why in [why, handler] {
        let unread: Vec<_> = why.unread.iter().map(|run| (run.run.as_str(), run.problem.as_str())).collect();
        assert_eq!(unread, [(RUN, nothing.as_str())]);
    }
    assert!(matches!(history(&bench).run(RUN), Err(HistoryError::NoRecord { .. })));
}

#[test]
fn events_in_another_order_are_not_missing_and_one_that_is_there_twice_counts_once() {
    let bench = together();
    let all = lines(&*bench.lane(), RUN, RecordPart::Events);
    let mut all: Vec<&[u8]> = all.split_inclusive(|byte| *byte == b'\n').collect();
    all.swap(9, 10);
    all.insert(6, all[5]);
    let other = on_disk(&[("1", "First"), ("2", "Second")]);
    other.lane().append_record(RUN, RecordPart::Events, &all.concat()).unwrap();
    let page = history(&other).report(RUN).unwrap();
    assert_eq!((page.run.gaps.missing, page.run.gaps.repeated), (0, 1));
    assert_eq!((page.run.checks.len(), page.run.landed.len()), (5, 1));
    assert!(page.to_markdown().contains("The record has 1 event more than once."));
    let markdown = page.to_markdown();
    assert!(!markdown.contains("lacks"), "{markdown}");
}

#[test]
fn what_agents_said_and_nobody_read_in_time_is_not_missing() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![begins(None), Event::Lagged { lost: 1 }, started(1, "1")]);
    let gaps = history(&bench).run(RUN).unwrap().gaps;
    assert_eq!((gaps.missing, gaps.repeated, gaps.agent_text), (0, 0, 1));
}

#[test]
fn why_a_run_under_way_has_not_stopped_names_what_is_in_the_way_of_a_landing_until_something_lands() {
    let bench = on_disk(&[("1", "First")]);
    let holder = Holder::this_process(jiff::Timestamp::UNIX_EPOCH, format!("run {RUN}"));
    let _lock = bench.lane().lock_loop(&holder).unwrap();
    let held = Event::LandingHeld {
        into: "main".to_owned(),
        reason: "these files were changed there: f2".to_owned(),
    };
    tell_by(&*bench.lane(), RUN, 0, vec![(None, begins(None)), (None, held), (Some(1), started(1, "1"))]);
    let why = || told(&history(&bench).why(&WhyQuestion::Run(Some(RUN.to_owned()))).unwrap());
    let line = "the landing on main waits: these files were changed there: f2 [2 landing_held]";
    assert!(why().contains(line), "{}", why());
    assert!(history(&bench).activity().unwrap().now.is_some());
    tell_by(&*bench.lane(), RUN, 10, vec![(None, landed("1"))]);
    assert!(!why().contains("waits"), "{}", why());
}

#[test]
fn a_run_that_holds_does_so_whatever_lands_meanwhile_until_somebody_lets_it_go_on() {
    let bench = on_disk(&[("1", "First")]);
    let holder = Holder::this_process(jiff::Timestamp::UNIX_EPOCH, format!("run {RUN}"));
    let _lock = bench.lane().lock_loop(&holder).unwrap();
    let (one, two) = (Some(1), Some(2));
    let mut seconds = 0;
    let mut after = |events: Vec<(Option<u32>, Event)>| {
        tell_by(&*bench.lane(), RUN, seconds, events);
        seconds += 10;
        let activity = history(&bench).activity().unwrap();
        (activity.now.unwrap().event.event, activity.lanes.len())
    };
    let at_work = vec![(None, begins(None)), (one, started(1, "1")), (two, started(2, "2"))];
    after(at_work);
    // One lane is at work still.
    let (_, lanes) = after(vec![(one, ended(1, false, &[])), (None, Event::Paused)]);
    assert_eq!(lanes, 1);
    let held = after(vec![(two, ended(2, false, &[])), (None, landed("1"))]);
    assert_eq!(held, ("paused".to_owned(), 0));
    let goes_on = after(vec![(None, Event::Resumed), (None, landed("2"))]);
    assert_eq!(goes_on, ("task_landed".to_owned(), 0));
}
