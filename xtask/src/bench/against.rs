//! `cargo xtask bench <name> --against <revision>`: a benchmark beside that of an earlier commit.
//!
//! The earlier commit is checked out and built below the target directory, in a target of its own that is kept.
//! Then both run in turns, each its own benchmark, and what both print of the same name is compared. What has a gate of its
//! own may take 1.05 times what it took before; the other figures are only shown. The least of several rounds is held
//! against the one in the middle of before, so that what merely varies from round to round misses nothing.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};

use super::{
    Where,
    figures::{Figures, compare, figures, gather},
    measure::output,
};
use crate::workspace::{cargo, root, target};

/// How often each side measures.
const ROUNDS: usize = 5;

/// Takes `--against` and its revision out of the arguments of a benchmark.
///
/// # Errors
/// Fails where no revision follows.
pub(super) fn split(args: &[String]) -> Result<(Option<&str>, Vec<String>)> {
    let Some(at) = args.iter().position(|arg| arg == "--against") else { return Ok((None, args.to_vec())) };
    let (before, behind) = args.split_at(at);
    let [_, revision, rest @ ..] = behind else { bail!("--against takes a revision") };
    Ok((Some(revision), [before, rest].concat()))
}

/// Measures a benchmark of this build and of a revision in turns, and prints how they compare.
///
/// # Errors
/// Fails where the revision cannot be built, nothing can be measured, or a figure takes too much more than before.
pub(super) fn run(revision: &str, name: &str, args: &[String], place: Where) -> Result<()> {
    let before = Before::build(revision, place)?;
    let command = |mut program: Command| {
        program.args(["bench", name]).args(args);
        program
    };
    let (mut now, mut then) = (Figures::new(), Figures::new());
    for round in 0..ROUNDS {
        let mut sides =
            [(command(Command::new(env::current_exe()?)), &mut now), (command(before.program()), &mut then)];
        // Neither is always the first.
        sides.rotate_left(round % 2);
        for (mut program, all) in sides {
            gather(all, figures(&printed(&mut program)?));
        }
    }
    compare(&now, &then, revision)
}

/// The earlier commit, built.
struct Before {
    target: PathBuf,
    program: PathBuf,
}

impl Before {
    fn build(revision: &str, place: Where) -> Result<Self> {
        let directory = target().join("against");
        let (checkout, target) = (directory.join("checkout"), directory.join("target"));
        let git = |at: &Path, words: &[&str]| {
            output(Command::new("git").arg("-C").arg(at).args(words)).context("git cannot check it out")
        };
        let commit = String::from_utf8(git(
            root(),
            &["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")],
        )?)?;
        if checkout.join(".git").exists() {
            git(&checkout, &["checkout", "--quiet", "--force", "--detach", commit.trim()])?;
        } else {
            let to = checkout.to_str().context("the target directory is no text")?;
            git(root(), &["worktree", "add", "--quiet", "--force", "--detach", to, commit.trim()])?;
        }
        let (profile, built) = match place {
            Where::Release => ("release", "release"),
            Where::Anywhere => ("dev", "debug"),
        };
        let mut build = cargo(&["build", "--locked", "--package", "xtask", "--profile", profile]);
        match place {
            Where::Release => build.args(["--package", "samuel-cli", "--features", "xtask/wasm"]),
            Where::Anywhere => build.args(["--features", "xtask/core"]),
        };
        let status = build.current_dir(&checkout).env("CARGO_TARGET_DIR", &target).status()?;
        ensure!(status.success(), "{revision} does not build");
        Ok(Self { program: target.join(built).join("xtask"), target })
    }

    fn program(&self) -> Command {
        let mut program = Command::new(&self.program);
        program.env("CARGO_TARGET_DIR", &self.target);
        program
    }
}

/// Returns what a benchmark prints; a gate that it misses is not what is asked here.
fn printed(program: &mut Command) -> Result<String> {
    let output = program.output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(!figures(&printed).is_empty(), "{program:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(printed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_revision_is_taken_out_wherever_it_stands() {
        let args = ["a.wasm", "--against", "main", "b.wasm"].map(str::to_owned);
        assert_eq!(split(&args).unwrap(), (Some("main"), vec!["a.wasm".to_owned(), "b.wasm".to_owned()]));
        assert_eq!(split(&args[..1]).unwrap(), (None, vec!["a.wasm".to_owned()]));
        split(&args[..2]).unwrap_err();
    }
}
