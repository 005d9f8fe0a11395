//! `cargo xtask test`: the one test command.
//!
//! Every step runs, whatever the ones before came to. What a step needs and
//! this machine lacks is said at the end, with a line `skipped:`. The last line
//! is `N passed, N failed, N skipped`, in which a step without tests of its own,
//! such as the lints, counts as one.

use std::{
    io::{self, BufRead as _, BufReader, IsTerminal as _, Read},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{LazyLock, mpsc},
    thread,
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    contract, deny, guest, python, suites,
    tally::Tally,
    workspace::{cargo, root, target},
};

/// The target that the TOON codec is also built for.
const WASM: &str = "wasm32-wasip2";
/// The target of macOS, which is checked and not run.
const MACOS: &str = "aarch64-apple-darwin";
/// What people install.
const INSTALLED: [[&str; 2]; 3] =
    [["--package", "samuel-core"], ["--package", "samuel-cli"], ["--package", "samuel-python"]];
/// Tells the suites that take minutes to run in full.
const LONG: &str = "SAMUEL_LONG";

/// When the command began: each step says how far into it it begins, so that what takes long is seen in what CI keeps.
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How long the command has run, in seconds.
pub(crate) fn seconds() -> u64 {
    STARTED.elapsed().as_secs()
}

/// Runs all steps; `--long` is the only argument.
///
/// # Errors
/// Fails where any check failed.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let long = match args {
        [] => false,
        [arg] if arg == "--long" => true,
        _ => bail!("usage: cargo xtask test [--long]"),
    };
    LazyLock::force(&STARTED);
    let mut tally = Tally::default();
    tools(&mut tally);
    check(&mut tally, "format", cargo(&["fmt", "--all", "--check"]));
    beside(&mut tally, macos, |tally| {
        lints(tally);
        contract(tally);
        codec_for_components(tally);
        guest(tally);
    });
    deny::check(&mut tally);
    // With it, everything of the workspace is built that tests need.
    println!("== the Python package (at {} s)", seconds());
    let package = python::prepare();
    tests(&mut tally, long, package);
    println!("\n== took {} s", seconds());
    tally.print();
    ensure!(tally.failed == 0, "{} failed", tally.failed);
    Ok(())
}

/// Takes two steps at once; what they print is mixed line by line.
fn beside(tally: &mut Tally, one: impl FnOnce(&mut Tally) + Send, other: impl FnOnce(&mut Tally)) {
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            let mut tally = Tally::default();
            one(&mut tally);
            tally
        });
        other(tally);
        tally.add(one.join().expect("a step takes down what fails"));
    });
}

fn lints(tally: &mut Tally) {
    let lints =
        |which: &[&str]| cargo(&[&["clippy", "--locked"], which, &["--", "--deny", "warnings"]].concat());
    check(tally, "lints", lints(&["--workspace", "--all-targets"]));
    // With what the other packages ask of its dependencies it would be built whatever it lacks itself.
    check(tally, "the core by itself", lints(&["--package", "samuel-core"]));
    check(
        tally,
        "core, command and Python package without their features",
        lints(&[&["--no-default-features"][..], INSTALLED.as_flattened()].concat()),
    );
}

/// Checks the TOON codec as components use it.
fn codec_for_components(tally: &mut Tally) {
    let name = format!("samuel-toon for {WASM}");
    match add_target(WASM) {
        Ok(()) => {
            check(tally, &name, cargo(&["check", "--package", "samuel-toon", "--locked", "--target", WASM]));
        }
        Err(error) => tally.skip(&format!("{name}: {error:#}")),
    }
}

