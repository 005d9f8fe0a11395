//! Feeding a recorded machine its inputs again.
//!
//! [`Replaying`] takes the lines of a record one by one. A fresh machine gets each input and
//! every effect is held against the one that was recorded: nothing is carried out. It ends with a
//! [`Replay`], which says that all was equal or where the first difference is.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Input, Machine, RECORD_SCHEMA_VERSION, RecordBegin,
    recorded::{ReadStep, WRITTEN_BY, is_as_written, told},
};
use crate::text::{counted, excerpt};

/// How much is shown of one side of a difference, in bytes.
const MAX_SIDE: usize = 2_000;

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The run.
    pub run: String,
    /// The version of Samuel that recorded it.
    pub recorded_by: String,
    /// The version that replayed it.
    pub replayed_by: String,
    /// How many steps were equal.
    pub steps: u64,
    /// How many effects they had.
    pub effects: u64,
    /// How many iterations had begun.
    pub iterations: u32,
    /// Whether the machine came to its end.
    pub ended: bool,
    /// Whether all that was looked at is as it was recorded.
    pub equal: bool,
    /// The first difference; nothing where all was equal.
    pub difference: Option<ReplayDifference>,
}

/// Where a replay is different from its record first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayDifference {
    /// What kind of difference it is.
    pub kind: DifferenceKind,
    /// The step, from 1; 0 for the first line, which holds the machine.
    pub step: u64,
    /// The iteration that was under way then, or else the last one before.
    pub iteration: u32,
    /// The input of the step, such as `done, hook`; empty where it is not known.
    pub input: String,
    /// The place of the difference within the effects of the step, such as
    /// `effect 2, data.reason`; empty where the line itself is meant.
    pub place: String,
    /// What was recorded there; nothing where there was nothing.
    pub recorded: Option<String>,
    /// What followed now; nothing where nothing did.
    pub replayed: Option<String>,
}

/// What kind of difference a replay found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DifferenceKind {
    /// The line was changed after it was written.
    Altered,
    /// Lines before it are missing.
    Missing,
    /// The input cannot be read by this version.
    Unreadable,
    /// Another effect follows from the input.
    Effect,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.difference {
            None => write!(
                f,
                "equal: {} with {} in {}",
                counted(self.steps, "step"),
                counted(self.effects, "effect"),
                counted(self.iterations, "iteration")
            )?,
            Some(difference) => write!(f, "{difference}")?,
        }
        if self.recorded_by != self.replayed_by {
            write!(f, "; recorded by Samuel {}, replayed by {}", self.recorded_by, self.replayed_by)?;
        }
        Ok(())
    }
}

impl fmt::Display for ReplayDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            0 => "the first line, which holds the machine".to_owned(),
            step if self.input.is_empty() => format!("step {step}"),
            step => format!("step {step} ({}) of iteration {}", self.input, self.iteration),
        };
        match self.kind {
            DifferenceKind::Altered => write!(f, "{step} was changed after it was recorded"),
            DifferenceKind::Missing => write!(f, "what comes before {step} is missing"),
            DifferenceKind::Unreadable => write!(f, "{step} cannot be read"),
            DifferenceKind::Effect => write!(f, "{step}: {} is different", self.place),
        }
    }
}

/// A record that cannot be replayed at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// It has no first line with a machine: it is empty, or its beginning is gone.
    #[error("the record does not begin with a machine: its beginning is gone, or nothing was recorded")]
    NoBeginning,
    /// It has another form.
    #[error("the record has version {found}, and this Samuel replays version {RECORD_SCHEMA_VERSION}")]
    Version {
        /// The version that it has.
        found: u64,
    },
    /// Its machine cannot be read.
    #[error("the machine that Samuel {recorded_by} recorded cannot be read by Samuel {WRITTEN_BY}")]
    Machine {
        /// The version of Samuel that wrote it.
        recorded_by: String,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
}

/// A replay under way.
#[derive(Clone, Debug)]
pub struct Replaying {
    machine: Machine,
    replay: Replay,
    /// Stop once this iteration is over.
    until: Option<u32>,
    is_over: bool,
}

impl Replaying {
    /// Begins with the first line of a record, without its end; stops after an iteration where
    /// one is named.
    ///
    /// # Errors
    /// Returns a [`ReplayError`] where there is nothing to begin with.
    pub fn begin(line: &[u8], until: Option<u32>) -> Result<Self, ReplayError> {
        let value: Value = serde_json::from_slice(line).map_err(|_no_json| ReplayError::NoBeginning)?;
        let begin = value.get("begin").cloned().ok_or(ReplayError::NoBeginning)?;
        let found = begin.get("schema_version").and_then(Value::as_u64).unwrap_or_default();
        if found != u64::from(RECORD_SCHEMA_VERSION) {
            return Err(ReplayError::Version { found });
        }
        let recorded_by =
            begin.get("samuel").and_then(Value::as_str).unwrap_or("of another version").to_owned();
        let begin: RecordBegin = serde_json::from_value(begin)
            .map_err(|source| ReplayError::Machine { recorded_by: recorded_by.clone(), source })?;
        let altered = (!is_as_written(line)).then(|| at(DifferenceKind::Altered, 0, 0, String::new()));
        let replay = Replay {
            run: begin.run_id,
            recorded_by,
            replayed_by: WRITTEN_BY.to_owned(),
            steps: 0,
            effects: 0,
            iterations: begin.machine.iteration_number(),
            ended: false,
            equal: altered.is_none(),
            difference: altered,
        };
        Ok(Self { machine: begin.machine, is_over: !replay.equal, replay, until })
    }

