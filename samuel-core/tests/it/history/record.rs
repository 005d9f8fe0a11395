//! What is written, and following it.

use std::{
    fs,
    io::Write as _,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
};

use samuel_core::{
    agent::{Script, ScriptedCall},
    event::{Event, EventRecord, PlanChange},
    history::{EntryFilter, HistoryError, RunState, event_line},
    hook::{Call, points},
    model::{
        Coded, ErrorCode, ExitReason, FailureClass, TaskId,
        payload::{Actor, AgentInvokeOutput},
    },
    state::RecordPart,
    testing::{FakeHandler, HeldAgent, completes_each_task},
};

use crate::history::kit::{
    HANG, LONG_AGO, RUN, begins, checked, finished, history, lines, on_disk, started, tell, tell_from,
};

#[tokio::test(flavor = "multi_thread")]
async fn every_event_that_is_told_is_recorded_in_order_with_its_version() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    let run = history(&bench).resolve(None).unwrap();
    let text = String::from_utf8(lines(&*bench.lane(), &run, RecordPart::Events)).unwrap();
    let recorded: Vec<EventRecord> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(recorded, played.events);
    assert!(text.lines().all(|line| line.starts_with("{\"schema_version\":1,")));
    let inputs = String::from_utf8(lines(&*bench.lane(), &run, RecordPart::Inputs)).unwrap();
    assert!(inputs.lines().count() > 20 && inputs.lines().all(|line| line.contains("\"schema_version\":1,")));

    let read = history(&bench).run(&run).unwrap();
    assert_eq!((read.state, read.iterations.len(), read.gaps), (RunState::Ended, 2, Default::default()));
    assert_eq!(read.completed, [TaskId::new("1"), TaskId::new("2")]);
    assert_eq!(read.report.map(|report| report.exit_reason), Some(ExitReason::Completed));
    let filter = EntryFilter { task: Some(TaskId::new("2")), ..EntryFilter::default() };
    let mut entries = history(&bench).entries(&run);
    let mut iterations = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        if filter.takes(&entry) && !matches!(entry.record.event, Event::RunFinished(_)) {
            iterations.push(entry.iteration);
        }
    }
    iterations.dedup();
    assert_eq!(iterations, [Some(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_inputs_hold_no_environment_value() {
    let bench = on_disk(&[("1", "First")]);
    let call = ScriptedCall::any().run("printf %s \"$GOFLAGS\" > got").done();
    let env = [("PATH", "/usr/bin:/bin"), ("GOFLAGS", "zq9xk7v2m4tq8w1c")];
    let run = bench.run(Script::default().call(call));
    bench.play(run.env(env.map(|(name, value)| (name.to_owned(), value.to_owned())))).await.unwrap();
    let run = history(&bench).resolve(None).unwrap();
    let inputs = String::from_utf8(lines(&*bench.lane(), &run, RecordPart::Inputs)).unwrap();
    assert!(inputs.contains("GOFLAGS") && !inputs.contains("zq9xk7v2m4tq8w1c"), "{inputs}");
    assert_eq!(std::fs::read_to_string(bench.path().join("got")).unwrap(), "zq9xk7v2m4tq8w1c");
}

/// Returns the files below a directory that have a text in them.
fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true => files_with(&path, text),
        false => {
            let has_it = fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text));
            has_it.then_some(path).into_iter().collect()
        }
    });
    found.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_arguments_stay_real_and_are_recorded_hidden() {
    const KEY: &str = "zq9xk7v2m4tq8w1c";
    let bench = on_disk(&[("1", "First")]);
    let gate = FakeHandler::<points::AbilityBefore>::passes();
    let call = ScriptedCall::any().say(format!("I have {KEY}")).write("made", KEY).done();
    let run = bench.run(Script::default().call(call)).hook("gate", gate.clone());
    let played = bench.play(run.env([("MY_FLAG".to_owned(), KEY.to_owned())])).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    assert!(gate.calls().iter().any(|call| call.input().input.contains(KEY)));
    assert_eq!(fs::read_to_string(bench.path().join("made")).unwrap(), KEY);
    assert_eq!(files_with(&bench.path().join(".samuel"), KEY), Vec::<PathBuf>::new());
    let replay = played.replay().unwrap();
    assert!(replay.equal && replay.ended, "{replay:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_lowercased_failure_holds_a_secret() {
    const KEY: &str = "Zq9Xk7V2m4Tq8w1C";
    let bench = on_disk(&[("1", "First")]);
    let fails = async |_: Call<points::AgentInvoke>| {
        let stderr = format!("refused {KEY}");
        Ok(AgentInvokeOutput { exit_code: 3, stderr, ..AgentInvokeOutput::default() })
    };
    let run = bench.run(Script::default()).env([("MY_FLAG".to_owned(), KEY.to_owned())]);
    let run = run.hook::<points::AgentInvoke, _>("fails", fails);
    let run = run.settings(|settings| settings.max_iterations = NonZero::new(2));
    let played = bench.play(run).await.unwrap();
    assert_eq!(played.report.failed_iterations, 2);
    // Runs compare failures in small letters and without digits.
    for text in [KEY, "zq#xk#v#"] {
        assert_eq!(files_with(&bench.path().join(".samuel"), text), Vec::<PathBuf>::new());
    }
    assert!(!files_with(&bench.path().join(".samuel"), "refused ***").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn following_ends_with_the_run_and_tells_what_it_told() {
    let bench = on_disk(&[("1", "First")]);
    let agent = Arc::new(HeldAgent::new());
    let run = bench.run(completes_each_task()).agent(Arc::clone(&agent) as _);
    let run = run.settings(|settings| settings.max_iterations = std::num::NonZero::new(1));
    let handle = run.build().unwrap().start().await.unwrap();
    agent.called().await;
    // Nothing tells when it is written that the agent was called, but that it is.
    let id = tokio::time::timeout(HANG, async {
        loop {
            match history(&bench).under_way().unwrap() {
                Some(id) => break id,
                None => tokio::task::yield_now().await,
            }
        }
    });
    let id = id.await.unwrap();
    let mut tail = history(&bench).tail(&id);
    let mut told = Vec::new();
    let followed = async {
        while let Some(entry) = tail.next().await.unwrap() {
            if matches!(entry.record.event, Event::AgentStarted { .. }) {
                agent.release();
            }
            told.push(entry.record);
        }
    };
    tokio::time::timeout(HANG, followed).await.unwrap();
    assert!(matches!(told.last().unwrap().event, Event::RunFinished(_)));
    assert_eq!(told.first().unwrap().seq, 1);
    handle.wait().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn following_a_run_whose_loop_is_gone_ends_with_what_it_wrote() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![Event::Paused, Event::Resumed]);
    let mut tail = history(&bench).tail(RUN);
    let followed = async {
        let mut told = 0;
        while tail.next().await.unwrap().is_some() {
            told += 1;
        }
        told
    };
    assert_eq!(tokio::time::timeout(HANG, followed).await.unwrap(), 2);
    assert!(tail.is_cut_off());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_written_is_one_warning_and_the_run_goes_on() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    // A file stands where the directory of logs would.
    std::fs::write(bench.lane().dir().all_logs(), "").unwrap();
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed);
    let told = played.events.iter().filter(|record| match &record.event {
        Event::Warning { message } => message.contains("could not be recorded"),
        _ => false,
    });
    assert_eq!(told.count(), 1);
    assert!(matches!(history(&bench).resolve(None), Err(HistoryError::State(_) | HistoryError::NoRuns)));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_go_with_the_logs_of_their_runs() {
    let bench = on_disk(&[("1", "First")]);
    for _ in 0..3 {
        let run = checked(&bench, "true").settings(|settings| settings.keep_runs = 2);
        bench.play(run).await.unwrap();
        bench
            .store()
            .mutate(
                samuel_core::state::Mutation::Reset { id: TaskId::new("1") },
                samuel_core::state::Actor::User,
            )
            .unwrap();
    }
    let runs = history(&bench).runs().unwrap();
    assert_eq!(runs.runs.len(), 2);
    assert!(runs.runs.iter().all(|run| run.exit_reason == Some(ExitReason::Completed)), "{runs:#?}");
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id_and_an_unknown_one_names_the_nearest() {
    let bench = on_disk(&[("1", "First")]);
    let history = history(&bench);
    assert_eq!(history.resolve(None).unwrap_err().code(), ErrorCode::RECORD_NOT_FOUND);
    assert!(matches!(history.resolve(Some("x")), Err(HistoryError::NoRuns)));
    tell(&*bench.lane(), RUN, vec![Event::Paused]);
    tell(&*bench.lane(), "20261121T110000Z-0123", vec![Event::Paused]);
    assert_eq!(history.resolve(Some("20261121T10")).unwrap(), RUN);
    assert_eq!(history.resolve(None).unwrap(), "20261121T110000Z-0123");
    let several = history.resolve(Some("2026")).unwrap_err().to_string();
    assert_eq!(
        several,
        "\"2026\" is the beginning of several runs: 20261121T100000Z-abcd, 20261121T110000Z-0123"
    );
    for second in 10..17 {
        tell(&*bench.lane(), &format!("20261122T1000{second}Z-abcd"), vec![Event::Paused]);
    }
    let many = history.resolve(Some("20261122")).unwrap_err().to_string();
    assert!(many.ends_with("20261122T100014Z-abcd and 2 more"), "{many}");
    let unknown = history.resolve(Some("20261121T100000Z-abce")).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "no run \"20261121T100000Z-abce\" is recorded; the nearest is 20261121T100000Z-abcd"
    );
}

#[test]
fn of_many_completions_that_are_taken_back_a_line_names_the_first() {
    let tasks = (1..=1_000).map(|number| TaskId::new(number.to_string())).collect();
    let line = event_line(&Event::TasksTakenBack { tasks, reasons: vec!["the check failed".to_owned()] });
    let line = line.unwrap();
    assert!(line.starts_with("taken back: 1, 2, 3, "), "{line}");
    assert!(line.ends_with(", 20 and 980 more (the check failed)"), "{line}");
}

#[test]
fn a_record_of_a_later_version_and_one_that_is_torn_say_so() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![Event::Paused]);
    bench.lane().append_record(RUN, RecordPart::Events, b"{\"torn\n\xff\xfe\n").unwrap();
    let read = history(&bench).run(RUN).unwrap();
    assert_eq!((read.state, read.gaps.unreadable), (RunState::CutOff, 2));
    let later = b"{\"schema_version\":9,\"event\":\"of_tomorrow\"}\n";
    bench.lane().append_record(RUN, RecordPart::Events, later).unwrap();
    let refused = history(&bench).run(RUN).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::RECORD_VERSION);
    assert_eq!(
        refused.to_string(),
        "the record of run 20261121T100000Z-abcd has version 9, and this Samuel reads version 1"
    );
    // A list of runs has it all the same.
    let listed = history(&bench).runs().unwrap();
    assert_eq!(listed.runs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_told_that_comes_before_a_line_of_a_later_version_and_nothing_behind_it() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![Event::Paused, Event::Resumed]);
    let later = b"{\"schema_version\":9,\"event\":\"of_tomorrow\"}\n";
    bench.lane().append_record(RUN, RecordPart::Events, later).unwrap();
    tell(&*bench.lane(), RUN, vec![Event::Paused]);
    let mut entries = history(&bench).entries(RUN);
    let mut tail = history(&bench).tail(RUN);
    for told in [Event::Paused, Event::Resumed] {
        assert_eq!(entries.next_entry().unwrap().unwrap().record.event, told);
        let followed = tokio::time::timeout(HANG, tail.next()).await.unwrap();
        assert_eq!(followed.unwrap().unwrap().record.event, told);
    }
    for _ in 0..2 {
        let refused = entries.next_entry().unwrap_err();
        assert!(matches!(refused, HistoryError::LaterVersion { found: 9, .. }), "{refused}");
        let refused = tokio::time::timeout(HANG, tail.next()).await.unwrap().unwrap_err();
        assert!(matches!(refused, HistoryError::LaterVersion { found: 9, .. }), "{refused}");
    }
}

