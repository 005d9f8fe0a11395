//! Writers beside each other, crashes, and file systems that refuse.

use std::{
    collections::HashSet,
    env,
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use samuel_model::{Coded, ErrorCode, Plan, Status, Task, TaskId, clock::SystemClock};
use samuel_state::{
    Actor, Existing, FileStore, Holder, JournalEntry, LaneStore, Mutation, NewTask, Note, NotedEvent,
    PlanStore, RunDir, StateError, TaskChange,
};

/// Tells a test that it is the child of another one, and where to work.
const CHILD_DIR: &str = "SAMUEL_TEST_RUN_DIR";

fn store(root: &Path) -> FileStore {
    FileStore::new(RunDir::new(root), Arc::new(SystemClock::new()))
}

/// A store that holds one task in a new directory.
fn in_dir(dir: &RunDir) -> FileStore {
    FileStore::new(dir.clone(), Arc::new(SystemClock::new()))
}

fn new_store() -> (tempfile::TempDir, FileStore) {
    let root = tempfile::tempdir().unwrap();
    let store = store(root.path());
    let plan = Plan { tasks: vec![Task::new(TaskId::new("1"), "First")], ..Plan::default() };
    store.import(plan, Actor::User, Existing::Refuse).unwrap();
    (root, store)
}

fn enqueue(store: &FileStore, title: &str) -> Result<TaskId, StateError> {
    let applied = store.mutate(Mutation::Enqueue { task: NewTask::new(title) }, Actor::User)?;
    let TaskChange::Added { id } = applied.change else { unreachable!("a task was added") };
    Ok(id)
}

fn done(id: &str) -> Mutation {
    Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None }
}

/// Starts a test of this file again in a process of its own, where it does what
/// [`child_dir`] tells it to.
fn child(test: &str, root: &Path, prefix: &[&str]) -> Child {
    let own = env::current_exe().unwrap();
    let arguments = [test, "--exact", "--nocapture"].map(OsStr::new);
    let mut words: Vec<&OsStr> = prefix.iter().map(OsStr::new).collect();
    words.push(own.as_os_str());
    words.extend(arguments);
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env(CHILD_DIR, root).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

/// Says where to work, if this process is the child.
fn child_dir() -> Option<PathBuf> {
    env::var_os(CHILD_DIR).map(PathBuf::from)
}

#[test]
fn of_8_threads_with_25_changes_each_none_is_lost() {
    let (_root, store) = new_store();
    let (done, store) = (AtomicBool::new(false), &store);
    let ids: Vec<TaskId> = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(Ordering::Relaxed) {
                let loaded = store.load().unwrap();
                assert!(loaded.revision >= last && loaded.diagnostics.is_empty());
                last = loaded.revision;
            }
        });
        let writer =
            |n| move || (0..25).map(|k| enqueue(store, &format!("{n}.{k}")).unwrap()).collect::<Vec<_>>();
        let writers: Vec<_> = (0..8).map(|n| scope.spawn(writer(n))).collect();
        let joined: Vec<_> = writers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        joined.into_iter().flat_map(Result::unwrap).collect()
    });
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 200);
    let loaded = store.load().unwrap();
    assert_eq!((loaded.plan.tasks.len(), loaded.revision), (201, 201));
    let revisions: Vec<u64> =
        store.journal_since(0).unwrap().records.iter().map(|record| record.revision).collect();
    assert_eq!(revisions, (1..=201).collect::<Vec<u64>>());
}

#[test]
fn a_busy_store_is_an_error_after_the_wait_that_names_the_holder() {
    let (_root, store) = new_store();
    let lock = fs::File::options().write(true).read(true).open(store.dir().lock()).unwrap();
    lock.lock().unwrap();
    let hasty = store.clone().with_lock_wait(Duration::from_millis(30));
    let error = hasty.mutate(done("1"), Actor::User).unwrap_err();
    assert_eq!(error.code(), ErrorCode::STATE_LOCKED);
    assert!(error.to_string().contains(&format!("held by process {} (import, since ", std::process::id())));
    // A record whose plan is not in place yet must not be seen.
    assert_eq!(hasty.journal_since(0).unwrap_err().code(), ErrorCode::STATE_LOCKED);
    assert_eq!(hasty.load().unwrap().revision, 1, "the plan is read without the lock");
    lock.unlock().unwrap();
    hasty.mutate(done("1"), Actor::User).unwrap();
}

