//! A run that is under way.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{sync::mpsc, task::JoinHandle};

use super::{
    error::RunError,
    hub::{Events, Hub},
};
use crate::{
    event::RunReport,
    machine::{Command, Input},
    model::LiveState,
};

/// A run that is under way. Dropping it does not end the run; its events can
/// be read and its commands given from any thread.
#[derive(Debug)]
pub struct RunHandle {
    pub(super) run_id: Arc<str>,
    pub(super) hub: Arc<Hub>,
    pub(super) first: Option<Events>,
    pub(super) control: Controller,
    pub(super) socket: Option<PathBuf>,
    pub(super) task: JoinHandle<Option<RunReport>>,
}

impl RunHandle {
    /// Returns the run's id.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Returns the path of the socket that other processes reach the run by, which goes with the
    /// run; nothing where it has none. The run's own token is in the file `token` beside it.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_deref()
    }

    /// Returns a stream of events: the first call's begins with the run, later
    /// ones' with the moment of the call. It ends with the run.
    pub fn events(&mut self) -> Events {
        self.first.take().unwrap_or_else(|| self.hub.subscribe())
    }

    /// Returns what commands are given through, to be used elsewhere.
    pub fn controller(&self) -> Controller {
        self.control.clone()
    }

    /// Holds the run before its next iteration.
    pub fn pause(&self) {
        self.control.send(Command::Pause);
    }

    /// Lets a run that holds go on.
    pub fn resume(&self) {
        self.control.send(Command::Resume);
    }

    /// Tells the agent something with the next prompt.
    pub fn steer(&self, text: impl Into<String>) {
        self.control.send(Command::Steer(text.into()));
    }

    /// Lets a run that holds go on, and tells the agent something with the next prompt.
    pub fn resume_with(&self, text: impl Into<String>) {
        self.steer(text);
        self.resume();
    }

    /// Lets a tool call be made that waits for approval, and has the agent told something with the next prompt,
    /// where a text is given. [`state`](Self::state) lists those that wait.
    pub fn approve(&self, call: u64, text: Option<String>) {
        self.control.send(Command::Approve { call, text });
    }

    /// Keeps a tool call back that waits for approval, and says why, where that is given.
    pub fn deny(&self, call: u64, text: Option<String>) {
        self.control.send(Command::Deny { call, text });
    }

    /// Returns what the run does now.
    pub fn state(&self) -> LiveState {
        self.hub.live()
    }

    /// Ends the run after the iteration that is under way.
    pub fn cancel(&self) {
        self.control.send(Command::Cancel);
    }

    /// Ends the run now: the agent and its processes are stopped.
    pub fn stop(&self) {
        self.control.send(Command::Stop);
    }

    /// Waits for the run to end.
    ///
    /// # Errors
    /// Returns [`RunError::Broken`] where the run itself broke, which is a bug.
    pub async fn wait(self) -> Result<RunReport, RunError> {
        // Nobody reads the first stream if nobody asked for it.
        drop(self.first);
        let report = self.task.await.map_err(|error| RunError::Broken { message: error.to_string() })?;
        report.ok_or_else(|| RunError::Broken { message: "the run ended without a report".to_owned() })
    }
}

/// Gives commands to a run; cheap to clone. Commands to a run that has ended
/// do nothing.
#[derive(Clone, Debug)]
pub struct Controller(pub(super) mpsc::UnboundedSender<Input>);

impl Controller {
    /// Gives a command.
    pub fn send(&self, command: Command) {
        // The run has ended if nobody listens any more.
        let _ = self.0.send(Input::Command(command));
    }

    /// Gives a command for somebody, whose name goes into journal, progress log and events.
    pub fn send_for(&self, by: impl Into<String>, command: Command) {
        let _ = self.0.send(Input::CommandOf { command, by: by.into() });
    }
}