#[test]
fn of_a_run_whose_record_goes_on_with_lines_of_a_later_version_there_are_no_figures() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![started(1, "1"), finished(1, true, 1)]);
    let later = b"{\"schema_version\":9,\"event\":\"run_started\"}\n";
    bench.lane().append_record(RUN, RecordPart::Events, later).unwrap();
    let activity = history(&bench).activity().unwrap();
    assert_eq!((activity.runs, activity.unread_runs, activity.tasks.len()), (0, 1, 0), "{activity:#?}");
}

#[test]
fn what_is_made_pending_again_is_no_longer_told_as_completed() {
    let bench = on_disk(&[("1", "First")]);
    let mut ended = finished(1, false, 0);
    if let Event::IterationFinished { completed, .. } = &mut ended {
        completed.push(TaskId::new("1"));
    }
    let reset = Event::PlanChanged {
        change: PlanChange::Reset,
        task: TaskId::new("1"),
        title: "First".to_owned(),
        reason: None,
        actor: Actor::User,
    };
    tell(&*bench.lane(), RUN, vec![started(1, "1"), ended.clone()]);
    assert_eq!(history(&bench).run(RUN).unwrap().completed, [TaskId::new("1")]);
    let other = "20261121T110000Z-abcd";
    tell(&*bench.lane(), other, vec![started(1, "1"), ended, reset]);
    assert!(history(&bench).run(other).unwrap().completed.is_empty());
    // A list of runs knows it, too.
    assert!(history(&bench).runs().unwrap().runs[0].completed.is_empty());
}

