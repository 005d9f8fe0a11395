//! Asking git, without letting it start anything of its own.
//!
//! [`Git`] runs the git program in one directory with hooks, file system
//! monitor, prompts and optional locks off, an environment the caller gives,
//! a time limit and a limit on what is read. It blocks the calling thread;
//! asynchronous callers move it to a blocking one.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// Bytes of one piece of output.
const PIECE: usize = 64 * 1024;
/// Pieces that may wait to be consumed.
const PIECES_AHEAD: usize = 16;
/// Bytes of standard error that are kept.
const MAX_STDERR: u64 = 4 * 1024;

/// Variables that would make git look elsewhere, or run programs. They are
/// set when a loop is started from within a git hook, for instance.
const DROPPED_VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_TRACE",
];

/// The git program in one directory.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
    env: Vec<(OsString, OsString)>,
    timeout: Duration,
}

/// A question to git that has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The program could not be started.
    #[error("git could not be started")]
    Start {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It did not answer in time and was ended.
    #[error("git {subcommand} did not end within {limit:?}")]
    TimedOut {
        /// The subcommand.
        subcommand: String,
        /// The time it had.
        limit: Duration,
    },
    /// It failed.
    #[error("git {subcommand} failed: {message}")]
    Failed {
        /// The subcommand.
        subcommand: String,
        /// The first line it wrote to standard error, or its exit code.
        message: String,
    },
    /// It wrote more than the caller wanted to read.
    #[error("git {subcommand} wrote more than {limit} bytes")]
    TooLong {
        /// The subcommand.
        subcommand: String,
        /// The limit in bytes.
        limit: usize,
    },
}

/// What the consumer of a stream wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More of it.
    More,
    /// No more; git is ended.
    Enough,
}

impl Git {
    /// Describes git in a directory.
    ///
    /// `env` is git's whole environment, usually with `PATH` and `HOME`;
    /// variables that redirect git are dropped. `timeout` bounds each call.
    pub fn new<N, V>(
        directory: impl Into<PathBuf>,
        env: impl IntoIterator<Item = (N, V)>,
        timeout: Duration,
    ) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let env = env.into_iter().map(|(name, value)| (name.into(), value.into()));
        let kept = env.filter(|(name, _)| !DROPPED_VARIABLES.iter().any(|dropped| name == dropped));
        Self { directory: directory.into(), env: kept.collect(), timeout }
    }

    /// Returns the directory git runs in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs git and returns what it wrote, at most `max_bytes`.
    ///
    /// # Errors
    /// A [`GitError`] if git cannot be started, fails, takes too long or
    /// writes too much.
    pub fn output(&self, args: &[&str], max_bytes: usize) -> Result<Vec<u8>, GitError> {
        let mut output = Vec::new();
        self.stream(args, Vec::new(), |piece| {
            output.extend_from_slice(piece);
            if output.len() > max_bytes { Flow::Enough } else { Flow::More }
        })?;
        if output.len() > max_bytes {
            return Err(GitError::TooLong { subcommand: subcommand(args), limit: max_bytes });
        }
        Ok(output)
    }

    /// Runs git with `input` on standard input and hands on what it writes,
    /// piece by piece, while it is still writing.
    ///
    /// # Errors
    /// A [`GitError`] if git cannot be started, fails or takes too long.
    /// [`Flow::Enough`] is a normal end.
    pub fn stream(
        &self,
        args: &[&str],
        input: Vec<u8>,
        mut consume: impl FnMut(&[u8]) -> Flow,
    ) -> Result<(), GitError> {
        let deadline = Instant::now() + self.timeout;
        let mut child = Reaped(self.start(args, !input.is_empty())?);
        child.feed(input);
        let pieces = child.read();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match pieces.recv_timeout(left) {
                Ok(Piece::Output(bytes)) => {
                    if consume(&bytes) == Flow::Enough {
                        return Ok(());
                    }
                }
                Ok(Piece::End { stderr }) => return child.finish(args, &stderr),
                Err(RecvTimeoutError::Disconnected) => return child.finish(args, &[]),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(GitError::TimedOut { subcommand: subcommand(args), limit: self.timeout });
                }
            }
        }
    }

    fn start(&self, args: &[&str], has_input: bool) -> Result<Child, GitError> {
        let mut command = Command::new("git");
        command
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .args(["-c", "core.quotePath=false", "-c", "log.showSignature=false", "--no-pager"])
            .args(args)
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .stdin(if has_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(|source| GitError::Start { source })
    }
}

/// A piece of a child's output.
enum Piece {
    Output(Vec<u8>),
    End { stderr: Vec<u8> },
}

/// A child that is killed and reaped when it goes out of scope.
struct Reaped(Child);

impl Reaped {
    /// Writes the input from a thread of its own, so that a child that writes
    /// before it has read everything does not stop both sides.
    fn feed(&mut self, input: Vec<u8>) {
        if let Some(mut stdin) = self.0.stdin.take() {
            // A child that does not read to the end closes its side; that is
            // its affair.
            thread::spawn(move || drop(stdin.write_all(&input)));
        }
    }

