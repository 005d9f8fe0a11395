//! When a run looks for tasks.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use super::Work;
use samuel_model::{Progress, payload::Mode};

/// How many discovery iterations in a row may find nothing before a run with nothing to work on ends.
pub(crate) const MAX_EMPTY: u32 = 2;

/// How a run looks for tasks: pilot mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pilot {
    /// Whether it does by itself. Else only a handler of `iteration.gate` has it look, while there is
    /// something to work on.
    pub enabled: bool,
    /// Every how many iterations, counted over all runs of the plan.
    pub interval: NonZeroU32,
    /// How many tasks one discovery iteration may add.
    pub max_tasks: u32,
    /// Whether the run does nothing else.
    pub only: bool,
}

impl Default for Pilot {
    fn default() -> Self {
        Self { enabled: false, interval: NonZeroU32::MIN, max_tasks: 10, only: false }
    }
}

impl Pilot {
    /// Says what the next iteration is for: discovery where none was made yet, where there is nothing to
    /// work on, and where the last one is an interval ago.
    pub fn mode(&self, progress: &Progress, work: &Work) -> Mode {
        if !self.enabled {
            return Mode::Implementation;
        }
        match self.only || self.is_due(progress) || !matches!(work, Work::Task(_)) {
            true => Mode::Discovery,
            false => Mode::Implementation,
        }
    }

    /// Returns whether the next iteration looks for tasks even if there are tasks to work on: no discovery was made yet,
    /// or the last one was an interval ago.
    #[doc(hidden)]
    pub fn is_due(&self, progress: &Progress) -> bool {
        let (made, last) = (progress.total_iterations_run, progress.last_discovery_iteration);
        let since = made.saturating_add(1).saturating_sub(last);
        // Both stand in a file that others can edit: a last one that is still to come was none.
        let was_made = progress.discovery_iterations > 0 && last <= made;
        !was_made || since >= u64::from(self.interval.get())
    }
}

/// What the discovery iterations of a run found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discoveries {
    /// How many in a row found nothing.
    pub empty: u32,
    /// Whether the run makes no other iterations.
    pub only: bool,
}

impl Discoveries {
    /// Says whether looking once more is of no use.
    pub(super) fn are_over(&self, work: &Work) -> bool {
        self.empty >= MAX_EMPTY && (self.only || !matches!(work, Work::Task(_)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use samuel_model::{Plan, Scope, Task, TaskId};

    fn work(tasks: u32) -> Work {
        let tasks = (1..=tasks).map(|n| Task::new(TaskId::new(n.to_string()), "t")).collect();
        Work::of(&Plan { tasks, ..Plan::default() }, &[], &Scope::All)
    }

    /// The iterations, over all runs, that look for tasks.
    fn discoveries(pilot: Pilot, iterations: u64, work: &Work) -> Vec<u64> {
        let mut progress = Progress::default();
        let mut found = Vec::new();
        for iteration in 1..=iterations {
            let mode = pilot.mode(&progress, work);
            progress.total_iterations_run = iteration;
            if mode == Mode::Discovery {
                found.push(iteration);
                progress.discovery_iterations += 1;
                progress.last_discovery_iteration = iteration;
            }
        }
        found
    }

    fn every(interval: u32) -> Pilot {
        Pilot { enabled: true, interval: NonZeroU32::new(interval).unwrap(), ..Pilot::default() }
    }

    #[test]
    fn discovery_is_the_first_iteration_and_then_by_the_interval() {
        assert_eq!(discoveries(every(3), 12, &work(6)), [1, 4, 7, 10]);
        assert_eq!(discoveries(every(1), 3, &work(6)), [1, 2, 3]);
        assert_eq!(discoveries(every(u32::MAX), 9, &work(6)), [1]);
    }

    #[test]
    fn discovery_is_made_where_there_is_nothing_to_work_on_or_where_the_run_does_nothing_else() {
        assert_eq!(discoveries(every(3), 4, &work(0)), [1, 2, 3, 4]);
        assert_eq!(discoveries(every(3), 3, &Work::Blocked(vec!["a cycle".to_owned()])), [1, 2, 3]);
        assert_eq!(discoveries(Pilot { only: true, ..every(9) }, 3, &work(6)), [1, 2, 3]);
    }

    #[test]
    fn numbers_that_somebody_wrote_into_the_plan_put_no_discovery_off_for_ever() {
        let edited = |made, last| Progress {
            total_iterations_run: made,
            discovery_iterations: 1,
            last_discovery_iteration: last,
            ..Progress::default()
        };
        for (made, last, mode) in [
            (4, u64::MAX, Mode::Discovery),
            (4, 5, Mode::Discovery),
            (4, 4, Mode::Implementation),
            (u64::MAX, 0, Mode::Discovery),
            (u64::MAX, u64::MAX, Mode::Implementation),
        ] {
            assert_eq!(every(3).mode(&edited(made, last), &work(6)), mode, "{made} {last}");
        }
    }

    #[test]
    fn without_pilot_mode_there_is_no_discovery() {
        assert_eq!(discoveries(Pilot::default(), 5, &work(0)), [0; 0]);
    }

    #[test]
    fn a_plan_whose_iterations_were_all_implementation_is_looked_at_first() {
        let progress = Progress { total_iterations_run: 7, impl_iterations: 7, ..Progress::default() };
        assert_eq!(every(100).mode(&progress, &work(1)), Mode::Discovery);
    }
}
