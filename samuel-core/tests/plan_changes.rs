//! Plans that are changed, and changes that are taken back.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed set-up fails the test")]

use std::{fs, sync::Arc};

use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use samuel_core::{
    clock::SystemClock,
    model::{Coded, ErrorCode, Groups, Plan, Priority, Source, Status, Task, TaskId},
    state::{
        Actor, AddedTask, Applied, Asker, ChangedTask, Existing, FileStore, MemoryStore, Merged, Mutation,
        NewTask, Orphans, Parts, Place, PlanStore, PlanUpdate, Prefer, RemovedTask, RunDir, StateError,
        TaskChange, TaskEdit, merge, set_baseline,
    },
};

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

fn asker(name: &str) -> Asker {
    Asker { actor: Actor::User, name: Some(name.to_owned()) }
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
fn an_undo_never_takes_what_somebody_changed_since() {
    let store = in_memory();
    let first = ask(&store, "a", title("2", "A")).unwrap().revision;
    let second = ask(&store, "b", title("2", "B")).unwrap().revision;
    let other = ask(&store, "b", title("3", "B")).unwrap().revision;
    for change in [Some(first), None] {
        let error = ask(&store, "a", undo(change)).unwrap_err();
        let told = format!("change {second} (edit) touched 2 since");
        assert!(error.to_string().ends_with(&told), "{error}");
        assert_eq!(error.code(), ErrorCode::TASK_NOT_UNDONE);
    }
    let error = ask(&store, "c", undo(None)).unwrap_err();
    assert_eq!(error.to_string(), "you made no change that could be taken back");
    // The last of b is not the one that is in the way.
    assert_eq!(ask(&store, "b", undo(None)).unwrap().revision, other + 1);
    ask(&store, "b", undo(None)).unwrap();
    ask(&store, "a", undo(None)).unwrap();
    assert_eq!(tasks(&store), tasks(&in_memory_like(&store)));
}

/// Returns a store with the plan as it was imported.
fn in_memory_like(store: &MemoryStore) -> MemoryStore {
    let created_at = store.load().unwrap().plan.tasks[0].created_at;
    let mut plan = plan();
    plan.tasks.iter_mut().for_each(|task| task.created_at = created_at);
    let other = MemoryStore::new(Arc::new(SystemClock::new()));
    other.import(plan, Actor::User, Existing::Refuse).unwrap();
    other
}

#[test]
fn an_undo_can_be_undone_and_a_change_is_not_undone_twice() {
    let store = in_memory();
    let change = ask(&store, "a", title("2", "A")).unwrap().revision;
    let undone = ask(&store, "a", undo(Some(change))).unwrap().revision;
    let error = ask(&store, "a", undo(Some(change))).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("change {change} cannot be taken back: change {undone} took it back already")
    );
    ask(&store, "a", undo(Some(undone))).unwrap();
    assert_eq!(tasks(&store)[3].title, "A");
    ask(&store, "a", undo(Some(change))).unwrap();
    assert_eq!(tasks(&store)[3].title, "Task 2");
}

