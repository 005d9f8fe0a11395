//! What happened to a store's files while a loop was at work.
//!
//! An agent works as the user who started it, and may do with the files of the
//! run directory what it likes. A store that [catches up](super::PlanStore::catch_up)
//! holds the plan against the one that it knew before and against the journal,
//! takes over what is different and writes it to the journal, and puts back what
//! is gone. What it knew is in memory, where the agent does not reach it.

use std::sync::{Arc, PoisonError};

use serde_json::json;

use super::{
    Actor, CaughtUp, Edit, FileStore, JournalEntry, JournalRecord, NotedEvent, StateError,
    acknowledged::{Acknowledged, to_carry},
    file::{cut_short, digest_of, part_after},
    found::Found,
    journal::{After, MAX_RECORD_BYTES, Tail},
    kept::Place,
    last_read::PlanFile,
};
use samuel_model::{MAX_ID_CHARS, text::described};

/// How many edits a warning names one by one.
const MAX_TOLD: usize = 20;
/// How many edits one record of the journal holds.
const MAX_IN_RECORD: usize = 10_000;
// No edit says more than an id, which is short, and two words about it.
const _: () = assert!(MAX_IN_RECORD * (MAX_ID_CHARS + 128) < MAX_RECORD_BYTES);

impl FileStore {
    pub(super) fn caught_up(&self, seq: u64) -> Result<CaughtUp, StateError> {
        let mut acknowledged = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = acknowledged.as_mut() else {
            let (known, records) = self.begin(seq)?;
            let plan = Some(Arc::clone(&known.plan));
            *acknowledged = Some(known);
            return Ok(CaughtUp { journal: part_after(seq, records), plan, warnings: Vec::new() });
        };
        match self.lock_shared() {
            Ok(lock) => {
                let found = self.find(known)?;
                if found.is_as_told() {
                    return self.accept(known, found, seq);
                }
                drop(lock);
            }
            // Whoever holds it keeps the other one from being taken as well.
            Err(error @ StateError::Locked { .. }) => return Err(error),
            // What stands in its place may be put away.
            Err(_) => {}
        }
        let mut warnings = std::mem::take(&mut known.untold);
        let settled = match self.settle(known, seq, &mut warnings) {
            // A directory was removed again in the meantime.
            Err(error) if error.is_missing() => self.settle(known, seq, &mut warnings),
            settled => settled,
        };
        warnings.dedup();
        warnings.truncate(MAX_TOLD);
        known.untold = warnings;
        settled
    }

    /// Takes the files as they are, once a change that was cut short is completed.
    fn begin(&self, seq: u64) -> Result<(Acknowledged, Vec<JournalRecord>), StateError> {
        let read = || Ok::<_, StateError>((self.read_plan()?, self.journal().tail()?));
        let mut lock = self.lock_shared()?;
        let (mut file, mut tail) = read()?;
        if cut_short(&file.document, &tail).is_some() {
            drop(lock);
            let writing = self.lock("catch_up")?;
            self.heal_tail()?;
            drop(writing);
            lock = self.lock_shared()?;
            (file, tail) = read()?;
        }
        let _lock = lock;
        let known = Acknowledged {
            content: file.content.clone(),
            plan: Arc::clone(&file.document.plan),
            unread: file.document.unparsed.len(),
            seq: tail.seq,
            revision: tail.revision.max(file.document.plan.revision),
            carried: self.journal().carried()?,
            ignored: self.is_ignored(),
            untold: Vec::new(),
        };
        self.keep_file(&known.content, Place::OfLast);
        self.last_read.keep(file);
        Ok((known, self.journal().since(seq)?))
    }

    /// Goes on from files that are as the journal tells.
    fn accept(&self, known: &mut Acknowledged, found: Found, seq: u64) -> Result<CaughtUp, StateError> {
        let file = found.plan?;
        let warnings = std::mem::take(&mut known.untold);
        self.go_on(known, file, found.records, seq, warnings)
    }

