//! What every store does, for whoever writes one.
//!
//! [`plan_store`] and [`lane_store`] go through the contract of
//! [`PlanStore`] and [`LaneStore`] case by case, each with a new
//! store that is empty, and panic at the first that is broken: with the name of the case in
//! the backtrace.
//!
//! ```
//! use std::sync::Arc;
//! use samuel_model::clock::SystemClock;
//! use samuel_state::{MemoryStore, testing::store_suite};
//!
//! store_suite::plan_store(|| Arc::new(MemoryStore::new(Arc::new(SystemClock::new()))));
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a suite panics where a store breaks its contract"
)]

use std::{
    collections::HashSet,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use serde_json::json;
use tokio::{runtime::Builder, time::timeout};

use crate::{
    Actor, Artifact, Asker, Begun, Called, Checkpoint, Existing, Holder, JournalEntry, JournalPart,
    JournalRecord, LandingClaim, LaneBooks, LaneStore, Mutation, NewTask, Note, PlanStore, ProgressEntry,
    ProgressKind, RecordPart, RecordPlace, SavedRun, StateError, SupervisorProcess, SupervisorRole,
    TaskChange, TaskEdit, Used,
};
use samuel_model::{
    AgentTotal, Coded, ErrorCode, Plan, Priority, ProgressStatus, ReleaseReason, Scope, Status, Task, TaskId,
    Usage, payload::Turn,
};

/// How long nothing takes that happens at all.
const HANG: Duration = Duration::from_secs(5);

/// Goes through the contract of a [`PlanStore`]. `open` gives a new one without a plan.
///
/// # Panics
/// Where the store breaks the contract.
pub fn plan_store(mut open: impl FnMut() -> Arc<dyn PlanStore>) {
    let cases: &[fn(&dyn PlanStore)] = &[
        without_a_plan_everything_says_so,
        a_plan_is_not_overwritten_unless_that_was_asked_for,
        a_plan_with_two_tasks_of_one_id_or_a_bad_title_is_not_imported,
        done_twice_keeps_the_first_commit_and_writes_nothing_more,
        a_mutation_that_is_refused_changes_neither_plan_nor_journal,
        skip_stores_the_reason_and_reset_clears_it,
        a_question_is_answered_by_a_person_and_by_no_agent,
        a_new_task_gets_the_next_number_and_what_was_said_of_it,
        completions_that_a_check_does_not_bear_out_are_taken_back_with_the_failures_on_record,
        the_journal_tells_every_change_with_its_revision_and_who_asked,
        a_change_that_is_meant_for_another_plan_is_refused,
        a_change_is_taken_back_by_whoever_asked_for_it_and_by_nobody_else,
        changes_that_come_at_once_all_happen_one_after_the_other,
        whoever_watches_is_told_to_read_on,
        progress_is_read_back_and_learnings_outlive_rotation,
        a_discovery_adds_as_many_tasks_as_it_may_and_the_log_names_the_others,
        a_claim_lands_once_and_whoever_is_late_changes_nothing,
        what_settles_a_claimed_task_can_be_taken_back_and_the_claim_stays_gone,
    ];
    cases.iter().for_each(|case| case(&*open()));
}

/// Goes through the contract of a [`LaneStore`]. `open` gives a new one without notes, of a
/// place where no loop is at work.
///
/// # Panics
/// Where the store breaks the contract.
pub fn lane_store(mut open: impl FnMut() -> Arc<dyn LaneStore>) {
    let cases: &[fn(&dyn LaneStore)] = &[
        without_notes_there_are_none,
        the_last_checkpoint_is_found_behind_later_notes,
        supervisors_are_known_until_they_have_ended,
        a_generated_toon_file_has_the_header,
        one_loop_holds_the_lock_until_it_lets_go,
        a_record_is_read_back_in_whole_lines_and_its_parts_are_apart,
        whoever_watches_a_record_hears_of_what_is_appended,
    ];
    cases.iter().for_each(|case| case(&*open()));
}

fn plan_of_three(store: &dyn PlanStore) {
    let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), format!("Task {id}"))).into();
    store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
}

