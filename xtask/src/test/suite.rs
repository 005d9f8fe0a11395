//! Test programs: run by nextest if it is installed, otherwise by `cargo test`.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    path::Path,
    process::{ChildStdout, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use super::{LONG_LIMIT, NEXTEST, Options, Tally, junit, set_length, works};
use crate::workspace::{LIMIT, cargo, root, wait};

/// The variable that marks the processes of a test run, to find the processes that outlive the tests.
const RUN: &str = "SAMUEL_TEST_RUN";

/// The arguments that make the standard harness print the output of passed tests, which contains the reasons for skips.
const SHOW_OUTPUT: [&str; 2] = ["--", "--show-output"];

/// Runs the tests of all packages, except those in documentation and the behavior table.
pub(super) fn tests(options: &Options, tally: &mut Tally) -> Result<()> {
    if !works(NEXTEST) {
        tally.skip(
            "cargo-nextest is not installed: tests run without individual timeouts and times; install it with \
             `cargo install cargo-nextest --locked`",
        );
        let test = ["test", "--lib", "--bins", "--tests", "--no-fail-fast", "--locked"];
        return options.selection.cargo_test().iter().try_for_each(|selected| {
            let before = (tally.passed(), tally.failed());
            counted(options, tally, "tests", cargo(&test).args(selected).args(SHOW_OUTPUT))?;
            if (tally.passed(), tally.failed()) == before {
                tally.fail(&format!("no test ran with {}", selected.join(" ")), "");
            }
            Ok(())
        });
    }
    let profile = if options.long { "long" } else { "default" };
    let times = root().join("target/nextest").join(profile).join("junit.xml");
    let mut nextest = cargo(&["nextest", "run", "--locked", "--profile", profile]);
    nextest.args(options.selection.nextest()).env(RUN, std::process::id().to_string());
    let result = run_with_times(options, tally, "tests", &mut nextest, &times);
    for process in left_behind() {
        tally.fail("a process outlived the tests", &process);
    }
    for word in options.selection.names() {
        if !tally.tests.iter().any(|test| test.name.contains(word)) {
            tally.fail(&format!("no test has \"{word}\" in its name"), &options.selection.known(word));
        }
    }
    result
}

/// Runs the behavior table with its own runner. Without nextest, `cargo test` has already done this.
pub(super) fn table(options: &Options, tally: &mut Tally) -> Result<()> {
    if !works(NEXTEST) && options.selection.has_step("tests") && options.selection.has_all_tests() {
        return Ok(());
    }
    // Without `--workspace`, cargo would compile the core again with other features.
    let mut table = cargo(&["test", "--workspace", "--test", "parity", "--locked"]);
    counted(options, tally, "table", table.args(SHOW_OUTPUT))
}

/// Runs a command that writes the results of its tests to a `JUnit` file.
///
/// # Errors
/// Fails if the command cannot be run, or takes too long.
pub(super) fn run_with_times(
    options: &Options,
    tally: &mut Tally,
    name: &str,
    command: &mut Command,
    times: &Path,
) -> Result<()> {
    // The file of an earlier run is not valid for this one.
    let _ = fs::remove_file(times);
    set_length(command, options.long);
    let mut child = command.stdin(Stdio::null()).spawn().with_context(|| format!("{name} cannot be run"))?;
    let limit = limit(options);
    let status = wait(&mut child, limit)?;
    let failed = tally.failed();
    // The file is missing if the tests do not build.
    if times.exists() {
        junit::read(times, tally)?;
    }
    let Some(status) = status else { bail!("killed after {} minutes", limit.as_secs() / 60) };
    if !status.success() && tally.failed() == failed {
        tally.fail(name, &format!("it ended with {status}"));
    }
    Ok(())
}

/// Runs a cargo command whose tests use the standard harness, and counts the tests from its output.
///
/// # Errors
/// Fails if the command cannot be run, or takes too long.
pub(super) fn counted(options: &Options, tally: &mut Tally, name: &str, command: &mut Command) -> Result<()> {
    set_length(command, options.long);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{name} cannot be run"))?;
    let failed = tally.failed();
    let lines = lines(child.stdout.take().context("no output")?);
    let limit = limit(options);
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => {
                println!("{line}");
                tally.read_harness(&line);
            }
            // A process that the command left behind may keep the output open.
            Err(RecvTimeoutError::Timeout) if child.try_wait()?.is_none() => {}
            Err(_) => break,
        }
    }
    let left = deadline.saturating_duration_since(Instant::now());
    let Some(status) = wait(&mut child, left)? else {
        bail!("killed after {} minutes", limit.as_secs() / 60)
    };
    // The output has no line for a program that does not compile or that crashes.
    if !status.success() && tally.failed() == failed {
        tally.fail(name, &format!("it ended with {status}"));
    }
    Ok(())
}

/// Reads a program's output in a separate thread.
fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(io::Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

fn limit(options: &Options) -> Duration {
    if options.long { LONG_LIMIT } else { LIMIT }
}

/// Kills the processes that tests left behind, and returns their command lines with the test that started each.
fn left_behind() -> Vec<String> {
    let mark = format!("{RUN}={}", std::process::id());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let read = |file: &str| {
            String::from_utf8_lossy(&fs::read(entry.path().join(file)).unwrap_or_default()).into_owned()
        };
        let environment = read("environ");
        if !environment.split('\0').any(|variable| variable == mark) {
            continue;
        }
        let test = environment.split('\0').find_map(|variable| variable.strip_prefix("NEXTEST_TEST_NAME="));
        let line = read("cmdline").replace('\0', " ");
        found.push(format!("{pid} {}, started by {}", line.trim(), test.unwrap_or("an unknown test")));
        if let Some(pid) = rustix::process::Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
    found
}
