//! The tasks and groups that a plan must have while agents are at work, held against those in its file.
//!
//! If only its own task may be completed by an agent, an edit of prd.toon must not do the same in another way: a row
//! that is removed is open no more, and a task with subtasks is completed by them. So while agents are at work such
//! edits are undone. The commands of the plan may do both.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
};

use super::{
    FileStore, JournalEntry, JournalRecord, Mutation, StateError, TaskChange,
    acknowledged::Acknowledged,
    apply::count_tasks,
    files,
    last_read::PlanFile,
    plan_file::{self, Document},
};
use samuel_fs::Durability;
use samuel_model::{Claim, Groups, Plan, Status, Task, TaskId};

/// How many tasks warnings name.
const MAX_NAMED: usize = 20;

/// A plan with the tasks and groups that it must have.
#[derive(Debug)]
pub(super) struct KeptTasks {
    tasks: Vec<Task>,
    /// The tasks whose rows are restored.
    removed: Vec<TaskId>,
    /// The tasks that have their parent, or none, again.
    moved: Vec<TaskId>,
}

impl KeptTasks {
    /// Returns the warnings about it.
    pub(super) fn told(&self) -> Vec<String> {
        let removed = self.removed.iter().map(|id| {
            format!("prd.toon was edited: task {id} stays while agents are at work; remove it with a command, not by an edit")
        });
        let moved = self.moved.iter().map(|id| {
            format!("prd.toon was edited: the parent of task {id} stays as it was while agents are at work")
        });
        let mut told: Vec<String> = removed.chain(moved).take(MAX_NAMED).collect();
        let more = (self.removed.len() + self.moved.len()).saturating_sub(MAX_NAMED);
        if more > 0 {
            told.push(format!("prd.toon was edited: and {more} more tasks are as they were"));
        }
        told
    }
}

impl Acknowledged {
    /// Returns the tasks with those that an edit removed or moved below others, by the records since then; `None` if
    /// there are none, no agent is at work, or another plan was stored.
    pub(super) fn kept_tasks(&self, document: &Document, records: &[JournalRecord]) -> Option<KeptTasks> {
        if Arc::ptr_eq(&self.plan, &document.plan) || !is_under_way(&self.plan, records) {
            return None;
        }
        let revised = revised_by(records)?;
        let (known, now) = (&self.plan.tasks, &document.plan.tasks);
        let is_free = |id: &TaskId| !revised.contains(id);
        let before: HashMap<&TaskId, &Task> = known.iter().map(|task| (&task.id, task)).collect();
        let unread = document.lost_ids();
        let there: HashSet<&TaskId> = now.iter().map(|task| &task.id).chain(&unread).collect();
        let groups = groups_of(known);
        let removed: Vec<TaskId> = known
            .iter()
            .map(|task| &task.id)
            .filter(|id| is_free(id) && !there.contains(id))
            .cloned()
            .collect();
        let mut tasks = with_rows(now, known, &removed);
        let mut moved = Vec::new();
        for task in tasks.iter_mut().filter(|task| is_free(&task.id)) {
            let parent = match before.get(&task.id) {
                Some(before) => before.parent_id.as_ref(),
                // A new task may be a subtask of what has some.
                None => task.parent_id.as_ref().filter(|id| groups.contains(*id) || !before.contains_key(id)),
            };
            if parent != task.parent_id.as_ref() {
                task.parent_id = parent.cloned();
                moved.push(task.id.clone());
            }
        }
        if removed.is_empty() && moved.is_empty() {
            return None;
        }
        // What an edit made a group has the status of its subtasks, and what it removed may have another one by now.
        let edited = groups_of(now);
        for task in &mut tasks {
            let was_group = edited.contains(&task.id) && !groups.contains(&task.id) && is_free(&task.id);
            if let Some(before) = before.get(&task.id).filter(|_| was_group || removed.contains(&task.id)) {
                *task = Task { parent_id: task.parent_id.take(), ..standing(before, records) };
            }
        }
        Some(KeptTasks { tasks, removed, moved })
    }
}

