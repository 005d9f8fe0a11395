//! A clone in which a lane works.
//!
//! It stands on whatever its lane says: the branch of a task, or a commit that is checked. What an agent makes comes
//! out as from any clone, looked at, as a bundle, through a quarantine, and held against what must not arrive; it is
//! put on the task's branch in the user's repository then, from where the queue takes it. No git of the user's
//! repository runs in it, and none of its references is seen there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{CloneWorkspace, NEW_TREE, PREPARED, RECORD, Stands, TREE, WorkNote, blocking, short};
use crate::workspace::{
    Configured, LEAST_GIT_OF_LANES, WorkspaceError, WorkspaceSetup, elsewhere,
    kept_ref::put_on_or_beside,
    record::{self, Record},
    users_tree::Standing,
};
use crate::{process::ExitStatus, text::described};

/// What is checked out where no task is worked on.
const NO_TASK: &str = "samuel/checked";

/// How the directory of a clone ends.
pub(crate) const CLONE: &str = ".clone";

/// A commit with what a worker made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeWork {
    /// The commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// The files that the agent left uncommitted, which Samuel committed.
    pub left: Vec<String>,
}

/// A clone in which a lane works.
#[derive(Debug)]
pub struct LaneClone {
    clone: CloneWorkspace,
}

impl LaneClone {
    /// Opens a clone that `key` tells apart from all others of the repository. Where there is none it is made, with
    /// the files of a commit.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] for a project without a repository, and a git that is too old, and other errors
    /// where something fails.
    pub async fn open(setup: WorkspaceSetup, key: String, commit: &str) -> Result<Self, WorkspaceError> {
        let clone = CloneWorkspace::of(setup, key, Stands::OnTask, LEAST_GIT_OF_LANES).await?;
        clone.clear_remains()?;
        let mut held = clone.record.lock().await;
        *held = record::read::<Record>(&clone.file(RECORD)).unwrap_or_default();
        clone.has_seen(&held);
        if held.base.is_empty() || !clone.tree().is_dir() {
            clone.publish(&held).await?;
            let standing = Standing { branch: NO_TASK.to_owned(), commit: commit.to_owned() };
            clone.make(&mut held, &standing).await?;
        }
        drop(held);
        Ok(Self { clone })
    }

    /// Names the directory of the clone of a lane below that of all lanes.
    pub(crate) fn directory_in(lanes: &Path, name: &str) -> PathBuf {
        lanes.join(format!("{name}{CLONE}"))
    }

