//! The repository of the demonstration.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use samuel_core::{
    git::{Git, GitError},
    model::ErrorCode,
};

use crate::{
    failure::{Failure, io_failure},
    host::Host,
};

/// How long one call of git may take.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);
/// How much git may answer.
const MAX_BYTES: usize = 1 << 20;

/// A git repository in a directory of its own.
pub(crate) struct Repository {
    path: PathBuf,
    git: Git,
    /// Removes the directory in the end, where nobody keeps it.
    temporary: Option<tempfile::TempDir>,
}

impl Repository {
    /// Creates a repository with files and a first commit: in a new or empty
    /// directory, or in a temporary one.
    pub(crate) fn create(
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
        let git = Git::new(&path, host.env.iter().cloned(), GIT_TIMEOUT);
        let repository = Self { path, git, temporary };
        repository.begin(files)?;
        Ok(repository)
    }

    fn begin(&self, files: &[(&str, &str)]) -> Result<(), Failure> {
        self.ask(&["init", "--quiet", "--template=", "--initial-branch=main"])?;
        // The demonstration needs nothing that is configured elsewhere.
        for (key, value) in [
            ("user.name", "Samuel Demo"),
            ("user.email", "demo@samuel.invalid"),
            ("commit.gpgSign", "false"),
            ("core.hooksPath", "/dev/null"),
            ("core.autocrlf", "false"),
        ] {
            self.ask(&["config", key, value])?;
        }
        for (name, text) in files {
            let file = self.path.join(name);
            fs::write(&file, text).map_err(|error| io_failure("write", &file, &error))?;
        }
        self.commit("chore: start")
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) -> Result<(), Failure> {
        self.ask(&["add", "--all"])?;
        self.ask(&["commit", "--quiet", "--message", message]).map(drop)
    }

    /// Returns the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Says whether the directory stays.
    pub(crate) fn is_kept(&self) -> bool {
        self.temporary.is_none()
    }

    /// Returns the commits, the latest first: hash and subject.
    pub(crate) fn commits(&self) -> Result<Vec<String>, Failure> {
        self.ask(&["log", "--format=%h %s"])
    }

    /// Returns the files that are committed.
    pub(crate) fn files(&self) -> Result<Vec<String>, Failure> {
        self.ask(&["ls-files"])
    }

    fn ask(&self, args: &[&str]) -> Result<Vec<String>, Failure> {
        let output = self.git.output(args, MAX_BYTES).map_err(|error| match &error {
            GitError::Start { source } if source.kind() == io::ErrorKind::NotFound => {
                Failure::new(ErrorCode::GIT_NOT_FOUND, "git is not on PATH")
            }
            _ => Failure::new(ErrorCode::PROCESS_FAILED, error.to_string())
                .advise("Check that git works here, and that the disk has space left."),
        })?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
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
