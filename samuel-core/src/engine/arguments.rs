//! The arguments of a tool call, as far as it takes to tell them from others.
//!
//! A run remembers many calls, and each may have a MiB of arguments. So of each field there is a hash,
//! by a key that nobody outside this process knows.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
};

use serde_json::Value;

use crate::agent::{MAX_INPUT, SHORTENED};

/// How many fields are told apart; more of them are one.
const MAX_FIELDS: usize = 64;

/// The arguments of a call that was asked about.
#[derive(Debug)]
pub(super) struct Arguments {
    key: RandomState,
    fields: BTreeSet<u64>,
    is_long: bool,
}

impl Arguments {
    /// Takes arguments as JSON.
    pub(super) fn new(input: &str) -> Self {
        let key = RandomState::new();
        let fields = hashes(&key, input).into_iter().collect();
        // Agents may write the same arguments with more or fewer blanks.
        Self { key, fields, is_long: input.len() > MAX_INPUT / 2 }
    }

    /// Says whether all of some arguments, as JSON, are among these: an agent may tell its hooks of
    /// defaults that its stream does not show. Where it shows none, which is `null`, there is nothing to
    /// compare, and of long ones, which are shortened, only that these are long too.
    pub(super) fn cover(&self, input: &str) -> bool {
        if is_shortened(input) {
            return self.is_long;
        }
        hashes(&self.key, input).iter().all(|hash| self.fields.contains(hash))
    }
}

/// Says whether arguments are the beginning of longer ones.
fn is_shortened(input: &str) -> bool {
    let fields: Option<Value> = serde_json::from_str(input).ok();
    fields.is_some_and(|input| {
        input.as_object().is_some_and(|fields| fields.len() == 1 && fields.contains_key(SHORTENED))
    })
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
        let long = Arguments::new(&serde_json::json!({"content": "x".repeat(MAX_INPUT)}).to_string());
        let shortened = r#"{"truncated":"{\"content\":\"xxx"}"#;
        assert!(long.cover(shortened) && !asked.cover(shortened));
        assert!(Arguments::new("no json").cover("no json") && !Arguments::new("no json").cover("json"));
    }
}
