//! References below `refs/samuel/rescue/`, under which work stays that would be on no branch, and branches that are
//! made to hold work.

use std::{collections::HashSet, path::Path};

use super::{WorkspaceError, git::Git, lane_names::rescue_of, users_tree::UsersTree};

/// Keeps a commit under a reference that is made for it: the one given, or the first of that name with a number that is
/// free. What is kept under one is never replaced.
///
/// # Errors
/// Returns an error where git fails.
pub(super) async fn keep(
    git: &Git,
    top: &Path,
    reference: &str,
    commit: &str,
) -> Result<String, WorkspaceError> {
    let directory = reference.rsplit_once('/').map_or(reference, |(directory, _)| directory);
    let there = git.line(top, &["for-each-ref", "--format=%(refname)", directory]).await?;
    let there: HashSet<&str> = there.lines().collect();
    let more = (2_u32..).map(|number| format!("{reference}-{number}"));
    let mut names = std::iter::once(reference.to_owned()).chain(more);
    let name = names.find(|name| !there.contains(name.as_str())).unwrap_or_else(|| reference.to_owned());
    // The empty old value says that there must be none.
    git.run(top, &["update-ref", "--no-deref", &name, commit, ""]).await?;
    Ok(name)
}

/// Has a branch hold a commit. What the branch has and the commit has not is [kept](keep).
///
/// # Errors
/// Returns an error where git fails.
pub(super) async fn put_on(
    git: &Git,
    users: &UsersTree,
    branch: &str,
    commit: &str,
) -> Result<(), WorkspaceError> {
    let (top, name) = (&users.top, format!("refs/heads/{branch}"));
    let head = users.reference(git, &name).await?;
    if let Some(head) = &head {
        if head == commit || holder(git, top, &[&name], commit).await?.is_some() {
            return Ok(());
        }
        let beyond = git.line(top, &["rev-list", "--max-count=1", head, &format!("^{commit}")]).await?;
        if !beyond.is_empty() {
            keep(git, top, &rescue_of(branch), head).await?;
        }
    }
    let head = head.unwrap_or_default();
    git.run(top, &["update-ref", "--no-deref", &name, commit, &head]).await?;
    Ok(())
}

/// Does the same for a branch that others may have checked out: where they have, it stays as it is, so that their files
/// are those of its commit, and the commit is [kept](keep) beside it. Returns what people should know then.
///
/// # Errors
/// Returns an error where git fails.
pub(super) async fn put_on_or_beside(
    git: &Git,
    users: &UsersTree,
    branch: &str,
    commit: &str,
) -> Result<Option<String>, WorkspaceError> {
    let name = format!("refs/heads/{branch}");
    if users.reference(git, &name).await?.as_deref() == Some(commit) {
        return Ok(None);
    }
    let Some(elsewhere) = users.checked_out(git, branch).await? else {
        return put_on(git, users, branch, commit).await.map(|()| None);
    };
    if holder(git, &users.top, &[&name, "refs/samuel/rescue"], commit).await?.is_some() {
        return Ok(None);
    }
    let kept = keep(git, &users.top, &rescue_of(branch), commit).await?;
    Ok(Some(format!(
        "the branch {branch} is checked out in {elsewhere} and stays as it is there: the work is kept as {kept}"
    )))
}

/// Returns one of some references, or of those below them, that has a commit.
async fn holder(
    git: &Git,
    top: &Path,
    among: &[&str],
    commit: &str,
) -> Result<Option<String>, WorkspaceError> {
    let args = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit];
    let args: Vec<&str> = args.into_iter().chain(among.iter().copied()).collect();
    Ok(Some(git.line(top, &args).await?).filter(|holder| !holder.is_empty()))
}
