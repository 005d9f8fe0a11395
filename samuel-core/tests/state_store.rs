//! What every store does, whether it keeps files or not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use samuel_core::{
    clock::SystemClock,
    model::{Coded, ErrorCode, Plan, Priority, ProgressStatus, Status, Task, TaskId},
    state::{
        Actor, Artifact, Checkpoint, Existing, FileStore, JournalEntry, MemoryStore, Mutation, NewTask, Note,
        ProgressEntry, ProgressKind, RunDir, StateError, StateStore, Supervisor, SupervisorRole, TaskChange,
    },
};
use serde_json::json;

/// Runs a story with each kind of store.
fn with_each_store(story: impl Fn(&dyn StateStore)) {
    let clock = Arc::new(SystemClock::new());
    story(&MemoryStore::new(clock.clone()));
    let root = tempfile::tempdir().unwrap();
    story(&FileStore::new(RunDir::new(root.path()), clock));
}

/// Runs a story with each kind of store, each holding tasks 1, 2 and 3.
fn with_each_plan(story: impl Fn(&dyn StateStore)) {
    with_each_store(|store| {
        let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), format!("Task {id}"))).into();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        story(store);
    });
}

fn id(text: &str) -> TaskId {
    TaskId::new(text)
}

fn done(text: &str, sha: Option<&str>, iteration: Option<u32>) -> Mutation {
    Mutation::Done { id: id(text), commit_sha: sha.map(str::to_owned), iteration }
}

fn code(error: &StateError) -> ErrorCode {
    error.code()
}

#[test]
fn without_a_plan_everything_says_so() {
    with_each_store(|store| {
        assert!(!store.exists().unwrap());
        let load = store.load().unwrap_err();
        let mutate = store.mutate(Mutation::Reset { id: id("1") }, Actor::User).unwrap_err();
        assert_eq!(
            (code(&load), code(&mutate)),
            (ErrorCode::STATE_NOT_INITIALISED, ErrorCode::STATE_NOT_INITIALISED)
        );
        assert!(store.journal_since(0).unwrap().is_empty());
        assert_eq!(store.last_checkpoint().unwrap(), None);
        assert!(store.progress().unwrap().lines.is_empty());
        assert_eq!(store.read_artifact(Artifact::TaskContext).unwrap(), None);
        assert_eq!(store.rotate_progress(10).unwrap(), 0);
    });
}

#[test]
fn a_plan_is_not_overwritten_unless_that_was_asked_for() {
    with_each_plan(|store| {
        let refused = store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap_err();
        assert_eq!(code(&refused), ErrorCode::STATE_EXISTS);
        assert_eq!(store.load().unwrap().plan.tasks.len(), 3);
        let imported = store.import(Plan::default(), Actor::User, Existing::Replace).unwrap();
        assert_eq!((imported.revision, store.load().unwrap().plan.tasks.len()), (2, 0));
    });
}

#[test]
fn a_plan_with_two_tasks_of_one_id_or_a_bad_title_is_not_imported() {
    with_each_store(|store| {
        let plan = |tasks: [Task; 2]| Plan { tasks: tasks.into(), ..Plan::default() };
        let import = |plan| store.import(plan, Actor::User, Existing::Refuse).unwrap_err();
        let twice = import(plan([Task::new(id("1"), "a"), Task::new(id("1"), "b")]));
        let untitled = import(plan([Task::new(id("1"), "a"), Task::new(id("2"), "")]));
        assert_eq!((code(&twice), code(&untitled)), (ErrorCode::TASK_EXISTS, ErrorCode::TASK_INVALID));
        assert!(!store.exists().unwrap());
    });
}

