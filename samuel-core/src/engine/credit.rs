//! Credit: the commit of a completed task, and the change since the task began.
//!
//! One rule for work in place and in clones. Samuel looks at the project when an iteration begins and after each turn
//! of its agent. What checks, hooks and people change between these looks counts for no task. A task is credited with
//! what its own iterations changed, over all attempts. A commit from before the task began is never credited, whatever
//! the agent named.

use std::{collections::BTreeMap, mem, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    services::Services,
    work_tree::{WorkTree, can_be_compared},
};
use crate::{
    git::Listing,
    model::TaskId,
    state::{JournalEntry, JournalRecord, Mutation, TaskCredit},
    text::names,
};

/// How many files that were left uncommitted an event names.
const MAX_NAMED: usize = 100;
/// How many commits of a task are kept between iterations, in each of two lists: checkpoints hold them.
const MAX_KEPT: usize = 100;
/// How many tasks a refusal names.
const MAX_TASKS: usize = 10;

/// The project at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The commit that is checked out; nothing before the first.
    pub(super) head: Option<String>,
    /// The tree of that commit.
    pub(super) tree: Option<String>,
    /// A hash of what the files contain; nothing if they could not be read in time.
    pub(super) files: Option<String>,
    /// What each file is, in place in a repository. Another process does not know it.
    #[serde(skip)]
    pub(super) listing: Option<Arc<Listing>>,
}

/// The relation of the commit that is checked out to the one at a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// It is the same.
    Same,
    /// It descends from that one. These commits are new, the latest first.
    Ahead(Vec<String>),
    /// It does not descend from that one.
    Elsewhere,
    /// It cannot be told.
    Unknown,
}

/// What became of the project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkChange {
    /// Nothing was changed.
    #[default]
    Nothing,
    /// Commits were made, or files were changed.
    Changed,
    /// It cannot be told: the files could not be looked at, and no commit has other ones.
    Unknown,
}

/// What iterations of one task changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Worked {
    change: WorkChange,
    /// Whether what is checked out does not contain `from`, so that no commit is credited.
    is_elsewhere: bool,
    /// The commits that they made since `from`, the latest first.
    commits: Vec<String>,
    /// The commits that they made before others committed something, the latest first.
    earlier: Vec<String>,
    /// The commit at which the last of them began between which no one else committed anything. An agent may replace
    /// the commits since then.
    from: Option<String>,
    /// The commit that was checked out when the last one ended.
    to: Option<String>,
}

impl Worked {
    /// Adds an iteration. `line` compares a commit with the one that is checked out at its end. Work that is not
    /// checked out any more does not count, such as the work of a failed attempt in a clone.
    fn and(mut self, start: &Seen, now: &Seen, line: impl Fn(Option<&str>) -> Line) -> Self {
        if self.to != start.head {
            if self.to.is_some() && line(self.to.as_deref()) == Line::Elsewhere {
                self = Self::default();
            }
            let mut earlier = mem::take(&mut self.commits);
            earlier.append(&mut self.earlier);
            self.earlier = earlier;
            self.from.clone_from(&start.head);
        }
        let line = line(self.from.as_deref());
        let is_same = start.files.is_some() && (&start.files, &start.tree) == (&now.files, &now.tree);
        let is_known = start.files.as_deref().zip(now.files.as_deref());
        let is_known = is_known.is_some_and(|(start, now)| can_be_compared(start, now));
        let has_new_tree = now.tree.is_some() && start.tree != now.tree;
        let change = match (is_same, is_known || has_new_tree) {
            (true, _) => WorkChange::Nothing,
            (false, true) => WorkChange::Changed,
            (false, false) => WorkChange::Unknown,
        };
        self.change = match (self.change, change) {
            (before, WorkChange::Nothing) => before,
            (WorkChange::Changed, WorkChange::Unknown) => WorkChange::Changed,
            (_, change) => change,
        };
        self.is_elsewhere = line == Line::Elsewhere;
        self.commits = if let Line::Ahead(commits) = line { commits } else { Vec::new() };
        self.to.clone_from(&now.head);
        self
    }