/// Returns whether agents are at work, as a plan or records after it say.
fn is_under_way(plan: &Plan, records: &[JournalRecord]) -> bool {
    let groups = Groups::of(&plan.tasks);
    let is_begun =
        |(place, task): (usize, &Task)| task.status == Status::InProgress && !groups.is_group(place);
    plan.progress.discovery_room.is_some()
        || plan.claims.iter().any(Claim::is_live)
        || plan.tasks.iter().enumerate().any(is_begun)
        || records.iter().any(|record| {
            let JournalEntry::Mutation { mutation, .. } = &record.entry else { return false };
            matches!(
                mutation,
                Mutation::StartTask { .. } | Mutation::Claim { .. } | Mutation::BeginDiscovery { .. }
            )
        })
}

/// Returns the tasks that commands added, removed or moved; `None` if another plan was stored.
fn revised_by(records: &[JournalRecord]) -> Option<HashSet<&TaskId>> {
    let mut revised: HashSet<&TaskId> = HashSet::new();
    for record in records {
        match &record.entry {
            JournalEntry::Imported { .. } => return None,
            JournalEntry::Mutation { mutation, change, .. } => {
                let revises = matches!(
                    mutation,
                    Mutation::Edit { .. }
                        | Mutation::Remove { .. }
                        | Mutation::Move { .. }
                        | Mutation::Update { .. }
                        | Mutation::Undo { .. }
                        | Mutation::Add { .. }
                        | Mutation::Enqueue { .. }
                );
                if let TaskChange::Added { id } | TaskChange::Task { id, .. } = change
                    && revises
                {
                    revised.insert(id);
                }
                let edits = change.edits().iter().filter(|_| revises);
                revised.extend(edits.filter_map(|edit| edit.task()));
            }
            _ => {}
        }
    }
    Some(revised)
}

/// Returns the tasks that have subtasks.
fn groups_of(tasks: &[Task]) -> HashSet<&TaskId> {
    let groups = Groups::of(tasks);
    let groups = tasks.iter().enumerate().filter(|(place, _)| groups.is_group(*place));
    groups.map(|(_, task)| &task.id).collect()
}

/// Returns tasks with some of those that there were before, each behind the task that it followed.
fn with_rows(now: &[Task], before: &[Task], removed: &[TaskId]) -> Vec<Task> {
    let removed: HashSet<&TaskId> = removed.iter().collect();
    let there: HashSet<&TaskId> = now.iter().map(|task| &task.id).collect();
    let (mut behind, mut last) = (HashMap::<Option<&TaskId>, Vec<&Task>>::new(), None);
    for task in before {
        if removed.contains(&task.id) {
            behind.entry(last).or_default().push(task);
        } else if there.contains(&task.id) {
            last = Some(&task.id);
        }
    }
    let mut tasks: Vec<Task> = behind.remove(&None).unwrap_or_default().into_iter().cloned().collect();
    for task in now {
        tasks.push(task.clone());
        tasks.extend(behind.remove(&Some(&task.id)).unwrap_or_default().into_iter().cloned());
    }
    tasks
}

/// Returns a task as it was, with the status that records gave it since.
fn standing(before: &Task, records: &[JournalRecord]) -> Task {
    let mut task = before.clone();
    for record in records {
        if let (_, Some(status)) = record.entry.standing_of(&task.id) {
            task.status = status;
            task.completed_at = (status == Status::Completed).then_some(record.at);
            task.owner = None;
        }
    }
    task
}

impl FileStore {
    /// Sets whether edits of the file that remove tasks or make groups of them are undone while agents are at work.
    pub(super) fn set_keeps_tasks(&self, keeps: bool) {
        self.keeps_tasks.store(keeps, Ordering::Relaxed);
    }

    /// Returns the tasks that the file must have, if it has others.
    pub(super) fn tasks_to_keep(
        &self,
        known: &Acknowledged,
        file: &PlanFile,
        records: &[JournalRecord],
    ) -> Option<KeptTasks> {
        let keeps = self.keeps_tasks.load(Ordering::Relaxed) && known.content != file.content;
        keeps.then(|| known.kept_tasks(&file.document, records)).flatten()
    }

