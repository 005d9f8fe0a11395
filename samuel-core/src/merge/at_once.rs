//! Work that is merged together and of which nothing is wrong, as nearly all is: with fewer calls of git than one by
//! one, since what it brings is looked at in one go.
//!
//! Whatever is in conflict, has landed, must not land or cannot be told leads to no answer here. Then all of it is
//! merged one by one, which says of each what it is (`repository`).

use std::collections::HashMap;

use super::{Built, MergeRepository, MergedWork, Submission, inspection::Found, repository::Merge};
use crate::workspace::{Change, WorkspaceError};

/// A commit that `git diff-tree` is asked about.
#[derive(Clone, Copy)]
struct Asked {
    /// Which of the submissions it is of.
    of: usize,
    /// Whether it is what lands of it; else it is on the way to it.
    is_merge: bool,
}

/// What a submission brings: all together, and each of the commits on the way.
#[derive(Default)]
struct Brings {
    together: Vec<Change>,
    on_the_way: Vec<Change>,
}

impl MergeRepository {
    /// Merges work on a commit, each on the one before; nothing where something is to be said of any of it.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(super) async fn built_at_once(
        &self,
        base: &str,
        work: &[Submission],
    ) -> Result<Option<Built>, WorkspaceError> {
        let mut built = Built { base: base.to_owned(), ..Built::default() };
        let (mut at, mut question, mut asked) = (base.to_owned(), Vec::new(), HashMap::new());
        let mut next = self.commits_of(base, work.first()).await?;
        for (of, submission) in work.iter().enumerate() {
            let Some(commits) = next.take() else { return Ok(None) };
            // What comes next is looked at meanwhile.
            let ahead = self.commits_of(base, work.get(of + 1));
            let (merged, ahead) = tokio::join!(self.merged_cleanly(&at, submission), ahead);
            let Some(merged) = merged? else { return Ok(None) };
            next = ahead?;
            question.extend([merged.landed.as_bytes(), b" ", at.as_bytes(), b"\n", &commits].concat());
            let on_the_way = commits.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let merge = (merged.landed.clone().into_bytes(), Asked { of, is_merge: true });
            let all =
                on_the_way.map(|commit| (commit.to_vec(), Asked { of, is_merge: false })).chain([merge]);
            for (commit, place) in all {
                // What several have in common would be told of one of them alone.
                if asked.insert(commit, place).is_some() {
                    return Ok(None);
                }
            }
            at.clone_from(&merged.landed);
            built.merged.push(merged);
        }
        let Some(brought) = self.brought_by(question, &asked, work.len()).await? else { return Ok(None) };
        let mut at = base;
        for (merged, brings) in built.merged.iter().zip(&brought) {
            if self.refusal_of(at, &brings.together).await?.is_some()
                || self.strays_of(at, &brings.on_the_way).await?
            {
                return Ok(None);
            }
            at = &merged.landed;
        }
        Ok(Some(built))
    }

    /// Returns the commits of a submission that a branch does not have, a line each; nothing where it is no sound work.
    async fn commits_of(
        &self,
        head: &str,
        work: Option<&Submission>,
    ) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(work) = work else { return Ok(None) };
        Ok(match self.found_at_once(head, work).await? {
            Some(Found::New { commits }) => commits,
            _ => None,
        })
    }

    /// Merges a submission with a commit; nothing where they are in conflict.
    async fn merged_cleanly(
        &self,
        at: &str,
        work: &Submission,
    ) -> Result<Option<MergedWork>, WorkspaceError> {
        let Merge::Tree(tree) = self.merge(at, &work.commit).await? else { return Ok(None) };
        let landed = self.merge_commit(at, &tree, work).await?;
        Ok(Some(MergedWork { key: work.key.clone(), commit: work.commit.clone(), landed, tree }))
    }

    /// Asks once what all of them bring; nothing where that is more than is looked at.
    async fn brought_by(
        &self,
        question: Vec<u8>,
        asked: &HashMap<Vec<u8>, Asked>,
        count: usize,
    ) -> Result<Option<Vec<Brings>>, WorkspaceError> {
        let Some(parts) = self.changes_by(question, asked.len()).await? else { return Ok(None) };
        let mut brought: Vec<Brings> = std::iter::repeat_with(Brings::default).take(count).collect();
        let (mut parts, mut place) = (parts.into_iter(), None);
        while let Some(part) = parts.next() {
            if !part.starts_with(b":") {
                place = asked.get(&part).copied();
                continue;
            }
            let Some(Asked { of, is_merge }) = place else { return Ok(None) };
            let (Some(path), Some(brings)) = (parts.next(), brought.get_mut(of)) else { return Ok(None) };
            let changes = if is_merge { &mut brings.together } else { &mut brings.on_the_way };
            changes.extend(Change::read(&[part, path]));
        }
        Ok(Some(brought))
    }
}