    /// Returns it with no more commits than are kept.
    fn to_keep(mut self) -> Self {
        self.commits.truncate(MAX_KEPT);
        self.earlier.truncate(MAX_KEPT);
        self
    }

    fn commits(&self) -> impl Iterator<Item = &String> {
        self.commits.iter().chain(&self.earlier)
    }
}

/// What a completed task is credited with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credit {
    pub(super) commit: Option<String>,
    pub(super) change: WorkChange,
    /// Whether it has no commit because what is checked out does not contain the start.
    pub(super) is_elsewhere: bool,
}

/// Returns the credit of a task that was completed in an iteration, for which `named` was given as the commit. `own` is
/// what its own iterations changed, and `of_iteration` what this one changed, if it is of another task. A commit is
/// credited that these made and that was named, else the last one of its own.
fn credit(own: &Worked, of_iteration: Option<&Worked>, named: Option<&str>) -> Credit {
    let change = match (own.change, of_iteration.map(|worked| worked.change)) {
        (WorkChange::Nothing, Some(change)) => change,
        (change, _) => change,
    };
    let is_elsewhere = own.is_elsewhere || of_iteration.is_some_and(|worked| worked.is_elsewhere);
    if is_elsewhere {
        return Credit { commit: None, change, is_elsewhere };
    }
    let is_named = |commit: &&String| named.is_some_and(|named| commit.starts_with(named));
    let mut all = own.commits().chain(of_iteration.into_iter().flat_map(Worked::commits));
    let commit = all.find(is_named).or_else(|| own.commits().next());
    Credit { commit: commit.cloned(), change, is_elsewhere }
}

/// What a process that resumes the run has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptWork {
    /// What was done for tasks that are not completed yet, without the iteration under way.
    worked: BTreeMap<TaskId, Worked>,
    /// The task of the iteration under way.
    task: Option<TaskId>,
    /// The start of the iteration under way.
    start: Option<Seen>,
}

impl KeptWork {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what the next run takes over of a run that ended. No iteration is under way then.
    pub(super) fn of_earlier_run(self) -> Self {
        Self { worked: self.worked, ..Self::default() }
    }

    /// Forgets the work for tasks that records reset.
    pub(super) fn forget_reset(&mut self, records: &[JournalRecord]) {
        for record in records {
            if let JournalEntry::Mutation { mutation: Mutation::Reset { id }, .. } = &record.entry {
                self.worked.remove(id);
            }
        }
    }
}

/// What the looks of a run found.
#[derive(Debug, Default)]
pub(super) struct Looks {
    kept: KeptWork,
    /// The project after the last turn of the iteration under way.
    now: Option<Seen>,
    /// Whether an agent is at work, so that the look after its turn is still missing.
    at_work: bool,
    /// The last look, if nothing but an agent could change anything since.
    last: Option<Seen>,
    /// The files that an agent left uncommitted, and the commit in which Samuel stored them, if it did.
    left: (Vec<String>, Option<String>),
    /// The start of the iteration under way, if another turn of its agent began after checks or hooks.
    first: Option<Seen>,
    /// What the turns before that one changed.
    earlier_turns: Worked,
    /// What the iteration under way changed up to the last look, once that was asked.
    of_iteration: Option<Worked>,
    /// Whether a check may still reopen completed tasks of the process before.
    has_resumed: bool,
}

impl WorkTree {
    /// Notes the start of an iteration.
    pub(super) fn begin_task(&self, task: Option<&TaskId>, is_clone: bool) {
        let head = self.commit();
        let mut looks = self.looks();
        let last = looks.last.take().filter(|last| last.head == head && last.files.is_some());
        self.forget_lateness();
        let start = last.unwrap_or_else(|| self.see(is_clone));
        if looks.at_work {
            looks.now = Some(start.clone());
        }
        self.close(&mut looks);
        looks.left = (Vec::new(), None);
        looks.last = Some(start.clone());
        (looks.kept.task, looks.kept.start) = (task.cloned(), Some(start));
    }

