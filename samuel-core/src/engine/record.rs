//! Writing the record of a run down, without holding up the loop.
//!
//! A [`Recorder`] reads the run's events as every other watcher does, so that of what the agent
//! says some may be missing and of what changes something nothing is; from each driver it is given
//! the [`Steps`] of its machine. A task of its own makes lines of both and has the
//! [`LaneStore`](crate::state::LaneStore) keep them. What it cannot write is warned of once, and
//! the run goes on. Reading is the [`history`](crate::history)'s.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{error::described, hub::Events, services::Services};
use crate::{
    event::EventRecord,
    machine::{Effect, EffectId, EffectResult, Input, Machine, RecordBegin, RecordStep, ReplyData},
    state::{RecordPart, StateError},
};

/// How many steps wait to be written.
const MAX_WAITING: usize = 1_024;
/// How many steps or events are written at once.
const AT_ONCE: usize = 256;
/// How many bytes of lines are handed to the store at once, but for a line that has more: every thread that writes keeps
/// as much memory as it once needed.
const AT_ONCE_BYTES: usize = 128 << 10;
/// How long lines are gathered before they are written: opening a file for each would cost more
/// than the lines do.
const GATHER: Duration = Duration::from_millis(25);
/// How long the loop waits until there is room for a step.
const ROOM_WAIT: Duration = Duration::from_millis(250);
/// How long the end of a run waits for the last lines.
const END_WAIT: Duration = Duration::from_secs(2);

/// What is told where a step could not be handed on in time.
pub(crate) const TOO_FAST: &str =
    "what happens in the run comes faster than it can be recorded: from here on it cannot be replayed";

/// How it begins that is told once where something could not be written.
pub(crate) const NOT_RECORDED: &str =
    "what happens in the run could not be recorded, so that not all of it will be known";

/// A line of the inputs that is to be written.
enum Line {
    Begin(Box<RecordBegin>),
    Step(Box<RecordStep>),
}

/// What writes the record of a run.
pub(super) struct Recorder {
    lines: mpsc::Sender<Line>,
    task: JoinHandle<()>,
    stop: CancellationToken,
}

impl Recorder {
    /// Begins to record a run, with the events from those on that the stream has.
    pub(super) fn begin(services: &Arc<Services>, events: Events) -> Self {
        let (lines, receiver) = mpsc::channel(MAX_WAITING);
        let stop = CancellationToken::new();
        let writer = Writer { services: Arc::clone(services), events, lines: receiver, has_failed: false };
        let task = tokio::spawn(writer.write_all(stop.clone()));
        Self { lines, task, stop }
    }

    /// Takes a machine as it begins, that of a lane where `services` are of one, and returns what its steps are given
    /// to.
    pub(super) fn machine(
        &self,
        services: &Arc<Services>,
        machine: &Machine,
        goes_on_from: Option<String>,
    ) -> Steps {
        let lane = services.in_lane.as_ref().map(|lane| lane.number);
        // A run that goes on can have been saved by a version that hid nothing.
        let begins = services.secrets.hidden(machine.clone());
        let shown = (begins != *machine).then(|| Box::new(begins.clone()));
        let begin = RecordBegin::new(&services.run_id, lane, services.clock.now(), goes_on_from, begins);
        Steps {
            services: Arc::clone(services),
            lines: self.lines.clone(),
            lane,
            begin: Some(Box::new(begin)),
            shown,
            is_behind: false,
            step: 0,
        }
    }

    /// Waits a moment until all is written that was told so far. Nothing is written after that.
    pub(super) async fn end(self) {
        let Self { lines, mut task, stop } = self;
        drop(lines);
        if tokio::time::timeout(END_WAIT, &mut task).await.is_err() {
            stop.cancel();
            let _ = task.await;
        }
    }
}

/// Where a driver gives the steps of its machine.
pub(super) struct Steps {
    services: Arc<Services>,
    lines: mpsc::Sender<Line>,
    lane: Option<u32>,
    /// The machine as it began, until it has made a step: a run that told nothing has no record.
    begin: Option<Box<RecordBegin>>,
    /// The machine of the record, once it is not the same as the run's: secrets are hidden in all that it is given. What
    /// follows from that is recorded, so that the record replays equal.
    shown: Option<Box<Machine>>,
    /// Whether a step could not be handed on: without it the later ones are of no use.
    is_behind: bool,
    step: u64,
}

impl Steps {
    /// Returns what is kept of an input until its effects are known.
    pub(super) fn before(&mut self, machine: &Machine, input: &Input) -> Option<(u32, Input)> {
        if self.is_behind {
            return None;
        }
        // In all other inputs secrets are hidden before the machine gets them.
        let kept = match has_arguments(input) {
            true => self.services.secrets.hidden(input.clone()),
            false => input.clone(),
        };
        if self.shown.is_none() && kept != *input {
            self.shown = Some(Box::new(machine.clone()));
        }
        Some((machine.iteration_number(), kept))
    }

