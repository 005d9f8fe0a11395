//! A command at work, whose output is read line by line.
//!
//! The work is done by a task with a [`Drive`]; a [`Running`] is the
//! caller's side of it.

use super::{
    CommandOutput, CommandSpec, Line, ProcessError, Supervisor, SupervisorId,
    drive::{Drive, Listener, StopRequest},
    lines::LineQueue,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{JoinError, JoinHandle},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// A running command.
///
/// Dropping it kills the command and everything below it.
#[derive(Debug)]
pub struct Running {
    task: Option<JoinHandle<Result<CommandOutput, ProcessError>>>,
    lines: Arc<LineQueue>,
    stopper: Stopper,
    last_output: watch::Receiver<Instant>,
    supervisor: Option<SupervisorId>,
    program: PathBuf,
    pid: u32,
}

/// Ends a [`Running`] command from elsewhere; clones act on the same command.
///
/// Nothing happens once the command has ended.
#[derive(Clone, Debug)]
pub struct Stopper {
    requests: mpsc::UnboundedSender<StopRequest>,
}

/// Starts a command whose standard output is read while it runs.
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
    let lines = Arc::new(LineQueue::default());
    let (stopper, requests) = Stopper::new();
    let (heard, last_output) = watch::channel(Instant::now());
    let (started, is_started) = oneshot::channel();
    let program = PathBuf::from(&spec.program);
    let listener = Listener { requests, last_output: heard, started: Some(started) };
    let drive = Drive::launch(spec, supervisor, Some(Arc::clone(&lines)), Some(listener))?;
    let supervisor = drive.supervisor();
    let task = tokio::spawn(async move { drive.complete(&CancellationToken::new()).await });
    let mut running = Running { task: Some(task), lines, stopper, last_output, supervisor, program, pid: 0 };
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
    /// Waits for the next line of standard output; `None` when there will be
    /// no more. Cancel safe.
    ///
    /// While more than a thousand lines or 1 MiB wait, standard output is not read, so a
    /// slow consumer slows the command down as a full pipe does.
    pub async fn next_line(&mut self) -> Option<Line> {
        self.lines.next().await
    }

    /// Waits for the end of the command; lines not fetched yet are dropped.
    ///
    /// # Errors
    /// [`ProcessError::SupervisorLost`], or [`ProcessError::RuntimeStopped`].
    pub async fn wait(mut self) -> Result<CommandOutput, ProcessError> {
        self.lines.abandon();
        let Some(task) = &mut self.task else { return Err(self.runtime_stopped()) };
        let ended = task.await;
        self.task = None;
        joined(ended, &self.program)
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

    fn runtime_stopped(&self) -> ProcessError {
        ProcessError::RuntimeStopped { program: self.program.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.task.is_some() {
            self.lines.abandon();
            self.stopper.kill();
        }
    }
}

/// Returns what the task of a command has returned.
pub(super) fn joined(
    ended: Result<Result<CommandOutput, ProcessError>, JoinError>,
    program: &Path,
) -> Result<CommandOutput, ProcessError> {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_)) => Err(ProcessError::RuntimeStopped { program: program.to_owned() }),
    }
}

impl Stopper {
    /// Makes one, with the end at which its requests arrive.
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<StopRequest>) {
        let (requests, received) = mpsc::unbounded_channel();
        (Self { requests }, received)
    }

    /// Sends SIGTERM now and kills what is left after `grace`.
    pub fn terminate(&self, grace: Duration) {
        self.request(StopRequest::Terminate(grace));
    }

    /// Kills the command and everything below it now.
    pub fn kill(&self) {
        self.request(StopRequest::Kill);
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
