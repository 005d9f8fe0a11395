//! Plans that are changed, and changes that are taken back.

mod undo;
mod update;

use std::{fs, sync::Arc};

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use samuel_model::{
    Coded, ErrorCode, Groups, Plan, Priority, Remedy, Source, Status, Task, TaskId, clock::SystemClock,
};
use samuel_state::{
    Actor, AddedTask, Applied, Asker, ChangedTask, Existing, FileStore, MemoryStore, Merged, Mutation,
    NewTask, Orphans, Parts, Place, PlanStore, PlanUpdate, RemovedTask, RunDir, StateError, TaskChange,
    TaskEdit, merge, set_baseline,
};

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

fn asker(name: &str) -> Asker {
    Asker { name: Some(name.to_owned()), ..Actor::User.into() }
}

/// Tasks 1 with parts 1.1 and 1.2, 2 and 3, of which 3 depends on 2.
fn plan() -> Plan {
    let task = |text: &str, parent: Option<&str>, depends_on: &[&str]| Task {
        parent_id: parent.map(id),
        depends_on: depends_on.iter().map(|text| id(text)).collect(),
        ..Task::new(id(text), format!("Task {text}"))
    };
    let tasks = vec![
        task("1", None, &[]),
        task("1.1", Some("1"), &[]),
        task("1.2", Some("1"), &["1.1"]),
        task("2", None, &[]),
        task("3", None, &["2"]),
    ];
    Plan { tasks, ..Plan::default() }
}

fn in_memory() -> MemoryStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    store.import(plan(), Actor::User, Existing::Refuse).unwrap();
    store
}

fn tasks(store: &dyn PlanStore) -> Vec<Task> {
    store.load().unwrap().plan.tasks.clone()
}

fn order(store: &dyn PlanStore) -> String {
    tasks(store).iter().map(|task| task.id.to_string()).collect::<Vec<_>>().join(" ")
}

fn ask(store: &dyn PlanStore, name: &str, mutation: Mutation) -> Result<Applied, StateError> {
    store.mutate_as(None, mutation, &asker(name))
}

fn title(id: &str, title: &str) -> Mutation {
    let edit = TaskEdit { title: Some(title.to_owned()), ..TaskEdit::default() };
    Mutation::Edit { id: TaskId::new(id), edit: Box::new(edit) }
}

fn undo(change: Option<u64>) -> Mutation {
    Mutation::Undo { change, back: None }
}

fn moved(text: &str, to: Place) -> Mutation {
    Mutation::Move { id: id(text), to }
}

fn remove(ids: &[&str], parts: Parts) -> Mutation {
    Mutation::Remove { ids: ids.iter().map(|text| id(text)).collect(), parts }
}

#[test]
fn an_edit_says_what_is_new_and_leaves_the_rest() {
    let store = in_memory();
    let edit = TaskEdit {
        priority: Some(Priority::High),
        depends_on: Some(vec![id("1")]),
        acceptance: Some(vec!["it works".to_owned()]),
        ..TaskEdit::default()
    };
    let edit = || Mutation::Edit { id: id("2"), edit: Box::new(edit.clone()) };
    let made = ask(&store, "a", edit()).unwrap();
    assert_eq!(made.change, TaskChange::Task { id: id("2"), from: Status::Pending, to: Status::Pending });
    let task = made.task.unwrap();
    assert_eq!((task.title.as_str(), task.priority, task.acceptance.len()), ("Task 2", Priority::High, 1));
    assert_eq!(ask(&store, "a", edit()).unwrap().change, TaskChange::Unchanged);
}