    /// Notes that an agent begins a turn. Returns whether the project has to be looked at after it.
    pub(super) fn begin_turn(&self, is_clone: bool) -> bool {
        let mut looks = self.looks();
        looks.at_work = looks.kept.start.is_some();
        if looks.at_work && looks.last.is_none() {
            self.look_before_turn(&mut looks, is_clone);
        }
        looks.at_work
    }

    /// Looks at the project before a turn, since checks or hooks may have changed it. The turns before count up to the
    /// look after them.
    fn look_before_turn(&self, looks: &mut Looks, is_clone: bool) {
        let before = looks.kept.start.replace(self.see(is_clone));
        looks.of_iteration = None;
        if let (Some(before), Some(now)) = (before, looks.now.take()) {
            let earlier = mem::take(&mut looks.earlier_turns);
            looks.earlier_turns = self.with_iteration(earlier, &before, &now);
            if let Some(task) = looks.kept.task.clone() {
                let worked = looks.kept.worked.remove(&task).unwrap_or_default();
                looks.kept.worked.insert(task, self.with_iteration(worked, &before, &now).to_keep());
            }
            looks.first.get_or_insert(before);
        }
    }

    /// Looks at the project after a turn of an agent, unless that was done.
    pub(super) fn end_turn(&self, is_clone: bool) {
        let mut looks = self.looks();
        let Some(start) = looks.kept.start.clone().filter(|_| looks.at_work) else { return };
        let now = self.see(is_clone);
        if !is_clone {
            let mut left = self.left_between(&start, &now);
            if let Some(first) = looks.first.clone() {
                let (mut earlier, still) = (mem::take(&mut looks.left.0), self.left_between(&first, &now));
                earlier.retain(|path| still.contains(path) && !left.contains(path));
                left.append(&mut earlier);
                left.sort();
            }
            left.truncate(MAX_NAMED);
            looks.left = (left, None);
        }
        looks.at_work = false;
        looks.of_iteration = None;
        (looks.now, looks.last) = (Some(now.clone()), Some(now));
    }

    /// Has the next iteration, or the next turn of this one, begin with a look of its own: something other than an agent
    /// may have changed the project.
    pub(super) fn forget_last_look(&self) {
        self.looks().last = None;
    }

    /// Returns the hash of the files at the last look of the iteration under way.
    pub(super) fn seen_in_iteration(&self) -> Option<String> {
        let looks = self.looks();
        let seen = looks.now.as_ref().or(looks.kept.start.as_ref())?;
        let is_hash = seen.listing.is_some() || !self.has_repository();
        seen.files.clone().filter(|_| is_hash)
    }

    /// Ends the iteration under way. Returns the files that its agent left uncommitted, and the commit in which Samuel
    /// stored them, if it did.
    pub(super) fn end_iteration(&self) -> (Vec<String>, Option<String>) {
        let mut looks = self.looks();
        self.close(&mut looks);
        mem::take(&mut looks.left)
    }

    fn close(&self, looks: &mut Looks) {
        let (task, start, now) = (looks.kept.task.take(), looks.kept.start.take(), looks.now.take());
        looks.at_work = false;
        (looks.first, looks.earlier_turns, looks.of_iteration) = (None, Worked::default(), None);
        if let (Some(task), Some(start), Some(now)) = (task, start, now) {
            let worked = looks.kept.worked.remove(&task).unwrap_or_default();
            looks.kept.worked.insert(task, self.with_iteration(worked, &start, &now).to_keep());
        }
    }

    fn with_iteration(&self, worked: Worked, start: &Seen, now: &Seen) -> Worked {
        worked.and(start, now, |from| self.line(from, now.head.as_deref()))
    }

