//! Repairing a damaged plan.
//!
//! Reading works around what is wrong with `prd.toon` and a save keeps what it
//! could not understand as text (ARCHITECTURE.md, State). A
//! [`Repair`] makes tasks of that text again where it can, and writes the file
//! in its plain form. [`FileStore::preview_repair`] says what that would be,
//! for somebody to agree to.

use std::{
    mem,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    Actor, FileStore, PlanStore, StateDiagnostic, StateError,
    apply::count_tasks,
    last_read::PlanFile,
    plan_file::{Document, Missing, Salvaged, salvage},
};
use samuel_model::TaskId;

/// What a repair does to a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Repair {
    /// What is wrong with the file, and is right after the repair.
    pub diagnostics: Vec<StateDiagnostic>,
    /// Lines that are tasks again.
    pub restored: Vec<RestoredRow>,
    /// Lines that stay text.
    pub left: Vec<LeftRow>,
    /// Where the file is kept as it was before; absent if nothing was written.
    pub backup: Option<PathBuf>,
}

/// A line of which a repair makes a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoredRow {
    /// The line as it stood.
    pub text: String,
    /// The task's id.
    pub id: TaskId,
    /// What the task says that the line did not, a sentence each.
    pub changes: Vec<String>,
}

/// A line that a repair leaves as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftRow {
    /// The line as it stands.
    pub text: String,
    /// Why no task can be made of it.
    pub reason: String,
}

impl Repair {
    /// Says whether the file would be another one.
    pub fn changes_something(&self) -> bool {
        !self.diagnostics.is_empty() || !self.restored.is_empty()
    }

    fn of(path: &Path, document: &mut Document, diagnostics: Vec<StateDiagnostic>) -> Self {
        let mut repair = Self { diagnostics, ..Self::default() };
        // What is missing is told like any fault; whoever agrees does without it.
        let (missing, unparsed) = mem::take(&mut document.unparsed)
            .into_iter()
            .partition::<Vec<_>, _>(|line| Missing::read(line).is_some());
        document.unparsed = unparsed;
        repair.diagnostics.extend(missing.into_iter().map(|reason| StateDiagnostic::of_gap(path, reason)));
        for (text, salvaged) in salvage(document) {
            match salvaged {
                Salvaged::Task(id, changes) => repair.restored.push(RestoredRow { text, id, changes }),
                Salvaged::Text(reason) => repair.left.push(LeftRow { text, reason }),
            }
        }
        repair
    }
}

impl FileStore {
    /// Says what [`repair`](Self::repair) would do. Changes nothing and takes
    /// no lock.
    ///
    /// # Errors
    /// Returns what [`load`](PlanStore::load) returns; a plan without
    /// a table of tasks cannot be repaired.
    pub fn preview_repair(&self) -> Result<Repair, StateError> {
        let PlanFile { mut document, diagnostics, .. } = self.read_plan()?;
        Ok(Repair::of(&self.dir().prd(), &mut document, diagnostics))
    }

