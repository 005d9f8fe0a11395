//! References in the user's repository that keep the commits which a clone borrows.
//!
//! A clone has no copy of the objects that it is made from. If the user moves a branch back, git removes the commits that
//! no reference has, and the clone would lose what it is based on. So each commit that is checked out in a clone has
//! a reference below `refs/samuel/base/KEY/`, which goes with the clone.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{
    WorkspaceError,
    git::{Configured, Git},
    users_tree::UsersTree,
};

/// Where the references are.
pub(super) const BASES: &str = "refs/samuel/base";
/// Where references are of what was taken in from clones.
pub(super) const WORK: &str = "refs/samuel/work";

/// The numbers of the references of a clone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PinNumbers {
    /// The number of the reference that has what is checked out. 0: none has.
    base: u32,
    /// The highest number that was used.
    last: u32,
    /// Whether an agent worked on what is checked out, so that its commits may be in the history of others.
    pub(super) is_used: bool,
}

/// The references that keep what a clone borrows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pins<'a> {
    pub(super) git: &'a Git,
    pub(super) users: &'a UsersTree,
    /// Tells workspaces of one repository apart.
    pub(super) key: &'a str,
}

impl Pins<'_> {
    /// Returns the path of the references below the directory that work trees share.
    pub(super) fn directory(&self) -> String {
        directory_of(self.key)
    }

    /// Keeps the commit that is about to be checked out. The reference of the commit before moves to it if it has that
    /// in its history, or if nobody worked on that. Else it gets a reference of its own.
    ///
    /// # Errors
    /// Returns an error if git fails, such as for a commit that the user's repository does not have.
    pub(super) async fn pin_base(
        &self,
        numbers: &mut PinNumbers,
        commit: &str,
    ) -> Result<(), WorkspaceError> {
        let name = self.name(numbers.base);
        let before = match numbers.base {
            0 => None,
            _ => self.users.reference(self.git, &name).await?,
        };
        if let Some(before) = before {
            if before == commit {
                return Ok(());
            }
            if !numbers.is_used || self.follows(&before, commit).await {
                let args = ["update-ref", "--no-deref", &name, commit, &before];
                self.git.run(&self.users.top, &args).await?;
                return Ok(());
            }
        }
        self.pin(numbers, commit).await?;
        (numbers.base, numbers.is_used) = (numbers.last, false);
        Ok(())
    }

    /// Keeps one more commit that the clone gets.
    ///
    /// # Errors
    /// Returns an error if git fails, such as for a commit that the user's repository does not have.
    pub(super) async fn pin(&self, numbers: &mut PinNumbers, commit: &str) -> Result<(), WorkspaceError> {
        let name = loop {
            numbers.last = numbers.last.saturating_add(1);
            let name = self.name(numbers.last);
            // A process that was killed may have made it and not noted its number.
            if self.users.reference(self.git, &name).await?.is_none() {
                break name;
            }
        };
        // The empty old value says that there must be none.
        self.git.run(&self.users.top, &["update-ref", "--no-deref", &name, commit, ""]).await?;
        Ok(())
    }

    fn name(&self, number: u32) -> String {
        format!("{}/{number}", self.directory())
    }

    /// Returns whether a commit has another one in its history. A no is not certain.
    async fn follows(&self, old: &str, new: &str) -> bool {
        let line = self.users.line_between(old, new).await;
        if line.is_some_and(|line| !line.is_empty()) {
            return true;
        }
        self.git.says_yes(&self.users.top, &["merge-base", "--is-ancestor", old, new]).await
    }
}

/// Returns what names the references of a clone in a directory that may go with it: that of the work that was taken in,
/// and those of the commits that it borrows, unless clones that were moved aside need them.
pub(super) fn refs_of(key: &str, directory: &Path) -> Vec<String> {
    let aside = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("kept");
    let has_aside = std::fs::read_dir(directory).into_iter().flatten().flatten().any(aside);
    let mut names = vec![work_of(key)];
    names.extend((!has_aside).then(|| directory_of(key)));
    names
}

fn directory_of(key: &str) -> String {
    format!("{BASES}/{key}")
}

/// Names the reference of what was taken in from a clone.
pub(super) fn work_of(key: &str) -> String {
    format!("{WORK}/{key}")
}

/// Removes references, and those below some.
///
/// # Errors
/// Returns an error if git fails.
pub(super) async fn remove_refs(
    git: &Git,
    users: &UsersTree,
    names: &[String],
) -> Result<(), WorkspaceError> {
    let args = ["for-each-ref", "--format=delete %(refname)"];
    let args: Vec<&str> = args.into_iter().chain(names.iter().map(String::as_str)).collect();
    let listed = git.list("for-each-ref", git.call(&users.top, Configured::Alone, &args)).await?;
    let listed = listed.unwrap_or_default().concat();
    if listed.is_empty() {
        return Ok(());
    }
    let spec = git.call(&users.top, Configured::Alone, &["update-ref", "--no-deref", "--stdin"]);
    git.finish("update-ref", spec.stdin(listed)).await?;
    Ok(())
}