    /// Returns the credit of a task that was completed in the iteration under way; nothing if no look tells.
    fn credit(&self, task: &TaskId, named: Option<&str>) -> Option<Credit> {
        let mut looks = self.looks();
        let (start, now) = looks.kept.start.clone().zip(looks.now.clone())?;
        let own = looks.kept.worked.get(task).cloned().unwrap_or_default();
        if looks.kept.task.as_ref() == Some(task) {
            return Some(credit(&self.with_iteration(own, &start, &now), None, named));
        }
        let earlier = looks.earlier_turns.clone();
        let of_iteration =
            looks.of_iteration.get_or_insert_with(|| self.with_iteration(earlier, &start, &now));
        Some(credit(&own, Some(&*of_iteration), named))
    }

    /// Forgets what was done for tasks that have their credit.
    pub(super) fn forget_work(&self, tasks: &[TaskId]) {
        let mut looks = self.looks();
        looks.kept.worked.retain(|task, _| !tasks.contains(task));
        if looks.kept.task.as_ref().is_some_and(|task| tasks.contains(task)) {
            looks.kept.task = None;
        }
    }

    /// Forgets what was done for tasks that are not open any more.
    pub(super) fn forget_settled_work(&self, is_open: impl Fn(&TaskId) -> bool) {
        let mut looks = self.looks();
        if !mem::take(&mut looks.has_resumed) {
            looks.kept.worked.retain(|task, _| is_open(task));
        }
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

    /// Returns what a process that resumes the run has to know.
    pub(super) fn kept_work(&self) -> KeptWork {
        self.looks().kept.clone()
    }

    /// Takes over what a process knew that was killed. The end of its iteration is not looked at yet.
    pub(super) fn resume_work(&self, kept: KeptWork) {
        let mut looks = self.looks();
        looks.at_work = kept.start.is_some();
        looks.has_resumed = true;
        looks.kept = kept;
    }
}

impl Services {
    /// Looks at the project where an iteration begins.
    pub(super) fn begin_task(&self, task: Option<&TaskId>) {
        let plan = self.plan();
        let is_open = |id: &TaskId| plan.task(id).is_some_and(|task| !task.is_settled());
        self.work_tree.forget_settled_work(is_open);
        self.work_tree.begin_task(task, self.is_clone());
        self.tell_of_late_look();
    }

    /// Notes that an agent begins a turn. Returns whether the project has to be looked at after it.
    pub(super) fn begin_turn(&self) -> bool {
        self.work_tree.begin_turn(self.is_clone())
    }

    /// Looks at the project after a turn of an agent.
    pub(super) fn end_turn(&self) {
        self.work_tree.end_turn(self.is_clone());
        self.tell_of_late_look();
    }

    fn tell_of_late_look(&self) {
        self.work_tree.late_look().into_iter().for_each(|late| self.warn(late));
    }

    /// Returns the completed tasks that are refused, and why, if the configuration requires a change and none is known
    /// since they began.
    pub(super) async fn refuses_unchanged(
        self: &Arc<Self>,
        completed: &[TaskId],
    ) -> Option<(Vec<TaskId>, String)> {
        if !self.require_change || completed.is_empty() {
            return None;
        }
        let tasks = completed.to_vec();
        let (mut refused, unknown) = match &self.in_lane {
            Some(lane) => (if lane.is_unchanged().await { tasks } else { Vec::new() }, Vec::new()),
            None => {
                let look = move |services: &Self| {
                    let (mut unchanged, mut unknown) = (Vec::new(), Vec::new());
                    for task in tasks {
                        match services.work_tree.credit(&task, None).map(|credit| credit.change) {
                            Some(WorkChange::Nothing) => unchanged.push(task),
                            Some(WorkChange::Unknown) => unknown.push(task),
                            Some(WorkChange::Changed) | None => {}
                        }
                    }
                    (unchanged, unknown)
                };
                self.blocking(look).await.unwrap_or_default()
            }
        };
        let named = |tasks: &[TaskId]| {
            let word = if tasks.len() == 1 { "task" } else { "tasks" };
            format!("{word} {}", names(tasks, MAX_TASKS))
        };
        let why = match (refused.is_empty(), unknown.is_empty()) {
            (true, true) => return None,
            (false, _) => format!("nothing was changed since {} began (require_change)", named(&refused)),
            (true, false) => format!(
                "no change is known since {} began: the project's files could not be compared (require_change)",
                named(&unknown)
            ),
        };
        refused.extend(unknown);
        Some((refused, why))
    }

