//! Repositories within a project: its submodules, and others that lie in it.
//!
//! Work in one of them is work on the project, committed or not. Each stands in a
//! [`Listing`] as one entry: a clean one has the id of its commit, as git records a
//! submodule, any other a digest of what it holds.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};

use super::{Caller, Content, GitError, Listing, ObjectId, Repository, Stat, Walk, ignores::Walking};

/// How deep repositories are looked into that lie in each other.
pub(super) const MAX_NESTED: usize = 4;
/// How many files are looked at of one that cannot be read.
const MAX_FILES: usize = 100_000;

/// Until when, and how deep, a project is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// How long the whole look may take.
    pub(super) limit: Duration,
    pub(super) deadline: Instant,
    /// How many repositories are around.
    pub(super) depth: usize,
}

impl Budget {
    /// Returns a budget that begins now.
    pub fn new(limit: Duration) -> Self {
        Self { limit, deadline: Instant::now() + limit, depth: 0 }
    }

    pub(super) fn is_over(&self) -> bool {
        Instant::now() > self.deadline
    }

    pub(super) fn timed_out(&self) -> GitError {
        GitError::TimedOut { limit: self.limit }
    }

    fn inner(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }
}

/// Returns what a repository that lies in a project holds; nothing where the
/// directory is the top of none.
///
/// # Errors
/// Returns [`GitError::TimedOut`] where the time does not suffice.
pub fn state_of(directory: &Path, budget: Budget) -> Result<Option<Content>, GitError> {
    if budget.depth >= MAX_NESTED || !is_top(directory) {
        return Ok(None);
    }
    // Whoever owns it: reading executes nothing.
    let opened = Repository::open(directory, &Caller::of_anybody()).ok().flatten();
    let own = opened.filter(|found| directory.canonicalize().is_ok_and(|real| real == found.top));
    let Some(repository) = own else { return by_names(directory, budget).map(Some) };
    let head = repository.head().ok().and_then(|head| head.commit());
    match repository.listing_within(budget.inner()) {
        Ok(listing) => Ok(Some(of_listing(&repository, head, &listing, budget))),
        Err(error @ GitError::TimedOut { .. }) => Err(error),
        Err(_) => by_names(directory, budget).map(Some),
    }
}

fn of_listing(repository: &Repository, head: Option<ObjectId>, listing: &Listing, budget: Budget) -> Content {
    if let Some(head) = head.filter(|head| is_clean(repository, head, listing, budget)) {
        return Content::Id(head);
    }
    let mut digest = Sha256::new();
    digest.update(head.map(|head| head.to_string()).unwrap_or_default());
    digest.update(hash_of(listing));
    seen(digest)
}

/// Says whether the files are those of a commit and no others.
fn is_clean(repository: &Repository, head: &ObjectId, listing: &Listing, budget: Budget) -> bool {
    let Ok(files) = repository.files_of(head, budget.left()) else { return false };
    let is_same = |(path, mode, id): &(Vec<u8>, u32, ObjectId)| {
        listing.get(path).is_some_and(|state| *state == (*mode, Content::Id(*id)))
    };
    files.len() == listing.len() && files.iter().all(is_same)
}

/// Tells one that cannot be read by names, sizes and times of its files.
fn by_names(directory: &Path, budget: Budget) -> Result<Content, GitError> {
    let mut digest = Sha256::new();
    let mut files = 0;
    let ended = Walk::of(directory).files(
        budget.deadline,
        |_, _| false,
        |file| {
            if let Ok(metadata) = fs::symlink_metadata(directory.join(file.path)) {
                digest.update(file.path.as_os_str().as_encoded_bytes());
                digest.update(format!("{:?}", Stat::of(&metadata)));
            }
            files += 1;
            files < MAX_FILES
        },
    );
    match ended == Walking::CutShort && budget.is_over() {
        true => Err(budget.timed_out()),
        false => Ok(seen(digest)),
    }
}

/// Hashes the entries of a listing.
pub fn hash_of(listing: &Listing) -> Vec<u8> {
    let mut hash = Sha256::new();
    for (path, (mode, content)) in listing {
        hash.update(path.len().to_le_bytes());
        hash.update(path);
        hash.update(mode.to_le_bytes());
        match content {
            Content::Id(id) => hash.update(id.as_bytes()),
            Content::Seen(seen) => hash.update(seen),
        }
    }
    hash.finalize().to_vec()
}

fn seen(digest: Sha256) -> Content {
    Content::Seen(digest.finalize().first_chunk::<16>().copied().unwrap_or_default())
}

fn is_top(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(".git")).is_ok()
}