#[test]
fn a_change_that_a_crash_cut_short_is_completed_by_the_next_writer() {
    let (_root, store) = new_store();
    enqueue(&store, "Second").unwrap();
    let before = fs::read(store.dir().prd()).unwrap();
    store.mutate(done("1"), Actor::Agent).unwrap();
    fs::write(store.dir().prd(), before).unwrap();

    // The next change is refused, and completes the other one all the same.
    store.mutate(done("999"), Actor::User).unwrap_err();
    let loaded = store.load().unwrap();
    assert_eq!((loaded.revision, loaded.plan.tasks[0].status), (3, Status::Completed));
    assert_eq!(enqueue(&store, "Third").unwrap(), TaskId::new("3"));
    let revisions: Vec<u64> =
        store.journal_since(0).unwrap().records.iter().map(|record| record.revision).collect();
    assert_eq!(revisions, [1, 2, 3, 4]);
}

#[test]
fn a_writer_that_reads_one_row_completes_the_change_of_another_that_was_cut_short() {
    let (root, first) = new_store();
    for title in ["Second", "Third"] {
        enqueue(&first, title).unwrap();
    }
    let before = fs::read(first.dir().prd()).unwrap();
    first.mutate(done("2"), Actor::Agent).unwrap();
    fs::write(first.dir().prd(), before).unwrap();

    store(root.path()).mutate(done("3"), Actor::Agent).unwrap();
    let plan = first.load().unwrap().plan;
    let completed: Vec<bool> = plan.tasks.iter().map(|task| task.status == Status::Completed).collect();
    assert_eq!((completed, plan.progress.completed_tasks), (vec![false, true, true], 2));
}

#[test]
fn an_older_plan_put_back_by_hand_counts_and_revisions_go_on() {
    let (_root, store) = new_store();
    let old = fs::read(store.dir().prd()).unwrap();
    for title in ["Second", "Third"] {
        enqueue(&store, title).unwrap();
    }
    fs::write(store.dir().prd(), old).unwrap();
    let applied = store.mutate(done("1"), Actor::User).unwrap();
    assert_eq!((applied.revision, store.load().unwrap().plan.tasks.len()), (4, 1));
}

#[test]
fn a_lost_journal_does_not_stop_the_work() {
    let (_root, store) = new_store();
    enqueue(&store, "Second").unwrap();
    fs::remove_file(store.dir().journal()).unwrap();
    assert_eq!(store.mutate(done("1"), Actor::User).unwrap().revision, 3);
    assert_eq!(store.journal_since(0).unwrap().records.len(), 1);
}

#[test]
fn a_journal_that_cannot_be_written_leaves_the_plan_alone() {
    let (_root, store) = new_store();
    let before = fs::read(store.dir().prd()).unwrap();
    let elsewhere = store.dir().path().join("elsewhere");
    fs::rename(store.dir().journal(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, store.dir().journal()).unwrap();
    let journal = fs::read(&elsewhere).unwrap();
    let error = store.mutate(done("1"), Actor::User).unwrap_err();
    assert_eq!(error.code(), ErrorCode::STATE_IO);
    assert_eq!((fs::read(store.dir().prd()).unwrap(), fs::read(&elsewhere).unwrap()), (before, journal));
    assert!(!store.dir().path().join(".prd.toon.tmp").exists());
}

#[test]
fn a_plan_that_cannot_be_written_keeps_the_old_file_and_is_not_journalled() {
    let (_root, store) = new_store();
    let before = fs::read(store.dir().prd()).unwrap();
    fs::create_dir(store.dir().path().join(".prd.toon.tmp")).unwrap();
    let error = store.mutate(done("1"), Actor::User).unwrap_err();
    assert_eq!(error.location().unwrap().file, store.dir().path().join(".prd.toon.tmp"));
    assert_eq!(fs::read(store.dir().prd()).unwrap(), before);
    assert_eq!(store.journal_since(0).unwrap().records.len(), 1);
}

#[test]
fn a_directory_that_cannot_be_created_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join(".samuel"), "a file").unwrap();
    let store = store(root.path());
    let error = store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap_err();
    assert_eq!(error.code(), ErrorCode::STATE_IO);
}

#[test]
fn a_disk_that_fills_up_in_the_middle_of_a_write_keeps_what_was_there() {
    if let Some(dir) = child_dir() {
        return fill_the_disk(&store(&dir));
    }
    let (root, store) = new_store();
    enqueue(&store, "Second").unwrap();
    let plan = fs::read(store.dir().prd()).unwrap();
    // No file may grow beyond 8 KiB, as if the disk were full there.
    let limit = ["sh", "-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"];
    let mut child = child(
        "durability::a_disk_that_fills_up_in_the_middle_of_a_write_keeps_what_was_there",
        root.path(),
        &limit,
    );
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read(store.dir().prd()).unwrap(), plan);
    let journal = fs::read_to_string(store.dir().journal()).unwrap();
    assert!(journal.len() > 7_000 && journal.ends_with('\n'), "the journal was filled with whole lines");
    let records = store.journal_since(0).unwrap().records;
    let next = store.mutate(done("1"), Actor::User).unwrap();
    assert_eq!(next.seq, Some(records.last().unwrap().seq + 1));
}

