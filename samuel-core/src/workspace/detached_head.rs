//! Leaving a branch in a work tree of Samuel's own, at the commit that is checked out: without git, whose start takes
//! longer than all of it.
//!
//! It is what git does: `HEAD` is written beside itself, under the name that keeps other gits out, and put in its place.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

/// Has a work tree be at a commit and on no branch, by the directory that git keeps of it. Where another git is at work
/// on that, nothing is changed.
///
/// # Errors
/// Returns an error where it cannot be written, or has a lock.
pub(super) fn write(git_dir: &Path, commit: &str) -> io::Result<()> {
    let lock = git_dir.join("HEAD.lock");
    let mut file = File::create_new(&lock)?;
    let written = file.write_all(format!("{commit}\n").as_bytes()).and_then(|()| file.sync_data());
    drop(file);
    let placed = written.and_then(|()| fs::rename(&lock, git_dir.join("HEAD")));
    if placed.is_err() {
        // Else no git could move it any more.
        let _ = fs::remove_file(&lock);
    }
    placed
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::git::{Caller, Head, Repository, testing::Repository as Made};

    #[test]
    fn a_branch_is_left_at_its_commit_unless_another_git_is_at_work_there() {
        let made = Made::with(&[("a.rs", "")]);
        let repository = Repository::open(made.path(), &Caller::of_process()).unwrap().unwrap();
        let (git_dir, commit) = (made.path().join(".git"), repository.head().unwrap().commit().unwrap());
        let lock = git_dir.join("HEAD.lock");
        fs::write(&lock, "").unwrap();
        assert!(write(&git_dir, &commit.to_string()).is_err());
        assert_eq!(repository.branch().as_deref(), Some("main"));
        assert!(lock.exists(), "it is somebody else's");
        fs::remove_file(&lock).unwrap();
        write(&git_dir, &commit.to_string()).unwrap();
        assert_eq!(repository.head().unwrap(), Head::Detached(commit));
        assert!(!lock.exists() && !made.tries(&["symbolic-ref", "--quiet", "HEAD"]));
        made.run(&["fsck", "--strict"]);
    }
}
