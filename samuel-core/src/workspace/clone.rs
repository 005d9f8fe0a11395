//! A clone of the user's tree, in which an agent works.
//!
//! Samuel alone makes it, checks it out and takes out of it what was committed. It stands on the
//! commit of the user's branch, lies in a directory that is the user's alone, and keeps the files
//! that git ignores from task to task. A call of an agent goes like this:
//!
//! ```text
//! begin ──► turn_begins ──► the agent ──► collect ──► the check ──► land
//!   ▲                                        │           │
//!   └──────────── refused, or failed ◄───────┴───────────┘
//! ```
//!
//! Its life is here. `making` makes and checks out what an agent works in, `taking` takes out of it what was made
//! or moves it aside, `keeping` gives a reference that stays to work that did not arrive. `lane` is the life of one in
//! which a lane works: it stands on what it is told to, and its work goes onto the branch of a task.
//!
//! What is collected lies in the user's repository below `refs/samuel/`, where the user's branches do not
//! see it. Nothing is removed from a clone that was not collected: a clone in which no git may
//! be run any more is moved aside.

mod keeping;
mod lane;
mod making;
mod taking;

use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Mutex as AsyncMutex;

use super::{
    WorkspaceError, WorkspaceSetup, WorkspaceStep, bundle,
    copied::OwnPaths,
    git::{Configured, Git},
    objects::SHALLOW_COPIED,
    pins::{Pins, refs_of, remove_refs, work_of},
    record::{self, Landing, Record},
    ref_locks,
    users_tree::{Standing, UsersTree, remove_lock},
};
use crate::{
    fs::{private, read_anywhere},
    git::Caller,
    model::run_blocking,
    process::Supervisor,
    text::described,
};

pub(crate) use lane::{CLONE, KnownClone};
pub use lane::{LaneClone, MadeWork};

/// The clone, below the directory of the workspace.
const TREE: &str = "tree";
/// The configuration of its git, from there.
const GIT_CONFIG: &str = ".git/config";
/// The largest configuration that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// A clone that is being made.
const NEW_TREE: &str = "tree.new";
/// What is known of it.
pub(super) const RECORD: &str = "record.json";
/// What is there while the user's branch is moved.
pub(super) const LANDING: &str = "landing.json";
/// The index that Samuel's git uses in the clone. No agent writes it, so its notes of what files look like hold.
const INDEX: &str = "index";
/// Where it is noted which commands of the setup were run in the clone.
const PREPARED: &str = "prepared";
/// What the progress log in the clone begins with, which no agent appended.
const SHOWN_LOG: &str = "progress-shown.json";
/// What is there while a reference of the user's repository is removed.
const TIDYING: &str = "tidying.json";
/// Who commits where git does not know the user.
pub(crate) const NOBODY: [(&str, &str); 2] = [("user.name", "Samuel"), ("user.email", "samuel@localhost")];
/// The oldest git that keeps to the settings it is given.
const LEAST_GIT: (u32, u32) = (2, 32);

/// What a commit of what an agent left says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkNote {
    /// Its first line. Default `Commit what was left uncommitted`.
    pub title: Option<String>,
    /// The task, for the trailer `Samuel-Task`.
    pub task: Option<String>,
}

/// Work that was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// The commit.
    pub commit: String,
    /// The reference of it in the user's repository.
    pub reference: String,
    /// The files that the agent left uncommitted, which Samuel committed.
    pub left: Vec<String>,
}

/// A clone in which an agent works.
#[derive(Debug)]
pub struct CloneWorkspace {
    setup: WorkspaceSetup,
    /// Tells the workspaces of a repository apart.
    key: String,
    stands: Stands,
    git: Git,
    users: UsersTree,
    record: AsyncMutex<Record>,
    /// The control files as they were checked out, and git's configuration as Samuel wrote it.
    seen: Mutex<(BTreeMap<String, String>, String)>,
    /// What people should know of where the work went, and were not told yet.
    told: Mutex<Vec<String>>,
}

/// What a clone stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    /// The branch that the user has checked out.
    OnUsersBranch,
    /// The branch of a task, as whoever works there says.
    OnTask,
}