fn records(store: &dyn PlanStore, seq: u64) -> Vec<JournalRecord> {
    store.journal_since(seq).unwrap().records
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

fn without_a_plan_everything_says_so(store: &dyn PlanStore) {
    assert!(!store.exists().unwrap());
    let load = store.load().unwrap_err();
    let mutate = store.mutate(Mutation::Reset { id: id("1") }, Actor::User).unwrap_err();
    assert_eq!(
        (code(&load), code(&mutate)),
        (ErrorCode::STATE_NOT_INITIALISED, ErrorCode::STATE_NOT_INITIALISED)
    );
    assert_eq!(store.journal_since(0).unwrap(), JournalPart::default());
    assert!(store.progress().unwrap().lines.is_empty());
    assert_eq!(store.rotate_progress(10).unwrap(), 0);
}

fn a_plan_is_not_overwritten_unless_that_was_asked_for(store: &dyn PlanStore) {
    plan_of_three(store);
    let refused = store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap_err();
    assert_eq!(code(&refused), ErrorCode::STATE_EXISTS);
    assert_eq!(store.load().unwrap().plan.tasks.len(), 3);
    let imported = store.import(Plan::default(), Actor::User, Existing::Replace).unwrap();
    assert_eq!((imported.revision, store.load().unwrap().plan.tasks.len()), (2, 0));
}

fn a_plan_with_two_tasks_of_one_id_or_a_bad_title_is_not_imported(store: &dyn PlanStore) {
    let plan = |tasks: [Task; 2]| Plan { tasks: tasks.into(), ..Plan::default() };
    let import = |plan| store.import(plan, Actor::User, Existing::Refuse).unwrap_err();
    let twice = import(plan([Task::new(id("1"), "a"), Task::new(id("1"), "b")]));
    let untitled = import(plan([Task::new(id("1"), "a"), Task::new(id("2"), "")]));
    assert_eq!((code(&twice), code(&untitled)), (ErrorCode::TASK_EXISTS, ErrorCode::TASK_INVALID));
    assert!(!store.exists().unwrap());
}

fn done_twice_keeps_the_first_commit_and_writes_nothing_more(store: &dyn PlanStore) {
    plan_of_three(store);
    let first = store.mutate(done("1", Some("abcd"), Some(5)), Actor::Agent).unwrap();
    let second = store.mutate(done("1", None, None), Actor::Agent).unwrap();
    assert_eq!((first.revision, first.change.completed().next()), (2, Some(&id("1"))));
    assert_eq!((second.revision, second.change, second.seq), (2, TaskChange::Unchanged, None));
    let task = store.load().unwrap().plan.task(&id("1")).cloned().unwrap();
    assert_eq!((task.commit_sha.as_deref(), task.iteration), (Some("abcd"), Some(5)));
    assert_eq!((task.status, task.completed_at.is_some()), (Status::Completed, true));
    assert_eq!(records(store, 0).len(), 2);
}

fn a_mutation_that_is_refused_changes_neither_plan_nor_journal(store: &dyn PlanStore) {
    plan_of_three(store);
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
    assert_eq!(records(store, 0).len(), 1);
}

fn skip_stores_the_reason_and_reset_clears_it(store: &dyn PlanStore) {
    plan_of_three(store);
    let task = || store.load().unwrap().plan.task(&id("3")).cloned().unwrap();
    store.mutate(Mutation::Skip { id: id("3"), reason: Some("r".into()) }, Actor::User).unwrap();
    assert_eq!((task().status, task().skip_reason.as_deref()), (Status::Skipped, Some("r")));
    store.mutate(Mutation::Reset { id: id("3") }, Actor::User).unwrap();
    assert_eq!((task().status, task().skip_reason), (Status::Pending, None));
}

fn a_question_is_answered_by_a_person_and_by_no_agent(store: &dyn PlanStore) {
    plan_of_three(store);
    let task = || store.load().unwrap().plan.task(&id("2")).cloned().unwrap();
    let before = task();
    let ask =
        Mutation::Ask { id: id("2"), question: "a or b?".into(), options: vec!["a".into(), "b".into()] };
    store.mutate(ask, Actor::Agent).unwrap();
    assert_eq!((task().status, task().question.unwrap().options.len()), (Status::Blocked, 2));
    let answer = || Mutation::Answer { id: id("2"), answer: "b".into() };
    assert_eq!(code(&store.mutate(answer(), Actor::Agent).unwrap_err()), ErrorCode::TASK_DENIED);
    let answered = store.mutate(answer(), Actor::User).unwrap();
    assert_eq!((task().status, task().question.unwrap().answer.as_deref()), (Status::Pending, Some("b")));
    store.mutate(Mutation::Undo { change: Some(answered.revision), back: None }, Actor::User).unwrap();
    assert_eq!(task().open_question().unwrap().text, "a or b?", "an answer is taken back");
    store.mutate(answer(), Actor::User).unwrap();
    let question = task().question.unwrap();
    store.mutate(Mutation::Heard { id: id("2"), question }, Actor::Runtime).unwrap();
    assert_eq!(task(), before);
    let error = store.mutate(answer(), Actor::User).unwrap_err();
    assert_eq!(code(&error), ErrorCode::QUESTION_NOT_OPEN);
}

fn a_new_task_gets_the_next_number_and_what_was_said_of_it(store: &dyn PlanStore) {
    plan_of_three(store);
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
}

fn completions_that_a_check_does_not_bear_out_are_taken_back_with_the_failures_on_record(
    store: &dyn PlanStore,
) {
    plan_of_three(store);
    store.mutate(done("1", Some("abcd"), Some(1)), Actor::Agent).unwrap();
    let failures = vec!["cargo test: exit 101".to_owned()];
    let take_back = Mutation::TakeBack { ids: vec![id("1"), id("2")], failures: failures.clone() };
    let applied = store.mutate(take_back, Actor::Runtime).unwrap();
    assert_eq!(applied.change, TaskChange::TakenBack { ids: vec![id("1")] });
    assert_eq!(applied.task, None);
    let plan = store.load().unwrap().plan;
    assert_eq!((plan.tasks[0].status, plan.progress.completed_tasks), (Status::Pending, 0));
    let last = records(store, 0).pop().unwrap();
    let JournalEntry::Mutation { mutation: Mutation::TakeBack { failures: recorded, .. }, .. } = last.entry
    else {
        unreachable!("the last record is the taking back");
    };
    assert_eq!(recorded, failures);
}

fn the_journal_tells_every_change_with_its_revision_and_who_asked(store: &dyn PlanStore) {
    plan_of_three(store);
    let imported = records(store, 0).pop().unwrap().seq;
    let start = Mutation::StartTask { id: id("2"), owner: Some("run-1".into()) };
    let first = store.mutate(start, Actor::Runtime).unwrap().seq.unwrap();
    assert_eq!(store.load().unwrap().plan.tasks[1].owner.as_deref(), Some("run-1"));
    store.mutate(done("2", None, None), Actor::Agent).unwrap();
    assert_eq!(store.load().unwrap().plan.tasks[1].owner, None);
    store.mutate(Mutation::SetProgressStatus { status: ProgressStatus::Stopped }, Actor::User).unwrap();
    let word = |record: &JournalRecord| match &record.entry {
        JournalEntry::Mutation { actor, base, mutation, .. } => {
            format!("{base}->{} {actor:?} {}", record.revision, mutation.name())
        }
        other => format!("{other:?}"),
    };
    let told: Vec<String> = records(store, imported).iter().map(word).collect();
    assert_eq!(told, ["1->2 Runtime start_task", "2->3 Agent done", "3->4 User set_progress_status"]);
    // Numbers grow, and each finds those after it.
    let seqs: Vec<u64> = records(store, 0).iter().map(|record| record.seq).collect();
    assert!(seqs.is_sorted_by(|one, next| one < next), "{seqs:?}");
    assert_eq!((seqs[0], seqs[1]), (imported, first));
    assert_eq!(records(store, first).len(), 2);
    assert_eq!(store.catch_up(first).unwrap().journal, store.journal_since(first).unwrap());
}

fn a_change_that_is_meant_for_another_plan_is_refused(store: &dyn PlanStore) {
    plan_of_three(store);
    let made_at = store.load().unwrap().plan.project.created_at;
    let earlier = made_at.map(|at| at - Duration::from_secs(1));
    let refused = store.mutate_as(earlier, done("1", None, None), &Actor::Agent.into()).unwrap_err();
    assert!(matches!(refused, StateError::Replaced { .. }), "{refused}");
    assert_eq!(store.load().unwrap().plan.tasks[0].status, Status::Pending);
    store.mutate_as(made_at, done("1", None, None), &Actor::Agent.into()).unwrap();
}

fn a_change_is_taken_back_by_whoever_asked_for_it_and_by_nobody_else(store: &dyn PlanStore) {
    plan_of_three(store);
    let title = || store.load().unwrap().plan.tasks[0].title.clone();
    let (before, edit) = (title(), TaskEdit { title: Some("Other".to_owned()), ..TaskEdit::default() });
    let ask = |name: &str, mutation| {
        store.mutate_as(None, mutation, &Asker { name: Some(name.to_owned()), ..Actor::User.into() })
    };
    ask("one", Mutation::Edit { id: TaskId::new("1"), edit: Box::new(edit) }).unwrap();
    let undo = || Mutation::Undo { change: None, back: None };
    let refused = ask("other", undo()).unwrap_err();
    assert!(matches!(refused, StateError::NotUndone { .. }), "{refused}");
    ask("one", undo()).unwrap();
    assert_eq!(title(), before);
}

fn changes_that_come_at_once_all_happen_one_after_the_other(store: &dyn PlanStore) {
    plan_of_three(store);
    let enqueue = || {
        for _ in 0..5 {
            let task = NewTask::new("more");
            store.mutate(Mutation::Enqueue { task }, Actor::User).unwrap();
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(enqueue))));
    let plan = store.load().unwrap().plan;
    let ids: HashSet<&TaskId> = plan.tasks.iter().map(|task| &task.id).collect();
    assert_eq!((plan.tasks.len(), ids.len(), plan.revision), (23, 23, 21));
    let revisions: Vec<u64> = records(store, 0).iter().map(|record| record.revision).collect();
    assert_eq!(revisions, (1..=21).collect::<Vec<u64>>());
}

