//! Changes that are taken back.

use samuel_model::{Mark, Usage, payload::Mode};
use samuel_state::TaskCredit;

use super::*;

#[test]
fn undoes_a_completion_after_its_credit() {
    let store = in_memory();
    let done = Mutation::Done { id: id("2"), commit_sha: None, iteration: None };
    let change = ask(&store, "a", done).unwrap().revision;
    let credits =
        vec![TaskCredit { commit: Some("abcd".to_owned()), unchanged: true, ..TaskCredit::new(id("2")) }];
    let (mode, usage) = (Mode::Implementation, Usage::default());
    let commit = Mutation::CommitIteration { iteration: 1, mode, usage, credits };
    store.mutate(commit, Actor::Runtime).unwrap();
    let mark = Mutation::Mark { id: id("2"), marks: vec![Mark::OtherAgent] };
    store.mutate(mark, Actor::Runtime).unwrap();
    assert_eq!(tasks(&store)[3].marks.len(), 2);
    ask(&store, "a", undo(Some(change))).unwrap();
    assert_eq!(tasks(&store), tasks(&in_memory_like(&store)));
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
    assert_eq!(error.help(), Remedy::NameChange);
    // The last of b is not the one that is in the way.
    assert_eq!(ask(&store, "b", undo(None)).unwrap().revision, other + 1);
    ask(&store, "b", undo(None)).unwrap();
    ask(&store, "a", undo(None)).unwrap();
    assert_eq!(tasks(&store), tasks(&in_memory_like(&store)));
}

#[test]
fn of_many_tasks_that_were_touched_since_it_is_said_how_many_are_not_named() {
    let tasks = (1..=12).map(|number| id(&number.to_string())).collect();
    let refused = samuel_state::NotUndone::Since { changes: Vec::new(), tasks };
    let told = "something else touched 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more since";
    assert_eq!(refused.to_string(), told);
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
    assert_eq!(error.help(), format!("To have it again, take change {undone} back.").as_str());
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
    assert_eq!(error.help(), "Make the change that you want.");
    let error = ask(&store, "a", undo(Some(99))).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TASK_UNDO_NOT_KEPT);
    assert_eq!(error.help(), Remedy::ListKeptPlans.after(Remedy::NameChange));
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
