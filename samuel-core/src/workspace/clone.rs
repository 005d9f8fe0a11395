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
//! What is collected lies in the user's repository below `refs/samuel/`, where the user's branches do not
//! see it. Nothing is removed from a clone that was not collected: a clone in which no git may
//! be run any more is moved aside.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Mutex as AsyncMutex;

use super::{
    CloneProblem, InspectLimits, RefusedWork, WorkspaceError,
    bundle::{self, Door},
    elsewhere,
    git::{Configured, Git},
    inspect,
    record::{self, Landing, Record},
    ref_locks,
    users_tree::{Standing, UsersTree, remove_lock},
};
use crate::{
    fs::{private, read_anywhere},
    git::{Caller, program::GitProgramError},
    process::Supervisor,
};

/// The clone, below the directory of the workspace.
const TREE: &str = "tree";
/// A clone that is being made.
const NEW_TREE: &str = "tree.new";
/// Settings of the user by which files and commits are made; the clone gets them.
const USERS_SETTINGS: [&str; 4] = ["user.name", "user.email", "core.autocrlf", "core.eol"];
/// Who commits where git does not know the user.
pub(crate) const NOBODY: [(&str, &str); 2] = [("user.name", "Samuel"), ("user.email", "samuel@localhost")];
/// The largest configuration that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// The oldest git that keeps to the settings it is given.
const LEAST_GIT: (u32, u32) = (2, 32);
/// How many clones are moved aside before somebody has to look.
const MAX_ASIDE: u32 = 10_000;

/// What a clone is made of, and where.
#[derive(Clone, Debug)]
pub struct WorkspaceSetup {
    /// The project's root.
    pub root: PathBuf,
    /// Where the clone and what is known of it lie: a directory that is made, and is this user's alone.
    pub directory: PathBuf,
    /// Whose the project must be.
    pub caller: Caller,
    /// The environment, of which git gets what it needs.
    pub env: Vec<(String, String)>,
    /// Who watches over git.
    pub supervisor: Supervisor,
    /// Names the references of work that is kept.
    pub run: String,
    /// What is too much.
    pub limits: WorkspaceLimits,
    /// The files that the agent must not change.
    pub control: Arc<dyn ControlLook>,
    /// Is told of each step, once it is done.
    pub on_step: Option<OnStep>,
}

/// What is too much.
#[derive(Clone, Copy, Debug)]
pub struct WorkspaceLimits {
    /// The largest bundle, in bytes. Default 512 MiB.
    pub bundle: u64,
    /// How far a look at the clone goes.
    pub inspect: InspectLimits,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self { bundle: 512 << 20, inspect: InspectLimits::default() }
    }
}

/// The files of a project that decide what runs.
pub trait ControlLook: fmt::Debug + Send + Sync {
    /// Returns a digest of each that is there below another root, by its path from there. Blocks.
    fn look(&self, root: &Path) -> BTreeMap<String, String>;

    /// Says whether a path from the root of the project is one of them, as far as their names tell.
    fn covers(&self, path: &str) -> bool;
}

/// No files.
impl ControlLook for () {
    fn look(&self, _: &Path) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn covers(&self, _: &str) -> bool {
        false
    }
}

/// A step of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkspaceStep {
    /// The clone was made, without its files.
    Cloned,
    /// Its files are those of the user's branch.
    CheckedOut,
    /// It is known that the agent may write from now on.
    TurnBegan,
    /// The clone was looked at.
    Inspected,
    /// What the agent left was committed.
    Committed,
    /// What there is beyond the user's branch was written to a bundle.
    Bundled,
    /// The bundle was taken in.
    TakenIn,
    /// It is known that it was.
    Collected,
    /// Work has a reference of its own that stays.
    Kept,
    /// The user's branch is about to be moved.
    Landing,
    /// It was.
    Landed,
}

impl WorkspaceStep {
    /// Every step, in the order in which they are made.
    pub const ALL: [Self; 11] = [
        Self::Cloned,
        Self::CheckedOut,
        Self::TurnBegan,
        Self::Inspected,
        Self::Committed,
        Self::Bundled,
        Self::TakenIn,
        Self::Collected,
        Self::Kept,
        Self::Landing,
        Self::Landed,
    ];
}

