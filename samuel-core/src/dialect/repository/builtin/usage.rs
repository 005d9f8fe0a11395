//! `usage_log`: how often abilities are called, and how that ends.

use std::{collections::BTreeMap, path::Path};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::AbilityCall;
use crate::{
    fs::{Manner, Root},
    hook::HookFailure,
    model::payload::AbilityStatus,
};

/// The version of the document.
const VERSION: u32 = 1;
/// How many abilities are counted one by one.
const MAX_ABILITIES: usize = 1_000;
/// The name under which the others are counted together.
const OTHERS: &str = "(others)";
/// The largest document that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Counters by ability.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Usage {
    version: u32,
    updated_at: Timestamp,
    abilities: BTreeMap<String, Counters>,
}

/// How often one ability was called.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Counters {
    calls: u64,
    success: u64,
    error: u64,
    cancelled: u64,
    /// In milliseconds, of the calls whose duration is known.
    total_duration_ms: u64,
    max_duration_ms: u64,
    last_called_at: Timestamp,
}

/// Counts a call, and returns what is to be logged of it: a document that cannot be read begins anew.
pub(super) fn count(root: &Root, cache: &Path, call: &AbilityCall) -> Result<Vec<String>, HookFailure> {
    let (mut usage, logs) = match read(root, cache) {
        Ok(usage) => (usage, Vec::new()),
        Err(why) => {
            let told = format!("{} cannot be read, and begins anew: {why}", cache.display());
            (Usage::default(), vec![told])
        }
    };
    usage.add(call);
    let mut text = serde_json::to_vec_pretty(&usage)?;
    text.push(b'\n');
    root.write(cache, [&text[..]], &Manner::PRIVATE)?;
    Ok(logs)
}

fn read(root: &Root, cache: &Path) -> Result<Usage, String> {
    let text = match root.read(cache, MAX_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_not_found() => return Ok(Usage::default()),
        Err(error) => return Err(error.to_string()),
    };
    let usage: Usage = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    match usage.version {
        VERSION => Ok(usage),
        other => Err(format!("version {other} is not supported")),
    }
}

impl Usage {
    fn add(&mut self, call: &AbilityCall) {
        self.version = VERSION;
        self.updated_at = call.time;
        let is_new = !self.abilities.contains_key(&call.ability_id);
        let name = if is_new && self.abilities.len() >= MAX_ABILITIES { OTHERS } else { &call.ability_id };
        let counters = self.abilities.entry(name.to_owned()).or_default();
        counters.calls += 1;
        match call.status {
            AbilityStatus::Success => counters.success += 1,
            AbilityStatus::Error => counters.error += 1,
            AbilityStatus::Cancelled => counters.cancelled += 1,
        }
        let took = call.duration_ms.unwrap_or_default();
        counters.total_duration_ms = counters.total_duration_ms.saturating_add(took);
        counters.max_duration_ms = counters.max_duration_ms.max(took);
        counters.last_called_at = call.time;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use super::*;

    fn call(ability: &str, status: AbilityStatus) -> AbilityCall {
        AbilityCall {
            time: Timestamp::UNIX_EPOCH,
            session_id: "s".to_owned(),
            ability_id: ability.to_owned(),
            call_id: None,
            operation_key: None,
            status,
            duration_ms: Some(10),
        }
    }

    #[test]
    fn abilities_are_counted_by_status_up_to_a_thousand_of_them() {
        let mut usage = Usage::default();
        for number in 0..MAX_ABILITIES + 5 {
            usage.add(&call(&format!("a{number}"), AbilityStatus::Success));
        }
        usage.add(&call("a0", AbilityStatus::Error));
        assert_eq!(usage.abilities.len(), MAX_ABILITIES + 1);
        assert_eq!(usage.abilities[OTHERS].calls, 5);
        let first = &usage.abilities["a0"];
        assert_eq!((first.calls, first.success, first.error, first.total_duration_ms), (2, 1, 1, 20));
    }

    #[test]
    fn a_document_that_cannot_be_read_begins_anew_and_is_told_of() {
        let dir = tempfile::tempdir().unwrap();
        let (root, cache) = (Root::new(dir.path()), Path::new("usage.json"));
        for text in ["{", "{\"version\":9,\"updated_at\":\"1970-01-01T00:00:00Z\",\"abilities\":{}}"] {
            std::fs::write(dir.path().join(cache), text).unwrap();
            let logs = count(&root, cache, &call("a", AbilityStatus::Success)).unwrap();
            assert!(logs[0].starts_with("usage.json cannot be read, and begins anew: "), "{logs:?}");
        }
        assert!(count(&root, cache, &call("a", AbilityStatus::Success)).unwrap().is_empty());
        assert_eq!(read(&root, cache).unwrap().abilities["a"].calls, 2);
    }
}
