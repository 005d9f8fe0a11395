//! The results of a run of the test command: counts, failures, skips and times.

use std::{fmt::Debug, process::Command, time::Duration};

use anyhow::Result;

use crate::workspace::finish;

/// The maximum number of lines that are kept from the output of a failed test.
const MAX_LINES: usize = 60;

/// A failed test or step.
#[derive(Debug, PartialEq)]
pub(super) struct Failure {
    pub(super) name: String,
    /// The last lines that it printed.
    pub(super) output: String,
}

impl Failure {
    fn new(name: &str, output: &str) -> Failure {
        let skipped = output.lines().count().saturating_sub(MAX_LINES);
        let output = output.lines().skip(skipped).collect::<Vec<_>>().join("\n");
        Failure { name: name.to_owned(), output }
    }
}

/// The time that a step or test took.
#[derive(Debug, PartialEq)]
pub(super) struct Took {
    pub(super) name: String,
    pub(super) time: Duration,
    pub(super) passed: bool,
}

/// Counts, failures, skips and times.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// May be negative while the output of a program is read, because its skips come before its number of passed tests.
    passed: i64,
    pub(super) failures: Vec<Failure>,
    /// Tests that failed at first and passed on the second attempt, with the output of the first attempt.
    pub(super) flaky: Vec<Failure>,
    /// The reason of each test and step that did not run.
    pub(super) skipped: Vec<String>,
    pub(super) steps: Vec<Took>,
    pub(super) tests: Vec<Took>,
}

impl Tally {
    pub(crate) fn failed(&self) -> usize {
        self.failures.len()
    }

    pub(super) fn passed(&self) -> i64 {
        self.passed
    }

    /// Records a test or step that did not run.
    pub(crate) fn skip(&mut self, reason: &str) {
        self.skipped.push(reason.to_owned());
    }

    pub(super) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Records a failure with the end of its output.
    pub(crate) fn fail(&mut self, name: &str, output: &str) {
        self.failures.push(Failure::new(name, output));
    }

    /// Records a test that failed and then passed. It is also counted as passed.
    pub(super) fn flaky(&mut self, name: &str, output: &str) {
        self.flaky.push(Failure::new(name, output));
    }

    /// Records a check that counts as one test.
    pub(crate) fn check(&mut self, name: &str, passed: bool) {
        if passed {
            self.pass();
        } else {
            self.fail(name, "");
        }
    }

    /// Records a passed check that counts as one test, or returns the error of a failed check.
    pub(super) fn result<T>(&mut self, result: Result<T>) -> Result<()> {
        result?;
        self.pass();
        Ok(())
    }

    /// Runs a command that counts as one test.
    ///
    /// # Errors
    /// Fails if the command cannot be run, or takes too long.
    pub(super) fn status(&mut self, name: &str, command: &mut Command) -> Result<()> {
        self.check(name, finish(name, command)?.success());
        Ok(())
    }

    pub(super) fn took(&mut self, step: &str, time: Duration, passed: bool) {
        self.steps.push(Took { name: step.to_owned(), time, passed });
    }

    /// Adds the results of another tally.
    pub(super) fn add(&mut self, other: Tally) {
        let Tally { passed, failures, flaky, skipped, steps, tests } = other;
        self.passed += passed;
        self.failures.extend(failures);
        self.flaky.extend(flaky);
        self.skipped.extend(skipped);
        self.steps.extend(steps);
        self.tests.extend(tests);
    }

    /// Reads one output line of the standard Rust harness, which includes the output of passed tests.
    pub(super) fn read_harness(&mut self, line: &str) {
        let line = line.trim();
        if let Some(reason) = line.strip_prefix("skipped:") {
            self.skip(reason.trim());
            // The harness counts a skipped test as passed.
            self.passed -= 1;
        } else if let Some(counts) = line.strip_prefix("test result:") {
            self.passed += number_before(counts, " passed");
        } else if let Some((name, result)) =
            line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... "))
        {
            match result.split_once(',').map_or((result, ""), |(word, reason)| (word, reason.trim())) {
                ("ignored", "") => self.skip(&format!("{name} is ignored")),
                ("ignored", reason) => self.skip(&format!("{name}: {reason}")),
                ("FAILED", _) => self.fail(name, ""),
                _ => {}
            }
        }
    }
}

/// Returns the number before a word, as in `; 3 passed;`.
fn number_before(text: &str, word: &str) -> i64 {
    let before = text.split(word).next().unwrap_or_default();
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_the_harness_prints() {
        let mut tally = Tally::default();
        let output = "\
            running 4 tests\n\
            test a ... ok\n\
            test b ... FAILED\n\
            test c ... ignored, takes an hour\n\
            test docs - run (line 3) ... ignored\n\
            skipped: npm cannot be run\n\
            test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        output.lines().for_each(|line| tally.read_harness(line));
        assert_eq!((tally.passed(), tally.failed()), (11, 1));
        assert_eq!(tally.failures.first().map(|failure| failure.name.as_str()), Some("b"));
        let expected = ["c: takes an hour", "docs - run (line 3) is ignored", "npm cannot be run"];
        assert_eq!(tally.skipped, expected);
    }

    #[test]
    fn keeps_the_end_of_long_output() {
        let mut tally = Tally::default();
        let output: Vec<String> = (0..1000).map(|line| line.to_string()).collect();
        tally.fail("test", &output.join("\n"));
        let kept = tally.failures.first().map(|failure| failure.output.clone()).unwrap_or_default();
        assert_eq!(kept.lines().count(), MAX_LINES);
        assert!(kept.ends_with("999"));
    }
}