    /// Takes the plan for known with these records, and tells of those after a number.
    fn go_on(
        &self,
        known: &mut Acknowledged,
        file: PlanFile,
        records: Vec<JournalRecord>,
        seq: u64,
        warnings: Vec<String>,
    ) -> Result<CaughtUp, StateError> {
        let mut told = if seq < known.seq { self.journal().since(seq)? } else { Vec::new() };
        told.retain(|record| record.seq <= known.seq);
        known.go_on(&file, &records);
        self.written.forget_until(known.seq);
        told.extend(records.into_iter().filter(|record| record.seq > seq));
        let plan = Some(Arc::clone(&file.document.plan));
        self.last_read.keep(file);
        Ok(CaughtUp { journal: part_after(seq, told), plan, warnings })
    }

    /// Restores what is missing, and records what is different. Adds to `warnings`, and takes them only if it succeeds.
    fn settle(
        &self,
        known: &mut Acknowledged,
        seq: u64,
        warnings: &mut Vec<String>,
    ) -> Result<CaughtUp, StateError> {
        self.put_back_places(known, warnings)?;
        let _lock = self.lock("catch_up")?;
        self.heal_tail()?;
        let found = self.find_still(known)?;
        let now = self.now();
        let (mut records, journal_is_lost) = (found.records, found.journal_is_lost);
        if journal_is_lost {
            let after = After { revision: known.revision, digest: Some(digest_of([&known.content[..]])) };
            let left = self.journal().supervisor_records_after(known.seq).unwrap_or_default();
            // Their numbers are counted again.
            let left = left.into_iter().map(|record| JournalRecord { seq: known.seq, ..record });
            let carried = to_carry(known.carried.iter().cloned().chain(left));
            records.push(self.journal().put_back(&carried, known.seq, now, after)?);
            warnings
                .push(format!("{} was gone or cut short and is put back", self.dir().journal().display()));
        }
        let mut file = match found.plan {
            Ok(file) => file,
            Err(error) => {
                let path = self.dir().prd();
                let why = described(&error);
                let told = format!("{} could not be used and is put back as it was: {why}", path.display());
                self.put_back_plan(known, &records, error, warnings)?;
                warnings.push(told);
                self.read_plan()?
            }
        };
        if let Some(kept) = self.tasks_to_keep(known, &file, &records) {
            self.keep_file(&known.content, Place::OfLast);
            self.keep_file(&file.content, Place::Beside);
            warnings.extend(kept.told());
            file = self.with_tasks(file, kept)?;
        }
        let mut edits = known.edits(&file, &records);
        let excess = known.excess(&file.document.plan, &records, &self.written);
        if excess.is_some() || edits.iter().any(Edit::loses_something) {
            self.keep_file(&known.content, Place::OfLast);
            // What is kept from now on takes the place of this one.
            self.keep_file(&file.content, Place::Beside);
        }
        let mut refused = Vec::new();
        if let Some(excess) = excess {
            file = self.without(file, &excess)?;
            edits = excess.taken_from(edits);
            refused = excess.told();
        }
        if let Some(lost) = known.lost_claims(&file, &records).filter(|_| !journal_is_lost) {
            edits.retain(|edit| !lost.holds(edit));
            warnings.extend(lost.told());
            file = self.with_claims(file, lost)?;
        }
        if let Some(lost) = known.lost_credits(&file, &edits).filter(|_| !journal_is_lost) {
            edits.retain(|edit| !lost.undoes(edit));
            warnings.push(lost.told());
            file = self.with_credits(file, lost)?;
        }
        let put_back = (!warnings.is_empty()).then(|| {
            let data = json!({ "what": warnings });
            JournalEntry::Event(NotedEvent { name: "put_back".to_owned(), data })
        });
        let edited = edits.chunks(MAX_IN_RECORD);
        let edited =
            edited.map(|edits| JournalEntry::Edited { actor: Actor::External, edits: edits.to_vec() });
        for entry in put_back.into_iter().chain(edited) {
            let last = records.last().map_or(known.seq, |record| record.seq);
            records.push(self.note_in_journal(&file, last, entry)?);
        }
        warnings.extend(refused);
        warnings.extend(told(&edits));
        self.go_on(known, file, records, seq, std::mem::take(warnings))
    }

    /// Keeps a plan outside of the work tree, unless it is no text.
    fn keep_file(&self, content: &[u8], place: Place) {
        if let Ok(text) = str::from_utf8(content) {
            self.keep([text].into_iter(), place);
        }
    }