    /// Fills in the credits of tasks. Leaves out all without a repository, and each task about which no look tells. An
    /// iteration gives the same credits until [`WorkTree::forget_work`].
    pub(super) fn credited(&self, mut credits: Vec<TaskCredit>) -> Vec<TaskCredit> {
        if !self.work_tree.has_repository() {
            return Vec::new();
        }
        credits.retain_mut(|TaskCredit { id, commit, unchanged }| {
            let named = self.task(id).and_then(|task| task.commit_sha);
            let Some(credit) = self.work_tree.credit(id, named.as_deref()) else { return false };
            if credit.is_elsewhere {
                self.warn(format!(
                    "task {id} is completed, but what is checked out does not contain the commit at which it began: \
                     no commit is credited"
                ));
            }
            (*commit, *unchanged) = (credit.commit, credit.change == WorkChange::Nothing);
            true
        });
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

    fn of(commit: Option<&str>, change: WorkChange) -> Option<Credit> {
        Some(Credit { commit: commit.map(str::to_owned), change, is_elsewhere: false })
    }

    #[test]
    fn credit_is_one_rule_in_place_and_in_clones() {
        use WorkChange::{Changed, Nothing, Unknown};
        let ahead = || Line::Ahead(vec!["cc".to_owned(), "bb".to_owned()]);
        let empty = Seen { tree: Some("tree of aa".to_owned()), ..seen("cc", "1") };
        let late = Seen { files: None, ..seen("aa", "") };
        let by_names = seen("aa", "names 1");
        for (now, line, named, commit, change) in [
            (seen("aa", "1"), Line::Same, Some("aa"), None, Nothing),
            (seen("aa", "2"), Line::Same, Some("aa"), None, Changed),
            (late, Line::Same, Some("aa"), None, Unknown),
            (seen("cc", "2"), ahead(), Some("aa"), Some("cc"), Changed),
            (seen("cc", "2"), ahead(), Some("b"), Some("bb"), Changed),
            (seen("cc", "2"), ahead(), None, Some("cc"), Changed),
            // The work of a person is committed.
            (seen("cc", "1"), ahead(), None, Some("cc"), Changed),
            (empty, ahead(), None, Some("cc"), Nothing),
            (seen("dd", "2"), Line::Elsewhere, Some("dd"), None, Changed),
            (seen("cc", "2"), Line::Unknown, Some("cc"), None, Changed),
            (by_names, Line::Same, None, None, Unknown),
        ] {
            let told = format!("{now:?} {line:?} {named:?}");
            let worked = Worked::default().and(&seen("aa", "1"), &now, |_| line.clone());
            let is_elsewhere = line == Line::Elsewhere;
            let expected = of(commit, change).map(|credit| Credit { is_elsewhere, ..credit });
            assert_eq!(Some(credit(&worked, None, named)), expected, "{told}");
        }
    }

    fn in_place(made: &Made) -> WorkTree {
        WorkTree::new(made.path().to_owned(), Some(made.opened()))
    }

    /// Plays an iteration of a task, with the credit that the task would get at its end.
    fn iteration(tree: &WorkTree, task: &TaskId, turn: impl FnOnce()) -> (Option<Credit>, Vec<String>) {
        tree.begin_task(Some(task), false);
        assert!(tree.begin_turn(false));
        turn();
        tree.end_turn(false);
        let credit = tree.credit(task, None);
        // Checks and hooks run before the next iteration.
        tree.forget_last_look();
        (credit, tree.end_iteration().0)
    }

    #[test]
    fn measures_every_attempt_of_a_task() {
        let made = Made::with(&[("a.rs", "a\n"), ("b.rs", "b\n")]);
        let (tree, task) = (in_place(&made), TaskId::new("1"));
        let old = tree.commit().unwrap();
        made.write("b.rs", "of a person\n");
        let (credit, left) = iteration(&tree, &task, || made.write("a.rs", "b\n"));
        assert_eq!((credit, left), (of(None, WorkChange::Changed), vec!["a.rs".to_owned()]));
        let (_, left) =
            iteration(&tree, &task, || made.run(&["commit", "--quiet", "--message", "First", "a.rs"]));
        assert_eq!(left, [""; 0], "not the file of the person");
        let amend = ["commit", "--quiet", "--amend", "--allow-empty", "--message", "Again"];
        iteration(&tree, &task, || made.run(&amend));
        let first = tree.commit();
        tree.begin_task(Some(&task), false);
        tree.begin_turn(false);
        // A process that goes on after a kill looks at the project itself.
        let later = in_place(&made);
        let kept = serde_json::to_string(&tree.kept_work()).unwrap();
        later.resume_work(serde_json::from_str(&kept).unwrap());
        made.write("c.rs", "");
        let mut left = Vec::new();
        for tree in [tree, later] {
            tree.end_turn(false);
            for _ in 0..2 {
                // A change that could not be stored is tried again.
                assert_eq!(tree.credit(&task, Some(&old)), of(first.as_deref(), WorkChange::Changed));
            }
            left.push(tree.end_iteration().0.len());
            tree.forget_work(std::slice::from_ref(&task));
            assert!(tree.kept_work().is_empty());
        }
        assert_eq!(left, [1, 0], "what was uncommitted before is not known after a kill");
    }

    #[test]
    fn credits_no_work_of_others() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, one, two) = (in_place(&made), TaskId::new("1"), TaskId::new("2"));
        iteration(&tree, &one, || ());
        let (credit, _) = iteration(&tree, &two, || {
            made.write("a.rs", "two\n");
            made.commit("Two");
        });
        let second = tree.commit();
        assert_eq!(credit, of(second.as_deref(), WorkChange::Changed));
        made.write("of-a-person.rs", "");
        made.commit("A person");
        let (credit, left) = iteration(&tree, &one, || ());
        assert_eq!((credit, left), (of(None, WorkChange::Nothing), vec![]));
        let (credit, _) = iteration(&tree, &two, || ());
        assert_eq!(credit, of(second.as_deref(), WorkChange::Changed), "work of an earlier attempt");
    }

