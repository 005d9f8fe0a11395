//! What a run does now, as its events tell.
//!
//! The [hub](super::hub) follows every event, so that whoever comes later learns where the run is without
//! having seen how it got there.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::{
    event::{Event, EventRecord},
    model::{Doing, LiveState, LiveWorker, WaitingCall, payload::Mode},
};

/// Who holds until somebody lets it go on: the loop, as its events tell, and lanes whose holds no event tells.
#[derive(Debug, Default)]
pub(super) struct Holds {
    of_run: bool,
    of_lanes: BTreeSet<u32>,
}

impl Holds {
    /// Says whether anybody holds.
    pub(super) fn any(&self) -> bool {
        self.of_run || !self.of_lanes.is_empty()
    }

    /// Takes in what a lane does of which no event is told.
    pub(super) fn take_of_lane(&mut self, lane: u32, event: &Event) {
        match event {
            Event::Paused => _ = self.of_lanes.insert(lane),
            Event::Resumed | Event::Stopping { .. } | Event::RunFinished(_) => {
                _ = self.of_lanes.remove(&lane)
            }
            _ => {}
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Paused => self.of_run = true,
            Event::Resumed => self.of_run = false,
            Event::Stopping { .. } | Event::RunFinished(_) => *self = Self::default(),
            _ => {}
        }
    }
}

/// Takes in what an event tells.
pub(super) fn follow(live: &mut LiveState, holds: &mut Holds, record: &EventRecord) {
    holds.take(&record.event);
    match &record.event {
        Event::IterationStarted { iteration, mode, task } => {
            let doing = if *mode == Mode::Discovery { Doing::Discovering } else { Doing::Working };
            live.workers.retain(|other| other.worker != record.lane);
            live.workers.push(LiveWorker {
                worker: record.lane,
                doing,
                iteration: *iteration,
                task: task.as_ref().map(|task| task.id.clone()),
                title: task.as_ref().map(|task| task.title.clone()),
            });
            live.workers.sort_by_key(|worker| worker.worker);
            does(live, doing, None);
        }
        Event::IterationFinished { iteration, .. } => {
            let ended = live.workers.iter_mut().find(|worker| worker.worker == record.lane);
            if let Some(worker) = ended.filter(|worker| worker.iteration == *iteration) {
                (worker.doing, worker.task, worker.title) = (Doing::GettingReady, None, None);
            }
            let mut doing = live.workers.iter().map(|worker| worker.doing);
            let at_work = doing.find(|doing| *doing != Doing::GettingReady);
            // What other lanes bring to an end does not end a hold.
            let is_at_work = matches!(live.doing, Doing::Working | Doing::Discovering);
            match at_work {
                None => does(live, if holds.of_run { Doing::Paused } else { Doing::GettingReady }, None),
                Some(doing) if is_at_work => live.doing = doing,
                Some(_) => {}
            }
        }
        Event::Waiting { until, .. } if !holds.of_run => does(live, Doing::Waiting, *until),
        Event::ApprovalAsked { call, ability_id, input, reason, .. } => live.approvals.push(WaitingCall {
            call: *call,
            ability_id: ability_id.clone(),
            input: input.clone(),
            reason: reason.clone(),
        }),
        Event::ApprovalGiven { call, .. } => live.approvals.retain(|waiting| waiting.call != *call),
        Event::Paused => does(live, Doing::Paused, None),
        Event::Resumed => does(live, Doing::GettingReady, None),
        Event::Stopping { .. } => does(live, Doing::Ending, None),
        Event::RunFinished(_) => does(live, Doing::Ended, None),
        _ => {}
    }
}

fn does(live: &mut LiveState, doing: Doing, until: Option<Timestamp>) {
    // A run that is about to end does nothing else any more.
    if !matches!((live.doing, doing), (Doing::Ending, Doing::GettingReady)) {
        (live.doing, live.until) = (doing, until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{engine::profile::tests::finished, event::EVENT_SCHEMA_VERSION};

    fn told(lane: Option<u32>, event: Event) -> EventRecord {
        let (schema_version, at, run_id) = (EVENT_SCHEMA_VERSION, Timestamp::UNIX_EPOCH, "r".into());
        EventRecord { schema_version, seq: 1, at, elapsed_ms: 0, run_id, lane, event }
    }

    fn begins(iteration: u32) -> Event {
        Event::IterationStarted { iteration, mode: Mode::Implementation, task: None }
    }

    #[test]
    fn what_other_lanes_do_does_not_end_a_hold() {
        let (mut live, mut holds) = (LiveState::default(), Holds::default());
        let waits = Event::Waiting { reason: "pause".to_owned(), wait_ms: 1, until: None };
        for (lane, event, doing, is_held) in [
            (1, begins(1), Doing::Working, false),
            (2, begins(2), Doing::Working, false),
            (1, finished(1), Doing::Working, false),
            (1, Event::Paused, Doing::Paused, true),
            (2, waits, Doing::Paused, true),
            (2, finished(2), Doing::Paused, true),
            (1, Event::Resumed, Doing::GettingReady, false),
        ] {
            follow(&mut live, &mut holds, &told(Some(lane), event.clone()));
            assert_eq!((live.doing, holds.any()), (doing, is_held), "{event:?}");
        }
        // A lane that holds while the first one works tells no event of it.
        follow(&mut live, &mut holds, &told(Some(1), begins(3)));
        holds.take_of_lane(2, &Event::Paused);
        assert_eq!((live.doing, holds.any()), (Doing::Working, true));
        holds.take_of_lane(2, &Event::Resumed);
        assert!(!holds.any());
    }

    #[test]
    fn each_worker_has_its_own_iteration() {
        let (mut live, mut holds) = (LiveState::default(), Holds::default());
        let discovers = Event::IterationStarted { iteration: 3, mode: Mode::Discovery, task: None };
        for (lane, event) in [(2, begins(1)), (1, begins(2)), (2, finished(1)), (3, discovers)] {
            follow(&mut live, &mut holds, &told(Some(lane), event));
        }
        let workers = |live: &LiveState| -> Vec<_> {
            live.workers.iter().map(|worker| (worker.worker, worker.iteration, worker.doing)).collect()
        };
        let ready = (Some(2), 1, Doing::GettingReady);
        let looks = (Some(3), 3, Doing::Discovering);
        assert_eq!(workers(&live), [(Some(1), 2, Doing::Working), ready, looks]);
        // An end that is not that of its iteration is of an earlier run.
        follow(&mut live, &mut holds, &told(Some(3), finished(9)));
        follow(&mut live, &mut holds, &told(Some(1), finished(2)));
        assert_eq!(workers(&live), [(Some(1), 2, Doing::GettingReady), ready, looks]);
        assert_eq!(live.doing, Doing::Discovering);
    }

    #[test]
    fn what_a_run_does_follows_from_its_events() {
        let (mut live, mut holds) = (LiveState::default(), Holds::default());
        let mut after = |event| {
            follow(&mut live, &mut holds, &told(None, event));
            (live.doing, live.workers.last().map_or(0, |worker| worker.iteration))
        };
        assert_eq!(after(begins(3)), (Doing::Working, 3));
        assert_eq!(after(Event::Paused), (Doing::Paused, 3));
        assert_eq!(after(Event::Resumed), (Doing::GettingReady, 3));
        let stopping = Event::Stopping { reason: crate::model::ExitReason::Cancelled, detail: None };
        assert_eq!(after(stopping), (Doing::Ending, 3));
        assert_eq!(after(Event::Resumed), (Doing::Ending, 3));
    }
}
