//! Seeing a launched command through to its end.
//!
//! A [`Drive`] owns everything about one command: it reads and writes its
//! pipes, watches the clocks in a [`Schedule`], and returns a [`CommandOutput`].
//! It works in a task of its own, to which the holder of the
//! [`Running`](super::Running) talks by [`StopRequest`]s.
//!
//! ```text
//! Launched ──► Running ──► Stopping (SIGTERM) ──► Closing (SIGKILL) ──► done
//!                 └── exit ──► Draining (≤ 100 ms for EOF) ──► Closing ──┘
//! ```

use super::{
    CommandOutput, CommandSpec, End, ExitStatus, LeftRunning, Process, ProcessError, Spill, Stdin, StdinPipe,
    Supervisor, SupervisorId,
    capture::{Capture, Stream},
    control::{Control, Event, Leftovers, Lifeline},
    launch::{Launched, launch},
    lines::{LineQueue, LineSplitter},
    schedule::{Alarm, Schedule},
    startable::start_error,
    streams::{Ready, Streams},
    wire::REPORT_LIMIT,
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, sleep_until},
};

/// How long an exited command's output may stay open, held by a process that it left.
const DRAIN_LIMIT: Duration = Duration::from_millis(100);

/// How long the call waits for the sweep: above the limit of the supervisor, whose
/// report of survivors comes at the end of that.
const SWEEP_WAIT: Duration = REPORT_LIMIT.saturating_add(Duration::from_millis(100));

/// How many bytes are taken of an exited command's output whose consumer lags behind: as
/// much as the largest pipe holds by default.
const MAX_OVERDRAFT: usize = 1024 * 1024;

/// What the holder of a [`Running`](super::Running) command may ask for.
#[derive(Clone, Copy, Debug)]
pub(super) enum StopRequest {
    /// SIGTERM now, SIGKILL after this time.
    Terminate(Duration),
    /// SIGINT.
    Interrupt,
    /// The work is done: start the linger clock.
    Finishing,
}

/// The ends of a running command's channels that its driver holds.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) requests: mpsc::UnboundedReceiver<StopRequest>,
    pub(super) last_output: watch::Sender<Instant>,
    /// Told the pid once the command runs.
    pub(super) started: Option<oneshot::Sender<u32>>,
}

/// A command between launch and end.
pub(super) struct Drive {
    control: Control,
    streams: Streams,
    schedule: Schedule,
    stdout: Capture,
    stderr: Capture,
    splitter: LineSplitter,
    lines: Arc<LineQueue>,
    listener: Listener,
    grace: Duration,
    leftovers: Leftovers,
    program: PathBuf,
    supervisor_program: PathBuf,
    status: Option<ExitStatus>,
    end: Option<End>,
    /// Whether the last order has been given.
    closing: bool,
    leaked: Option<LeftRunning>,
    swept: bool,
    left_behind: Option<Vec<Process>>,
    /// Bytes taken although the consumer had enough lines waiting.
    overdrawn: usize,
}

impl Drive {
    /// Launches a command. Returns where its input goes too, if that is for the caller to write.
    pub(super) fn launch(
        spec: CommandSpec,
        supervisor: &Supervisor,
        lines: Arc<LineQueue>,
        listener: Listener,
    ) -> Result<(Self, Option<StdinPipe>), ProcessError> {
        let schedule = Schedule::new(&spec, Instant::now());
        let directory = spec.spill_directory.as_ref();
        let stdout = Capture::new(Stream::Stdout, spec.limits, &spec.spill, directory);
        let filter = spec.spill_filter.as_ref();
        let stdout = stdout.filtered(filter);
        // Where both streams are one, nothing of its own is left to keep.
        let of_stderr = if spec.merge_stderr { &Spill::Never } else { &spec.spill };
        let stderr = Capture::new(Stream::Stderr, spec.limits, of_stderr, directory).filtered(filter);
        let Launched { control, stdin, stdout: stdout_pipe, stderr: stderr_pipe, program } =
            launch(&spec, supervisor)?;
        let supervisor_program = supervisor.command_line().map(|(program, _)| program);
        let mut input = stdin.map(StdinPipe::new);
        let feed = match spec.stdin {
            Stdin::Bytes(bytes) => input.take().map(|input| input.feed(bytes)),
            _ => None,
        };
        let drive = Self {
            control,
            schedule,
            stdout,
            stderr,
            splitter: LineSplitter::new(spec.limits.line),
            lines,
            listener,
            grace: spec.grace,
            leftovers: if spec.background { Leftovers::Keep } else { Leftovers::Kill },
            streams: Streams::new(stdout_pipe, stderr_pipe, feed),
            program,
            supervisor_program: supervisor_program.unwrap_or_default(),
            status: None,
            end: None,
            closing: false,
            leaked: None,
            swept: false,
            left_behind: None,
            overdrawn: 0,
        };
        Ok((drive, input))
    }

