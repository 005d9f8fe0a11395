//! Feeding recorded machines their inputs again.
//!
//! [`Replaying`] takes the lines of a record one by one. A fresh machine, with lanes one of each, gets
//! every input, and each effect is held against the one that was recorded: nothing is carried out. It ends
//! with a [`Replay`], which says that all was equal or where the first difference is.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use samuel_model::text::{counted, excerpt};
use serde_json::Value;

use super::{
    Effect, EffectId, Input, Machine, RECORD_SCHEMA_VERSION, RecordBegin,
    recorded::{MAX_LANES, ReadStep, WRITTEN_BY, is_as_written, is_begin, told},
};
use crate::event::Event;

/// How much is shown of one side of a difference, in bytes.
const MAX_SIDE: usize = 2_000;

/// What came of a replay.
#[derive(Clone, Debug, PartialEq)]
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
    /// How many iterations began in it; of a run that goes on not those from before it was interrupted.
    pub iterations: u32,
    /// How many lanes it has inputs of; nothing where the run had none.
    pub lanes: Option<u32>,
    /// Whether each machine came to its end.
    pub ended: bool,
    /// Whether inputs end before a machine came to its end.
    pub cut_off: bool,
    /// Whether they do although the events tell that the run ended: the record of inputs was cut short or changed.
    pub cut_short: bool,
    /// The lanes whose inputs do; none where those of all do, or the run had no lanes.
    pub cut_off_lanes: Vec<u32>,
    /// Whether all that was looked at is as it was recorded.
    pub equal: bool,
    /// The first difference; nothing where all was equal.
    pub difference: Option<ReplayDifference>,
}

