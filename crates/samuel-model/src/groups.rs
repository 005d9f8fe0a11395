//! Groups: tasks that others are a part of.
//!
//! Nobody works on a group. Where it stands follows from its parts, which
//! [`Groups::statuses`] says and [`settle`] writes into a plan: it is completed
//! once all of them are completed or skipped, skipped if all are skipped, and
//! pending before that. A part waits for what its groups depend on, and never
//! for a group that it is in.

use std::{collections::HashMap, iter, mem};

use super::{Status, Task, TaskId};

/// Which tasks are a part of which.
///
/// Made of tasks in turn, each of which is known by its place among them. A
/// parent that is not among them is none. Where tasks are a part of each other
/// in a circle, the first of them counts as a part of nothing.
#[derive(Debug, Default)]
pub struct Groups {
    /// The group each task is a part of; empty where there are no groups.
    parents: Vec<Option<usize>>,
    parts: Vec<Vec<usize>>,
    /// Every task, groups before their parts.
    order: Vec<usize>,
    /// Where a task stands in `order`, and how many stand there that are a part
    /// of it, itself among them.
    spans: Vec<(usize, usize)>,
}

impl Groups {
    /// Reads from tasks which are a part of which.
    pub fn of<'a>(tasks: impl IntoIterator<Item = &'a Task>) -> Self {
        let row = |task: &'a Task| (task.id.as_str(), task.parent_id.as_ref().map(TaskId::as_str));
        Self::among(tasks.into_iter().map(row))
    }

    /// Reads the same from ids, each with that of the parent.
    #[doc(hidden)]
    pub fn among<'a>(rows: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Self {
        let (ids, names): (Vec<&str>, Vec<Option<&str>>) = rows.unzip();
        if names.iter().all(Option::is_none) {
            return Self::default();
        }
        let places: HashMap<&str, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let parents = names.iter().map(|name| places.get((*name)?).copied()).collect();
        let parents = without_circles(parents);
        let mut parts = vec![Vec::new(); parents.len()];
        for (part, parent) in parents.iter().enumerate() {
            if let Some(parts) = parent.and_then(|parent| parts.get_mut(parent)) {
                parts.push(part);
            }
        }
        let (order, spans) = walk(&parents, &parts);
        Self { parents, parts, order, spans }
    }

    /// Says whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(Vec::is_empty)
    }

    /// Returns the places of a group's own parts; nothing of a task that is none.
    pub fn parts(&self, place: usize) -> &[usize] {
        self.parts.get(place).map_or(&[], Vec::as_slice)
    }

    /// Says whether a task is a group.
    pub fn is_group(&self, place: usize) -> bool {
        !self.parts(place).is_empty()
    }

    /// Returns the place of the group that a task is a part of.
    pub fn parent(&self, place: usize) -> Option<usize> {
        self.parents.get(place).copied().flatten()
    }

    /// Says whether a task is a part of a group, or of one of its parts.
    pub fn contains(&self, group: usize, place: usize) -> bool {
        let (Some((first, count)), Some((at, _))) = (self.spans.get(group), self.spans.get(place)) else {
            return false;
        };
        group != place && (*first..first + count).contains(at)
    }

    /// Returns the places of all tasks, groups before their parts; nothing where
    /// there is no group.
    #[doc(hidden)]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Marks what is a part of tasks that are marked.
    #[doc(hidden)]
    pub fn mark_parts(&self, marked: &mut [bool]) {
        for place in &self.order {
            let is_part = self.parent(*place).is_some_and(|parent| marked.get(parent) == Some(&true));
            if let Some(mark) = marked.get_mut(*place).filter(|_| is_part) {
                *mark = true;
            }
        }
    }

    /// Says where every task stands, of which some are groups: those by their
    /// parts, the others as given.
    pub fn statuses(&self, own: impl IntoIterator<Item = Status>) -> Vec<Status> {
        let mut statuses: Vec<Status> = own.into_iter().collect();
        for group in self.order.iter().rev() {
            let parts = self.parts(*group).iter().filter_map(|part| statuses.get(*part));
            if let (Some(follows), Some(status)) = (by_parts(parts), statuses.get_mut(*group)) {
                *status = follows;
            }
        }
        statuses
    }
}

