//! The merge of a whole branch into what is checked out, which a person asks for.

use super::{
    MergeRepository,
    repository::{Merge, from_project},
};
use crate::workspace::{WorkspaceError, blocking};

/// The result of merging a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BranchMerge {
    /// The other commit has all of it already.
    Contained,
    /// The branch follows the other commit.
    FastForward,
    /// A commit that merges both. Nothing names it yet.
    Commit(String),
    /// Files in conflict, by paths from the project.
    Conflict(Vec<String>),
}

impl MergeRepository {
    /// Returns the branch that is checked out in the project, and its commit.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] if no branch is checked out, or it has no commit.
    pub(crate) async fn checked_out_branch(&self) -> Result<(String, String), WorkspaceError> {
        let users = self.users.clone();
        let standing = blocking(move || users.standing()).await?;
        Ok((standing.branch, standing.commit))
    }

    /// Merges the last commit of a branch with another commit. Moves nothing.
    ///
    /// # Errors
    /// Returns an error if git fails, also for commits without common history.
    pub(crate) async fn merge_branch(
        &self,
        at: &str,
        branch: &str,
        commit: &str,
    ) -> Result<BranchMerge, WorkspaceError> {
        if self.has(at, commit).await? {
            return Ok(BranchMerge::Contained);
        }
        if self.has(commit, at).await? {
            return Ok(BranchMerge::FastForward);
        }
        Ok(match self.merge(at, commit).await? {
            Merge::Tree(tree) => {
                let message = format!("Merge {branch}\n");
                BranchMerge::Commit(self.commit(&[at, commit], &tree, &message, None).await?)
            }
            Merge::Conflict(files) => {
                let prefix = &self.users.prefix;
                BranchMerge::Conflict(files.iter().map(|file| from_project(prefix, file)).collect())
            }
        })
    }

    /// Returns why a commit must not be merged without a look at it, such as for a changed control file.
    ///
    /// # Errors
    /// Returns an error if git fails.
    pub(crate) async fn refusal_of_branch(
        &self,
        at: &str,
        commit: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        let tree = self.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await?;
        Ok(self.refusal(at, &tree).await?.map(|refusal| refusal.to_string()))
    }
}
