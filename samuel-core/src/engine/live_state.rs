//! What a run does now, as its events tell.
//!
//! The [hub](super::hub) follows every event, so that whoever comes later learns where the run is without
//! having seen how it got there.

use jiff::Timestamp;

use crate::{
    event::{Event, EventRecord},
    model::{Doing, LiveState, WaitingCall, payload::Mode},
};

/// Takes in what an event tells.
pub(super) fn follow(live: &mut LiveState, record: &EventRecord) {
    match &record.event {
        Event::IterationStarted { iteration, mode, task } => {
            live.iteration = *iteration;
            live.task = task.as_ref().map(|task| task.id.clone());
            live.title = task.as_ref().map(|task| task.title.clone());
            does(live, if *mode == Mode::Discovery { Doing::Discovering } else { Doing::Working }, None);
        }
        Event::IterationFinished { .. } => {
            (live.task, live.title) = (None, None);
            does(live, Doing::GettingReady, None);
        }
        Event::Waiting { until, .. } => does(live, Doing::Waiting, *until),
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
    use crate::event::EVENT_SCHEMA_VERSION;

    #[test]
    fn what_a_run_does_follows_from_its_events() {
        let mut live = LiveState::default();
        let mut after = |event| {
            let (schema_version, at) = (EVENT_SCHEMA_VERSION, Timestamp::UNIX_EPOCH);
            follow(
                &mut live,
                &EventRecord {
                    schema_version,
                    seq: 1,
                    at,
                    elapsed_ms: 0,
                    run_id: "r".into(),
                    lane: None,
                    event,
                },
            );
            (live.doing, live.iteration)
        };
        let begins = Event::IterationStarted { iteration: 3, mode: Mode::Implementation, task: None };
        assert_eq!(after(begins), (Doing::Working, 3));
        assert_eq!(after(Event::Paused), (Doing::Paused, 3));
        assert_eq!(after(Event::Resumed), (Doing::GettingReady, 3));
        let stopping = Event::Stopping { reason: crate::model::ExitReason::Cancelled, detail: None };
        assert_eq!(after(stopping), (Doing::Ending, 3));
        assert_eq!(after(Event::Resumed), (Doing::Ending, 3));
    }
}