    /// Returns whether the clone in a directory has files that were checked out. Blocks.
    pub(crate) fn has_files(directory: &Path) -> bool {
        let entries = fs::read_dir(Self::tree_in(directory)).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| entry.file_name() != ".git")
    }

    /// Names the clone in a directory of [`WorkspaceSetup`], which need not be there.
    pub(crate) fn tree_in(directory: &Path) -> PathBuf {
        directory.join(TREE)
    }

    /// Returns the directory in which agents and checks work: the project within the clone.
    pub fn work_dir(&self) -> PathBuf {
        self.clone.work_dir()
    }

    /// Names the file that says what the progress log in the clone begins with.
    pub(crate) fn shown_log(&self) -> PathBuf {
        self.clone.shown_log()
    }

    /// Says whether the commands of the setup were run there.
    pub(crate) fn is_set_up(&self) -> bool {
        self.clone.setup.preparation.is_set_up(&self.clone.file(PREPARED))
    }

    /// Returns the top of the clone.
    pub fn top(&self) -> PathBuf {
        self.clone.tree()
    }

    /// Returns what people should know since it was asked last, such as where a clone was moved in which no git can be
    /// run.
    pub fn take_told(&self) -> Vec<String> {
        self.clone.take_told()
    }

    /// Runs the commands of the setup at a commit, if they were not run there. What is there and git does not ignore is
    /// gone then; what an agent left is [rescued](Self::rescue) before.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn prepare(&self, commit: &str) -> Result<(), WorkspaceError> {
        if self.is_set_up() { Ok(()) } else { self.check_out(commit).await }
    }

    /// Gives a task its branch at a commit. What an agent left before is [rescued](Self::rescue).
    ///
    /// # Errors
    /// Returns an error where git fails, a file cannot be copied, or a command of the setup fails.
    pub async fn begin(&self, branch: &str, base: &str) -> Result<(), WorkspaceError> {
        self.go_to(branch, base).await
    }

    /// Checks a commit out that is no task's.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn check_out(&self, commit: &str) -> Result<(), WorkspaceError> {
        self.go_to(NO_TASK, commit).await
    }

    async fn go_to(&self, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
        let clone = &self.clone;
        let mut told = Vec::new();
        let mut record = clone.record.lock().await;
        clone.rescue(&mut record, &mut told).await?;
        clone.publish(&record).await?;
        let before = (record.branch.clone(), record.tip.clone());
        let standing = Standing { branch: branch.to_owned(), commit: commit.to_owned() };
        match clone.tree().is_dir() {
            true => clone.arrive(&mut record, &standing, &mut told).await?,
            false => clone.make(&mut record, &standing).await?,
        }
        clone.hide(&mut record).await?;
        if before.0 != branch
            && let Err(error) = clone.forget(&before.0, &before.1, commit).await
        {
            told.push(format!("{} stays in the clone: {}", before.0, described(&error)));
        }
        // What is there is of earlier tasks.
        record.elsewhere = elsewhere::tips(&clone.git, &clone.tree()).await?;
        clone.save(&record)?;
        clone.tell(told);
        clone.prepare(&mut record).await
    }

    /// Shows the agent work of an earlier attempt, by the name that the user's repository has for it: a branch, or a
    /// reference with `refs/`. It is there until another task begins.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn show(&self, name: &str) -> Result<(), WorkspaceError> {
        let clone = &self.clone;
        let reference =
            if name.starts_with("refs/") { name.to_owned() } else { format!("refs/heads/{name}") };
        // Anybody may have written the name.
        if !clone.users.can_be_named(&clone.git, &reference).await? {
            return Ok(());
        }
        // Somebody may have removed it.
        let Some(commit) = clone.users.reference(&clone.git, &reference).await? else { return Ok(()) };
        let mut record = clone.record.lock().await;
        clone.pins().pin(&mut record.pins, &commit).await?;
        record.shallow = clone.bring(!record.alternates.is_empty(), &clone.tree()).await?;
        let shown = clone.git.run(&clone.tree(), &["update-ref", "--no-deref", &reference, &commit]).await;
        if let Err(error) = shown {
            // An agent may have made a reference that is in the way.
            clone.tell([format!("{name} is not shown to the agent: {}", described(&error))]);
            return clone.save(&record);
        }
        record.elsewhere.push(commit.clone());
        record.shown.push((reference, commit));
        clone.save(&record)
    }

    /// Takes down that an agent may write from now on. After work that was refused it begins without that. A clone that
    /// was made anew is prepared.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub async fn turn_begins(&self) -> Result<(), WorkspaceError> {
        let record = self.clone.record.lock().await;
        let again = record.failed || record.unprepared;
        let again = again.then(|| (record.branch.clone(), record.tip.clone()));
        drop(record);
        if let Some((branch, tip)) = again {
            self.go_to(&branch, &tip).await?;
        }
        self.clone.turn_begins().await
    }

    /// Takes out of the clone what was made in it, and puts it on the task's branch. Returns the last commit that was
    /// taken out.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Planted`] and [`WorkspaceError::Refused`] for work that must not come out, and other
    /// errors where something fails.
    pub async fn collect(&self, note: &WorkNote) -> Result<MadeWork, WorkspaceError> {
        let clone = &self.clone;
        let mut record = clone.record.lock().await;
        let collected = clone.collect_into(&mut record, note).await;
        // What was taken out before is there in any case.
        clone.publish(&record).await?;
        let left = collected?.map(|collected| collected.left).unwrap_or_default();
        let (users, tip) = (clone.users.clone(), record.tip.clone());
        let tree = match blocking(move || users.tree_of(&tip)).await {
            Ok(tree) => tree,
            Err(_) => {
                let tree = format!("{}^{{tree}}", record.tip);
                clone.git.line(&clone.users.top, &["rev-parse", "--verify", &tree]).await?
            }
        };
        Ok(MadeWork { commit: record.tip.clone(), tree, left })
    }

    /// Takes out what an agent wrote that was not taken out, and puts it on the task's branch.
    ///
    /// # Errors
    /// Returns an error where something fails; that work must not come out is [told](Self::take_told).
    pub async fn rescue(&self) -> Result<(), WorkspaceError> {
        let (mut record, mut told) = (self.clone.record.lock().await, Vec::new());
        self.clone.rescue(&mut record, &mut told).await?;
        self.clone.publish(&record).await?;
        self.clone.tell(told);
        Ok(())
    }

    /// Returns the control files that are not what they were when the clone was checked out.
    ///
    /// # Errors
    /// Returns an error where nobody can look.
    pub async fn changed_control_files(&self) -> Result<Vec<String>, WorkspaceError> {
        self.clone.changed_control_files().await
    }

    /// Has the next turn begin without what was not taken out, such as what checks have left.
    ///
    /// # Errors
    /// Returns an error where that cannot be written.
    pub async fn leave_behind(&self) -> Result<(), WorkspaceError> {
        self.clone.fail().await
    }

    /// Has the task's branch hold a commit. Where somebody has checked the branch out, the commit is kept beside it.
    ///
    /// # Errors
    /// Returns an error where git fails.
    pub async fn put_on(&self, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
        self.clone.put_on(branch, commit).await
    }

    /// Returns the branch that the work goes onto; nothing where no task is worked on.
    pub async fn branch(&self) -> Option<String> {
        let record = self.clone.record.lock().await;
        Some(record.branch.clone()).filter(|branch| branch != NO_TASK)
    }

    /// Lets go of the task: what was made is where it belongs by now, also once its branch is gone.
    ///
    /// # Errors
    /// Returns an error where that cannot be written.
    pub async fn leave_branch(&self) -> Result<(), WorkspaceError> {
        let mut record = self.clone.record.lock().await;
        record.base = record.tip.clone();
        self.clone.save(&record)
    }

    /// Returns the last commit that was taken out, or that the work began at.
    pub async fn head(&self) -> String {
        self.clone.record.lock().await.tip.clone()
    }

    /// Removes the clone, where nothing is left in it. What an agent left is [rescued](Self::rescue) before.
    ///
    /// # Errors
    /// Returns an error where something fails.
    pub async fn remove(&self) -> Result<(), WorkspaceError> {
        let (mut record, mut told) = (self.clone.record.lock().await, Vec::new());
        self.clone.rescue(&mut record, &mut told).await?;
        self.clone.publish(&record).await?;
        if !self.clone.remove_spent(&mut record, &mut told).await? {
            told.push(format!(
                "the clone {} stays: it has work that was not taken out",
                self.clone.tree().display()
            ));
        }
        self.clone.tell(told);
        Ok(())
    }
}

