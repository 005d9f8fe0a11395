//! The tasks of a plan as a tree: each group, and below it its parts.

use samuel_model::{Groups, Plan};

/// The tasks of a plan in the order of a tree: a group before its parts, parts and what is
/// a part of nothing in the order of the plan.
///
/// ```
/// use samuel_model::{Plan, Task, TaskId};
/// use samuel_state::plan::TaskTree;
///
/// let task = |id: &str| Task::new(TaskId::new(id), "t");
/// let part = Task { parent_id: Some(TaskId::new("1")), ..task("1.1") };
/// let plan = Plan { tasks: vec![task("1"), task("2"), part], ..Plan::default() };
/// let tree = TaskTree::of(&plan);
/// let rows: Vec<(usize, usize)> = tree.rows().iter().map(|row| (row.place, row.depth)).collect();
/// assert_eq!(rows, [(0, 0), (2, 1), (1, 0)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskTree {
    rows: Vec<TreeRow>,
}

/// A task in a [`TaskTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// Its place in the plan, from 0.
    pub place: usize,
    /// How many groups it is in.
    pub depth: usize,
}

impl TaskTree {
    /// Makes the tree of a plan.
    pub fn of(plan: &Plan) -> Self {
        Self::with(&Groups::of(&plan.tasks), plan.tasks.len())
    }

    /// Makes it of groups that are known, among so many tasks.
    pub(super) fn with(groups: &Groups, tasks: usize) -> Self {
        if groups.order().is_empty() {
            return Self { rows: (0..tasks).map(|place| TreeRow { place, depth: 0 }).collect() };
        }
        let mut depths = vec![0; tasks];
        let mut rows = Vec::with_capacity(tasks);
        // Groups come before their parts.
        for place in groups.order().iter().copied() {
            let above = groups.parent(place).and_then(|parent| depths.get(parent)).copied();
            let depth = above.map_or(0, |above| above + 1);
            if let Some(own) = depths.get_mut(place) {
                *own = depth;
            }
            rows.push(TreeRow { place, depth });
        }
        Self { rows }
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[TreeRow] {
        &self.rows
    }
}
