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

/// What is said of commits that only a reflog has.
const DETACHED: &str = "a detached HEAD";

/// Returns where there is a commit beyond a base that neither `HEAD` has nor was `known` before, and that
/// commit; it is known then, with all of its kind. Reflogs are searched, too, unless `HEAD` has something new: then
/// they have what was amended or rebased.
///
/// # Errors
/// Returns an error where git cannot be run.
pub(super) async fn new(
    git: &Git,
    tree: &Path,
    base: &str,
    known: &mut Vec<String>,
    has_new: bool,
) -> Result<Option<(String, String)>, WorkspaceError> {
    // An agent may remove what was known.
    let mut beyond = vec!["rev-list", "--ignore-missing", "--max-count=1", "--branches", STASH];
    beyond.extend((!has_new).then_some("--reflog"));
    beyond.extend(["--not", "HEAD", base]);
    beyond.extend(known.iter().map(String::as_str));
    let commit = git.line(tree, &beyond).await?;
    if commit.is_empty() {
        return Ok(None);
    }
    let within = format!("--contains={commit}");
    let within =
        ["for-each-ref", "--count=1", "--format=%(refname:short)", &within, "refs/heads", "refs/stash"];
    let branch = git.line(tree, &within).await?;
    let branch = if branch.is_empty() { DETACHED.to_owned() } else { branch };
    *known = tips(git, tree).await?;
    known.push(commit.clone());
    Ok(Some((branch, commit)))
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
