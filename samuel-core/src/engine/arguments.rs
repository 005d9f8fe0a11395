//! The arguments of a tool call, as far as it takes to tell them from others.
//!
//! A run remembers many calls, and each may have a MiB of arguments. So of each field there is a hash.

use std::collections::BTreeSet;

use crate::hook::field_hashes;

/// The arguments of a call that was asked about.
#[derive(Debug)]
pub(super) struct Arguments(BTreeSet<String>);

impl Arguments {
    /// Takes arguments as JSON.
    pub(super) fn new(input: &str) -> Self {
        Self(field_hashes(input))
    }

    /// Says whether all of some arguments, as JSON, are among these: an agent may tell its hooks of
    /// defaults that its stream does not show. Where it shows none, which is `null`, there is nothing to
    /// compare. Long ones may be shortened.
    pub(super) fn cover(&self, input: &str) -> bool {
        field_hashes(input).is_subset(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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

    #[test]
    fn long_arguments_are_compared_whole() {
        let long = |end: &str| json!({"content": format!("{}{end}", "x".repeat(100_000)), "path": "a"});
        let shown = crate::hook::arguments(&long("1"));
        assert!(shown.len() < 5 << 10);
        let asked = json!({"content": format!("{}1", "x".repeat(100_000)), "path": "a", "default": true});
        assert!(Arguments::new(&asked.to_string()).cover(&shown));
        assert!(!Arguments::new(&long("2").to_string()).cover(&shown));
        assert!(!Arguments::new(r#"{"path":"a"}"#).cover(&shown));
    }
}