    #[test]
    fn compares_names_if_index_is_unreadable() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, task) = (in_place(&made), TaskId::new("1"));
        let split = || made.run(&["update-index", "--split-index"]);
        let (credit, _) = iteration(&tree, &task, split);
        assert_eq!(credit, of(None, WorkChange::Unknown));
        tree.forget_work(std::slice::from_ref(&task));
        let (credit, _) = iteration(&tree, &task, || ());
        assert_eq!(credit, of(None, WorkChange::Nothing));
        let (credit, _) = iteration(&tree, &task, || made.write("b.rs", ""));
        assert_eq!(credit, of(None, WorkChange::Changed));
    }

    #[test]
    fn counts_no_amend_without_content_as_change() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, task) = (in_place(&made), TaskId::new("1"));
        let amend = ["commit", "--quiet", "--amend", "--message", "Again"];
        let (credit, _) = iteration(&tree, &task, || made.run(&amend));
        assert_eq!(credit, Some(Credit { commit: None, change: WorkChange::Nothing, is_elsewhere: true }));
    }

    #[test]
    fn forgets_work_that_is_not_checked_out() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, task) = (in_place(&made), TaskId::new("1"));
        let (credit, _) = iteration(&tree, &task, || {
            made.write("a.rs", "one\n");
            made.commit("One");
        });
        assert_eq!(credit, of(tree.commit().as_deref(), WorkChange::Changed));
        made.run(&["reset", "--quiet", "--hard", "HEAD~1"]);
        let (credit, _) = iteration(&tree, &task, || ());
        assert_eq!(credit, of(None, WorkChange::Nothing));
    }

    #[test]
    fn another_task_gets_only_a_named_new_commit() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, one, other) = (in_place(&made), TaskId::new("1"), TaskId::new("2"));
        let old = tree.commit().unwrap();
        tree.begin_task(Some(&one), false);
        tree.begin_turn(false);
        made.write("a.rs", "one\n");
        made.commit("One");
        tree.end_turn(false);
        let new = tree.commit().unwrap();
        let named = |named: Option<&str>| tree.credit(&other, named);
        assert_eq!(named(None), of(None, WorkChange::Changed));
        assert_eq!(named(Some(&old)), of(None, WorkChange::Changed));
        assert_eq!(named(Some(&new)), of(Some(&new), WorkChange::Changed));
        tree.end_iteration();
        iteration(&tree, &one, || ());
        assert_eq!(tree.credit(&other, Some(&old)), None, "no iteration is under way");
    }

    #[test]
    fn keeps_few_commits_of_open_tasks() {
        let many: Vec<String> = (0..10_000).map(|n| format!("{n:040}")).collect();
        let kept = Worked { commits: many.clone(), earlier: many.clone(), ..Worked::default() }.to_keep();
        assert_eq!((kept.commits.len(), kept.earlier.len()), (MAX_KEPT, MAX_KEPT));
        assert_eq!(kept.commits.first(), many.first(), "the latest");
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, one, two) = (in_place(&made), TaskId::new("1"), TaskId::new("2"));
        iteration(&tree, &one, || made.write("a.rs", "b\n"));
        iteration(&tree, &two, || made.write("a.rs", "c\n"));
        tree.forget_settled_work(|task| *task == two);
        assert_eq!(tree.kept_work().worked.into_keys().collect::<Vec<_>>(), [two]);
    }

    #[test]
    fn counts_no_files_of_checks_and_hooks() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, task) = (in_place(&made), TaskId::new("1"));
        for round in ["1", "2"] {
            tree.begin_task(Some(&task), false);
            made.write("prompt.txt", round);
            tree.forget_last_look();
            tree.begin_turn(false);
            tree.end_turn(false);
            made.write("coverage.xml", round);
            tree.forget_last_look();
            assert_eq!(tree.credit(&task, None), of(None, WorkChange::Nothing), "{round}");
            assert_eq!(tree.end_iteration(), (vec![], None), "{round}");
        }
    }

    #[test]
    fn counts_no_files_of_checks_between_turns() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, one, two) = (in_place(&made), TaskId::new("1"), TaskId::new("2"));
        for (task, changes) in [(&one, true), (&two, false)] {
            tree.begin_task(Some(task), false);
            tree.begin_turn(false);
            if changes {
                made.write("a.rs", "b\n");
            }
            tree.end_turn(false);
            made.write("coverage.xml", task.as_str());
            tree.forget_last_look();
            tree.begin_turn(false);
            tree.end_turn(false);
            let (change, left) =
                if changes { (WorkChange::Changed, vec!["a.rs"]) } else { (WorkChange::Nothing, vec![]) };
            assert_eq!(tree.credit(task, None), of(None, change));
            assert_eq!(tree.credit(&TaskId::new("3"), None), of(None, change));
            tree.forget_last_look();
            assert_eq!(tree.end_iteration().0, left);
        }
    }

    #[test]
    fn names_no_files_of_the_iteration_before() {
        let made = Made::with(&[("a.rs", "a\n")]);
        let (tree, task) = (in_place(&made), TaskId::new("1"));
        let (_, left) = iteration(&tree, &task, || made.write("a.rs", "b\n"));
        assert_eq!(left, ["a.rs"]);
        // The next one fails before its task is started.
        assert!(!tree.begin_turn(false));
        tree.end_turn(false);
        assert_eq!(tree.end_iteration(), (vec![], None));
    }
}