#[test]
fn an_iteration_that_began_in_the_run_before_says_nothing_of_how_long_iterations_take() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![finished(1, true, 1), started(2, "1"), finished(2, false, 0)]);
    let activity = history(&bench).activity().unwrap();
    assert_eq!((activity.eta.iterations, activity.tasks[0].iterations), (1, 1), "{activity:#?}");
    assert_eq!(activity.last_failures.len(), 1);
}

#[test]
fn an_iteration_that_met_a_usage_limit_is_no_failure_and_says_nothing_of_how_long_work_takes() {
    let bench = on_disk(&[("1", "First")]);
    let mut limited = finished(1, true, 0);
    if let Event::IterationFinished { excused, failure: Some(failure), .. } = &mut limited {
        (*excused, failure.class) = (true, FailureClass::RateLimit);
    }
    tell(&*bench.lane(), RUN, vec![started(1, "1"), limited, started(2, "1"), finished(2, false, 0)]);
    let activity = history(&bench).activity().unwrap();
    let [task] = &activity.tasks[..] else { panic!("{activity:#?}") };
    assert_eq!((task.iterations, task.failed, activity.eta.iterations), (2, 0, 1), "{activity:#?}");
    assert_eq!(activity.last_failures, []);
    assert_eq!(history(&bench).runs().unwrap().runs[0].failed_iterations, 0);
}

