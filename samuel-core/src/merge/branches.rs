//! Branches of the user's repository: what they are at, and those that Samuel makes and removes.
//!
//! A git that fails is an error and never a no: what is removed, or landed once more, follows from these answers.

use std::collections::HashSet;

use jiff::Timestamp;

use super::{MergeRepository, repository::reference};
use crate::{
    model::began_at,
    workspace::{Configured, KEEPERS, WorkspaceError, blocking, remove_packed_lock, remove_ref_locks},
};

/// Whether there is a branch of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasBranch {
    /// There is.
    Yes,
    /// There is none.
    No,
    /// There can be none: git has rules for names.
    Never,
}

impl MergeRepository {
    /// Returns the commit that a branch is at; nothing where there is no such branch.
    ///
    /// # Errors
    /// Returns an error where git fails, also for a name that no branch can have.
    pub async fn head(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        self.users.reference(&self.git, &reference(branch)).await
    }

    /// Says whether there is a branch of a name.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn has_branch(&self, name: &str) -> Result<HasBranch, WorkspaceError> {
        if !self.users.can_be_named(&self.git, &reference(name)).await? {
            return Ok(HasBranch::Never);
        }
        Ok(if self.head(name).await?.is_some() { HasBranch::Yes } else { HasBranch::No })
    }

    /// Returns how many bytes the files of a commit have; nothing where there are too many to look at.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn size_of(&self, commit: &str) -> Result<Option<u64>, WorkspaceError> {
        let args = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit];
        let spec = self.git.call(&self.users.top, Configured::Alone, &args);
        let Some(entries) = self.git.list("ls-tree", spec).await? else { return Ok(None) };
        let size = |entry: &Vec<u8>| {
            let said = String::from_utf8_lossy(entry);
            let (about, _) = said.split_once('\t')?;
            about.split_whitespace().next_back()?.parse::<u64>().ok()
        };
        Ok(Some(entries.iter().filter_map(size).sum()))
    }

    /// Returns the first of some paths, from the project's root, that one of some commits has, or the index of the
    /// user's tree.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub(crate) async fn tracked(
        &self,
        commits: &[&str],
        paths: &[String],
    ) -> Result<Option<String>, WorkspaceError> {
        if paths.is_empty() {
            return Ok(None);
        }
        let whole: Vec<String> = paths.iter().map(|path| format!("{}{path}", self.users.prefix)).collect();
        let of_commits =
            commits.iter().map(|commit| ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit]);
        let of_commits = of_commits.map(|args| args.to_vec());
        for args in of_commits.chain([vec!["ls-files", "-z"]]) {
            let args: Vec<&str> =
                args.into_iter().chain(["--"]).chain(whole.iter().map(String::as_str)).collect();
            let name = args.first().copied().unwrap_or_default();
            let listed =
                self.git.list(name, self.git.call(&self.users.top, Configured::Alone, &args)).await?;
            let Some(found) = listed.unwrap_or_default().into_iter().next() else { continue };
            let found = String::from_utf8_lossy(&found).into_owned();
            let is_in = |whole: &String| found == *whole || found.starts_with(&format!("{whole}/"));
            let path = whole.iter().zip(paths).find(|(whole, _)| is_in(whole)).map(|(_, path)| path.clone());
            return Ok(Some(path.unwrap_or(found)));
        }
        Ok(None)
    }

    /// Returns how many bytes are free where Samuel's own repository is, and the work trees of lanes.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Io`] where the file system does not say.
    pub fn free(&self) -> Result<u64, WorkspaceError> {
        let said = rustix::fs::statvfs(&self.setup.directory);
        let failed = |error: rustix::io::Errno| {
            WorkspaceError::io("look at the space of", &self.setup.directory)(error.into())
        };
        let said = said.map_err(failed)?;
        Ok(said.f_bavail.saturating_mul(said.f_frsize))
    }

    /// Says whether a tag has this name.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn is_tag(&self, name: &str) -> Result<bool, WorkspaceError> {
        let name = format!("refs/tags/{name}");
        Ok(self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).await?.is_some())
    }

    /// Says whether a commit is another one, or has it among its ancestors.
    ///
    /// # Errors
    /// Returns an error where git fails, also where one of them is not in the repository.
    pub async fn has(&self, commit: &str, other: &str) -> Result<bool, WorkspaceError> {
        Ok(self.ask(&["merge-base", "--is-ancestor", other, commit]).await?.is_some())
    }

    /// Removes what gits left of a run that were killed with it: locks of its branches, and of what is kept of them;
    /// and that of the packed references, where it was made after the run began and before `until`, at which nothing
    /// of the run was at work any more.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Io`] for one that cannot be removed.
    pub(crate) async fn remove_locks(
        &self,
        run: &str,
        until: Option<Timestamp>,
    ) -> Result<(), WorkspaceError> {
        // Who has claimed something, anybody may have written.
        if run.is_empty() || !run.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Ok(());
        }
        let refs = self.users.common_dir.join("refs");
        let places = [refs.join("heads/samuel").join(run), refs.join("samuel/rescue").join(run)];
        let common_dir = self.users.common_dir.clone();
        let time = began_at(run).zip(until).map(|(from, until)| from.into()..until.into());
        blocking(move || {
            places.iter().try_for_each(|place| remove_ref_locks(place))?;
            time.map_or(Ok(()), |time| remove_packed_lock(&common_dir, &time))
        })
        .await
    }

    /// Says whether a branch is there and has commits that another one has not.
    ///
    /// # Errors
    /// Returns an error where git fails, also where there is no such other branch.
    pub async fn is_beyond(&self, branch: &str, other: &str) -> Result<bool, WorkspaceError> {
        let Some(head) = self.head(branch).await? else { return Ok(false) };
        let args = ["rev-list", "--count", "--end-of-options", &head, &format!("^{}", reference(other))];
        Ok(self.git.line(&self.users.top, &args).await? != "0")
    }

    /// Makes a branch at a commit, where there is none of the name. Says whether it did.
    ///
    /// # Errors
    /// Returns an error where git fails, also for a name that no branch can have.
    pub async fn make_branch(&self, branch: &str, commit: &str) -> Result<bool, WorkspaceError> {
        if self.head(branch).await?.is_some() {
            return Ok(false);
        }
        // The empty old value says that there must be none.
        let args = ["update-ref", "--no-deref", &reference(branch), commit, ""];
        self.git.run(&self.users.top, &args).await?;
        Ok(true)
    }

    /// Removes a branch whose last commit is this one and is on another branch, under a tag or a reference of Samuel's
    /// that stays, as well. Says whether it did.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn remove_branch(&self, branch: &str, commit: &str) -> Result<bool, WorkspaceError> {
        let top = &self.users.top;
        let name = reference(branch);
        let args = ["for-each-ref", "--count=2", "--format=%(refname)", "--contains", commit];
        let args: Vec<&str> = args.into_iter().chain(KEEPERS).collect();
        let holders = self.git.line(top, &args).await?;
        let path = self.checked_out(branch).await?;
        if path.is_some() || !holders.lines().any(|holder| holder != name) {
            return Ok(false);
        }
        match self.git.run(top, &["update-ref", "--no-deref", "-d", &name, commit]).await {
            Ok(_) => Ok(true),
            Err(error) if self.head(branch).await?.as_deref() == Some(commit) => Err(error.into()),
            // Something was committed there since.
            Err(_) => Ok(false),
        }
    }

    /// Removes branches whose last commits are these and have landed on another branch. Returns what git failed at,
    /// with the branch.
    pub async fn remove_landed(
        &self,
        into: &str,
        branches: &[(String, String)],
    ) -> Vec<(String, WorkspaceError)> {
        let removed = self.removed_together(into, branches).await.unwrap_or_default();
        let mut failed = Vec::new();
        for (branch, commit) in branches.iter().filter(|(branch, _)| !removed.contains(branch)) {
            if let Err(error) = self.remove_branch(branch, commit).await {
                failed.push((branch.clone(), error));
            }
        }
        failed
    }

    /// Removes what can be removed at once, all or nothing of it, and returns that.
    async fn removed_together(
        &self,
        into: &str,
        branches: &[(String, String)],
    ) -> Result<HashSet<String>, WorkspaceError> {
        let mut free = Vec::new();
        for (branch, commit) in branches {
            if self.checked_out(branch).await?.is_none() {
                free.push((branch, format!("{} {commit}", reference(branch))));
            }
        }
        let top = &self.users.top;
        if free.is_empty() {
            return Ok(HashSet::new());
        }
        if !self.have_all_landed(into, branches).await? {
            let merged = format!("--merged={}", reference(into));
            let names: Vec<String> = free.iter().map(|(branch, _)| reference(branch)).collect();
            let args = ["for-each-ref", "--format=%(refname) %(objectname)", &merged];
            let args: Vec<&str> = args.into_iter().chain(names.iter().map(String::as_str)).collect();
            let landed = self.git.line(top, &args).await?;
            free.retain(|(_, at)| landed.lines().any(|line| line == at));
        }
        if free.is_empty() {
            return Ok(HashSet::new());
        }
        let orders: String = free.iter().map(|(_, at)| format!("option no-deref\ndelete {at}\n")).collect();
        let spec = self.git.call(top, Configured::Alone, &["update-ref", "--stdin"]);
        self.git.finish("update-ref", spec.stdin(orders.into_bytes())).await?;
        Ok(free.into_iter().map(|(branch, _)| branch.clone()).collect())
    }

    /// Says whether all of some branches are at their commits, and another one has these, as files say. A no is not
    /// certain.
    async fn have_all_landed(
        &self,
        into: &str,
        branches: &[(String, String)],
    ) -> Result<bool, WorkspaceError> {
        for (branch, commit) in branches {
            if self.head(branch).await?.as_ref() != Some(commit) {
                return Ok(false);
            }
        }
        let commits = branches.iter().map(|(_, commit)| commit.clone()).collect();
        Ok(self.users.has_lately(&reference(into), commits).await)
    }

    /// Returns the work tree in which a branch is checked out.
    pub(super) async fn checked_out(&self, branch: &str) -> Result<Option<String>, WorkspaceError> {
        self.users.checked_out(&self.git, branch).await
    }
}
