//! What happens now in a run, as the moving line says it; with lanes, a line for each and one for the queue.

use std::{collections::BTreeMap, num::NonZeroU32, time::Duration};

use samuel_core::{
    agent::AgentEvent,
    event::{Event, EventRecord},
    model::{TaskId, Usage},
    text::{counted, dollars, lasting},
};

use super::words::{about, cut, shortened};
use crate::render::{named_ids, safe, time_of_day};

/// How much of what a lane does fits into its line.
const LANE_WIDTH: usize = 76;

/// What happens now. It follows the events of a run.
pub(super) struct Now {
    max_iterations: Option<NonZeroU32>,
    /// The iterations under way, by lane: their numbers, what they are about, and when they began, in
    /// milliseconds since the run was built.
    iterations: BTreeMap<Option<u32>, (u32, String, u64)>,
    /// What earlier calls of the agent consumed, and those under way, by lane.
    spent: Usage,
    calls: BTreeMap<Option<u32>, Usage>,
    /// What is done where there are no lanes.
    activity: String,
    is_paused: bool,
    /// What each lane does, where there are several.
    lanes: BTreeMap<u32, String>,
    /// The tasks that wait to be landed, and whether something is in the way.
    queue: Vec<TaskId>,
    held: bool,
    landed: usize,
    /// Whether the run waits, for a usage limit or in a pause.
    pub(super) waits: bool,
}

impl Now {
    pub(super) fn new() -> Self {
        Self {
            max_iterations: None,
            iterations: BTreeMap::new(),
            spent: Usage::default(),
            calls: BTreeMap::new(),
            activity: "starting".to_owned(),
            is_paused: false,
            lanes: BTreeMap::new(),
            queue: Vec::new(),
            held: false,
            landed: 0,
            waits: false,
        }
    }

    /// Returns when the iteration under way in a lane began, in milliseconds since the run was built. Who began to
    /// watch in the middle of it does not know.
    pub(super) fn begun(&self, lane: Option<u32>) -> Option<u64> {
        self.iterations.get(&lane).map(|(_, _, begun)| *begun)
    }

    /// Takes in an event.
    pub(super) fn follow(&mut self, record: &EventRecord) {
        let activity = self.follow_iteration(record);
        self.follow_queue(record);
        // What is of the whole run is on no lane's line.
        let line = match record.lane {
            Some(lane) => self.lanes.entry(lane).or_default(),
            None => &mut self.activity,
        };
        if let Some(activity) = activity {
            *line = activity;
        }
    }

    /// Takes in an event, and returns what is done from then on, where it says so.
    fn follow_iteration(&mut self, record: &EventRecord) -> Option<String> {
        match &record.event {
            Event::RunStarted { max_iterations, .. } => {
                self.max_iterations = *max_iterations;
                None
            }
            Event::IterationStarted { iteration, mode, task } => {
                self.waits = false;
                let begun = (*iteration, about(*mode, task.as_ref()), record.elapsed_ms);
                self.iterations.insert(record.lane, begun);
                Some("preparing".to_owned())
            }
            Event::AgentStarted { agent, .. } => {
                self.calls.remove(&record.lane);
                Some(format!("{} is at work", safe(agent)))
            }
            Event::Agent { report, .. } => self.agent(record.lane, report),
            Event::AgentFinished { usage, .. } => {
                self.spent += *usage;
                self.calls.remove(&record.lane);
                Some("checking".to_owned())
            }
            Event::IterationFinished { .. } => {
                self.iterations.remove(&record.lane);
                Some("between iterations".to_owned())
            }
            Event::Waiting { wait_ms, reason, until } => {
                self.waits = true;
                let wait = lasting(Duration::from_millis(*wait_ms));
                Some(match until {
                    None if *wait_ms == 0 => format!("waits: {}", safe(reason)),
                    Some(until) => format!("waiting until {} for {}", time_of_day(*until), safe(reason)),
                    None => format!("waiting {wait}: {}", safe(reason)),
                })
            }
            Event::Paused => {
                self.is_paused = true;
                Some("paused".to_owned())
            }
            Event::Resumed => {
                self.is_paused = false;
                None
            }
            _ => None,
        }
    }

