//! What a plan leaves to do.

use std::{cmp::Ordering, collections::HashMap, mem};

use serde::{Deserialize, Serialize};

use super::WorkUnderWay;
use crate::is_gap;
use samuel_model::{
    ClaimPhase, Groups, Plan, Scope, Status, Task, TaskId, cycles, payload::TaskBrief, text::counted,
};

/// What a plan leaves to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// This task is next.
    Task(TaskBrief),
    /// Nothing: every task is completed or skipped, or there are none.
    AllDone,
    /// Nothing for a run that is for some tasks: these are completed or skipped.
    ScopeDone(Vec<TaskId>),
    /// Tasks are left, or may be, and none can be worked on: the reason for each, in
    /// natural order.
    Blocked(Vec<String>),
}

impl Work {
    /// Says what a plan leaves to do of a scope: a task in progress, else a pending one whose
    /// dependencies are all completed or skipped; of several the most urgent, of
    /// those the first in natural order. A [group](Groups) is never worked on: its parts
    /// are, once what it depends on is completed or skipped.
    ///
    /// The lines of the plan's file that cannot be read
    /// ([`LoadedPlan::unparsed`](crate::LoadedPlan::unparsed)) may be tasks that are not
    /// done, but none that a scope names.
    pub fn of(plan: &Plan, unread: &[String], scope: &Scope) -> Self {
        Self::with_queue(plan, unread, scope).0
    }

    /// Says the same, and how many tasks are pending or in progress.
    pub fn with_queue(plan: &Plan, unread: &[String], scope: &Scope) -> (Self, usize) {
        Self::among(plan, unread, scope, &WorkUnderWay::default())
    }

    /// Says the same with what is known of who works on the plan: what the next start frees is free, and what waits for
    /// files of another task is not next.
    pub fn among(plan: &Plan, unread: &[String], scope: &Scope, under_way: &WorkUnderWay) -> (Self, usize) {
        let freed = under_way.freed(plan);
        let plan = &*freed;
        let readiness = Readiness::within(plan, scope);
        let is_work = |place: usize| !readiness.groups.is_group(place) && readiness.is_wanted(place);
        let tasks = || plan.tasks.iter().enumerate().filter(|(place, _)| is_work(*place));
        let waits = |task: &Task| matches!(task.status, Status::Pending | Status::InProgress);
        let queue = tasks().filter(|(_, task)| waits(task)).count();
        let is_open = |(_, task): &(usize, &Task)| !under_way.left_out.contains_key(&task.id);
        if let Some((_, task)) =
            readiness.ready().filter(is_open).min_by(|(_, one), (_, other)| rank(one, other))
        {
            return (Self::Task(TaskBrief::from(task)), queue);
        }
        let left = reasons_of_left(plan, &readiness, under_way);
        let mut reasons: Vec<String> = left.into_iter().map(|(_, reason)| reason).collect();
        if reasons.is_empty() && scope.is_all() {
            reasons.extend(doubt(unread));
        }
        let gone = scope.tasks().iter().filter(|id| !readiness.places.contains_key(id));
        reasons.extend(gone.map(|id| format!("{id} is in the plan no more")));
        let left = match (scope, reasons.is_empty()) {
            (_, false) => Self::Blocked(reasons),
            (Scope::All, true) => Self::AllDone,
            (Scope::Tasks(ids), true) => Self::ScopeDone(ids.clone()),
        };
        (left, queue)
    }
}

/// Which tasks of a plan can be worked on, and what the others wait for.
///
/// A task is known by its place in the plan. [`Work::of`] chooses among those that are ready.
#[derive(Debug)]
pub struct Readiness<'a> {
    plan: &'a Plan,
    groups: Groups,
    places: HashMap<&'a TaskId, usize>,
    /// Whether each task is completed or skipped.
    settled: Vec<bool>,
    /// For each group what its parts wait for, if they wait for something.
    held: Vec<Option<Held<'a>>>,
    /// Whether each task is one that the work is for; nothing where all are.
    wanted: Option<Vec<bool>>,
}

/// What keeps the parts of a group from being worked on.
#[derive(Clone, Copy, Debug)]
struct Held<'a> {
    /// The group that depends on it.
    group: &'a TaskId,
    waits_for: &'a TaskId,
}

