//! `cargo xtask bench <name> --against <revision>`: a benchmark beside that of an earlier commit.
//!
//! The earlier commit is checked out below the target directory, with a target of its own that is kept. Then both
//! checkouts run their own `cargo xtask bench` in turns, and what both print of the same name is compared. What has a gate of its
//! own may take 1.05 times what it took before; the other figures are only shown. The least of several rounds is held
//! against the one in the middle of before, so that what merely varies from round to round misses nothing.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail, ensure};

use super::figures::{Figures, compare, figures, gather};
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

/// Measures a benchmark of this checkout and of a revision in turns, and prints how they compare.
///
/// # Errors
/// Fails if the revision cannot be checked out, nothing can be measured, or a figure takes too much more than before.
pub(super) fn run(revision: &str, name: &str, args: &[String]) -> Result<()> {
    let before = Before::check_out(revision)?;
    let (mut now, mut then) = (Figures::new(), Figures::new());
    for round in 0..ROUNDS {
        let mut sides = [(Command::new(env::current_exe()?), &mut now), (before.task(), &mut then)];
        // Neither is always the first.
        sides.rotate_left(round % 2);
        for (mut task, all) in sides {
            gather(all, printed(task.args(["bench", name]).args(args))?);
        }
    }
    compare(&now, &then, revision)
}

/// The checkout of the earlier commit.
struct Before {
    checkout: PathBuf,
    target: PathBuf,
}

impl Before {
    fn check_out(revision: &str) -> Result<Self> {
        let directory = target().join("against");
        let (checkout, target) = (directory.join("checkout"), directory.join("target"));
        let commit =
            git(root(), &["rev-parse", "--verify", "--end-of-options", &format!("{revision}^{{commit}}")])?;
        if checkout.join(".git").exists() {
            git(&checkout, &["checkout", "--quiet", "--force", "--detach", commit.trim()])?;
        } else {
            let to = checkout.to_str().context("the target directory is no text")?;
            git(root(), &["worktree", "add", "--quiet", "--force", "--detach", to, commit.trim()])?;
        }
        Ok(Self { checkout, target })
    }

    /// Returns a call of the checkout's own `cargo xtask`, which builds what it measures.
    fn task(&self) -> Command {
        let mut task = cargo(&["run", "--quiet", "--locked", "--package", "xtask", "--"]);
        task.current_dir(&self.checkout).env("CARGO_TARGET_DIR", &self.target);
        task
    }
}

/// Returns what git prints.
fn git(at: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new("git").arg("-C").arg(at).args(words).output().context("git cannot be run")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git cannot check it out: {}", said.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the figures that a benchmark prints, whether it misses a gate of its own or not.
fn printed(task: &mut Command) -> Result<Figures> {
    let output = task.stderr(Stdio::inherit()).output()?;
    let figures = figures(&String::from_utf8_lossy(&output.stdout));
    ensure!(!figures.is_empty(), "{task:?} printed no figures");
    Ok(figures)
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
