//! The inputs of machines as lines of a record.
//!
//! The first line of a machine holds it as it began, each further one an [`Input`] and the effects
//! that followed from it. With lanes there is a machine of each, and its lines name the lane. Every line ends with a checksum of its own bytes, so that one that was
//! changed later is found although nothing follows from the change. Writing lines to somewhere is
//! the driver's, replaying them [`Replaying`](super::Replaying)'s.

use samuel_config::MAX_JOBS;
use samuel_model::{hex, text::excerpt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Effect, EffectId, Input, Machine};

/// The version of the lines' form.
pub const RECORD_SCHEMA_VERSION: u32 = 1;

/// The highest number of a lane in a record: no run has more of them. What has a higher one was not written by Samuel, and
/// whoever keeps something of each lane would keep what a forged record wants.
pub const MAX_LANES: u32 = MAX_JOBS;

/// The version of Samuel that writes lines.
pub(super) const WRITTEN_BY: &str = env!("CARGO_PKG_VERSION");

/// How long a text in an effect can be that is kept as it is; of a longer one a hash is kept.
const MAX_TEXT: usize = 1_024;
/// How much of such a text is kept to be shown.
const SHOWN_TEXT: usize = 120;
/// What stands before the checksum of a line, and how long that is.
const SEAL: &str = ",\"sum\":\"";
const SUM_LENGTH: usize = 16;

/// How a line with a machine begins.
const BEGIN: &[u8] = b"{\"begin\":";

/// The first line of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordBegin {
    /// The version of the form; see [`RECORD_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The run.
    pub run_id: String,
    /// The lane whose machine it is; nothing where the run has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// When it began.
    pub at: jiff::Timestamp,
    /// The version of Samuel that wrote it.
    pub samuel: String,
    /// The id that the run had before it was interrupted, where it goes on.
    #[serde(default)]
    pub goes_on_from: Option<String>,
    /// The machine before its first input.
    pub machine: Machine,
}

impl RecordBegin {
    /// Describes the machine of a run, or of a lane of it, that begins now.
    pub fn new(
        run_id: &str,
        lane: Option<u32>,
        at: jiff::Timestamp,
        goes_on_from: Option<String>,
        machine: Machine,
    ) -> Self {
        let (schema_version, samuel) = (RECORD_SCHEMA_VERSION, WRITTEN_BY.to_owned());
        Self { schema_version, run_id: run_id.to_owned(), lane, at, samuel, goes_on_from, machine }
    }

    /// Writes it as a line.
    ///
    /// # Errors
    /// Fails where the machine cannot be written as JSON, which is a fault in Samuel.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        Ok(sealed(serde_json::to_string(&json!({ "begin": self }))?))
    }
}

/// A step of a machine: what it was given, and what followed.
#[derive(Clone, Debug)]
pub struct RecordStep {
    /// The lane whose machine made it; nothing where the run has none.
    pub lane: Option<u32>,
    /// The number of the step, from 1 for each machine.
    pub step: u64,
    /// When it was made.
    pub at: jiff::Timestamp,
    /// The iteration that was under way before it, or else the last one.
    pub iteration: u32,
    /// What the machine was given.
    pub input: Input,
    /// What followed from it.
    pub effects: Vec<(EffectId, Effect)>,
}

impl RecordStep {
    /// Writes it as a line.
    ///
    /// # Errors
    /// Fails where it cannot be written as JSON, which is a fault in Samuel.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        let effects = told(&self.effects)?;
        let line = StepLine {
            schema_version: RECORD_SCHEMA_VERSION,
            lane: self.lane,
            step: self.step,
            at: self.at,
            iteration: self.iteration,
            input: &self.input,
            effects,
        };
        Ok(sealed(serde_json::to_string(&line)?))
    }
}

/// A step as it is written.
#[derive(Serialize)]
struct StepLine<'a> {
    schema_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<u32>,
    step: u64,
    at: jiff::Timestamp,
    iteration: u32,
    input: &'a Input,
    effects: Vec<Value>,
}

/// A step as it is read: an input that cannot be understood is still known by its number.
#[derive(Debug, Deserialize)]
pub(super) struct ReadStep {
    #[serde(default)]
    pub(super) lane: Option<u32>,
    pub(super) step: u64,
    pub(super) iteration: u32,
    pub(super) input: Value,
    pub(super) effects: Vec<Value>,
}