impl<'a> Readiness<'a> {
    /// Reads it from a plan.
    pub fn of(plan: &'a Plan) -> Self {
        Self::within(plan, &Scope::All)
    }

    /// Reads it from a plan of which only a scope is wanted.
    pub(crate) fn within(plan: &'a Plan, scope: &Scope) -> Self {
        let groups = Groups::of(&plan.tasks);
        let statuses = groups.statuses(plan.tasks.iter().map(|task| task.status));
        let settled =
            statuses.iter().map(|status| matches!(status, Status::Completed | Status::Skipped)).collect();
        let places = plan.tasks.iter().enumerate().map(|(place, task)| (&task.id, place)).collect();
        let held = vec![None; groups.order().len()];
        let mut readiness = Self { plan, groups, places, settled, held, wanted: None };
        readiness.hold_parts();
        if let Scope::Tasks(ids) = scope {
            readiness.wanted = Some(readiness.needed_for(ids));
        }
        readiness
    }

    /// Returns the tasks that could be worked on and are wanted.
    pub(super) fn ready(&self) -> impl Iterator<Item = (usize, &'a Task)> {
        let tasks = self.plan.tasks.iter().enumerate();
        tasks.filter(|(place, _)| self.is_ready(*place) && self.is_wanted(*place))
    }

    /// Returns which tasks are a part of which.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Says whether a task could be worked on now: it is in progress, or pending and waits
    /// for nothing. A group never is.
    pub fn is_ready(&self, place: usize) -> bool {
        let Some(task) = self.plan.tasks.get(place).filter(|_| !self.groups.is_group(place)) else {
            return false;
        };
        match task.status {
            // What is claimed is worked on by whoever has claimed it.
            Status::InProgress => self.plan.live_claim(&task.id).is_none(),
            Status::Pending => self.open(place).next().is_none() && self.held_above(place).is_none(),
            Status::Completed | Status::Skipped | Status::Blocked => false,
        }
    }

    /// Returns what a task waits for: what it depends on itself and what is neither completed
    /// nor skipped, and the first of what the groups depend on that it is in. Of one that is
    /// completed or skipped too: what it would wait for if it were open again.
    pub fn waits_for(&self, place: usize) -> Vec<&'a TaskId> {
        let mut ids: Vec<&TaskId> = self.open(place).collect();
        if let Some(held) = self.held_above(place).filter(|held| !ids.contains(&held.waits_for)) {
            ids.push(held.waits_for);
        }
        ids
    }

    /// Marks tasks and all that has to be settled for them: the parts of groups, what
    /// they depend on, and what the groups depend on that they are in. Of what is
    /// settled nothing is needed.
    fn needed_for(&self, ids: &[TaskId]) -> Vec<bool> {
        let mut needed = vec![false; self.plan.tasks.len()];
        // Those whose dependencies were looked at, groups around tasks among them.
        let mut seen = needed.clone();
        let mut next: Vec<usize> = ids.iter().filter_map(|id| self.places.get(id).copied()).collect();
        while let Some(place) = next.pop() {
            if self.is_settled(place) || needed.get_mut(place).is_none_or(|mark| mem::replace(mark, true)) {
                continue;
            }
            next.extend(self.groups.parts(place));
            let mut at = Some(place);
            while let Some(around) = at
                && seen.get_mut(around).is_some_and(|mark| !mem::replace(mark, true))
            {
                next.extend(self.depends_on(around));
                at = self.groups.parent(around);
            }
        }
        needed
    }

    pub(crate) fn is_wanted(&self, place: usize) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.get(place) == Some(&true))
    }

    /// Finds what the parts of each group wait for, groups before their parts.
    fn hold_parts(&mut self) {
        for index in 0..self.held.len() {
            let Some(group) = self.groups.order().get(index).copied() else { break };
            let Some(task) = self.plan.tasks.get(group).filter(|_| self.groups.is_group(group)) else {
                continue;
            };
            let own = self.open(group).next().map(|waits_for| Held { group: &task.id, waits_for });
            let held = own.or_else(|| self.held_above(group));
            if let Some(place) = self.held.get_mut(group) {
                *place = held;
            }
        }
    }

    fn held_above(&self, place: usize) -> Option<Held<'a>> {
        self.groups.parent(place).and_then(|parent| self.held.get(parent).copied().flatten())
    }

    /// Says whether one of two tasks is a part of the other: a task never waits for a
    /// group that it is in, nor a group for its parts to begin.
    fn is_around(&self, one: usize, other: usize) -> bool {
        self.groups.contains(one, other) || self.groups.contains(other, one)
    }

    /// Returns the tasks that one itself depends on.
    fn depends_on(&self, place: usize) -> impl Iterator<Item = usize> {
        let ids = self.plan.tasks.get(place).into_iter().flat_map(|task| &task.depends_on);
        let others = ids.filter_map(|id| self.places.get(id).copied());
        others.filter(move |other| !self.is_around(*other, place))
    }

    /// Returns what a task itself depends on and what is not settled.
    fn open(&self, place: usize) -> impl Iterator<Item = &'a TaskId> {
        let is_open = move |id: &&TaskId| match self.places.get(*id) {
            None => true,
            Some(other) => !self.is_around(*other, place) && self.settled.get(*other) == Some(&false),
        };
        let task = self.plan.tasks.get(place);
        task.into_iter().flat_map(|task| &task.depends_on).filter(is_open)
    }

    pub(super) fn is_settled(&self, place: usize) -> bool {
        self.settled.get(place) == Some(&true)
    }
}