impl CloneWorkspace {
    /// Opens the workspace of a project, and returns it with what people should know: work that an earlier
    /// process left is collected and kept, a fast-forward that was cut off is finished. The clone is made
    /// where there is none.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Unfit`] and [`WorkspaceError::Dirty`] for a tree that cannot have one, and
    /// other errors where something fails.
    pub async fn open(setup: WorkspaceSetup) -> Result<(Self, Vec<String>), WorkspaceError> {
        let key = setup.directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let this = Self::of(setup, key, Stands::OnUsersBranch, LEAST_GIT).await?;
        let record = record::read::<Record>(&this.file(RECORD));
        let is_shallow = this.users.is_shallow();
        let mut told: Vec<String> = is_shallow.then(|| SHALLOW_COPIED.to_owned()).into_iter().collect();
        let landed = this.users.recover(&this.git, &this.file(LANDING)).await?;
        let users = this.users.clone();
        let standing = blocking(move || users.standing()).await?;
        let (users, copied) = (this.users.clone(), OwnPaths::of(&this.setup.preparation.copy, ""));
        blocking(move || users.check_clean(&copied)).await?;
        this.clear_remains()?;
        let mut held = this.record.lock().await;
        *held = record.unwrap_or_default();
        this.has_seen(&held);
        if let Some(Landing { branch, new, .. }) = landed {
            told.push(format!(
                "a fast-forward of {branch} to {} was cut off: it is finished now",
                short(&new)
            ));
            held.base.clone_from(&new);
            held.tip = new;
        }
        if held.base.is_empty() || !this.tree().is_dir() {
            if held.tip != held.base {
                told.push(this.kept(&mut held, "was left").await?);
            }
            this.make(&mut held, &standing).await?;
            this.prepare(&mut held).await?;
        } else {
            // Whoever was to check it is gone.
            if !held.at_work && held.tip != held.base {
                told.push(this.kept(&mut held, "was left by a run that was cut off").await?);
            }
            this.renew(&mut held, &standing, &mut told).await?;
        }
        drop(held);
        Ok((this, told))
    }

    /// Checks that a clone can be made of a project, as [`open`](Self::open) does. `copied` are the files that it gets
    /// as copies, by paths from the project. Starts no process and writes nothing. Blocks.
    ///
    /// # Errors
    /// Returns the error of [`open`](Self::open).
    pub(crate) fn check(
        root: &Path,
        caller: &Caller,
        env: &[(String, String)],
        directory: &Path,
        copied: &[String],
    ) -> Result<(), WorkspaceError> {
        let users = UsersTree::open(root, caller)?;
        Git::of(env, Supervisor::default(), directory, &users.top)?;
        users.standing()?;
        match directory.join(LANDING).exists() {
            // The files are those of a fast-forward that was cut off, which opening finishes first.
            true => Ok(()),
            false => users.check_clean(&OwnPaths::of(copied, "")),
        }
    }

    /// Finds out whose project it is, and git. Its directory is made where there is none.
    async fn of(
        setup: WorkspaceSetup,
        key: String,
        stands: Stands,
        least: (u32, u32),
    ) -> Result<Self, WorkspaceError> {
        let directory = setup.directory.clone();
        private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
        let (root, caller) = (setup.root.clone(), setup.caller.clone());
        let users = blocking(move || UsersTree::open(&root, &caller)).await?;
        let git = Git::of(&setup.env, setup.supervisor.clone(), &directory, &users.top)?;
        check_version(&git, &setup.root, least).await?;
        let (record, seen, told) = (AsyncMutex::default(), Mutex::default(), Mutex::default());
        Ok(Self { setup, key, stands, git, users, record, seen, told })
    }

    /// Returns the directory in which agents and checks work: the project within the clone.
    pub fn work_dir(&self) -> PathBuf {
        Self::work_dir_in(&self.setup.directory, &self.users.prefix)
    }

    /// Names the file that says what the progress log in the clone begins with. No agent writes there.
    pub(crate) fn shown_log(&self) -> PathBuf {
        self.file(SHOWN_LOG)
    }

    /// Names that directory before there is a clone, by that of the workspace and by where the project
    /// is within its repository.
    pub(crate) fn work_dir_in(directory: &Path, prefix: &str) -> PathBuf {
        let prefix = prefix.trim_end_matches('/');
        let tree = directory.join(TREE);
        if prefix.is_empty() { tree } else { tree.join(prefix) }
    }