    fn read(&mut self) -> Receiver<Piece> {
        let (sender, receiver) = sync_channel(PIECES_AHEAD);
        let (stdout, stderr) = (self.0.stdout.take(), self.0.stderr.take());
        thread::spawn(move || {
            let Some(mut stdout) = stdout else { return };
            let mut buffer = vec![0; PIECE];
            while let Ok(count) = stdout.read(&mut buffer) {
                let Some(bytes) = buffer.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
                if sender.send(Piece::Output(bytes.to_vec())).is_err() {
                    return;
                }
            }
            let mut text = Vec::new();
            if let Some(stderr) = stderr {
                // Without it only the message is poorer.
                drop(stderr.take(MAX_STDERR).read_to_end(&mut text));
            }
            drop(sender.send(Piece::End { stderr: text }));
        });
        receiver
    }

    fn finish(&mut self, args: &[&str], stderr: &[u8]) -> Result<(), GitError> {
        let status = self.0.wait().map_err(|source| GitError::Start { source })?;
        if status.success() {
            return Ok(());
        }
        let stderr = String::from_utf8_lossy(stderr);
        let message = match stderr.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => line.trim_start_matches("fatal: ").to_owned(),
            None => status.to_string(),
        };
        Err(GitError::Failed { subcommand: subcommand(args), message })
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // What git itself started is in the same group. Both calls fail
            // only when the child is gone already.
            #[cfg(unix)]
            let _ = rustix::process::kill_process_group(
                rustix::process::Pid::from_child(&self.0),
                rustix::process::Signal::KILL,
            );
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn subcommand(args: &[&str]) -> String {
    args.iter().find(|arg| !arg.starts_with('-')).copied().unwrap_or_default().to_owned()
}

/// Says whether a directory, or one above it, holds a git repository.
pub fn is_repository(directory: &Path) -> bool {
    directory.ancestors().any(|ancestor| ancestor.join(OsStr::new(".git")).exists())
}

/// Returns the name of the branch a repository is on, without starting git;
/// nothing outside of repositories and between branches.
pub fn branch(directory: &Path) -> Option<String> {
    let mut git_dir = directory.join(".git");
    if git_dir.is_file() {
        // Work trees and submodules keep their state elsewhere.
        let pointer = std::fs::read_to_string(&git_dir).ok()?;
        git_dir = directory.join(pointer.strip_prefix("gitdir:")?.trim());
    }
    let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
    Some(head.strip_prefix("ref: refs/heads/")?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::methodology::ralph::testing::Repository;

    #[test]
    fn what_git_writes_is_returned() {
        let repository = Repository::with(&[("a.rs", "fn a() {}\n"), ("b c.rs", "")]);
        let output = repository.git().output(&["ls-files", "-z"], 100).unwrap();
        assert_eq!(output, b"a.rs\0b c.rs\0");
    }

    #[test]
    fn more_output_than_wanted_is_an_error() {
        let repository = Repository::with(&[("a-long-name.rs", "")]);
        let error = repository.git().output(&["ls-files"], 3).unwrap_err();
        assert!(matches!(error, GitError::TooLong { limit: 3, .. }), "{error}");
    }

    #[test]
    fn a_failure_says_what_git_said() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::new(directory.path(), std::env::vars_os(), Duration::from_secs(60));
        let error = git.output(&["rev-parse", "HEAD"], 100).unwrap_err().to_string();
        assert!(error.starts_with("git rev-parse failed: not a git repository"), "{error}");
    }

    #[test]
    fn input_reaches_git() {
        let repository = Repository::with(&[("a.rs", "x\n")]);
        let mut output = Vec::new();
        let git = repository.git();
        git.stream(&["hash-object", "--stdin"], b"x\n".to_vec(), |piece| {
            output.extend_from_slice(piece);
            Flow::More
        })
        .unwrap();
        assert_eq!(output, b"587be6b4c3f93f93c489c0111bba5596147a26cb\n");
    }

    #[test]
    fn git_that_does_not_answer_is_ended() {
        let repository = Repository::with(&[]);
        let git = Git::new(repository.path(), std::env::vars_os(), Duration::from_millis(200));
        // Waits for a command that never comes: the alias runs a shell.
        let error = git.output(&["-c", "alias.hang=!sleep 100", "hang"], 10).unwrap_err();
        assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
    }

    #[test]
    fn variables_that_redirect_git_are_dropped() {
        let repository = Repository::with(&[("a.rs", "")]);
        let env = std::env::vars_os().chain([(OsString::from("GIT_DIR"), OsString::from("/nowhere"))]);
        let git = Git::new(repository.path(), env, Duration::from_secs(60));
        assert_eq!(git.output(&["ls-files"], 100).unwrap(), b"a.rs\n");
    }

    #[test]
    fn a_monitor_that_the_repository_configures_is_not_started() {
        let repository = Repository::with(&[("a.rs", "")]);
        repository.run(&["config", "core.fsmonitor", "touch started;"]);
        repository.git().output(&["ls-files", "-m"], 100).unwrap();
        assert!(!repository.path().join("started").exists());
    }
}
