//! Credit: the commit of a completed task, and the change since the task began.
//!
//! One rule for work in place and in clones. The project is looked at when the work on a task begins and when an
//! iteration ends. A commit from before the task began is never credited, whatever the agent named.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{services::Services, work_tree::WorkTree};
use crate::{
    git::State,
    model::{Status, TaskId},
    state::TaskCredit,
};

/// How many files that were left uncommitted an event names.
const MAX_NAMED: usize = 100;

/// The project at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The commit that is checked out; nothing before the first.
    pub(super) head: Option<String>,
    /// The tree of that commit.
    pub(super) tree: Option<String>,
    /// A hash of what the files contain; nothing if they could not be read in time.
    pub(super) files: Option<String>,
    /// The files that differ from that commit, with what they are.
    #[serde(skip)]
    pub(super) uncommitted: BTreeMap<String, Option<State>>,
}

/// The relation of the commit that is checked out to the one at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It is the same.
    Same,
    /// It descends from that one. These commits are new.
    Ahead(Vec<String>),
    /// It does not descend from that one.
    Elsewhere,
    /// It cannot be told.
    Unknown,
}

/// What became of the project since a task began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkChange {
    /// Commits were made.
    Committed,
    /// Files were changed, and none of it is committed.
    Uncommitted,
    /// Nothing was changed.
    Nothing,
    /// Something is checked out that does not contain the start.
    Elsewhere,
    /// It cannot be told.
    Unknown,
}

/// What a completed task is credited with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credit {
    pub(super) commit: Option<String>,
    pub(super) change: WorkChange,
}

/// Returns the credit of a task that began at one moment and is completed at another, for which `named` was given as
/// the commit. A commit that was made since then is credited if it was named, else the last one.
fn credit(began: &Seen, now: &Seen, line: &Line, named: Option<&str>) -> Credit {
    let is_same = began.files.is_some() && (&began.files, &began.tree) == (&now.files, &now.tree);
    let (commit, change) = match line {
        Line::Ahead(commits) => {
            let is_named = |commit: &&String| named.is_some_and(|named| commit.starts_with(named));
            let commit = commits.iter().find(is_named).or(now.head.as_ref());
            (commit, if is_same { WorkChange::Nothing } else { WorkChange::Committed })
        }
        Line::Elsewhere => (None, WorkChange::Elsewhere),
        Line::Same if is_same => (None, WorkChange::Nothing),
        Line::Same if began.files.is_some() && now.files.is_some() => (None, WorkChange::Uncommitted),
        Line::Same | Line::Unknown => (None, WorkChange::Unknown),
    };
    Credit { commit: commit.cloned(), change }
}

/// What the looks of a run found.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// The starts of tasks that are not completed yet.
    began: BTreeMap<TaskId, Seen>,
    /// The task of the iteration under way.
    task: Option<TaskId>,
    /// The start of the iteration under way; nothing if another process began it.
    start: Option<Seen>,
    last: Option<Seen>,
    /// The files that an agent left uncommitted, and the commit in which Samuel stored them, if it did.
    left: (Vec<String>, Option<String>),
}

impl WorkTree {
    /// Notes the start of an iteration, and that of its task unless an earlier attempt began it. The last look counts
    /// if nothing else was checked out since.
    pub(super) fn begin_task(&self, task: Option<&TaskId>, is_clone: bool) {
        let head = self.commit();
        let mut looks = self.looks();
        let last = looks.last.take().filter(|last| last.head == head);
        let start = last.unwrap_or_else(|| self.see(is_clone, None));
        if let Some(task) = task {
            looks.began.entry(task.clone()).or_insert_with(|| start.clone());
        }
        (looks.task, looks.left) = (task.cloned(), (Vec::new(), None));
        (looks.start, looks.last) = (Some(start.clone()), Some(start));
    }

    /// Looks at the project at the end of an iteration.
    pub(super) fn end_iteration(&self, is_clone: bool) {
        let mut looks = self.looks();
        let looks = &mut *looks;
        let now = self.see(is_clone, looks.last.as_ref());
        let began = looks.task.as_ref().and_then(|task| looks.began.get(task));
        if let Some(began) = began.or(looks.start.as_ref()).filter(|_| !is_clone) {
            let is_new =
                |(path, state): &(&String, &Option<State>)| began.uncommitted.get(*path) != Some(*state);
            let files = now.uncommitted.iter().filter(is_new).map(|(path, _)| path.clone());
            looks.left = (files.take(MAX_NAMED).collect(), None);
        }
        looks.last = Some(now);
    }

    /// Returns the credit of a task that the iteration which has ended completed.
    fn credit(&self, task: &TaskId, named: Option<&str>) -> Credit {
        let mut looks = self.looks();
        let began = looks.began.remove(task).or_else(|| looks.start.clone());
        let Some((began, now)) = began.zip(looks.last.clone()) else {
            return Credit { commit: None, change: WorkChange::Unknown };
        };
        drop(looks);
        credit(&began, &now, &self.line(&began, &now), named)
    }

    /// Returns whether nothing was changed since a task began.
    fn is_unchanged(&self, task: &TaskId, is_clone: bool) -> bool {
        let looks = self.looks();
        let Some(began) = looks.began.get(task).or(looks.start.as_ref()).cloned() else { return false };
        let now = self.see(is_clone, looks.last.as_ref());
        drop(looks);
        credit(&began, &now, &self.line(&began, &now), None).change == WorkChange::Nothing
    }

    /// Notes files that Samuel committed since an agent left them uncommitted.
    pub(super) fn committed_for_agent(&self, files: Vec<String>, commit: &str) {
        if !files.is_empty() {
            let mut looks = self.looks();
            let (left, at) = &mut looks.left;
            left.extend(files);
            left.truncate(MAX_NAMED);
            *at = Some(commit.to_owned());
        }
    }