#[test]
fn what_would_break_the_plan_is_refused_and_changes_nothing() {
    let store = in_memory();
    let before = tasks(&store);
    let depends = |text: &str, on: &str| {
        let edit = TaskEdit { depends_on: Some(vec![id(on)]), ..TaskEdit::default() };
        Mutation::Edit { id: id(text), edit: Box::new(edit) }
    };
    for (mutation, told, code) in [
        (title("2", " "), "task 2 cannot be stored", ErrorCode::TASK_INVALID),
        (title("9", "x"), "there is no task 9", ErrorCode::TASK_NOT_FOUND),
        (depends("2", "9"), "task 2 depends on 9, which does not exist", ErrorCode::TASK_INVALID),
        (depends("2", "3"), "task 2 would depend on itself: 2 -> 3 -> 2", ErrorCode::TASK_INVALID),
        (depends("2", "2"), "task 2 would depend on itself: 2 -> 2", ErrorCode::TASK_INVALID),
        (remove(&["2"], Parts::Refuse), "task 2 cannot be removed: 3 depends on it", ErrorCode::TASK_IN_USE),
        (
            remove(&["1"], Parts::Refuse),
            "task 1 cannot be removed: 1.1, 1.2 are parts of it",
            ErrorCode::TASK_IN_USE,
        ),
        (
            moved("1", Place::After(id("1.2"))),
            "task 1 cannot be moved to 1.2, which is the same task or a part of it",
            ErrorCode::TASK_INVALID,
        ),
        (
            moved("1", Place::Under(id("1.1"))),
            "task 1 cannot be moved to 1.1, which is the same task or a part of it",
            ErrorCode::TASK_INVALID,
        ),
        (moved("2", Place::Under(id("3"))), "task 2 would depend on itself: 2 -> 2", ErrorCode::TASK_INVALID),
    ] {
        let error = ask(&store, "a", mutation.clone());
        if let (Mutation::Move { to: Place::Under(_), .. }, Ok(_)) = (&mutation, &error) {
            // 3 becomes a group, which never waits for its own part.
            ask(&store, "a", undo(None)).unwrap();
            continue;
        }
        let error = error.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (told, code));
        assert_eq!(tasks(&store), before);
    }
}

#[test]
fn what_others_need_is_removed_with_them() {
    let store = in_memory();
    ask(&store, "a", remove(&["2", "3"], Parts::Refuse)).unwrap();
    assert_eq!(order(&store), "1 1.1 1.2");
    ask(&store, "a", remove(&["1"], Parts::Remove)).unwrap();
    assert_eq!(order(&store), "");
    ask(&store, "a", undo(None)).unwrap();
    ask(&store, "a", undo(None)).unwrap();
    assert_eq!(order(&store), "1 1.1 1.2 2 3");
}

#[test]
fn a_task_moves_with_its_parts() {
    let store = in_memory();
    for (text, to, expected) in [
        ("1", Place::Last, "2 3 1 1.1 1.2"),
        ("3", Place::First, "3 2 1 1.1 1.2"),
        ("1", Place::Before(id("2")), "3 1 1.1 1.2 2"),
        ("3", Place::After(id("1.1")), "1 1.1 3 1.2 2"),
    ] {
        ask(&store, "a", moved(text, to)).unwrap();
        assert_eq!(order(&store), expected);
    }
    ask(&store, "a", moved("3", Place::Under(id("2")))).unwrap();
    assert_eq!(tasks(&store)[2].parent_id, Some(id("2")));
    ask(&store, "a", moved("3", Place::Top)).unwrap();
    (0..6).for_each(|_| drop(ask(&store, "a", undo(None)).unwrap()));
    assert_eq!(order(&store), "1 1.1 1.2 2 3");
}

#[test]
fn a_blocked_task_says_why_until_it_is_reset() {
    let store = in_memory();
    let block = Mutation::Block { id: id("2"), reason: Some("no key".to_owned()) };
    let task = ask(&store, "a", block).unwrap().task.unwrap();
    assert_eq!((task.status, task.skip_reason.as_deref()), (Status::Blocked, Some("no key")));
    let task = ask(&store, "a", Mutation::Reset { id: id("2") }).unwrap().task.unwrap();
    assert_eq!((task.status, task.skip_reason), (Status::Pending, None));
}

#[test]
fn an_agent_changes_no_tasks_and_takes_nothing_back() {
    let store = in_memory();
    let before = tasks(&store);
    let update =
        PlanUpdate { removed: vec![RemovedTask { id: id("3"), was: None }], ..PlanUpdate::default() };
    for mutation in [
        title("2", "easier"),
        remove(&["3"], Parts::Refuse),
        moved("3", Place::First),
        undo(None),
        Mutation::Update { update: Box::new(update) },
    ] {
        let error = store.mutate(mutation, Actor::Agent).unwrap_err();
        assert_eq!(error.code(), ErrorCode::TASK_DENIED);
    }
    assert_eq!(tasks(&store), before);
}