#[test]
fn done_twice_keeps_the_first_commit_and_writes_nothing_more() {
    with_each_plan(|store| {
        let first = store.mutate(done("1", Some("abcd"), Some(5)), Actor::Agent).unwrap();
        let second = store.mutate(done("1", None, None), Actor::Agent).unwrap();
        assert_eq!((first.revision, first.change.completed()), (2, Some(&id("1"))));
        assert_eq!((second.revision, second.change, second.seq), (2, TaskChange::Unchanged, None));
        let task = store.load().unwrap().plan.task(&id("1")).cloned().unwrap();
        assert_eq!((task.commit_sha.as_deref(), task.iteration), (Some("abcd"), Some(5)));
        assert_eq!((task.status, task.completed_at.is_some()), (Status::Completed, true));
        assert_eq!(store.journal_since(0).unwrap().len(), 2);
    });
}

#[test]
fn a_mutation_that_is_refused_changes_neither_plan_nor_journal() {
    with_each_plan(|store| {
        let before = store.load().unwrap().plan;
        let empty = Mutation::Enqueue { task: NewTask::new(" ") };
        for (mutation, expected) in [
            (done("999", None, None), ErrorCode::TASK_NOT_FOUND),
            (empty, ErrorCode::TASK_INVALID),
            (Mutation::Add { task: Box::new(Task::new(id("2"), "again")) }, ErrorCode::TASK_EXISTS),
        ] {
            assert_eq!(code(&store.mutate(mutation, Actor::User).unwrap_err()), expected);
        }
        assert_eq!(store.load().unwrap().plan, before);
        assert_eq!(store.journal_since(0).unwrap().len(), 1);
    });
}

#[test]
fn skip_stores_the_reason_and_reset_clears_it() {
    with_each_plan(|store| {
        let task = || store.load().unwrap().plan.task(&id("3")).cloned().unwrap();
        store.mutate(Mutation::Skip { id: id("3"), reason: Some("r".into()) }, Actor::User).unwrap();
        assert_eq!((task().status, task().skip_reason.as_deref()), (Status::Skipped, Some("r")));
        store.mutate(Mutation::Reset { id: id("3") }, Actor::User).unwrap();
        assert_eq!((task().status, task().skip_reason), (Status::Pending, None));
    });
}

#[test]
fn a_new_task_gets_the_next_number_and_what_was_said_of_it() {
    with_each_plan(|store| {
        let task = NewTask { priority: Priority::High, depends_on: vec![id("2")], ..NewTask::new("x") };
        let applied = store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap();
        assert_eq!(applied.change, TaskChange::Added { id: id("4") });
        let task = applied.task.unwrap();
        let plan = store.load().unwrap().plan;
        assert_eq!(plan.task(&id("4")), Some(&task));
        assert_eq!((task.priority, task.depends_on.as_slice()), (Priority::High, [id("2")].as_slice()));
        assert_eq!(plan.progress.total_tasks, 4);
        let lost = NewTask { depends_on: vec![id("77")], ..NewTask::new("y") };
        let error = store.mutate(Mutation::Enqueue { task: lost }, Actor::User).unwrap_err();
        assert_eq!(error.to_string(), "task 5 depends on 77, which does not exist");
    });
}

#[test]
fn completions_that_a_check_does_not_bear_out_are_taken_back_with_the_failures_on_record() {
    with_each_plan(|store| {
        store.mutate(done("1", Some("abcd"), Some(1)), Actor::Agent).unwrap();
        let failures = vec!["cargo test: exit 101".to_owned()];
        let take_back = Mutation::TakeBack { ids: vec![id("1"), id("2")], failures: failures.clone() };
        let applied = store.mutate(take_back, Actor::Runtime).unwrap();
        assert_eq!(applied.change, TaskChange::TakenBack { ids: vec![id("1")] });
        assert_eq!(applied.task, None);
        let plan = store.load().unwrap().plan;
        assert_eq!((plan.tasks[0].status, plan.progress.completed_tasks), (Status::Pending, 0));
        let last = store.journal_since(2).unwrap().pop().unwrap();
        let JournalEntry::Mutation { mutation: Mutation::TakeBack { failures: recorded, .. }, .. } =
            last.entry
        else {
            unreachable!("the last record is the taking back");
        };
        assert_eq!(recorded, failures);
    });
}

