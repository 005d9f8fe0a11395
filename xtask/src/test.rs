//! The test command: `cargo xtask test [--long] [WORD..]`.
//!
//! It runs the [`STEPS`] in order. Each step runs even if an earlier one failed. At the end, the command prints a table
//! of times, the skipped tests with their reasons, the failures, and `N passed, N failed, N skipped`. A step without
//! tests of its own, such as the lints, counts as one test.

mod junit;
mod report;
mod selection;
mod suite;
mod tally;

use std::{
    fs,
    io::{self, IsTerminal as _},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

use self::selection::Selection;
pub(crate) use self::tally::Tally;
use crate::{
    contract, deny, guest, manifests, python,
    workspace::{LIMIT, cargo, quietly, root, target},
};

const USAGE: &str = "usage: cargo xtask test [--long] [WORD..]";
/// The additional target that the TOON codec is built for.
const WASM: &str = "wasm32-wasip2";
/// The target of macOS. Code for it is checked, but not run.
const MACOS: &str = "aarch64-apple-darwin";
/// The packages that people install.
const INSTALLED: [&str; 6] =
    ["--package", "samuel-core", "--package", "samuel-cli", "--package", "samuel-python"];
/// The program of `cargo nextest`.
const NEXTEST: &str = "cargo-nextest";
/// The variable that makes suites run in full.
const LONG: &str = "SAMUEL_LONG";
/// The variable that sets how many cases proptest tries; 256 by default.
const CASES: &str = "PROPTEST_CASES";
/// The longest time for a program with tests in the long form. In the short form, the limit is that of any command.
const LONG_LIMIT: Duration = Duration::from_secs(6 * 60 * 60);

/// When a step runs.
#[derive(Clone, Copy, PartialEq)]
enum When {
    /// In both forms.
    Always,
    /// In the long form, and in the short form if a manifest changed since the step last passed.
    ManifestsChanged,
    /// In the long form only.
    Long,
}

/// A step of the test command.
struct Step {
    /// The word that selects it.
    name: &'static str,
    when: When,
    run: fn(&Options, &mut Tally) -> Result<()>,
}

/// The steps in their order. `tests`, `python`, `doctests` and `documentation` are independent of each other. The last
/// three of these run in parallel with the first.
const STEPS: [Step; 16] = [
    Step { name: "format", when: When::Always, run: format },
    Step { name: "contract", when: When::Always, run: contract },
    Step { name: "lints", when: When::Always, run: lints },
    Step { name: "codec", when: When::Always, run: codec },
    Step { name: "guest", when: When::Always, run: |_, tally| tally.result(guest::build()) },
    Step { name: "deny", when: When::ManifestsChanged, run: |_, tally| deny::check(tally) },
    Step { name: "embedder", when: When::ManifestsChanged, run: embedder },
    Step { name: "features", when: When::Long, run: features },
    Step { name: "macos", when: When::Long, run: macos },
    Step { name: "build", when: When::Always, run: |_, tally| tally.result(python::lay_out("dev")) },
    Step { name: "tests", when: When::Always, run: suite::tests },
    Step { name: "python", when: When::Always, run: python_tests },
    Step { name: "doctests", when: When::Always, run: doctests },
    Step { name: "documentation", when: When::Always, run: documentation },
    Step { name: "table", when: When::Always, run: suite::table },
    Step { name: "examples", when: When::Always, run: examples },
];
/// The steps that run in parallel with `tests`, one after the other.
const BESIDE_TESTS: [&str; 3] = ["python", "doctests", "documentation"];

/// The options of the command.
struct Options {
    long: bool,
    selection: Selection,
}

/// Runs the steps that the arguments select. Without words, runs all steps of the form.
///
/// # Errors
/// Fails for an unknown word or option, and if any check failed.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (options, words): (Vec<_>, Vec<_>) =
        args.iter().map(String::as_str).partition(|arg| arg.starts_with('-'));
    let long = options.contains(&"--long");
    if options.iter().any(|option| ["--help", "-h"].contains(option)) {
        println!("{USAGE}");
        return Ok(());
    }
    if let Some(unknown) = options.iter().find(|option| **option != "--long") {
        bail!("unknown option {unknown}\n{USAGE}");
    }
    let options = Options { long, selection: Selection::of(&words, &STEPS.map(|step| step.name))? };
    if let Some(status) = again_with_signals(args)? {
        ensure!(status.success(), "the tests failed");
        return Ok(());
    }
    let began = Instant::now();
    let mut tally = Tally::default();
    if words.is_empty() {
        tools(&mut tally);
    }
    run_steps(&options, &mut tally);
    report::print(&tally, began.elapsed());
    report::save(&tally, &target().join("test-times.json"))?;
    ensure!(tally.failed() == 0, "{} failed", tally.failed());
    Ok(())
}

