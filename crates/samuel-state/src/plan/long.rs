//! A plan with more tasks than a run may make iterations.

use std::{fmt, num::NonZeroU32};

use serde::Serialize;

use super::Work;
use samuel_model::{
    Plan, Scope,
    text::{counted, counted_are},
};

/// A plan with more tasks left to do than a run may make iterations, in each of which it
/// works on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LongPlan {
    /// How many tasks are left to do.
    pub tasks: usize,
    /// How many iterations a run that starts now may make; 0 where it goes on from one
    /// that has made as many as it may.
    pub iterations: u32,
}

impl LongPlan {
    /// What to do about it.
    pub const HELP: &str = "Start again as often as it takes, or raise max_iterations in samuel.toml, where 0 sets no \
                            limit.";

    /// Returns it with what to do about it, on one line.
    pub fn told(&self) -> String {
        format!("{self}. {}", Self::HELP)
    }

    /// Compares a plan with the limit of a run that is for some of its tasks, or for all,
    /// and has made some iterations; nothing where the limit suffices, or there is none.
    pub fn of(plan: &Plan, scope: &Scope, limit: Option<NonZeroU32>, made: u32) -> Option<Self> {
        let iterations = limit?.get().saturating_sub(made);
        let (_, tasks) = Work::with_queue(plan, &[], scope);
        let fits = u32::try_from(tasks).is_ok_and(|tasks| tasks <= iterations);
        (!fits).then_some(Self { tasks, iterations })
    }
}

impl fmt::Display for LongPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (left, most) = (counted_are(self.tasks, "task"), counted(self.iterations, "iteration"));
        match self.iterations {
            0 => write!(
                f,
                "{left} left to do, but the run that goes on has made all the iterations it may make"
            ),
            _ => write!(
                f,
                "{left} left to do, but a run that starts now makes at most {most}, with one task in each"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samuel_model::{Status, Task, TaskId};

    #[test]
    fn only_open_tasks_of_the_run_count_and_only_the_iterations_that_it_has_left() {
        let task = |number: u32| Task::new(TaskId::new(number.to_string()), "t");
        let mut tasks: Vec<Task> = (1..=21).map(task).collect();
        tasks.push(Task { parent_id: Some(TaskId::new("group")), ..task(22) });
        tasks.push(Task::new(TaskId::new("group"), "not a task of its own"));
        let mut plan = Plan { tasks, ..Plan::default() };
        let told = |plan: &Plan, scope: &Scope, limit, made| {
            LongPlan::of(plan, scope, NonZeroU32::new(limit), made).map(|long| long.to_string())
        };
        let expected = "22 tasks are left to do, but a run that starts now makes at most 20 iterations, with one task in each";
        assert_eq!(told(&plan, &Scope::All, 20, 0).as_deref(), Some(expected));
        let long = LongPlan { tasks: 2, iterations: 1 };
        assert_eq!(long.told(), format!("{long}. {}", LongPlan::HELP));
        assert_eq!(told(&plan, &Scope::All, 0, 0), None, "there is no limit");
        assert_eq!(told(&plan, &Scope::All, 22, 0), None);
        assert!(told(&plan, &Scope::All, 22, 1).is_some());
        let expected =
            "22 tasks are left to do, but the run that goes on has made all the iterations it may make";
        assert_eq!(told(&plan, &Scope::All, 2, 2).as_deref(), Some(expected));
        assert_eq!(told(&plan, &vec![TaskId::new("3")].into(), 20, 0), None);
        if let Some(task) = plan.tasks.first_mut() {
            task.status = Status::Skipped;
        }
        assert_eq!(LongPlan::of(&plan, &Scope::All, NonZeroU32::new(20), 0).map(|long| long.tasks), Some(21));
        assert_eq!(LongPlan::of(&plan, &Scope::All, NonZeroU32::new(21), 0), None);
    }
}