/// Is told of steps.
#[derive(Clone)]
pub struct OnStep(Arc<dyn Fn(WorkspaceStep) + Send + Sync>);

impl OnStep {
    /// Calls a function at each step.
    pub fn new(call: impl Fn(WorkspaceStep) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }
}

impl fmt::Debug for OnStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnStep")
    }
}

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
}

/// A clone in which an agent works.
#[derive(Debug)]
pub struct CloneWorkspace {
    setup: WorkspaceSetup,
    git: Git,
    users: UsersTree,
    record: AsyncMutex<Record>,
    /// The control files as they were checked out.
    seen: Mutex<BTreeMap<String, String>>,
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
        let directory = setup.directory.clone();
        private::require(&directory).map_err(WorkspaceError::io("use", &directory))?;
        let users = blocking({
            let (root, caller) = (setup.root.clone(), setup.caller.clone());
            move || UsersTree::open(&root, &caller)
        })
        .await?;
        let git = Git::of(&setup.env, setup.supervisor.clone(), &directory, &users.top)?;
        check_version(&git, &setup.root, LEAST_GIT).await?;
        let record = record::read::<Record>(&directory.join("record.json"));
        let mut told = Vec::new();
        let landed = users.recover(&git, &directory.join("landing.json")).await?;
        let (standing, users) = blocking(move || Ok((users.standing()?, users))).await?;
        let users = blocking(move || users.check_clean().map(|()| users)).await?;
        let this = Self { setup, git, users, record: AsyncMutex::default(), seen: Mutex::default() };
        this.clear_remains()?;
        let mut held = this.record.lock().await;
        *held = record.unwrap_or_default();
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