/// Runs the command again with default signals if this process ignores signals, as it does after `nohup` or a shell's
/// `&`. Otherwise, the tests that send these signals would also ignore them.
fn again_with_signals(args: &[String]) -> Result<Option<ExitStatus>> {
    const SIGNALS: [(u32, &str); 3] = [(1, "HUP"), (2, "INT"), (3, "QUIT")];
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or("0");
    let mask = u64::from_str_radix(mask.trim(), 16).unwrap_or(0);
    let ignored = SIGNALS.iter().filter(|(number, _)| mask & (1 << (number - 1)) != 0);
    let ignored: Vec<&str> = ignored.map(|(_, name)| *name).collect();
    let resets = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let option = format!("--default-signal={}", ignored.join(","));
    // Only the GNU `env` has the option.
    if ignored.is_empty() || !resets(Command::new("env").args([&option, "true"])) {
        return Ok(None);
    }
    let program = std::env::current_exe().context("the path of this program is unknown")?;
    Ok(Some(Command::new("env").arg(option).arg(program).arg("test").args(args).status()?))
}

fn run_steps(options: &Options, tally: &mut Tally) {
    let chosen = STEPS.iter().filter(|step| options.selection.has_step(step.name));
    let (steps, others): (Vec<&Step>, Vec<&Step>) = chosen.partition(|step| is_due(step, options));
    for step in others.iter().filter(|step| step.when == When::ManifestsChanged) {
        tally.skip(&format!("{}: it passed before, and no manifest changed since; see --long", step.name));
    }
    let (beside, in_order): (Vec<_>, Vec<_>) =
        steps.into_iter().partition(|step| BESIDE_TESTS.contains(&step.name));
    let mut beside = Some(beside);
    for step in in_order {
        match step.name {
            "tests" => thread::scope(|scope| {
                let others = beside.take().unwrap_or_default();
                let others = scope.spawn(move || {
                    let mut tally = Tally::default();
                    others.into_iter().for_each(|step| run_step(step, options, &mut tally));
                    tally
                });
                run_step(step, options, tally);
                tally.add(others.join().expect("a step returns its errors"));
            }),
            _ => run_step(step, options, tally),
        }
    }
    // Without `tests`, these steps do not run in parallel with anything.
    beside.into_iter().flatten().for_each(|step| run_step(step, options, tally));
}

/// Returns whether the form includes the step, or the caller named it.
fn is_due(step: &Step, options: &Options) -> bool {
    options.long
        || options.selection.names_step(step.name)
        || match step.when {
            When::Always => true,
            When::ManifestsChanged => manifests::changed_since(step.name),
            When::Long => false,
        }
}

fn run_step(step: &Step, options: &Options, tally: &mut Tally) {
    announce(step.name);
    let began = Instant::now();
    let (failed, skipped) = (tally.failed(), tally.skipped.len());
    if let Err(error) = (step.run)(options, tally) {
        tally.fail(step.name, &format!("{error:#}"));
    }
    let passed = tally.failed() == failed;
    if passed && tally.skipped.len() == skipped && step.when == When::ManifestsChanged {
        manifests::remember(step.name);
    }
    tally.took(step.name, began.elapsed(), passed);
}

fn format(_: &Options, tally: &mut Tally) -> Result<()> {
    tally.status("format", &mut cargo(&["fmt", "--all", "--check"]))?;
    for package in ["examples/plugins/rust", "tests/parity/guest"] {
        tally.status(
            &format!("format of {package}"),
            cargo(&["fmt", "--check"]).current_dir(root().join(package)),
        )?;
    }
    Ok(())
}

/// Checks the files that are generated from the contract alone. A test checks the files that are generated with the
/// core.
fn contract(_: &Options, tally: &mut Tally) -> Result<()> {
    tally.result(contract::own(true))
}

fn lints(_: &Options, tally: &mut Tally) -> Result<()> {
    tally.status(
        "lints",
        &mut cargo(&["clippy", "--locked", "--workspace", "--all-targets", "--", "--deny", "warnings"]),
    )
}

/// Checks the TOON codec for the target of components.
fn codec(_: &Options, tally: &mut Tally) -> Result<()> {
    match add_target(WASM) {
        Ok(()) => tally.status(
            "codec",
            &mut cargo(&["check", "--package", "samuel-toon", "--locked", "--target", WASM]),
        ),
        Err(error) => {
            tally.skip(&format!("samuel-toon for {WASM}: {error:#}"));
            Ok(())
        }
    }
}

/// Checks the core as an embedding program builds it. The features of the whole workspace would hide features that the
/// core lacks.
fn embedder(_: &Options, tally: &mut Tally) -> Result<()> {
    tally.status("embedder", &mut cargo(&["check", "--locked", "--package", "samuel-core"]))
}