/// Says where a group stands; nothing of a task without parts.
fn by_parts<'a>(parts: impl Iterator<Item = &'a Status>) -> Option<Status> {
    let mut follows = None;
    for part in parts {
        follows = match (part, follows) {
            (Status::Skipped, None | Some(Status::Skipped)) => Some(Status::Skipped),
            (Status::Skipped | Status::Completed, _) => Some(Status::Completed),
            _ => return Some(Status::Pending),
        };
    }
    follows
}

/// Has every group of some tasks stand where its parts say. A group that is
/// completed by that was completed `now`. Says whether any stood elsewhere.
///
/// A commit and an iteration that it has stay: it may have been a task before.
pub fn settle(tasks: &mut [Task], now: Option<jiff::Timestamp>) -> bool {
    let groups = Groups::of(tasks.iter());
    if groups.is_empty() {
        return false;
    }
    let statuses = groups.statuses(tasks.iter().map(|task| task.status));
    let mut moved = false;
    for (place, (task, status)) in tasks.iter_mut().zip(statuses).enumerate() {
        if !groups.is_group(place) || (task.status == status && task.owner.is_none()) {
            continue;
        }
        moved = true;
        let before = mem::replace(&mut task.status, status);
        task.owner = None;
        task.skip_reason = None;
        task.question = None;
        match status {
            Status::Completed if before == Status::Completed => {}
            Status::Completed => task.completed_at = now,
            _ => task.completed_at = None,
        }
    }
    moved
}

/// Leaves out the parent of the first task of every circle: what is read of some tasks has to leave out the same one.
fn without_circles(mut parents: Vec<Option<usize>>) -> Vec<Option<usize>> {
    // The task from which a way up came by, if any did.
    let mut seen: Vec<Option<usize>> = vec![None; parents.len()];
    for start in 0..parents.len() {
        let mut at = start;
        while let Some(mark) = seen.get_mut(at) {
            match *mark {
                // The way came by here before: it goes round.
                Some(before) if before == start => {
                    let first = first_of_circle(&parents, at);
                    if let Some(parent) = parents.get_mut(first) {
                        *parent = None;
                    }
                    break;
                }
                Some(_) => break,
                None => *mark = Some(start),
            }
            match parents.get(at).copied().flatten() {
                Some(parent) => at = parent,
                None => break,
            }
        }
    }
    parents
}

/// Returns the lowest place of the circle that a task is in.
fn first_of_circle(parents: &[Option<usize>], start: usize) -> usize {
    let above = |task: &usize| parents.get(*task).copied().flatten();
    let around = iter::successors(above(&start), above).take_while(|task| *task != start);
    around.fold(start, usize::min)
}