/// What is known of a clone in which a lane worked, without a look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownClone {
    /// The branch that the work went onto; nothing where no task was worked on.
    pub(crate) branch: Option<String>,
    /// The last commit that was taken out.
    pub(crate) tip: String,
    /// Why it must not be removed, where that is so.
    pub(crate) holds: Option<&'static str>,
}

impl KnownClone {
    /// Reads what is known of the clone in a directory.
    pub(crate) fn read(directory: &Path) -> Option<Self> {
        let record = record::read::<Record>(&directory.join(RECORD))?;
        let holds = match (record.at_work, record.refused, record.unspent) {
            (true, ..) => Some("an agent may have left something there that was not taken out"),
            (false, 0, false) => None,
            (false, 0, true) => Some("it has commits that were not taken out"),
            (false, ..) => Some("work that was refused is kept there"),
        };
        let branch = Some(record.branch).filter(|branch| branch != NO_TASK);
        Some(Self { branch, tip: record.tip, holds })
    }

    /// Says whether a removal of the clone in a directory was cut off, or the making of one: nobody works there then.
    pub(crate) fn is_half_removed(directory: &Path) -> bool {
        directory.join(NEW_TREE).is_dir() && !directory.join(TREE).exists()
    }

    /// Removes the clone in a directory, and what is known of it.
    ///
    /// # Errors
    /// Returns an error where it cannot be removed.
    pub(crate) fn remove(directory: &Path) -> Result<(), WorkspaceError> {
        super::remove(directory, || {})
    }
}

impl CloneWorkspace {
    /// Puts what was taken in on the task's branch in the user's repository, where it is not there yet.
    pub(super) async fn publish(&self, record: &Record) -> Result<(), WorkspaceError> {
        if self.stands != Stands::OnTask || record.tip == record.base {
            return Ok(());
        }
        let Err(error) = self.put_on(&record.branch, &record.tip).await else { return Ok(()) };
        let spec = self.git.call(&self.users.top, Configured::Alone, &["cat-file", "-e", &record.tip]);
        if self.git.answer(spec).await?.status != ExitStatus::Exited(1) {
            return Err(error);
        }
        self.tell([format!(
            "the work up to {} is gone: the repository no longer has it",
            short(&record.tip)
        )]);
        Ok(())
    }

    /// Puts a commit on a branch in the user's repository, or beside it where somebody has checked it out.
    async fn put_on(&self, branch: &str, commit: &str) -> Result<(), WorkspaceError> {
        self.tell(put_on_or_beside(&self.git, &self.users, branch, commit).await?);
        Ok(())
    }

    /// Takes the references away again that the clone was given, unless the agent has moved them.
    pub(super) async fn hide(&self, record: &mut Record) -> Result<(), WorkspaceError> {
        for (reference, commit) in std::mem::take(&mut record.shown) {
            // It fails where the reference is elsewhere.
            self.git.says_yes(&self.tree(), &["update-ref", "--no-deref", "-d", &reference, &commit]).await;
        }
        self.save(record)
    }

    /// Removes the branch of an earlier task from the clone, unless it has commits that neither what was taken out of it
    /// has nor another commit.
    async fn forget(&self, branch: &str, tip: &str, other: &str) -> Result<(), WorkspaceError> {
        let name = format!("refs/heads/{branch}");
        let (users, tree, read) = (self.users.clone(), self.tree(), name.clone());
        let at = blocking(move || Ok(users.repository(&tree)?.reference(&read)?.map(|at| at.to_string())));
        if at.await.ok().flatten().as_deref() == Some(tip) {
            self.git.run(&self.tree(), &["update-ref", "--no-deref", "-d", &name, tip]).await?;
            return Ok(());
        }
        let args = ["rev-list", "--count", &name, "--not", tip, other];
        let is_known = |count: String| count == "0";
        // It fails where there is no such branch.
        if self.git.line(&self.tree(), &args).await.is_ok_and(is_known) {
            self.git.run(&self.tree(), &["update-ref", "--no-deref", "-d", &name]).await?;
        }
        Ok(())
    }
}
