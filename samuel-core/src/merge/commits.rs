//! The commits that land: what is made of a submission once it is merged.
//!
//! By whatever strategy, what lands has the tree that the merge came to, which is the one that is checked. What
//! a strategy cannot make of it is squashed: commits of a branch whose order, merges or undone changes come to
//! another tree when they are made anew, ones that git does not make, and ones that bring on the way what must not
//! land.

use super::{
    ClaimKey, MergeRepository, MergeStrategy, Submission,
    repository::Merge,
    strategy::{with_trailers, without_trailers},
};
use crate::{
    git::program::GitProgramError,
    workspace::{Configured, MadeWork, NOBODY, RefusedWork, WorkspaceError},
};

/// How many commits of one submission are made anew.
const MAX_COMMITS: usize = 1_000;

impl MergeRepository {
    /// Makes what lands of a submission: a commit that follows another one. Returns why it must not land, where that is
    /// so. `commits` are those on the way to it, a line each, where they are known.
    pub(super) async fn landed(
        &self,
        at: &str,
        tree: &str,
        work: &Submission,
        commits: Option<&[u8]>,
    ) -> Result<Result<String, RefusedWork>, WorkspaceError> {
        let strategy = self.setup.strategy;
        if let (MergeStrategy::Merge, Some(commits)) = (strategy, commits) {
            let merge = self.merge_commit(at, tree, work).await?;
            // Looked at in one go. Nothing names the commit yet.
            if let Some(brought) = self.brought(&merge, at, commits).await? {
                return Ok(match self.refusal_of(at, &brought.together).await? {
                    Some(refusal) => Err(refusal),
                    None if self.strays_of(at, &brought.on_the_way).await? => {
                        Ok(self.squashed(at, tree, work).await?)
                    }
                    None => Ok(merge),
                });
            }
        }
        if let Some(refusal) = self.refusal(at, tree).await? {
            return Ok(Err(refusal));
        }
        if strategy == MergeStrategy::Squash || self.strays(at, &work.commit).await? {
            return self.squashed(at, tree, work).await.map(Ok);
        }
        let landed = match strategy {
            MergeStrategy::Rebase => match self.rebased(at, tree, at, &work.commit, Some(&work.key)).await {
                Ok(Some(landed)) => Ok(landed),
                // git does not make each commit that somebody could make: one without an author, for example.
                Ok(None) | Err(WorkspaceError::Git(GitProgramError::Failed { .. })) => {
                    self.squashed(at, tree, work).await
                }
                Err(error) => Err(error),
            },
            _ => self.merge_commit(at, tree, work).await,
        };
        landed.map(Ok)
    }

    /// Makes the commit of a merge, which nothing names yet.
    pub(super) async fn merge_commit(
        &self,
        at: &str,
        tree: &str,
        work: &Submission,
    ) -> Result<String, WorkspaceError> {
        let message = with_trailers(&format!("Merge {}", work.branch), &work.key);
        self.commit(&[at, &work.commit], tree, &message, None).await
    }

    /// Makes one commit of all that a submission changes.
    async fn squashed(&self, at: &str, tree: &str, work: &Submission) -> Result<String, WorkspaceError> {
        let title = self.line(&["log", "-1", "--format=%s", "--end-of-options", &work.commit]).await?;
        let title = if title.is_empty() { format!("Squash {}", work.branch) } else { title };
        self.commit(&[at], tree, &with_trailers(&title, &work.key), None).await
    }

    /// Makes work that came back again on the head of a branch: what it changed since it began at `base`, commit by
    /// commit if that comes to the same, and else as one commit. Returns `None` if that is in conflict, changes
    /// nothing, or git is too old to be told a base.
    ///
    /// # Errors
    /// Returns an error if git fails.
    pub(crate) async fn made_again(
        &self,
        head: &str,
        base: &str,
        work: &str,
    ) -> Result<Option<MadeWork>, WorkspaceError> {
        let merge_base = format!("--merge-base={base}");
        let args =
            ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &merge_base, head, work];
        let tree = match self.merge_tree(&args).await {
            Ok(Merge::Tree(tree)) => tree,
            Ok(Merge::Conflict(_)) | Err(WorkspaceError::Git(GitProgramError::Failed { .. })) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if tree == self.line(&["rev-parse", "--verify", &format!("{head}^{{tree}}")]).await? {
            return Ok(None);
        }
        let commit = match self.rebased(head, &tree, base, work, None).await {
            Ok(Some(commit)) => commit,
            Ok(None) | Err(WorkspaceError::Git(GitProgramError::Failed { .. })) => {
                let title = self.line(&["log", "-1", "--format=%s", "--end-of-options", work]).await?;
                self.commit(&[head], &tree, &without_trailers(&title), None).await?
            }
            Err(error) => return Err(error),
        };
        Ok(Some(MadeWork { commit, tree, left: Vec::new() }))
    }