fn whoever_watches_is_told_to_read_on(store: &dyn PlanStore) {
    plan_of_three(store);
    let mut watch = store.watch();
    store.mutate(done("1", None, None), Actor::Agent).unwrap();
    let waiting = async { timeout(HANG, watch.changed()).await };
    // Whoever calls the suite may be within a runtime, where no other one can be waited for.
    let told = thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let runtime = Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(waiting)
        });
        waiter.join().unwrap()
    });
    assert_eq!(told, Ok(true));
}

fn progress_is_read_back_and_learnings_outlive_rotation(store: &dyn PlanStore) {
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
}

fn a_discovery_adds_as_many_tasks_as_it_may_and_the_log_names_the_others(store: &dyn PlanStore) {
    plan_of_three(store);
    store.mutate(Mutation::BeginDiscovery { room: 1 }, Actor::Runtime).unwrap();
    let add = |title: &str| store.mutate(Mutation::Enqueue { task: NewTask::new(title) }, Actor::Agent);
    add("fourth").unwrap();
    assert_eq!(store.load().unwrap().plan.progress.discovery_room, Some(0));
    match add("fifth") {
        // A store that knows that no loop is at work knows that no discovery is.
        Ok(_) => assert_eq!(store.load().unwrap().plan.progress.discovery_room, None),
        Err(error) => {
            assert_eq!(code(&error), ErrorCode::DISCOVERY_FULL);
            let log = store.progress().unwrap();
            assert!(log.notes(ProgressKind::Found).any(|(_, text)| text.ends_with(": fifth")), "{log:?}");
        }
    }
}

