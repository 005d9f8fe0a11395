//! A command at work, whose output is read line by line and whose input is written bit by bit.
//!
//! The work is done by a task with a [`Drive`]; a [`Running`] is the
//! caller's side of it, and [`run`](super::run) is one that waits for the end.

use super::{
    CommandOutput, CommandSpec, Line, ProcessError, StdinPipe, Supervisor, SupervisorId, companion,
    control::Lifeline,
    drive::{Drive, Listener, StopRequest},
    lines::LineQueue,
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{JoinError, JoinHandle},
    time::Instant,
};

/// A running command.
///
/// Dropping it kills the command and everything below it, at once or
/// [after its grace](CommandSpec::grace_when_dropped).
#[derive(Debug)]
pub struct Running {
    task: Option<JoinHandle<Result<CommandOutput, ProcessError>>>,
    lines: Arc<LineQueue>,
    input: Option<StdinPipe>,
    stopper: Stopper,
    last_output: watch::Receiver<Instant>,
    supervisor: Option<SupervisorId>,
    lifeline: Lifeline,
    grace_when_dropped: Duration,
    program: PathBuf,
    pid: u32,
}

/// Interrupts or ends a [`Running`] command from elsewhere; clones act on the same command.
///
/// Nothing happens once the command has ended.
#[derive(Clone, Debug)]
pub struct Stopper {
    requests: mpsc::UnboundedSender<StopRequest>,
}

/// Starts a command whose standard output is read while it runs, and whose standard input is written.
///
/// ```
/// use samuel_process::{CommandSpec, Supervisor, spawn};
/// use std::time::Duration;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// // A server that answers each line with one.
/// let spec = CommandSpec::new("cat", "/").stdin_piped();
/// // A program with a supervisor at hand names it here instead.
/// let mut server = spawn(spec, &Supervisor::GroupOnly).await?;
/// let mut input = server.take_input().expect("the specification asks for it");
/// for question in ["first", "second"] {
///     input.write(format!("{question}\n").as_bytes(), Duration::from_secs(5)).await?;
///     assert_eq!(server.next_line().await.map(|line| line.text).as_deref(), Some(question));
/// }
/// drop(input);
/// assert!(server.wait().await?.success());
/// # Ok::<(), samuel_process::ProcessError>(())
/// # }).unwrap();
/// ```
///
/// Returns once the program has been started. The timeout of `spec` is the wall
/// clock, counted from this call; the other clocks are in
/// [`CommandSpec::clocks`]. Head, tail and spill files of both streams are
/// kept as by [`run`](super::run). Needs a tokio runtime with I/O and time; the command is
/// killed when the runtime is shut down.
///
/// # Errors
/// A [`ProcessError`] if the command could not be started.
pub async fn spawn(spec: CommandSpec, supervisor: &Supervisor) -> Result<Running, ProcessError> {
    let (mut running, is_started) = Running::launch(spec, supervisor)?;
    match is_started.await {
        Ok(pid) => {
            running.pid = pid;
            Ok(running)
        }
        // It ended before it began: the task knows why.
        Err(_) => {
            let program = running.program.clone();
            Err(running.wait().await.err().unwrap_or(ProcessError::NoTimeToStart { program }))
        }
    }
}

impl Running {
    /// Launches a command; its pid comes once it has been started.
    pub(super) fn launch(
        mut spec: CommandSpec,
        supervisor: &Supervisor,
    ) -> Result<(Self, oneshot::Receiver<u32>), ProcessError> {
        let companions = std::mem::take(&mut spec.companions);
        let lines = Arc::new(LineQueue::default());
        let (requests, received) = mpsc::unbounded_channel();
        let (heard, last_output) = watch::channel(Instant::now());
        let (started, is_started) = oneshot::channel();
        let listener = Listener { requests: received, last_output: heard, started: Some(started) };
        let program = PathBuf::from(&spec.program);
        let grace_when_dropped = if spec.grace_when_dropped { spec.grace } else { Duration::ZERO };
        let (drive, input) = Drive::launch(spec, supervisor, Arc::clone(&lines), listener)?;
        let (supervisor, lifeline) = (drive.supervisor(), drive.lifeline());
        let task =
            Some(tokio::spawn(async move { companion::release(companions, drive.complete().await).await }));
        let stopper = Stopper { requests };
        let running = Self {
            task,
            lines,
            input,
            stopper,
            last_output,
            supervisor,
            lifeline,
            grace_when_dropped,
            program,
            pid: 0,
        };
        Ok((running, is_started))
    }