#[test]
fn the_journal_tells_every_change_with_its_revision_and_who_asked() {
    with_each_plan(|store| {
        store.mutate(Mutation::StartTask { id: id("2") }, Actor::Runtime).unwrap();
        store.mutate(done("2", None, None), Actor::Agent).unwrap();
        store.mutate(Mutation::SetProgressStatus { status: ProgressStatus::Stopped }, Actor::User).unwrap();
        let told: Vec<String> = store
            .journal_since(1)
            .unwrap()
            .into_iter()
            .map(|record| match record.entry {
                JournalEntry::Mutation { actor, base, mutation, .. } => {
                    format!("{} {base}->{} {actor:?} {}", record.seq, record.revision, mutation.name())
                }
                other => format!("{other:?}"),
            })
            .collect();
        let expected = ["2 1->2 Runtime start_task", "3 2->3 Agent done", "4 3->4 User set_progress_status"];
        assert_eq!(told, expected);
    });
}

#[test]
fn the_last_checkpoint_is_found_behind_later_records() {
    with_each_plan(|store| {
        let checkpoint = |step: u64| Checkpoint {
            run_id: "r1".into(),
            state: json!({"step": step}),
            waits_until: None,
            end: None,
        };
        store.note(Note::Checkpoint(checkpoint(1))).unwrap();
        let seq = store.note(Note::Checkpoint(checkpoint(2))).unwrap();
        store.mutate(done("1", None, None), Actor::Agent).unwrap();
        let found = store.last_checkpoint().unwrap().unwrap();
        assert_eq!((found.seq, found.entry), (seq, JournalEntry::Checkpoint(checkpoint(2))));
        assert_eq!(found.revision, 1, "a note does not change the plan");
    });
}

#[test]
fn supervisors_are_known_until_they_have_ended() {
    with_each_store(|store| {
        let supervisor =
            |pid| Supervisor { pid, start_time: 1, role: SupervisorRole::Supervisor, tree: None };
        let (first, second) = (supervisor(7), supervisor(8));
        store.note(Note::Supervisor(first)).unwrap();
        store.note(Note::Supervisor(second)).unwrap();
        store.note(Note::SupervisorEnded(first)).unwrap();
        assert_eq!(store.supervisors().unwrap(), [second]);
    });
}

#[test]
fn progress_is_read_back_and_learnings_outlive_rotation() {
    with_each_store(|store| {
        let at = "2026-11-21T10:00:00Z".parse().unwrap();
        let entry = |n: usize| match n {
            3 => ProgressEntry::note(at, ProgressKind::Learning, "tests need\na database"),
            n => ProgressEntry::note(at, ProgressKind::Started, format!("{n}")),
        };
        let entries: Vec<ProgressEntry> = (0..30).map(entry).collect();
        store.append_progress(&entries[..29]).unwrap();
        store.append_progress(&entries[29..]).unwrap();
        assert_eq!(store.progress().unwrap().entries().cloned().collect::<Vec<_>>(), entries);
        assert_eq!(store.rotate_progress(500).unwrap(), 0);
        assert_eq!(store.rotate_progress(20).unwrap(), 19);
        let kept: Vec<ProgressEntry> = store.progress().unwrap().entries().cloned().collect();
        assert_eq!((kept.len(), &kept[0]), (11, &entries[3]));
    });
}

#[test]
fn a_generated_toon_file_has_the_header() {
    with_each_store(|store| {
        store.write_artifact(Artifact::TaskContext, "mode: discovery\n").unwrap();
        store.write_artifact(Artifact::ProgressContext, "# Summary\n").unwrap();
        let text = store.read_artifact(Artifact::TaskContext).unwrap();
        assert_eq!(text.as_deref(), Some("# toon v3\nmode: discovery\n"));
        assert_eq!(store.read_artifact(Artifact::ProgressContext).unwrap().as_deref(), Some("# Summary\n"));
    });
}
