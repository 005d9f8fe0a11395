//! prd.toon as people and agents leave it.

use crate::bench::Bench;

fn edited(edit: impl Fn(String) -> String) -> Bench {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let text = edit(bench.read(".samuel/run/prd.toon"));
    std::fs::write(bench.prd(), text).unwrap();
    bench
}

#[test]
fn a_row_with_a_wrong_cell_count_is_skipped_told_and_kept() {
    let bench =
        edited(|text| {
            text.lines()
                .map(|line| {
                    if line.contains("Second") {
                        "  2,Second,broken\n".to_owned()
                    } else {
                        format!("{line}\n")
                    }
                })
                .collect()
        });
    let ran = bench.ok(&["run", "tasks"]);
    assert!(ran.stdout.contains("First") && !ran.stdout.contains("Second"), "{ran:?}");
    assert!(ran.stderr.contains("prd.toon:"), "{ran:?}");
    bench.ok(&["run", "done", "1"]);
    assert!(bench.read(".samuel/run/prd.toon").contains("2,Second,broken"));
    assert_eq!(bench.ok(&["run", "--json"]).json()["data"]["unparsed"], 1);
}

#[test]
fn the_loop_goes_on_with_the_other_tasks() {
    let bench = edited(|text| {
        text.lines()
            .map(|line| if line.contains("Second") { "  2,broken\n".to_owned() } else { format!("{line}\n") })
            .collect()
    });
    bench.start("\"$SAMUEL_BINARY\" run done \"$SAMUEL_TASK_ID\"", &["--max-iterations", "1"]);
    assert_eq!(bench.status("1"), "completed");
}

#[test]
fn versions_of_toon_3_are_read_and_others_refused() {
    let bench = edited(|text| text.replacen("# toon v3\n", "# toon v3.1\n", 1));
    assert_eq!(bench.ok(&["run", "tasks"]).stderr, "");
    let bench = edited(|text| text.replacen("# toon v3\n", "# toon v9\n", 1));
    let ran = bench.samuel(&["run", "tasks"]);
    assert_eq!(ran.code, 5);
    assert!(ran.stderr.contains("toon version") && ran.stderr.contains('9'), "{ran:?}");
    let bench = edited(|text| text.replacen("# toon v3\n", "", 1));
    assert!(bench.ok(&["run", "tasks"]).stderr.contains("warning: "));
    bench.ok(&["run", "done", "1"]);
    assert!(bench.read(".samuel/run/prd.toon").starts_with("# toon v3\n"));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_understood() {
    let bench = edited(|text| format!("\u{feff}{}", text.replace('\n', "\r\n")));
    assert!(bench.ok(&["run", "tasks"]).stdout.contains("Second"));
    bench.ok(&["run", "done", "2"]);
    assert_eq!(bench.status("2"), "completed");
}