#[test]
fn the_loops_own_changes_and_those_of_another_plan_are_not_undone() {
    let store = in_memory();
    let start = Mutation::StartTask { id: id("2"), owner: None };
    let started = store.mutate(start, Actor::Runtime).unwrap().revision;
    let error = ask(&store, "a", undo(Some(started))).unwrap_err();
    assert!(error.to_string().ends_with("it is one of the loop's own (start_task)"), "{error}");
    let error = ask(&store, "a", undo(Some(99))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TASK_UNDO_NOT_KEPT);
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

/// Any change that somebody may ask for.
fn mutation() -> impl Strategy<Value = Mutation> {
    let ids = || select(vec!["1", "1.1", "1.2", "2", "3", "4", "5"]).prop_map(id);
    let place = || {
        prop_oneof![
            Just(Place::First),
            Just(Place::Last),
            Just(Place::Top),
            ids().prop_map(Place::Before),
            ids().prop_map(Place::After),
            ids().prop_map(Place::Under),
        ]
    };
    let edit =
        || {
            (option::of("[a-z]{0,3}"), option::of(vec(ids(), 0..3)))
                .prop_map(|(title, depends_on)| TaskEdit { title, depends_on, ..TaskEdit::default() })
        };
    let added = (ids(), option::of(ids()), option::of(ids())).prop_map(|(id, parent_id, behind)| AddedTask {
        task: Task { parent_id, ..Task::new(id, "new") },
        behind,
    });
    let changed = (ids(), edit(), option::of(place())).prop_map(|(id, edit, parent)| {
        let parent = parent.filter(|parent| matches!(parent, Place::Under(_) | Place::Top));
        ChangedTask { id, edit, parent, was: None }
    });
    let baseline = btree_map(ids(), option::of("[0-9a-f]{48}"), 0..3);
    let update = (vec(added, 0..2), vec(changed, 0..3), vec(ids(), 0..2), baseline).prop_map(
        |(added, changed, removed, baseline)| {
            let name = Some("other".to_owned());
            let removed = removed.into_iter().map(|id| RemovedTask { id, was: None }).collect();
            PlanUpdate { added, changed, removed, name, baseline, ..PlanUpdate::default() }
        },
    );
    prop_oneof![
        ids().prop_map(|id| Mutation::Done { id, commit_sha: Some("abcd".to_owned()), iteration: None }),
        ids().prop_map(|id| Mutation::Skip { id, reason: Some("r".to_owned()) }),
        ids().prop_map(|id| Mutation::Reset { id }),
        ids().prop_map(|id| Mutation::Block { id, reason: None }),
        ids()
            .prop_map(|id| Mutation::Enqueue { task: NewTask { depends_on: vec![id], ..NewTask::new("t") } }),
        (ids(), ids()).prop_map(|(id, parent)| Mutation::Add {
            task: Box::new(Task { parent_id: Some(parent), ..Task::new(id, "t") })
        }),
        (ids(), edit()).prop_map(|(id, edit)| Mutation::Edit { id, edit: Box::new(edit) }),
        (vec(ids(), 1..3), select(vec![Parts::Refuse, Parts::Remove]))
            .prop_map(|(ids, parts)| Mutation::Remove { ids, parts }),
        (ids(), place()).prop_map(|(id, to)| Mutation::Move { id, to }),
        update.prop_map(|update| Mutation::Update { update: Box::new(update) }),
    ]
}

fn parts() -> impl Strategy<Value = TaskId> {
    select(vec!["2", "3", "4", "5", "6"]).prop_map(id)
}

fn project_of(store: &dyn PlanStore) -> (String, String, String) {
    let plan = store.load().unwrap().plan;
    (plan.project.name.clone(), plan.project.description.clone(), plan.baseline.clone())
}

proptest! {
    #[test]
    fn an_undo_after_any_change_gives_the_tasks_before(
        earlier in vec(mutation(), 0..12), last in mutation()
    ) {
        let store = in_memory();
        for mutation in earlier {
            let _ = ask(&store, "a", mutation);
        }
        let before = (tasks(&store), project_of(&store));
        let Ok(made) = ask(&store, "a", last) else {
            prop_assert_eq!(tasks(&store), before.0);
            return Ok(());
        };
        if made.change != TaskChange::Unchanged {
            let after = tasks(&store);
            let undone = ask(&store, "a", undo(Some(made.revision))).unwrap().revision;
            prop_assert_eq!(&tasks(&store), &before.0);
            prop_assert_eq!(project_of(&store), before.1);
            ask(&store, "a", undo(Some(undone))).unwrap();
            prop_assert_eq!(tasks(&store), after);
        }
    }

    #[test]
    fn no_completed_task_becomes_pending_by_parts_that_come_and_go(
        changes in vec(prop_oneof![
            (parts(), parts()).prop_map(|(id, parent)| Mutation::Add {
                task: Box::new(Task { parent_id: Some(parent), ..Task::new(id, "t") })
            }),
            parts().prop_map(|id| Mutation::Remove { ids: vec![id], parts: Parts::Refuse }),
            (parts(), parts()).prop_map(|(id, parent)| Mutation::Move { id, to: Place::Under(parent) }),
            parts().prop_map(|id| Mutation::Move { id, to: Place::Top }),
        ], 0..16)
    ) {
        let store = in_memory();
        for text in ["2", "3"] {
            let done = Mutation::Done { id: id(text), commit_sha: Some("abcd".to_owned()), iteration: None };
            ask(&store, "a", done).unwrap();
        }
        let completed: Vec<Task> =
            tasks(&store).into_iter().filter(|task| task.status == Status::Completed).collect();
        for change in changes {
            let _ = ask(&store, "a", change);
            let now = tasks(&store);
            let is_group = |id: &TaskId| now.iter().any(|task| task.parent_id.as_ref() == Some(id));
            // One that was removed and added anew is another task.
            for task in now.iter().filter(|task| task.commit_sha.is_some() && !is_group(&task.id)) {
                let before = completed.iter().find(|before| before.id == task.id).unwrap();
                prop_assert_eq!(&Task { parent_id: None, ..task.clone() }, &Task { parent_id: None, ..before.clone() });
            }
        }
    }

    #[test]
    fn as_many_undos_as_changes_give_the_first_tasks(changes in vec(mutation(), 0..12)) {
        let store = in_memory();
        let before = tasks(&store);
        let made = changes.into_iter().filter_map(|mutation| ask(&store, "a", mutation).ok());
        let made = made.filter(|made| made.change != TaskChange::Unchanged).count();
        for _ in 0..made {
            ask(&store, "a", undo(None)).unwrap();
        }
        prop_assert_eq!(tasks(&store), before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn in_files_an_undo_gives_the_bytes_of_the_tasks_before(
        earlier in vec(mutation(), 0..4), last in mutation()
    ) {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::new()));
        store.import(plan(), Actor::User, Existing::Refuse).unwrap();
        let table = || {
            let text = fs::read_to_string(store.dir().prd()).unwrap();
            let (_, table) = text.split_once("\ntasks[").unwrap();
            table.split_once("\nprogress").unwrap().0.to_owned()
        };
        // Each task has something of another tool's.
        let path = store.dir().prd();
        let text = fs::read_to_string(&path).unwrap().replacen("owner}", "owner,team,cost}", 1);
        let row = |(number, line): (usize, &str)| match line.strip_prefix("  \"").or(line.strip_prefix("  1")) {
            Some(_) if line.ends_with(",null") => format!("{line},of {number},{number}.50\n"),
            _ => format!("{line}\n"),
        };
        fs::write(&path, text.lines().enumerate().map(row).collect::<String>()).unwrap();
        for mutation in earlier {
            let _ = ask(&store, "a", mutation);
        }
        ask(&store, "a", Mutation::Enqueue { task: NewTask::new("the last") }).unwrap();
        let before = table();
        prop_assert!(before.contains("team,cost}"), "{}", before);
        let made = ask(&store, "a", last).ok().filter(|made| made.change != TaskChange::Unchanged);
        if let Some(made) = made {
            ask(&store, "a", undo(Some(made.revision))).unwrap();
        }
        prop_assert_eq!(table(), before);
    }
}

/// A PRD of few ids and titles, so that they meet.
fn prd() -> impl Strategy<Value = Plan> {
    let row =
        (select(vec!["1", "1.1", "2", "3", "4", "7"]), "[a-d]", "[x-z]?", option::of(select(vec!["1", "2"])));
    vec(row, 0..6).prop_map(|rows| {
        let mut seen = std::collections::HashSet::new();
        let rows: Vec<_> = rows.into_iter().filter(|(id, ..)| seen.insert(*id)).collect();
        let has = |text: &str| rows.iter().any(|(id, ..)| *id == text);
        let task = |(text, title, description, depends_on): &(&str, String, String, Option<&str>)| Task {
            description: description.clone(),
            source: Source::Prd,
            parent_id: (*text == "1.1" && has("1")).then(|| id("1")),
            // Only on what comes before: nothing waits for itself.
            depends_on: depends_on
                .filter(|on| has(on) && *on < *text && *text != "1.1")
                .map(id)
                .into_iter()
                .collect(),
            ..Task::new(id(text), title.clone())
        };
        Plan { tasks: rows.iter().map(task).collect(), ..Plan::default() }
    })
}

/// What somebody does between two updates.
fn work() -> impl Strategy<Value = Vec<Mutation>> {
    let ids = || select(vec!["1", "1.1", "2", "3", "4", "5", "7", "8"]).prop_map(id);
    let edit = (option::of("[a-e]"), option::of("[x-z]?"), option::of(vec(ids(), 0..2)));
    let edit = edit.prop_map(|(title, description, depends_on)| TaskEdit {
        title,
        description,
        depends_on,
        ..TaskEdit::default()
    });
    let change = prop_oneof![
        ids().prop_map(|id| Mutation::Done { id, commit_sha: Some("abcd".to_owned()), iteration: None }),
        ids().prop_map(|id| Mutation::Skip { id, reason: None }),
        "[a-d]".prop_map(|title| Mutation::Enqueue { task: NewTask::new(title) }),
        (ids(), edit).prop_map(|(id, edit)| Mutation::Edit { id, edit: Box::new(edit) }),
        (vec(ids(), 1..3), select(vec![Parts::Refuse, Parts::Remove]))
            .prop_map(|(ids, parts)| Mutation::Remove { ids, parts }),
        (ids(), ids()).prop_map(|(id, parent)| Mutation::Move { id, to: Place::Under(parent) }),
        ids().prop_map(|id| Mutation::Move { id, to: Place::Top }),
        ids().prop_map(|id| Mutation::Move { id, to: Place::First }),
        (ids(), "[a-d]").prop_map(|(id, title)| Mutation::Add { task: Box::new(Task::new(id, title)) }),
    ];
    vec(change, 0..8)
}

/// Brings a plan up to date and says what was different.
fn update(store: &MemoryStore, prd: &Plan, orphans: Orphans, prefer: Prefer) -> Option<PlanUpdate> {
    let merged = merge(&store.load().unwrap().plan, prd, orphans, prefer);
    if merged.update.is_empty() {
        return None;
    }
    let update = Box::new(merged.update.clone());
    // What somebody added may depend on what is pruned, or wait for what now waits for it.
    ask(store, "a", Mutation::Update { update }).ok().map(|_| merged.update)
}

fn imported(prd: &Plan) -> MemoryStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    let mut plan = prd.clone();
    set_baseline(&mut plan);
    store.import(plan, Actor::User, Existing::Refuse).unwrap();
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_update_with_the_same_prd_changes_nothing(prd in prd(), work in work()) {
        let store = imported(&prd);
        work.into_iter().for_each(|mutation| drop(ask(&store, "b", mutation)));
        let before = tasks(&store);
        prop_assert_eq!(update(&store, &prd, Orphans::Remove, Prefer::Plan), None);
        prop_assert_eq!(merge(&store.load().unwrap().plan, &prd, Orphans::Remove, Prefer::Plan).conflicts, []);
        prop_assert_eq!(tasks(&store), before);
    }

    #[test]
    fn updating_twice_is_updating_once(
        first in prd(), work in work(), second in prd(), prunes: bool, takes: bool
    ) {
        let orphans = if prunes { Orphans::Remove } else { Orphans::Keep };
        let prefer = if takes { Prefer::Prd } else { Prefer::Plan };
        let store = imported(&first);
        work.into_iter().for_each(|mutation| drop(ask(&store, "b", mutation)));
        if update(&store, &second, orphans, prefer).is_some() {
            let once = tasks(&store);
            prop_assert_eq!(update(&store, &second, orphans, prefer), None);
            prop_assert_eq!(tasks(&store), once);
        }
    }

    #[test]
    fn an_update_leaves_where_tasks_stand_and_what_was_added_and_can_be_undone(
        first in prd(), work in work(), second in prd()
    ) {
        let store = imported(&first);
        work.into_iter().for_each(|mutation| drop(ask(&store, "b", mutation)));
        let before = store.load().unwrap().plan;
        let made = update(&store, &second, Orphans::Keep, Prefer::Plan);
        let after = store.load().unwrap().plan;
        let groups = Groups::of(&after.tasks);
        for (place, task) in after.tasks.iter().enumerate() {
            let Some(was) = before.task(&task.id).filter(|_| !groups.is_group(place)) else { continue };
            prop_assert!(was.status != Status::Completed || task.status == Status::Completed, "{}", task.id);
            let was_group = before.tasks.iter().any(|part| part.parent_id.as_ref() == Some(&was.id));
            prop_assert!(was_group || was.status == task.status, "{}", task.id);
            prop_assert_eq!(&was.commit_sha, &task.commit_sha);
        }
        prop_assert!(before.tasks.iter().all(|task| after.task(&task.id).is_some()), "nothing is removed");
        if made.is_some() {
            ask(&store, "a", undo(None)).unwrap();
            prop_assert_eq!(tasks(&store), before.tasks.clone());
        }
    }
}

