//! What mutations make of a plan.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
use super::*;
use crate::{NewTask, Parts, Place};
use samuel_model::InvalidTask;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

#[test]
fn a_plan_with_work_left_is_not_completed() {
    let changes = [
        Mutation::Reset { id: TaskId::new("1") },
        Mutation::Enqueue { task: NewTask::new("more") },
        Mutation::TakeBack { ids: vec![TaskId::new("1")], failures: Vec::new() },
    ];
    for change in changes {
        let mut plan = plan(&["1"]);
        plan.tasks[0].status = Status::Completed;
        plan.progress.status = ProgressStatus::Completed;
        apply(&mut plan, &change, NOW).unwrap();
        assert_eq!(plan.progress.status, ProgressStatus::Stopped, "{}", change.name());
    }
}

fn plan(ids: &[&str]) -> Plan {
    let tasks = ids.iter().map(|id| Task::new(TaskId::new(*id), "t")).collect();
    Plan { tasks, ..Plan::default() }
}

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

fn done(text: &str, sha: Option<&str>) -> Mutation {
    Mutation::Done { id: id(text), commit_sha: sha.map(str::to_owned), iteration: None }
}

#[test]
fn done_twice_keeps_the_first_commit() {
    let mut plan = plan(&["1"]);
    let first = apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
    assert!(first.completed().eq([&id("1")]));
    let later = NOW + jiff::SignedDuration::from_secs(9);
    assert_eq!(apply(&mut plan, &done("1", Some("defa")), later).unwrap(), TaskChange::Unchanged);
    assert_eq!(plan.tasks[0].commit_sha.as_deref(), Some("abcd"));
    assert_eq!(plan.tasks[0].completed_at, Some(NOW));
    assert_eq!(plan.progress.completed_tasks, 1);
}

#[test]
fn done_again_fills_in_a_commit_that_was_not_known() {
    let mut plan = plan(&["1"]);
    apply(&mut plan, &done("1", None), NOW).unwrap();
    let change = apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
    assert_eq!(change.completed().next(), None, "it was completed before");
    assert_eq!(plan.tasks[0].commit_sha.as_deref(), Some("abcd"));
}

#[test]
fn a_blank_commit_is_none_and_what_is_no_commit_is_refused() {
    let mut plan = plan(&["1"]);
    for text in ["HEAD", "abc", "abcd\nabcd", &"a".repeat(65)] {
        let error = apply(&mut plan, &done("1", Some(text)), NOW).unwrap_err();
        assert!(matches!(error, StateError::TaskInvalid { source: InvalidTask::Commit, .. }), "{text}");
        assert_eq!(plan.tasks[0].status, Status::Pending);
    }
    apply(&mut plan, &done("1", Some(" \n")), NOW).unwrap();
    assert_eq!(plan.tasks[0].commit_sha, None);
    apply(&mut plan, &done("1", Some("abcd\n")), NOW).unwrap();
    assert_eq!(plan.tasks[0].commit_sha.as_deref(), Some("abcd"));
}

#[test]
fn an_unknown_id_is_an_error_and_leaves_the_plan_alone() {
    let before = plan(&["1"]);
    let mut plan = before.clone();
    for mutation in [done("999", None), Mutation::Reset { id: id("999") }] {
        let error = apply(&mut plan, &mutation, NOW).unwrap_err();
        assert!(matches!(error, StateError::TaskNotFound { id, .. } if id.as_str() == "999"));
    }
    assert_eq!(plan, before);
}

#[test]
fn a_task_that_is_gone_keeps_no_other_completion_standing() {
    let mut plan = plan(&["1"]);
    apply(&mut plan, &done("1", None), NOW).unwrap();
    let take_back = Mutation::TakeBack { ids: vec![id("999"), id("1")], failures: Vec::new() };
    let change = apply(&mut plan, &take_back, NOW).unwrap();
    assert_eq!(change, TaskChange::TakenBack { ids: vec![id("1")] });
}

