//! A git repository for tests.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed set-up fails the test")]

use std::{ffi::OsString, fs, path::Path, process::Command, time::Duration};

use crate::git::Git;

/// A temporary repository that knows nothing of the machine's git settings.
pub(crate) struct Repository(tempfile::TempDir);

impl Repository {
    /// Creates a repository with these files, committed.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.run(&["init", "--quiet", "--initial-branch=main"]);
        for (path, text) in files {
            repository.write(path, text);
        }
        repository.commit("Start");
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn commit(&self, message: &str) {
        self.run(&["add", "--all"]);
        self.run(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    pub(crate) fn run(&self, args: &[&str]) {
        let status = Command::new("git").args(args).current_dir(self.path()).envs(env()).status().unwrap();
        assert!(status.success(), "git {args:?}");
    }

    pub(crate) fn git(&self) -> Git {
        Git::new(self.path(), env(), Duration::from_secs(60))
    }
}

/// The environment of git in tests.
pub(crate) fn env() -> Vec<(OsString, OsString)> {
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