    /// Gets the clone ready for an iteration, and returns what people should know. It stands on the commit
    /// of the user's branch then; unless there is work in it that is neither checked nor failed, with
    /// which it goes on.
    ///
    /// # Errors
    /// Returns an error where it cannot be made ready.
    pub async fn begin(&self) -> Result<Vec<String>, WorkspaceError> {
        let users = self.users.clone();
        let standing = blocking(move || users.standing()).await?;
        let mut told = Vec::new();
        self.renew(&mut *self.record.lock().await, &standing, &mut told).await?;
        Ok(told)
    }

    /// Takes down that an agent may write from now on.
    ///
    /// # Errors
    /// Returns an error where that cannot be written.
    pub async fn turn_begins(&self) -> Result<(), WorkspaceError> {
        let mut record = self.record.lock().await;
        record.at_work = true;
        record.pins.is_used = true;
        self.save(&record)?;
        self.step(WorkspaceStep::TurnBegan);
        Ok(())
    }

    /// Takes out of the clone what was made in it: commits what is left, and takes the commits in. Returns
    /// nothing where there is nothing new.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::Planted`] and [`WorkspaceError::Refused`] for work that must not come out,
    /// and other errors where something fails.
    pub async fn collect(&self, note: &WorkNote) -> Result<Option<Collected>, WorkspaceError> {
        let mut record = self.record.lock().await;
        self.collect_into(&mut record, note).await
    }

    /// Takes down that what is in the clone did not pass: the next iteration begins without it.
    ///
    /// # Errors
    /// Returns an error where that cannot be written.
    pub async fn fail(&self) -> Result<(), WorkspaceError> {
        let mut record = self.record.lock().await;
        record.failed = true;
        self.save(&record)
    }

    /// Returns the control files that are not what they were when the clone was checked out. The configuration of git is
    /// one of them: hooks run git there.
    ///
    /// # Errors
    /// Returns an error where nobody can look.
    pub async fn changed_control_files(&self) -> Result<Vec<String>, WorkspaceError> {
        let (control, directory) = (Arc::clone(&self.setup.control), self.work_dir());
        let file = self.tree().join(GIT_CONFIG);
        let look = move || Ok((control.look(&directory), read_anywhere(&file, MAX_CONFIG).ok()));
        let (now, config) = blocking(look).await?;
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, config_before) = &*seen;
        let names = before.keys().chain(now.keys()).filter(|name| before.get(*name) != now.get(*name));
        let mut names: Vec<String> = names.cloned().collect();
        if config.as_deref() != Some(config_before.as_bytes()) {
            names.push(GIT_CONFIG.to_owned());
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Moves the user's branch on to what was collected, and returns the commit; nothing where there is
    /// nothing new.
    ///
    /// # Errors
    /// Returns [`WorkspaceError::NotLanded`] where something is in the way, and other errors where something
    /// fails.
    pub async fn land(&self) -> Result<Option<String>, WorkspaceError> {
        let mut record = self.record.lock().await;
        if record.tip == record.base {
            return Ok(None);
        }
        let landing =
            Landing { branch: record.branch.clone(), old: record.base.clone(), new: record.tip.clone() };
        let note = self.file(LANDING);
        let moved =
            self.users.fast_forward(&self.git, &landing, &note, || self.step(WorkspaceStep::Landing)).await?;
        if let Err(problem) = moved {
            let kept = self.keep(&mut record).await?;
            return Err(WorkspaceError::NotLanded { branch: landing.branch, problem, kept });
        }
        record.base.clone_from(&landing.new);
        record.failed = false;
        self.save(&record)?;
        self.step(WorkspaceStep::Landed);
        Ok(Some(landing.new))
    }

    /// Ends the work, and returns what people should know. What did not arrive is kept. Where the plan is
    /// done and nothing is left in the clone, it is removed.
    ///
    /// # Errors
    /// Returns an error where something fails.
    pub async fn close(&self, is_done: bool) -> Result<Vec<String>, WorkspaceError> {
        let mut told = Vec::new();
        let mut record = self.record.lock().await;
        self.rescue(&mut record, &mut told).await?;
        if record.tip != record.base {
            let why = if record.failed { "did not pass" } else { "was not checked" };
            told.push(self.kept(&mut record, why).await?);
        }
        if is_done {
            self.remove_spent(&mut record, &mut told).await?;
        }
        Ok(told)
    }

    /// Removes the clone, where nothing is left in it.
    async fn remove_spent(
        &self,
        record: &mut Record,
        told: &mut Vec<String>,
    ) -> Result<bool, WorkspaceError> {
        if record.refused > 0 {
            return Ok(false);
        }
        if !self.is_spent(record, told).await? {
            // Cleaning runs no git there to find that out.
            record.unspent = true;
            self.save(record)?;
            return Ok(false);
        }
        self.remove_references().await?;
        let (directory, on_step) = (self.setup.directory.clone(), self.setup.on_step.clone());
        let removing = move || {
            if let Some(on_step) = on_step {
                on_step.tell(WorkspaceStep::Removing);
            }
        };
        blocking(move || remove(&directory, removing)).await?;
        Ok(true)
    }

    /// Removes the references of the clone in the user's repository. git locks all packed references for that, which is
    /// written down: a lock that a killed one leaves goes with the next start.
    async fn remove_references(&self) -> Result<(), WorkspaceError> {
        let note = self.file(TIDYING);
        // One that is there is of a git that failed: the lock of that one may be there as well.
        if fs::symlink_metadata(&note).is_err() {
            record::write(&note, &())?;
        }
        remove_refs(&self.git, &self.users, &refs_of(&self.key, &self.setup.directory)).await?;
        record::remove(&note)
    }

    fn pins(&self) -> Pins<'_> {
        Pins { git: &self.git, users: &self.users, key: &self.key }
    }

