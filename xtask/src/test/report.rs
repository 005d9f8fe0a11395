//! The end of a run of the test command: a table of times, skips, failures and counts.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::tally::{Tally, Took};

/// The maximum number of tests that are listed.
const SLOWEST: usize = 20;

/// Prints the table of times, the skipped tests with their reasons, the failures, and the counts on the last line.
pub(super) fn print(tally: &Tally, total: Duration) {
    println!("\n  time  step");
    for step in &tally.steps {
        println!("{} {}{}", minutes(step.time), step.name, if step.passed { "" } else { "  failed" });
    }
    println!("{} in all\n", minutes(total));
    let slowest = slowest(&tally.tests);
    if !slowest.is_empty() {
        println!("  time  slowest tests");
    }
    for test in slowest {
        println!("{:5.1}s {}", test.time.as_secs_f64(), test.name);
    }
    println!();
    for failure in
        tally.flaky.iter().chain(&tally.failures).filter(|failure| !failure.output.trim().is_empty())
    {
        println!("---- {}\n{}\n", failure.name, failure.output.trim());
    }
    for (reason, times) in reasons(&tally.skipped) {
        let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
        println!("skipped: {reason}{times}");
    }
    for flaky in &tally.flaky {
        println!("flaky, passed on the second attempt: {}", flaky.name);
    }
    for failure in &tally.failures {
        println!("failed: {}", failure.name);
    }
    println!("{} passed, {} failed, {} skipped", tally.passed(), tally.failed(), tally.skipped.len());
}

/// Writes all times and skips as JSON: `steps` and `tests` with `name`, `seconds` and `passed`, `flaky` with the names of
/// tests that passed on the second attempt, and `skipped` with a count for each reason.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn save(tally: &Tally, path: &Path) -> Result<()> {
    let times = |times: Vec<&Took>| -> Vec<Value> {
        let seconds = |time: Duration| (time.as_secs_f64() * 1000.0).round() / 1000.0;
        times
            .into_iter()
            .map(|took| json!({ "name": took.name, "seconds": seconds(took.time), "passed": took.passed }))
            .collect()
    };
    let mut tests: Vec<&Took> = tally.tests.iter().collect();
    tests.sort_by_key(|test| std::cmp::Reverse(test.time));
    let document = json!({
        "steps": times(tally.steps.iter().collect()),
        "tests": times(tests),
        "flaky": tally.flaky.iter().map(|test| &test.name).collect::<Vec<_>>(),
        "skipped": reasons(&tally.skipped),
    });
    fs::write(path, format!("{document:#}\n"))
        .with_context(|| format!("{} cannot be written", path.display()))
}

fn slowest(tests: &[Took]) -> Vec<&Took> {
    let mut tests: Vec<&Took> = tests.iter().collect();
    tests.sort_by_key(|test| std::cmp::Reverse(test.time));
    tests.truncate(SLOWEST);
    tests
}

fn reasons(skipped: &[String]) -> BTreeMap<&str, usize> {
    let mut reasons = BTreeMap::new();
    for reason in skipped {
        *reasons.entry(reason.as_str()).or_default() += 1;
    }
    reasons
}

fn minutes(time: Duration) -> String {
    format!("{:3}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}
