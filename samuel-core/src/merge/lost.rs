//! Merged work that a branch lost, such as by a reset or a forced push.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{MergeRepository, repository::Merge};
use crate::{
    git::program::GitProgramError,
    model::TaskId,
    process::CommandSpec,
    workspace::{Configured, WorkspaceError, rescue_of},
};

/// What git calls an object that is a commit.
const COMMIT: &str = "commit";
/// How many commits of a branch are compared with one that it does not have.
const MAX_COMPARED: &str = "--max-count=10000";

/// Merged commits that a branch does not have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingCommits {
    /// Those whose changes are not on the branch either.
    pub(crate) lost: Vec<String>,
    /// Those whose changes other commits of the branch have, with the one of the same author, time and subject.
    pub(crate) replaced: HashMap<String, Option<String>>,
}

impl MissingCommits {
    /// Has other commits stand for the commits of tasks that they replaced, which git may remove. If it is not known which
    /// one has the work of a task, that work is not looked for any more.
    pub(crate) fn replace_in(&self, commits: &mut BTreeMap<TaskId, String>) {
        commits.retain(|_, commit| match self.replaced.get(commit.as_str()) {
            Some(Some(other)) => {
                commit.clone_from(other);
                true
            }
            Some(None) => false,
            None => true,
        });
    }
}