#[test]
fn work_that_was_done_stays_with_its_title_where_a_prd_is_numbered_anew() {
    let prd = |titles: &[&str]| {
        let task = |(number, title): (usize, &&str)| Task {
            source: Source::Prd,
            ..Task::new(id(&number.to_string()), *title)
        };
        Plan { tasks: (1..).zip(titles).map(task).collect(), ..Plan::default() }
    };
    let store = imported(&prd(&["Parse", "Print", "Ship"]));
    let done = Mutation::Done { id: id("2"), commit_sha: None, iteration: None };
    ask(&store, "a", done).unwrap();
    update(&store, &prd(&["Parse", "Check", "Print", "Release"]), Orphans::Keep, Prefer::Plan).unwrap();
    let said: Vec<String> =
        tasks(&store).iter().map(|task| format!("{} {} {}", task.id, task.title, task.status)).collect();
    // A new task stands behind the one before it in the PRD.
    assert_eq!(
        said,
        ["1 Parse pending", "2 Print completed", "4 Release pending", "3 Ship pending", "5 Check pending"]
    );
}

/// A PRD of tasks, each with its id, title and description.
fn prd_of(rows: &[(&str, &str, &str)]) -> Plan {
    let task = |(number, title, description): &(&str, &str, &str)| Task {
        source: Source::Prd,
        description: (*description).to_owned(),
        ..Task::new(id(number), *title)
    };
    Plan { tasks: rows.iter().map(task).collect(), ..Plan::default() }
}

