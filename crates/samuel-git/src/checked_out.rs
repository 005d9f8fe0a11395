//! Whether a branch is checked out somewhere, as far as files say.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    Repository,
    head::{MAX_REF, Target},
    read,
};

/// How many work trees are looked at.
const MAX_TREES: usize = 1_000;

impl Repository {
    /// Says whether one of the work trees may have a reference checked out. A no is certain. A yes is not: a work tree
    /// may be gone, and what cannot be read may be anything.
    #[doc(hidden)]
    pub fn may_be_checked_out(&self, name: &str) -> bool {
        if !self.refs_in_files {
            return true;
        }
        let Ok(linked) = self.linked_work_trees() else { return true };
        let mut trees = linked.into_iter().chain([self.common_dir.clone()]);
        trees.any(|tree| self.may_lead_to(&tree.join("HEAD"), name))
    }

    /// Lists what git keeps of each work tree that is linked to the repository.
    fn linked_work_trees(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(self.common_dir.join("worktrees")) {
            Err(error) if read::is_absent(&error) => return Ok(Vec::new()),
            entries => entries?,
        };
        let paths: Vec<PathBuf> =
            entries.take(MAX_TREES + 1).map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        if paths.len() > MAX_TREES { Err(io::ErrorKind::QuotaExceeded.into()) } else { Ok(paths) }
    }

    fn may_lead_to(&self, head: &Path, name: &str) -> bool {
        let Ok(text) = read::read(head, MAX_REF) else { return true };
        match self.target(&text, head) {
            Ok(Target::Id(_)) => false,
            Ok(Target::Name(there)) => there == name || self.may_lead_on(&there),
            Err(_) => true,
        }
    }

    /// Says whether a reference may lead to another one.
    fn may_lead_on(&self, name: &str) -> bool {
        let path = self.common_dir.join(name);
        match read::read(&path, MAX_REF) {
            Ok(text) => !matches!(self.target(&text, &path), Ok(Target::Id(_))),
            // It is packed, and those lead nowhere, or it has no commit yet.
            Err(error) => !read::is_absent(&error) && !path.is_dir(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::{Caller, testing::Repository as Made};

    #[test]
    fn a_branch_that_no_work_tree_has_is_known_and_whatever_may_have_it_counts() {
        let made = Made::with(&[("a.rs", "")]);
        let may = |branch: &str| {
            let repository = Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap();
            repository.may_be_checked_out(&format!("refs/heads/{branch}"))
        };
        for branch in ["other", "side", "aliased"] {
            made.run(&["branch", branch]);
        }
        assert_eq!(["main", "other", "side", "gone"].map(may), [true, false, false, false]);

        let directory = tempfile::tempdir().unwrap();
        let linked = directory.path().join("linked");
        made.run(&["worktree", "add", "--quiet", linked.to_str().unwrap(), "side"]);
        assert_eq!(["main", "other", "side"].map(may), [true, false, true]);
        made.run(&["pack-refs", "--all"]);
        assert_eq!(["main", "other", "side"].map(may), [true, false, true]);

        let head = made.path().join(".git/worktrees/linked/HEAD");
        made.run(&["symbolic-ref", "refs/heads/alias", "refs/heads/aliased"]);
        fs::write(&head, "ref: refs/heads/alias\n").unwrap();
        assert!(may("aliased"), "over another name");
        fs::write(&head, "nothing\n").unwrap();
        assert!(may("other"), "nobody knows what is there");
        fs::remove_file(&head).unwrap();
        assert!(may("other"));
    }
}