    /// Returns what people should know since this was called last, such as that commits of the agent became one.
    pub fn take_told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn tell(&self, told: impl IntoIterator<Item = String>) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).extend(told);
    }

    /// Says whether the clone has nothing that the user's repository has not.
    async fn is_spent(&self, record: &mut Record, told: &mut Vec<String>) -> Result<bool, WorkspaceError> {
        if let Err(error) = self.look_for_traps(record).await {
            // The clone was moved aside, and another one made.
            told.extend(of_the_work(error)?);
        }
        self.hide(record).await?;
        // The tags of the user's were copied, and the user may have removed what they name.
        let tags = ["for-each-ref", "--format=^%(objectname)", "refs/tags"];
        let tags = self.git.call(&self.users.top, Configured::Alone, &tags);
        let tags = self.git.list("for-each-ref", tags).await?.unwrap_or_default().concat();
        let missing = "--ignore-missing";
        let count =
            ["rev-list", "--count", missing, "--stdin", "--all", "HEAD", "--not", &record.base, &record.tip];
        let spec = self.git.call(&self.tree(), Configured::Alone, &count).stdin(tags);
        let count = self.git.finish("rev-list", spec).await;
        Ok(count.is_ok_and(|count| count.stdout.text().trim() == "0"))
    }

    // Parts of the above, which hold the record.

    /// Gets a clone ready that an agent may have worked in.
    async fn renew(
        &self,
        record: &mut Record,
        standing: &Standing,
        told: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        self.rescue(record, told).await?;
        let is_pending = record.tip != record.base;
        let has_moved = (&record.branch, &record.base) != (&standing.branch, &standing.commit);
        if is_pending && !record.failed && !has_moved {
            return Ok(());
        }
        if is_pending {
            let why = if record.failed { "did not pass" } else { "is not based on the branch any more" };
            told.push(self.kept(record, why).await?);
        }
        self.arrive(record, standing, told).await?;
        self.prepare(record).await
    }

    /// Makes the clone stand on a commit, once it was looked at what was left in it. One in which git does not do as it
    /// is told is made anew.
    async fn arrive(
        &self,
        record: &mut Record,
        standing: &Standing,
        told: &mut Vec<String>,
    ) -> Result<(), WorkspaceError> {
        let traps = match self.look_for_traps(record).await {
            Ok(()) => self.check_out(record, standing).await,
            Err(error) => Err(error),
        };
        let Err(error) = traps else { return Ok(()) };
        // The agent, or a check, left it so that git does not do as it is told.
        if self.damage(&error).is_some() {
            let kept = self.move_aside(record).await?;
            told.push(format!("{}; the clone was moved to {}", described(&error), kept.display()));
            return self.make(record, standing).await;
        }
        told.extend(of_the_work(error)?);
        self.check_out(record, standing).await
    }

    /// Collects what an agent wrote that was not collected, and marks it as failed: nobody checked it.
    async fn rescue(&self, record: &mut Record, told: &mut Vec<String>) -> Result<(), WorkspaceError> {
        if !record.at_work {
            return Ok(());
        }
        let title = Some("Commit what was left when Samuel ended".to_owned());
        let collected = self.collect_into(record, &WorkNote { title, task: None }).await;
        told.extend(self.take_told());
        if let Err(error) = collected {
            told.extend(of_the_work(error)?);
        }
        record.failed = true;
        self.save(record)
    }

    /// Removes what an earlier process had begun, and nobody needs.
    fn clear_remains(&self) -> Result<(), WorkspaceError> {
        bundle::clear(&self.users.common_dir, &self.key)?;
        for name in [NEW_TREE, "work.bundle", "work.pack", INDEX, ref_locks::INDEX_LOCK] {
            record::remove(&self.file(name))?;
        }
        let tidying = self.file(TIDYING);
        remove_lock(&self.users.common_dir.join(ref_locks::PACKED), &tidying)?;
        record::remove(&tidying)?;
        // These are this workspace's alone.
        record::remove(&self.users.common_dir.join(format!("{}.lock", self.work_reference())))?;
        ref_locks::remove(&self.users.common_dir.join(self.pins().directory()))
    }

    fn work_reference(&self) -> String {
        work_of(&self.key)
    }

    fn tree(&self) -> PathBuf {
        self.file(TREE)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.setup.directory.join(name)
    }

    fn save(&self, record: &Record) -> Result<(), WorkspaceError> {
        record::write(&self.file(RECORD), record)
    }

    fn step(&self, step: WorkspaceStep) {
        if let Some(on_step) = &self.setup.on_step {
            on_step.tell(step);
        }
    }
}

