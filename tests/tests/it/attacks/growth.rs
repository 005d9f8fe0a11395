//! Work and memory that grow with the square of what they are given.
//!
//! Each text here is one that took minutes, or a gigabyte. What grows in line
//! with the text takes an unoptimised build a second or two, so a limit on processor time several
//! times as high tells the two apart, and a limit on the address space the other.

use std::fmt::Write as _;

use crate::attacks::{
    component::refuses_at_length,
    kit::{HANG, Ran, Target, all_below, manifest, ran, times},
};

/// What a command may take of memory where its text is a megabyte or less. A
/// command that does nothing takes half of it.
const MEBIBYTES: usize = 256;

/// What a command may take that gets ready to run plugins: most of it is
/// address space that is never used.
const PLUGINS: usize = 16 << 10;

/// Longest processor time for a command, in seconds. Unlike wall-clock time it does not depend on load.
const SECONDS: u32 = 20;

/// Runs a command, with limits on its address space and its processor time, to an end of its own: no hang, no
/// signal, no panic.
#[track_caller]
fn ends(mebibytes: usize, target: &Target, args: &[&str]) -> Ran {
    ends_within(SECONDS, mebibytes, target, args)
}

/// Does the same with another limit on processor time, in seconds.
#[track_caller]
fn ends_within(seconds: u32, mebibytes: usize, target: &Target, args: &[&str]) -> Ran {
    let ran = ran(
        target.samuel_after(&format!("ulimit -v {} && ulimit -t {seconds}", mebibytes << 10), args),
        HANG * 4,
    );
    assert!(!ran.hung, "{args:?} hangs");
    let code = ran.code.unwrap_or_else(|| panic!("{args:?} was killed: {}", ran.text()));
    assert!([0, 1, 5].contains(&code), "{args:?} exits {code}: {}", ran.text());
    ran
}

/// A table of so many rows and columns.
fn table(rows: usize, columns: usize, name: impl Fn(usize) -> String) -> String {
    let names: Vec<String> = (0..columns).map(name).collect();
    let row = format!("  {}\n", vec!["1"; columns].join(","));
    format!("t[{rows}]{{{}}}:\n{}", names.join(","), row.repeat(rows))
}

#[test]
fn a_table_of_very_many_columns_is_refused_with_its_place() {
    let target = Target::new();
    target.write("wide.toon", table(2, 200_000, |column| format!("c{column}")));
    for verb in ["decode", "check", "recover"] {
        let ran = ends(MEBIBYTES, &target, &["toon", verb, "wide.toon"]);
        let text = ran.text();
        assert!(text.contains("more than 4096 columns in one table"), "{verb}: {text}");
        assert!(text.contains("1:23") || verb == "check" || verb == "recover", "{verb}: {text}");
    }
}

#[test]
fn columns_of_one_name_are_found_in_one_pass() {
    let target = Target::new();
    target.write("twice.toon", table(100, 4_000, |column| format!("c{}", column % 2_000)));
    for args in [&["toon", "decode", "--no-strict", "twice.toon"][..], &["toon", "recover", "twice.toon"]] {
        let ran = ends(MEBIBYTES, &target, args);
        assert_eq!(ran.code, Some(0), "{}", ran.text());
    }
}

#[test]
fn a_line_of_commas_takes_no_memory() {
    let target = Target::new();
    let commas = ",".repeat(6 << 20);
    for (name, text) in [
        ("inline.toon", format!("a[1]: {commas}\n")),
        ("row.toon", format!("t[1]{{a,b}}:\n  {commas}\n")),
        ("root.toon", commas.clone()),
    ] {
        target.write(name, text);
        for verb in ["decode", "check"] {
            ends(MEBIBYTES, &target, &["toon", verb, name]);
        }
    }
}

#[test]
fn very_many_faults_are_counted_and_the_first_hundred_told() {
    let target = Target::new();
    for (name, text, faults) in [
        ("rows.toon", format!("t[1]{{a,b}}:\n{}", "  ,,\n".repeat(100_000)), 100_001),
        ("stray.toon", format!("a: 1\n{}", "stray\n".repeat(80_000)), 80_000),
        ("keys.toon", "a: 1\n".repeat(80_000), 79_999),
    ] {
        target.write(name, text);
        let ran = ends(MEBIBYTES, &target, &["toon", "check", name]);
        assert!(ran.text().contains(&format!("{faults} faults")), "{name}: {}", head(&ran));
        assert!(ran.text().contains(&format!("and {} more", faults - 100)), "{name}");
        let ran = ends(MEBIBYTES, &target, &["toon", "recover", "--json", name]);
        let answer = ran.json();
        assert_eq!(answer["data"]["diagnostics"].as_array().unwrap().len(), 100, "{name}");
        assert_eq!(answer["data"]["more_diagnostics"], faults - 100, "{name}");
    }
}

fn head(ran: &Ran) -> String {
    ran.text().chars().take(400).collect()
}

const COLUMNS: &str = "id,title,description,status,priority,complexity,parent_id,depends_on,files_to_create,\
    files_to_modify,guardrails,acceptance,source,created_at,completed_at,commit_sha,iteration,skip_reason";

/// A plan with these rows, and something else below them.
fn plan(rows: &[String], below: &str) -> String {
    let mut text = format!("# toon v3\nversion: \"2\"\nrevision: 1\ntasks[{}]{{{COLUMNS}}}:\n", rows.len());
    for row in rows {
        writeln!(text, "  {row}").unwrap();
    }
    text + below
}

