//! Commits of a clone that are not on the branch which is checked out.
//!
//! What is collected is what `HEAD` has. An agent that commits on another branch and goes back, or
//! stashes what it did, would seem to have done nothing; [`new`] finds its work.

use std::path::Path;

use super::{WorkspaceError, git::Git};

/// The reference of what is stashed, as a pattern: without one git looks below it.
const STASH: &str = "--glob=refs/stas[h]";
/// How many branches of a clone are known.
const MAX_KNOWN: usize = 1_000;

/// Returns where there is a commit beyond a base that neither `HEAD` has nor was `known` before, and that
/// commit; it is known then, with all of its kind.
///
/// # Errors
/// Returns an error where git cannot be run.
pub(super) async fn new(
    git: &Git,
    tree: &Path,
    base: &str,
    known: &mut Vec<String>,
) -> Result<Option<(String, String)>, WorkspaceError> {
    // An agent may remove what was known.
    let beyond =
        ["rev-list", "--ignore-missing", "--max-count=1", "--branches", STASH, "--not", "HEAD", base];
    let beyond: Vec<&str> = beyond.into_iter().chain(known.iter().map(String::as_str)).collect();
    let commit = git.line(tree, &beyond).await?;
    if commit.is_empty() {
        return Ok(None);
    }
    let within = format!("--contains={commit}");
    let within =
        ["for-each-ref", "--count=1", "--format=%(refname:short)", &within, "refs/heads", "refs/stash"];
    let branch = git.line(tree, &within).await?;
    *known = tips(git, tree).await?;
    Ok(Some((branch, commit)))
}

/// Returns the last commit of reflogs that is beyond some, such as one on a detached `HEAD` or before a reset.
///
/// # Errors
/// Returns an error where git cannot be run.
pub(super) async fn in_reflogs(
    git: &Git,
    tree: &Path,
    taken: &[&str],
    known: &[String],
) -> Result<Option<String>, WorkspaceError> {
    let beyond = ["rev-list", "--ignore-missing", "--max-count=1", "--reflog", "--not", "HEAD"];
    let known = known.iter().map(String::as_str);
    let beyond: Vec<&str> = beyond.into_iter().chain(taken.iter().copied()).chain(known).collect();
    Ok(Some(git.line(tree, &beyond).await?).filter(|commit| !commit.is_empty()))
}

/// Returns the last commits of all branches of a clone, and of what is stashed there.
///
/// # Errors
/// Returns an error where git cannot be run.
pub(super) async fn tips(git: &Git, tree: &Path) -> Result<Vec<String>, WorkspaceError> {
    let most = format!("--count={MAX_KNOWN}");
    let tips = ["for-each-ref", &most, "--format=%(objectname)", "refs/heads", "refs/stash"];
    Ok(git.line(tree, &tips).await?.lines().map(str::to_owned).collect())
}