    /// Records a step. Waits a moment for room, where what writes is behind.
    pub(super) async fn step(&mut self, before: Option<(u32, Input)>, effects: &[(EffectId, Effect)]) {
        let Some((iteration, input)) = before else { return };
        self.step += 1;
        let at = self.services.clock.now();
        let begin = self.begin.take().map(Line::Begin);
        let effects = match &mut self.shown {
            Some(machine) => machine.step(input.clone()),
            None => effects.to_vec(),
        };
        let step = RecordStep { lane: self.lane, step: self.step, at, iteration, input, effects };
        for line in begin.into_iter().chain([Line::Step(Box::new(step))]) {
            if self.lines.send_timeout(line, ROOM_WAIT).await.is_err() {
                // What is told is recorded all the same.
                self.is_behind = true;
                self.services.warn(TOO_FAST);
                return;
            }
        }
    }
}

/// Returns true for an input with the arguments of a tool call.
pub(super) fn has_arguments(input: &Input) -> bool {
    match input {
        Input::AbilityBefore(_) => true,
        Input::Done(_, EffectResult::Hook(reply)) => {
            matches!(reply.data, ReplyData::Ability(Some(_)) | ReplyData::AbilityAsks(Some(_)))
        }
        _ => false,
    }
}

/// The task that writes.
struct Writer {
    services: Arc<Services>,
    events: Events,
    lines: mpsc::Receiver<Line>,
    /// Whether it was warned that something cannot be written.
    has_failed: bool,
}

impl Writer {
    async fn write_all(mut self, stop: CancellationToken) {
        let (mut told, mut given) = (Vec::new(), Vec::new());
        let mut goes_on = true;
        while goes_on {
            // The first line is waited for as long as it takes, the others a moment.
            let mut gathering = None;
            while goes_on && told.len() < AT_ONCE && given.len() < AT_ONCE {
                let enough = async {
                    match gathering {
                        Some(until) => tokio::time::sleep_until(until).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    () = enough => break,
                    count = self.lines.recv_many(&mut given, AT_ONCE) => goes_on = count > 0,
                    Some(event) = self.events.next() => told.push(event),
                }
                gathering.get_or_insert_with(|| tokio::time::Instant::now() + GATHER);
            }
            loop {
                let has_more = take_ready(&mut self.events, &mut self.lines, &mut told, &mut given);
                self.append(std::mem::take(&mut told), std::mem::take(&mut given)).await;
                if !has_more || stop.is_cancelled() {
                    break;
                }
            }
        }
    }

    async fn append(&mut self, told: Vec<EventRecord>, given: Vec<Line>) {
        if told.is_empty() && given.is_empty() {
            return;
        }
        let append = move |services: &Services| {
            let encode = |error: serde_json::Error| StateError::Encode {
                what: "the record",
                reason: error.to_string(),
            };
            let mut events = Lines::of(services, RecordPart::Events);
            for event in told {
                serde_json::to_writer(&mut events.bytes, &event).map_err(encode)?;
                events.bytes.push(b'\n');
                events.hand_on(AT_ONCE_BYTES)?;
            }
            events.hand_on(0)?;
            let mut inputs = Lines::of(services, RecordPart::Inputs);
            for line in given {
                inputs.bytes.extend(match line {
                    Line::Begin(begin) => begin.to_line().map_err(encode)?,
                    Line::Step(step) => step.to_line().map_err(encode)?,
                });
                inputs.hand_on(AT_ONCE_BYTES)?;
            }
            inputs.hand_on(0)
        };
        let appended = self.services.blocking(append).await.and_then(|appended| appended);
        if let Err(error) = appended
            && !std::mem::replace(&mut self.has_failed, true)
        {
            self.services.warn(format!("{NOT_RECORDED}: {}", described(&error)));
        }
    }
}

/// Takes the lines and the events that are there already, and says whether there may be more events. Lines are taken each
/// time, so that an agent that says more than can be written holds none of them up.
fn take_ready<T>(
    events: &mut Events,
    lines: &mut mpsc::Receiver<T>,
    told: &mut Vec<EventRecord>,
    given: &mut Vec<T>,
) -> bool {
    while given.len() < AT_ONCE
        && let Ok(line) = lines.try_recv()
    {
        given.push(line);
    }
    while told.len() < AT_ONCE
        && let Some(event) = events.ready()
    {
        told.push(event);
    }
    told.len() >= AT_ONCE
}

/// Lines of a part of the record that the store does not have yet.
struct Lines<'a> {
    services: &'a Services,
    part: RecordPart,
    bytes: Vec<u8>,
}

impl<'a> Lines<'a> {
    fn of(services: &'a Services, part: RecordPart) -> Self {
        Self { services, part, bytes: Vec::new() }
    }

    /// Has the store keep them, where they are more than so many bytes.
    fn hand_on(&mut self, most: usize) -> Result<(), StateError> {
        if self.bytes.len() > most {
            self.services.lane.append_record(&self.services.run_id, self.part, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