/// Says why a plan may not be done although all that was read of it is.
fn doubt(unread: &[String]) -> Option<String> {
    let missing = unread.iter().find(|line| is_gap(line));
    let missing = missing.map(|missing| format!("every task in prd.toon is settled, but {missing}"));
    let lines = || counted(unread.len(), "line");
    let junk =
        || format!("every task that can be read is settled, but {} of prd.toon cannot be read", lines());
    missing.or_else(|| (!unread.is_empty()).then(junk))
}

/// Says which of two tasks that could be worked on comes first.
pub(super) fn rank(one: &Task, other: &Task) -> Ordering {
    let waits = |task: &Task| task.status != Status::InProgress;
    let begun = waits(one).cmp(&waits(other));
    begun.then_with(|| one.priority.cmp(&other.priority)).then_with(|| one.id.cmp(&other.id))
}

/// Gives a reason for every task that is not settled. Of the tasks on one circle
/// only the first in natural order is told to depend on itself. Groups are left out:
/// what is left of them is said of their parts. So are those that could be worked on, but for those that wait for files
/// of others.
pub(super) fn reasons_of_left(
    plan: &Plan,
    readiness: &Readiness<'_>,
    under_way: &WorkUnderWay,
) -> Vec<(usize, String)> {
    let tasks = plan.tasks.iter().enumerate();
    let is_under_way = plan.claimed_tasks().any(|(_, claim)| claim.phase != ClaimPhase::Held);
    let is_stuck = readiness.ready().next().is_none() && !is_under_way;
    let is_left = |place: usize| !readiness.is_settled(place) && readiness.is_wanted(place);
    let mut left: Vec<(usize, &Task)> = tasks.filter(|(place, _)| is_left(*place)).collect();
    left.sort_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    let mut circles: HashMap<TaskId, Vec<TaskId>> = cycles(left.iter().map(|(_, task)| *task))
        .into_iter()
        .filter_map(|path| Some((path.first()?.clone(), path)))
        .collect();
    let why = |id: &TaskId| match readiness.places.contains_key(id) {
        true if is_stuck => "cannot be worked on",
        true => "is not done yet",
        false => "does not exist",
    };
    let mut reason = |(place, task): &(usize, &Task)| {
        if readiness.is_ready(*place) {
            return under_way.left_out.get(&task.id).cloned();
        }
        let id = &task.id;
        if let Some(question) = task.open_question().filter(|_| !readiness.groups.is_group(*place)) {
            return Some(format!("{id} waits for an answer: {}", question.line()));
        }
        if task.status == Status::Blocked && !readiness.groups.is_group(*place) {
            let why = task.skip_reason.as_deref().map(|reason| format!(": {reason}"));
            return Some(format!("{id} is marked as blocked{}", why.unwrap_or_default()));
        }
        if let Some(claim) = plan.live_claim(id) {
            return Some(under_way.why_claimed(claim));
        }
        if let Some(path) = circles.remove(id) {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            return Some(format!("{id} depends on itself: {}", path.join(" -> ")));
        }
        if readiness.groups.is_group(*place) {
            return None;
        }
        let mut own = task.depends_on.iter();
        let unknown = own.find(|id| !readiness.places.contains_key(id));
        if let Some(open) = unknown.or_else(|| readiness.open(*place).next()) {
            return Some(format!("{id} depends on {open}, which {}", why(open)));
        }
        let Held { group, waits_for } = readiness.held_above(*place)?;
        Some(format!("{id} is a part of {group}, which depends on {waits_for}, which {}", why(waits_for)))
    };
    left.iter().filter_map(|left| Some((left.0, reason(left)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::Priority;

    fn task(id: &str, depends_on: &[&str]) -> Task {
        let depends_on = depends_on.iter().map(|id| TaskId::new(*id)).collect();
        Task { depends_on, ..Task::new(TaskId::new(id), "t") }
    }

    fn work(tasks: impl Into<Vec<Task>>) -> Work {
        work_for(tasks, &[])
    }

    fn work_for(tasks: impl Into<Vec<Task>>, ids: &[&str]) -> Work {
        let scope = ids.iter().map(|id| TaskId::new(*id)).collect::<Vec<_>>().into();
        Work::of(&Plan { tasks: tasks.into(), ..Plan::default() }, &[], &scope)
    }

    /// Returns the id of the task that is next.
    fn id(work: Work) -> String {
        match work {
            Work::Task(task) => task.id,
            other => format!("{other:?}"),
        }
    }

    /// Completes what is next until nothing is, and returns what was, in order.
    fn order(mut tasks: Vec<Task>, ids: &[&str]) -> String {
        let mut made = Vec::new();
        while let Work::Task(next) = work_for(tasks.clone(), ids) {
            let task = tasks.iter_mut().find(|task| task.id.as_str() == next.id);
            task.expect("it is in the plan").status = Status::Completed;
            made.push(next.id);
        }
        made.join(" ")
    }

    fn reasons(work: Work) -> Vec<String> {
        match work {
            Work::Blocked(reasons) => reasons,
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn of_tasks_2_to_10_with_one_priority_2_is_next() {
        let tasks: Vec<Task> = (2..=10).rev().map(|n| task(&n.to_string(), &[])).collect();
        assert_eq!(id(work(tasks)), "2");
    }

    #[test]
    fn a_task_with_an_open_question_waits_for_its_answer() {
        let question = samuel_model::Question { text: "a\n  b?".into(), ..Default::default() };
        let asked = Task { status: Status::Blocked, question: Some(question.clone()), ..task("1", &[]) };
        assert_eq!(reasons(work([asked.clone()])), ["1 waits for an answer: a b?"]);
        let answered = question.answered("c").expect("an answer");
        let answered = Task { status: Status::Pending, question: Some(answered), ..asked };
        assert_eq!(id(work([answered])), "1");
    }

    #[test]
    fn what_is_claimed_is_left_to_whoever_has_claimed_it() {
        let tasks = vec![task("1", &[]), task("2", &["1"])];
        let mut plan = Plan { tasks, ..Plan::default() };
        let claim = |plan: &mut Plan, id: &str| {
            let task = TaskId::new(id).into();
            let claim = crate::Mutation::Claim { task, worker: "lane-1".to_owned() };
            crate::apply(plan, &claim, jiff::Timestamp::UNIX_EPOCH).expect("it is pending");
        };
        claim(&mut plan, "1");
        let told = reasons(Work::of(&plan, &[], &Scope::All));
        let claimed = "1 is claimed by lane-1 since 1970-01-01 00:00:00 UTC";
        assert_eq!(told, [claimed, "2 depends on 1, which is not done yet"]);
        plan.tasks.push(task("3", &[]));
        assert_eq!(id(Work::of(&plan, &[], &Scope::All)), "3");
    }

    #[test]
    fn priority_comes_before_the_natural_order() {
        let urgent = Task { priority: Priority::Critical, ..task("9", &[]) };
        let late = Task { priority: Priority::Low, ..task("1", &[]) };
        assert_eq!(id(work([late, task("2", &[]), urgent])), "9");
    }

    #[test]
    fn a_task_in_progress_comes_before_a_more_urgent_one() {
        let urgent = Task { priority: Priority::Critical, ..task("1", &[]) };
        let started = Task { status: Status::InProgress, ..task("2", &["7"]) };
        assert_eq!(id(work([urgent, started])), "2");
    }

    #[test]
    fn dependencies_must_be_completed_or_skipped() {
        let with = |status| work([Task { status, ..task("1", &[]) }, task("2", &["1"])]);
        assert_eq!(id(with(Status::Completed)), "2");
        assert_eq!(id(with(Status::Skipped)), "2");
        assert_eq!(id(with(Status::Pending)), "1");
        let blocked = reasons(with(Status::Blocked));
        assert_eq!(blocked, ["1 is marked as blocked", "2 depends on 1, which cannot be worked on"]);
    }

    #[test]
    fn a_plan_without_open_tasks_is_done() {
        assert_eq!(work([]), Work::AllDone);
        let status = |status, id| Task { status, ..task(id, &["nowhere"]) };
        assert_eq!(work([status(Status::Completed, "1"), status(Status::Skipped, "2")]), Work::AllDone);
    }

    #[test]
    fn a_circle_is_reported_once_with_its_path() {
        let found =
            reasons(work([task("3", &["2"]), task("2", &["1"]), task("1", &["3"]), task("4", &["4"])]));
        assert_eq!(
            found,
            [
                "1 depends on itself: 1 -> 3 -> 2 -> 1",
                "2 depends on 1, which cannot be worked on",
                "3 depends on 2, which cannot be worked on",
                "4 depends on itself: 4 -> 4",
            ]
        );
    }

    #[test]
    fn an_unknown_dependency_is_named() {
        let found = reasons(work([task("1", &["1.10"]), task("2", &["1"])]));
        assert_eq!(
            found,
            ["1 depends on 1.10, which does not exist", "2 depends on 1, which cannot be worked on"]
        );
    }

    fn part(id: &str, parent: &str, depends_on: &[&str]) -> Task {
        Task { parent_id: Some(TaskId::new(parent)), ..task(id, depends_on) }
    }

    #[test]
    fn a_group_is_never_worked_on_and_is_settled_with_its_parts() {
        let urgent = Task { priority: Priority::Critical, status: Status::InProgress, ..task("1", &[]) };
        let plan = |one, two| {
            let first = Task { status: one, ..part("1.1", "1", &[]) };
            work([
                urgent.clone(),
                first,
                Task { status: two, ..part("1.2", "1", &["1.1"]) },
                task("2", &["1"]),
            ])
        };
        assert_eq!(id(plan(Status::Pending, Status::Pending)), "1.1");
        assert_eq!(id(plan(Status::Completed, Status::Pending)), "1.2");
        assert_eq!(id(plan(Status::Completed, Status::Skipped)), "2");
        let blocked = reasons(plan(Status::Completed, Status::Blocked));
        assert_eq!(blocked, ["1.2 is marked as blocked", "2 depends on 1, which cannot be worked on"]);
    }

    #[test]
    fn a_part_waits_for_what_its_groups_depend_on_and_never_for_them() {
        let tasks = |second| {
            let group = task("2", &["1", "2.1", "2.2"]);
            [second, group, part("2.1", "2", &["2"]), part("2.2", "2.1", &["2"])]
        };
        assert_eq!(id(work(tasks(Task { status: Status::Skipped, ..task("1", &[]) }))), "2.2");
        let waits = reasons(work(tasks(Task { status: Status::Blocked, ..task("1", &[]) })));
        let told = "2.2 is a part of 2, which depends on 1, which cannot be worked on";
        assert_eq!(waits, ["1 is marked as blocked", told]);
        let unknown = reasons(work([task("1", &["9"]), part("1.1", "1", &[])]));
        assert_eq!(unknown, ["1.1 is a part of 1, which depends on 9, which does not exist"]);
    }

    #[test]
    fn a_circle_over_groups_is_reported_with_its_path() {
        let tasks = || [task("1", &["2"]), part("1.1", "1", &[]), task("2", &[]), part("2.2", "2", &["1.1"])];
        let found = reasons(work(tasks()));
        assert_eq!(
            found,
            [
                "1.1 depends on itself: 1.1 -> 2 -> 2.2 -> 1.1",
                "2.2 depends on 1.1, which cannot be worked on",
            ]
        );
        let other = part("2.1", "2", &[]);
        assert_eq!(id(work(tasks().into_iter().chain([other]).collect::<Vec<_>>())), "2.1");
    }

    #[test]
    fn what_is_next_is_among_what_is_ready_and_the_rest_says_what_it_waits_for() {
        use Status::{Completed, InProgress, Pending, Skipped};
        let at = |status, task| Task { status, ..task };
        let tasks = vec![
            task("1", &["9"]),
            at(Completed, part("1.1", "1", &[])),
            part("1.2", "1", &["2", "3"]),
            at(InProgress, task("2", &[])),
            at(Skipped, task("3", &[])),
            at(Pending, task("4", &["3"])),
        ];
        let plan = Plan { tasks, ..Plan::default() };
        let readiness = Readiness::of(&plan);
        let ready: Vec<&str> = (0..plan.tasks.len())
            .filter(|place| readiness.is_ready(*place))
            .filter_map(|place| plan.tasks.get(place).map(|task| task.id.as_str()))
            .collect();
        assert_eq!(ready, ["2", "4"]);
        assert!(ready.contains(&id(Work::of(&plan, &[], &Scope::All)).as_str()));
        let waits = |place| readiness.waits_for(place).into_iter().map(TaskId::as_str).collect::<Vec<_>>();
        assert_eq!((waits(2), waits(5)), (vec!["2", "9"], vec![]), "its own first, then its group's");
    }

    #[test]
    fn a_scope_is_its_tasks_with_all_that_they_need_and_nothing_else() {
        let urgent = Task { priority: Priority::Critical, ..task("5", &[]) };
        let plan = vec![
            task("1", &[]),
            task("2", &["1"]),
            task("3", &["2"]),
            task("4", &[]),
            urgent,
            task("6", &["4"]),
            part("6.1", "6", &["6"]),
            part("6.2", "6", &["6.1"]),
            part("6.2.1", "6.2", &["5"]),
        ];
        for (ids, expected) in [
            (&["1"][..], "1"),
            (&["3"], "1 2 3"),
            (&["3", "4"], "1 2 3 4"),
            (&["6"], "5 4 6.1 6.2.1"),
            (&["6.1"], "4 6.1"),
            (&["6.2.1"], "5 4 6.1 6.2.1"),
            (&["6.1", "6"], "5 4 6.1 6.2.1"),
        ] {
            assert_eq!(order(plan.clone(), ids), expected, "{ids:?}");
        }
        assert_eq!(order(plan, &[]), "5 1 2 3 4 6.1 6.2.1");
    }

    #[test]
    fn of_what_is_settled_nothing_is_needed() {
        let done = Task { status: Status::Completed, ..task("2", &["1"]) };
        let plan = || vec![task("1", &[]), done.clone(), task("3", &["2"])];
        assert_eq!(order(plan(), &["3"]), "3");
        assert_eq!(work_for(plan(), &["2"]), Work::ScopeDone(vec![TaskId::new("2")]));
    }

    #[test]
    fn only_what_keeps_a_scope_from_being_done_is_a_reason() {
        let blocked = |id| Task { status: Status::Blocked, ..task(id, &[]) };
        let plan = || vec![blocked("1"), task("2", &["1"]), task("3", &["9"]), task("4", &[])];
        assert_eq!(
            reasons(work_for(plan(), &["2"])),
            ["1 is marked as blocked", "2 depends on 1, which cannot be worked on"]
        );
        assert_eq!(reasons(work_for(plan(), &["3"])), ["3 depends on 9, which does not exist"]);
        assert_eq!(reasons(work_for(plan(), &["7"])), ["7 is in the plan no more"]);
        let plan = Plan { tasks: plan(), ..Plan::default() };
        let scope = vec![TaskId::new("4")].into();
        assert_eq!(Work::with_queue(&plan, &[], &scope).1, 1);
        assert_eq!(Work::with_queue(&plan, &[], &Scope::All).1, 3);
    }

    #[test]
    fn a_chain_of_100_000_tasks_does_not_exhaust_the_stack() {
        let tasks: Vec<Task> = (0..100_000).map(|n| task(&n.to_string(), &[&(n + 1).to_string()])).collect();
        assert_eq!(reasons(work(tasks.clone())).len(), 100_000);
        assert_eq!(reasons(work_for(tasks, &["0"])).len(), 100_000);
        let nested = |n: usize| part(&n.to_string(), &(n + 1).to_string(), if n > 0 { &["0"] } else { &[] });
        assert_eq!(order((0..100_000).map(nested).collect(), &["99999"]), "0");
    }
}