#[test]
fn runs_that_began_within_one_second_are_in_the_order_in_which_they_began() {
    let bench = on_disk(&[("1", "First")]);
    let [first, second, third] = ["20261121T100000Z-cccc", "20261121T100000Z-aaaa", "20261121T100000Z-bbbb"];
    for (run, from) in [(first, 10), (second, 20), (third, 30)] {
        tell_from(&*bench.lane(), run, from, vec![started(1, "1"), finished(1, true, 1)]);
    }
    tell(&*bench.lane(), RUN, vec![Event::Paused]);
    let past = history(&bench);
    let listed = past.runs().unwrap().runs;
    let listed: Vec<&str> = listed.iter().map(|run| run.run.as_str()).collect();
    assert_eq!(listed, [third, second, first, RUN]);
    assert_eq!(past.resolve(None).unwrap(), third);
    let failures = past.activity().unwrap().last_failures;
    let failed: Vec<&str> = failures.iter().map(|failure| failure.event.run.as_str()).collect();
    assert_eq!(failed, [third, second, first]);
}

#[test]
fn a_run_stands_after_the_one_that_it_goes_on_from_whatever_the_clock_said() {
    let bench = on_disk(&[("1", "First")]);
    // By its id the last one would be the first, and by its clock, too.
    let [first, second, third] = ["20261121T100000Z-cccc", "20261121T100000Z-bbbb", "20261121T100000Z-aaaa"];
    for (run, from, second) in [(first, None, 10), (second, Some(first), 10), (third, Some(second), 9)] {
        tell_from(&*bench.lane(), run, second, vec![Event::Paused, begins(from)]);
    }
    let listed =
        || -> Vec<String> { history(&bench).runs().unwrap().runs.into_iter().map(|run| run.run).collect() };
    assert_eq!(listed(), [third, second, first]);
    assert_eq!(history(&bench).resolve(None).unwrap(), third);
    // Two that name each other stand somewhere.
    let [one, other] = ["20261121T090000Z-aaaa", "20261121T090000Z-bbbb"];
    tell_from(&*bench.lane(), one, 0, vec![begins(Some(other))]);
    tell_from(&*bench.lane(), other, 0, vec![begins(Some(one))]);
    assert_eq!(listed().len(), 5);
}