impl MergeRepository {
    /// Returns those of some commits that are on a branch.
    ///
    /// # Errors
    /// Returns an error if git fails.
    pub(crate) async fn on_branch(
        &self,
        head: &str,
        commits: &[String],
    ) -> Result<Vec<String>, WorkspaceError> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let (types, beyond) = self.beyond(head, commits).await?;
        let beyond: HashSet<&str> = beyond.lines().collect();
        let found = commits.iter().zip(types.lines()).filter(|(_, found)| *found == COMMIT);
        Ok(found
            .map(|(commit, _)| commit)
            .filter(|commit| !beyond.contains(commit.as_str()))
            .cloned()
            .collect())
    }

    /// Returns what git has of some commits, and the commits that a branch does not have, a line each.
    async fn beyond(&self, head: &str, commits: &[String]) -> Result<(String, String), WorkspaceError> {
        let asked = commits.join("\n") + "\n";
        let spec = self.within(&["cat-file", "--batch-check=%(objecttype)"]).stdin(asked.into_bytes());
        let types = self.lines_of("cat-file", spec).await?;
        let there = commits.iter().zip(types.lines()).filter(|(_, found)| *found == COMMIT);
        let asked: String = there.map(|(commit, _)| format!("{commit}\n")).collect();
        let spec = self
            .within(&["rev-list", "--topo-order", "--stdin"])
            .stdin(format!("{asked}^{head}\n").into_bytes());
        let listed = self.lines_of("rev-list", spec).await?;
        Ok((types, listed))
    }

    /// Returns those of some merged commits that are not on the branch any more. A commit with the same changes counts as
    /// the work, and so does one with the same author, time and subject, so that work stays where a person rebased,
    /// amended or squashed the branch.
    ///
    /// # Errors
    /// Returns an error if git fails.
    pub(crate) async fn missing(
        &self,
        head: &str,
        merged: &[String],
    ) -> Result<MissingCommits, WorkspaceError> {
        let mut missing = MissingCommits::default();
        if merged.is_empty() {
            return Ok(missing);
        }
        let (types, listed) = self.beyond(head, merged).await?;
        let is_there = |found: &str| found == COMMIT;
        let beyond: HashSet<&str> = listed.lines().collect();
        let tree = self.line(&["rev-parse", "--verify", &format!("{head}^{{tree}}")]).await?;
        // The last of them has all others in its history, so that one look is enough if the branch was squashed, reworded
        // or rebased as a whole. Each by itself may conflict with the ones on top of it.
        let last = listed.lines().find(|commit| merged.iter().any(|merged| merged == commit));
        let merge = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", head];
        let has_all = match last {
            Some(last) => self.merges_to(&tree, &[&merge[..], &[last]].concat()).await?,
            None => false,
        };
        let elsewhere = merged.iter().map(String::as_str).filter(|commit| beyond.contains(commit));
        let amended = self.amended(head, &elsewhere.collect::<Vec<&str>>()).await?;
        for (commit, found) in merged.iter().zip(types.lines()) {
            if is_there(found) && !beyond.contains(commit.as_str()) {
                continue;
            }
            let other = amended.get(commit);
            let is_replaced = is_there(found)
                && (has_all || other.is_some() || self.has_changes(head, &tree, commit).await?);
            match is_replaced {
                true => _ = missing.replaced.insert(commit.clone(), other.cloned()),
                false => missing.lost.push(commit.clone()),
            }
        }
        Ok(missing)
    }

    /// Returns the commits of a branch with the author, time and subject of commits that it does not have, by those.
    async fn amended(&self, head: &str, commits: &[&str]) -> Result<HashMap<String, String>, WorkspaceError> {
        if commits.is_empty() {
            return Ok(HashMap::new());
        }
        let format = "--format=%H%x09%an%x09%ae%x09%at%x09%s";
        let asked = commits.join("\n") + "\n";
        let spec = self.within(&["log", "--no-walk", format, "--stdin"]).stdin(asked.into_bytes());
        let asked = self.lines_of("log", spec).await?;
        let not = commits.join("\n^");
        let spec = self.within(&["log", MAX_COMPARED, format, "--stdin"]);
        let others = self.lines_of("log", spec.stdin(format!("{head}\n^{not}\n").into_bytes())).await?;
        let others: HashMap<&str, &str> =
            others.lines().filter_map(|line| line.split_once('\t')).map(|(other, of)| (of, other)).collect();
        let asked = asked.lines().filter_map(|line| line.split_once('\t'));
        Ok(asked
            .filter_map(|(commit, of)| Some((commit.to_owned(), (*others.get(of)?).to_owned())))
            .collect())
    }

    /// Returns what git lists, one entry a line.
    async fn lines_of(&self, subcommand: &str, spec: CommandSpec) -> Result<String, WorkspaceError> {
        let listed = self.git.list(subcommand, spec).await?;
        let listed = listed.ok_or_else(|| GitProgramError::Failed {
            subcommand: subcommand.to_owned(),
            message: "the list is too long".to_owned(),
        })?;
        Ok(String::from_utf8_lossy(&listed.concat()).into_owned())
    }

    /// Returns whether a commit changes nothing in the files of a branch.
    async fn has_changes(&self, head: &str, tree: &str, commit: &str) -> Result<bool, WorkspaceError> {
        let base = format!("--merge-base={commit}^");
        let args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", &base, head, commit];
        self.merges_to(tree, &args).await
    }

    /// Returns whether a merge comes to a tree.
    async fn merges_to(&self, tree: &str, args: &[&str]) -> Result<bool, WorkspaceError> {
        match self.merge_tree(args).await {
            Ok(Merge::Tree(merged)) => Ok(merged == tree),
            Ok(Merge::Conflict(_)) => Ok(false),
            // Before git 2.40 no base can be named.
            Err(WorkspaceError::Git(GitProgramError::Failed { .. })) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Keeps a commit below `refs/samuel/rescue/`. Returns the name of the reference, or `None` if git does not have the
    /// commit any more.
    ///
    /// # Errors
    /// Returns an error if git fails.
    pub(crate) async fn keep_lost(&self, name: &str, commit: &str) -> Result<Option<String>, WorkspaceError> {
        if self.ask(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).await?.is_none() {
            return Ok(None);
        }
        let reference = rescue_of(name);
        let spec = self.git.call(&self.users.top, Configured::Alone, &["update-ref", &reference, commit]);
        self.git.finish("update-ref", spec).await?;
        Ok(Some(reference))
    }
}
