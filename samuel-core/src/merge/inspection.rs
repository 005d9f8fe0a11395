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
/// The mode of what is not there.
const ABSENT: &[u8] = b"000000";
/// How changes are listed, with the directories in which they are.
const RAW: [&str; 7] = ["-r", "-t", "-z", "--raw", "--no-renames", "--no-ext-diff", "--no-abbrev"];

/// What a submission is found to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Work that can be merged.
    New {
        /// The commits that the branch does not have, a line each, where they are known.
        commits: Option<Vec<u8>>,
    },
    /// Work that is on the branch already.
    Landed,
    /// Work that began at a commit that the branch lost, which it would bring back.
    MovedBack,
    /// No work that could be merged.
    Unfit {
        /// Why, in one line.
        reason: String,
    },
}

/// What a submission changes.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// What the merge changes.
    pub(super) together: Vec<Change>,
    /// What each of the commits on the way changes.
    pub(super) on_the_way: Vec<Change>,
}

impl Brought {
    /// Reads what `git diff-tree --stdin` writes: the id of each commit that changes something, and what that is.
    fn read(merge: &str, parts: &[Vec<u8>]) -> Self {
        let (mut brought, mut of_merge, mut parts) = (Self::default(), false, parts.iter());
        while let Some(part) = parts.next() {
            if !part.starts_with(b":") {
                of_merge = part == merge.as_bytes();
                continue;
            }
            let Some(path) = parts.next() else { break };
            let change = Change::read(&[part.clone(), path.clone()]);
            if of_merge { &mut brought.together } else { &mut brought.on_the_way }.extend(change);
        }
        brought
    }
}

/// What is beyond a commit: by the lines that `git rev-list --objects --boundary` writes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Beyond {
    /// The commits, a line each.
    commits: Vec<u8>,
    /// Whether they have something in common with what they are beyond.
    has_boundary: bool,
}

impl Beyond {
    fn read(listed: &[u8]) -> Self {
        let mut beyond = Self::default();
        for line in listed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if line.starts_with(b"-") {
                beyond.has_boundary = true;
            } else if !line.contains(&b' ') {
                // A blank is behind the id of whatever is no commit.
                beyond.commits.extend_from_slice(line);
                beyond.commits.push(b'\n');
            }
        }
        beyond
    }
}

impl MergeRepository {
    /// Looks at a submission, measured by the head of the branch.
    pub(super) async fn found(&self, head: &str, work: &Submission) -> Result<Found, WorkspaceError> {
        match self.found_at_once(head, work).await? {
            Some(found) => Ok(found),
            None => self.found_in_steps(head, work).await,
        }
    }