fn group() -> Plan {
    let mut plan = plan(&["1", "1.1", "1.2", "2"]);
    for task in &mut plan.tasks[1..3] {
        task.parent_id = Some(id("1"));
    }
    plan
}

fn stands(plan: &Plan) -> String {
    plan.tasks.iter().map(|task| format!("{} {}", task.id, task.status)).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_group_is_completed_with_its_last_part_and_pending_again_with_the_first() {
    let mut plan = group();
    apply(&mut plan, &done("1.1", None), NOW).unwrap();
    let skip = |text: &str| Mutation::Skip { id: id(text), reason: None };
    let change = apply(&mut plan, &skip("1.2"), NOW).unwrap();
    assert_eq!(change, TaskChange::Task { id: id("1.2"), from: Status::Pending, to: Status::Skipped });
    assert_eq!(stands(&plan), "1 completed, 1.1 completed, 1.2 skipped, 2 pending");
    assert_eq!((plan.tasks[0].completed_at, plan.progress.completed_tasks), (Some(NOW), 2));
    assert_eq!(apply(&mut plan, &done("1", None), NOW).unwrap(), TaskChange::Unchanged);
    apply(&mut plan, &skip("1.1"), NOW).unwrap();
    assert_eq!(stands(&plan), "1 skipped, 1.1 skipped, 1.2 skipped, 2 pending");
    apply(&mut plan, &Mutation::Reset { id: id("1.1") }, NOW).unwrap();
    assert_eq!(stands(&plan), "1 pending, 1.1 pending, 1.2 skipped, 2 pending");
    apply(&mut plan, &done("1.1", None), NOW).unwrap();
    let task = Box::new(Task { parent_id: Some(id("1")), ..Task::new(id("1.3"), "t") });
    apply(&mut plan, &Mutation::Add { task }, NOW).unwrap();
    assert_eq!(stands(&plan), "1 pending, 1.1 completed, 1.2 skipped, 2 pending, 1.3 pending");
}

#[test]
fn a_completed_task_is_completed_again_once_its_parts_are_gone() {
    let part = || Box::new(Task { parent_id: Some(id("1")), ..Task::new(id("1.1"), "t") });
    let add = || Mutation::Add { task: part() };
    let under = || Mutation::Move { id: id("2"), to: Place::Under(id("1")) };
    let remove = || Mutation::Remove { ids: vec![id("1.1")], parts: Parts::Refuse };
    let top = || Mutation::Move { id: id("2"), to: Place::Top };
    for (given, taken) in [(add(), remove()), (under(), top())] {
        let mut plan = plan(&["1", "2"]);
        apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
        let before = plan.tasks[0].clone();
        let later = NOW + jiff::SignedDuration::from_secs(9);
        apply(&mut plan, &given, later).unwrap();
        assert_eq!(plan.tasks[0].status, Status::Pending);
        let change = apply(&mut plan, &taken, later).unwrap();
        assert_eq!(plan.tasks[0], before);
        assert!(change.completed().eq([&id("1")]), "{change:?}");
    }
    // A part that is taken back takes the completion with it.
    let mut plan = plan(&["1"]);
    apply(&mut plan, &done("1", None), NOW).unwrap();
    apply(&mut plan, &add(), NOW).unwrap();
    apply(&mut plan, &Mutation::TakeBack { ids: vec![id("1")], failures: Vec::new() }, NOW).unwrap();
    apply(&mut plan, &remove(), NOW).unwrap();
    assert_eq!(stands(&plan), "1 pending");
}

#[test]
fn a_completed_task_that_is_open_again_by_a_part_is_told() {
    let mut plan = plan(&["1", "2"]);
    apply(&mut plan, &done("1", None), NOW).unwrap();
    let change = apply(&mut plan, &Mutation::Move { id: id("2"), to: Place::Under(id("1")) }, NOW).unwrap();
    let told: Vec<String> = change.edits().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["task 2 was changed", "task 1 was completed and is pending"]);
}

