//! What a run does now, as its events tell.
//!
//! The [hub](super::hub) follows every event, so that whoever comes later learns where the run is without
//! having seen how it got there.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    event::{Event, EventRecord},
    model::payload::Mode,
};

/// What a run does now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LiveState {
    /// The run's id.
    pub run: String,
    /// What it does.
    pub doing: Doing,
    /// The iteration under way, else the last one; 0 before the first.
    pub iteration: u32,
    /// The task of that iteration; nothing where it looks for tasks, and between iterations.
    pub task: Option<String>,
    /// The title of the task.
    pub title: Option<String>,
    /// The tool calls that wait for a person to approve them.
    pub approvals: Vec<WaitingCall>,
    /// Until when it waits, where that is known.
    pub until: Option<Timestamp>,
}

/// A tool call that waits for a person to approve it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitingCall {
    /// The number by which it is approved or denied.
    pub call: u64,
    /// The tool, such as `Bash`.
    pub ability_id: String,
    /// Its arguments in one line, shortened.
    pub input: String,
    /// Why a person is asked, in the handler's words.
    pub reason: String,
}

/// What a run does, in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Doing {
    /// It gets ready, or is between two iterations.
    #[default]
    GettingReady,
    /// An iteration works on a task.
    Working,
    /// An iteration looks for tasks.
    Discovering,
    /// It waits: in a pause, or for a usage limit.
    Waiting,
    /// It holds until it is resumed.
    Paused,
    /// It is about to end.
    Ending,
    /// It has ended.
    Ended,
}

impl Doing {
    /// Returns the word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GettingReady => "getting_ready",
            Self::Working => "working",
            Self::Discovering => "discovering",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Ending => "ending",
            Self::Ended => "ended",
        }
    }
}

impl LiveState {
    /// Takes in what an event tells.
    pub(super) fn follow(&mut self, record: &EventRecord) {
        match &record.event {
            Event::IterationStarted { iteration, mode, task } => {
                self.iteration = *iteration;
                self.task = task.as_ref().map(|task| task.id.clone());
                self.title = task.as_ref().map(|task| task.title.clone());
                self.does(if *mode == Mode::Discovery { Doing::Discovering } else { Doing::Working }, None);
            }
            Event::IterationFinished { .. } => {
                (self.task, self.title) = (None, None);
                self.does(Doing::GettingReady, None);
            }
            Event::Waiting { until, .. } => self.does(Doing::Waiting, *until),
            Event::ApprovalAsked { call, ability_id, input, reason, .. } => {
                self.approvals.push(WaitingCall {
                    call: *call,
                    ability_id: ability_id.clone(),
                    input: input.clone(),
                    reason: reason.clone(),
                })
            }
            Event::ApprovalGiven { call, .. } => self.approvals.retain(|waiting| waiting.call != *call),
            Event::Paused => self.does(Doing::Paused, None),
            Event::Resumed => self.does(Doing::GettingReady, None),
            Event::Stopping { .. } => self.does(Doing::Ending, None),
            Event::RunFinished(_) => self.does(Doing::Ended, None),
            _ => {}
        }
    }

    fn does(&mut self, doing: Doing, until: Option<Timestamp>) {
        // A run that is about to end does nothing else any more.
        if !matches!((self.doing, doing), (Doing::Ending, Doing::GettingReady)) {
            (self.doing, self.until) = (doing, until);
        }
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
            live.follow(&EventRecord {
                schema_version,
                seq: 1,
                at,
                elapsed_ms: 0,
                run_id: "r".into(),
                event,
            });
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
