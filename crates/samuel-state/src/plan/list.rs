//! Tasks as they are listed: as a tree or in the order of the plan, all or some.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::{Readiness, TaskTree, TreeRow, WorkUnderWay};
use samuel_model::{Claim, Groups, Plan, Source, Status, Task, TaskId};

/// Which tasks are listed, and how. By default all, as a tree where there are groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Only tasks that stand at one of these; none of them stands for all.
    pub statuses: Vec<Status>,
    /// Only tasks that came from one of these; none of them stands for all.
    pub sources: Vec<Source>,
    /// Only tasks that could be worked on now, as [`Readiness`] says.
    pub ready: bool,
    /// At most so many of them.
    pub limit: Option<usize>,
    /// In which form.
    pub form: ListForm,
}

/// The form of a list of tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListForm {
    /// Groups with their parts below them; with a task come the groups that it is in.
    #[default]
    Tree,
    /// Each task by itself, in the order of the plan.
    Flat,
}

/// Tasks as they are listed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskList {
    /// The plan's revision.
    pub revision: u64,
    /// How many tasks the plan has, groups among them.
    pub total: usize,
    /// How many of them were asked for.
    pub matching: usize,
    /// How many of these are left out, because of the limit.
    pub more: usize,
    /// The tasks, in the order of the list.
    pub tasks: Vec<Task>,
    /// What is known of each of them beside, in the same order.
    pub rows: Vec<ListRow>,
}

/// A task in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListRow {
    /// The task.
    pub id: TaskId,
    /// How many groups it is in, as far as the list shows them.
    pub depth: usize,
    /// Whether it was asked for. A group that was not is listed for the sake of a part.
    pub matches: bool,
    /// Whether it could be worked on now.
    pub ready: bool,
    /// Where its parts stand; nothing of a task without parts.
    pub group: Option<GroupState>,
    /// Who works on it while several work on the plan, or what is kept of attempts that came to
    /// nothing.
    pub claim: Option<Claim>,
    /// That the lane which has claimed it is gone with its run, in one line; nothing while it may be at work.
    pub gone: Option<String>,
}

/// Where the parts of a group stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupState {
    /// How many own parts it has.
    pub parts: usize,
    /// How many of them are completed or skipped.
    pub settled: usize,
}

impl GroupState {
    /// Returns how many subtasks of the task at `place`, its index in the plan, are settled, or `None` if it has no
    /// subtasks.
    #[doc(hidden)]
    pub fn of(plan: &Plan, groups: &Groups, place: usize) -> Option<Self> {
        let parts = groups.parts(place);
        let is_settled = |part: &&usize| plan.tasks.get(**part).is_some_and(Task::is_settled);
        (!parts.is_empty())
            .then(|| Self { parts: parts.len(), settled: parts.iter().filter(is_settled).count() })
    }
}

impl TaskList {
    /// Lists tasks of a plan.
    pub fn of(plan: &Plan, filter: &TaskFilter) -> Self {
        Self::among(plan, filter, &WorkUnderWay::default())
    }