/// Removes the clone in a directory, and what is known of it; `removing` is called in between. Wherever that is cut off,
/// the next start goes on: a clone that has its name is known, and one that has not is of nobody.
fn remove(directory: &Path, removing: impl FnOnce()) -> Result<(), WorkspaceError> {
    let [tree, spent] = [TREE, NEW_TREE].map(|name| directory.join(name));
    record::remove(&spent)?;
    match fs::rename(&tree, &spent) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(WorkspaceError::io("move", &tree)(error));
        }
        _ => {}
    }
    record::remove(&directory.join(RECORD))?;
    removing();
    let others = [NEW_TREE, PREPARED, INDEX, SHOWN_LOG, ref_locks::INDEX_LOCK];
    others.iter().try_for_each(|name| record::remove(&directory.join(name)))?;
    // Clones that were moved aside keep it.
    let _ = fs::remove_dir(directory);
    Ok(())
}

/// Checks that git does what it is told here: older ones read a configuration that they should not.
pub(crate) async fn check_version(git: &Git, root: &Path, least: (u32, u32)) -> Result<(), WorkspaceError> {
    let said = git.line(root, &["version"]).await?;
    let number = said.split_whitespace().nth(2).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    if (parts.next().unwrap_or_default(), parts.next().unwrap_or_default()) >= least {
        return Ok(());
    }
    let (major, minor) = least;
    Err(WorkspaceError::Unfit {
        root: root.to_owned(),
        problem: format!("{said} is too old"),
        help: format!("Install git {major}.{minor} or newer, or work in place."),
    })
}

/// Returns what an error says of the work; others are errors.
fn of_the_work(error: WorkspaceError) -> Result<Option<String>, WorkspaceError> {
    if error.is_of_the_work() { Ok(Some(error.to_string())) } else { Err(error) }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Runs something that blocks on a thread where that is allowed.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match run_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            Err(WorkspaceError::io("use", Path::new("the workspace"))(std::io::Error::other(error)))
        }
    }
}
