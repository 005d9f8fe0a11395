//! What an iteration is for.
//!
//! [`decide_mode`] is the default of `iteration.gate`: implementation, unless
//! pilot mode says that it is time to look for tasks, or nothing is left to
//! implement. Caps and stop conditions are the runtime's.

use crate::model::payload::{IterationGateOutput, Mode};

/// Decides what an iteration is for.
///
/// Without an interval (pilot mode is off) it is implementation. With one, it
/// is discovery at iteration 1, 1 + interval, 1 + 2 × interval and so on, and
/// whenever no task is pending; 0 reads as 1.
pub fn decide_mode(iteration: u32, pending_tasks: u32, interval: Option<u32>) -> IterationGateOutput {
    let (mode, reason) = match interval {
        None => (Mode::Implementation, "pilot mode is off".to_owned()),
        Some(_) if pending_tasks == 0 => (Mode::Discovery, "no task is pending".to_owned()),
        Some(interval) => {
            let interval = interval.max(1);
            if iteration.saturating_sub(1).is_multiple_of(interval) {
                (Mode::Discovery, format!("discovery runs every {interval} iterations"))
            } else {
                (Mode::Implementation, "tasks are pending".to_owned())
            }
        }
    };
    IterationGateOutput { mode: Some(mode), reason: Some(reason), ..IterationGateOutput::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discoveries(iterations: u32, pending: u32, interval: Option<u32>) -> Vec<u32> {
        let discovers = |n: &u32| decide_mode(*n, pending, interval).mode == Some(Mode::Discovery);
        (1..=iterations).filter(discovers).collect()
    }

    #[test]
    fn discovery_runs_at_the_first_iteration_and_then_by_the_interval() {
        assert_eq!(discoveries(12, 6, Some(3)), [1, 4, 7, 10]);
        assert_eq!(discoveries(3, 6, Some(1)), [1, 2, 3]);
        assert_eq!(discoveries(3, 6, Some(0)), [1, 2, 3]);
    }

    #[test]
    fn without_pilot_mode_there_is_no_discovery() {
        assert_eq!(discoveries(5, 0, None), [0; 0]);
    }

    #[test]
    fn discovery_runs_when_nothing_is_pending() {
        assert_eq!(discoveries(5, 0, Some(3)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_gate_gives_a_reason_and_goes_on() {
        let output = decide_mode(1, 0, Some(3));
        assert!(output.proceed);
        assert_eq!(output.reason.as_deref(), Some("no task is pending"));
    }
}