fn a_claim_lands_once_and_whoever_is_late_changes_nothing(store: &dyn PlanStore) {
    plan_of_three(store);
    let change = |mutation| store.mutate(mutation, Actor::Runtime);
    let claim = |of: &str| Mutation::Claim { task: of.parse().unwrap(), worker: "lane-1".into() };
    let submit = |token: u64| Mutation::Submit {
        task: id("1"),
        token,
        branch: format!("samuel/run/1-{token}"),
        commit: "abcd".into(),
        base: "0000".into(),
        tree: None,
        iteration: None,
    };
    let first = change(claim("1")).unwrap();
    assert_eq!(first.task.map(|task| task.status), Some(Status::InProgress));
    let lost = Mutation::Release {
        task: id("1").into(),
        token: first.revision,
        reason: ReleaseReason::Lost,
        kept: None,
    };
    change(lost).unwrap();
    let token = change(claim("1")).unwrap().revision;
    assert_eq!(code(&change(submit(first.revision)).unwrap_err()), ErrorCode::CLAIM_VOID);
    assert_eq!(code(&change(claim("1")).unwrap_err()), ErrorCode::TASK_CLAIMED);
    let denied = store.mutate(submit(token), Actor::Agent).unwrap_err();
    let done = store.mutate(done("1", None, None), Actor::Agent).unwrap_err();
    assert_eq!((code(&denied), code(&done)), (ErrorCode::TASK_DENIED, ErrorCode::TASK_CLAIMED));
    change(submit(token)).unwrap();
    let role = change(claim("@merge")).unwrap().revision;
    let landed = LandingClaim { task: id("1"), token, commit: "abcd".into(), landed: "ef01".into() };
    let (into, old, new) = ("main".into(), "0000".into(), "ef01".into());
    change(Mutation::Landing { role, into, old, new, claims: vec![landed] }).unwrap();
    let skip = Mutation::Skip { id: id("1"), reason: None };
    assert_eq!(code(&store.mutate(skip, Actor::User).unwrap_err()), ErrorCode::TASK_LANDING);
    let before = store.load().unwrap();
    assert_eq!(before.plan.claims.iter().filter(|claim| claim.is_landing()).count(), 2);
    let applied = change(Mutation::Land { role, unchanged: Vec::new() }).unwrap();
    assert!(applied.change.completed().eq([&id("1")]));
    assert_eq!(
        code(&change(Mutation::Land { role, unchanged: Vec::new() }).unwrap_err()),
        ErrorCode::CLAIM_VOID
    );
    let plan = store.load().unwrap().plan;
    let task = plan.task(&id("1")).cloned().unwrap();
    assert_eq!((task.status, task.commit_sha.as_deref()), (Status::Completed, Some("ef01")));
    assert_eq!((plan.claims.len(), plan.progress.completed_tasks), (1, 1));
    // Another plan has nobody's claims.
    store.import(Plan::clone(&plan), Actor::User, Existing::Replace).unwrap();
    assert_eq!(store.load().unwrap().plan.claims, []);
}

