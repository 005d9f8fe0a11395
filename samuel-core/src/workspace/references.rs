//! What references of the user's repository are at, and where branches are checked out.
//!
//! Files tell nearly always, and nothing is started then. Where they do not, git is asked; one that fails is an error
//! and never a no.

use std::{collections::HashSet, path::Path};

use super::{
    WorkspaceError, blocking,
    bundle::shown,
    git::{Configured, Git},
    users_tree::UsersTree,
};

/// How many commits along first parents are looked at in files, at most.
const MAX_LINE: usize = 100;

impl UsersTree {
    /// Returns the commits along first parents that follow one up to another, the first one first, as files say;
    /// nothing where they do not tell.
    pub(crate) async fn line_between(&self, old: &str, new: &str) -> Option<Vec<String>> {
        self.line_in(&self.top, old, new).await
    }

    /// Does the same in another repository, such as a clone.
    pub(super) async fn line_in(&self, top: &Path, old: &str, new: &str) -> Option<Vec<String>> {
        let (users, top, old, new) = (self.clone(), top.to_owned(), old.to_owned(), new.to_owned());
        let line = blocking(move || {
            let repository = users.repository(&top)?;
            let Some((old, new)) = repository.id_of(&old).zip(repository.id_of(&new)) else {
                return Ok(None);
            };
            let line = repository.first_parents(&new, Some(&old), MAX_LINE)?;
            let follows = line.last().is_none_or(|(_, parents)| parents.first() == Some(&old));
            Ok(follows.then(|| line.iter().rev().map(|(commit, _)| commit.to_string()).collect()))
        });
        line.await.ok().flatten()
    }

    /// Says whether all of some commits are among the last ones of a reference, or were merged by one of these, as
    /// files say. A no is not certain.
    pub(crate) async fn has_lately(&self, name: &str, commits: Vec<String>) -> bool {
        let (users, name) = (self.clone(), name.to_owned());
        let has = blocking(move || {
            let repository = users.repository(&users.top)?;
            let Some(head) = repository.reference(&name)? else { return Ok(false) };
            // As many as each of them has moved it on.
            let line = repository.first_parents(&head, None, commits.len().min(MAX_LINE))?;
            let ids = line.iter().flat_map(|(id, parents)| [id].into_iter().chain(parents));
            let known: HashSet<String> = ids.map(ToString::to_string).collect();
            Ok(commits.iter().all(|commit| known.contains(commit)))
        });
        has.await.unwrap_or(false)
    }

    /// Returns the commit that a reference is at, by its whole name; nothing where there is no such reference.
    ///
    /// # Errors
    /// Returns an error where git fails, also for a name that no reference can have.
    pub(crate) async fn reference(&self, git: &Git, name: &str) -> Result<Option<String>, WorkspaceError> {
        let (users, read) = (self.clone(), name.to_owned());
        if let Ok(commit) = blocking(move || users.commit_at(&read)).await {
            return Ok(commit);
        }
        git.run(&self.top, &["check-ref-format", name]).await?;
        // One of which the commit is gone is there.
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", name];
        let answer = git.ask("rev-parse", git.call(&self.top, Configured::Alone, &args)).await?;
        Ok(answer.map(|output| output.stdout.text().trim().to_owned()))
    }

    /// Says whether a reference can have a name: git has rules for that.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn can_be_named(&self, git: &Git, name: &str) -> Result<bool, WorkspaceError> {
        let spec = git.call(&self.top, Configured::Alone, &["check-ref-format", name]);
        Ok(git.ask("check-ref-format", spec).await?.is_some())
    }

    /// Returns the work tree in which a branch is checked out. One whose directory is gone, and that nobody
    /// has locked because it comes back, has none.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn checked_out(
        &self,
        git: &Git,
        branch: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        let (users, name) = (self.clone(), format!("refs/heads/{branch}"));
        let has = format!("branch {name}");
        if !blocking(move || Ok(users.may_be_checked_out(&name))).await? {
            return Ok(None);
        }
        let args = ["worktree", "list", "--porcelain", "-z"];
        let lines = git.list("worktree", git.call(&self.top, Configured::Alone, &args)).await?;
        let lines = lines.unwrap_or_default();
        let is_there = |tree: &&[Vec<u8>]| {
            let is_gone = tree.iter().any(|line| line.starts_with(b"prunable"));
            !is_gone && tree.iter().any(|line| line == has.as_bytes())
        };
        let tree = lines.split(|line| line.is_empty()).find(is_there);
        let path = tree.and_then(|tree| tree.iter().find_map(|line| line.strip_prefix(b"worktree ")));
        Ok(path.map(shown))
    }

    /// Returns the commit that a reference is at, as its files say; nothing where there is no such reference. An error
    /// is no answer. Blocks.
    pub(crate) fn commit_at(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        Ok(self.repository(&self.top)?.reference(name)?.map(|commit| commit.to_string()))
    }

    /// Says whether a reference may be checked out in some work tree; a no is certain. Blocks.
    fn may_be_checked_out(&self, name: &str) -> bool {
        self.repository(&self.top).map_or(true, |repository| repository.may_be_checked_out(name))
    }
}
