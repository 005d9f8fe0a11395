//! `cargo xtask test`: the one test command.
//!
//! Every step runs, whatever the ones before came to. What a step needs and
//! this machine lacks is said at the end, with a line `skipped:`. The last line
//! is `N passed, N failed, N skipped`, in which a step without tests of its own,
//! such as the lints, counts as one.

use std::{
    io::{BufRead as _, BufReader, IsTerminal as _},
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    contract, deny, guest, python,
    tally::Tally,
    workspace::{cargo, root, target},
};

/// The target that the TOON codec is also built for.
const WASM: &str = "wasm32-wasip2";
/// The target of macOS, which is checked and not run.
const MACOS: &str = "aarch64-apple-darwin";
/// Tells the suites that take minutes to run in full.
const LONG: &str = "SAMUEL_LONG";

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
    let started = Instant::now();
    let mut tally = Tally::default();
    tools(&mut tally);
    check(&mut tally, "format", cargo(&["fmt", "--all", "--check"]));
    check(
        &mut tally,
        "lints",
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]),
    );
    // With what the other packages ask of its dependencies it would be built whatever it lacks itself.
    check(&mut tally, "the core by itself", cargo(&["check", "--package", "samuel-core", "--locked"]));
    contract(&mut tally);
    codec_for_components(&mut tally);
    macos(&mut tally);
    deny::check(&mut tally);
    guest(&mut tally);
    tests(&mut tally, long)?;
    python_tests(&mut tally, long)?;
    check(
        &mut tally,
        "example embed-rust",
        cargo(&["run", "--quiet", "--locked", "--package", "embed-rust"]),
    );
    check(
        &mut tally,
        "demo",
        cargo(&["run", "--quiet", "--locked", "--package", "samuel-cli", "--", "demo"]),
    );
    example_plugin(&mut tally);
    let mut documentation = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    documentation.env("RUSTDOCFLAGS", "--deny warnings");
    check(&mut tally, "documentation", documentation);
    println!("\n== took {} s", started.elapsed().as_secs());
    tally.print();
    ensure!(tally.failed == 0, "{} failed", tally.failed);
    Ok(())
}

/// Checks what is written from the contract.
fn contract(tally: &mut Tally) {
    println!("== cargo xtask contract --check");
    let checked = contract::run(&["--check".to_owned()]);
    if let Err(error) = &checked {
        eprintln!("error: {error:#}");
    }
    tally.check("what follows from the contract", checked.is_ok());
}

/// Builds the first process of containers, which their tests start.
fn guest(tally: &mut Tally) {
    println!("== cargo xtask guest");
    let built = guest::build();
    if let Err(error) = &built {
        eprintln!("error: {error:#}");
    }
    tally.check("the guest of containers", built.is_ok());
}

/// Says which tools are missing that tests would use.
fn tools(tally: &mut Tally) {
    for (tool, what) in [
        ("git", "the tests of repositories fail"),
        ("bwrap", "nothing is tried out in the sandbox bwrap"),
        ("podman", "nothing is tried out in the sandbox oci"),
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

/// Checks the TOON codec as components use it.
fn codec_for_components(tally: &mut Tally) {
    match add_target(WASM) {
        Ok(()) => check(
            tally,
            &format!("samuel-toon for {WASM}"),
            cargo(&["check", "--package", "samuel-toon", "--locked", "--target", WASM]),
        ),
        Err(error) => tally.skip(&format!("samuel-toon for {WASM}: {error:#}")),
    }
}

/// Checks everything that people install for macOS, where none of it can be run
/// here.
fn macos(tally: &mut Tally) {
    if let Err(error) = add_target(MACOS) {
        return tally.skip(&format!("the check for {MACOS}: {error:#}"));
    }
    let packages = ["samuel-core", "samuel-cli", "samuel-python"].map(|name| ["--package", name]);
    let mut command = cargo(&[&["check", "--locked", "--target", MACOS], packages.as_flattened()].concat());
    // A compiler of C for it is not needed to check Rust: what it would make is not linked.
    command.env("CC_aarch64_apple_darwin", "true").env("AR_aarch64_apple_darwin", "true");
    command.env("PYO3_CROSS_PYTHON_VERSION", "3.11").env("RUSTFLAGS", "--deny warnings");
    check(tally, &format!("core, command and Python package for {MACOS}"), command);
}

/// Checks the plugins in Rust that are packages of their own. The example is
/// tested on this machine; that it becomes a component and runs is tested by the suite `plugin_examples`.
fn example_plugin(tally: &mut Tally) {
    // Its directory has settings that lead to samuel-plugin in this repository.
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

/// Runs every test of the workspace, those in the documentation too.
fn tests(tally: &mut Tally, long: bool) -> Result<()> {
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast", "--locked", "--", "--show-output"]);
    if long {
        command.env(LONG, "1");
    } else {
        command.env_remove(LONG);
    }
    counted(tally, "cargo test", command)
}

/// Builds the Python package and runs its tests.
fn python_tests(tally: &mut Tally, long: bool) -> Result<()> {
    println!("== the Python package");
    match python::prepare() {
        Ok(Ok(layout)) => counted(tally, "the tests of the Python package", layout.tests(long)),
        Ok(Err(error)) => {
            tally.skip(&format!("the tests of the Python package: {error:#}"));
            Ok(())
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            tally.check("the Python package", false);
            Ok(())
        }
    }
}

/// Runs tests and counts them by what they print.
fn counted(tally: &mut Tally, name: &str, mut command: Command) -> Result<()> {
    announce(&command);
    let spawned = command.stdout(Stdio::piped()).spawn();
    let mut child = spawned.with_context(|| format!("{name} cannot be run"))?;
    let output = child.stdout.take().context("the tests have no output")?;
    let failed_before = tally.failed;
    // Output is no text where a test prints bytes.
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.read(&line);
    }
    let passed = child.wait()?.success();
    // What does not compile or crashes has no result line.
    if !passed && tally.failed == failed_before {
        tally.check(name, false);
    }
    Ok(())
}

/// Runs a command that is one check as a whole.
fn check(tally: &mut Tally, name: &str, mut command: Command) {
    announce(&command);
    let status = command.status();
    if let Err(error) = &status {
        eprintln!("error: {name}: {error}");
    }
    tally.check(name, status.is_ok_and(|status| status.success()));
}

fn announce(command: &Command) {
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy();
    let line = format!("== {program} {}", args.join(" "));
    let colour = std::io::stdout().is_terminal();
    println!("{}", if colour { format!("\x1b[1m{line}\x1b[0m") } else { line });
}