#[test]
fn a_title_that_the_prd_has_twice_does_not_lead_elsewhere() {
    let store = imported(&prd_of(&[("1", "a", ""), ("7", "c", ""), ("1.1", "a", "")]));
    ask(&store, "b", Mutation::Remove { ids: vec![id("7")], parts: Parts::Refuse }).unwrap();
    let second = prd_of(&[("2", "a", ""), ("7", "b", ""), ("1", "b", "")]);
    update(&store, &second, Orphans::Keep, Prefer::Plan).unwrap();
    assert_eq!(update(&store, &second, Orphans::Keep, Prefer::Plan), None);
}

#[test]
fn an_id_that_was_removed_and_added_by_hand_is_another_task_for_each_update() {
    let store = imported(&prd_of(&[("1.1", "c", "")]));
    ask(&store, "b", Mutation::Remove { ids: vec![id("1.1")], parts: Parts::Refuse }).unwrap();
    ask(&store, "b", Mutation::Add { task: Box::new(Task::new(id("1.1"), "b")) }).unwrap();
    let second = prd_of(&[("1.1", "b", "")]);
    update(&store, &second, Orphans::Keep, Prefer::Plan).unwrap();
    assert_eq!(update(&store, &second, Orphans::Keep, Prefer::Plan), None);
}

