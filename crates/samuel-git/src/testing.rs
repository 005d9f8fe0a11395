//! A git repository for tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

use std::{ffi::OsString, fs, path::Path, process::Command};

use crate::Caller;

/// A temporary repository that knows nothing of the machine's git settings.
pub struct Repository(tempfile::TempDir);

impl Repository {
    /// Creates a repository with these files, committed.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self::empty();
        for (path, text) in files {
            repository.write(path, text);
        }
        repository.commit("Start");
        repository
    }

    /// Creates a repository without a commit.
    pub fn empty() -> Self {
        Self::with_hash("sha1")
    }

    /// Creates a repository without a commit, whose ids are made in this way.
    pub fn with_hash(format: &str) -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        let format = format!("--object-format={format}");
        repository.run(&["init", "--quiet", "--initial-branch=main", &format]);
        repository
    }

    /// Returns its work tree.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file with its directories.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits everything in the work tree.
    pub fn commit(&self, message: &str) {
        self.run(&["add", "--all"]);
        self.run(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Runs git in it.
    pub fn run(&self, args: &[&str]) {
        assert!(self.tries(args), "git {args:?}");
    }

    /// Runs git, and says whether it did what it should.
    pub fn tries(&self, args: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.path()).envs(env());
        command.output().unwrap().status.success()
    }

    /// Opens it to be read.
    pub fn opened(&self) -> crate::Repository {
        crate::Repository::open(self.path(), &Caller::of_process()).unwrap().unwrap()
    }
}

/// The environment of git in tests.
fn env() -> Vec<(OsString, OsString)> {
    let fixed = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "Tester"),
        ("GIT_AUTHOR_EMAIL", "tester@example.org"),
        ("GIT_COMMITTER_NAME", "Tester"),
        ("GIT_COMMITTER_EMAIL", "tester@example.org"),
        ("GIT_AUTHOR_DATE", "2026-11-21T10:00:00Z"),
        ("GIT_COMMITTER_DATE", "2026-11-21T10:00:00Z"),
    ];
    let path = std::env::var_os("PATH").into_iter().map(|path| (OsString::from("PATH"), path));
    path.chain(fixed.map(|(name, value)| (name.into(), value.into()))).collect()
}
