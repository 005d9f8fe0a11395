//! What to run and within which limits.
//!
//! [`CommandSpec`] is plain data with a builder: [`run`](super::run) and
//! [`spawn`](super::spawn) carry it out. It has no defaults that come from the
//! machine: working directory and environment are the caller's to give.

use super::{Companion, Containment, OutputFilter};
use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The time between SIGTERM and SIGKILL when nothing else is asked for.
const DEFAULT_GRACE: Duration = Duration::from_millis(300);

/// A command to run: program, surroundings and limits.
///
/// The environment starts empty and holds only what [`env`](Self::env) and
/// [`envs`](Self::envs) put there, and below a supervisor the variable
/// `SAMUEL_PROCESS_MARK`, by which the processes of a command are found again that is
/// not in the [background](Self::background). A program name without a slash is looked up
/// in the `PATH` of that environment, or in `/usr/bin:/bin` where it has none; a relative
/// one starts at the working directory.
///
/// Prompts belong in [`stdin`](Self::stdin), never in the arguments: those are
/// visible to every user of the machine and limited in length.
///
/// ```
/// use samuel_process::CommandSpec;
/// use std::time::Duration;
///
/// let spec = CommandSpec::shell("sort | uniq -c", "/tmp")
///     .env("PATH", "/usr/bin:/bin")
///     .stdin("b\na\nb\n")
///     .timeout(Duration::from_secs(10));
/// assert_eq!(spec.program(), "/bin/sh");
/// ```
#[must_use = "a command does nothing before it is run"]
#[derive(Clone, Debug)]
pub struct CommandSpec {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) env: Variables,
    pub(super) stdin: Stdin,
    pub(super) timeout: Option<Duration>,
    pub(super) grace: Duration,
    pub(super) clocks: Clocks,
    pub(super) limits: OutputLimits,
    pub(super) spill: Spill,
    pub(super) spill_directory: Option<Arc<OwnedFd>>,
    pub(super) spill_filter: Option<Arc<dyn OutputFilter>>,
    pub(super) background: bool,
    pub(super) grace_when_dropped: bool,
    pub(super) merge_stderr: bool,
    pub(super) containment: Containment,
    pub(super) companions: Vec<Arc<dyn Companion>>,
}

/// The whole environment, by name and value.
#[derive(Clone, Default)]
pub(super) struct Variables(pub(super) Vec<(OsString, OsString)>);

/// Where a command's standard input comes from.
#[derive(Clone, Default)]
pub enum Stdin {
    /// Nothing: `/dev/null`.
    #[default]
    Null,
    /// These bytes, then the end of the file. A command that does not read
    /// them all is not an error.
    Bytes(Vec<u8>),
    /// The contents of a file, opened when the command starts.
    File(PathBuf),
    /// What is written while the command works, by [`StdinPipe`](super::StdinPipe).
    Piped,
}

/// How much of each output stream stays in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes kept from the start of each stream. Default 24 KiB.
    pub head: usize,
    /// Bytes kept from the end of each stream. Default 40 KiB.
    pub tail: usize,
    /// Bytes kept of one line in [`Running::next_line`](super::Running::next_line);
    /// the rest of a longer line is left out there. Default 1 MiB.
    pub line: usize,
    /// Bytes written to each [`Spill`] file, so that an endless command cannot
    /// fill the disk. Default 256 MiB.
    pub spill: u64,
}

impl Default for OutputLimits {
    fn default() -> Self {
        Self { head: 24 * 1024, tail: 40 * 1024, line: 1024 * 1024, spill: 256 * 1024 * 1024 }
    }
}

/// Files that receive the bytes of the output, created with mode 0600. A command runs without a file that cannot be
/// created; [`Captured::spill_problem`](super::Captured::spill_problem) has the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spill {
    /// No files; what does not fit into [`OutputLimits`] is only counted.
    #[default]
    Never,
    /// A file only for a stream that does not fit into the limits or is not
    /// valid UTF-8, where text alone would lose something.
    WhenNeeded {
        /// Receives standard output.
        stdout: PathBuf,
        /// Receives standard error.
        stderr: PathBuf,
    },
    /// Both files from the start.
    Always {
        /// Receives standard output.
        stdout: PathBuf,
        /// Receives standard error.
        stderr: PathBuf,
    },
}

/// Deadlines beside the overall timeout, for agents that may hang silently.
///
/// Each that runs out ends the command with its own [`End`](super::End). Output
/// on either stream counts as a sign of life. None is set by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// The longest wait for the first byte of output, from the start.
    pub first_byte: Option<Duration>,
    /// The longest silence between two pieces of output. It runs from the start where there
    /// is no `first_byte`, else from the first output.
    pub idle: Option<Duration>,
    /// How long the command may live on after
    /// [`Stopper::finishing`](super::Stopper::finishing).
    pub linger: Option<Duration>,
}