fn row(id: usize, status: &str, depends_on: &str, created_at: &str) -> String {
    format!(
        "\"{id}\",t,\"\",{status},medium,medium,null,{depends_on},\"[]\",\"[]\",\"[]\",\"[]\",manual,\
         {created_at},null,null,null,null"
    )
}

// Takes about 12 s: each of the 18 commands reads ten thousand rows or lines.
#[test]
fn very_many_bad_rows_of_a_plan_are_read_and_repaired() {
    let is_long = times(0, 1) > 0;
    // Half of the rows take a quarter of the time where that grows with the square.
    let (count, seconds, told) =
        if is_long { (20_000, SECONDS, "and 19") } else { (10_000, SECONDS / 3, "and 9") };
    let good = || row(1, "pending", "\"[]\"", "null");
    let rows = |bad: &dyn Fn(usize) -> String| {
        std::iter::once(good()).chain((2..=count).map(bad)).collect::<Vec<_>>()
    };
    let plans = [
        ("short", plan(&rows(&|id| format!("\"{id}\",by hand")), ""), count),
        ("one id", plan(&rows(&|_| row(1, "pending", "\"[]\"", "null")), ""), count),
        ("no time", plan(&rows(&|id| row(id, "pending", "\"[]\"", "yesterday")), ""), count),
        ("no list", plan(&rows(&|id| row(id, "pending", "\"[1\"", "null")), ""), count),
        ("strays", plan(&[good()], &"stray line\n".repeat(count)), 1),
        ("kept", plan(&[good()], &format!("unparsed[{count}]:\n{}", "  - a: 1\n".repeat(count))), 1),
    ];
    for (place, (what, text, tasks)) in plans.into_iter().enumerate() {
        let target = Target::new();
        target.write(".samuel/run/prd.toon", &text);
        // In short a plan is repaired after one of the commands that read it as it is.
        let is_made = |way: usize| is_long || place % 3 == way;
        let looks = [(MEBIBYTES, &["run", "status"][..]), (PLUGINS, &["doctor"])];
        for (_, (mebibytes, args)) in looks.into_iter().enumerate().filter(|(way, _)| is_made(*way)) {
            let ran = ends_within(seconds, mebibytes, &target, args);
            assert!(ran.text().contains(told), "{what}: {}", head(&ran));
            assert!(ran.stderr.len() < 20_000, "{what}: {args:?} says too much");
        }
        if is_made(2) {
            let ran = ends_within(seconds, MEBIBYTES, &target, &["run", "done", "1"]);
            assert_eq!(ran.code, Some(0), "{what}: {}", head(&ran));
        }
        let ran = ends_within(seconds, MEBIBYTES, &target, &["doctor", "--fix", "--yes"]);
        assert_eq!(ran.code, Some(0), "{what}: {}", head(&ran));
        // Every task of the plan is there, and what was said to be done is.
        let ran = ends_within(seconds, MEBIBYTES, &target, &["run", "status"]);
        let told = format!("{} of {tasks} completed", usize::from(is_made(2)));
        assert!(ran.text().contains(&told), "{what}: {}", head(&ran));
    }
}

#[test]
fn a_plan_of_tasks_that_depend_on_each_other_is_looked_at_in_one_pass() {
    let tasks = 10_000;
    let depends = |on: usize| row_of(on, tasks);
    let chain: Vec<String> = (0..tasks).map(depends).collect();
    let target = Target::new();
    target.write(".samuel/run/prd.toon", plan(&chain, ""));
    for args in [&["run", "status"][..], &["run", "done", "1"], &["doctor"], &["run", "enqueue", "one more"]]
    {
        ends(PLUGINS, &target, args);
    }
}

/// A task that depends on the next one, the last on the first.
fn row_of(id: usize, tasks: usize) -> String {
    row(id, "pending", &format!("\"[\\\"{}\\\"]\"", (id + 1) % tasks), "null")
}

#[test]
fn an_answer_of_five_megabytes_refuses_the_work_and_fills_nothing() {
    let script = "#!/bin/sh\ncat >/dev/null\nprintf '{\"ok\": false, \"reason\": \"'\n\
                  head -c 5000000 /dev/zero | tr '\\0' w\necho '\"}'\n";
    for kind in ["skill", "wasm"] {
        let target = Target::with_tasks(&["One"]);
        if kind == "skill" {
            target.plugin("words", "words", "quality.check", script);
        } else {
            let tables = "[hooks]\n\"quality.check\" = \"quality-check\"\n[wasm]\nmodule = \"plugin.wasm\"\n";
            target.write("words/samuel-plugin.toml", manifest(kind, "words", tables));
            target.write("words/plugin.wasm", refuses_at_length(5_000_000));
        }
        target.ok(&["install", "words", "--yes"]);
        target.write("script.toml", "[[calls]]\nsteps = [{ done = {} }]\n");
        let settings =
            "agent = \"scripted\"\nagent_command = [\"script.toml\"]\nmax_iterations = 1\npause = 0";
        target.reconfigure("[methodology.ralph]", &format!("[methodology.ralph]\n{settings}"));
        let ran = ran(target.samuel(&["run", "start", "--yes"]), HANG * 2);
        assert!(!ran.hung && ran.code == Some(4), "{kind}: {}", head(&ran));
        assert!(ran.text().len() < 100_000, "{kind}: {} bytes", ran.text().len());
        assert_eq!(target.statuses(), ["pending"], "{kind}");
        let sizes =
            all_below(&target.path(".samuel/run")).into_iter().map(|file| file.metadata().unwrap().len());
        let sum: u64 = sizes.sum();
        assert!(sum < 1 << 20, "{kind}: {sum} bytes");
    }
}