/// Checks everything that people install for macOS, where none of it can be run
/// here.
fn macos(tally: &mut Tally) {
    if let Err(error) = add_target(MACOS) {
        return tally.skip(&format!("the check for {MACOS}: {error:#}"));
    }
    let mut command = cargo(&[&["check", "--locked", "--target", MACOS], INSTALLED.as_flattened()].concat());
    // A compiler of C for it is not needed to check Rust: what it would make is not linked.
    command.env("CC_aarch64_apple_darwin", "true").env("AR_aarch64_apple_darwin", "true");
    command.env("PYO3_CROSS_PYTHON_VERSION", "3.11").env("RUSTFLAGS", "--deny warnings");
    // Where the lints are built, it would wait for them.
    command.env("CARGO_TARGET_DIR", target().join("macos"));
    check(tally, &format!("core, command and Python package for {MACOS}"), command);
}

/// Runs what is tested of the core without the features that can be left out: all of its tests in the long form.
fn without_features(tally: &mut Tally, long: bool) {
    let mut command =
        cargo(&["test", "--no-default-features", "--no-fail-fast", "--locked", "--package", "samuel-core"]);
    if !long {
        command.args(["--test", "without_sandboxes"]);
    }
    command.args(["--", "--show-output"]);
    counted(tally, "the tests of the core without its features", command);
}

/// Checks what is written from the contract; what needs the core for that, a test of samuel-tests checks.
fn contract(tally: &mut Tally) {
    println!("== cargo xtask contract --check");
    done(tally, "what follows from the contract", contract::own(true));
}

/// Builds the first process of containers, which their tests start.
fn guest(tally: &mut Tally) {
    println!("== cargo xtask guest");
    done(tally, "the guest of containers", guest::build());
}

/// Says which tools are missing that tests would use.
fn tools(tally: &mut Tally) {
    for (tool, what) in [
        ("git", "the tests of repositories fail"),
        ("bwrap", "nothing is tried out in the sandbox bwrap"),
        ("podman", "nothing is tried out in the sandbox oci"),
        ("chromium", "no page of a run is looked at in a browser"),
        ("node", "the tests with agents from npm cannot run"),
        ("npm", "the tests with agents from npm cannot run, the plugin in JavaScript is not built"),
        ("python3", "the Python package cannot be tested, the plugin in Python is not built"),
    ] {
        let works = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !works.is_ok_and(|status| status.success()) {
            tally.skip(&format!("{tool} is not installed: {what}"));
        }
    }
}

/// Checks the plugins in Rust that are packages of their own. The example is
/// tested on this machine; that it becomes a component and runs is tested by the suite `plugin_examples`.
fn example_plugin(tally: &mut Tally) {
    let directory = root().join("examples/plugins/rust");
    let target = target();
    for (name, args) in [
        ("format of the example plugin", &["fmt", "--check"][..]),
        ("example plugin", &["test", "--quiet", "--locked"][..]),
    ] {
        let mut command = cargo(args);
        command.current_dir(&directory).env("CARGO_TARGET_DIR", &target);
        check(tally, name, command);
    }
    // The component of the behaviour table is built by its suite.
    let mut guest = cargo(&["fmt", "--check"]);
    guest.current_dir(root().join("tests/parity/guest"));
    check(tally, "format of the component of the behaviour table", guest);
}

/// Makes sure that the target is there. Adds it to the toolchain in use; never
/// fetches or updates a toolchain.
fn add_target(name: &str) -> Result<()> {
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output().context("rustc cannot be run")?;
    let sysroot = String::from_utf8(rustc.stdout)?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(name).exists() {
        return Ok(());
    }
    let added = Command::new("rustup")
        .args(["target", "add", name])
        .env("RUSTUP_AUTO_INSTALL", "0")
        .current_dir(root())
        .output()
        .context("the target is not installed, and there is no rustup to add it")?;
    let said = String::from_utf8_lossy(&added.stderr);
    let reason = said.lines().find(|line| line.starts_with("error")).unwrap_or("no reason given");
    ensure!(added.status.success(), "rustup could not add the target: {reason}");
    Ok(())
}

