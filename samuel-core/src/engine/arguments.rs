//! The arguments of a tool call, as far as it takes to tell them from others.
//!
//! A run remembers many calls, and each may have a MiB of arguments. So of each field there is a hash,
//! by a key that nobody outside this process knows.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
};

use serde_json::Value;

/// How many fields are told apart; more of them are one.
const MAX_FIELDS: usize = 64;

/// The arguments of a call that was asked about.
#[derive(Debug)]
pub(super) struct Arguments {
    key: RandomState,
    fields: BTreeSet<u64>,
}

impl Arguments {
    /// Takes arguments as JSON.
    pub(super) fn new(input: &str) -> Self {
        let key = RandomState::new();
        let fields = hashes(&key, input).into_iter().collect();
        Self { key, fields }
    }

    /// Says whether all of some arguments, as JSON, are among these: an agent may tell its hooks of
    /// defaults that its stream does not show. Where it shows none, which is `null`, there is nothing to
    /// compare.
    pub(super) fn cover(&self, input: &str) -> bool {
        hashes(&self.key, input).iter().all(|hash| self.fields.contains(hash))
    }
}

/// Hashes each field of an object, and anything else in one piece.
fn hashes(key: &RandomState, input: &str) -> Vec<u64> {
    match serde_json::from_str::<Value>(input) {
        Ok(Value::Null) => Vec::new(),
        Ok(Value::Object(fields)) if fields.len() <= MAX_FIELDS => {
            let given = fields.iter().filter(|(_, value)| !value.is_null());
            given.map(|field| key.hash_one(field)).collect()
        }
        Ok(value) => vec![key.hash_one(value)],
        Err(_) => vec![key.hash_one(input)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_cover_those_that_leave_some_out_and_no_others() {
        let asked = Arguments::new(r#"{"command":"ls","timeout":5,"deep":{"b":1,"a":[2]}}"#);
        for same in
            ["null", "{}", r#"{"deep":{"a":[2],"b":1},"command":"ls"}"#, r#"{"command":"ls","x":null}"#]
        {
            assert!(asked.cover(same), "{same}");
        }
        for other in
            [r#"{"command":"ls -l"}"#, r#"{"command":"ls","x":1}"#, r#"{"cmd":"ls"}"#, r#""ls""#, "ls"]
        {
            assert!(!asked.cover(other), "{other}");
        }
        let many =
            |last: usize| Value::from_iter((0..100).map(|n| (format!("f{n}"), n.min(last)))).to_string();
        assert!(Arguments::new(&many(99)).cover(&many(99)));
        assert!(!Arguments::new(&many(99)).cover(&many(98)));
        assert!(Arguments::new("no json").cover("no json") && !Arguments::new("no json").cover("json"));
    }
}