#[test]
fn a_circle_through_a_group_is_refused() {
    let store = in_memory();
    let depends = |text: &str, on: &str| {
        let edit = TaskEdit { depends_on: Some(vec![id(on)]), ..TaskEdit::default() };
        Mutation::Edit { id: id(text), edit: Box::new(edit) }
    };
    ask(&store, "a", depends("2", "1")).unwrap();
    let before = tasks(&store);
    // 2 waits for 1, and 1 for its parts.
    let change = ChangedTask {
        id: id("3"),
        edit: TaskEdit::default(),
        parent: Some(Place::Under(id("1"))),
        was: None,
    };
    let update = PlanUpdate { changed: vec![change], ..PlanUpdate::default() };
    for (mutation, told) in [
        (depends("1.1", "2"), "task 1 would depend on itself: 1 -> 1.1 -> 2 -> 1"),
        (moved("3", Place::Under(id("1"))), "task 1 would depend on itself: 1 -> 3 -> 2 -> 1"),
        (Mutation::Update { update: Box::new(update) }, "task 1 would depend on itself: 1 -> 3 -> 2 -> 1"),
    ] {
        let error = ask(&store, "a", mutation).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (told, ErrorCode::TASK_INVALID));
        assert_eq!(tasks(&store), before);
    }
}

#[test]
fn writers_beside_each_other_lose_nothing_and_take_back_only_their_own() {
    let root = tempfile::tempdir().unwrap();
    let store = || FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::new()));
    let tasks_of = |n: usize| Task::new(id(&n.to_string()), format!("Task {n}"));
    let plan = Plan { tasks: (1..=16).map(tasks_of).collect(), ..Plan::default() };
    store().import(plan, Actor::User, Existing::Refuse).unwrap();
    let writer = |n: usize| {
        let (store, name) = (store(), format!("writer {n}"));
        let own = n.to_string();
        ask(&store, &name, title(&own, "mine")).unwrap();
        // Everybody has a say about the first task.
        let first = ask(&store, &name, title("1", &name)).unwrap();
        ask(&store, &name, Mutation::Enqueue { task: NewTask::new(name.clone()) }).unwrap();
        ask(&store, &name, title(&own, "wrong")).unwrap();
        ask(&store, &name, undo(None)).unwrap();
        let done = Mutation::Done { id: id(&own), commit_sha: None, iteration: None };
        ask(&store, &name, done).unwrap();
        (first.revision, ask(&store, &name, undo(Some(first.revision))).is_ok())
    };
    let taken_back: Vec<(u64, bool)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (2..=16).map(|n| scope.spawn(move || writer(n))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let tasks = tasks(&store());
    assert_eq!(tasks.len(), 31);
    for n in 2..=16 {
        let task = &tasks[n - 1];
        assert_eq!((task.title.as_str(), task.status), ("mine", Status::Completed), "{n}");
        assert!(tasks.iter().any(|task| task.title == format!("writer {n}")));
    }
    // Whoever could not take back theirs was followed by somebody who did not, either.
    let left = taken_back.iter().filter(|(_, is_taken_back)| !is_taken_back).max();
    let expected = left.map_or("Task 1".to_owned(), |(revision, _)| {
        let place = taken_back.iter().position(|(other, _)| other == revision).unwrap();
        format!("writer {}", place + 2)
    });
    assert_eq!(tasks[0].title, expected);
}

#[test]
fn what_a_person_blocked_no_agent_opens() {
    let store = in_memory();
    let reset = || Mutation::Reset { id: id("2") };
    let block = || Mutation::Block { id: id("2"), reason: Some("not now".to_owned()) };
    let opening = || {
        [
            reset(),
            Mutation::Done { id: id("2"), commit_sha: None, iteration: None },
            Mutation::Skip { id: id("2"), reason: None },
        ]
    };
    let by_agent = |mutation| store.mutate(mutation, Actor::Agent);
    let is_refused = || {
        for mutation in opening() {
            let error = by_agent(mutation).unwrap_err();
            assert_eq!(error.code(), ErrorCode::TASK_DENIED);
            assert!(error.to_string().starts_with("task 2 was blocked by somebody else"), "{error}");
        }
    };
    ask(&store, "a", block()).unwrap();
    is_refused();
    // Another reason of its own makes the block no agent's.
    by_agent(Mutation::Block { id: id("2"), reason: Some("mine".to_owned()) }).unwrap();
    is_refused();
    let opened = ask(&store, "a", reset()).unwrap().revision;
    by_agent(block()).unwrap();
    by_agent(reset()).unwrap();
    // A block that somebody puts back is theirs, too.
    ask(&store, "a", block()).unwrap();
    let opened_again = ask(&store, "a", reset()).unwrap().revision;
    assert!(opened_again > opened);
    ask(&store, "a", undo(None)).unwrap();
    assert_eq!(tasks(&store)[3].status, Status::Blocked);
    is_refused();
}