    /// Repairs the plan and keeps a backup of the file as it was. Writes
    /// nothing if nothing would change.
    ///
    /// # Errors
    /// Returns what [`mutate`](PlanStore::mutate) returns for locks
    /// and files.
    pub fn repair(&self, actor: Actor) -> Result<Repair, StateError> {
        if !self.exists()? {
            return Err(StateError::NotInitialised { path: self.dir().prd() });
        }
        let _lock = self.lock("repair")?;
        let tail = self.journal().tail()?;
        let PlanFile { mut document, diagnostics, .. } = self.read_plan()?;
        self.heal(&mut document, &tail)?;
        let mut repair = Repair::of(&self.dir().prd(), &mut document, diagnostics);
        if repair.changes_something() {
            let now = self.now();
            let plan = document.plan_mut();
            plan.revision = plan.revision.max(tail.revision) + 1;
            plan.project.updated_at = Some(now);
            count_tasks(plan);
            let backup = self.back_up(now)?;
            self.commit_whole(&document, Some(&backup), &tail, now, actor)?;
            repair.backup = Some(backup);
        }
        Ok(repair)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use std::{fs, sync::Arc};

    use super::*;
    use crate::{Existing, RunDir};
    use samuel_model::{Plan, Priority, Status, Task, clock::SystemClock};

    fn store(root: &tempfile::TempDir, edit: impl Fn(String) -> String) -> FileStore {
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::new()));
        let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), format!("task {id}"))).to_vec();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let path = store.dir().prd();
        fs::write(&path, edit(fs::read_to_string(&path).unwrap())).unwrap();
        store
    }

    fn title(store: &FileStore, id: &str) -> String {
        store.load().unwrap().plan.task(&TaskId::new(id)).unwrap().title.clone()
    }

    #[test]
    fn a_short_row_is_a_task_again_with_defaults() {
        let root = tempfile::tempdir().unwrap();
        let store = store(&root, |text| {
            text.replace("\nprogress:", "\n  \"9\",\"by, hand\",why,pending,high\nprogress:")
        });
        let preview = store.preview_repair().unwrap();
        assert_eq!((preview.restored.len(), preview.left.len(), &preview.backup), (1, 0, &None));
        assert_eq!(store.load().unwrap().plan.tasks.len(), 3);

        let repair = store.repair(Actor::User).unwrap();
        assert_eq!(repair.restored, preview.restored);
        assert_eq!(repair.restored[0].id.as_str(), "9");
        assert!(repair.restored[0].changes[0].starts_with("nothing for complexity, parent_id"), "{repair:?}");
        let loaded = store.load().unwrap();
        assert_eq!((loaded.diagnostics, loaded.unparsed), (vec![], Vec::<String>::new()));
        let task = loaded.plan.task(&TaskId::new("9")).unwrap().clone();
        assert_eq!(
            (task.title.as_str(), task.priority, task.status),
            ("by, hand", Priority::High, Status::Pending)
        );
        assert_eq!(loaded.plan.progress.total_tasks, 4);
        let backup = fs::read_to_string(repair.backup.unwrap()).unwrap();
        assert!(backup.contains("\"9\",\"by, hand\",why,pending,high\n"));
    }

    #[test]
    fn a_cell_that_cannot_be_read_becomes_the_default_and_is_told() {
        let root = tempfile::tempdir().unwrap();
        let store = store(&root, |text| text.replacen("task 2,\"\",pending", "task 2,\"\",perhaps", 1));
        let repair = store.repair(Actor::User).unwrap();
        assert!(repair.restored[0].changes[0].starts_with("status is the default: "), "{repair:?}");
        assert_eq!(title(&store, "2"), "task 2");
    }

    #[test]
    fn a_second_row_with_an_id_gets_a_free_one() {
        let root = tempfile::tempdir().unwrap();
        let store = store(&root, |text| text.replacen("\n  \"3\",task 3", "\n  \"1\",another", 1));
        let repair = store.repair(Actor::User).unwrap();
        assert_eq!(repair.restored[0].changes, ["another task has the id 1: this one is 3"]);
        assert_eq!((title(&store, "1"), title(&store, "3")), ("task 1".to_owned(), "another".to_owned()));
    }

    #[test]
    fn a_row_with_too_many_cells_stays_text_and_says_why() {
        let root = tempfile::tempdir().unwrap();
        let store = store(&root, |text| text.replacen("task 2,", "one, two, three,", 1));
        let repair = store.repair(Actor::User).unwrap();
        assert_eq!(repair.left[0].reason, "it has 21 cells instead of 19; text with commas needs quotes");
        assert_eq!(store.load().unwrap().unparsed.len(), 1);
        // What stays is not a reason to write the file again and again.
        let again = store.repair(Actor::User).unwrap();
        assert_eq!((again.changes_something(), again.left.len(), again.backup), (false, 1, None));
    }

    #[test]
    fn a_plan_with_nothing_wrong_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let store = store(&root, |text| text);
        let before = fs::read(store.dir().prd()).unwrap();
        assert_eq!(store.repair(Actor::User).unwrap(), Repair::default());
        assert_eq!(fs::read(store.dir().prd()).unwrap(), before);
    }
}
