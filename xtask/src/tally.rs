//! What tests printed, counted.
//!
//! A [`Tally`] reads the output of test programs line by line: the harness's
//! `test result:` lines, tests it ignored, and lines by which a test says that
//! it could not run here, `skipped: <reason>`. Such a test passes as far as the
//! harness knows; it is counted as skipped all the same.

/// How many checks passed, failed and were skipped, and why.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Those that passed, as far as their harness knows.
    reported: usize,
    /// Those among them that said they could not run.
    unrun: usize,
    /// Those that failed.
    pub(crate) failed: usize,
    /// How many programs of tests said what theirs came to.
    pub(crate) programs: usize,
    /// Why each of the others did not run.
    pub(crate) skipped: Vec<String>,
    /// What failed, by name.
    pub(crate) failures: Vec<String>,
    /// What the failed tests printed.
    said: Vec<String>,
    /// Whether the lines that are read are a failed test's.
    listens: bool,
}

/// As much as is repeated of what failed tests printed, in lines.
const MAX_SAID: usize = 400;

impl Tally {
    /// Takes down one line of a test program.
    pub(crate) fn read(&mut self, line: &str) {
        self.listen(line);
        let line = line.trim();
        if let Some(summary) = pytest_summary(line) {
            self.reported += number_before(summary, " passed");
            self.failed += number_before(summary, " failed") + number_before(summary, " error");
        } else if let Some(skipped) = line.strip_prefix("SKIPPED [") {
            let reason = skipped.split_once(": ").map_or(skipped, |(_, reason)| reason);
            for _ in 0..number_before(&format!(" {skipped}"), "]").max(1) {
                self.skip(reason);
            }
        } else if let Some(test) = line.strip_prefix("FAILED ") {
            self.failures.push(test.to_owned());
        } else if let Some(reason) = line.strip_prefix("skipped:") {
            self.skip(reason.trim());
            self.unrun += 1;
        } else if let Some(counts) = line.strip_prefix("test result:") {
            self.programs += 1;
            self.reported += number_before(counts, " passed");
            self.failed += number_before(counts, " failed");
        } else if let Some(test) = line.strip_prefix("test ") {
            self.read_test(test);
        }
    }

    /// Keeps what a failed test printed. The harness repeats every test's
    /// output below a line with its name, those of passed tests first, and ends
    /// with a list of names.
    fn listen(&mut self, line: &str) {
        let name = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        if let Some(name) = name {
            self.listens = self.failures.iter().any(|failed| failed == name);
        } else if matches!(line, "failures:" | "successes:") {
            self.listens = false;
        }
        if self.listens && self.said.len() < MAX_SAID {
            self.said.push(line.to_owned());
        }
    }

    fn read_test(&mut self, test: &str) {
        let Some((name, result)) = test.rsplit_once(" ... ") else { return };
        match result.split_once(',').map_or((result, ""), |(word, reason)| (word, reason.trim())) {
            ("ignored", "") => self.skip(&format!("{name} is ignored")),
            ("ignored", reason) => self.skip(&format!("{name}: {reason}")),
            ("FAILED", _) => self.failures.push(name.to_owned()),
            _ => {}
        }
    }

    /// Takes down something that did not run.
    pub(crate) fn skip(&mut self, reason: &str) {
        self.skipped.push(reason.to_owned());
    }

    /// Takes down a check that is one as a whole.
    pub(crate) fn check(&mut self, name: &str, passed: bool) {
        if passed {
            self.reported += 1;
        } else {
            self.failed += 1;
            self.failures.push(name.to_owned());
        }
    }

    /// Takes over what another one counted.
    pub(crate) fn add(&mut self, other: Tally) {
        let Tally { reported, unrun, failed, programs, skipped, failures, said, listens: _ } = other;
        self.reported += reported;
        self.unrun += unrun;
        self.failed += failed;
        self.programs += programs;
        self.skipped.extend(skipped);
        self.failures.extend(failures);
        self.said.extend(said);
    }

    /// Returns how many passed.
    pub(crate) fn passed(&self) -> usize {
        self.reported.saturating_sub(self.unrun)
    }