impl CommandSpec {
    /// Describes a program with no arguments in the working directory `cwd`.
    pub fn new(program: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Variables::default(),
            stdin: Stdin::Null,
            timeout: None,
            grace: DEFAULT_GRACE,
            clocks: Clocks::default(),
            limits: OutputLimits::default(),
            spill: Spill::Never,
            spill_directory: None,
            spill_filter: None,
            background: false,
            grace_when_dropped: false,
            merge_stderr: false,
            containment: Containment::Cgroup,
            companions: Vec::new(),
        }
    }

    /// Describes a command line for `/bin/sh -c`.
    pub fn shell(line: impl Into<OsString>, cwd: impl Into<PathBuf>) -> Self {
        Self::new("/bin/sh", cwd).arg("-c").arg(line)
    }

    /// Adds one argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments in order.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets one environment variable; the last value of a name wins.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.0.push((name.into(), value.into()));
        self
    }

    /// Sets environment variables; the last value of a name wins.
    pub fn envs<N, V>(mut self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let variables = variables.into_iter();
        self.env.0.extend(variables.map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Feeds these bytes to standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Stdin::Bytes(bytes.into());
        self
    }

    /// Feeds a file to standard input.
    pub fn stdin_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.stdin = Stdin::File(path.into());
        self
    }

    /// Leaves standard input open, for [`Running::take_input`](super::Running::take_input).
    pub fn stdin_piped(mut self) -> Self {
        self.stdin = Stdin::Piped;
        self
    }

    /// Ends the command this long after the call, counted from before it was
    /// started: by SIGTERM then and not before, by SIGKILL after the [`grace`](Self::grace).
    /// Without one it may run for ever.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the time between SIGTERM and SIGKILL. Default 300 ms.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Lets a command whose [`run`](super::run) or [`Running`](super::Running) is dropped have its
    /// [`grace`](Self::grace) too: SIGTERM when the call is dropped, SIGKILL after it, while
    /// the caller goes on. Default `false`: it is killed at once.
    pub fn grace_when_dropped(mut self, grace: bool) -> Self {
        self.grace_when_dropped = grace;
        self
    }

    /// Sets the deadlines for silence. Default none.
    pub fn clocks(mut self, clocks: Clocks) -> Self {
        self.clocks = clocks;
        self
    }

    /// Sets how much output is kept.
    pub fn limits(mut self, limits: OutputLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the files that receive the raw output. Default [`Spill::Never`].
    pub fn spill(mut self, spill: Spill) -> Self {
        self.spill = spill;
        self
    }

    /// Creates the files of [`spill`](Self::spill) in an open directory, under the last names of their paths, wherever
    /// the rest of the paths leads. Default: links in the paths are followed.
    pub fn spill_directory(mut self, directory: impl Into<Arc<OwnedFd>>) -> Self {
        self.spill_directory = Some(directory.into());
        self
    }

    /// Filters what the files of [`spill`](Self::spill) receive. Default: they receive the raw output.
    pub fn spill_filter(mut self, filter: Arc<dyn OutputFilter>) -> Self {
        self.spill_filter = Some(filter);
        self
    }

    /// Lets processes that the command leaves behind live on, when it exits by
    /// itself. Default `false`: they are killed and counted as leaked.
    ///
    /// They lose their end of the output: one that still writes to the pipe
    /// gets SIGPIPE, so a daemon should redirect its output. A command that is
    /// ended by a deadline or a cancellation takes them along all the same.
    pub fn background(mut self, background: bool) -> Self {
        self.background = background;
        self
    }

    /// Sends standard error into standard output, in the order of writing, as
    /// `2>&1` does. Default `false`.
    pub fn merge_stderr(mut self, merge: bool) -> Self {
        self.merge_stderr = merge;
        self
    }

    /// Makes the command the argument of another one, which is to run it: program and
    /// arguments of the outer one, then those of this. All else stays as it is.
    pub fn within<A: Into<OsString>>(
        mut self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        let inner = std::mem::replace(&mut self.program, program.into());
        let outer = args.into_iter().map(Into::into).chain([inner]);
        self.args = outer.chain(std::mem::take(&mut self.args)).collect();
        self
    }

    /// Sets the strongest [`Containment`] that may be used. Default: the
    /// strongest there is.
    ///
    /// A weaker one is for tests of what holds where a machine allows no more;
    /// nothing else is gained by it. It can neither be set in configuration nor
    /// on the command line.
    pub fn containment(mut self, strongest: Containment) -> Self {
        self.containment = strongest;
        self
    }

    /// Replaces program and arguments.
    pub fn command<A: Into<OsString>>(
        mut self,
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        self.program = program.into();
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// Takes every variable out of the environment that was put there before.
    pub fn env_clear(mut self) -> Self {
        self.env.0.clear();
        self
    }

    /// Replaces the working directory.
    pub fn current_dir(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = cwd.into();
        self
    }

    /// Adds something that goes with the command, and is [released](Companion::release) once that has ended.
    pub fn companion(mut self, companion: Arc<dyn Companion>) -> Self {
        self.companions.push(companion);
        self
    }

    /// Returns the program as it was given.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Returns the arguments in order.
    pub fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// Returns the environment in order; where a name is there twice, the later one counts.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.env.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Returns what is fed to standard input, where that is known beforehand.
    pub fn input(&self) -> Option<&[u8]> {
        match &self.stdin {
            Stdin::Bytes(bytes) => Some(bytes),
            Stdin::Null | Stdin::File(_) | Stdin::Piped => None,
        }
    }

    /// Returns how long the command may run.
    pub fn time_limit(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the working directory.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }
}

/// Shows the names of variables, and no values: those may be secrets.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Shows no bytes of the input, which may be secret too.
impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Piped => f.write_str("Piped"),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}