fn what_settles_a_claimed_task_can_be_taken_back_and_the_claim_stays_gone(store: &dyn PlanStore) {
    plan_of_three(store);
    let claim = Mutation::Claim { task: id("1").into(), worker: "lane-1".into() };
    let token = store.mutate(claim, Actor::Runtime).unwrap().revision;
    let claims = || store.load().unwrap().plan.claims.len();
    store.mutate(done("2", None, None), Actor::Agent).unwrap();
    assert_eq!(claims(), 1, "another task is none of its business");
    store.mutate(Mutation::Skip { id: id("1"), reason: None }, Actor::User).unwrap();
    assert_eq!(claims(), 0);
    store.mutate(Mutation::Undo { change: None, back: None }, Actor::User).unwrap();
    let task = store.load().unwrap().plan.task(&id("1")).cloned().unwrap();
    assert_eq!((task.status, task.owner, claims()), (Status::Pending, None, 0));
    let (branch, commit, base) = ("b".into(), "abcd".into(), "0000".into());
    let late = Mutation::Submit { task: id("1"), token, branch, commit, base, tree: None, iteration: None };
    assert_eq!(code(&store.mutate(late, Actor::Runtime).unwrap_err()), ErrorCode::CLAIM_VOID);
    let own = store.mutate(Mutation::Undo { change: Some(token), back: None }, Actor::Runtime).unwrap_err();
    assert!(matches!(own, StateError::NotUndone { .. }), "a claim is given back, not taken back: {own}");
}