    /// Looks at a submission by one call of git, which also finds out whether all its objects are there. Nothing where
    /// something is wrong with it.
    pub(super) async fn found_at_once(
        &self,
        head: &str,
        work: &Submission,
    ) -> Result<Option<Found>, WorkspaceError> {
        let commit = &work.commit;
        if !is_hash(commit) {
            return Ok(None);
        }
        let args = ["rev-list", "--objects", "--boundary", commit, "--not", head];
        let listed = match self.git.list("rev-list", self.within(&args)).await {
            Ok(Some(listed)) => listed.concat(),
            Ok(None) | Err(GitProgramError::Failed { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Beyond { commits, has_boundary } = Beyond::read(&listed);
        let base = work.base.as_bytes();
        if is_hash(&work.base) && commits.split(|byte| *byte == b'\n').any(|commit| commit == base) {
            return Ok(Some(Found::MovedBack));
        }
        Ok(match (commits.is_empty(), has_boundary) {
            // What has objects and no commit is none itself.
            (true, _) if !listed.is_empty() => None,
            // Work that changes nothing is where it began, and lands as any other.
            (true, _) if commit.starts_with(&work.base) => Some(Found::New { commits: Some(commits) }),
            (true, _) => Some(Found::Landed),
            (false, true) => Some(Found::New { commits: Some(commits) }),
            (false, false) => None,
        })
    }

    async fn found_in_steps(&self, head: &str, work: &Submission) -> Result<Found, WorkspaceError> {
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
        if self.follows(&work.base, &commit).await? && !self.follows(&work.base, head).await? {
            return Ok(Found::MovedBack);
        }
        let args = ["rev-list", "--objects", "--quiet", &commit, "--not", head];
        let output = self.git.answer(self.within(&args)).await?;
        match (output.end, output.status, GitProgramError::of("rev-list", &output)) {
            _ if output.success() => Ok(Found::New { commits: None }),
            (End::Exited, FATAL, GitProgramError::Failed { message, .. }) => {
                unfit(RefusedWork::Damaged { complaint: message }.to_string())
            }
            (_, _, error) => Err(error.into()),
        }
    }

    /// Returns whether a commit is among the ancestors of another one; `false` if git does not have it.
    async fn follows(&self, ancestor: &str, commit: &str) -> Result<bool, WorkspaceError> {
        if !is_hash(ancestor) {
            return Ok(false);
        }
        let spec = self.within(&["merge-base", "--is-ancestor", ancestor, commit]);
        match self.git.ask("merge-base", spec).await {
            Ok(found) => Ok(found.is_some()),
            Err(GitProgramError::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Says why what a merge changes must not land.
    pub(super) async fn refusal(&self, at: &str, tree: &str) -> Result<Option<RefusedWork>, WorkspaceError> {
        let args: Vec<&str> = ["diff-tree"].into_iter().chain(RAW).chain([at, tree]).collect();
        let Some(parts) = self.git.list("diff-tree", self.within(&args)).await? else {
            return Ok(Some(RefusedWork::TooMany { what: "files".to_owned() }));
        };
        let changes: Vec<Change> = parts.chunks(2).filter_map(Change::read).collect();
        self.refusal_of(at, &changes).await
    }

    /// Says why changes must not land.
    pub(super) async fn refusal_of(
        &self,
        at: &str,
        changes: &[Change],
    ) -> Result<Option<RefusedWork>, WorkspaceError> {
        let is_link = |change: &&Change| change.mode == GITLINK || change.old_mode == GITLINK;
        if let Some(link) = changes.iter().find(is_link) {
            return Ok(Some(RefusedWork::Gitlink { path: shown(&link.path) }));
        }
        let files: Vec<String> = changes.iter().filter_map(|change| self.control_file(change)).collect();
        if !files.is_empty() {
            return Ok(Some(RefusedWork::ControlFiles { files }));
        }
        embedded(&self.git, |args| self.within(args), at, changes).await
    }

    /// Lists what a merge changes in what it was merged with, and what each of the commits on the way does; nothing
    /// where that is more than is looked at.
    pub(super) async fn brought(
        &self,
        merge: &str,
        at: &str,
        commits: &[u8],
    ) -> Result<Option<Brought>, WorkspaceError> {
        let asked = [merge.as_bytes(), b" ", at.as_bytes(), b"\n", commits].concat();
        let parts = self.changes_by(asked, commits.split(|byte| *byte == b'\n').count()).await?;
        Ok(parts.map(|parts| Brought::read(merge, &parts)))
    }

    /// Lists what commits change, each behind its id, by what `git diff-tree --stdin` is asked; nothing where these are
    /// more than are looked at.
    pub(super) async fn changes_by(
        &self,
        asked: Vec<u8>,
        commits: usize,
    ) -> Result<Option<Vec<Vec<u8>>>, WorkspaceError> {
        if commits > MAX_COMMITS {
            return Ok(None);
        }
        let args: Vec<&str> = ["diff-tree", "--stdin", "-m", "--root"].into_iter().chain(RAW).collect();
        Ok(self.git.list("diff-tree", self.within(&args).stdin(asked)).await?)
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
        self.strays_of(at, &changes).await
    }

    /// Says the same of what the commits on the way change.
    pub(super) async fn strays_of(&self, at: &str, changes: &[Change]) -> Result<bool, WorkspaceError> {
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
        Ok(embedded(&self.git, |args| self.within(args), at, changes).await?.is_some())
    }

    /// Returns the path from the project's root of a file that decides what runs, where a change is of one.
    fn control_file(&self, change: &Change) -> Option<String> {
        change.control_file(&self.users.prefix, |path| self.setup.control.covers(path))
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

/// Returns whether a name is the full name of an object.
pub(crate) fn is_hash(name: &str) -> bool {
    matches!(name.len(), 40 | 64) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