    /// Prints what was skipped and what failed, and the counts as last line.
    pub(crate) fn print(&self) {
        println!();
        for line in &self.said {
            println!("{line}");
        }
        let mut reasons: Vec<(&str, usize)> = Vec::new();
        for reason in &self.skipped {
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, times)) => *times += 1,
                None => reasons.push((reason, 1)),
            }
        }
        for (reason, times) in reasons {
            let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
            println!("skipped: {reason}{times}");
        }
        for name in &self.failures {
            println!("failed: {name}");
        }
        println!("{} passed, {} failed, {} skipped", self.passed(), self.failed, self.skipped.len());
    }
}

/// Returns the closing line of pytest, such as `3 passed, 1 skipped in 0.12s`.
fn pytest_summary(line: &str) -> Option<&str> {
    let line = line.trim_matches(['=', ' ']);
    let (counts, time) = line.rsplit_once(" in ")?;
    let is_time = time.starts_with(|c: char| c.is_ascii_digit()) && time.contains('s');
    let counts_tests = counts.starts_with(|c: char| c.is_ascii_digit())
        && [" passed", " failed", " error", " skipped"].iter().any(|word| counts.contains(word));
    (is_time && counts_tests).then_some(counts)
}

/// Returns the number that stands before a word, as in `; 3 passed;`.
fn number_before(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up_and_skipped_tests_are_no_passes() {
        let mut tally = Tally::default();
        let output = "\
            running 4 tests\n\
            test a ... ok\n\
            test b ... FAILED\n\
            test c ... ignored, takes an hour\n\
            test docs - run (line 3) ... ignored\n\
            ---- d stdout ----\n\
            skipped: npm cannot be run\n\
            test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        output.lines().for_each(|line| tally.read(line));
        assert_eq!((tally.passed(), tally.failed), (11, 1));
        assert_eq!(tally.failures, ["b"]);
        let expected = ["c: takes an hour", "docs - run (line 3) is ignored", "npm cannot be run"];
        assert_eq!(tally.skipped, expected);
    }

    #[test]
    fn what_failed_tests_printed_is_kept() {
        let mut tally = Tally::default();
        let output = "\
            test a ... ok\n\
            test b ... FAILED\n\
            successes:\n\
            ---- a stdout ----\n\
            fine\n\
            failures:\n\
            ---- b stdout ----\n\
            thread 'b' panicked\n\
            failures:\n\
            b\n";
        output.lines().for_each(|line| tally.read(line));
        assert_eq!(tally.said, ["---- b stdout ----", "thread 'b' panicked"]);
    }

    #[test]
    fn the_tests_of_python_are_counted_too() {
        let mut tally = Tally::default();
        let output = "\
            SKIPPED [2] tests/test_a.py:3: mypy is not installed\n\
            FAILED tests/test_b.py::test_c - assert 1 == 2\n\
            1 failed, 12 passed, 2 skipped in 3.21s\n\
            the demonstration passed in 3 places\n";
        output.lines().for_each(|line| tally.read(line));
        assert_eq!((tally.passed(), tally.failed), (12, 1));
        assert_eq!(tally.failures, ["tests/test_b.py::test_c - assert 1 == 2"]);
        assert_eq!(tally.skipped, ["mypy is not installed", "mypy is not installed"]);
    }

    #[test]
    fn what_was_counted_apart_is_taken_over_whole() {
        let (mut tally, mut other) = (Tally::default(), Tally::default());
        tally.check("lints", true);
        let output = "\
            test a ... FAILED\n\
            test b ... ignored\n\
            ---- a stdout ----\n\
            thread 'a' panicked\n\
            skipped: no npm\n\
            test result: FAILED. 2 passed; 1 failed; 1 ignored\n";
        output.lines().for_each(|line| other.read(line));
        tally.add(other);
        assert_eq!((tally.passed(), tally.failed), (2, 1));
        assert_eq!(tally.skipped, ["b is ignored", "no npm"]);
        assert_eq!(tally.failures, ["a"]);
        assert_eq!(
            tally.said.get(..2),
            Some(&["---- a stdout ----".to_owned(), "thread 'a' panicked".to_owned()][..])
        );
    }

    #[test]
    fn a_check_counts_as_one() {
        let mut tally = Tally::default();
        tally.check("format", true);
        tally.check("lints", false);
        assert_eq!(
            (tally.passed(), tally.failed, tally.failures.as_slice()),
            (1, 1, &["lints".to_owned()][..])
        );
    }
}