#[test]
fn open_work_that_is_completed_by_being_given_a_completed_part_is_told() {
    let mut plan = plan(&["1", "2"]);
    apply(&mut plan, &done("1", None), NOW).unwrap();
    let change = apply(&mut plan, &Mutation::Move { id: id("1"), to: Place::Under(id("2")) }, NOW).unwrap();
    let told: Vec<String> = change.edits().iter().map(ToString::to_string).collect();
    assert_eq!(told, ["task 1 was changed", "task 2 was pending and is completed"]);
}

#[test]
fn a_group_is_neither_started_nor_settled_by_itself() {
    let mut plan = group();
    let before = plan.clone();
    let id = || id("1");
    for mutation in [
        done("1", Some("abcd")),
        Mutation::Skip { id: id(), reason: None },
        Mutation::StartTask { id: id(), owner: None },
        Mutation::Block { id: id(), reason: None },
    ] {
        let error = apply(&mut plan, &mutation, NOW).unwrap_err();
        let told = "task 1 is a group, which is completed once its parts are; open: 1.1, 1.2";
        assert_eq!(error.to_string(), told);
    }
    assert_eq!(plan, before);
}

#[test]
fn a_group_is_taken_back_with_its_parts() {
    let mut plan = group();
    for part in ["1.1", "1.2", "2"] {
        apply(&mut plan, &done(part, None), NOW).unwrap();
    }
    let take_back = Mutation::TakeBack { ids: vec![id("1")], failures: Vec::new() };
    let change = apply(&mut plan, &take_back, NOW).unwrap();
    assert_eq!(change, TaskChange::TakenBack { ids: vec![id("1.1"), id("1.2")] });
    assert_eq!(stands(&plan), "1 pending, 1.1 pending, 1.2 pending, 2 completed");
}

#[test]
fn no_task_is_added_that_would_wait_for_itself_over_a_group() {
    let mut plan = group();
    plan.tasks[3].depends_on = vec![id("1")];
    let depends_on = vec![id("2")];
    let task = Task { parent_id: Some(id("1")), depends_on, ..Task::new(id("1.3"), "t") };
    let error = apply(&mut plan, &Mutation::Add { task: Box::new(task) }, NOW).unwrap_err();
    assert_eq!(error.to_string(), "task 1.3 would depend on itself: 1 -> 1.3 -> 2 -> 1");
}

#[test]
fn usage_outside_of_iterations_counts_for_the_plan() {
    let mut plan = plan(&["1"]);
    let usage = Usage { output_tokens: 5, cost_usd: Some(0.25), ..Usage::default() };
    apply(&mut plan, &Mutation::AddUsage { usage }, NOW).unwrap();
    assert_eq!((plan.progress.tokens, plan.progress.cost_usd), (5, 0.25));
}

#[test]
fn skip_stores_the_reason_and_reset_clears_it() {
    let mut plan = plan(&["3"]);
    let skip = |reason: Option<&str>| Mutation::Skip { id: id("3"), reason: reason.map(str::to_owned) };
    apply(&mut plan, &skip(Some("r")), NOW).unwrap();
    assert_eq!(apply(&mut plan, &skip(None), NOW).unwrap(), TaskChange::Unchanged);
    assert_eq!(plan.tasks[0].skip_reason.as_deref(), Some("r"));
    apply(&mut plan, &Mutation::Reset { id: id("3") }, NOW).unwrap();
    assert_eq!((plan.tasks[0].status, plan.tasks[0].skip_reason.as_deref()), (Status::Pending, None));
}

#[test]
fn only_a_task_in_progress_returns_to_pending() {
    let mut plan = plan(&["1", "2"]);
    let start = |text: &str| Mutation::StartTask { id: id(text), owner: Some("run-1".into()) };
    let back = |text: &str| Mutation::ReturnToPending { id: id(text) };
    apply(&mut plan, &start("1"), NOW).unwrap();
    assert_eq!(plan.tasks[0].owner.as_deref(), Some("run-1"));
    apply(&mut plan, &start("2"), NOW).unwrap();
    apply(&mut plan, &done("2", None), NOW).unwrap();
    apply(&mut plan, &back("1"), NOW).unwrap();
    assert_eq!(apply(&mut plan, &back("2"), NOW).unwrap(), TaskChange::Unchanged);
    assert_eq!((plan.tasks[0].status, plan.tasks[1].status), (Status::Pending, Status::Completed));
    assert_eq!((&plan.tasks[0].owner, &plan.tasks[1].owner), (&None, &None), "nobody works on them");
    let error = apply(&mut plan, &start("2"), NOW).unwrap_err();
    assert_eq!(error.to_string(), "task 2 is completed and cannot be started");
}

