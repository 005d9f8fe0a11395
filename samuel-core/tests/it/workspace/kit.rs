//! A user with a repository, and an agent in a clone of it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use samuel_core::{
    git::Caller,
    process::Supervisor,
    project::Project,
    testing::differing_replays,
    workspace::{
        CloneWorkspace, ControlLook, Preparation, WorkNote, WorkspaceError, WorkspaceLimits, WorkspaceSetup,
    },
};

/// The path of whatever is started.
pub(crate) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A user: a home, a repository, and a directory for Samuel. What was made for a test goes with it.
pub(crate) struct User(PathBuf, Option<tempfile::TempDir>);

/// Every run that a test made replays equal.
impl Drop for User {
    fn drop(&mut self) {
        // One that stands in for another leaves that to it.
        if std::thread::panicking() || self.1.is_none() {
            return;
        }
        if let Ok(project) = Project::at(self.tree()) {
            let differing = differing_replays(&project);
            assert!(differing.is_empty(), "runs replay differently: {differing:#?}");
        }
    }
}

impl User {
    /// Makes a repository with two files, committed.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let user = Self(directory.path().canonicalize().unwrap(), Some(directory));
        fs::create_dir(user.home()).unwrap();
        fs::create_dir(user.tree()).unwrap();
        fs::write(user.home().join(".gitconfig"), "[user]\nname = Ada\nemail = ada@example.org\n").unwrap();
        user.git("init --quiet --initial-branch=main");
        user.write("a.txt", "one\n");
        user.write("ci/check.sh", "true\n");
        user.write(".gitignore", "target/\n");
        user.git("add --all");
        user.git("commit --quiet --message Start");
        user
    }

    /// Stands in for a user that another process made.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self(path, None)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.0.join("state/workspaces/0123")
    }

    /// A file that tells that a trap sprang.
    pub(crate) fn canary(&self) -> PathBuf {
        self.0.join("canary")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.tree().join(path)).ok()
    }

    /// Runs a line of shell as the user, or as an agent, in a directory.
    pub(crate) fn tries(&self, directory: &Path, line: &str) -> Output {
        // Whoever springs a trap, by whatever environment, is to leave the mark.
        let line = line.replace("$CANARY", &self.canary().display().to_string());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &line]).current_dir(directory).env_clear();
        command.env("PATH", PATH).env("HOME", self.home());
        command.output().unwrap()
    }

    pub(crate) fn sh(&self, directory: &Path, line: &str) -> String {
        let output = self.tries(directory, line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{line}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Runs plain git in the user's tree, as the user.
    pub(crate) fn git(&self, args: &str) -> String {
        self.sh(&self.tree(), &format!("git {args}"))
    }

    pub(crate) fn head(&self) -> String {
        self.git("rev-parse HEAD")
    }

    /// Returns the references below `refs/samuel/`, without the one of work under way.
    pub(crate) fn kept(&self) -> Vec<String> {
        self.git("for-each-ref --format='%(refname)' refs/samuel/kept").lines().map(str::to_owned).collect()
    }

    /// Returns the references of Samuel, without those that keep what clones borrow.
    pub(crate) fn samuel_refs(&self) -> Vec<String> {
        let refs = self.git("for-each-ref --format='%(refname)' refs/samuel");
        let is_pin = |name: &&str| name.starts_with("refs/samuel/base/");
        refs.lines().filter(|name| !is_pin(name)).map(str::to_owned).collect()
    }

    /// Moves the branch back by a commit, and has git remove all that no reference has.
    pub(crate) fn loses_last_commit(&self) {
        self.git("reset -q --hard HEAD~1");
        self.git("reflog expire --expire=now --all");
        self.git("gc -q --prune=now");
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// Returns the one clone that a run made, if it is there.
    pub(crate) fn clone_of_run(&self) -> Option<PathBuf> {
        let mut all = fs::read_dir(self.state().join("workspaces")).ok()?.flatten().map(|entry| entry.path());
        all.next().map(|directory| directory.join("tree")).filter(|tree| tree.is_dir())
    }

    pub(crate) fn setup(&self) -> WorkspaceSetup {
        WorkspaceSetup {
            root: self.tree(),
            directory: self.directory(),
            caller: Caller::of_process(),
            env: vec![
                ("PATH".to_owned(), PATH.to_owned()),
                ("HOME".to_owned(), self.home().display().to_string()),
            ],
            supervisor: Supervisor::GroupOnly,
            run: "r1".to_owned(),
            limits: WorkspaceLimits::default(),
            preparation: Preparation::default(),
            control: Arc::new(Checks),
            on_step: None,
        }
    }

    pub(crate) async fn open(&self) -> (CloneWorkspace, Vec<String>) {
        CloneWorkspace::open(self.setup()).await.unwrap()
    }

    pub(crate) async fn opened(&self) -> CloneWorkspace {
        self.open().await.0
    }

    pub(crate) async fn refused(&self) -> WorkspaceError {
        CloneWorkspace::open(self.setup()).await.unwrap_err()
    }

    /// Lets an agent work: a line of shell in its directory.
    pub(crate) async fn work(
        &self,
        workspace: &CloneWorkspace,
        line: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        workspace.turn_begins().await.unwrap();
        self.sh(&workspace.work_dir(), line);
        let collected = workspace.collect(&WorkNote::default()).await?;
        Ok(collected.map(|collected| collected.commit))
    }

    /// Says that the user can look at the tree, and nothing starts.
    pub(crate) fn looks_around_safely(&self) {
        for args in ["status", "diff", "log --oneline --all -3", "fsck --no-dangling"] {
            self.git(args);
        }
        assert!(!self.canary().exists(), "something was started");
    }
}

/// The files below `ci` decide what runs; and `agent.json`, which only a look finds.
#[derive(Debug)]
struct Checks;

impl ControlLook for Checks {
    fn look(&self, root: &Path) -> BTreeMap<String, String> {
        let files = fs::read_dir(root.join("ci")).into_iter().flatten().flatten();
        let read = |file: fs::DirEntry| {
            let name = format!("ci/{}", file.file_name().to_string_lossy());
            (name, fs::read_to_string(file.path()).unwrap_or_default())
        };
        let found = fs::read_to_string(root.join("agent.json")).ok();
        files.map(read).chain(found.map(|text| ("agent.json".to_owned(), text))).collect()
    }

    fn covers(&self, path: &str) -> bool {
        path.starts_with("ci/")
    }
}
