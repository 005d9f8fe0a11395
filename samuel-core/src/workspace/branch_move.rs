//! Moving a branch that is checked out nowhere: by a compare-and-set of its reference.
//!
//! git keeps others from a reference by a lock beside it, and one that was killed leaves it there, so that nobody
//! can move the branch any more. So what is moved is written down before, and a lock that was made after such
//! a note, of which nobody took it back, is removed. One that stands there without a note is somebody else's.

use std::path::{Path, PathBuf};

use super::{
    UsersTree, WorkspaceError,
    git::{Configured, Git},
    record::{self, Landing},
    users_tree::remove_lock,
};
use crate::{
    git::program::GitProgramError,
    process::{End, ExitStatus},
};

/// Why a branch was not moved.
#[derive(Debug)]
pub(crate) enum NotMoved {
    /// Another git is at work on it, or was killed there.
    Locked {
        /// The lock, from the directory that the work trees share.
        lock: PathBuf,
    },
    /// git did not do it, or is said not to have.
    Failed(GitProgramError),
}

impl UsersTree {
    /// Moves a branch from a commit, and from no other, to another one.
    ///
    /// # Errors
    /// Returns an error where the note cannot be written, or a lock not be removed.
    pub(crate) async fn move_branch(
        &self,
        git: &Git,
        landing: &Landing,
        note: &Path,
    ) -> Result<Result<(), NotMoved>, WorkspaceError> {
        self.recover_move(note)?;
        record::write(note, landing)?;
        let name = format!("refs/heads/{}", landing.branch);
        let args = ["update-ref", "--no-deref", "-m", "samuel: land", &name, &landing.new, &landing.old];
        let moved = git.answer(git.call(&self.top, Configured::Alone, &args)).await;
        match &moved {
            // Such a git has removed its own lock.
            Ok(output) if matches!((output.end, output.status), (End::Exited, ExitStatus::Exited(_))) => {
                record::remove(note)?;
            }
            _ => self.recover_move(note)?,
        }
        Ok(match moved {
            Ok(output) if output.success() => Ok(()),
            Ok(_) if self.lock(&landing.branch).exists() => {
                Err(NotMoved::Locked { lock: lock(&landing.branch) })
            }
            Ok(output) => Err(NotMoved::Failed(GitProgramError::of("update-ref", &output))),
            Err(error) => Err(NotMoved::Failed(error)),
        })
    }

    /// Removes the lock that a move left which was cut off.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Io`] where it, or the note, cannot be removed.
    pub(crate) fn recover_move(&self, note: &Path) -> Result<(), WorkspaceError> {
        if let Some(landing) = record::read::<Landing>(note) {
            remove_lock(&self.lock(&landing.branch), note)?;
        }
        record::remove(note)
    }

    fn lock(&self, branch: &str) -> PathBuf {
        self.common_dir.join(lock(branch))
    }
}

fn lock(branch: &str) -> PathBuf {
    Path::new("refs/heads").join(format!("{branch}.lock"))
}