    pub(super) fn lifeline(&self) -> Lifeline {
        self.control.lifeline()
    }

    pub(super) fn supervisor(&self) -> Option<SupervisorId> {
        self.control.supervisor()
    }

    /// Sees the command through.
    pub(super) async fn complete(mut self) -> Result<CommandOutput, ProcessError> {
        let result = self.turn_until_done().await;
        self.read_rest();
        self.lines.push(self.splitter.finish().into_iter().collect());
        self.lines.close();
        result?;
        self.control.reap();
        Ok(CommandOutput {
            // Without a report the command was killed less than a moment ago.
            status: self.status.unwrap_or(ExitStatus::Signaled(9)),
            end: self.end.unwrap_or(End::Exited),
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            left_running: self.leaked,
            swept: self.swept,
            left_behind: self.left_behind,
            duration: self.schedule.elapsed(Instant::now()),
            supervisor: self.control.supervisor(),
            containment: self.control.containment(),
        })
    }

    async fn turn_until_done(&mut self) -> Result<(), ProcessError> {
        loop {
            let (at, alarm) = self.schedule.next();
            let may_read = self.may_read();
            // What ends the command comes before what it writes.
            tokio::select! {
                biased;
                event = self.control.event() => {
                    if self.handle(event)? {
                        return Ok(());
                    }
                }
                () = sleep_until(at) => {
                    if self.ring(alarm, may_read)? {
                        return Ok(());
                    }
                }
                Some(request) = self.listener.requests.recv(), if self.status.is_none() => self.obey(request),
                ready = self.streams.ready(may_read) => self.transfer(ready),
                () = self.lines.taken(), if !may_read => {
                    // The silence was the consumer's, not the command's.
                    self.schedule.excuse_silence(Instant::now());
                }
            }
            if self.status.is_some() && !self.closing && self.streams.at_end() {
                self.settle();
            }
        }
    }

    /// Takes note of an event; returns whether it was the last.
    fn handle(&mut self, event: Event) -> Result<bool, ProcessError> {
        match event {
            Event::Started { pid } => {
                self.schedule.command_started(Instant::now());
                if let Some(started) = self.listener.started.take() {
                    // A receiver that has gone kills through its other channel.
                    let _ = started.send(pid);
                }
            }
            Event::StartFailed { error } => return Err(start_error(self.program.clone(), error)),
            Event::Exited(status) => {
                self.status = Some(status);
                self.streams.close_stdin();
                if !self.closing {
                    self.schedule.drain(Instant::now() + DRAIN_LIMIT);
                }
            }
            Event::Swept { leaked, named, survivors } => {
                self.leaked = LeftRunning::new(leaked, named);
                self.swept = survivors == 0;
                self.left_behind = (survivors > 0).then(Vec::new);
                return Ok(true);
            }
            // It was ended while it came up, as the command would have been.
            Event::NotASupervisor { left } if self.end.is_some() => {
                self.left_behind = left;
                return Ok(true);
            }
            Event::NotASupervisor { left: None } => return Err(self.not_a_supervisor()),
            // A command may end its supervisor before that could say that it is one.
            Event::NotASupervisor { left: Some(left) } => return Err(self.supervisor_lost(false, left)),
            // The outcome is known; only the sweep was done by others.
            Event::Lost { swept, left } if self.status.is_some() => {
                self.swept = swept;
                self.left_behind = (!swept).then_some(left);
                return Ok(true);
            }
            Event::Lost { swept, left } => return Err(self.supervisor_lost(swept, left)),
        }
        Ok(false)
    }

