//! `JUnit` files: the results and times of individual tests, as nextest and pytest write them.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::tally::{Tally, Took};

#[derive(Deserialize)]
struct File {
    #[serde(rename = "testsuite", default)]
    suites: Vec<Suite>,
}

#[derive(Deserialize)]
struct Suite {
    #[serde(rename = "testcase", default)]
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    #[serde(rename = "@classname")]
    suite: String,
    #[serde(rename = "@name")]
    name: String,
    /// In seconds.
    #[serde(rename = "@time")]
    time: f64,
    #[serde(alias = "error")]
    failure: Option<Outcome>,
    /// The failed attempts before an attempt that passed.
    #[serde(rename = "flakyFailure", default)]
    flaky: Vec<Outcome>,
    skipped: Option<Outcome>,
    #[serde(rename = "system-out", default)]
    stdout: String,
    #[serde(rename = "system-err", default)]
    stderr: String,
}

#[derive(Deserialize)]
struct Outcome {
    #[serde(rename = "@message", default)]
    message: String,
    #[serde(rename = "$text", default)]
    text: String,
}

/// Adds the tests of a file to a tally.
///
/// # Errors
/// Fails if the file cannot be read or contains no test.
pub(super) fn read(path: &Path, tally: &mut Tally) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    add(&text, tally).with_context(|| format!("{} cannot be read", path.display()))
}

fn add(text: &str, tally: &mut Tally) -> Result<()> {
    let file: File = quick_xml::de::from_str(text)?;
    let tests = file.suites.into_iter().flat_map(|suite| suite.tests);
    let mut count = 0;
    for test in tests {
        count += 1;
        let name = format!("{} {}", test.suite, test.name);
        let passed = test.failure.is_none();
        if let Some(first) = test.flaky.into_iter().next() {
            tally.flaky(&name, &[first.message, first.text].join("\n"));
        }
        if let Some(failure) = test.failure {
            tally.fail(&name, &[failure.message, failure.text, test.stdout, test.stderr].join("\n"));
        } else if let Some(skipped) = test.skipped {
            tally.skip(&skipped.message);
        } else if let Some(reason) = test.stdout.lines().find_map(|line| line.trim().strip_prefix("skipped:"))
        {
            tally.skip(reason.trim());
        } else {
            tally.pass();
        }
        let time = Duration::try_from_secs_f64(test.time).unwrap_or_default();
        tally.tests.push(Took { name, time, passed });
    }
    ensure!(count > 0, "no test in it");
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const NEXTEST: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0" uuid="u" timestamp="t" time="1.5">
    <testsuite name="samuel-toon" tests="4" disabled="0" errors="0" failures="1">
        <testcase name="limits::deep" classname="samuel-toon" timestamp="t" time="0.250">
        </testcase>
        <testcase name="limits::wide" classname="samuel-toon" timestamp="t" time="120.003">
            <failure message="test timed out" type="test timeout">no panic</failure>
            <system-out>so far &lt;this&gt;</system-out>
            <system-err></system-err>
        </testcase>
        <testcase name="limits::late" classname="samuel-toon" timestamp="t" time="0.100">
            <flakyFailure timestamp="t" time="0.2" message="panicked" type="failure">too late</flakyFailure>
        </testcase>
        <testcase name="oracle::same" classname="samuel-toon" timestamp="t" time="0.001">
            <system-out>running 1 test
skipped: npm is not installed
</system-out>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn reads_results_times_and_reasons() {
        let mut tally = Tally::default();
        add(NEXTEST, &mut tally).unwrap();
        assert_eq!((tally.passed(), tally.failed()), (2, 1));
        let flaky = tally.flaky.first().unwrap();
        assert_eq!(flaky.name, "samuel-toon limits::late");
        assert_eq!(flaky.output, "panicked\ntoo late");
        assert_eq!(tally.skipped, ["npm is not installed"]);
        let failure = tally.failures.first().unwrap();
        assert_eq!(failure.name, "samuel-toon limits::wide");
        assert!(failure.output.contains("timed out") && failure.output.contains("so far <this>"));
        assert_eq!(tally.tests.get(1).unwrap().time, Duration::from_millis(120_003));
    }

    #[test]
    fn rejects_a_file_without_tests() {
        for text in ["", "<testsuites></testsuites>", "<testsuites><testsuite/></testsuites>"] {
            assert!(add(text, &mut Tally::default()).is_err(), "{text}");
        }
    }
}
