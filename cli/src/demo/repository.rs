//! The repository of the demonstration.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use samuel_core::{
    git::program::{GitProgram, GitProgramError},
    model::ErrorCode,
    process::Supervisor,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{
    failure::{Failure, io_failure},
    host::Host,
};

/// How long one call of git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The branch that is checked out.
pub(crate) const BRANCH: &str = "main";

/// A git repository in a directory of its own.
pub(crate) struct Repository {
    path: PathBuf,
    env: Vec<(String, String)>,
    supervisor: Supervisor,
    /// Removes the directory in the end, where nobody keeps it.
    temporary: Option<tempfile::TempDir>,
}

impl Repository {
    /// Creates a repository with files and a first commit: in a new or empty
    /// directory, or in a temporary one.
    pub(crate) async fn create(
        keep: Option<PathBuf>,
        files: &[(&str, &str)],
        host: &Host,
    ) -> Result<Self, Failure> {
        let (path, temporary) = match keep {
            Some(path) => (empty_directory(path)?, None),
            None => {
                let parent = host.var("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
                let made = tempfile::Builder::new().prefix("samuel-demo-").tempdir_in(&parent);
                let made = made.map_err(|error| io_failure("create a directory in", &parent, &error))?;
                (made.path().to_owned(), Some(made))
            }
        };
        let path = path.canonicalize().map_err(|error| io_failure("reach", &path, &error))?;
        let (env, supervisor) = (host.env.clone(), host.supervisor()?);
        let repository = Self { path, env, supervisor, temporary };
        repository.begin(files).await?;
        Ok(repository)
    }

    async fn begin(&self, files: &[(&str, &str)]) -> Result<(), Failure> {
        self.ask(&["init", "--quiet", "--template=", &format!("--initial-branch={BRANCH}")]).await?;
        // The demonstration needs nothing that is configured elsewhere.
        for (key, value) in [
            ("user.name", "Samuel Demo"),
            ("user.email", "demo@samuel.invalid"),
            ("commit.gpgSign", "false"),
            ("core.hooksPath", "/dev/null"),
            ("core.autocrlf", "false"),
        ] {
            self.ask(&["config", key, value]).await?;
        }
        for (name, text) in files {
            let file = self.path.join(name);
            fs::write(&file, text).map_err(|error| io_failure("write", &file, &error))?;
        }
        self.commit("chore: start").await
    }

    /// Commits everything.
    async fn commit(&self, message: &str) -> Result<(), Failure> {
        self.ask(&["add", "--all"]).await?;
        self.ask(&["commit", "--quiet", "--message", message]).await.map(drop)
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Says whether the directory stays.
    pub(crate) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    /// Returns the commits of a branch, the latest first: hash and subject.
    pub(crate) async fn commits(&self, branch: &str) -> Result<Vec<String>, Failure> {
        self.ask(&["log", "--no-merges", "--format=%h %s", branch]).await
    }

    /// Returns the files that are committed there.
    pub(crate) async fn files(&self, branch: &str) -> Result<Vec<String>, Failure> {
        self.ask(&["ls-tree", "-r", "--name-only", branch]).await
    }

    async fn ask(&self, args: &[&str]) -> Result<Vec<String>, Failure> {
        let (deadline, cancel) = (Instant::now() + GIT_TIMEOUT, CancellationToken::new());
        let git = GitProgram { env: &self.env, supervisor: &self.supervisor, cancel: &cancel, deadline };
        let output = git.run(&self.path, args).await.map_err(|error: GitProgramError| {
            if error.is_not_found() {
                return Failure::new(ErrorCode::GIT_NOT_FOUND, "git is not on PATH");
            }
            Failure::of(&error).advise("Check that git works here, and that the disk has space left.")
        })?;
        Ok(output.stdout.text().lines().map(str::to_owned).collect())
    }
}

/// Makes sure that a directory exists and holds nothing.
fn empty_directory(path: PathBuf) -> Result<PathBuf, Failure> {
    let refused =
        |error: io::Error| io_failure("use", &path, &error).advise("Name a new or empty directory.");
    fs::create_dir_all(&path).map_err(refused)?;
    match fs::read_dir(&path).map_err(refused)?.next() {
        None => Ok(path),
        Some(_) => Err(Failure::usage(format!("{} is not empty", path.display()))
            .advise("Name a new or empty directory.")),
    }
}
