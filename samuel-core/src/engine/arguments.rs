//! The arguments of a tool call, as far as it takes to tell them from others.
//!
//! A run remembers many calls, and each may have a MiB of arguments. So of each field there is a hash.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{agent::patched, fs::lexical, hook::field_hashes};

/// How many bytes of paths are remembered of a patch.
const MAX_PATHS: usize = 16 << 10;

/// The arguments of a call that was asked about.
#[derive(Debug)]
pub(super) struct Arguments {
    fields: BTreeSet<String>,
    /// The files that a patch among them names.
    files: Vec<PathBuf>,
}

impl Arguments {
    /// Takes arguments as JSON.
    pub(super) fn new(input: &str) -> Self {
        Self { fields: field_hashes(input), files: files_of(input) }
    }

    /// Says whether all of some arguments, as JSON, are among these: an agent may tell its hooks of
    /// defaults that its stream does not show. Where it shows none, which is `null`, there is nothing to
    /// compare. Long ones may be shortened.
    pub(super) fn cover(&self, input: &str) -> bool {
        field_hashes(input).is_subset(&self.fields)
    }

    /// Says whether the files of some changes, as JSON, are all named by a patch among these. Patches
    /// name files from a directory that is not told here, so ends of paths are compared. Changes that
    /// were shortened are of no patch, and neither are files past a number of them.
    pub(super) fn patch(&self, changes: &str) -> bool {
        let changes: Value = serde_json::from_str(changes).unwrap_or_default();
        let changes = changes.get("changes").and_then(Value::as_array).map(Vec::as_slice);
        let path_of = |change: &Value| Some(lexical(Path::new(change.get("path")?.as_str()?)));
        let is_named = |path: PathBuf| self.files.iter().any(|file| path.ends_with(file));
        let all_named =
            |changes: &[Value]| changes.iter().all(|change| path_of(change).is_some_and(is_named));
        changes.is_some_and(|changes| !changes.is_empty() && all_named(changes))
    }
}

/// Returns the files that a patch among arguments names, as far as they are remembered.
fn files_of(input: &str) -> Vec<PathBuf> {
    if !input.contains("*** Begin Patch") {
        return Vec::new();
    }
    let input: Value = serde_json::from_str(input).unwrap_or_default();
    let mut room = MAX_PATHS;
    let named = patched(&input).unwrap_or_default().into_iter();
    let fitting = named.take_while(|path| {
        let left = room.checked_sub(path.len());
        room = left.unwrap_or_default();
        left.is_some()
    });
    fitting.map(|path| lexical(Path::new(path))).filter(|path| path.file_name().is_some()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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

    #[test]
    fn the_files_that_were_changed_are_those_of_the_patch() {
        let patch = "*** Begin Patch\n*** Update File: ./sub/a.rs\n*** Move to: b.rs\n*** Add File: ../c.rs\n\
                     *** Delete File: /abs/d.rs\n*** End Patch\n";
        let asked = Arguments::new(&json!({ "command": format!("apply_patch <<'E'\n{patch}E") }).to_string());
        let changed = |paths: &[&str]| {
            let changes: Vec<_> = paths.iter().map(|path| json!({"path": path, "kind": "add"})).collect();
            json!({ "changes": changes }).to_string()
        };
        for same in [&["/p/sub/a.rs"][..], &["/p/sub/a.rs", "/c.rs", "/abs/d.rs"], &["/q/sub/a.rs"]] {
            assert!(asked.patch(&changed(same)), "{same:?}");
        }
        for other in [&[][..], &["/p/a.rs"], &["/p/xsub/a.rs"], &["/p/abs/d.rs"], &["/p/sub/a.rs", "/p/x"]] {
            assert!(!asked.patch(&changed(other)), "{other:?}");
        }
        assert!(!asked.patch("null") && !Arguments::new(r#"{"command":"ls"}"#).patch(&changed(&["/p/ls"])));
        let many: String = (0..10_000).map(|n| format!("*** Add File: d/{n}\n")).collect();
        let many = Arguments::new(&json!(format!("*** Begin Patch\n{many}")).to_string());
        assert!(many.patch(&changed(&["/p/d/0"])) && !many.patch(&changed(&["/p/d/9999"])));
    }
}