    /// Returns the directory in which agents and checks work: the project within the clone.
    pub fn work_dir(&self) -> PathBuf {
        Self::work_dir_in(&self.setup.directory, &self.users.prefix)
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

    /// Returns the control files that are not what they were when the clone was checked out.
    ///
    /// # Errors
    /// Returns an error where nobody can look.
    pub async fn changed_control_files(&self) -> Result<Vec<String>, WorkspaceError> {
        let (control, directory) = (Arc::clone(&self.setup.control), self.work_dir());
        let now = blocking(move || Ok(control.look(&directory))).await?;
        let before = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let names = before.keys().chain(now.keys()).filter(|name| before.get(*name) != now.get(*name));
        let mut names: Vec<String> = names.cloned().collect();
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
        let note = self.file("landing.json");
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
        if is_done && record.refused == 0 && self.is_spent(&mut record, &mut told).await? {
            let work = self.work_reference();
            record::write(&self.file("tidying.json"), &())?;
            if self.git.says_yes(&self.users.top, &["rev-parse", "--verify", "--quiet", &work]).await {
                self.git.run(&self.users.top, &["update-ref", "-d", &work]).await?;
            }
            for name in ["record.json", TREE, "tidying.json"] {
                let path = self.file(name);
                blocking(move || record::remove(&path)).await?;
            }
            // Clones that were moved aside keep it.
            let _ = fs::remove_dir(&self.setup.directory);
        }
        Ok(told)
    }

    /// Says whether the clone has nothing that the user's repository has not.
    async fn is_spent(&self, record: &mut Record, told: &mut Vec<String>) -> Result<bool, WorkspaceError> {
        if let Err(error) = self.look_for_traps(record).await {
            told.extend(of_the_work(error)?);
            return Ok(false);
        }
        let count = ["rev-list", "--count", "--all", "HEAD", "--not", &record.base];
        Ok(self.git.line(&self.tree(), &count).await.is_ok_and(|count| count == "0"))
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
        let traps = match self.look_for_traps(record).await {
            Ok(()) => self.check_out(record, standing).await,
            Err(error) => Err(error),
        };
        match traps {
            Ok(()) => Ok(()),
            // The agent, or a check, left it so that git does not do as it is told.
            Err(WorkspaceError::Git(error @ GitProgramError::Failed { .. })) => {
                let kept = self.move_aside(record).await?;
                told.push(format!("{error}; the clone was moved to {}", kept.display()));
                self.make(record, standing).await
            }
            Err(error) => {
                told.extend(of_the_work(error)?);
                self.check_out(record, standing).await
            }
        }
    }

    /// Collects what an agent wrote that was not collected, and marks it as failed: nobody checked it.
    async fn rescue(&self, record: &mut Record, told: &mut Vec<String>) -> Result<(), WorkspaceError> {
        if !record.at_work {
            return Ok(());
        }
        let title = Some("Commit what was left when Samuel ended".to_owned());
        match self.collect_into(record, &WorkNote { title, task: None }).await {
            Ok(_) => {}
            Err(error) => told.extend(of_the_work(error)?),
        }
        record.failed = true;
        self.save(record)
    }

    async fn collect_into(
        &self,
        record: &mut Record,
        note: &WorkNote,
    ) -> Result<Option<Collected>, WorkspaceError> {
        self.look_for_traps(record).await?;
        self.step(WorkspaceStep::Inspected);
        let head = match self.commit(note).await {
            Ok(head) => head,
            Err(WorkspaceError::Git(GitProgramError::Failed { message, .. })) => {
                return Err(self.refuse_whole(record, RefusedWork::Damaged { complaint: message }).await?);
            }
            Err(error) => return Err(error),
        };
        self.step(WorkspaceStep::Committed);
        let changed = self.changed_control_files().await?;
        if !changed.is_empty() {
            return Err(self.refuse(record, &head, RefusedWork::ControlFiles { files: changed }).await?);
        }
        let beyond = format!("{}..{head}", record.base);
        let is_new = head != record.tip
            && self.git.line(&self.tree(), &["rev-list", "--count", &beyond]).await? != "0";
        if !is_new {
            let (base, known) = (record.base.clone(), &mut record.elsewhere);
            if let Some((branch, commit)) = elsewhere::new(&self.git, &self.tree(), &base, known).await? {
                return Err(self.refuse(record, &commit, RefusedWork::Elsewhere { branch }).await?);
            }
            record.at_work = false;
            self.save(record)?;
            return Ok(None);
        }
        let bundle = self.file("work.bundle");
        bundle::make(&self.git, &self.tree(), &record.base, &bundle).await?;
        self.step(WorkspaceStep::Bundled);
        let reference = self.work_reference();
        let (limit, control) = (self.setup.limits.bundle, &self.setup.control);
        let (key, UsersTree { top, common_dir, prefix, .. }) = (self.key(), &self.users);
        let door = Door { git: &self.git, top, common_dir, prefix, base: &record.base, key: &key };
        let taken = door.take_in(&bundle, limit, &reference, |path| control.covers(path)).await?;
        record::remove(&bundle)?;
        let commit = match taken {
            Ok(commit) => commit,
            Err(refusal @ RefusedWork::Damaged { .. }) => {
                return Err(self.refuse_whole(record, refusal).await?);
            }
            Err(refusal) => return Err(self.refuse(record, &head, refusal).await?),
        };
        self.step(WorkspaceStep::TakenIn);
        record.tip.clone_from(&commit);
        record.at_work = false;
        self.save(record)?;
        self.step(WorkspaceStep::Collected);
        Ok(Some(Collected { commit, reference }))
    }

    /// Commits what an agent left, with an index made anew: nothing that is in the one that it left is
    /// believed, so that the commit is what the files are.
    async fn commit(&self, note: &WorkNote) -> Result<String, WorkspaceError> {
        let tree = self.tree();
        self.clear_clone()?;
        self.git.run(&tree, &["read-tree", "HEAD"]).await?;
        self.git.run(&tree, &["add", "--all"]).await?;
        if !self.git.says_yes(&tree, &["diff-index", "--cached", "--quiet", "HEAD"]).await {
            let title = note.title.as_deref().unwrap_or("Commit what was left uncommitted");
            let mut message = title.to_owned();
            if let Some(task) = &note.task {
                message.push_str(&format!("\n\nSamuel-Task: {task}"));
            }
            self.git
                .run(&tree, &["commit", "--quiet", "--no-verify", "--cleanup=verbatim", "-m", &message])
                .await?;
        }
        Ok(self.git.line(&tree, &["rev-parse", "--verify", "HEAD^{commit}"]).await?)
    }

    /// Leaves refused work in the clone, under a reference of its own.
    async fn refuse(
        &self,
        record: &mut Record,
        head: &str,
        refusal: RefusedWork,
    ) -> Result<WorkspaceError, WorkspaceError> {
        let name = format!("refs/samuel/refused/{}", record.refused + 1);
        self.git.run(&self.tree(), &["update-ref", &name, head]).await?;
        record.refused += 1;
        record.failed = true;
        record.at_work = false;
        self.save(record)?;
        Ok(WorkspaceError::Refused { refusal, clone: self.tree(), name })
    }

    /// Moves the clone aside, since no git is to be run in it any more, and makes another.
    async fn refuse_whole(
        &self,
        record: &mut Record,
        refusal: RefusedWork,
    ) -> Result<WorkspaceError, WorkspaceError> {
        let clone = self.replace(record).await?;
        Ok(WorkspaceError::Refused { refusal, clone, name: "a whole".to_owned() })
    }

    /// Moves the clone aside and makes another of the user's branch.
    async fn replace(&self, record: &mut Record) -> Result<PathBuf, WorkspaceError> {
        let kept = self.move_aside(record).await?;
        if record.tip != record.base {
            self.keep(record).await?;
        }
        let users = self.users.clone();
        let standing = blocking(move || users.standing()).await?;
        self.make(record, &standing).await?;
        Ok(kept)
    }

    /// Looks at what an agent left. Where it must not be touched by git, the clone is moved aside and another
    /// one made.
    async fn look_for_traps(&self, record: &mut Record) -> Result<(), WorkspaceError> {
        let mut found = self.inspected(record).await?;
        found.retain(
            |finding| !matches!(finding, CloneProblem::Embedded(path) if record.embedded.contains(path)),
        );
        if found.is_empty() {
            return Ok(());
        }
        let kept = self.replace(record).await?;
        Err(WorkspaceError::Planted { found, kept })
    }

    async fn inspected(&self, record: &Record) -> Result<Vec<CloneProblem>, WorkspaceError> {
        let (tree, limits) = (self.tree(), self.setup.limits.inspect);
        let (config, alternates) = (record.config.clone(), record.alternates.clone());
        blocking(move || Ok(inspect(&tree, config.as_bytes(), alternates.as_bytes(), limits))).await
    }

    async fn move_aside(&self, record: &mut Record) -> Result<PathBuf, WorkspaceError> {
        // An agent may remove the ground it stands on, and what that stands in.
        private::require(&self.setup.directory).map_err(WorkspaceError::io("use", &self.setup.directory))?;
        let free = (1..MAX_ASIDE).map(|number| self.file(&format!("kept-{number}")));
        let kept = free.into_iter().find(|path| fs::symlink_metadata(path).is_err());
        let kept = kept.unwrap_or_else(|| self.file("kept"));
        match fs::rename(self.tree(), &kept) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(WorkspaceError::io("move", &self.tree())(error));
            }
            _ => {}
        }
        record.at_work = false;
        record.refused = 0;
        self.save(record)?;
        Ok(kept)
    }

    /// Makes the clone, of the user's branch, and checks it out.
    async fn make(&self, record: &mut Record, standing: &Standing) -> Result<(), WorkspaceError> {
        let new = self.file(NEW_TREE);
        record::remove(&new)?;
        let (tree, top) = (new.display().to_string(), &self.users.top);
        let format = self.git.line(top, &["rev-parse", "--show-object-format"]).await?;
        let (branch, format) =
            (format!("--initial-branch={}", standing.branch), format!("--object-format={format}"));
        // What `git clone --shared --no-checkout` makes, without asking a git in the user's tree for it.
        let args = ["init", "--quiet", "--template=", &branch, &format, "--", &tree];
        self.git.run(&self.setup.directory, &args).await?;
        let alternates = format!("{}\n", self.users.common_dir.join("objects").display());
        let info = new.join(".git/objects/info");
        fs::create_dir_all(&info).map_err(WorkspaceError::io("create", &info))?;
        let file = info.join("alternates");
        fs::write(&file, &alternates).map_err(WorkspaceError::io("write", &file))?;
        self.configure(&new).await?;
        let reference = format!("refs/heads/{}", standing.branch);
        self.git.run(&new, &["update-ref", &reference, &standing.commit]).await?;
        self.copy_tags(&new).await?;
        let config = new.join(".git/config");
        let config = read_anywhere(&config, MAX_CONFIG).map_err(WorkspaceError::file("read", &config))?;
        *record = Record {
            branch: standing.branch.clone(),
            base: standing.commit.clone(),
            tip: standing.commit.clone(),
            config: String::from_utf8_lossy(&config).into_owned(),
            alternates,
            kept: record.kept,
            ..Record::default()
        };
        self.step(WorkspaceStep::Cloned);
        // Before the clone has its name: without it, nobody worked there.
        self.save(record)?;
        fs::rename(&new, self.tree()).map_err(WorkspaceError::io("move", &new))?;
        self.check_out(record, standing).await
    }

    /// Gives a clone the settings of the user by which files and commits are made.
    async fn configure(&self, tree: &Path) -> Result<(), WorkspaceError> {
        let ask = async |args: &[&str]| {
            let spec = self.git.call(&self.users.top, Configured::ByUser, args);
            // Git fails where there is none.
            let said = self.git.finish("config", spec).await.ok()?.stdout.text().trim_end().to_owned();
            Some(said).filter(|said| !said.is_empty())
        };
        for name in USERS_SETTINGS {
            let nobody = NOBODY.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
            if let Some(value) = ask(&["config", "--get", name]).await.or(nobody) {
                self.git.run(tree, &["config", name, &value]).await?;
            }
        }
        let named = ask(&["config", "--type=path", "--get", "core.excludesFile"]).await;
        if let Some(excludes) = named.or_else(|| self.default_excludes()) {
            self.git.run(tree, &["config", "core.excludesFile", &excludes]).await?;
        }
        Ok(())
    }

    /// Returns where git looks for the user's own patterns by itself.
    fn default_excludes(&self) -> Option<String> {
        let var =
            |name: &str| self.setup.env.iter().rfind(|(known, _)| known == name).map(|(_, value)| value);
        let config = var("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| Some(Path::new(var("HOME")?).join(".config")))?;
        let file = config.join("git/ignore");
        file.is_file().then(|| file.display().to_string())
    }

    async fn copy_tags(&self, tree: &Path) -> Result<(), WorkspaceError> {
        let args = ["for-each-ref", "--format=create %(refname)%00%(objectname)%00", "refs/tags"];
        let list = self.git.run(&self.users.top, &args).await?.stdout;
        if list.total_bytes == 0 || list.is_truncated() || !list.tail.is_empty() {
            return Ok(());
        }
        // A line ends each, which the other command does not want.
        let lines = list.head.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let input: Vec<u8> = lines.flatten().copied().collect();
        let spec = self.git.call(tree, Configured::Alone, &["update-ref", "--stdin", "-z"]).stdin(input);
        self.git.finish("update-ref", spec).await?;
        Ok(())
    }

    /// Makes the files of the clone those of the user's branch, all but the ignored ones.
    async fn check_out(&self, record: &mut Record, standing: &Standing) -> Result<(), WorkspaceError> {
        let (tree, commit) = (self.tree(), standing.commit.as_str());
        self.clear_clone()?;
        let reference = format!("refs/heads/{}", standing.branch);
        self.git.run(&tree, &["symbolic-ref", "HEAD", &reference]).await?;
        self.git.run(&tree, &["update-ref", "--no-deref", &reference, commit]).await?;
        // An index made anew: what an agent wrote into the one there is would be believed.
        self.git.run(&tree, &["read-tree", commit]).await?;
        // Says by its code that files differ, which is to be expected.
        self.git.says_yes(&tree, &["update-index", "-q", "--refresh"]).await;
        self.git.run(&tree, &["checkout-index", "--force", "--all", "--quiet", "-u"]).await?;
        self.git.run(&tree, &["clean", "-f", "-d", "--quiet"]).await?;
        record.branch.clone_from(&standing.branch);
        commit.clone_into(&mut record.base);
        commit.clone_into(&mut record.tip);
        (record.failed, record.at_work) = (false, false);
        let found = self.inspected(record).await?.into_iter();
        let own = found
            .filter_map(|found| if let CloneProblem::Embedded(path) = found { Some(path) } else { None });
        record.embedded = own.collect();
        self.save(record)?;
        let (control, directory) = (Arc::clone(&self.setup.control), self.work_dir());
        let seen = blocking(move || Ok(control.look(&directory))).await?;
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
        self.step(WorkspaceStep::CheckedOut);
        Ok(())
    }

    /// Keeps what was collected under a reference that stays, and says so.
    async fn kept(&self, record: &mut Record, why: &str) -> Result<String, WorkspaceError> {
        let commit = short(&record.tip).to_owned();
        let kept = self.keep(record).await?;
        Ok(format!("the work up to {commit} {why}: it is kept as {kept}"))
    }

    async fn keep(&self, record: &mut Record) -> Result<String, WorkspaceError> {
        let points_at = format!("--points-at={}", record.tip);
        let names = ["for-each-ref", "--count=1", "--format=%(refname)", &points_at, "refs/samuel/kept"];
        let known = self.git.line(&self.users.top, &names).await?;
        let name = if known.is_empty() { self.free_name(record).await } else { known };
        self.git.run(&self.users.top, &["update-ref", &name, &record.tip]).await?;
        record.tip.clone_from(&record.base);
        self.save(record)?;
        self.step(WorkspaceStep::Kept);
        Ok(name)
    }

    /// Returns a name for work that is kept which no other has.
    async fn free_name(&self, record: &mut Record) -> String {
        loop {
            record.kept += 1;
            let name = format!("refs/samuel/kept/{}-{}", self.setup.run, record.kept);
            if !self.git.says_yes(&self.users.top, &["rev-parse", "--verify", "--quiet", &name]).await {
                return name;
            }
        }
    }

    /// Removes what gits that were killed left in the clone, and what an agent was in the middle of.
    fn clear_clone(&self) -> Result<(), WorkspaceError> {
        let git = self.tree().join(".git");
        let names = [
            "index",
            "index.lock",
            "HEAD.lock",
            "config.lock",
            "packed-refs.lock",
            "rebase-merge",
            "rebase-apply",
        ];
        names.iter().try_for_each(|name| record::remove(&git.join(name)))?;
        ref_locks::remove(&git.join("refs"))
    }

    /// Removes what an earlier process had begun, and nobody needs.
    fn clear_remains(&self) -> Result<(), WorkspaceError> {
        bundle::clear(&self.users.common_dir, &self.key())?;
        for name in [NEW_TREE, "work.bundle", "work.pack"] {
            record::remove(&self.file(name))?;
        }
        let tidying = self.file("tidying.json");
        remove_lock(&self.users.common_dir.join("packed-refs.lock"), &tidying)?;
        record::remove(&tidying)?;
        // It is this workspace's alone.
        record::remove(&self.users.common_dir.join(format!("{}.lock", self.work_reference())))?;
        Ok(())
    }

    /// Tells the workspaces of a repository apart.
    fn key(&self) -> String {
        self.setup.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn work_reference(&self) -> String {
        format!("refs/samuel/work/{}", self.key())
    }

    fn tree(&self) -> PathBuf {
        self.file(TREE)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.setup.directory.join(name)
    }

    fn save(&self, record: &Record) -> Result<(), WorkspaceError> {
        record::write(&self.file("record.json"), record)
    }

    fn step(&self, step: WorkspaceStep) {
        if let Some(OnStep(call)) = &self.setup.on_step {
            call(step);
        }
    }
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
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            Err(WorkspaceError::io("use", Path::new("the workspace"))(std::io::Error::other(error)))
        }
    }
}
