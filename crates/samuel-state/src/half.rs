//! A plan's file of which only a part is there.
//!
//! An editor that writes the file in place leaves half of it there for a moment,
//! and what is written over half a plan is all that is left of it.

use std::{
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

use super::{
    DiagnosticKind, FileStore, LoadedPlan, StateDiagnostic, StateError, files,
    found::{MAX_WRITING, STILL},
    last_read::PlanFile,
    plan_file::{Document, Missing},
};
use samuel_fs::Durability;

/// Says whether a line of [`LoadedPlan::unparsed`](super::LoadedPlan::unparsed) tells of
/// tasks that are missing.
pub(crate) fn is_gap(line: &str) -> bool {
    Missing::read(line).is_some()
}

impl LoadedPlan {
    /// Counts the lines of [`unparsed`](Self::unparsed) that stand in the file and could
    /// not be understood.
    pub fn unread_lines(&self) -> usize {
        self.unparsed.iter().filter(|line| !is_gap(line)).count()
    }

    /// Returns what [`unparsed`](Self::unparsed) says of tasks that the plan's file
    /// announces and that are not there, such as `5 of 9 tasks are missing`.
    pub fn gaps(&self, prd: &Path) -> impl Iterator<Item = StateDiagnostic> {
        self.unparsed
            .iter()
            .filter(|line| is_gap(line))
            .map(|line| StateDiagnostic::of_gap(prd, line.clone()))
    }
}

/// Where what stands in the place of a plan is kept when it is written over.
pub(super) fn aside(plan: &Path) -> PathBuf {
    plan.with_extension("toon.unreadable")
}

impl FileStore {
    /// Reads a file again until whoever writes it has written all of it. One of
    /// which a part stays missing is kept beside the plan.
    pub(super) fn once_still(&self, mut file: PlanFile) -> Result<PlanFile, StateError> {
        let deadline = Instant::now() + MAX_WRITING;
        while may_be_half(&file) && Instant::now() < deadline {
            thread::sleep(STILL);
            let read = self.read_plan()?;
            if read.content == file.content {
                file = read;
                break;
            }
            file = read;
        }
        if file.document.missing.is_some() {
            files::write(self.dir().root(), &aside(&self.dir().prd()), &file.content, Durability::Unsynced)?;
        }
        Ok(file)
    }

    /// Refuses a file in which tasks are missing.
    pub(super) fn whole(&self, file: PlanFile) -> Result<PlanFile, StateError> {
        let Document { missing: Some(missing), .. } = &file.document else { return Ok(file) };
        Err(StateError::Corrupt {
            path: self.dir().prd(),
            line: None,
            column: None,
            reason: missing.to_string(),
        })
    }
}

fn may_be_half(file: &PlanFile) -> bool {
    let is_lost =
        |kind: DiagnosticKind| matches!(kind, DiagnosticKind::CountMismatch | DiagnosticKind::Skipped);
    file.diagnostics.iter().any(|diagnostic| is_lost(diagnostic.kind))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, io::Write as _, sync::Arc};

    use super::*;
    use crate::{Actor, Existing, Mutation, NewTask, PlanStore as _, RunDir};
    use samuel_model::{Plan, Status, Task, TaskId, clock::SystemClock};

    /// A store of three tasks, its text, and where the row of the second begins.
    fn in_new_dir() -> (tempfile::TempDir, FileStore, String, usize) {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::default()));
        let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), format!("task {id}"))).to_vec();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let text = fs::read_to_string(store.dir().prd()).unwrap();
        let second = text.find("  \"2\",").unwrap();
        (root, store, text, second)
    }

    fn enqueue(store: &FileStore) -> TaskId {
        let added = store.mutate(Mutation::Enqueue { task: NewTask::new("new") }, Actor::User).unwrap();
        added.task.unwrap().id
    }

    #[test]
    fn a_change_waits_for_the_rest_of_a_plan_that_is_being_written() {
        let (_root, store, text, second) = in_new_dir();
        let mut file = fs::File::create(store.dir().prd()).unwrap();
        let (begun, rest) = text.as_bytes().split_at(second);
        file.write_all(begun).unwrap();
        thread::scope(|scope| {
            let adds = scope.spawn(|| enqueue(&store));
            thread::sleep(STILL / 4);
            file.write_all(rest).unwrap();
            assert_eq!(adds.join().unwrap().as_str(), "4");
        });
        let loaded = store.load().unwrap();
        assert_eq!((loaded.plan.tasks.len(), loaded.unparsed.len()), (4, 0));
    }

    #[test]
    fn what_is_missing_is_counted_whatever_is_wrong_with_the_rows_that_are_there() {
        let (_root, store, text, second) = in_new_dir();
        let announced = text.replacen("tasks[3]", "tasks[9]", 1);
        let second = announced[second..].split(',').next().unwrap();
        let damages: [(&[&str], usize); 4] = [
            (&[], 0),
            (&["\"1\","], 1),
            (&["\"1\",", "\"2\",", "\"3\","], 3),
            (&["\"1\",task 1,\"\",", "\"3\",task 3,\"\","], 2),
        ];
        assert!(second.contains("\"2\""), "{second}");
        for (rows, unread) in damages {
            // A cell too many, and a status that is none.
            let damaged = rows.iter().fold(announced.clone(), |text, row| {
                text.replacen(row, &format!("{row}{}", if row.contains("task") { "un" } else { "more," }), 1)
            });
            fs::write(store.dir().prd(), damaged).unwrap();
            let loaded = store.load().unwrap();
            let prd = store.dir().prd();
            let gaps: Vec<String> = loaded.gaps(&prd).map(|gap| gap.reason).collect();
            assert_eq!(loaded.unread_lines(), unread, "{loaded:?}");
            assert_eq!(gaps, ["6 of 9 tasks are missing"], "{rows:?}");
        }
    }

    #[test]
    fn a_plan_that_was_cut_short_is_kept_beside_and_stays_one_in_which_tasks_are_missing() {
        let (_root, store, text, second) = in_new_dir();
        let cut = &text[..second];
        fs::write(store.dir().prd(), cut).unwrap();
        assert_eq!(enqueue(&store).as_str(), "4");
        assert_eq!(fs::read_to_string(aside(&store.dir().prd())).unwrap(), cut);
        let loaded = store.load().unwrap();
        assert_eq!((loaded.plan.tasks.len(), loaded.diagnostics.len()), (2, 0));
        assert_eq!(loaded.unparsed, ["2 of 3 tasks are missing"]);
        assert_eq!(loaded.plan.count(Status::Pending), 2);

        let repair = store.repair(Actor::User).unwrap();
        assert_eq!(repair.diagnostics.last().unwrap().reason, "2 of 3 tasks are missing");
        assert!(store.load().unwrap().unparsed.is_empty());
    }
}
