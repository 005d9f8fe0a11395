//! A run of very many iterations: what it needs, what it leaves, and how fast its record is read.
//!
//! In short it makes 50; `SAMUEL_LONG=1` makes ten thousand, in which the agent says a gigabyte.

use std::{
    ffi::OsString,
    fs,
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::bench::Bench;

/// How much memory a run may take, in KiB, and how much more at its end than early in it.
const MEMORY: u64 = 50 << 10;
const GROWTH: u64 = 8 << 10;
/// How much is kept of runs that have ended, in bytes.
const KEPT: u64 = 20_000_000;
/// How many files lie beside the record of a short run, as they do after a long one.
const FILES: usize = 20_000;
/// How many bytes the plan, the journal and the progress log may have beside the logs.
const OTHERS: u64 = 30_000_000;
/// How large a page may be, in bytes.
const PAGE: usize = 5_000_000;

/// How many iterations there are, and how many bytes the agent says in each.
fn size() -> (u64, usize) {
    if std::env::var_os("SAMUEL_LONG").is_some() { (10_000, 100_000) } else { (50, 120_000) }
}

/// A project whose agent says much and changes a file in each iteration, within Samuel itself.
fn talkative(said: usize) -> Bench {
    let bench = Bench::with_tasks(&["First"]);
    bench.configure(&format!("keep_bytes = {KEPT}\nmax_iterations = 0"));
    let line = "all work and no play ".repeat(50);
    let say = format!("{{ say = \"{line}\" }}");
    let says = vec![say; said / line.len()].join(",\n");
    let write = "{ write = { path = \"n\", content = \"{{iteration}}\" } }";
    bench.write(
        "script.toml",
        &format!("[[calls]]\ntask = \"1\"\nrepeat = true\nsteps = [\n{write},\n{says}\n]\n"),
    );
    bench
}

/// Makes a run of so many iterations, and returns how long it took and how much memory it had from time to time, in KiB.
/// So many files are put among its logs.
fn run(bench: &Bench, iterations: u64, files: usize) -> (Duration, Vec<u64>) {
    let logs = bench.path(".samuel/run/logs");
    let before = names_in(&logs);
    let mut is_crowded = files == 0;
    let limit = iterations.to_string();
    let words =
        ["run", "start", "--yes", "--pause", "0", "--agent", "scripted", "--agent-command", "script.toml"];
    let started = Instant::now();
    let mut command = bench.command(&[&words[..], &["--max-iterations", &limit]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut memory = Vec::new();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        memory.extend(memory_of(&child));
        if !is_crowded && let Some(run) = names_in(&logs).iter().find(|run| !before.contains(run)) {
            (0..files)
                .for_each(|number| fs::write(logs.join(run).join(format!("0-{number}.out")), "").unwrap());
            is_crowded = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, Some(4), "the limit of iterations ends it");
    (started.elapsed(), memory)
}

/// Returns the names of what lies in a directory, where there is one.
fn names_in(directory: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name()).collect()
}

/// Returns how much memory of its own a process has, in KiB.
fn memory_of(child: &Child) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Returns how many bytes the files below a directory hold.
fn bytes_in(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.file_type().unwrap().is_dir() {
            true => bytes_in(&entry.path()),
            false => entry.metadata().unwrap().len(),
        })
        .sum()
}

// Takes about 14 s: the agent says six megabytes, and 20,000 files are made among the logs.
#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "the figures are what it is for")]
fn a_run_whose_agent_says_very_much_needs_little_memory_and_leaves_no_more_than_is_kept() {
    let (iterations, said) = size();
    let bench = talkative(said);
    let logs = bench.path(".samuel/run/logs");
    run(&bench, 2, 0);
    let (took, memory) = run(&bench, iterations, if iterations < 10_000 { FILES } else { 0 });
    let most = memory.iter().max().copied().unwrap_or_default();
    let tenth = memory.len() / 10;
    let early = memory.iter().skip(tenth).take(tenth.max(1)).max().copied().unwrap_or_default();
    let late = memory.iter().rev().take(tenth.max(1)).max().copied().unwrap_or_default();
    let newest = || logs.join(last_run(&bench)["run"].as_str().unwrap());
    let (of_run, all) = (bytes_in(&newest()), bytes_in(&bench.path(".samuel/run")));
    // The next run has room for what is kept of those before it.
    run(&bench, 2, 0);
    let (last, after) = (bytes_in(&newest()), bytes_in(&logs));
    println!(
        "{iterations} iterations with {said} bytes said in each took {took:.1?}; memory {early} KiB early, {late} KiB late, \
         {most} KiB at most; record and logs {of_run} bytes, the run directory {all}, the logs after the next run {after}"
    );
    assert!(most < MEMORY, "{most} KiB");
    assert!(late < early + GROWTH, "{early} KiB early, {late} KiB late");
    assert!(all < KEPT + of_run + OTHERS, "{all} bytes, {of_run} of the run");
    assert!(after < KEPT + last, "{after} bytes, {last} of the last run");
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "the figures are what it is for")]
fn very_many_iterations_are_replayed_much_faster_than_they_ran_and_have_a_small_page() {
    let (iterations, _) = size();
    let bench = talkative(0);
    let (took, _) = run(&bench, iterations, 0);
    let run = last_run(&bench);
    assert_eq!(run["iterations"], iterations, "{run}");
    let id = run["run"].as_str().unwrap();
    let began = Instant::now();
    let replay = bench.replay(id).unwrap();
    let replayed = began.elapsed();
    assert_eq!((replay.equal, u64::from(replay.iterations)), (true, iterations), "{replay}");
    let page = bench.ok(&["run", "report", id, "--format", "html"]).stdout.len();
    let faster = took.as_secs_f64() / replayed.as_secs_f64();
    println!(
        "{iterations} iterations took {took:.1?}; replayed in {replayed:.1?}, {faster:.0}x faster; page {page} bytes"
    );
    assert!(page < PAGE, "{page} bytes");
    // Reading is all computing and running mostly waits, so that a build that is not optimised says little; `cargo xtask
    // bench loop replay` holds twenty times. Of a short record the figure says less.
    let wanted = if cfg!(debug_assertions) { 3.0 } else { 20.0 };
    assert!(iterations < 10_000 || faster >= wanted, "{faster}");
    assert!(faster >= 1.0, "{faster}");
}

/// Returns the last run, as it is listed.
fn last_run(bench: &Bench) -> Value {
    bench.ok(&["run", "runs", "--json"]).json()["data"]["runs"][0].clone()
}