    /// Takes the next line, without its end. Returns whether more are wanted.
    pub fn take(&mut self, line: &[u8]) -> bool {
        if self.is_over {
            return false;
        }
        if let Err(difference) = self.step(line) {
            self.replay.difference = Some(difference);
            self.replay.equal = false;
            self.is_over = true;
        }
        !self.is_over
    }

    /// Says what came of it.
    pub fn end(self) -> Replay {
        Replay { ended: self.machine.is_ended(), ..self.replay }
    }

    fn step(&mut self, line: &[u8]) -> Result<(), ReplayDifference> {
        let expected = self.replay.steps + 1;
        let is_as_written = is_as_written(line);
        let Ok(read) = serde_json::from_slice::<ReadStep>(line) else {
            let kind = if is_as_written { DifferenceKind::Unreadable } else { DifferenceKind::Altered };
            return Err(at(kind, expected, self.replay.iterations, String::new()));
        };
        if self.until.is_some_and(|until| read.iteration > until) {
            self.is_over = true;
            return Ok(());
        }
        let input = described(&read.input);
        let found = |kind| at(kind, read.step, read.iteration, input.clone());
        let parsed = serde_json::from_value::<Input>(read.input.clone());
        let compared = parsed.map(|input| {
            let effects = self.machine.step(input);
            (told(&effects).unwrap_or_default(), effects.len() as u64)
        });
        // What follows from a line that was changed is told as well.
        let other = match &compared {
            Ok((now, _)) => first_difference(&read.effects, now),
            Err(_) => None,
        };
        let with_sides = |kind| match other.clone() {
            Some((place, recorded, replayed)) => {
                ReplayDifference { place, recorded, replayed, ..found(kind) }
            }
            None => found(kind),
        };
        if !is_as_written {
            return Err(with_sides(DifferenceKind::Altered));
        }
        if read.step != expected {
            return Err(found(DifferenceKind::Missing));
        }
        let Ok((_, count)) = compared else { return Err(found(DifferenceKind::Unreadable)) };
        if other.is_some() {
            return Err(with_sides(DifferenceKind::Effect));
        }
        self.replay.steps = expected;
        self.replay.effects += count;
        // The step that ends an iteration may begin the next one.
        let begun = self.machine.iteration_number().min(self.until.unwrap_or(u32::MAX));
        self.replay.iterations = begun.max(self.replay.iterations);
        Ok(())
    }
}

fn at(kind: DifferenceKind, step: u64, iteration: u32, input: String) -> ReplayDifference {
    let (place, recorded, replayed) = (String::new(), None, None);
    ReplayDifference { kind, step, iteration, input, place, recorded, replayed }
}

/// Names an input in a few words, as `done, hook`.
fn described(input: &Value) -> String {
    let word = input.get("input").and_then(Value::as_str).unwrap_or("unknown");
    let result = input.get("data").and_then(|data| data.get(1)).and_then(|result| result.get("result"));
    match result.and_then(Value::as_str) {
        Some(result) => format!("{word}, {result}"),
        None => word.to_owned(),
    }
}

/// A place, and what stands there on either side.
type Sides = (String, Option<String>, Option<String>);

/// Returns where two lists of effects differ first.
fn first_difference(recorded: &[Value], now: &[Value]) -> Option<Sides> {
    let count = recorded.len().max(now.len());
    let (place, (one, other)) =
        (0..count).map(|place| (place, (recorded.get(place), now.get(place)))).find(|(_, (a, b))| a != b)?;
    let mut path = format!("effect {}", place + 1);
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => within(one, other, &mut path),
        sides => sides,
    };
    let shown = |side: Option<&Value>| side.map(|value| excerpt(&value.to_string(), MAX_SIDE));
    Some((path, shown(one), shown(other)))
}

/// Goes down to the first member that is different.
fn within<'a>(one: &'a Value, other: &'a Value, path: &mut String) -> (Option<&'a Value>, Option<&'a Value>) {
    let next = match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.map(|key| (key.clone(), a.get(key), b.get(key))).find(|(_, a, b)| a != b)
        }
        (Value::Array(a), Value::Array(b)) => {
            let places = 0..a.len().max(b.len());
            places.map(|place| (place.to_string(), a.get(place), b.get(place))).find(|(_, a, b)| a != b)
        }
        _ => None,
    };
    let Some((key, a, b)) = next else { return (Some(one), Some(other)) };
    path.push_str(if path.contains(", ") { "." } else { ", " });
    path.push_str(&key);
    match (a, b) {
        (Some(a), Some(b)) => within(a, b, path),
        sides => sides,
    }
}