    /// Takes the files that an agent left uncommitted, and the commit in which Samuel stored them, if it did.
    pub(super) fn take_left(&self) -> (Vec<String>, Option<String>) {
        std::mem::take(&mut self.looks().left)
    }

    /// Returns the starts of tasks that are not completed yet, for a process that resumes the run.
    pub(super) fn began(&self) -> BTreeMap<TaskId, Seen> {
        self.looks().began.clone()
    }

    /// Takes over the starts of tasks from a process that was killed.
    pub(super) fn resume_tasks(&self, began: BTreeMap<TaskId, Seen>) {
        self.looks().began = began;
    }
}

impl Services {
    /// Returns why the completion of a task is refused, if nothing was changed since the task began and the
    /// configuration requires a change.
    pub(super) async fn refuses_unchanged(self: &Arc<Self>, task: Option<&TaskId>) -> Option<String> {
        let task = task.filter(|_| self.require_change)?;
        let id = task.clone();
        let is_unchanged = match &self.in_lane {
            Some(lane) => lane.is_unchanged().await,
            None => {
                let look = move |services: &Self| {
                    let loaded = services.store.load().ok();
                    let status = loaded.and_then(|loaded| Some(loaded.plan.task(&id)?.status));
                    status == Some(Status::Completed)
                        && services.work_tree.is_unchanged(&id, services.is_clone())
                };
                self.blocking(look).await.unwrap_or_default()
            }
        };
        is_unchanged.then(|| format!("nothing was changed since task {task} began (require_change)"))
    }

    /// Fills in the credits of tasks. Without a repository there are none.
    pub(super) fn credited(&self, mut credits: Vec<TaskCredit>) -> Vec<TaskCredit> {
        if !self.work_tree.has_repository() {
            return Vec::new();
        }
        for TaskCredit { id, commit, unchanged } in &mut credits {
            let named = self.task(id).and_then(|task| task.commit_sha);
            let credit = self.work_tree.credit(id, named.as_deref());
            if credit.change == WorkChange::Elsewhere {
                self.warn(format!(
                    "task {id} is completed, but what is checked out does not contain the commit at which it began: \
                     no commit is credited"
                ));
            }
            (*commit, *unchanged) = (credit.commit, credit.change == WorkChange::Nothing);
        }
        credits
    }

    /// Returns whether the run works in a clone of its own.
    pub(super) fn is_clone(&self) -> bool {
        self.in_clone.is_some()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::git::testing::Repository as Made;

    fn seen(head: &str, files: &str) -> Seen {
        let tree = Some(format!("tree of {head}"));
        Seen { head: Some(head.to_owned()), tree, files: Some(files.to_owned()), ..Seen::default() }
    }

    #[test]
    fn credit_is_one_rule_in_place_and_in_clones() {
        use WorkChange::{Committed, Elsewhere, Nothing, Uncommitted, Unknown};
        let ahead = || Line::Ahead(vec!["cc".to_owned(), "bb".to_owned()]);
        let empty = Seen { tree: Some("tree of aa".to_owned()), ..seen("cc", "1") };
        let late = Seen { files: None, ..seen("aa", "") };
        for (now, line, named, commit, change) in [
            (seen("aa", "1"), Line::Same, Some("aa"), None, Nothing),
            (seen("aa", "2"), Line::Same, Some("aa"), None, Uncommitted),
            (late, Line::Same, Some("aa"), None, Unknown),
            (seen("cc", "2"), ahead(), Some("aa"), Some("cc"), Committed),
            (seen("cc", "2"), ahead(), Some("b"), Some("bb"), Committed),
            (seen("cc", "2"), ahead(), None, Some("cc"), Committed),
            // The work of a person is committed.
            (seen("cc", "1"), ahead(), None, Some("cc"), Committed),
            (empty, ahead(), None, Some("cc"), Nothing),
            (seen("dd", "2"), Line::Elsewhere, Some("dd"), None, Elsewhere),
            (seen("cc", "2"), Line::Unknown, Some("cc"), None, Unknown),
        ] {
            let found = credit(&seen("aa", "1"), &now, &line, named);
            assert_eq!(
                found,
                Credit { commit: commit.map(str::to_owned), change },
                "{now:?} {line:?} {named:?}"
            );
        }
    }

    #[test]
    fn measures_every_attempt_from_the_first_start() {
        let made = Made::with(&[("a.rs", "a\n"), ("b.rs", "b\n")]);
        let tree = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        let (task, other) = (TaskId::new("1"), TaskId::new("2"));
        let old = tree.commit().unwrap();
        made.write("b.rs", "of a person\n");
        tree.begin_task(Some(&task), false);
        made.write("a.rs", "b\n");
        tree.end_iteration(false);
        assert_eq!(tree.take_left(), (vec!["a.rs".to_owned()], None), "not the file of the person");
        made.run(&["commit", "--quiet", "--message", "First", "a.rs"]);
        let first = tree.commit().unwrap();
        tree.begin_task(Some(&task), false);
        tree.end_iteration(false);
        assert_eq!(tree.take_left(), (vec![], None));
        let second = tree.credit(&other, Some(&first));
        assert_eq!(second, Credit { commit: None, change: WorkChange::Nothing }, "it began later");
        let later = WorkTree::new(made.path().to_owned(), Some(made.opened()));
        later.resume_tasks(tree.began());
        later.end_iteration(false);
        for tree in [tree, later] {
            let found = tree.credit(&task, Some(&old));
            assert_eq!(found, Credit { commit: Some(first.clone()), change: WorkChange::Committed });
        }
    }
}