fn without_notes_there_are_none(lane: &dyn LaneStore) {
    assert_eq!(lane.last_saved().unwrap(), None);
    assert_eq!(lane.supervisors().unwrap(), []);
    assert_eq!(lane.loop_holder().unwrap(), None);
    assert_eq!(lane.read_artifact(Artifact::TaskContext).unwrap(), None);
}

fn the_last_checkpoint_is_found_behind_later_notes(lane: &dyn LaneStore) {
    let checkpoint = |step: u64| Checkpoint {
        run_id: "r1".into(),
        state: json!({"step": step}),
        waits_until: None,
        end: None,
        scope: Scope::Tasks(vec![TaskId::new("1")]),
        agents: vec![AgentTotal { agent: "claude".to_owned(), usage: Usage::default() }],
        begun: None,
        calls: Vec::new(),
    };
    let usage = |input_tokens| Usage { input_tokens, ..Usage::default() };
    let used = |tokens| Used { run_id: "r1".into(), usage: usage(tokens), workers: json!({"of": tokens}) };
    let first = lane.note(Note::Checkpoint(checkpoint(1))).unwrap();
    lane.note(Note::Used(used(1))).unwrap();
    let seq = lane.note(Note::Checkpoint(checkpoint(2))).unwrap();
    assert!(first < seq);
    let saved = SavedRun::of(checkpoint(2), seq);
    assert_eq!(lane.last_saved().unwrap().as_ref(), Some(&saved));
    let called = |worker: u32, agent: &str| Called {
        run_id: "r1".into(),
        worker: Some(worker),
        iteration: 1,
        turn: Turn::Main,
        agent: agent.to_owned(),
        model: Some("opus".to_owned()),
        why: "the configured agent".to_owned(),
    };
    lane.note(Note::Used(used(2))).unwrap();
    for (worker, agent) in [(1, "codex"), (2, "gemini"), (3, "gemini"), (1, "claude")] {
        lane.note(Note::Called(called(worker, agent))).unwrap();
    }
    // That of the third worker ends.
    let calls = vec![called(1, "claude"), called(2, "gemini")];
    let begun = |count| Begun { last: count + 1, count, total: u64::from(count) + 9 };
    lane.note(Note::Begun(begun(1))).unwrap();
    lane.note(Note::Begun(begun(2))).unwrap();
    let books = |failed: u32| LaneBooks {
        run_id: "r1".into(),
        books: failed.into(),
        calls: vec![called(2, "gemini")],
    };
    lane.note(Note::Books(books(1))).unwrap();
    lane.note(Note::Books(books(2))).unwrap();
    // A run that continues the other one has saved nothing yet.
    let run_id = "r2".to_owned();
    let used = Used { run_id: run_id.clone(), ..used(3) };
    lane.note(Note::Used(used.clone())).unwrap();
    lane.note(Note::Supervisor(supervisor(7))).unwrap();
    let (used, begun, books) = (Some(used), Some(begun(2)), Some(books(2)));
    assert_eq!(lane.last_saved().unwrap(), Some(SavedRun { run_id, used, calls, begun, books, ..saved }));
}

fn supervisor(pid: u32) -> SupervisorProcess {
    SupervisorProcess { pid, start_time: 1, role: SupervisorRole::Supervisor, tree: None }
}

fn supervisors_are_known_until_they_have_ended(lane: &dyn LaneStore) {
    let (first, second) = (supervisor(7), supervisor(8));
    lane.note(Note::Supervisor(first)).unwrap();
    lane.note(Note::Supervisor(second)).unwrap();
    lane.note(Note::SupervisorEnded(first)).unwrap();
    assert_eq!(lane.supervisors().unwrap(), [second]);
}

