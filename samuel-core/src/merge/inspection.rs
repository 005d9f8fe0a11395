//! What work that is submitted is, and what it must not bring: looked at before it is merged, and before it lands.
//!
//! Whoever submits hands in a commit and says nothing else. It may be gone, have nothing to do with the
//! branch, or lack objects; none of that may keep what others submitted from landing.

use std::collections::HashSet;

use super::{MergeRepository, Submission};
use crate::{
    git::program::GitProgramError,
    process::{End, ExitStatus},
    workspace::{Change, RefusedWork, WorkspaceError, embedded, shown},
};

/// How many commits of one submission are looked at one by one.
const MAX_COMMITS: usize = 10_000;
/// How many entries are held against those that are there already.
const MAX_STRAYS: usize = 100;
/// The exit code of a git that cannot do what it is asked.
const FATAL: ExitStatus = ExitStatus::Exited(128);
/// The mode of a link to another repository.
const GITLINK: &[u8] = b"160000";
/// The mode of a directory.
const DIRECTORY: &[u8] = b"040000";
/// The mode of what is not there.
const ABSENT: &[u8] = b"000000";
/// How changes are listed, with the directories in which they are.
const RAW: [&str; 7] = ["-r", "-t", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-abbrev"];

/// What a submission is found to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Work that can be merged.
    New,
    /// Work that is on the branch already.
    Landed,
    /// No work that could be merged.
    Unfit {
        /// Why, in one line.
        reason: String,
    },
}

impl MergeRepository {
    /// Looks at a submission, measured by the head of the branch.
    pub(super) async fn found(&self, head: &str, work: &Submission) -> Result<Found, WorkspaceError> {
        let unfit = |reason: String| Ok(Found::Unfit { reason });
        let commit = format!("{}^{{commit}}", work.commit);
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        let Some(commit) = self.git.ask("rev-parse", self.within(&args)).await? else {
            return unfit(format!("its commit {} is not in the repository", work.commit));
        };
        let commit = commit.stdout.text().trim().to_owned();
        let spec = self.within(&["merge-base", head, &commit]);
        let Some(shared) = self.git.ask("merge-base", spec).await? else {
            return unfit("it has no history in common with the branch".to_owned());
        };
        // Work that changes nothing is where it began, and lands as any other.
        if shared.stdout.text().trim() == commit && !commit.starts_with(&work.base) {
            return Ok(Found::Landed);
        }
        let args = ["rev-list", "--objects", "--quiet", &commit, "--not", head];
        let output = self.git.answer(self.within(&args)).await?;
        match (output.end, output.status, GitProgramError::of("rev-list", &output)) {
            _ if output.success() => Ok(Found::New),
            (End::Exited, FATAL, GitProgramError::Failed { message, .. }) => {
                unfit(RefusedWork::Damaged { complaint: message }.to_string())
            }
            (_, _, error) => Err(error.into()),
        }
    }

    /// Says why what a merge changes must not land.
    pub(super) async fn refusal(&self, at: &str, tree: &str) -> Result<Option<RefusedWork>, WorkspaceError> {
        let args: Vec<&str> = ["diff-tree"].into_iter().chain(RAW).chain([at, tree]).collect();
        let Some(parts) = self.git.list("diff-tree", self.within(&args)).await? else {
            return Ok(Some(RefusedWork::TooMany { what: "files".to_owned() }));
        };
        let changes: Vec<Change> = parts.chunks(2).filter_map(Change::read).collect();
        let is_link = |change: &&Change| change.mode == GITLINK || change.old_mode == GITLINK;
        if let Some(link) = changes.iter().find(is_link) {
            return Ok(Some(RefusedWork::Gitlink { path: shown(&link.path) }));
        }
        let files: Vec<String> = changes.iter().filter_map(|change| self.control_file(change)).collect();
        if !files.is_empty() {
            return Ok(Some(RefusedWork::ControlFiles { files }));
        }
        embedded(&self.git, |args| self.within(args), at, &changes).await
    }

    /// Says whether a commit on the way to a submission brings what must not land although all of them
    /// together do not, or there are more than are looked at.
    pub(super) async fn strays(&self, at: &str, commit: &str) -> Result<bool, WorkspaceError> {
        let (most, not) = (format!("--max-count={}", MAX_COMMITS + 1), format!("^{at}"));
        let commits = self.git.finish("rev-list", self.within(&["rev-list", &most, commit, &not])).await?;
        let commits = commits.stdout.head;
        if commits.split(|byte| *byte == b'\n').count() > MAX_COMMITS {
            return Ok(true);
        }
        let args = ["diff-tree", "--stdin", "--no-commit-id", "-m", "--root"];
        let args: Vec<&str> = args.into_iter().chain(RAW).collect();
        let spec = self.within(&args).stdin(commits);
        let Some(parts) = self.git.list("diff-tree", spec).await? else { return Ok(true) };
        let changes: Vec<Change> = parts.chunks(2).filter_map(Change::read).collect();
        let may_stray = |change: &&Change| change.mode == GITLINK || self.control_file(change).is_some();
        let entry = |change: &Change| (change.path.clone(), change.mode.clone(), change.id.clone());
        let entries: HashSet<_> = changes.iter().filter(may_stray).map(entry).collect();
        if entries.len() > MAX_STRAYS {
            return Ok(true);
        }
        // What somebody took over from the branch is there already.
        for (path, mode, id) in &entries {
            if !self.has_entry(at, path, mode, id).await? {
                return Ok(true);
            }
        }
        Ok(embedded(&self.git, |args| self.within(args), at, &changes).await?.is_some())
    }

    /// Returns the path from the project's root of a file that decides what runs, where a change is of one.
    fn control_file(&self, change: &Change) -> Option<String> {
        let path = change.path.strip_prefix(self.users.prefix.as_bytes()).map(shown)?;
        let is_file = match change.mode == ABSENT {
            true => change.old_mode != DIRECTORY,
            false => change.mode != DIRECTORY,
        };
        (is_file && self.setup.control.covers(&path)).then_some(path)
    }

    /// Says whether a commit has the very same entry.
    async fn has_entry(&self, at: &str, path: &[u8], mode: &[u8], id: &[u8]) -> Result<bool, WorkspaceError> {
        let Ok(path) = std::str::from_utf8(path) else { return Ok(false) };
        let spec = self.within(&["ls-tree", "-z", "--full-tree", at, "--", path]);
        let entries = self.git.list("ls-tree", spec).await?.unwrap_or_default();
        let Some(entry) = entries.first() else { return Ok(mode == ABSENT) };
        let mut words = entry.split(|byte| matches!(byte, b' ' | b'\t'));
        Ok(words.next() == Some(mode) && words.nth(1) == Some(id))
    }
}
