//! The commits and marks of completed tasks, held against those in the plan's file.
//!
//! Both say how far a completion can be trusted, and stand in a file that agents can write. So an edit of that file
//! changes neither; the commands of the plan and the run do.

use std::collections::{HashMap, HashSet};

use super::{Edit, FileStore, StateError, acknowledged::Acknowledged, files, last_read::PlanFile, plan_file};
use samuel_fs::Durability;
use samuel_model::{Mark, Status, Task, TaskId, text::names};

/// How many tasks a warning names.
const MAX_NAMED: usize = 20;

/// Completed tasks whose commit or marks are restored.
#[derive(Debug)]
pub(super) struct LostCredits {
    credits: HashMap<TaskId, (Option<String>, Vec<Mark>)>,
    /// The tasks of which the edit changed nothing else.
    whole: HashSet<TaskId>,
    /// All of them, in the order of the plan.
    tasks: Vec<TaskId>,
}

impl LostCredits {
    /// Returns whether nothing is left of an edit.
    pub(super) fn undoes(&self, edit: &Edit) -> bool {
        matches!(edit, Edit::Changed { id } if self.whole.contains(id))
    }

    /// Returns the warning about it.
    pub(super) fn told(&self) -> String {
        let named = names(&self.tasks, MAX_NAMED);
        format!("prd.toon was edited: the commits and marks of completed tasks stay as they were: {named}")
    }
}

impl Acknowledged {
    /// Returns the completed tasks of which these edits changed the commit or the marks; `None` if there are none.
    pub(super) fn lost_credits(&self, file: &PlanFile, edits: &[Edit]) -> Option<LostCredits> {
        let changed = |edit: &Edit| if let Edit::Changed { id } = edit { Some(id.clone()) } else { None };
        let changed: HashSet<TaskId> = edits.iter().filter_map(changed).collect();
        if changed.is_empty() {
            return None;
        }
        let is_completed = |task: &&Task| task.status == Status::Completed && changed.contains(&task.id);
        let before: HashMap<&TaskId, &Task> =
            self.plan.tasks.iter().filter(is_completed).map(|task| (&task.id, task)).collect();
        let mut lost = LostCredits { credits: HashMap::new(), whole: HashSet::new(), tasks: Vec::new() };
        for now in file.document.plan.tasks.iter().filter(is_completed) {
            let Some(known) = before.get(&now.id) else { continue };
            if (&known.commit_sha, &known.marks) == (&now.commit_sha, &now.marks) {
                continue;
            }
            let (commit_sha, marks) = (known.commit_sha.clone(), known.marks.clone());
            if **known == (Task { commit_sha: commit_sha.clone(), marks: marks.clone(), ..now.clone() }) {
                lost.whole.insert(now.id.clone());
            }
            lost.tasks.push(now.id.clone());
            lost.credits.insert(now.id.clone(), (commit_sha, marks));
        }
        (!lost.tasks.is_empty()).then_some(lost)
    }
}

impl FileStore {
    /// Writes the plan with the commits and marks that it must have, under the lock.
    pub(super) fn with_credits(&self, file: PlanFile, lost: LostCredits) -> Result<PlanFile, StateError> {
        let PlanFile { mut document, .. } = file;
        let mut credits = lost.credits;
        for task in &mut document.plan_mut().tasks {
            if let Some(credit) = credits.remove(&task.id) {
                (task.commit_sha, task.marks) = credit;
            }
        }
        let text = plan_file::encode(&document)?;
        files::write(self.dir().root(), &self.dir().prd(), text.as_bytes(), Durability::Synced)?;
        self.read_plan()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::{fs, sync::Arc};

    use super::*;
    use crate::{Actor, Existing, JournalEntry, JournalRecord, Mutation, PlanStore as _, RunDir};
    use samuel_model::{Plan, clock::SystemClock};

    #[test]
    fn restores_marks_and_commit_after_edit() {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(SystemClock::new()));
        let tasks = ["1", "2"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let id = TaskId::new("1");
        let done = Mutation::Done { id: id.clone(), commit_sha: Some("abcdef".to_owned()), iteration: None };
        store.mutate(done, Actor::Agent).unwrap();
        let marked = Mutation::Mark { id: id.clone(), marks: vec![Mark::OtherAgent] };
        store.mutate(marked, Actor::Runtime).unwrap();
        store.catch_up(0).unwrap();
        let before = store.load().unwrap().plan;
        let task = |plan: &Plan| plan.task(&id).unwrap().clone();
        let told = "prd.toon was edited: the commits and marks of completed tasks stay as they were: 1";
        for edits in [
            &[("abcdef", "fedcba")][..],
            &[("other-agent", "no-change")],
            &[("abcdef", "fedcba"), ("other-agent", "no-change"), (",t,", ",other,")],
        ] {
            let seq = store.journal_since(0).unwrap().records.last().unwrap().seq;
            let path = store.dir().prd();
            let mut text = fs::read_to_string(&path).unwrap();
            for (from, to) in edits {
                assert!(text.contains(from), "{text}");
                text = text.replacen(from, to, 1);
            }
            fs::write(&path, text).unwrap();
            let caught = store.catch_up(seq).unwrap();
            assert_eq!(caught.warnings.first().map(String::as_str), Some(told), "{edits:?}");
            let is_edit = |record: &JournalRecord| matches!(record.entry, JournalEntry::Edited { .. });
            let has_other = edits.len() > 2;
            assert_eq!(caught.journal.records.iter().any(is_edit), has_other, "{edits:?}");
            let now = task(&store.load().unwrap().plan);
            let expected = task(&before);
            assert_eq!((&now.commit_sha, &now.marks), (&expected.commit_sha, &expected.marks), "{edits:?}");
            assert_eq!(now.title == "other", has_other, "{edits:?}");
            assert!(store.catch_up(seq).unwrap().warnings.is_empty(), "it is told once");
        }
    }
}