#[test]
fn an_answer_opens_the_task_and_is_forgotten_once_it_was_heard() {
    let mut plan = plan(&["1"]);
    let mut change = |mutation: &Mutation| {
        let change = apply(&mut plan, mutation, NOW).unwrap();
        (change, plan.tasks[0].clone())
    };
    let ask = Mutation::Ask { id: id("1"), question: " which? ".into(), options: vec!["a".into()] };
    let (_, asked) = change(&ask);
    assert_eq!((asked.status, &asked.open_question().unwrap().text[..]), (Status::Blocked, "which?"));
    assert_eq!(change(&ask).0, TaskChange::Unchanged);
    let (_, answered) = change(&Mutation::Answer { id: id("1"), answer: "b".into() });
    let question = answered.answered_question().cloned().unwrap();
    assert_eq!((answered.status, question.answer.as_deref()), (Status::Pending, Some("b")));
    let (_, started) = change(&Mutation::StartTask { id: id("1"), owner: None });
    assert_eq!(started.question.as_ref(), Some(&question), "until its agent was given it");
    let other = Question { text: "another".into(), ..question.clone() };
    assert_eq!(change(&Mutation::Heard { id: id("1"), question: other }).0, TaskChange::Unchanged);
    let (_, heard) = change(&Mutation::Heard { id: id("1"), question: question.clone() });
    assert_eq!((heard.status, heard.question), (Status::InProgress, None));
    assert_eq!(change(&Mutation::Heard { id: id("9"), question }).0, TaskChange::Unchanged);
}

#[test]
fn what_is_asked_or_answered_at_the_wrong_time_changes_nothing() {
    let ask = |task: &str, text: &str| Mutation::Ask { id: id(task), question: text.into(), options: vec![] };
    let answer = |task: &str, text: &str| Mutation::Answer { id: id(task), answer: text.into() };
    let mut plan = plan(&["1", "2", "3", "4", "4.1"]);
    plan.tasks[4].parent_id = Some(id("4"));
    apply(&mut plan, &done("2", None), NOW).unwrap();
    apply(&mut plan, &Mutation::Block { id: id("3"), reason: None }, NOW).unwrap();
    let refused = |plan: &mut Plan, mutation: &Mutation| {
        let before = plan.clone();
        let error = apply(plan, mutation, NOW).unwrap_err().to_string();
        assert_eq!(*plan, before);
        error
    };
    for (mutation, error) in [
        (ask("2", "a"), "task 2 is completed, so nothing is asked about it"),
        (ask("3", "a"), "task 3 is blocked, so nothing is asked about it"),
        (ask("4", "a"), "task 4 is a group, which is completed once its parts are; open: 4.1"),
        (ask("9", "a"), "there is no task 9"),
        (ask("1", " "), "nothing is stored with task 1"),
        (answer("1", "a"), "no question about task 1 is open"),
        (answer("2", "a"), "no question about task 2 is open"),
    ] {
        assert_eq!(refused(&mut plan, &mutation), error);
    }
    apply(&mut plan, &ask("1", "a"), NOW).unwrap();
    assert_eq!(refused(&mut plan, &answer("1", "\u{1b}[2J")), "nothing is stored with task 1");
    apply(&mut plan, &answer("1", "b"), NOW).unwrap();
    assert_eq!(refused(&mut plan, &ask("1", "c")), "task 1 has an answer that its agent was not given yet");
    let late = refused(&mut plan, &answer("1", "c"));
    assert_eq!(late, "no question about task 1 is open: somebody answered it already");
}