/// Lints the installed packages without their features, and runs the tests of the core without features.
fn features(options: &Options, tally: &mut Tally) -> Result<()> {
    let lints = ["clippy", "--locked", "--no-default-features"];
    tally.status(
        "features: lints without features",
        &mut cargo(&[&lints[..], &INSTALLED, &["--", "--deny", "warnings"]].concat()),
    )?;
    let test = ["test", "--no-default-features", "--no-fail-fast", "--locked", "--package", "samuel-core"];
    suite::counted(options, tally, "features: tests of the core without features", &mut cargo(&test))
}

/// Checks all installed packages for macOS. They cannot run on this machine.
fn macos(_: &Options, tally: &mut Tally) -> Result<()> {
    if let Err(error) = add_target(MACOS) {
        tally.skip(&format!("the check for {MACOS}: {error:#}"));
        return Ok(());
    }
    let mut command = cargo(&[&["check", "--locked", "--target", MACOS], &INSTALLED[..]].concat());
    // A check of Rust code needs no C compiler for macOS, because the output of that compiler is not linked.
    command.env("CC_aarch64_apple_darwin", "true").env("AR_aarch64_apple_darwin", "true");
    command.env("PYO3_CROSS_PYTHON_VERSION", "3.11").env("RUSTFLAGS", "--deny warnings");
    tally.status("macos", &mut command)
}

/// Runs the tests of the Python package.
fn python_tests(options: &Options, tally: &mut Tally) -> Result<()> {
    let layout = match python::layout()? {
        Ok(layout) => layout,
        Err(error) => {
            tally.skip(&format!("the tests of the Python package: {error:#}"));
            return Ok(());
        }
    };
    let times = target().join("python/junit.xml");
    let mut tests = layout.tests();
    // pytest has no timeout for a test. With this option, a test that hangs at least prints its stack.
    tests.args(["-o", "faulthandler_timeout=120"]);
    tests.arg("--junitxml").arg(&times).args(options.selection.pytest());
    suite::run_with_times(options, tally, "python", &mut tests, &times)
}

/// Runs the tests in the documentation. They are one program for each crate: with an option to show their output,
/// rustdoc would build one program for each test.
fn doctests(options: &Options, tally: &mut Tally) -> Result<()> {
    let test = ["test", "--workspace", "--doc", "--no-fail-fast", "--locked"];
    suite::counted(options, tally, "doctests", &mut cargo(&test))
}

fn documentation(_: &Options, tally: &mut Tally) -> Result<()> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    tally.status("documentation", doc.env("RUSTDOCFLAGS", "--deny warnings"))
}

/// Runs the embedding example and the demo, which were built with everything else, and the tests of the example plugin,
/// which is a separate package.
fn examples(_: &Options, tally: &mut Tally) -> Result<()> {
    let built = target().join("debug");
    tally.status("example embed-rust", Command::new(built.join("embed-rust")).current_dir(root()))?;
    tally.status("demo", Command::new(built.join("samuel")).arg("demo").current_dir(root()))?;
    let mut plugin = cargo(&["test", "--quiet", "--locked"]);
    plugin.current_dir(root().join("examples/plugins/rust")).env("CARGO_TARGET_DIR", target());
    tally.status("example plugin", &mut plugin)
}

/// Records which of the tools that tests use are missing.
fn tools(tally: &mut Tally) {
    for (tool, what) in [
        ("git", "the tests of repositories fail"),
        ("bwrap", "the bwrap sandbox is not tested"),
        ("podman", "podman containers are not tested"),
        ("chromium", "reports are not opened in a browser"),
        ("node", "the tests with agents from npm cannot run"),
        ("npm", "the tests with agents from npm cannot run, and the JavaScript plugin is not built"),
        ("python3", "the Python package cannot be tested, and the Python plugin is not built"),
    ] {
        if !works(tool) {
            tally.skip(&format!("{tool} is not installed: {what}"));
        }
    }
}

/// Returns whether a program is installed and prints its version.
fn works(tool: &str) -> bool {
    let mut version = Command::new(tool);
    if tool == NEXTEST {
        version.arg("nextest");
    }
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

/// Adds a target to the current toolchain if it is missing. Never fetches or updates a toolchain.
fn add_target(name: &str) -> Result<()> {
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc cannot be run")?;
    let sysroot = String::from_utf8(rustc.stdout)?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(name).exists() {
        return Ok(());
    }
    let mut add = Command::new("rustup");
    add.args(["target", "add", name]).env("RUSTUP_AUTO_INSTALL", "0").current_dir(root());
    quietly(LIMIT, &mut add).context("rustup could not add the target")
}

/// Sets the form in which suites run: in full, or in the short form with a quarter of the cases for each property.
fn set_length(command: &mut Command, long: bool) {
    if long {
        command.env(LONG, "1").env_remove(CASES);
    } else {
        command.env_remove(LONG).env(CASES, "64");
    }
}

/// Prints the first line of a step.
fn announce(step: &str) {
    let bold = io::stdout().is_terminal();
    println!("{}", if bold { format!("\x1b[1m== {step}\x1b[0m") } else { format!("== {step}") });
}