fn a_generated_toon_file_has_the_header(lane: &dyn LaneStore) {
    lane.write_artifact(Artifact::TaskContext, "mode: discovery\n").unwrap();
    lane.write_artifact(Artifact::ProgressContext, "# Summary\n").unwrap();
    let text = lane.read_artifact(Artifact::TaskContext).unwrap();
    assert_eq!(text.as_deref(), Some("# toon v3\nmode: discovery\n"));
    assert_eq!(lane.read_artifact(Artifact::ProgressContext).unwrap().as_deref(), Some("# Summary\n"));
}

fn one_loop_holds_the_lock_until_it_lets_go(lane: &dyn LaneStore) {
    let holder = |doing: &str| Holder::this_process(Timestamp::UNIX_EPOCH, doing);
    let held = lane.lock_loop(&holder("run-1")).unwrap();
    assert!(held.keep().unwrap().is_empty(), "nothing has to be put back");
    let refused = lane.lock_loop(&holder("run-2")).map(drop).unwrap_err();
    assert!(
        matches!(&refused, StateError::LoopRunning { holder: Some(found), .. } if **found == holder("run-1")),
        "{refused}"
    );
    assert_eq!(lane.loop_holder().unwrap(), Some(Some(holder("run-1"))));
    drop(held);
    // A process that something else starts has a copy of each open file for a moment.
    let deadline = Instant::now() + HANG;
    while lane.loop_holder().unwrap().is_some() {
        assert!(Instant::now() < deadline, "the lock is still held");
        thread::yield_now();
    }
    lane.lock_loop(&holder("run-2")).unwrap();
}

/// The id of a run, as the engine makes them.
const RUN: &str = "20261121T100000Z-abcd";

fn a_record_is_read_back_in_whole_lines_and_its_parts_are_apart(lane: &dyn LaneStore) {
    let read = |part, from| lane.read_record(RUN, part, from).unwrap();
    assert_eq!(read(RecordPart::Events, RecordPlace::default()).lines, b"");
    assert_eq!(lane.recorded_runs().unwrap(), Vec::<String>::new());
    lane.append_record(RUN, RecordPart::Events, b"one\ntwo\n").unwrap();
    lane.append_record(RUN, RecordPart::Inputs, b"in\n").unwrap();
    let chunk = read(RecordPart::Events, RecordPlace::default());
    assert_eq!(chunk.lines, b"one\ntwo\n");
    assert_eq!(read(RecordPart::Events, chunk.next).lines, b"");
    lane.append_record(RUN, RecordPart::Events, b"three\n").unwrap();
    assert_eq!(read(RecordPart::Events, chunk.next).lines, b"three\n");
    assert_eq!(read(RecordPart::Inputs, RecordPlace::default()).lines, b"in\n");
    // A long line comes as a whole, and nothing after it is lost.
    let long = [&vec![b'x'; 3 << 20][..], b"\nend\n"].concat();
    lane.append_record("20261121T100001Z-abcd", RecordPart::Events, &long).unwrap();
    let (mut all, mut place) = (Vec::new(), RecordPlace::default());
    loop {
        let chunk = lane.read_record("20261121T100001Z-abcd", RecordPart::Events, place).unwrap();
        if chunk.lines.is_empty() {
            break;
        }
        assert_eq!(chunk.lines.last(), Some(&b'\n'));
        all.extend(chunk.lines);
        place = chunk.next;
    }
    assert!(all == long, "{} of {} bytes", all.len(), long.len());
    assert_eq!(lane.recorded_runs().unwrap(), [RUN, "20261121T100001Z-abcd"]);
}

fn whoever_watches_a_record_hears_of_what_is_appended(lane: &dyn LaneStore) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    lane.append_record(RUN, RecordPart::Events, b"one\n").unwrap();
    runtime.block_on(async {
        let mut watch = lane.watch_record(RUN);
        lane.append_record(RUN, RecordPart::Events, b"two\n").unwrap();
        assert_eq!(timeout(HANG, watch.changed()).await, Ok(true));
    });
}