    /// Appends to the journal after a record, whatever somebody writes there without
    /// the lock meanwhile: what is returned is told, not what is read there.
    fn note_in_journal(
        &self,
        file: &PlanFile,
        last: u64,
        entry: JournalEntry,
    ) -> Result<JournalRecord, StateError> {
        let mut tail: Tail = self.journal().tail()?;
        tail.seq = last;
        let revision = tail.revision.max(file.document.plan.revision);
        let (at, after) = (self.now(), After { revision, digest: Some(digest_of([&file.content[..]])) });
        let seq = self.journal().append(&tail, at, after.clone(), entry.clone(), true)?.seq;
        Ok(JournalRecord { seq, at, revision, digest: after.digest, entry })
    }
}

/// Words edits for people, the first of them one by one.
fn told(edits: &[Edit]) -> Vec<String> {
    let word = |edit: &Edit| match edit.completed() {
        Some(_) => format!("prd.toon was edited: {edit}, which needs the check as any completion does"),
        None => format!("prd.toon was edited: {edit}"),
    };
    let more = edits.len().saturating_sub(MAX_TOLD);
    let more = (more > 0).then(|| format!("prd.toon was edited: and {more} more changes"));
    edits.iter().take(MAX_TOLD).map(word).chain(more).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        fs,
        io::Write as _,
        path::{Path, PathBuf},
        sync::Mutex,
        thread,
        time::{Duration, Instant},
    };

    use jiff::Timestamp;

    use super::*;
    use crate::{
        Existing, LaneStore as _, MAX_REVISION, Mutation, NewTask, PlanStore as _, RunDir, found::STILL,
    };
    use samuel_model::{
        Plan, TaskId,
        clock::{Clock, SystemClock},
    };

    fn in_new_dir() -> (tempfile::TempDir, FileStore) {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::default()));
        store.import(Plan::default(), Actor::User, Existing::Refuse).unwrap();
        for title in ["First", "Second", "Third"] {
            store.mutate(Mutation::Enqueue { task: NewTask::new(title) }, Actor::User).unwrap();
        }
        (root, store)
    }

    /// The system clock, which removes a directory when it is read next.
    #[derive(Debug, Default)]
    struct Removing(SystemClock, Mutex<Option<PathBuf>>);

    #[async_trait::async_trait]
    impl Clock for Removing {
        fn now(&self) -> Timestamp {
            if let Some(directory) = self.1.lock().unwrap().take() {
                fs::remove_dir_all(directory).unwrap();
            }
            self.0.now()
        }

        fn elapsed(&self) -> Duration {
            self.0.elapsed()
        }

        async fn sleep(&self, duration: Duration) {
            self.0.sleep(duration).await;
        }
    }

    fn done(store: &FileStore, id: &str) -> Result<Option<u64>, StateError> {
        let done = Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None };
        Ok(store.mutate(done, Actor::Agent)?.seq)
    }

    /// Appends a record to the journal as anybody can.
    fn forge(store: &FileStore, seq: u64) {
        let mut file = fs::OpenOptions::new().append(true).open(store.dir().journal()).unwrap();
        writeln!(file, r#"{{"seq":{seq},"at":"2026-01-01T00:00:00Z","revision":2,"kind":"rotated"}}"#)
            .unwrap();
    }

    #[test]
    fn whoever_holds_the_lock_is_waited_for_once() {
        let (_root, store) = in_new_dir();
        store.catch_up(0).unwrap();
        // Twice as long would be a hang.
        let store = store.with_lock_wait(Duration::from_secs(3));
        let _held = store.lock("held").unwrap();
        let begun = Instant::now();
        let caught = store.catch_up(0);
        assert!(matches!(caught, Err(StateError::Locked { .. })), "{caught:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_number_that_somebody_made_up_hides_no_completion() {
        for made_up in [7, 1 << 40, MAX_REVISION - 1, MAX_REVISION, MAX_REVISION + 1] {
            let (_root, store) = in_new_dir();
            store.catch_up(0).unwrap();
            let role = crate::SupervisorRole::Supervisor;
            let supervisor = crate::SupervisorProcess { pid: 1, start_time: 1, role, tree: None };
            let mut seq = store.note(crate::Note::Supervisor(supervisor)).unwrap();
            forge(&store, made_up);
            for id in ["1", "2"] {
                // Where no number follows, nothing is written that nobody would read.
                if done(&store, id).is_err() {
                    assert!(made_up == MAX_REVISION - 1, "{made_up}");
                    store.catch_up(seq).unwrap();
                    done(&store, id).unwrap();
                }
                let records = store.catch_up(seq).unwrap().journal.records;
                let completes = |record: &JournalRecord| match &record.entry {
                    JournalEntry::Mutation { change, .. } => change.completed().next().is_some(),
                    JournalEntry::Edited { edits, .. } => edits.iter().any(|edit| edit.completed().is_some()),
                    _ => false,
                };
                assert!(records.iter().any(completes), "{made_up}: {records:?}");
                seq = records.last().unwrap().seq;
            }
            assert_eq!(store.supervisors().unwrap(), [supervisor], "{made_up}");
        }
    }

    #[test]
    fn a_change_that_was_cut_short_is_completed_before_anything_is_written_after_it() {
        type Next = fn(&FileStore);
        let nexts: [(bool, Next); 3] = [
            (true, |store| drop(store.catch_up(0).unwrap())),
            (false, |store| drop(store.catch_up(0).unwrap())),
            (true, |store| {
                let event = NotedEvent { name: "x".to_owned(), data: serde_json::Value::Null };
                store.note(crate::Note::Event(event)).unwrap();
            }),
        ];
        for (is_known, next) in nexts {
            let (_root, store) = in_new_dir();
            if is_known {
                store.catch_up(0).unwrap();
            }
            let before = fs::read(store.dir().prd()).unwrap();
            let seq = done(&store, "1").unwrap().unwrap();
            // The process was ended after it had written the journal.
            fs::write(store.dir().prd(), before).unwrap();
            next(&store);
            let caught = store.catch_up(seq - 1).unwrap();
            assert_eq!(caught.warnings, [""; 0]);
            assert_eq!(caught.plan.unwrap().count(samuel_model::Status::Completed), 1);
        }
    }

    #[test]
    fn a_plan_that_was_imported_and_lost_is_put_back_as_it_is_kept_or_not_at_all() {
        for is_kept in [true, false] {
            let (root, mut store) = in_new_dir();
            if is_kept {
                let kept = crate::KeptPlans::of(&root.path().join("state"), store.dir());
                store = store.keeping_plans(kept);
            }
            store.catch_up(0).unwrap();
            let task = samuel_model::Task::new(TaskId::new("new"), "t");
            let plan = Plan { tasks: vec![task], ..Plan::default() };
            store.import(plan, Actor::User, Existing::Replace).unwrap();
            done(&store, "new").unwrap();
            fs::remove_file(store.dir().prd()).unwrap();
            let caught = store.catch_up(0);
            if !is_kept {
                assert!(matches!(caught, Err(StateError::NotInitialised { .. })), "{caught:?}");
                continue;
            }
            let plan = caught.unwrap().plan.unwrap();
            assert_eq!((plan.tasks.len(), plan.count(samuel_model::Status::Completed)), (1, 1));
            assert!(plan.task(&TaskId::new("new")).is_some());
        }
    }

    #[test]
    fn restores_a_directory_removed_during_its_restore() {
        let (root, store) = in_new_dir();
        let clock = Arc::new(Removing::default());
        let store = FileStore::new(store.dir().clone(), clock.clone());
        store.catch_up(0).unwrap();
        let state = root.path().join(".samuel");
        fs::remove_dir_all(&state).unwrap();
        *clock.1.lock().unwrap() = Some(state);
        assert_eq!(store.catch_up(0).unwrap().plan.unwrap().tasks.len(), 3);
        assert_eq!(store.load().unwrap().plan.tasks.len(), 3);
    }

    #[test]
    fn writes_nothing_into_another_project_during_run() {
        let (root, store) = in_new_dir();
        let (other, _theirs) = in_new_dir();
        let holder = crate::Holder::this_process(Timestamp::UNIX_EPOCH, "run run-1");
        let lock = store.lock_loop(&holder).unwrap();
        let event = NotedEvent { name: "x".to_owned(), data: serde_json::Value::Null };
        store.catch_up(0).unwrap();
        let files = |root: &Path| {
            let entries = fs::read_dir(RunDir::new(root).path()).unwrap().map(|entry| entry.unwrap().path());
            let mut files: Vec<_> = entries.map(|path| (fs::read(&path).unwrap(), path)).collect();
            files.sort();
            files
        };
        let (before, away) = (files(other.path()), root.path().with_extension("away"));
        fs::rename(root.path(), &away).unwrap();
        std::os::unix::fs::symlink(other.path(), root.path()).unwrap();
        let refused = [
            store.catch_up(0).map(drop),
            lock.keep().map(drop),
            store.note(crate::Note::Event(event)).map(drop),
            done(&store, "1").map(drop),
        ];
        let after = files(other.path());
        fs::remove_file(root.path()).unwrap();
        fs::rename(&away, root.path()).unwrap();
        let help = format!(
            "Move the original directory back to \"{}\", then start the run again.",
            root.path().display()
        );
        for refused in refused {
            let error = refused.unwrap_err();
            assert_eq!(samuel_model::Coded::help(&error).prose(), help, "{error}");
        }
        assert_eq!(before, after);
        assert_eq!(store.catch_up(0).unwrap().warnings, [""; 0]);
    }

    #[test]
    fn warns_about_everything_moved_aside() {
        let (root, store) = in_new_dir();
        store.catch_up(0).unwrap();
        let state = root.path().join(".samuel");
        fs::remove_dir_all(&state).unwrap();
        fs::write(&state, "something else").unwrap();
        let told = |place: &Path| {
            let aside = place.with_file_name(format!("{}.aside-1", place.file_name().unwrap().display()));
            assert!(aside.exists(), "{}", aside.display());
            format!("{} could not be used and was moved to {}", place.display(), aside.display())
        };
        let warnings = store.catch_up(0).unwrap().warnings;
        assert!(warnings.contains(&told(&state)), "{warnings:?}");
        for path in [store.dir().prd(), store.dir().journal()] {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            let warnings = store.catch_up(0).unwrap().warnings;
            assert!(warnings.contains(&told(&path)), "{warnings:?}");
        }
    }

    #[test]
    fn restores_progress_log_replaced_by_directory_or_pipe() {
        let (_root, store) = in_new_dir();
        let (path, mode) = (store.dir().progress(), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        let entry = crate::ProgressEntry::note(store.now(), crate::ProgressKind::Started, "first");
        store.append_progress(&[entry]).unwrap();
        store.catch_up(0).unwrap();
        let aside = path.with_file_name("progress.md.aside-1");
        let moved = format!("{} could not be used and was moved to {}", path.display(), aside.display());
        for (is_directory, told) in [(true, &*moved), (false, "progress.md was removed")] {
            fs::remove_file(&path).unwrap();
            match is_directory {
                true => fs::create_dir(&path).unwrap(),
                false => {
                    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap()
                }
            }
            let warnings = store.catch_up(0).unwrap().warnings;
            assert!(matches!(&*warnings, [warning] if warning.starts_with(told)), "{warnings:?}");
            assert!(fs::read_to_string(&path).unwrap().contains(told));
            assert_eq!(store.catch_up(0).unwrap().warnings, [""; 0]);
        }
        assert!(aside.is_dir());
    }

    #[test]
    fn what_stood_in_the_place_of_a_lost_journal_is_kept_beside_it() {
        let (_root, store) = in_new_dir();
        store.catch_up(0).unwrap();
        fs::write(store.dir().journal(), "something else\n").unwrap();
        store.catch_up(0).unwrap();
        let aside = store.dir().journal().with_extension("jsonl.unreadable");
        assert_eq!(fs::read_to_string(aside).unwrap(), "something else\n");
    }

    #[test]
    fn a_plan_that_is_written_in_place_is_taken_over_once_all_of_it_is_there() {
        let (_root, store) = in_new_dir();
        store.catch_up(0).unwrap();
        let path = store.dir().prd();
        let edited = fs::read_to_string(&path).unwrap().replace("Second", "Better");
        let halves = edited.split_at(edited.find("Better").unwrap());

        let mut file = fs::File::create(&path).unwrap();
        let caught = thread::scope(|scope| {
            let catches = scope.spawn(|| store.catch_up(0).unwrap());
            for half in [halves.0, halves.1] {
                file.write_all(half.as_bytes()).unwrap();
                thread::sleep(STILL / 4);
            }
            catches.join().unwrap()
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), edited);
        assert_eq!(caught.warnings, ["prd.toon was edited: task 2 was changed"]);
    }
}
