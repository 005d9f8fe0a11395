//! What the patterns of control files match, as far as is looked.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{script::named::pattern, trust::UNREADABLE};

/// What is found in the place of the digest of a pattern that matches more than is looked at.
const BEYOND: &str = "there is more than is looked at";

/// The files that patterns match.
#[derive(Debug, Default)]
pub(super) struct Matched {
    pub(super) files: BTreeSet<PathBuf>,
    /// The patterns of which there may be more, each as a path below the root.
    beyond: BTreeSet<PathBuf>,
}

impl Matched {
    /// Looks below a root. Blocks.
    pub(super) fn of<'a>(patterns: impl IntoIterator<Item = &'a PathBuf>, root: &Path) -> Self {
        let mut matched = Self::default();
        for pattern in patterns {
            let found = pattern::look(pattern, root);
            matched.files.extend(found.files);
            if found.may_be_more {
                matched.beyond.insert(root.join(pattern));
            }
        }
        matched
    }

    /// Returns what stands for files that were not looked at, in the place of their digests: who hides one behind many
    /// others does not do so unseen.
    pub(super) fn beyond(&self) -> impl Iterator<Item = (&PathBuf, String)> {
        self.beyond.iter().map(|pattern| (pattern, format!("{UNREADABLE}{BEYOND}")))
    }
}
