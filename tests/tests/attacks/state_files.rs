//! Files of the run directory, changed, removed or replaced by others than Samuel.

use std::fs;

use crate::kit::Target;

const PLAN: &str = ".samuel/run/prd.toon";
const JOURNAL: &str = ".samuel/run/journal.jsonl";

/// Replaces a part of a file of the project; it must be there.
fn edit(target: &Target, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(target.path(name)).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    target.write(name, text.replace(from, to));
}

#[test]
fn a_revision_that_leaves_no_room_to_count_on_breaks_nothing() {
    for highest in [u64::MAX, u64::MAX - 1, (1 << 53) + 1, 1 << 53] {
        let target = Target::with_tasks(&["one", "two"]);
        edit(&target, PLAN, "\nrevision: 3\n", &format!("\nrevision: {highest}\n"));
        for args in [&["run", "done", "1"][..], &["run", "enqueue", "three"], &["run", "status"]] {
            let ran = target.run(args);
            assert_eq!(ran.code, Some(0), "{highest}: {args:?}: {}", ran.text());
        }
        for (from, to) in [
            ("\"seq\":", "\"was\":1,\"seq\":18446744073709551615,\"of\":"),
            ("\"revision\":", "\"revision\":18446744073709551615,\"of\":"),
        ] {
            edit(&target, JOURNAL, from, to);
            for args in [&["run", "done", "2"][..], &["run", "reset", "2"]] {
                let ran = target.run(args);
                assert_eq!(ran.code, Some(0), "{highest}: {args:?}: {}", ran.text());
            }
        }
        let ran = target.run(&["run", "tasks"]);
        assert!(ran.text().contains("three"), "{}", ran.text());
    }
}
