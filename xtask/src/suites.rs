//! The test programs of the workspace.
//!
//! `cargo test` runs them one after the other. The tests of some wait most of their time, for a container or an agent: those
//! are a list of their own, so that something else can be done meanwhile.

use std::{
    fs::File,
    io::{self, ErrorKind},
    path::PathBuf,
    process::Stdio,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{
    tally::Tally,
    test::{repeat, seconds, tell_length, told},
    workspace::{call, cargo, wait},
};

/// The programs that wait, by package and target, and those that call cargo: two calls of it wait for each other anyway.
const WAITING: [&str; 10] = [
    "compile_fail compile_fail",
    "tests containers",
    "tests e2e_agents",
    "tests newcomer",
    "tests parity",
    "tests plugin_examples",
    "tests plugin_scaffolds",
    "tests real_agent_contained",
    "tests real_agents",
    "tests sandbox_oci",
];
/// How long one may take of the short form, several times what the longest does.
const LIMIT: Duration = Duration::from_secs(25 * 60);
/// How long one may take of the long form.
const LONG_LIMIT: Duration = Duration::from_secs(6 * 60 * 60);

/// A program of tests.
#[derive(Debug, PartialEq)]
pub(crate) struct Suite {
    /// The directory of its package and its target, such as `samuel-core history`.
    name: String,
    program: PathBuf,
    /// The directory of its package, in which it runs.
    package: PathBuf,
}

/// All programs.
#[derive(Debug, PartialEq)]
pub(crate) struct Suites {
    /// Those whose tests wait most of the time.
    pub(crate) waiting: Vec<Suite>,
    /// Those of the command, which start it.
    pub(crate) of_command: Vec<Suite>,
    /// Those that take what processors there are.
    pub(crate) busy: Vec<Suite>,
}

/// Runs programs one after the other, and counts their tests.
pub(crate) fn run(suites: &[Suite], tally: &mut Tally, long: bool) {
    for suite in suites {
        if let Err(error) = suite.run(long, tally) {
            told(tally, &suite.name, &error);
        }
    }
}

/// Builds the programs; the tests in documentation are in none of them.
///
/// # Errors
/// Fails where one does not build, or what cargo says of them cannot be read.
pub(crate) fn build() -> Result<Suites> {
    let mut build = cargo(&["test", "--workspace", "--no-run", "--locked"]);
    build.args(["--message-format", "json-render-diagnostics"]);
    let output = build.stderr(Stdio::inherit()).output().context("cargo cannot be run")?;
    ensure!(output.status.success(), "the tests do not build");
    suites(&String::from_utf8(output.stdout)?)
}

/// Reads what cargo says of what it built, line by line.
fn suites(said: &str) -> Result<Suites> {
    let mut all = Vec::new();
    for line in said.lines() {
        let message: Value = serde_json::from_str(line).with_context(|| format!("cargo said: {line}"))?;
        all.extend(suite(&message).with_context(|| format!("cargo said: {line}"))?);
    }
    ensure!(!all.is_empty(), "cargo names no program of tests");
    all.sort_unstable_by(|one: &Suite, other| one.name.cmp(&other.name));
    let (waiting, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|suite| WAITING.contains(&suite.name.as_str()));
    let (of_command, busy) = others.into_iter().partition(|suite| suite.name.starts_with("cli "));
    Ok(Suites { waiting, of_command, busy })
}

/// Reads a message of cargo's; most are of no program of tests.
fn suite(message: &Value) -> Result<Option<Suite>> {
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    if text("/reason") != Some("compiler-artifact") {
        return Ok(None);
    }
    let is_test = message.pointer("/profile/test").and_then(Value::as_bool);
    if !is_test.context("it does not say whether that is a test")? {
        return Ok(None);
    }
    let program = PathBuf::from(text("/executable").context("a test without a program")?);
    let manifest = PathBuf::from(text("/manifest_path").context("a test of no package")?);
    let package = manifest.parent().context("a package in no directory")?.to_owned();
    let target = text("/target/name").context("a test without a name")?;
    let name = format!("{} {target}", package.file_name().unwrap_or_default().to_string_lossy());
    Ok(Some(Suite { name, program, package }))
}

impl Suite {
    /// Runs the program as `cargo test` does, and counts its tests.
    fn run(&self, long: bool, tally: &mut Tally) -> Result<()> {
        let began = seconds();
        println!("== {} (at {began} s)", self.name);
        let printed = tempfile::NamedTempFile::new().context("no file for what tests print")?;
        // At its end: what a program leaves behind may write later, while it is read.
        let output = File::options().append(true).open(printed.path())?;
        let mut command = call(&self.program);
        command.arg("--show-output").current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package);
        tell_length(&mut command, long);
        let mut child = command.stdout(output).spawn().context("it cannot be run")?;
        let limit = if long { LONG_LIMIT } else { LIMIT };
        let late =
            || io::Error::new(ErrorKind::TimedOut, format!("ended after {} minutes", limit.as_secs() / 60));
        let status = wait(&mut child, limit).and_then(|status| status.ok_or_else(late));

        // Whole, so that what two of them print is not mixed.
        let stdout = io::stdout().lock();
        println!("== {} took {} s", self.name, seconds() - began);
        let programs = tally.programs;
        repeat(tally, &self.name, printed.reopen()?, || status)?;
        drop(stdout);
        ensure!(tally.programs > programs, "it does not say what its tests came to");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","manifest_path":"/s/core/Cargo.toml","target":{"name":"core"},"profile":{"test":false},"executable":null}"#;
    const TEST: &str = r#"{"reason":"compiler-artifact","manifest_path":"/s/core/Cargo.toml","target":{"name":"history"},"profile":{"test":true},"executable":"/t/history-1"}"#;
    const END: &str = r#"{"reason":"build-finished","success":true}"#;

    #[test]
    fn of_what_cargo_built_the_tests_are_taken() {
        let waiting = TEST.replace("history-1", "containers-2").replace("history", "containers");
        let waiting = waiting.replace("/s/core", "/s/tests");
        let of_command = TEST.replace("/s/core", "/s/cli");
        let found = suites(&[LIBRARY, TEST, &waiting, &of_command, END].join("\n")).unwrap();
        let expected = |name: &str, program: &str, package: &str| Suite {
            name: name.to_owned(),
            program: program.into(),
            package: package.into(),
        };
        assert_eq!(found.busy, [expected("core history", "/t/history-1", "/s/core")]);
        assert_eq!(found.of_command, [expected("cli history", "/t/history-1", "/s/cli")]);
        assert_eq!(found.waiting, [expected("tests containers", "/t/containers-2", "/s/tests")]);
    }

    #[test]
    fn a_test_that_cannot_be_told_is_an_error_and_so_is_none_at_all() {
        for said in [
            LIBRARY.to_owned(),
            format!("{TEST}\nhello"),
            TEST.replace("profile", "profil"),
            TEST.replace("executable", "program"),
        ] {
            assert!(suites(&said).is_err(), "{said}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_says_nothing_of_its_tests_or_does_not_end_has_not_passed() {
        let suite =
            |program: &str| Suite { name: "s".to_owned(), program: program.into(), package: "/".into() };
        let mut tally = Tally::default();
        assert!(suite("/bin/true").run(false, &mut tally).is_err());
        assert!(suite("/nothing/there").run(false, &mut tally).is_err());
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        assert!(wait(&mut child, Duration::ZERO).unwrap().is_none());
        assert!(child.try_wait().unwrap().is_some());
    }
}
