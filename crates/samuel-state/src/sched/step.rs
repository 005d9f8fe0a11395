//! What a lane does next: whether it claims a task, looks for tasks, waits or ends.
//!
//! [`step`] is one pure function of the plan, of what [`choose`](super::choose) says of its tasks, and of how the run
//! looks for tasks. One lane looks at a time: whoever does has claimed the role
//! [`@discover`](samuel_model::Role::Discover), and the others go on with tasks, or wait for what it finds. Whether a
//! cap of the run is reached is said by [`SharedBooks`](super::SharedBooks).

use super::ClaimChoice;
use crate::plan::{MAX_EMPTY, Pilot};
use samuel_model::{Plan, payload::Mode};

/// What a lane without a task does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneStep {
    /// It claims one of the tasks that were chosen.
    Work,
    /// It claims the role of whoever looks for tasks, and does.
    Discover,
    /// It waits until something lands, comes back or is added.
    Wait,
    /// Nothing is left, for any lane, and nothing is under way.
    End {
        /// Whether the run ends by what the plan says, or since looking for tasks is of no use any more.
        mode: Mode,
    },
}

/// Says what a lane without a task does next in a plan, where the run looks for tasks as `pilot` says and found nothing
/// so many times in a row.
///
/// ```
/// use samuel_model::Plan;
/// use samuel_state::{
///     plan::Pilot,
///     sched::{ClaimChoice, LaneStep, step},
/// };
///
/// let looks = Pilot { enabled: true, ..Pilot::default() };
/// assert_eq!(step(&Plan::default(), &ClaimChoice::default(), &looks, 0), LaneStep::Discover);
/// ```
pub fn step(plan: &Plan, choice: &ClaimChoice, pilot: &Pilot, empty_discoveries: u32) -> LaneStep {
    let has_tasks = !choice.tasks.is_empty();
    let is_idle = !has_tasks && choice.under_way == 0;
    if !pilot.enabled {
        return match has_tasks {
            true => LaneStep::Work,
            false if is_idle => LaneStep::End { mode: Mode::Implementation },
            false => LaneStep::Wait,
        };
    }
    let works = if has_tasks && !pilot.only { LaneStep::Work } else { LaneStep::Wait };
    if plan.is_discovery_claimed() {
        return works;
    }
    match pilot.only || is_idle {
        true if empty_discoveries >= MAX_EMPTY => LaneStep::End { mode: Mode::Discovery },
        true => LaneStep::Discover,
        false if pilot.is_due(&plan.progress) => LaneStep::Discover,
        false => works,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::num::NonZeroU32;

    use super::*;
    use crate::{
        Mutation, apply,
        sched::{Claimant, Overlap, choose},
    };
    use samuel_model::{Role, Task, TaskId};

    const END: LaneStep = LaneStep::End { mode: Mode::Implementation };
    const FOUND_NOTHING: LaneStep = LaneStep::End { mode: Mode::Discovery };

    /// How a plan stands: how many tasks are free and how many are claimed, whether somebody looks, and how many
    /// iterations ago the last look was, where there was one.
    #[derive(Clone, Copy, Debug)]
    struct Stands {
        free: u32,
        claimed: u32,
        somebody_looks: bool,
        looked_before: Option<u64>,
    }

    const BEGINS: Stands = Stands { free: 0, claimed: 0, somebody_looks: false, looked_before: None };
    const LOOKED: Stands = Stands { looked_before: Some(0), ..BEGINS };

    fn plan(stands: Stands) -> Plan {
        let now = jiff::Timestamp::UNIX_EPOCH;
        let task = |number: u32| Task::new(TaskId::new(number.to_string()), "t");
        let tasks = (1..=stands.free + stands.claimed).map(task).collect();
        let mut plan = Plan { tasks, ..Plan::default() };
        for number in 1..=stands.claimed {
            let (task, worker) = (TaskId::new(number.to_string()).into(), "r/lane-1".to_owned());
            apply(&mut plan, &Mutation::Claim { task, worker }, now).unwrap();
        }
        if stands.somebody_looks {
            let (task, worker) = (Role::Discover.into(), "r/lane-2".to_owned());
            apply(&mut plan, &Mutation::Claim { task, worker }, now).unwrap();
        }
        if let Some(before) = stands.looked_before {
            plan.progress.total_iterations_run = 10;
            (plan.progress.discovery_iterations, plan.progress.last_discovery_iteration) = (1, 10 - before);
        }
        plan
    }

    fn said(stands: Stands, pilot: Pilot, empty: u32) -> LaneStep {
        let plan = plan(stands);
        step(&plan, &choose(&plan, &Claimant::default(), Overlap::Wait), &pilot, empty)
    }

    fn every(interval: u32) -> Pilot {
        Pilot { enabled: true, interval: NonZeroU32::new(interval).unwrap(), ..Pilot::default() }
    }

    #[test]
    fn one_lane_looks_when_it_is_due_and_the_others_work_or_wait() {
        use LaneStep::{Discover, Wait, Work};
        let with = |free, claimed, stands| Stands { free, claimed, ..stands };
        let beside = |stands| Stands { somebody_looks: true, ..stands };
        let cases = [
            // Nothing was looked for yet.
            (BEGINS, Discover),
            (with(3, 0, BEGINS), Discover),
            (with(3, 1, BEGINS), Discover),
            (with(0, 1, BEGINS), Discover),
            // Somebody does.
            (beside(BEGINS), Wait),
            (beside(with(3, 0, BEGINS)), Work),
            (beside(with(0, 2, BEGINS)), Wait),
            (beside(with(3, 0, Stands { looked_before: Some(9), ..BEGINS })), Work),
            // Somebody did, less than an interval ago.
            (with(3, 1, LOOKED), Work),
            (with(0, 1, LOOKED), Wait),
            (LOOKED, Discover),
            // An interval ago.
            (with(3, 1, Stands { looked_before: Some(1), ..BEGINS }), Work),
            (with(3, 1, Stands { looked_before: Some(2), ..BEGINS }), Discover),
            (with(0, 1, Stands { looked_before: Some(2), ..BEGINS }), Discover),
        ];
        for (stands, expected) in cases {
            assert_eq!(said(stands, every(3), 0), expected, "{stands:?}");
        }
    }

    #[test]
    fn two_looks_that_find_nothing_end_a_run_without_work_once_nobody_looks() {
        use LaneStep::{Discover, Wait, Work};
        let beside = Stands { somebody_looks: true, ..LOOKED };
        for (empty, expected) in [(0, Discover), (1, Discover), (2, FOUND_NOTHING), (9, FOUND_NOTHING)] {
            assert_eq!(said(LOOKED, every(3), empty), expected, "after {empty}");
            assert_eq!(said(beside, every(3), empty), Wait, "after {empty}");
        }
        assert_eq!(said(Stands { free: 1, ..LOOKED }, every(3), 2), Work);
        assert_eq!(said(Stands { claimed: 1, ..LOOKED }, every(3), 2), Wait);
        let is_due = Stands { free: 1, looked_before: Some(2), ..BEGINS };
        assert_eq!(said(is_due, every(3), 2), Discover, "there is work, so the interval goes on");
    }

    #[test]
    fn a_run_that_only_looks_has_one_lane_at_it_and_takes_no_task() {
        use LaneStep::{Discover, Wait};
        let only = Pilot { only: true, ..every(9) };
        for stands in [BEGINS, LOOKED, Stands { free: 3, ..LOOKED }, Stands { claimed: 1, ..LOOKED }] {
            assert_eq!(said(stands, only, 1), Discover, "{stands:?}");
            assert_eq!(said(stands, only, 2), FOUND_NOTHING, "{stands:?}");
            let beside = Stands { somebody_looks: true, ..stands };
            assert_eq!(said(beside, only, 1), Wait, "{stands:?}");
            assert_eq!(said(beside, only, 2), Wait, "{stands:?}");
        }
    }

    #[test]
    fn without_pilot_mode_nobody_looks() {
        for somebody_looks in [false, true] {
            let stands = Stands { somebody_looks, ..BEGINS };
            assert_eq!(said(stands, Pilot::default(), 0), END);
            assert_eq!(said(Stands { free: 1, ..stands }, Pilot::default(), 0), LaneStep::Work);
            assert_eq!(said(Stands { claimed: 1, ..stands }, Pilot::default(), 0), LaneStep::Wait);
        }
    }
}
