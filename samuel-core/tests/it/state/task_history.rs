//! What is told of one task after runs and changes.

use samuel_core::{
    agent::{Script, ScriptedCall, Step},
    config::CheckCommand,
    history::History,
    model::{ExitReason, Plan, Status, Task, TaskId},
    project::{AttemptEnd, HistoryChange, RelatedTasks, TaskHistory},
    state::{Actor, Existing, Mutation, NewTask, StateError, TaskEdit},
    testing::{Bench, completes_each_task},
};

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

fn history(bench: &Bench, task: &str) -> TaskHistory {
    History::of(bench.project()).task(&id(task)).unwrap()
}

/// Writes a change in a few words.
fn word(change: &HistoryChange) -> String {
    let word = |status: Option<Status>| status.map_or("-", Status::as_str);
    let line = format!(
        "{} {}: {} to {} {}",
        change.actor,
        change.what,
        word(change.before),
        word(change.after),
        change.details.join("; ")
    );
    line.trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_check_failed_and_the_next_are_told_with_their_logs() {
    let bench = Bench::builder().task("1", "First").on_disk().build().unwrap();
    let checked = bench.run(completes_each_task()).settings(|settings| {
        settings.quality_checks =
            vec![CheckCommand::new("test -f second-time || { touch second-time; false; }")];
    });
    let report = bench.play(checked).await.unwrap().report;
    assert_eq!((report.exit_reason, report.iterations), (ExitReason::Completed, 2));

    let history = history(&bench, "1");
    let ends: Vec<_> = history.attempts.iter().map(|attempt| (attempt.iteration, attempt.end)).collect();
    assert_eq!(ends, [(Some(1), AttemptEnd::TakenBack), (Some(2), AttemptEnd::Completed)]);
    let [first, second] = &history.attempts[..] else { unreachable!("there are two") };
    let [failure] = &first.failures[..] else { unreachable!("it failed once: {:?}", first.failures) };
    assert!(failure.starts_with("test -f second-time") && failure.ends_with(": exit code 1"), "{failure}");
    assert_eq!(second.failures, [""; 0]);
    assert_eq!((&first.run, first.run.as_deref()), (&second.run, first.owner.as_deref()));
    for (attempt, number) in history.attempts.iter().zip(1..) {
        let names: Vec<String> =
            attempt.logs.iter().map(|log| log.file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert!(attempt.logs.iter().all(|log| log.is_file()), "{names:?}");
        assert!(names.contains(&format!("{number}-check-1.out")), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with(&format!("{number}-"))), "{names:?}");
    }
    let changes: Vec<String> = history.changes.iter().map(|change| change.what.clone()).collect();
    assert_eq!(changes, ["imported", "start_task", "done", "take_back", "start_task", "done"]);
    assert!(history.whole && history.more_changes == 0 && !history.ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_iteration_that_failed_is_told_with_why() {
    let bench = Bench::with_tasks(&[("1", "First"), ("2", "Second")]).unwrap();
    let script = Script::default().call(ScriptedCall::any().repeated().step(Step::Exit { code: 7 }));
    let run = bench.run(script).settings(|settings| settings.max_iterations = std::num::NonZeroU32::new(1));
    bench.play(run).await.unwrap();
    let history_of_first = history(&bench, "1");
    let [only] = &history_of_first.attempts[..] else { unreachable!("there is one") };
    assert_eq!((only.end, only.iteration), (AttemptEnd::Failed, Some(1)));
    assert!(only.failures[0].starts_with("agent-exit: "), "{:?}", only.failures);
    assert!(history_of_first.ready);
    assert_eq!(history(&bench, "2").attempts, []);
}

#[test]
fn changes_are_told_with_who_made_them_and_what_they_say() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let store = bench.store();
    let change = |mutation| store.mutate(mutation, Actor::User).unwrap();
    change(Mutation::Enqueue { task: NewTask::new("Second") });
    let edit =
        TaskEdit { title: Some("Other".into()), depends_on: Some(vec![id("1")]), ..Default::default() };
    change(Mutation::Edit { id: id("2"), edit: Box::new(edit) });
    change(Mutation::Block { id: id("2"), reason: Some("no key\nyet".into()) });
    let blocked = store.load().unwrap().revision;
    change(Mutation::Undo { change: Some(blocked), back: None });
    let done = Mutation::Done { id: id("2"), commit_sha: Some("0a1b2c3".into()), iteration: Some(4) };
    store.mutate(done, Actor::Agent).unwrap();
    change(Mutation::Skip { id: id("1"), reason: None });

    let told = history(&bench, "2");
    let words: Vec<String> = told.changes.iter().map(word).collect();
    assert_eq!(
        words,
        [
            "user enqueue: - to -",
            "user edit: - to - title, depends_on",
            "user block: pending to blocked no key yet",
            &format!("user undo: blocked to pending takes back change {blocked}"),
            "agent done: pending to completed commit 0a1b2c3; iteration 4",
        ]
    );
    assert_eq!(told.commits, ["0a1b2c3"]);
    assert_eq!(told.attempts, []);
}

#[test]
fn a_task_knows_its_groups_parts_and_dependencies_and_what_it_waits_for() {
    let bench = Bench::with_tasks(&[("1", "Group"), ("2", "Other")]).unwrap();
    let add = |task: &str, parent: &str, depends_on: &[&str]| {
        let task = Task {
            parent_id: (!parent.is_empty()).then(|| id(parent)),
            depends_on: depends_on.iter().map(|on| id(on)).collect(),
            ..Task::new(id(task), "Part")
        };
        bench.store().mutate(Mutation::Add { task: Box::new(task) }, Actor::User).unwrap();
    };
    add("1.1", "1", &[]);
    add("1.1.1", "1.1", &["2"]);
    add("3", "", &["1.1.1", "1"]);
    let ids = |tasks: &RelatedTasks| tasks.tasks.iter().map(|task| task.id.to_string()).collect::<Vec<_>>();
    let inner = history(&bench, "1.1.1");
    assert_eq!(
        (ids(&inner.parents), ids(&inner.depends_on)),
        (vec!["1.1".into(), "1".into()], vec!["2".into()])
    );
    assert_eq!((ids(&inner.dependents), inner.ready), (vec!["3".into()], false));
    assert_eq!(inner.waits_for, [id("2")]);
    let group = history(&bench, "1");
    assert_eq!((ids(&group.parts), group.group.unwrap().settled), (vec!["1.1".into()], 0));
    assert_eq!(ids(&group.dependents), ["3"]);
    assert!(!group.ready && history(&bench, "2").ready);
}

#[test]
fn a_plan_that_is_stored_anew_has_other_tasks_and_long_histories_are_cut_with_a_count() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let store = bench.store();
    for _ in 0..60 {
        store.mutate(Mutation::Skip { id: id("1"), reason: None }, Actor::User).unwrap();
        store.mutate(Mutation::Reset { id: id("1") }, Actor::User).unwrap();
    }
    let told = history(&bench, "1");
    assert_eq!((told.changes.len(), told.more_changes), (100, 21));
    let plan = Plan::clone(&store.load().unwrap().plan);
    store.import(plan, Actor::User, Existing::Replace).unwrap();
    let told = history(&bench, "1");
    assert_eq!((told.changes.len(), told.changes[0].what.as_str(), told.whole), (1, "imported", true));
}

#[test]
fn a_task_that_is_not_there_is_an_error() {
    let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
    let error = History::of(bench.project()).task(&id("7")).unwrap_err();
    assert!(matches!(error, StateError::TaskNotFound { .. }), "{error}");
}