    /// Lists tasks with what is known of who works on the plan.
    pub fn among(plan: &Plan, filter: &TaskFilter, under_way: &WorkUnderWay) -> Self {
        let readiness = Readiness::of(plan);
        let groups = readiness.groups();
        let tree = match filter.form {
            ListForm::Tree => TaskTree::with(groups, plan.tasks.len()),
            ListForm::Flat => TaskTree::with(&Groups::default(), plan.tasks.len()),
        };
        let is_asked_for = |row: &&TreeRow| {
            let Some(task) = plan.tasks.get(row.place) else { return false };
            let stands = filter.statuses.is_empty() || filter.statuses.contains(&task.status);
            let comes = filter.sources.is_empty() || filter.sources.contains(&task.source);
            stands && comes && (!filter.ready || readiness.is_ready(row.place))
        };
        let matching: Vec<usize> = tree.rows().iter().filter(is_asked_for).map(|row| row.place).collect();
        let limit = filter.limit.unwrap_or(usize::MAX);
        let asked_for: HashSet<usize> = matching.iter().take(limit).copied().collect();
        let mut shown = asked_for.clone();
        if filter.form == ListForm::Tree {
            for place in matching.iter().take(limit) {
                let above = std::iter::successors(groups.parent(*place), |group| groups.parent(*group));
                // What is above a group that is shown is shown already.
                above.take_while(|group| shown.insert(*group)).for_each(drop);
            }
        }
        let claims: HashMap<&TaskId, &Claim> =
            plan.claims.iter().filter_map(|claim| Some((claim.task.task()?, claim))).collect();
        let (mut tasks, mut rows) = (Vec::with_capacity(shown.len()), Vec::with_capacity(shown.len()));
        for TreeRow { place, depth } in tree.rows().iter().filter(|row| shown.contains(&row.place)) {
            let Some(task) = plan.tasks.get(*place) else { continue };
            let claim = claims.get(&task.id).copied();
            rows.push(ListRow {
                id: task.id.clone(),
                depth: *depth,
                matches: asked_for.contains(place),
                ready: readiness.is_ready(*place),
                group: GroupState::of(plan, groups, *place),
                claim: claim.cloned(),
                gone: claim.and_then(|claim| under_way.gone(claim)),
            });
            tasks.push(task.clone());
        }
        let (total, more) = (plan.tasks.len(), matching.len().saturating_sub(limit));
        Self { revision: plan.revision, total, matching: matching.len(), more, tasks, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups, one in the other, and a task that waits for a part.
    fn plan() -> Plan {
        let task = |id: &str, parent: &str, depends_on: &[&str], status| Task {
            status,
            parent_id: (!parent.is_empty()).then(|| TaskId::new(parent)),
            depends_on: depends_on.iter().map(|id| TaskId::new(*id)).collect(),
            ..Task::new(TaskId::new(id), "t")
        };
        let tasks = vec![
            task("2", "", &["1.2"], Status::Pending),
            task("1", "", &[], Status::Pending),
            task("1.1", "1", &[], Status::Completed),
            task("1.2", "1", &[], Status::Pending),
            task("1.2.1", "1.2", &[], Status::Pending),
            task("1.2.2", "1.2", &["1.2.1"], Status::Blocked),
        ];
        Plan { tasks, revision: 7, ..Plan::default() }
    }

    /// Writes a list with a star for what was asked for, and how deep it stands.
    fn listed(filter: TaskFilter) -> (Vec<String>, usize, usize) {
        let list = TaskList::of(&plan(), &filter);
        let row = |row: &ListRow| {
            let mark = if row.matches { "*" } else { "" };
            format!("{}{}{mark}", "-".repeat(row.depth), row.id)
        };
        (list.rows.iter().map(row).collect(), list.matching, list.more)
    }

    #[test]
    fn parts_stand_below_their_groups_and_a_flat_list_follows_the_plan() {
        let (tree, matching, more) = listed(TaskFilter::default());
        assert_eq!(tree, ["2*", "1*", "-1.1*", "-1.2*", "--1.2.1*", "--1.2.2*"]);
        assert_eq!((matching, more), (6, 0));
        let flat = TaskFilter { form: ListForm::Flat, ..TaskFilter::default() };
        assert_eq!(listed(flat).0, ["2*", "1*", "1.1*", "1.2*", "1.2.1*", "1.2.2*"]);
    }

    #[test]
    fn with_a_task_come_the_groups_that_it_is_in_and_no_others() {
        let blocked = TaskFilter { statuses: vec![Status::Blocked], ..TaskFilter::default() };
        assert_eq!(listed(blocked.clone()).0, ["1", "-1.2", "--1.2.2*"]);
        assert_eq!(listed(TaskFilter { form: ListForm::Flat, ..blocked }).0, ["1.2.2*"]);
        let settled =
            TaskFilter { statuses: vec![Status::Completed, Status::Skipped], ..TaskFilter::default() };
        assert_eq!(listed(settled).0, ["1", "-1.1*"]);
    }

    #[test]
    fn ready_is_what_the_planner_chooses_from() {
        let ready = TaskFilter { ready: true, ..TaskFilter::default() };
        assert_eq!(listed(ready.clone()).0, ["1", "-1.2", "--1.2.1*"]);
        let none = TaskFilter { statuses: vec![Status::Blocked], ..ready };
        assert_eq!(listed(none), (vec![], 0, 0));
    }

    #[test]
    fn tasks_of_a_source_are_listed_alone() {
        let mut plan = plan();
        plan.tasks.first_mut().expect("it has tasks").source = Source::PilotDiscovery;
        let found = TaskFilter { sources: vec![Source::PilotDiscovery], ..TaskFilter::default() };
        let list = TaskList::of(&plan, &found);
        assert_eq!(list.rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["2"]);
    }

    #[test]
    fn a_limit_counts_what_was_asked_for_and_says_how_many_are_left_out() {
        let pending = TaskFilter {
            statuses: vec![Status::Pending],
            limit: Some(3),
            form: ListForm::Flat,
            ..TaskFilter::default()
        };
        assert_eq!(listed(pending), (vec!["2*".into(), "1*".into(), "1.2*".into()], 4, 1));
        let deep = TaskFilter {
            statuses: vec![Status::Completed, Status::Blocked],
            limit: Some(1),
            ..TaskFilter::default()
        };
        assert_eq!(listed(deep), (vec!["1".into(), "-1.1*".into()], 2, 1));
    }

    #[test]
    fn a_group_says_how_many_of_its_parts_are_settled() {
        let list = TaskList::of(&plan(), &TaskFilter::default());
        let states: Vec<_> = list.rows.iter().filter_map(|row| row.group).collect();
        let state = |parts, settled| GroupState { parts, settled };
        assert_eq!(states, [state(2, 1), state(2, 0)]);
        assert_eq!((list.revision, list.total, list.tasks.len()), (7, 6, 6));
    }

    #[test]
    fn groups_in_a_circle_are_all_listed() {
        let task = |id: &str, parent: &str| Task {
            parent_id: Some(TaskId::new(parent)),
            ..Task::new(TaskId::new(id), "t")
        };
        let plan = Plan { tasks: vec![task("1", "2"), task("2", "1")], ..Plan::default() };
        assert_eq!(TaskList::of(&plan, &TaskFilter::default()).rows.len(), 2);
    }
}