    fn follow_queue(&mut self, record: &EventRecord) {
        match &record.event {
            Event::TaskSubmitted { task, .. } => self.queue.push(task.clone()),
            Event::TaskLanded { task, .. } => {
                self.landed += 1;
                self.queue.retain(|waiting| waiting != task);
            }
            Event::TaskReturned { task, .. } => self.queue.retain(|waiting| waiting != task),
            _ => {}
        }
        match &record.event {
            Event::LandingHeld { .. } => self.held = true,
            Event::TaskLanded { .. } | Event::TaskReturned { .. } => self.held = false,
            _ => {}
        }
    }

    fn agent(&mut self, lane: Option<u32>, report: &AgentEvent) -> Option<String> {
        match report {
            AgentEvent::Text { text } => {
                text.lines().rev().find(|line| !line.trim().is_empty()).map(shortened)
            }
            AgentEvent::ToolCall(call) => Some(shortened(&format!("{} {}", call.ability_id, call.input))),
            AgentEvent::Usage(usage) => {
                self.calls.insert(lane, *usage);
                None
            }
            _ => None,
        }
    }

    /// Returns the moving line, and what stands below it.
    pub(super) fn lines(&self) -> (String, Vec<String>) {
        let mut total = self.spent;
        self.calls.values().for_each(|call| total += *call);
        let cost = total.cost_usd.map(|cost| format!(" · {}", dollars(cost))).unwrap_or_default();
        if !self.lanes.is_empty() {
            let paused = if self.is_paused { " · paused" } else { "" };
            return (format!("{} landed{paused}{cost}", counted(self.landed, "task")), self.lane_lines());
        }
        let limit = self.max_iterations.map(|max| format!("/{max}")).unwrap_or_default();
        let what = self.iterations.get(&None);
        let what = what.map(|(number, about, _)| format!("{number}{limit} · {about} · ")).unwrap_or_default();
        (format!("{what}{}{cost}", self.activity), Vec::new())
    }

    /// Returns a line for each lane, and one for the queue.
    fn lane_lines(&self) -> Vec<String> {
        let line = |(lane, activity): (&u32, &String)| match self.iterations.get(&Some(*lane)) {
            Some((_, about, _)) => cut(&format!("  [{lane}] {about} · {activity}"), LANE_WIDTH),
            None if activity.is_empty() => format!("  [{lane}] getting ready"),
            None => cut(&format!("  [{lane}] {activity}"), LANE_WIDTH),
        };
        let queue = match (self.queue.as_slice(), self.held) {
            ([], _) => "  queue: empty".to_owned(),
            (waiting, false) => format!("  queue: {}", named_ids(waiting)),
            (waiting, true) => format!("  queue: {}, held", named_ids(waiting)),
        };
        self.lanes.iter().map(line).chain([cut(&queue, LANE_WIDTH)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use samuel_core::event::EVENT_SCHEMA_VERSION;

    use super::*;

    #[test]
    fn a_pause_is_of_the_run_and_lanes_go_on_with_what_they_do() {
        let mut now = Now::new();
        let mut follow = |lane, event| {
            let at = jiff::Timestamp::UNIX_EPOCH;
            let (schema_version, run_id) = (EVENT_SCHEMA_VERSION, "r".into());
            now.follow(&EventRecord { schema_version, seq: 1, at, elapsed_ms: 0, run_id, lane, event });
            now.lines()
        };
        let reports = |report| Event::Agent { iteration: 1, report };
        let usage = || reports(AgentEvent::Usage(Usage::default()));
        follow(Some(1), reports(AgentEvent::Text { text: "reads\n\n".to_owned() }));
        follow(Some(2), usage());
        let (head, _) = follow(None, Event::Paused);
        assert_eq!(head, "0 tasks landed · paused");
        for lane in [1, 2] {
            follow(Some(lane), usage());
        }
        let (head, lanes) = follow(None, Event::Resumed);
        assert_eq!(head, "0 tasks landed");
        assert_eq!(lanes, ["  [1] reads", "  [2] getting ready", "  queue: empty"]);
        assert_eq!(Now::new().lines().0, "starting");
    }
}