/// Runs every test, those in the documentation too. Beside the programs that take what processors there are runs what
/// mostly waits, and is built what has no part in them.
fn tests(tally: &mut Tally, long: bool, package: Result<Result<python::Layout>>) {
    let suites = match suites::build() {
        Ok(suites) => suites,
        Err(error) => return told(tally, "the tests of the workspace", &error),
    };
    let (started_it, is_over) = mpsc::channel::<()>();
    let other = |tally: &mut Tally| {
        suites::run(&suites.waiting, tally, long);
        python_tests(tally, long, package);
        documentation(tally, long);
        without_features(tally, long);
        let example = cargo(&["run", "--quiet", "--locked", "--package", "embed-rust"]);
        check(tally, "example embed-rust", example);
        example_plugin(tally);
        // It builds the command anew where the tests of the command start it.
        let _ = is_over.into_iter().next();
        let demo = cargo(&["run", "--quiet", "--locked", "--package", "samuel-cli", "--", "demo"]);
        check(tally, "demo", demo);
    };
    beside(tally, other, |tally| {
        suites::run(&suites.of_command, tally, long);
        drop(started_it);
        suites::run(&suites.busy, tally, long);
    });
}

/// Builds the documentation and runs the tests in it.
fn documentation(tally: &mut Tally, long: bool) {
    let mut tests = cargo(&["test", "--workspace", "--doc", "--no-fail-fast", "--locked"]);
    tests.args(["--", "--show-output"]);
    tell_length(&mut tests, long);
    counted(tally, "the tests in documentation", tests);
    let mut built = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    built.env("RUSTDOCFLAGS", "--deny warnings");
    check(tally, "documentation", built);
}

/// Tells tests whether the suites that take minutes are to run.
pub(crate) fn tell_length(command: &mut Command, long: bool) {
    if long {
        command.env(LONG, "1");
    } else {
        command.env_remove(LONG);
    }
}

/// Runs the tests of the Python package.
fn python_tests(tally: &mut Tally, long: bool, package: Result<Result<python::Layout>>) {
    const NAME: &str = "the tests of the Python package";
    match package {
        Ok(Ok(layout)) => counted(tally, NAME, layout.tests(long)),
        Ok(Err(error)) => tally.skip(&format!("{NAME}: {error:#}")),
        Err(error) => told(tally, "the Python package", &error),
    }
}

/// Runs tests and counts them by what they print.
fn counted(tally: &mut Tally, name: &str, mut command: Command) {
    announce(&command);
    let ran = command.stdout(Stdio::piped()).spawn().and_then(|mut child| {
        let output = child.stdout.take();
        output.map_or(Ok(()), |output| repeat(tally, name, output, || child.wait()))
    });
    if let Err(error) = ran {
        told(tally, name, &error.into());
    }
}

/// Repeats what tests print and counts them by it; `end` waits for how they end.
pub(crate) fn repeat(
    tally: &mut Tally,
    name: &str,
    output: impl Read,
    end: impl FnOnce() -> io::Result<ExitStatus>,
) -> io::Result<()> {
    let failed_before = tally.failed;
    // Output is no text where a test prints bytes.
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.read(&line);
    }
    // What does not compile or crashes has no result line.
    if !end()?.success() && tally.failed == failed_before {
        tally.check(name, false);
    }
    Ok(())
}

/// Takes down a step that is one check as a whole.
fn done<T>(tally: &mut Tally, name: &str, step: Result<T>) {
    match step {
        Ok(_) => tally.check(name, true),
        Err(error) => told(tally, name, &error),
    }
}

/// Tells of a step that failed by an error, or could not be taken.
pub(crate) fn told(tally: &mut Tally, name: &str, error: &anyhow::Error) {
    eprintln!("error: {name}: {error:#}");
    tally.check(name, false);
}

/// Runs a command that is one check as a whole.
fn check(tally: &mut Tally, name: &str, mut command: Command) {
    announce(&command);
    match command.status() {
        Ok(status) => tally.check(name, status.success()),
        Err(error) => told(tally, name, &error.into()),
    }
}

fn announce(command: &Command) {
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let line = format!("== {program} {} (at {} s)", args.join(" "), seconds());
    let colour = io::stdout().is_terminal();
    println!("{}", if colour { format!("\x1b[1m{line}\x1b[0m") } else { line });
}