    /// Returns the end to write standard input to, where that is
    /// [`Stdin::Piped`](super::Stdin::Piped) and nobody has taken it yet.
    pub fn take_input(&mut self) -> Option<StdinPipe> {
        self.input.take()
    }

    /// Waits for the next line of standard output; `None` when there will be
    /// no more. Cancel safe.
    ///
    /// While more than a thousand lines or 1 MiB wait, standard output is not read, so a
    /// slow consumer slows the command down as a full pipe does.
    pub async fn next_line(&mut self) -> Option<Line> {
        self.lines.next().await
    }

    /// Waits for the end of the command. Lines not fetched yet are dropped, and an
    /// input that nobody has taken is closed.
    ///
    /// # Errors
    /// [`ProcessError::SupervisorLost`], or [`ProcessError::RuntimeStopped`].
    pub async fn wait(mut self) -> Result<CommandOutput, ProcessError> {
        self.lines.abandon();
        self.input = None;
        let stopped = ProcessError::RuntimeStopped { program: self.program.clone() };
        let Some(task) = &mut self.task else { return Err(stopped) };
        let ended = task.await;
        self.task = None;
        match ended.map_err(JoinError::try_into_panic) {
            Ok(result) => result,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => Err(stopped),
        }
    }

    /// Returns the supervisor's identity, for a journal: after a crash
    /// [`wait_for_sweep`](super::wait_for_sweep) waits for it.
    pub fn supervisor(&self) -> Option<SupervisorId> {
        self.supervisor
    }

    /// Returns the pid of the command itself, which is its process group too.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns when the command last wrote to either stream, or else when it
    /// was started.
    pub fn last_output(&self) -> Instant {
        *self.last_output.borrow()
    }

    /// Returns a handle that can end the command.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Does what [`Stopper::interrupt`] does.
    pub fn interrupt(&self) {
        self.stopper.interrupt();
    }

    /// Does what [`Stopper::terminate`] does.
    pub fn terminate(&self, grace: Duration) {
        self.stopper.terminate(grace);
    }

    /// Does what [`Stopper::kill`] does.
    pub fn kill(&self) {
        self.stopper.kill();
    }

    /// Does what [`Stopper::finishing`] does.
    pub fn finishing(&self) {
        self.stopper.finishing();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.task.is_none() {
            return;
        }
        self.lines.abandon();
        if self.grace_when_dropped.is_zero() {
            // The runtime may not get to the task any more.
            self.lifeline.cut();
        }
        self.stopper.terminate(self.grace_when_dropped);
    }
}

impl Stopper {
    /// Sends SIGINT to the command, as Ctrl-C does: an interactive one leaves what it does, and goes on.
    pub fn interrupt(&self) {
        self.request(StopRequest::Interrupt);
    }

    /// Sends SIGTERM now and kills what is left after `grace`.
    pub fn terminate(&self, grace: Duration) {
        self.request(StopRequest::Terminate(grace));
    }

    /// Kills the command and everything below it now.
    pub fn kill(&self) {
        self.terminate(Duration::ZERO);
    }

    /// Says that the command has done its work: it should exit by itself now,
    /// and is ended after [`Clocks::linger`](super::Clocks::linger) if it does not.
    pub fn finishing(&self) {
        self.request(StopRequest::Finishing);
    }

    fn request(&self, request: StopRequest) {
        // The receiver is gone when the command is.
        let _ = self.requests.send(request);
    }
}