/// Writes effects as they are compared: long texts by their hash.
pub(super) fn told(effects: &[(EffectId, Effect)]) -> serde_json::Result<Vec<Value>> {
    let told = effects.iter().map(|(id, effect)| {
        let mut value = serde_json::to_value(effect)?;
        shorten(&mut value);
        if let Value::Object(fields) = &mut value {
            fields.insert("id".to_owned(), id.0.into());
        }
        Ok(value)
    });
    told.collect()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            let sum = Sha256::digest(text.as_bytes());
            let (bytes, begins) = (text.len(), excerpt(text, SHOWN_TEXT));
            *value = json!({ "bytes": bytes, "sha256": hex(&sum), "begins": begins });
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// Ends an object of JSON with the checksum of what stands before it, as a line.
fn sealed(mut json: String) -> Vec<u8> {
    json.pop();
    let sum = sum_of(json.as_bytes());
    [json.as_str(), SEAL, &sum, "\"}\n"].concat().into_bytes()
}

/// Changes a line, without its end, and seals it again. Returns nothing if `change` returns false. A line that was
/// altered before still counts as altered.
///
/// # Errors
/// Fails for a line that is no JSON.
pub fn change_line(
    line: &[u8],
    change: impl FnOnce(&mut Value) -> bool,
) -> serde_json::Result<Option<Vec<u8>>> {
    let mut document: Value = serde_json::from_slice(line)?;
    let is_sealed = is_as_written(line);
    // The seal is the last field, so the others keep their order.
    let seal = document.as_object_mut().filter(|_| is_sealed).and_then(|fields| fields.remove("sum"));
    if !change(&mut document) {
        return Ok(None);
    }
    let json = serde_json::to_string(&document)?;
    Ok(Some(match seal {
        Some(_) => {
            let mut line = sealed(json);
            line.pop();
            line
        }
        None => json.into_bytes(),
    }))
}

/// Says whether a line is the first one of a machine.
pub(super) fn is_begin(line: &[u8]) -> bool {
    line.starts_with(BEGIN)
}

/// Says whether a line, without its end, is as it was written.
pub(super) fn is_as_written(line: &[u8]) -> bool {
    let tail = SEAL.len() + SUM_LENGTH + 2;
    let Some((body, seal)) = line.len().checked_sub(tail).and_then(|at| line.split_at_checked(at)) else {
        return false;
    };
    seal == [SEAL, &sum_of(body), "\"}"].concat().as_bytes()
}

fn sum_of(bytes: &[u8]) -> String {
    let mut sum = hex(&Sha256::digest(bytes));
    sum.truncate(SUM_LENGTH);
    sum
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use super::*;

    #[test]
    fn a_line_knows_whether_a_byte_of_it_was_changed() {
        let step = RecordStep {
            lane: Some(2),
            step: 3,
            at: jiff::Timestamp::UNIX_EPOCH,
            iteration: 1,
            input: Input::Unheard,
            effects: Vec::new(),
        };
        let mut line = step.to_line().expect("it is JSON");
        assert_eq!(line.pop(), Some(b'\n'));
        assert!(is_as_written(&line));
        for place in 0..line.len() {
            let mut other = line.clone();
            other[place] ^= 1;
            assert!(!is_as_written(&other), "byte {place}");
        }
        assert!(!is_as_written(b"{}"));
    }

    #[test]
    fn a_changed_line_is_sealed_unless_it_was_altered() {
        let sealed = sealed(r#"{"step":1,"text":"a"}"#.to_owned());
        let line = sealed.strip_suffix(b"\n").expect("it has an end");
        let change = |document: &mut Value| {
            document["text"] = "b".into();
            true
        };
        let changed = change_line(line, change).expect("it is JSON").expect("it changed");
        assert!(is_as_written(&changed) && changed.starts_with(br#"{"step":1,"text":"b","#));
        let altered = String::from_utf8_lossy(line).replace("step", "stop");
        let changed = change_line(altered.as_bytes(), change).expect("it is JSON").expect("it changed");
        assert!(!is_as_written(&changed));
        assert_eq!(change_line(line, |_| false).expect("it is JSON"), None);
        assert!(change_line(b"{", |_| true).is_err());
    }

    #[test]
    fn long_texts_are_told_apart_by_their_hash() {
        let steer =
            |end: &str| Effect::Emit(crate::event::Event::Warning { message: "x".repeat(5_000) + end });
        let told = |effect| told(&[(EffectId(1), effect)]).expect("it is JSON");
        assert_eq!(told(steer("a")), told(steer("a")));
        assert_ne!(told(steer("a")), told(steer("b")));
        assert!(told(steer("a"))[0].to_string().len() < 500);
    }
}