    /// Makes the commits between two anew on another one, the last of them with the trailers of a claim, if there is
    /// one; nothing where one is in conflict by itself, they come to another tree than the merge, there is none, or
    /// there are too many.
    async fn rebased(
        &self,
        at: &str,
        merged: &str,
        since: &str,
        work: &str,
        key: Option<&ClaimKey>,
    ) -> Result<Option<String>, WorkspaceError> {
        let range = format!("{since}..{work}");
        let commits = self.line(&["rev-list", "--reverse", "--topo-order", "--no-merges", &range]).await?;
        let commits: Vec<&str> = commits.lines().collect();
        if commits.is_empty() || commits.len() > MAX_COMMITS {
            return Ok(None);
        }
        let (mut onto, mut last) = (at.to_owned(), String::new());
        for (place, commit) in commits.iter().enumerate() {
            let base = format!("--merge-base={commit}^");
            let args =
                ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, &onto, commit];
            let Merge::Tree(tree) = self.merge_tree(&args).await? else { return Ok(None) };
            let spec = self.within(&["log", "-1", "--format=%an%x00%ae%x00%aI%x00%B", commit]);
            let told = self.git.finish("log", spec).await?.stdout.head;
            let told = String::from_utf8_lossy(&told);
            let mut told = told.splitn(4, '\0').map(str::to_owned);
            let author = told.next().zip(told.next()).zip(told.next());
            let author = author.map(|((name, email), date)| Author { name, email, date });
            let message = told.next().unwrap_or_default();
            let is_last = place + 1 == commits.len();
            let message = match key.filter(|_| is_last) {
                Some(key) => with_trailers(&message, key),
                None => without_trailers(&message),
            };
            onto = self.commit(&[&onto], &tree, &message, author).await?;
            last = tree;
        }
        Ok((last == merged).then_some(onto))
    }

    pub(super) async fn commit(
        &self,
        parents: &[&str],
        tree: &str,
        message: &str,
        author: Option<Author>,
    ) -> Result<String, WorkspaceError> {
        let mut args = vec!["commit-tree", "-F", "-"];
        parents.iter().for_each(|parent| args.extend(["-p", parent]));
        args.push(tree);
        let [name, email] = self.user().await?;
        let author = author.unwrap_or_else(|| Author {
            name: name.clone(),
            email: email.clone(),
            date: String::new(),
        });
        let spec = self.within(&args).stdin(message.as_bytes().to_vec());
        let mut spec = spec
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .env("GIT_AUTHOR_NAME", author.name)
            .env("GIT_AUTHOR_EMAIL", author.email);
        if !author.date.is_empty() {
            spec = spec.env("GIT_AUTHOR_DATE", author.date);
        }
        Ok(self.git.finish("commit-tree", spec).await?.stdout.text().trim().to_owned())
    }

    /// Returns the name and the address of the user, as git knew them when it was asked first.
    async fn user(&self) -> Result<&[String; 2], WorkspaceError> {
        self.user.get_or_try_init(|| self.asked_user()).await
    }

    async fn asked_user(&self) -> Result<[String; 2], WorkspaceError> {
        let mut known = [String::new(), String::new()];
        for (place, (name, default)) in known.iter_mut().zip(NOBODY) {
            let spec = self.git.call(&self.users.top, Configured::ByUser, &["config", "--get", name]);
            let output = self.git.answer(spec).await?;
            let said = output.stdout.text().trim().to_owned();
            *place = if output.success() && !said.is_empty() { said } else { default.to_owned() };
        }
        Ok(known)
    }
}

/// Who wrote a commit, and when.
pub(super) struct Author {
    name: String,
    email: String,
    /// As git writes it; empty for now.
    date: String,
}