#[test]
fn figures_are_those_of_the_present_plan() {
    let bench = on_disk(&[("1", "First")]);
    let replaced = "20261120T100000Z-abcd";
    // Its plan had a task of the same name.
    tell_from(&*bench.lane(), replaced, LONG_AGO, vec![started(1, "1"), finished(1, true, 1)]);
    tell(&*bench.lane(), RUN, vec![started(1, "1"), finished(1, false, 0)]);
    let activity = history(&bench).activity().unwrap();
    assert_eq!((activity.runs, activity.unread_runs, activity.more_runs), (1, 0, 1), "{activity:#?}");
    assert_eq!((activity.tasks[0].iterations, activity.tasks[0].failed), (1, 0));
    assert!(activity.last_failures.is_empty());
    assert_eq!(activity.eta.iterations, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_which_no_line_can_be_read_says_so_and_no_silence() {
    let bench = on_disk(&[("1", "First")]);
    bench.lane().append_record(RUN, RecordPart::Events, b"{\"torn\n\xff\xfe\n").unwrap();
    let past = history(&bench);
    let mut entries = past.entries(RUN);
    assert!(entries.next_entry().unwrap().is_none());
    let mut tail = past.tail(RUN);
    let followed = tokio::time::timeout(HANG, tail.next());
    assert!(followed.await.unwrap().unwrap().is_none());
    assert_eq!(tail.unreadable(), 2);
    for refused in [
        entries.check_told().unwrap_err(),
        tail.check_told().unwrap_err(),
        past.run(RUN).unwrap_err(),
        past.report(RUN).unwrap_err(),
        past.why(&samuel_core::history::WhyQuestion::Run(None)).unwrap_err(),
    ] {
        assert_eq!(refused.code(), ErrorCode::RECORD_NOT_FOUND);
        assert_eq!(refused.to_string(), format!("nothing can be read in run.jsonl of run {RUN}, of 2 lines"));
    }
    tell(&*bench.lane(), RUN, vec![Event::Paused]);
    let mut entries = past.entries(RUN);
    assert!(entries.next_entry().unwrap().is_some());
    entries.check_told().unwrap();
}

#[test]
fn lines_that_are_too_long_to_be_read_are_counted_as_others_that_cannot_be() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, vec![Event::Paused]);
    let path = bench.lane().dir().logs(RUN).join("run.jsonl");
    let told = std::fs::read(&path).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    // There are 65 MiB of nothing before and behind the second event.
    for behind in [&told[..], b""] {
        file.set_len(file.metadata().unwrap().len() + (65 << 20)).unwrap();
        file.write_all(&[&b"\n"[..], behind].concat()).unwrap();
    }
    let mut entries = history(&bench).entries(RUN);
    for unreadable in [0, 1] {
        assert_eq!(entries.next_entry().unwrap().unwrap().record.event, Event::Paused);
        assert_eq!(entries.unreadable(), unreadable);
    }
    for _ in 0..2 {
        assert!(entries.next_entry().unwrap().is_none());
        assert_eq!(entries.unreadable(), 2);
    }
    drop(file);
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(65 << 20).unwrap();
    let nothing = history(&bench).run(RUN).unwrap_err().to_string();
    assert_eq!(nothing, format!("nothing can be read in run.jsonl of run {RUN}, of 1 line"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_may_have_fields_that_this_version_does_not_know() {
    let bench = on_disk(&[("1", "First")]);
    let played = bench.play(bench.run(completes_each_task())).await.unwrap();
    let run = history(&bench).resolve(None).unwrap();
    let path = bench.lane().dir().logs(&run).join("run.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let later = text.lines().map(|line| line.replacen('{', "{\"later\":2,", 1) + "\n");
    std::fs::write(&path, later.collect::<String>()).unwrap();
    let (mut entries, mut read) = (history(&bench).entries(&run), Vec::new());
    while let Some(entry) = entries.next_entry().unwrap() {
        read.push(entry.record);
    }
    assert_eq!((read, entries.unreadable()), (played.events, 0));
}
