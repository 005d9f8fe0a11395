//! Submissions that are merged, checked and landed together, and what is left of them where they fail.

use serde::{Deserialize, Serialize};

use super::{ClaimKey, MergedWork, UnsettledLanding};
use crate::state::LandingClaim;

/// Submissions that are merged and checked together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Group {
    pub(super) keys: Vec<ClaimKey>,
    /// Whether they are a part of a batch whose checks failed.
    pub(super) is_part: bool,
    /// How often the checks failed with them.
    pub(super) red: u32,
}

/// Submissions that were merged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) base: String,
    pub(super) merged: Vec<MergedWork>,
    pub(super) is_part: bool,
    pub(super) red: u32,
    /// Which attempt each of them is.
    pub(super) attempts: Vec<u32>,
}

impl Batch {
    /// Returns its submissions as what is tried again.
    pub(super) fn group(&self) -> Group {
        Group { keys: self.keys(), is_part: self.is_part, red: 0 }
    }

    /// Returns its halves, which are checked apart.
    pub(super) fn halves(&self) -> [Group; 2] {
        let keys = self.keys();
        let (first, second) = keys.split_at(keys.len() / 2);
        [first, second].map(|half| Group { keys: half.to_vec(), is_part: true, red: 0 })
    }

    fn keys(&self) -> Vec<ClaimKey> {
        self.merged.iter().map(|merged| merged.key.clone()).collect()
    }

    /// Returns how a branch moves for it.
    pub(super) fn landing(&self, into: &str) -> UnsettledLanding {
        let new = self.merged.last().map(|last| last.landed.clone()).unwrap_or_default();
        UnsettledLanding { into: into.to_owned(), old: self.base.clone(), new }
    }

    /// Returns its claims as a landing names them.
    pub(super) fn claims(&self) -> Vec<LandingClaim> {
        let claims = self.merged.iter().map(|merged| LandingClaim {
            task: merged.key.task.clone(),
            token: merged.key.token,
            commit: merged.commit.clone(),
            landed: merged.landed.clone(),
        });
        claims.collect()
    }
}
