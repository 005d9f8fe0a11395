//! Plans that follow a changed PRD.

use super::*;

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
fn update(store: &MemoryStore, prd: &Plan, orphans: Orphans) -> Option<PlanUpdate> {
    let merged = merge(&store.load().unwrap().plan, prd, orphans);
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
        prop_assert_eq!(update(&store, &prd, Orphans::Remove), None);
        prop_assert_eq!(merge(&store.load().unwrap().plan, &prd, Orphans::Remove).conflicts, []);
        prop_assert_eq!(tasks(&store), before);
    }

    #[test]
    fn updating_twice_is_updating_once(
        first in prd(), work in work(), second in prd(), prunes: bool
    ) {
        let orphans = if prunes { Orphans::Remove } else { Orphans::Keep };
        let store = imported(&first);
        work.into_iter().for_each(|mutation| drop(ask(&store, "b", mutation)));
        if update(&store, &second, orphans).is_some() {
            let once = tasks(&store);
            prop_assert_eq!(update(&store, &second, orphans), None);
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
        let made = update(&store, &second, Orphans::Keep);
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
    update(&store, &prd(&["Parse", "Check", "Print", "Release"]), Orphans::Keep).unwrap();
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
    update(&store, &second, Orphans::Keep).unwrap();
    assert_eq!(update(&store, &second, Orphans::Keep), None);
}

#[test]
fn an_id_that_was_removed_and_added_by_hand_is_another_task_for_each_update() {
    let store = imported(&prd_of(&[("1.1", "c", "")]));
    ask(&store, "b", Mutation::Remove { ids: vec![id("1.1")], parts: Parts::Refuse }).unwrap();
    ask(&store, "b", Mutation::Add { task: Box::new(Task::new(id("1.1"), "b")) }).unwrap();
    let second = prd_of(&[("1.1", "b", "")]);
    update(&store, &second, Orphans::Keep).unwrap();
    assert_eq!(update(&store, &second, Orphans::Keep), None);
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
    let merged = || merge(&store.load().unwrap().plan, &second, Orphans::Keep);
    let conflicts = |merged: Merged| {
        let said = |task: &ChangedTask| format!("{} {:?}", task.id, task.edit.description);
        merged.conflicts.iter().map(said).collect::<Vec<_>>()
    };
    assert_eq!(conflicts(merged()), ["2 Some(\"theirs\")"]);
    update(&store, &second, Orphans::Keep).unwrap();
    let said = || {
        tasks(&store).iter().map(|task| format!("{}: {}", task.title, task.description)).collect::<Vec<_>>()
    };
    assert_eq!(said(), ["Mine: new", "Two: mine", "Three: the same"]);
    assert_eq!(conflicts(merged()), ["2 Some(\"theirs\")"], "it is told again");
    ask(&store, "a", described("2", "theirs")).unwrap();
    assert_eq!(conflicts(merged()), [""; 0]);
}

#[test]
fn a_removed_task_stays_away_until_it_is_added_again() {
    let prd = prd_of(&[("1", "One", ""), ("2", "Two", ""), ("3", "Three", "")]);
    let store = imported(&prd);
    ask(&store, "a", remove(&["3"], Parts::Refuse)).unwrap();
    ask(&store, "a", Mutation::Enqueue { task: NewTask::new("Mine") }).unwrap();
    assert_eq!(order(&store), "1 2 4", "the number of a task of the PRD is not given away");
    let merged = merge(&store.load().unwrap().plan, &prd, Orphans::Keep);
    assert!(merged.update.is_empty());
    assert_eq!(merged.left_out.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["3"]);
    ask(&store, "a", Mutation::Add { task: Box::new(Task::new(id("3"), "Three")) }).unwrap();
    assert_eq!(merge(&store.load().unwrap().plan, &prd, Orphans::Keep).left_out, []);
}

#[test]
fn an_update_that_was_made_out_for_another_version_of_a_task_is_refused() {
    let store = imported(&prd_of(&[("1", "One", ""), ("2", "Two", "")]));
    let second = prd_of(&[("1", "First", ""), ("2", "Second", "")]);
    let made_out = merge(&store.load().unwrap().plan, &second, Orphans::Keep).update;
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
    let made_out = || merge(&store.load().unwrap().plan, &second, Orphans::Remove).update;
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
fn a_prd_looks_like_another_one_where_most_of_its_tasks_and_three_at_least_share_nothing_but_the_id() {
    let prd = |tasks: usize, other: usize| {
        let title = |number: usize| format!("{} {number}", if number <= other { "Other" } else { "Task" });
        let task =
            |number: usize| Task { source: Source::Prd, ..Task::new(id(&number.to_string()), title(number)) };
        Plan { tasks: (1..=tasks).map(task).collect(), ..Plan::default() }
    };
    let plan = imported(&prd(6, 0)).load().unwrap().plan;
    let looks_so = |tasks, other| {
        let merged = merge(&plan, &prd(tasks, other), Orphans::Keep);
        merged.other_prd.map(|found| (found.differing, found.tasks))
    };
    assert_eq!(looks_so(6, 4), Some((4, 6)));
    assert_eq!(looks_so(6, 3), None, "half of them");
    assert_eq!(looks_so(3, 3), Some((3, 3)));
    assert_eq!(looks_so(2, 2), None, "only two");
}