#[test]
fn take_back_reopens_completed_and_skipped_tasks() {
    let mut plan = plan(&["1", "2", "3"]);
    apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
    apply(&mut plan, &Mutation::Skip { id: id("2"), reason: None }, NOW).unwrap();
    let ids = vec![id("1"), id("2"), id("3")];
    let change = apply(&mut plan, &Mutation::TakeBack { ids, failures: vec!["tests".into()] }, NOW).unwrap();
    assert_eq!(change, TaskChange::TakenBack { ids: vec![id("1"), id("2")] });
    assert_eq!((plan.tasks[0].status, plan.tasks[0].commit_sha.as_deref()), (Status::Pending, None));
    assert_eq!(plan.tasks[1].status, Status::Pending);
    assert_eq!(plan.progress.completed_tasks, 0);
}

#[test]
fn iterations_add_up_over_runs() {
    let mut plan = plan(&[]);
    let usage = |cost| Usage { input_tokens: 10, cost_usd: Some(cost), ..Usage::default() };
    let commit =
        |iteration, mode, usage| Mutation::CommitIteration { iteration, mode, usage, credits: Vec::new() };
    apply(&mut plan, &commit(1, Mode::Discovery, usage(0.5)), NOW).unwrap();
    apply(&mut plan, &commit(2, Mode::Implementation, usage(f64::NAN)), NOW).unwrap();
    apply(&mut plan, &commit(1, Mode::Implementation, usage(0.25)), NOW).unwrap();
    let progress = &plan.progress;
    assert_eq!((progress.current_iteration, progress.total_iterations_run), (1, 3));
    assert_eq!((progress.impl_iterations, progress.discovery_iterations), (2, 1));
    assert_eq!((progress.cost_usd, progress.tokens), (0.75, 30));
    assert_eq!(progress.last_discovery_at, Some(NOW));
}

#[test]
fn credit_replaces_the_named_commit() {
    let mut plan = plan(&["1", "2", "3"]);
    apply(&mut plan, &done("1", Some("abcd")), NOW).unwrap();
    apply(&mut plan, &done("2", Some("ef01")), NOW).unwrap();
    let of = |text, commit: Option<&str>| {
        let commit = commit.map(str::to_owned);
        TaskCredit { commit, ..TaskCredit::new(id(text)) }
    };
    let commit = |credits| {
        let usage = Usage::default();
        Mutation::CommitIteration { iteration: 1, mode: Mode::Implementation, usage, credits }
    };
    let one = commit(vec![of("1", None), of("2", Some("ef01")), of("3", Some("ab12")), of("4", None)]);
    let to = Status::Completed;
    let changed = TaskChange::Task { id: id("1"), from: to, to };
    assert_eq!(apply(&mut plan, &one, NOW).unwrap(), changed);
    let commits: Vec<_> = plan.tasks.iter().map(|task| task.commit_sha.as_deref()).collect();
    assert_eq!(commits, [None, Some("ef01"), None], "a task that is open has none");
    assert_eq!(apply(&mut plan, &one, NOW).unwrap(), TaskChange::Progress);
    let two = commit(vec![of("1", Some("ab12")), of("2", None)]);
    assert_eq!(apply(&mut plan, &two, NOW).unwrap().edits().len(), 2);
    let empty = commit(vec![TaskCredit { unchanged: true, ..of("2", None) }]);
    apply(&mut plan, &empty, NOW).unwrap();
    assert_eq!(plan.tasks[1].marks, [Mark::NoChange]);
    assert_eq!(apply(&mut plan, &empty, NOW).unwrap(), TaskChange::Progress);
}

#[test]
fn setting_the_same_status_changes_nothing() {
    let mut plan = plan(&[]);
    let set = Mutation::SetProgressStatus { status: ProgressStatus::Running };
    assert_eq!(apply(&mut plan, &set, NOW).unwrap(), TaskChange::Progress);
    assert_eq!(apply(&mut plan, &set, NOW).unwrap(), TaskChange::Unchanged);
}