/// Where a replay is different from its record first.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayDifference {
    /// What kind of difference it is.
    pub kind: DifferenceKind,
    /// The line of the record, from 1.
    pub line: u64,
    /// The lane; nothing where the run had none, or the line does not tell.
    pub lane: Option<u32>,
    /// The step, from 1; 0 for the line that holds the machine, nothing where the line does not tell.
    pub step: Option<u64>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DifferenceKind {
    /// The line was changed after it was written.
    Altered,
    /// Lines before it are missing.
    Missing,
    /// It was there before, or is behind one that comes after it.
    Repeated,
    /// The input cannot be read by this version.
    Unreadable,
    /// Another effect follows from the input.
    Effect,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.difference {
            None => {
                let (steps, effects) = (counted(self.steps, "step"), counted(self.effects, "effect"));
                write!(f, "equal: {steps} with {effects} in {}", counted(self.iterations, "iteration"))?;
                if let Some(lanes) = self.lanes {
                    write!(f, " of {}", counted(lanes, "lane"))?;
                }
                match self.cut_off {
                    true if !self.cut_off_lanes.is_empty() => {
                        let lanes: Vec<String> = self.cut_off_lanes.iter().map(u32::to_string).collect();
                        let noun = if lanes.len() == 1 { "lane" } else { "lanes" };
                        write!(f, "; the inputs of {noun} {} are not all there", lanes.join(", "))?;
                    }
                    true if self.cut_short => f.write_str(
                        ", where the record of inputs ends: its end was cut off or changed, since the run went on and ended",
                    )?,
                    true => {
                        f.write_str(", where the record of inputs ends: the run had not ended by then")?
                    }
                    false => {}
                }
            }
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
        let of_lane = self.lane.map(|lane| format!(" of lane {lane}")).unwrap_or_default();
        let line = match self.step {
            None => format!("line {}", self.line),
            Some(0) => format!("line {} with the machine{of_lane}", self.line),
            Some(step) if self.input.is_empty() => format!("step {step}{of_lane}"),
            Some(step) => format!("step {step}{of_lane} ({}) in iteration {}", self.input, self.iteration),
        };
        match self.kind {
            DifferenceKind::Altered => write!(f, "{line} was changed after it was recorded"),
            DifferenceKind::Missing => {
                write!(f, "what comes before {line} is missing, or in another place than it was")
            }
            DifferenceKind::Repeated => write!(f, "{line} is there twice, or in another place than it was"),
            DifferenceKind::Unreadable => write!(f, "{line} cannot be read"),
            DifferenceKind::Effect => write!(f, "{line}: {} is different", self.place),
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
    /// Its first line is not as it was written.
    #[error("the first line of the record, which holds the machine, was changed after it was recorded")]
    Altered,
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
    machines: BTreeMap<Option<u32>, Replayed>,
    /// How many lines were taken.
    lines: u64,
    /// The iteration of the line that was taken last.
    last: u32,
    replay: Replay,
}

/// A machine that is replayed.
#[derive(Clone, Debug)]
struct Replayed {
    machine: Machine,
    /// How many steps of it were equal.
    steps: u64,
}

impl Replaying {
    /// Begins with the first line of a record, without its end.
    ///
    /// # Errors
    /// Returns a [`ReplayError`] where there is nothing to begin with.
    pub fn begin(line: &[u8]) -> Result<Self, ReplayError> {
        let is_altered = |error: &ReplayError| match error {
            ReplayError::Machine { recorded_by, .. } => recorded_by == WRITTEN_BY && !is_as_written(line),
            ReplayError::NoBeginning => is_begin(line) && !is_as_written(line),
            _ => false,
        };
        let begin =
            parsed(line).map_err(|error| if is_altered(&error) { ReplayError::Altered } else { error })?;
        let difference = (!is_as_written(line))
            .then(|| ReplayDifference { line: 1, ..at(DifferenceKind::Altered, begin.lane, Some(0)) });
        let replay = Replay {
            run: begin.run_id.clone(),
            recorded_by: begin.samuel.clone(),
            replayed_by: WRITTEN_BY.to_owned(),
            steps: 0,
            effects: 0,
            iterations: 0,
            lanes: None,
            ended: false,
            cut_off: false,
            cut_short: false,
            cut_off_lanes: Vec::new(),
            equal: difference.is_none(),
            difference,
        };
        let last = begin.machine.iteration_number();
        let mut replaying = Self { machines: BTreeMap::new(), lines: 1, last, replay };
        replaying.add(begin);
        Ok(replaying)
    }

    /// Takes the next line, without its end. Returns whether more are wanted.
    pub fn take(&mut self, line: &[u8]) -> bool {
        if self.replay.equal {
            self.lines += 1;
            let taken = if is_begin(line) { self.begin_another(line) } else { self.step(line) };
            if let Err(difference) = taken {
                self.replay.difference = Some(ReplayDifference { line: self.lines, ..*difference });
                self.replay.equal = false;
            }
        }
        self.replay.equal
    }

    /// Says whether it is a run with lanes.
    pub fn has_lanes(&self) -> bool {
        self.replay.lanes.is_some()
    }

    /// Says what came of it, of a run of which events tell such lanes.
    pub fn end(self, told: &BTreeSet<u32>) -> Replay {
        let is_open = |replayed: &Replayed| !replayed.machine.is_ended();
        let ended = self.machines.values().all(|replayed| replayed.machine.is_ended());
        let mut cut_off: BTreeSet<Option<u32>> =
            self.machines.iter().filter(|(_, replayed)| is_open(replayed)).map(|(lane, _)| *lane).collect();
        if self.replay.lanes.is_some() {
            let of_lanes = told.iter().copied().map(Some);
            cut_off.extend(of_lanes.filter(|lane| !self.machines.contains_key(lane)));
        }
        if !self.replay.equal {
            cut_off.clear();
        }
        let is_cut_off = !cut_off.is_empty();
        if self.machines.values().all(is_open) {
            cut_off.clear();
        }
        let cut_off_lanes = cut_off.into_iter().flatten().collect();
        Replay { ended, cut_off: is_cut_off, cut_off_lanes, ..self.replay }
    }

    fn add(&mut self, begin: RecordBegin) {
        self.replay.lanes = begin.lane.map(|_| self.replay.lanes.unwrap_or_default() + 1);
        self.machines.insert(begin.lane, Replayed { machine: begin.machine, steps: 0 });
    }

    /// Adds the machine of another lane.
    fn begin_another(&mut self, line: &[u8]) -> Result<(), Box<ReplayDifference>> {
        let begin = parsed(line);
        let lane = begin.as_ref().ok().and_then(|begin| begin.lane);
        match begin {
            _ if !is_as_written(line) => Err(at(DifferenceKind::Altered, lane, Some(0)).into()),
            Err(_) => Err(at(DifferenceKind::Unreadable, lane, Some(0)).into()),
            // No run has so many.
            Ok(_) if lane.is_some_and(|lane| lane > MAX_LANES) => {
                Err(at(DifferenceKind::Unreadable, lane, Some(0)).into())
            }
            Ok(_) if self.machines.contains_key(&lane) => {
                Err(at(DifferenceKind::Repeated, lane, Some(0)).into())
            }
            Ok(begin) => {
                self.add(begin);
                Ok(())
            }
        }
    }

    fn step(&mut self, line: &[u8]) -> Result<(), Box<ReplayDifference>> {
        let is_as_written = is_as_written(line);
        let changed = if is_as_written { DifferenceKind::Unreadable } else { DifferenceKind::Altered };
        let known = || self.machines.iter().next().filter(|_| self.machines.len() == 1);
        let Ok(read) = serde_json::from_slice::<ReadStep>(line) else {
            let (lane, step) =
                known().map_or((None, None), |(lane, replayed)| (*lane, Some(replayed.steps + 1)));
            let iteration = self.last;
            return Err(ReplayDifference { iteration, ..at(changed, lane, step) }.into());
        };
        self.last = read.iteration;
        let input = described(&read.input);
        let found = |kind| ReplayDifference {
            iteration: read.iteration,
            input: input.clone(),
            ..at(kind, read.lane, Some(read.step))
        };
        // The line of a lane whose machine is not there.
        let missing = if is_as_written { DifferenceKind::Missing } else { DifferenceKind::Altered };
        let Some(replayed) = self.machines.get_mut(&read.lane) else { return Err(found(missing).into()) };
        let parsed = serde_json::from_value::<Input>(read.input.clone());
        let compared = parsed.map(|input| {
            let effects = replayed.machine.step(input);
            (told(&effects).unwrap_or_default(), effects)
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
            return Err(with_sides(DifferenceKind::Altered).into());
        }
        match read.step.cmp(&(replayed.steps + 1)) {
            Ordering::Less => return Err(found(DifferenceKind::Repeated).into()),
            Ordering::Greater => return Err(found(DifferenceKind::Missing).into()),
            Ordering::Equal => {}
        }
        let Ok((_, effects)) = compared else { return Err(found(DifferenceKind::Unreadable).into()) };
        if other.is_some() {
            return Err(with_sides(DifferenceKind::Effect).into());
        }
        replayed.steps += 1;
        self.replay.steps += 1;
        self.replay.effects += effects.len() as u64;
        // The step that ends an iteration may begin the next one.
        let begun = effects.iter().filter(|effect| begins_iteration(effect)).count();
        self.replay.iterations += u32::try_from(begun).unwrap_or_default();
        Ok(())
    }
}

/// Reads the first line of a machine.
fn parsed(line: &[u8]) -> Result<RecordBegin, ReplayError> {
    let value: Value = serde_json::from_slice(line).map_err(|_no_json| ReplayError::NoBeginning)?;
    let begin = value.get("begin").cloned().ok_or(ReplayError::NoBeginning)?;
    let found = begin.get("schema_version").and_then(Value::as_u64).unwrap_or_default();
    if found != u64::from(RECORD_SCHEMA_VERSION) {
        return Err(ReplayError::Version { found });
    }
    let recorded_by = begin.get("samuel").and_then(Value::as_str).unwrap_or("of another version").to_owned();
    serde_json::from_value(begin).map_err(|source| ReplayError::Machine { recorded_by, source })
}

fn begins_iteration((_, effect): &(EffectId, Effect)) -> bool {
    matches!(effect, Effect::Emit(Event::IterationStarted { .. }))
}

fn at(kind: DifferenceKind, lane: Option<u32>, step: Option<u64>) -> ReplayDifference {
    let (input, place, recorded, replayed) = (String::new(), String::new(), None, None);
    ReplayDifference { kind, line: 0, lane, step, iteration: 0, input, place, recorded, replayed }
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