fn described(text: &str, description: &str) -> Mutation {
    let edit = TaskEdit { description: Some(description.to_owned()), ..TaskEdit::default() };
    Mutation::Edit { id: id(text), edit: Box::new(edit) }
}

#[test]
fn each_field_follows_the_side_that_changed_it_and_a_conflict_is_told_until_one_gives_way() {
    let store = imported(&prd_of(&[("1", "One", "a"), ("2", "Two", "b"), ("3", "Three", "c")]));
    ask(&store, "a", title("1", "Mine")).unwrap();
    ask(&store, "a", described("2", "mine")).unwrap();
    ask(&store, "a", described("3", "the same")).unwrap();
    let second = prd_of(&[("1", "One", "new"), ("2", "Two", "theirs"), ("3", "Three", "the same")]);
    let merged = |prefer| merge(&store.load().unwrap().plan, &second, Orphans::Keep, prefer);
    let conflicts = |merged: Merged| {
        let said = |task: &ChangedTask| format!("{} {:?}", task.id, task.edit.description);
        merged.conflicts.iter().map(said).collect::<Vec<_>>()
    };
    assert_eq!(conflicts(merged(Prefer::Plan)), ["2 Some(\"theirs\")"]);
    update(&store, &second, Orphans::Keep, Prefer::Plan).unwrap();
    let said = || {
        tasks(&store).iter().map(|task| format!("{}: {}", task.title, task.description)).collect::<Vec<_>>()
    };
    assert_eq!(said(), ["Mine: new", "Two: mine", "Three: the same"]);
    assert_eq!(conflicts(merged(Prefer::Plan)), ["2 Some(\"theirs\")"], "it is told again");
    update(&store, &second, Orphans::Keep, Prefer::Prd).unwrap();
    assert_eq!(said(), ["Mine: new", "Two: theirs", "Three: the same"]);
    assert_eq!(conflicts(merged(Prefer::Plan)), [""; 0]);
    // What the plan alone changed is nothing that the PRD would win.
    assert_eq!(update(&store, &second, Orphans::Keep, Prefer::Prd), None);
}