    /// Acts on a clock that has run out; returns whether to stop waiting.
    /// `listening` tells whether output would have been read meanwhile.
    fn ring(&mut self, alarm: Alarm, listening: bool) -> Result<bool, ProcessError> {
        match alarm {
            Alarm::Never => {}
            Alarm::NotStarted => {
                self.close_by_kill();
                return Err(self.not_a_supervisor());
            }
            // Whatever state it is in, now it ends.
            Alarm::Kill => {
                self.end.get_or_insert(End::TimedOut);
                self.close_by_kill();
            }
            Alarm::Stop(End::Idle | End::NoFirstByte) if !listening => {
                self.schedule.excuse_silence(Instant::now());
            }
            Alarm::Stop(end) => self.stop(end, self.grace),
            Alarm::DrainOver => self.settle(),
            Alarm::CloseOver => {
                if self.control.is_lost() {
                    // Nobody waits for what those find who do its work, so it may be anything.
                    self.left_behind.get_or_insert_default();
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn obey(&mut self, request: StopRequest) {
        match request {
            StopRequest::Terminate(grace) => self.stop(End::Cancelled, grace),
            StopRequest::Interrupt => self.control.interrupt(),
            StopRequest::Finishing => self.schedule.finishing(Instant::now()),
        }
    }

    /// Asks the command to end, with SIGKILL to come after `grace`.
    fn stop(&mut self, end: End, grace: Duration) {
        if self.closing {
            return;
        }
        self.end.get_or_insert(end);
        if grace.is_zero() {
            self.close_by_kill();
        } else {
            self.control.terminate();
            self.schedule.kill_after(grace, Instant::now());
        }
    }

    fn close_by_kill(&mut self) {
        if !self.closing {
            self.closing = true;
            self.streams.close_stdin();
            self.control.kill();
            self.schedule.close(Instant::now() + SWEEP_WAIT);
        }
    }

    /// Ends the watch over a command that has exited. One that was made to
    /// exit takes along what it started.
    fn settle(&mut self) {
        self.closing = true;
        let leftovers = if self.end.is_some() { Leftovers::Kill } else { self.leftovers };
        self.control.settle(leftovers);
        self.schedule.close(Instant::now() + SWEEP_WAIT);
    }

    /// Moves what a stream is ready for.
    fn transfer(&mut self, ready: Ready) {
        match ready {
            Ready::Stdout => {
                let Some(bytes) = self.streams.read_stdout() else { return };
                self.stdout.push(bytes);
                if !self.lines.has_room() {
                    self.overdrawn += bytes.len();
                }
                if !self.lines.is_abandoned() {
                    self.lines.push(self.splitter.push(bytes));
                }
                self.heard();
            }
            Ready::Stderr => {
                let Some(bytes) = self.streams.read_stderr() else { return };
                self.stderr.push(bytes);
                self.heard();
            }
        }
    }

    fn heard(&mut self) {
        let now = Instant::now();
        self.schedule.heard(now);
        self.listener.last_output.send_replace(now);
    }

    /// Takes what the pipes hold at the end, without waiting for more.
    fn read_rest(&mut self) {
        for ready in self.streams.rest() {
            self.transfer(ready);
        }
    }

    /// Reading waits for the consumer of the lines. What an exited command has left
    /// in its pipe is taken all the same, but not what others go on writing.
    fn may_read(&self) -> bool {
        self.lines.has_room() || (self.status.is_some() && self.overdrawn < MAX_OVERDRAFT)
    }

    fn supervisor_lost(&self, swept: bool, left: Vec<Process>) -> ProcessError {
        let pid = self.control.supervisor().map_or(0, |id| id.pid);
        ProcessError::SupervisorLost { program: self.program.clone(), pid, swept, left }
    }

    fn not_a_supervisor(&self) -> ProcessError {
        ProcessError::NotASupervisor { program: self.supervisor_program.clone() }
    }
}