    /// Writes the plan with the tasks that it must have, under the lock.
    pub(super) fn with_tasks(&self, file: PlanFile, kept: KeptTasks) -> Result<PlanFile, StateError> {
        let PlanFile { mut document, .. } = file;
        let plan = document.plan_mut();
        plan.tasks = kept.tasks;
        samuel_model::settle(&mut plan.tasks, None);
        count_tasks(plan);
        let text = plan_file::encode(&document)?;
        files::write(self.dir().root(), &self.dir().prd(), text.as_bytes(), Durability::Synced)?;
        self.read_plan()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;
    use crate::{Actor, Existing, NewTask, Parts, PlanStore as _, RunDir};
    use samuel_model::clock::SystemClock;

    /// A store of four tasks of which the first is claimed, as a loop knows it.
    fn known(keeps: bool) -> (tempfile::TempDir, FileStore) {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::new()));
        let tasks = ["1", "2", "3", "4"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let claim = Mutation::Claim { task: "1".parse().unwrap(), worker: "lane-1".to_owned() };
        store.mutate(claim, Actor::Runtime).unwrap();
        store.keeps_tasks(keeps);
        store.catch_up(0).unwrap();
        (root, store)
    }

    /// Changes the tasks in the file without asking the store.
    fn edit(store: &FileStore, change: impl FnOnce(&mut Vec<Task>)) {
        let path = store.dir().prd();
        let (mut document, _) = plan_file::decode(&path, &fs::read(&path).unwrap()).unwrap();
        change(&mut document.plan_mut().tasks);
        count_tasks(document.plan_mut());
        fs::write(&path, plan_file::encode(&document).unwrap()).unwrap();
    }

    fn rows(store: &FileStore) -> Vec<String> {
        let row = |task: &Task| format!("{} {} {:?}", task.id, task.status, task.parent_id);
        store.load().unwrap().plan.tasks.iter().map(row).collect()
    }

    fn parent(tasks: &mut [Task], id: &str, parent: &str) {
        let task = tasks.iter_mut().find(|task| task.id.as_str() == id).unwrap();
        task.parent_id = Some(TaskId::new(parent));
    }

    #[test]
    fn restores_rows_removed_while_agents_work() {
        let (_root, store) = known(true);
        let (before, claims) = (rows(&store), store.load().unwrap().plan.claims.clone());
        for gone in [&["1", "2", "3", "4"][..], &["2", "4"], &["1"]] {
            edit(&store, |tasks| tasks.retain(|task| !gone.contains(&task.id.as_str())));
            let caught = store.catch_up(0).unwrap();
            let told = "prd.toon was edited: task 1 stays while agents are at work; remove it with a command, not by an edit";
            assert_eq!(
                caught.warnings.iter().any(|warning| warning == told),
                gone.contains(&"1"),
                "{caught:?}"
            );
            let plan = store.load().unwrap().plan;
            assert_eq!((rows(&store), &plan.claims), (before.clone(), &claims), "{gone:?}");
        }
        assert_eq!(store.catch_up(0).unwrap().warnings, [""; 0], "it is told once");
    }

    #[test]
    fn undoes_groups_made_while_agents_work() {
        let (_root, store) = known(true);
        let before = rows(&store);
        edit(&store, |tasks| {
            parent(tasks, "1", "2");
            parent(tasks, "2", "3");
            parent(tasks, "3", "4");
        });
        let caught = store.catch_up(0).unwrap();
        let told = "prd.toon was edited: the parent of task 1 stays as it was while agents are at work";
        assert!(caught.warnings.iter().any(|warning| warning == told), "{caught:?}");
        assert_eq!(rows(&store), before);
        edit(&store, |tasks| {
            let done = Task { status: Status::Completed, ..Task::new(TaskId::new("5"), "t") };
            tasks.push(done);
            parent(tasks, "5", "2");
        });
        store.catch_up(0).unwrap();
        assert_eq!(rows(&store).get(..4), before.get(..));
    }

    #[test]
    fn commands_may_remove_tasks_while_agents_work() {
        let (_root, store) = known(true);
        let remove = Mutation::Remove { ids: vec![TaskId::new("4")], parts: Parts::Refuse };
        store.mutate(remove, Actor::User).unwrap();
        let part = NewTask { parent_id: Some(TaskId::new("3")), ..NewTask::new("t") };
        store.mutate(Mutation::Enqueue { task: part }, Actor::User).unwrap();
        let before = rows(&store);
        edit(&store, |tasks| tasks.retain(|task| task.id.as_str() != "2"));
        store.catch_up(0).unwrap();
        assert_eq!(rows(&store), before);
        let (_root, store) = known(false);
        edit(&store, |tasks| tasks.retain(|task| task.id.as_str() != "2"));
        store.catch_up(0).unwrap();
        assert_eq!(rows(&store).len(), 3, "by default the edit counts");
    }
}