#[test]
fn what_somebody_removed_stays_away_until_the_prd_is_preferred() {
    let prd = prd_of(&[("1", "One", ""), ("2", "Two", ""), ("3", "Three", "")]);
    let store = imported(&prd);
    ask(&store, "a", remove(&["3"], Parts::Refuse)).unwrap();
    ask(&store, "a", Mutation::Enqueue { task: NewTask::new("Mine") }).unwrap();
    assert_eq!(order(&store), "1 2 4", "the number of a task of the PRD is not given away");
    let merged = merge(&store.load().unwrap().plan, &prd, Orphans::Keep, Prefer::Plan);
    assert!(merged.update.is_empty());
    assert_eq!(merged.left_out.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["3"]);
    update(&store, &prd, Orphans::Keep, Prefer::Prd).unwrap();
    assert_eq!(order(&store), "1 2 3 4");
}

#[test]
fn an_update_that_was_made_out_for_another_version_of_a_task_is_refused() {
    let store = imported(&prd_of(&[("1", "One", ""), ("2", "Two", "")]));
    let second = prd_of(&[("1", "First", ""), ("2", "Second", "")]);
    let made_out = merge(&store.load().unwrap().plan, &second, Orphans::Keep, Prefer::Plan).update;
    ask(&store, "b", title("2", "Mine")).unwrap();
    let before = tasks(&store);
    let error = ask(&store, "a", Mutation::Update { update: Box::new(made_out) }).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.code()),
        ("task 2 was changed meanwhile", ErrorCode::TASK_CHANGED)
    );
    assert_eq!(tasks(&store), before);
}

#[test]
fn a_task_that_was_worked_on_since_an_update_was_made_out_is_not_removed_by_it() {
    let store = imported(&prd_of(&[("1", "One", ""), ("2", "Two", "")]));
    let second = prd_of(&[("1", "One", "")]);
    let made_out = || merge(&store.load().unwrap().plan, &second, Orphans::Remove, Prefer::Plan).update;
    let update = made_out();
    let done = Mutation::Done { id: id("2"), commit_sha: None, iteration: None };
    ask(&store, "b", done).unwrap();
    let error = ask(&store, "a", Mutation::Update { update: Box::new(update.clone()) }).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TASK_CHANGED);
    assert_ne!(made_out(), update, "whoever agreed to the one is asked about the other");
    ask(&store, "a", Mutation::Update { update: Box::new(made_out()) }).unwrap();
    assert_eq!(tasks(&store).len(), 1);
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
