//! Running a command of a hook.

use std::{
    ffi::OsString,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{CommandLine, Pinned, ScriptOutput, env, hold, private_copy::unchanged};
use crate::{
    clock::whole_ms,
    hook::{BreakClass, Call, ChainSpec, HookExchange, HookFailure, Launch, Point},
    model::{hex, run_blocking},
    process::{
        self, CommandOutput, CommandSpec, ExitStatus, OutputFilter, OutputLimits, ProcessError, Spill,
        Supervisor,
    },
};

/// How often, and after which pause, a command whose file is still being written is tried again.
const BUSY_TRIES: usize = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// The exit codes by which a shell says that it could not run a program.
const OF_SHELL: [i32; 2] = [126, 127];

/// A command of a hook: what is started, in which surroundings and within which limits.
///
/// Its environment holds only what [`env`](Self::env) and [`envs`](Self::envs) put there. It has
/// no terminal, and unless [`in_background`](Self::in_background) nothing of it outlives the call.
#[must_use = "a script does nothing before it is run"]
#[derive(Clone, Debug)]
pub struct HookCommand {
    command: CommandLine,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    stdin: Vec<u8>,
    timeout: Duration,
    limits: OutputLimits,
    spill: Option<PathBuf>,
    spill_directory: Option<Arc<OwnedFd>>,
    spill_filter: Option<Arc<dyn OutputFilter>>,
    in_background: bool,
    pinned: Option<Arc<Pinned>>,
    workspace: Option<PathBuf>,
}

/// What a call of pinned files runs from.
const FILES: &str = "the files that the command runs from";

impl HookCommand {
    /// Describes a command in the directory `cwd`, with an empty environment and nothing to read.
    pub fn new(command: CommandLine, cwd: impl Into<PathBuf>) -> Self {
        Self {
            command,
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Vec::new(),
            timeout: ChainSpec::TIMEOUT,
            limits: OutputLimits::default(),
            spill: None,
            spill_directory: None,
            spill_filter: None,
            in_background: false,
            pinned: None,
            workspace: None,
        }
    }

    /// Starts the project's files as they were when they were [pinned](Pinned), from copies where
    /// it can. They are compared before a call and after it.
    pub fn pinned(self, pinned: Arc<Pinned>) -> Self {
        // What an interpreter leaves beside a copy would count as a change.
        let script = self.env("PYTHONDONTWRITEBYTECODE", "1");
        Self { pinned: Some(pinned), ..script }
    }

    /// Names the workspace that the command runs in. Files that are started where they are, and not from copies, are
    /// compared there, too. Default: the command runs in the project.
    pub fn in_workspace(mut self, root: impl Into<PathBuf>) -> Self {
        self.workspace = Some(root.into());
        self
    }

    /// Sets one environment variable; the last value of a name wins.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Sets environment variables; the last value of a name wins.
    pub fn envs<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    /// Feeds these bytes to standard input, then its end. A command that does not read them is
    /// no error. Default: nothing to read.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Ends the command this long after the call, by SIGTERM then and by SIGKILL 300 ms later.
    /// Default [`ChainSpec::TIMEOUT`].
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how much of each output stream is kept. Default 64 KiB, of which 24 KiB from its
    /// start; 256 MiB in a [spill](Self::spill) file.
    pub fn limits(mut self, limits: OutputLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps output that is longer than that, or is not UTF-8, whole in a file of a name of its own
    /// in this directory, which exists, with mode 0600. What is shown of the output names the file.
    /// Default: what is too long is left out.
    pub fn spill(mut self, directory: impl Into<PathBuf>) -> Self {
        self.spill = Some(directory.into());
        self
    }

    /// Creates the file in this open directory, wherever the path of the directory leads.
    pub(crate) fn spill_directory(mut self, directory: OwnedFd) -> Self {
        self.spill_directory = Some(Arc::new(directory));
        self
    }

    /// Filters what the files receive.
    pub(crate) fn spill_filter(mut self, filter: Arc<dyn OutputFilter>) -> Self {
        self.spill_filter = Some(filter);
        self
    }

    /// Lets what the command leaves behind live on when it exits by itself. Default `false`: it is
    /// ended with the command.
    pub fn in_background(mut self, in_background: bool) -> Self {
        self.in_background = in_background;
        self
    }

    /// Returns the command.
    pub fn command(&self) -> &CommandLine {
        &self.command
    }

    /// Returns the directory that it runs in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Runs the command to its end. One that fails, is ended or runs out of time is a [`ScriptOutput`].
    ///
    /// # Errors
    /// Returns a failure where the command was not started: `spawn` with why and what to do,
    /// `timeout` where its time was over before, `untrusted` where what it runs from was changed,
    /// which is told after a call too, and `failed` where hooks have started each other
    /// [`MAX_DEPTH`](super::MAX_DEPTH) levels deep or its supervisor was lost.
    pub async fn run(
        &self,
        supervisor: &Supervisor,
        cancel: &CancellationToken,
    ) -> Result<ScriptOutput, HookFailure> {
        let Some(pinned) = &self.pinned else { return self.run_once(supervisor, cancel).await };
        let (looked_at, workspace) = (Arc::clone(pinned), self.workspace.clone());
        let look = move || {
            looked_at.copy()?;
            // Before the comparison, so that what is written during it counts.
            let stamps = looked_at.stamps(workspace.as_deref());
            unchanged(FILES, looked_at.difference(workspace.as_deref())).map(|()| stamps)
        };
        let looked = run_blocking(look).await;
        let before =
            looked.map_err(|error| HookFailure::new(BreakClass::Untrusted, error.to_string())).flatten()?;
        let output = self.run_once(supervisor, cancel).await;
        // What ran beside a change may be the change.
        let workspace = self.workspace.clone();
        hold(pinned, FILES, move |pinned| pinned.touched(&before, workspace.as_deref())).await?;
        output
    }

    async fn run_once(
        &self,
        supervisor: &Supervisor,
        cancel: &CancellationToken,
    ) -> Result<ScriptOutput, HookFailure> {
        let output = self.start(|spec| process::run(self.with_output(spec), supervisor, cancel)).await?;
        Ok(self.ended(output))
    }

    /// Starts the command in a way of the caller's, again only while its file is still being
    /// written: it may be open in a process that another thread is starting.
    pub(crate) async fn start<T, F>(&self, start: impl Fn(CommandSpec) -> F) -> Result<T, HookFailure>
    where
        F: Future<Output = Result<T, ProcessError>>,
    {
        env::admit(&self.env)?;
        let spec = self.spec()?;
        for _ in 0..BUSY_TRIES {
            match start(spec.clone()).await {
                Err(ProcessError::Busy { .. }) => tokio::time::sleep(BUSY_PAUSE).await,
                started => return started.map_err(|error| self.not_run(&error)),
            }
        }
        start(spec).await.map_err(|error| self.not_run(&error))
    }

    /// Says what came of the command.
    pub(crate) fn ended(&self, output: CommandOutput) -> ScriptOutput {
        let may_not_have_run = matches!(output.status, ExitStatus::Exited(code) if OF_SHELL.contains(&code));
        let problem = match may_not_have_run.then(|| self.started()) {
            Some(Ok(CommandLine::Shell(line))) => {
                process::problem_of_line(&line, &self.env, &self.cwd).map(|problem| self.explained(&problem))
            }
            _ => None,
        };
        ScriptOutput::new(output, self.timeout, problem)
    }

    /// Returns the command as it is started.
    fn started(&self) -> Result<CommandLine, HookFailure> {
        self.pinned.as_ref().map_or_else(|| Ok(self.command.clone()), |pinned| pinned.started(&self.command))
    }

    /// Describes how it is started.
    fn spec(&self) -> Result<CommandSpec, HookFailure> {
        let spec = self.started()?.spec(&self.cwd).envs(self.env.iter().cloned()).timeout(self.timeout);
        Ok(spec.background(self.in_background).grace_when_dropped(true))
    }

    /// Returns what is started, for whoever wants to see it. Blocks where files are
    /// [pinned](Self::pinned) and were not copied before.
    ///
    /// # Errors
    /// Says why they cannot be copied.
    pub fn launch(&self) -> Result<Launch, HookFailure> {
        Ok(Launch::of(&self.with_output(self.spec()?)))
    }

    /// Tells of the command for a call of a hook, which it has ended for: its exit code goes into
    /// the log of hooks, and whoever tries the hook out is shown what went in and came out.
    pub fn tell<P: Point>(&self, call: &Call<P>, output: &ScriptOutput) {
        call.ran(output.status.code(), || {
            Some(HookExchange {
                handler: call.header().handler_id.to_string(),
                launch: self.launch().ok()?,
                stdout: output.stdout.text(),
                stderr: output.stderr.text(),
                status: output.status_line(),
                exit_code: output.status.code(),
                duration_ms: whole_ms(output.duration),
            })
        });
    }

    fn with_output(&self, spec: CommandSpec) -> CommandSpec {
        let spec = spec.limits(self.limits).spill(self.spill.as_deref().map(spill_in).unwrap_or_default());
        let spec = match &self.spill_directory {
            Some(directory) => spec.spill_directory(Arc::clone(directory)),
            None => spec,
        };
        let spec = match &self.spill_filter {
            Some(filter) => spec.spill_filter(Arc::clone(filter)),
            None => spec,
        };
        if self.stdin.is_empty() { spec } else { spec.stdin(self.stdin.clone()) }
    }

    fn not_run(&self, error: &ProcessError) -> HookFailure {
        let class = match error {
            ProcessError::NoTimeToStart { .. } => BreakClass::Timeout,
            ProcessError::SupervisorLost { .. } | ProcessError::RuntimeStopped { .. } => BreakClass::Failed,
            _ => BreakClass::Spawn,
        };
        HookFailure::new(class, self.explained(error))
    }

    /// Says why the command was not started, with the names that its files have in the project.
    fn explained(&self, error: &ProcessError) -> String {
        let message = error.explained();
        self.pinned.as_ref().map_or(message.clone(), |pinned| pinned.in_own_names(&message))
    }
}

/// Names files for the output in a directory.
fn spill_in(directory: &Path) -> Spill {
    let mut random = [0; 8];
    // A file of the same name would be replaced.
    let _ = getrandom::fill(&mut random);
    let name = hex(&random);
    Spill::WhenNeeded {
        stdout: directory.join(format!("{name}.out")),
        stderr: directory.join(format!("{name}.err")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        fs::{File, Permissions},
        io::Write as _,
        os::unix::fs::PermissionsExt as _,
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use super::*;

    #[tokio::test]
    async fn a_script_that_is_still_being_written_is_started_once_it_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("busy");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"#!/bin/sh\necho hi\n").unwrap();
        file.set_permissions(Permissions::from_mode(0o755)).unwrap();
        let (open, tries) = (Mutex::new(Some(file)), AtomicUsize::new(0));
        let script = HookCommand::new(CommandLine::words([&path]), dir.path());
        let cancel = CancellationToken::new();
        let output = script.start(|spec| async {
            let started = process::run(spec, &Supervisor::GroupOnly, &cancel).await;
            if tries.fetch_add(1, Ordering::Relaxed) == 0 {
                assert!(matches!(started, Err(ProcessError::Busy { .. })), "{started:?}");
            }
            // It is written after the first try.
            drop(open.lock().unwrap().take());
            started
        });
        assert_eq!(output.await.unwrap().stdout.text(), "hi\n");
    }
}