/// Goes through all tasks, from each into its parts, and says where each stands
/// on the way and how many are below.
fn walk(parents: &[Option<usize>], parts: &[Vec<usize>]) -> (Vec<usize>, Vec<(usize, usize)>) {
    let mut order = Vec::with_capacity(parents.len());
    let mut spans = vec![(0, 1); parents.len()];
    let mut next: Vec<usize> =
        (0..parents.len()).rev().filter(|task| parents.get(*task) == Some(&None)).collect();
    while let Some(task) = next.pop() {
        if let Some(span) = spans.get_mut(task) {
            span.0 = order.len();
        }
        order.push(task);
        next.extend(parts.get(task).into_iter().flatten().rev());
    }
    for task in order.iter().rev() {
        let count = spans.get(*task).map_or(0, |(_, count)| *count);
        let parent = parents.get(*task).copied().flatten();
        if let Some(span) = parent.and_then(|parent| spans.get_mut(parent)) {
            span.1 += count;
        }
    }
    (order, spans)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]
    use super::*;

    fn task(id: &str, parent: &str, status: Status) -> Task {
        let parent_id = (!parent.is_empty()).then(|| TaskId::new(parent));
        Task { parent_id, status, ..Task::new(TaskId::new(id), "t") }
    }

    fn statuses(tasks: &[Task]) -> Vec<Status> {
        Groups::of(tasks).statuses(tasks.iter().map(|task| task.status))
    }

    #[test]
    fn a_group_stands_where_its_parts_say() {
        use Status::{Blocked, Completed, InProgress, Pending, Skipped};
        for (parts, expected) in [
            ([Completed, Completed], Completed),
            ([Completed, Skipped], Completed),
            ([Skipped, Completed], Completed),
            ([Skipped, Skipped], Skipped),
            ([Completed, Pending], Pending),
            ([Skipped, Blocked], Pending),
            ([InProgress, Completed], Pending),
        ] {
            for own in [Pending, InProgress, Completed, Skipped, Blocked] {
                let tasks = [task("1", "", own), task("1.1", "1", parts[0]), task("1.2", "1", parts[1])];
                assert_eq!(statuses(&tasks)[0], expected, "{own:?} {parts:?}");
            }
        }
    }

    #[test]
    fn groups_in_groups_follow_from_the_innermost_parts() {
        let tasks = [
            task("1.1.1", "1.1", Status::Completed),
            task("1", "", Status::Pending),
            task("1.1", "1", Status::Pending),
            task("2", "7", Status::Pending),
        ];
        assert_eq!(
            statuses(&tasks),
            [Status::Completed, Status::Completed, Status::Completed, Status::Pending]
        );
        let groups = Groups::of(&tasks);
        assert!(groups.contains(1, 0) && groups.contains(1, 2) && groups.contains(2, 0));
        assert!(!groups.contains(0, 1) && !groups.contains(1, 1) && !groups.contains(1, 3));
        assert_eq!(
            (groups.parent(0), groups.parent(3)),
            (Some(2), None),
            "a parent that is not there is none"
        );
    }

    #[test]
    fn of_tasks_that_are_a_part_of_each_other_one_is_a_part_of_nothing() {
        let tasks = [
            task("4", "3", Status::Pending),
            task("1", "2", Status::Completed),
            task("2", "3", Status::Completed),
            task("3", "1", Status::Completed),
            task("5", "5", Status::Completed),
        ];
        let groups = Groups::of(&tasks);
        let roots = (0..5).filter(|place| groups.parent(*place).is_none()).count();
        assert_eq!((roots, groups.order().len()), (2, 5));
        assert!(!groups.is_group(4));
        assert!(statuses(&tasks).contains(&Status::Pending));
    }

    #[test]
    fn which_task_of_a_circle_is_a_part_of_nothing_does_not_depend_on_tasks_outside_of_it() {
        let circle = [task("1", "2", Status::Pending), task("2", "1", Status::Pending)];
        let part_of_second = task("3", "2", Status::Completed);
        let first = |tasks: &[Task]| Groups::of(tasks).parent(tasks.len() - 2);
        assert_eq!(first(&circle), None);
        let [one, two] = circle;
        assert_eq!(first(&[part_of_second, one, two]), None);
    }

    #[test]
    fn a_chain_of_100_000_parts_does_not_exhaust_the_stack() {
        let chain = |n: usize| task(&n.to_string(), &(n + 1).to_string(), Status::Completed);
        let tasks: Vec<Task> = (0..100_000).map(chain).collect();
        assert!(statuses(&tasks).iter().all(|status| *status == Status::Completed));
        assert!(Groups::of(&tasks).contains(99_999, 0));
    }

    #[test]
    fn a_group_that_is_open_again_keeps_its_commit_and_forgets_when_it_was_completed() {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut group = task("1", "", Status::Completed);
        (group.completed_at, group.commit_sha) = (Some(now), Some("abcd".to_owned()));
        let mut tasks = [group, task("1.1", "1", Status::Pending)];
        assert!(settle(&mut tasks, Some(now)));
        assert_eq!((tasks[0].status, tasks[0].completed_at), (Status::Pending, None));
        assert_eq!(tasks[0].commit_sha.as_deref(), Some("abcd"));
        assert!(!settle(&mut tasks, Some(now)));
        tasks[1].status = Status::Completed;
        assert!(settle(&mut tasks, Some(now)));
        assert_eq!((tasks[0].status, tasks[0].completed_at), (Status::Completed, Some(now)));
    }
}