fn fill_the_disk(store: &FileStore) {
    let long = NewTask { description: "x".repeat(20_000), ..NewTask::new("Long") };
    let error = store.mutate(Mutation::Enqueue { task: long }, Actor::User).unwrap_err();
    assert_eq!(error.code(), ErrorCode::STATE_IO);
    // The last place is smaller than what a change needs.
    for bytes in [300, 1] {
        let event = || NotedEvent { name: "filling".into(), data: "y".repeat(bytes).into() };
        let full = (0..100).find_map(|_| store.note(Note::Event(event())).err()).unwrap();
        assert_eq!(full.code(), ErrorCode::STATE_IO);
    }
    let error = store.mutate(done("1"), Actor::User).unwrap_err();
    assert_eq!(error.code(), ErrorCode::STATE_IO);
}

#[test]
fn the_loop_lock_is_free_once_its_holder_was_killed() {
    if let Some(dir) = child_dir() {
        return hold_the_loop_lock(&RunDir::new(dir));
    }
    let root = tempfile::tempdir().unwrap();
    let dir = RunDir::new(root.path());
    let mut child = child("durability::the_loop_lock_is_free_once_its_holder_was_killed", root.path(), &[]);
    let output = BufReader::new(child.stdout.take().unwrap());
    assert!(output.lines().any(|line| line.unwrap() == "held"));
    let holder = Holder::this_process("2026-11-21T10:00:00Z".parse().unwrap(), "run-2");
    let Err(StateError::LoopRunning { holder: Some(found), .. }) = in_dir(&dir).lock_loop(&holder) else {
        unreachable!("the child holds the lock");
    };
    assert_eq!((found.pid, found.doing.as_str()), (child.id(), "run-1"));
    child.kill().unwrap();
    child.wait().unwrap();
    in_dir(&dir).lock_loop(&holder).unwrap();
}

fn hold_the_loop_lock(dir: &RunDir) {
    let holder = Holder::this_process("2026-11-21T10:00:00Z".parse().unwrap(), "run-1");
    let _lock = in_dir(dir).lock_loop(&holder).unwrap();
    println!("\nheld");
    // The parent holds the other end and never writes.
    std::io::stdin().lines().next();
}

#[test]
fn replacing_a_plan_keeps_a_backup_also_of_a_corrupt_one() {
    let (_root, store) = new_store();
    fs::write(store.dir().prd(), "# toon v3\n\"").unwrap();
    assert_eq!(store.load().unwrap_err().code(), ErrorCode::STATE_CORRUPT);
    let backups: Vec<_> = (0..2)
        .map(|_| store.import(Plan::default(), Actor::User, Existing::Replace).unwrap().backup.unwrap())
        .collect();
    assert_eq!(fs::read_to_string(&backups[0]).unwrap(), "# toon v3\n\"");
    assert_ne!(backups[0], backups[1]);
    assert!(backups[0].file_name().unwrap().to_str().unwrap().starts_with("prd.toon.bak-2"));
    let last = store.journal_since(0).unwrap().records.pop().unwrap();
    assert!(matches!(last.entry, JournalEntry::Imported { backup: Some(_), tasks: 0, .. }));
}

#[test]
fn lines_an_agent_appended_itself_are_kept_and_never_joined() {
    let (_root, store) = new_store();
    fs::write(store.dir().progress(), b"my own note \xff without an end").unwrap();
    let at = "2026-11-21T10:00:00Z".parse().unwrap();
    let entry = samuel_state::ProgressEntry::note(at, samuel_state::ProgressKind::Found, "x");
    store.append_progress(&[entry]).unwrap();
    let content = fs::read(store.dir().progress()).unwrap();
    assert_eq!(content, b"my own note \xff without an end\n[2026-11-21T10:00:00Z] FOUND: x\n");
    assert_eq!(store.rotate_progress(1).unwrap(), 2, "the newer half of one line is none");
    assert_eq!(fs::read(store.dir().progress_archive()).unwrap(), content);
    assert_eq!(fs::read(store.dir().progress()).unwrap(), b"");
}
