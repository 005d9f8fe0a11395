//! Running commands. Needs `exec` for the program, and for the arguments where
//! the grant names them.
//!
//! No shell reads a command. All it started is ended with it, also when the time
//! is up.
//!
//! ```no_run
//! # fn version() -> Result<String, samuel_plugin::HookFailure> {
//! use samuel_plugin::exec::Command;
//! use std::time::Duration;
//!
//! let output = Command::new("python3").arg("--version").timeout(Duration::from_secs(5)).run()?;
//! # return
//! Ok(output.stdout_text())
//! # }
//! ```

use std::time::Duration;

use crate::{failure::HostError, host::bindings::samuel::plugin::exec};

/// A command, to be run.
#[must_use = "a command does nothing before it is run"]
#[derive(Clone, Debug, PartialEq)]
pub struct Command(exec::Command);

impl Command {
    /// Makes one of a program, as the grant names it. A name is looked up in the
    /// caller's `PATH`, and never in the project.
    pub fn new(program: impl Into<String>) -> Self {
        Self(exec::Command {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            env: Vec::new(),
            stdin: Vec::new(),
            timeout_ms: None,
        })
    }

    /// Adds an argument; at most 1,024 and 128 KiB together.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.0.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.0.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Says where it runs, relative to the project; its root otherwise.
    pub fn current_dir(mut self, dir: impl Into<String>) -> Self {
        self.0.cwd = Some(dir.into());
        self
    }

    /// Sets a variable beside the ones every command gets. Needs `env` for its
    /// name; those that decide which program runs are always denied.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.env.push((name.into(), value.into()));
        self
    }

    /// Sets what it reads, at most 1 MiB; nothing otherwise.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.0.stdin = input.into();
        self
    }

    /// Sets the most it may take; never more than the handler has left.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// Returns [`HostError::Denied`] where the command was not granted,
    /// [`HostError::NotFound`] where it does not exist, [`HostError::TimedOut`]
    /// where it took too long. A command that fails is no error.
    pub fn run(self) -> Result<Output, HostError> {
        let exec::Output { exit_code, stdout, stderr, truncated } = exec::run(&self.0)?;
        Ok(Output { exit_code, stdout, stderr, truncated })
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; 128 and the signal's number where a signal ended it.
    pub exit_code: i32,
    /// What it printed; beyond 1 MiB the middle is left out.
    pub stdout: Vec<u8>,
    /// What it printed as errors; beyond 1 MiB the middle is left out.
    pub stderr: Vec<u8>,
    /// Whether something was left out.
    pub truncated: bool,
}

impl Output {
    /// Says whether the exit code is 0.
    pub fn success(&self) -> bool {
        self.exit_code == 0
    }

    /// Returns what it printed as text, with U+FFFD for what is none.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns what it printed as errors, as text.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}
