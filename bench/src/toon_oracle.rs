//! `cargo xtask toon-oracle`: compares the TOON codec with the reference.
//!
//! The reference implementation in TypeScript is fetched from npm into the
//! target directory and asked about 20,000 random encodes, strict decodes and
//! non-strict decodes each, with a fixed seed. Every answer is compared with
//! the codec's. `--write` also stores a sample of 2,000 cases for the test
//! suite, which needs neither node nor npm.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    toon_case::Case,
    workspace::{root, target},
};

const PACKAGE: &str = "@toon-format/toon@4.4.0";
const SCRIPT: &str = include_str!("toon_oracle.mjs");
const CASES_PER_KIND: usize = 20_000;
const SAMPLE: usize = 2_000;
/// Longer cases stay out of the sample, which is data in the repository.
const SAMPLE_LINE: usize = 360;
const SAMPLE_FILE: &str = "crates/samuel-toon/tests/data/oracle.jsonl";

/// Runs the comparison; `args` may hold `--write`.
///
/// # Errors
/// Fails without npm or node, and when any case differs.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let directory = target().join("toon-oracle");
    fs::create_dir_all(&directory)?;
    let package = install(&directory)?;
    let answers = ask(&directory, &package)?;
    let mut differences = 0;
    let mut refused = 0;
    for line in answers.lines() {
        let case: Case = serde_json::from_str(line).context("an answer that is no case")?;
        refused += usize::from(case.is_error());
        if let Err(difference) = case.compare() {
            differences += 1;
            if differences <= 20 {
                eprintln!("{difference}\n  in {line}");
            }
        }
    }
    let cases = answers.lines().count();
    eprintln!("{cases} cases, {refused} of them errors, {differences} differences");
    ensure!(cases == 3 * CASES_PER_KIND, "the reference answered {cases} cases");
    ensure!(differences == 0, "the codec disagrees with {PACKAGE}");
    if args.iter().any(|arg| arg == "--write") {
        store(&answers)?;
    }
    Ok(())
}

fn install(directory: &Path) -> Result<PathBuf> {
    let package = directory.join("node_modules/@toon-format/toon/dist/index.mjs");
    if !package.is_file() {
        let status = Command::new("npm")
            .args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"])
            .arg(directory)
            .arg(PACKAGE)
            .status()
            .context("npm is needed to fetch the reference")?;
        ensure!(status.success(), "npm could not install {PACKAGE}");
    }
    Ok(package)
}

fn ask(directory: &Path, package: &Path) -> Result<String> {
    let script = directory.join("oracle.mjs");
    fs::write(&script, SCRIPT)?;
    let output = Command::new("node")
        .arg(&script)
        .arg(package)
        .arg(CASES_PER_KIND.to_string())
        .stderr(Stdio::inherit())
        .output()
        .context("node is needed to run the reference")?;
    ensure!(output.status.success(), "the reference failed");
    Ok(String::from_utf8(output.stdout)?)
}

/// Stores an even sample of the short cases.
fn store(answers: &str) -> Result<()> {
    let short: Vec<&str> = answers.lines().filter(|line| line.len() <= SAMPLE_LINE).collect();
    ensure!(short.len() >= SAMPLE, "only {} cases are short enough", short.len());
    let mut sample = String::new();
    for number in 0..SAMPLE {
        let line =
            short.get(number * short.len() / SAMPLE).context("the sample is smaller than its source")?;
        writeln!(sample, "{line}")?;
    }
    let file = root().join(SAMPLE_FILE);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&file, sample)?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
